//! What programs and services make of messages that they log.

use serde_json::{Value, json};

use super::command::{Message, is, line_of, messages, sessionc, trace, trace_of, written};
use super::formats::{judged_alike, python};

/// The words of a server for a message.
fn way(is_client: bool) -> &'static str {
    if is_client { "received" } else { "sending" }
}

/// A log with a line for each message.
fn lines(messages: &[Message], line: impl Fn(bool, &Value) -> String) -> String {
    messages.iter().map(|(is_client, message)| format!("{}\n", line(*is_client, message))).collect()
}

/// `journalctl -o json`: a text with a colour is a list of bytes.
fn journal(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        let text = format!("\u{1b}[32m{}\u{1b}[0m {message}", way(is_client));
        let text = if is_client { text.as_bytes().into() } else { Value::from(format!("sent: {message}")) };
        json!({ "__REALTIME_TIMESTAMP": "1790000000000000", "MESSAGE": text, "PRIORITY": "6" }).to_string()
    })
}

/// The fields of a logger stand as JSON behind its text.
fn fields_as_object(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        let fields = json!({ "service": "notes", "payload": message });
        format!("2026-08-01T10:00:00.000Z\tDEBUG\tserver.go:12\t{}\t{fields}", way(is_client))
    })
}

/// A value as `console.log` shows it, if it leaves nothing out: over several lines, and texts in quotes that they do
/// not have.
fn shown_by_javascript(value: &Value, margin: &str) -> String {
    let inner = format!("{margin}  ");
    let joined = |items: Vec<String>| items.join(&format!(",\n{inner}"));
    match value {
        Value::Object(members) if !members.is_empty() => {
            let is_word = |key: &str| key.chars().all(|letter| letter.is_ascii_alphabetic());
            let members = members.iter().map(|(key, value)| {
                let key = if is_word(key) { key.clone() } else { format!("'{key}'") };
                format!("{key}: {}", shown_by_javascript(value, &inner))
            });
            format!("{{\n{inner}{}\n{margin}}}", joined(members.collect()))
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| shown_by_javascript(item, &inner));
            format!("[\n{inner}{}\n{margin}]", joined(items.collect()))
        }
        Value::String(text) => {
            let quotes = ["'", "\"", "`"].into_iter().find(|quote| !text.contains(quote)).unwrap();
            let escaped = value.to_string().trim_matches('"').replace("\\\"", "\"");
            format!("{quotes}{escaped}{quotes}")
        }
        other => other.to_string(),
    }
}

/// What a program of Node logs.
fn console_log(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        format!("[proxy] {}: {}", way(is_client), shown_by_javascript(message, ""))
    })
}

/// The same without words.
fn console_log_alone(messages: &[Message]) -> String {
    lines(messages, |_, message| shown_by_javascript(message, ""))
}

/// The same, the message as a text.
fn fields_as_text(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        let fields = json!({ "payload": message.to_string(), "service": "notes" });
        format!("2026-08-01T10:00:00.000Z\tDEBUG\tserver.go:12\t{}\t{fields}", way(is_client))
    })
}

/// A text as Python shows it.
fn text_of_python(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        let text = message.to_string().replace('\\', "\\\\").replace('\'', "\\'");
        format!("DEBUG {}: '{text}'", way(is_client))
    })
}

/// What `jq -C .` prints.
fn coloured(messages: &[Message]) -> String {
    lines(messages, |_, message| {
        let shown = format!("{message:#}").replace("\": ", "\"\u{1b}[0m\u{1b}[1;39m:\u{1b}[0m ");
        format!("\u{1b}[1;39m{shown}\u{1b}[0m")
    })
}

/// What one side has said before the other goes on, as a body with events.
fn bodies(messages: &[Message]) -> String {
    let mut log = String::new();
    for said in messages.chunk_by(|one, next| one.0 == next.0) {
        let events = said.iter().map(|(_, message)| format!("event: message\r\ndata: {message}\r\n\r\n"));
        let dir = if said[0].0 { "c2s" } else { "s2c" };
        log.push_str(&format!(
            "{}\n",
            json!({ "level": "debug", "dir": dir, "body": events.collect::<String>() })
        ));
    }
    log
}

/// An entry of a service, which has an id of its own, between others that have none of the messages.
fn entries(messages: &[Message]) -> String {
    lines(messages, |_, message| {
        let entry =
            json!({ "id": "37", "message": message.to_string(), "timestampInMs": 1, "source": "lambda" });
        let other = json!({ "id": "38", "message": "listening", "method": "GET" });
        format!("{entry}\n{other}")
    })
}

