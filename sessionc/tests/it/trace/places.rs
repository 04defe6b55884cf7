//! What is said of a record of a log names its line, and the entry of an archive, wherever it stands.

use serde_json::{Value, json};

use super::command::{Message, messages, trace};
use super::formats::in_python;
use super::random::Numbers;

/// A log, record by record.
struct Parts {
    begins: String,
    records: Vec<String>,
    /// What stands between two records.
    between: &'static str,
    ends: &'static str,
}

impl Parts {
    fn of_lines(begins: &str, records: Vec<String>) -> Parts {
        Parts { begins: begins.to_owned(), records, between: "\n", ends: "\n" }
    }

    fn of_list(begins: &str, records: Vec<String>, ends: &'static str) -> Parts {
        Parts { begins: begins.to_owned(), records, between: ",\n", ends }
    }

    fn text(&self) -> String {
        [&self.begins, &*self.records.join(self.between), self.ends].concat()
    }

    /// The lines, counted from 1, in which a record stands.
    fn lines(&self, place: usize) -> std::ops::RangeInclusive<u64> {
        let feeds = |text: &str| u64::try_from(text.matches('\n').count()).unwrap();
        let before: u64 =
            self.records[..place].iter().map(|record| feeds(record) + feeds(self.between)).sum();
        let first = 1 + feeds(&self.begins) + before;
        first..=first + feeds(&self.records[place])
    }
}

type Write = fn(&[Message]) -> Parts;

/// A text for each message.
fn each(messages: &[Message], write: impl Fn(bool, &Value) -> String) -> Vec<String> {
    messages.iter().map(|(is_client, message)| write(*is_client, message)).collect()
}

fn envelope(is_client: bool, message: &Value) -> Value {
    json!({ "dir": if is_client { "c2s" } else { "s2c" }, "msg": message })
}

/// An exchange of an archive with one message.
fn entry(is_client: bool, message: &Value) -> Value {
    let body = json!({ "mimeType": "application/json", "text": message.to_string() });
    let headers = json!([{ "name": "Mcp-Session-Id", "value": "s" }]);
    match is_client {
        true => json!({
            "request": { "method": "POST", "headers": headers, "postData": body },
            "response": { "content": {} },
        }),
        false => {
            json!({ "request": { "method": "POST", "headers": headers }, "response": { "content": body } })
        }
    }
}

const ARCHIVE: &str = "{ \"log\": { \"version\": \"1.2\",\n\"entries\": [\n";

const FORMATS: [(&str, Write); 12] = [
    ("messages", |all| Parts::of_lines("", each(all, |_, message| message.to_string()))),
    ("messages in several lines", |all| Parts::of_lines("", each(all, |_, message| format!("{message:#}")))),
    ("envelopes", |all| Parts::of_lines("", each(all, |side, message| envelope(side, message).to_string()))),
    ("envelopes in several lines", |all| {
        Parts::of_lines("\n", each(all, |side, message| format!("{:#}", envelope(side, message))))
    }),
    ("a list", |all| Parts::of_list("[\n", each(all, |_, message| message.to_string()), "\n]\n")),
    ("a list in several lines", |all| {
        Parts::of_list("[\n", each(all, |_, message| format!("{message:#}").replace('\n', "\n  ")), "\n]")
    }),
    ("a list of envelopes", |all| {
        Parts::of_list("[", each(all, |side, message| envelope(side, message).to_string()), "]")
    }),
    ("a debug log", |all| {
        Parts::of_lines(
            "started\n\n",
            each(all, |is_client, message| {
                format!("12:00 Message from {}: {message}", if is_client { "client" } else { "server" })
            }),
        )
    }),
    ("a debug log in several lines", |all| {
        Parts::of_lines(
            "started\n",
            each(all, |is_client, message| {
                format!("12:00 Message from {}: {message:#}", if is_client { "client" } else { "server" })
            }),
        )
    }),
    ("a log of Python", |all| {
        Parts::of_lines(
            "started\n",
            each(all, |is_client, message| {
                format!("DEBUG {}: {}", if is_client { "Sending" } else { "Received" }, in_python(message))
            }),
        )
    }),
    ("an archive", |all| {
        Parts::of_list(ARCHIVE, each(all, |side, message| entry(side, message).to_string()), "] } }")
    }),
    ("an archive in several lines", |all| {
        Parts::of_list(ARCHIVE, each(all, |side, message| format!("{:#}", entry(side, message))), "\n] } }\n")
    }),
];

