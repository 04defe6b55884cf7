//! The same traffic in every format of a log is judged alike.

use serde_json::{Value, json};

use super::command::{Found, Message, is, line_of, messages, recorded, sessionc, trace, trace_with, written};

/// A log in which the methods say who sends a message.
fn plain(messages: &[Message]) -> String {
    messages.iter().map(|(_, message)| format!("{message}\n")).collect()
}

/// What a desktop client writes for its servers.
fn desktop(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let sender = if *is_client { "client" } else { "server" };
        format!(
            "2026-08-01T10:00:00.000Z [notes] [info] Message from {sender}: {message} {{ metadata: undefined }}\n"
        )
    };
    messages.iter().map(line).collect()
}

/// What an editor writes.
fn editor(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let way = if *is_client { "editor -> server" } else { "server -> editor" };
        format!("2026-08-01 10:00:00.000 [trace] [{way}] {message}\n")
    };
    format!(
        "2026-08-01 10:00:00.000 [info] Starting server notes\n{}",
        messages.iter().map(line).collect::<String>()
    )
}

/// What a server writes of itself, in colour.
fn server(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let way = if *is_client { "\u{1b}[32mread\u{1b}[0m" } else { "\u{1b}[33mwrite\u{1b}[0m" };
        format!("{way}: {message}\n")
    };
    messages.iter().map(line).collect()
}

/// A value as Python shows it.
pub(super) fn in_python(value: &Value) -> String {
    let text =
        |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"));
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(string) => text(string),
        Value::Array(all) => format!("[{}]", all.iter().map(in_python).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{}: {}", text(name), in_python(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The fields of a message as the Python SDK shows them.
fn fields(message: &Value, between: &str) -> String {
    let field = |(name, value): (&String, &Value)| match name.as_str() {
        "error" => {
            let [code, message] = ["code", "message"].map(|member| in_python(&value[member]));
            format!("error=ErrorData(code={code}, message={message}, data=None)")
        }
        name => format!("{name}={}", in_python(value)),
    };
    message.as_object().unwrap().iter().map(field).collect::<Vec<_>>().join(between)
}

/// What a client with the Python SDK 2 writes.
pub(super) fn python(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let words = if *is_client { "Sending client message" } else { "SSE message" };
        format!("DEBUG:mcp.client.streamable_http:{words}: {}\n", fields(message, " "))
    };
    messages.iter().map(line).collect()
}

/// What a server with the Python SDK 1 writes, which says most things several times.
fn python_server(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let byte = |byte: u8| match byte {
            b'\\' | b'\'' => format!("\\{}", char::from(byte)),
            128.. => format!("\\x{byte:02x}"),
            byte => char::from(byte).to_string(),
        };
        let bytes: String = message.to_string().bytes().map(byte).collect();
        let class = if message["method"].is_string() { "JSONRPCRequest" } else { "JSONRPCResponse" };
        let shown = format!("root={class}({})", fields(message, ", "));
        if *is_client {
            format!(
                "DEBUG:mcp.server.sse:Received JSON: b'{bytes}'\n\
                 DEBUG:mcp.server.sse:Validated client message: {shown}\n\
                 DEBUG:mcp.server.sse:Sending session message to writer: SessionMessage(message=JSONRPCMessage({shown}))\n"
            )
        } else {
            format!(
                "DEBUG:mcp.server.sse:Sending message via SSE: SessionMessage(message=JSONRPCMessage({shown}))\n\
                 DEBUG:sse_starlette.sse:chunk: b'event: message\\r\\ndata: {bytes}\\r\\n\\r\\n'\n"
            )
        }
    };
    messages.iter().map(line).collect()
}

/// What a proxy writes.
fn proxy(messages: &[Message]) -> String {
    let line = |(is_client, message): &Message| {
        let way = if *is_client { "Local→Remote" } else { "Remote→Local" };
        format!("[4242] [{way}] {message}\n")
    };
    messages.iter().map(line).collect()
}

