//! A guard over standard streams: what passes, what is stopped, and how it ends.

use std::process::Command;

use serde_json::{Value, json};

use super::Test;
use super::client::{
    CALL, Client, INITIALIZE, INITIALIZED, call_alone, feed, guard, guard_of, record, recorded, round, traced,
};

pub(crate) const TESTS: [Test; 45] = [
    ("an_object_that_is_logged_hides_nothing", an_object_that_is_logged_hides_nothing),
    ("bytes_pass_as_they_are", bytes_pass_as_they_are),
    ("messages_with_a_length_pass_as_they_are", messages_with_a_length_pass_as_they_are),
    ("a_good_session_is_recorded_and_nothing_is_said", a_good_session_is_recorded_and_nothing_is_said),
    ("mistakes_are_reported_and_pass", mistakes_are_reported_and_pass),
    ("one_cause_is_reported_once", one_cause_is_reported_once),
    ("what_waits_for_a_step_is_reported_with_it", what_waits_for_a_step_is_reported_with_it),
    ("a_tool_call_before_initialize_is_stopped", a_tool_call_before_initialize_is_stopped),
    ("the_level_says_what_is_stopped", the_level_says_what_is_stopped),
    ("text_that_is_not_a_message_is_stopped", text_that_is_not_a_message_is_stopped),
    ("requests_of_a_server_are_answered", requests_of_a_server_are_answered),
    ("notifications_and_stray_replies_are_dropped", notifications_and_stray_replies_are_dropped),
    ("replies_are_replaced", replies_are_replaced),
    ("a_record_says_what_the_guard_has_written", a_record_says_what_the_guard_has_written),
    ("a_record_knows_where_its_session_begins", a_record_knows_where_its_session_begins),
    ("a_recording_follows_the_earlier_ones", a_recording_follows_the_earlier_ones),
    ("what_is_not_a_recording_is_left_alone", what_is_not_a_recording_is_left_alone),
    ("a_request_that_passes_out_of_order_is_followed", a_request_that_passes_out_of_order_is_followed),
    ("what_is_permitted_of_a_batch_passes", what_is_permitted_of_a_batch_passes),
    ("requests_that_stand_for_themselves_are_judged", requests_that_stand_for_themselves_are_judged),
    ("rounds_are_what_was_asked_for", rounds_are_what_was_asked_for),
    ("long_messages_go_by_or_are_refused", long_messages_go_by_or_are_refused),
    ("exit_codes_are_passed_on", exit_codes_are_passed_on),
    ("signals_are_passed_on", signals_are_passed_on),
    ("a_server_that_dies_leaves_its_requests", a_server_that_dies_leaves_its_requests),
    ("a_server_that_ends_first_is_named_by_its_record", a_server_that_ends_first_is_named_by_its_record),
    ("streams_that_close_are_closed", streams_that_close_are_closed),
    ("what_cannot_be_written_is_reported", what_cannot_be_written_is_reported),
    ("reports_do_not_hold_up_the_traffic", reports_do_not_hold_up_the_traffic),
    ("a_flood_of_text_is_counted", a_flood_of_text_is_counted),
    ("a_flood_of_different_mistakes_is_counted", a_flood_of_different_mistakes_is_counted),
    ("one_mistake_of_form_is_one_report", one_mistake_of_form_is_one_report),
    (
        "a_reply_that_is_not_one_is_not_held_against_the_client",
        a_reply_that_is_not_one_is_not_held_against_the_client,
    ),
    ("a_client_that_does_not_wait_is_reported_once", a_client_that_does_not_wait_is_reported_once),
    ("a_report_after_the_reply_is_named", a_report_after_the_reply_is_named),
    ("a_step_with_a_wrong_name_is_one_report", a_step_with_a_wrong_name_is_one_report),
    ("progress_that_does_not_increase_is_named", progress_that_does_not_increase_is_named),
    ("ids_of_another_type_are_named_once", ids_of_another_type_are_named_once),
    ("a_result_without_capabilities_is_one_report", a_result_without_capabilities_is_one_report),
    ("an_error_without_an_id_says_what_to_do", an_error_without_an_id_says_what_to_do),
    ("a_last_line_without_a_line_feed_is_named", a_last_line_without_a_line_feed_is_named),
    ("reports_have_three_formats", reports_have_three_formats),
    ("a_refusal_has_the_members_of_the_envelope", a_refusal_has_the_members_of_the_envelope),
    ("a_refusal_is_of_the_dialect_of_the_protocol", a_refusal_is_of_the_dialect_of_the_protocol),
    (
        "a_reply_of_another_session_is_replaced_by_one_of_its_own",
        a_reply_of_another_session_is_replaced_by_one_of_its_own,
    ),
];

/// A server that returns what it reads, before which the guard has to let everything pass.
fn through_cat(arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>) {
    let output = feed(guard(&[arguments, &["--", "cat"]].concat()), input);
    (output.status.code().unwrap(), output.stdout)
}

/// A client of the Chrome DevTools Protocol finds its command by the session first, and then by the id.
fn a_refusal_has_the_members_of_the_envelope() {
    let protocol = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/protocols/devtools.session");
    let command = json!({ "id": 3, "method": "Page.enable", "sessionId": "S9", "other": 1 });
    let arguments = ["--enforce", "must", protocol, "--", "cat"];
    let output = feed(guard(&arguments), format!("{command}\n").as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["id"], &answer["sessionId"]), (&json!(3), &json!("S9")));
    assert!(answer["error"]["message"].as_str().unwrap().contains("nothing is running under it"));
    assert!(answer.get("other").is_none(), "{answer}");
}

