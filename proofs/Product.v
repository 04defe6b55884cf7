(* Two channels side by side, over one queue in each direction. The messages of the channels are a disjoint sum, so the
   channels share none. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety.

Section Product.
  Context {State1 State2 Message1 Message2 : Type}.
  Variable A1 : automaton State1 Message1.
  Variable A2 : automaton State2 Message2.

  (* An edge of the product is a step of one channel. *)
  Inductive product_edge : State1 * State2 -> direction -> Message1 + Message2 -> State1 * State2 -> Prop :=
  | product_first x y d m x' :
      edge A1 x d m x' -> product_edge (x, y) d (inl m) (x', y)
  | product_second x y d m y' :
      edge A2 y d m y' -> product_edge (x, y) d (inr m) (x, y').

  Definition product : automaton (State1 * State2) (Message1 + Message2) :=
    Aut (initial A1, initial A2) product_edge.

  Lemma product_edge_inl x y d m q' :
    product_edge (x, y) d (inl m) q' -> exists x', edge A1 x d m x' /\ q' = (x', y).
  Proof. intros H. inversion H; subst. eauto. Qed.

  Lemma product_edge_inr x y d m q' :
    product_edge (x, y) d (inr m) q' -> exists y', edge A2 y d m y' /\ q' = (x, y').
  Proof. intros H. inversion H; subst. eauto. Qed.

  Lemma product_reachable q : reachable product q -> reachable A1 (fst q) /\ reachable A2 (snd q).
  Proof.
    intros H. induction H.
    - cbn. split; constructor.
    - destruct IHreachable as [R1 R2]. destruct H0; cbn in *.
      + split; auto. exact (reachable_edge A1 _ _ _ _ R1 H0).
      + split; auto. exact (reachable_edge A2 _ _ _ _ R2 H0).
  Qed.

  (* Messages of different channels have the diamond, whatever the channels are. It assumes that the channels share
     no message. *)
  Theorem cross_diamond : forall x y d1 d2 m n q1 q2,
    product_edge (x, y) d1 (inl m) q1 -> product_edge (x, y) d2 (inr n) q2 ->
    exists q', product_edge q1 d2 (inr n) q' /\ product_edge q2 d1 (inl m) q'.
  Proof.
    intros x y d1 d2 m n q1 q2 E1 E2.
    apply product_edge_inl in E1. destruct E1 as [x' [E1 ->]].
    apply product_edge_inr in E2. destruct E2 as [y' [E2 ->]].
    exists (x', y'). split; constructor; auto.
  Qed.

  (* Channels side by side are deterministic if each channel is. It assumes that they share no message. *)
  Theorem product_deterministic :
    deterministic A1 -> deterministic A2 -> deterministic product.
  Proof.
    intros D1 D2 [x y] d m q1 q2 R E1 E2. apply product_reachable in R.
    destruct R as [R1 R2]. cbn in *. destruct m as [m | m].
    - apply product_edge_inl in E1. destruct E1 as [u [E1 ->]].
      apply product_edge_inl in E2. destruct E2 as [v [E2 ->]].
      rewrite (D1 _ _ _ _ _ R1 E1 E2). reflexivity.
    - apply product_edge_inr in E1. destruct E1 as [u [E1 ->]].
      apply product_edge_inr in E2. destruct E2 as [v [E2 ->]].
      rewrite (D2 _ _ _ _ _ R2 E1 E2). reflexivity.
  Qed.

  (* Channels side by side have the diamond if each channel has it. So the compiler checks each channel, or each
     group of channels that share messages, by itself. It assumes that the channels share no message. *)
  Theorem product_diamond :
    has_diamond A1 -> has_diamond A2 -> has_diamond product.
  Proof.
    intros D1 D2 [x y] R a b q1 q2 E1 E2. apply product_reachable in R.
    destruct R as [R1 R2]. cbn in *.
    destruct a as [a | a]; destruct b as [b | b].
    - apply product_edge_inl in E1. destruct E1 as [u [E1 ->]].
      apply product_edge_inl in E2. destruct E2 as [v [E2 ->]].
      destruct (D1 x R1 a b u v E1 E2) as [z [Z1 Z2]].
      exists (z, y). split; constructor; auto.
    - eapply cross_diamond; eauto.
    - destruct (cross_diamond _ _ _ _ _ _ _ _ E2 E1) as [z [Z1 Z2]].
      exists z. auto.
    - apply product_edge_inr in E1. destruct E1 as [u [E1 ->]].
      apply product_edge_inr in E2. destruct E2 as [v [E2 ->]].
      destruct (D2 y R2 a b u v E1 E2) as [z [Z1 Z2]].
      exists (x, z). split; constructor; auto.
  Qed.

  (* Channels side by side are safe if each channel is deterministic and has the diamond. It assumes that they
     share no message. *)
  Theorem product_safe :
    deterministic A1 -> deterministic A2 ->
    has_diamond A1 -> has_diamond A2 -> safe product.
  Proof.
    intros. apply safety.
    - apply product_deterministic; auto.
    - apply product_diamond; auto.
  Qed.

  (* ---- By projection: no diamond is asked of the channels ---- *)

  (* The messages of one channel in a shared queue, in order. *)
  Fixpoint left_of (w : list (Message1 + Message2)) : list Message1 :=
    match w with
    | [] => []
    | inl m :: w' => m :: left_of w'
    | inr _ :: w' => left_of w'
    end.
  Fixpoint right_of (w : list (Message1 + Message2)) : list Message2 :=
    match w with
    | [] => []
    | inl _ :: w' => right_of w'
    | inr m :: w' => m :: right_of w'
    end.

  Lemma left_app u v : left_of (u ++ v) = left_of u ++ left_of v.
  Proof. induction u as [| [m | m] u IH]; cbn; congruence. Qed.
  Lemma right_app u v : right_of (u ++ v) = right_of u ++ right_of v.
  Proof. induction u as [| [m | m] u IH]; cbn; congruence. Qed.

  Definition first_channel (c : configuration (State := State1 * State2) (Message := Message1 + Message2)) :=
    Configuration (fst (client c)) (fst (server c)) (left_of (to_server c)) (left_of (to_client c)).
  Definition second_channel (c : configuration (State := State1 * State2) (Message := Message1 + Message2)) :=
    Configuration (snd (client c)) (snd (server c)) (right_of (to_server c)) (right_of (to_client c)).

  (* A run of the product, seen in one channel, is a run of that channel. *)
  Lemma product_projection c : run product c -> run A1 (first_channel c) /\ run A2 (second_channel c).
  Proof.
    intros H. induction H as [| c c' H [I1 I2] Mv].
    - split; constructor.
    - destruct Mv as [[p1 p2] [r1 r2] w1 w2 [m | m] q E
                     | [p1 p2] [r1 r2] w1 w2 [m | m] q E
                     | [p1 p2] [r1 r2] w1 w2 [m | m] q E
                     | [p1 p2] [r1 r2] w1 w2 [m | m] q E];
        first [ apply product_edge_inl in E | apply product_edge_inr in E ];
        destruct E as [z [E ->]]; unfold first_channel, second_channel in *; cbn in *;
        rewrite ?left_app, ?right_app; cbn; rewrite ?app_nil_r; split; auto;
        (eapply run_step; [eassumption |]);
        first [ apply client_sends; exact E | apply client_receives; exact E
              | apply server_receives; exact E | apply server_sends; exact E ].
  Qed.

  (* Safety as a user sees it: no unexpected message, and a pair that is stuck
     has come to its end. Both roles need not be in one and the same state. *)
  Definition weakly_safe {State Message} (A : automaton State Message) : Prop :=
    forall c, run A c ->
      no_unexpected A c /\
      ((forall c', ~ step A c c') ->
         to_server c = [] /\ to_client c = [] /\ no_edges A (client c) /\ no_edges A (server c)).

  Lemma product_no_unexpected c :
    no_unexpected A1 (first_channel c) -> no_unexpected A2 (second_channel c) ->
    no_unexpected product c.
  Proof.
    destruct c as [[p1 p2] [r1 r2] w1 w2]. unfold first_channel, second_channel. cbn.
    intros [X1 Y1] [X2 Y2]. cbn in *.
    split; cbn; intros [m | m] w ->; cbn in *.
    - destruct (X1 _ _ eq_refl) as [q E]. exists (q, p2). constructor; auto.
    - destruct (X2 _ _ eq_refl) as [q E]. exists (p1, q). constructor; auto.
    - destruct (Y1 _ _ eq_refl) as [q E]. exists (q, r2). constructor; auto.
    - destruct (Y2 _ _ eq_refl) as [q E]. exists (r1, q). constructor; auto.
  Qed.

  (* Channels side by side never receive an unexpected message and are stuck only at their end, if this is true of
     each channel by itself. No diamond is asked of the channels, so the result also covers what a weaker check
     accepts. It assumes that they share no message; a channel that is behind never blocks the one queue, because
     its next message is always expected. *)
  Theorem product_weakly_safe :
    weakly_safe A1 -> weakly_safe A2 -> weakly_safe product.
  Proof.
    intros S1 S2 c H. destruct (product_projection c H) as [H1 H2].
    apply S1 in H1. apply S2 in H2.
    destruct H1 as [U1 N1]. destruct H2 as [U2 N2].
    pose proof (product_no_unexpected c U1 U2) as U.
    split; [exact U |]. intros N. clear U1 U2.
    destruct c as [[p1 p2] [r1 r2] w1 w2]. destruct U as [X Y].
    unfold first_channel, second_channel in *. cbn in *.
    destruct w2 as [| b w2].
    2:{ destruct (X _ _ eq_refl) as [q E]. exfalso.
        eapply N. apply client_receives. exact E. }
    destruct w1 as [| a w1].
    2:{ destruct (Y _ _ eq_refl) as [q E]. exfalso.
        eapply N. apply server_receives. exact E. }
    cbn in *.
    destruct N1 as [_ [_ [P1 R1]]].
    { intros c' M. inversion M; subst; eapply N.
      - apply client_sends. apply product_first. eassumption.
      - apply server_sends. apply product_first. eassumption. }
    destruct N2 as [_ [_ [P2 R2]]].
    { intros c' M. inversion M; subst; eapply N.
      - apply client_sends. apply product_second. eassumption.
      - apply server_sends. apply product_second. eassumption. }
    repeat split; auto; intros d m q E; destruct m as [m | m].
    - apply product_edge_inl in E. destruct E as [z [E _]]. exact (P1 _ _ _ E).
    - apply product_edge_inr in E. destruct E as [z [E _]]. exact (P2 _ _ _ E).
    - apply product_edge_inl in E. destruct E as [z [E _]]. exact (R1 _ _ _ E).
    - apply product_edge_inr in E. destruct E as [z [E _]]. exact (R2 _ _ _ E).
  Qed.

End Product.