/// What `socat -v` shows, of a program that reads no more than so many bytes at once.
fn socat(messages: &[Message]) -> String {
    const READ: usize = 100;
    let (mut log, mut passed) = (String::new(), [0, 0]);
    for (is_client, message) in messages {
        let (way, from) = if *is_client { ('>', &mut passed[0]) } else { ('<', &mut passed[1]) };
        for block in format!("{message}\n").as_bytes().chunks(READ) {
            let (length, to) = (block.len(), *from + block.len() - 1);
            let time = "2026/11/30 05:11:57.000123456";
            log.push_str(&format!("{way} {time}  length={length} from={from} to={to}\n"));
            *from += length;
            for byte in block {
                match byte {
                    b'\\' => log.push_str("\\\\"),
                    b'\n' | b' '..=b'~' => log.push(char::from(*byte)),
                    _ => log.push('.'),
                }
            }
        }
    }
    log
}

/// One list, in one line.
fn list(messages: &[Message]) -> String {
    Value::from(messages.iter().map(|(_, message)| message.clone()).collect::<Vec<_>>()).to_string()
}

/// One list of envelopes, in one line.
fn envelopes(messages: &[Message]) -> String {
    format!("[{}]", written(messages).trim_end().replace('\n', ","))
}

/// An archive as some programs write it, with a mark of its encoding.
fn marked_archive(messages: &[Message]) -> String {
    format!("\u{feff}{}", archive(messages))
}

/// An archive that does not begin with its `log`.
fn archive_with_note(messages: &[Message]) -> String {
    archive(messages).replacen('{', "{ \"$note\": { \"from\": \"a proxy\" },", 1)
}

/// An archive of one WebSocket, as Chrome saves it.
fn web_socket(messages: &[Message]) -> String {
    let frame = |(is_client, message): &Message| {
        let direction = if *is_client { "send" } else { "receive" };
        json!({ "type": direction, "time": 1.5, "opcode": 1, "data": message.to_string() })
    };
    let entry = json!({
        "_webSocketMessages": messages.iter().map(frame).collect::<Vec<_>>(),
        "request": { "method": "GET", "headers": [] },
        "response": { "status": 101, "headers": [], "content": { "size": 0, "mimeType": "x-unknown" } },
    });
    json!({ "log": { "version": "1.2", "entries": [entry] } }).to_string()
}

/// An HTTP archive: each request of the client with the messages until its next one, as a stream of events.
fn archive(messages: &[Message]) -> String {
    let mut entries: Vec<Value> = Vec::new();
    for (is_client, message) in messages {
        if *is_client {
            entries.push(json!({
                "request": { "method": "POST", "headers": [{ "name": "Mcp-Session-Id", "value": "s" }],
                    "postData": { "mimeType": "application/json", "text": message.to_string() } },
                "response": { "content": { "mimeType": "text/event-stream", "text": "" } },
            }));
        } else if let Some(entry) = entries.last_mut() {
            let before = entry["response"]["content"]["text"].as_str().unwrap();
            let text = format!("{before}event: message\ndata: {message}\n\n");
            entry["response"]["content"]["text"] = text.into();
        }
    }
    format!("{:#}", json!({ "log": { "version": "1.2", "creator": {}, "entries": entries } }))
}

/// A session with a mistake of each side.
fn mistaken(mut log: Vec<Message>) -> Vec<Message> {
    let call = line_of(&log, is("tools/call"));
    log[call - 1].1["params"].as_object_mut().unwrap().remove("name");
    let logged = line_of(&log, is("notifications/message"));
    log[logged - 1].1["params"]["level"] = 5.into();
    log
}

fn said(log: &str) -> Vec<String> {
    trace(log).findings.iter().map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
}

/// How a session is written as a log.
type LogWriter = fn(&[Message]) -> String;

