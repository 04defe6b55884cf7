//! Recordings that follow their protocol, and mistakes that are planted in them.

use serde_json::json;

use super::command::{is, line_of, messages, recorded, sessionc, trace, trace_with, written};

/// Recordings that follow the protocol from their first message to their last.
pub(crate) const CONFORMING: [&str; 6] = [
    "real-ts240-se",
    "real-py230-se",
    "whole-2025-03-26",
    "whole-2025-11-25",
    "2026-07-28/rounds-ts240",
    "2026-07-28/rounds-py230",
];

#[test]
fn recordings_that_follow_their_protocol_are_clean() {
    for name in CONFORMING {
        let found = trace_with(&["--fail-on", "should"], recorded(name));
        assert_eq!((found.code, found.places()), (0, Vec::new()), "{name}");
        assert_eq!(found.unobserved(), [""; 0], "{name}");
        assert_eq!(found.summary["sessions"], 1, "{name}");
        let revision = match name {
            "whole-2025-03-26" => "Mcp 2025-03-26",
            name if name.starts_with("2026") => "Mcp 2026-07-28",
            _ => "Mcp 2025-11-25",
        };
        assert_eq!(found.summary["revisions"], json!({ revision: 1 }), "{name}");
    }
}

#[test]
fn every_mistake_that_was_recorded_is_named_at_its_line() {
    let path = "tests/traffic/everything-violations.jsonl";
    let run = sessionc(&["trace", "--protocol", "mcp", path], b"");
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    insta::assert_snapshot!(run.out);
}

#[test]
fn the_recordings_that_end_badly_have_one_finding_each() {
    for (name, line, code, exit) in [
        // The client leaves while a call runs.
        ("cancel-py130", 12, "unanswered", 0),
        ("everything-full", 78, "method", 1),
        ("2026-07-28/modern-ts240", 6, "shape", 1),
    ] {
        let found = trace(recorded(name));
        assert_eq!((found.code, found.places()), (exit, vec![(line, code.to_owned())]), "{name}");
    }
}

#[test]
fn a_finding_says_all_that_is_needed_to_mend_it() {
    let mut log = messages("whole-2025-11-25");
    let call = line_of(&log, is("tools/call"));
    log[call - 1].1["params"].as_object_mut().unwrap().remove("name");
    let found = trace(written(&log));
    let expected = json!({
        "kind": "finding",
        "file": "<stdin>",
        "line": call,
        "entry": null,
        "code": "shape",
        "level": "must",
        "rule": null,
        "blame": "client",
        "state": "Active",
        "expected": ["a string at `name`"],
        "got": format!("`tools/call` with the id {}: nothing at `name`", log[call - 1].1["id"]),
        "message": "`tools/call` does not have its shape: name: expected a string, found nothing",
        "hint": "add `name` to the payload",
    });
    assert_eq!(found.findings, [expected]);
}

#[test]
fn a_capability_that_was_not_announced_is_missed_once() {
    let mut log = messages("whole-2025-11-25");
    let hello = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
    log[hello - 1].1["result"]["capabilities"].as_object_mut().unwrap().remove("prompts");
    let found = trace(written(&log));
    let methods: Vec<&str> = found.findings.iter().map(|finding| finding["got"].as_str().unwrap()).collect();
    assert!(methods.iter().all(|got| got.contains("prompts/")), "{methods:?}");
    assert!(found.places().iter().all(|(_, code)| code == "capability"), "{found:?}");
    let first =
        line_of(&log, |message| message["method"].as_str().is_some_and(|it| it.starts_with("prompts/")));
    assert_eq!(found.lines()[0], first as u64);
}

#[test]
fn a_handshake_that_never_ends_is_one_finding() {
    let mut log = messages("whole-2025-11-25");
    let initialized = line_of(&log, is("notifications/initialized"));
    log.remove(initialized - 1);
    let found = trace(written(&log));
    assert_eq!(found.places(), [(found.lines()[0], "missing".to_owned())], "{found:?}");
    let finding = &found.findings[0];
    assert_eq!((&finding["rule"], &finding["level"]), (&json!("L4"), &json!("must")));
    assert_eq!(finding["blame"], "client");
    // Where it comes late, what came before it is early.
    let late = line_of(&log, is("roots/list"));
    log.insert(late, (true, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })));
    let found = trace(written(&log));
    let early = found.findings.iter().map(|finding| (finding["code"].as_str(), finding["blame"].as_str()));
    assert_eq!(early.collect::<Vec<_>>(), [(Some("order"), Some("server"))], "{found:?}");
    assert!(found.lines()[0] <= late as u64, "{found:?}");
}