/// The client would look for the request in the session that the reply names.
fn a_reply_of_another_session_is_replaced_by_one_of_its_own() {
    let protocol = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/protocols/devtools.session");
    let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": false });
    let command = json!({ "id": 3, "method": "Target.setAutoAttach", "params": params });
    let reply = json!({ "id": 3, "result": {}, "sessionId": "S9" });
    let server = format!("read -r asked; echo '{reply}'");
    let arguments = ["--enforce", "must", protocol, "--", "sh", "-c", &server];
    let output = feed(guard(&arguments), format!("{command}\n").as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32603)), "{answer}");
    assert!(answer.get("sessionId").is_none(), "{answer}");

    // What is not read to its end has no session that could be read.
    let attached = json!({ "id": 1, "result": { "sessionId": "S1" } });
    let long = json!({ "id": 2, "result": { "x": "x".repeat(500) }, "sessionId": "S1" });
    let server = format!("read -r asked; echo '{attached}'; read -r asked; echo '{long}'; cat");
    let arguments = ["--enforce", "must", "--max-message", "400", protocol, "--", "sh", "-c", &server];
    let mut client = Client::start(guard(&arguments));
    let params = json!({ "targetId": "T", "flatten": true });
    let attach = json!({ "id": 1, "method": "Target.attachToTarget", "params": params });
    assert_eq!(client.ask(&attach.to_string())["result"]["sessionId"], "S1");
    let command = json!({ "id": 2, "method": "Page.enable", "sessionId": "S1" });
    let answer = client.ask(&command.to_string());
    assert_eq!((&answer["id"], &answer["sessionId"]), (&json!(2), &json!("S1")), "{answer}");
    assert!(answer["error"].is_object(), "{answer}");
    client.close();
}

/// A client of JSON-RPC 1.0 looks for `error` in a reply that has `result`, too, and a strict one refuses other
/// members.
fn a_refusal_is_of_the_dialect_of_the_protocol() {
    let devtools = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/protocols/devtools.session");
    let stratum = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/protocols/stratum.session");
    let long = format!("{{\"id\":3,\"method\":\"{}\"}}\n", "x".repeat(500));
    for (protocol, message, members) in [
        (devtools, "{\"id\":3,\"method\":\"Page.enable\"}\n", vec!["error", "id"]),
        (stratum, "{\"id\":3,\"method\":\"mining.nothing\",\"params\":[]}\n", vec!["error", "id", "result"]),
        (devtools, &long, vec!["error", "id"]),
        (stratum, &long, vec!["error", "id", "result"]),
    ] {
        let arguments = ["--enforce", "must", "--max-message", "400", protocol, "--", "cat"];
        let output = feed(guard(&arguments), message.as_bytes());
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut found: Vec<&String> = answer.as_object().unwrap().keys().collect();
        found.sort();
        assert_eq!(found, members, "{answer}");
        assert_eq!((&answer["id"], answer["result"].is_null()), (&json!(3), true));
    }
}

fn bytes_pass_as_they_are() {
    let odd: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for text in [
        &b""[..],
        b"\n\n \r\n\t\n",
        b" {\"jsonrpc\" : \"2.0\",\t\"id\":1.0}\r\n\r\n[]\nnull\n\xff\xfe\0\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"half",
        &odd,
    ] {
        let (code, passed) = through_cat(&["--protocol", "mcp"], text);
        assert_eq!(code, 0);
        assert!(passed == text, "{:?}", String::from_utf8_lossy(text));
    }
}

fn messages_with_a_length_pass_as_they_are() {
    let ping = "Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}\n";
    for text in [
        ping.to_owned(),
        ping.repeat(3),
        format!("content-length:  2\r\nContent-Type: x\r\n\r\n{{}}{ping}"),
        format!("{ping}no header\r\n\r\nContent-Length: 2\r\n\r\n{{}}"),
        format!("{ping}Content-Length: 2000\r\n\r\n{{}}"),
    ] {
        let (code, passed) = through_cat(&["--protocol", "lsp"], text.as_bytes());
        assert_eq!((code, String::from_utf8(passed).unwrap()), (0, text));
    }
}

fn a_good_session_is_recorded_and_nothing_is_said() {
    let path = record("good");
    let mut client =
        Client::start(guard_of("correct", &["--enforce", "should", "--record", path.to_str().unwrap()]));
    client.initialize();
    let called = client.ask(CALL);
    assert_eq!(called["result"]["content"][0]["text"], "called");
    assert_eq!(client.close(), (0, String::new(), String::new()));
    let recorded = recorded(&path);
    let writers: Vec<&str> = recorded.iter().map(|(writer, _)| writer.as_str()).collect();
    assert_eq!(writers, ["c2s", "s2c", "c2s", "c2s", "s2c"]);
    assert_eq!(recorded[0].1, serde_json::from_str::<Value>(INITIALIZE).unwrap());
    assert_eq!(recorded[4].1, called);
}

