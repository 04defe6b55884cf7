//! What a log has: messages, and what cannot be used.

use mcp_runtime::observer::MessageText;
use mcp_runtime::protocol::Side;

/// Where in a log something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The line, counted from 1.
    pub(crate) line: u64,
    /// The entry of an HTTP archive, or of a log that is one list, counted from 1.
    pub(crate) entry: Option<u64>,
}

/// What a log says of the sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// This side.
    Is(Side),
    /// The side that wrote the log.
    Writer,
    /// The other side than the one that wrote the log.
    Peer,
    /// Nothing.
    Unsaid,
}

/// What a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A side has sent it.
    #[default]
    Sent,
    /// A side has sent it over HTTP, and the log may leave out the answer.
    Posted,
    /// A side has sent it, in a stream of which the log does not say when its messages came.
    Streamed,
    /// The same, in the stream with this number. What the streams of a session have sent may overtake each other.
    InStream(u64),
    /// A side has sent it, in a stream without a time that goes on where another one has ended.
    Resumed,
    /// A guard has written it in the name of a side.
    ByGuard,
    /// It is not a message, but says which messages of the client did not arrive.
    NotReceived,
    /// It is not a message, but says that a session begins with the next one.
    Begins,
    /// It is not a message, but a sentence about what its side has done wrong.
    Mistake,
    /// It is not a message, but the code with which the server has exited before it has answered all requests.
    Exited,
}

impl RecordKind {
    /// Whether a side has sent it, at whatever time.
    pub(crate) fn is_sent(self) -> bool {
        match self {
            RecordKind::Sent
            | RecordKind::Posted
            | RecordKind::Streamed
            | RecordKind::InStream(_)
            | RecordKind::Resumed => true,
            RecordKind::ByGuard
            | RecordKind::NotReceived
            | RecordKind::Begins
            | RecordKind::Mistake
            | RecordKind::Exited => false,
        }
    }
}

/// One message of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) place: Place,
    pub(crate) sender: Sender,
    /// The name of the session that it belongs to, where the log has names for them.
    pub(crate) session: Option<&'a str>,
    pub(crate) kind: RecordKind,
    pub(crate) message: MessageText<'a>,
}

/// Why a part of a log cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) place: Place,
    /// It may have been a message.
    pub(crate) may_be_message: bool,
    pub(crate) problem: String,
}

/// What the messages of a log go to.
pub(crate) trait LogReader {
    fn message(&mut self, record: Record<'_>);
    fn broken(&mut self, broken: Broken);
    /// The client's message was refused by HTTP, with this status, and did not reach the session.
    fn not_sent(&mut self, place: Place, status: i64);
    /// The log comes from a program that does not write the messages themselves into it, for this reason.
    fn silent(&mut self, why: &'static str);
    /// Whether the messages of a list are of both sides.
    fn goes_both_ways(&self, list: &[u8]) -> bool;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Notes what it is given.
    #[derive(Debug, Default)]
    pub(crate) struct Notes {
        pub(crate) messages: Vec<(u64, Sender, String)>,
        pub(crate) entries: Vec<Option<u64>>,
        pub(crate) sessions: Vec<Option<String>>,
        pub(crate) broken: Vec<(u64, String)>,
        pub(crate) not_sent: Vec<(u64, i64)>,
        pub(crate) silent: Option<&'static str>,
    }

    impl LogReader for Notes {
        fn message(&mut self, record: Record<'_>) {
            let message = String::from_utf8_lossy(record.message.bytes()).into_owned();
            self.messages.push((record.place.line, record.sender, message));
            self.entries.push(record.place.entry);
            self.sessions.push(record.session.map(str::to_owned));
        }

        fn broken(&mut self, broken: Broken) {
            self.broken.push((broken.place.line, broken.problem));
        }

        fn not_sent(&mut self, place: Place, status: i64) {
            self.not_sent.push((place.line, status));
        }

        fn silent(&mut self, why: &'static str) {
            self.silent = Some(why);
        }

        fn goes_both_ways(&self, list: &[u8]) -> bool {
            memchr::memmem::find(list, b"\"result\"").is_some()
        }
    }

    /// What is found in the lines of a log.
    pub(crate) fn notes(
        log: &str,
        mut read: impl FnMut(Place, &[u8], &mut Notes) -> Result<(), String>,
    ) -> Notes {
        let mut notes = Notes::default();
        for (line, text) in (1..).zip(log.lines()) {
            let place = Place { line, entry: None };
            if let Err(problem) = read(place, text.as_bytes(), &mut notes) {
                notes.broken(Broken { place, may_be_message: true, problem });
            }
        }
        notes
    }
}