/// Breaks a record where a key ends.
fn broken(record: &str, numbers: &mut Numbers) -> String {
    let ends: Vec<usize> =
        ["\":", "':"].iter().flat_map(|end| record.match_indices(end)).map(|(place, _)| place + 1).collect();
    let place = ends[numbers.below(ends.len())];
    [&record[..place], "?", &record[place + 1..]].concat()
}

fn entry_of(name: &str, place: usize) -> Value {
    if name.contains("archive") { json!(place + 1) } else { Value::Null }
}

#[test]
fn what_cannot_be_read_is_named_by_its_place() {
    let clean = messages("whole-2025-11-25");
    let mut numbers = Numbers(3);
    for (name, write) in FORMATS {
        assert_eq!(trace(write(&clean).text()).unread, Vec::<Value>::new(), "{name}");
        for _ in 0..8 {
            let mut log = write(&clean);
            let place = numbers.below(clean.len());
            log.records[place] = broken(&log.records[place], &mut numbers);
            let (found, lines) = (trace(log.text()), log.lines(place));
            // A body of an archive that is not JSON was sent all the same.
            let sent = found.findings.into_iter().filter(|finding| finding["code"] == "form");
            let said: Vec<Value> = found.unread.into_iter().chain(sent).collect();
            let what = format!("{name}, {place}, {}: {said:?}", log.records[place]);
            assert!(!said.is_empty(), "{what}");
            for one in &said {
                assert!(lines.contains(&one["line"].as_u64().unwrap()), "not in {lines:?}: {what}");
                assert_eq!(one["entry"], entry_of(name, place), "{what}");
            }
        }
    }
}

#[test]
fn what_breaks_the_protocol_is_named_by_its_place() {
    let clean = messages("whole-2025-11-25");
    let mut numbers = Numbers(5);
    for (name, write) in FORMATS {
        for _ in 0..4 {
            let place = 3 + numbers.below(clean.len() - 3);
            let mut all = clean.clone();
            all.insert(place, (true, json!({ "jsonrpc": "2.0", "method": "no/such" })));
            let log = write(&all);
            let found = trace(log.text());
            let what = format!("{name}, {place}: {:?}", found.findings);
            let [finding] = &*found.findings else { panic!("{what}") };
            assert_eq!(finding["line"], *log.lines(place).start(), "{what}");
            assert_eq!(finding["entry"], entry_of(name, place), "{what}");
        }
    }
}

#[test]
fn an_entry_that_is_not_one_is_passed_over() {
    let mut numbers = Numbers(7);
    let clean = messages("whole-2025-11-25");
    for (name, write) in FORMATS.into_iter().filter(|(name, _)| name.contains("archive")) {
        for other in
            ["{ \"request\": {} }", "7", "{ \"request\": { \"headers\": 1 },\n \"response\": {} }", "{}"]
        {
            let mut log = write(&clean);
            let place = numbers.below(clean.len());
            log.records.insert(place, other.to_owned());
            let found = trace(log.text());
            let [one] = &*found.unread else { panic!("{name}: {:?}", found.unread) };
            assert_eq!((&one["entry"], &one["line"]), (&json!(place + 1), &json!(log.lines(place).start())));
            assert_eq!(found.findings, Vec::<Value>::new(), "{name}: the others are read");
        }
    }
}

#[test]
fn what_is_wrong_between_two_entries_is_of_neither() {
    let log = FORMATS.iter().find(|(name, _)| *name == "an archive").unwrap().1(&messages("real-ts240-se"));
    for (from, to) in [("},\n{", "}\n{"), ("] } }", ",] } }"), ("] } }", "")] {
        let found = trace(log.text().replacen(from, to, 1));
        assert_eq!(found.unread.len(), 1, "{found:?}");
        assert_eq!(found.unread[0]["entry"], Value::Null, "{found:?}");
    }
}
