(* Two things that sub-sessions have and channels have not. One that is over swallows what still comes for it. And one is
   opened by a message of the session, in a state of the session that permits it. *)

From Coq Require Import List.
Import ListNotations.
From Diamond Require Import Automaton Safety.

(* ---- A sub-session that is over ---- *)

Section Over.
  Context {State Message : Type}.
  Variable A : automaton State Message.
  (* The states in which a sub-session is over. *)
  Variable over : State -> Prop.

  (* What comes for a sub-session that is over changes nothing. *)
  Inductive swallow_edge : State -> direction -> Message -> State -> Prop :=
  | swallow_written q d m q' : edge A q d m q' -> swallow_edge q d m q'
  | swallow_over q d m : over q -> swallow_edge q d m q.

  Definition swallow : automaton State Message := Aut (initial A) swallow_edge.

  (* Of two messages that cross, both may be written in the other order, or one ends the sub-session and is possible after
     the other one, too, and ends it there. *)
  Definition diamond_or_over : Prop :=
    forall q a b q1 q2, reachable A q -> edge A q Send a q1 -> edge A q Receive b q2 ->
      (exists q', edge A q1 Receive b q' /\ edge A q2 Send a q') \/
      (over q1 /\ edge A q2 Send a q1) \/
      (over q2 /\ edge A q1 Receive b q2).

  Lemma swallow_reachable q : reachable swallow q -> reachable A q.
  Proof.
    intros H. induction H as [| q d m q' R I E]; [apply (reachable_initial A) |].
    destruct E as [q d m q' E | q d m O]; [| exact I]. exact (reachable_edge A _ _ _ _ I E).
  Qed.

  (* Roles that send along written edges only, and swallow what comes for a sub-session that is over. *)
  Inductive swallow_step : configuration (State := State) (Message := Message) -> configuration -> Prop :=
  | swallow_client_sends p r w1 w2 a p' :
      edge A p Send a p' -> swallow_step (Configuration p r w1 w2) (Configuration p' r (w1 ++ [a]) w2)
  | swallow_client_receives p r w1 w2 b p' :
      swallow_edge p Receive b p' -> swallow_step (Configuration p r w1 (b :: w2)) (Configuration p' r w1 w2)
  | swallow_server_receives p r w1 w2 a r' :
      swallow_edge r Send a r' -> swallow_step (Configuration p r (a :: w1) w2) (Configuration p r' w1 w2)
  | swallow_server_sends p r w1 w2 b r' :
      edge A r Receive b r' -> swallow_step (Configuration p r w1 w2) (Configuration p r' w1 (w2 ++ [b])).

  Inductive swallow_run : configuration -> Prop :=
  | swallow_run_initial : swallow_run (Configuration (initial A) (initial A) [] [])
  | swallow_run_step c c' : swallow_run c -> swallow_step c c' -> swallow_run c'.

  Lemma swallow_run_in c : swallow_run c -> run swallow c.
  Proof.
    intros H. induction H as [| c c' H I M].
    - apply (run_initial swallow).
    - apply (run_step swallow _ _ I). destruct M as [p r w1 w2 a p' E | p r w1 w2 b p' E
                                                    | p r w1 w2 a r' E | p r w1 w2 b r' E].
      + apply client_sends. apply swallow_written. exact E.
      + apply client_receives. exact E.
      + apply server_receives. exact E.
      + apply server_sends. apply swallow_written. exact E.
  Qed.

  (* The roles of a sub-session that swallows what comes for it when it is over never receive an unexpected message, and
     are in the same state whenever nothing is in flight; if they are stuck, nothing is in flight and no edge is left. So
     the compiler does not ask for the diamond of a message that ends a sub-session and of one that returns to its state.
     It assumes that the automaton is deterministic, that a sub-session which is over has no edges, and of messages that
     cross the diamond or that one of them ends the sub-session in either order. *)
  Theorem over_safety :
    deterministic A -> (forall q, over q -> no_edges A q) -> diamond_or_over ->
    forall p r w1 w2, swallow_run (Configuration p r w1 w2) ->
      no_unexpected swallow (Configuration p r w1 w2) /\
      agreement (Configuration p r w1 w2) /\
      ((forall c', ~ swallow_step (Configuration p r w1 w2) c') ->
         w1 = [] /\ w2 = [] /\ p = r /\ no_edges A p).
  Proof.
    intros Det None Dia p r w1 w2 H. apply swallow_run_in in H.
    assert (deterministic swallow) as Det'.
    { intros q d m q1 q2 R E1 E2. apply swallow_reachable in R.
      destruct E1 as [q d m q1 E1 | q d m O1]; inversion E2 as [? ? ? ? E2' | ? ? ? O2]; subst.
      - exact (Det _ _ _ _ _ R E1 E2').
      - exfalso. exact (None _ O2 _ _ _ E1).
      - exfalso. exact (None _ O1 _ _ _ E2').
      - reflexivity. }
    assert (has_diamond swallow) as Dia'.
    { intros q R a b q1 q2 E1 E2. apply swallow_reachable in R. cbn in *.
      inversion E1 as [? ? ? ? W1 | ? ? ? O1]; subst; inversion E2 as [? ? ? ? W2 | ? ? ? O2]; subst.
      - destruct (Dia q a b q1 q2 R W1 W2) as [[z [Z1 Z2]] | [[O E] | [O E]]].
        + exists z. split; apply swallow_written; assumption.
        + exists q1. split; [apply swallow_over; exact O | apply swallow_written; exact E].
        + exists q2. split; [apply swallow_written; exact E | apply swallow_over; exact O].
      - exfalso. exact (None _ O2 _ _ _ W1).
      - exfalso. exact (None _ O1 _ _ _ W2).
      - eauto. }
    pose proof (run_invariant swallow Det' Dia' _ H) as I.
    pose proof (invariant_no_unexpected swallow _ I) as U.
    pose proof (invariant_agreement swallow _ I) as G.
    split; [exact U | split; [exact G |]]. intros N. destruct U as [U2 U1]. unfold agreement in G. cbn in *.
    destruct w2 as [| b w2].
    2:{ destruct (U2 _ _ eq_refl) as [q E]. exfalso. eapply N. apply swallow_client_receives. exact E. }
    destruct w1 as [| a w1].
    2:{ destruct (U1 _ _ eq_refl) as [q E]. exfalso. eapply N. apply swallow_server_receives. exact E. }
    specialize (G eq_refl eq_refl). subst r. repeat split; auto.
    intros d m q E. destruct d; eapply N.
    - apply swallow_client_sends. exact E.
    - apply swallow_server_sends. exact E.
  Qed.
End Over.

(* ---- A session that opens sub-sessions ---- *)

Section Spawn.
  Context {Key SessionState State SessionMessage Message : Type}.
  Variable eq_dec : forall i j : Key, {i = j} + {i <> j}.
  (* The session, in whose states a message that opens a sub-session is an edge that returns to its state. With the edges
     of the closure, a message that opens one may be late. *)
  Variable session : automaton SessionState (SessionMessage + Message).
  (* A sub-session. In its initial state it has not been opened. *)
  Variable body : Key -> automaton State Message.

  Inductive spawned := OfSession (m : SessionMessage) | Opens (k : Key) (m : Message) | OfBody (k : Key) (m : Message).

  Record spawning := Spawning {
    client_session : SessionState; server_session : SessionState;
    client_bodies : Key -> State; server_bodies : Key -> State;
    spawned_to_server : list spawned; spawned_to_client : list spawned
  }.

  (* Where one role is after a message, in one direction. A message that opens a sub-session is a step of both. *)
  Definition put (f : Key -> State) (k : Key) (q : State) : Key -> State :=
    fun j => if eq_dec k j then q else f j.

  Inductive role_takes : direction -> SessionState -> (Key -> State) -> spawned -> SessionState -> (Key -> State) -> Prop :=
  | role_takes_session d p f m p' : edge session p d (inl m) p' -> role_takes d p f (OfSession m) p' f
  | role_takes_opens d p f k m p' q :
      edge session p d (inr m) p' -> edge (body k) (f k) d m q -> role_takes d p f (Opens k m) p' (put f k q)
  | role_takes_body d p f k m q : edge (body k) (f k) d m q -> role_takes d p f (OfBody k m) p (put f k q).

  Inductive spawning_step : spawning -> spawning -> Prop :=
  | spawning_client_sends p r f g w1 w2 m p' f' :
      role_takes Send p f m p' f' -> spawning_step (Spawning p r f g w1 w2) (Spawning p' r f' g (w1 ++ [m]) w2)
  | spawning_client_receives p r f g w1 w2 m p' f' :
      role_takes Receive p f m p' f' -> spawning_step (Spawning p r f g w1 (m :: w2)) (Spawning p' r f' g w1 w2)
  | spawning_server_receives p r f g w1 w2 m r' g' :
      role_takes Send r g m r' g' -> spawning_step (Spawning p r f g (m :: w1) w2) (Spawning p r' f g' w1 w2)
  | spawning_server_sends p r f g w1 w2 m r' g' :
      role_takes Receive r g m r' g' -> spawning_step (Spawning p r f g w1 w2) (Spawning p r' f g' w1 (w2 ++ [m])).

  Inductive spawning_run : spawning -> Prop :=
  | spawning_run_initial : spawning_run (Spawning (initial session) (initial session)
      (fun k => initial (body k)) (fun k => initial (body k)) [] [])
  | spawning_run_step c c' : spawning_run c -> spawning_step c c' -> spawning_run c'.

  (* What the session sees of a message, and what a sub-session sees. *)
  Definition in_session (m : spawned) : list (SessionMessage + Message) :=
    match m with OfSession m => [inl m] | Opens _ m => [inr m] | OfBody _ _ => [] end.
  Definition in_body (k : Key) (m : spawned) : list Message :=
    match m with
    | OfSession _ => []
    | Opens j m | OfBody j m => if eq_dec j k then [m] else []
    end.

  Definition session_of (c : spawning) : configuration :=
    Configuration (client_session c) (server_session c)
      (flat_map in_session (spawned_to_server c)) (flat_map in_session (spawned_to_client c)).
  Definition body_of (k : Key) (c : spawning) : configuration :=
    Configuration (client_bodies c k) (server_bodies c k)
      (flat_map (in_body k) (spawned_to_server c)) (flat_map (in_body k) (spawned_to_client c)).

  Lemma flat_map_end {X Y} (f : X -> list Y) w x : flat_map f (w ++ [x]) = flat_map f w ++ f x.
  Proof. induction w as [| y w IH]; cbn; [apply app_nil_r | rewrite IH; apply app_assoc]. Qed.

  (* A run, seen in the session or at one key, is a run of the session, or of that sub-session. *)
  Lemma spawning_projection c : spawning_run c ->
    run session (session_of c) /\ forall k, run (body k) (body_of k c).
  Proof.
    intros H. induction H as [| c c' H [I J] M].
    - split; [| intros k]; constructor.
    - split; [| intros k; specialize (J k)];
        destruct M as [p r f g w1 w2 m p' f' T | p r f g w1 w2 m p' f' T
                      | p r f g w1 w2 m r' g' T | p r f g w1 w2 m r' g' T];
        inversion T; subst; unfold session_of, body_of, put in *; cbn in *;
        rewrite ?flat_map_end; cbn; rewrite ?app_nil_r; auto.
      all: try (destruct (eq_dec _ k) as [-> | N]; cbn in *; rewrite ?app_nil_r; auto).
      all: eapply run_step; [eassumption |].
      all: first [ apply client_sends; assumption | apply client_receives; assumption
                 | apply server_receives; assumption | apply server_sends; assumption ].
  Qed.

  (* A session that opens sub-sessions never receives an unexpected message, be it one of the session, one that opens a
     sub-session, or one of a sub-session; and whenever nothing is in flight both roles are in the same state, and so
     are both roles of each sub-session. So the compiler looks at the session, in which a spawn edge is a step that
     changes nothing, and at each body by itself. It assumes that the session with the edges of its closure and each
     body are deterministic and have the diamond, that each message of a sub-session carries its key, and that a key is
     used once. Suspended sub-sessions are not modelled. A role may send less than it may here, so that roles which do
     not send along the edges of the closure are covered. *)
  Theorem spawn_safety :
    deterministic session -> has_diamond session ->
    (forall k, deterministic (body k) /\ has_diamond (body k)) ->
    forall p r f g w1 w2, spawning_run (Spawning p r f g w1 w2) ->
      (forall m w, w2 = m :: w -> exists p' f', role_takes Receive p f m p' f') /\
      (forall m w, w1 = m :: w -> exists r' g', role_takes Send r g m r' g') /\
      (w1 = [] -> w2 = [] -> p = r /\ forall k, f k = g k).
  Proof.
    intros Det Dia D p r f g w1 w2 H. destruct (spawning_projection _ H) as [I J].
    unfold session_of, body_of in *. cbn in *.
    pose proof (safety session Det Dia _ I) as [[U2 U1] [G _]].
    assert (forall k, safe_configuration (body k) (Configuration (f k) (g k)
              (flat_map (in_body k) w1) (flat_map (in_body k) w2))) as S.
    { intros k. destruct (D k). apply (safety (body k)); auto. }
    unfold agreement in G. cbn in *. split; [| split].
    - intros [m | k m | k m] w ->; cbn in *.
      + destruct (U2 _ _ eq_refl) as [q E]. exists q, f. constructor. exact E.
      + destruct (U2 _ _ eq_refl) as [q E]. destruct (S k) as [[V _] _]. cbn in V.
        destruct (eq_dec k k) as [_ | N]; [| congruence]. destruct (V _ _ eq_refl) as [z Z].
        exists q, (put f k z). constructor; assumption.
      + destruct (S k) as [[V _] _]. cbn in V.
        destruct (eq_dec k k) as [_ | N]; [| congruence]. destruct (V _ _ eq_refl) as [z Z].
        exists p, (put f k z). constructor. exact Z.
    - intros [m | k m | k m] w ->; cbn in *.
      + destruct (U1 _ _ eq_refl) as [q E]. exists q, g. constructor. exact E.
      + destruct (U1 _ _ eq_refl) as [q E]. destruct (S k) as [[_ V] _]. cbn in V.
        destruct (eq_dec k k) as [_ | N]; [| congruence]. destruct (V _ _ eq_refl) as [z Z].
        exists q, (put g k z). constructor; assumption.
      + destruct (S k) as [[_ V] _]. cbn in V.
        destruct (eq_dec k k) as [_ | N]; [| congruence]. destruct (V _ _ eq_refl) as [z Z].
        exists r, (put g k z). constructor. exact Z.
    - intros -> ->. split; [apply G; reflexivity |]. intros k. destruct (S k) as [_ [K _]].
      apply K; reflexivity.
  Qed.
End Spawn.
