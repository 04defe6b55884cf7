//! Where sessions begin: in the middle of one, after another, next to another.

use serde_json::{Value, json};

use super::command::{Message, is, line_of, messages, trace, trace_with, written};

#[test]
fn a_log_may_begin_in_the_middle() {
    let whole = messages("whole-2025-11-25");
    for first in [1, 3, 10, 20, 40, 60] {
        let found = trace(written(&whole[first..]));
        assert_eq!(found.places(), [], "from {first}: {found:#?}");
        assert!(found.unobserved()[0].starts_with("the beginning of the session in line 1"), "{found:?}");
    }
    // A mistake is found there as well.
    let mut rest = whole[20..].to_vec();
    rest.insert(9, (true, json!({ "jsonrpc": "2.0", "method": "notifications/initialised" })));
    assert_eq!(trace(written(&rest)).places(), [(10, "method".to_owned())]);
}

#[test]
fn the_state_in_which_a_log_begins_can_be_said() {
    let whole = messages("whole-2025-11-25");
    let rest = written(&whole[20..]);
    assert_eq!(trace_with(&["--from", "Active"], &rest).places(), []);
    let found = trace_with(&["--from", "Uninit"], &rest);
    assert!(!found.findings.is_empty());
    assert_eq!(found.findings[0]["state"], "Uninit");
}

#[test]
fn what_comes_before_the_handshake_of_its_session_is_early() {
    let mut log = messages("real-ts240-se");
    log.insert(0, (true, json!({ "jsonrpc": "2.0", "id": -1, "method": "tools/list" })));
    assert_eq!(trace(written(&log)).places(), [(1, "order".to_owned())]);
}

/// A server that replies with the id as a text: that requests have no reply follows from it.
#[test]
fn an_id_of_another_type_is_one_mistake() {
    let mut log = messages("real-ts240-se");
    for (_, message) in
        log.iter_mut().filter(|(is_client, message)| !is_client && message["method"].is_null())
    {
        message["id"] = json!(message["id"].to_string());
    }
    let found = trace(written(&log));
    assert!(found.places().iter().all(|(_, code)| code != "unanswered"), "{found:#?}");
    assert_eq!(found.places().first().map(|(_, code)| code.as_str()), Some("correlation"), "{found:#?}");
}

#[test]
fn that_a_session_is_never_begun_is_one_finding() {
    let request = |id: u8, method: &str| (true, json!({ "jsonrpc": "2.0", "id": id, "method": method }));
    let reply = |id: u8, list: &str| (false, json!({ "jsonrpc": "2.0", "id": id, "result": { list: [] } }));
    let log = [
        request(1, "tools/list"),
        request(2, "prompts/list"),
        reply(1, "tools"),
        reply(2, "prompts"),
        request(3, "resources/list"),
        reply(3, "resources"),
    ];
    let found = trace_with(&["--from", "Uninit"], written(&log));
    assert_eq!(found.places(), [(1, "order".to_owned())], "{found:#?}");
    assert_eq!(found.summary["again"], json!([{ "line": 1, "count": 2, "last": 5 }]));
}

#[test]
fn the_reply_to_an_early_request_is_judged() {
    let mut log = messages("real-ts240-se");
    let asked = json!({ "jsonrpc": "2.0", "id": -1, "method": "tools/list", "params": { "_meta": { "progressToken": "early" } } });
    let progress = |progress: u8| json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": "early", "progress": progress } });
    let answered = json!({ "jsonrpc": "2.0", "id": -1, "result": { "tools": 5 } });
    let end = log.len() + 1;
    log.insert(0, (true, asked));
    log.extend([(false, progress(2)), (false, progress(1)), (false, answered.clone()), (false, answered)]);
    let places = trace(written(&log)).places();
    let expected = [(1, "order"), (end + 2, "progress"), (end + 3, "shape"), (end + 4, "correlation")];
    assert_eq!(places, expected.map(|(line, code)| (line as u64, code.to_owned())));
}

