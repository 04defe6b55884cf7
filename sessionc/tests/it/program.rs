//! `sessionc`, run in a folder of a test's own.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An empty folder, below the one that Cargo gives to tests. No two tests have the same name for it.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Runs with a text on standard input, whatever the environment says of colours: exit code, standard output and standard
/// error.
pub(crate) fn run_with(folder: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.args(arguments).current_dir(folder).spawn().unwrap();
    // A command that does not read it has closed the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The same with nothing on standard input.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    run_with(folder, arguments, "")
}

/// The names of the commands in the help of the program. What a line has no room for stands further to the right.
pub(crate) fn commands_of(help: &str) -> Vec<&str> {
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let lines = commands.lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_whitespace().next()).collect()
}
