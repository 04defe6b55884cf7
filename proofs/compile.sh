#!/bin/sh
# Compiles the proofs in a directory of their own, without a trace in this one: `compile.sh DIRECTORY FILE…`, each file
# after those that it needs. What is compiled there already, and needs nothing that has changed, is left as it is. Needs
# Coq 8.16 (`apt-get install coq`), and `flock`, with which a second run waits for the first.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
shift
exec 9>lock
flock 9
# What one version of Coq has compiled, another one does not read.
coqc --version >version.new
cmp -s version.new version || rm -f ./*.vo
mv version.new version

current=" "
for file in "$@"; do
    if ! [ -f "$file.vo" ] || ! cmp -s "$from/$file.v" "$file.v"; then
        # Everything else may need this file.
        for compiled in *.vo; do
            case $current in *" ${compiled%.vo} "*) ;; *) rm -f "$compiled" ;; esac
        done
        cp "$from/$file.v" .
        coqc -q -Q . Diamond "$file.v"
    fi
    current="$current$file "
done