fn mistakes_are_reported_and_pass() {
    let mut client = Client::start(guard_of("correct", &[]));
    assert_eq!(client.ask(CALL)["result"]["content"][0]["text"], "called");
    client.initialize();
    assert_eq!(client.ask(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#)["error"]["code"], -32601);
    let (code, rest, reports) = client.close();
    assert_eq!((code, rest.as_str()), (0, ""));
    let reports: Vec<&str> = reports.lines().collect();
    let expected =
        ["guard: client: `tools/call` is not permitted in `Uninit`", "guard: client: `prompts/list`"];
    assert_eq!(reports.len(), expected.len(), "{reports:#?}");
    for (report, expected) in reports.iter().zip(expected) {
        assert!(report.starts_with(expected), "{report}");
    }
}

fn one_cause_is_reported_once() {
    let asks = |id: u8| CALL.replace("2,", &format!("{id},"));
    let mut client = Client::start(guard_of("correct", &[]));
    for id in 3..=15 {
        client.ask(&asks(id));
    }
    client.initialize();
    for id in 20..=22 {
        client.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"prompts/list"}}"#));
    }
    let reports = client.close().2;
    let early = "client: `tools/call` is not permitted in `Uninit`: the client may send `initialize` or `ping` now (rule L5, should)";
    let prompts = "client: `prompts/list` needs the capability `prompts`, which the server has not announced (rule L7, must)";
    let expected = [
        format!("guard: {early}"),
        format!("guard: 9 more like this so far: {early}"),
        format!("guard: {prompts}"),
        format!("guard: 12 more like this in all: {early}"),
        format!("guard: 2 more like this in all: {prompts}"),
    ];
    assert_eq!(reports.lines().collect::<Vec<_>>(), expected);
    // What is stopped is reported each time.
    let mut client = Client::start(guard_of("correct", &["--enforce", "should"]));
    client.ask(&asks(3));
    client.ask(&asks(4));
    assert_eq!(client.close().2.lines().count(), 2);
}

fn what_waits_for_a_step_is_reported_with_it() {
    let mut client = Client::start(guard_of("hasty", &[]));
    client.ask(INITIALIZE);
    for id in 3..6 {
        // It is the request of the server; then another one comes, and the answer.
        assert_eq!(client.ask(&CALL.replace("2,", &format!("{id},")))["method"], "roots/list");
        assert_eq!(client.read()["method"], "elicitation/create");
        client.read();
    }
    let reports = client.close().2;
    let reports: Vec<&str> = reports.lines().collect();
    let [first, more, missing] = reports.as_slice() else { panic!("{reports:#?}") };
    let early = "server: `roots/list` is not permitted in `AwaitingNotif`: ";
    assert!(first.starts_with(&format!("guard: {early}")), "{first}");
    assert!(more.starts_with(&format!("guard: 5 more like this in all: {early}")), "{more}");
    assert_eq!(
        *missing,
        "guard: the client never sends the notification `notifications/initialized`, for which the session waits in \
         `AwaitingNotif`"
    );
}

fn a_tool_call_before_initialize_is_stopped() {
    let path = record("early");
    let mut client =
        Client::start(guard_of("correct", &["--enforce", "should", "--record", path.to_str().unwrap()]));
    let refused = client.ask(CALL);
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32600)));
    assert_eq!(refused["error"]["data"]["state"], "Uninit");
    // The session goes on.
    client.initialize();
    assert_eq!(client.ask(&CALL.replace("2,", "3,"))["result"]["content"][0]["text"], "called");
    let (code, rest, reports) = client.close();
    assert_eq!((code, rest.as_str()), (0, ""));
    assert!(
        reports.starts_with("guard: client: refused: `tools/call` is not permitted in `Uninit`"),
        "{reports}"
    );
    assert_eq!(reports.lines().count(), 1, "{reports}");
    assert_eq!(recorded(&path)[1], ("s2c".to_owned(), refused));
}

fn the_level_says_what_is_stopped() {
    let mut client = Client::start(guard_of("correct", &["--enforce"]));
    // The specification only advises against it.
    assert_eq!(client.ask(CALL)["result"]["content"][0]["text"], "called");
    client.initialize();
    // A server without the capability must not be asked.
    let refused = client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list"}"#);
    assert!(refused["error"]["message"].as_str().unwrap().contains("must"), "{refused}");
    let (code, _, reports) = client.close();
    assert_eq!(code, 0);
    assert_eq!(reports.matches("refused").count(), 1, "{reports}");
}

