//! `sessionc check` says of random protocols what the compiler says of them. The texts are those that the compiler's
//! oracle judges, `mcp-protocol-compiler/tests/verified`.

#![allow(clippy::unwrap_used, reason = "tests say what they expect by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{Settings, compile_with};

use crate::random::Random;
use crate::texts;

const CASES: u64 = 300;

/// What the command says of the texts with these seeds is what the compiler says; how many of them are accepted.
fn accepted(seeds: impl Iterator<Item = u64>, file: &Path) -> u64 {
    let mut accepted = 0;
    for seed in seeds {
        let (text, _) = texts::write(&mut Random::new(seed));
        let compilation = compile_with(
            Path::new("random.session"),
            &mut |_| Ok(text.as_bytes().to_vec()),
            Settings::default().without_tries(true),
        )
        .unwrap();
        let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        let expected: Vec<&str> = errors.map(|found| found.code.0).collect();
        fs::write(file, &text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_sessionc")).arg("check").arg(file).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let codes: Vec<&str> =
            said.split("error[").skip(1).filter_map(|rest| rest.split(']').next()).collect();
        assert_eq!(codes, expected, "seed {seed}: {said}\n{text}");
        assert_eq!(
            output.status.code(),
            Some(i32::from(!expected.is_empty())),
            "seed {seed}: {said}\n{text}"
        );
        accepted += u64::from(expected.is_empty());
    }
    accepted
}

/// This runs last in this program and takes long, so the texts are shared out to the processors.
#[test]
fn the_command_says_of_a_text_what_the_compiler_says() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("verdicts");
    fs::create_dir_all(&directory).unwrap();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let accepted: u64 = thread::scope(|scope| {
        let share = |first: usize| {
            let file = directory.join(format!("random_{first}.session"));
            scope.spawn(move || accepted((0..CASES).skip(first).step_by(threads), &file))
        };
        let running: Vec<_> = (0..threads).map(share).collect();
        running.into_iter().map(|share| share.join().unwrap()).sum()
    });
    assert!(accepted * 4 > CASES && accepted * 4 < 3 * CASES, "{accepted} of {CASES} are accepted");
}