#[test]
fn a_client_that_counts_from_the_start_again_begins_another_session() {
    let one = messages("real-ts240-se");
    // This one begins with a ping, by which a session is not known.
    let older = messages("whole-2025-03-26")[2..].to_vec();
    let two: Vec<Message> = [one.clone(), older, one.clone()].concat();
    let found = trace(written(&two));
    assert_eq!((found.places(), &found.summary["sessions"]), (Vec::new(), &json!(3)), "{found:#?}");
    assert_eq!(found.summary["revisions"], json!({ "Mcp 2025-11-25": 2, "Mcp 2025-03-26": 1 }));
    // The end of a session before the beginning of another.
    let rest: Vec<Message> = [one[4..].to_vec(), one].concat();
    let found = trace(written(&rest));
    assert_eq!((found.places(), &found.summary["sessions"]), (Vec::new(), &json!(2)), "{found:#?}");
}

#[test]
fn sessions_with_names_run_side_by_side() {
    let (one, two) = (messages("whole-2025-11-25"), messages("whole-2025-03-26"));
    let line = |name: &str, (is_client, message): &Message| {
        let line = json!({ "dir": if *is_client { "c2s" } else { "s2c" }, "session": name, "msg": message });
        format!("{line}\n")
    };
    let mut log = String::new();
    for place in 0..one.len().max(two.len()) {
        log.extend(one.get(place).map(|message| line("one", message)));
        log.extend(two.get(place).map(|message| line("two", message)));
    }
    let found = trace(&log);
    assert_eq!((found.places(), &found.summary["sessions"]), (Vec::new(), &json!(2)), "{found:#?}");
}

#[test]
fn a_log_of_one_side_says_what_was_not_observed() {
    let all = messages("whole-2025-11-25");
    let client: Vec<Message> = all.into_iter().filter(|(is_client, _)| *is_client).take(1).collect();
    let found = trace(written(&client));
    assert_eq!((found.places(), found.unobserved()), (Vec::new(), vec!["any message of the server"]));
}

#[test]
fn a_revision_that_is_not_known_limits_the_verdict() {
    let mut log = messages("real-ts240-se");
    let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
    log[welcome - 1].1["result"]["protocolVersion"] = json!("2027-01-01");
    let said = |log: &[Message]| {
        let found = trace(written(log));
        assert_eq!(found.places(), [], "{found:?}");
        found.unobserved().join("\n")
    };
    assert_eq!(
        said(&log),
        "the rules of the revision `2027-01-01`, which is not known: judged by Mcp 2025-11-25 (known are `2024-11-05`, \
         `2025-03-26`, `2025-06-18`, `2025-11-25`; for another one name its `.session` file)"
    );
    // So it does where each request says its own.
    let mut log = messages("2026-07-28/rounds-ts240");
    let list = line_of(&log, is("tools/list"));
    log[list - 1].1["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    assert_eq!(
        said(&log),
        "the rules of the revision `2030-01-01`, which is not known: judged by Mcp 2026-07-28 (known are `2026-07-28`; \
         for another one name its `.session` file)"
    );
}

#[test]
fn one_id_may_serve_all_requests_where_the_revision_has_no_sessions() {
    let all = messages("2026-07-28/rounds-ts240");
    let place = line_of(&all, is("tools/list")) - 1;
    let answer = |(_, message): &&Message| message["id"] == all[place].1["id"] && message["method"].is_null();
    let exchange = [all[place].clone(), all.iter().find(answer).unwrap().clone()];
    let thrice: Vec<Message> = [exchange.clone(), exchange.clone(), exchange.clone()].concat();
    assert_eq!(trace(written(&thrice)).places(), []);
    // Not while another request has it.
    let [question, answer] = exchange;
    let nested = [question.clone(), question, answer.clone(), answer];
    assert_eq!(trace(written(&nested)).places(), [(2, "correlation".to_owned())]);
}

#[test]
fn a_request_that_is_left_is_named_and_a_subscription_may_stay() {
    let mut log = messages("2026-07-28/rounds-ts240");
    let listen = line_of(&log, is("subscriptions/listen"));
    let id = log[listen - 1].1["id"].clone();
    log.retain(|(_, message)| message["id"] != id || message["method"].is_string());
    assert_eq!(trace(written(&log)).places(), []);
    let call = line_of(&log, is("tools/call"));
    let id = log[call - 1].1["id"].clone();
    let answers = |message: &Value| message["id"] == id && message["method"].is_null();
    log.retain(|(_, message)| !answers(message));
    assert_eq!(trace(written(&log)).places(), [(call as u64, "unanswered".to_owned())]);
}

