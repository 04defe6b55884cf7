(* An observer between two different roles C and S. It has to follow a mediator of the two (Mediator.v), not one of the
   roles. It passes on and notes messages as in Observer.v. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety Observer Compatible Mediator Examples.

Section ObserverPair.
  Context {ClientState ServerState Z Message : Type}.
  Variable C : automaton ClientState Message.
  Variable S : automaton ServerState Message.
  Variable M : automaton Z Message.
  Variable RC : ClientState -> Z -> Prop.
  Variable RS : ServerState -> Z -> Prop.

  Record observed_roles := ObservedRoles {
    observed_role_client : ClientState; observed_role_server : ServerState;
    roles_up_before : list Message; roles_up_after : list Message;
    roles_down_before : list Message; roles_down_after : list Message;
    roles_noted : list (direction * Message)
  }.

  Inductive observed_roles_step : observed_roles -> observed_roles -> Prop :=
  | observed_roles_client_sends p r u1 w1 u2 w2 t a p' :
      edge C p Send a p' ->
      observed_roles_step (ObservedRoles p r u1 w1 u2 w2 t) (ObservedRoles p' r (u1 ++ [a]) w1 u2 w2 t)
  | observed_roles_client_receives p r u1 w1 u2 w2 t b p' :
      edge C p Receive b p' ->
      observed_roles_step (ObservedRoles p r u1 w1 u2 (b :: w2) t) (ObservedRoles p' r u1 w1 u2 w2 t)
  | observed_roles_server_receives p r u1 w1 u2 w2 t a r' :
      edge S r Send a r' ->
      observed_roles_step (ObservedRoles p r u1 (a :: w1) u2 w2 t) (ObservedRoles p r' u1 w1 u2 w2 t)
  | observed_roles_server_sends p r u1 w1 u2 w2 t b r' :
      edge S r Receive b r' ->
      observed_roles_step (ObservedRoles p r u1 w1 u2 w2 t) (ObservedRoles p r' u1 w1 (u2 ++ [b]) w2 t)
  | roles_notes_up p r u1 w1 u2 w2 t a :
      observed_roles_step (ObservedRoles p r (a :: u1) w1 u2 w2 t)
             (ObservedRoles p r u1 (w1 ++ [a]) u2 w2 (t ++ [(Send, a)]))
  | roles_notes_down p r u1 w1 u2 w2 t b :
      observed_roles_step (ObservedRoles p r u1 w1 (b :: u2) w2 t)
             (ObservedRoles p r u1 w1 u2 (w2 ++ [b]) (t ++ [(Receive, b)])).

  Inductive observed_roles_run : observed_roles -> Prop :=
  | observed_roles_run_initial : observed_roles_run (ObservedRoles (initial C) (initial S) [] [] [] [] [])
  | observed_roles_run_step c c' : observed_roles_run c -> observed_roles_step c c' -> observed_roles_run c'.

  Lemma observed_roles_mediated :
    deterministic M -> has_diamond M ->
    client_refines C M RC -> server_refines S M RS ->
    forall c, observed_roles_run c ->
    exists u v, RC (observed_role_client c) u /\ RS (observed_role_server c) v /\
      observed_run M (Observed u v (roles_up_before c) (roles_up_after c) (roles_down_before c) (roles_down_after c) (roles_noted c)).
  Proof.
    intros Det Dia [IC FC] [IS FS] c H.
    induction H as [| c c' H [u [v [Hu [Hv I]]]] Mv].
    - exists (initial M), (initial M). repeat split; auto. constructor.
    - pose proof (observed_run_invariant M Det Dia _ I) as V.
      destruct V as [Ru [Rv [m [_ [_ [[s [Ps _]] [s' [Ps' _]]]]]]]].
      destruct Mv as [p r u1 w1 u2 w2 t a p' E | p r u1 w1 u2 w2 t b p' E
                     | p r u1 w1 u2 w2 t a r' E | p r u1 w1 u2 w2 t b r' E
                     | p r u1 w1 u2 w2 t a | p r u1 w1 u2 w2 t b]; cbn in *.
      + destruct (FC _ _ Ru Hu) as [F _]. destruct (F _ _ E) as [z [Ez Rz]].
        exists z, v. repeat split; auto.
        eapply observed_run_step; [exact I |]. apply observed_client_sends. exact Ez.
      + apply path_cons_inv in Ps. destruct Ps as [z [Ez _]].
        destruct (FC _ _ Ru Hu) as [_ F]. destruct (F _ _ Ez) as [_ G].
        exists z, v. repeat split; auto.
        eapply observed_run_step; [exact I |]. apply observed_client_receives. exact Ez.
      + apply path_cons_inv in Ps'. destruct Ps' as [z [Ez _]].
        destruct (FS _ _ Rv Hv) as [_ F]. destruct (F _ _ Ez) as [_ G].
        exists u, z. repeat split; auto.
        eapply observed_run_step; [exact I |]. apply observed_server_receives. exact Ez.
      + destruct (FS _ _ Rv Hv) as [F _]. destruct (F _ _ E) as [z [Ez Rz]].
        exists u, z. repeat split; auto.
        eapply observed_run_step; [exact I |]. apply observed_server_sends. exact Ez.
      + exists u, v. repeat split; auto.
        eapply observed_run_step; [exact I |]. apply notes_up.
      + exists u, v. repeat split; auto.
        eapply observed_run_step; [exact I |]. apply notes_down.
  Qed.

  (* An observer between two different roles that follows a mediator never blames a role that follows its own
     automaton. It assumes a mediator as in `mediated_safety`. *)
  Theorem pair_observer_no_false_alarm :
    deterministic M -> has_diamond M ->
    client_refines C M RC -> server_refines S M RS ->
    forall c, observed_roles_run c -> exists m, word M (initial M) (roles_noted c) m.
  Proof.
    intros Det Dia FC FS c H.
    destruct (observed_roles_mediated Det Dia FC FS c H) as [u [v [_ [_ I]]]].
    destruct (observer_no_false_alarm M Det Dia _ I) as [m W]. eauto.
  Qed.
End ObserverPair.


(* The meeting automaton is not enough for an observer, even of a safe pair:
   it has no word "client sends 1, server sends 2". Yet an observer can note it. *)
Example meet_observer_lies :
  observed_roles_run (of_table strict_c) (of_table strict_s)
    (ObservedRoles 1 2 [] [1] [] [2] [(Send, 1); (Receive, 2)]) /\
  ~ exists m, word (meet (of_table strict_c) (of_table strict_s)) (0, 0)
                [(Send, 1); (Receive, 2)] m.
Proof.
  split.
  - eapply observed_roles_run_step with (c := ObservedRoles 1 2 [] [1] [2] [] [(Send, 1)]).
    2:{ apply (roles_notes_down _ _ 1 2 [] [1] [] [] [(Send, 1)] 2). }
    eapply observed_roles_run_step with (c := ObservedRoles 1 2 [1] [] [2] [] []).
    2:{ apply (roles_notes_up _ _ 1 2 [] [] [2] [] [] 1). }
    eapply observed_roles_run_step with (c := ObservedRoles 1 0 [1] [] [] [] []).
    2:{ apply (observed_roles_server_sends _ _ 1 0 [1] [] [] [] [] 2 2). cbn. auto. }
    eapply observed_roles_run_step with (c := ObservedRoles 0 0 [] [] [] [] []).
    2:{ apply (observed_roles_client_sends _ _ 0 0 [] [] [] [] [] 1 1). cbn. auto. }
    constructor.
  - intros [m W]. apply word_cons_inv in W. destruct W as [[p r] [[E1 E2] W]].
    apply word_cons_inv in W. destruct W as [[p' r'] [[E3 E4] _]].
    cbn in *. enum E2; enum E4.
Qed.
