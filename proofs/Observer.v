(* An observer between two dual roles, who follows one state of the automaton. A message is noted at the moment in which
   the observer passes it on. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety.

Section Observer.
  Context {State Message : Type}.
  Variable A : automaton State Message.

  (* Each direction is two queues, one before the observer and one after it. What was
     noted is listed oldest first. *)
  Record observed := Observed {
    observed_client : State; observed_server : State;
    up_before : list Message; up_after : list Message;
    down_before : list Message; down_after : list Message;
    noted : list (direction * Message)
  }.

  (* The roles take their steps as before. The observer passes on the head of
     either queue. It does not look at A here: it only notes. *)
  Inductive observed_step : observed -> observed -> Prop :=
  | observed_client_sends p r x1 y1 x2 y2 t a p' :
      edge A p Send a p' ->
      observed_step (Observed p r x1 y1 x2 y2 t) (Observed p' r (x1 ++ [a]) y1 x2 y2 t)
  | observed_client_receives p r x1 y1 x2 y2 t b p' :
      edge A p Receive b p' ->
      observed_step (Observed p r x1 y1 x2 (b :: y2) t) (Observed p' r x1 y1 x2 y2 t)
  | observed_server_receives p r x1 y1 x2 y2 t a r' :
      edge A r Send a r' ->
      observed_step (Observed p r x1 (a :: y1) x2 y2 t) (Observed p r' x1 y1 x2 y2 t)
  | observed_server_sends p r x1 y1 x2 y2 t b r' :
      edge A r Receive b r' ->
      observed_step (Observed p r x1 y1 x2 y2 t) (Observed p r' x1 y1 (x2 ++ [b]) y2 t)
  | notes_up p r x1 y1 x2 y2 t a :
      observed_step (Observed p r (a :: x1) y1 x2 y2 t)
            (Observed p r x1 (y1 ++ [a]) x2 y2 (t ++ [(Send, a)]))
  | notes_down p r x1 y1 x2 y2 t b :
      observed_step (Observed p r x1 y1 (b :: x2) y2 t)
            (Observed p r x1 y1 x2 (y2 ++ [b]) (t ++ [(Receive, b)])).

  Inductive observed_run : observed -> Prop :=
  | observed_run_initial : observed_run (Observed (initial A) (initial A) [] [] [] [] [])
  | observed_run_step c c' : observed_run c -> observed_step c c' -> observed_run c'.

  (* The invariant. m is the observer's state. The client p reads what was passed
     on to it and is then where m is once it has noted what the client has in flight
     before the observer. The same for the server r. *)
  Definition observer_invariant (c : observed) : Prop :=
    reachable A (observed_client c) /\ reachable A (observed_server c) /\
    exists m, reachable A m /\ word A (initial A) (noted c) m /\
      (exists s, path A Receive (observed_client c) (down_after c) s /\ path A Send m (up_before c) s) /\
      (exists s, path A Send (observed_server c) (up_after c) s /\ path A Receive m (down_before c) s).

  Lemma observer_invariant_step : deterministic A -> has_diamond A ->
    forall c c', observer_invariant c -> observed_step c c' -> observer_invariant c'.
  Proof.
    intros Det Dia c c'
      [Rp [Rr [m [Rm [W [[s [Ps Ms]] [s' [Ps' Ms']]]]]]]] M.
    destruct M; cbn in *.
    - (* The client sends. *)
      destruct (send_commutes A Dia _ _ _ Rp Ps _ _ H) as [z [Z1 Z2]].
      split; [| split]; cbn; auto.
      { exact (reachable_edge A _ _ _ _ Rp H). }
      exists m. split; [| split; [| split]]; auto.
      + exists z. split; [exact Z1 | eapply path_snoc; eauto].
      + exists s'. auto.
    - (* The client receives. *)
      apply path_cons_inv in Ps. destruct Ps as [p1 [E P]].
      assert (p1 = p') by exact (Det _ _ _ _ _ Rp E H). subst.
      split; [| split]; cbn; auto.
      { exact (reachable_edge A _ _ _ _ Rp H). }
      exists m. split; [| split; [| split]]; eauto.
    - (* The server receives. *)
      apply path_cons_inv in Ps'. destruct Ps' as [r1 [E P]].
      assert (r1 = r') by exact (Det _ _ _ _ _ Rr E H). subst.
      split; [| split]; cbn; auto.
      { exact (reachable_edge A _ _ _ _ Rr H). }
      exists m. split; [| split; [| split]]; eauto.
    - (* The server sends. *)
      destruct (recv_commutes A Dia _ _ _ Rr Ps' _ _ H) as [z [Z1 Z2]].
      split; [| split]; cbn; auto.
      { exact (reachable_edge A _ _ _ _ Rr H). }
      exists m. split; [| split; [| split]]; auto.
      + exists s. auto.
      + exists z. split; [exact Z1 | eapply path_snoc; eauto].
    - (* A message of the client is noted: m takes it, and it commutes along what the
         server has in flight. *)
      apply path_cons_inv in Ms. destruct Ms as [m1 [E P]].
      destruct (send_commutes A Dia _ _ _ Rm Ms' _ _ E) as [z [Z1 Z2]].
      split; [| split]; cbn; auto.
      exists m1. split; [| split; [| split]].
      + exact (reachable_edge A _ _ _ _ Rm E).
      + eapply word_snoc; eauto.
      + exists s. auto.
      + exists z. split; [eapply path_snoc; eauto | exact Z1].
    - (* A message of the server is noted: m takes it, and it commutes along what the
         client has in flight. *)
      apply path_cons_inv in Ms'. destruct Ms' as [m1 [E P]].
      destruct (recv_commutes A Dia _ _ _ Rm Ms _ _ E) as [z [Z1 Z2]].
      split; [| split]; cbn; auto.
      exists m1. split; [| split; [| split]].
      + exact (reachable_edge A _ _ _ _ Rm E).
      + eapply word_snoc; eauto.
      + exists z. split; [eapply path_snoc; eauto | exact Z1].
      + exists s'. auto.
  Qed.

  Lemma observed_run_invariant : deterministic A -> has_diamond A ->
    forall c, observed_run c -> observer_invariant c.
  Proof.
    intros Det Dia c H. induction H.
    - split; [apply reachable_initial | split; [apply reachable_initial |]]. cbn.
      exists (initial A). split; [apply reachable_initial | split; [constructor |]].
      split; exists (initial A); split; constructor.
    - eapply observer_invariant_step; eauto.
  Qed.

  (* Whatever an observer notes is a word of the automaton, so it never blames a role that follows the protocol.
     The checker relies on it between the two roles and at each end. It assumes that the automaton is deterministic
     and has the diamond, and that a message is noted when it is passed on. *)
  Theorem observer_no_false_alarm : deterministic A -> has_diamond A ->
    forall c, observed_run c -> exists m, word A (initial A) (noted c) m.
  Proof.
    intros Det Dia c H. apply observed_run_invariant in H; auto.
    destruct H as [_ [_ [m [_ [W _]]]]]. eauto.
  Qed.

  (* What was noted leads to one state, so an observer keeps one state and never has to guess. It assumes that the
     automaton is deterministic. *)
  Theorem observer_state_unique : deterministic A ->
    forall q t m m', reachable A q -> word A q t m -> word A q t m' -> m = m'.
  Proof.
    intros Det q t m m' R W. revert m'. induction W; intros m' W'.
    - exact (word_nil_inv _ _ _ W').
    - apply word_cons_inv in W'. destruct W' as [x [E W']].
      assert (q1 = x) by exact (Det _ _ _ _ _ R H E). subst.
      apply IHW; auto. exact (reachable_edge A _ _ _ _ R H).
  Qed.

  (* When nothing is in flight, the observer and both roles are in the same state. It assumes that the automaton is
     deterministic and has the diamond. *)
  Theorem observer_in_step : deterministic A -> has_diamond A ->
    forall p r t m, observed_run (Observed p r [] [] [] [] t) ->
    word A (initial A) t m -> p = m /\ r = m.
  Proof.
    intros Det Dia p r t m H W. apply observed_run_invariant in H; auto.
    destruct H as [_ [_ [m' [_ [W' [[s [X1 X2]] [s' [Y1 Y2]]]]]]]]. cbn in *.
    pose proof (observer_state_unique Det _ _ _ _ (reachable_initial A) W W').
    apply path_nil_inv in X1. apply path_nil_inv in X2.
    apply path_nil_inv in Y1. apply path_nil_inv in Y2. subst. auto.
  Qed.

  (* One more step of the roles, in lock step with the observer. *)
  Lemma observer_lockstep q t d m q' :
    observed_run (Observed q q [] [] [] [] t) -> edge A q d m q' ->
    observed_run (Observed q' q' [] [] [] [] (t ++ [(d, m)])).
  Proof.
    intros H E. destruct d.
    - eapply observed_run_step; [eapply observed_run_step; [eapply observed_run_step; [exact H |] |] |].
      + apply observed_client_sends. exact E.
      + cbn. apply notes_up.
      + cbn. apply observed_server_receives. exact E.
    - eapply observed_run_step; [eapply observed_run_step; [eapply observed_run_step; [exact H |] |] |].
      + apply observed_server_sends. exact E.
      + cbn. apply notes_down.
      + cbn. apply observed_client_receives. exact E.
  Qed.

  (* Every word of the automaton can be noted in some session, so an observer that accepts less would blame the
     innocent. It assumes nothing. *)
  Theorem observer_no_miss :
    forall t m, word A (initial A) t m -> observed_run (Observed m m [] [] [] [] t).
  Proof.
    assert (forall q t m, word A q t m -> forall s,
      observed_run (Observed q q [] [] [] [] s) -> observed_run (Observed m m [] [] [] [] (s ++ t))) as G.
    { intros q t m W. induction W; intros s Hs.
      - rewrite app_nil_r. exact Hs.
      - replace (s ++ (d, m) :: t) with ((s ++ [(d, m)]) ++ t)
          by (rewrite <- app_assoc; reflexivity).
        apply IHW. eapply observer_lockstep; eauto. }
    intros t m W. apply (G _ _ _ W []). constructor.
  Qed.

  (* What an observer can note is the language of the automaton, no more and no less. It assumes that the automaton
     is deterministic and has the diamond. *)
  Theorem observer_exact : deterministic A -> has_diamond A ->
    forall t,
      (exists c, observed_run c /\ noted c = t) <-> (exists m, word A (initial A) t m).
  Proof.
    intros Det Dia t. split.
    - intros [c [H <-]]. eapply observer_no_false_alarm; eauto.
    - intros [m W]. exists (Observed m m [] [] [] [] t).
      split; [apply observer_no_miss; exact W | reflexivity].
  Qed.

  (* If an observer raises no false alarm, then of two messages that both roles may send at once, each is accepted
     after the other. So an observer of one state works only where messages may cross. It assumes that the
     automaton is deterministic. *)
  Theorem observer_needs_crossing :
    deterministic A ->
    (forall c, observed_run c -> exists m, word A (initial A) (noted c) m) ->
    forall t q a b q1 q2, word A (initial A) t q ->
      edge A q Send a q1 -> edge A q Receive b q2 ->
      (exists x, edge A q1 Receive b x) /\ (exists y, edge A q2 Send a y).
  Proof.
    intros Det S t q a b q1 q2 W E1 E2.
    assert (observed_run (Observed q1 q2 [a] [] [b] [] t)) as H.
    { eapply observed_run_step; [eapply observed_run_step |].
      - exact (observer_no_miss _ _ W).
      - apply observed_client_sends. exact E1.
      - cbn. change [b] with ([] ++ [b]). apply observed_server_sends. exact E2. }
    assert (forall u s m d x, reachable A u -> word A u s m ->
      forall k, word A u (s ++ [(d, x)]) k -> edge A m d x k) as L.
    { intros u s m d x R Wd. induction Wd; intros k K; cbn in K.
      - apply word_cons_inv in K. destruct K as [y [E K]].
        apply word_nil_inv in K. subst. exact E.
      - apply word_cons_inv in K. destruct K as [y [E K]].
        assert (q3 = y) by exact (Det _ _ _ _ _ R H0 E). subst.
        apply IHWd; auto. exact (reachable_edge A _ _ _ _ R H0). }
    split.
    - assert (observed_run (Observed q1 q2 [] [a] [] [b] ((t ++ [(Send, a)]) ++ [(Receive, b)]))) as X.
      { eapply observed_run_step; [eapply observed_run_step; [exact H |] |].
        - apply notes_up.
        - apply notes_down. }
      apply S in X. destruct X as [k X]. cbn in X. exists k.
      eapply L; [apply reachable_initial | | exact X].
      eapply word_snoc; eauto.
    - assert (observed_run (Observed q1 q2 [] [a] [] [b] ((t ++ [(Receive, b)]) ++ [(Send, a)]))) as X.
      { eapply observed_run_step; [eapply observed_run_step; [exact H |] |].
        - apply notes_down.
        - apply notes_up. }
      apply S in X. destruct X as [k X]. cbn in X. exists k.
      eapply L; [apply reachable_initial | | exact X].
      eapply word_snoc; eauto.
  Qed.

End Observer.
