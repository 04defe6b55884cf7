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
    let missing =
        "any message of the server: record both sides in one log, as `sessionc guard --record` does";
    assert_eq!((found.places(), found.unobserved()), (Vec::new(), vec![missing]));
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

/// The opening of a session under this id, and calls with the next ids. All have their replies.
fn session_from(first: u64, calls: u64) -> Vec<Message> {
    let mut log = messages("real-ts240-se")[..3].to_vec();
    (log[0].1["id"], log[1].1["id"]) = (json!(first), json!(first));
    log.extend((first + 1..=first + calls).flat_map(call));
    log
}

fn call(id: u64) -> [Message; 2] {
    let reply = json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [] } });
    [(true, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })), (false, reply)]
}

/// The messages of both in turn, after so many of the first.
fn in_turn(one: &[Message], two: &[Message], alone: usize) -> Vec<Message> {
    let mut log = one[..alone].to_vec();
    let rest = &one[alone..];
    for place in 0..rest.len().max(two.len()) {
        log.extend(rest.get(place).into_iter().chain(two.get(place)).cloned());
    }
    log
}

#[test]
fn a_client_that_goes_on_with_its_ids_after_a_restart_begins_another_session() {
    let mut log = [session_from(0, 3), session_from(4, 2)].concat();
    let opens = 10;
    // The last call before the restart has no reply.
    log.remove(opens - 2);
    for messages in [log.clone(), [log.clone(), session_from(7, 1)].concat()] {
        let found = trace(written(&messages));
        assert_eq!(found.places(), [(opens as u64 - 2, "unanswered".to_owned())], "{found:#?}");
        let said = format!("whether the server was started again before line {}, where", opens - 1);
        assert!(found.unobserved().iter().any(|what| what.starts_with(&said)), "{found:#?}");
    }
    assert_eq!(trace(written(&log)).summary["sessions"], 2);
    // The first session has announced less than the second one.
    log[1].1["result"]["capabilities"].as_object_mut().unwrap().remove("tools");
    let found = trace(written(&log));
    assert!(found.lines().contains(&4) && found.lines().iter().all(|line| *line < 9), "{found:#?}");
}

#[test]
fn a_restarted_server_may_leave_the_opening_without_a_reply() {
    let mut log = session_from(0, 2);
    log.push(session_from(3, 0)[0].clone());
    let found = trace(written(&log));
    assert_eq!((found.places(), &found.summary["sessions"]), (vec![(8, "unanswered".to_owned())], &json!(2)));
    // It has exited before it has opened the first session.
    let log = [session_from(0, 0)[..1].to_vec(), session_from(1, 2)].concat();
    let found = trace(written(&log));
    assert_eq!((found.places(), &found.summary["sessions"]), (vec![(1, "unanswered".to_owned())], &json!(2)));
    // The id of the opening is that of a call that the first server has not answered.
    let log = [session_from(0, 1)[..4].to_vec(), session_from(1, 2)].concat();
    let found = trace(written(&log));
    assert_eq!((found.places(), &found.summary["sessions"]), (vec![(4, "unanswered".to_owned())], &json!(2)));
}

#[test]
fn a_session_that_is_opened_twice_and_refused_is_one() {
    let mut log = session_from(0, 1);
    let opening = session_from(2, 0)[0].clone();
    let refused = json!({ "code": -32600, "message": "the session is open" });
    log.extend([opening.clone(), (false, json!({ "jsonrpc": "2.0", "id": 2, "error": refused }))]);
    log.extend(call(3));
    let found = trace(written(&log));
    assert_eq!((found.places(), &found.summary["sessions"]), (vec![(6, "order".to_owned())], &json!(1)));
    assert_eq!(found.unobserved(), [""; 0]);
    // Where the log has names for its sessions, nothing else is to be said either.
    log[6].1 = session_from(2, 0)[1].1.clone();
    let named: String = log
        .iter()
        .map(|(is_client, message)| {
            let dir = if *is_client { "c2s" } else { "s2c" };
            format!("{}\n", json!({ "dir": dir, "session": "one", "msg": message }))
        })
        .collect();
    let found = trace(named);
    assert_eq!((found.places(), &found.summary["sessions"]), (vec![(6, "order".to_owned())], &json!(1)));
}

#[test]
fn clients_that_share_a_log_are_distinguished_by_their_ids() {
    for (first, alone) in [(0, 7), (0, 13), (0, 0), (1000, 0), (1000, 7)] {
        let (one, two) = (session_from(0, 20), session_from(first, 15));
        let log = in_turn(&one, &two, alone);
        let found = trace(written(&log));
        let said = format!("which session each message belongs to, if line {} begins another one", alone + 2);
        assert_eq!(
            (found.places(), &found.summary["sessions"]),
            (vec![], &json!(2)),
            "{first} {alone}: {found:#?}"
        );
        assert!(found.unobserved()[0].starts_with(&said), "{first} {alone}: {found:#?}");
        // Nothing says who sends the messages, either.
        let plain: String = log.iter().map(|(_, message)| format!("{message}\n")).collect();
        assert_eq!(trace(plain).places(), [], "{first} {alone}");
        // A mistake in either is found.
        let replies = (30..).filter(|place| log[*place].1["result"].is_object());
        for place in replies.take(2) {
            let mut log = log.clone();
            let id = log.remove(place).1["id"].clone();
            let found = trace(written(&log));
            let asked = usize::try_from(found.lines()[0]).unwrap();
            assert_eq!(
                found.places(),
                [(asked as u64, "unanswered".to_owned())],
                "{first} {alone}: {found:#?}"
            );
            assert_eq!(log[asked - 1].1["id"], id);
        }
    }
}

