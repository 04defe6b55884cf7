#!/bin/sh
# Checks the proofs in a directory of their own, without a trace in this one: `build.sh DIRECTORY`. Needs Coq 8.16
# (`apt-get install coq`). Fails if a proof is wrong or missing, if one rests on an axiom, or if a statement is not the
# one in statements.txt. The statements as Coq prints them are in DIRECTORY/statements.txt afterwards.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
files="Automaton Safety Observer Fence Closure Product Instances Compatible Examples Mediator ObserverPair Check"
files="$files Cancels Settled Oracle OracleCancels Groups SubSessions Late Openings OpeningsCancels OpeningsWithin OracleOpenings"
# shellcheck disable=SC2086
"$from/compile.sh" "$1" $files
cd "$1"
modules=""
names=""
printf 'Set Printing Width 100.\n' >Statements.v
for file in $files; do
    modules="$modules Diamond.$file"
    printf 'From Diamond Require Import %s.\n' "$file" >>Statements.v
    for name in $(sed -nE 's/^ *(Theorem|Corollary|Example) ([A-Za-z_]+).*/\2/p' "$file.v"); do
        names="$names $file.$name"
    done
done
for name in $names; do
    printf 'Check @%s.\n' "$name" >>Statements.v
done
coqc -q -Q . Diamond Statements.v >statements.txt
diff "$from/statements.txt" statements.txt >&2 ||
    { echo "proofs/statements.txt differs from what Coq prints" >&2; exit 1; }
# The kernel of Coq checks everything again, and says what it rests on.
# shellcheck disable=SC2086
coqchk -silent -o -Q . Diamond $modules >summary.txt 2>&1 || { cat summary.txt >&2; exit 1; }
if ! grep -q 'Axioms: <none>' summary.txt; then
    cat summary.txt >&2
    echo "the proofs rest on an axiom" >&2
    exit 1
fi