fn text_that_is_not_a_message_is_stopped() {
    let mut client = Client::start(guard_of("chatty", &["--enforce"]));
    assert_eq!(client.ask("not JSON")["error"]["code"], -32700);
    assert_eq!(client.ask(r#"{"jsonrpc":"2.0","id":7}"#)["id"], 7);
    client.initialize();
    let (code, rest, reports) = client.close();
    assert_eq!((code, rest.as_str()), (0, ""), "what the server says between its messages does not pass");
    assert!(reports.contains("guard: server: dropped: malformed message"), "{reports}");
    let mut client = Client::start(guard_of("chatty", &[]));
    assert_eq!(client.read(), json!("Listening\n"));
    client.initialize();
    assert_eq!(client.close().0, 0);
}

fn requests_of_a_server_are_answered() {
    let mut client = Client::start(guard_of("asks", &["--enforce"]));
    client.initialize();
    // The server has got the error, and the client has seen nothing of its request.
    assert_eq!(client.ask(CALL)["result"]["content"][0]["text"], "the client said -32600");
    let (_, rest, reports) = client.close();
    assert_eq!(rest, "");
    assert!(reports.starts_with("guard: server: refused: `tools/list`"), "{reports}");
    assert_eq!(reports.lines().count(), 1, "{reports}");
}

fn notifications_and_stray_replies_are_dropped() {
    for manner in ["notifies", "strays"] {
        let mut client = Client::start(guard_of(manner, &["--enforce"]));
        client.initialize();
        assert_eq!(client.ask(CALL)["result"]["content"][0]["text"], "called", "{manner}");
        let (_, rest, reports) = client.close();
        assert_eq!(rest, "");
        assert!(reports.starts_with("guard: server: dropped: "), "{reports}");
        assert_eq!(reports.lines().count(), 1, "{reports}");
    }
}

fn replies_are_replaced() {
    let mut client = Client::start(guard_of("garbles", &["--enforce"]));
    client.initialize();
    let replaced = client.ask(CALL);
    assert_eq!((&replaced["id"], &replaced["error"]["code"]), (&json!(2), &json!(-32603)));
    let (_, _, reports) = client.close();
    assert!(reports.starts_with("guard: server: replaced: malformed message with the id 2"), "{reports}");

    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    let mut client = Client::start(guard_of("misshapen", &["--enforce", "--payloads"]));
    client.initialize();
    let replaced = client.ask(list);
    assert_eq!((&replaced["id"], &replaced["error"]["code"]), (&json!(3), &json!(-32603)));
    // The id is free of the request that had it.
    assert_eq!(client.ask(&list.replace('3', "4"))["id"], 4);
    let (_, rest, reports) = client.close();
    assert_eq!(rest, "");
    assert_eq!(reports.lines().count(), 2, "{reports}");
    let mut client = Client::start(guard_of("misshapen", &["--payloads"]));
    client.initialize();
    assert_eq!(client.ask(list)["result"]["tools"], "none");
    assert!(client.close().2.contains("does not have its shape"));
}

fn a_record_says_what_the_guard_has_written() {
    let path = record("own");
    let arguments = ["--enforce", "--payloads", "--record", path.to_str().unwrap()];
    let mut client = Client::start(guard_of("misshapen", &arguments));
    client.initialize();
    client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#);
    client.ask(r#"{"jsonrpc":"2.0","id":4,"method":"prompts/list"}"#);
    client.close();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let by_guard = lines.filter(|line| line["by"] == "guard");
    let by_guard: Vec<Value> = by_guard.map(|line| json!([line["dir"], line["msg"]["id"]])).collect();
    assert_eq!(by_guard, [json!(["s2c", 3]), json!(["s2c", 4])], "{text}");
    let found = traced(&path);
    let expected = [("shape", "server"), ("capability", "client")];
    assert_eq!(found, expected.map(|(code, blame)| (code.to_owned(), blame.to_owned())));
}

fn a_record_knows_where_its_session_begins() {
    let mistaken = |code: &str| vec![(code.to_owned(), "client".to_owned())];
    for enforce in [&[][..], &["--enforce", "should"]] {
        let path = record("begins");
        let arguments = [enforce, &["--record", path.to_str().unwrap()]].concat();
        // Nothing but calls before `initialize`.
        let mut client = Client::start(guard_of("correct", &arguments));
        client.ask(CALL);
        client.ask(&CALL.replace("2,", "3,"));
        client.close();
        assert_eq!(traced(&path), mistaken("order"), "{enforce:?}");
        // Another `initialize`.
        let path = record("begins");
        let mut client = Client::start(guard_of("correct", &arguments));
        client.initialize();
        client.ask(CALL);
        client.ask(&INITIALIZE.replace("\"id\":1", "\"id\":3"));
        client.close();
        assert_eq!(traced(&path), mistaken("order"), "{enforce:?}");
    }
}

fn a_recording_follows_the_earlier_ones() {
    let path = record("twice");
    let run = || {
        let mut client = Client::start(guard_of("correct", &["--record", path.to_str().unwrap()]));
        client.initialize();
        client.ask(CALL);
        client.close().2
    };
    assert_eq!(run(), "");
    let first = std::fs::read_to_string(&path).unwrap();
    // A guard that was killed has not finished its last line.
    std::fs::write(&path, format!("{first}{{\"t\": 0.1")).unwrap();
    let said = "` has earlier recordings, and this one follows them\n";
    assert!(run().ends_with(said));
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replace("{\"t\": 0.1\n", "")).unwrap();
    assert!(run().ends_with(said));
    let whole = std::fs::read_to_string(&path).unwrap();
    assert!(whole.starts_with(&first), "{whole}");
    let names = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["session"].clone());
    let mut names: Vec<Value> = names.collect();
    names.dedup();
    assert_eq!((names.len(), &names[0]), (3, &Value::Null), "{whole}");
    assert_eq!(recorded(&path).len(), 3 * 5);
    let mut trace = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    let judged = trace.args(["trace", "--protocol", "mcp"]).arg(&path).output().unwrap();
    let said = String::from_utf8(judged.stdout).unwrap();
    assert!(judged.status.success() && said.contains("3 sessions"), "{said}");
}

fn what_is_not_a_recording_is_left_alone() {
    let path = record("notes");
    std::fs::write(&path, "{\"notes\": []}\n").unwrap();
    let client = Client::start(guard_of("correct", &["--record", path.to_str().unwrap()]));
    let (code, rest, problem) = client.close();
    assert_eq!((code, rest.as_str()), (2, ""));
    assert!(
        problem.ends_with(
            "has something other than recordings of a guard: name another file after `--record`\n"
        ),
        "{problem}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"notes\": []}\n");
}

fn a_request_that_passes_out_of_order_is_followed() {
    // The specification only advises against a request before the session has begun.
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    let mut client = Client::start(guard_of("misshapen", &["--enforce", "--payloads"]));
    let replaced = client.ask(list);
    assert_eq!((&replaced["id"], &replaced["error"]["code"]), (&json!(3), &json!(-32603)));
    client.initialize();
    let (_, rest, reports) = client.close();
    assert_eq!((rest.as_str(), reports.lines().count()), ("", 2), "{reports}");
    assert!(reports.contains("guard: server: replaced: the result of `tools/list` does not"), "{reports}");
    // A reply that is too long for the guard does not keep the client waiting.
    let mut client = Client::start(guard_of("long", &["--enforce", "--max-message", "1000"]));
    assert_eq!(client.ask(CALL)["error"]["code"], -32600);
    client.close();
    // Nor is it forgotten where the server dies.
    let mut client = Client::start(guard_of("dies", &[]));
    client.write(&format!("{CALL}\n"));
    let (_, _, reports) = client.wait();
    assert!(reports.ends_with("has not answered `tools/call` (id 2)\n"), "{reports}");
}

fn what_is_permitted_of_a_batch_passes() {
    let batch = |guard: Command| {
        let mut client = Client::start(guard);
        client.ask(&INITIALIZE.replace("2025-11-25", "2025-03-26"));
        client.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        client.write("[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"prompts/list\"}, {\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}]\n");
        client.close()
    };
    let server = "read x; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}'; read x; cat >&2";
    let command =
        |enforce: &[&str]| guard(&[&["--protocol", "mcp"], enforce, &["--", "sh", "-c", server]].concat());
    let (_, answers, passed) = batch(command(&["--enforce", "should"]));
    assert!(passed.contains("[{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}]\n"), "{passed}");
    let answer: Value = serde_json::from_str(answers.trim()).unwrap();
    assert_eq!(answer["id"], 5);
    let (_, answers, passed) = batch(command(&[]));
    assert!(passed.contains("\"prompts/list\"}, {"), "{passed}");
    assert_eq!(answers, "");
}

fn requests_that_stand_for_themselves_are_judged() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let request = |id: u8, method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{meta}}}}}"#)
    };
    let mut client = Client::start(guard_of("correct", &["--enforce", "should"]));
    // This server does not know it, as one of the revisions with a handshake.
    assert_eq!(client.ask(&request(1, "server/discover"))["error"]["code"], -32601);
    assert_eq!(client.ask(&request(2, "tools/list"))["result"]["tools"], json!([]));
    let refused = client.ask(&request(3, "resources/subscribe"));
    assert_eq!(refused["error"]["code"], -32601, "it is not a method of this revision: {refused}");
    client.ask(&INITIALIZE.replace("\"id\":1", "\"id\":4"));
    assert_eq!(client.ask(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#)["result"], json!({}));
    let (_, _, reports) = client.close();
    assert_eq!(reports.lines().count(), 1, "{reports}");
    assert!(reports.starts_with("guard: client: refused: `resources/subscribe`"), "{reports}");
}

fn rounds_are_what_was_asked_for() {
    let ask = |client: &mut Client, id, more: &Value| client.ask(&call_alone(id, more).to_string());
    let refused = |answer: &Value, says: &str| {
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(message.contains(says), "{message}");
    };
    let mut client = Client::start(guard_of("rounds", &["--enforce"]));
    assert_eq!(ask(&mut client, 1, &json!({}))["result"]["requestState"], "s1");
    refused(&ask(&mut client, 2, &round("s2", "who")), "carries another `requestState`");
    refused(&ask(&mut client, 3, &round("s1", "why")), "has no `who` in `inputResponses`");
    refused(&ask(&mut client, 1, &round("s1", "who")), "of the request that it repeats");
    // The server has seen none of these.
    let greeted = ask(&mut client, 4, &round("s1", "who"));
    assert_eq!(greeted["result"]["content"][0]["text"], "Hello Ada", "{greeted}");
    let (_, _, reports) = client.close();
    assert_eq!(reports.matches("guard: client: refused: ").count(), 3, "{reports}");
    assert_eq!(reports.lines().count(), 3, "{reports}");

    // A server that asks for another round, and for nothing.
    let mut client = Client::start(guard_of("rounds without a question", &["--enforce"]));
    refused(&ask(&mut client, 1, &json!({})), "has neither `inputRequests` nor `requestState`");
    let (_, _, reports) = client.close();
    assert!(reports.starts_with("guard: server: replaced: "), "{reports}");
    assert_eq!(reports.lines().count(), 1, "{reports}");
    let mut client = Client::start(guard_of("rounds without a question", &[]));
    assert_eq!(ask(&mut client, 1, &json!({}))["result"]["resultType"], "input_required");
    assert_eq!(client.close().2.lines().count(), 1);
}

fn long_messages_go_by_or_are_refused() {
    let long = |id: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",{id}\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
            "x".repeat(300_000)
        )
    };
    let text = format!("{}\n{}\n", long("\"id\":8,"), long(""));
    let (code, passed) = through_cat(&["--protocol", "mcp", "--max-message", "1000"], text.as_bytes());
    assert!((code, String::from_utf8(passed).unwrap()) == (0, text.clone()));
    let output = feed(guard_of("correct", &["--enforce", "--max-message", "1000"]), text.as_bytes());
    let answers = String::from_utf8(output.stdout).unwrap();
    let ids: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].take()).collect();
    assert_eq!(ids, [json!(8), Value::Null], "{answers}");
    let reports = String::from_utf8(output.stderr).unwrap();
    assert!(reports.contains("refused: a message is longer than 1000 bytes"), "{reports}");
    // The reply to a call that is not in the record is not one to nothing.
    let path = record("long");
    let mut client =
        Client::start(guard_of("correct", &["--max-message", "1000", "--record", path.to_str().unwrap()]));
    client.initialize();
    let name = format!("\"{}\"", "x".repeat(2_000));
    assert_eq!(client.ask(&CALL.replace("\"x\"", &name))["id"], 2);
    client.close();
    assert_eq!(traced(&path), []);
}

