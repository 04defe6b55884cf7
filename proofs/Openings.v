(* Two different roles that open sub-sessions, over one queue in each direction. Each role is three tables: the steps
   of the session; which messages open a sub-session in which state of the session, and where the sub-session is then;
   and the steps of sub-sessions. One message may open one body here and another body there. A role is judged by
   following the session until one sub-session is opened, and that sub-session from then on. *)

From Coq Require Import List Arith Bool Lia.
Import ListNotations.
From Diamond Require Import Automaton Compatible Examples Check Oracle.

(* ---- A role and what it becomes for one sub-session that is followed ---- *)

Record opener := Opener { steps : table; openings : table; bodies : table }.

(* The states of the session and of sub-sessions, and messages by what they do, as numbers. *)
Definition in_session (q : nat) : nat := 2 * q.
Definition in_body (z : nat) : nat := 2 * z + 1.
Definition says (m : nat) : nat := 4 * m.
Definition opens_other (m : nat) : nat := 4 * m + 1.
Definition opens_this (m : nat) : nat := 4 * m + 2.
Definition says_within (m : nat) : nat := 4 * m + 3.

(* The session: a message that opens another sub-session changes nothing. *)
Definition session_edges (c : opener) : table :=
  map (fun e => match e with (q, d, m, q') => (in_session q, d, says m, in_session q') end) (steps c) ++
  map (fun e => match e with (q, d, m, _) => (in_session q, d, opens_other m, in_session q) end) (openings c).

(* The message that opens the sub-session which is followed. The session is left out from there on. *)
Definition opening_edges (by_ : direction) (c : opener) : table :=
  map (fun e => match e with (q, d, m, z) => (in_session q, d, opens_this m, in_body z) end)
    (filter (fun e => match e with (_, d, _, _) => same_dir by_ d end) (openings c)).

Definition body_edges (c : opener) : table :=
  map (fun e => match e with (z, d, m, z') => (in_body z, d, says_within m, in_body z') end) (bodies c).

Definition body_states (c : opener) : list nat :=
  nodup Nat.eq_dec (map (fun e => match e with (_, _, _, z) => z end) (openings c ++ bodies c)).

(* What the side that did not open the sub-session says in the session. *)
Definition label_eq_dec (x y : direction * nat) : {x = y} + {x <> y}.
Proof. repeat decide equality. Defined.

Definition session_labels (by_ : direction) (c s : opener) : list (direction * nat) :=
  nodup label_eq_dec
    (flat_map (fun e => match e with (_, d, m, _) => if same_dir by_ d then [] else [(d, m)] end)
      (session_edges c ++ session_edges s)).

(* It may still come, and both sides leave it out, too. *)
Definition ignored_edges (by_ : direction) (c s own : opener) : table :=
  flat_map (fun z => map (fun x => match x with (d, m) => (in_body z, d, m, in_body z) end) (session_labels by_ c s))
    (body_states own).

Definition following (by_ : direction) (c s own : opener) : table :=
  session_edges own ++ opening_edges by_ own ++ body_edges own ++ ignored_edges by_ c s own.

(* ---- The edges ---- *)

