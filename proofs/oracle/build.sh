#!/bin/sh
# Builds the program `DIRECTORY/oracle` from the checks of Oracle.v, OracleCancels.v and OracleOpenings.v:
# `build.sh DIRECTORY`. Needs Coq 8.16, and OCaml with ocamlfind, which Debian's package `coq` brings along.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
for file in Automaton Safety Observer Closure Compatible Examples Mediator Check Cancels Settled \
    Oracle OracleCancels Openings OpeningsCancels OpeningsWithin OracleOpenings; do
    cp "$from/../$file.v" .
    coqc -q -Q . Diamond "$file.v"
done
cp "$from/Extract.v" "$from/main.ml" .
coqc -q -Q . Diamond Extract.v
# What Coq writes has unused names, which OCaml would warn of.
ocamlfind ocamlopt -w -a checks.mli checks.ml main.ml -o oracle
