//! The example `coding_agent` as a newcomer runs it.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::process::{Command, Stdio};

#[test]
fn the_editor_talks_to_an_agent_of_its_own() {
    let mut command = Command::new(integration_tests::example::program("coding_agent"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    let [conversation, work, read, run, result, end] = lines[..] else { panic!("{printed}") };
    assert_eq!(conversation, "the conversation is conversation-0");
    assert_eq!(work, "the agent says: I count the words of your notes, and look for your compiler.");
    assert_eq!([read, run], ["the agent may: Read notes.txt", "the agent may: Run rustc --version"]);
    assert!(
        result.starts_with("the agent says: Your notes have 6 words. Your compiler is rustc 1."),
        "{result}"
    );
    assert_eq!(end, "the turn is over: EndTurn");
    assert!(output.status.success());
}
