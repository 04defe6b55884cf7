//! What MCP Inspector exports of a session: a list of messages, each with its time. A reply stands with its request, and how long
//! it took: so the list does not have the order in which the replies came.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta};
use mcp_runtime::protocol::Side;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::document::without_place;
use super::record::{LogReader, Place, Record, RecordKind, Sender};

type Time = DateTime<FixedOffset>;

/// How many bytes of replies are held.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// An entry: a message, and the reply to it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, default)]
    timestamp: Cow<'a, str>,
    direction: Kind,
    origin: Origin,
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    /// The milliseconds between the two.
    #[serde(default)]
    duration: f64,
    /// Why the message was not sent, or its reply was refused.
    #[serde(borrow, default)]
    client_error: Option<&'a RawValue>,
}

/// The Inspector calls this a direction.
#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Request,
    Response,
    Notification,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Client,
    Server,
}

impl Origin {
    fn side(self) -> Side {
        match self {
            Origin::Client => Side::Client,
            Origin::Server => Side::Server,
        }
    }
}

/// Whether an element of a list is an entry of such an export.
pub(super) fn is_entry(element: &[u8]) -> bool {
    serde_json::from_slice::<Entry<'_>>(element).is_ok()
}

/// Whether it is an entry of the Inspector's other export, which has requests of HTTP.
pub(super) fn is_of_network(element: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct NetworkEntry {
        request_headers: IgnoredAny,
        url: IgnoredAny,
    }
    serde_json::from_slice::<NetworkEntry>(element).is_ok_and(|entry| {
        let NetworkEntry { request_headers: IgnoredAny, url: IgnoredAny } = entry;
        true
    })
}

/// Puts the replies of an export where they came.
///
/// The times are whole milliseconds. In the one in which a reply came, what its sender said is taken as said before it, and what
/// the other side said as said after it; but nothing comes before the reply to `initialize`.
#[derive(Default)]
pub(super) struct Export {
    held: Vec<HeldReply>,
    bytes: usize,
    /// When the last reply came of those that are not held any more.
    released: Option<Time>,
}

struct HeldReply {
    place: Place,
    sender: Side,
    /// When it came; nothing if the export does not say it.
    came: Option<Time>,
    is_of_initialize: bool,
    text: String,
}

impl HeldReply {
    /// Whether it came before something that a side has said.
    fn comes_before(&self, sender: Side, time: Option<Time>) -> bool {
        let (Some(came), Some(time)) = (self.came, time) else { return true };
        came < time || came == time && (self.is_of_initialize || sender != self.sender)
    }
}

impl Export {
    /// Takes an entry.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn take(
        &mut self,
        place: Place,
        element: &[u8],
        reader: &mut impl LogReader,
    ) -> Result<(), String> {
        let entry: Entry<'_> = serde_json::from_slice(element).map_err(|error| {
            format!("it is not an entry of an export of MCP Inspector: {}", without_place(&error))
        })?;
        let (sender, time) = (entry.origin.side(), time(&entry.timestamp));
        self.release(|reply| reply.comes_before(sender, time), reader);
        if entry.direction == Kind::Request && entry.response.is_none() && entry.client_error.is_some() {
            reader.not_sent(place, 0);
            return Ok(());
        }
        // The reply that came in this millisecond may have come after it.
        let is_doubtful = sender == Side::Server && time.is_some() && time == self.released;
        let kind = if is_doubtful { RecordKind::Streamed } else { RecordKind::Sent };
        emit(place, sender, kind, entry.message.get(), reader);
        if let Some(response) = entry.response {
            self.bytes += response.get().len();
            self.held.push(HeldReply {
                place,
                sender: sender.other(),
                came: time.and_then(|time| after(time, entry.duration)),
                is_of_initialize: entry.message.get().contains("\"initialize\""),
                text: response.get().to_owned(),
            });
        }
        if self.bytes > MOST_HELD {
            self.end(reader);
        }
        Ok(())
    }

    /// Nothing follows.
    pub(super) fn end(&mut self, reader: &mut impl LogReader) {
        self.release(|_| true, reader);
    }

    /// Releases those that came: of two in one millisecond first the one whose request came last, as it may be a part of the work
    /// on the other.
    fn release(&mut self, mut has_come: impl FnMut(&HeldReply) -> bool, reader: &mut impl LogReader) {
        if self.held.is_empty() {
            return;
        }
        let mut replies: Vec<(usize, HeldReply)> =
            self.held.extract_if(.., |reply| has_come(reply)).enumerate().collect();
        replies.sort_by(|(one, a), (other, b)| a.came.cmp(&b.came).then(other.cmp(one)));
        for (_, reply) in replies {
            self.bytes = self.bytes.saturating_sub(reply.text.len());
            self.released = reply.came.or(self.released);
            emit(reply.place, reply.sender, RecordKind::Sent, &reply.text, reader);
        }
    }
}

fn emit(place: Place, sender: Side, kind: RecordKind, text: &str, reader: &mut impl LogReader) {
    let message = text.as_bytes().into();
    reader.message(Record { place, sender: Sender::Is(sender), session: None, kind, message });
}

/// A time as JavaScript writes it: `2026-01-31T10:00:00.000Z`.
fn time(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc3339(text).ok()
}

