(* A cancel and the reply to its own request may cross although neither is expected after the other: whichever is late is
   found by the id of the request, and dropped. Messages carry ids here, so a message that settles an exchange belongs to
   this exchange alone. *)

From Coq Require Import List Bool.
Import ListNotations.
From Diamond Require Import Automaton Safety.

Section Cancels.
  Context {State Message : Type}.
  Variable A : automaton State Message.
  (* What the client sends and what the server sends settle the same exchange: a cancel, and the reply or the refusal. *)
  Variable settles : Message -> Message -> bool.

  (* Of two messages that settle one exchange, each leads to the same state. Two others have the diamond. *)
  Definition diamond_but_settled : Prop :=
    forall q a b q1 q2, reachable A q -> edge A q Send a q1 -> edge A q Receive b q2 ->
      if settles a b then q1 = q2 else exists q', edge A q1 Receive b q' /\ edge A q2 Send a q'.

  (* An exchange is settled once. *)
  Definition settled_once : Prop :=
    forall q a b, reachable A q -> settles a b = true ->
      (forall q1 t z z', edge A q Send a q1 -> word A q1 t z -> ~ edge A z Receive b z') /\
      (forall q2 t z z', edge A q Receive b q2 -> word A q2 t z -> ~ edge A z Send a z').

  (* Where both roles are, what is in flight, and what each has sent so far. *)
  Record exchange := Exchange {
    at_client : State; at_server : State; in_to_server : list Message; in_to_client : list Message;
    client_sent : list Message; server_sent : list Message
  }.

  (* The client has settled the exchange that b would settle; and the other way round. *)
  Definition settled_by_client (sent : list Message) (b : Message) : bool := existsb (fun a => settles a b) sent.
  Definition settled_by_server (sent : list Message) (a : Message) : bool := existsb (fun b => settles a b) sent.

  Inductive exchange_step : exchange -> exchange -> Prop :=
  | exchange_client_sends p r w1 w2 s1 s2 a p' :
      edge A p Send a p' ->
      exchange_step (Exchange p r w1 w2 s1 s2) (Exchange p' r (w1 ++ [a]) w2 (a :: s1) s2)
  | exchange_client_receives p r w1 w2 s1 s2 b p' :
      settled_by_client s1 b = false -> edge A p Receive b p' ->
      exchange_step (Exchange p r w1 (b :: w2) s1 s2) (Exchange p' r w1 w2 s1 s2)
  | exchange_client_drops p r w1 w2 s1 s2 b :
      settled_by_client s1 b = true ->
      exchange_step (Exchange p r w1 (b :: w2) s1 s2) (Exchange p r w1 w2 s1 s2)
  | exchange_server_receives p r w1 w2 s1 s2 a r' :
      settled_by_server s2 a = false -> edge A r Send a r' ->
      exchange_step (Exchange p r (a :: w1) w2 s1 s2) (Exchange p r' w1 w2 s1 s2)
  | exchange_server_drops p r w1 w2 s1 s2 a :
      settled_by_server s2 a = true ->
      exchange_step (Exchange p r (a :: w1) w2 s1 s2) (Exchange p r w1 w2 s1 s2)
  | exchange_server_sends p r w1 w2 s1 s2 b r' :
      edge A r Receive b r' ->
      exchange_step (Exchange p r w1 w2 s1 s2) (Exchange p r' w1 (w2 ++ [b]) s1 (b :: s2)).

  Inductive exchange_run : exchange -> Prop :=
  | exchange_run_initial : exchange_run (Exchange (initial A) (initial A) [] [] [] [])
  | exchange_run_step c c' : exchange_run c -> exchange_step c c' -> exchange_run c'.

  (* What is in flight and will not be dropped. *)
  Definition live_to_client (s1 w2 : list Message) : list Message :=
    filter (fun b => negb (settled_by_client s1 b)) w2.
  Definition live_to_server (s2 w1 : list Message) : list Message :=
    filter (fun a => negb (settled_by_server s2 a)) w1.

  Lemma word_of_path d q w q' : path A d q w q' -> word A q (map (fun m => (d, m)) w) q'.
  Proof. intros H. induction H; cbn; econstructor; eauto. Qed.

  Lemma word_app q t q' u q2 : word A q t q' -> word A q' u q2 -> word A q (t ++ u) q2.
  Proof. intros H. induction H; cbn; intros W; [exact W | econstructor; eauto]. Qed.

  Lemma word_reachable q t q' : reachable A q -> word A q t q' -> reachable A q'.
  Proof. intros R H. induction H; auto. apply IHword. eapply reachable_edge; eauto. Qed.

  (* What a message that the client sends makes of all that is in flight to it: it settles nothing of that, or one message,
     which leads to the same state. *)
  Lemma client_crosses : diamond_but_settled -> settled_once ->
    forall p w z, reachable A p -> path A Receive p w z -> forall a p', edge A p Send a p' ->
      (existsb (settles a) w = false /\ exists z', path A Receive p' w z' /\ edge A z Send a z') \/
      (existsb (settles a) w = true /\ path A Receive p' (filter (fun b => negb (settles a b)) w) z /\
       exists s t u, reachable A s /\ edge A s Send a t /\ word A t u z).
  Proof.
    intros Dia Once p w z R H. induction H as [q | q m q1 w z E H IH]; intros a p' Ea.
    - left. split; [reflexivity |]. exists p'. split; [constructor | exact Ea].
    - pose proof (Dia q a m p' q1 R Ea E) as D. cbn. destruct (settles a m) eqn:X; cbn.
      + right. subst q1. split; [reflexivity | split].
        * assert (filter (fun b => negb (settles a b)) w = w) as ->; [| exact H].
          assert (forall x u y, word A p' x u -> path A Receive u w y ->
                    filter (fun b => negb (settles a b)) w = w) as F.
          { clear - Once R Ea. induction w as [| b w IH]; intros x u y W P; [reflexivity |].
            apply path_cons_inv in P. destruct P as [v [Ev P]]. cbn.
            destruct (settles a b) eqn:Y; cbn.
            - exfalso. exact (proj1 (Once q a b R Y) p' x u v Ea W Ev).
            - f_equal. eapply IH; [| exact P]. eapply word_snoc; [exact W | exact Ev]. }
          eapply F; [constructor | exact H].
        * exists q, p', (map (fun m => (Receive, m)) w).
          split; [exact R | split; [exact Ea | apply word_of_path; exact H]].
      + destruct D as [x [E1 E2]].
        destruct (IH (reachable_edge A _ _ _ _ R E) a x E2) as [[N [z' [P Z]]] | [N [P Z]]].
        * left. split; [exact N |]. exists z'. split; [econstructor; eauto | exact Z].
        * right. split; [exact N | split; [econstructor; eauto | exact Z]].
  Qed.

  Lemma server_crosses : diamond_but_settled -> settled_once ->
    forall r w z, reachable A r -> path A Send r w z -> forall b r', edge A r Receive b r' ->
      (existsb (fun a => settles a b) w = false /\ exists z', path A Send r' w z' /\ edge A z Receive b z') \/
      (existsb (fun a => settles a b) w = true /\ path A Send r' (filter (fun a => negb (settles a b)) w) z /\
       exists s t u, reachable A s /\ edge A s Receive b t /\ word A t u z).
  Proof.
    intros Dia Once r w z R H. induction H as [q | q m q1 w z E H IH]; intros b r' Eb.
    - left. split; [reflexivity |]. exists r'. split; [constructor | exact Eb].
    - pose proof (Dia q m b q1 r' R E Eb) as D. cbn. destruct (settles m b) eqn:X; cbn.
      + right. subst r'. split; [reflexivity | split].
        * assert (filter (fun a => negb (settles a b)) w = w) as ->; [| exact H].
          assert (forall x u y, word A q1 x u -> path A Send u w y ->
                    filter (fun a => negb (settles a b)) w = w) as F.
          { clear - Once R Eb. induction w as [| a w IH]; intros x u y W P; [reflexivity |].
            apply path_cons_inv in P. destruct P as [v [Ev P]]. cbn.
            destruct (settles a b) eqn:Y; cbn.
            - exfalso. exact (proj2 (Once q a b R Y) q1 x u v Eb W Ev).
            - f_equal. eapply IH; [| exact P]. eapply word_snoc; [exact W | exact Ev]. }
          eapply F; [constructor | exact H].
        * exists q, q1, (map (fun m => (Send, m)) w).
          split; [exact R | split; [exact Eb | apply word_of_path; exact H]].
      + destruct D as [x [E1 E2]].
        destruct (IH (reachable_edge A _ _ _ _ R E) b x E1) as [[N [z' [P Z]]] | [N [P Z]]].
        * left. split; [exact N |]. exists z'. split; [econstructor; eauto | exact Z].
        * right. split; [exact N | split; [econstructor; eauto | exact Z]].
  Qed.

  (* The invariant: with what is dropped left out, both roles reach one state z; and what was settled stays settled there. *)
  Definition exchange_invariant (c : exchange) : Prop :=
    reachable A (at_client c) /\ reachable A (at_server c) /\
    incl (in_to_server c) (client_sent c) /\ incl (in_to_client c) (server_sent c) /\
    exists z, reachable A z /\
      path A Receive (at_client c) (live_to_client (client_sent c) (in_to_client c)) z /\
      path A Send (at_server c) (live_to_server (server_sent c) (in_to_server c)) z /\
      (forall a b t y y', In a (client_sent c) -> settles a b = true -> word A z t y -> ~ edge A y Receive b y') /\
      (forall a b t y y', In b (server_sent c) -> settles a b = true -> word A z t y -> ~ edge A y Send a y').

  Lemma filtered_twice (f g : Message -> bool) w : filter (fun m => negb (f m || g m)) w =
    filter (fun m => negb (f m)) (filter (fun m => negb (g m)) w).
  Proof.
    induction w as [| m w IH]; cbn; [reflexivity |].
    destruct (f m) eqn:F, (g m) eqn:G; cbn; rewrite ?F; cbn; rewrite ?IH; reflexivity.
  Qed.

  Lemma live_to_client_cons a s1 w : live_to_client (a :: s1) w =
    filter (fun b => negb (settles a b)) (live_to_client s1 w).
  Proof. exact (filtered_twice (settles a) (settled_by_client s1) w). Qed.

  Lemma live_to_server_cons b s2 w : live_to_server (b :: s2) w =
    filter (fun a => negb (settles a b)) (live_to_server s2 w).
  Proof. exact (filtered_twice (fun a => settles a b) (settled_by_server s2) w). Qed.

  Lemma nothing_filtered (f : Message -> bool) w : existsb f w = false -> filter (fun m => negb (f m)) w = w.
  Proof.
    induction w as [| m w IH]; cbn; [reflexivity |]. destruct (f m); cbn; [discriminate |].
    intros H. f_equal. auto.
  Qed.

  Lemma exchange_invariant_run : deterministic A -> diamond_but_settled -> settled_once ->
    forall c, exchange_run c -> exchange_invariant c.
  Proof.
    intros Det Dia Once c H. induction H as [| c c' H IH Mv].
    - split; [apply reachable_initial | split; [apply reachable_initial | split; [intros x [] | split; [intros x [] |]]]].
      exists (initial A). cbn. split; [apply reachable_initial | split; [constructor | split; [constructor |]]].
      split; intros ? ? ? ? ? [].
    - destruct IH as [Rp [Rr [I1 [I2 [z [Rz [P2 [P1 [K1 K2]]]]]]]]].
      destruct Mv as [p r w1 w2 s1 s2 a p' E | p r w1 w2 s1 s2 b p' X E | p r w1 w2 s1 s2 b X
                     | p r w1 w2 s1 s2 a r' X E | p r w1 w2 s1 s2 a X | p r w1 w2 s1 s2 b r' E]; cbn [at_client at_server in_to_server in_to_client client_sent server_sent] in *.
      + assert (reachable A p') as Rp' by exact (reachable_edge A _ _ _ _ Rp E).
        split; [exact Rp' | split; [exact Rr | split; [| split; [exact I2 |]]]]; cbn [at_client at_server in_to_server in_to_client client_sent server_sent].
        { intros x Hx. apply in_app_or in Hx. destruct Hx as [Hx | [<- | []]]; [right; auto | left; reflexivity]. }
        unfold live_to_server. rewrite filter_app. cbn [filter].
        destruct (client_crosses Dia Once _ _ _ Rp P2 a p' E) as [[N [z' [Q Z]]] | [N [Q [s [t [u [Rs [Es W]]]]]]]].
        * exists z'. rewrite live_to_client_cons, (nothing_filtered _ _ N).
          assert (settled_by_server s2 a = false) as ->.
          { destruct (settled_by_server s2 a) eqn:Y; [| reflexivity]. exfalso.
            apply existsb_exists in Y. destruct Y as [b [B Y]].
            exact (K2 a b [] z z' B Y (word_nil A z) Z). }
          split; [exact (reachable_edge A _ _ _ _ Rz Z) | split; [exact Q | split; [| split]]].
          -- cbn. exact (path_snoc A _ _ _ _ _ _ P1 Z).
          -- intros x b t y y' [<- | Hx] Y Wt.
             ++ exact (proj1 (Once z a b Rz Y) z' t y y' Z Wt).
             ++ exact (K1 x b ((Send, a) :: t) y y' Hx Y (word_cons A _ _ _ _ _ _ Z Wt)).
          -- intros x b t y y' Hb Y Wt. exact (K2 x b ((Send, a) :: t) y y' Hb Y (word_cons A _ _ _ _ _ _ Z Wt)).
        * exists z. rewrite live_to_client_cons.
          assert (settled_by_server s2 a = true) as ->.
          { apply existsb_exists in N. destruct N as [b [B Y]]. apply existsb_exists.
            exists b. split; [apply I2; unfold live_to_client in B; apply filter_In in B; tauto | exact Y]. }
          cbn. rewrite app_nil_r.
          split; [exact Rz | split; [exact Q | split; [exact P1 | split; [| exact K2]]]].
          intros x b v y y' [<- | Hx] Y Wv; [| exact (K1 x b v y y' Hx Y Wv)].
          exact (proj1 (Once s a b Rs Y) t (u ++ v) y y' Es (word_app _ _ _ _ _ W Wv)).
      + unfold live_to_client in P2. cbn in P2. rewrite X in P2. cbn in P2.
        apply path_cons_inv in P2. destruct P2 as [p1 [E1 P2]].
        assert (p1 = p') by exact (Det _ _ _ _ _ Rp E1 E). subst p1.
        split; [exact (reachable_edge A _ _ _ _ Rp E) | split; [exact Rr | split; [exact I1 | split]]]; cbn.
        * intros x Hx. apply I2. right. exact Hx.
        * exists z. split; [exact Rz | split; [exact P2 | split; [exact P1 | split; [exact K1 | exact K2]]]].
      + unfold live_to_client in P2. cbn in P2. rewrite X in P2. cbn in P2.
        split; [exact Rp | split; [exact Rr | split; [exact I1 | split]]]; cbn.
        * intros x Hx. apply I2. right. exact Hx.
        * exists z. split; [exact Rz | split; [exact P2 | split; [exact P1 | split; [exact K1 | exact K2]]]].
      + unfold live_to_server in P1. cbn in P1. rewrite X in P1. cbn in P1.
        apply path_cons_inv in P1. destruct P1 as [r1 [E1 P1]].
        assert (r1 = r') by exact (Det _ _ _ _ _ Rr E1 E). subst r1.
        split; [exact Rp | split; [exact (reachable_edge A _ _ _ _ Rr E) | split; [| split; [exact I2 |]]]]; cbn.
        * intros x Hx. apply I1. right. exact Hx.
        * exists z. split; [exact Rz | split; [exact P2 | split; [exact P1 | split; [exact K1 | exact K2]]]].
      + unfold live_to_server in P1. cbn in P1. rewrite X in P1. cbn in P1.
        split; [exact Rp | split; [exact Rr | split; [| split; [exact I2 |]]]]; cbn.
        * intros x Hx. apply I1. right. exact Hx.
        * exists z. split; [exact Rz | split; [exact P2 | split; [exact P1 | split; [exact K1 | exact K2]]]].
      + assert (reachable A r') as Rr' by exact (reachable_edge A _ _ _ _ Rr E).
        split; [exact Rp | split; [exact Rr' | split; [exact I1 | split]]]; cbn [at_client at_server in_to_server in_to_client client_sent server_sent].
        { intros x Hx. apply in_app_or in Hx. destruct Hx as [Hx | [<- | []]]; [right; auto | left; reflexivity]. }
        unfold live_to_client. rewrite filter_app. cbn [filter].
        destruct (server_crosses Dia Once _ _ _ Rr P1 b r' E) as [[N [z' [Q Z]]] | [N [Q [s [t [u [Rs [Es W]]]]]]]].
        * exists z'. rewrite live_to_server_cons, (nothing_filtered (fun a => settles a b) _ N).
          assert (settled_by_client s1 b = false) as ->.
          { destruct (settled_by_client s1 b) eqn:Y; [| reflexivity]. exfalso.
            apply existsb_exists in Y. destruct Y as [a [B Y]].
            exact (K1 a b [] z z' B Y (word_nil A z) Z). }
          split; [exact (reachable_edge A _ _ _ _ Rz Z) | split; [| split; [exact Q | split]]].
          -- cbn. exact (path_snoc A _ _ _ _ _ _ P2 Z).
          -- intros x y t v v' Hx Y Wt. exact (K1 x y ((Receive, b) :: t) v v' Hx Y (word_cons A _ _ _ _ _ _ Z Wt)).
          -- intros x y t v v' [<- | Hy] Y Wt.
             ++ exact (proj2 (Once z x b Rz Y) z' t v v' Z Wt).
             ++ exact (K2 x y ((Receive, b) :: t) v v' Hy Y (word_cons A _ _ _ _ _ _ Z Wt)).
        * exists z. rewrite live_to_server_cons.
          assert (settled_by_client s1 b = true) as ->.
          { apply existsb_exists in N. destruct N as [a [B Y]]. apply existsb_exists.
            exists a. split; [apply I1; unfold live_to_server in B; apply filter_In in B; tauto | exact Y]. }
          cbn. rewrite app_nil_r.
          split; [exact Rz | split; [exact P2 | split; [exact Q | split; [exact K1 |]]]].
          intros x y v q q' [<- | Hy] Y Wv; [| exact (K2 x y v q q' Hy Y Wv)].
          exact (proj2 (Once s x b Rs Y) t (u ++ v) q q' Es (word_app _ _ _ _ _ W Wv)).
  Qed.

  (* If a cancel and the reply to its own request lead to the same state wherever both are possible, they may cross: a
     message that comes is expected, or its exchange is settled and it is dropped; whenever nothing is in flight both
     roles are in the same state; and if they are stuck, that state has no edges. So the compiler exempts the two from
     the diamond. It assumes that the automaton is deterministic, that all other messages which cross have the diamond,
     and that an exchange is settled once: after one of the two messages the other is not possible any more, which ids
     see to. *)
  Theorem settled_safety : deterministic A -> diamond_but_settled -> settled_once ->
    forall p r w1 w2 s1 s2, exchange_run (Exchange p r w1 w2 s1 s2) ->
      (forall b w, w2 = b :: w -> settled_by_client s1 b = true \/ exists p', edge A p Receive b p') /\
      (forall a w, w1 = a :: w -> settled_by_server s2 a = true \/ exists r', edge A r Send a r') /\
      (w1 = [] -> w2 = [] -> p = r) /\
      ((forall c', ~ exchange_step (Exchange p r w1 w2 s1 s2) c') ->
         w1 = [] /\ w2 = [] /\ p = r /\ no_edges A p).
  Proof.
    intros Det Dia Once p r w1 w2 s1 s2 H.
    destruct (exchange_invariant_run Det Dia Once _ H) as [_ [_ [_ [_ [z [_ [P2 [P1 _]]]]]]]]. cbn [at_client at_server in_to_server in_to_client client_sent server_sent] in *.
    assert (forall b w, w2 = b :: w -> settled_by_client s1 b = true \/ exists p', edge A p Receive b p') as U2.
    { intros b w ->. unfold live_to_client in P2. cbn [filter] in P2.
      destruct (settled_by_client s1 b); [left; reflexivity | right]. cbn in P2.
      apply path_cons_inv in P2. destruct P2 as [q [E _]]. eauto. }
    assert (forall a w, w1 = a :: w -> settled_by_server s2 a = true \/ exists r', edge A r Send a r') as U1.
    { intros a w ->. unfold live_to_server in P1. cbn [filter] in P1.
      destruct (settled_by_server s2 a); [left; reflexivity | right]. cbn in P1.
      apply path_cons_inv in P1. destruct P1 as [q [E _]]. eauto. }
    assert (w1 = [] -> w2 = [] -> p = r) as G.
    { intros -> ->. cbn in P1, P2. apply path_nil_inv in P1. apply path_nil_inv in P2. congruence. }
    split; [exact U2 | split; [exact U1 | split; [exact G |]]].
    intros N. clear P1 P2.
    destruct w2 as [| b w2].
    2:{ exfalso. destruct (settled_by_client s1 b) eqn:X.
        - eapply N. apply exchange_client_drops. exact X.
        - destruct (U2 _ _ eq_refl) as [Y | [q E]]; [congruence |].
          eapply N. apply exchange_client_receives; [exact X | exact E]. }
    destruct w1 as [| a w1].
    2:{ exfalso. destruct (settled_by_server s2 a) eqn:X.
        - eapply N. apply exchange_server_drops. exact X.
        - destruct (U1 _ _ eq_refl) as [Y | [q E]]; [congruence |].
          eapply N. apply exchange_server_receives; [exact X | exact E]. }
    specialize (G eq_refl eq_refl). subst r. repeat split; auto.
    intros d m q E. destruct d; eapply N.
    - apply exchange_client_sends. exact E.
    - apply exchange_server_sends. exact E.
  Qed.
End Cancels.