fn exit_codes_are_passed_on() {
    let code =
        |script: &str| feed(guard(&["--protocol", "mcp", "--", "sh", "-c", script]), b"").status.code();
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("exit 7"), Some(7));
    assert_eq!(code("kill -9 $$"), Some(137));
    let missing = feed(guard(&["--protocol", "mcp", "--", "no such program"]), b"");
    assert_eq!(missing.status.code(), Some(2));
    let reported = String::from_utf8(missing.stderr).unwrap();
    assert!(reported.starts_with("sessionc: the server cannot be started: `"), "{reported}");
    // An address is not left aside because there is a command.
    let both = feed(guard(&["--protocol", "mcp", "--to", "http://127.0.0.1:1/mcp", "--", "cat"]), b"");
    let reported = String::from_utf8(both.stderr).unwrap();
    assert_eq!(both.status.code(), Some(2), "{reported}");
    assert!(reported.contains("'--to <URL>' cannot be used with '[COMMAND]...'"), "{reported}");
}

fn signals_are_passed_on() {
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129), ("USR1", 138)] {
        let mut client =
            Client::start(guard(&["--protocol", "mcp", "--", "sh", "-c", "echo ready; exec sleep 1000"]));
        assert_eq!(client.read(), json!("ready\n"));
        let killed = Command::new("kill").args([&format!("-{signal}"), &client.id().to_string()]).status();
        assert!(killed.unwrap().success());
        assert_eq!(client.wait().0, code, "{signal}");
    }
    // A server may have its own way.
    let trap = "trap 'echo bye; exit 5' TERM; echo ready; while :; do read x; done";
    let mut client = Client::start(guard(&["--protocol", "mcp", "--", "sh", "-c", trap]));
    client.read();
    assert!(Command::new("kill").arg(client.id().to_string()).status().unwrap().success());
    // Some shells run their traps only when `read` returns.
    let _ = client.try_write("\n");
    let (code, rest, _) = client.wait();
    assert_eq!((code, rest.as_str()), (5, "bye\n"));
}

