(* The fence: when a message is not late any more. There is no automaton here: sides A and B write what they like. The
   messages of A are numbered in the order in which A wrote them, and each message of B is stamped with the numbers that B
   had received when it wrote it. *)

From Coq Require Import List Arith.
Import ListNotations.

(* A message of B: what B had received when it sent it, and what it replies to. *)
Record stamped := Stamped { stamp : list nat; reply : option nat }.

Record wire := Wire {
  written : nat;          (* how many messages A wrote *)
  from_a : list nat;          (* in flight from A to B *)
  received_by_b : list nat;         (* received by B, oldest first *)
  from_b : list stamped;         (* in flight from B to A *)
  received_by_a : list stamped         (* received by A, oldest first *)
}.

(* How a message leaves a channel. *)
Definition takes (X : Type) := list X -> X -> list X -> Prop.
Inductive fifo {X} : takes X := fifo_head x l : fifo (x :: l) x l.
Inductive any_order {X} : takes X :=
  any_order_take l x l' : any_order (l ++ x :: l') x (l ++ l').

Section Model.
  (* Both channels have a discipline of their own. *)
  Variable take_ab : takes nat.
  Variable take_ba : takes stamped.

  (* B replies only to what it has received. *)
  Definition may_reply (g : list nat) (o : option nat) : Prop :=
    match o with None => True | Some j => In j g end.

  Inductive wire_step : wire -> wire -> Prop :=
  | a_writes n q g s l :
      wire_step (Wire n q g s l) (Wire (S n) (q ++ [n]) g s l)
  | b_receives n q e q' g s l :
      take_ab q e q' -> wire_step (Wire n q g s l) (Wire n q' (g ++ [e]) s l)
  | b_sends n q g s l o :
      may_reply g o ->
      wire_step (Wire n q g s l) (Wire n q g (s ++ [Stamped g o]) l)
  | a_receives n q g s x s' l :
      take_ba s x s' -> wire_step (Wire n q g s l) (Wire n q g s' (l ++ [x])).

  Inductive wire_run : wire -> Prop :=
  | wire_run_initial : wire_run (Wire 0 [] [] [] [])
  | wire_run_step c c' : wire_run c -> wire_step c c' -> wire_run c'.

  (* B sent x after it had received message e of A. *)
  Definition sent_after (e : nat) (x : stamped) : Prop := In e (stamp x).

  (* Stamps only grow along a list of B's messages. *)
  Definition growing (l : list stamped) : Prop :=
    forall l1 x l2 y, l = l1 ++ x :: l2 -> In y l2 -> incl (stamp x) (stamp y).

  Lemma growing_snoc l z :
    growing l -> (forall x, In x l -> incl (stamp x) (stamp z)) ->
    growing (l ++ [z]).
  Proof.
    intros G H l1 x l2 y E I.
    destruct (exists_last (l := l2)) as [l3 [w Ew]].
    { destruct l2; [contradiction | discriminate]. }
    subst l2.
    replace (l1 ++ x :: l3 ++ [w]) with ((l1 ++ x :: l3) ++ [w]) in E
      by (rewrite <- app_assoc; reflexivity).
    apply app_inj_tail in E. destruct E as [E <-].
    apply in_app_or in I. destruct I as [I | [<- | []]].
    - eapply G; eauto.
    - apply H. rewrite E. apply in_or_app. right. left. reflexivity.
  Qed.

End Model.

(* ---- First half: only the channel from B to A must be FIFO ---- *)

Section Half.
  Variable take_ab : takes nat.

  Lemma growing_inv c : wire_run take_ab fifo c ->
    growing (received_by_a c ++ from_b c) /\
    (forall x, In x (received_by_a c ++ from_b c) -> incl (stamp x) (received_by_b c)) /\
    (forall x, In x (received_by_a c ++ from_b c) -> may_reply (stamp x) (reply x)).
  Proof.
    intros H. induction H as [| c c' H [G [I M]] Mv].
    - cbn. repeat split.
      + intros l1 x l2 y E. destruct l1; discriminate.
      + intros x [].
      + intros x [].
    - destruct Mv; cbn in *.
      + auto.
      + repeat split; auto. intros x X y Y. apply in_or_app. left.
        exact (I x X y Y).
      + rewrite app_assoc. repeat split.
        * apply growing_snoc; auto.
        * intros x X. apply in_app_or in X. destruct X as [X | [<- | []]];
            [auto | apply incl_refl].
        * intros x X. apply in_app_or in X. destruct X as [X | [<- | []]];
            [auto | exact H0].
      + destruct H0. rewrite <- app_assoc. auto.
  Qed.

  (* Once A has received a message that B wrote after it had received A's message e, all that A receives later was
     written after e was received, too. From then on nothing that e made impermissible is late. It assumes that the
     direction from B to A delivers in order; the other direction may do what it likes. *)
  Theorem fence : forall c e l1 x l2 y,
    wire_run take_ab fifo c ->
    received_by_a c = l1 ++ x :: l2 -> sent_after e x ->
    In y l2 -> sent_after e y.
  Proof.
    intros c e l1 x l2 y H L S Y. apply growing_inv in H.
    destruct H as [G _]. unfold sent_after in *.
    apply (G l1 x (l2 ++ from_b c) y); auto.
    - rewrite L, <- app_assoc. reflexivity.
    - apply in_or_app. auto.
  Qed.

  (* The reply to e is such a message. So the reply to a step ends the lateness that the step caused. It assumes
     that the direction from B to A delivers in order, and that B replies only to what it has received. *)
  Theorem fence_by_reply : forall c e l1 x l2 y,
    wire_run take_ab fifo c ->
    received_by_a c = l1 ++ x :: l2 -> reply x = Some e ->
    In y l2 -> sent_after e y.
  Proof.
    intros c e l1 x l2 y H L R Y. eapply fence; eauto.
    apply growing_inv in H. destruct H as [_ [_ M]].
    specialize (M x). rewrite R in M. apply M.
    rewrite L. apply in_or_app. left. apply in_or_app. right. left. reflexivity.
  Qed.
End Half.

(* ---- Second half: a reply to any later request, FIFO both ways ---- *)

Lemma order_inv c : wire_run fifo fifo c ->
  (exists k j, received_by_b c = seq 0 k /\ from_a c = seq k j /\ written c = k + j) /\
  (forall x, In x (received_by_a c ++ from_b c) -> exists k, stamp x = seq 0 k).
Proof.
  intros H. induction H as [| c c' H [[k [j [Hg [Hq Hw]]]] I] Mv].
  - cbn. split; [exists 0, 0; auto | intros x []].
  - destruct Mv; cbn in *.
    + split; auto. exists k, (S j). subst. rewrite seq_S. auto.
    + split; auto. destruct H0. destruct j; [discriminate |].
      cbn in Hq. inversion Hq; subst. exists (S k), j.
      rewrite seq_S. cbn. repeat split; rewrite ?Nat.add_succ_r, ?Nat.add_succ_l; auto.
    + split; [eauto |]. rewrite app_assoc. intros x X.
      apply in_app_or in X. destruct X as [X | [<- | []]]; eauto.
    + split; [eauto |]. destruct H0. rewrite <- app_assoc. auto.
Qed.

(* The reply to a request that A wrote after e is such a message, too. This is the rule by which the checker ends
   lateness. It assumes that both directions deliver in order. *)
Theorem fence_by_later_reply : forall c e j l1 x l2 y,
  wire_run fifo fifo c ->
  received_by_a c = l1 ++ x :: l2 -> reply x = Some j -> e <= j ->
  In y l2 -> sent_after e y.
Proof.
  intros c e j l1 x l2 y H L R Le Y. eapply fence; eauto.
  assert (In x (received_by_a c ++ from_b c)) as X.
  { rewrite L. apply in_or_app. left. apply in_or_app. right. left. reflexivity. }
  pose proof (growing_inv _ _ H) as [_ [_ M]].
  pose proof (order_inv _ H) as [_ O].
  specialize (M x X). destruct (O x X) as [k K]. rewrite R in M. cbn in M.
  unfold sent_after. rewrite K in *. apply in_seq in M. apply in_seq.
  split; [apply Nat.le_0_l | exact (Nat.le_lt_trans _ _ _ Le (proj2 M))].
Qed.

(* ---- The hypotheses are needed ---- *)

(* Counterexample: if the direction from A to B does not deliver in order, the reply to a later request proves
   nothing about e. So a session over HTTP has no fence. *)
Theorem no_fifo_up_no_fence : exists c l1 x l2 y,
  wire_run any_order fifo c /\ received_by_a c = l1 ++ x :: l2 /\
  reply x = Some 1 /\ In y l2 /\ ~ sent_after 0 y.
Proof.
  exists (Wire 2 [0] [1] [] [Stamped [1] (Some 1); Stamped [1] None]),
    [], (Stamped [1] (Some 1)), [Stamped [1] None], (Stamped [1] None).
  split; [| repeat split; cbn; auto; intros [E | []]; discriminate].
  eapply wire_run_step with (c := Wire 2 [0] [1] [Stamped [1] None] [Stamped [1] (Some 1)]).
  2:{ apply (a_receives _ _ 2 [0] [1] [Stamped [1] None] (Stamped [1] None) []
        [Stamped [1] (Some 1)]). constructor. }
  eapply wire_run_step with (c := Wire 2 [0] [1] [Stamped [1] (Some 1); Stamped [1] None] []).
  2:{ apply (a_receives _ _ 2 [0] [1] _ (Stamped [1] (Some 1)) [Stamped [1] None] []).
      constructor. }
  eapply wire_run_step with (c := Wire 2 [0] [1] [Stamped [1] (Some 1)] []).
  2:{ apply (b_sends _ _ 2 [0] [1] [Stamped [1] (Some 1)] [] None). exact I. }
  eapply wire_run_step with (c := Wire 2 [0] [1] [] []).
  2:{ apply (b_sends _ _ 2 [0] [1] [] [] (Some 1)). cbn. auto. }
  eapply wire_run_step with (c := Wire 2 [0; 1] [] [] []).
  2:{ apply (b_receives _ _ 2 [0; 1] 1 [0] [] [] []).
      apply (any_order_take [0] 1 []). }
  eapply wire_run_step with (c := Wire 1 [0] [] [] []).
  2:{ apply (a_writes _ _ 1 [0] [] [] []). }
  eapply wire_run_step with (c := Wire 0 [] [] [] []).
  2:{ apply (a_writes _ _ 0 [] [] [] []). }
  constructor.
Qed.

(* Counterexample: if the direction from B to A does not deliver in order, not even the reply to e itself is a
   fence. *)
Theorem no_fifo_down_no_fence : exists c l1 x l2 y,
  wire_run fifo any_order c /\ received_by_a c = l1 ++ x :: l2 /\
  reply x = Some 0 /\ In y l2 /\ ~ sent_after 0 y.
Proof.
  exists (Wire 1 [] [0] [] [Stamped [0] (Some 0); Stamped [] None]),
    [], (Stamped [0] (Some 0)), [Stamped [] None], (Stamped [] None).
  split; [| repeat split; cbn; auto].
  eapply wire_run_step with (c := Wire 1 [] [0] [Stamped [] None] [Stamped [0] (Some 0)]).
  2:{ apply (a_receives _ _ 1 [] [0] [Stamped [] None] (Stamped [] None) []
        [Stamped [0] (Some 0)]). apply (any_order_take [] (Stamped [] None) []). }
  eapply wire_run_step with (c := Wire 1 [] [0] [Stamped [] None; Stamped [0] (Some 0)] []).
  2:{ apply (a_receives _ _ 1 [] [0] _ (Stamped [0] (Some 0)) [Stamped [] None] []).
      apply (any_order_take [Stamped [] None] (Stamped [0] (Some 0)) []). }
  eapply wire_run_step with (c := Wire 1 [] [0] [Stamped [] None] []).
  2:{ apply (b_sends _ _ 1 [] [0] [Stamped [] None] [] (Some 0)). cbn. auto. }
  eapply wire_run_step with (c := Wire 1 [0] [] [Stamped [] None] []).
  2:{ apply (b_receives _ _ 1 [0] 0 [] [] [Stamped [] None] []). constructor. }
  eapply wire_run_step with (c := Wire 1 [0] [] [] []).
  2:{ apply (b_sends _ _ 1 [0] [] [] [] None). exact I. }
  eapply wire_run_step with (c := Wire 0 [] [] [] []).
  2:{ apply (a_writes _ _ 0 [] [] [] []). }
  constructor.
Qed.
