//! The program that the proofs are extracted to.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is said of two roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Accepted,
    /// Not dual, or not compatible.
    Unrelated,
    Races,
}

/// What an exploration of a few configurations finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Explored {
    Safe,
    Unsafe,
    Neither,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    /// Of dual roles: whether the closed automaton is deterministic and has the diamond.
    pub(crate) one: Option<bool>,
    pub(crate) explored: Explored,
}

pub(crate) struct Oracle {
    program: PathBuf,
}

/// How many configurations are explored.
const WORLDS: &str = "60";

impl Oracle {
    /// Builds the program; its proofs are checked on the way.
    pub(crate) fn build(directory: &Path) -> Oracle {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../proofs/oracle/build.sh");
        let built = Command::new("sh").arg(script).arg(directory).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Oracle { program: directory.join("oracle") }
    }

    /// The answers for pairs of roles, each in a line.
    pub(crate) fn ask(&self, lines: &[String]) -> Vec<Answer> {
        let mut child = Command::new(&self.program)
            .arg(WORLDS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, text) = (child.stdin.take().unwrap(), lines.join("\n") + "\n");
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).unwrap();
        let answers: Vec<Answer> = said.lines().zip(lines).map(|(said, line)| answer(said, line)).collect();
        assert_eq!(answers.len(), lines.len());
        answers
    }
}

fn answer(said: &str, line: &str) -> Answer {
    let [verdict, one, explored] = said.as_bytes() else { panic!("`{said}` for {line}") };
    Answer {
        verdict: match verdict {
            b'A' => Verdict::Accepted,
            b'U' => Verdict::Unrelated,
            b'R' => Verdict::Races,
            _ => panic!("the oracle does not decide {line}"),
        },
        one: match one {
            b'y' => Some(true),
            b'n' => Some(false),
            _ => None,
        },
        explored: match explored {
            b's' => Explored::Safe,
            b'u' => Explored::Unsafe,
            _ => Explored::Neither,
        },
    }
}
