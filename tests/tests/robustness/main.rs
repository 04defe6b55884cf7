//! What must hold of the runtime whatever a peer sends: the targets that are fuzzed, run on their corpora and on random
//! inputs.
//!
//! `ROBUSTNESS_CASES` is how many random inputs each target gets, and `ROBUSTNESS_SEED` where they begin. An input that
//! fails is printed as a file that `mcp-runtime/fuzz` can take.

#[path = "../../../mcp-protocol-compiler/tests/metamorphic/channel.rs"]
#[allow(dead_code, reason = "the compiler's test uses the rest")]
mod channel;
mod choices;
#[path = "../../../mcp-protocol-compiler/tests/metamorphic/placed.rs"]
#[allow(dead_code, reason = "the compiler's test uses the rest")]
mod placed;
#[path = "../../../mcp-protocol-compiler/tests/checker/random.rs"]
#[allow(dead_code, reason = "the checker's oracle uses the rest")]
mod random;
mod random_sessions;
mod readers;
mod session;
mod streams;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use integration_tests::http::{test_server, wire};
use random::Random;

type Target = fn(&[u8]);

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |value| value.parse().expect("a number"))
}

/// The inputs that are kept for a target.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-runtime/fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// Random bytes, the same in every run of one seed. Small numbers are as likely as all others together, for they choose.
fn random(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let length = random.below(512);
    (0..length)
        .map(|_| {
            let bound = if random.percent(50) { 16 } else { 256 };
            u8::try_from(random.below(bound)).unwrap()
        })
        .collect()
}

fn check(name: &str, target: Target, cases: u64) {
    let kept = corpus(name);
    assert!(!kept.is_empty(), "the corpus of `{name}` is not where it should be");
    for (path, input) in kept {
        eprintln!("{}", path.display());
        target(&input);
    }
    let seed = variable("ROBUSTNESS_SEED", 1);
    for seed in seed..seed + variable("ROBUSTNESS_CASES", cases) {
        let input = random(seed);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            let path = std::env::temp_dir().join(format!("{name}-{seed}"));
            std::fs::write(&path, &input).unwrap();
            eprintln!("`{name}` fails with ROBUSTNESS_SEED={seed}: {}", path.display());
            resume_unwind(panic);
        }
    }
}

#[test]
fn lines() {
    check("lines", readers::lines, 2000);
}

#[test]
fn events() {
    check("events", readers::events, 2000);
}

#[test]
fn sessions() {
    check("session", session::session, 500);
}

#[test]
fn streams_with_cuts() {
    check("streams", streams::streams, 40);
}
