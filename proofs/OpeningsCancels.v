(* Two different roles with cancels that open sub-sessions: a cancel and the replies to its own request may cross, in the
   session and in each sub-session. As in Openings.v, the session is followed until one sub-session is opened, and that
   one from then on. *)

From Coq Require Import List Arith Bool Lia.
Import ListNotations.
From Diamond Require Import Automaton Compatible Examples Check Cancels Settled Oracle Openings.

(* ---- The pairs of messages that settle one exchange, in what is followed ---- *)

Definition settling_labels (x : list pair) : list pair :=
  flat_map (fun e => match e with (a, b) => [(says a, says b); (says_within a, says_within b)] end) x.

Lemma settling_labels_inv x y b : settling (settling_labels x) y b = true ->
  (exists m n, y = says m /\ b = says n /\ settling x m n = true) \/
  (exists m n, y = says_within m /\ b = says_within n /\ settling x m n = true).
Proof.
  unfold settling. rewrite has_pair_spec. unfold settling_labels. rewrite in_flat_map.
  intros [[m n] [I [H | [H | []]]]]; inversion H; subst; [left | right];
    exists m, n; repeat split; apply has_pair_spec; exact I.
Qed.

Lemma settling_says x m n : settling x m n = true -> settling (settling_labels x) (says m) (says n) = true.
Proof.
  unfold settling. rewrite !has_pair_spec. intros I. unfold settling_labels. apply in_flat_map.
  exists (m, n). split; [exact I | left; reflexivity].
Qed.

Lemma settling_within x m n : settling x m n = true ->
  settling (settling_labels x) (says_within m) (says_within n) = true.
Proof.
  unfold settling. rewrite !has_pair_spec. intros I. unfold settling_labels. apply in_flat_map.
  exists (m, n). split; [exact I | right; left; reflexivity].
Qed.

(* What `settled_mediated_safety` promises of two roles: a message that comes is expected, or its exchange is settled. *)
Definition settled_sound (x : list pair) (lc ls : table) : Prop :=
  forall p r w1 w2 s1 s2,
    roles_exchange_run (of_table lc) (of_table ls) (settling x) (RolesExchange p r w1 w2 s1 s2) ->
    (forall b w, w2 = b :: w -> settled_by_client (settling x) s1 b = true \/
       exists p', edge (of_table lc) p Receive b p') /\
    (forall a w, w1 = a :: w -> settled_by_server (settling x) s2 a = true \/
       exists r', edge (of_table ls) r Send a r').

(* ---- A session with any number of sub-sessions ---- *)

