//! What is built once.

use std::collections::{BTreeMap, BTreeSet};
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

/// What CI sets of the profile holds for the macro and what it needs as well, or all of that is built twice.
#[test]
fn ci_builds_what_macros_need_like_everything_else() {
    let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/run")).unwrap();
    let set: BTreeSet<&str> =
        script.split_whitespace().filter(|word| word.starts_with("CARGO_PROFILE_DEV_")).collect();
    let (of_macros, of_all): (BTreeSet<String>, BTreeSet<String>) = {
        let own = set.iter().filter_map(|word| word.strip_prefix("CARGO_PROFILE_DEV_BUILD_OVERRIDE_"));
        let all = set.iter().filter_map(|word| word.strip_prefix("CARGO_PROFILE_DEV_"));
        let all = all.filter(|word| !word.starts_with("BUILD_OVERRIDE_"));
        (own.map(str::to_owned).collect(), all.map(str::to_owned).collect())
    };
    assert!(!of_all.is_empty(), "{set:?}");
    assert_eq!(of_macros, of_all, "set `CARGO_PROFILE_DEV_BUILD_OVERRIDE_…` to the same in .ci/run");
}

/// The packages of a lock file that come from no registry, each with the names of those that it needs.
fn local_packages(lock: &str) -> impl Iterator<Item = (&str, BTreeSet<&str>)> {
    let packages = lock.split("\n[[package]]\n").skip(1).filter(|package| !package.contains("\nsource = "));
    packages.map(|package| {
        let name = package.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"');
        let needed = package.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
        // Where there are several versions, the one that is meant stands behind the name.
        (name, needed.map(|needed| needed.split(' ').next().unwrap()).collect())
    })
}

/// The benchmarks and the fuzz targets are workspaces of their own, which no other test builds: a dependency that a crate
/// gets is to stand in their lock files as well.
#[test]
fn the_lock_files_of_other_workspaces_have_what_the_crates_need() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let ours = std::fs::read_to_string(format!("{root}/Cargo.lock")).unwrap();
    let ours: BTreeSet<&str> = local_packages(&ours).map(|(name, _)| name).collect();
    // Of each package, once.
    let mut trees: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for workspace in ["benches", "mcp-protocol-compiler/fuzz", "mcp-runtime/fuzz"] {
        let lock = std::fs::read_to_string(format!("{root}/{workspace}/Cargo.lock")).unwrap();
        let shared: Vec<_> = local_packages(&lock).filter(|(name, _)| ours.contains(name)).collect();
        assert!(!shared.is_empty(), "{workspace}");
        for (name, locked) in shared {
            let needed = trees.entry(name.to_owned()).or_insert_with(|| {
                let edges =
                    ["--package", name, "--no-default-features", "--depth", "1", "--edges", "normal,build"];
                let packages = tree(&edges).into_iter().skip(1);
                packages.map(|package| package.split(' ').next().unwrap().to_owned()).collect()
            });
            for needed in needed.iter() {
                assert!(
                    locked.contains(needed.as_str()),
                    "`{name}` needs `{needed}`, which {workspace}/Cargo.lock does not have: \
                     run `cargo metadata --manifest-path {workspace}/Cargo.toml`, which writes it"
                );
            }
        }
    }
}
