(* The verdict on two roles that open sub-sessions, and what a yes of it means. Both roles are followed into one
   sub-session at a time (see Openings.v). *)

From Coq Require Import List Arith Bool.
Import ListNotations.
From Diamond Require Import Automaton Compatible Examples Check Cancels Oracle Openings.

(* ---- A role as a text has it ---- *)

(* The tables; and for each state, by its number, whether the client may close there and whether the server may. States
   of sub-sessions have numbers of their own, and no rights. *)
Record opening_role := OpeningRole { tables : opener; closing : list (bool * bool) }.

(* One automaton of all, to find out which states behave alike. A state of the session is never a state of a
   sub-session. *)
Definition joined (c : opening_role) : role :=
  let x := tables c in
  Role
    (map (fun e => match e with (q, d, m, q') => (q, d, says m, q') end) (steps x) ++
     map (fun e => match e with (q, d, m, z) => (q, d, opens_other m, z) end) (openings x) ++
     map (fun e => match e with (z, d, m, z') => (z, d, says_within m, z') end) (bodies x) ++
     map (fun z => (z, Send, opens_this 0, z)) (body_states x))
    (closing c) [].

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

(* ---- Where the roles fit ---- *)

(* A sub-session that is over for the server, and not for the client. *)
Definition left_over (lc ls : table) (q : pair) : bool :=
  negb (existsb (fun e => match e with (x, _, _, _) => x =? snd q end) ls) &&
  existsb (fun e => match e with (x, _, _, _) => x =? fst q end) lc.

Definition fits_in_session (sc ss : list (bool * bool)) (c s : opener) (q : pair) : bool :=
  rights_fit sc ss q && negb (silent (steps c) (steps s) sc ss q).

Definition fits_in_body (c s : opener) (q : pair) : bool :=
  negb (silent (bodies c) (bodies s) [] [] q) && negb (left_over (bodies c) (bodies s) q).

Definition session_relates (dual : bool) (c s : opener) (sc ss : list (bool * bool)) (q : pair) : bool :=
  relates dual (steps c) (steps s) sc ss q &&
  (if dual then same_at (openings c) (openings s) q else accepts_at (openings c) (openings s) q).

Definition body_relates (dual : bool) (c s : opener) (q : pair) : bool :=
  if dual then same_at (bodies c) (bodies s) q
  else accepts_at (bodies c) (bodies s) q && fits_in_body c s q.

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

(* The pairs that a completion leads to, in the session and in sub-sessions. *)
Definition half (q : pair) : pair := (Nat.div2 (fst q), Nat.div2 (snd q)).

Definition completed (n : nat) (by_ : direction) (c s : opener) : list pair :=
  fst (explored (completion_rule (following by_ c s c) (following by_ c s s)) n).

Definition fits_beyond (sc ss : list (bool * bool)) (c s : opener) (known known_bodies : list pair) (q : pair) : bool :=
  if Nat.even (fst q) then has_pair known (half q) || fits_in_session sc ss c s (half q)
  else has_pair known_bodies (half q) || fits_in_body c s (half q).

(* The check, following the sub-sessions that one side opens: of what is written, and of the same with one state in
   place of all that behave alike. *)
Definition check_following (n : nat) (by_ : direction) (hc hs : list nat) (c s xc xs : opener) : option bool :=
  if is_quotient (followed_classes hc) (following by_ c s c) (following by_ xc xs xc) &&
     is_quotient (followed_classes hs) (following by_ c s s) (following by_ xc xs xs)
  then check_pair n (following by_ xc xs xc) (following by_ xc xs xs)
  else None.

(* What both roles are with all that comes late, and what the verdict is. *)
Record judged := Judged { said_verdict : verdict; late_client : opener; late_server : opener; one_automaton : option bool }.

Definition nothing : opener := Opener [] [] [].