fn a_server_that_dies_leaves_its_requests() {
    let mut client = Client::start(guard_of("dies", &[]));
    client.initialize();
    client.write(&format!("{CALL}\n"));
    let (code, rest, reports) = client.wait();
    assert_eq!((code, rest.as_str()), (3, ""));
    assert_eq!(reports, "guard: the server exited with 3 and has not answered `tools/call` (id 2)\n");
}

fn a_server_that_ends_first_is_named_by_its_record() {
    let path = record("ends_first");
    let script = "read x; exec >&-; cat >/dev/null; exit 4";
    let arguments = ["--protocol", "mcp", "--record", path.to_str().unwrap(), "--", "sh", "-c", script];
    let mut client = Client::start(guard(&arguments));
    client.write(&format!("{INITIALIZE}\n"));
    // The client closes its side because the server has.
    assert_eq!(client.read(), json!(""));
    let (code, _, reports) = client.close();
    let expected = "guard: the server exited with 4 and has not answered `initialize` (id 1)\n";
    assert_eq!((code, reports.as_str()), (4, expected));
    let finding = ("unanswered".to_owned(), "server".to_owned());
    assert_eq!(traced(&path), [finding]);
}

fn streams_that_close_are_closed() {
    // The server has closed its output and goes on until its input ends.
    let mut client =
        Client::start(guard(&["--protocol", "mcp", "--", "sh", "-c", "exec >&-; cat >/dev/null; exit 4"]));
    assert_eq!(client.read(), json!(""), "the output ends");
    assert_eq!(client.close().0, 4);
    // The server has closed its input: the client learns it as it would from the server.
    let mut client = Client::start(guard(&[
        "--protocol",
        "mcp",
        "--",
        "sh",
        "-c",
        "exec <&-; echo closed; read x; exec sleep 1000",
    ]));
    assert_eq!(client.read(), json!("closed\n"));
    while client.try_write("{}\n").is_ok() {}
    // A process that the server leaves behind holds its output open.
    let left =
        feed(guard(&["--protocol", "mcp", "--", "sh", "-c", "sleep 1000 2>&- & echo $!; exit 6"]), b"");
    assert_eq!(left.status.code(), Some(6));
    let pid = String::from_utf8(left.stdout).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success());
    assert!(Command::new("kill").arg(client.id().to_string()).status().unwrap().success());
    client.wait();
}

fn what_cannot_be_written_is_reported() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut command = guard(&["--protocol", "mcp", "--", "cat"]);
    command.stdout(full);
    let output = feed(command, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    let reports = String::from_utf8(output.stderr).unwrap();
    let expected = "guard: nothing more passes to the client: cannot write to it: ";
    assert!(reports.lines().any(|line| line.starts_with(expected)), "{reports}");
}

fn reports_do_not_hold_up_the_traffic() {
    // Each is a mistake of its own.
    let line = |number| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"no/such{number}\"}}\n");
    let mut client = Client::start(guard(&["--protocol", "mcp", "--", "cat"]));
    for piece in 0..200 {
        let text: String = (0..100).map(|number| line(piece * 100 + number)).collect();
        client.write(&text);
        for _ in 0..100 {
            client.read();
        }
    }
    // Nothing of standard error was read until here.
    let (code, _, reports) = client.close();
    assert_eq!(code, 0);
    assert!(
        reports.contains(" reports were dropped: standard error was not read fast enough"),
        "{}",
        reports.len()
    );
}

