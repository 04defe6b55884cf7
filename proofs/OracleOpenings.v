(* The verdict on two roles that open sub-sessions, and what a yes of it means. Both roles are followed into one
   sub-session at a time (see Openings.v). *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Diamond Require Import Automaton Compatible Examples Check Cancels Settled Oracle OracleCancels Openings
  OpeningsCancels OpeningsWithin.

(* ---- A role as a text has it ---- *)

(* Which channel, or which group of channels, each message belongs to, where there are several: the messages of the
   session, those that open sub-sessions, and those of sub-sessions. *)
Record parts := Parts { parts_of_session : list (nat * nat); parts_of_openings : list (nat * nat);
                        parts_of_bodies : list (nat * nat) }.

(* The tables; for each state, by its number, whether the client may close there and whether the server may; the
   channels; the states of sub-sessions in which several channels run; and the marks. States of sub-sessions have numbers
   of their own, and no rights. *)
Record opening_role := OpeningRole { tables : opener; closing : list (bool * bool); channels_of : parts;
                                     side_by_side : list nat; marks_of : list nat }.

(* One automaton of all, to find out which states behave alike. A state of the session is never a state of a
   sub-session. *)
Definition joined (c : opening_role) : role :=
  let x := tables c in
  Role
    (map (fun e => match e with (q, d, m, q') => (q, d, says m, q') end) (steps x) ++
     map (fun e => match e with (q, d, m, z) => (q, d, opens_other m, z) end) (openings x) ++
     map (fun e => match e with (z, d, m, z') => (z, d, says_within m, z') end) (bodies x) ++
     map (fun z => (z, Send, opens_this 0, z)) (body_states x))
    (closing c) [] (marks_of c).

Definition minimal (h : list nat) (x : opener) : opener :=
  Opener (quotient h (steps x)) (quotient h (openings x)) (quotient h (bodies x)).

(* ---- Where the roles meet ---- *)

(* The same message opens a sub-session in both roles: what opens it, and where it is then in each of them. *)
Definition opened_at (c s : opener) (q : pair) : list (direction * nat * pair) :=
  flat_map (fun e => match e with (x, d, m, z) =>
    if x =? fst q then map (fun z' => (d, m, (z, z'))) (targets (openings s) (snd q) d m) else [] end) (openings c).