#[test]
fn a_log_that_shows_each_message_twice_is_said() {
    let one = messages("real-ts240-se");
    let both: Vec<Message> = one.iter().flat_map(|message| [message.clone(), message.clone()]).collect();
    let found = trace(written(&both));
    let said = "which session each message belongs to, if line 2 begins another one: ";
    assert!(found.unobserved()[0].starts_with(said), "{found:#?}");
    assert_eq!(found.places(), [], "{found:#?}");
    assert!(trace(written(&one)).unobserved().iter().all(|what| !what.starts_with("which session")));
    // Only the opening stands there twice.
    let found = trace(written(&[&one[..1], &one].concat()));
    assert_eq!(found.places(), [(2, "correlation".to_owned())], "{found:#?}");
}

/// Where the ids of several clients do not distinguish them, what follows from that is a handful of findings.
#[test]
fn clients_whose_ids_say_nothing_are_a_handful_of_findings() {
    let session = |shift: u64| {
        let mut log = session_from(0, 0);
        // The ids are those of others, too, and have no order.
        log.extend((0..200).flat_map(|place| call(7 + (place * 37 + shift) % 211)));
        log
    };
    let log = in_turn(&session(0), &session(3), 10);
    let found = trace(written(&log));
    assert!(found.places().len() <= 4, "{:?}", found.places());
    assert!(
        found.unobserved().iter().any(|what| what.starts_with("which session")),
        "{:?}",
        found.unobserved()
    );
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

/// Whether the client counts its ids from the start again or goes on with them, what the server says before it has answered is of
/// the session that begins.
#[test]
fn what_a_server_says_while_it_is_opened_again_is_of_the_session_that_begins() {
    let start: Vec<Message> = messages("real-ts240-se").into_iter().take(3).collect();
    let said = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "up" } });
    let with = |id: u64, capabilities: Value| {
        let mut session = start.clone();
        session[0].1["id"] = id.into();
        session[1].1["id"] = id.into();
        session[1].1["result"]["capabilities"] = capabilities;
        session
    };
    let ping = |id: u64| {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        [(true, json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })), (false, answer)]
    };
    for id in [0, 7] {
        let mut next = with(id, json!({ "logging": {} }));
        next.insert(1, (false, said.clone()));
        let log = [with(0, json!({})), ping(1).to_vec(), next, ping(id + 1).to_vec()].concat();
        let found = trace(written(&log));
        assert_eq!(found.places(), [(7, "capability".to_owned())], "{id}: {found:#?}");
        assert_eq!((&found.findings[0]["level"], found.code), (&json!("should"), 0), "{id}: {found:#?}");
    }
}

/// A log that was cut within a session, whose last replies it has before the next one.
#[test]
fn the_last_replies_of_a_session_that_is_not_in_the_log_belong_to_nothing() {
    let log = messages("real-ts240-se");
    for count in 1..4 {
        let last = (0..count).map(|more| (false, json!({ "jsonrpc": "2.0", "id": 57 + more, "result": {} })));
        let log: Vec<Message> = last.chain(log.clone()).collect();
        let found = trace(written(&log));
        assert_eq!((found.places(), &found.summary["sessions"]), (vec![], &json!(2)), "{found:#?}");
        assert!(found.unobserved()[0].starts_with("the beginning of the session in line 1"), "{found:#?}");
        assert!(!found.unobserved().iter().any(|what| what.starts_with("any message of")), "{found:#?}");
    }
}

/// What names no session is of the last one, as long as nothing says that the one before goes on.
#[test]
fn what_a_server_says_is_not_excused_by_a_session_that_is_over() {
    let opening = |has_logging: bool| -> Vec<Message> {
        let mut opening = messages("real-ts240-se")[..3].to_vec();
        let logging = if has_logging { json!({ "logging": {} }) } else { json!({}) };
        opening[1].1["result"]["capabilities"] = logging;
        opening
    };
    let log = || {
        (
            false,
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } }),
        )
    };
    let said = |count: usize| std::iter::repeat_with(log).take(count);
    let all: Vec<Message> =
        opening(true).into_iter().chain(said(1)).chain(opening(false)).chain(said(3)).collect();
    let found = trace(written(&all));
    assert_eq!(
        (found.places(), &found.summary["sessions"]),
        (vec![(8, "capability".to_owned())], &json!(2)),
        "{found:#?}"
    );
    let other: Vec<Message> = opening(false).into_iter().chain(opening(true)).chain(said(3)).collect();
    assert_eq!(trace(written(&other)).places(), []);
    // The first client waits for a reply, which comes: its server may have said it.
    let ping = (true, json!({ "jsonrpc": "2.0", "id": 1000, "method": "ping" }));
    let answer = (false, json!({ "jsonrpc": "2.0", "id": 1000, "result": {} }));
    let both = opening(true).into_iter().chain([ping]).chain(opening(false)).chain(said(3)).chain([answer]);
    assert_eq!(trace(written(&both.collect::<Vec<_>>())).places(), []);
}

/// Nothing distinguishes the clients but their names, and a log without names of sessions says so.
#[test]
fn clients_of_a_revision_without_sessions_may_share_a_log() {
    let log = messages("2026-07-28/rounds-ts240");
    let first = log.iter().position(|(is_client, message)| *is_client && message["id"].is_number()).unwrap();
    let mut both = log.clone();
    both.insert(first + 1, log[first].clone());
    let found = trace(written(&both));
    let line = first + 2;
    assert!(
        found.unobserved().iter().any(|what| what
            .starts_with(&format!("which client each message belongs to, if the request in line {line}"))),
        "{found:#?}"
    );
    assert!(trace(written(&log)).unobserved().iter().all(|what| !what.starts_with("which client")));
}