Section Family.
  Context {Key : Type}.
  Variable eq_dec : forall i j : Key, {i = j} + {i <> j}.
  Variable opened_by : Key -> direction.
  Variable c s : opener.
  Variable x : list pair.

  Notation said := (@Openings.said Key).

  (* The client's message and the server's settle the same exchange, of the session or of one sub-session. *)
  Definition settles_said (a b : said) : bool :=
    match a, b with
    | Says m, Says n => settling x m n
    | Within j m, Within k n => (if eq_dec j k then true else false) && settling x m n
    | _, _ => false
    end.

  Record settling_family := SettlingFamily {
    family_client : nat; family_server : nat;
    subs_of_client : Key -> option nat; subs_of_server : Key -> option nat;
    to_family_server : list said; to_family_client : list said;
    client_has_said : list said; server_has_said : list said
  }.

  Inductive settling_step : settling_family -> settling_family -> Prop :=
  | settling_client_sends p r f g w1 w2 s1 s2 y p' f' :
      takes eq_dec opened_by c Send p f y p' f' ->
      settling_step (SettlingFamily p r f g w1 w2 s1 s2) (SettlingFamily p' r f' g (w1 ++ [y]) w2 (y :: s1) s2)
  | settling_client_receives p r f g w1 w2 s1 s2 y p' f' :
      settled_by_client settles_said s1 y = false -> takes eq_dec opened_by c Receive p f y p' f' ->
      settling_step (SettlingFamily p r f g w1 (y :: w2) s1 s2) (SettlingFamily p' r f' g w1 w2 s1 s2)
  | settling_client_drops p r f g w1 w2 s1 s2 y :
      settled_by_client settles_said s1 y = true ->
      settling_step (SettlingFamily p r f g w1 (y :: w2) s1 s2) (SettlingFamily p r f g w1 w2 s1 s2)
  | settling_server_receives p r f g w1 w2 s1 s2 y r' g' :
      settled_by_server settles_said s2 y = false -> takes eq_dec opened_by s Send r g y r' g' ->
      settling_step (SettlingFamily p r f g (y :: w1) w2 s1 s2) (SettlingFamily p r' f g' w1 w2 s1 s2)
  | settling_server_drops p r f g w1 w2 s1 s2 y :
      settled_by_server settles_said s2 y = true ->
      settling_step (SettlingFamily p r f g (y :: w1) w2 s1 s2) (SettlingFamily p r f g w1 w2 s1 s2)
  | settling_server_sends p r f g w1 w2 s1 s2 y r' g' :
      takes eq_dec opened_by s Receive r g y r' g' ->
      settling_step (SettlingFamily p r f g w1 w2 s1 s2) (SettlingFamily p r' f g' w1 (w2 ++ [y]) s1 (y :: s2)).

  Inductive settling_run : settling_family -> Prop :=
  | settling_run_initial : settling_run (SettlingFamily 0 0 (fun _ => None) (fun _ => None) [] [] [] [])
  | settling_run_step y z : settling_run y -> settling_step y z -> settling_run z.

  (* What one side has said settles the exchange of a message of the other side. *)
  Definition settled_by {X} (settles : X -> X -> bool) (d : direction) (sent : list X) (y : X) : bool :=
    existsb (fun a => match d with Send => settles a y | Receive => settles y a end) sent.

  Lemma settled_by_sends {X} (settles : X -> X -> bool) sent y :
    settled_by_client settles sent y = settled_by settles Send sent y.
  Proof. reflexivity. Qed.

  Lemma settled_by_receives {X} (settles : X -> X -> bool) sent y :
    settled_by_server settles sent y = settled_by settles Receive sent y.
  Proof. reflexivity. Qed.

  (* ---- What is seen of it if one sub-session is followed, or none ---- *)

  Section Follow.
    Variable by_ : direction.
    Variable followed : option Key.
    Variable sides : match followed with Some k => opened_by k = by_ | None => True end.

    Notation seen := (seen eq_dec by_ followed).
    Notation seen_all := (seen_all eq_dec by_ followed).
    Notation opens := (opens eq_dec followed).
    Notation is_open := (is_open followed).
    Notation place := (place followed).
    Notation is_followed := (is_followed eq_dec followed).
    Notation linked := (linked eq_dec followed).
    Notation opened := (opened eq_dec followed).
    Notation the_client := (of_table (following by_ c s c)).
    Notation the_server := (of_table (following by_ c s s)).
    Notation settles := (settling (settling_labels x)).

    (* What a role has said, and what is seen of that: all that counts, but for what it says in the session once it has
       opened the sub-session. *)
    Definition history (d : direction) (v : list nat) (sent : list said) (f : Key -> option nat) : Prop :=
      (forall m, In (says m) v -> In (Says m) sent) /\
      (forall m, In (says_within m) v -> exists k, is_followed k = true /\ In (Within k m) sent) /\
      (forall m, In (Says m) sent -> In (says m) v \/ (by_ = d /\ is_open f = true)) /\
      (forall k m, is_followed k = true -> In (Within k m) sent -> In (says_within m) v).

    (* What is in flight, some role has. *)
    Definition in_tables (d : direction) (w : list said) : Prop :=
      forall m, In (Says m) w -> exists q q', edge (of_table (session_edges c ++ session_edges s)) q d (says m) q'.

    Lemma followed_one j k : is_followed j = true -> is_followed k = true -> j = k.
    Proof.
      unfold Openings.is_followed. destruct followed as [i |]; [| discriminate].
      destruct (eq_dec i j), (eq_dec i k); congruence.
    Qed.

    Lemma history_flag d v sent f f' o : is_open f' = is_open f || o -> history d v sent f -> history d v sent f'.
    Proof.
      intros F [A [B [C D]]]. repeat split; auto. intros m I. destruct (C m I) as [H | [H G]]; [left; exact H | right].
      split; [exact H |]. rewrite F, G. reflexivity.
    Qed.

    Lemma history_says own d p f y p' f' v sent :
      takes eq_dec opened_by own d p f y p' f' -> is_open f' = is_open f || opens y ->
      history d v sent f -> history d (seen d (is_open f) y ++ v) (y :: sent) f'.
    Proof.
      intros T F H. apply (history_flag _ _ _ _ _ _ F) in H. destruct H as [A [B [C D]]].
      assert (forall z, In z (seen d (is_open f) y) ->
        (exists m, y = Says m /\ z = says m) \/ (exists k m, y = Within k m /\ is_followed k = true /\ z = says_within m) \/
        (exists m, z = opens_this m) \/ (exists m, z = opens_other m)) as S.
      { intros z I. destruct y as [m | k m | k m]; cbn [Openings.seen] in I.
        - destruct (_ && _); [contradiction |]. destruct I as [<- | []]. left. eauto.
        - destruct (is_followed k); [destruct I as [<- | []]; right; right; left; eauto |].
          destruct (_ && _); [contradiction |]. destruct I as [<- | []]. right. right. right. eauto.
        - destruct (is_followed k) eqn:K; [| contradiction]. destruct I as [<- | []]. right. left. eauto. }
      unfold history, says, says_within, opens_this, opens_other in *.
      split; [| split; [| split]].
      - intros m I. apply in_app_or in I. destruct I as [I | I]; [| right; apply A; exact I].
        destruct (S _ I) as [[n [-> E]] | [[k [n [_ [_ E]]]] | [[n E] | [n E]]]]; try lia.
        left. f_equal. lia.
      - intros m I. apply in_app_or in I. destruct I as [I | I].
        + destruct (S _ I) as [[n [_ E]] | [[k [n [-> [K E]]]] | [[n E] | [n E]]]]; try lia.
          exists k. split; [exact K | left; f_equal; lia].
        + destruct (B _ I) as [k [K J]]. exists k. split; [exact K | right; exact J].
      - intros m [E | I].
        + subst y. cbn [Openings.seen]. unfold says. destruct (same_dir by_ d && is_open f) eqn:E.
          * right. apply andb_prop in E. destruct E as [E G]. apply same_dir_spec in E.
            split; [exact E |]. rewrite F, G. reflexivity.
          * left. left. reflexivity.
        + destruct (C _ I) as [J | J]; [left; apply in_or_app; right; exact J | right; exact J].
      - intros k m K [E | I].
        + subst y. cbn [Openings.seen]. unfold says_within. rewrite K. left. reflexivity.
        + apply in_or_app. right. exact (D _ _ K I).
    Qed.

    (* What is not settled is not settled where one sub-session is followed. *)
    Lemma not_settled d d' o v sent f y z : history d v sent f -> settled_by settles_said d sent y = false ->
      In z (seen d' o y) -> settled_by settles d v z = false.
    Proof.
      intros [A [B _]] N I. destruct (settled_by settles d v z) eqn:E; [| reflexivity].
      rewrite <- N. symmetry. unfold settled_by in *. apply existsb_exists in E. destruct E as [a [Ia E]].
      apply existsb_exists.
      assert (forall m n, z = says m -> a = says n -> match d with Send => settling x n m | Receive => settling x m n end = true ->
        exists b, In b sent /\ match d with Send => settles_said b y | Receive => settles_said y b end = true) as P1.
      { intros m n -> -> X. exists (Says n). split; [apply A; exact Ia |].
        destruct y as [m' | k m' | k m']; cbn [Openings.seen] in I; unfold says, opens_this, opens_other, says_within in I.
        - destruct (_ && _); [contradiction |]. destruct I as [I | []].
          assert (m' = m) as -> by lia. destruct d; exact X.
        - destruct (is_followed k); [destruct I as [I | []]; lia |].
          destruct (_ && _); [contradiction |]. destruct I as [I | []]. lia.
        - destruct (is_followed k); [destruct I as [I | []]; lia | contradiction]. }
      assert (forall m n, z = says_within m -> a = says_within n ->
        match d with Send => settling x n m | Receive => settling x m n end = true ->
        exists b, In b sent /\ match d with Send => settles_said b y | Receive => settles_said y b end = true) as P2.
      { intros m n -> -> X. destruct (B _ Ia) as [j [J Ij]]. exists (Within j n). split; [exact Ij |].
        destruct y as [m' | k m' | k m']; cbn [Openings.seen] in I; unfold says, opens_this, opens_other, says_within in I.
        - destruct (_ && _); [contradiction |]. destruct I as [I | []]. lia.
        - destruct (is_followed k); [destruct I as [I | []]; lia |].
          destruct (_ && _); [contradiction |]. destruct I as [I | []]. lia.
        - destruct (is_followed k) eqn:K; [| contradiction]. destruct I as [I | []].
          assert (m' = m) as -> by lia. rewrite (followed_one _ _ J K) in *. cbn [settles_said].
          destruct (eq_dec k k) as [_ | Z]; [| congruence]. destruct d; exact X. }
      destruct d; apply settling_labels_inv in E;
        destruct E as [[m [n [E1 [E2 E]]]] | [m [n [E1 [E2 E]]]]]; subst;
        first [ eapply P1; eauto; fail | eapply P2; eauto; fail ].
    Qed.

    (* What is settled is settled where one sub-session is followed, or is left out, or is of the session after the other
       side has opened the sub-session. *)
    Lemma dropped d d' o v sent f y : d' <> d -> history d v sent f -> settled_by settles_said d sent y = true ->
      opens y = false /\
      (forall z, In z (seen d' o y) -> settled_by settles d v z = true \/
         (by_ = d /\ is_open f = true /\ exists m, y = Says m /\ z = says m)).
    Proof.
      intros N [_ [_ [C D]]] E. unfold settled_by in E. apply existsb_exists in E. destruct E as [a [Ia E]].
      destruct y as [m | k m | k m]; cbn [Openings.opens].
      - split; [reflexivity |]. cbn [Openings.seen]. intros z I. destruct (_ && _); [contradiction |].
        destruct I as [<- | []].
        assert (exists n, a = Says n /\ match d with Send => settling x n m | Receive => settling x m n end = true) as [n [-> X]].
        { destruct d, a as [n | j n | j n]; cbn [settles_said] in E; try discriminate; eauto. }
        destruct (C _ Ia) as [J | [J G]]; [left | right; eauto].
        unfold settled_by. apply existsb_exists. exists (says n). split; [exact J |].
        destruct d; apply settling_says; exact X.
      - destruct d, a; discriminate.
      - split; [reflexivity |]. cbn [Openings.seen]. intros z I. destruct (is_followed k) eqn:K; [| contradiction].
        destruct I as [<- | []]. left.
        assert (exists n, a = Within k n /\ match d with Send => settling x n m | Receive => settling x m n end = true) as [n [-> X]].
        { destruct d, a as [n | j n | j n]; cbn [settles_said] in E; try discriminate;
            match goal with E : context [eq_dec ?i ?j] |- _ => destruct (eq_dec i j) as [<- |] end;
            cbn in E; try discriminate; eauto. }
        unfold settled_by. apply existsb_exists. exists (says_within n). split; [exact (D _ _ K Ia) |].
        destruct d; apply settling_within; exact X.
    Qed.

    Notation run := (roles_exchange_run the_client the_server settles).

    Lemma viewed_client_sends p r w1 w2 v1 v2 l p' : run (RolesExchange p r w1 w2 v1 v2) ->
      moves c s by_ c Send l p p' -> run (RolesExchange p' r (w1 ++ l) w2 (l ++ v1) v2).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [subst; rewrite app_nil_r; exact R | | contradiction].
      eapply settled_run_step; [exact R | apply settled_client_sends; exact M].
    Qed.

    Lemma viewed_server_sends p r w1 w2 v1 v2 l r' : run (RolesExchange p r w1 w2 v1 v2) ->
      moves c s by_ s Receive l r r' -> run (RolesExchange p r' w1 (w2 ++ l) v1 (l ++ v2)).
    Proof.
      intros R M. destruct l as [| y [| ? ?]]; cbn in M; [subst; rewrite app_nil_r; exact R | | contradiction].
      eapply settled_run_step; [exact R | apply settled_server_sends; exact M].
    Qed.

    Lemma viewed_client_receives p r w1 w2 v1 v2 l p' : run (RolesExchange p r w1 (l ++ w2) v1 v2) ->
      (forall z, In z l -> settled_by settles Send v1 z = false) ->
      moves c s by_ c Receive l p p' -> run (RolesExchange p' r w1 w2 v1 v2).
    Proof.
      intros R N M. destruct l as [| y [| ? ?]]; cbn in M; [subst; exact R | | contradiction].
      eapply settled_run_step; [exact R |]. apply settled_client_receives; [| exact M].
      apply N. left. reflexivity.
    Qed.

    Lemma viewed_server_receives p r w1 w2 v1 v2 l r' : run (RolesExchange p r (l ++ w1) w2 v1 v2) ->
      (forall z, In z l -> settled_by settles Receive v2 z = false) ->
      moves c s by_ s Send l r r' -> run (RolesExchange p r' w1 w2 v1 v2).
    Proof.
      intros R N M. destruct l as [| y [| ? ?]]; cbn in M; [subst; exact R | | contradiction].
      eapply settled_run_step; [exact R |]. apply settled_server_receives; [| exact M].
      apply N. left. reflexivity.
    Qed.

    Lemma seen_one d o y : seen d o y = [] \/ exists z, seen d o y = [z].
    Proof.
      destruct y as [m | k m | k m]; cbn [Openings.seen].
      - destruct (_ && _); eauto.
      - destruct (is_followed k); [eauto |]. destruct (_ && _); eauto.
      - destruct (is_followed k); eauto.
    Qed.

    Definition settling_invariant (y : settling_family) : Prop :=
      within_states c (subs_of_client y) /\ within_states s (subs_of_server y) /\
      match by_ with
      | Send => linked (to_family_server y) (subs_of_client y) (subs_of_server y) /\ opened (to_family_client y) = 0
      | Receive => linked (to_family_client y) (subs_of_server y) (subs_of_client y) /\ opened (to_family_server y) = 0
      end /\
      in_tables Send (to_family_server y) /\ in_tables Receive (to_family_client y) /\
      exists v1 v2,
        history Send v1 (client_has_said y) (subs_of_client y) /\
        history Receive v2 (server_has_said y) (subs_of_server y) /\
        run (RolesExchange (place (family_client y) (subs_of_client y)) (place (family_server y) (subs_of_server y))
               (seen_all Send (is_open (subs_of_server y)) (to_family_server y))
               (seen_all Receive (is_open (subs_of_client y)) (to_family_client y)) v1 v2).

    Lemma in_tables_says own d p f y p' f' w : own = c \/ own = s ->
      takes eq_dec opened_by own d p f y p' f' -> in_tables d w -> in_tables d (w ++ [y]).
    Proof.
      intros O T W m I. apply in_app_or in I. destruct I as [I | [-> | []]]; [exact (W _ I) |].
      inversion T; subst. exists (in_session p), (in_session p'). apply in_or_app.
      destruct O as [-> | ->]; [left | right]; apply in_or_app; left; apply in_map_iff;
        exists (p, d, m, p'); auto.
    Qed.

    Lemma in_tables_rest d y w : in_tables d (y :: w) -> in_tables d w.
    Proof. intros W m I. apply W. right. exact I. Qed.

    (* What a role drops although it does not seem settled, it ignores. *)
    Lemma ignored own d f m q : own = c \/ own = s -> within_states own f -> by_ <> d -> is_open f = true ->
      in_tables d [Says m] -> edge (of_table (following by_ c s own)) (place q f) d (says m) (place q f).
    Proof.
      intros O W N G T. unfold Openings.place. unfold Openings.is_open in G.
      destruct (followed_in followed f) as [z |] eqn:F; [| discriminate].
      apply following_ignored.
      - unfold followed_in in F. destruct followed as [k |]; [| discriminate]. exact (W k z F).
      - congruence.
      - apply T. left. reflexivity.
    Qed.

    Lemma settling_followed y : settling_run y -> settling_invariant y.
    Proof.
      intros H. induction H as [| y y' H [WC [WS [L [T1 [T2 [v1 [v2 [H1 [H2 R]]]]]]]]] M].
      - unfold settling_invariant, within_states, Openings.linked, Openings.opened, Openings.is_open, Openings.place,
          followed_in. cbn.
        assert (match followed with Some _ => None | None => @None nat end = None) as -> by (destruct followed; auto).
        split; [discriminate | split; [discriminate | split]].
        + destruct by_; auto.
        + split; [intros m [] | split; [intros m [] |]]. exists [], [].
          split; [repeat split; cbn; tauto | split; [repeat split; cbn; tauto |]]. apply settled_run_initial.
      - assert (forall own d p f y p' f', takes eq_dec opened_by own d p f y p' f' ->
                  is_open f' = is_open f || opens y -> one (is_open f') = one (opens y) + one (is_open f)) as One.
        { intros own d p f z p' f' T ->. destruct (opens z) eqn:O; [| rewrite orb_false_r; reflexivity].
          rewrite (takes_fresh _ _ by_ _ sides _ _ _ _ _ _ _ T O). reflexivity. }
        assert (forall own d p f y p' f', takes eq_dec opened_by own d p f y p' f' -> d <> by_ -> opens y = false) as Not.
        { intros own d p f z p' f' T N. destruct (opens z) eqn:O; [| reflexivity].
          exfalso. apply N. exact (takes_opens _ _ _ _ sides _ _ _ _ _ _ _ T O). }
        destruct M as [p r f g w1 w2 s1 s2 y p' f' T | p r f g w1 w2 s1 s2 y p' f' N T | p r f g w1 w2 s1 s2 y N
                      | p r f g w1 w2 s1 s2 y r' g' N T | p r f g w1 w2 s1 s2 y N | p r f g w1 w2 s1 s2 y r' g' T];
          unfold settling_invariant in *; cbn [family_client family_server subs_of_client subs_of_server
            to_family_server to_family_client client_has_said server_has_said] in *.
        + destruct (takes_moves _ _ c s by_ _ sides c Send p f y p' f' (or_introl eq_refl) T WC) as [Mv F].
          split; [exact (takes_within_states _ _ _ _ _ _ _ _ _ T WC) | split; [exact WS | split]].
          { pose proof (One _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *. rewrite opened_end. destruct by_; [lia |].
            assert (opens y = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia. }
          split; [exact (in_tables_says _ _ _ _ _ _ _ _ (or_introl eq_refl) T T1) | split; [exact T2 |]].
          exists (seen Send (is_open f) y ++ v1), v2. split; [exact (history_says _ _ _ _ _ _ _ _ _ T F H1) |].
          split; [exact H2 |].
          rewrite F, (seen_all_flag _ _ _ _ sides _ _ _ _ _ _ _ _ _ _ T), seen_all_end by discriminate.
          rewrite (seen_at_end _ _ _ Send w1 f g y) by (intros <-; apply L).
          eapply viewed_client_sends; [exact R | exact Mv].
        + destruct (takes_moves _ _ c s by_ _ sides c Receive p f y p' f' (or_introl eq_refl) T WC) as [Mv F].
          split; [exact (takes_within_states _ _ _ _ _ _ _ _ _ T WC) | split; [exact WS | split]].
          { pose proof (One _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *. rewrite opened_first in L. destruct by_; [| lia].
            assert (opens y = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia. }
          split; [exact T1 | split; [exact (in_tables_rest _ _ _ T2) |]].
          exists v1, v2. split; [exact (history_flag _ _ _ _ _ _ F H1) | split; [exact H2 |]].
          cbn [Openings.seen_all] in R. rewrite <- F in R. eapply viewed_client_receives; [exact R | | exact Mv].
          intros z I. exact (not_settled Send Receive _ _ _ _ _ _ H1 N I).
        + destruct (dropped Send Receive (is_open f) _ _ _ _ ltac:(discriminate) H1 N) as [O D].
          split; [exact WC | split; [exact WS | split]].
          { unfold Openings.linked in *. rewrite opened_first, O in L. cbn in L. exact L. }
          split; [exact T1 | split; [exact (in_tables_rest _ _ _ T2) |]].
          exists v1, v2. split; [exact H1 | split; [exact H2 |]].
          cbn [Openings.seen_all] in R. rewrite O, orb_false_r in R.
          destruct (seen_one Receive (is_open f) y) as [E | [z E]]; rewrite E in *; [exact R |].
          destruct (settled_by settles Send v1 z) eqn:X.
          * eapply settled_run_step; [exact R | apply settled_client_drops; exact X].
          * eapply settled_run_step; [exact R |]. apply settled_client_receives; [exact X |].
            destruct (D z (or_introl eq_refl)) as [Y | [B [G [m [-> ->]]]]]; [congruence |].
            apply ignored; auto; [rewrite B; discriminate |].
            intros n [J | []]. apply T2. left. exact J.
        + destruct (takes_moves _ _ c s by_ _ sides s Send r g y r' g' (or_intror eq_refl) T WS) as [Mv F].
          split; [exact WC | split; [exact (takes_within_states _ _ _ _ _ _ _ _ _ T WS) | split]].
          { pose proof (One _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *. rewrite opened_first in L. destruct by_; [lia |].
            assert (opens y = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia. }
          split; [exact (in_tables_rest _ _ _ T1) | split; [exact T2 |]].
          exists v1, v2. split; [exact H1 | split; [exact (history_flag _ _ _ _ _ _ F H2) |]].
          cbn [Openings.seen_all] in R. rewrite <- F in R. eapply viewed_server_receives; [exact R | | exact Mv].
          intros z I. exact (not_settled Receive Send _ _ _ _ _ _ H2 N I).
        + destruct (dropped Receive Send (is_open g) _ _ _ _ ltac:(discriminate) H2 N) as [O D].
          split; [exact WC | split; [exact WS | split]].
          { unfold Openings.linked in *. rewrite opened_first, O in L. cbn in L. exact L. }
          split; [exact (in_tables_rest _ _ _ T1) | split; [exact T2 |]].
          exists v1, v2. split; [exact H1 | split; [exact H2 |]].
          cbn [Openings.seen_all] in R. rewrite O, orb_false_r in R.
          destruct (seen_one Send (is_open g) y) as [E | [z E]]; rewrite E in *; [exact R |].
          destruct (settled_by settles Receive v2 z) eqn:X.
          * eapply settled_run_step; [exact R | apply settled_server_drops; exact X].
          * eapply settled_run_step; [exact R |]. apply settled_server_receives; [exact X |].
            destruct (D z (or_introl eq_refl)) as [Y | [B [G [m [-> ->]]]]]; [congruence |].
            apply ignored; auto; [rewrite B; discriminate |].
            intros n [J | []]. apply T1. left. exact J.
        + destruct (takes_moves _ _ c s by_ _ sides s Receive r g y r' g' (or_intror eq_refl) T WS) as [Mv F].
          split; [exact WC | split; [exact (takes_within_states _ _ _ _ _ _ _ _ _ T WS) | split]].
          { pose proof (One _ _ _ _ _ _ _ T F) as O. unfold Openings.linked in *. rewrite opened_end. destruct by_; [| lia].
            assert (opens y = false) as X by (eapply Not; [exact T | discriminate]). rewrite X in *. cbn in *. lia. }
          split; [exact T1 | split; [exact (in_tables_says _ _ _ _ _ _ _ _ (or_intror eq_refl) T T2) |]].
          exists v1, (seen Receive (is_open g) y ++ v2). split; [exact H1 | split; [exact (history_says _ _ _ _ _ _ _ _ _ T F H2) |]].
          rewrite F, (seen_all_flag _ _ _ _ sides _ _ _ _ _ _ _ _ _ _ T), seen_all_end by discriminate.
          rewrite (seen_at_end _ _ _ Receive w2 g f y) by (intros <-; apply L).
          eapply viewed_server_sends; [exact R | exact Mv].
    Qed.
  End Follow.

  (* ---- What is true of all sub-sessions together ---- *)

  Lemma settling_openers y : settling_run y ->
    (forall k m, In (Opens k m) (to_family_server y) -> opened_by k = Send) /\
    (forall k m, In (Opens k m) (to_family_client y) -> opened_by k = Receive).
  Proof.
    intros H. induction H as [| y z H [U D] M]; [split; intros k m [] |].
    destruct M as [p r f g w1 w2 s1 s2 y p' f' T | p r f g w1 w2 s1 s2 y p' f' N T | p r f g w1 w2 s1 s2 y N
                  | p r f g w1 w2 s1 s2 y r' g' N T | p r f g w1 w2 s1 s2 y N | p r f g w1 w2 s1 s2 y r' g' T];
      split; cbn in *; intros k m I;
      try (apply in_app_or in I; destruct I as [I | [-> | []]]); eauto;
      inversion T; subst; assumption.
  Qed.

  (* Two roles with cancels that open sub-sessions: a message that comes is expected, or its exchange is settled and it is
     dropped, be it one of the session, one that opens a sub-session, or one of a sub-session; and if they are stuck,
     nothing is in flight and neither has anything to send. The oracle relies on it as on `openings_sound`. It assumes
     that the two automata in which a sub-session is followed are sound but for exchanges that are settled; that a
     message settles an exchange of the session or of its own sub-session; and of keys what `openings_sound` does. *)
  Theorem settled_openings_sound :
    (forall by_, settled_sound (settling_labels x) (following by_ c s c) (following by_ c s s)) ->
    forall p r f g w1 w2 s1 s2, settling_run (SettlingFamily p r f g w1 w2 s1 s2) ->
      (forall y w, w2 = y :: w -> settled_by_client settles_said s1 y = true \/
         exists p' f', takes eq_dec opened_by c Receive p f y p' f') /\
      (forall y w, w1 = y :: w -> settled_by_server settles_said s2 y = true \/
         exists r' g', takes eq_dec opened_by s Send r g y r' g') /\
      ((forall y, ~ settling_step (SettlingFamily p r f g w1 w2 s1 s2) y) ->
         w1 = [] /\ w2 = [] /\
         (forall m p', ~ edge (of_table (steps c)) p Send m p') /\
         (forall m r', ~ edge (of_table (steps s)) r Receive m r') /\
         (forall k z m z', f k = Some z -> ~ edge (of_table (bodies c)) z Send m z') /\
         (forall k z m z', g k = Some z -> ~ edge (of_table (bodies s)) z Receive m z')).
  Proof.
    intros S p r f g w1 w2 s1 s2 H.
    assert (forall by_ followed, match followed with Some k => opened_by k = by_ | None => True end ->
              settling_invariant by_ followed (SettlingFamily p r f g w1 w2 s1 s2)) as V.
    { intros by_ followed N. apply settling_followed; assumption. }
    destruct (settling_openers _ H) as [U D]. cbn in U, D.
    assert (forall y w, w2 = y :: w -> settled_by_client settles_said s1 y = true \/
              exists p' f', takes eq_dec opened_by c Receive p f y p' f') as A2.
    { intros y w ->. destruct (settled_by_client settles_said s1 y) eqn:X; [left; reflexivity | right].
      apply (first_taken eq_dec opened_by c s).
      - intros by_ followed N l E. destruct (V by_ followed N) as [_ [_ [_ [_ [_ [v1 [v2 [H1 [_ R]]]]]]]]].
        cbn [family_client family_server subs_of_client subs_of_server to_family_server to_family_client
          client_has_said server_has_said seen_all] in R, H1. rewrite E in R.
        destruct (S _ _ _ _ _ _ _ R) as [Y _]. destruct (Y _ _ eq_refl) as [Z | Z]; [| exact Z]. exfalso.
        pose proof (not_settled by_ followed N Send Receive (is_open followed f) _ _ _ _ l H1 X) as W.
        rewrite E in W. specialize (W (or_introl eq_refl)). rewrite settled_by_sends in Z. congruence.
      - intros k m ->. assert (opened_by k = Receive) as B by (eapply D; left; reflexivity). split; [exact B |].
        destruct (V Receive (Some k) B) as [_ [_ [[L _] _]]]. unfold linked in L.
        cbn [subs_of_client subs_of_server to_family_server to_family_client] in L.
        rewrite opened_first in L. cbn [opens] in L. rewrite is_followed_self in L.
        unfold is_open, followed_in in L. destruct (f k), (g k); cbn in L; auto; lia. }
    assert (forall y w, w1 = y :: w -> settled_by_server settles_said s2 y = true \/
              exists r' g', takes eq_dec opened_by s Send r g y r' g') as A1.
    { intros y w ->. destruct (settled_by_server settles_said s2 y) eqn:X; [left; reflexivity | right].
      apply (first_taken eq_dec opened_by c s).
      - intros by_ followed N l E. destruct (V by_ followed N) as [_ [_ [_ [_ [_ [v1 [v2 [_ [H2 R]]]]]]]]].
        cbn [family_client family_server subs_of_client subs_of_server to_family_server to_family_client
          client_has_said server_has_said seen_all] in R, H2. rewrite E in R.
        destruct (S _ _ _ _ _ _ _ R) as [_ Y]. destruct (Y _ _ eq_refl) as [Z | Z]; [| exact Z]. exfalso.
        pose proof (not_settled by_ followed N Receive Send (is_open followed g) _ _ _ _ l H2 X) as W.
        rewrite E in W. specialize (W (or_introl eq_refl)). rewrite settled_by_receives in Z. congruence.
      - intros k m ->. assert (opened_by k = Send) as B by (eapply U; left; reflexivity). split; [exact B |].
        destruct (V Send (Some k) B) as [_ [_ [[L _] _]]]. unfold linked in L.
        cbn [subs_of_client subs_of_server to_family_server to_family_client] in L.
        rewrite opened_first in L. cbn [opens] in L. rewrite is_followed_self in L.
        unfold is_open, followed_in in L. destruct (f k), (g k); cbn in L; auto; lia. }
    split; [exact A2 | split; [exact A1 |]]. intros N.
    destruct w2 as [| y w2].
    2:{ exfalso. destruct (settled_by_client settles_said s1 y) eqn:X.
        - eapply N. apply settling_client_drops. exact X.
        - destruct (A2 _ _ eq_refl) as [Y | [p' [f' T]]]; [congruence |].
          eapply N. apply settling_client_receives; [exact X | exact T]. }
    destruct w1 as [| y w1].
    2:{ exfalso. destruct (settled_by_server settles_said s2 y) eqn:X.
        - eapply N. apply settling_server_drops. exact X.
        - destruct (A1 _ _ eq_refl) as [Y | [r' [g' T]]]; [congruence |].
          eapply N. apply settling_server_receives; [exact X | exact T]. }
    repeat split; auto.
    - intros m p' E. eapply N. apply settling_client_sends. constructor. exact E.
    - intros m r' E. eapply N. apply settling_server_sends. constructor. exact E.
    - intros k z m z' F E. eapply N. apply settling_client_sends. eapply takes_within; [exact F | exact E].
    - intros k z m z' F E. eapply N. apply settling_server_sends. eapply takes_within; [exact F | exact E].
  Qed.
End Family.

(* Without cancels, nothing is settled. *)
Lemma sound_settled lc ls : sound lc ls -> settled_sound [] lc ls.
Proof.
  intros H p r w1 w2 s1 s2 R.
  assert (forall y, roles_exchange_run (of_table lc) (of_table ls) (settling []) y ->
    roles_run (of_table lc) (of_table ls)
      (Roles (of_client y) (of_server y) (on_way_to_server y) (on_way_to_client y))) as P.
  { intros y I. induction I as [| y y' I IH M]; [apply roles_run_initial |].
    destruct M as [p' r' v1 v2 u1 u2 a q E | p' r' v1 v2 u1 u2 b q N E | p' r' v1 v2 u1 u2 b Y
                  | p' r' v1 v2 u1 u2 a q N E | p' r' v1 v2 u1 u2 a Y | p' r' v1 v2 u1 u2 b q E]; cbn in *.
    - eapply roles_run_step; [exact IH | apply roles_client_sends; exact E].
    - eapply roles_run_step; [exact IH | apply roles_client_receives; exact E].
    - exfalso. clear - Y. induction u1; [discriminate | auto].
    - eapply roles_run_step; [exact IH | apply roles_server_receives; exact E].
    - exfalso. clear - Y. induction u2; [discriminate | auto].
    - eapply roles_run_step; [exact IH | apply roles_server_sends; exact E]. }
  apply P in R. cbn in R. destruct (H _ _ _ _ R) as [[U2 U1] _]. cbn in U2, U1.
  split; intros m w E; right; [exact (U2 _ _ E) | exact (U1 _ _ E)].
Qed.

(* ---- The side that opened a sub-session ends it ---- *)

Section Stopped.
  Context {Key : Type}.
  Variable eq_dec : forall i j : Key, {i = j} + {i <> j}.
  Variable opened_by : Key -> direction.
  Variable c s : opener.
  Variable x : list pair.

  Notation said := (@Openings.said Key).
  Notation takes := (takes eq_dec opened_by).
  Notation settles_said := (settles_said eq_dec x).

  (* The cancel of the request that opened a sub-session is told as well. *)
  Inductive told := Tells (y : said) | Stops (k : Key).

  Definition key_of (y : said) : option Key :=
    match y with Says _ => None | Opens k _ | Within k _ => Some k end.

  (* Whether a message is of a sub-session that has been ended, as far as a role knows. *)
  Definition is_over (over : Key -> bool) (y : said) : bool :=
    match key_of y with Some k => over k | None => false end.

  Definition mark (over : Key -> bool) (k : Key) : Key -> bool := fun j => if eq_dec k j then true else over j.

  (* As before, and which sub-sessions have been ended, as far as each role knows. *)
  Record stopping := Stopping {
    stopping_client : nat; stopping_server : nat;
    stopping_client_subs : Key -> option nat; stopping_server_subs : Key -> option nat;
    over_for_client : Key -> bool; over_for_server : Key -> bool;
    stopping_to_server : list told; stopping_to_client : list told;
    stopping_client_said : list said; stopping_server_said : list said
  }.

  Inductive stopping_step : stopping -> stopping -> Prop :=
  | stopping_client_sends p r f g o u w1 w2 s1 s2 y p' f' :
      is_over o y = false -> takes c Send p f y p' f' ->
      stopping_step (Stopping p r f g o u w1 w2 s1 s2) (Stopping p' r f' g o u (w1 ++ [Tells y]) w2 (y :: s1) s2)
  | stopping_client_receives p r f g o u w1 w2 s1 s2 y p' f' :
      is_over o y = false -> settled_by_client settles_said s1 y = false -> takes c Receive p f y p' f' ->
      stopping_step (Stopping p r f g o u w1 (Tells y :: w2) s1 s2) (Stopping p' r f' g o u w1 w2 s1 s2)
  | stopping_client_drops p r f g o u w1 w2 s1 s2 y :
      is_over o y = true \/ settled_by_client settles_said s1 y = true ->
      stopping_step (Stopping p r f g o u w1 (Tells y :: w2) s1 s2) (Stopping p r f g o u w1 w2 s1 s2)
  | stopping_client_stops p r f g o u w1 w2 s1 s2 k :
      opened_by k = Send -> f k <> None ->
      stopping_step (Stopping p r f g o u w1 w2 s1 s2) (Stopping p r f g (mark o k) u (w1 ++ [Stops k]) w2 s1 s2)
  | stopping_client_is_stopped p r f g o u w1 w2 s1 s2 k :
      stopping_step (Stopping p r f g o u w1 (Stops k :: w2) s1 s2) (Stopping p r f g (mark o k) u w1 w2 s1 s2)
  | stopping_server_receives p r f g o u w1 w2 s1 s2 y r' g' :
      is_over u y = false -> settled_by_server settles_said s2 y = false -> takes s Send r g y r' g' ->
      stopping_step (Stopping p r f g o u (Tells y :: w1) w2 s1 s2) (Stopping p r' f g' o u w1 w2 s1 s2)
  | stopping_server_drops p r f g o u w1 w2 s1 s2 y :
      is_over u y = true \/ settled_by_server settles_said s2 y = true ->
      stopping_step (Stopping p r f g o u (Tells y :: w1) w2 s1 s2) (Stopping p r f g o u w1 w2 s1 s2)
  | stopping_server_is_stopped p r f g o u w1 w2 s1 s2 k :
      stopping_step (Stopping p r f g o u (Stops k :: w1) w2 s1 s2) (Stopping p r f g o (mark u k) w1 w2 s1 s2)
  | stopping_server_sends p r f g o u w1 w2 s1 s2 y r' g' :
      is_over u y = false -> takes s Receive r g y r' g' ->
      stopping_step (Stopping p r f g o u w1 w2 s1 s2) (Stopping p r' f g' o u w1 (w2 ++ [Tells y]) s1 (y :: s2))
  | stopping_server_stops p r f g o u w1 w2 s1 s2 k :
      opened_by k = Receive -> g k <> None ->
      stopping_step (Stopping p r f g o u w1 w2 s1 s2) (Stopping p r f g o (mark u k) w1 (w2 ++ [Stops k]) s1 s2).

  Inductive stopping_run : stopping -> Prop :=
  | stopping_run_initial :
      stopping_run (Stopping 0 0 (fun _ => None) (fun _ => None) (fun _ => false) (fun _ => false) [] [] [] [])
  | stopping_run_step y z : stopping_run y -> stopping_step y z -> stopping_run z.

  (* The same without what ends sub-sessions: they go on, and take what comes for them. *)
  Definition tells (y : told) : list said := match y with Tells y => [y] | Stops _ => [] end.

  Definition agrees (over : Key -> bool) (f f' : Key -> option nat) : Prop :=
    forall k, over k = false -> f k = f' k.

  Lemma agrees_mark o k f f' : agrees o f f' -> agrees (mark o k) f f'.
  Proof. intros H j. unfold mark. destruct (eq_dec k j); [discriminate | apply H]. Qed.

  Lemma takes_agrees own d p f y p' f' o h : is_over o y = false -> agrees o f h ->
    takes own d p f y p' f' -> exists h', takes own d p h y p' h' /\ agrees o f' h'.
  Proof.
    unfold is_over. intros N A T. destruct T as [m p' E | k m z B F E | k m z z' F E]; cbn in N.
    - exists h. split; [constructor; exact E | exact A].
    - exists (put eq_dec h k z). split; [constructor; auto; rewrite <- (A k N); exact F |].
      intros j J. unfold put. destruct (eq_dec k j); auto.
    - exists (put eq_dec h k z'). split; [econstructor; [rewrite <- (A k N); exact F | exact E] |].
      intros j J. unfold put. destruct (eq_dec k j); auto.
  Qed.

  (* A role that goes on in a sub-session which is over changes nothing else. *)
  Lemma takes_over own d p f y p' f' o h : is_over o y = true -> agrees o h f ->
    takes own d p f y p' f' -> p' = p /\ agrees o h f'.
  Proof.
    unfold is_over. intros N A T. destruct T as [m p' E | k m z B F E | k m z z' F E]; cbn in N; [discriminate | |];
      (split; [reflexivity |]); intros j J; unfold put;
      (destruct (eq_dec k j) as [<- |]; [congruence | apply A; exact J]).
  Qed.

  (* Two roles of which the side that opened a sub-session may end it in any state, by a cancel of the request that
     opened it: a message that comes is expected, or its exchange is settled, or it is of a sub-session that the role
     knows to be over; the last two are dropped. The compiler relies on it where it gives such a cancel no edge and lets
     it cross anything. It assumes what `settled_openings_sound` does. That a value is used again is not modelled. *)
  Theorem stopped_sound :
    (forall by_, settled_sound (settling_labels x) (following by_ c s c) (following by_ c s s)) ->
    forall p r f g o u w1 w2 s1 s2, stopping_run (Stopping p r f g o u w1 w2 s1 s2) ->
      (forall y w, w2 = Tells y :: w -> is_over o y = true \/ settled_by_client settles_said s1 y = true \/
         exists p' f', takes c Receive p f y p' f') /\
      (forall y w, w1 = Tells y :: w -> is_over u y = true \/ settled_by_server settles_said s2 y = true \/
         exists r' g', takes s Send r g y r' g') /\
      ((forall y, ~ stopping_step (Stopping p r f g o u w1 w2 s1 s2) y) ->
         w1 = [] /\ w2 = [] /\
         (forall m p', ~ edge (of_table (steps c)) p Send m p') /\
         (forall m r', ~ edge (of_table (steps s)) r Receive m r') /\
         (forall k z m z', o k = false -> f k = Some z -> ~ edge (of_table (bodies c)) z Send m z') /\
         (forall k z m z', u k = false -> g k = Some z -> ~ edge (of_table (bodies s)) z Receive m z')).
  Proof.
    intros S.
    assert (forall y, stopping_run y -> exists f g,
      settling_run eq_dec opened_by c s x
        (SettlingFamily (stopping_client y) (stopping_server y) f g
          (flat_map tells (stopping_to_server y)) (flat_map tells (stopping_to_client y))
          (stopping_client_said y) (stopping_server_said y)) /\
      agrees (over_for_client y) (stopping_client_subs y) f /\
      agrees (over_for_server y) (stopping_server_subs y) g) as P.
    { assert (forall w y, flat_map tells (w ++ [y]) = flat_map tells w ++ tells y) as End.
      { intros w y. rewrite flat_map_app. cbn. rewrite app_nil_r. reflexivity. }
      intros y H. induction H as [| y z H [f0 [g0 [R [A B]]]] M].
      - exists (fun _ => None), (fun _ => None). split; [apply settling_run_initial | split; intros k _; reflexivity].
      - destruct M as [p r f g o u w1 w2 s1 s2 y p' f' N T | p r f g o u w1 w2 s1 s2 y p' f' N X T
                      | p r f g o u w1 w2 s1 s2 y N | p r f g o u w1 w2 s1 s2 k K F | p r f g o u w1 w2 s1 s2 k
                      | p r f g o u w1 w2 s1 s2 y r' g' N X T | p r f g o u w1 w2 s1 s2 y N
                      | p r f g o u w1 w2 s1 s2 k | p r f g o u w1 w2 s1 s2 y r' g' N T
                      | p r f g o u w1 w2 s1 s2 k K F];
          cbn [stopping_client stopping_server stopping_client_subs stopping_server_subs over_for_client over_for_server
            stopping_to_server stopping_to_client stopping_client_said stopping_server_said] in *;
          rewrite ?End; cbn [tells flat_map app] in *; rewrite ?app_nil_r.
        + destruct (takes_agrees _ _ _ _ _ _ _ _ _ N A T) as [f1 [T1 A1]]. exists f1, g0. split; [| auto].
          eapply settling_run_step; [exact R | apply settling_client_sends; exact T1].
        + destruct (takes_agrees _ _ _ _ _ _ _ _ _ N A T) as [f1 [T1 A1]]. exists f1, g0. split; [| auto].
          eapply settling_run_step; [exact R | apply settling_client_receives; [exact X | exact T1]].
        + destruct (settled_by_client settles_said s1 y) eqn:X.
          { exists f0, g0. split; [| auto].
            eapply settling_run_step; [exact R | apply settling_client_drops; exact X]. }
          destruct N as [N | N]; [| congruence].
          destruct (settled_openings_sound eq_dec opened_by c s x S _ _ _ _ _ _ _ _ R) as [U _].
          destruct (U _ _ eq_refl) as [Y | [p' [f1 T]]]; [congruence |].
          destruct (takes_over _ _ _ _ _ _ _ _ _ N A T) as [-> A1]. exists f1, g0. split; [| auto].
          eapply settling_run_step; [exact R | apply settling_client_receives; [exact X | exact T]].
        + exists f0, g0. split; [exact R | split; [apply agrees_mark; exact A | exact B]].
        + exists f0, g0. split; [exact R | split; [apply agrees_mark; exact A | exact B]].
        + destruct (takes_agrees _ _ _ _ _ _ _ _ _ N B T) as [g1 [T1 B1]]. exists f0, g1. split; [| auto].
          eapply settling_run_step; [exact R | apply settling_server_receives; [exact X | exact T1]].
        + destruct (settled_by_server settles_said s2 y) eqn:X.
          { exists f0, g0. split; [| auto].
            eapply settling_run_step; [exact R | apply settling_server_drops; exact X]. }
          destruct N as [N | N]; [| congruence].
          destruct (settled_openings_sound eq_dec opened_by c s x S _ _ _ _ _ _ _ _ R) as [_ [U _]].
          destruct (U _ _ eq_refl) as [Y | [r' [g1 T]]]; [congruence |].
          destruct (takes_over _ _ _ _ _ _ _ _ _ N B T) as [-> B1]. exists f0, g1. split; [| auto].
          eapply settling_run_step; [exact R | apply settling_server_receives; [exact X | exact T]].
        + exists f0, g0. split; [exact R | split; [exact A | apply agrees_mark; exact B]].
        + destruct (takes_agrees _ _ _ _ _ _ _ _ _ N B T) as [g1 [T1 B1]]. exists f0, g1. split; [| auto].
          eapply settling_run_step; [exact R | apply settling_server_sends; exact T1].
        + exists f0, g0. split; [exact R | split; [exact A | apply agrees_mark; exact B]]. }
    intros p r f g o u w1 w2 s1 s2 H. destruct (P _ H) as [f0 [g0 [R [A B]]]].
    cbn [stopping_client stopping_server stopping_client_subs stopping_server_subs over_for_client over_for_server
      stopping_to_server stopping_to_client stopping_client_said stopping_server_said] in *.
    destruct (settled_openings_sound eq_dec opened_by c s x S _ _ _ _ _ _ _ _ R) as [U2 [U1 _]].
    assert (forall y w, w2 = Tells y :: w -> is_over o y = true \/ settled_by_client settles_said s1 y = true \/
              exists p' f', takes c Receive p f y p' f') as V2.
    { intros y w ->. destruct (is_over o y) eqn:N; [left; reflexivity | right].
      destruct (U2 _ _ eq_refl) as [X | [p' [f1 T]]]; [left; exact X | right].
      destruct (takes_agrees _ _ _ _ _ _ _ o f N (fun k K => eq_sym (A k K)) T) as [h [T1 _]]. eauto. }
    assert (forall y w, w1 = Tells y :: w -> is_over u y = true \/ settled_by_server settles_said s2 y = true \/
              exists r' g', takes s Send r g y r' g') as V1.
    { intros y w ->. destruct (is_over u y) eqn:N; [left; reflexivity | right].
      destruct (U1 _ _ eq_refl) as [X | [r' [g1 T]]]; [left; exact X | right].
      destruct (takes_agrees _ _ _ _ _ _ _ u g N (fun k K => eq_sym (B k K)) T) as [h [T1 _]]. eauto. }
    split; [exact V2 | split; [exact V1 |]]. intros N.
    destruct w2 as [| [y | k] w2].
    2:{ exfalso. destruct (V2 _ _ eq_refl) as [X | X].
        - eapply N. apply stopping_client_drops. left. exact X.
        - destruct (is_over o y) eqn:O; [eapply N; apply stopping_client_drops; left; exact O |].
          destruct (settled_by_client settles_said s1 y) eqn:Y;
            [eapply N; apply stopping_client_drops; right; exact Y |].
          destruct X as [X | [p' [f' T]]]; [congruence |].
          eapply N. apply stopping_client_receives; [exact O | exact Y | exact T]. }
    2:{ exfalso. eapply N. apply stopping_client_is_stopped. }
    destruct w1 as [| [y | k] w1].
    2:{ exfalso. destruct (V1 _ _ eq_refl) as [X | X].
        - eapply N. apply stopping_server_drops. left. exact X.
        - destruct (is_over u y) eqn:O; [eapply N; apply stopping_server_drops; left; exact O |].
          destruct (settled_by_server settles_said s2 y) eqn:Y;
            [eapply N; apply stopping_server_drops; right; exact Y |].
          destruct X as [X | [r' [g' T]]]; [congruence |].
          eapply N. apply stopping_server_receives; [exact O | exact Y | exact T]. }
    2:{ exfalso. eapply N. apply stopping_server_is_stopped. }
    repeat split; auto.
    - intros m p' E. eapply N. apply stopping_client_sends with (y := Says m); [reflexivity |]. constructor. exact E.
    - intros m r' E. eapply N. apply stopping_server_sends with (y := Says m); [reflexivity |]. constructor. exact E.
    - intros k z m z' O F E. eapply N. apply stopping_client_sends with (y := Within k m); [exact O |].
      eapply takes_within; [exact F | exact E].
    - intros k z m z' O F E. eapply N. apply stopping_server_sends with (y := Within k m); [exact O |].
      eapply takes_within; [exact F | exact E].
  Qed.
End Stopped.