/// What a server logs of the requests of HTTP that it takes and answers.
fn bodies_as_objects(messages: &[Message]) -> String {
    lines(messages, |is_client, message| match is_client {
        true => json!({ "req": { "id": 1, "method": "POST", "url": "/mcp", "body": message }, "level": 20 })
            .to_string(),
        false => json!({ "res": { "id": 1, "statusCode": 200, "body": message }, "level": 20 }).to_string(),
    })
}

/// What nginx writes into a log.
/// A message with line feeds, of which each byte that is not plain is written in this way.
fn escaped(messages: &[Message], escape: impl Fn(u8) -> String) -> String {
    lines(messages, |is_client, message| {
        let written = |byte: u8| match byte {
            b'"' | b'\\' | 0..b' ' | 127.. => escape(byte),
            byte => char::from(byte).to_string(),
        };
        let text: String = format!("{message:#}").bytes().map(written).collect();
        format!("127.0.0.1 [01/Aug/2026] \"POST /mcp\" {} \"{text}\"", way(is_client))
    })
}

fn nginx(messages: &[Message]) -> String {
    escaped(messages, |byte| format!("\\x{byte:02X}"))
}

fn apache(messages: &[Message]) -> String {
    escaped(messages, |byte| match byte {
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'\n' => "\\n".to_owned(),
        byte => format!("\\x{byte:02x}"),
    })
}

fn with_times(messages: &[Message]) -> String {
    lines(messages, |_, message| format!("2026-08-01T10:00:00.123456789Z {message}"))
}

fn compose(messages: &[Message]) -> String {
    lines(messages, |_, message| format!("\u{1b}[36mnotes-1  | \u{1b}[0m{message}"))
}

fn zed(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        format!("// {}:\n{message}\n", if is_client { "Send" } else { "Receive" })
    })
}

fn helix(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        let way = if is_client { "->" } else { "<-" };
        format!("2026-08-01T10:00:00.123 helix_lsp::transport [INFO] notes {way} {message}")
    })
}

fn emacs(messages: &[Message]) -> String {
    lines(messages, |is_client, message| {
        let way = if is_client { "-->" } else { "<--" };
        format!("[jsonrpc] e[10:00:00.123] {way} {}[{}] {message}", message["method"], message["id"])
    })
}

