//! Messages of an archive that stand in another order than the one in which they were sent.
//!
//! An archive has the messages of a stream in one entry. Nothing says what the client has sent between two of them, and an entry may
//! stand before one that began earlier.

use std::collections::{BTreeMap, HashSet, VecDeque};

use mcp_runtime::protocol::{RequestId, Side};
use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::record::{LogReader, Place, Record, RecordKind, Sender};

/// How many bytes of messages are held.
const MOST_HELD: usize = 16 * 1024 * 1024;
/// How many requests of servers are remembered until the client replies.
const REMEMBERED: usize = 65_536;

/// Holds messages until it is known when they were sent: those of a `GET` stream until the client replies to one of them, and
/// the reply of a client until its request has come.
#[derive(Default)]
pub(super) struct HeldMessages {
    sessions: BTreeMap<Option<String>, HeldOfSession>,
    bytes: usize,
    /// How many requests of servers are remembered.
    asked: usize,
}

/// Those of one session.
#[derive(Default)]
struct HeldOfSession {
    /// What the server has sent in its own stream.
    streamed: VecDeque<HeldMessage>,
    /// The requests among them.
    streamed_requests: HashSet<RequestId>,
    /// Replies of the client to requests that have not come.
    early: Vec<HeldMessage>,
    /// Requests of the server to which the client has not replied.
    asked: HashSet<RequestId>,
}

struct HeldMessage {
    place: Place,
    /// Of the requests in a message of the server, or of the replies in one of the client.
    ids: Vec<RequestId>,
    kind: RecordKind,
    text: Vec<u8>,
}

#[derive(Deserialize)]
struct IdAndMethod {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

impl HeldMessages {
    /// Holds what the server has sent in its own stream, or in one that goes on with another.
    pub(super) fn hold(
        &mut self,
        place: Place,
        session: Option<&str>,
        kind: RecordKind,
        text: Vec<u8>,
        reader: &mut impl LogReader,
    ) {
        self.bytes += text.len();
        let held = self.sessions.entry(session.map(str::to_owned)).or_default();
        let ids = requests(&text);
        held.streamed_requests.extend(ids.iter().cloned());
        let has_reply = held.early.iter().any(|reply| reply.ids.iter().any(|id| ids.contains(id)));
        held.streamed.push_back(HeldMessage { place, ids: ids.clone(), kind, text });
        if has_reply {
            self.release_until(session, &ids, reader);
            self.release_early(session, &ids, reader);
        }
        if self.bytes > MOST_HELD {
            self.release(reader);
        }
    }

    /// The server has sent this in another stream, or as an answer.
    pub(super) fn came(&mut self, session: Option<&str>, text: &[u8], reader: &mut impl LogReader) {
        let ids = requests(text);
        if !ids.is_empty() {
            self.note_asked(session, &ids);
            self.release_early(session, &ids, reader);
        }
    }

    /// The client replies: what it replies to was sent before. Returns whether the reply is held, as that has not come.
    pub(super) fn reply(
        &mut self,
        place: Place,
        session: Option<&str>,
        text: &[u8],
        reader: &mut impl LogReader,
    ) -> bool {
        let ids = ids(text, false);
        self.release_until(session, &ids, reader);
        let is_full = self.asked >= REMEMBERED;
        let held = self.sessions.entry(session.map(str::to_owned)).or_default();
        let mut is_known = ids.is_empty() || is_full;
        for id in &ids {
            if held.asked.remove(id) {
                self.asked -= 1;
                is_known = true;
            }
        }
        if !is_known {
            self.bytes += text.len();
            held.early.push(HeldMessage { place, ids, kind: RecordKind::Sent, text: text.to_vec() });
        }
        self.drop_if_empty(session);
        !is_known
    }

    /// Nothing says more about what is held.
    pub(super) fn release(&mut self, reader: &mut impl LogReader) {
        self.bytes = 0;
        for (session, held) in &mut self.sessions {
            let session = session.as_deref();
            held.streamed_requests.clear();
            for message in held.streamed.drain(..) {
                emit(Side::Server, session, &message, reader);
                for id in message.ids {
                    self.asked += usize::from(self.asked < REMEMBERED && held.asked.insert(id));
                }
            }
            for reply in held.early.drain(..) {
                emit(Side::Client, session, &reply, reader);
            }
        }
        self.sessions.retain(|_, held| !held.asked.is_empty());
    }

    /// Releases what the server had sent in its own stream when it had asked these.
    fn release_until(&mut self, session: Option<&str>, ids: &[RequestId], reader: &mut impl LogReader) {
        let key = session.map(str::to_owned);
        let Some(held) = self.sessions.get_mut(&key) else { return };
        let mut asked = Vec::new();
        while ids.iter().any(|id| held.streamed_requests.contains(id)) {
            let Some(message) = held.streamed.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(message.text.len());
            message.ids.iter().for_each(|id| _ = held.streamed_requests.remove(id));
            emit(Side::Server, session, &message, reader);
            asked.extend(message.ids);
        }
        self.note_asked(session, &asked);
    }

