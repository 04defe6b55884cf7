(* Two roles that are not dual: the compatible pairs. C is the client and S the server, both written from the side of the
   client. The check is made on the pairs of states in which the two roles can meet. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety.

Section Compatible.
  Context {ClientState ServerState Message : Type}.
  Variable C : automaton ClientState Message.
  Variable S : automaton ServerState Message.

  (* The real run: each role follows its own automaton. *)
  Record roles := Roles { role_client : ClientState; role_server : ServerState; roles_to_server : list Message; roles_to_client : list Message }.

  Inductive roles_step : roles -> roles -> Prop :=
  | roles_client_sends p r w1 w2 a p' :
      edge C p Send a p' -> roles_step (Roles p r w1 w2) (Roles p' r (w1 ++ [a]) w2)
  | roles_client_receives p r w1 w2 b p' :
      edge C p Receive b p' -> roles_step (Roles p r w1 (b :: w2)) (Roles p' r w1 w2)
  | roles_server_receives p r w1 w2 a r' :
      edge S r Send a r' -> roles_step (Roles p r (a :: w1) w2) (Roles p r' w1 w2)
  | roles_server_sends p r w1 w2 b r' :
      edge S r Receive b r' -> roles_step (Roles p r w1 w2) (Roles p r' w1 (w2 ++ [b])).

  Inductive roles_run : roles -> Prop :=
  | roles_run_initial : roles_run (Roles (initial C) (initial S) [] [])
  | roles_run_step c c' : roles_run c -> roles_step c c' -> roles_run c'.

  Definition roles_no_unexpected (c : roles) : Prop :=
    (forall b w, roles_to_client c = b :: w -> exists p', edge C (role_client c) Receive b p') /\
    (forall a w, roles_to_server c = a :: w -> exists r', edge S (role_server c) Send a r').

  (* The roles as they meet: an edge that one side sends, the other receives. *)
  Definition meet : automaton (ClientState * ServerState) Message :=
    Aut (initial C, initial S)
      (fun q d m q' => edge C (fst q) d m (fst q') /\ edge S (snd q) d m (snd q')).

  (* The client sends no more than the server receives, and vice versa.
     Only where the roles can meet. *)
  Definition compatible : Prop :=
    forall p r, reachable meet (p, r) ->
      (forall a p', edge C p Send a p' -> exists r', edge S r Send a r') /\
      (forall b r', edge S r Receive b r' -> exists p', edge C p Receive b p').

  Lemma meet_reachable q : reachable meet q -> reachable C (fst q) /\ reachable S (snd q).
  Proof.
    intros H. induction H.
    - cbn. split; constructor.
    - destruct IHreachable as [R1 R2]. destruct H0 as [E1 E2]. split.
      + exact (reachable_edge C _ _ _ _ R1 E1).
      + exact (reachable_edge S _ _ _ _ R2 E2).
  Qed.

  Lemma meet_deterministic :
    deterministic C -> deterministic S -> deterministic meet.
  Proof.
    intros D1 D2 q d m [x1 y1] [x2 y2] R [A1 B1] [A2 B2]. cbn in *.
    apply meet_reachable in R. destruct R as [R1 R2].
    rewrite (D1 _ _ _ _ _ R1 A1 A2), (D2 _ _ _ _ _ R2 B1 B2). reflexivity.
  Qed.

  (* Each role carries a ghost of the other one. *)
  Definition ghosts (c : roles) : Prop :=
    exists s t, run meet (Configuration (role_client c, s) (t, role_server c) (roles_to_server c) (roles_to_client c)).

  Lemma ghosts_run :
    deterministic C -> deterministic S -> compatible -> has_diamond meet ->
    forall c, roles_run c -> ghosts c.
  Proof.
    intros D1 D2 K Dia c H.
    pose proof (meet_deterministic D1 D2) as Dm.
    induction H as [| c c' H [s [t I]] Mv].
    - exists (initial S), (initial C). constructor.
    - pose proof (run_invariant meet Dm Dia _ I) as V.
      pose proof (invariant_no_unexpected meet _ V) as [U2 U1].
      destruct V as [Rp [Rr _]].
      destruct Mv as [p r w1 w2 a p' E | p r w1 w2 b p' E
                     | p r w1 w2 a r' E | p r w1 w2 b r' E]; cbn in *.
      + destruct (K _ _ Rp) as [K1 _]. destruct (K1 _ _ E) as [s' E'].
        exists s', t. eapply run_step; [exact I |].
        apply client_sends. split; assumption.
      + destruct (U2 _ _ eq_refl) as [[x y] [E1 E2]]. cbn in *.
        pose proof (proj1 (meet_reachable _ Rp)) as Rc. cbn in Rc.
        rewrite (D1 _ _ _ _ _ Rc E E1).
        exists y, t. eapply run_step; [exact I |].
        apply client_receives. split; assumption.
      + destruct (U1 _ _ eq_refl) as [[x y] [E1 E2]]. cbn in *.
        pose proof (proj2 (meet_reachable _ Rr)) as Rs. cbn in Rs.
        rewrite (D2 _ _ _ _ _ Rs E E2).
        exists s, x. eapply run_step; [exact I |].
        apply server_receives. split; assumption.
      + destruct (K _ _ Rr) as [_ K2]. destruct (K2 _ _ E) as [t' E'].
        exists s, t'. eapply run_step; [exact I |].
        apply server_sends. split; assumption.
  Qed.

  (* Two different roles never receive an unexpected message; whenever nothing is in flight they are in a pair of
     states in which they can meet; if they are stuck, neither has anything to send; and what a role never receives
     is not in flight. This is guarantee G4 for compatible roles. It assumes that both roles are deterministic,
     that in each pair in which they meet each accepts what the other sends, and that the automaton of their
     meetings has the diamond. It does not say that the roles make progress: both may wait, see `both_wait`, and
     the compiler asks for one output in addition. *)
  Theorem compatible_safety :
    deterministic C -> deterministic S -> compatible -> has_diamond meet ->
    forall p r w1 w2, roles_run (Roles p r w1 w2) ->
      roles_no_unexpected (Roles p r w1 w2) /\
      (w1 = [] -> w2 = [] -> reachable meet (p, r)) /\
      ((forall c', ~ roles_step (Roles p r w1 w2) c') ->
         w1 = [] /\ w2 = [] /\ reachable meet (p, r) /\
         (forall a p', ~ edge C p Send a p') /\
         (forall b r', ~ edge S r Receive b r')) /\
      ((forall b p', ~ edge C p Receive b p') -> w2 = []) /\
      ((forall a r', ~ edge S r Send a r') -> w1 = []).
  Proof.
    intros D1 D2 K Dia p r w1 w2 H.
    destruct (ghosts_run D1 D2 K Dia _ H) as [s [t I]]. cbn in *.
    pose proof (run_invariant meet (meet_deterministic D1 D2) Dia _ I) as V.
    pose proof (invariant_no_unexpected meet _ V) as [U2 U1].
    pose proof (invariant_agreement meet _ V) as G. unfold agreement in G.
    destruct V as [Rp _]. cbn in *.
    assert (roles_no_unexpected (Roles p r w1 w2)) as U.
    { split; cbn; intros x w E.
      - destruct (U2 _ _ E) as [[u v] [E1 _]]. eauto.
      - destruct (U1 _ _ E) as [[u v] [_ E1]]. eauto. }
    assert (w1 = [] -> w2 = [] -> reachable meet (p, r)) as M.
    { intros X Y. specialize (G X Y). inversion G; subst. exact Rp. }
    split; [exact U | split; [exact M | split; [| split]]].
    - intros N. destruct U as [V2 V1]. cbn in *.
      destruct w2 as [| b w2].
      2:{ destruct (V2 _ _ eq_refl) as [q E]. exfalso.
          eapply N. apply roles_client_receives. exact E. }
      destruct w1 as [| a w1].
      2:{ destruct (V1 _ _ eq_refl) as [q E]. exfalso.
          eapply N. apply roles_server_receives. exact E. }
      repeat split; auto.
      + intros a q E. eapply N. apply roles_client_sends. exact E.
      + intros b q E. eapply N. apply roles_server_sends. exact E.
    - intros N. destruct w2 as [| b w2]; [reflexivity |].
      destruct U as [V2 _]. destruct (V2 _ _ eq_refl) as [q E].
      exfalso. eapply N; eauto.
    - intros N. destruct w1 as [| a w1]; [reflexivity |].
      destruct U as [_ V1]. destruct (V1 _ _ eq_refl) as [q E].
      exfalso. eapply N; eauto.
  Qed.

End Compatible.