/// Writes a session, and one with a mistake of each side, and judges the logs as the messages alone. Returns what is found in the log
/// without mistakes.
pub(super) fn judged_alike(name: &str, write: LogWriter) -> Found {
    let mut clean = messages("whole-2025-11-25");
    // Not all that write messages leave such a text as it is.
    clean[1].1["result"]["serverInfo"]["title"] = "Größe \u{1f4dd}".into();
    let wrong = mistaken(clean.clone());
    let expected = said(&written(&wrong));
    assert_eq!(expected.len(), 2, "{expected:?}");
    assert_eq!(said(&write(&wrong)), expected, "{name}");
    let found = trace(write(&clean));
    assert_eq!((found.places(), &*found.broken), (Vec::new(), [].as_slice()), "{name}");
    assert_eq!(found.summary["sessions"], 1, "{name}");
    found
}

#[test]
fn every_format_is_judged_alike() {
    for (name, write) in [
        ("plain", plain as LogWriter),
        ("desktop", desktop),
        ("editor", editor),
        ("server", server),
        ("python", python),
        ("python server", python_server),
        ("proxy", proxy),
        ("socat", socat),
        ("archive", archive),
        ("marked archive", marked_archive),
        ("archive with note", archive_with_note),
        ("web socket", web_socket),
        ("list", list),
        ("envelopes", envelopes),
    ] {
        judged_alike(name, write);
    }
}

#[test]
fn both_sides_may_use_an_id_in_a_log_that_does_not_say_who_sends() {
    let [hello, welcome, ready] = [0, 1, 2].map(|place| messages("real-ts240-se")[place].1.clone());
    let mut hello = hello;
    hello["params"]["capabilities"] = json!({ "roots": {} });
    let mut welcome = welcome;
    welcome["result"]["capabilities"] = json!({ "tools": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "sum" } });
    let roots = json!({ "jsonrpc": "2.0", "id": 2, "method": "roots/list" });
    let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": 2, "result": result });
    let log = |replies: [Value; 2]| {
        let all = [hello.clone(), welcome.clone(), ready.clone(), call.clone(), roots.clone()];
        all.iter().chain(&replies).map(|message| format!("{message}\n")).collect::<String>()
    };
    let (inner, outer) = (answer(json!({ "roots": [] })), answer(json!({ "content": [] })));
    for replies in [[inner.clone(), outer.clone()], [outer.clone(), inner]] {
        let found = trace(log(replies));
        assert_eq!((found.places(), found.unobserved()), (Vec::new(), vec![]), "{found:?}");
    }
    let refused = json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32603, "message": "no" } });
    let found = trace(log([refused, outer]));
    assert_eq!((found.places(), found.unobserved().len()), (Vec::new(), 1), "{found:?}");
    assert!(found.unobserved()[0].starts_with("who has sent the reply in line 6"), "{found:?}");
}

#[test]
fn a_finding_in_an_archive_names_its_entry() {
    let found = trace(archive(&mistaken(messages("whole-2025-11-25"))));
    let finding = found.findings.iter().find(|finding| finding["blame"] == "client").unwrap();
    let entry = usize::try_from(finding["entry"].as_u64().unwrap()).unwrap();
    let line = usize::try_from(finding["line"].as_u64().unwrap()).unwrap();
    let log = archive(&mistaken(messages("whole-2025-11-25")));
    assert_eq!(log.lines().nth(line - 1).unwrap().trim(), "{");
    assert!(entry > 1, "{finding}");
}

#[test]
fn a_request_that_http_refused_may_be_sent_again() {
    let log = messages("real-ts240-se");
    let whole: Value = serde_json::from_str(&archive(&log)).unwrap();
    let call = line_of(&log, is("tools/list"));
    let asked = log[call - 1].1.to_string();
    let asks = |entry: &Value| entry["request"]["postData"]["text"] == *asked;
    for status in [0, 401, 403, 503] {
        let mut refusing = whole.clone();
        let entries = refusing["log"]["entries"].as_array_mut().unwrap();
        // The second has a body that is not of JSON-RPC.
        for (place, text) in
            [(entries.iter().position(asks).unwrap(), ""), (0, "{\"error\":\"invalid_token\"}")]
        {
            let mut refused = entries[place].clone();
            refused["response"] = json!({ "status": status, "content": { "text": text } });
            refused["request"]["headers"] = json!([]);
            entries.insert(place, refused);
        }
        let found = trace(refusing.to_string());
        assert_eq!((found.places(), &found.summary["sessions"]), (Vec::new(), &json!(1)), "{found:?}");
        assert_eq!(found.unobserved().len(), 2, "{found:?}");
    }
}

