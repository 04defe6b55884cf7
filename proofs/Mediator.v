(* A weaker check of two different roles, which is still sound. Neither the roles nor the automaton of their meetings
   need the diamond: it is enough that an automaton between the two has it, and the completion is one that can be
   computed. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety Compatible Examples.

Section Mediator.
  Context {ClientState ServerState Z Message : Type}.
  Variable C : automaton ClientState Message.
  Variable S : automaton ServerState Message.
  Variable M : automaton Z Message.
  Variable RC : ClientState -> Z -> Prop.
  Variable RS : ServerState -> Z -> Prop.

  (* The client sends no more than M, and receives at least what M does. *)
  Definition client_refines : Prop :=
    RC (initial C) (initial M) /\
    forall p z, reachable M z -> RC p z ->
      (forall a p', edge C p Send a p' ->
         exists z', edge M z Send a z' /\ RC p' z') /\
      (forall b z', edge M z Receive b z' ->
         (exists p', edge C p Receive b p') /\
         (forall p', edge C p Receive b p' -> RC p' z')).

  (* The same for the server, the other way round. *)
  Definition server_refines : Prop :=
    RS (initial S) (initial M) /\
    forall r z, reachable M z -> RS r z ->
      (forall b r', edge S r Receive b r' ->
         exists z', edge M z Receive b z' /\ RS r' z') /\
      (forall a z', edge M z Send a z' ->
         (exists r', edge S r Send a r') /\
         (forall r', edge S r Send a r' -> RS r' z')).

  Lemma mediated_run :
    deterministic M -> has_diamond M -> client_refines -> server_refines ->
    forall c, roles_run C S c ->
    exists u v, run M (Configuration u v (roles_to_server c) (roles_to_client c)) /\ RC (role_client c) u /\ RS (role_server c) v.
  Proof.
    intros Det Dia [IC FC] [IS FS] c H.
    induction H as [| c c' H [u [v [I [Hu Hv]]]] Mv].
    - exists (initial M), (initial M). cbn. repeat split; auto. constructor.
    - pose proof (run_invariant M Det Dia _ I) as V.
      pose proof (invariant_no_unexpected M _ V) as [U2 U1].
      destruct V as [Ru [Rv _]].
      destruct Mv as [p r w1 w2 a p' E | p r w1 w2 b p' E
                     | p r w1 w2 a r' E | p r w1 w2 b r' E]; cbn in *.
      + destruct (FC _ _ Ru Hu) as [F _]. destruct (F _ _ E) as [z [Ez Rz]].
        exists z, v. repeat split; auto.
        eapply run_step; [exact I |]. apply client_sends. exact Ez.
      + destruct (U2 _ _ eq_refl) as [z Ez].
        destruct (FC _ _ Ru Hu) as [_ F]. destruct (F _ _ Ez) as [_ G].
        exists z, v. repeat split; auto.
        eapply run_step; [exact I |]. apply client_receives. exact Ez.
      + destruct (U1 _ _ eq_refl) as [z Ez].
        destruct (FS _ _ Rv Hv) as [_ F]. destruct (F _ _ Ez) as [_ G].
        exists u, z. repeat split; auto.
        eapply run_step; [exact I |]. apply server_receives. exact Ez.
      + destruct (FS _ _ Rv Hv) as [F _]. destruct (F _ _ E) as [z [Ez Rz]].
        exists u, z. repeat split; auto.
        eapply run_step; [exact I |]. apply server_sends. exact Ez.
  Qed.

  (* The same for two roles that need not have the diamond, not even where they meet, if there is an automaton M
     between them: the client sends no more than M and receives no less, the server likewise, and M is
     deterministic and has the diamond. *)
  Theorem mediated_safety :
    deterministic M -> has_diamond M -> client_refines -> server_refines ->
    forall p r w1 w2, roles_run C S (Roles p r w1 w2) ->
      roles_no_unexpected C S (Roles p r w1 w2) /\
      (w1 = [] -> w2 = [] -> exists z, reachable M z /\ RC p z /\ RS r z) /\
      ((forall c', ~ roles_step C S (Roles p r w1 w2) c') ->
         w1 = [] /\ w2 = [] /\
         (forall a p', ~ edge C p Send a p') /\
         (forall b r', ~ edge S r Receive b r')) /\
      ((forall b p', ~ edge C p Receive b p') -> w2 = []) /\
      ((forall a r', ~ edge S r Send a r') -> w1 = []).
  Proof.
    intros Det Dia FC FS p r w1 w2 H.
    destruct (mediated_run Det Dia FC FS _ H) as [u [v [I [Hu Hv]]]]. cbn in *.
    destruct FC as [_ FC]. destruct FS as [_ FS].
    pose proof (run_invariant M Det Dia _ I) as V.
    pose proof (invariant_no_unexpected M _ V) as [U2 U1].
    pose proof (invariant_agreement M _ V) as G. unfold agreement in G.
    destruct V as [Ru [Rv _]]. cbn in *.
    assert (roles_no_unexpected C S (Roles p r w1 w2)) as U.
    { split; cbn; intros x w E.
      - destruct (U2 _ _ E) as [z Ez]. destruct (FC _ _ Ru Hu) as [_ F].
        apply (F _ _ Ez).
      - destruct (U1 _ _ E) as [z Ez]. destruct (FS _ _ Rv Hv) as [_ F].
        apply (F _ _ Ez). }
    split; [exact U | split; [| split; [| split]]].
    - intros X Y. specialize (G X Y). subst v. eauto.
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
End Mediator.

(* ---- A mediator that can be computed: complete the squares ---- *)

Section Completion.
  Context {ClientState ServerState Message : Type}.
  Variable C : automaton ClientState Message.
  Variable S : automaton ServerState Message.

  (* Start from the edges on which the roles meet.
     For a send and a receive of one pair of states, add the two edges that
     close the square. The receiving role must have them; the other need not.
     There are finitely many pairs and edges, so this ends. *)
  Inductive completion_edge : ClientState * ServerState -> direction -> Message -> ClientState * ServerState -> Prop :=
  | completion_written p r d m p' r' :
      edge C p d m p' -> edge S r d m r' -> completion_edge (p, r) d m (p', r')
  | completion_receive q a b p1 r1 p2 r2 x y :
      completion_reachable q ->
      completion_edge q Send a (p1, r1) -> completion_edge q Receive b (p2, r2) ->
      edge C p1 Receive b x -> edge S r2 Send a y ->
      completion_edge (p1, r1) Receive b (x, y)
  | completion_send q a b p1 r1 p2 r2 x y :
      completion_reachable q ->
      completion_edge q Send a (p1, r1) -> completion_edge q Receive b (p2, r2) ->
      edge C p1 Receive b x -> edge S r2 Send a y ->
      completion_edge (p2, r2) Send a (x, y)
  with completion_reachable : ClientState * ServerState -> Prop :=
  | completion_reachable_initial : completion_reachable (initial C, initial S)
  | completion_reachable_edge q d m q' :
      completion_reachable q -> completion_edge q d m q' -> completion_reachable q'.

  Definition completion : automaton (ClientState * ServerState) Message :=
    Aut (initial C, initial S) completion_edge.

  Lemma completion_reached q : reachable completion q -> completion_reachable q.
  Proof.
    intros H. induction H; [constructor |].
    exact (completion_reachable_edge _ _ _ _ IHreachable H0).
  Qed.

  (* The receiver of an edge really has it. *)
  Lemma completion_client p r b p' r' :
    completion_edge (p, r) Receive b (p', r') -> edge C p Receive b p'.
  Proof. intros H. inversion H; subst; assumption. Qed.
  Lemma completion_server p r a p' r' :
    completion_edge (p, r) Send a (p', r') -> edge S r Send a r'.
  Proof. intros H. inversion H; subst; assumption. Qed.

  (* The three checks. *)
  Definition check_compatible : Prop :=
    forall p r, completion_reachable (p, r) ->
      (forall a p', edge C p Send a p' -> exists r', edge S r Send a r') /\
      (forall b r', edge S r Receive b r' -> exists p', edge C p Receive b p').
  Definition check_crossing : Prop :=
    forall q a b p1 r1 p2 r2, completion_reachable q ->
      completion_edge q Send a (p1, r1) -> completion_edge q Receive b (p2, r2) ->
      (exists x, edge C p1 Receive b x) /\ (exists y, edge S r2 Send a y).
  (* The third: the completion is deterministic. *)

  Definition functional {State} (A : automaton State Message) : Prop :=
    forall q d m q1 q2, edge A q d m q1 -> edge A q d m q2 -> q1 = q2.

  Lemma completion_diamond : check_crossing -> has_diamond completion.
  Proof.
    intros K q R a b [p1 r1] [p2 r2] E1 E2. apply completion_reached in R.
    cbn in *. destruct (K _ _ _ _ _ _ _ R E1 E2) as [[x X] [y Y]].
    exists (x, y). split.
    - eapply completion_receive; eauto.
    - eapply completion_send; eauto.
  Qed.

  (* The same for a mediator that can be computed: the edges on which the roles meet, and for each two messages
     that cross the two edges that close the square. It assumes that both roles are functional (in each state one
     edge for a direction and a message), that in each pair that the completion reaches each role accepts what the
     other sends, that each role accepts what crosses its own message, and that the completion is deterministic. *)
  Theorem completion_safety :
    functional C -> functional S ->
    check_compatible -> check_crossing -> deterministic completion ->
    forall p r w1 w2, roles_run C S (Roles p r w1 w2) ->
      roles_no_unexpected C S (Roles p r w1 w2) /\
      (w1 = [] -> w2 = [] -> completion_reachable (p, r)) /\
      ((forall c', ~ roles_step C S (Roles p r w1 w2) c') ->
         w1 = [] /\ w2 = [] /\
         (forall a p', ~ edge C p Send a p') /\
         (forall b r', ~ edge S r Receive b r')) /\
      ((forall b p', ~ edge C p Receive b p') -> w2 = []) /\
      ((forall a r', ~ edge S r Send a r') -> w1 = []).
  Proof.
    intros D1 D2 K X Det p r w1 w2 H.
    destruct (mediated_safety C S completion
      (fun p z => fst z = p) (fun r z => snd z = r) Det (completion_diamond X))
      with (p := p) (r := r) (w1 := w1) (w2 := w2) as [Y1 [Y2 Y3]]; auto.
    - split; [reflexivity |]. intros p0 [u v] R E. cbn in E. subst.
      apply completion_reached in R. destruct (K _ _ R) as [K1 _]. split.
      + intros a p' E. destruct (K1 _ _ E) as [r' E'].
        exists (p', r'). split; [apply completion_written; assumption | reflexivity].
      + intros b [x y] E. apply completion_client in E. split; [eauto |].
        intros p' E'. exact (D1 _ _ _ _ _ E E').
    - split; [reflexivity |]. intros r0 [u v] R E. cbn in E. subst.
      apply completion_reached in R. destruct (K _ _ R) as [_ K2]. split.
      + intros b r' E. destruct (K2 _ _ E) as [p' E'].
        exists (p', r'). split; [apply completion_written; assumption | reflexivity].
      + intros a [x y] E. apply completion_server in E. split; [eauto |].
        intros r' E'. exact (D2 _ _ _ _ _ E E').
    - split; [exact Y1 | split; [| exact Y3]].
      intros E1 E2. destruct (Y2 E1 E2) as [[u v] [R [<- <-]]].
      apply completion_reached. exact R.
  Qed.

  (* Where the roles' meeting has the diamond, completion adds nothing.
     So this check accepts whatever the check of Compatible.v accepts. *)
  Scheme completion_edge_mut := Minimality for completion_edge Sort Prop
    with completion_reachable_mut := Minimality for completion_reachable Sort Prop.
  Combined Scheme completion_mut from completion_edge_mut, completion_reachable_mut.

  (* Where the automaton of the meetings has the diamond, the completion adds nothing to it. It assumes that both
     roles are functional. *)
  Theorem completion_no_stricter :
    functional C -> functional S -> has_diamond (meet C S) ->
    (forall q d m q', completion_edge q d m q' -> edge (meet C S) q d m q') /\
    (forall q, completion_reachable q -> reachable (meet C S) q).
  Proof.
    intros D1 D2 Dia.
    assert (forall q a b p1 r1 p2 r2 x y,
      reachable (meet C S) q ->
      edge (meet C S) q Send a (p1, r1) -> edge (meet C S) q Receive b (p2, r2) ->
      edge C p1 Receive b x -> edge S r2 Send a y ->
      edge (meet C S) (p1, r1) Receive b (x, y) /\
      edge (meet C S) (p2, r2) Send a (x, y)) as L.
    { intros q a b p1 r1 p2 r2 x y R E1 E2 X Y.
      destruct (Dia q R a b _ _ E1 E2) as [[u v] [[U1 U2] [V1 V2]]]. cbn in *.
      pose proof (D1 _ _ _ _ _ X U1). pose proof (D2 _ _ _ _ _ Y V2).
      subst. auto. }
    apply completion_mut.
    - intros. split; assumption.
    - intros q a b p1 r1 p2 r2 x y _ R _ E1 _ E2 X Y.
      exact (proj1 (L q a b p1 r1 p2 r2 x y R E1 E2 X Y)).
    - intros q a b p1 r1 p2 r2 x y _ R _ E1 _ E2 X Y.
      exact (proj2 (L q a b p1 r1 p2 r2 x y R E1 E2 X Y)).
    - constructor.
    - intros q d m q' _ R _ E. exact (reachable_edge _ _ _ _ _ R E).
  Qed.

  (* So the check of the completion accepts every pair that `compatible_safety` accepts. It assumes that both roles
     are functional. *)
  Theorem completion_accepts :
    functional C -> functional S ->
    compatible C S -> has_diamond (meet C S) ->
    check_compatible /\ check_crossing /\ deterministic completion.
  Proof.
    intros D1 D2 K Dia.
    destruct (completion_no_stricter D1 D2 Dia) as [L R]. split; [| split].
    - intros p r X. apply K. apply R. exact X.
    - intros q a b p1 r1 p2 r2 X E1 E2. apply R in X. apply L in E1. apply L in E2.
      destruct (Dia q X a b _ _ E1 E2) as [[u v] [[U1 U2] [V1 V2]]]. cbn in *.
      eauto.
    - intros q d m [x1 y1] [x2 y2] X E1 E2. cbn in *.
      apply L in E1. apply L in E2.
      destruct E1 as [A1 B1]. destruct E2 as [A2 B2]. cbn in *.
      rewrite (D1 _ _ _ _ _ A1 A2), (D2 _ _ _ _ _ B1 B2). reflexivity.
  Qed.

End Completion.


(* ---- Examples ---- *)

(* The pair that Compatible.v refuses without need: a mediator exists. *)
Example strict_mediated :
  deterministic (of_table strict_c) /\ has_diamond (of_table strict_c) /\
  client_refines (of_table strict_c) (of_table strict_c) eq /\
  server_refines (of_table strict_s) (of_table strict_c) eq.
Proof.
  split; [| split; [| split]].
  - intros q d m q1 q2 _ E1 E2. cbn in *. enum E1; enum E2; reflexivity.
  - intros q _ a b q1 q2 E1 E2. cbn in *. enum E1; enum E2; exists 3; auto 10.
  - split; [reflexivity |]. intros p z _ <-. split; cbn.
    + intros a p' E. eauto.
    + intros b z' E. split; [eauto |]. intros p' E'. enum E; enum E'; reflexivity.
  - split; [reflexivity |]. intros p z _ <-. split; cbn.
    + intros b r' E. enum E; eauto 10.
    + intros a z' E. split.
      * enum E; eauto 10.
      * intros r' E'. enum E; enum E'; reflexivity.
Qed.

(* The pair that the weak check accepts wrongly: the crossing check refuses it. *)
Example weak_refused : ~ check_crossing (of_table weak_c) (of_table weak_s).
Proof.
  intros X.
  (* The late 2 is receivable at (1, 1), where the client may send 3. *)
  assert (completion_edge (of_table weak_c) (of_table weak_s) (1, 1) Receive 2 (4, 4)) as E.
  { apply (completion_receive _ _ (0, 0) 1 2 1 1 9 9 4 4).
    - apply completion_reachable_initial.
    - apply completion_written; cbn; auto.
    - apply completion_written; cbn; auto.
    - cbn; auto 10.
    - cbn; auto 10. }
  assert (completion_reachable (of_table weak_c) (of_table weak_s) (1, 1)) as R.
  { apply (completion_reachable_edge _ _ (0, 0) Send 1); [apply completion_reachable_initial |].
    apply completion_written; cbn; auto. }
  destruct (X (1, 1) 3 2 2 2 4 4 R) as [[x F] _].
  - apply completion_written; cbn; auto 10.
  - exact E.
  - cbn in F. repeat (destruct F as [F | F]; [discriminate |]). exact F.
Qed.