#[test]
fn what_loggers_make_of_messages_is_judged_as_the_messages() {
    for (name, write) in [
        ("journal", journal as fn(&[Message]) -> String),
        ("console.log", console_log),
        ("console.log alone", console_log_alone),
        ("fields as object", fields_as_object),
        ("fields as text", fields_as_text),
        ("text of Python", text_of_python),
        ("coloured", coloured),
        ("bodies", bodies),
        ("entries", entries),
        ("bodies as objects", bodies_as_objects),
        ("nginx", nginx),
        ("apache", apache),
        ("with times", with_times),
        ("compose", compose),
        ("zed", zed),
        ("helix", helix),
        ("emacs", emacs),
    ] {
        assert_eq!(judged_alike(name, write).unobserved(), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn what_a_log_leaves_out_is_said_with_what_writes_it() {
    let mut log = messages("whole-2025-11-25");
    let call = line_of(&log, is("tools/call"));
    log[call - 1].1 = Value::Null;
    let entry = |_, message: &Value| {
        let text = if message.is_null() { Value::Null } else { message.to_string().into() };
        json!({ "__REALTIME_TIMESTAMP": "1", "MESSAGE": text }).to_string()
    };
    let found = trace(lines(&log, entry));
    assert_eq!(found.broken, [u64::try_from(call).unwrap()], "{found:?}");
    assert!(found.unread[0]["message"].as_str().unwrap().contains("`--all`"), "{found:?}");
    // What the line may explain is not held against a side.
    assert_eq!(found.places(), [], "{found:?}");

    let bytes = log[0].1.to_string().bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    let packet = json!({ "_source": { "layers": { "http": { "http.file_data": bytes } } } });
    let run = sessionc(&["trace", "--protocol", "mcp", "-"], format!("{packet}\n").as_bytes());
    assert!(run.out.contains("not read: ") && run.out.contains("-z follow,tcp,ascii,0"), "{}", run.out);
}

#[test]
fn a_whole_object_at_the_end_is_not_called_cut_off() {
    let object = json!({ "events": [{ "message": messages("whole-2025-11-25")[0].1.to_string() }] });
    for log in [format!("{object}"), format!("{object:#}"), format!("{object}\n")] {
        let run = sessionc(&["trace", "--protocol", "mcp", "-"], log.as_bytes());
        assert!(run.out.starts_with("not read: the object has messages in a list"), "{}", run.out);
    }
}

/// Two sessions of a client that answers the server, too. Both sides count their requests from the start.
fn two_sessions() -> Vec<Message> {
    let request = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let answer = |id: u64, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let info = json!({ "name": "notes", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": info });
    let welcome =
        json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": info });
    let session = [
        (true, request(0, "initialize", hello)),
        (false, answer(0, welcome)),
        (true, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        (true, request(1, "tools/list", json!({}))),
        (false, request(0, "roots/list", json!({}))),
        (true, answer(0, json!({ "roots": [] }))),
        (false, request(1, "roots/list", json!({}))),
        (true, json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "no folder" } })),
        (false, answer(1, json!({ "tools": [] }))),
        (true, request(2, "tools/call", json!({ "name": "sum" }))),
        (false, request(2, "ping", json!({}))),
        (true, answer(2, json!({}))),
        (false, answer(2, json!({ "content": [] }))),
    ];
    [session.clone(), session].concat()
}

#[test]
fn one_side_that_tee_has_written_is_judged_by_what_it_says() {
    for (is_client, other) in [(true, "server"), (false, "client")] {
        let half = |log: &[Message]| -> Vec<Message> {
            log.iter().filter(|(by_client, _)| *by_client == is_client).cloned().collect()
        };
        let log = half(&two_sessions());
        let found = trace(lines(&log, |_, message| message.to_string()));
        assert_eq!(found.places(), [], "{found:#?}");
        let missing = format!(
            "any message of the {other}: record both sides in one log, as `sessionc guard --record` does"
        );
        assert!(found.unobserved().contains(&&*missing), "{found:#?}");
    }
    // The client answers a `ping`, and the server has answered nothing, as far as the log shows.
    for place in [0, 2, 3] {
        let mut log: Vec<Message> = two_sessions().into_iter().filter(|(is_client, _)| *is_client).collect();
        let answers = [0, 1].map(|id| (true, json!({ "jsonrpc": "2.0", "id": id, "result": {} })));
        log.splice(place..place, answers);
        for sender in [&[][..], &["--sender", "client"]] {
            let found = trace_of(
                &[&["--protocol", "mcp"], sender].concat(),
                lines(&log, |_, message| message.to_string()),
            );
            assert_eq!(found.places(), [], "{place} {sender:?}: {found:#?}");
        }
    }
    // A mistake in its second session.
    let mut log: Vec<Message> = two_sessions().into_iter().filter(|(is_client, _)| *is_client).collect();
    let call = log.iter().rposition(|(_, message)| is("tools/call")(message)).unwrap();
    log[call].1["params"].as_object_mut().unwrap().remove("name");
    let found = trace(lines(&log, |_, message| message.to_string()));
    assert_eq!(found.places(), [(u64::try_from(call).unwrap() + 1, "shape".to_owned())], "{found:#?}");
    assert_eq!(found.summary["sessions"], 2, "{found:#?}");
}

/// Payloads without shapes say nothing about the side that answers.
#[test]
fn the_user_may_say_which_side_a_log_is_of() {
    let request =
        |id: u64, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
    let open = json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} });
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": [null] });
    let exit = json!({ "jsonrpc": "2.0", "method": "exit" });
    let session = [request(1, "initialize"), open, answer, request(2, "shutdown"), exit];
    let framed = |message: &Value| format!("Content-Length: {}\r\n\r\n{message}", message.to_string().len());
    let log = session.iter().chain(&session).map(framed).collect::<String>();
    let found = trace_of(&["--protocol", "lsp", "--sender", "client"], &log);
    assert_eq!((found.places(), &found.summary["sessions"]), (Vec::new(), &json!(2)), "{found:#?}");
    assert!(!trace_of(&["--protocol", "lsp"], &log).places().is_empty());
}