/// An archive of a server that sends what belongs to no request in a stream of its own, which ends last.
fn archive_with_stream(messages: &[Message]) -> Value {
    let mut entries: Vec<Value> = Vec::new();
    let mut running: Vec<(Value, usize)> = Vec::new();
    let (mut batches, mut stream) = (0, String::new());
    for (is_client, message) in messages {
        let event = format!("event: message\ndata: {message}\n\n");
        let is_request = message["method"].is_string() && message["id"].is_number();
        if *is_client {
            if is_request {
                running.push((message["id"].clone(), entries.len()));
            }
            batches += usize::from(message.is_array());
            entries.push(json!({
                "request": { "method": "POST", "headers": [{ "name": "Mcp-Session-Id", "value": "s" }],
                    "postData": { "mimeType": "application/json", "text": message.to_string() } },
                "response": { "status": if is_request { 200 } else { 202 }, "content":
                    if is_request { json!({ "mimeType": "text/event-stream", "text": "" }) } else { json!({}) } },
            }));
            continue;
        }
        let answered = running.iter().position(|(id, _)| message["method"].is_null() && *id == message["id"]);
        let entry = match answered {
            Some(place) => Some(running.remove(place).1),
            None => running.first().map(|(_, entry)| *entry),
        };
        let text = entry.map(|entry| &mut entries[entry]["response"]["content"]["text"]);
        match text {
            Some(text) => *text = format!("{}{event}", text.as_str().unwrap()).into(),
            None => stream.push_str(&event),
        }
    }
    assert!(stream.contains("\"method\"") && batches == 0, "the recording has both");
    entries.push(json!({
        "request": { "method": "GET", "headers": [{ "name": "Mcp-Session-Id", "value": "s" }] },
        "response": { "status": 200, "content": { "mimeType": "text/event-stream", "text": stream } },
    }));
    json!({ "log": { "version": "1.2", "entries": entries } })
}

