//! One mistake is one finding, whatever follows from it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::command::{Message, is, line_of, messages, trace, trace_of, written};
use crate::program::empty_folder;

const LOGS: [&str; 3] = ["whole-2025-11-25", "2026-07-28/rounds-ts240", "2026-07-28/rounds-py230"];

fn remove(message: &mut Value, key: &str) {
    message.as_object_mut().unwrap().remove(key);
}

/// What is wrong, the code of its finding, and how a message gets it.
type Mistake = (&'static str, &'static str, fn(&mut Value));

/// What can be wrong with a reply, so that it does not end its request.
const OF_REPLIES: [Mistake; 7] = [
    ("an unknown id", "correlation", |reply| reply["id"] = json!(987_654)),
    ("no id at all", "form", |reply| reply["id"] = Value::Null),
    ("an id that is a list", "form", |reply| reply["id"] = json!([1])),
    ("a result and an error", "form", |reply| {
        reply["error"] = json!({ "code": 1, "message": "no" });
        reply["result"] = json!({});
    }),
    ("neither", "form", |reply| {
        remove(reply, "result");
        remove(reply, "error");
    }),
    ("no version", "form", |reply| remove(reply, "jsonrpc")),
    ("another version", "form", |reply| reply["jsonrpc"] = json!("1.0")),
];

/// What can be wrong with a request, so that it is not one.
const OF_REQUESTS: [Mistake; 4] = [
    ("no id", "method", |request| remove(request, "id")),
    ("an id that is null", "form", |request| request["id"] = Value::Null),
    ("an id that is broken", "form", |request| request["id"] = json!(1.5)),
    ("no version", "form", |request| remove(request, "jsonrpc")),
];

/// Requests that are answered, and from which nothing else follows: they begin no session, subscription or task, and report
/// no progress.
fn plain(log: &[Message]) -> Vec<(usize, usize)> {
    let methods = [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "roots/list",
    ];
    let requests = log
        .iter()
        .enumerate()
        .filter(|(_, (_, message))| methods.iter().any(|method| message["method"] == *method));
    let reply = |place: usize| {
        let (side, request) = &log[place];
        let is_it = |(from, message): &Message| {
            from != side && message["method"].is_null() && message["id"] == request["id"]
        };
        log[place..].iter().position(is_it).map(|after| place + after)
    };
    requests.filter_map(|(place, _)| Some((place, reply(place)?))).collect()
}

#[test]
fn a_reply_that_is_not_one_is_one_finding() {
    for name in LOGS {
        let log = messages(name);
        for (_, reply) in plain(&log) {
            for (what, code, spoil) in OF_REPLIES {
                let mut log = log.clone();
                spoil(&mut log[reply].1);
                let found = trace(written(&log));
                let expected = [(reply as u64 + 1, code.to_owned())];
                assert_eq!(found.places(), expected, "{name}: {what}: {found:#?}");
            }
        }
    }
}

#[test]
fn a_request_that_is_not_one_is_one_finding() {
    for name in LOGS {
        let log = messages(name);
        for (request, _) in plain(&log) {
            for (what, code, spoil) in OF_REQUESTS {
                let mut log = log.clone();
                spoil(&mut log[request].1);
                let found = trace(written(&log));
                let expected = [(request as u64 + 1, code.to_owned())];
                assert_eq!(found.places(), expected, "{name}: {what}: {found:#?}");
            }
        }
    }
}

#[test]
fn a_second_mistake_is_named_all_the_same() {
    let mut log = messages("whole-2025-11-25");
    let (first, second) = (plain(&log)[1], plain(&log)[3]);
    log[first.1].1["id"] = Value::Null;
    log[second.1].1["id"] = json!(987_654);
    let expected = [(first.1 as u64 + 1, "form".to_owned()), (second.1 as u64 + 1, "correlation".to_owned())];
    assert_eq!(trace(written(&log)).places(), expected);
    // One reply explains that one request has none.
    let mut log = messages("whole-2025-11-25");
    log[first.1].1["id"] = Value::Null;
    log.remove(second.1);
    let found = trace(written(&log));
    assert_eq!(found.places().len(), 2, "{found:#?}");
}

#[test]
fn a_payload_that_does_not_say_what_it_belongs_to_is_one_finding() {
    let log = messages("whole-2025-11-25");
    let fields = [("notifications/progress", "progressToken"), ("notifications/cancelled", "requestId")];
    for (method, field) in fields.into_iter().chain([("resources/subscribe", "uri")]) {
        // That a cancel names no request is not a mistake of its shape.
        let absent = if method == "notifications/cancelled" { 1 } else { 2 };
        for wrong in [Some(json!([1])), None].into_iter().take(absent) {
            let mut log = log.clone();
            let line = line_of(&log, is(method));
            let params = log[line - 1].1["params"].as_object_mut().unwrap();
            match wrong {
                Some(wrong) => drop(params.insert(field.to_owned(), wrong)),
                None => drop(params.remove(field)),
            }
            let found = trace(written(&log));
            assert_eq!(found.places()[0], (line as u64, "shape".to_owned()), "{found:#?}");
            let others = found.places().into_iter().filter(|(other, _)| *other == line as u64);
            assert_eq!(others.count(), 1, "{found:#?}");
        }
    }
}

