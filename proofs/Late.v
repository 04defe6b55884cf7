(* Where the sender of a late message was, and until when a message may be late: the closure and the fence together. Each
   message of the server is stamped with the state in which the server sent it, and with how many messages of the client
   it had received by then. The other direction is the same with the roles exchanged. *)

From Coq Require Import List Arith Lia.
Import ListNotations.
From Diamond Require Import Automaton Safety Closure.

Section Late.
  Context {State Message : Type}.
  Variable A : automaton State Message.

  Record sent := Sent { says : Message; sent_at : State; had_received : nat }.

  (* Where both roles are; all that the client has sent, and how much of that the server has received; what is in flight
     to the client; and the stamp of the last message that the client has received. *)
  Record trace := Trace {
    of_client : State; of_server : State; client_said : list Message; heard : nat;
    coming : list sent; fence_at : nat
  }.

  (* Both send along written edges and receive along the edges of the closure. *)
  Inductive trace_step : trace -> trace -> Prop :=
  | trace_client_sends p r h n w k a p' :
      edge A p Send a p' -> trace_step (Trace p r h n w k) (Trace p' r (h ++ [a]) n w k)
  | trace_client_receives p r h n b w k p' :
      closure_edge A p Receive (says b) p' ->
      trace_step (Trace p r h n (b :: w) k) (Trace p' r h n w (had_received b))
  | trace_server_receives p r h n w k a r' :
      nth_error h n = Some a -> closure_edge A r Send a r' ->
      trace_step (Trace p r h n w k) (Trace p r' h (S n) w k)
  | trace_server_sends p r h n w k b r' :
      edge A r Receive b r' ->
      trace_step (Trace p r h n w k) (Trace p r' h n (w ++ [Sent b r n]) k).

  Inductive trace_run : trace -> Prop :=
  | trace_run_initial : trace_run (Trace (initial A) (initial A) [] 0 [] 0)
  | trace_run_step c c' : trace_run c -> trace_step c c' -> trace_run c'.

  Lemma skipn_end n (h : list Message) a : n <= length h -> skipn n (h ++ [a]) = skipn n h ++ [a].
  Proof.
    intros L. rewrite skipn_app. replace (n - length h) with 0 by lia. reflexivity.
  Qed.

  Lemma skipn_next n : forall (h : list Message) a, nth_error h n = Some a -> skipn n h = a :: skipn (S n) h.
  Proof.
    induction n as [| n IH]; intros [| x h] a E; cbn in *; try discriminate.
    - inversion E; subst. reflexivity.
    - apply IH in E. exact E.
  Qed.

  (* Without the stamps it is a run of roles that receive late messages. *)
  Lemma trace_plain c : trace_run c ->
    heard c <= length (client_said c) /\
    late_run A (Configuration (of_client c) (of_server c) (skipn (heard c) (client_said c)) (map says (coming c))).
  Proof.
    intros H. induction H as [| c c' H [L I] M]; [split; [cbn; lia | apply late_run_initial] |].
    destruct M as [p r h n w k a p' E | p r h n b w k p' E | p r h n w k a r' N E | p r h n w k b r' E]; cbn in *.
    - split; [rewrite app_length; lia |]. rewrite (skipn_end _ _ _ L).
      eapply late_run_step; [exact I | apply l_client_sends; exact E].
    - split; [exact L |]. eapply late_run_step; [exact I | apply l_client_receives; exact E].
    - split.
      + assert (n < length h) by (apply nth_error_Some; congruence). lia.
      + rewrite (skipn_next _ _ _ N) in I.
        eapply late_run_step; [exact I | apply l_server_receives; exact E].
    - split; [exact L |]. rewrite map_app. cbn.
      eapply late_run_step; [exact I | apply l_server_sends; exact E].
  Qed.

  (* What holds of each message in flight: after what is in flight before it, the client will be where the server's state
     leads by what the server had not received when it sent the message. *)
  Definition traced (c : trace) (before : list sent) (b : sent) : Prop :=
    fence_at c <= had_received b /\ had_received b <= heard c /\
    (exists r', edge A (sent_at b) Receive (says b) r') /\
    exists x, path (closure A) Receive (of_client c) (map says before) x /\
              path (closure A) Send (sent_at b) (skipn (had_received b) (client_said c)) x.

  Lemma end_or_within {X} (w : list X) y u b v : w ++ [y] = u ++ b :: v ->
    (u = w /\ b = y) \/ exists v', w = u ++ b :: v'.
  Proof.
    intros E. destruct v as [| z v _] using rev_ind.
    - apply app_inj_tail in E. destruct E as [-> ->]. auto.
    - right. exists v. rewrite app_comm_cons, app_assoc in E. apply app_inj_tail in E. tauto.
  Qed.

  Lemma trace_invariant : loops_in_mixed A -> deterministic (closure A) ->
    forall c, trace_run c -> fence_at c <= heard c /\
      (forall u b v, coming c = u ++ b :: v -> traced c u b) /\
      (forall u b v d t, coming c = u ++ b :: v -> In d v -> t = had_received d -> had_received b <= t).
  Proof.
    intros L Det c H. induction H as [| c c' H [F [I S]] M].
    - split; [cbn; lia | split]; cbn; intros u b v; [| intros d t]; intros E; destruct u; discriminate.
    - pose proof (closure_diamond A L) as Dia. destruct (trace_plain _ H) as [Le P].
      pose proof (run_invariant (closure A) Det Dia _ (late_run_in_closure A _ P)) as [Rp [Rr [z [Z2 Z1]]]].
      destruct M as [p r h n w k a p' E | p r h n b0 w k p' E | p r h n w k a r' N E | p r h n w k b0 r' E];
        cbn in *.
      + split; [exact F | split; [| exact S]]. intros u b v W.
        destruct (I u b v W) as [B1 [B2 [B3 [x [X1 X2]]]]]. unfold traced. cbn in *.
        destruct (send_commutes (closure A) Dia _ _ _ Rp X1 a p' (closure_written A _ _ _ _ E)) as [x' [Y1 Y2]].
        split; [exact B1 | split; [exact B2 | split; [exact B3 |]]].
        exists x'. split; [exact Y1 |]. rewrite skipn_end by lia. exact (path_snoc (closure A) _ _ _ _ _ _ X2 Y2).
      + destruct (I [] b0 w eq_refl) as [F1 [F2 _]]. cbn in F1, F2.
        split; [exact F2 | split].
        * intros u b v ->. destruct (I (b0 :: u) b v eq_refl) as [B1 [B2 [B3 [x [X1 X2]]]]]. unfold traced. cbn in *.
          split.
          { apply (S [] b0 (u ++ b :: v) b (had_received b) eq_refl); [| reflexivity].
            apply in_or_app. right. left. reflexivity. }
          split; [exact B2 | split; [exact B3 |]]. exists x. split; [| exact X2].
          apply path_cons_inv in X1. destruct X1 as [p1 [E1 X1]].
          assert (p1 = p') as <- by exact (Det _ _ _ _ _ Rp E1 E). exact X1.
        * intros u b v d t W Hd T. apply (S (b0 :: u) b v d t); [rewrite W; reflexivity | exact Hd | exact T].
      + split; [lia | split; [| exact S]]. intros u b v W.
        destruct (I u b v W) as [B1 [B2 [B3 B4]]]. unfold traced. cbn in *.
        split; [exact B1 | split; [lia | split; [exact B3 | exact B4]]].
      + split; [exact F | split].
        * intros u b v W. destruct (end_or_within _ _ _ _ _ W) as [[-> ->] | [v' W']].
          -- unfold traced. cbn. split; [exact F | split; [lia | split; [eauto |]]].
             exists z. split; [exact Z2 | exact Z1].
          -- exact (I u b v' W').
        * intros u b v d t W Hd ->. destruct (end_or_within _ _ _ _ _ W) as [[-> ->] | [v' W']].
          -- apply app_inv_head in W. inversion W; subst. contradiction.
          -- assert (v = v' ++ [Sent b0 r n]) as ->.
             { rewrite W' in W. rewrite <- app_assoc in W. apply app_inv_head in W. cbn in W.
               inversion W; reflexivity. }
             apply in_app_or in Hd. destruct Hd as [Hd | [<- | []]].
             ++ exact (S u b v' d _ W' Hd eq_refl).
             ++ cbn. destruct (I u b v' W') as [_ [B2 _]]. exact B2.
  Qed.

  (* A message that the client receives was permitted where the server was when it sent it, and what the client had sent
     and the server had not received by then leads from there to where the client is. So what makes a message late are
     steps of the receiver that the sender had not received, and the checker looks for the sender in the states that such
     steps have left. None of them is older than the fence: the stamp of any message that the client has received before.
     If the server had received all, the message is not late: it is received along a written edge. It assumes that of two
     messages that cross, one returns to its own state, and that the closure is deterministic. *)
  Theorem late_until_fence : loops_in_mixed A -> deterministic (closure A) ->
    forall p r h n b w k, trace_run (Trace p r h n (b :: w) k) ->
      k <= had_received b /\ had_received b <= n /\
      (exists r', edge A (sent_at b) Receive (says b) r') /\
      path (closure A) Send (sent_at b) (skipn (had_received b) h) p /\
      (length h <= had_received b -> exists p', edge A p Receive (says b) p').
  Proof.
    intros L Det p r h n b w k H. destruct (trace_invariant L Det _ H) as [_ [I _]].
    destruct (I [] b w eq_refl) as [B1 [B2 [B3 [x [X1 X2]]]]]. cbn in *.
    apply path_nil_inv in X1. subst x.
    split; [exact B1 | split; [exact B2 | split; [exact B3 | split; [exact X2 |]]]].
    intros Le. rewrite skipn_all2 in X2 by exact Le. apply path_nil_inv in X2. rewrite X2 in B3. exact B3.
  Qed.
End Late.