#[test]
fn a_stream_of_its_own_may_stand_anywhere_in_an_archive() {
    for (recording, wrong) in
        [("whole-2025-11-25", Some(mistaken(messages("whole-2025-11-25")))), ("whole-2025-03-26", None)]
    {
        let log: Vec<Message> =
            messages(recording).into_iter().filter(|(_, message)| !message.is_array()).collect();
        let mut archive = archive_with_stream(&log);
        let last = archive["log"]["entries"].as_array().unwrap().len() - 1;
        for place in [last, 1] {
            let entries = archive["log"]["entries"].as_array_mut().unwrap();
            let stream = entries.remove(last);
            entries.insert(place, stream);
            let found = trace(archive.to_string());
            assert_eq!((found.places(), &found.broken), (vec![], &vec![]), "{recording} {place}: {found:?}");
        }
        let Some(wrong) = wrong else { continue };
        // Its messages are judged where the client replies to one of them.
        let [mut found, mut expected] =
            [archive_with_stream(&wrong).to_string(), written(&wrong)].map(|log| said(&log));
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn progress_in_a_stream_of_its_own_is_not_taken_as_late() {
    let log = messages("whole-2025-11-25");
    let mut archive = archive_with_stream(&log);
    let entries = archive["log"]["entries"].as_array_mut().unwrap();
    let reports = log.iter().find(|(_, message)| message["method"] == "notifications/progress").unwrap();
    let streamed = format!("data: {}\n\n", reports.1);
    // It stands there in place of the stream of its request.
    for entry in entries {
        let Some(text) = entry["response"]["content"]["text"].as_str() else { continue };
        let moved = text.replace(&format!("event: message\n{streamed}"), "");
        let is_own = entry["request"]["method"] == "GET";
        entry["response"]["content"]["text"] =
            if is_own { format!("{text}{streamed}").into() } else { moved.into() };
    }
    let found = trace(archive.to_string());
    assert_eq!((found.places(), found.unobserved().len()), (vec![], 1), "{found:?}");
    assert!(found.unobserved()[0].starts_with("when the progress in line"), "{found:?}");
}

#[test]
fn a_reply_may_stand_before_its_request_in_an_archive() {
    let log = messages("whole-2025-11-25");
    let mut archive = archive_with_stream(&log);
    let entries = archive["log"]["entries"].as_array_mut().unwrap();
    let is_reply = |entry: &Value| {
        entry["request"]["postData"]["text"].as_str().is_some_and(|text| !text.contains("\"method\""))
    };
    // In the order in which the exchanges have ended.
    let mut moved = 0;
    for place in 1..entries.len() {
        if is_reply(&entries[place]) && !is_reply(&entries[place - 1]) {
            entries.swap(place - 1, place);
            moved += 1;
        }
    }
    assert!(moved > 2);
    let found = trace(archive.to_string());
    assert_eq!((found.places(), &found.broken), (vec![], &vec![]), "{found:?}");
    // A reply to nothing is still a mistake.
    let mut stray = log.clone();
    stray.insert(8, (true, json!({ "jsonrpc": "2.0", "id": 4711, "result": {} })));
    let found = trace(archive_with_stream(&stray).to_string());
    assert_eq!(found.findings.len(), 1, "{found:?}");
    assert_eq!(found.findings[0]["got"], "a reply with the id 4711");
}

#[test]
fn an_archive_without_the_bodies_of_streams_accuses_neither_side() {
    let mut archive = archive_with_stream(&messages("whole-2025-11-25"));
    for entry in archive["log"]["entries"].as_array_mut().unwrap() {
        let content = entry["response"]["content"].as_object_mut().unwrap();
        content.remove("text");
    }
    let found = trace(archive.to_string());
    assert_eq!(found.places(), [], "{found:?}");
    assert!(found.broken.len() > 5, "{found:?}");
}

#[test]
fn an_archive_without_the_body_of_one_stream_accuses_neither_side() {
    let archive = archive_with_stream(&messages("whole-2025-11-25"));
    let has_stream = |entry: &Value| entry["response"]["content"]["text"].is_string();
    let count = archive["log"]["entries"].as_array().unwrap().len();
    for place in 0..count {
        let mut archive = archive.clone();
        let entry = &mut archive["log"]["entries"][place];
        if !has_stream(entry) {
            continue;
        }
        // As mitmproxy saves a stream that it has passed on.
        let mime_type = entry["response"]["content"]["mimeType"].clone();
        entry["response"]["content"] = json!({ "size": 0, "mimeType": mime_type, "text": null });
        // The whole archive is one line.
        let found = trace(archive.to_string());
        let unanswered = found.places().into_iter().filter(|(_, code)| code == "unanswered");
        assert_eq!(unanswered.count(), 0, "entry {place}: {found:#?}");
    }
}

#[test]
fn a_header_that_is_not_unicode_hides_nothing() {
    let mut archive = archive_with_stream(&messages("whole-2025-11-25"));
    let headers = &mut archive["log"]["entries"][0]["request"]["headers"];
    headers.as_array_mut().unwrap().push(json!({ "name": "X-Name", "value": "MARK" }));
    let found = trace(archive.to_string().replace("MARK", "\\udce9"));
    assert_eq!((found.places(), &found.broken), (vec![], &vec![]), "{found:#?}");
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_is_judged() {
    let mut lines: Vec<String> = recorded("real-ts240-se").lines().map(str::to_owned).collect();
    lines.insert(1, "{\"t\": 1, \"dir\": \"c2s\", \"msg\": {".to_owned());
    lines.insert(2, "Server listening \u{1b}[2J".to_owned());
    lines.push("{\"t\": 9, \"dir\": \"s2c\", \"msg\": {\"json".to_owned());
    let found = trace(lines.join("\n"));
    assert_eq!(found.broken, [2, 3, lines.len() as u64]);
    assert_eq!((found.code, found.places()), (0, Vec::new()));
    assert_eq!(found.unobserved(), ["what stands in the lines that cannot be read"]);
    // Not more than a few are listed.
    let many = "{\n".repeat(100) + &recorded("real-ts240-se");
    let found = trace(many);
    assert_eq!((found.broken.len(), &found.summary["broken"]), (20, &json!(100)));
}

#[test]
fn text_of_a_log_does_not_reach_the_terminal_as_it_is() {
    let log = recorded("real-ts240-se")
        + "{\"dir\":\"c2s\",\"msg\":{\"jsonrpc\":\"2.0\",\"method\":\"a\\u001b[2Jb\"}}\n{\"dir\":\"c2s\",\"msg\":\"\\u001b]0;x\"}\n";
    let run = sessionc(&["trace", "--protocol", "mcp", "-"], log.as_bytes());
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("2Jb"), "{}", run.out);
    assert!(!run.out.contains('\u{1b}'), "{}", run.out);
}

#[test]
fn a_line_without_end_takes_no_memory_and_hides_nothing() {
    let long = format!("{{\"dir\":\"c2s\",\"msg\":\"{}\"}}\n", "x".repeat(17 << 20));
    let found = trace(long + &recorded("real-ts240-se"));
    assert_eq!((found.broken, found.findings.len()), (vec![1], 0));
}

#[test]
fn a_long_list_in_one_line_is_read_element_by_element() {
    let text = "x".repeat(1 << 20);
    let logged = json!({ "level": "info", "data": text });
    let logged = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": logged });
    let mut log = messages("real-ts240-se");
    let short = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } });
    let count = log.len() + 20_020;
    log.extend(std::iter::repeat_n((false, logged), 20));
    // Where each element looked at the whole rest of the line, this would take minutes.
    log.extend(std::iter::repeat_n((false, short), 20_000));
    let welcome = line_of(&log, |message| message["result"]["protocolVersion"].is_string());
    log[welcome - 1].1["result"]["capabilities"]["logging"] = json!({});
    let found = trace(list(&log));
    assert_eq!((found.places(), found.broken), (Vec::new(), Vec::new()));
    let counts = ["requests", "results", "errors", "notifications"].map(|kind| found.summary[kind].as_u64());
    assert_eq!(counts.into_iter().flatten().sum::<u64>(), count as u64);
}