#[test]
fn a_token_that_belongs_to_nothing_is_named_once() {
    let mut log = messages("whole-2025-11-25");
    let report = |progress: u64| {
        let params = json!({ "progressToken": "unknown", "progress": progress });
        (false, json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
    };
    let end = log.len() as u64;
    log.extend([report(1), report(2), report(3)]);
    let found = trace(written(&log));
    assert_eq!(found.places(), [(end + 1, "correlation".to_owned())]);
    assert_eq!(found.summary["again"], json!([{ "line": end + 1, "count": 2, "last": end + 3 }]));
}

/// Two calls that ask for progress: with the tokens `2` and `3`.
fn two_calls() -> Vec<Message> {
    let mut log: Vec<_> = messages("cancel-py130").into_iter().take(3).collect();
    log.extend([2, 3].map(|id| {
        let params = json!({ "name": "slow", "_meta": { "progressToken": id } });
        (true, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    }));
    log
}

fn report_on(token: u64, progress: u64) -> Value {
    let params = json!({ "progressToken": token, "progress": progress });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}

fn answer_to(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } })
}

#[test]
fn progress_of_one_request_is_one_finding_of_each_kind() {
    let mut log = two_calls();
    let end = log.len() as u64;
    // Lines 1 to 10: the first stays twice and decreases twice, the other stays.
    let reports = [(2, 5), (2, 5), (2, 5), (2, 4), (2, 3), (3, 1), (3, 1), (3, 1), (2, 9), (2, 9)];
    log.extend(reports.map(|(token, progress)| (false, report_on(token, progress))));
    // Lines 11 to 14: late.
    log.extend([answer_to(2), answer_to(3), report_on(2, 10), report_on(2, 11)].map(|it| (false, it)));
    let found = trace(written(&log));
    let expected = [2, 4, 7, 13].map(|line| (end + line, "progress".to_owned()));
    assert_eq!(found.places(), expected, "{found:#?}");
    let again = |line, count, last| json!({ "line": end + line, "count": count, "last": end + last });
    let expected = json!([again(2, 2, 10), again(4, 1, 5), again(7, 1, 8), again(13, 1, 14)]);
    assert_eq!(found.summary["again"], expected);
}

#[test]
fn progress_in_a_batch_is_judged_as_any_other() {
    let mut log: Vec<_> = two_calls();
    // The first revision that has batches.
    log[0].1["params"]["protocolVersion"] = json!("2025-03-26");
    log[1].1["result"]["protocolVersion"] = json!("2025-03-26");
    let end = log.len() as u64;
    let batch = |messages: &[Value]| (false, json!(messages));
    log.push(batch(&[report_on(2, 1), report_on(3, 1), report_on(2, 1)]));
    log.push(batch(&[report_on(3, 0)]));
    log.push(batch(&[answer_to(2), report_on(2, 2), answer_to(3)]));
    let found = trace(written(&log));
    let expected = [1, 2, 3].map(|line| (end + line, "progress".to_owned()));
    assert_eq!(found.places(), expected, "{found:#?}");
}

#[test]
fn a_subscription_that_was_not_understood_is_one_finding() {
    let log = messages("2026-07-28/rounds-ts240");
    let line = line_of(&log, is("notifications/subscriptions/acknowledged"));
    let mut log = log.clone();
    log[line - 1].1["jsonrpc"] = json!("1.0");
    let found = trace(written(&log));
    assert_eq!(found.places(), [(line as u64, "form".to_owned())], "{found:#?}");
}

#[test]
fn a_session_whose_beginning_was_not_understood_is_judged_all_the_same() {
    let log = messages("whole-2025-11-25");
    let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
    for (what, code, spoil) in OF_REPLIES {
        let mut log = log.clone();
        spoil(&mut log[welcome - 1].1);
        let end = log.len();
        log.push((true, json!({ "jsonrpc": "2.0", "method": "notifications/nope" })));
        let found = trace(written(&log));
        let expected = [(welcome as u64, code.to_owned()), (end as u64 + 1, "method".to_owned())];
        assert_eq!(found.places(), expected, "{what}: {found:#?}");
    }
}