#[test]
fn logs_that_may_be_parts_of_one_are_to_be_joined() {
    let log = written(&messages("whole-2025-11-25"));
    let middle = log.lines().take(9).map(|line| line.len() + 1).sum::<usize>();
    let folder = std::env::temp_dir().join(format!("sessionc-parts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let parts = [("notes.log.1", &log[..middle]), ("notes.log", &log[middle..])].map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let [older, newer] = &parts;
    let advice = "`cat OLDER NEWER | sessionc trace … -`";
    let all = ["trace", "--protocol", "mcp", "--fail-on", "never"];
    let both = sessionc(&[&all[..], &[newer, older]].concat(), b"");
    let one = sessionc(&[&all[..], &[newer]].concat(), b"");
    std::fs::remove_dir_all(folder).unwrap();
    assert!(both.out.contains(advice), "{}", both.out);
    assert!(!one.out.contains(advice), "{}", one.out);
}

/// Of the answers over HTTP, it logs the events alone.
#[test]
fn replies_that_are_json_are_not_missing_in_what_a_client_of_python_logs() {
    let is_result = |(is_client, message): &Message| !is_client && message.get("result").is_some();
    for name in [
        "whole-2025-03-26",
        "whole-2025-11-25",
        "real-py230-se",
        "2026-07-28/rounds-py230",
        "2026-07-28/rounds-ts240",
    ] {
        let whole = messages(name);
        assert_eq!(trace(python(&whole)).places(), [], "{name}");
        for logged in [
            |place: usize| place.is_multiple_of(2),
            |place: usize| !place.is_multiple_of(2),
            |place| place > 2,
            |_| false,
        ] {
            let mut place = 0;
            let mut log = whole.clone();
            log.retain(|message| {
                place += usize::from(is_result(message));
                !is_result(message) || logged(place)
            });
            let found = trace(python(&log));
            assert_eq!(found.places(), [], "{name}: {found:#?}");
        }
        let log: Vec<Message> = whole.into_iter().filter(|message| !is_result(message)).collect();
        let said = trace(python(&log)).unobserved().join("; ");
        assert!(
            said.contains("replies that are JSON") || said.contains("any message of the server"),
            "{said}"
        );
    }
}

/// A reply may stand in what is not read of its exchange.
#[test]
fn a_reply_in_a_list_is_not_missing() {
    let log = messages("whole-2025-11-25");
    let opening: String = log[..3].iter().map(|(_, message)| format!("{message}\n")).collect();
    let ping = json!({ "jsonrpc": "2.0", "id": 99, "method": "ping" });
    let pong = json!([{ "jsonrpc": "2.0", "id": 99, "result": {} }]);
    for request in [ping.clone(), ping.to_string().into()] {
        let found = trace(format!("{opening}{}\n", json!({ "request": request, "response": pong })));
        assert_eq!(found.places(), [], "{found:#?}");
        let missing = "the reply to `ping` in line 4: it may stand in a line that cannot be read";
        assert!(found.unobserved().contains(&missing), "{found:#?}");
    }
}

/// What shows messages in another way, with what to do instead.
#[test]
fn what_shows_no_json_is_said_with_what_does() {
    let eglot = "[client-request] (id:1) Fri Mar  3 13:14:53 2023:\n(:jsonrpc \"2.0\" :id 1 :method \"initialize\" :params nil)\n\
                 [server-reply] (id:1) Fri Mar  3 13:14:54 2023:\n(:id 1 :jsonrpc \"2.0\" :result (:capabilities nil))\n";
    let said = sessionc(&["trace", "--protocol", "lsp", "-"], eglot.as_bytes());
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("as Emacs Lisp shows lists, which is not JSON. Eglot of Emacs 30"),
        "{}",
        said.err
    );
    let opening = messages("whole-2025-11-25")[0].1.to_string();
    for data in ["", "data: "] {
        let dump = format!(
            "=> Send data, {} bytes (0xa0)\n0000: {data}{}\n0040: {}\n",
            opening.len(),
            &opening[..64],
            &opening[64..]
        );
        let said = sessionc(&["trace", "--protocol", "mcp", "-"], dump.as_bytes());
        assert!(said.out.contains("`curl --trace-ascii`") && said.out.contains("<stdin>:2"), "{}", said.out);
    }
    // Other numbers: of a process, a year, and in front of a message that is whole and not JSON.
    let line = opening.to_string();
    let cut_off = &line[..64];
    let wrong = line.replace("\"id\"", "\"id\":");
    for (number, message) in [("12345", cut_off), ("2026", cut_off), ("0007", &wrong)] {
        let log = format!("{number}: {message}\n");
        let said = sessionc(&["trace", "--protocol", "mcp", "-"], log.as_bytes());
        assert!(!said.out.contains("curl") && said.out.contains("<stdin>:1"), "{log}: {}", said.out);
    }
}
