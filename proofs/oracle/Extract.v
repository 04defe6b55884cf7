(* The checks of Oracle.v, OracleCancels.v and OracleOpenings.v as OCaml. Booleans, pairs, lists and options become those of
   OCaml; numbers stay what they are in Coq, so nothing depends on how a machine adds. `implb` is put where it is called:
   OCaml would compute both of its arguments otherwise. *)

From Coq Require Import Extraction ExtrOcamlBasic Bool.
From Diamond Require Import Automaton Check Oracle OracleCancels OracleOpenings.

Extraction Inline implb.
Extraction "checks.ml" report report_openings.
