(* What the other files share: an automaton, a session of two roles over two queues, and what it means that the session
   is safe. An edge of the automaton is written from the side of the client. The server follows the dual, so it has the
   same states and the same edges, and receives what the client sends. Edges are a relation and not a function, so that
   "deterministic" is a hypothesis, and the theorems show where it is needed. *)

From Coq Require Import List.
Import ListNotations.

Inductive direction := Send | Receive.

Definition flip (d : direction) : direction :=
  match d with Send => Receive | Receive => Send end.

(* Edges are a relation. Determinism is then a hypothesis that we can study. *)
Record automaton (State Message : Type) := Aut {
  initial : State;
  edge : State -> direction -> Message -> State -> Prop
}.
Arguments Aut {State Message}.
Arguments initial {State Message}.
Arguments edge {State Message}.

(* The automaton of a table: one edge at most for a state, a direction and a message. *)
Definition of_step_function {State Message} (q0 : State) (step : State -> direction -> Message -> option State)
  : automaton State Message :=
  Aut q0 (fun q d m q' => step q d m = Some q').

Section Defs.
  Context {State Message : Type}.
  Variable A : automaton State Message.

  (* The states that the graph of A reaches from its initial state. *)
  Inductive reachable : State -> Prop :=
  | reachable_initial : reachable (initial A)
  | reachable_edge q d m q' : reachable q -> edge A q d m q' -> reachable q'.

  (* Determinism per direction: !a and ?a may lead to different states. *)
  Definition deterministic : Prop :=
    forall q d m q1 q2,
      reachable q -> edge A q d m q1 -> edge A q d m q2 -> q1 = q2.

  (* A send and a receive of the same state commute. *)
  Definition diamond_at (q : State) : Prop :=
    forall a b q1 q2,
      edge A q Send a q1 -> edge A q Receive b q2 ->
      exists q', edge A q1 Receive b q' /\ edge A q2 Send a q'.

  Definition has_diamond : Prop := forall q, reachable q -> diamond_at q.

  Definition no_edges (q : State) : Prop := forall d m q', ~ edge A q d m q'.

  (* path d q w q': from q, the word w leads to q', all edges in direction d. *)
  Inductive path (d : direction) : State -> list Message -> State -> Prop :=
  | path_nil q : path d q [] q
  | path_cons q m q1 w q2 :
      edge A q d m q1 -> path d q1 w q2 -> path d q (m :: w) q2.

  (* word q t q': from q, the word t of mixed directions leads to q'. *)
  Inductive word : State -> list (direction * Message) -> State -> Prop :=
  | word_nil q : word q [] q
  | word_cons q d m q1 t q2 :
      edge A q d m q1 -> word q1 t q2 -> word q ((d, m) :: t) q2.

  (* A configuration: where both roles are, and what is in flight to each of them. *)
  Record configuration := Configuration { client : State; server : State; to_server : list Message; to_client : list Message }.

  (* The four steps of a session. The server receives along !a and sends along ?b. *)
  Inductive step : configuration -> configuration -> Prop :=
  | client_sends p r w1 w2 a p' :
      edge A p Send a p' -> step (Configuration p r w1 w2) (Configuration p' r (w1 ++ [a]) w2)
  | client_receives p r w1 w2 b p' :
      edge A p Receive b p' -> step (Configuration p r w1 (b :: w2)) (Configuration p' r w1 w2)
  | server_receives p r w1 w2 a r' :
      edge A r Send a r' -> step (Configuration p r (a :: w1) w2) (Configuration p r' w1 w2)
  | server_sends p r w1 w2 b r' :
      edge A r Receive b r' -> step (Configuration p r w1 w2) (Configuration p r' w1 (w2 ++ [b])).

  (* The configurations that a run of the pair reaches. *)
  Inductive run : configuration -> Prop :=
  | run_initial : run (Configuration (initial A) (initial A) [] [])
  | run_step c c' : run c -> step c c' -> run c'.

  (* What makes a configuration safe. *)

  (* (a) Whatever stands first in a queue can be received now. *)
  Definition no_unexpected (c : configuration) : Prop :=
    (forall b w, to_client c = b :: w -> exists p', edge A (client c) Receive b p') /\
    (forall a w, to_server c = a :: w -> exists r', edge A (server c) Send a r').

  (* (b) When nothing is in flight, both roles are in the same state. *)
  Definition agreement (c : configuration) : Prop :=
    to_server c = [] -> to_client c = [] -> client c = server c.

  (* (c) If no step is possible, both are in the same state, and it has no edges. *)
  Definition no_deadlock (c : configuration) : Prop :=
    (forall c', ~ step c c') -> client c = server c /\ no_edges (client c).

  (* (d) If both roles are in states without edges, nothing is in flight. *)
  Definition no_orphan (c : configuration) : Prop :=
    no_edges (client c) -> no_edges (server c) -> to_server c = [] /\ to_client c = [].

  Definition safe_configuration (c : configuration) : Prop :=
    no_unexpected c /\ agreement c /\ no_deadlock c /\ no_orphan c.

  Definition safe : Prop := forall c, run c -> safe_configuration c.

  (* ---- Small facts about paths and words ---- *)

  Lemma path_snoc d q w m q1 q2 :
    path d q w q1 -> edge A q1 d m q2 -> path d q (w ++ [m]) q2.
  Proof.
    intros H. induction H; simpl; intros E.
    - econstructor; [exact E | constructor].
    - econstructor; [exact H | auto].
  Qed.

  Lemma path_nil_inv d q q' : path d q [] q' -> q = q'.
  Proof. intros H; inversion H; subst; reflexivity. Qed.

  Lemma path_cons_inv d q m w q' :
    path d q (m :: w) q' -> exists q1, edge A q d m q1 /\ path d q1 w q'.
  Proof. intros H; inversion H; subst; eauto. Qed.

  Lemma word_cons_inv q d m t q' :
    word q ((d, m) :: t) q' -> exists q1, edge A q d m q1 /\ word q1 t q'.
  Proof. intros H; inversion H; subst; eauto. Qed.

  Lemma word_nil_inv q q' : word q [] q' -> q = q'.
  Proof. intros H; inversion H; subst; reflexivity. Qed.

  Lemma path_no_edges d q w q' :
    no_edges q -> path d q w q' -> w = [] /\ q = q'.
  Proof.
    intros N H. inversion H; subst; [auto | exfalso; eapply N; eauto].
  Qed.

  Lemma reachable_path d q w q' : reachable q -> path d q w q' -> reachable q'.
  Proof. intros R H. induction H; auto. apply IHpath. eapply reachable_edge; eauto. Qed.

  Lemma word_snoc q t q1 d m q2 :
    word q t q1 -> edge A q1 d m q2 -> word q (t ++ [(d, m)]) q2.
  Proof.
    intros H. induction H; simpl; intros E.
    - econstructor; [exact E | constructor].
    - econstructor; [exact H | auto].
  Qed.

  (* ---- The commuting lemma: the heart of everything ---- *)

  (* A message that a role may send before it reads its queue it may send after it has read the whole queue, too,
     and both orders end in the same state. This is the one lemma on which everything else stands. It assumes the
     diamond. *)
  Lemma send_commutes :
    has_diamond ->
    forall w p z, reachable p -> path Receive p w z ->
    forall a p', edge A p Send a p' ->
    exists z', path Receive p' w z' /\ edge A z Send a z'.
  Proof.
    intros D w p z R H. induction H; intros a p' E.
    - exists p'. split; [constructor | exact E].
    - destruct (D q R a m p' q1 E H) as [x [X1 X2]].
      destruct (IHpath (reachable_edge _ _ _ _ R H) a x X2) as [z' [Z1 Z2]].
      exists z'. split; [econstructor; eauto | exact Z2].
  Qed.

  (* The same for the other direction: a receive commutes with a whole queue of sends. It assumes the diamond. *)
  Lemma recv_commutes :
    has_diamond ->
    forall w r z, reachable r -> path Send r w z ->
    forall b r', edge A r Receive b r' ->
    exists z', path Send r' w z' /\ edge A z Receive b z'.
  Proof.
    intros D w r z R H. induction H; intros b r' E.
    - exists r'. split; [constructor | exact E].
    - destruct (D q R m b q1 r' H E) as [x [X1 X2]].
      destruct (IHpath (reachable_edge _ _ _ _ R H) b x X1) as [z' [Z1 Z2]].
      exists z'. split; [econstructor; eauto | exact Z2].
  Qed.

End Defs.

Lemma of_step_function_deterministic {State Message} q0 (step : State -> direction -> Message -> option State) :
  deterministic (of_step_function q0 step).
Proof. intros q d m q1 q2 _ H1 H2. cbn in *. congruence. Qed.
