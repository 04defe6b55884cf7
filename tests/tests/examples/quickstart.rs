//! The quickstart example as a newcomer runs it: what it prints, and how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]
#![allow(missing_docs)]

use std::process::{Command, Stdio};

/// How a run of the example ended, and what it printed.
struct Run {
    code: Option<i32>,
    output: String,
    errors: String,
}

fn run(arguments: &[&str]) -> Run {
    let mut command = Command::new(integration_tests::example::program("quickstart"));
    let output = command.args(arguments).stdin(Stdio::null()).output().expect("the example starts");
    let text = |bytes| String::from_utf8(bytes).expect("the example prints text");
    Run { code: output.status.code(), output: text(output.stdout), errors: text(output.stderr) }
}

/// The lines, but for two. A task of its own prints the notification, which stands wherever it happens to come; and
/// the last line says what it took to end the server, which a machine that is very busy may have to ask twice.
fn steady(output: &str) -> String {
    let (told, mut rest): (Vec<&str>, Vec<&str>) =
        output.lines().partition(|line| line.contains("notification"));
    assert_eq!(told, ["│   notification           the server's tools have changed"]);
    let place = |words: &str| output.lines().position(|line| line.contains(words));
    assert!(
        place("approval") < place("notification") && place("notification") < place("resources/list"),
        "{output}"
    );
    let last = rest.pop().unwrap_or_default();
    assert!(last.starts_with("│   server                 the peer's process has ended ("), "{last}");
    rest.join("\n")
}

/// The states, in the order in which they are printed.
fn states(output: &str) -> Vec<&str> {
    output.lines().filter_map(|line| line.strip_prefix("● ")).collect()
}