/// Programs log objects to their standard output, too. Nothing after such a line follows from it.
#[test]
fn an_object_that_is_logged_hides_nothing() {
    for logged in [json!({}), json!({ "level": 30, "time": 1, "msg": "ready" })] {
        let mut log = messages("real-ts240-se")[..3].to_vec();
        log.push((false, logged));
        log.push((false, json!({ "jsonrpc": "2.0", "method": "notifications/nope" })));
        let updated = json!({ "uri": "file:///a" });
        log.push((
            false,
            json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": updated }),
        ));
        log[1].1["result"]["capabilities"].as_object_mut().unwrap().remove("resources");
        log.push((true, json!({ "jsonrpc": "2.0", "id": 90, "method": "tools/list" })));
        log.push((false, json!({ "jsonrpc": "2.0", "id": 90, "result": { "tools": [{ "name": "x" }] } })));
        let found = trace(written(&log));
        let expected = [(4, "form"), (5, "method"), (6, "capability"), (8, "shape")];
        assert_eq!(found.places(), expected.map(|(line, code)| (line, code.to_owned())), "{found:#?}");
        let hint = found.findings[0]["hint"].as_str().unwrap();
        assert!(hint.starts_with("if it is a line of a log, write logs to standard error"), "{hint}");
    }
}

#[test]
fn a_reply_to_initialize_that_is_not_there_is_one_finding() {
    for name in ["whole-2025-11-25", "everything-full", "real-py230-se"] {
        let mut log = messages(name);
        let asked = line_of(&log, is("initialize"));
        let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
        let before = trace(written(&log)).places();
        log.remove(welcome - 1);
        let found = trace(written(&log));
        // That it never comes is known at the end.
        let unanswered = (asked as u64, "unanswered".to_owned());
        assert_eq!(found.places().last(), Some(&unanswered), "{name}: {found:#?}");
        assert!(found.places().len() <= before.len() + 1, "{name}: {before:#?} {found:#?}");
        let says = format!("what the reply to `initialize` in line {asked} announces");
        assert!(found.unobserved().iter().any(|what| what.starts_with(&says)), "{name}: {found:#?}");
        // What is wrong afterwards is found all the same.
        log.push((true, json!({ "jsonrpc": "2.0", "method": "notifications/nope" })));
        assert_eq!(trace(written(&log)).places().len(), found.places().len() + 1, "{name}");
    }
}

#[test]
fn a_client_that_goes_on_after_a_refused_initialize_is_one_finding() {
    for name in ["everything-full", "real-py230-se", "real-ts240-se"] {
        let mut log = messages(name);
        let before = trace(written(&log)).places();
        let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
        let reply = log[welcome - 1].1.as_object_mut().unwrap();
        reply.remove("result");
        reply.insert("error".to_owned(), json!({ "code": -32602, "message": "unsupported version" }));
        let found = trace(written(&log));
        let ready = line_of(&log, is("notifications/initialized")) as u64;
        let mut expected = vec![(ready, "order".to_owned())];
        expected.extend(before);
        assert_eq!(found.places(), expected, "{name}: {found:#?}");
        assert!(
            found.unobserved().iter().any(|what| what.contains("has refused to open the session")),
            "{name}"
        );
    }
    // A ping that is refused opens nothing, and a client may try again.
    let mut log = messages("real-ts240-se");
    let ping = json!({ "jsonrpc": "2.0", "id": 77, "method": "ping" });
    let refused =
        |id: Value| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32600, "message": "no" } });
    let mut hello = log[0].1.clone();
    hello["id"] = json!(78);
    let mut tries =
        vec![(true, ping), (false, refused(json!(77))), (true, hello), (false, refused(json!(78)))];
    tries.append(&mut log);
    let found = trace(written(&tries));
    assert_eq!((found.places(), found.unobserved().len()), (vec![], 0), "{found:#?}");
}

#[test]
fn lines_that_follow_one_another_and_are_not_messages_are_one_finding() {
    let log = messages("whole-2025-11-25");
    let (_, reply) = plain(&log)[1];
    let raw = |side: &str, text: &str| json!({ "dir": format!("{side}-raw"), "msg": text }).to_string();
    let found = |raw: &[String]| {
        let mut lines: Vec<String> = written(&log).lines().map(str::to_owned).collect();
        lines.splice(reply..reply, raw.iter().cloned());
        trace(lines.join("\n") + "\n")
    };
    let line = reply as u64 + 1;
    let form = |lines: &[u64]| lines.iter().map(|line| (*line, "form".to_owned())).collect::<Vec<_>>();
    // A message as pretty printers write it, to a server that reads lines.
    let spread = format!("{:#}", json!({ "jsonrpc": "2.0", "method": "ping", "id": 900 }));
    let spread: Vec<String> = spread.lines().map(|line| raw("s2c", line)).collect();
    let all = found(&spread);
    assert_eq!(all.places(), form(&[line]), "{all:#?}");
    let again = json!([{ "line": line, "count": spread.len() - 1, "last": line + spread.len() as u64 - 1 }]);
    assert_eq!(all.summary["again"], again);
    // What may be a message, or is of another side, is a mistake of its own.
    let mixed =
        [raw("s2c", "a"), raw("s2c", "{\"jsonrpc\":"), raw("c2s", "b"), raw("s2c", "c"), raw("s2c", "d")];
    let all = found(&mixed);
    assert_eq!(all.places(), form(&[line, line + 1, line + 2]));
    // A line of a log is the same mistake as the one before; what follows an object may belong to it.
    assert_eq!(all.summary["again"], json!([{ "line": line, "count": 2, "last": line + 4 }]));
}

