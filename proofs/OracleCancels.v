(* The verdict on two roles with cancels, and what a yes of it means; and the program for roles that open no
   sub-sessions. *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Diamond Require Import Automaton Compatible Examples Mediator Check Cancels Settled Oracle.

(* ---- What lies between the roles ---- *)

(* As the completion, but a cancel and the replies to its own request leave no edges to each other's targets. *)
Definition settled_rule (x : list pair) (lc ls : table) (E : list pair_edge) (q : pair) : list pair_edge :=
  written lc ls q ++
  flat_map (fun e => flat_map (fun f => match e, f with (_, _, a, _), (_, _, b, _) =>
    if settling x a b then [] else square lc ls e f end) (filter (source_is q Receive) E))
    (filter (source_is q Send) E).

Definition between (g : graph) : automaton pair nat := Aut (0, 0) (fun q d m q' => In (q, d, m, q') (snd g)).

(* What a role sends, the automaton between the roles has. *)
Definition sends_between (d : direction) (own : pair -> nat) (l : table) (g : graph) (q : pair) : bool :=
  forallb (fun e => match e with (p, d', m, p') =>
    implb ((p =? own q) && same_dir d d')
      (existsb (fun f => match f with (x, e', n, x') =>
         same_pair x q && same_dir d e' && (n =? m) && (own x' =? p') end) (snd g)) end) l.

(* What it has for a role to receive, the role receives. *)
Definition receives_between (d : direction) (own : pair -> nat) (l : table) (e : pair_edge) : bool :=
  match e with (q, d', m, q') => implb (same_dir d d') (has l (own q, d, m, own q')) end.

Definition crosses_between (x : list pair) (g : graph) (e f : pair_edge) : bool :=
  match e, f with (q, _, a, q1), (_, _, b, q2) =>
    if settling x a b then same_pair q1 q2
    else existsb (fun h => match h with (y, d, m, z) =>
           same_pair y q1 && same_dir Receive d && (m =? b) && has_edge (snd g) (q2, Send, a, z) end) (snd g) end.

Definition check_between (x : list pair) (lc ls : table) (g : graph) : bool :=
  has_pair (fst g) (0, 0) && forallb (fun e => has_pair (fst g) (target e)) (snd g) &&
  is_functional lc && is_functional ls && check_targets (snd g) &&
  forallb (sends_between Send fst lc g) (fst g) && forallb (sends_between Receive snd ls g) (fst g) &&
  forallb (receives_between Receive fst lc) (snd g) && forallb (receives_between Send snd ls) (snd g) &&
  forallb (fun q =>
    forallb (fun e => forallb (crosses_between x g e) (filter (source_is q Receive) (snd g)))
      (filter (source_is q Send) (snd g))) (fst g).

Lemma sends_between_spec d own l g q m p' : sends_between d own l g q = true ->
  edge (of_table l) (own q) d m p' -> exists q', edge (between g) q d m q' /\ own q' = p'.
Proof.
  unfold sends_between. rewrite forallb_forall. intros H E. specialize (H _ E). cbn in H.
  rewrite Nat.eqb_refl in H. assert (same_dir d d = true) as D by (apply same_dir_spec; reflexivity).
  rewrite D in H. cbn in H. apply existsb_exists in H. destruct H as [[[[x e] n] x'] [I H]].
  rewrite !andb_true_iff, same_pair_spec, same_dir_spec, !Nat.eqb_eq in H. destruct H as [[[-> <-] ->] <-].
  exists x'. split; [exact I | reflexivity].
Qed.

Lemma receives_between_spec d own l q m q' : receives_between d own l (q, d, m, q') = true ->
  edge (of_table l) (own q) d m (own q').
Proof.
  unfold receives_between. assert (same_dir d d = true) as -> by (apply same_dir_spec; reflexivity).
  cbn [implb]. apply has_spec.
Qed.

(* What is true of the graph if the check says yes: it lies between the minimal roles as `settled_mediated_safety`
   asks, and so it lies between the roles as they are written. It assumes of the classes what the computation looks at.
   *)
Lemma check_between_sound x hc hs lc ls kc ks g :
  is_quotient hc lc kc = true -> is_quotient hs ls ks = true -> check_between x kc ks g = true ->
  deterministic (between g) /\ diamond_but_settled (between g) (settling x) /\
  client_refines (of_table lc) (between g) (fun p z => p < length hc /\ class hc p = fst z) /\
  server_refines (of_table ls) (between g) (fun r z => r < length hs /\ class hs r = snd z).
Proof.
  intros QC QS H. apply quotient_facts in QC. apply quotient_facts in QS.
  destruct QC as [LC [ZC [MC WC]]]. destruct QS as [LS [ZS [MS WS]]].
  unfold check_between in H. rewrite !andb_true_iff in H.
  destruct H as [[[[[[[[[P0 PT] FC] FS] T] SC] SS] RC] RS] X].
  rewrite forallb_forall in PT, SC, SS, RC, RS, X.
  apply is_functional_spec in FC. apply is_functional_spec in FS.
  assert (forall q, reachable (between g) q -> In q (fst g)) as In_.
  { intros q R. induction R as [| q d m q' R I E]; [apply has_pair_spec; exact P0 |].
    specialize (PT _ E). apply has_pair_spec in PT. exact PT. }
  split; [| split; [| split; split]].
  - intros q d m q1 q2 _ E1 E2. unfold check_targets in T. rewrite forallb_forall in T. specialize (T _ E1). cbn in T.
    rewrite forallb_forall in T. specialize (T _ E2). cbn in T.
    assert (same_pair q q = true) as Y by (apply same_pair_spec; reflexivity).
    rewrite Nat.eqb_refl, Y in T. apply same_pair_spec. destruct d; exact T.
  - intros q a b q1 q2 R E1 E2. specialize (X _ (In_ _ R)). rewrite forallb_forall in X.
    specialize (X (q, Send, a, q1)). rewrite forallb_forall in X.
    assert (crosses_between x g (q, Send, a, q1) (q, Receive, b, q2) = true) as Y.
    { apply X; apply filter_In; (split; [assumption |]); apply source_is_spec; eauto. }
    unfold crosses_between in Y. destruct (settling x a b); [apply same_pair_spec; exact Y |].
    apply existsb_exists in Y. destruct Y as [[[[y d] m] z] [I Y]].
    rewrite !andb_true_iff, same_pair_spec, same_dir_spec, Nat.eqb_eq, has_edge_spec in Y.
    destruct Y as [[[-> <-] ->] J]. exists z. split; [exact I | exact J].
  - split; [exact LC | exact ZC].
  - intros p z R [L E]. split.
    + intros a p' Ea. destruct (MC _ _ _ _ Ea) as [L' Ea']. rewrite E in Ea'.
      destruct (sends_between_spec _ _ _ _ _ _ _ (SC _ (In_ _ R)) Ea') as [z' [Ez Y]].
      exists z'. split; [exact Ez | split; [exact L' | symmetry; exact Y]].
    + intros b z' Ez. pose proof (receives_between_spec _ _ _ _ _ _ (RC _ Ez)) as Eb. rewrite <- E in Eb. split.
      * destruct (WC _ _ _ _ L Eb) as [p' [Ep _]]. exists p'. exact Ep.
      * intros p' Ep. destruct (MC _ _ _ _ Ep) as [L' Ep']. split; [exact L' | exact (FC _ _ _ _ _ Ep' Eb)].
  - split; [exact LS | exact ZS].
  - intros r z R [L E]. split.
    + intros b r' Eb. destruct (MS _ _ _ _ Eb) as [L' Eb']. rewrite E in Eb'.
      destruct (sends_between_spec _ _ _ _ _ _ _ (SS _ (In_ _ R)) Eb') as [z' [Ez Y]].
      exists z'. split; [exact Ez | split; [exact L' | symmetry; exact Y]].
    + intros a z' Ez. pose proof (receives_between_spec _ _ _ _ _ _ (RS _ Ez)) as Ea. rewrite <- E in Ea. split.
      * destruct (WS _ _ _ _ L Ea) as [r' [Er _]]. exists r'. exact Er.
      * intros r' Er. destruct (MS _ _ _ _ Er) as [L' Er']. split; [exact L' | exact (FS _ _ _ _ _ Er' Ea)].
Qed.

(* ---- The verdict ---- *)

(* The verdict; the loops that each role gets; the graph that lies between the roles; and of dual roles, what the check
   of one automaton says of the closed one. *)
Definition judge_settled (n : nat) (dual : bool) (x : list pair) (c s : role)
  : verdict * late * graph * option bool :=
  let hc := classes c in let hs := classes s in
  let lc := quotient hc (edges c) in let ls := quotient hs (edges s) in
  let g := explored (meet_rule lc ls) n in
  if is_closed (meet_rule lc ls) g then
    if forallb (relates dual lc ls (rights c) (rights s)) (fst g) then
      let k := closed_roles n c s hc hs lc ls (fst g) in
      let kc := received Receive (fst k) in let ks := received Send (snd k) in
      let xc := lc ++ loops kc in let xs := ls ++ loops ks in
      let uc := lifted hc kc in let us := lifted hs ks in
      let one := if dual then check_settled x (lc ++ loops (fst k)) else None in
      let b := explored (settled_rule x xc xs) n in
      if is_quotient hc (edges c ++ loops uc) xc && is_quotient hs (edges s ++ loops us) xs &&
         is_closed (settled_rule x xc xs) b then
        if check_between x xc xs b &&
           forallb (fun q => has_pair (fst g) q ||
                             rights_fit (rights c) (rights s) q && negb (silent lc ls (rights c) (rights s) q)) (fst b)
        then (Accepted, (uc, us), b, one) else (Races, (uc, us), b, one)
      else (Unknown, (uc, us), b, one)
    else (Unrelated, ([], []), ([], []), None)
  else (Unknown, ([], []), ([], []), None).

(* Roles with cancels that are accepted are safe, with the loops that the verdict names: a message that comes is
   expected, or its exchange is settled and it is dropped; and roles that are stuck have nothing in flight and nothing
   to send. It assumes that an exchange is settled once, which cannot be seen in tables without ids. *)
Theorem judge_settled_sound n dual x c s uc us b one :
  judge_settled n dual x c s = (Accepted, (uc, us), b, one) -> settled_once (between b) (settling x) ->
  forall p r w1 w2 s1 s2,
    roles_exchange_run (of_table (edges c ++ loops uc)) (of_table (edges s ++ loops us)) (settling x)
      (RolesExchange p r w1 w2 s1 s2) ->
    (forall m w, w2 = m :: w -> settled_by_client (settling x) s1 m = true \/
       exists p', edge (of_table (edges c ++ loops uc)) p Receive m p') /\
    (forall m w, w1 = m :: w -> settled_by_server (settling x) s2 m = true \/
       exists r', edge (of_table (edges s ++ loops us)) r Send m r') /\
    ((forall y, ~ roles_exchange_step (of_table (edges c ++ loops uc)) (of_table (edges s ++ loops us)) (settling x)
                    (RolesExchange p r w1 w2 s1 s2) y) ->
       w1 = [] /\ w2 = [] /\
       (forall m p', ~ edge (of_table (edges c ++ loops uc)) p Send m p') /\
       (forall m r', ~ edge (of_table (edges s ++ loops us)) r Receive m r')).
Proof.
  unfold judge_settled.
  set (hc := classes c). set (hs := classes s).
  set (lc := quotient hc (edges c)). set (ls := quotient hs (edges s)).
  destruct (is_closed _ _); [| discriminate]. destruct (forallb _ _); [| discriminate].
  set (k := closed_roles n c s hc hs lc ls _).
  set (kc := received Receive (fst k)). set (ks := received Send (snd k)).
  set (g := explored (settled_rule x _ _) n).
  destruct (is_quotient hc _ _ && is_quotient hs _ _ && is_closed _ _) eqn:Q; [| discriminate].
  destruct (check_between x _ _ g && forallb _ _) eqn:K; [| discriminate].
  intros H Once p r w1 w2 s1 s2 R. inversion H; subst; clear H.
  apply andb_prop in Q. destruct Q as [Q _]. apply andb_prop in Q. destruct Q as [QC QS].
  apply andb_prop in K. destruct K as [K _].
  destruct (check_between_sound _ _ _ _ _ _ _ _ QC QS K) as [Det [Dia [FC FS]]].
  destruct (settled_mediated_safety _ _ _ _ _ _ Det Dia Once FC FS _ _ _ _ _ _ R) as [A [B [_ D]]]. auto.
Qed.

(* ---- The program ---- *)

(* What is said of two roles: the verdict; of dual roles, what the exact check of one automaton says of the closed one;
   and what an exploration of both finds. *)
Definition report (n worlds : nat) (dual : bool) (x : list pair) (c s : role)
  : verdict * option bool * exploration :=
  if some x then match judge_settled n dual x c s with (v, _, _, one) => (v, one, FoundNeither) end
  else match judge n dual c s with (v, k, one) =>
    (v, one, explore_roles worlds (edges c ++ loops (fst k)) (edges s ++ loops (snd k))) end.
