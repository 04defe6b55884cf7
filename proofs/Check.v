(* A check of finite automata that computes, proved to be exact. It can judge the check of the compiler. *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Diamond Require Import Automaton Safety Compatible Examples.

(* The targets of the edges (q, d, m). *)
Definition same_dir (d d' : direction) : bool :=
  match d, d' with Send, Send => true | Receive, Receive => true | _, _ => false end.

Definition targets (l : table) (q : nat) (d : direction) (m : nat) : list nat :=
  flat_map (fun e => match e with (x, d', m', q') =>
    if (x =? q) && same_dir d d' && (m' =? m) then [q'] else [] end) l.

Lemma targets_spec l q d m q' : In q' (targets l q d m) <-> edge (of_table l) q d m q'.
Proof.
  unfold targets. rewrite in_flat_map. split.
  - intros [[[[x d'] m'] y] [I H]].
    destruct ((x =? q) && same_dir d d' && (m' =? m)) eqn:E; [| contradiction].
    destruct H as [<- | []].
    apply andb_prop in E. destruct E as [E M]. apply andb_prop in E.
    destruct E as [X D]. apply Nat.eqb_eq in X. apply Nat.eqb_eq in M. subst.
    destruct d, d'; try discriminate; exact I.
  - intros I. exists (q, d, m, q'). split; [exact I |].
    rewrite !Nat.eqb_refl. destruct d; cbn; auto.
Qed.

(* The states that the graph reaches: add successors, once per edge. *)
Definition grow (l : table) (s : list nat) : list nat :=
  fold_left (fun s e => match e with (q, _, _, q') =>
    if existsb (Nat.eqb q) s && negb (existsb (Nat.eqb q') s)
    then q' :: s else s end) l s.

Fixpoint iterate (n : nat) (l : table) (s : list nat) : list nat :=
  match n with 0 => s | S n' => iterate n' l (grow l s) end.

Definition states (l : table) : list nat := iterate (length l) l [0].

Lemma existsb_eqb q s : existsb (Nat.eqb q) s = true <-> In q s.
Proof.
  rewrite existsb_exists. split.
  - intros [x [I E]]. apply Nat.eqb_eq in E. subst. exact I.
  - intros I. exists q. split; [exact I | apply Nat.eqb_refl].
Qed.

Lemma grow_reachable l : forall s,
  (forall q, In q s -> reachable (of_table l) q) ->
  forall q, In q (grow l s) -> reachable (of_table l) q.
Proof.
  unfold grow.
  assert (forall k, incl k l -> forall s,
    (forall q, In q s -> reachable (of_table l) q) ->
    forall q, In q (fold_left (fun s e => match e with (q, _, _, q') =>
      if existsb (Nat.eqb q) s && negb (existsb (Nat.eqb q') s)
      then q' :: s else s end) k s) -> reachable (of_table l) q) as G.
  { induction k as [| [[[x d] m] y] k IH]; cbn; intros Ik s H q State; auto.
    apply (IH (fun z Z => Ik z (or_intror Z)) _) in State; auto.
    intros z Hz. destruct (existsb (Nat.eqb x) s) eqn:E; cbn in Hz; auto.
    destruct (existsb (Nat.eqb y) s); cbn in Hz; auto.
    destruct Hz as [<- | Hz]; auto.
    apply existsb_eqb in E.
    apply (reachable_edge (of_table l) x d m); auto. apply Ik. left. reflexivity. }
  intros s. apply G. apply incl_refl.
Qed.

Lemma states_reachable l q : In q (states l) -> reachable (of_table l) q.
Proof.
  unfold states. assert (forall n s,
    (forall q, In q s -> reachable (of_table l) q) ->
    forall q, In q (iterate n l s) -> reachable (of_table l) q) as G.
  { induction n; cbn; intros s H x X; auto.
    apply (IHn (grow l s)); auto. apply grow_reachable. exact H. }
  apply G. intros x [<- | []]. apply (reachable_initial (of_table l)).
Qed.

(* The list is closed under edges. Checked each time, so no proof of fuel. *)
Definition closed_states (l : table) (s : list nat) : bool :=
  existsb (Nat.eqb 0) s &&
  forallb (fun e => match e with (q, _, _, q') =>
    implb (existsb (Nat.eqb q) s) (existsb (Nat.eqb q') s) end) l.

Lemma closed_states_reachable l s : closed_states l s = true ->
  forall q, reachable (of_table l) q -> In q s.
Proof.
  unfold closed_states. intros H q R. apply andb_prop in H.
  destruct H as [H0 H1]. rewrite forallb_forall in H1. induction R.
  - apply existsb_eqb. exact H0.
  - specialize (H1 _ H). cbn in H1.
    apply existsb_eqb in IHR. rewrite IHR in H1. cbn in H1.
    apply existsb_eqb. exact H1.
Qed.

Definition all_equal (s : list nat) : bool :=
  forallb (fun x => forallb (Nat.eqb x) s) s.

Definition check_det (l : table) (s : list nat) : bool :=
  forallb (fun e => match e with (q, d, m, _) =>
    implb (existsb (Nat.eqb q) s) (all_equal (targets l q d m)) end) l.

(* For each send and each receive of one state, a common end. *)
Definition check_dia (l : table) (s : list nat) : bool :=
  forallb (fun e => match e with (q, d, a, q1) =>
    implb (existsb (Nat.eqb q) s && same_dir Send d)
      (forallb (fun e' => match e' with (p, d', b, q2) =>
         implb ((p =? q) && same_dir Receive d')
           (existsb (fun z => existsb (Nat.eqb z) (targets l q2 Send a))
              (targets l q1 Receive b)) end) l) end) l.

Lemma check_det_spec l s : (forall q, In q s <-> reachable (of_table l) q) ->
  (check_det l s = true <-> deterministic (of_table l)).
Proof.
  intros Hs. unfold check_det, all_equal. rewrite forallb_forall. split.
  - intros H q d m q1 q2 R E1 E2. specialize (H _ E1). cbn in H.
    apply Hs in R. apply existsb_eqb in R. rewrite R in H. cbn in H.
    rewrite forallb_forall in H. apply targets_spec in E1.
    specialize (H _ E1). rewrite forallb_forall in H.
    apply targets_spec in E2. specialize (H _ E2).
    apply Nat.eqb_eq in H. exact H.
  - intros H [[[q d] m] q'] I.
    destruct (existsb (Nat.eqb q) s) eqn:E; [| reflexivity]. cbn.
    apply existsb_eqb in E. apply Hs in E.
    apply forallb_forall. intros x X. apply forallb_forall. intros y Y.
    apply Nat.eqb_eq. apply targets_spec in X. apply targets_spec in Y.
    exact (H _ _ _ _ _ E X Y).
Qed.

Lemma check_dia_spec l s : (forall q, In q s <-> reachable (of_table l) q) ->
  (check_dia l s = true <-> has_diamond (of_table l)).
Proof.
  intros Hs. unfold check_dia. rewrite forallb_forall. split.
  - intros H q R a b q1 q2 E1 E2. specialize (H _ E1). cbn in H.
    apply Hs in R. apply existsb_eqb in R. rewrite R in H. cbn in H.
    rewrite forallb_forall in H. specialize (H _ E2). cbn in H.
    rewrite Nat.eqb_refl in H. cbn in H. apply existsb_exists in H.
    destruct H as [z [Z1 Z2]]. apply existsb_eqb in Z2.
    exists z. split; apply targets_spec; assumption.
  - intros H [[[q d] a] q1] I1.
    destruct (existsb (Nat.eqb q) s) eqn:E; [| reflexivity].
    apply existsb_eqb in E. apply Hs in E.
    destruct d; [| reflexivity]. cbn.
    apply forallb_forall. intros [[[p d'] b] q2] I2.
    destruct (Nat.eqb_spec p q); [subst | reflexivity].
    destruct d'; [reflexivity |]. cbn.
    destruct (H q E a b q1 q2 I1 I2) as [z [Z1 Z2]].
    apply existsb_exists. exists z. split; [apply targets_spec; exact Z1 |].
    apply existsb_eqb. apply targets_spec. exact Z2.
Qed.

(* The answer. None would mean that the fuel did not suffice. *)
Definition check (l : table) : option bool :=
  let s := states l in
  if closed_states l s then Some (check_det l s && check_dia l s) else None.

(* If the check has an answer, the answer is yes exactly if the automaton is deterministic and has the diamond. It
   has no answer only if it has not seen all reachable states, which it finds out itself. *)
Theorem check_exact l b : check l = Some b ->
  (b = true <-> deterministic (of_table l) /\ has_diamond (of_table l)).
Proof.
  unfold check. intros H.
  destruct (closed_states l (states l)) eqn:E; [| discriminate].
  inversion H; subst; clear H.
  assert (forall q, In q (states l) <-> reachable (of_table l) q) as Hs.
  { intros q. split; [apply states_reachable | apply closed_states_reachable; exact E]. }
  rewrite andb_true_iff, (check_det_spec _ _ Hs), (check_dia_spec _ _ Hs).
  reflexivity.
Qed.

(* An automaton for which the check says yes is safe in the sense of `safety`. *)
Corollary check_safe l : check l = Some true -> safe (of_table l).
Proof.
  intros H. apply (check_exact l true) in H. destruct (proj1 H eq_refl).
  apply safety; assumption.
Qed.


Example check_race : check race = Some false. Proof. reflexivity. Qed.
Example check_both_ways : check both_ways = Some true. Proof. reflexivity. Qed.
