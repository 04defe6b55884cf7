(* Dual roles: a deterministic automaton with the diamond is safe over unbounded queues, and only such an automaton is
   both free of unexpected messages and in step whenever the queues are empty. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton.

Section Safety.
  Context {State Message : Type}.
  Variable A : automaton State Message.

  (* The invariant.
     Both roles reach the same state z when they receive all that is in flight.
     We add that both states are reachable in the graph of A. *)
  Definition invariant (c : configuration) : Prop :=
    reachable A (client c) /\ reachable A (server c) /\
    exists z, path A Receive (client c) (to_client c) z /\ path A Send (server c) (to_server c) z.

  Lemma invariant_step : deterministic A -> has_diamond A ->
    forall c c', invariant c -> step A c c' -> invariant c'.
  Proof.
    intros Det Dia c c' [Rp [Rr [z [H2 H1]]]] M.
    destruct M; cbn in *.
    - (* The client sends: commute along what it has not read yet. *)
      destruct (send_commutes A Dia _ _ _ Rp H2 _ _ H) as [z' [Z1 Z2]].
      split; [| split]; cbn; auto.
      + exact (reachable_edge A _ _ _ _ Rp H).
      + exists z'. split; [exact Z1 | eapply path_snoc; eauto].
    - (* The client receives: its path loses its first edge. *)
      apply path_cons_inv in H2. destruct H2 as [p1 [E P]].
      assert (p1 = p') by exact (Det _ _ _ _ _ Rp E H). subst.
      split; [| split]; cbn; auto.
      + exact (reachable_edge A _ _ _ _ Rp H).
      + exists z. auto.
    - (* The server receives. *)
      apply path_cons_inv in H1. destruct H1 as [r1 [E P]].
      assert (r1 = r') by exact (Det _ _ _ _ _ Rr E H). subst.
      split; [| split]; cbn; auto.
      + exact (reachable_edge A _ _ _ _ Rr H).
      + exists z. auto.
    - (* The server sends. *)
      destruct (recv_commutes A Dia _ _ _ Rr H1 _ _ H) as [z' [Z1 Z2]].
      split; [| split]; cbn; auto.
      + exact (reachable_edge A _ _ _ _ Rr H).
      + exists z'. split; [eapply path_snoc; eauto | exact Z1].
  Qed.

  (* In every configuration that a session reaches, there is one state in which both roles will be when they have
     received everything that is in flight. The compiler relies on it when it keeps one state for a session whose
     roles trail one another. It assumes that the automaton is deterministic and has the diamond. *)
  Theorem run_invariant : deterministic A -> has_diamond A ->
    forall c, run A c -> invariant c.
  Proof.
    intros Det Dia c H. induction H.
    - repeat split; cbn; try apply reachable_initial.
      exists (initial A). split; constructor.
    - eapply invariant_step; eauto.
  Qed.

  (* (a) follows from the invariant. *)
  Lemma invariant_no_unexpected c : invariant c -> no_unexpected A c.
  Proof.
    destruct c as [p r w1 w2]. intros [_ [_ [z [H2 H1]]]]. cbn in *.
    split; cbn; intros x w ->.
    - apply path_cons_inv in H2. destruct H2 as [y [E _]]. eauto.
    - apply path_cons_inv in H1. destruct H1 as [y [E _]]. eauto.
  Qed.

  (* (b) follows from the invariant. *)
  Lemma invariant_agreement c : invariant c -> agreement c.
  Proof.
    destruct c as [p r w1 w2]. intros [_ [_ [z [H2 H1]]]]. cbn in *.
    unfold agreement; cbn. intros -> ->.
    apply path_nil_inv in H1. apply path_nil_inv in H2. congruence.
  Qed.

  (* (c) follows from (a) and (b) alone. *)
  Lemma deadlock_from_ab c :
    no_unexpected A c -> agreement c -> no_deadlock A c.
  Proof.
    destruct c as [p r w1 w2]. intros [U2 U1] Ag N.
    unfold agreement in Ag. cbn in *.
    destruct w2 as [| b w2].
    2:{ destruct (U2 _ _ eq_refl) as [p' E]. exfalso.
        eapply N. apply client_receives. exact E. }
    destruct w1 as [| a w1].
    2:{ destruct (U1 _ _ eq_refl) as [r' E]. exfalso.
        eapply N. apply server_receives. exact E. }
    specialize (Ag eq_refl eq_refl). subst r. split; [reflexivity |].
    intros d m q' E. destruct d; eapply N.
    - apply client_sends. exact E.
    - apply server_sends. exact E.
  Qed.

  (* (d) follows from (a) alone. *)
  Lemma orphan_from_a c : no_unexpected A c -> no_orphan A c.
  Proof.
    destruct c as [p r w1 w2]. intros [U2 U1] Np Nr. cbn in *. split.
    - destruct w1 as [| a w1]; [reflexivity |].
      destruct (U1 _ _ eq_refl) as [r' E]. exfalso. eapply Nr; eauto.
    - destruct w2 as [| b w2]; [reflexivity |].
      destruct (U2 _ _ eq_refl) as [p' E]. exfalso. eapply Np; eauto.
  Qed.

  (* Two dual roles over unbounded queues never receive an unexpected message; they are in the same state whenever
     nothing is in flight; they are stuck only in a state without edges; and when both have come to such a state,
     nothing is in flight. This is guarantee G4 for dual roles, and it is why the compiler checks the diamond and
     refuses a race. It assumes that the automaton is deterministic and has the diamond, both in reachable states
     only. *)
  Theorem safety : deterministic A -> has_diamond A -> safe A.
  Proof.
    intros Det Dia c H. pose proof (run_invariant Det Dia c H) as I.
    pose proof (invariant_no_unexpected _ I). pose proof (invariant_agreement _ I).
    repeat split; try apply H0; auto.
    - apply deadlock_from_ab; auto.
    - apply deadlock_from_ab; auto.
    - apply orphan_from_a; auto.
    - apply orphan_from_a; auto.
  Qed.

  (* ---- The converse ---- *)

  (* Every reachable state of A is met by both roles with empty queues. *)
  Lemma run_together q : reachable A q -> run A (Configuration q q [] []).
  Proof.
    intros H. induction H.
    - constructor.
    - destruct d.
      + eapply run_step.
        * eapply run_step; [exact IHreachable |].
          apply client_sends. exact H0.
        * cbn. apply server_receives. exact H0.
      + eapply run_step.
        * eapply run_step; [exact IHreachable |].
          apply server_sends. exact H0.
        * cbn. apply client_receives. exact H0.
  Qed.

  (* Two steps from a common state: both roles send before they receive. *)
  Lemma run_cross q a b q1 q2 :
    reachable A q -> edge A q Send a q1 -> edge A q Receive b q2 ->
    run A (Configuration q1 q2 [a] [b]).
  Proof.
    intros R E1 E2.
    eapply run_step.
    - eapply run_step; [exact (run_together q R) |].
      apply client_sends. exact E1.
    - cbn. change [b] with ([] ++ [b]). apply server_sends. exact E2.
  Qed.

  (* Determinism and the diamond are not only enough but also necessary for two of the four properties: no
     unexpected message, and the same state whenever nothing is in flight. So the check of the compiler cannot be
     weakened without losing one of them, and a race that it reports is real. It assumes nothing. *)
  Theorem safety_exact :
    (deterministic A /\ has_diamond A) <->
    (forall c, run A c -> no_unexpected A c /\ agreement c).
  Proof.
    split.
    - intros [Det Dia] c H. destruct (safety Det Dia c H) as [X [Y _]]. auto.
    - intros S. split.
      + intros q d m q1 q2 R E1 E2.
        assert (run A (Configuration q1 q2 [] [])) as X.
        { destruct d.
          - eapply run_step.
            + eapply run_step; [exact (run_together q R) |].
              apply client_sends. exact E1.
            + cbn. apply server_receives. exact E2.
          - eapply run_step.
            + eapply run_step; [exact (run_together q R) |].
              apply server_sends. exact E2.
            + cbn. apply client_receives. exact E1. }
        apply S in X. destruct X as [_ X]. apply X; reflexivity.
      + intros q R a b q1 q2 E1 E2.
        pose proof (run_cross _ _ _ _ _ R E1 E2) as X.
        destruct (S _ X) as [[U2 U1] _]. cbn in *.
        destruct (U2 _ _ eq_refl) as [x Ex].
        destruct (U1 _ _ eq_refl) as [y Ey].
        assert (run A (Configuration x y [] [])) as Z.
        { eapply run_step.
          - eapply run_step; [exact X |]. apply client_receives. exact Ex.
          - apply server_receives. exact Ey. }
        apply S in Z. destruct Z as [_ Z].
        assert (x = y) by (apply Z; reflexivity). subst. eauto.
  Qed.

  (* ---- Draining, and bounded queues ---- *)

  (* Receives alone bring both roles to one common state, queues empty. *)
  Inductive drains : configuration -> configuration -> Prop :=
  | drains_refl c : drains c c
  | drains_client p r w1 w2 b p' c :
      edge A p Receive b p' -> drains (Configuration p' r w1 w2) c ->
      drains (Configuration p r w1 (b :: w2)) c
  | drains_server p r w1 w2 a r' c :
      edge A r Send a r' -> drains (Configuration p r' w1 w2) c ->
      drains (Configuration p r (a :: w1) w2) c.

  (* From every configuration, receives alone lead both roles to one common state with empty queues. So a session
     can always be drained, whatever the programs do not send any more. It assumes that the automaton is
     deterministic and has the diamond. *)
  Theorem drain : deterministic A -> has_diamond A ->
    forall c, run A c -> exists z, reachable A z /\ drains c (Configuration z z [] []).
  Proof.
    intros Det Dia [p r w1 w2] H. apply run_invariant in H; auto.
    destruct H as [Rp [Rr [z [H2 H1]]]]. cbn in *.
    exists z. split; [eapply reachable_path; eauto |].
    clear Rp Rr. revert r H1. induction H2; intros r H1.
    - induction H1; [apply drains_refl |].
      eapply drains_server; [exact H | exact IHpath].
    - eapply drains_client; [exact H | exact (IHpath _ H1)].
  Qed.

  (* A configuration that fits in queues of at most k messages each. *)
  Definition fits (k : nat) (c : configuration (State := State) (Message := Message)) : Prop :=
    length (to_server c) <= k /\ length (to_client c) <= k.

  (* Queues that hold a bounded number of messages do not make the roles wait for each other: if no step fits, both
     are in the same state and it has no edges. The runtime bounds its queues. It assumes that the automaton is
     deterministic and has the diamond, that a queue holds at least one message, and that a role can receive while
     the queue it writes to is full. *)
  Theorem bounded_progress : deterministic A -> has_diamond A ->
    forall k c, 1 <= k -> run A c -> fits k c ->
    (forall c', step A c c' -> ~ fits k c') ->
    client c = server c /\ no_edges A (client c).
  Proof.
    intros Det Dia k [p r w1 w2] K H F N.
    pose proof (run_invariant Det Dia _ H) as I.
    pose proof (invariant_no_unexpected _ I) as [U2 U1].
    pose proof (invariant_agreement _ I) as Ag. unfold agreement in Ag.
    destruct F as [F1 F2]. cbn in *.
    destruct w2 as [| b w2].
    2:{ destruct (U2 _ _ eq_refl) as [p' E]. exfalso.
        eapply N; [apply client_receives; exact E |].
        split; cbn in *; auto. apply PeanoNat.Nat.lt_le_incl. exact F2. }
    destruct w1 as [| a w1].
    2:{ destruct (U1 _ _ eq_refl) as [r' E]. exfalso.
        eapply N; [apply server_receives; exact E |].
        split; cbn in *; auto. apply PeanoNat.Nat.lt_le_incl. exact F1. }
    specialize (Ag eq_refl eq_refl). subst r. split; [reflexivity |].
    intros d m q' E. destruct d; eapply N.
    - apply client_sends. exact E.
    - split; cbn; auto.
    - apply server_sends. exact E.
    - split; cbn; auto.
  Qed.

  (* ---- Half duplex ---- *)

  (* A state with both a send and a receive. *)
  Definition mixed (q : State) : Prop :=
    exists a b q1 q2, edge A q Send a q1 /\ edge A q Receive b q2.

  (* At most one queue is in use at any time. *)
  Definition half_duplex : Prop :=
    forall c, run A c -> to_server c = [] \/ to_client c = [].

  Lemma no_mixed_diamond : (forall q, reachable A q -> ~ mixed q) -> has_diamond A.
  Proof.
    intros N q R a b q1 q2 E1 E2. exfalso. apply (N q R).
    exists a, b, q1, q2. auto.
  Qed.

  (* At most one queue is ever in use exactly if no reachable state is mixed. The compiler skips the check of the
     diamond for such roles. It assumes that the automaton is deterministic. *)
  Theorem half_duplex_exact : deterministic A ->
    (half_duplex <-> forall q, reachable A q -> ~ mixed q).
  Proof.
    intros Det. split.
    - intros HD q R [a [b [q1 [q2 [E1 E2]]]]].
      destruct (HD _ (run_cross _ _ _ _ _ R E1 E2)); discriminate.
    - intros N c H. pose proof (no_mixed_diamond N) as Dia.
      induction H as [| c c' H IH Mv]; [left; reflexivity |].
      pose proof (run_invariant Det Dia _ H) as I.
      pose proof (invariant_no_unexpected _ I) as [U2 U1].
      destruct I as [Rp [Rr _]].
      destruct Mv as [p r w1 w2 a p' E | p r w1 w2 b p' E
                     | p r w1 w2 a r' E | p r w1 w2 b r' E]; cbn in *.
      + destruct w2 as [| b w2]; [auto |]. exfalso.
        destruct (U2 _ _ eq_refl) as [x X]. apply (N p Rp).
        exists a, b, p', x. auto.
      + destruct IH; [auto | discriminate].
      + destruct IH; [discriminate | auto].
      + destruct w1 as [| a w1]; [auto |]. exfalso.
        destruct (U1 _ _ eq_refl) as [x X]. apply (N r Rr).
        exists a, b, x, r'. auto.
  Qed.

End Safety.

(* The same as `safety` for an automaton whose edges are a function of state, direction and message, as they are in
   the tables of the compiler. It assumes the diamond only. *)
Corollary safety_of_step_function {State Message} q0 (step : State -> direction -> Message -> option State) :
  has_diamond (of_step_function q0 step) -> safe (of_step_function q0 step).
Proof. intros D. apply safety; auto. apply of_step_function_deterministic. Qed.