#[test]
fn a_sarif_log_has_a_result_for_each_finding() {
    let path = "tests/traffic/everything-violations.jsonl";
    let run = sessionc(&["trace", "--protocol", "mcp", "--format", "sarif", path], b"");
    let log: Value = serde_json::from_str(&run.out).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let found = trace(recorded("everything-violations"));
    assert_eq!(results.len(), found.findings.len());
    for (result, finding) in results.iter().zip(&found.findings) {
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], path);
        assert_eq!(place["region"]["startLine"], finding["line"]);
        assert_eq!(result["ruleId"], finding["code"]);
        let level = if finding["level"] == "must" { "error" } else { "warning" };
        assert_eq!(result["level"], level);
    }
}

#[test]
fn what_fails_can_be_chosen() {
    let log = recorded("cancel-py130");
    for (level, code) in [("must", 0), ("should", 1), ("never", 0)] {
        assert_eq!(trace_with(&["--fail-on", level], &log).code, code, "{level}");
    }
    assert_eq!(trace_with(&["--fail-on", "never"], recorded("everything-violations")).code, 0);
}

#[test]
fn what_cannot_be_used_is_said() {
    let fails = |arguments: &[&str], input: &str| {
        let run = sessionc(&[&["trace"], arguments].concat(), input.as_bytes());
        assert_eq!(run.code, 2, "{}", run.out);
        run.err
    };
    let mcp = ["--protocol", "mcp"];
    assert!(fails(&[&mcp[..], &["-"]].concat(), "listening\n").contains("`<stdin>` has no message"));
    assert!(fails(&[&mcp[..], &["missing.jsonl"]].concat(), "").contains("cannot read `missing.jsonl`"));
    let file = "examples/counter/counter.session";
    assert!(fails(&[file], "").contains("no log is named"));
    for silent in [
        "DEBUG:mcp: Received message: <mcp.shared.session.RequestResponder object at 0x7f>\n",
        "DEBUG:mcp.server.lowlevel.server:Initializing server 'notes'\n",
    ] {
        assert!(fails(&[&mcp[..], &["-"]].concat(), silent).contains("no message: the Python SDK logs"));
    }
    let entry = r#"{"id":"5f","direction":"request","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
    assert!(
        fails(&[&mcp[..], &["-"]].concat(), entry).contains("entries of MCP Inspector outside of their list")
    );
    let log = fails(&["tests/traffic/whole-2025-11-25.jsonl"], "");
    assert!(
        log.contains("is a log and no protocol is named: write `sessionc trace --protocol mcp tests/"),
        "{log}"
    );
    assert!(fails(&[&mcp[..], &[file, "-"]].concat(), "").contains("two protocols are named"));
    let state = fails(&[&mcp[..], &["--from", "Activ", "-"]].concat(), "{}");
    assert!(state.contains("did you mean `Active`?"), "{state}");
    // The other logs are judged all the same.
    let path = "tests/traffic/everything-violations.jsonl";
    let run = sessionc(&["trace", "--protocol", "mcp", "missing.jsonl", path], b"");
    assert_eq!(run.code, 2);
    assert!(run.out.contains("10 findings"), "{}", run.out);
}

