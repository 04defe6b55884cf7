(* Counterexamples, which show where a theorem fails without one of its hypotheses, and an exploration of finite roles
   that is proved to be right and finds them. *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Diamond Require Import Automaton Safety Observer Closure Compatible.

(* ---- Automata as tables of edges; the initial state is 0 ---- *)

Definition table := list (nat * direction * nat * nat).
Definition of_table (l : table) : automaton nat nat :=
  Aut 0 (fun q d m q' => In (q, d, m, q') l).

Notation world := (roles (ClientState := nat) (ServerState := nat) (Message := nat)).
Definition start : world := Roles 0 0 [] [].

(* ---- The explorer ---- *)

Definition client_successors (l : table) (c : world) : list world :=
  flat_map (fun e => match e with (q, d, m, q') =>
    if q =? role_client c then
      match d with
      | Send => [Roles q' (role_server c) (roles_to_server c ++ [m]) (roles_to_client c)]
      | Receive => match roles_to_client c with
                | b :: w => if b =? m then [Roles q' (role_server c) (roles_to_server c) w] else []
                | [] => []
                end
      end
    else [] end) l.

Definition server_successors (l : table) (c : world) : list world :=
  flat_map (fun e => match e with (q, d, m, q') =>
    if q =? role_server c then
      match d with
      | Receive => [Roles (role_client c) q' (roles_to_server c) (roles_to_client c ++ [m])]
      | Send => match roles_to_server c with
                | a :: w => if a =? m then [Roles (role_client c) q' w (roles_to_client c)] else []
                | [] => []
                end
      end
    else [] end) l.

Definition successors (lc ls : table) (c : world) : list world :=
  client_successors lc c ++ server_successors ls c.

(* The explorer computes exactly the steps. *)
Lemma successors_spec lc ls c c' :
  In c' (successors lc ls c) <-> roles_step (of_table lc) (of_table ls) c c'.
Proof.
  unfold successors. rewrite in_app_iff. unfold client_successors, server_successors.
  rewrite !in_flat_map. split.
  - intros [H | H]; destruct H as [[[[q d] m] q'] [E I]]; cbn in I;
      destruct c as [p r w1 w2]; cbn in *.
    + destruct (Nat.eqb_spec q p); [subst | contradiction]. destruct d.
      * destruct I as [<- | []]. apply roles_client_sends. exact E.
      * destruct w2 as [| b w2]; [contradiction |].
        destruct (Nat.eqb_spec b m); [subst | contradiction].
        destruct I as [<- | []]. apply roles_client_receives. exact E.
    + destruct (Nat.eqb_spec q r); [subst | contradiction]. destruct d.
      * destruct w1 as [| b w1]; [contradiction |].
        destruct (Nat.eqb_spec b m); [subst | contradiction].
        destruct I as [<- | []]. apply roles_server_receives. exact E.
      * destruct I as [<- | []]. apply roles_server_sends. exact E.
  - intros M. destruct M as [p r w1 w2 a p' E | p r w1 w2 b p' E
                            | p r w1 w2 a r' E | p r w1 w2 b r' E].
    + left. exists (p, Send, a, p'). cbn. rewrite Nat.eqb_refl. cbn. auto.
    + left. exists (p, Receive, b, p'). cbn. rewrite !Nat.eqb_refl. cbn. auto.
    + right. exists (r, Send, a, r'). cbn. rewrite !Nat.eqb_refl. cbn. auto.
    + right. exists (r, Receive, b, r'). cbn. rewrite Nat.eqb_refl. cbn. auto.
Qed.

Lemma world_eq_dec (c c' : world) : {c = c'} + {c <> c'}.
Proof. repeat decide equality. Defined.

(* Breadth first, with fuel. What it returns is checked afterwards. *)
Fixpoint explore (lc ls : table) (n : nat) (seen todo : list world) : list world :=
  match n, todo with
  | S n', c :: rest =>
      if in_dec world_eq_dec c seen then explore lc ls n' seen rest
      else explore lc ls n' (c :: seen) (rest ++ successors lc ls c)
  | _, _ => seen
  end.

Definition is_in (l : list world) (c : world) : bool :=
  if in_dec world_eq_dec c l then true else false.

Definition closed_set (lc ls : table) (l : list world) : bool :=
  is_in l start &&
  forallb (fun c => forallb (is_in l) (successors lc ls c)) l.

Lemma closed_set_runs lc ls l : closed_set lc ls l = true ->
  forall c, roles_run (of_table lc) (of_table ls) c -> In c l.
Proof.
  unfold closed_set, is_in. intros H c R.
  apply andb_prop in H. destruct H as [H0 H1].
  rewrite forallb_forall in H1. induction R.
  - destruct (in_dec world_eq_dec start l); [assumption | discriminate].
  - specialize (H1 _ IHR). rewrite forallb_forall in H1.
    apply successors_spec in H. specialize (H1 _ H).
    destruct (in_dec world_eq_dec c' l); [assumption | discriminate].
Qed.

Definition can (l : table) (q : nat) (d : direction) (m : nat) : bool :=
  existsb (fun e => match e with (x, d', m', _) =>
    (x =? q) && (m' =? m) &&
    match d, d' with Send, Send => true | Receive, Receive => true | _, _ => false end
    end) l.

Lemma can_spec l q d m : can l q d m = true -> exists q', edge (of_table l) q d m q'.
Proof.
  unfold can. intros H. apply existsb_exists in H.
  destruct H as [[[[x d'] m'] q'] [I H]].
  apply andb_prop in H. destruct H as [H D]. apply andb_prop in H.
  destruct H as [X M]. apply Nat.eqb_eq in X. apply Nat.eqb_eq in M. subst.
  exists q'. cbn. destruct d, d'; try discriminate; exact I.
Qed.

(* No unexpected message; and a role that is stuck has no edges and nothing in flight. *)
Definition good (lc ls : table) (c : world) : bool :=
  match roles_to_client c with [] => true | b :: _ => can lc (role_client c) Receive b end &&
  match roles_to_server c with [] => true | a :: _ => can ls (role_server c) Send a end &&
  match successors lc ls c with
  | _ :: _ => true
  | [] => match roles_to_server c, roles_to_client c with [], [] => true | _, _ => false end &&
          forallb (fun e => negb (fst (fst (fst e)) =? role_client c)) lc &&
          forallb (fun e => negb (fst (fst (fst e)) =? role_server c)) ls
  end.

Definition roles_safe (lc ls : table) : Prop :=
  forall c, roles_run (of_table lc) (of_table ls) c ->
    roles_no_unexpected (of_table lc) (of_table ls) c /\
    ((forall c', ~ roles_step (of_table lc) (of_table ls) c c') ->
       roles_to_server c = [] /\ roles_to_client c = [] /\
       no_edges (of_table lc) (role_client c) /\ no_edges (of_table ls) (role_server c)).

Lemma no_edges_spec l q :
  forallb (fun e => negb (fst (fst (fst e)) =? q)) l = true -> no_edges (of_table l) q.
Proof.
  intros H d m q' E. cbn in E. rewrite forallb_forall in H.
  specialize (H _ E). cbn in H. rewrite Nat.eqb_refl in H. discriminate.
Qed.

(* If the exploration has seen every configuration of two finite roles and found none that is bad, the roles are
   safe: no unexpected message, and stuck only at the end with empty queues. It assumes nothing; that every
   configuration was seen is part of the computation. *)
Theorem explore_safe lc ls n :
  (let l := explore lc ls n [] [start] in
   closed_set lc ls l && forallb (good lc ls) l) = true ->
  roles_safe lc ls.
Proof.
  cbn zeta. intros H c R. apply andb_prop in H. destruct H as [H1 H2].
  rewrite forallb_forall in H2.
  specialize (H2 _ (closed_set_runs _ _ _ H1 _ R)). unfold good in H2.
  apply andb_prop in H2. destruct H2 as [H2 H3].
  apply andb_prop in H2. destruct H2 as [H4 H5].
  split.
  - split; intros x w E; rewrite E in *; apply can_spec; assumption.
  - intros N. destruct (successors lc ls c) as [| c' t] eqn:E.
    + apply andb_prop in H3. destruct H3 as [H3 H7].
      apply andb_prop in H3. destruct H3 as [H3 H6].
      destruct (roles_to_server c), (roles_to_client c); try discriminate.
      repeat split; auto; apply no_edges_spec; assumption.
    + exfalso. apply (N c'). apply successors_spec. rewrite E. left. reflexivity.
Qed.

(* A run, given by the number of the one to take at each step. *)
Fixpoint walk (lc ls : table) (is : list nat) (c : world) : option world :=
  match is with
  | [] => Some c
  | i :: is' => match nth_error (successors lc ls c) i with
                | Some c' => walk lc ls is' c'
                | None => None
                end
  end.

Lemma walk_run lc ls is : forall c c', roles_run (of_table lc) (of_table ls) c ->
  walk lc ls is c = Some c' -> roles_run (of_table lc) (of_table ls) c'.
Proof.
  induction is as [| i is IH]; cbn; intros c c' R W.
  - inversion W; subst. exact R.
  - destruct (nth_error (successors lc ls c) i) as [x |] eqn:E; [| discriminate].
    apply IH with (c := x); auto.
    eapply roles_run_step; [exact R |]. apply successors_spec.
    eapply nth_error_In; eauto.
Qed.

Definition unsafe (lc ls : table) : Prop :=
  exists c, roles_run (of_table lc) (of_table ls) c /\ ~ roles_no_unexpected (of_table lc) (of_table ls) c.

(* Proves unsafe from a walk to a configuration with an unexpected message. *)
Ltac bad_walk is :=
  eexists; split;
  [ eapply (walk_run _ _ is start); [constructor | vm_compute; reflexivity]
  | intros [X2 X1]; cbn in X1, X2;
    first
      [ destruct (X2 _ _ eq_refl) as [x X]; cbn in X;
        repeat (destruct X as [X | X]; [discriminate |]); exact X
      | destruct (X1 _ _ eq_refl) as [x X]; cbn in X;
        repeat (destruct X as [X | X]; [discriminate |]); exact X ] ].

(* Runs of one automaton are runs of the pair of equal roles. *)
Lemma run_of_equal_roles {State M} (A : automaton State M) c : run A c ->
  roles_run A A (Roles (client c) (server c) (to_server c) (to_client c)).
Proof.
  intros H. induction H; [constructor |].
  eapply roles_run_step; [exact IHrun |]. destruct H0; cbn; constructor; assumption.
Qed.

(* ---- Safety ---- *)

(* Without the diamond: both send at once, and each is surprised. *)
Definition race : table := [(0, Send, 1, 1); (0, Receive, 2, 2)].
Example race_unsafe : unsafe race race.
Proof. bad_walk [0; 1]. Qed.

(* Determinism is needed for sends, even where no state is mixed. *)
Definition nondet_send : table :=
  [(0, Send, 1, 1); (0, Send, 1, 2); (1, Send, 3, 3)].
Example nondet_send_diamond : has_diamond (of_table nondet_send).
Proof.
  intros q _ a b q1 q2 _ E. cbn in E.
  repeat (destruct E as [E | E]; [discriminate |]). contradiction.
Qed.
Example nondet_send_unsafe : unsafe nondet_send nondet_send.
Proof. bad_walk [0; 2; 0]. Qed.

(* And for receives. *)
Definition nondet_recv : table :=
  [(0, Receive, 1, 1); (0, Receive, 1, 2); (2, Receive, 3, 3)].
Example nondet_recv_diamond : has_diamond (of_table nondet_recv).
Proof.
  intros q _ a b q1 q2 E _. cbn in E.
  repeat (destruct E as [E | E]; [discriminate |]). contradiction.
Qed.
Example nondet_recv_unsafe : unsafe nondet_recv nondet_recv.
Proof. bad_walk [1; 0; 0]. Qed.

(* It is not needed across directions: !1 and ?1 lead to different states. *)
Definition both_ways : table :=
  [(0, Send, 1, 1); (0, Receive, 1, 2); (1, Receive, 1, 3); (2, Send, 1, 3)].
Example both_ways_safe : roles_safe both_ways both_ways.
Proof. apply (explore_safe _ _ 100). vm_compute. reflexivity. Qed.

(* The diamond is not necessary for safety as a user sees it.
   After the crossing the client is in 3 and the server in 4.
   These states differ, but the client's one permits all that the server does.
   So a diamond check gives a false race here. *)
Definition safe_no_diamond : table :=
  [(0, Send, 1, 1); (0, Receive, 2, 2); (1, Receive, 2, 3); (2, Send, 1, 4);
   (3, Receive, 3, 5); (3, Receive, 4, 5); (4, Receive, 3, 6)].
Example safe_no_diamond_safe : roles_safe safe_no_diamond safe_no_diamond.
Proof. apply (explore_safe _ _ 200). vm_compute. reflexivity. Qed.
Example safe_no_diamond_fails : ~ has_diamond (of_table safe_no_diamond).
Proof.
  intros D. destruct (D 0 (reachable_initial _) 1 2 1 2) as [x [X Y]]; cbn; auto.
  cbn in X, Y.
  repeat (destruct X as [X | X]; [inversion X; subst |]); try contradiction;
  repeat (destruct Y as [Y | Y]; [discriminate |]); contradiction.
Qed.

(* ---- Compatible pairs ---- *)

Ltac enum X :=
  repeat (destruct X as [X | X]; [inversion X; subst; clear X |]); try contradiction.

(* Sound but too strict: after 1 the server never sends 2, so the product has
   no edge there. Yet the client can receive the late 2, and all is well. *)
Definition strict_c : table :=
  [(0, Send, 1, 1); (0, Receive, 2, 2); (1, Receive, 2, 3); (1, Receive, 5, 4);
   (2, Send, 1, 3)].
Definition strict_s : table :=
  [(0, Send, 1, 1); (0, Receive, 2, 2); (1, Receive, 5, 4); (2, Send, 1, 3)].
Example strict_safe : roles_safe strict_c strict_s.
Proof. apply (explore_safe _ _ 200). vm_compute. reflexivity. Qed.
Example strict_fails : ~ has_diamond (meet (of_table strict_c) (of_table strict_s)).
Proof.
  intros D.
  destruct (D (0, 0) (reachable_initial _) 1 2 (1, 1) (2, 2)) as [[x y] [[_ X] _]];
    cbn in *; auto 10.
  repeat (destruct X as [X | X]; [discriminate |]); contradiction.
Qed.

(* Too weak: ask the crossing of each pair that can meet, in the role that
   receives, and go on from where both end. Two sends in a row break it. *)
Section Weak.
  Variables C S : automaton nat nat.
  Inductive cross_reach : nat -> nat -> Prop :=
  | cr_init : cross_reach (initial C) (initial S)
  | cr_edge p r d m p' r' :
      cross_reach p r -> edge C p d m p' -> edge S r d m r' -> cross_reach p' r'
  | cr_cross p r a b p1 r2 x y :
      cross_reach p r -> edge C p Send a p1 -> edge S r Receive b r2 ->
      edge C p1 Receive b x -> edge S r2 Send a y -> cross_reach x y.
  Definition weak_check : Prop :=
    forall p r, cross_reach p r ->
      (forall a p', edge C p Send a p' -> exists r', edge S r Send a r') /\
      (forall b r', edge S r Receive b r' -> exists p', edge C p Receive b p') /\
      (forall a b p1 r2, edge C p Send a p1 -> edge S r Receive b r2 ->
         (exists x, edge C p1 Receive b x) /\ (exists y, edge S r2 Send a y)).
End Weak.

Definition weak_c : table :=
  [(0, Send, 1, 1); (0, Receive, 2, 9); (1, Send, 3, 2); (1, Receive, 2, 4);
   (9, Send, 1, 4)].
Definition weak_s : table :=
  [(0, Send, 1, 1); (0, Receive, 2, 9); (1, Send, 3, 2); (9, Send, 1, 4)].
Example weak_passes : weak_check (of_table weak_c) (of_table weak_s).
Proof.
  assert (forall p r, cross_reach (of_table weak_c) (of_table weak_s) p r -> p = r) as D.
  { intros p r H. induction H; cbn in *; [reflexivity | |]; subst.
    - enum H0; enum H1; reflexivity.
    - enum H0; enum H1; enum H2; enum H3; reflexivity. }
  intros p r H. apply D in H. subst. cbn. split; [| split].
  - intros a p' E. enum E; eauto 10.
  - intros b r' E. enum E; eauto 10.
  - intros a b p1 r2 E1 E2. enum E1; enum E2; split; eauto 10.
Qed.
Example weak_unsafe : unsafe weak_c weak_s.
Proof. bad_walk [0; 2; 0]. Qed.

(* Compatible is not enough for (c): from {!1, ?2} the client drops its output
   and the server drops its own. Each waits for the other, for ever.
   This is why the compiler asks that one output is kept. *)
Definition waits_c : table := [(0, Receive, 2, 1)].
Definition waits_s : table := [(0, Send, 1, 1)].
Example both_wait :
  compatible (of_table waits_c) (of_table waits_s) /\
  has_diamond (meet (of_table waits_c) (of_table waits_s)) /\
  (forall c', ~ roles_step (of_table waits_c) (of_table waits_s) start c') /\
  ~ no_edges (of_table waits_c) 0 /\ ~ no_edges (of_table waits_s) 0.
Proof.
  split; [| split; [| split; [| split]]].
  - intros p r _. split; cbn; intros x y E; enum E.
  - intros q _ a b q1 q2 [E _] _. cbn in E. enum E.
  - intros c' H. apply successors_spec in H. cbn in H. exact H.
  - intros N. apply (N Receive 2 1). cbn. auto.
  - intros N. apply (N Send 1 1). cbn. auto.
Qed.

(* ---- Observers ---- *)

(* An observer that notes a message after it passed it on sees each direction in
   order, but it may note an answer before its question. *)
Definition ask : table := [(0, Send, 1, 1); (1, Receive, 2, 2)].
Example ask_safe : roles_safe ask ask.
Proof. apply (explore_safe _ _ 100). vm_compute. reflexivity. Qed.
Example late_notes_lie :
  (exists m, word (of_table ask) 0 [(Send, 1); (Receive, 2)] m) /\
  ~ (exists m, word (of_table ask) 0 [(Receive, 2); (Send, 1)] m).
Proof.
  split.
  - exists 2. econstructor; [| econstructor; [| constructor]]; cbn; auto.
  - intros [m W]. apply word_cons_inv in W. destruct W as [x [E _]].
    cbn in E. enum E.
Qed.

(* ---- Closure ---- *)

(* log in a loop, and stop from the other side. *)
Definition logger : table := [(0, Send, 1, 0); (0, Receive, 2, 1)].
Example logger_unsafe : unsafe logger logger.
Proof. bad_walk [0; 2]. Qed.

(* After closure, (d) read with A's own ends is false:
   both roles are at an end of A, and a late log is in flight. *)
Example logger_late_orphan :
  late_run (of_table logger) (Configuration 1 1 [1] []) /\ no_edges (of_table logger) 1.
Proof.
  split.
  - eapply late_run_step with (c := Configuration 0 1 [1] [2]).
    2:{ apply l_client_receives. apply closure_written. cbn. auto. }
    eapply late_run_step with (c := Configuration 0 0 [1] []).
    2:{ apply (l_server_sends _ 0 0 [1] [] 2 1). cbn. auto. }
    eapply late_run_step with (c := Configuration 0 0 [] []).
    2:{ apply (l_client_sends _ 0 0 [] [] 1 0). cbn. auto. }
    constructor.
  - apply no_edges_spec. reflexivity.
Qed.

(* And (d) read with the closed automaton says nothing: 1 has an edge now. *)
Example logger_end_not_empty : ~ no_edges (closure (of_table logger)) 1.
Proof.
  intros N. apply (N Send 1 1). cbn.
  apply (closure_late (of_table logger) 0 Send 1 2 1).
  - apply (reachable_initial (of_table logger)).
  - apply closure_written. cbn. auto.
  - apply closure_written. cbn. auto.
Qed.

(* A conflict: the state after stop uses the same message for a step. *)
Definition conflict : table :=
  [(0, Send, 1, 0); (0, Receive, 2, 1); (1, Send, 1, 2)].
Example conflict_not_closable : ~ deterministic (closure (of_table conflict)).
Proof.
  intros D.
  assert (reachable (closure (of_table conflict)) 1) as R.
  { apply (reachable_edge _ 0 Receive 2 1); [apply (reachable_initial (closure (of_table conflict))) |].
    apply closure_written. cbn. auto. }
  assert (1 = 2) as X; [| discriminate].
  apply (D 1 Send 1 1 2 R); cbn.
  - apply (closure_late (of_table conflict) 0 Send 1 2 1).
    + apply (reachable_initial (of_table conflict)).
    + apply closure_written. cbn. auto.
    + apply closure_written. cbn. auto.
  - apply closure_written. cbn. auto.
Qed.
Example conflict_unsafe : exists p r,
  roles_run (of_table conflict) (of_table conflict) (Roles p r [] []) /\ p <> r.
Proof.
  exists 1, 2. split; [| discriminate].
  apply (walk_run _ _ [0; 2; 1; 1] start); [constructor | vm_compute; reflexivity].
Qed.