#[test]
fn an_early_request_without_a_reply_is_one_finding() {
    let mut log = messages("whole-2025-11-25");
    let ready = line_of(&log, is("notifications/initialized"));
    let early = json!({ "jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage",
        "params": { "messages": [], "maxTokens": 1 } });
    log.insert(ready - 1, (false, early));
    assert_eq!(trace(written(&log)).places(), [(ready as u64, "order".to_owned())]);
}

#[test]
fn an_error_without_an_id_is_the_reply_that_is_missing() {
    let mut log = messages("whole-2025-11-25");
    let (_, reply) = plain(&log)[1];
    log[reply].1 = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "no" } });
    assert_eq!(trace(written(&log)).places(), [(reply as u64 + 1, "form".to_owned())]);
}

#[test]
fn what_a_server_needs_before_it_has_announced_anything_is_found_once_it_has_not() {
    let mut log = messages("whole-2025-11-25");
    let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
    log[welcome - 1].1["result"]["capabilities"].as_object_mut().unwrap().remove("logging");
    let early = (
        false,
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } }),
    );
    log.insert(welcome - 1, early);
    let found = trace(written(&log));
    assert_eq!(found.places()[0], (welcome as u64, "capability".to_owned()), "{found:#?}");
    let hint = "send it after the reply that opens the session, and announce `logging` in that reply";
    assert_eq!(found.findings[0]["hint"], hint);
    // Where the log ends before the reply, too.
    let found = trace(written(&log[..welcome]));
    assert!(found.places().contains(&(welcome as u64, "capability".to_owned())), "{found:#?}");
}

#[test]
fn a_step_that_was_not_understood_is_not_missing() {
    let log = messages("whole-2025-11-25");
    let line = line_of(&log, is("notifications/initialized"));
    for (code, spoil) in [
        ("method", (|step| step["method"] = json!("notifications/ready")) as fn(&mut Value)),
        ("method", |step| step["id"] = json!(7_777)),
        ("form", |step| remove(step, "jsonrpc")),
        ("form", |step| step["method"] = json!(5)),
        ("form", |step| step["method"] = Value::Null),
    ] {
        let mut log = log.clone();
        spoil(&mut log[line - 1].1);
        let found = trace(written(&log));
        assert_eq!(found.places(), [(line as u64, code.to_owned())], "{found:#?}");
    }
}

#[test]
fn what_comes_too_late_to_be_a_step_does_not_explain_that_it_is_missing() {
    let mut log = messages("whole-2025-11-25");
    let initialized = line_of(&log, is("notifications/initialized"));
    log.remove(initialized - 1);
    let alone = trace(written(&log));
    let overdue = alone.lines()[0] as usize;
    for (place, is_explained) in [(overdue - 1, true), (overdue, false), (log.len(), false)] {
        let mut log = log.clone();
        log.insert(place, (true, json!({ "jsonrpc": "2.0", "method": "notifications/nope" })));
        let found = trace(written(&log));
        let codes: Vec<_> = found.places().into_iter().map(|(_, code)| code).collect();
        assert_eq!(codes.contains(&"missing".to_owned()), !is_explained, "{place}: {found:#?}");
        assert!(codes.contains(&"method".to_owned()), "{place}: {found:#?}");
    }
}

#[test]
fn a_client_that_does_not_wait_for_the_first_reply_is_to_blame_and_the_server_is_not() {
    let log = messages("real-ts240-se");
    let (hello, welcome, ready) = (log[0].clone(), log[1].clone(), log[2].clone());
    assert!(ready.1["method"] == "notifications/initialized" && welcome.1["result"].is_object());
    let mut late = vec![hello.clone(), ready.clone(), welcome];
    late.extend_from_slice(&log[3..]);
    let found = trace(written(&late));
    assert_eq!(found.places(), [(2, "order".to_owned())], "{found:?}");
    assert_eq!(found.findings[0]["blame"], "client");
    // It never comes.
    late.remove(2);
    let found = trace(written(&late));
    assert_eq!(found.places(), [(1, "unanswered".to_owned())], "{found:?}");
    // A log of one side alone says nothing of what the other does.
    late.retain(|(is_client, _)| *is_client);
    let found = trace(written(&late));
    assert_eq!(found.places(), [], "{found:?}");
    let missing =
        "any message of the server: record both sides in one log, as `sessionc guard --record` does";
    assert!(found.unobserved().contains(&missing), "{found:?}");
}

#[test]
fn a_protocol_without_capabilities_has_nothing_that_is_not_announced() {
    let open = r#"{"jsonrpc":"2.0","id":1,"method":"counter/open","params":{"name":"apples"}}"#;
    let stop = r#"{"jsonrpc":"2.0","method":"counter/stop"}"#;
    let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"count":0}}"#;
    let file = "examples/counter/counter.session";
    let found = trace_of(&[file], format!("{open}\n{stop}\n{opened}\n"));
    assert_eq!((found.places(), found.unobserved()), (vec![(2, "order".to_owned())], vec![]), "{found:?}");
}

