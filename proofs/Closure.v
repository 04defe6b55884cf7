(* The closure: the edges that the compiler adds so that a repeated message may cross a message that leaves its state.
   Nothing is added in a state that the automaton does not reach. A late message is one that is received along an added
   edge; no role sends along one. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety.

Section Closure.
  Context {State Message : Type}.
  Variable A : automaton State Message.

  (* The rule: a self-loop at q follows every edge of the other direction. *)
  Inductive closure_edge : State -> direction -> Message -> State -> Prop :=
  | closure_written q d m q' : edge A q d m q' -> closure_edge q d m q'
  | closure_late q d m n q1 :
      reachable A q ->
      closure_edge q d m q -> closure_edge q (flip d) n q1 ->
      closure_edge q1 d m q1.

  Definition closure : automaton State Message := Aut (initial A) closure_edge.

  (* In every mixed pair, one of the two edges is a self-loop. *)
  Definition loops_in_mixed : Prop :=
    forall q a b q1 q2, reachable A q ->
      edge A q Send a q1 -> edge A q Receive b q2 -> q1 = q \/ q2 = q.

  (* What the closure adds are self-loops only. *)
  Lemma closure_edge_inv q d m q' :
    closure_edge q d m q' -> edge A q d m q' \/ q' = q.
  Proof. intros H. destruct H; auto. Qed.

  (* So it does not change which states are reachable. *)
  Lemma closure_reachable q : reachable closure q <-> reachable A q.
  Proof.
    split; intros H; induction H.
    - apply (reachable_initial A).
    - apply closure_edge_inv in H0. destruct H0 as [E | ->]; auto.
      exact (reachable_edge A _ _ _ _ IHreachable E).
    - apply (reachable_initial closure).
    - eapply (reachable_edge closure _ _ _ _ IHreachable). apply closure_written. exact H0.
  Qed.

  (* And it keeps the hypothesis on mixed pairs. *)
  Lemma closure_loops : loops_in_mixed ->
    forall q a b q1 q2, reachable A q ->
      closure_edge q Send a q1 -> closure_edge q Receive b q2 -> q1 = q \/ q2 = q.
  Proof.
    intros L q a b q1 q2 R E1 E2.
    apply closure_edge_inv in E1. apply closure_edge_inv in E2.
    destruct E1 as [E1 | ->]; auto. destruct E2 as [E2 | ->]; auto.
    eapply L; eauto.
  Qed.

  (* The edge that one application of the rule adds is the diamond of its pair of messages. It assumes nothing. *)
  Theorem one_step (B : automaton State Message) : forall q d m n q1,
    edge B q d m q -> edge B q (flip d) n q1 -> edge B q1 d m q1 ->
    exists q', edge B q (flip d) n q' /\ edge B q1 d m q'.
  Proof. intros. exists q1. auto. Qed.

  (* After the closure every pair of messages that cross has the diamond. The compiler therefore looks for races
     after closing. It assumes that of two messages that cross, one returns to its own state. *)
  Theorem closure_diamond : loops_in_mixed -> has_diamond closure.
  Proof.
    intros L q R a b q1 q2 E1 E2. apply closure_reachable in R. cbn in *.
    destruct (closure_loops L _ _ _ _ _ R E1 E2) as [-> | ->].
    - exists q2. split; [exact E2 |].
      apply (closure_late q Send a b q2); auto.
    - exists q1. split; [| exact E1].
      apply (closure_late q Receive b a q1); auto.
  Qed.

  (* The closed roles are safe in the sense of `safety`. It assumes that of two messages that cross, one returns to
     its own state, and that the closure is deterministic; the compiler reports a race where it is not. *)
  Theorem closure_safe :
    loops_in_mixed -> deterministic closure -> safe closure.
  Proof. intros L Det. apply safety; auto. apply closure_diamond; auto. Qed.

  (* B extends A: same initial state, at least A's edges. *)
  Definition extends (B : automaton State Message) : Prop :=
    initial B = initial A /\ forall q d m q', edge A q d m q' -> edge B q d m q'.

  Lemma extends_reach B : extends B -> forall q, reachable A q -> reachable B q.
  Proof.
    intros [I X] q H. induction H.
    - rewrite <- I. constructor.
    - eapply (reachable_edge B _ _ _ _ IHreachable). eauto.
  Qed.

  (* The closure adds nothing that is not needed: every automaton that contains the written edges, is deterministic
     and has the diamond contains the edges of the closure. It assumes nothing. *)
  Theorem closure_least : forall B,
    extends B -> deterministic B -> has_diamond B ->
    forall q d m q', closure_edge q d m q' -> edge B q d m q'.
  Proof.
    intros B X Det Dia q d m q' H. induction H.
    - apply X. exact H.
    - assert (reachable B q) as R by (eapply extends_reach; eauto).
      destruct d; cbn in *.
      + destruct (Dia q R m n q q1 IHclosure_edge1 IHclosure_edge2)
          as [x [E1 E2]].
        assert (q1 = x) by exact (Det _ _ _ _ _ R IHclosure_edge2 E1).
        subst. exact E2.
      + destruct (Dia q R n m q1 q IHclosure_edge2 IHclosure_edge1)
          as [x [E1 E2]].
        assert (q1 = x) by exact (Det _ _ _ _ _ R IHclosure_edge2 E2).
        subst. exact E1.
  Qed.

  (* If the closure is not deterministic, no other set of added edges helps: the conflict is a mistake of the
     protocol and not of the method. It assumes that of two messages that cross, one returns to its own state. *)
  Theorem closure_exact : loops_in_mixed ->
    (deterministic closure <->
     exists B, extends B /\ deterministic B /\ has_diamond B).
  Proof.
    intros L. split.
    - intros Det. exists closure. split; [| split]; auto.
      + split; [reflexivity | intros; apply closure_written; auto].
      + apply closure_diamond; auto.
    - intros [B [X [Det Dia]]] q d m q1 q2 R E1 E2.
      apply closure_reachable in R.
      apply (Det q d m q1 q2).
      + eapply extends_reach; eauto.
      + eapply closure_least; eauto.
      + eapply closure_least; eauto.
  Qed.

  (* ---- Late loops are for receiving only ---- *)

  (* A role sends along A's edges only. It receives along closed edges.
     So a program is never offered an added loop. *)
  Inductive late_step : configuration (State := State) (Message := Message) -> configuration -> Prop :=
  | l_client_sends p r w1 w2 a p' :
      edge A p Send a p' ->
      late_step (Configuration p r w1 w2) (Configuration p' r (w1 ++ [a]) w2)
  | l_client_receives p r w1 w2 b p' :
      closure_edge p Receive b p' ->
      late_step (Configuration p r w1 (b :: w2)) (Configuration p' r w1 w2)
  | l_server_receives p r w1 w2 a r' :
      closure_edge r Send a r' ->
      late_step (Configuration p r (a :: w1) w2) (Configuration p r' w1 w2)
  | l_server_sends p r w1 w2 b r' :
      edge A r Receive b r' ->
      late_step (Configuration p r w1 w2) (Configuration p r' w1 (w2 ++ [b])).

  Inductive late_run : configuration -> Prop :=
  | late_run_initial : late_run (Configuration (initial A) (initial A) [] [])
  | late_run_step c c' : late_run c -> late_step c c' -> late_run c'.

  Lemma late_run_in_closure c : late_run c -> run closure c.
  Proof.
    intros H. induction H.
    - apply (run_initial closure).
    - apply (run_step closure _ _ IHlate_run). destruct H0.
      + apply client_sends. apply closure_written. exact H0.
      + apply client_receives. exact H0.
      + apply server_receives. exact H0.
      + apply server_sends. apply closure_written. exact H0.
  Qed.

  (* A word of receives from a state where A has no edges: it stays there. *)
  Lemma path_at_end d p w z :
    no_edges A p -> path closure d p w z ->
    z = p /\ forall m, In m w -> closure_edge p d m p.
  Proof.
    intros N H. induction H; cbn in *.
    - split; [reflexivity | intros m []].
    - pose proof H as E. apply closure_edge_inv in E.
      destruct E as [E | ->]; [exfalso; eapply N; eauto |].
      destruct (IHpath N) as [-> I]. split; [reflexivity |].
      intros x [<- | X]; auto.
  Qed.

  (* Roles that send along written edges only and receive along the edges of the closure, too, never receive an
     unexpected message; they are in the same state whenever nothing is in flight; and if they are stuck, nothing
     is in flight and no written edge is left. When both have come to a state without written edges, what is still
     in flight is late: it is received along added edges, which change nothing. So no sender needs an added edge,
     and the compiler gives none to a program: it has no method, no variant, and no step of its own. The property
     "nothing is in flight at the end" does not hold, see `logger_late_orphan`. It assumes that of two messages
     that cross, one returns to its own state, and that the closure is deterministic. *)
  Theorem late_safety : loops_in_mixed -> deterministic closure ->
    forall p r w1 w2, late_run (Configuration p r w1 w2) ->
      no_unexpected closure (Configuration p r w1 w2) /\
      agreement (Configuration p r w1 w2) /\
      ((forall c', ~ late_step (Configuration p r w1 w2) c') ->
         p = r /\ no_edges A p /\ w1 = [] /\ w2 = []) /\
      (no_edges A p -> no_edges A r ->
         p = r /\ (forall a, In a w1 -> closure_edge r Send a r)
               /\ (forall b, In b w2 -> closure_edge p Receive b p)).
  Proof.
    intros L Det p r w1 w2 H. apply late_run_in_closure in H.
    pose proof (closure_diamond L) as Dia.
    pose proof (run_invariant closure Det Dia _ H) as I.
    pose proof (invariant_no_unexpected closure _ I) as U.
    pose proof (invariant_agreement closure _ I) as Ag.
    split; [exact U | split; [exact Ag | split]].
    - intros N. destruct U as [U2 U1]. unfold agreement in Ag. cbn in *.
      destruct w2 as [| b w2].
      2:{ destruct (U2 _ _ eq_refl) as [p' E]. exfalso.
          eapply N. apply l_client_receives. exact E. }
      destruct w1 as [| a w1].
      2:{ destruct (U1 _ _ eq_refl) as [r' E]. exfalso.
          eapply N. apply l_server_receives. exact E. }
      specialize (Ag eq_refl eq_refl). subst r.
      split; [reflexivity | split; [| auto]].
      intros d m q' E. destruct d; eapply N.
      + apply l_client_sends. exact E.
      + apply l_server_sends. exact E.
    - intros Np Nr. destruct I as [_ [_ [z [H2 H1]]]]. cbn in *.
      destruct (path_at_end _ _ _ _ Np H2) as [-> I2].
      destruct (path_at_end _ _ _ _ Nr H1) as [-> I1].
      auto.
  Qed.

End Closure.
