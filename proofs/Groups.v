(* Channels side by side in two different roles, over one queue in each direction. The compiler divides the channels of
   both roles into groups that share no message, and looks at each group by itself. The messages of two groups are a
   disjoint sum. For more than two groups the theorems are applied again. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety Product Compatible Examples Mediator.

(* What `compatible_safety` and `completion_safety` promise of two roles, wherever a run leads: no unexpected message;
   roles that are stuck have nothing in flight and nothing to send; what a role never receives is not in flight. *)
Definition roles_sound {ClientState ServerState Message : Type}
  (C : automaton ClientState Message) (S : automaton ServerState Message) : Prop :=
  forall p r w1 w2, roles_run C S (Roles p r w1 w2) ->
    roles_no_unexpected C S (Roles p r w1 w2) /\
    ((forall c', ~ roles_step C S (Roles p r w1 w2) c') ->
       w1 = [] /\ w2 = [] /\
       (forall a p', ~ edge C p Send a p') /\
       (forall b r', ~ edge S r Receive b r')) /\
    ((forall b p', ~ edge C p Receive b p') -> w2 = []) /\
    ((forall a r', ~ edge S r Send a r') -> w1 = []).

Section Groups.
  Context {C1 C2 S1 S2 M1 M2 : Type}.
  Variable A1 : automaton C1 M1.
  Variable A2 : automaton C2 M2.
  Variable B1 : automaton S1 M1.
  Variable B2 : automaton S2 M2.

  Notation both := (roles (ClientState := C1 * C2) (ServerState := S1 * S2) (Message := M1 + M2)).

  Definition first_group (c : both) : roles :=
    Roles (fst (role_client c)) (fst (role_server c)) (left_of (roles_to_server c)) (left_of (roles_to_client c)).
  Definition second_group (c : both) : roles :=
    Roles (snd (role_client c)) (snd (role_server c)) (right_of (roles_to_server c)) (right_of (roles_to_client c)).

  (* A run of both groups, seen in one of them, is a run of that group. *)
  Lemma groups_projection c : roles_run (product A1 A2) (product B1 B2) c ->
    roles_run A1 B1 (first_group c) /\ roles_run A2 B2 (second_group c).
  Proof.
    intros H. induction H as [| c c' H [I1 I2] Mv].
    - split; apply roles_run_initial.
    - destruct Mv as [[p1 p2] [r1 r2] w1 w2 [m | m] q E
                     | [p1 p2] [r1 r2] w1 w2 [m | m] q E
                     | [p1 p2] [r1 r2] w1 w2 [m | m] q E
                     | [p1 p2] [r1 r2] w1 w2 [m | m] q E];
        first [ apply product_edge_inl in E | apply product_edge_inr in E ];
        destruct E as [z [E ->]]; unfold first_group, second_group in *; cbn in *;
        rewrite ?left_app, ?right_app; cbn; rewrite ?app_nil_r; split; auto;
        (eapply roles_run_step; [eassumption |]);
        first [ apply roles_client_sends; exact E | apply roles_client_receives; exact E
              | apply roles_server_receives; exact E | apply roles_server_sends; exact E ].
  Qed.

  Lemma no_message_left (w : list (M1 + M2)) : left_of w = [] -> right_of w = [] -> w = [].
  Proof. destruct w as [| [m | m] w]; cbn; congruence. Qed.

  Lemma groups_no_unexpected c :
    roles_no_unexpected A1 B1 (first_group c) -> roles_no_unexpected A2 B2 (second_group c) ->
    roles_no_unexpected (product A1 A2) (product B1 B2) c.
  Proof.
    destruct c as [[p1 p2] [r1 r2] w1 w2]. unfold first_group, second_group. cbn.
    intros [X1 Y1] [X2 Y2]. cbn in *.
    split; cbn; intros [m | m] w ->; cbn in *.
    - destruct (X1 _ _ eq_refl) as [q E]. exists (q, p2). constructor; auto.
    - destruct (X2 _ _ eq_refl) as [q E]. exists (p1, q). constructor; auto.
    - destruct (Y1 _ _ eq_refl) as [q E]. exists (q, r2). constructor; auto.
    - destruct (Y2 _ _ eq_refl) as [q E]. exists (r1, q). constructor; auto.
  Qed.

  (* Two different roles are sound if each group of their channels is sound by itself. So the compiler may look at
     groups one by one, whichever check it uses for each. It assumes only that the groups share no message. *)
  Theorem groups_sound :
    roles_sound A1 B1 -> roles_sound A2 B2 -> roles_sound (product A1 A2) (product B1 B2).
  Proof.
    intros H1 H2 [p1 p2] [r1 r2] w1 w2 R. destruct (groups_projection _ R) as [R1 R2].
    unfold first_group, second_group in *. cbn in *.
    destruct (H1 _ _ _ _ R1) as [U1 [N1 [C1' S1']]]. destruct (H2 _ _ _ _ R2) as [U2 [N2 [C2' S2']]].
    pose proof (groups_no_unexpected (Roles (p1, p2) (r1, r2) w1 w2) U1 U2) as U.
    split; [exact U | split; [| split]].
    - intros N. destruct U as [X Y]. cbn in *.
      destruct w2 as [| b w2].
      2:{ destruct (X _ _ eq_refl) as [q E]. exfalso. eapply N. apply roles_client_receives. exact E. }
      destruct w1 as [| a w1].
      2:{ destruct (Y _ _ eq_refl) as [q E]. exfalso. eapply N. apply roles_server_receives. exact E. }
      cbn in *.
      destruct N1 as [_ [_ [P1 Q1]]].
      { intros c' M. inversion M; subst; eapply N.
        - apply roles_client_sends. apply product_first. eassumption.
        - apply roles_server_sends. apply product_first. eassumption. }
      destruct N2 as [_ [_ [P2 Q2]]].
      { intros c' M. inversion M; subst; eapply N.
        - apply roles_client_sends. apply product_second. eassumption.
        - apply roles_server_sends. apply product_second. eassumption. }
      repeat split; auto; intros [m | m] q E.
      + apply product_edge_inl in E. destruct E as [z [E _]]. exact (P1 _ _ E).
      + apply product_edge_inr in E. destruct E as [z [E _]]. exact (P2 _ _ E).
      + apply product_edge_inl in E. destruct E as [z [E _]]. exact (Q1 _ _ E).
      + apply product_edge_inr in E. destruct E as [z [E _]]. exact (Q2 _ _ E).
    - intros N. apply no_message_left.
      + apply C1'. intros b q E. eapply N. apply product_first. exact E.
      + apply C2'. intros b q E. eapply N. apply product_second. exact E.
    - intros N. apply no_message_left.
      + apply S1'. intros a q E. eapply N. apply product_first. exact E.
      + apply S2'. intros a q E. eapply N. apply product_second. exact E.
  Qed.

  (* In particular if the check of the completion says yes to each group. It assumes that the groups share no message. *)
  Corollary groups_completion :
    functional A1 -> functional B1 -> functional A2 -> functional B2 ->
    check_compatible A1 B1 -> check_crossing A1 B1 -> deterministic (completion A1 B1) ->
    check_compatible A2 B2 -> check_crossing A2 B2 -> deterministic (completion A2 B2) ->
    roles_sound (product A1 A2) (product B1 B2).
  Proof.
    intros FA1 FB1 FA2 FB2 K1 X1 D1 K2 X2 D2. apply groups_sound; intros p r w1 w2 R.
    - destruct (completion_safety A1 B1 FA1 FB1 K1 X1 D1 p r w1 w2 R) as [U [_ Z]]. split; assumption.
    - destruct (completion_safety A2 B2 FA2 FB2 K2 X2 D2 p r w1 w2 R) as [U [_ Z]]. split; assumption.
  Qed.
End Groups.
