//! The example `eras`, as a user runs it.

use std::process::Command;

use integration_tests::example::program;

const SAID: &str = "greet: Hello, Ada!\n\
    learn: I can dance now.\n\
    count: one, two, three\n\
    climb: 1, 2, 3, I am on the roof.\n\
    tools: greet, learn, count, climb, write, dance\n\
    note: buy bread\n";

#[test]
fn the_same_program_speaks_in_both_eras() {
    let output = Command::new(program("eras")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("desk in 2026-07-28\n{SAID}desk in 2025-11-25\n{SAID}"));
    assert!(output.status.success());
}

#[test]
fn the_client_finds_out_what_its_server_speaks() {
    let output =
        Command::new(program("eras")).arg("call").arg(program("eras")).arg("serve").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("desk in 2026-07-28\n{SAID}"));
    // The tools of this server are others, and it has a handshake.
    let output = Command::new(program("eras")).arg("call").arg(program("revisions")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no tool is called `greet`"), "{said}");
}
