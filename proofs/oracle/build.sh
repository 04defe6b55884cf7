#!/bin/sh
# Builds the program `DIRECTORY/oracle` from the checks of Oracle.v, OracleCancels.v and OracleOpenings.v:
# `build.sh DIRECTORY`. Needs Coq 8.16, and OCaml with ocamlfind, which Debian's package `coq` brings along. In the directory
# in which ../build.sh has checked the proofs they are not compiled again.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
"$from/../compile.sh" "$1" Automaton Safety Observer Closure Compatible Examples Mediator Check Cancels Settled \
    Oracle OracleCancels Openings OpeningsCancels OpeningsWithin OracleOpenings
cd "$1"
cp "$from/Extract.v" "$from/main.ml" .
coqc -q -Q . Diamond Extract.v
# What Coq writes has unused names, which OCaml would warn of.
ocamlfind ocamlopt -w -a checks.mli checks.ml main.ml -o oracle
