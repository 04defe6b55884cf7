(* Two different roles with cancels: a mediator in which a cancel and the replies to its own request may cross. *)

From Coq Require Import List Bool.
Import ListNotations.
From Diamond Require Import Automaton Compatible Mediator Cancels.

Section Settled.
  Context {ClientState ServerState Z Message : Type}.
  Variable C : automaton ClientState Message.
  Variable S : automaton ServerState Message.
  Variable M : automaton Z Message.
  Variable RC : ClientState -> Z -> Prop.
  Variable RS : ServerState -> Z -> Prop.
  Variable settles : Message -> Message -> bool.

  (* As in Cancels.v, with a role of its own on each side. *)
  Record roles_exchange := RolesExchange {
    of_client : ClientState; of_server : ServerState; on_way_to_server : list Message; on_way_to_client : list Message;
    said_by_client : list Message; said_by_server : list Message
  }.

  Inductive roles_exchange_step : roles_exchange -> roles_exchange -> Prop :=
  | settled_client_sends p r w1 w2 s1 s2 a p' :
      edge C p Send a p' ->
      roles_exchange_step (RolesExchange p r w1 w2 s1 s2) (RolesExchange p' r (w1 ++ [a]) w2 (a :: s1) s2)
  | settled_client_receives p r w1 w2 s1 s2 b p' :
      settled_by_client settles s1 b = false -> edge C p Receive b p' ->
      roles_exchange_step (RolesExchange p r w1 (b :: w2) s1 s2) (RolesExchange p' r w1 w2 s1 s2)
  | settled_client_drops p r w1 w2 s1 s2 b :
      settled_by_client settles s1 b = true ->
      roles_exchange_step (RolesExchange p r w1 (b :: w2) s1 s2) (RolesExchange p r w1 w2 s1 s2)
  | settled_server_receives p r w1 w2 s1 s2 a r' :
      settled_by_server settles s2 a = false -> edge S r Send a r' ->
      roles_exchange_step (RolesExchange p r (a :: w1) w2 s1 s2) (RolesExchange p r' w1 w2 s1 s2)
  | settled_server_drops p r w1 w2 s1 s2 a :
      settled_by_server settles s2 a = true ->
      roles_exchange_step (RolesExchange p r (a :: w1) w2 s1 s2) (RolesExchange p r w1 w2 s1 s2)
  | settled_server_sends p r w1 w2 s1 s2 b r' :
      edge S r Receive b r' ->
      roles_exchange_step (RolesExchange p r w1 w2 s1 s2) (RolesExchange p r' w1 (w2 ++ [b]) s1 (b :: s2)).

  Inductive roles_exchange_run : roles_exchange -> Prop :=
  | settled_run_initial : roles_exchange_run (RolesExchange (initial C) (initial S) [] [] [] [])
  | settled_run_step c c' : roles_exchange_run c -> roles_exchange_step c c' -> roles_exchange_run c'.

  (* A run of both roles is a run of what lies between them. *)
  Lemma settled_mediated_run :
    deterministic M -> diamond_but_settled M settles -> settled_once M settles ->
    client_refines C M RC -> server_refines S M RS ->
    forall c, roles_exchange_run c ->
    exists u v, exchange_run M settles (Exchange u v (on_way_to_server c) (on_way_to_client c)
                                          (said_by_client c) (said_by_server c)) /\
                RC (of_client c) u /\ RS (of_server c) v.
  Proof.
    intros Det Dia Once [IC FC] [IS FS] c H.
    induction H as [| c c' H [u [v [I [Hu Hv]]]] Mv].
    - exists (initial M), (initial M). cbn. repeat split; auto. constructor.
    - destruct (exchange_invariant_run M settles Det Dia Once _ I) as [Ru [Rv _]].
      pose proof (settled_safety M settles Det Dia Once _ _ _ _ _ _ I) as [U2 [U1 _]].
      destruct Mv as [p r w1 w2 s1 s2 a p' E | p r w1 w2 s1 s2 b p' N E | p r w1 w2 s1 s2 b Y
                     | p r w1 w2 s1 s2 a r' N E | p r w1 w2 s1 s2 a Y | p r w1 w2 s1 s2 b r' E];
        cbn [of_client of_server on_way_to_server on_way_to_client said_by_client said_by_server at_client at_server] in *.
      + destruct (FC _ _ Ru Hu) as [F _]. destruct (F _ _ E) as [z [Ez Rz]].
        exists z, v. repeat split; auto. eapply exchange_run_step; [exact I |]. apply exchange_client_sends. exact Ez.
      + destruct (U2 _ _ eq_refl) as [X | [z Ez]]; [congruence |].
        destruct (FC _ _ Ru Hu) as [_ F]. destruct (F _ _ Ez) as [_ G].
        exists z, v. repeat split; auto. eapply exchange_run_step; [exact I |].
        apply exchange_client_receives; [exact N | exact Ez].
      + exists u, v. repeat split; auto. eapply exchange_run_step; [exact I |]. apply exchange_client_drops. exact Y.
      + destruct (U1 _ _ eq_refl) as [X | [z Ez]]; [congruence |].
        destruct (FS _ _ Rv Hv) as [_ F]. destruct (F _ _ Ez) as [_ G].
        exists u, z. repeat split; auto. eapply exchange_run_step; [exact I |].
        apply exchange_server_receives; [exact N | exact Ez].
      + exists u, v. repeat split; auto. eapply exchange_run_step; [exact I |]. apply exchange_server_drops. exact Y.
      + destruct (FS _ _ Rv Hv) as [F _]. destruct (F _ _ E) as [z [Ez Rz]].
        exists u, z. repeat split; auto. eapply exchange_run_step; [exact I |]. apply exchange_server_sends. exact Ez.
  Qed.

  (* Two different roles whose cancels may cross the replies to their own requests: a message that comes is expected,
     or its exchange is settled and it is dropped; whenever nothing is in flight both roles are where one state between
     them puts them; and if they are stuck, nothing is in flight and neither has anything to send. So the compiler
     exempts the two from the diamond in two different roles as well. It assumes an automaton between the roles as in
     `mediated_safety`, of which `settled_safety` holds. *)
  Theorem settled_mediated_safety :
    deterministic M -> diamond_but_settled M settles -> settled_once M settles ->
    client_refines C M RC -> server_refines S M RS ->
    forall p r w1 w2 s1 s2, roles_exchange_run (RolesExchange p r w1 w2 s1 s2) ->
      (forall b w, w2 = b :: w -> settled_by_client settles s1 b = true \/ exists p', edge C p Receive b p') /\
      (forall a w, w1 = a :: w -> settled_by_server settles s2 a = true \/ exists r', edge S r Send a r') /\
      (w1 = [] -> w2 = [] -> exists z, reachable M z /\ RC p z /\ RS r z) /\
      ((forall c', ~ roles_exchange_step (RolesExchange p r w1 w2 s1 s2) c') ->
         w1 = [] /\ w2 = [] /\
         (forall a p', ~ edge C p Send a p') /\
         (forall b r', ~ edge S r Receive b r')).
  Proof.
    intros Det Dia Once FC FS p r w1 w2 s1 s2 H.
    destruct (settled_mediated_run Det Dia Once FC FS _ H) as [u [v [I [Hu Hv]]]].
    cbn [of_client of_server on_way_to_server on_way_to_client said_by_client said_by_server] in *.
    destruct (exchange_invariant_run M settles Det Dia Once _ I) as [Ru [Rv _]]. cbn in Ru, Rv.
    pose proof (settled_safety M settles Det Dia Once _ _ _ _ _ _ I) as [U2 [U1 [G _]]].
    destruct FC as [_ FC]. destruct FS as [_ FS].
    assert (forall b w, w2 = b :: w -> settled_by_client settles s1 b = true \/ exists p', edge C p Receive b p') as V2.
    { intros b w E. destruct (U2 _ _ E) as [X | [z Ez]]; [left; exact X | right].
      destruct (FC _ _ Ru Hu) as [_ F]. apply (F _ _ Ez). }
    assert (forall a w, w1 = a :: w -> settled_by_server settles s2 a = true \/ exists r', edge S r Send a r') as V1.
    { intros a w E. destruct (U1 _ _ E) as [X | [z Ez]]; [left; exact X | right].
      destruct (FS _ _ Rv Hv) as [_ F]. apply (F _ _ Ez). }
    split; [exact V2 | split; [exact V1 | split]].
    - intros X Y. specialize (G X Y). subst v. eauto.
    - intros N.
      destruct w2 as [| b w2].
      2:{ exfalso. destruct (settled_by_client settles s1 b) eqn:X.
          - eapply N. apply settled_client_drops. exact X.
          - destruct (V2 _ _ eq_refl) as [Y | [q E]]; [congruence |].
            eapply N. apply settled_client_receives; [exact X | exact E]. }
      destruct w1 as [| a w1].
      2:{ exfalso. destruct (settled_by_server settles s2 a) eqn:X.
          - eapply N. apply settled_server_drops. exact X.
          - destruct (V1 _ _ eq_refl) as [Y | [q E]]; [congruence |].
            eapply N. apply settled_server_receives; [exact X | exact E]. }
      repeat split; auto.
      + intros a q E. eapply N. apply settled_client_sends. exact E.
      + intros b q E. eapply N. apply settled_server_sends. exact E.
  Qed.
End Settled.