/// A protocol whose server says that a note is saved before the client may go on.
const NOTES: &str = "\
protocol Notes \"1\"
request Write \"write\" -> Written
request Read \"read\" -> Text
notification Saved \"saved\"
client Editor
server Store = dual Editor
Editor = rec again . ( !Write . ?Written . ?Saved . again ⊕ !Read . ?Text . again ⊕ End )
";

#[test]
fn a_step_of_the_server_that_comes_early_late_or_never_is_one_finding() {
    let folder = empty_folder("steps_of_the_server");
    let file = folder.join("notes.session");
    std::fs::write(&file, NOTES).unwrap();
    let request = |id: u64, method: &str| (true, json!({ "jsonrpc": "2.0", "id": id, "method": method }));
    let reply = |id: u64| (false, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    let saved = (false, json!({ "jsonrpc": "2.0", "method": "saved" }));
    let [write, wrote, read, text] = [request(1, "write"), reply(1), request(2, "read"), reply(2)];
    let again = [request(3, "write"), reply(3), saved.clone(), request(4, "read"), reply(4)];
    let found = |first: [&Message; 5]| {
        let log: Vec<Message> = first.into_iter().cloned().chain(again.clone()).collect();
        let found = trace_of(&[file.to_str().unwrap()], written(&log));
        let one = |finding: &Value| {
            let text = |name: &str| finding[name].as_str().unwrap().to_owned();
            (finding["line"].as_u64().unwrap(), text("code"), text("blame"))
        };
        found.findings.iter().map(one).collect::<Vec<_>>()
    };
    let one = |line, code: &str, blame: &str| vec![(line, code.to_owned(), blame.to_owned())];
    assert_eq!(found([&write, &wrote, &saved, &read, &text]), []);
    assert_eq!(found([&write, &saved, &wrote, &read, &text]), one(2, "order", "server"));
    assert_eq!(found([&write, &wrote, &read, &saved, &text]), one(3, "order", "client"));
    assert_eq!(found([&write, &wrote, &read, &text, &saved]), one(3, "order", "client"));
    let ping = request(9, "read");
    let answered = reply(9);
    assert_eq!(found([&write, &wrote, &read, &text, &ping])[0], one(3, "missing", "server")[0]);
    assert_eq!(
        found([&ping, &answered, &write, &wrote, &read]).len(),
        2,
        "the last request has no reply, too"
    );
}

#[test]
fn a_message_that_is_not_utf_8_is_found_in_what_the_guard_has_recorded() {
    let log = messages("whole-2025-11-25");
    let (_, reply) = plain(&log)[1];
    let mut lines: Vec<String> = written(&log).lines().map(str::to_owned).collect();
    let text = log[reply].1.to_string();
    let bytes = [text.as_bytes(), b"\xff"].concat();
    // The text has what stands for such bytes in its place, and is JSON with it.
    let envelope = json!({ "dir": "s2c-raw", "msg": text, "base64": STANDARD.encode(bytes) });
    lines[reply] = envelope.to_string();
    let found = trace(lines.join("\n") + "\n");
    assert_eq!(found.places(), [(reply as u64 + 1, "form".to_owned())]);
    assert!(found.findings[0]["message"].as_str().unwrap().contains("is not UTF-8"), "{found:#?}");
}

/// What is wrong with each message, and how its text gets it.
type MistakeOfForm = (&'static str, fn(String) -> String);

#[test]
fn the_same_mistake_in_each_message_of_a_side_is_one_finding() {
    let log = messages("whole-2025-11-25");
    let (start, end) = (line_of(&log, is("notifications/initialized")), log.len());
    let of_server = |from: usize| (from..end).filter(|at| !log[*at].0).collect::<Vec<_>>();
    let places: Vec<usize> =
        of_server(start).into_iter().filter(|at| log[*at].1["method"].is_null()).collect();
    let [first, .., last] = places[..] else { panic!("{places:?}") };
    let again = json!([{ "line": first + 1, "count": places.len() - 1, "last": last + 1 }]);
    let envelope = |text: &str| json!({ "dir": "s2c-raw", "msg": text }).to_string();
    let mistakes: [MistakeOfForm; 4] = [
        ("no `jsonrpc`", |text| text.replacen("\"jsonrpc\":\"2.0\"", "\"other\":1", 1)),
        ("`jsonrpc` twice", |text| text.replacen('{', "{\"jsonrpc\":\"2.0\",", 1)),
        ("a byte order mark", |text| format!("\u{feff}{text}")),
        ("two messages in a line", |text| format!("{text}{text}")),
    ];
    for (name, mistake) in mistakes {
        let mut lines: Vec<String> = written(&log).lines().map(str::to_owned).collect();
        places.iter().for_each(|at| lines[*at] = envelope(&mistake(log[*at].1.to_string())));
        let found = trace(lines.join("\n") + "\n");
        assert_eq!(found.places(), [(first as u64 + 1, "form".to_owned())], "{name}: {found:#?}");
        assert_eq!(found.summary["again"], again, "{name}");
    }
}

#[test]
fn a_server_that_replies_to_each_request_twice_has_one_finding() {
    let log = messages("whole-2025-11-25");
    let mut twice = Vec::new();
    let mut second = Vec::new();
    for message in &log {
        twice.push(message.clone());
        if !message.0 && message.1["method"].is_null() {
            twice.push(message.clone());
            second.push(twice.len());
        }
    }
    let found = trace(written(&twice));
    assert_eq!(found.places(), [(second[0] as u64, "correlation".to_owned())], "{found:#?}");
    assert_eq!(found.summary["again"][0]["count"], second.len() - 1);
    // Ids that no request has are mistakes of their own.
    let mut log = log;
    let (first, other) = (plain(&log)[1].1, plain(&log)[3].1);
    log[first].1["id"] = json!(987_654);
    log[other].1["id"] = json!(987_655);
    let lines = [first as u64 + 1, other as u64 + 1];
    assert_eq!(trace(written(&log)).lines(), lines);
}

#[test]
fn what_usually_makes_a_text_malformed_is_named() {
    let hints = [
        ("INFO: ready", "if it is a line of a log, write logs to standard error"),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", "write without a byte order mark"),
        ("{", "write each message whole and in one line"),
        ("{}{}", "end each message with a line feed, and write nothing else behind it"),
        (
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            "reply with the id of the request, as it came; a notification has no reply",
        ),
        ("[1", "write each message whole and in one line"),
        (
            r#"{"jsonrpc":"2.0","result":{}}"#,
            "reply with the id of the request, as it came; a notification has no reply",
        ),
        (r#"{"id":1,"result":{}}"#, r#"add `"jsonrpc":"2.0"` to each message"#),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
            "leave out the other one, also if it is null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            "a notification has no `id`, not even one that is null",
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, "write one whole message, as JSON-RPC has it"),
    ];
    for (text, hint) in hints {
        let found = trace(json!({ "dir": "s2c-raw", "msg": text }).to_string() + "\n");
        assert_eq!(found.findings[0]["hint"], hint, "{text}: {found:#?}");
    }
}

#[test]
fn an_id_of_another_type_is_said_as_it_came() {
    let log = messages("whole-2025-11-25");
    let (request, reply) = plain(&log)[0];
    let id = log[request].1["id"].clone();
    let number = id.as_i64().unwrap();
    let mut of_reply = log.clone();
    of_reply[reply].1["id"] = json!(number.to_string());
    let (side, _) = log[request];
    let params = json!({ "requestId": number.to_string() });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    let mut of_cancel = log.clone();
    of_cancel.insert(request + 1, (side, cancel));
    for (log, place) in [(of_reply, reply + 1), (of_cancel, request + 2)] {
        let found = trace(written(&log));
        assert_eq!(found.places(), [(place as u64, "correlation".to_owned())], "{found:#?}");
        let hint = format!("write the id as it came, {number}: the number, not a text");
        assert_eq!(found.findings[0]["hint"], hint, "{found:#?}");
    }
}

#[test]
fn a_step_that_comes_before_the_session_begins_is_one_finding() {
    let mut log = messages("whole-2025-11-25");
    let step = line_of(&log, is("notifications/initialized"));
    let early = log.remove(step - 1);
    log.insert(0, early);
    assert_eq!(trace(written(&log)).places(), [(1, "order".to_owned())]);
}

#[test]
fn a_reply_that_a_log_ascribes_to_the_other_side_is_one_finding() {
    for name in LOGS {
        let log = messages(name);
        for (_, reply) in plain(&log) {
            let mut log = log.clone();
            log[reply].0 = !log[reply].0;
            let found = trace(written(&log));
            assert_eq!(found.places(), [(reply as u64 + 1, "correlation".to_owned())], "{name}: {found:#?}");
            let hint = found.findings[0]["hint"].as_str().unwrap();
            assert!(hint.contains(" itself has sent a request with this id: if the log takes "), "{hint}");
        }
    }
}

#[test]
fn a_capability_that_is_missing_is_one_finding_of_each_side_that_needs_it() {
    let whole = messages("whole-2025-11-25");
    let welcome = line_of(&whole, |message| message["result"]["protocolVersion"].is_string());
    for (capability, blamed) in [
        ("tools", vec!["client", "server"]),
        // The server needs two that are within it, and not the capability itself.
        ("resources", vec!["client", "server", "server"]),
        ("prompts", vec!["client", "server"]),
    ] {
        let mut log = whole.clone();
        remove(&mut log[welcome - 1].1["result"]["capabilities"], capability);
        let found = trace(written(&log));
        let blames: Vec<&str> = found.findings.iter().map(|it| it["blame"].as_str().unwrap()).collect();
        assert_eq!(blames, blamed, "{capability}: {found:#?}");
        assert!(found.places().iter().all(|(_, code)| code == "capability"), "{found:#?}");
    }
    // What is missing within one that is announced is a mistake of its own.
    let mut log = whole;
    let announced = &mut log[welcome - 1].1["result"]["capabilities"];
    remove(&mut announced["resources"], "subscribe");
    remove(&mut announced["resources"], "listChanged");
    assert_eq!(trace(written(&log)).findings.len(), 3);
}

#[test]
fn what_waits_for_a_reply_that_was_not_understood_is_not_another_finding() {
    let whole = messages("whole-2025-03-26");
    let request = line_of(&whole, is("resources/subscribe"));
    for id in [json!(987_654), json!(whole[request - 1].1["id"].to_string())] {
        let mut log = whole.clone();
        let reply = line_of(&log, |message| {
            message["id"] == whole[request - 1].1["id"] && message.get("method").is_none()
        });
        log[reply - 1].1["id"] = id;
        let found = trace(written(&log));
        assert_eq!(found.places(), [(reply as u64, "correlation".to_owned())], "{found:#?}");
    }
}

#[test]
fn a_server_that_exits_is_why_its_requests_have_no_reply() {
    let call =
        |id: u64| json!({ "dir": "c2s", "msg": { "jsonrpc": "2.0", "id": id, "method": "tools/list" } });
    let log = messages("real-ts240-se").into_iter().take(3).collect::<Vec<_>>();
    let exit = json!({ "dir": "note", "msg": "the server exited with 3", "exited": 3 });
    let found = trace(format!("{}{}\n{}\n{exit}\n", written(&log), call(11), call(12)));
    assert_eq!(found.places(), [(4, "unanswered".to_owned())], "{found:#?}");
    let said = "`tools/list` with the id 11 has no reply: the server exited with 3, in line 6";
    assert_eq!(found.findings[0]["message"], said);
    assert_eq!(found.summary["again"], json!([{ "line": 4, "count": 1, "last": 5 }]));
    // One that has said nothing is not missing in the log.
    let initialize = written(&log[..1]);
    assert_eq!(trace(&initialize).places(), []);
    let found = trace(format!("{initialize}{exit}\n"));
    assert_eq!((found.places(), found.unobserved()), (vec![(1, "unanswered".to_owned())], vec![]));
}

#[test]
fn a_mistake_that_a_guard_has_noted_is_found() {
    let note = json!({
        "dir": "note",
        "msg": "the last line of the server has no line feed: end each message with one",
        "mistake_of": "server",
    });
    let found = trace(format!("{}{note}\n", written(&messages("real-ts240-se"))));
    let [finding] = &found.findings[..] else { panic!("{found:#?}") };
    assert_eq!((&finding["code"], &finding["blame"]), (&json!("form"), &json!("server")));
    assert_eq!(finding["message"], "the last line of the server has no line feed");
    assert_eq!(finding["hint"], "end each message with one");
}

#[test]
fn a_line_for_people_explains_nothing() {
    let mut log = messages("whole-2025-11-25");
    let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
    remove(&mut log[welcome - 1].1["result"]["capabilities"], "completions");
    let request = line_of(&log, is("completion/complete"));
    let (before, after) = log.split_at(welcome - 1);
    let line = json!({ "dir": "s2c-raw", "msg": "Server running on stdio" });
    let found = trace(format!("{}{line}\n{}", written(before), written(after)));
    let expected = [(welcome as u64, "form".to_owned()), (request as u64 + 1, "capability".to_owned())];
    assert_eq!(found.places(), expected, "{found:#?}");
}

#[test]
fn a_log_that_takes_one_side_for_the_other_is_told_so() {
    let mut log = messages("whole-2025-11-25");
    log.iter_mut().for_each(|(is_client, _)| *is_client = !*is_client);
    let found = trace(written(&log));
    let hint = "only the client sends it: do not send it, or, if the log takes the client for the server, correct the direction \
                there";
    assert_eq!((found.lines()[0], &found.findings[0]["hint"]), (1, &json!(hint)), "{found:#?}");
}

/// Where the reply to a request stands.
fn reply_to(log: &[Message], request: usize) -> usize {
    let (side, asked) = &log[request];
    let is_it = |(from, message): &Message| {
        from != side && message.get("method").is_none() && message["id"] == asked["id"]
    };
    request + log[request..].iter().position(is_it).unwrap()
}

#[test]
fn what_waits_for_a_reply_that_a_log_ascribes_to_the_other_side_is_not_another_finding() {
    for name in ["whole-2025-03-26", "whole-2025-11-25"] {
        let mut log = messages(name);
        let reply = reply_to(&log, line_of(&log, is("resources/subscribe")) - 1);
        log[reply].0 = true;
        let found = trace(written(&log));
        assert_eq!(found.places(), [(reply as u64 + 1, "correlation".to_owned())], "{name}: {found:#?}");
    }
}

#[test]
fn a_request_that_a_log_ascribes_to_the_other_side_is_one_finding() {
    let whole = messages("whole-2025-11-25");
    for (method, code) in [
        // The server uses each of these ids later.
        ("tools/list", "order"),
        ("tools/call", "order"),
        ("resources/list", "order"),
        // The client has used each of these ids before, and seems to reply to itself.
        ("roots/list", "correlation"),
        ("sampling/createMessage", "correlation"),
        ("elicitation/create", "correlation"),
    ] {
        let mut log = whole.clone();
        let line = line_of(&log, is(method));
        log[line - 1].0 = !log[line - 1].0;
        let found = trace(written(&log));
        assert_eq!(found.places(), [(line as u64, code.to_owned())], "{method}: {found:#?}");
        let hint = found.findings[0]["hint"].as_str().unwrap();
        assert!(hint.contains(" sends it: do not send it, or, if the log takes "), "{hint}");
    }
    // An id that a side has used before, in a request that it may send, is a mistake all the same.
    let mut log = whole.clone();
    let [first, second] =
        ["roots/list", "sampling/createMessage"].map(|method| line_of(&whole, is(method)) - 1);
    let reply = reply_to(&log, second);
    for place in [second, reply] {
        log[place].1["id"] = whole[first].1["id"].clone();
    }
    assert_eq!(trace(written(&log)).places()[0], (second as u64 + 1, "correlation".to_owned()));
}

#[test]
fn a_batch_that_is_answered_with_a_batch_is_one_finding() {
    let whole = messages("whole-2025-11-25");
    let batched = |log: &mut [Message], places: &[usize]| {
        places.iter().for_each(|place| log[*place].1 = json!([log[*place].1]));
    };
    let request = line_of(&whole, is("tools/list")) - 1;
    let reply = reply_to(&whole, request);
    let mut log = whole.clone();
    batched(&mut log, &[request, reply]);
    let found = trace(written(&log));
    assert_eq!(found.places(), [(request as u64 + 1, "form".to_owned())], "{found:#?}");
    // One that the other side has not asked for is a mistake of its own, and answers what it says that it answers.
    let mut log = whole.clone();
    let other = reply_to(&whole, line_of(&whole, is("prompts/list")) - 1);
    batched(&mut log, &[reply, other]);
    let found = trace(written(&log));
    assert_eq!(found.places(), [(reply as u64 + 1, "form".to_owned())], "{found:#?}");
    // Requests of a batch are answered one by one.
    let mut log = whole;
    let second = line_of(&log, is("prompts/list")) - 1;
    let (_, moved) = log.remove(second);
    log[request].1 = json!([log[request].1, moved]);
    let found = trace(written(&log));
    assert_eq!(found.places(), [(request as u64 + 1, "form".to_owned())], "{found:#?}");
}

#[test]
fn a_client_that_goes_on_without_the_reply_to_a_subscription_is_one_finding() {
    for name in ["whole-2025-03-26", "whole-2025-11-25"] {
        let whole = messages(name);
        let request = line_of(&whole, is("resources/subscribe"));
        let reply = reply_to(&whole, request - 1);
        let mut log = whole.clone();
        let late = log.remove(reply);
        let next = line_of(&log, is("resources/unsubscribe"));
        let found = trace(written(&log));
        assert_eq!(found.places(), [(request as u64, "unanswered".to_owned())], "{name}: {found:#?}");
        let said = found.findings[0]["message"].as_str().unwrap();
        let end = format!(" has no reply, and the client goes on in line {next} as if it had one");
        assert!(said.ends_with(&end), "{said}");
        // If the reply comes, the client has not waited for it.
        log.insert(next, late);
        let found = trace(written(&log));
        assert_eq!(found.places()[0], (next as u64, "order".to_owned()), "{name}: {found:#?}");
        assert_eq!(found.findings[0]["blame"], "client");
    }
}

#[test]
fn a_session_after_a_refused_discover_is_judged_without_its_beginning() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discover =
        json!({ "jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": { "_meta": meta } });
    let refused =
        json!({ "jsonrpc": "2.0", "id": "d", "error": { "code": -32601, "message": "Method not found" } });
    for name in ["whole-2025-03-26", "whole-2025-11-25", "real-ts240-se", "real-py230-se"] {
        let whole = messages(name);
        let opened = line_of(&whole, is("notifications/initialized"));
        for left_out in [0, opened - 1, opened] {
            let mut log = vec![(true, discover.clone()), (false, refused.clone())];
            log.extend_from_slice(&whole[left_out..]);
            let found = trace(written(&log));
            assert_eq!(found.places(), [], "{name} without {left_out}: {found:#?}");
        }
    }
    // A second reply is a mistake, and so is what a client says wrong to a server that speaks the revision.
    let mut log = vec![(true, discover), (false, refused.clone()), (false, refused)];
    assert_eq!(trace(written(&log)).places(), [(3, "correlation".to_owned())]);
    log.truncate(1);
    let result = json!({
        "supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
    });
    log.push((false, json!({ "jsonrpc": "2.0", "id": "d", "result": result })));
    log.push((true, json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })));
    let found = trace(written(&log));
    assert_eq!(found.places().last(), Some(&(3, "shape".to_owned())), "{found:#?}");
}