fn a_flood_of_text_is_counted() {
    let lines = 5_000;
    let input = "a line of a log\n".repeat(lines);
    for format in ["text", "json"] {
        let arguments = ["--protocol", "mcp", "--reports", format, "--", "cat"];
        let output = feed(guard(&arguments), input.as_bytes());
        assert_eq!(output.stdout.len(), input.len(), "it passes");
        let reports = String::from_utf8(output.stderr).unwrap();
        for side in ["client", "server"] {
            let of_side = reports.lines().filter(|line| line.contains(side)).collect::<Vec<_>>();
            assert!(of_side[0].contains("it is the line `a line of a log`"), "{reports}");
            assert!(of_side[0].contains("write logs to standard error"), "{reports}");
            let all = format!("{} more like this in all: {side}: ", lines - 1);
            assert!(of_side.last().unwrap().contains(&all), "{reports}");
            // The first, those that are twice the number before, and the last.
            assert_eq!(of_side.len(), 11, "{reports}");
        }
    }
}

fn a_flood_of_different_mistakes_is_counted() {
    // Each is a mistake of its own.
    let line = |number| format!("{{\"jsonrpc\":\"2.0\",\"a{number}\":1,\"method\":1,\"id\":{number}}}\n");
    let enforced: String = (0..1000).map(line).collect();
    let output = feed(guard(&["--protocol", "mcp", "--enforce", "--", "cat"]), enforced.as_bytes());
    let reports = String::from_utf8(output.stderr).unwrap();
    let quoted = reports.lines().filter(|line| line.contains("`method` must be a string"));
    assert_eq!(quoted.count(), 100, "{reports}");
    assert!(reports.contains("client: 1000 malformed messages"), "{reports}");
}

fn one_mistake_of_form_is_one_report() {
    let message = |id| json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text" }] } });
    let spread = format!("{:#}\n", message(1)).repeat(2);
    let without: String = (1..4).map(|id| format!("{{\"id\":{id},\"result\":{{}}}}\n")).collect();
    let marked: String = (1..4).map(|id| format!("\u{feff}{}\n", message(id))).collect();
    let mistakes = [
        (spread, "write each message whole and in one line"),
        (without, "`jsonrpc` is missing"),
        (marked, "write without a byte order mark"),
    ];
    for (text, what) in mistakes {
        let output = feed(guard(&["--protocol", "mcp", "--", "cat"]), text.as_bytes());
        let reports = String::from_utf8(output.stderr).unwrap();
        for side in ["client", "server"] {
            let of_side: Vec<&str> =
                reports.lines().filter(|line| line.contains(&format!("{side}: "))).collect();
            assert!(of_side[0].contains(what), "{reports}");
            let is_count = |line: &&str| line.contains(" more like this ");
            assert!(of_side.len() > 1 && of_side[1..].iter().all(is_count), "{reports}");
        }
    }
}

fn a_reply_that_is_not_one_is_not_held_against_the_client() {
    let mut client = Client::start(guard_of("unversioned", &[]));
    client.initialize();
    for id in 3..6 {
        client.ask(&CALL.replace("2,", &format!("{id},")));
    }
    let reports = client.close().2;
    let reports: Vec<&str> = reports.lines().collect();
    let [first, more] = reports.as_slice() else { panic!("{reports:#?}") };
    assert!(first.contains("server: malformed message with the id 1: `jsonrpc` is missing"), "{first}");
    assert!(more.starts_with("guard: 3 more like this in all: server: "), "{more}");
}

