//! `examples/observer`: a proxy that reports what breaks the protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use integration_tests::example::program;

/// What the proxy passes on, and what it reports: for lines of a client, for `initialize`, and for lines that follow its
/// answer.
fn observed(before: &[&str], after: &[&str]) -> (String, String) {
    let mut proxy = Command::new(program("observer"))
        .arg(program("quickstart"))
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = proxy.stdin.take().unwrap();
    let mut passed_on = BufReader::new(proxy.stdout.take().unwrap());
    let (mut output, mut reported) = (String::new(), String::new());
    for line in before.iter().chain([&INITIALIZE]) {
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        passed_on.read_line(&mut output).unwrap();
    }
    input.write_all(format!("{}\n", after.join("\n")).as_bytes()).unwrap();
    drop(input);
    passed_on.read_to_string(&mut output).unwrap();
    proxy.stderr.take().unwrap().read_to_string(&mut reported).unwrap();
    assert!(proxy.wait().unwrap().success(), "{output} {reported}");
    (output, reported)
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[test]
fn a_session_that_follows_the_protocol_is_passed_on_without_a_word() {
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"progressToken":7}}}"#;
    let (passed_on, reported) = observed(&[], &[INITIALIZED, "", call]);
    assert_eq!(passed_on.lines().count(), 2, "{passed_on}");
    assert!(passed_on.lines().any(|line| line.contains(r#""id":2"#) && line.contains("hi")), "{passed_on}");
    assert_eq!(reported, "observer: the session ended in Active\n");
}

#[test]
fn each_mistake_is_reported_once() {
    let early = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
    let (_, reported) = observed(
        &[early],
        &[
            INITIALIZED,
            "not JSON",
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/listen"}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":6,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
        ],
    );
    let reported: Vec<&str> = reported.lines().collect();
    let expected = [
        "`tools/list` is not permitted in `Uninit`",
        "malformed message: the message is not JSON",
        "`tools/listen` is not a method that the client sends",
        "`resources/subscribe` needs the capability `resources.subscribe`",
        "`notifications/initialized` is a notification: send it without an `id`",
        "`tools/list` is a request: send it with an `id`",
        "`ping` has the id 1, which the client has used before",
        "malformed message: `id` must be a string or a whole number",
        "malformed message with the id 6: `method` must be a string",
        "malformed message with the id 7: the message has neither `method` nor `result` nor `error`",
    ];
    assert_eq!(reported.len(), expected.len() + 1, "{reported:#?}");
    for (report, expected) in reported.iter().zip(expected) {
        assert!(report.starts_with(&format!("observer: Client: {expected}")), "{report}");
    }
}
