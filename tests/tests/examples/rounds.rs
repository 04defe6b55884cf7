//! The example `rounds`, as a user runs it.

use std::process::Command;

use integration_tests::example::program;

#[test]
fn the_user_is_asked_and_hears_of_a_new_tool() {
    let output = Command::new(program("rounds")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        "revisions: 2026-07-28\n\
         greet: Hello, Ada!\n\
         learn: I can dance now.\n\
         count: one, two, three\n\
         tools: greet, learn, count, dance\n"
    );
    assert!(output.status.success());
}