#[test]
fn an_export_of_the_inspector_is_judged() {
    let export = |progress: u64| {
        format!(
            r#"[
  {{
    "id": "5f1c",
    "timestamp": "2026-11-29T10:00:00.001Z",
    "direction": "request",
    "origin": "client",
    "message": {{ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {{
      "protocolVersion": "2025-11-25", "capabilities": {{}}, "clientInfo": {{ "name": "inspector", "version": "2" }} }} }},
    "response": {{ "jsonrpc": "2.0", "id": 0, "result": {{
      "protocolVersion": "2025-11-25", "capabilities": {{ "tools": {{}} }}, "serverInfo": {{ "name": "a", "version": "1" }} }} }},
    "duration": 4
  }},
  {{
    "id": "5f1d",
    "timestamp": "2026-11-29T10:00:00.005Z",
    "direction": "notification",
    "origin": "client",
    "message": {{ "jsonrpc": "2.0", "method": "notifications/initialized" }}
  }},
  {{
    "id": "5f1e",
    "timestamp": "2026-11-29T10:00:00.010Z",
    "direction": "request",
    "origin": "client",
    "message": {{ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{
      "name": "a", "_meta": {{ "progressToken": 1 }} }} }},
    "response": {{ "jsonrpc": "2.0", "id": 1, "result": {{ "content": [] }} }},
    "duration": 10
  }},
  {{
    "id": "5f1f",
    "timestamp": "2026-11-29T10:00:00.0{progress}Z",
    "direction": "notification",
    "origin": "server",
    "message": {{ "jsonrpc": "2.0", "method": "notifications/progress", "params": {{ "progressToken": 1, "progress": 1 }} }}
  }}
]"#
        )
    };
    for (progress, code, said) in [(15, 0, "0 findings"), (20, 0, "0 findings"), (21, 1, "progress")] {
        let run = sessionc(
            &["trace", "--protocol", "mcp", "--fail-on", "should", "-"],
            export(progress).as_bytes(),
        );
        assert_eq!(run.code, code, "{}{}", run.out, run.err);
        assert!(run.out.contains(said), "{}", run.out);
    }
}

