(* Two different roles whose sub-sessions open sub-sessions. The session is followed into one sub-session as in
   Openings.v, and what that gives is a role of its own, whose states are those of the session and of the sub-session:
   it opens the sub-sessions within. *)

From Coq Require Import List Arith Bool Lia.
Import ListNotations.
From Diamond Require Import Automaton Compatible Examples Check Oracle Openings.

(* A role that is followed into a sub-session, with what it opens there. The openings and the bodies of a role are one
   table each, whatever stands within what. *)
Definition within (by_ : direction) (c s own : opener) : opener :=
  Opener (following by_ c s own)
    (map (fun e => match e with (z, d, m, y) => (in_body z, d, m, y) end) (openings own))
    (bodies own).

Section Within.
  Context {Key Inner : Type}.
  Variable eq_dec : forall i j : Key, {i = j} + {i <> j}.
  Variable inner_eq_dec : forall i j : Inner, {i = j} + {i <> j}.
  (* Which side opens the sub-session of a key, and the one of a key within it. *)
  Variable opened_by : Key -> direction.
  Variable opened_within : Key -> Inner -> direction.
  Variable c s : opener.

  Notation said := (@Openings.said Key).
  Notation takes := (takes eq_dec opened_by).

  (* A message of the session or of a sub-session, or one of a sub-session within a sub-session. *)
  Inductive deep := Outer (y : said) | OpensInner (k : Key) (j : Inner) (m : nat) | SaysInner (k : Key) (j : Inner) (m : nat).

  Record nested := Nested {
    nested_client : nat; nested_server : nat;
    nested_client_subs : Key -> option nat; nested_server_subs : Key -> option nat;
    inner_of_client : Key -> Inner -> option nat; inner_of_server : Key -> Inner -> option nat;
    nested_to_server : list deep; nested_to_client : list deep
  }.

  Definition put_inner (h : Key -> Inner -> option nat) (k : Key) (j : Inner) (v : nat) : Key -> Inner -> option nat :=
    fun i => if eq_dec k i then put inner_eq_dec (h i) j v else h i.

  (* A key opens one sub-session within each sub-session. *)
  Inductive deep_takes (own : opener) (d : direction) (p : nat) (f : Key -> option nat) (h : Key -> Inner -> option nat)
    : deep -> nat -> (Key -> option nat) -> (Key -> Inner -> option nat) -> Prop :=
  | takes_outer y p' f' : takes own d p f y p' f' -> deep_takes own d p f h (Outer y) p' f' h
  | takes_opening_inner k j m z v : opened_within k j = d -> f k = Some z -> h k j = None ->
      edge (of_table (openings own)) z d m v -> deep_takes own d p f h (OpensInner k j m) p f (put_inner h k j v)
  | takes_inner k j m v v' : h k j = Some v -> edge (of_table (bodies own)) v d m v' ->
      deep_takes own d p f h (SaysInner k j m) p f (put_inner h k j v').

  Inductive nested_step : nested -> nested -> Prop :=
  | nested_client_sends p r f g h i w1 w2 y p' f' h' : deep_takes c Send p f h y p' f' h' ->
      nested_step (Nested p r f g h i w1 w2) (Nested p' r f' g h' i (w1 ++ [y]) w2)
  | nested_client_receives p r f g h i w1 w2 y p' f' h' : deep_takes c Receive p f h y p' f' h' ->
      nested_step (Nested p r f g h i w1 (y :: w2)) (Nested p' r f' g h' i w1 w2)
  | nested_server_receives p r f g h i w1 w2 y r' g' i' : deep_takes s Send r g i y r' g' i' ->
      nested_step (Nested p r f g h i (y :: w1) w2) (Nested p r' f g' h i' w1 w2)
  | nested_server_sends p r f g h i w1 w2 y r' g' i' : deep_takes s Receive r g i y r' g' i' ->
      nested_step (Nested p r f g h i w1 w2) (Nested p r' f g' h i' w1 (w2 ++ [y])).

  Inductive nested_run : nested -> Prop :=
  | nested_run_initial :
      nested_run (Nested 0 0 (fun _ => None) (fun _ => None) (fun _ _ => None) (fun _ _ => None) [] [])
  | nested_run_step y z : nested_run y -> nested_step y z -> nested_run z.

  (* ---- What is seen of it if one sub-session of the session is followed, or none ---- *)

  Section Follow.
    Variable by_ : direction.
    Variable followed : option Key.
    Variable sides : match followed with Some k => opened_by k = by_ | None => True end.

    Notation seen := (seen eq_dec by_ followed).
    Notation opens := (opens eq_dec followed).
    Notation is_open := (is_open followed).
    Notation place := (place followed).
    Notation is_followed := (is_followed eq_dec followed).
    Notation linked := (linked eq_dec followed).
    Notation opened := (opened eq_dec followed).

    Definition inner_side (j : Inner) : direction :=
      match followed with Some k => opened_within k j | None => Send end.

    Definition inner_in (h : Key -> Inner -> option nat) : Inner -> option nat :=
      match followed with Some k => h k | None => fun _ => None end.

    Definition deep_seen (d : direction) (o : bool) (y : deep) : list (@Openings.said Inner) :=
      match y with
      | Outer y => map Says (seen d o y)
      | OpensInner k j m => if is_followed k then [Opens j m] else []
      | SaysInner k j m => if is_followed k then [Within j m] else []
      end.

    Definition outer (y : deep) : list said := match y with Outer y => [y] | _ => [] end.

    Definition deep_opens (y : deep) : bool := existsb opens (outer y).

    Fixpoint deep_seen_all (d : direction) (o : bool) (w : list deep) : list (@Openings.said Inner) :=
      match w with [] => [] | y :: w' => deep_seen d o y ++ deep_seen_all d (o || deep_opens y) w' end.

    Lemma deep_seen_all_end d w : forall o y,
      deep_seen_all d o (w ++ [y]) = deep_seen_all d o w ++ deep_seen d (o || existsb opens (flat_map outer w)) y.
    Proof.
      induction w as [| z w IH]; intros o y; cbn [app deep_seen_all flat_map].
      - cbn. rewrite orb_false_r, app_nil_r. reflexivity.
      - rewrite IH, app_assoc, existsb_app, orb_assoc. reflexivity.
    Qed.

    Lemma deep_seen_other d o o' y : d <> by_ -> deep_seen d o y = deep_seen d o' y.
    Proof.
      intros N. destruct y as [y | k j m | k j m]; cbn; [| reflexivity | reflexivity].
      rewrite (seen_other eq_dec by_ followed d o o' y N). reflexivity.
    Qed.

    Lemma deep_seen_all_other d w : d <> by_ -> forall o o', deep_seen_all d o w = deep_seen_all d o' w.
    Proof.
      intros N. induction w as [| y w IH]; intros o o'; cbn; [reflexivity |].
      rewrite (deep_seen_other d o o' y N). f_equal. apply IH.
    Qed.

    Lemma followed_inner k : is_followed k = true -> inner_side = opened_within k /\ forall h, inner_in h = h k.
    Proof.
      unfold Openings.is_followed, inner_side, inner_in. destruct followed as [i |]; [| discriminate].
      destruct (eq_dec i k) as [<- |]; [auto | discriminate].
    Qed.

    Lemma unfollowed_inner k h j v : is_followed k = false -> inner_in (put_inner h k j v) = inner_in h.
    Proof.
      unfold Openings.is_followed, inner_in, put_inner. destruct followed as [i |]; [| reflexivity].
      destruct (eq_dec i k) as [| N], (eq_dec k i) as [M |]; congruence.
    Qed.

    Lemma put_inner_at k h j v : put_inner h k j v k = put inner_eq_dec (h k) j v.
    Proof. unfold put_inner. destruct (eq_dec k k); [reflexivity | congruence]. Qed.

    Notation inner_takes := (Openings.takes inner_eq_dec inner_side).

    (* What a role takes is nothing, or a step of the role that is followed into the sub-session. *)
    Definition deep_moves (own : opener) (d : direction) (l : list (@Openings.said Inner))
      (p : nat) (h : Inner -> option nat) (p' : nat) (h' : Inner -> option nat) : Prop :=
      match l with
      | [] => p' = p /\ h' = h
      | [y] => inner_takes (within by_ c s own) d p h y p' h'
      | _ => False
      end.

    Lemma deep_takes_moves own d p f h y p' f' h' : own = c \/ own = s ->
      deep_takes own d p f h y p' f' h' -> within_states own f ->
      deep_moves own d (deep_seen d (is_open f) y) (place p f) (inner_in h) (place p' f') (inner_in h') /\
      is_open f' = is_open f || deep_opens y /\ within_states own f'.
    Proof.
      intros O T W. destruct T as [y p' f' T | k j m z v B F N E | k j m v v' F E].
      - destruct (takes_moves _ _ c s by_ _ sides own d p f y p' f' O T W) as [M G].
        split; [| split; [| exact (takes_within_states _ _ _ _ _ _ _ _ _ T W)]].
        + cbn [deep_seen]. unfold moves in M. destruct (seen d (is_open f) y) as [| l [| ? ?]]; cbn; auto.
          constructor. exact M.
        + unfold deep_opens. cbn. rewrite orb_false_r. exact G.
      - unfold deep_opens. cbn. rewrite orb_false_r. split; [| split; [reflexivity | exact W]].
        destruct (is_followed k) eqn:K; cbn.
        + destruct (followed_inner k K) as [G1 G2]. rewrite !G2, put_inner_at. apply takes_opening.
          * rewrite G1. exact B.
          * exact N.
          * unfold Openings.place. rewrite (followed_at _ _ _ _ sides f k K), F.
            apply in_map_iff. exists (z, d, m, v). auto.
        + split; [reflexivity | apply unfollowed_inner; exact K].
      - unfold deep_opens. cbn. rewrite orb_false_r. split; [| split; [reflexivity | exact W]].
        destruct (is_followed k) eqn:K; cbn.
        + destruct (followed_inner k K) as [_ G2]. rewrite !G2, put_inner_at. eapply takes_within; [exact F | exact E].
        + split; [reflexivity | apply unfollowed_inner; exact K].
    Qed.

    Notation run := (family_run inner_eq_dec inner_side (within by_ c s c) (within by_ c s s)).

    Lemma deep_client_sends p r f g w1 w2 l p' f' : run (Family p r f g w1 w2) ->
      deep_moves c Send l p f p' f' -> run (Family p' r f' g (w1 ++ l) w2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [destruct M; subst; rewrite app_nil_r; exact R | | contradiction].
      eapply family_run_step; [exact R | apply family_client_sends; exact M].
    Qed.

    Lemma deep_client_receives p r f g w1 w2 l p' f' : run (Family p r f g w1 (l ++ w2)) ->
      deep_moves c Receive l p f p' f' -> run (Family p' r f' g w1 w2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [destruct M; subst; exact R | | contradiction].
      eapply family_run_step; [exact R | apply family_client_receives; exact M].
    Qed.

    Lemma deep_server_receives p r f g w1 w2 l r' g' : run (Family p r f g (l ++ w1) w2) ->
      deep_moves s Send l r g r' g' -> run (Family p r' f g' w1 w2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [destruct M; subst; exact R | | contradiction].
      eapply family_run_step; [exact R | apply family_server_receives; exact M].
    Qed.

    Lemma deep_server_sends p r f g w1 w2 l r' g' : run (Family p r f g w1 w2) ->
      deep_moves s Receive l r g r' g' -> run (Family p r' f g' w1 (w2 ++ l)).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [destruct M; subst; rewrite app_nil_r; exact R | | contradiction].
      eapply family_run_step; [exact R | apply family_server_sends; exact M].
    Qed.

    Lemma deep_takes_opens own d p f h y p' f' h' : deep_takes own d p f h y p' f' h' -> deep_opens y = true ->
      d = by_ /\ is_open f = false.
    Proof.
      intros T O. unfold deep_opens in O. destruct T as [y p' f' T | |]; cbn in O; try discriminate.
      rewrite orb_false_r in O. split; [exact (takes_opens _ _ _ _ sides _ _ _ _ _ _ _ T O) |
        exact (takes_fresh _ _ by_ _ sides _ _ _ _ _ _ _ T O)].
    Qed.

    Lemma deep_seen_all_flag own d p f h y p' f' h' d' o w : deep_takes own d p f h y p' f' h' -> d' <> d ->
      deep_seen_all d' (o || deep_opens y) w = deep_seen_all d' o w.
    Proof.
      intros T N. destruct (deep_opens y) eqn:O; [| rewrite orb_false_r; reflexivity].
      apply deep_seen_all_other. destruct (deep_takes_opens _ _ _ _ _ _ _ _ _ T O) as [<- _]. exact N.
    Qed.

    Definition outers (w : list deep) : list said := flat_map outer w.

    Lemma outers_end w y : outers (w ++ [y]) = outers w ++ outer y.
    Proof. unfold outers. rewrite flat_map_app. cbn. rewrite app_nil_r. reflexivity. Qed.

    Lemma opened_app w1 w2 : opened (w1 ++ w2) = opened w1 + opened w2.
    Proof. unfold Openings.opened. rewrite filter_app, app_length. reflexivity. Qed.

    Lemma opened_outer y : opened (outer y) = one (deep_opens y).
    Proof.
      unfold Openings.opened, deep_opens. destruct y as [y | k j m | k j m]; cbn; try reflexivity.
      rewrite orb_false_r. destruct (opens y); reflexivity.
    Qed.

    Definition nested_invariant (y : nested) : Prop :=
      within_states c (nested_client_subs y) /\ within_states s (nested_server_subs y) /\
      match by_ with
      | Send => linked (outers (nested_to_server y)) (nested_client_subs y) (nested_server_subs y) /\
                opened (outers (nested_to_client y)) = 0
      | Receive => linked (outers (nested_to_client y)) (nested_server_subs y) (nested_client_subs y) /\
                   opened (outers (nested_to_server y)) = 0
      end /\
      run (Family (place (nested_client y) (nested_client_subs y)) (place (nested_server y) (nested_server_subs y))
             (inner_in (inner_of_client y)) (inner_in (inner_of_server y))
             (deep_seen_all Send (is_open (nested_server_subs y)) (nested_to_server y))
             (deep_seen_all Receive (is_open (nested_client_subs y)) (nested_to_client y))).

    Lemma deep_seen_at_end d w f g y : (d = by_ -> linked (outers w) f g) ->
      deep_seen d (is_open g || existsb opens (flat_map outer w)) y = deep_seen d (is_open f) y.
    Proof.
      intros L. assert ({d = by_} + {d <> by_}) as [E | N] by decide equality.
      - change (flat_map outer w) with (outers w). rewrite (linked_flag _ _ _ _ _ (L E)). reflexivity.
      - apply deep_seen_other. exact N.
    Qed.

    Lemma nested_followed y : nested_run y -> nested_invariant y.
    Proof.
      intros H. induction H as [| y z H [WC [WS [L R]]] M].
      - unfold nested_invariant, within_states, Openings.linked, Openings.opened, Openings.is_open, Openings.place,
          followed_in, inner_in. cbn.
        assert (match followed with Some _ => None | None => @None nat end = None) as -> by (destruct followed; auto).
        assert (match followed with Some _ => fun _ : Inner => None | None => fun _ : Inner => @None nat end
                = fun _ => None) as -> by (destruct followed; auto).
        repeat split; try discriminate. destruct by_; auto. apply family_run_initial.
      - assert (forall own d p f h y p' f' h', deep_takes own d p f h y p' f' h' ->
                  is_open f' = is_open f || deep_opens y -> one (is_open f') = one (deep_opens y) + one (is_open f)) as One.
        { intros own d p f h y' p' f' h' T ->. destruct (deep_opens y') eqn:O; [| rewrite orb_false_r; reflexivity].
          destruct (deep_takes_opens _ _ _ _ _ _ _ _ _ T O) as [_ ->]. reflexivity. }
        assert (forall own d p f h y p' f' h', deep_takes own d p f h y p' f' h' -> d <> by_ -> deep_opens y = false) as Not.
        { intros own d p f h y' p' f' h' T N. destruct (deep_opens y') eqn:O; [| reflexivity].
          exfalso. apply N. exact (proj1 (deep_takes_opens _ _ _ _ _ _ _ _ _ T O)). }
        destruct M as [p r f g h i w1 w2 y p' f' h' T | p r f g h i w1 w2 y p' f' h' T
                      | p r f g h i w1 w2 y r' g' i' T | p r f g h i w1 w2 y r' g' i' T];
          unfold nested_invariant in *; cbn [nested_client nested_server nested_client_subs nested_server_subs
            inner_of_client inner_of_server nested_to_server nested_to_client] in *.
        + destruct (deep_takes_moves _ _ _ _ _ _ _ _ _ (or_introl eq_refl) T WC) as [Mv [F WC']].
          split; [exact WC' | split; [exact WS | split]].
          * pose proof (One _ _ _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *.
            rewrite outers_end, opened_app, opened_outer. destruct by_; [lia |].
            rewrite (Not _ _ _ _ _ _ _ _ _ T) in * by discriminate. cbn in *. lia.
          * rewrite F, (deep_seen_all_flag _ _ _ _ _ _ _ _ _ _ _ _ T), deep_seen_all_end by discriminate.
            rewrite (deep_seen_at_end Send w1 f g y) by (intros <-; apply L).
            eapply deep_client_sends; [exact R | exact Mv].
        + destruct (deep_takes_moves _ _ _ _ _ _ _ _ _ (or_introl eq_refl) T WC) as [Mv [F WC']].
          split; [exact WC' | split; [exact WS | split]].
          * pose proof (One _ _ _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *.
            change (outers (y :: w2)) with (outer y ++ outers w2) in L. rewrite opened_app, opened_outer in L.
            destruct by_; [| lia]. rewrite (Not _ _ _ _ _ _ _ _ _ T) in * by discriminate. cbn in *. lia.
          * cbn [deep_seen_all] in R. rewrite <- F in R. eapply deep_client_receives; [exact R | exact Mv].
        + destruct (deep_takes_moves _ _ _ _ _ _ _ _ _ (or_intror eq_refl) T WS) as [Mv [F WS']].
          split; [exact WC | split; [exact WS' | split]].
          * pose proof (One _ _ _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *.
            change (outers (y :: w1)) with (outer y ++ outers w1) in L. rewrite opened_app, opened_outer in L.
            destruct by_; [lia |]. rewrite (Not _ _ _ _ _ _ _ _ _ T) in * by discriminate. cbn in *. lia.
          * cbn [deep_seen_all] in R. rewrite <- F in R. eapply deep_server_receives; [exact R | exact Mv].
        + destruct (deep_takes_moves _ _ _ _ _ _ _ _ _ (or_intror eq_refl) T WS) as [Mv [F WS']].
          split; [exact WC | split; [exact WS' | split]].
          * pose proof (One _ _ _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *.
            rewrite outers_end, opened_app, opened_outer. destruct by_; [| lia].
            rewrite (Not _ _ _ _ _ _ _ _ _ T) in * by discriminate. cbn in *. lia.
          * rewrite F, (deep_seen_all_flag _ _ _ _ _ _ _ _ _ _ _ _ T), deep_seen_all_end by discriminate.
            rewrite (deep_seen_at_end Receive w2 g f y) by (intros <-; apply L).
            eapply deep_server_sends; [exact R | exact Mv].
    Qed.
  End Follow.

  (* ---- What is true of all sub-sessions together ---- *)

  Lemma nested_openers y : nested_run y ->
    (forall k m, In (Outer (Opens k m)) (nested_to_server y) -> opened_by k = Send) /\
    (forall k m, In (Outer (Opens k m)) (nested_to_client y) -> opened_by k = Receive).
  Proof.
    intros H. induction H as [| y z H [U D] M]; [split; intros k m [] |].
    destruct M as [p r f g h i w1 w2 y p' f' h' T | p r f g h i w1 w2 y p' f' h' T
                  | p r f g h i w1 w2 y r' g' i' T | p r f g h i w1 w2 y r' g' i' T];
      split; cbn in *; intros k m I;
      try (apply in_app_or in I; destruct I as [I | [-> | []]]); eauto;
      inversion T; subst; match goal with X : Openings.takes _ _ _ _ _ _ _ _ _ |- _ => inversion X; subst; assumption end.
  Qed.

  (* Two roles whose sub-sessions open sub-sessions never receive an unexpected message, be it one of the session, of a
     sub-session, or of a sub-session within one; and if they are stuck, nothing is in flight and neither has anything to
     send. The oracle relies on it as on `openings_sound`. It assumes that the automata in which a sub-session and one
     within it are followed are sound, for each side that opens the one and each that opens the other; that a message
     within a sub-session carries its key and the key of the inner one, which is used once in that sub-session; and of
     keys what `openings_sound` does. That the end of a sub-session ends those within it is not modelled here, see
     `ended_sound`. *)
  Theorem nested_sound :
    (forall by_ inner_by, sound (following inner_by (within by_ c s c) (within by_ c s s) (within by_ c s c))
                                (following inner_by (within by_ c s c) (within by_ c s s) (within by_ c s s))) ->
    forall p r f g h i w1 w2, nested_run (Nested p r f g h i w1 w2) ->
      (forall y w, w2 = y :: w -> exists p' f' h', deep_takes c Receive p f h y p' f' h') /\
      (forall y w, w1 = y :: w -> exists r' g' i', deep_takes s Send r g i y r' g' i') /\
      ((forall y, ~ nested_step (Nested p r f g h i w1 w2) y) ->
         w1 = [] /\ w2 = [] /\
         (forall m p', ~ edge (of_table (steps c)) p Send m p') /\
         (forall m r', ~ edge (of_table (steps s)) r Receive m r') /\
         (forall k z m z', f k = Some z -> ~ edge (of_table (bodies c)) z Send m z') /\
         (forall k z m z', g k = Some z -> ~ edge (of_table (bodies s)) z Receive m z') /\
         (forall k j v m v', h k j = Some v -> ~ edge (of_table (bodies c)) v Send m v') /\
         (forall k j v m v', i k j = Some v -> ~ edge (of_table (bodies s)) v Receive m v')).
  Proof.
    intros S p r f g h i w1 w2 H.
    assert (forall by_ followed, match followed with Some k => opened_by k = by_ | None => True end ->
              nested_invariant by_ followed (Nested p r f g h i w1 w2)) as V.
    { intros by_ followed N. apply nested_followed; assumption. }
    destruct (nested_openers _ H) as [U D]. cbn in U, D.
    assert (forall y w, w2 = y :: w -> exists p' f' h', deep_takes c Receive p f h y p' f' h') as A2.
    { intros y w ->.
      assert (forall by_ followed, match followed with Some k => opened_by k = by_ | None => True end ->
                forall l, deep_seen by_ followed Receive (is_open followed f) y = [l] ->
                exists p' h', Openings.takes inner_eq_dec (inner_side followed) (within by_ c s c) Receive
                                (place followed p f) (inner_in followed h) l p' h') as X.
      { intros by_ followed N l E. destruct (V by_ followed N) as [_ [_ [_ R]]].
        cbn [nested_client nested_server nested_client_subs nested_server_subs inner_of_client inner_of_server
          nested_to_server nested_to_client deep_seen_all] in R. rewrite E in R.
        destruct (openings_sound _ _ _ _ (S by_) _ _ _ _ _ _ R) as [Y _]. exact (Y _ _ eq_refl). }
      destruct y as [y | k j m | k j m].
      - destruct (first_taken eq_dec opened_by c s c Receive p f y) as [p' [f' T]].
        + intros by_ followed N l E. destruct (X by_ followed N (Says l)) as [p' [h' T]]; [cbn [deep_seen]; rewrite E; reflexivity |].
          inversion T; subst. eauto.
        + intros k m ->. assert (opened_by k = Receive) as B by (eapply D; left; reflexivity). split; [exact B |].
          destruct (V Receive (Some k) B) as [_ [_ [[L _] _]]]. unfold linked in L.
          cbn [nested_client_subs nested_server_subs nested_to_client] in L.
          change (outers (Outer (Opens k m) :: w)) with (Opens k m :: outers w) in L.
          rewrite opened_first in L. cbn [opens] in L. rewrite is_followed_self in L.
          unfold is_open, followed_in in L. destruct (f k), (g k); cbn in L; auto; lia.
        + exists p', f', h. constructor. exact T.
      - destruct (X (opened_by k) (Some k) eq_refl (Opens j m)) as [p' [h' T]];
          [cbn [deep_seen]; rewrite is_followed_self; reflexivity |].
        inversion T as [| k' m' z B N E |]; subst. cbn in B, N, E.
        apply in_map_iff in E. destruct E as [[[[z' d] m'] v] [E I]]. inversion E; subst.
        unfold place, followed_in, in_session, in_body in *. destruct (f k) as [u |] eqn:F; [| lia].
        assert (z' = u) as -> by lia. exists p, f, (put_inner h k j z).
        eapply takes_opening_inner; [exact B | exact F | exact N | exact I].
      - destruct (X (opened_by k) (Some k) eq_refl (Within j m)) as [p' [h' T]];
          [cbn [deep_seen]; rewrite is_followed_self; reflexivity |].
        inversion T as [| | k' m' v v' F E]; subst. cbn in F, E. exists p, f, (put_inner h k j v').
        eapply takes_inner; [exact F | exact E]. }
    assert (forall y w, w1 = y :: w -> exists r' g' i', deep_takes s Send r g i y r' g' i') as A1.
    { intros y w ->.
      assert (forall by_ followed, match followed with Some k => opened_by k = by_ | None => True end ->
                forall l, deep_seen by_ followed Send (is_open followed g) y = [l] ->
                exists r' i', Openings.takes inner_eq_dec (inner_side followed) (within by_ c s s) Send
                                (place followed r g) (inner_in followed i) l r' i') as X.
      { intros by_ followed N l E. destruct (V by_ followed N) as [_ [_ [_ R]]].
        cbn [nested_client nested_server nested_client_subs nested_server_subs inner_of_client inner_of_server
          nested_to_server nested_to_client deep_seen_all] in R. rewrite E in R.
        destruct (openings_sound _ _ _ _ (S by_) _ _ _ _ _ _ R) as [_ [Y _]]. exact (Y _ _ eq_refl). }
      destruct y as [y | k j m | k j m].
      - destruct (first_taken eq_dec opened_by c s s Send r g y) as [r' [g' T]].
        + intros by_ followed N l E. destruct (X by_ followed N (Says l)) as [r' [i' T]]; [cbn [deep_seen]; rewrite E; reflexivity |].
          inversion T; subst. eauto.
        + intros k m ->. assert (opened_by k = Send) as B by (eapply U; left; reflexivity). split; [exact B |].
          destruct (V Send (Some k) B) as [_ [_ [[L _] _]]]. unfold linked in L.
          cbn [nested_client_subs nested_server_subs nested_to_server] in L.
          change (outers (Outer (Opens k m) :: w)) with (Opens k m :: outers w) in L.
          rewrite opened_first in L. cbn [opens] in L. rewrite is_followed_self in L.
          unfold is_open, followed_in in L. destruct (f k), (g k); cbn in L; auto; lia.
        + exists r', g', i. constructor. exact T.
      - destruct (X (opened_by k) (Some k) eq_refl (Opens j m)) as [r' [i' T]];
          [cbn [deep_seen]; rewrite is_followed_self; reflexivity |].
        inversion T as [| k' m' z B N E |]; subst. cbn in B, N, E.
        apply in_map_iff in E. destruct E as [[[[z' d] m'] v] [E I]]. inversion E; subst.
        unfold place, followed_in, in_session, in_body in *. destruct (g k) as [u |] eqn:F; [| lia].
        assert (z' = u) as -> by lia. exists r, g, (put_inner i k j z).
        eapply takes_opening_inner; [exact B | exact F | exact N | exact I].
      - destruct (X (opened_by k) (Some k) eq_refl (Within j m)) as [r' [i' T]];
          [cbn [deep_seen]; rewrite is_followed_self; reflexivity |].
        inversion T as [| | k' m' v v' F E]; subst. cbn in F, E. exists r, g, (put_inner i k j v').
        eapply takes_inner; [exact F | exact E]. }
    split; [exact A2 | split; [exact A1 |]]. intros N.
    destruct w2 as [| y w2].
    2:{ destruct (A2 _ _ eq_refl) as [p' [f' [h' T]]]. exfalso. eapply N. apply nested_client_receives. exact T. }
    destruct w1 as [| y w1].
    2:{ destruct (A1 _ _ eq_refl) as [r' [g' [i' T]]]. exfalso. eapply N. apply nested_server_receives. exact T. }
    repeat split; auto.
    - intros m p' E. eapply N. apply nested_client_sends. constructor. constructor. exact E.
    - intros m r' E. eapply N. apply nested_server_sends. constructor. constructor. exact E.
    - intros k z m z' F E. eapply N. apply nested_client_sends. constructor. eapply takes_within; [exact F | exact E].
    - intros k z m z' F E. eapply N. apply nested_server_sends. constructor. eapply takes_within; [exact F | exact E].
    - intros k j v m v' F E. eapply N. apply nested_client_sends. eapply takes_inner; [exact F | exact E].
    - intros k j v m v' F E. eapply N. apply nested_server_sends. eapply takes_inner; [exact F | exact E].
  Qed.

  (* ---- The end of a sub-session ends those within it ---- *)

  Definition is_over_of (over : Key -> bool) (y : deep) : bool :=
    match y with
    | Outer (Says _) => false
    | Outer (Opens k _) | Outer (Within k _) | OpensInner k _ _ | SaysInner k _ _ => over k
    end.

  Definition ended (over : Key -> bool) (k : Key) : Key -> bool := fun j => if eq_dec k j then true else over j.

  (* As before, and which sub-sessions each role takes to be over. *)
  Record ending := Ending { without_ends : nested; over_of_client : Key -> bool; over_of_server : Key -> bool }.

  Inductive ending_step : ending -> ending -> Prop :=
  | ending_client_sends p r f g h i w1 w2 o u y p' f' h' : is_over_of o y = false -> deep_takes c Send p f h y p' f' h' ->
      ending_step (Ending (Nested p r f g h i w1 w2) o u) (Ending (Nested p' r f' g h' i (w1 ++ [y]) w2) o u)
  | ending_client_receives p r f g h i w1 w2 o u y p' f' h' :
      is_over_of o y = false -> deep_takes c Receive p f h y p' f' h' ->
      ending_step (Ending (Nested p r f g h i w1 (y :: w2)) o u) (Ending (Nested p' r f' g h' i w1 w2) o u)
  | ending_client_drops p r f g h i w1 w2 o u y : is_over_of o y = true ->
      ending_step (Ending (Nested p r f g h i w1 (y :: w2)) o u) (Ending (Nested p r f g h i w1 w2) o u)
  | ending_client_ends x o u k : ending_step (Ending x o u) (Ending x (ended o k) u)
  | ending_server_receives p r f g h i w1 w2 o u y r' g' i' :
      is_over_of u y = false -> deep_takes s Send r g i y r' g' i' ->
      ending_step (Ending (Nested p r f g h i (y :: w1) w2) o u) (Ending (Nested p r' f g' h i' w1 w2) o u)
  | ending_server_drops p r f g h i w1 w2 o u y : is_over_of u y = true ->
      ending_step (Ending (Nested p r f g h i (y :: w1) w2) o u) (Ending (Nested p r f g h i w1 w2) o u)
  | ending_server_ends x o u k : ending_step (Ending x o u) (Ending x o (ended u k))
  | ending_server_sends p r f g h i w1 w2 o u y r' g' i' :
      is_over_of u y = false -> deep_takes s Receive r g i y r' g' i' ->
      ending_step (Ending (Nested p r f g h i w1 w2) o u) (Ending (Nested p r' f g' h i' w1 (w2 ++ [y])) o u).

  Inductive ending_run : ending -> Prop :=
  | ending_run_initial : ending_run (Ending
      (Nested 0 0 (fun _ => None) (fun _ => None) (fun _ _ => None) (fun _ _ => None) [] [])
      (fun _ => false) (fun _ => false))
  | ending_run_step x y : ending_run x -> ending_step x y -> ending_run y.

  (* Where a role is in the sub-sessions that are not over. *)
  Definition alike_but (over : Key -> bool) (f f' : Key -> option nat) (h h' : Key -> Inner -> option nat) : Prop :=
    forall k, over k = false -> f k = f' k /\ h k = h' k.

  Lemma alike_ended o k f f' h h' : alike_but o f f' h h' -> alike_but (ended o k) f f' h h'.
  Proof. intros H j. unfold ended. destruct (eq_dec k j); [discriminate | apply H]. Qed.

  Lemma deep_takes_alike own d p f h y p' f' h' o f0 h0 : is_over_of o y = false -> alike_but o f f0 h h0 ->
    deep_takes own d p f h y p' f' h' ->
    exists f1 h1, deep_takes own d p f0 h0 y p' f1 h1 /\ alike_but o f' f1 h' h1.
  Proof.
    intros N A T. destruct T as [y p' f' T | k j m z v B F G E | k j m v v' F E].
    - destruct T as [m p' E | k m z B F E | k m z z' F E]; cbn in N.
      + exists f0, h0. split; [constructor; constructor; exact E | exact A].
      + exists (put eq_dec f0 k z), h0. split.
        * constructor. constructor; auto. rewrite <- (proj1 (A k N)). exact F.
        * intros i J. unfold put. split; [destruct (eq_dec k i); [reflexivity | apply A; exact J] | apply A; exact J].
      + exists (put eq_dec f0 k z'), h0. split.
        * constructor. econstructor; [rewrite <- (proj1 (A k N)); exact F | exact E].
        * intros i J. unfold put. split; [destruct (eq_dec k i); [reflexivity | apply A; exact J] | apply A; exact J].
    - cbn in N. destruct (A k N) as [X Y]. exists f0, (put_inner h0 k j v). split.
      + eapply takes_opening_inner; [exact B | rewrite <- X; exact F | rewrite <- Y; exact G | exact E].
      + intros i J. split; [apply A; exact J |]. unfold put_inner. rewrite (proj2 (A i J)). reflexivity.
    - cbn in N. destruct (A k N) as [X Y]. exists f0, (put_inner h0 k j v'). split.
      + eapply takes_inner; [rewrite <- Y; exact F | exact E].
      + intros i J. split; [apply A; exact J |]. unfold put_inner. rewrite (proj2 (A i J)). reflexivity.
  Qed.

  Lemma deep_takes_over own d p f h y p' f' h' o f0 h0 : is_over_of o y = true -> alike_but o f0 f h0 h ->
    deep_takes own d p f h y p' f' h' -> p' = p /\ alike_but o f0 f' h0 h'.
  Proof.
    intros N A T. destruct T as [y p' f' T | k j m z v B F G E | k j m v v' F E].
    - destruct T as [m p' E | k m z B F E | k m z z' F E]; cbn in N; [discriminate | |];
        (split; [reflexivity |]); intros i J; unfold put;
        (destruct (eq_dec k i) as [<- |]; [congruence | apply A; exact J]).
    - cbn in N. split; [reflexivity |]. intros i J. unfold put_inner.
      destruct (eq_dec k i) as [<- |]; [congruence | apply A; exact J].
    - cbn in N. split; [reflexivity |]. intros i J. unfold put_inner.
      destruct (eq_dec k i) as [<- |]; [congruence | apply A; exact J].
  Qed.

  (* Two roles of which each may take a sub-session to be over, at any time: from then on it says nothing in it and in the
     sub-sessions within it, and drops what comes for them. Any other message that comes is expected. So the compiler need not look at how the end of a
     sub-session crosses what is said within it, be it ended by its last message or by a refusal. It assumes what
     `nested_sound` does. *)
  Theorem ended_sound :
    (forall by_ inner_by, sound (following inner_by (within by_ c s c) (within by_ c s s) (within by_ c s c))
                                (following inner_by (within by_ c s c) (within by_ c s s) (within by_ c s s))) ->
    forall p r f g h i w1 w2 o u, ending_run (Ending (Nested p r f g h i w1 w2) o u) ->
      (forall y w, w2 = y :: w -> is_over_of o y = true \/ exists p' f' h', deep_takes c Receive p f h y p' f' h') /\
      (forall y w, w1 = y :: w -> is_over_of u y = true \/ exists r' g' i', deep_takes s Send r g i y r' g' i').
  Proof.
    intros S.
    assert (forall x, ending_run x -> exists f0 g0 h0 i0, match without_ends x with Nested p r f g h i w1 w2 =>
      nested_run (Nested p r f0 g0 h0 i0 w1 w2) /\ alike_but (over_of_client x) f f0 h h0 /\
      alike_but (over_of_server x) g g0 i i0 end) as P.
    { intros x H. induction H as [| x y H [f0 [g0 [h0 [i0 I]]]] M].
      - exists (fun _ => None), (fun _ => None), (fun _ _ => None), (fun _ _ => None). cbn.
        split; [apply nested_run_initial | split; intros k _; auto].
      - destruct M as [p r f g h i w1 w2 o u y p' f' h' N T | p r f g h i w1 w2 o u y p' f' h' N T
                      | p r f g h i w1 w2 o u y N | x o u k | p r f g h i w1 w2 o u y r' g' i' N T
                      | p r f g h i w1 w2 o u y N | x o u k | p r f g h i w1 w2 o u y r' g' i' N T];
          cbn [without_ends over_of_client over_of_server] in *.
        + destruct I as [R [A B]]. destruct (deep_takes_alike _ _ _ _ _ _ _ _ _ _ _ _ N A T) as [f1 [h1 [T1 A1]]].
          exists f1, g0, h1, i0. split; [| auto]. eapply nested_run_step; [exact R | apply nested_client_sends; exact T1].
        + destruct I as [R [A B]]. destruct (deep_takes_alike _ _ _ _ _ _ _ _ _ _ _ _ N A T) as [f1 [h1 [T1 A1]]].
          exists f1, g0, h1, i0. split; [| auto]. eapply nested_run_step; [exact R | apply nested_client_receives; exact T1].
        + destruct I as [R [A B]]. destruct (nested_sound S _ _ _ _ _ _ _ _ R) as [U _].
          destruct (U _ _ eq_refl) as [p' [f1 [h1 T]]]. destruct (deep_takes_over _ _ _ _ _ _ _ _ _ _ _ _ N A T) as [-> A1].
          exists f1, g0, h1, i0. split; [| auto]. eapply nested_run_step; [exact R | apply nested_client_receives; exact T].
        + destruct x as [p r f g h i w1 w2]. destruct I as [R [A B]]. exists f0, g0, h0, i0.
          split; [exact R | split; [apply alike_ended; exact A | exact B]].
        + destruct I as [R [A B]]. destruct (deep_takes_alike _ _ _ _ _ _ _ _ _ _ _ _ N B T) as [g1 [i1 [T1 B1]]].
          exists f0, g1, h0, i1. split; [| auto]. eapply nested_run_step; [exact R | apply nested_server_receives; exact T1].
        + destruct I as [R [A B]]. destruct (nested_sound S _ _ _ _ _ _ _ _ R) as [_ [U _]].
          destruct (U _ _ eq_refl) as [r' [g1 [i1 T]]]. destruct (deep_takes_over _ _ _ _ _ _ _ _ _ _ _ _ N B T) as [-> B1].
          exists f0, g1, h0, i1. split; [| auto]. eapply nested_run_step; [exact R | apply nested_server_receives; exact T].
        + destruct x as [p r f g h i w1 w2]. destruct I as [R [A B]]. exists f0, g0, h0, i0.
          split; [exact R | split; [exact A | apply alike_ended; exact B]].
        + destruct I as [R [A B]]. destruct (deep_takes_alike _ _ _ _ _ _ _ _ _ _ _ _ N B T) as [g1 [i1 [T1 B1]]].
          exists f0, g1, h0, i1. split; [| auto]. eapply nested_run_step; [exact R | apply nested_server_sends; exact T1]. }
    intros p r f g h i w1 w2 o u H. destruct (P _ H) as [f0 [g0 [h0 [i0 [R [A B]]]]]].
    cbn [over_of_client over_of_server] in A, B.
    destruct (nested_sound S _ _ _ _ _ _ _ _ R) as [U2 [U1 _]]. split; intros y w E.
    - destruct (is_over_of o y) eqn:N; [left; reflexivity | right]. destruct (U2 _ _ E) as [p' [f1 [h1 T]]].
      assert (alike_but o f0 f h0 h) as A' by (intros k K; destruct (A k K); auto).
      destruct (deep_takes_alike _ _ _ _ _ _ _ _ _ _ _ _ N A' T) as [f2 [h2 [T2 _]]]. eauto.
    - destruct (is_over_of u y) eqn:N; [left; reflexivity | right]. destruct (U1 _ _ E) as [r' [g1 [i1 T]]].
      assert (alike_but u g0 g i0 i) as B' by (intros k K; destruct (B k K); auto).
      destruct (deep_takes_alike _ _ _ _ _ _ _ _ _ _ _ _ N B' T) as [g2 [i2 [T2 _]]]. eauto.
  Qed.
End Within.