#[test]
fn a_client_that_leaves_after_the_first_answer_is_clean() {
    let log: Vec<_> = messages("real-ts240-se").into_iter().take(2).collect();
    assert_eq!(trace(written(&log)).places(), []);
}

#[test]
fn progress_that_decreases_or_goes_on_after_the_reply_is_found() {
    let report = |progress: f64| {
        let params = json!({ "progressToken": "p", "progress": progress });
        (false, json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
    };
    let mut log: Vec<_> = messages("cancel-py130").into_iter().take(4).collect();
    let reply = json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [] } });
    log.extend([report(1.0), report(2.0), report(1.5), report(1.5), (false, reply), report(3.0)]);
    let found = trace(written(&log));
    let expected = [(7, "must"), (8, "should"), (10, "must")];
    let levels = found.findings.iter().map(|finding| finding["level"].as_str().unwrap());
    let got: Vec<_> = found.lines().into_iter().zip(levels).collect();
    assert_eq!(got, expected, "{found:?}");
    assert!(found.places().iter().all(|(_, code)| code == "progress"));
    assert!(found.findings[2]["message"].as_str().unwrap().contains("in line 9"), "{found:?}");
}

#[test]
fn a_cancel_that_names_no_request_is_told_where_to_name_it() {
    let mut log: Vec<_> = messages("cancel-py130").into_iter().take(4).collect();
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {} });
    log.insert(4, (true, cancel));
    let found = trace(written(&log));
    let finding = found.findings.iter().find(|finding| finding["line"] == 5).unwrap();
    assert_eq!(finding["hint"], "put the id of the running request at `requestId`");
}

#[test]
fn what_is_the_same_again_is_counted() {
    let mut log = messages("real-ts240-se");
    let wrong = (true, json!({ "jsonrpc": "2.0", "method": "notifications/nope" }));
    let end = log.len() as u64;
    log.extend([wrong.clone(), wrong.clone(), wrong]);
    let found = trace(written(&log));
    assert_eq!(found.lines(), [end + 1]);
    assert_eq!(found.summary["again"], json!([{ "line": end + 1, "count": 2, "last": end + 3 }]));
}

#[test]
fn what_is_the_same_again_in_one_line_has_one_order() {
    let mut log = messages("real-ts240-se");
    for count in 2..8 {
        let wrong = (true, json!({ "jsonrpc": "2.0", "method": format!("notifications/nope{count}") }));
        log.extend(std::iter::repeat_n(wrong, count));
    }
    let found = trace(format!("[{}]\n", written(&log).trim_end().replace('\n', ",")));
    let again = found.summary["again"].as_array().unwrap();
    assert_eq!(again.iter().map(|again| &again["count"]).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_file_of_a_protocol_judges_as_well() {
    let log = "{\"dir\":\"c2s\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"counter/total\"}}\n\
               {\"dir\":\"c2s\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"counter/open\",\"params\":{\"name\":\"a\"}}}\n\
               {\"dir\":\"s2c\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"count\":0}}}\n";
    let run = sessionc(&["trace", "examples/counter/counter.session", "-"], log.as_bytes());
    assert_eq!((run.code, run.err.as_str()), (1, ""), "{}", run.out);
    insta::assert_snapshot!(run.out);
}

#[test]
fn a_request_is_cancelled_once() {
    let mut log: Vec<_> = messages("cancel-py130").into_iter().take(3).collect();
    let call = json!({ "jsonrpc": "2.0", "id": 40, "method": "tools/list" });
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 40 } });
    let reply = json!({ "jsonrpc": "2.0", "id": 40, "result": { "tools": [] } });
    // The reply may cross the first cancel, and the cancel may cross the reply.
    log.extend([(true, call.clone()), (true, cancel.clone()), (false, reply.clone())]);
    assert_eq!(trace(written(&log)).places(), []);
    let crossed = [&log[..4], &[(false, reply), (true, cancel.clone())]].concat();
    assert_eq!(trace(written(&crossed)).places(), []);
    for place in [5, 6] {
        let mut log = log.clone();
        log.insert(place, (true, cancel.clone()));
        let found = trace(written(&log));
        assert_eq!(found.places(), [(place as u64 + 1, "correlation".to_owned())], "{found:#?}");
        let finding = &found.findings[0];
        let message =
            "`notifications/cancelled` names the id 40, which the client has cancelled before, in line 5";
        assert_eq!((&finding["message"], &finding["blame"]), (&json!(message), &json!("client")));
        assert_eq!(finding["hint"], "cancel each request once");
    }
}
