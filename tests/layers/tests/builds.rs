//! What is built once.

use std::collections::BTreeSet;
use std::process::Command;

/// The packages that `cargo tree` prints, with their versions: those that it prints more than once as well, if they are
/// built several times.
fn tree(arguments: &[&str]) -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}"]).args(arguments);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    // Behind the version there may be a path.
    let packages = printed.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "));
    packages.filter(|package| !package.is_empty()).collect()
}

/// The macro is built for the compiler of Rust, and everything else for the machine that runs it. Cargo shares the compiler
/// of protocols between both as long as they turn on the same features of what it needs.
#[test]
fn the_compiler_of_protocols_is_built_once_for_the_macro_and_for_everything_else() {
    let needed: BTreeSet<String> =
        tree(&["--package", "mcp-protocol-compiler", "--edges", "normal,build"]).into_iter().collect();
    assert!(needed.iter().any(|package| package.starts_with("syn ")), "{needed:?}");
    let several = tree(&["--workspace", "--duplicates", "--depth", "0", "--edges", "normal,build,dev"]);
    let mut seen = BTreeSet::new();
    let twice: Vec<&String> =
        several.iter().filter(|package| !seen.insert(*package) && needed.contains(*package)).collect();
    assert!(
        twice.is_empty(),
        "{twice:?} are built twice, and so is the compiler: \
         `cargo tree --workspace --duplicates --depth 0 --format '{{p}} {{f}}'` shows with which features. \
         Turn on those of both under `[workspace.dependencies]`"
    );
}
