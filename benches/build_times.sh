#!/usr/bin/env bash
# How long it takes to build the smallest server with this project's `mcp-kit`, and with `rmcp`: the same tool, from nothing
# and after an edit of its description, of which the best of three counts. Prints a table for README.md: seconds, and seconds
# of CPU, which other programs disturb less. The crates are downloaded first, at the versions of the lock files; what is
# measured needs no network. A folder in TMPDIR is filled and removed again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
EDITS=3

# package NAME SOURCE LOCK DEPENDENCIES: a package outside all workspaces, as a user has it.
package() {
    mkdir -p "$work/$1/src"
    cp "$2" "$work/$1/src/main.rs"
    cp "$3" "$work/$1/Cargo.lock"
    printf '[package]\nname = "adder"\nversion = "1.0.0"\nedition = "2024"\n\n[dependencies]\n%s\n' "$4" >"$work/$1/Cargo.toml"
    # The lock file keeps the versions and loses what this package does not need.
    (cd "$work/$1" && cargo fetch --quiet)
}

# Builds, and leaves the seconds that passed in `wall` and those of all processors in `cpu`.
build() {
    local TIMEFORMAT='%R %U %S' took
    took=$( { time cargo build --quiet --offline --locked 2>"$work/said"; } 2>&1 ) || { cat "$work/said" >&2; exit 1; }
    read -r wall user system <<<"$took"
    cpu=$(awk "BEGIN { print $user + $system }")
}

measure() (
    cd "$work/$1"
    unset CARGO_TARGET_DIR
    # A user's dependencies are not built incrementally. Those that are found by a path would be.
    export CARGO_INCREMENTAL=0
    build
    cold="$wall s | $cpu s"
    export CARGO_INCREMENTAL=1
    build
    least=
    for edit in $(seq "$EDITS"); do
        sed -i "s|/// Adds .*|/// Adds two numbers, edit $edit|" src/main.rs
        build
        if [ -z "$least" ] || awk "BEGIN { exit !($cpu < $least) }"; then
            least=$cpu
            edited="$wall s | $cpu s"
        fi
    done
    # The package itself is in the list.
    crates=$(cargo tree --offline --locked -e normal --prefix none | sed 's/ (\*)$//' | sort -u | wc -l)
    printf '| %s | %s | %s | %s |\n' "$2" $((crates - 1)) "$cold" "$edited"
)

package ours "$here/../examples/adder/main.rs" "$here/../Cargo.lock" "mcp-kit = { path = \"$here/../kit\" }
schemars = \"1\"
serde = { version = \"1\", features = [\"derive\"] }"
package rmcp "$here/examples/adder.rs" "$here/Cargo.lock" 'rmcp = { version = "3", features = ["transport-io"] }
serde = { version = "1", features = ["derive"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }'

echo '| the same server with | dependencies | from nothing | – CPU | after an edit | – CPU |'
echo '|---|---|---|---|---|---|'
measure ours '`mcp-kit`'
measure rmcp '`rmcp`'