Lemma following_step by_ c s own q d m q' :
  edge (of_table (steps own)) q d m q' ->
  edge (of_table (following by_ c s own)) (in_session q) d (says m) (in_session q').
Proof.
  intros E. apply in_or_app. left. apply in_or_app. left.
  apply in_map_iff. exists (q, d, m, q'). auto.
Qed.

Lemma following_other by_ c s own q d m z :
  edge (of_table (openings own)) q d m z ->
  edge (of_table (following by_ c s own)) (in_session q) d (opens_other m) (in_session q).
Proof.
  intros E. apply in_or_app. left. apply in_or_app. right.
  apply in_map_iff. exists (q, d, m, z). auto.
Qed.

Lemma following_this by_ c s own q m z :
  edge (of_table (openings own)) q by_ m z ->
  edge (of_table (following by_ c s own)) (in_session q) by_ (opens_this m) (in_body z).
Proof.
  intros E. apply in_or_app. right. apply in_or_app. left.
  apply in_map_iff. exists (q, by_, m, z). split; [reflexivity |].
  apply filter_In. split; [exact E | apply same_dir_spec; reflexivity].
Qed.

Lemma following_body by_ c s own z d m z' :
  edge (of_table (bodies own)) z d m z' ->
  edge (of_table (following by_ c s own)) (in_body z) d (says_within m) (in_body z').
Proof.
  intros E. apply in_or_app. right. apply in_or_app. right. apply in_or_app. left.
  apply in_map_iff. exists (z, d, m, z'). auto.
Qed.

Lemma following_ignored by_ c s own z d m :
  In z (body_states own) -> d <> by_ ->
  (exists q q', edge (of_table (session_edges c ++ session_edges s)) q d m q') ->
  edge (of_table (following by_ c s own)) (in_body z) d m (in_body z).
Proof.
  intros B N [q [q' E]]. apply in_or_app. right. apply in_or_app. right. apply in_or_app. right.
  apply in_flat_map. exists z. split; [exact B |]. apply in_map_iff. exists (d, m). split; [reflexivity |].
  apply nodup_In. apply in_flat_map. exists (q, d, m, q'). split; [exact E |].
  destruct by_, d; cbn; auto; congruence.
Qed.

Lemma following_inv by_ c s own x d y x' : edge (of_table (following by_ c s own)) x d y x' ->
  (exists q m q', x = in_session q /\ y = says m /\ edge (of_table (steps own)) q d m q') \/
  (exists q m z, x = in_session q /\ y = opens_other m /\ edge (of_table (openings own)) q d m z) \/
  (exists q m z, x = in_session q /\ y = opens_this m /\ edge (of_table (openings own)) q d m z) \/
  (exists z m z', x = in_body z /\ y = says_within m /\ edge (of_table (bodies own)) z d m z') \/
  (exists z m, x = in_body z /\ (y = says m \/ y = opens_other m)).
Proof.
  intros E. apply in_app_or in E. destruct E as [E | E]; [apply in_app_or in E; destruct E as [E | E] |
    apply in_app_or in E; destruct E as [E | E]; [| apply in_app_or in E; destruct E as [E | E]]].
  - apply in_map_iff in E. destruct E as [[[[q e] m] q'] [H I]]. inversion H; subst.
    left. exists q, m, q'. auto.
  - apply in_map_iff in E. destruct E as [[[[q e] m] z] [H I]]. inversion H; subst.
    right. left. exists q, m, z. auto.
  - apply in_map_iff in E. destruct E as [[[[q e] m] z] [H I]]. inversion H; subst.
    apply filter_In in I. destruct I as [I _]. right. right. left. exists q, m, z. auto.
  - apply in_map_iff in E. destruct E as [[[[z e] m] z'] [H I]]. inversion H; subst.
    right. right. right. left. exists z, m, z'. auto.
  - right. right. right. right. apply in_flat_map in E. destruct E as [z [_ E]].
    apply in_map_iff in E. destruct E as [[e m] [H I]]. inversion H; subst.
    apply nodup_In in I. apply in_flat_map in I. destruct I as [[[[q e'] m'] q'] [I J]].
    destruct (same_dir by_ e'); [contradiction |]. destruct J as [J | []]. inversion J; subst.
    apply in_app_or in I. destruct I as [I | I]; apply in_app_or in I; destruct I as [I | I];
      apply in_map_iff in I; destruct I as [[[[u v] m'] w] [K _]]; inversion K; subst;
      exists z, m'; auto.
Qed.

(* ---- A session with any number of sub-sessions ---- *)

Section Family.
  Context {Key : Type}.
  Variable eq_dec : forall i j : Key, {i = j} + {i <> j}.
  (* Which side opens the sub-session of a key. Each side has keys of its own. *)
  Variable opened_by : Key -> direction.
  Variable c s : opener.

  Inductive said := Says (m : nat) | Opens (k : Key) (m : nat) | Within (k : Key) (m : nat).

  Record family := Family {
    client_at : nat; server_at : nat;
    client_subs : Key -> option nat; server_subs : Key -> option nat;
    family_to_server : list said; family_to_client : list said
  }.

  Definition put (f : Key -> option nat) (k : Key) (z : nat) : Key -> option nat :=
    fun j => if eq_dec k j then Some z else f j.

  (* A message and where it leads a role. A key opens one sub-session. *)
  Inductive takes (own : opener) (d : direction) (p : nat) (f : Key -> option nat)
    : said -> nat -> (Key -> option nat) -> Prop :=
  | takes_step m p' : edge (of_table (steps own)) p d m p' -> takes own d p f (Says m) p' f
  | takes_opening k m z : opened_by k = d -> f k = None -> edge (of_table (openings own)) p d m z ->
      takes own d p f (Opens k m) p (put f k z)
  | takes_within k m z z' : f k = Some z -> edge (of_table (bodies own)) z d m z' ->
      takes own d p f (Within k m) p (put f k z').

  Inductive family_step : family -> family -> Prop :=
  | family_client_sends p r f g w1 w2 x p' f' :
      takes c Send p f x p' f' -> family_step (Family p r f g w1 w2) (Family p' r f' g (w1 ++ [x]) w2)
  | family_client_receives p r f g w1 w2 x p' f' :
      takes c Receive p f x p' f' -> family_step (Family p r f g w1 (x :: w2)) (Family p' r f' g w1 w2)
  | family_server_receives p r f g w1 w2 x r' g' :
      takes s Send r g x r' g' -> family_step (Family p r f g (x :: w1) w2) (Family p r' f g' w1 w2)
  | family_server_sends p r f g w1 w2 x r' g' :
      takes s Receive r g x r' g' -> family_step (Family p r f g w1 w2) (Family p r' f g' w1 (w2 ++ [x])).

  Inductive family_run : family -> Prop :=
  | family_run_initial : family_run (Family 0 0 (fun _ => None) (fun _ => None) [] [])
  | family_run_step x y : family_run x -> family_step x y -> family_run y.

  (* ---- What is seen of it if one sub-session is followed, or none ---- *)

  Section Follow.
    Variable by_ : direction.
    Variable followed : option Key.

    Definition is_followed (j : Key) : bool :=
      match followed with Some k => if eq_dec k j then true else false | None => false end.

    Definition followed_in (f : Key -> option nat) : option nat :=
      match followed with Some k => f k | None => None end.

    Definition is_open (f : Key -> option nat) : bool :=
      match followed_in f with Some _ => true | None => false end.

    Definition place (p : nat) (f : Key -> option nat) : nat :=
      match followed_in f with Some z => in_body z | None => in_session p end.

    (* What a message looks like. Once its sender has opened the sub-session, what that side says in the session is
       left out. *)
    Definition seen (d : direction) (is_open : bool) (x : said) : list nat :=
      match x with
      | Says m => if same_dir by_ d && is_open then [] else [says m]
      | Opens j m => if is_followed j then [opens_this m]
                     else if same_dir by_ d && is_open then [] else [opens_other m]
      | Within j m => if is_followed j then [says_within m] else []
      end.

    Definition opens (x : said) : bool := match x with Opens j _ => is_followed j | _ => false end.

    Fixpoint seen_all (d : direction) (is_open : bool) (w : list said) : list nat :=
      match w with [] => [] | x :: w' => seen d is_open x ++ seen_all d (is_open || opens x) w' end.

    Lemma seen_all_end d w : forall o x,
      seen_all d o (w ++ [x]) = seen_all d o w ++ seen d (o || existsb opens w) x.
    Proof.
      induction w as [| y w IH]; intros o x; cbn.
      - rewrite orb_false_r, app_nil_r. reflexivity.
      - rewrite IH, app_assoc, orb_assoc. reflexivity.
    Qed.

    Lemma seen_other d o o' x : d <> by_ -> seen d o x = seen d o' x.
    Proof.
      intros N. assert (same_dir by_ d = false) as E by (destruct by_, d; cbn; congruence).
      destruct x as [m | j m | j m]; cbn; rewrite ?E; reflexivity.
    Qed.

    (* At most one step is seen. *)
    Definition moves (own : opener) (d : direction) (l : list nat) (x x' : nat) : Prop :=
      match l with
      | [] => x' = x
      | [y] => edge (of_table (following by_ c s own)) x d y x'
      | _ => False
      end.

    Definition within_states (own : opener) (f : Key -> option nat) : Prop :=
      forall j z, f j = Some z -> In z (body_states own).

    Lemma takes_within_states own d p f x p' f' : takes own d p f x p' f' ->
      within_states own f -> within_states own f'.
    Proof.
      intros T W. destruct T as [m p' E | k m z B N E | k m z z' F E]; [exact W | |];
        intros j y; unfold put; (destruct (eq_dec k j); [| apply W]); intros H; injection H as <-;
        apply nodup_In; apply in_map_iff.
      - exists (p, d, m, z). split; [reflexivity | apply in_or_app; left; exact E].
      - exists (z, d, m, z'). split; [reflexivity | apply in_or_app; right; exact E].
    Qed.

    Variable sides : match followed with Some k => opened_by k = by_ | None => True end.

    Lemma followed_side j : is_followed j = true -> opened_by j = by_.
    Proof.
      unfold is_followed. destruct followed as [k |]; [| discriminate].
      destruct (eq_dec k j) as [<- |]; [intros _; exact sides | discriminate].
    Qed.

    Lemma followed_put f k z : followed_in (put f k z) = if is_followed k then Some z else followed_in f.
    Proof.
      unfold followed_in, is_followed, put. destruct followed as [j |]; [| reflexivity].
      destruct (eq_dec k j) as [E | N], (eq_dec j k) as [E' | N']; congruence.
    Qed.

    Lemma followed_at f k : is_followed k = true -> followed_in f = f k.
    Proof.
      unfold followed_in, is_followed. destruct followed as [j |]; [| discriminate].
      destruct (eq_dec j k) as [-> | N]; [reflexivity | discriminate].
    Qed.

    (* What a role takes, be it that it sends or receives, is a step of what is followed. *)
    Lemma takes_moves own d p f x p' f' : own = c \/ own = s ->
      takes own d p f x p' f' -> within_states own f ->
      moves own d (seen d (is_open f) x) (place p f) (place p' f') /\ is_open f' = is_open f || opens x.
    Proof.
      intros O T W.
      assert (forall z m, followed_in f = Some z -> same_dir by_ d = false ->
                (exists q q', edge (of_table (session_edges own)) q d m q') ->
                edge (of_table (following by_ c s own)) (in_body z) d m (in_body z)) as Ignored.
      { intros z m F D [q [q' E]]. apply following_ignored.
        - unfold followed_in in F. destruct followed as [k |]; [| discriminate]. exact (W k z F).
        - intros ->. destruct by_; discriminate.
        - exists q, q'. apply in_or_app. destruct O as [-> | ->]; [left | right]; exact E. }
      destruct T as [m p' E | k m z B N E | k m z z' F E].
      - rewrite orb_false_r. split; [| reflexivity]. unfold seen, is_open, place.
        destruct (followed_in f) as [z |] eqn:Z; [| rewrite andb_false_r; apply following_step; exact E].
        rewrite andb_true_r. destruct (same_dir by_ d) eqn:D; [reflexivity |]. cbn.
        apply Ignored; auto. exists (in_session p), (in_session p'). apply in_or_app. left.
        apply in_map_iff. exists (p, d, m, p'). auto.
      - cbn [opens seen]. unfold is_open at 2 3, place. rewrite followed_put.
        destruct (is_followed k) eqn:K.
        + rewrite (followed_at f k K), N. split; [| unfold is_open; rewrite orb_true_r; reflexivity]. cbn.
          assert (d = by_) as -> by (pose proof (followed_side k K); congruence).
          apply following_this. exact E.
        + rewrite orb_false_r. split; [| reflexivity]. unfold is_open.
          destruct (followed_in f) as [y |] eqn:Z; [| rewrite andb_false_r; eapply following_other; exact E].
          rewrite andb_true_r. destruct (same_dir by_ d) eqn:D; [reflexivity |]. cbn.
          apply Ignored; auto. exists (in_session p), (in_session p). apply in_or_app. right.
          apply in_map_iff. exists (p, d, m, z). auto.
      - rewrite orb_false_r. cbn [seen]. unfold is_open, place. rewrite followed_put.
        destruct (is_followed k) eqn:K; [| split; reflexivity].
        rewrite (followed_at f k K), F. split; [apply following_body; exact E | reflexivity].
    Qed.

    Definition one (b : bool) : nat := if b then 1 else 0.

    Definition opened (w : list said) : nat := length (filter opens w).

    (* The sub-session is opened once: its receiver knows it, or its opening is in flight. *)
    Definition linked (w : list said) (of_sender of_receiver : Key -> option nat) : Prop :=
      opened w + one (is_open of_receiver) = one (is_open of_sender).

    Lemma opened_end w x : opened (w ++ [x]) = opened w + one (opens x).
    Proof. unfold opened. rewrite filter_app, app_length. cbn. destruct (opens x); reflexivity. Qed.

    Lemma existsb_opened w : existsb opens w = (0 <? opened w).
    Proof.
      unfold opened. induction w as [| x w IH]; [reflexivity |]. cbn. destruct (opens x); [reflexivity | exact IH].
    Qed.

    Lemma linked_flag w f g : linked w f g -> is_open g || existsb opens w = is_open f.
    Proof.
      unfold linked. rewrite existsb_opened.
      destruct (is_open g), (is_open f), (Nat.ltb_spec 0 (opened w)); cbn; intros; auto; lia.
    Qed.

    (* A run of roles that goes on by what is seen of one message. *)
    Notation the_client := (of_table (following by_ c s c)).
    Notation the_server := (of_table (following by_ c s s)).

    Lemma seen_client_sends p r w1 w2 l p' : roles_run the_client the_server (Roles p r w1 w2) ->
      moves c Send l p p' -> roles_run the_client the_server (Roles p' r (w1 ++ l) w2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [subst; rewrite app_nil_r; exact R | | contradiction].
      eapply roles_run_step; [exact R | apply roles_client_sends; exact M].
    Qed.

    Lemma seen_client_receives p r w1 w2 l p' : roles_run the_client the_server (Roles p r w1 (l ++ w2)) ->
      moves c Receive l p p' -> roles_run the_client the_server (Roles p' r w1 w2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [subst; exact R | | contradiction].
      eapply roles_run_step; [exact R | apply roles_client_receives; exact M].
    Qed.

    Lemma seen_server_receives p r w1 w2 l r' : roles_run the_client the_server (Roles p r (l ++ w1) w2) ->
      moves s Send l r r' -> roles_run the_client the_server (Roles p r' w1 w2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [subst; exact R | | contradiction].
      eapply roles_run_step; [exact R | apply roles_server_receives; exact M].
    Qed.

    Lemma seen_server_sends p r w1 w2 l r' : roles_run the_client the_server (Roles p r w1 w2) ->
      moves s Receive l r r' -> roles_run the_client the_server (Roles p r' w1 (w2 ++ l)).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [subst; rewrite app_nil_r; exact R | | contradiction].
      eapply roles_run_step; [exact R | apply roles_server_sends; exact M].
    Qed.

    Definition view (x : family) : roles :=
      Roles (place (client_at x) (client_subs x)) (place (server_at x) (server_subs x))
        (seen_all Send (is_open (server_subs x)) (family_to_server x))
        (seen_all Receive (is_open (client_subs x)) (family_to_client x)).

    Definition family_invariant (x : family) : Prop :=
      within_states c (client_subs x) /\ within_states s (server_subs x) /\
      match by_ with
      | Send => linked (family_to_server x) (client_subs x) (server_subs x) /\ opened (family_to_client x) = 0
      | Receive => linked (family_to_client x) (server_subs x) (client_subs x) /\ opened (family_to_server x) = 0
      end /\
      roles_run the_client the_server (view x).

    (* What the receiver of a queue sees at its end, its sender sees, too. *)
    Lemma seen_at_end d w f g x : (d = by_ -> linked w f g) ->
      seen d (is_open g || existsb opens w) x = seen d (is_open f) x.
    Proof.
      intros L. assert ({d = by_} + {d <> by_}) as [E | N] by decide equality.
      - rewrite (linked_flag _ _ _ (L E)). reflexivity.
      - apply seen_other. exact N.
    Qed.

    (* An opening is of the side that opens. *)
    Lemma takes_opens own d p f x p' f' : takes own d p f x p' f' -> opens x = true -> d = by_.
    Proof.
      intros T O. destruct T as [m p' E | k m z B N E | k m z z' F E]; try discriminate.
      rewrite <- B. apply followed_side. exact O.
    Qed.

    Lemma takes_fresh own d p f x p' f' : takes own d p f x p' f' -> opens x = true -> is_open f = false.
    Proof.
      intros T O. destruct T as [m p' E | k m z B N E | k m z z' F E]; try discriminate.
      unfold is_open. rewrite (followed_at f k O), N. reflexivity.
    Qed.

    Lemma seen_all_other d w : d <> by_ -> forall o o', seen_all d o w = seen_all d o' w.
    Proof.
      intros N. induction w as [| x w IH]; intros o o'; cbn; [reflexivity |].
      rewrite (seen_other d o o' x N). f_equal. apply IH.
    Qed.

    (* An opening changes nothing of what is seen in the other queue. *)
    Lemma seen_all_flag own d p f x p' f' d' o w : takes own d p f x p' f' -> d' <> d ->
      seen_all d' (o || opens x) w = seen_all d' o w.
    Proof.
      intros T N. destruct (opens x) eqn:O; [| rewrite orb_false_r; reflexivity].
      apply seen_all_other. rewrite <- (takes_opens _ _ _ _ _ _ _ T O). exact N.
    Qed.

    Lemma opened_first x w : opened (x :: w) = one (opens x) + opened w.
    Proof. unfold opened. cbn. destruct (opens x); reflexivity. Qed.

    Lemma family_followed x : family_run x -> family_invariant x.
    Proof.
      intros H. induction H as [| x y H [WC [WS [L R]]] M].
      - unfold family_invariant, view, within_states, linked, opened, is_open, place, followed_in. cbn.
        assert (match followed with Some _ => None | None => @None nat end = None) as -> by (destruct followed; auto).
        repeat split; try discriminate. destruct by_; auto. apply roles_run_initial.
      - assert (forall own d p f x p' f', takes own d p f x p' f' ->
                  is_open f' = is_open f || opens x -> one (is_open f') = one (opens x) + one (is_open f)) as One.
        { intros own d p f z p' f' T ->. destruct (opens z) eqn:O; [| rewrite orb_false_r; reflexivity].
          rewrite (takes_fresh _ _ _ _ _ _ _ T O). reflexivity. }
        assert (forall own d p f x p' f', takes own d p f x p' f' -> d <> by_ -> opens x = false) as Not.
        { intros own d p f z p' f' T N. destruct (opens z) eqn:O; [| reflexivity].
          exfalso. apply N. exact (takes_opens _ _ _ _ _ _ _ T O). }
        destruct M as [p r f g w1 w2 x p' f' T | p r f g w1 w2 x p' f' T
                      | p r f g w1 w2 x r' g' T | p r f g w1 w2 x r' g' T];
          unfold family_invariant, view in *; cbn [client_at server_at client_subs server_subs family_to_server
            family_to_client] in *.
        + destruct (takes_moves c Send p f x p' f' (or_introl eq_refl) T WC) as [Mv F].
          split; [exact (takes_within_states _ _ _ _ _ _ _ T WC) | split; [exact WS | split]].
          * pose proof (One _ _ _ _ _ _ _ T F) as O. unfold linked in *. rewrite opened_end. destruct by_; [lia |].
            assert (opens x = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia.
          * rewrite F, (seen_all_flag _ _ _ _ _ _ _ _ _ _ T), seen_all_end by discriminate.
            rewrite (seen_at_end Send w1 f g x) by (intros <-; apply L).
            eapply seen_client_sends; [exact R | exact Mv].
        + destruct (takes_moves c Receive p f x p' f' (or_introl eq_refl) T WC) as [Mv F].
          split; [exact (takes_within_states _ _ _ _ _ _ _ T WC) | split; [exact WS | split]].
          * pose proof (One _ _ _ _ _ _ _ T F) as O. unfold linked in *. rewrite opened_first in L. destruct by_; [| lia].
            assert (opens x = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia.
          * cbn [seen_all] in R. rewrite <- F in R. eapply seen_client_receives; [exact R | exact Mv].
        + destruct (takes_moves s Send r g x r' g' (or_intror eq_refl) T WS) as [Mv F].
          split; [exact WC | split; [exact (takes_within_states _ _ _ _ _ _ _ T WS) | split]].
          * pose proof (One _ _ _ _ _ _ _ T F) as O. unfold linked in *. rewrite opened_first in L. destruct by_; [lia |].
            assert (opens x = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia.
          * cbn [seen_all] in R. rewrite <- F in R. eapply seen_server_receives; [exact R | exact Mv].
        + destruct (takes_moves s Receive r g x r' g' (or_intror eq_refl) T WS) as [Mv F].
          split; [exact WC | split; [exact (takes_within_states _ _ _ _ _ _ _ T WS) | split]].
          * pose proof (One _ _ _ _ _ _ _ T F) as O. unfold linked in *. rewrite opened_end. destruct by_; [| lia].
            assert (opens x = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia.
          * rewrite F, (seen_all_flag _ _ _ _ _ _ _ _ _ _ T), seen_all_end by discriminate.
            rewrite (seen_at_end Receive w2 g f x) by (intros <-; apply L).
            eapply seen_server_sends; [exact R | exact Mv].
    Qed.
  End Follow.

  (* ---- What is true of all sub-sessions together ---- *)

  Lemma is_followed_self k : is_followed (Some k) k = true.
  Proof. unfold is_followed. destruct (eq_dec k k); congruence. Qed.

  (* A role takes the first message of its queue if it takes what is seen of it, whichever sub-session is followed. *)
  Lemma first_taken own d p f y :
    (forall by_ followed, match followed with Some k => opened_by k = by_ | None => True end ->
       forall l, seen by_ followed d (is_open followed f) y = [l] ->
         exists x', edge (of_table (following by_ c s own)) (place followed p f) d l x') ->
    (forall k m, y = Opens k m -> opened_by k = d /\ f k = None) ->
    exists p' f', takes own d p f y p' f'.
  Proof.
    unfold in_session, in_body, says, opens_other, opens_this, says_within.
    intros H K. destruct y as [m | k m | k m]; cbn [seen] in H.
    - destruct (H Send None Logic.I (says m)) as [x' E].
      { unfold is_open, followed_in. rewrite andb_false_r. reflexivity. }
      apply following_inv in E. unfold place, followed_in, in_session, in_body, says, opens_other, opens_this, says_within in E.
      destruct E as [[q [n [q' [X [Y E]]]]] | [[q [n [z [X [Y E]]]]] | [[q [n [z [X [Y E]]]]] |
        [[z [n [z' [X [Y E]]]]] | [z [n [X Y]]]]]]]; try lia.
      assert (q = p) by lia. assert (n = m) by lia. subst. exists q', f. constructor. exact E.
    - destruct (K k m eq_refl) as [B N].
      destruct (H d (Some k) B (opens_this m)) as [x' E].
      { rewrite is_followed_self. reflexivity. }
      apply following_inv in E. unfold place, followed_in, in_session, in_body, says, opens_other, opens_this, says_within in E.
      rewrite N in E.
      destruct E as [[q [n [q' [X [Y E]]]]] | [[q [n [z [X [Y E]]]]] | [[q [n [z [X [Y E]]]]] |
        [[z [n [z' [X [Y E]]]]] | [z [n [X Y]]]]]]]; try lia.
      assert (q = p) by lia. assert (n = m) by lia. subst. exists p, (put f k z). constructor; auto.
    - destruct (H (opened_by k) (Some k) eq_refl (says_within m)) as [x' E].
      { rewrite is_followed_self. reflexivity. }
      apply following_inv in E. unfold place, followed_in, in_session, in_body, says, opens_other, opens_this, says_within in E.
      destruct (f k) as [y |] eqn:F;
        destruct E as [[q [n [q' [X [Y E]]]]] | [[q [n [z [X [Y E]]]]] | [[q [n [z [X [Y E]]]]] |
          [[z [n [z' [X [Y E]]]]] | [z [n [X Y]]]]]]]; try lia.
      assert (z = y) by lia. assert (n = m) by lia. subst. exists p, (put f k z'). econstructor; eauto.
  Qed.

  Definition openers_right (x : family) : Prop :=
    (forall k m, In (Opens k m) (family_to_server x) -> opened_by k = Send) /\
    (forall k m, In (Opens k m) (family_to_client x) -> opened_by k = Receive).

  Lemma family_openers x : family_run x -> openers_right x.
  Proof.
    intros H. induction H as [| x y H [U D] M]; [split; intros k m [] |].
    destruct M as [p r f g w1 w2 x p' f' T | p r f g w1 w2 x p' f' T
                  | p r f g w1 w2 x r' g' T | p r f g w1 w2 x r' g' T]; split; cbn in *; intros k m I;
      try (apply in_app_or in I; destruct I as [I | [-> | []]]); eauto;
      inversion T; subst; assumption.
  Qed.

  (* Two roles that open sub-sessions never receive an unexpected message, be it one of the session, one that opens a
     sub-session, or one of a sub-session; and if they are stuck, nothing is in flight and neither has anything to
     send. The oracle that judges the compiler relies on it: it follows the session until one sub-session is opened,
     and that one from then on, once for each side that opens. It assumes that the two automata of this are sound for
     both sides; that each message of a sub-session carries its key, that a key is used once, and that each side opens
     with keys of its own. The roles may be different ones, a message may open one body in one state and another body
     in another, and a message that comes late may open one, if the tables have it. That sub-sessions are suspended is
     not modelled. OpeningsCancels.v adds cancels, and OpeningsWithin.v sub-sessions that open others. *)
  Theorem openings_sound :
    (forall by_, sound (following by_ c s c) (following by_ c s s)) ->
    forall p r f g w1 w2, family_run (Family p r f g w1 w2) ->
      (forall y w, w2 = y :: w -> exists p' f', takes c Receive p f y p' f') /\
      (forall y w, w1 = y :: w -> exists r' g', takes s Send r g y r' g') /\
      ((forall y, ~ family_step (Family p r f g w1 w2) y) ->
         w1 = [] /\ w2 = [] /\
         (forall m p', ~ edge (of_table (steps c)) p Send m p') /\
         (forall m r', ~ edge (of_table (steps s)) r Receive m r') /\
         (forall k z m z', f k = Some z -> ~ edge (of_table (bodies c)) z Send m z') /\
         (forall k z m z', g k = Some z -> ~ edge (of_table (bodies s)) z Receive m z')).
  Proof.
    intros S p r f g w1 w2 H.
    assert (forall by_ followed, match followed with Some k => opened_by k = by_ | None => True end ->
              family_invariant by_ followed (Family p r f g w1 w2)) as V.
    { intros by_ followed N. apply family_followed; assumption. }
    destruct (family_openers _ H) as [U D]. cbn in U, D.
    assert (forall y w, w2 = y :: w -> exists p' f', takes c Receive p f y p' f') as A2.
    { intros y w ->. apply first_taken.
      - intros by_ followed N l E. destruct (V by_ followed N) as [_ [_ [_ R]]]. unfold view in R.
        cbn [client_at server_at client_subs server_subs family_to_server family_to_client seen_all] in R.
        rewrite E in R. apply S in R. destruct R as [[R _] _]. exact (R l _ eq_refl).
      - intros k m ->. assert (opened_by k = Receive) as B by (eapply D; left; reflexivity). split; [exact B |].
        destruct (V Receive (Some k) B) as [_ [_ [[L _] _]]]. unfold linked in L. cbn [family_to_server family_to_client client_subs server_subs] in L.
        rewrite opened_first in L. cbn [opens] in L. rewrite is_followed_self in L.
        unfold is_open, followed_in in L. destruct (f k), (g k); cbn in L; auto; lia. }
    assert (forall y w, w1 = y :: w -> exists r' g', takes s Send r g y r' g') as A1.
    { intros y w ->. apply first_taken.
      - intros by_ followed N l E. destruct (V by_ followed N) as [_ [_ [_ R]]]. unfold view in R.
        cbn [client_at server_at client_subs server_subs family_to_server family_to_client seen_all] in R.
        rewrite E in R. apply S in R. destruct R as [[_ R] _]. exact (R l _ eq_refl).
      - intros k m ->. assert (opened_by k = Send) as B by (eapply U; left; reflexivity). split; [exact B |].
        destruct (V Send (Some k) B) as [_ [_ [[L _] _]]]. unfold linked in L. cbn [family_to_server family_to_client client_subs server_subs] in L.
        rewrite opened_first in L. cbn [opens] in L. rewrite is_followed_self in L.
        unfold is_open, followed_in in L. destruct (f k), (g k); cbn in L; auto; lia. }
    split; [exact A2 | split; [exact A1 |]]. intros N.
    destruct w2 as [| y w2].
    2:{ destruct (A2 _ _ eq_refl) as [p' [f' T]]. exfalso. eapply N. apply family_client_receives. exact T. }
    destruct w1 as [| y w1].
    2:{ destruct (A1 _ _ eq_refl) as [r' [g' T]]. exfalso. eapply N. apply family_server_receives. exact T. }
    repeat split; auto.
    - intros m p' E. eapply N. apply family_client_sends. constructor. exact E.
    - intros m r' E. eapply N. apply family_server_sends. constructor. exact E.
    - intros k z m z' F E. eapply N. apply family_client_sends. eapply takes_within; [exact F | exact E].
    - intros k z m z' F E. eapply N. apply family_server_sends. eapply takes_within; [exact F | exact E].
  Qed.
End Family.