Definition judge_openings (n : nat) (dual : bool) (c s : opening_role) : judged :=
  let refused v := Judged v nothing nothing None in
  let hc := classes (joined c) in let hs := classes (joined s) in
  let mc := minimal hc (tables c) in let ms := minimal hs (tables s) in
  let rule := meet_rule (steps mc) (steps ms) in
  let g := explored rule n in
  if is_closed rule g then
    if forallb (session_relates dual mc ms (closing c) (closing s)) (fst g) then
      let o := once same_opening (flat_map (opened_at mc ms) (fst g)) in
      match all_meetings n (bodies mc) (bodies ms) (once same_pair (map snd o)) with
      | None => refused Unknown
      | Some met =>
          let met := once same_pair met in
          if forallb (body_relates dual mc ms) met then
            let k := closed n (joined c) (joined s) hc hs (with_openings fst o mc) (with_openings snd o ms) (fst g ++ met) in
            let kc := received Receive (fst k) in let ks := received Send (snd k) in
            let xc := with_late mc (late_tables fst o kc) in let xs := with_late ms (late_tables snd o ks) in
            let uc := late_tables fst o (lifted hc kc) in let us := late_tables snd o (lifted hs ks) in
            let wc := with_late (tables c) uc in let ws := with_late (tables s) us in
            let judged v := Judged v uc us
              (if dual then
                 let all := with_late mc (late_tables fst o (fst k)) in
                 match check (following Send all all all), check (following Receive all all all) with
                 | Some x, Some y => Some (x && y)
                 | _, _ => None
                 end
               else None) in
            match check_following n Send hc hs wc ws xc xs, check_following n Receive hc hs wc ws xc xs with
            | Some true, Some true =>
                if forallb (fits_beyond (closing c) (closing s) mc ms (fst g) met)
                     (completed n Send xc xs ++ completed n Receive xc xs)
                then judged Accepted else judged Races
            | Some _, Some _ => judged Races
            | _, _ => refused Unknown
            end
          else refused Unrelated
      end
    else refused Unrelated
  else refused Unknown.

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

Lemma check_following_sound n by_ hc hs c s xc xs : check_following n by_ hc hs c s xc xs = Some true ->
  sound (following by_ c s c) (following by_ c s s).
Proof.
  unfold check_following. destruct (is_quotient _ _ _ && is_quotient _ _ _) eqn:Q; [| discriminate].
  intros K. apply andb_prop in Q. destruct Q as [QC QS].
  exact (quotient_sound _ _ _ _ _ _ QC QS (check_pair_sound _ _ _ K)).
Qed.

(* Roles that are accepted are sound, with what the verdict says may come late: no message is unexpected, be it one of
   the session, one that opens a sub-session or one of a sub-session, however many sub-sessions there are; and roles
   that are stuck have nothing in flight and nothing to send. Each role gets only what it receives late. It assumes
   that each message of a sub-session carries its key, that a key is used once, and that each side opens sub-sessions
   with keys of its own; and nothing of how the classes and what comes late were found, which is part of the
   computation. *)
Theorem judge_openings_sound n dual c s uc us one :
  judge_openings n dual c s = Judged Accepted uc us one ->
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
  unfold judge_openings.
  set (hc := classes (joined c)). set (hs := classes (joined s)).
  set (mc := minimal hc (tables c)). set (ms := minimal hs (tables s)).
  destruct (is_closed _ _); [| discriminate]. destruct (forallb _ _); [| discriminate].
  set (o := once same_opening _). destruct (all_meetings _ _ _ _) as [met |]; [| discriminate].
  destruct (forallb _ _); [| discriminate]. set (k := closed _ _ _ _ _ _ _ _).
  set (xc := with_late mc _). set (xs := with_late ms _).
  destruct (check_following n Send _ _ _ _ _ _) as [[|] |] eqn:K1;
    [| destruct (check_following n Receive _ _ _ _ _ _); discriminate | discriminate].
  destruct (check_following n Receive _ _ _ _ _ _) as [[|] |] eqn:K2; [| discriminate | discriminate].
  destruct (forallb _ _); [| discriminate]. intros H. inversion H; subst; clear H.
  split; [| split].
  - intros Key eq_dec opened_by p r f g w1 w2 R. revert p r f g w1 w2 R. apply openings_sound. intros [|].
    + exact (check_following_sound _ _ _ _ _ _ _ _ K1).
    + exact (check_following_sound _ _ _ _ _ _ _ _ K2).
  - apply late_tables_received. intros q d m I. exact (lifted_received _ _ _ _ _ _ I).
  - apply late_tables_received. intros q d m I. exact (lifted_received _ _ _ _ _ _ I).
Qed.

(* ---- The program ---- *)

Definition both_explored (x y : exploration) : exploration :=
  match x, y with
  | FoundUnsafe, _ | _, FoundUnsafe => FoundUnsafe
  | FoundSafe, FoundSafe => FoundSafe
  | _, _ => FoundNeither
  end.

(* What is said of two roles that open sub-sessions; the exploration follows one that each side opens. *)
Definition report_openings (n worlds : nat) (dual : bool) (c s : opening_role)
  : verdict * option bool * exploration :=
  let j := judge_openings n dual c s in
  let client := with_late (tables c) (late_client j) in
  let server := with_late (tables s) (late_server j) in
  let explored by_ := explore_roles worlds (following by_ client server client) (following by_ client server server) in
  (said_verdict j, one_automaton j, both_explored (explored Send) (explored Receive)).