    /// Releases the replies to these requests.
    fn release_early(&mut self, session: Option<&str>, ids: &[RequestId], reader: &mut impl LogReader) {
        let Some(held) = self.sessions.get_mut(&session.map(str::to_owned)) else { return };
        let answers = |reply: &mut HeldMessage| reply.ids.iter().any(|id| ids.contains(id));
        for reply in held.early.extract_if(.., answers) {
            self.bytes = self.bytes.saturating_sub(reply.text.len());
            for id in &reply.ids {
                self.asked -= usize::from(held.asked.remove(id));
            }
            emit(Side::Client, session, &reply, reader);
        }
        self.drop_if_empty(session);
    }

    fn note_asked(&mut self, session: Option<&str>, ids: &[RequestId]) {
        if ids.is_empty() {
            return;
        }
        let held = self.sessions.entry(session.map(str::to_owned)).or_default();
        for id in ids {
            self.asked += usize::from(self.asked < REMEMBERED && held.asked.insert(id.clone()));
        }
    }

    fn drop_if_empty(&mut self, session: Option<&str>) {
        let key = session.map(str::to_owned);
        let is_empty =
            |held: &HeldOfSession| held.streamed.is_empty() && held.early.is_empty() && held.asked.is_empty();
        if self.sessions.get(&key).is_some_and(is_empty) {
            self.sessions.remove(&key);
        }
    }
}

fn emit(side: Side, session: Option<&str>, message: &HeldMessage, reader: &mut impl LogReader) {
    let HeldMessage { place, kind, ref text, .. } = *message;
    let sender = Sender::Is(side);
    reader.message(Record { place, sender, session, kind, message: (&**text).into() });
}

/// The ids of the requests in a message of the server. Most have none, and are not read.
fn requests(text: &[u8]) -> Vec<RequestId> {
    let has = |name: &[u8]| memmem::find(text, name).is_some();
    if has(b"\"method\"") && has(b"\"id\"") { ids(text, true) } else { Vec::new() }
}

/// The ids of the requests, or of the replies, in a message or a batch.
fn ids(text: &[u8], of_requests: bool) -> Vec<RequestId> {
    let text = text.trim_ascii_start();
    let messages = match text.starts_with(b"[") {
        true => serde_json::from_slice::<Vec<IdAndMethod>>(text),
        false => serde_json::from_slice::<IdAndMethod>(text).map(|one| vec![one]),
    };
    let mut messages = messages.unwrap_or_default();
    messages.retain(|one| one.method.is_some() == of_requests);
    messages.into_iter().filter_map(|one| one.id).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::Notes;
    use super::*;

    const PING: &str = r#"{"id":1,"method":"ping"}"#;
    const ROOTS: &str = r#"{"id":2,"method":"roots/list"}"#;
    const CHANGED: &str = r#"{"method":"changed","params":{"id":1}}"#;

    fn place(entry: u64) -> Place {
        Place { line: entry, entry: Some(entry) }
    }

    /// What has come, by its entry.
    fn came(notes: &Notes) -> Vec<u64> {
        notes.messages.iter().map(|(line, ..)| *line).collect()
    }

    #[test]
    fn a_stream_is_as_far_as_the_client_has_replied() {
        let (mut held, mut notes) = (HeldMessages::default(), Notes::default());
        for (entry, text) in [(1, CHANGED), (2, PING), (3, CHANGED), (4, ROOTS), (5, CHANGED)] {
            held.hold(place(entry), Some("a"), RecordKind::Streamed, text.into(), &mut notes);
        }
        held.hold(place(6), Some("b"), RecordKind::Streamed, PING.into(), &mut notes);
        assert!(came(&notes).is_empty());
        assert!(!held.reply(place(7), Some("a"), br#"{"id":1,"result":{}}"#, &mut notes));
        assert_eq!(came(&notes), [1, 2]);
        assert!(!held.reply(place(8), Some("a"), br#"[{"id":2,"result":{}}]"#, &mut notes));
        assert_eq!(came(&notes), [1, 2, 3, 4]);
        held.release(&mut notes);
        assert_eq!(came(&notes), [1, 2, 3, 4, 5, 6]);
        assert_eq!(held.bytes, 0);
        assert!(!held.reply(place(9), Some("b"), br#"{"id":1,"result":{}}"#, &mut notes));
        assert_eq!((held.sessions.len(), held.asked), (0, 0));
    }

    #[test]
    fn a_reply_waits_for_its_request() {
        let (mut held, mut notes) = (HeldMessages::default(), Notes::default());
        assert!(held.reply(place(1), None, br#"{"id":1,"result":{}}"#, &mut notes));
        assert!(held.reply(place(2), None, br#"{"id":2,"result":{}}"#, &mut notes));
        held.came(Some("other"), PING.as_bytes(), &mut notes);
        held.came(None, PING.as_bytes(), &mut notes);
        assert_eq!(came(&notes), [1]);
        held.hold(place(3), None, RecordKind::Streamed, CHANGED.into(), &mut notes);
        held.hold(place(4), None, RecordKind::Streamed, ROOTS.into(), &mut notes);
        assert_eq!(came(&notes), [1, 3, 4, 2]);
        // One that answers nothing comes at the end.
        assert!(held.reply(place(5), None, br#"{"id":7,"result":{}}"#, &mut notes));
        held.release(&mut notes);
        assert_eq!(came(&notes), [1, 3, 4, 2, 5]);
        assert!(!held.reply(place(6), None, br#"{"result":{}}"#, &mut notes), "it has no id");
    }
}