#[test]
fn what_a_line_may_explain_that_cannot_be_read_is_not_held_against_a_side() {
    let all = messages("whole-2025-11-25");
    let whole = written(&all);
    let lines: Vec<&str> = whole.lines().collect();
    for broken in 0..lines.len() {
        let mut log: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        log[broken].truncate(40);
        let found = trace(log.join("\n"));
        assert_eq!(found.broken, [broken as u64 + 1]);
        assert_eq!((found.code, found.places()), (0, Vec::new()), "{}: {found:#?}", lines[broken]);
    }
    // Another mistake is still found.
    let mut log: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    log[2].truncate(40);
    log.push("{\"dir\":\"s2c\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nope\"}}".to_owned());
    assert_eq!(trace(log.join("\n")).places(), [(log.len() as u64, "method".to_owned())]);
}

#[test]
fn text_for_people_between_the_lines_explains_nothing() {
    let log = written(&messages("real-ts240-se"));
    let stray = "{\"dir\":\"s2c\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":987,\"result\":{}}}\n";
    let found = trace(format!("{log}warning: slow\n{stray}"));
    assert_eq!((found.places().len(), found.broken.len()), (1, 1), "{found:?}");
    assert_eq!(found.places()[0].1, "correlation");
}

#[test]
fn a_reply_to_the_session_before_belongs_to_it() {
    let hello = messages("real-ts240-se")[..3].to_vec();
    let call = |id: u64| (true, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
    let reply = |id: u64| (false, json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [] } }));
    let opening = hello[0].1["id"].as_u64().unwrap();
    let (first, last) = (opening + 1, opening + 2);
    // The second client begins before the first one has its last reply.
    let mut log = [hello.as_slice(), &[call(first), reply(first), call(last)]].concat();
    log.push(hello[0].clone());
    let late = log.len();
    log.push(reply(last));
    log.extend_from_slice(&hello[1..]);
    log.extend([call(first), reply(first)]);
    let found = trace(written(&log));
    assert_eq!((found.places(), &found.summary["sessions"]), (vec![], &json!(2)), "{found:?}");
    // It is one reply, and the one that has none is found.
    log.push(reply(last));
    assert_eq!(trace(written(&log)).places(), [(log.len() as u64, "correlation".to_owned())]);
    log.pop();
    log.remove(late);
    assert_eq!(trace(written(&log)).places(), [(6, "unanswered".to_owned())]);
}

#[test]
fn two_clients_at_once_without_names_are_said() {
    let one = messages("real-ts240-se");
    let both: Vec<Message> = one.iter().flat_map(|message| [message.clone(), message.clone()]).collect();
    let found = trace(written(&both));
    let said = "which session each message belongs to, if line 2 begins another one: ";
    assert!(found.unobserved()[0].starts_with(said), "{found:#?}");
    // That the ids of one run when the other uses them is one finding.
    let runs = |finding: &&Value| finding["message"].as_str().unwrap().contains("is still running");
    assert_eq!(found.findings.iter().filter(runs).count(), 1, "{found:#?}");
    assert!(trace(written(&one)).unobserved().iter().all(|what| !what.starts_with("which session")));
}

#[test]
fn sessions_without_their_beginnings_are_counted() {
    let log: String = (1..=5)
        .map(|id| {
            let ask = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
            let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [] } });
            let session = format!("s{id}");
            format!(
                "{}\n{}\n",
                json!({ "dir": "c2s", "msg": ask, "session": session }),
                json!({ "dir": "s2c", "msg": reply, "session": session })
            )
        })
        .collect();
    let found = trace(log);
    let said = "the beginning of 5 sessions, the first of them in line 1: judged from the state `Active` on, with any capability";
    assert_eq!((found.places(), found.unobserved()), (Vec::new(), vec![said]));
}