#[test]
fn logs_of_clients_name_what_they_could_not_read_and_that_a_server_has_exited() {
    let message = |id: u64, method: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" },
    } })
    };
    let initialize = message(0, "initialize");
    for (log, exit) in [
        (
            format!(
                "2026-01-01T10:00:00.000Z [notes] [info] Message from client: {initialize} {{ metadata: undefined }}\n\
                 2026-01-01T10:00:00.000Z [notes] [error] Unexpected token 'N', \"Notes are \"... is not valid JSON {{\n\
                 2026-01-01T10:00:00.000Z [notes] [info] Server transport closed {{ metadata: undefined }}\n"
            ),
            "the server exited, in line 3",
        ),
        (
            format!(
                "2026-01-01 10:00:00.000 [debug] [editor -> server] {initialize}\n\
                 2026-01-01 10:00:00.000 [warning] Failed to parse message: \"Notes are ready\\n\"\n\
                 2026-01-01 10:00:00.000 [info] Connection state: Error Process exited with code 7\n"
            ),
            "the server exited with 7, in line 3",
        ),
    ] {
        let found = trace(&log);
        let expected = [(2, "form".to_owned()), (1, "unanswered".to_owned())];
        assert_eq!((found.places(), found.broken.len()), (expected.to_vec(), 0), "{found:#?}");
        assert!(found.findings[1]["message"].as_str().unwrap().ends_with(exit), "{found:#?}");
    }
}

/// Progress in a stream of the server's own may have come at any time; in one that goes on with another it came behind that.
#[test]
fn progress_is_compared_where_its_streams_have_one_order() {
    let mut log: Vec<_> = messages("real-ts240-se").into_iter().take(3).collect();
    let params = json!({ "name": "x", "_meta": { "progressToken": "t" } });
    log.push((true, json!({ "jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": params })));
    let report = |progress: u8| {
        let params = json!({ "progressToken": "t", "progress": progress });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    log.extend([(false, report(1)), (false, report(3))]);
    let mut whole: Value = serde_json::from_str(&archive(&log)).unwrap();
    let reply = json!({ "jsonrpc": "2.0", "id": 70, "result": { "content": [] } });
    let events = [report(2), report(2), reply].map(|message| format!("data: {message}\n\n")).concat();
    for (resumes, lines) in [(true, 2), (false, 1)] {
        let mut headers = vec![json!({ "name": "Mcp-Session-Id", "value": "s" })];
        headers.extend(resumes.then(|| json!({ "name": "Last-Event-ID", "value": "7" })));
        let content = json!({ "mimeType": "text/event-stream", "text": events });
        let stream =
            json!({ "request": { "method": "GET", "headers": headers }, "response": { "content": content } });
        let entries = whole["log"]["entries"].as_array_mut().unwrap();
        entries.push(stream);
        let found = trace(whole.to_string());
        assert_eq!(found.places().len(), lines, "{resumes}: {found:#?}");
        assert!(found.places().iter().all(|(_, code)| code == "progress"), "{resumes}: {found:#?}");
        whole["log"]["entries"].as_array_mut().unwrap().pop();
    }
}

/// The record of a guard over HTTP says in which stream a message came.
#[test]
fn progress_in_a_record_is_compared_in_its_stream() {
    let start: Vec<_> = messages("real-ts240-se").into_iter().take(3).collect();
    let params = json!({ "name": "x", "_meta": { "progressToken": "t" } });
    let call = json!({ "jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": params });
    let report = |progress: u8| {
        let params = json!({ "progressToken": "t", "progress": progress });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    let reply = json!({ "jsonrpc": "2.0", "id": 70, "result": { "content": [] } });
    for (other, expected) in [(2, vec![]), (1, vec![6, 8])] {
        let mut log = written(&start);
        let said = [(1, report(1)), (other, report(1)), (1, reply.clone()), (other, report(2))];
        log.push_str(&format!("{}\n", json!({ "dir": "c2s", "msg": call, "stream": 9 })));
        for (stream, message) in said {
            log.push_str(&format!("{}\n", json!({ "dir": "s2c", "msg": message, "stream": stream })));
        }
        assert_eq!(trace(&log).lines(), expected, "{log}");
    }
}