Definition same_opening (x y : direction * nat * pair) : bool :=
  match x, y with (d, m, q), (d', m', q') => same_dir d d' && (m =? m') && same_pair q q' end.

Fixpoint once {X} (same : X -> X -> bool) (l : list X) : list X :=
  match l with [] => [] | x :: l' => if existsb (same x) l' then once same l' else x :: once same l' end.

(* A table, and pairs, in which a state and the initial one have changed places. *)
Definition swapped (z q : nat) : nat := if q =? z then 0 else if q =? 0 then z else q.

Definition from (z : nat) (l : table) : table :=
  map (fun e => match e with (q, d, m, q') => (swapped z q, d, m, swapped z q') end) l.

Definition swapped_pair (z q : pair) : pair := (swapped (fst z) (fst q), swapped (snd z) (snd q)).

(* The pairs in which the roles meet in a sub-session; nothing if there are too many. *)
Definition meetings_from (n : nat) (lc ls : table) (z : pair) : option (list pair) :=
  let rule := meet_rule (from (fst z) lc) (from (snd z) ls) in
  let g := explored rule n in
  if is_closed rule g then Some (map (swapped_pair z) (fst g)) else None.

Fixpoint all_meetings (n : nat) (lc ls : table) (zs : list pair) : option (list pair) :=
  match zs with
  | [] => Some []
  | z :: zs' => match meetings_from n lc ls z, all_meetings n lc ls zs' with
                | Some x, Some y => Some (x ++ y)
                | _, _ => None
                end
  end.

(* What opens sub-sessions where the roles meet, in the session or in sub-sessions; and the pairs in which they meet in
   sub-sessions, and in those within these. *)
Definition openings_met (c s : opener) (P : list pair) : list (direction * nat * pair) :=
  once same_opening (flat_map (opened_at c s) P).

Definition meetings_within (n : nat) (c s : opener) (P : list pair) : option (list pair) :=
  let below P := all_meetings n (bodies c) (bodies s) (once same_pair (map snd (openings_met c s P))) in
  match below P with
  | None => None
  | Some inner => match below inner with Some deeper => Some (once same_pair (inner ++ deeper)) | None => None end
  end.

(* ---- Where the roles fit ---- *)

(* A sub-session that is over for the server, and not for the client. *)
Definition left_over (lc ls : table) (q : pair) : bool :=
  negb (existsb (fun e => match e with (x, _, _, _) => x =? snd q end) ls) &&
  existsb (fun e => match e with (x, _, _, _) => x =? fst q end) lc.

(* What is said in one group of channels. *)
Definition of_group (x : list (nat * nat)) (i : nat) (l : table) : table :=
  filter (fun e => match e with (_, _, m, _) => existsb (same_pair (m, i)) x end) l.

Definition groups_of (x : list (nat * nat)) : list nat := nodup Nat.eq_dec (map snd x).

(* Whether the client is silent in a group that both roles have, or, where one of them has left out a group, as a
   whole. *)
Definition silent_in_session (x : list (nat * nat)) (lc ls : table) (sc ss : list (bool * bool)) (q : pair) : bool :=
  let both i := some (of_group x i lc) && some (of_group x i ls) in
  existsb (fun i => both i && silent (of_group x i lc) (of_group x i ls) sc ss q) (groups_of x) ||
  (negb (forallb both (groups_of x)) && silent lc ls sc ss q).

Definition fits_in_session (x : parts) (sc ss : list (bool * bool)) (c s : opener) (q : pair) : bool :=
  rights_fit sc ss q &&
  negb (silent_in_session (parts_of_session x) (steps c) (steps s) sc ss q).

Definition has_edge_at (l : table) (q : nat) : bool := existsb (fun e => match e with (x, _, _, _) => x =? q end) l.

(* A sub-session is over, or goes on with `*` alone: it has no channel that could end. *)
Definition is_end (x : opener) (q : nat) : bool := negb (has_edge_at (bodies x ++ openings x) q).
Definition goes_on (x : opener) (q : nat) : bool := negb (has_edge_at (bodies x) q) && has_edge_at (openings x) q.

(* In a sub-session neither role leaves out a group; and what is over for the server does not go on for the client. *)
Definition fits_in_body (x : parts) (c s : opener) (q : pair) : bool :=
  forallb (fun i => let lc := of_group (parts_of_bodies x) i (bodies c) in
                    let ls := of_group (parts_of_bodies x) i (bodies s) in
                    negb (silent lc ls [] [] q) && (goes_on s (snd q) || negb (left_over lc ls q)))
    (groups_of (parts_of_bodies x)) &&
  negb (is_end s (snd q) && goes_on c (fst q)).

Definition session_relates (dual : bool) (x : parts) (c s : opener) (sc ss : list (bool * bool)) (q : pair) : bool :=
  if dual then same_at (steps c) (steps s) q && rights_same sc ss q && same_at (openings c) (openings s) q
  else accepts_at (steps c) (steps s) q && fits_in_session x sc ss c s q && accepts_at (openings c) (openings s) q.

Definition body_relates (dual : bool) (x : parts) (c s : opener) (q : pair) : bool :=
  if dual then same_at (bodies c) (bodies s) q && same_at (openings c) (openings s) q
  else accepts_at (bodies c) (bodies s) q && fits_in_body x c s q && accepts_at (openings c) (openings s) q.

(* ---- What comes late ---- *)

(* In one table: steps, and for each opening that the roles share a message that changes nothing. *)
Definition numbered {X} (l : list X) : list (nat * X) := combine (seq 0 (length l)) l.

Definition with_openings (which : pair -> nat) (o : list (direction * nat * pair)) (x : opener) : table :=
  map (fun e => match e with (q, d, m, q') => (q, d, says m, q') end) (steps x) ++
  flat_map (fun e => match e with (q, d, m, z) =>
    flat_map (fun y => match y with (i, (d', m', zs)) =>
      if same_dir d d' && (m =? m') && (z =? which zs) then [(q, d, opens_other i, q)] else [] end) (numbered o) end)
    (openings x) ++
  map (fun e => match e with (z, d, m, z') => (z, d, says_within m, z') end) (bodies x).

(* The channels of the messages of that table. *)
Definition with_channels (o : list (direction * nat * pair)) (c : opening_role) : role :=
  let x := channels_of c in
  Role [] [] (map (fun y => (says (fst y), snd y)) (parts_of_session x) ++
              flat_map (fun y => match y with (i, (_, m, _)) =>
                match find (fun z => fst z =? m) (parts_of_openings x) with
                | Some z => [(opens_other i, snd z)]
                | None => []
                end end) (numbered o) ++
              map (fun y => (says_within (fst y), snd y)) (parts_of_bodies x)) [].

(* The states of the session, and those of sub-sessions. *)
Definition kinds (h : list nat) (x : opener) : list nat :=
  map (fun q => if existsb (Nat.eqb q) (body_states x) then 1 else 0) (seq 0 (length h)).

(* Whether what one channel opens is the same in two states, also what only one of the roles would open. *)
Definition opens_alike (x : list (nat * nat)) (o : table) (i q z : nat) : bool :=
  let all_of q z := forallb (fun e => match e with (y, d, m, b) =>
    implb ((y =? q) && existsb (same_pair (m, i)) x) (has o (z, d, m, b)) end) o in
  all_of q z && all_of z q.

Definition locals_of (o : list (direction * nat * pair)) (c : opening_role) (h : list nat) (x : opener) (l : table)
  : list (nat * list nat) :=
  locals (with_channels o c) (kinds h x) (opens_alike (parts_of_openings (channels_of c)) (openings x)) l.

(* What a sub-session that is over swallows: what crosses the message that ends it, if it ends in either order: by the same
   message, which its sender may not have any more after the other one, or because the other one ends it as well. That is
   asked of sub-sessions whose channels are one group. It belongs to the sub-session and to none of its channels: one that
   has ended while others go on swallows nothing. *)
Definition ends_by (c s : opener) (q : pair) (d : direction) (m : nat) : bool :=
  let of_client := targets (bodies c) (fst q) d m in
  let of_server := targets (bodies s) (snd q) d m in
  some (match d with Send => of_server | Receive => of_client end) &&
  forallb (is_end c) of_client && forallb (is_end s) of_server.

Definition swallowed (c s : opener) (edges : list pair_edge) (q : pair) : list (pair * direction * nat) :=
  let both_end q := is_end c (fst q) && is_end s (snd q) in
  let next := filter (fun e => match e with (x, _, _, _) => same_pair q x end) edges in
  flat_map (fun e => flat_map (fun f => match e, f with (_, d, a, q1), (_, d', b, q2) =>
    if both_end q1 && negb (same_dir d d') && (both_end q2 || ends_by c s q2 d a)
    then [(q1, d', b)] else [] end) next) next.

Definition same_late (x y : pair * direction * nat) : bool :=
  match x, y with (q, d, m), (q', d', m') => same_pair q q' && same_dir d d' && (m =? m') end.

(* In one sub-session, also what crosses in pairs that only crossing messages lead to; of that there may be more with what
   is swallowed already. *)
Fixpoint swallowed_from (rounds n : nat) (c s : opener) (z : pair) (k : list (pair * direction * nat))
  : list (pair * direction * nat) :=
  match rounds with
  | 0 => k
  | S rounds' =>
      let loops by_ of := flat_map (fun x => match x with (q, d, m) =>
        if same_dir by_ d then [(of q, d, m, of q)] else [] end) k in
      let lc := from (fst z) (bodies c ++ loops Receive fst) in
      let ls := from (snd z) (bodies s ++ loops Send snd) in
      let g := explored (completion_rule lc ls) n in
      let edges := map (fun e => match e with (q, d, m, q') => (swapped_pair z q, d, m, swapped_pair z q') end) (snd g) in
      let k' := once same_late (k ++ flat_map (fun q => swallowed c s edges (swapped_pair z q)) (fst g)) in
      if length k' =? length k then k else swallowed_from rounds' n c s z k'
  end.

(* Whether a role opens sub-sessions within sub-sessions. *)
Definition has_inner (x : opener) : bool :=
  existsb (fun e => match e with (q, _, _, _) => existsb (Nat.eqb q) (body_states x) end) (openings x).

Definition nests (c s : opener) : bool := has_inner c || has_inner s.

(* Where sub-sessions are opened, also those within sub-sessions and those that only crossing messages lead to. *)
Definition anywhere_within (n : nat) (c s : opener) (z : pair) : list pair :=
  map (swapped_pair z) (fst (explored (completion_rule (from (fst z) (bodies c)) (from (snd z) (bodies s))) n)).

Definition opened_anywhere (n : nat) (c s : opener) : list pair :=
  let in_session := fst (explored (completion_rule (steps c) (steps s)) n) in
  let opened P := once same_pair (map snd (openings_met c s P)) in
  let outer := opened in_session in
  if nests c s then once same_pair (outer ++ opened (flat_map (anywhere_within n c s) outer)) else outer.

(* What is said where several channels run belongs to one group. `sc` and `ss` are the states where they do. *)
Definition in_one_group (x : parts) (c s : opener) (sc ss : list nat) (P : list pair) : bool :=
  let several := filter (fun q => existsb (Nat.eqb (fst q)) sc || existsb (Nat.eqb (snd q)) ss) P in
  length (nodup Nat.eq_dec (flat_map (fun q => flat_map (fun e => match e with (_, _, m, _) =>
    map snd (filter (fun y => fst y =? m) (parts_of_bodies x)) end) (written (bodies c) (bodies s) q)) several)) <=? 1.

Definition swallows (n : nat) (x : parts) (c s : opener) (sc ss : list nat) (lc ls : table) (zs : list pair) (k : late)
  : late :=
  let of z := match meetings_from n (bodies c) (bodies s) z with
              | Some P => if in_one_group x c s sc ss P then swallowed_from n n c s z [] else []
              | None => []
              end in
  fold_left (fun k y => match y with (q, d, b) =>
    (add_loop lc (fst k) (fst q) d (says_within b), add_loop ls (snd k) (snd q) d (says_within b)) end)
    (flat_map of zs) k.

(* What comes late, by what it does: the loops of the session, the openings, the loops of sub-sessions. *)
Definition late_tables (which : pair -> nat) (o : list (direction * nat * pair)) (k : list (nat * direction * nat))
  : opener :=
  Opener
    (flat_map (fun x => match x with (q, d, y) => if y mod 4 =? 0 then [(q, d, y / 4, q)] else [] end) k)
    (flat_map (fun x => match x with (q, d, y) =>
      if y mod 4 =? 1 then match nth_error o (y / 4) with
                           | Some (_, m, zs) => [(q, d, m, which zs)]
                           | None => []
                           end else [] end) k)
    (flat_map (fun x => match x with (q, d, y) => if y mod 4 =? 3 then [(q, d, y / 4, q)] else [] end) k).

Definition with_late (x y : opener) : opener :=
  Opener (steps x ++ steps y) (openings x ++ openings y) (bodies x ++ bodies y).

(* ---- The verdict ---- *)

(* The classes of the states of what is followed. *)
Definition followed_classes (h : list nat) : list nat :=
  flat_map (fun z => [in_session z; in_body z]) h.

(* What lies between the roles, following the sub-sessions that one side opens: the completion, or with cancels the same
   without edges between a cancel and the replies to its own request. *)
Definition between_following (n : nat) (x : list pair) (by_ : direction) (c s : opener) : graph :=
  let lc := following by_ c s c in let ls := following by_ c s s in
  explored (if some x then settled_rule (settling_labels x) lc ls else completion_rule lc ls) n.

(* The pairs that it has, of the session or of sub-sessions. *)
Definition half (q : pair) : pair := (Nat.div2 (fst q), Nat.div2 (snd q)).

Definition fits_beyond (x : parts) (sc ss : list (bool * bool)) (c s : opener) (known known_bodies : list pair) (q : pair)
  : bool :=
  if Nat.even (fst q) then has_pair known (half q) || fits_in_session x sc ss c s (half q)
  else has_pair known_bodies (half q) || fits_in_body x c s (half q).

(* The same of sub-sessions within sub-sessions, which what is followed leaves out. *)
Definition fits_within (n : nat) (x : parts) (c s xc xs : opener) (known_bodies zs : list pair) : bool :=
  negb (nests xc xs) ||
  forallb (fun q => has_pair known_bodies q || fits_in_body x c s q) (flat_map (anywhere_within n xc xs) zs).

(* The check, following the sub-sessions that one side opens, with the classes of what is followed: of what is written, and of the same with one state in
   place of all that behave alike. *)
Definition check_following (n : nat) (x : list pair) (by_ : direction) (hc hs : list nat) (c s xc xs : opener)
  : option bool :=
  let lc := following by_ xc xs xc in let ls := following by_ xc xs xs in
  if is_quotient hc (following by_ c s c) lc && is_quotient hs (following by_ c s s) ls
  then
    if some x then
      let g := between_following n x by_ xc xs in
      if is_closed (settled_rule (settling_labels x) lc ls) g
      then Some (check_between (settling_labels x) lc ls g) else None
    else check_pair n lc ls
  else None.

Definition nested_classes (h : list nat) : list nat :=
  let k := followed_classes h in
  flat_map (fun q => [in_session (class k q); in_body (class h q)]) (seq 0 (length k)).

(* The same check, following a sub-session within the sub-session. Such roles have no cancels. *)
Definition check_nested (n : nat) (x : list pair) (by_ inner_by : direction) (hc hs : list nat) (c s xc xs : opener)
  : option bool :=
  if some x then None
  else check_following n [] inner_by (nested_classes hc) (nested_classes hs)
         (within by_ c s c) (within by_ c s s) (within by_ xc xs xc) (within by_ xc xs xs).

Definition both (a b : option bool) : option bool :=
  match a, b with Some x, Some y => Some (x && y) | _, _ => None end.

(* What the exact check of one automaton says of dual roles. *)
Definition check_one (x : list pair) (by_ : direction) (all : opener) : option bool :=
  let l := following by_ all all all in
  if some x then check_settled (settling_labels x) l else check l.

Definition check_one_nested (by_ inner_by : direction) (all : opener) : option bool :=
  let x := within by_ all all all in check (following inner_by x x x).

(* What both roles are with all that comes late, what lies between them, and what the verdict is. *)
Record judged := Judged { said_verdict : verdict; late_client : opener; late_server : opener;
                          lies_between : direction -> graph; one_automaton : option bool }.

Definition nothing : opener := Opener [] [] [].

(* The groups of channels that share messages say where a role may not be silent. *)
Definition judge_openings (n : nat) (dual : bool) (x : list pair) (groups : parts) (c s : opening_role) : judged :=
  let refused v := Judged v nothing nothing (fun _ => ([], [])) None in
  let hc := classes (joined c) in let hs := classes (joined s) in
  let mc := minimal hc (tables c) in let ms := minimal hs (tables s) in
  let rule := meet_rule (steps mc) (steps ms) in
  let meets := explored rule n in
  if is_closed rule meets then
    if forallb (session_relates dual groups mc ms (closing c) (closing s)) (fst meets) then
      match meetings_within n mc ms (fst meets) with
      | None => refused Unknown
      | Some met =>
          if forallb (body_relates dual groups mc ms) met then
            let o := openings_met mc ms (fst meets ++ met) in
            let lc := with_openings fst o mc in let ls := with_openings snd o ms in
            let k1 := closed n (with_channels o c) (with_channels o s) hc hs
                        (locals_of o c hc mc lc) (locals_of o s hs ms ls) lc ls (fst meets ++ met) in
            let yc := with_late mc (late_tables fst o (received Receive (fst k1))) in
            let ys := with_late ms (late_tables snd o (received Send (snd k1))) in
            let zs := opened_anywhere n yc ys in
            let k := swallows n groups mc ms (map (class hc) (side_by_side c)) (map (class hs) (side_by_side s)) lc ls zs k1 in
            let rc := received Receive (fst k) in let rs := received Send (snd k) in
            let xc := with_late mc (late_tables fst o rc) in let xs := with_late ms (late_tables snd o rs) in
            let uc := late_tables fst o (lifted hc rc) in let us := late_tables snd o (lifted hs rs) in
            let wc := with_late (tables c) uc in let ws := with_late (tables s) us in
            let g := fun by_ => between_following n x by_ xc xs in
            let judged v := Judged v uc us g
              (if dual then
                 let all := with_late mc (late_tables fst o (fst k)) in
                 both (both (check_one x Send all) (check_one x Receive all))
                      (if nests all all then
                         both (both (check_one_nested Send Send all) (check_one_nested Send Receive all))
                              (both (check_one_nested Receive Send all) (check_one_nested Receive Receive all))
                       else Some true)
               else None) in
            let kc := followed_classes hc in let ks := followed_classes hs in
            match both (both (check_following n x Send kc ks wc ws xc xs) (check_following n x Receive kc ks wc ws xc xs))
                       (if nests wc ws then
                          both (both (check_nested n x Send Send hc hs wc ws xc xs)
                                     (check_nested n x Send Receive hc hs wc ws xc xs))
                               (both (check_nested n x Receive Send hc hs wc ws xc xs)
                                     (check_nested n x Receive Receive hc hs wc ws xc xs))
                        else Some true) with
            | Some true =>
                if forallb (fits_beyond groups (closing c) (closing s) mc ms (fst meets) met)
                     (fst (g Send) ++ fst (g Receive)) && fits_within n groups mc ms xc xs met zs
                then judged Accepted else judged Races
            | Some false => judged Races
            | None => refused Unknown
            end
          else refused Unrelated
      end
    else refused Unrelated
  else refused Unknown.

Lemma both_true a b : both a b = Some true -> a = Some true /\ b = Some true.
Proof. destruct a as [[|] |], b as [[|] |]; cbn; intros H; try discriminate; auto. Qed.

Lemma late_tables_received which o d k :
  (forall q d' m, In (q, d', m) k -> d' = d) ->
  forall q d' m q', In (q, d', m, q') (steps (late_tables which o k) ++ openings (late_tables which o k) ++
                                      bodies (late_tables which o k)) -> d' = d.
Proof.
  intros H q d' m q' I. cbn [steps openings bodies late_tables] in I.
  apply in_app_or in I. destruct I as [I | I]; [| apply in_app_or in I; destruct I as [I | I]];
    apply in_flat_map in I; destruct I as [[[x e] y] [I J]].
  - destruct (y mod 4 =? 0); [| contradiction]. destruct J as [J | []]. inversion J; subst. exact (H _ _ _ I).
  - destruct (y mod 4 =? 1); [| contradiction]. destruct (nth_error o (y / 4)) as [[[e' m'] zs] |]; [| contradiction].
    destruct J as [J | []]. inversion J; subst. exact (H _ _ _ I).
  - destruct (y mod 4 =? 3); [| contradiction]. destruct J as [J | []]. inversion J; subst. exact (H _ _ _ I).
Qed.

Lemma lifted_received h d k q d' m : In (q, d', m) (lifted h (received d k)) -> d' = d.
Proof.
  intros I. unfold lifted in I. apply in_flat_map in I. destruct I as [x [_ I]].
  apply in_flat_map in I. destruct I as [[[z e] m'] [I J]].
  destruct (class h x =? z); [| contradiction]. destruct J as [J | []]. inversion J; subst.
  unfold received in I. apply filter_In in I. destruct I as [_ I]. apply same_dir_spec in I. auto.
Qed.

Lemma check_following_sound n by_ hc hs c s xc xs : check_following n [] by_ hc hs c s xc xs = Some true ->
  sound (following by_ c s c) (following by_ c s s).
Proof.
  unfold check_following. destruct (is_quotient _ _ _ && is_quotient _ _ _) eqn:Q; [| discriminate].
  intros K. apply andb_prop in Q. destruct Q as [QC QS].
  exact (quotient_sound _ _ _ _ _ _ QC QS (check_pair_sound _ _ _ K)).
Qed.

Lemma check_following_settled n x by_ hc hs c s xc xs : some x = true ->
  check_following n x by_ hc hs c s xc xs = Some true ->
  settled_once (between (between_following n x by_ xc xs)) (settling (settling_labels x)) ->
  settled_sound (settling_labels x) (following by_ c s c) (following by_ c s s).
Proof.
  intros X. unfold check_following. rewrite X.
  destruct (is_quotient _ _ _ && is_quotient _ _ _) eqn:Q; [| discriminate].
  destruct (is_closed _ _); [| discriminate]. intros K Once. apply andb_prop in Q. destruct Q as [QC QS].
  injection K as K. destruct (check_between_sound _ _ _ _ _ _ _ _ QC QS K) as [Det [Dia [FC FS]]].
  intros p r w1 w2 s1 s2 R.
  destruct (settled_mediated_safety _ _ _ _ _ _ Det Dia Once FC FS _ _ _ _ _ _ R) as [A [B _]]. auto.
Qed.

(* What the verdict says of roles that it accepts, for the theorems below. *)
Lemma judge_openings_accepts n dual x groups c s uc us g one :
  judge_openings n dual x groups c s = Judged Accepted uc us g one ->
  let client := with_late (tables c) uc in
  let server := with_late (tables s) us in
  (forall by_, exists hc hs xc xs, g = (fun by_ => between_following n x by_ xc xs) /\
     check_following n x by_ hc hs client server xc xs = Some true) /\
  (nests client server = true -> forall by_ inner_by, exists hc hs xc xs,
     check_nested n x by_ inner_by hc hs client server xc xs = Some true) /\
  (forall q d m q', In (q, d, m, q') (steps uc ++ openings uc ++ bodies uc) -> d = Receive) /\
  (forall q d m q', In (q, d, m, q') (steps us ++ openings us ++ bodies us) -> d = Send).
Proof.
  unfold judge_openings.
  set (hc := classes (joined c)). set (hs := classes (joined s)).
  set (mc := minimal hc (tables c)). set (ms := minimal hs (tables s)).
  destruct (is_closed _ _); [| discriminate]. destruct (forallb _ _); [| discriminate].
  destruct (meetings_within _ _ _ _) as [met |]; [| discriminate].
  destruct (forallb _ _); [| discriminate]. set (o := openings_met _ _ _). set (k1 := closed _ _ _ _ _ _ _ _ _ _). set (yc := with_late mc _). set (ys := with_late ms _).
  set (zs := opened_anywhere _ _ _).
  set (k := swallows _ _ _ _ _ _ _ _ _ _).
  set (xc := with_late mc _). set (xs := with_late ms _).
  destruct (both _ _) as [[|] |] eqn:K; [| discriminate | discriminate].
  apply both_true in K. destruct K as [K N]. apply both_true in K. destruct K as [K1 K2].
  destruct (_ && _); [| discriminate]. intros H. inversion H; subst; clear H.
  split; [| split; [| split]].
  - intros [|]; exists (followed_classes hc), (followed_classes hs), xc, xs; (split; [reflexivity | assumption]).
  - intros T. rewrite T in N. apply both_true in N. destruct N as [N1 N2].
    apply both_true in N1. apply both_true in N2.
    intros [|] [|]; exists hc, hs, xc, xs; [apply N1 | apply N1 | apply N2 | apply N2].
  - apply late_tables_received. intros q d m I. exact (lifted_received _ _ _ _ _ _ I).
  - apply late_tables_received. intros q d m I. exact (lifted_received _ _ _ _ _ _ I).
Qed.

(* Roles that are accepted are sound, with what the verdict says may come late: no message is unexpected, be it one of
   the session, one that opens a sub-session or one of a sub-session, however many sub-sessions there are; and roles
   that are stuck have nothing in flight and nothing to send. Each role gets only what it receives late. It assumes
   that each message of a sub-session carries its key, that a key is used once, and that each side opens sub-sessions
   with keys of its own; and nothing of how the classes and what comes late were found, which is part of the
   computation. *)
Theorem judge_openings_sound n dual groups c s uc us g one :
  judge_openings n dual [] groups c s = Judged Accepted uc us g one ->
  let client := with_late (tables c) uc in
  let server := with_late (tables s) us in
  (forall (Key : Type) (eq_dec : forall i j : Key, {i = j} + {i <> j}) (opened_by : Key -> direction) p r f g w1 w2,
     family_run eq_dec opened_by client server (Family p r f g w1 w2) ->
     (forall y w, w2 = y :: w -> exists p' f', takes eq_dec opened_by client Receive p f y p' f') /\
     (forall y w, w1 = y :: w -> exists r' g', takes eq_dec opened_by server Send r g y r' g') /\
     ((forall y, ~ family_step eq_dec opened_by client server (Family p r f g w1 w2) y) ->
        w1 = [] /\ w2 = [] /\
        (forall m p', ~ edge (of_table (steps client)) p Send m p') /\
        (forall m r', ~ edge (of_table (steps server)) r Receive m r') /\
        (forall k z m z', f k = Some z -> ~ edge (of_table (bodies client)) z Send m z') /\
        (forall k z m z', g k = Some z -> ~ edge (of_table (bodies server)) z Receive m z'))) /\
  (forall q d m q', In (q, d, m, q') (steps uc ++ openings uc ++ bodies uc) -> d = Receive) /\
  (forall q d m q', In (q, d, m, q') (steps us ++ openings us ++ bodies us) -> d = Send).
Proof.
  intros H. destruct (judge_openings_accepts _ _ _ _ _ _ _ _ _ _ H) as [K [_ L]]. split; [| exact L].
  intros Key eq_dec opened_by. apply openings_sound. intros by_. destruct (K by_) as [hc [hs [xc [xs [_ C]]]]].
  exact (check_following_sound _ _ _ _ _ _ _ _ C).
Qed.

(* The same of roles with cancels: of requests of the session and of sub-sessions, and of what opened a sub-session, which
   its sender may cancel in any state. A message that comes is expected, or it is dropped, because its exchange is settled
   or its sub-session is over. It assumes of keys what `judge_openings_sound` does, and that an exchange is settled once,
   which cannot be seen in tables without ids, and which is so where nothing settles an exchange. *)
Theorem judge_stopped_sound n dual x groups c s uc us g one :
  judge_openings n dual x groups c s = Judged Accepted uc us g one ->
  (forall by_, settled_once (between (g by_)) (settling (settling_labels x))) ->
  let client := with_late (tables c) uc in
  let server := with_late (tables s) us in
  forall (Key : Type) (eq_dec : forall i j : Key, {i = j} + {i <> j}) (opened_by : Key -> direction)
         p r f g o u w1 w2 s1 s2,
    stopping_run eq_dec opened_by client server x (Stopping p r f g o u w1 w2 s1 s2) ->
    (forall y w, w2 = Tells y :: w -> is_over o y = true \/ settled_by_client (settles_said eq_dec x) s1 y = true \/
       exists p' f', takes eq_dec opened_by client Receive p f y p' f') /\
    (forall y w, w1 = Tells y :: w -> is_over u y = true \/ settled_by_server (settles_said eq_dec x) s2 y = true \/
       exists r' g', takes eq_dec opened_by server Send r g y r' g') /\
    ((forall y, ~ stopping_step eq_dec opened_by client server x (Stopping p r f g o u w1 w2 s1 s2) y) ->
       w1 = [] /\ w2 = [] /\
       (forall m p', ~ edge (of_table (steps client)) p Send m p') /\
       (forall m r', ~ edge (of_table (steps server)) r Receive m r') /\
       (forall k z m z', o k = false -> f k = Some z -> ~ edge (of_table (bodies client)) z Send m z') /\
       (forall k z m z', u k = false -> g k = Some z -> ~ edge (of_table (bodies server)) z Receive m z')).
Proof.
  intros H Once client server Key eq_dec opened_by p r f g0 o u w1 w2 s1 s2 R.
  destruct (judge_openings_accepts _ _ _ _ _ _ _ _ _ _ H) as [K _].
  revert R. apply stopped_sound. intros by_. destruct (K by_) as [hc [hs [xc [xs [E C]]]]].
  specialize (Once by_). destruct x as [| e x].
  - apply sound_settled. exact (check_following_sound _ _ _ _ _ _ _ _ C).
  - rewrite E in Once. exact (check_following_settled _ (e :: x) _ _ _ _ _ _ _ eq_refl C Once).
Qed.

(* The same of roles whose sub-sessions open sub-sessions: no message is unexpected, be it one of the session, of a
   sub-session or of one within it, but for those of a sub-session that a role takes to be over, and of what is within it.
   It assumes of keys what `nested_sound` does. *)
Theorem judge_nested_sound n dual x groups c s uc us g one :
  judge_openings n dual x groups c s = Judged Accepted uc us g one ->
  let client := with_late (tables c) uc in
  let server := with_late (tables s) us in
  nests client server = true ->
  forall (Key Inner : Type) (eq_dec : forall i j : Key, {i = j} + {i <> j})
         (inner_eq_dec : forall i j : Inner, {i = j} + {i <> j}) (opened_by : Key -> direction)
         (opened_within : Key -> Inner -> direction) p r f g h i w1 w2 o u,
    ending_run eq_dec inner_eq_dec opened_by opened_within client server (Ending (Nested p r f g h i w1 w2) o u) ->
    (forall y w, w2 = y :: w -> is_over_of o y = true \/
       exists p' f' h', deep_takes eq_dec inner_eq_dec opened_by opened_within client Receive p f h y p' f' h') /\
    (forall y w, w1 = y :: w -> is_over_of u y = true \/
       exists r' g' i', deep_takes eq_dec inner_eq_dec opened_by opened_within server Send r g i y r' g' i').
Proof.
  intros H client server T Key Inner eq_dec inner_eq_dec opened_by opened_within.
  destruct (judge_openings_accepts _ _ _ _ _ _ _ _ _ _ H) as [_ [K _]].
  apply ended_sound. intros by_ inner_by. destruct (K T by_ inner_by) as [hc [hs [xc [xs C]]]].
  unfold check_nested in C. destruct (some x); [discriminate |]. exact (check_following_sound _ _ _ _ _ _ _ _ C).
Qed.

(* ---- The program ---- *)

Definition both_explored (x y : exploration) : exploration :=
  match x, y with
  | FoundUnsafe, _ | _, FoundUnsafe => FoundUnsafe
  | FoundSafe, FoundSafe => FoundSafe
  | _, _ => FoundNeither
  end.

(* What is said of two roles that open sub-sessions; the exploration follows one that each side opens. *)
Definition report_openings (n worlds : nat) (dual : bool) (x : list pair) (groups : parts) (c s : opening_role)
  : verdict * option bool * exploration :=
  let j := judge_openings n dual x groups c s in
  let client := with_late (tables c) (late_client j) in
  let server := with_late (tables s) (late_server j) in
  let explored by_ := explore_roles worlds (following by_ client server client) (following by_ client server server) in
  (said_verdict j, one_automaton j,
   if some x then FoundNeither else both_explored (explored Send) (explored Receive)).
