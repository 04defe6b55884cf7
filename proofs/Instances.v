(* Any number of channels, or of instances of a replicated channel, over one queue in each direction. A message carries
   the key of its instance. An instance that was not opened yet is in the initial state of its body. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety.

Section Instances.
  Context {Key State Message : Type}.
  Variable eq_dec : forall i j : Key, {i = j} + {i <> j}.
  Variable body : Key -> automaton State Message.

  Record instances := Instances {
    client_at : Key -> State; server_at : Key -> State;
    all_to_server : list (Key * Message); all_to_client : list (Key * Message)
  }.

  Definition update (f : Key -> State) (k : Key) (q : State) : Key -> State :=
    fun j => if eq_dec k j then q else f j.

  (* A step changes one key only. *)
  Inductive instances_step : instances -> instances -> Prop :=
  | instance_client_sends p r w1 w2 k a q :
      edge (body k) (p k) Send a q ->
      instances_step (Instances p r w1 w2) (Instances (update p k q) r (w1 ++ [(k, a)]) w2)
  | instance_client_receives p r w1 w2 k b q :
      edge (body k) (p k) Receive b q ->
      instances_step (Instances p r w1 ((k, b) :: w2)) (Instances (update p k q) r w1 w2)
  | instance_server_receives p r w1 w2 k a q :
      edge (body k) (r k) Send a q ->
      instances_step (Instances p r ((k, a) :: w1) w2) (Instances p (update r k q) w1 w2)
  | instance_server_sends p r w1 w2 k b q :
      edge (body k) (r k) Receive b q ->
      instances_step (Instances p r w1 w2) (Instances p (update r k q) w1 (w2 ++ [(k, b)])).

  Inductive instances_run : instances -> Prop :=
  | instances_run_initial : instances_run (Instances (fun k => initial (body k)) (fun k => initial (body k)) [] [])
  | instances_run_step c c' : instances_run c -> instances_step c c' -> instances_run c'.

  (* The messages of one key, in order. *)
  Fixpoint of_key (k : Key) (w : list (Key * Message)) : list Message :=
    match w with
    | [] => []
    | (j, m) :: w' => if eq_dec j k then m :: of_key k w' else of_key k w'
    end.

  Lemma of_key_app k u v : of_key k (u ++ v) = of_key k u ++ of_key k v.
  Proof.
    induction u as [| [j m] u IH]; cbn; [reflexivity |].
    destruct (eq_dec j k); cbn; congruence.
  Qed.

  Definition at_key (k : Key) (c : instances) : configuration :=
    Configuration (client_at c k) (server_at c k) (of_key k (all_to_server c)) (of_key k (all_to_client c)).

  (* A session of any number of instances, seen at one key, is a session of that instance alone. So the relations
     compare a body once, whatever the number of instances. It assumes that each message carries the key of its
     instance. *)
  Theorem instances_projection c : instances_run c -> forall k, run (body k) (at_key k c).
  Proof.
    intros H. induction H as [| c c' H IH Mv]; intros k.
    - constructor.
    - specialize (IH k).
      destruct Mv as [p r w1 w2 j m q E | p r w1 w2 j m q E
                     | p r w1 w2 j m q E | p r w1 w2 j m q E];
        unfold at_key, update in *; cbn in *; rewrite ?of_key_app; cbn;
        destruct (eq_dec j k) as [-> | N]; rewrite ?app_nil_r; auto;
        (eapply run_step; [exact IH |]);
        first [ apply client_sends; exact E | apply client_receives; exact E
              | apply server_receives; exact E | apply server_sends; exact E ].
  Qed.

  Lemma of_key_nil w : (forall k, of_key k w = []) -> w = [].
  Proof.
    destruct w as [| [j m] w]; intros H; [reflexivity |].
    specialize (H j). cbn in H. destruct (eq_dec j j); [discriminate | congruence].
  Qed.

  (* Any number of instances over one queue in each direction is safe if each body is deterministic and has the
     diamond; and each instance ends by itself, whatever the others do. It assumes that each message carries the
     key of its instance, and that two live instances never have the same key, which the checker enforces. *)
  Theorem instances_safety :
    (forall k, deterministic (body k) /\ has_diamond (body k)) ->
    forall p r w1 w2, instances_run (Instances p r w1 w2) ->
      (* (a) *)
      (forall k b w, w2 = (k, b) :: w -> exists q, edge (body k) (p k) Receive b q) /\
      (forall k a w, w1 = (k, a) :: w -> exists q, edge (body k) (r k) Send a q) /\
      (* (b), also for one key alone *)
      (forall k, of_key k w1 = [] -> of_key k w2 = [] -> p k = r k) /\
      (* (c) *)
      ((forall c', ~ instances_step (Instances p r w1 w2) c') ->
         w1 = [] /\ w2 = [] /\ forall k, p k = r k /\ no_edges (body k) (p k)) /\
      (* (d), also for one key alone *)
      (forall k, no_edges (body k) (p k) -> no_edges (body k) (r k) ->
         of_key k w1 = [] /\ of_key k w2 = []).
  Proof.
    intros D p r w1 w2 H. pose proof (instances_projection _ H) as P. unfold at_key in P.
    cbn in P.
    assert (forall k, safe_configuration (body k)
              (Configuration (p k) (r k) (of_key k w1) (of_key k w2))) as S.
    { intros k. destruct (D k). apply (safety (body k)); auto. }
    clear P H.
    assert (forall k b w, w2 = (k, b) :: w ->
              exists q, edge (body k) (p k) Receive b q) as X2.
    { intros k b w ->. destruct (S k) as [[U _] _]. cbn in U.
      destruct (eq_dec k k); [| congruence]. eapply U; reflexivity. }
    assert (forall k a w, w1 = (k, a) :: w ->
              exists q, edge (body k) (r k) Send a q) as X1.
    { intros k b w ->. destruct (S k) as [[_ U] _]. cbn in U.
      destruct (eq_dec k k); [| congruence]. eapply U; reflexivity. }
    assert (forall k, of_key k w1 = [] -> of_key k w2 = [] -> p k = r k) as X3.
    { intros k E1 E2. destruct (S k) as [_ [G _]]. apply G; assumption. }
    repeat (split; [assumption |]). split.
    - intros N.
      destruct w2 as [| [k b] w2].
      2:{ destruct (X2 _ _ _ eq_refl) as [q E]. exfalso.
          eapply N. apply instance_client_receives. exact E. }
      destruct w1 as [| [k a] w1].
      2:{ destruct (X1 _ _ _ eq_refl) as [q E]. exfalso.
          eapply N. apply instance_server_receives. exact E. }
      repeat split; auto. intros d m q E. destruct d; eapply N.
      + apply instance_client_sends. exact E.
      + apply (instance_server_sends p r [] [] k m q).
        rewrite <- (X3 k eq_refl eq_refl). exact E.
    - intros k N1 N2. destruct (S k) as [_ [_ [_ O]]]. apply O; assumption.
  Qed.

End Instances.