#[test]
fn a_session_with_its_own_server() {
    let run = run(&["--approve", "yes"]);
    assert_eq!((run.code, run.errors.as_str()), (Some(0), ""));
    assert_eq!(states(&run.output), ["Uninit", "AwaitingResult", "AwaitingNotif", "Active", "closed"]);
    insta::assert_snapshot!(steady(&run.output), @r"
    ● Uninit
    ● AwaitingResult
    ● AwaitingNotif
    │   server                 quickstart-desk 1.0.0
    │   revision               2025-11-25
    ● Active
    │   tools/list             echo, shout, ask_model
    │   tools/call echo        hello
    │   tools/call shout       HELLO AGAIN
    │   sampling request       What is a session type?
    │   approval               granted
    │   tools/call ask_model   the model `no-model-at-all` says: A contract for a conversation.
    │   resources/list         desk://notebook
    │   resources/read         Buy milk.
    │                          Prove the diamond.
    │   prompts/list           summary
    │   prompts/get summary    Sum up desk://notebook in a line.
    ● closed
    ");
}

#[test]
fn a_denied_request_is_an_answer_too() {
    let run = run(&["--approve", "no"]);
    assert_eq!((run.code, run.errors.as_str()), (Some(0), ""));
    assert_eq!(states(&run.output), ["Uninit", "AwaitingResult", "AwaitingNotif", "Active", "closed"]);
    insta::assert_snapshot!(steady(&run.output), @r"
    ● Uninit
    ● AwaitingResult
    ● AwaitingNotif
    │   server                 quickstart-desk 1.0.0
    │   revision               2025-11-25
    ● Active
    │   tools/list             echo, shout, ask_model
    │   tools/call echo        hello
    │   tools/call shout       HELLO AGAIN
    │   sampling request       What is a session type?
    │   approval               denied
    │   tools/call ask_model   no answer: the peer refused the request: the user denied the request (code -1)
    │   resources/list         desk://notebook
    │   resources/read         Buy milk.
    │                          Prove the diamond.
    │   prompts/list           summary
    │   prompts/get summary    Sum up desk://notebook in a line.
    ● closed
    ");
}

#[test]
fn the_end_of_input_means_no() {
    let run = run(&[]);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert!(run.output.contains("approval               denied"), "{}", run.output);
}

#[test]
fn another_server_by_its_command() {
    let program = integration_tests::example::program("quickstart");
    let run = run(&["--approve", "yes", program.to_str().unwrap(), "--serve"]);
    assert_eq!((run.code, run.errors.as_str()), (Some(0), ""));
    assert_eq!(states(&run.output), ["Uninit", "AwaitingResult", "AwaitingNotif", "Active", "closed"]);
}

/// Runs the example against something that is not an MCP server, and gives the reason that it prints.
fn reason(command: &[&str]) -> String {
    let run = run(command);
    assert_eq!(run.code, Some(1), "{command:?}: {}{}", run.output, run.errors);
    assert!(!states(&run.output).contains(&"Active"), "{command:?}: {}", run.output);
    let told = run.errors.strip_prefix("quickstart: ").and_then(|line| line.strip_suffix('\n'));
    told.filter(|told| !told.contains('\n'))
        .unwrap_or_else(|| panic!("{command:?}: {}", run.errors))
        .to_owned()
}

#[test]
fn a_command_that_is_not_there() {
    let reason = reason(&["no-such-program-anywhere"]);
    insta::assert_snapshot!(reason, @"cannot start `no-such-program-anywhere`: No such file or directory (os error 2) (no directory in `PATH` has a program `no-such-program-anywhere`: install it, or write the path to it)");
}

#[test]
fn a_command_that_ends_at_once() {
    for (command, status) in
        [(&["true"][..], 0), (&["sh", "-c", "exit 3"], 3), (&["sh", "-c", "echo hello; exit 4"], 4)]
    {
        let reason = reason(command);
        assert!(
            reason.starts_with("the command does not behave like an MCP server on its standard streams: "),
            "{reason}"
        );
        // A machine that is very busy may see the broken pipe long before it sees the exit.
        let told = reason.contains(&format!("the peer's process has ended (exit status: {status})"));
        assert!(told || reason.contains("Broken pipe"), "{reason}");
    }
}

#[test]
fn a_command_that_says_it_again() {
    insta::assert_snapshot!(reason(&["cat"]), @"the command does not behave like an MCP server on its standard streams: the peer refused the request: `initialize` is not permitted in `AwaitingResult`: the server never sends it, it may send the result of `initialize`, the error for `initialize` or `ping` now (rule L1, must) (code -32600)");
}

#[test]
fn a_command_that_answers_something_else() {
    let answer = |message: &str| reason(&["sh", "-c", "read line; echo \"$0\"; cat > /dev/null", message]);
    insta::assert_snapshot!(answer(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#), @"the command does not behave like an MCP server on its standard streams: the peer does not say which version it speaks, and this side accepts `2024-11-05` or `2025-03-26` or `2025-06-18` or `2025-11-25`: list others with `Options::revisions`");
    insta::assert_snapshot!(
        answer(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no such method"}}"#),
        @"the command does not behave like an MCP server on its standard streams: the peer refused the request: no such method (code -32601)"
    );
    let old = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2023-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}"#;
    insta::assert_snapshot!(answer(old), @"the command does not behave like an MCP server on its standard streams: the peer speaks version `2023-11-05`, and this side accepts `2024-11-05` or `2025-03-26` or `2025-06-18` or `2025-11-25`: list others with `Options::revisions`");
}

#[test]
fn what_cannot_be_understood_on_the_command_line() {
    for (arguments, words) in [
        (&["--approve"][..], "`--approve` takes `yes` or `no`"),
        (&["--approve", "maybe"], "`--approve` takes `yes` or `no`, not `maybe`"),
        (&["--nothing"], "unknown flag `--nothing`"),
    ] {
        let run = run(arguments);
        assert_eq!((run.code, run.output.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(
            run.errors,
            format!("quickstart: {words}\nusage: quickstart [--approve yes|no] [COMMAND…]\n")
        );
    }
}