fn a_client_that_does_not_wait_is_reported_once() {
    let asked = ["tools/list", "prompts/list", "resources/list"];
    let asked: Vec<String> = (2..)
        .zip(asked)
        .map(|(id, method)| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n"))
        .collect();
    let input = format!("{INITIALIZE}\n{INITIALIZED}\n{}", asked.concat());
    let output = feed(guard(&["--protocol", "mcp", "--", "sh", "-c", "cat > /dev/null"]), input.as_bytes());
    let reports = String::from_utf8(output.stderr).unwrap();
    let early: Vec<&str> = reports.lines().filter(|line| line.contains("`AwaitingResult`")).collect();
    let [step, request, more] = early[..] else { panic!("{reports}") };
    assert!(step.contains("client: `notifications/initialized` is not permitted"), "{reports}");
    assert!(request.contains("client: `tools/list` is not permitted"), "{reports}");
    assert!(more.starts_with("guard: 2 more like this in all: "), "{reports}");
}

fn a_report_after_the_reply_is_named() {
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    for (more, what, passes) in [(&[][..], "server: `", true), (&["--enforce"], "server: dropped: `", false)]
    {
        let mut client = Client::start(guard_of("reports late", more));
        client.initialize();
        client.ask(&call);
        let (_, rest, reports) = client.close();
        assert_eq!(rest.contains("notifications/progress"), passes, "{rest}");
        let said =
            "notifications/progress` carries the token 7 of a request that has its reply: stop reporting";
        assert!(reports.starts_with(&format!("guard: {what}{said}")), "{reports}");
        assert_eq!(reports.lines().count(), 1, "{reports}");
    }
}

fn an_object_that_is_logged_hides_nothing() {
    let mut client = Client::start(guard_of("logs objects", &[]));
    client.initialize();
    client.write(&format!("{CALL}\n"));
    let reports = client.close().2;
    let [logged, changed] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    assert!(logged.contains("if it is a line of a log, write logs to standard error"), "{logged}");
    assert!(changed.contains("needs the capability `resources.listChanged`"), "{changed}");
}

fn a_step_with_a_wrong_name_is_one_report() {
    let mut client = Client::start(guard_of("hasty", &[]));
    client.ask(
        &INITIALIZE.replace("\"capabilities\":{}", "\"capabilities\":{\"roots\":{},\"elicitation\":{}}"),
    );
    client.write("{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n");
    client.ask(CALL);
    client.read();
    client.read();
    let reports = client.close().2;
    let [only] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    assert!(only.contains("`initialized` is not a method that the client sends"), "{only}");
    assert!(only.ends_with("did you mean `notifications/initialized`?"), "{only}");
}

fn progress_that_does_not_increase_is_named() {
    let call = CALL.replace("\"x\"", "\"x\",\"_meta\":{\"progressToken\":7}");
    let said = "guard: server: the progress of the request 2";
    let stays = format!("{said} does not increase: 5 follows 5: increase the progress");
    let again = "guard: 1 more like this in all: server: the progress of the request 2 does not".to_owned();
    // After what is not passed on, the report before it counts.
    for (more, passed, said) in [
        (&[][..], 4, vec![stays.clone(), format!("{said} decreases: 4 follows 5: increase the progress")]),
        (
            &["--enforce"],
            3,
            vec![stays, format!("{said} decreases: 4 follows 5").replacen("the", "dropped: the", 1), again],
        ),
    ] {
        let mut client = Client::start(guard_of("stands still", more));
        client.initialize();
        client.write(&format!("{call}\n"));
        let (_, rest, reports) = client.close();
        assert_eq!(rest.matches("notifications/progress").count(), passed, "{rest}");
        let reports: Vec<&str> = reports.lines().collect();
        assert_eq!(reports.len(), said.len(), "{reports:?}");
        assert!(reports.iter().zip(&said).all(|(report, said)| report.starts_with(said)), "{reports:?}");
    }
}

fn ids_of_another_type_are_named_once() {
    let mut client = Client::start(guard_of("textual", &[]));
    assert_eq!(client.ask(INITIALIZE)["id"], "1");
    client.write(&format!("{INITIALIZED}\n"));
    client.ask(CALL);
    let reports = client.close().2;
    let [only] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    assert!(only.starts_with("guard: server: the server replies to the id \"1\""), "{only}");
    assert!(only.ends_with("write the id as it came, 1: the number, not a text"), "{only}");
}

fn a_result_without_capabilities_is_one_report() {
    let mut client = Client::start(guard_of("silent about itself", &["--payloads"]));
    client.initialize();
    client.ask(CALL);
    client.ask(&CALL.replace("2,", "3,"));
    let reports = client.close().2;
    let [only] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    assert!(only.contains("the result of `initialize` does not have its shape: capabilities: "), "{only}");
}

fn an_error_without_an_id_says_what_to_do() {
    let mut client = Client::start(guard_of("nameless", &[]));
    client.initialize();
    client.ask(CALL);
    client.ask(&CALL.replace("2,", "3,"));
    let wrong =
        INITIALIZED.replace("notifications/", "notifications/x").replace("xinitialized", "initialised");
    client.write(&format!("{wrong}\n"));
    let reports = client.close().2;
    let [first, unknown, more] = reports.lines().collect::<Vec<_>>()[..] else { panic!("{reports}") };
    assert!(
        first.starts_with("guard: server: the server sends an error without an id, and no message"),
        "{first}"
    );
    assert!(first.ends_with("answer with the id of the request; a notification has no answer"), "{first}");
    assert!(unknown.ends_with("did you mean `notifications/initialized`?"), "{unknown}");
    assert!(more.starts_with("guard: 1 more like this in all: server: "), "{more}");
}

fn a_last_line_without_a_line_feed_is_named() {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let reports = |text: &str| {
        let output = feed(guard(&["--protocol", "mcp", "--", "cat"]), text.as_bytes());
        String::from_utf8(output.stderr).unwrap()
    };
    for side in ["client", "server"] {
        let what = format!("the last line of the {side} has no line feed: end each message with one");
        assert!(reports(initialize).contains(&what));
        assert!(!reports(&format!("{initialize}\n ")).contains("line feed"));
    }
    let path = record("last_line");
    let script = "cat >/dev/null; printf '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"'";
    let script = format!("{script}; printf ',\"params\":{{\"level\":\"info\",\"data\":1}}}}'");
    feed(guard(&["--protocol", "mcp", "--record", path.to_str().unwrap(), "--", "sh", "-c", &script]), b"");
    assert!(traced(&path).contains(&("form".to_owned(), "server".to_owned())), "{:?}", traced(&path));
}

fn reports_have_three_formats() {
    let reports = |format: &str| {
        let arguments = ["--protocol", "mcp", "--enforce", "--reports", format, "--", "cat"];
        String::from_utf8(feed(guard(&arguments), b"nothing\n").stderr).unwrap()
    };
    assert!(reports("text").starts_with("guard: client: refused: malformed message: "));
    let json: Value = serde_json::from_str(&reports("json")).unwrap();
    assert_eq!(
        (&json["kind"], &json["sender"], &json["level"], &json["treatment"]),
        (&json!("message"), &json!("client"), &json!("must"), &json!("refused"))
    );
    let event: Value = serde_json::from_str(&reports("tracing")).unwrap();
    assert_eq!((&event["level"], &event["fields"]["guard.sender"]), (&json!("ERROR"), &json!("client")));
}