/// So many milliseconds later.
fn after(time: Time, milliseconds: f64) -> Option<Time> {
    let passed = Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?;
    time.checked_add_signed(TimeDelta::from_std(passed).ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::Notes;
    use super::super::tests::notes;
    use super::*;

    fn entry(time: u64, origin: &str, kind: &str, message: &str, reply: Option<(&str, u64)>) -> String {
        let reply =
            reply.map(|(reply, after)| format!(",\n  \"response\": {reply},\n  \"duration\": {after}"));
        format!(
            "{{\n  \"id\": \"5f\",\n  \"timestamp\": \"2026-11-29T10:00:00.{time:03}Z\",\n  \"direction\": \"{kind}\",\n  \
             \"origin\": \"{origin}\",\n  \"message\": {message}{}\n}}",
            reply.unwrap_or_default()
        )
    }

    fn ask(time: u64, origin: &str, id: u64, method: &str, reply_after: Option<u64>) -> String {
        let message = format!("{{\"id\":{id},\"method\":\"{method}\"}}");
        let reply = format!("{{\"id\":{id},\"result\":{{}}}}");
        entry(time, origin, "request", &message, reply_after.map(|after| (reply.as_str(), after)))
    }

    fn say(time: u64, origin: &str, method: &str) -> String {
        entry(time, origin, "notification", &format!("{{\"method\":\"{method}\"}}"), None)
    }

    /// What was sent, in a few signs: `c` or `s`, and the method or the id of a reply.
    fn order(log: &str) -> String {
        let found: Notes = notes(log);
        assert_eq!((&found.broken[..], found.silent), (&[][..], None), "{log}");
        let word = |(_, sender, message): &(u64, Sender, String)| {
            let message: serde_json::Value = serde_json::from_str(message).unwrap();
            let side = if *sender == Sender::Is(Side::Client) { "c" } else { "s" };
            match message["method"].as_str() {
                Some(method) => format!("{side} {method}"),
                None => format!("{side} {}", message["id"]),
            }
        };
        found.messages.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn replies_stand_where_they_came() {
        for (entries, expected) in [
            (
                vec![
                    ask(0, "client", 0, "initialize", Some(3)),
                    say(3, "server", "message"),
                    say(3, "client", "initialized"),
                    ask(5, "client", 1, "call", Some(10)),
                    ask(6, "server", 1, "sample", Some(2)),
                    say(15, "server", "progress"),
                    say(15, "client", "rooted"),
                ],
                "c initialize, s 0, s message, c initialized, c call, s sample, c 1, s progress, s 1, c rooted",
            ),
            // The replies to two requests in one millisecond: the one that was asked within the other is first.
            (
                vec![ask(5, "client", 1, "call", Some(1)), ask(5, "server", 9, "sample", Some(1))],
                "c call, s sample, c 9, s 1",
            ),
            (
                vec![
                    ask(5, "client", 1, "a", Some(4)),
                    ask(6, "client", 2, "b", Some(1)),
                    ask(8, "client", 3, "c", None),
                ],
                "c a, c b, s 2, c c, s 1",
            ),
            // The reply has an entry of its own where its request is not among those that wait.
            (
                vec![
                    entry(1, "server", "response", "{\"id\":7,\"result\":{}}", None),
                    ask(2, "client", 8, "a", None),
                ],
                "s 7, c a",
            ),
        ] {
            let all = entries.join(",\n");
            assert_eq!(order(&format!("[\n{all}\n]\n")), expected);
            let compact = all.replace('\n', "");
            assert_eq!(order(&format!("[{compact}]")), expected);
        }
    }

    #[test]
    fn what_was_not_sent_is_not_a_message() {
        let failed = ask(1, "client", 1, "call", None).replace("\n}", ",\n\"clientError\": \"401\"\n}");
        let found = notes(&format!("[\n{failed},\n{}\n]", ask(2, "client", 2, "call", None)));
        assert_eq!((found.not_sent, found.messages.len()), (vec![(2, 0)], 1));
        let found = notes(&format!("[\n{},\n{{\"a\": 1}}\n]", ask(2, "client", 2, "call", Some(1))));
        assert!(found.broken[0].1.starts_with("it is not an entry of an export"), "{found:?}");
    }

    #[test]
    fn the_export_of_requests_of_http_is_called_so() {
        let entry = r#"{"id":"1","method":"POST","url":"a","requestHeaders":{},"requestBody":"{\"jsonrpc\":\"2.0\"}"}"#;
        for log in [format!("[{entry}]"), format!("[\n{entry},\n{entry}\n]\n")] {
            let found = notes(&log);
            assert_eq!((found.messages.len(), found.broken.len()), (0, 0), "{found:?}");
            assert!(found.silent.unwrap().contains("its Network screen"), "{found:?}");
        }
    }

    #[test]
    fn a_time_is_a_number_of_milliseconds() {
        for (text, expected) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T00:00:00.007Z", 951_782_400_007),
            ("2026-11-29T10:00:00.123Z", 1_795_946_400_123),
        ] {
            assert_eq!(time(text).unwrap().timestamp_millis(), expected, "{text}");
            let later = time(text).and_then(|time| after(time, 17.0)).unwrap();
            assert_eq!(later.timestamp_millis(), expected + 17, "{text}");
        }
        assert_eq!(time("yesterday"), None);
        assert_eq!(time("2026-11-29T10:00:00.123Z").and_then(|time| after(time, f64::INFINITY)), None);
    }
}
