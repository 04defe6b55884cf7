(* Checks of two finite roles that compute, and what a yes and a no of each means. They are extracted to a program, which
   judges the compiler (see README.md). Nothing here is meant to be fast: the roles are small. *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Diamond Require Import Automaton Safety Compatible Examples Mediator Check Cancels.

(* ---- Pairs of states, and the edges between them ---- *)

Definition pair : Type := nat * nat.
Definition pair_edge : Type := pair * direction * nat * pair.

Definition same_pair (x y : pair) : bool := (fst x =? fst y) && (snd x =? snd y).

Definition same_edge (e f : pair_edge) : bool :=
  match e, f with (q, d, m, q'), (x, d', m', x') =>
    (m =? m') && same_dir d d' && same_pair q x && same_pair q' x' end.

Lemma same_pair_spec x y : same_pair x y = true <-> x = y.
Proof.
  destruct x as [a b], y as [c d]. unfold same_pair. cbn.
  rewrite andb_true_iff, !Nat.eqb_eq. split; [intros [-> ->]; reflexivity | intros H; inversion H; auto].
Qed.

Lemma same_dir_spec d d' : same_dir d d' = true <-> d = d'.
Proof. destruct d, d'; cbn; split; intros H; congruence. Qed.

Lemma same_edge_spec e f : same_edge e f = true <-> e = f.
Proof.
  destruct e as [[[q d] m] q'], f as [[[x d'] m'] x']. unfold same_edge.
  rewrite !andb_true_iff, Nat.eqb_eq, same_dir_spec, !same_pair_spec.
  split; [intros [[[-> ->] ->] ->]; reflexivity | intros H; inversion H; auto].
Qed.

Definition has_pair (P : list pair) (q : pair) : bool := existsb (same_pair q) P.
Definition has_edge (E : list pair_edge) (e : pair_edge) : bool := existsb (same_edge e) E.

Lemma has_pair_spec P q : has_pair P q = true <-> In q P.
Proof.
  unfold has_pair. rewrite existsb_exists. split.
  - intros [x [I E]]. apply same_pair_spec in E. subst. exact I.
  - intros I. exists q. split; [exact I | apply same_pair_spec; reflexivity].
Qed.

Lemma has_edge_spec E e : has_edge E e = true <-> In e E.
Proof.
  unfold has_edge. rewrite existsb_exists. split.
  - intros [x [I S]]. apply same_edge_spec in S. subst. exact I.
  - intros I. exists e. split; [exact I | apply same_edge_spec; reflexivity].
Qed.

(* ---- What a rule adds, until it adds nothing ---- *)

Definition graph : Type := list pair * list pair_edge.

Definition target (e : pair_edge) : pair := snd e.

Definition add_edge (g : graph) (e : pair_edge) : graph :=
  if has_edge (snd g) e then g
  else (if has_pair (fst g) (target e) then fst g else target e :: fst g, e :: snd g).

Section Rule.
  Variable rule : list pair_edge -> pair -> list pair_edge.

  Definition visit (g : graph) (q : pair) : graph := fold_left add_edge (rule (snd g) q) g.

  Definition round (g : graph) : graph := fold_left visit (fst g) g.

  Fixpoint rounds (n : nat) (g : graph) : graph :=
    match n with
    | 0 => g
    | S n' => let g' := round g in
              if length (snd g') =? length (snd g) then g' else rounds n' g'
    end.

  (* Nothing is left to add. Computed from what was found, so no proof is needed that there were enough rounds. *)
  Definition is_closed (g : graph) : bool :=
    has_pair (fst g) (0, 0) &&
    forallb (fun e => has_pair (fst g) (target e)) (snd g) &&
    forallb (fun q => forallb (has_edge (snd g)) (rule (snd g) q)) (fst g).

  Definition explored (n : nat) : graph := rounds n ([(0, 0)], []).

  (* What holds of all that the rule adds holds of all that is found. *)
  Lemma explored_inv (OK : pair -> Prop) (OKE : pair_edge -> Prop) :
    OK (0, 0) ->
    (forall E q e, OK q -> (forall f, In f E -> OKE f) -> In e (rule E q) -> OKE e /\ OK (target e)) ->
    forall n, (forall q, In q (fst (explored n)) -> OK q) /\ (forall e, In e (snd (explored n)) -> OKE e).
  Proof.
    intros H0 HR n. unfold explored.
    set (inv := fun g : graph => (forall q, In q (fst g) -> OK q) /\ (forall e, In e (snd g) -> OKE e)).
    assert (forall g e, inv g -> OKE e -> OK (target e) -> inv (add_edge g e)) as A.
    { intros [P E] e [I1 I2] He Ht. unfold add_edge. cbn [fst snd] in *.
      destruct (has_edge E e); [split; assumption |]. split; cbn.
      - destruct (has_pair P (target e)); cbn; [exact I1 |]. intros q [<- | I]; auto.
      - intros f [<- | I]; auto. }
    assert (forall l g, inv g -> (forall e, In e l -> OKE e /\ OK (target e)) -> inv (fold_left add_edge l g)) as B.
    { induction l as [| e l IH]; cbn; intros g I H; [exact I |].
      apply IH; [| intros; apply H; auto]. destruct (H e); auto. }
    assert (forall l g, inv g -> (forall q, In q l -> OK q) -> inv (fold_left visit l g)) as C.
    { induction l as [| q l IH]; cbn; intros g I H; [exact I |].
      apply IH; [| intros; apply H; auto]. unfold visit. apply B; [exact I |].
      intros e He. apply (HR (snd g) q); auto. apply I. }
    assert (forall k g, inv g -> inv (rounds k g)) as D.
    { induction k as [| k IH]; cbn; intros g I; [exact I |].
      assert (inv (round g)) as I' by (apply C; [exact I | apply I]).
      destruct (_ =? _); auto. }
    apply D. split; cbn; [intros q [<- | []]; exact H0 | intros e []].
  Qed.

  Lemma closed_start g : is_closed g = true -> In (0, 0) (fst g).
  Proof. unfold is_closed. rewrite !andb_true_iff. intros [[H _] _]. apply has_pair_spec. exact H. Qed.

  Lemma closed_target g e : is_closed g = true -> In e (snd g) -> In (target e) (fst g).
  Proof.
    unfold is_closed. rewrite !andb_true_iff. intros [[_ H] _] I.
    rewrite forallb_forall in H. apply has_pair_spec. apply H. exact I.
  Qed.

  Lemma closed_rule g q e : is_closed g = true -> In q (fst g) -> In e (rule (snd g) q) -> In e (snd g).
  Proof.
    unfold is_closed. rewrite !andb_true_iff. intros [_ H] I J.
    rewrite forallb_forall in H. specialize (H _ I). rewrite forallb_forall in H.
    apply has_edge_spec. apply H. exact J.
  Qed.
End Rule.

(* ---- The two rules ---- *)

(* The edges of a pair that both roles have. *)
Definition written (lc ls : table) (q : pair) : list pair_edge :=
  flat_map (fun e => match e with (x, d, m, p') =>
    if x =? fst q then map (fun r' => (q, d, m, (p', r'))) (targets ls (snd q) d m) else [] end) lc.

Definition source_is (q : pair) (d : direction) (e : pair_edge) : bool :=
  match e with (x, d', _, _) => same_dir d d' && same_pair q x end.

(* The two edges that close the square of two messages which cross in a pair. *)
Definition square (lc ls : table) (e f : pair_edge) : list pair_edge :=
  match e, f with (_, _, a, (p1, r1)), (_, _, b, (p2, r2)) =>
    flat_map (fun x => flat_map (fun y =>
      [((p1, r1), Receive, b, (x, y)); ((p2, r2), Send, a, (x, y))])
      (targets ls r2 Send a)) (targets lc p1 Receive b) end.

Definition squares (lc ls : table) (E : list pair_edge) (q : pair) : list pair_edge :=
  flat_map (fun e => flat_map (square lc ls e) (filter (source_is q Receive) E))
    (filter (source_is q Send) E).

Definition meet_rule (lc ls : table) (E : list pair_edge) (q : pair) : list pair_edge := written lc ls q.

Definition completion_rule (lc ls : table) (E : list pair_edge) (q : pair) : list pair_edge :=
  written lc ls q ++ squares lc ls E q.

Lemma written_spec lc ls p r d m p' r' :
  In ((p, r), d, m, (p', r')) (written lc ls (p, r)) <->
  edge (of_table lc) p d m p' /\ edge (of_table ls) r d m r'.
Proof.
  unfold written. rewrite in_flat_map. split.
  - intros [[[[x d'] m'] y] [I H]]. cbn [fst snd] in H.
    destruct (Nat.eqb_spec x p); [subst | contradiction].
    apply in_map_iff in H. destruct H as [z [H J]]. inversion H; subst.
    apply targets_spec in J. split; [exact I | exact J].
  - intros [E1 E2]. exists (p, d, m, p'). split; [exact E1 |]. cbn [fst snd].
    rewrite Nat.eqb_refl. apply in_map_iff. exists r'. split; [reflexivity |].
    apply targets_spec. exact E2.
Qed.

Lemma written_source lc ls q e : In e (written lc ls q) -> exists d m q', e = (q, d, m, q').
Proof.
  unfold written. rewrite in_flat_map. intros [[[[x d] m] y] [_ H]].
  destruct (x =? fst q); [| contradiction]. apply in_map_iff in H.
  destruct H as [z [<- _]]. eauto.
Qed.

Lemma source_is_spec q d e : source_is q d e = true <-> exists m q', e = (q, d, m, q').
Proof.
  destruct e as [[[x d'] m] q']. cbn. rewrite andb_true_iff, same_dir_spec, same_pair_spec.
  split; [intros [-> ->]; eauto | intros [m' [z H]]; inversion H; auto].
Qed.

Lemma squares_spec lc ls E q e : In e (squares lc ls E q) <->
  exists a b p1 r1 p2 r2 x y,
    In (q, Send, a, (p1, r1)) E /\ In (q, Receive, b, (p2, r2)) E /\
    edge (of_table lc) p1 Receive b x /\ edge (of_table ls) r2 Send a y /\
    (e = ((p1, r1), Receive, b, (x, y)) \/ e = ((p2, r2), Send, a, (x, y))).
Proof.
  unfold squares. rewrite in_flat_map. split.
  - intros [f [F H]]. apply filter_In in F. destruct F as [F1 F2].
    apply source_is_spec in F2. destruct F2 as [a [[p1 r1] ->]].
    apply in_flat_map in H. destruct H as [g [G H]]. apply filter_In in G. destruct G as [G1 G2].
    apply source_is_spec in G2. destruct G2 as [b [[p2 r2] ->]].
    cbn in H. apply in_flat_map in H. destruct H as [x [X H]].
    apply in_flat_map in H. destruct H as [y [Y H]].
    apply targets_spec in X. apply targets_spec in Y. cbn in H.
    exists a, b, p1, r1, p2, r2, x, y. repeat split; auto.
    destruct H as [<- | [<- | []]]; auto.
  - intros [a [b [p1 [r1 [p2 [r2 [x [y [F [G [X [Y H]]]]]]]]]]]].
    exists (q, Send, a, (p1, r1)). split.
    { apply filter_In. split; [exact F | apply source_is_spec; eauto]. }
    apply in_flat_map. exists (q, Receive, b, (p2, r2)). split.
    { apply filter_In. split; [exact G | apply source_is_spec; eauto]. }
    cbn. apply in_flat_map. exists x. split; [apply targets_spec; exact X |].
    apply in_flat_map. exists y. split; [apply targets_spec; exact Y |].
    cbn. destruct H as [-> | ->]; auto.
Qed.

(* ---- The pairs in which the roles meet ---- *)

Lemma meet_found lc ls n : forall q, In q (fst (explored (meet_rule lc ls) n)) ->
  reachable (meet (of_table lc) (of_table ls)) q.
Proof.
  apply (explored_inv (meet_rule lc ls) (reachable (meet (of_table lc) (of_table ls)))
           (fun e => True)).
  - apply (reachable_initial (meet (of_table lc) (of_table ls))).
  - intros E q e R _ I. split; [exact Logic.I |]. unfold meet_rule in I.
    destruct (written_source _ _ _ _ I) as [d [m [[p' r'] ->]]]. destruct q as [p r].
    apply written_spec in I. eapply reachable_edge; [exact R |]. exact I.
Qed.

Lemma meet_all lc ls g : is_closed (meet_rule lc ls) g = true ->
  forall q, reachable (meet (of_table lc) (of_table ls)) q -> In q (fst g).
Proof.
  intros K q R. induction R as [| [p r] d m [p' r'] R I H].
  - apply (closed_start _ _ K).
  - apply (closed_target _ g ((p, r), d, m, (p', r')) K).
    apply (closed_rule _ g (p, r) _ K I). apply written_spec. exact H.
Qed.

(* ---- The completion ---- *)

Lemma completion_found lc ls n :
  (forall q, In q (fst (explored (completion_rule lc ls) n)) ->
     completion_reachable (of_table lc) (of_table ls) q) /\
  (forall e, In e (snd (explored (completion_rule lc ls) n)) ->
     match e with (q, d, m, q') =>
       completion_reachable (of_table lc) (of_table ls) q /\
       completion_edge (of_table lc) (of_table ls) q d m q' end).
Proof.
  apply explored_inv.
  - apply (completion_reachable_initial (of_table lc) (of_table ls)).
  - intros E q e R HE I. unfold completion_rule in I. apply in_app_or in I. destruct I as [I | I].
    + destruct (written_source _ _ _ _ I) as [d [m [[p' r'] ->]]]. destruct q as [p r].
      apply written_spec in I. destruct I as [I1 I2].
      assert (completion_edge (of_table lc) (of_table ls) (p, r) d m (p', r')) as W
        by (apply completion_written; assumption).
      split; [split; assumption |]. exact (completion_reachable_edge _ _ _ _ _ _ R W).
    + apply squares_spec in I.
      destruct I as [a [b [p1 [r1 [p2 [r2 [x [y [F [G [X [Y H]]]]]]]]]]]].
      apply HE in F. apply HE in G. destruct F as [_ F]. destruct G as [_ G].
      pose proof (completion_reachable_edge _ _ _ _ _ _ R F) as R1.
      pose proof (completion_reachable_edge _ _ _ _ _ _ R G) as R2.
      destruct H as [-> | ->].
      * assert (completion_edge (of_table lc) (of_table ls) (p1, r1) Receive b (x, y)) as W
          by exact (completion_receive _ _ q a b p1 r1 p2 r2 x y R F G X Y).
        split; [split; assumption |]. exact (completion_reachable_edge _ _ _ _ _ _ R1 W).
      * assert (completion_edge (of_table lc) (of_table ls) (p2, r2) Send a (x, y)) as W
          by exact (completion_send _ _ q a b p1 r1 p2 r2 x y R F G X Y).
        split; [split; assumption |]. exact (completion_reachable_edge _ _ _ _ _ _ R2 W).
Qed.

Lemma completion_all lc ls g : is_closed (completion_rule lc ls) g = true ->
  (forall q d m q', completion_edge (of_table lc) (of_table ls) q d m q' ->
     In q (fst g) -> In (q, d, m, q') (snd g)) /\
  (forall q, completion_reachable (of_table lc) (of_table ls) q -> In q (fst g)).
Proof.
  intros K.
  apply (completion_mut (of_table lc) (of_table ls)
    (fun q d m q' => In q (fst g) -> In (q, d, m, q') (snd g)) (fun q => In q (fst g))).
  - intros p r d m p' r' E1 E2 I. apply (closed_rule _ g (p, r) _ K I).
    unfold completion_rule. apply in_or_app. left. apply written_spec. auto.
  - intros q a b p1 r1 p2 r2 x y _ I _ F _ G X Y _.
    apply (closed_rule _ g q _ K I). unfold completion_rule. apply in_or_app. right.
    apply squares_spec. exists a, b, p1, r1, p2, r2, x, y. repeat split; auto.
  - intros q a b p1 r1 p2 r2 x y _ I _ F _ G X Y _.
    apply (closed_rule _ g q _ K I). unfold completion_rule. apply in_or_app. right.
    apply squares_spec. exists a, b, p1, r1, p2, r2, x, y. repeat split; auto.
  - apply (closed_start _ _ K).
  - intros q d m q' _ I _ H. exact (closed_target _ g (q, d, m, q') K (H I)).
Qed.

(* ---- The checks ---- *)

Definition is_functional (l : table) : bool :=
  forallb (fun e => match e with (q, d, m, _) => all_equal (targets l q d m) end) l.

Definition some {X} (l : list X) : bool := match l with [] => false | _ => true end.

(* Each role accepts what the other sends. *)
Definition accepts_at (lc ls : table) (q : pair) : bool :=
  forallb (fun e => match e with (x, d, m, _) =>
    implb ((x =? fst q) && same_dir Send d) (some (targets ls (snd q) Send m)) end) lc &&
  forallb (fun e => match e with (x, d, m, _) =>
    implb ((x =? snd q) && same_dir Receive d) (some (targets lc (fst q) Receive m)) end) ls.

Definition check_accepts (lc ls : table) (P : list pair) : bool := forallb (accepts_at lc ls) P.

(* Each role accepts what crosses its own message. *)
Definition crosses (lc ls : table) (e f : pair_edge) : bool :=
  match e, f with (_, _, a, (p1, _)), (_, _, b, (_, r2)) =>
    some (targets lc p1 Receive b) && some (targets ls r2 Send a) end.

Definition check_crosses (lc ls : table) (g : graph) : bool :=
  forallb (fun q =>
    forallb (fun e => forallb (crosses lc ls e) (filter (source_is q Receive) (snd g)))
      (filter (source_is q Send) (snd g))) (fst g).

Definition check_targets (E : list pair_edge) : bool :=
  forallb (fun e => match e with (q, d, m, q') =>
    forallb (fun f => match f with (x, d', m', x') =>
      implb ((m =? m') && same_dir d d' && same_pair q x) (same_pair q' x') end) E end) E.

Lemma some_spec l q d m : some (targets l q d m) = true <-> exists q', edge (of_table l) q d m q'.
Proof.
  destruct (targets l q d m) as [| q' t] eqn:T; cbn; split.
  - discriminate.
  - intros [q' E]. apply targets_spec in E. rewrite T in E. contradiction.
  - intros _. exists q'. apply targets_spec. rewrite T. left. reflexivity.
  - reflexivity.
Qed.

Lemma is_functional_spec l : is_functional l = true <-> functional (of_table l).
Proof.
  unfold is_functional. rewrite forallb_forall. split.
  - intros H q d m q1 q2 E1 E2. specialize (H _ E1). cbn in H. unfold all_equal in H.
    rewrite forallb_forall in H. apply targets_spec in E1. apply targets_spec in E2.
    specialize (H _ E1). rewrite forallb_forall in H. specialize (H _ E2).
    apply Nat.eqb_eq in H. exact H.
  - intros H [[[q d] m] q'] I. unfold all_equal.
    apply forallb_forall. intros x X. apply forallb_forall. intros y Y.
    apply Nat.eqb_eq. apply targets_spec in X. apply targets_spec in Y.
    exact (H _ _ _ _ _ X Y).
Qed.

Lemma accepts_at_spec lc ls p r : accepts_at lc ls (p, r) = true <->
  (forall a p', edge (of_table lc) p Send a p' -> exists r', edge (of_table ls) r Send a r') /\
  (forall b r', edge (of_table ls) r Receive b r' -> exists p', edge (of_table lc) p Receive b p').
Proof.
  unfold accepts_at. rewrite andb_true_iff, !forallb_forall. cbn [fst snd]. split.
  - intros [H1 H2]. split.
    + intros a p' E. specialize (H1 _ E). cbn in H1. rewrite Nat.eqb_refl in H1.
      apply some_spec. exact H1.
    + intros b r' E. specialize (H2 _ E). cbn in H2. rewrite Nat.eqb_refl in H2.
      apply some_spec. exact H2.
  - intros [H1 H2]. split; intros [[[x d] m] y] I.
    + destruct (Nat.eqb_spec x p); [subst | reflexivity]. destruct d; [cbn | reflexivity].
      apply some_spec. eapply H1. exact I.
    + destruct (Nat.eqb_spec x r); [subst | reflexivity]. destruct d; [reflexivity | cbn].
      apply some_spec. eapply H2. exact I.
Qed.

Lemma completion_reaches lc ls q : completion_reachable (of_table lc) (of_table ls) q ->
  reachable (completion (of_table lc) (of_table ls)) q.
Proof.
  intros R. induction R as [| q d m q' R I E].
  - apply (reachable_initial (completion (of_table lc) (of_table ls))).
  - eapply (reachable_edge (completion (of_table lc) (of_table ls))); [exact I | exact E].
Qed.

(* Fuel for the exploration: what is found is checked to be all. *)
Definition check_pair (n : nat) (lc ls : table) : option bool :=
  let g := explored (completion_rule lc ls) n in
  if is_closed (completion_rule lc ls) g then
    Some (is_functional lc && is_functional ls && check_accepts lc ls (fst g) &&
          check_crosses lc ls g && check_targets (snd g))
  else None.

(* If the check of two roles has an answer, the answer is yes exactly if the hypotheses of `completion_safety` hold. The
   oracle that judges the compiler computes this. It assumes nothing: that the whole completion was explored is part of
   the computation. *)
Theorem check_pair_exact n lc ls b : check_pair n lc ls = Some b ->
  (b = true <->
   functional (of_table lc) /\ functional (of_table ls) /\
   check_compatible (of_table lc) (of_table ls) /\ check_crossing (of_table lc) (of_table ls) /\
   deterministic (completion (of_table lc) (of_table ls))).
Proof.
  unfold check_pair. intros H.
  set (g := explored (completion_rule lc ls) n) in *.
  destruct (is_closed (completion_rule lc ls) g) eqn:K; [| discriminate].
  destruct (completion_found lc ls n) as [FP FE]. fold g in FP, FE.
  destruct (completion_all lc ls g K) as [AE AP].
  inversion H; subst; clear H. rewrite !andb_true_iff, !is_functional_spec.
  assert (check_accepts lc ls (fst g) = true <-> check_compatible (of_table lc) (of_table ls)) as HA.
  { unfold check_accepts. rewrite forallb_forall. split.
    - intros H p r R. apply accepts_at_spec. apply H. apply AP. exact R.
    - intros H [p r] I. apply accepts_at_spec. apply H. apply FP. exact I. }
  assert (check_crosses lc ls g = true <-> check_crossing (of_table lc) (of_table ls)) as HX.
  { unfold check_crosses. rewrite forallb_forall. split.
    - intros H q a b p1 r1 p2 r2 R E1 E2. apply AP in R.
      apply AE in E1; [| exact R]. apply AE in E2; [| exact R].
      specialize (H _ R). rewrite forallb_forall in H.
      specialize (H (q, Send, a, (p1, r1))). rewrite forallb_forall in H.
      assert (crosses lc ls (q, Send, a, (p1, r1)) (q, Receive, b, (p2, r2)) = true) as X.
      { apply H; apply filter_In; (split; [assumption |]); apply source_is_spec; eauto. }
      cbn in X. apply andb_prop in X. rewrite !some_spec in X. exact X.
    - intros H q I. apply forallb_forall. intros e Ie. apply filter_In in Ie. destruct Ie as [Ie Se].
      apply source_is_spec in Se. destruct Se as [a [[p1 r1] ->]].
      apply forallb_forall. intros f If. apply filter_In in If. destruct If as [If Sf].
      apply source_is_spec in Sf. destruct Sf as [b [[p2 r2] ->]].
      apply FE in Ie. apply FE in If. destruct Ie as [R E1]. destruct If as [_ E2].
      destruct (H _ _ _ _ _ _ _ R E1 E2) as [X Y].
      cbn. apply andb_true_iff. rewrite !some_spec. auto. }
  assert (check_targets (snd g) = true <-> deterministic (completion (of_table lc) (of_table ls))) as HT.
  { unfold check_targets. rewrite forallb_forall. split.
    - intros H q d m q1 q2 R E1 E2. apply completion_reached in R. apply AP in R.
      apply AE in E1; [| exact R]. apply AE in E2; [| exact R].
      specialize (H _ E1). cbn in H. rewrite forallb_forall in H. specialize (H _ E2). cbn in H.
      assert (same_pair q q = true) as X by (apply same_pair_spec; reflexivity).
      rewrite Nat.eqb_refl, X in H. destruct d; cbn in H; apply same_pair_spec; exact H.
    - intros H [[[q d] m] q1] I. apply forallb_forall. intros [[[x d'] m'] q2] J.
      destruct ((m =? m') && same_dir d d' && same_pair q x) eqn:S; [| reflexivity]. cbn.
      rewrite !andb_true_iff, Nat.eqb_eq, same_dir_spec, same_pair_spec in S.
      destruct S as [[-> ->] ->]. apply FE in I. apply FE in J.
      destruct I as [R E1]. destruct J as [_ E2]. apply same_pair_spec.
      apply (H x d' m' q1 q2); [| exact E1 | exact E2].
      apply completion_reaches. exact R. }
  tauto.
Qed.

(* What is promised of two roles: no unexpected message; a pair that is stuck has nothing in flight and nothing to send;
   and what a role never receives is not in flight. *)
Definition sound (lc ls : table) : Prop :=
  forall p r w1 w2, roles_run (of_table lc) (of_table ls) (Roles p r w1 w2) ->
    roles_no_unexpected (of_table lc) (of_table ls) (Roles p r w1 w2) /\
    ((forall c', ~ roles_step (of_table lc) (of_table ls) (Roles p r w1 w2) c') ->
       w1 = [] /\ w2 = [] /\
       (forall a p', ~ edge (of_table lc) p Send a p') /\
       (forall b r', ~ edge (of_table ls) r Receive b r')) /\
    ((forall b p', ~ edge (of_table lc) p Receive b p') -> w2 = []) /\
    ((forall a r', ~ edge (of_table ls) r Send a r') -> w1 = []).

(* Two roles for which the check says yes are sound. *)
Corollary check_pair_sound n lc ls : check_pair n lc ls = Some true -> sound lc ls.
Proof.
  intros H. apply check_pair_exact in H. destruct (proj1 H eq_refl) as [F1 [F2 [K [X D]]]].
  intros p r w1 w2 R.
  destruct (completion_safety _ _ F1 F2 K X D p r w1 w2 R) as [U [_ Z]]. split; assumption.
Qed.

(* ---- Dual roles ---- *)

Definition same_at (lc ls : table) (q : pair) : bool :=
  forallb (fun e => match e with (x, d, m, _) =>
    implb (x =? fst q) (some (targets ls (snd q) d m)) end) lc &&
  forallb (fun e => match e with (x, d, m, _) =>
    implb (x =? snd q) (some (targets lc (fst q) d m)) end) ls.

(* Each role sends exactly what the other receives, where they meet. *)
Definition is_dual (lc ls : table) : Prop :=
  forall p r, reachable (meet (of_table lc) (of_table ls)) (p, r) ->
    forall d m, (exists p', edge (of_table lc) p d m p') <-> (exists r', edge (of_table ls) r d m r').

Definition check_dual (n : nat) (lc ls : table) : option bool :=
  let g := explored (meet_rule lc ls) n in
  if is_closed (meet_rule lc ls) g then Some (forallb (same_at lc ls) (fst g)) else None.

Lemma same_at_spec lc ls p r : same_at lc ls (p, r) = true <->
  forall d m, (exists p', edge (of_table lc) p d m p') <-> (exists r', edge (of_table ls) r d m r').
Proof.
  unfold same_at. rewrite andb_true_iff, !forallb_forall. cbn [fst snd]. split.
  - intros [H1 H2] d m. split; intros [y E].
    + specialize (H1 _ E). cbn in H1. rewrite Nat.eqb_refl in H1. apply some_spec. exact H1.
    + specialize (H2 _ E). cbn in H2. rewrite Nat.eqb_refl in H2. apply some_spec. exact H2.
  - intros H. split; intros [[[x d] m] y] I.
    + destruct (Nat.eqb_spec x p); [subst; cbn | reflexivity]. apply some_spec. apply H. exists y. exact I.
    + destruct (Nat.eqb_spec x r); [subst; cbn | reflexivity]. apply some_spec. apply H. exists y. exact I.
Qed.

(* If the check for duality has an answer, the answer is yes exactly if each role sends what the other receives in every
   pair of states in which they meet. It assumes nothing. *)
Theorem check_dual_exact n lc ls b : check_dual n lc ls = Some b -> (b = true <-> is_dual lc ls).
Proof.
  unfold check_dual. intros H.
  destruct (is_closed (meet_rule lc ls) (explored (meet_rule lc ls) n)) eqn:K; [| discriminate].
  inversion H; subst; clear H. rewrite forallb_forall. split.
  - intros H p r R. apply same_at_spec. apply H. apply (meet_all _ _ _ K). exact R.
  - intros H [p r] I. apply same_at_spec. apply H. apply (meet_found lc ls n). exact I.
Qed.

(* ---- One state in place of all that behave alike ---- *)

(* The class of each state, by its number. *)
Definition class (h : list nat) (q : nat) : nat := nth q h 0.

Definition has (l : table) (e : nat * direction * nat * nat) : bool :=
  match e with (q, d, m, q') => existsb (Nat.eqb q') (targets l q d m) end.

Definition map_edge (h : list nat) (e : nat * direction * nat * nat) : nat * direction * nat * nat :=
  match e with (q, d, m, q') => (class h q, d, m, class h q') end.

Definition quotient (h : list nat) (l : table) : table :=
  fold_left (fun k e => if has k (map_edge h e) then k else map_edge h e :: k) l [].

(* The classes are right: nothing is lost, and nothing is new. *)
Definition is_quotient (h : list nat) (l k : table) : bool :=
  (0 <? length h) && (class h 0 =? 0) &&
  forallb (fun e => match e with (_, _, _, q') => q' <? length h end) l &&
  forallb (fun e => has k (map_edge h e)) l &&
  forallb (fun e => match e with (z, d, m, z') =>
    forallb (fun q => implb (class h q =? z)
      (existsb (fun q' => class h q' =? z') (targets l q d m))) (seq 0 (length h)) end) k.

Lemma has_spec l q d m q' : has l (q, d, m, q') = true <-> edge (of_table l) q d m q'.
Proof. unfold has. rewrite existsb_eqb. apply targets_spec. Qed.

Lemma quotient_facts h l k : is_quotient h l k = true ->
  0 < length h /\ class h 0 = 0 /\
  (forall q d m q', edge (of_table l) q d m q' ->
     q' < length h /\ edge (of_table k) (class h q) d m (class h q')) /\
  (forall q d m z, q < length h -> edge (of_table k) (class h q) d m z ->
     exists q', edge (of_table l) q d m q' /\ class h q' = z).
Proof.
  unfold is_quotient. rewrite !andb_true_iff, !forallb_forall, Nat.ltb_lt, Nat.eqb_eq.
  intros [[[[L Z] T] M] N]. split; [exact L | split; [exact Z | split]].
  - intros q d m q' E. split.
    + specialize (T _ E). cbn in T. apply Nat.ltb_lt in T. exact T.
    + specialize (M _ E). apply has_spec in M. exact M.
  - intros q d m z Q E. specialize (N _ E). cbn in N. rewrite forallb_forall in N.
    specialize (N q). rewrite Nat.eqb_refl in N. cbn in N.
    assert (In q (seq 0 (length h))) as I by (apply in_seq; split; [apply Nat.le_0_l | exact Q]).
    specialize (N I). apply existsb_exists in N. destruct N as [q' [T' C]].
    exists q'. split; [apply targets_spec; exact T' | apply Nat.eqb_eq; exact C].
Qed.

Lemma quotient_run hc hs lc ls kc ks :
  is_quotient hc lc kc = true -> is_quotient hs ls ks = true ->
  forall c, roles_run (of_table lc) (of_table ls) c ->
    role_client c < length hc /\ role_server c < length hs /\
    roles_run (of_table kc) (of_table ks)
      (Roles (class hc (role_client c)) (class hs (role_server c)) (roles_to_server c) (roles_to_client c)).
Proof.
  intros QC QS. apply quotient_facts in QC. apply quotient_facts in QS.
  destruct QC as [LC [ZC [MC _]]]. destruct QS as [LS [ZS [MS _]]].
  intros c R. induction R as [| c c' R [B1 [B2 I]] M].
  - cbn [role_client role_server roles_to_server roles_to_client of_table initial]. rewrite ZC, ZS.
    split; [exact LC | split; [exact LS | apply roles_run_initial]].
  - destruct M as [p r w1 w2 a p' E | p r w1 w2 b p' E | p r w1 w2 a r' E | p r w1 w2 b r' E];
      cbn in *;
      first [ destruct (MC _ _ _ _ E) as [B E'] | destruct (MS _ _ _ _ E) as [B E'] ];
      (split; [assumption | split; [assumption |]]);
      (eapply roles_run_step; [exact I |]).
    + apply roles_client_sends. exact E'.
    + apply roles_client_receives. exact E'.
    + apply roles_server_receives. exact E'.
    + apply roles_server_sends. exact E'.
Qed.

(* Two roles are sound if the roles are sound that have one state in place of all states which behave alike. So what the
   check says of minimised roles is true of the roles as they are written. It assumes of the classes only what the
   computation looks at: each edge of a state is an edge of its class, and the other way round. *)
Theorem quotient_sound hc hs lc ls kc ks :
  is_quotient hc lc kc = true -> is_quotient hs ls ks = true -> sound kc ks -> sound lc ls.
Proof.
  intros QC QS H p r w1 w2 R.
  destruct (quotient_run _ _ _ _ _ _ QC QS _ R) as [B1 [B2 R']]. cbn in *.
  destruct (H _ _ _ _ R') as [[U2 U1] [N [O2 O1]]]. cbn in *.
  apply quotient_facts in QC. apply quotient_facts in QS.
  destruct QC as [_ [_ [MC WC]]]. destruct QS as [_ [_ [MS WS]]].
  split; [split; cbn | split; [| split]].
  - intros b w E. destruct (U2 _ _ E) as [z Z]. destruct (WC _ _ _ _ B1 Z) as [q [Q _]]. exists q. exact Q.
  - intros a w E. destruct (U1 _ _ E) as [z Z]. destruct (WS _ _ _ _ B2 Z) as [q [Q _]]. exists q. exact Q.
  - intros K. destruct N as [W1 [W2 [S1 S2]]].
    + intros c' M. inversion M as [? ? ? ? a z Z | ? ? ? w b z Z | ? ? w ? a z Z | ? ? ? ? b z Z]; subst.
      * destruct (WC _ _ _ _ B1 Z) as [q [Q _]]. eapply K. apply roles_client_sends. exact Q.
      * destruct (WC _ _ _ _ B1 Z) as [q [Q _]]. eapply K. apply roles_client_receives. exact Q.
      * destruct (WS _ _ _ _ B2 Z) as [q [Q _]]. eapply K. apply roles_server_receives. exact Q.
      * destruct (WS _ _ _ _ B2 Z) as [q [Q _]]. eapply K. apply roles_server_sends. exact Q.
    + split; [exact W1 | split; [exact W2 | split]].
      * intros a p' E. apply MC in E. destruct E as [_ E]. exact (S1 _ _ E).
      * intros b r' E. apply MS in E. destruct E as [_ E]. exact (S2 _ _ E).
  - intros K. apply O2. intros b z Z. destruct (WC _ _ _ _ B1 Z) as [q [Q _]]. exact (K _ _ Q).
  - intros K. apply O1. intros a z Z. destruct (WS _ _ _ _ B2 Z) as [q [Q _]]. exact (K _ _ Q).
Qed.

(* ---- A role as a text has it ---- *)

(* The edges; for each state, by its number, whether the client may close there and whether the server may; which
   channel each message belongs to, where the role has several channels side by side; and for each state a mark. States
   with different marks differ, although the edges and the rights may be the same: in one of them a channel may end, which
   does not show where another channel keeps the session from closing. *)
Record role := Role { edges : table; rights : list (bool * bool); channels : list (nat * nat); marks : list nat }.

Definition right (s : list (bool * bool)) (q : nat) : bool * bool := nth q s (false, false).

Definition same_right (x y : bool * bool) : bool :=
  Bool.eqb (fst x) (fst y) && Bool.eqb (snd x) (snd y).

(* The classes of states that behave alike, by refining: states are in one class as long as they have the same rights and
   the same edges to the same classes. A class is named after its first state. *)
Definition covers (h : list nat) (l : table) (q x : nat) : bool :=
  forallb (fun e => match e with (y, d, m, q') =>
    implb (y =? q) (existsb (fun x' => class h x' =? class h q') (targets l x d m)) end) l.

Definition alike (h : list nat) (l : table) (q x : nat) : bool :=
  (class h q =? class h x) && covers h l q x && covers h l x q.

Definition first_alike (same : nat -> nat -> bool) (n q : nat) : nat :=
  match find (same q) (seq 0 n) with Some x => x | None => q end.

Definition refine (l : table) (n : nat) (h : list nat) : list nat :=
  map (first_alike (alike h l) n) (seq 0 n).

Fixpoint same_list (x y : list nat) : bool :=
  match x, y with
  | [], [] => true
  | a :: x', b :: y' => (a =? b) && same_list x' y'
  | _, _ => false
  end.

Fixpoint refine_all (fuel : nat) (l : table) (n : nat) (h : list nat) : list nat :=
  match fuel with
  | 0 => h
  | S f => let h' := refine l n h in if same_list h h' then h else refine_all f l n h'
  end.

Definition classes (c : role) : list nat :=
  let n := length (rights c) in
  refine_all n (edges c) n
    (map (first_alike (fun q x => same_right (right (rights c) q) (right (rights c) x) &&
                                  (nth q (marks c) 0 =? nth x (marks c) 0)) n) (seq 0 n)).

(* ---- The closure of two roles ---- *)

Definition loops (k : list (nat * direction * nat)) : table :=
  map (fun x => match x with (q, d, m) => (q, d, m, q) end) k.

Definition add_loop (l : table) (k : list (nat * direction * nat)) (q : nat) (d : direction) (m : nat)
  : list (nat * direction * nat) :=
  if some (targets l q d m) || some (targets (loops k) q d m) then k else (q, d, m) :: k.

(* The loops that were added to the client, and to the server. *)
Definition late : Type := list (nat * direction * nat) * list (nat * direction * nat).

(* Both roles have what one of them got. *)
Definition give (lc ls : table) (q : pair) (k : late) : late :=
  let k1 := fold_left (fun k x => match x with (p, d, m) =>
    if p =? fst q then (fst k, add_loop ls (snd k) (snd q) d m) else k end) (fst k) k in
  fold_left (fun k x => match x with (r, d, m) =>
    if r =? snd q then (add_loop lc (fst k) (fst q) d m, snd k) else k end) (snd k1) k1.

Definition is_loop (l : table) (k : list (nat * direction * nat)) (q : nat) (d : direction) (m : nat) : bool :=
  has l (q, d, m, q) || has (loops k) (q, d, m, q).

(* A message that returns to a pair of states follows each message of the other direction that leaves the pair. *)
Definition carry (lc ls : table) (k : late) (q : pair) : late :=
  let k := give lc ls q k in
  let out := filter (fun e => negb (same_pair q (target e))) (written lc ls q) in
  let own := flat_map (fun e => match e with (x, d, m, _) =>
    if (x =? fst q) && is_loop lc (fst k) (fst q) d m && is_loop ls (snd k) (snd q) d m
    then [(d, m)] else [] end) (lc ++ loops (fst k)) in
  fold_left (fun k x => match x with (d, m) =>
    fold_left (fun k e => match e with (_, d', _, (p', r')) =>
      if same_dir d d' then k
      else (add_loop lc (fst k) p' d m, add_loop ls (snd k) r' d m) end) out k end) own k.

(* What comes late belongs to a channel: where one channel takes a loop it takes it whatever the other channels do, also
   in states of the role in which the two roles meet only while messages cross. *)
Definition channel_of (c : role) (m : nat) : nat :=
  match find (fun x => fst x =? m) (channels c) with Some x => snd x | None => 0 end.

(* For each channel, which states of the role are one as far as the messages of that channel go. States of two kinds never
   are, nor are those that are not alike from the beginning. *)
Definition locals (c : role) (kinds : list nat) (alike_in : nat -> nat -> nat -> bool) (l : table)
  : list (nat * list nat) :=
  let n := length kinds in
  let first i := first_alike (fun q x => (nth q kinds 0 =? nth x kinds 0) && alike_in i q x) n in
  map (fun i => (i, refine_all n (filter (fun e => match e with (_, _, m, _) => channel_of c m =? i end) l) n
                      (map (first i) (seq 0 n))))
      (nodup Nat.eq_dec (map snd (channels c))).

(* Where something that is of no channel leads on, the channels have not started, although a channel that says nothing
   there may look like one that has ended. *)
Definition has_channels (c : role) (l : table) (q : nat) : bool :=
  forallb (fun e => match e with (x, _, m, y) => implb ((x =? q) && (channel_of c m =? 0)) (x =? y) end) l.

Definition spread (c : role) (h : list nat) (l : table) (g : list (nat * list nat)) (k : list (nat * direction * nat))
  : list (nat * direction * nat) :=
  let firsts := filter (fun q => (class h q =? q) && has_channels c l q) (seq 0 (length h)) in
  fold_left (fun k x => match x with (z, d, m) =>
    match find (fun i => fst i =? channel_of c m) g with
    | Some i => if has_channels c l z then fold_left (fun k q =>
        if class (snd i) q =? class (snd i) z then add_loop l k q d m else k) firsts k else k
    | None => k
    end end) k k.

Fixpoint close_all (f : late -> late) (n : nat) (lc ls : table) (P : list pair) (k : late) : late :=
  match n with
  | 0 => k
  | S n' => let k' := f (fold_left (carry lc ls) P k) in
            if (length (fst k') =? length (fst k)) && (length (snd k') =? length (snd k)) then k'
            else close_all f n' lc ls P k'
  end.

(* All loops of two roles, whose classes of states are these, as a whole and for each channel. *)
Definition closed (n : nat) (c s : role) (hc hs : list nat) (gc gs : list (nat * list nat)) (lc ls : table)
  (P : list pair) : late :=
  close_all (fun k => (spread c hc lc gc (fst k), spread s hs ls gs (snd k))) n lc ls P ([], []).

(* The same of two roles that open nothing. *)
Definition closed_roles (n : nat) (c s : role) (hc hs : list nat) (lc ls : table) (P : list pair) : late :=
  let of x h l := locals x (map (fun _ => 0) h) (fun _ _ _ => true) l in
  closed n c s hc hs (of c hc lc) (of s hs ls) lc ls P.

Definition received (d : direction) (k : list (nat * direction * nat)) : list (nat * direction * nat) :=
  filter (fun x => match x with (_, d', _) => same_dir d d' end) k.

(* What comes late for a class comes late for each of its states. *)
Definition lifted (h : list nat) (k : list (nat * direction * nat)) : list (nat * direction * nat) :=
  flat_map (fun q => flat_map (fun x => match x with (z, d, m) =>
    if class h q =? z then [(q, d, m)] else [] end) k) (seq 0 (length h)).

(* ---- The verdict ---- *)

(* A role closes only where the other says that it may. *)
Definition rights_fit (sc ss : list (bool * bool)) (q : pair) : bool :=
  let c := right sc (fst q) in let s := right ss (snd q) in
  implb (fst c) (fst s) && implb (snd s) (snd c).

Definition rights_same (sc ss : list (bool * bool)) (q : pair) : bool :=
  same_right (right sc (fst q)) (right ss (snd q)).

(* The server waits for the client, can do nothing that moves it, and neither may close; and the client is silent. *)
Definition silent (lc ls : table) (sc ss : list (bool * bool)) (q : pair) : bool :=
  existsb (fun e => match e with (x, d, _, _) => (x =? snd q) && same_dir Send d end) ls &&
  negb (existsb (fun e => match e with (x, d, _, _) => (x =? fst q) && same_dir Send d end) lc) &&
  negb (existsb (fun e => match e with (x, d, _, y) =>
    (x =? snd q) && same_dir Receive d && negb (x =? y) end) ls) &&
  negb (fst (right sc (fst q)) || snd (right ss (snd q))).

Inductive verdict := Accepted | Unrelated | Races | Unknown.

Definition relates (dual : bool) (lc ls : table) (sc ss : list (bool * bool)) (q : pair) : bool :=
  if dual then same_at lc ls q && rights_same sc ss q
  else accepts_at lc ls q && rights_fit sc ss q && negb (silent lc ls sc ss q).

(* The verdict; the loops that each role gets, for its own states; and of dual roles, what the exact check of one automaton
   says of the closed one. *)
Definition judge (n : nat) (dual : bool) (c s : role) : verdict * late * option bool :=
  let hc := classes c in let hs := classes s in
  let lc := quotient hc (edges c) in let ls := quotient hs (edges s) in
  let g := explored (meet_rule lc ls) n in
  if is_closed (meet_rule lc ls) g then
    if forallb (relates dual lc ls (rights c) (rights s)) (fst g) then
      let k := closed_roles n c s hc hs lc ls (fst g) in
      let kc := received Receive (fst k) in let ks := received Send (snd k) in
      let xc := lc ++ loops kc in let xs := ls ++ loops ks in
      let uc := lifted hc kc in let us := lifted hs ks in
      let one := if dual then check (lc ++ loops (fst k)) else None in
      if is_quotient hc (edges c ++ loops uc) xc && is_quotient hs (edges s ++ loops us) xs then
        match check_pair n xc xs with
        | Some true =>
            if forallb (fun q => rights_fit (rights c) (rights s) q &&
                                 negb (silent lc ls (rights c) (rights s) q))
                 (filter (fun q => negb (has_pair (fst g) q)) (fst (explored (completion_rule xc xs) n)))
            then (Accepted, (uc, us), one) else (Races, (uc, us), one)
        | Some false => (Races, (uc, us), one)
        | None => (Unknown, (uc, us), one)
        end
      else (Unknown, (uc, us), one)
    else (Unrelated, ([], []), None)
  else (Unknown, ([], []), None).

(* Roles that are accepted are sound, with the loops that the verdict names added to them: the client receives along its
   loops and the server along its own, and neither sends along one. It assumes nothing of how the classes and the loops
   were found: what the theorems need of them is part of the computation. *)
Theorem judge_sound n dual c s uc us one : judge n dual c s = (Accepted, (uc, us), one) ->
  sound (edges c ++ loops uc) (edges s ++ loops us) /\
  (forall q d m, In (q, d, m) uc -> d = Receive) /\ (forall q d m, In (q, d, m) us -> d = Send).
Proof.
  unfold judge.
  set (hc := classes c). set (hs := classes s).
  set (lc := quotient hc (edges c)). set (ls := quotient hs (edges s)).
  destruct (is_closed _ _); [| discriminate]. destruct (forallb _ _); [| discriminate].
  set (k := closed_roles n c s hc hs lc ls _).
  set (kc := received Receive (fst k)). set (ks := received Send (snd k)).
  destruct (is_quotient hc _ _ && is_quotient hs _ _) eqn:Q; [| discriminate].
  destruct (check_pair n _ _) as [[|] |] eqn:K; [| discriminate | discriminate].
  destruct (forallb _ _); [| discriminate]. intros H. inversion H; subst; clear H.
  apply andb_prop in Q. destruct Q as [QC QS]. split; [| split].
  - exact (quotient_sound _ _ _ _ _ _ QC QS (check_pair_sound _ _ _ K)).
  - intros q d m I. unfold lifted in I. apply in_flat_map in I. destruct I as [x [_ I]].
    apply in_flat_map in I. destruct I as [[[z d'] m'] [I J]].
    destruct (class hc x =? z); [| contradiction]. destruct J as [J | []]. inversion J; subst.
    unfold kc, received in I. apply filter_In in I. destruct I as [_ I]. apply same_dir_spec in I. auto.
  - intros q d m I. unfold lifted in I. apply in_flat_map in I. destruct I as [x [_ I]].
    apply in_flat_map in I. destruct I as [[[z d'] m'] [I J]].
    destruct (class hs x =? z); [| contradiction]. destruct J as [J | []]. inversion J; subst.
    unfold ks, received in I. apply filter_In in I. destruct I as [_ I]. apply same_dir_spec in I. auto.
Qed.

(* ---- The exploration, as a verdict ---- *)

Definition expected (lc ls : table) (c : world) : bool :=
  match roles_to_client c with [] => true | b :: _ => can lc (role_client c) Receive b end &&
  match roles_to_server c with [] => true | a :: _ => can ls (role_server c) Send a end.

Inductive exploration := FoundSafe | FoundUnsafe | FoundNeither.

Definition explore_roles (n : nat) (lc ls : table) : exploration :=
  let l := explore lc ls n [] [start] in
  if negb (forallb (expected lc ls) l) then FoundUnsafe
  else if closed_set lc ls l && forallb (good lc ls) l then FoundSafe else FoundNeither.

Lemma explore_runs lc ls n : forall seen todo,
  (forall c, In c seen -> roles_run (of_table lc) (of_table ls) c) ->
  (forall c, In c todo -> roles_run (of_table lc) (of_table ls) c) ->
  forall c, In c (explore lc ls n seen todo) -> roles_run (of_table lc) (of_table ls) c.
Proof.
  induction n as [| n IH]; cbn; intros seen todo S T; [exact S |].
  destruct todo as [| c rest]; [exact S |].
  destruct (in_dec world_eq_dec c seen).
  - apply IH; [exact S | intros x X; apply T; right; exact X].
  - apply IH.
    + intros x [<- | X]; [apply T; left; reflexivity | apply S; exact X].
    + intros x X. apply in_app_or in X. destruct X as [X | X]; [apply T; right; exact X |].
      apply successors_spec in X. eapply roles_run_step; [apply T; left; reflexivity | exact X].
Qed.

Lemma can_complete l q d m q' : edge (of_table l) q d m q' -> can l q d m = true.
Proof.
  intros E. unfold can. apply existsb_exists. exists (q, d, m, q'). split; [exact E |].
  rewrite !Nat.eqb_refl. destruct d; reflexivity.
Qed.

(* An exploration of two roles that finds an unexpected message is right, and so is one that has seen all and found
   none. It assumes nothing. *)
Theorem explore_exact n lc ls :
  (explore_roles n lc ls = FoundUnsafe -> unsafe lc ls) /\
  (explore_roles n lc ls = FoundSafe -> roles_safe lc ls).
Proof.
  unfold explore_roles. set (l := explore lc ls n [] [start]). split.
  - destruct (forallb (expected lc ls) l) eqn:E; cbn.
    { destruct (_ && _); discriminate. }
    intros _. assert (exists c, In c l /\ expected lc ls c = false) as [c [I X]].
    { clear - E. induction l as [| c l IH]; cbn in E; [discriminate |].
      destruct (expected lc ls c) eqn:X; cbn in E.
      - destruct (IH E) as [y [Y Z]]. exists y. split; [right; exact Y | exact Z].
      - exists c. split; [left; reflexivity | exact X]. }
    exists c. split.
    + apply (explore_runs lc ls n [] [start]); [intros y [] | | exact I].
      intros y [<- | []]. apply roles_run_initial.
    + intros [U2 U1]. unfold expected in X.
      destruct (roles_to_client c) as [| b w2], (roles_to_server c) as [| a w1]; cbn in X.
      * discriminate.
      * destruct (U1 _ _ eq_refl) as [q Q]. apply can_complete in Q. congruence.
      * destruct (U2 _ _ eq_refl) as [q Q]. apply can_complete in Q. rewrite Q in X. discriminate.
      * destruct (U1 _ _ eq_refl) as [q Q]. apply can_complete in Q.
        destruct (U2 _ _ eq_refl) as [z Z]. apply can_complete in Z. rewrite Q, Z in X. discriminate.
  - destruct (forallb (expected lc ls) l); cbn; [| discriminate].
    destruct (closed_set lc ls l && forallb (good lc ls) l) eqn:E; [| discriminate].
    intros _. apply (explore_safe lc ls n). exact E.
Qed.

(* ---- Dual roles with cancels ---- *)

(* The pairs of messages that settle one exchange: the first is the client's, the second the server's. *)
Definition settling (x : list pair) (a b : nat) : bool := has_pair x (a, b).

Definition check_but_settled (x : list pair) (l : table) (s : list nat) : bool :=
  forallb (fun e => match e with (q, d, a, q1) =>
    implb (existsb (Nat.eqb q) s && same_dir Send d)
      (forallb (fun e' => match e' with (p, d', b, q2) =>
         implb ((p =? q) && same_dir Receive d')
           (if settling x a b then q1 =? q2
            else existsb (fun z => existsb (Nat.eqb z) (targets l q2 Send a)) (targets l q1 Receive b)) end) l) end) l.

Definition check_settled (x : list pair) (l : table) : option bool :=
  let s := states l in
  if closed_states l s then Some (check_det l s && check_but_settled x l s) else None.

(* If the check of an automaton with cancels has an answer, the answer is yes exactly if the automaton is deterministic and
   of two messages that cross, those of one exchange lead to one state and others have the diamond. These are hypotheses
   of `settled_safety`; that an exchange is settled once is not seen in a table without ids. It assumes nothing. *)
Theorem check_settled_exact x l b : check_settled x l = Some b ->
  (b = true <-> deterministic (of_table l) /\ diamond_but_settled (of_table l) (settling x)).
Proof.
  unfold check_settled. intros H.
  destruct (closed_states l (states l)) eqn:E; [| discriminate].
  inversion H; subst; clear H.
  assert (forall q, In q (states l) <-> reachable (of_table l) q) as Hs.
  { intros q. split; [apply states_reachable | apply closed_states_reachable; exact E]. }
  rewrite andb_true_iff, (check_det_spec _ _ Hs).
  assert (check_but_settled x l (states l) = true <-> diamond_but_settled (of_table l) (settling x)) as D; [| tauto].
  unfold check_but_settled. rewrite forallb_forall. split.
  - intros H q a b q1 q2 R E1 E2. specialize (H _ E1). cbn in H.
    apply Hs in R. apply existsb_eqb in R. rewrite R in H. cbn in H.
    rewrite forallb_forall in H. specialize (H _ E2). cbn in H.
    rewrite Nat.eqb_refl in H. cbn in H. destruct (settling x a b).
    + apply Nat.eqb_eq. exact H.
    + apply existsb_exists in H. destruct H as [z [Z1 Z2]]. apply existsb_eqb in Z2.
      exists z. split; apply targets_spec; assumption.
  - intros H [[[q d] a] q1] I1.
    destruct (existsb (Nat.eqb q) (states l)) eqn:Q; [| reflexivity].
    apply existsb_eqb in Q. apply Hs in Q.
    destruct d; [| reflexivity]. cbn.
    apply forallb_forall. intros [[[p d'] b] q2] I2.
    destruct (Nat.eqb_spec p q); [subst | reflexivity].
    destruct d'; [reflexivity |]. cbn.
    pose proof (H q a b q1 q2 Q I1 I2) as D. destruct (settling x a b).
    + apply Nat.eqb_eq. exact D.
    + destruct D as [z [Z1 Z2]]. apply existsb_exists. exists z. split; [apply targets_spec; exact Z1 |].
      apply existsb_eqb. apply targets_spec. exact Z2.
Qed.
