//! What an object says of a message that is a member of it.

use super::record::{Broken, LogReader, Place, Record, Sender};

/// The sender of a message, and its session.
#[derive(Clone, Debug, Default)]
pub(super) struct SaidAround {
    pub(super) sender: Option<Sender>,
    pub(super) session: Option<String>,
}

impl SaidAround {
    /// A reader of messages that do not say it themselves.
    pub(super) fn fill<'r, R: LogReader + ?Sized>(&'r self, reader: &'r mut R) -> impl LogReader + 'r {
        Filled { said: self, reader }
    }
}

struct Filled<'r, R: ?Sized> {
    said: &'r SaidAround,
    reader: &'r mut R,
}

impl<R: LogReader + ?Sized> LogReader for Filled<'_, R> {
    fn message(&mut self, record: Record<'_>) {
        let sender = match (record.sender, self.said.sender) {
            (Sender::Unsaid, Some(sender)) => sender,
            (sender, _) => sender,
        };
        let session = record.session.or(self.said.session.as_deref());
        self.reader.message(Record { sender, session, ..record });
    }

    fn broken(&mut self, broken: Broken) {
        self.reader.broken(broken);
    }

    fn not_sent(&mut self, place: Place, status: i64) {
        self.reader.not_sent(place, status);
    }

    fn silent(&mut self, why: &'static str) {
        self.reader.silent(why);
    }

    fn goes_both_ways(&self, list: &[u8]) -> bool {
        self.reader.goes_both_ways(list)
    }
}
