//! One event stream of a session, with its messages.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Instant;

use axum::body::Bytes;

use crate::budget::{Exhausted, Permit};
use crate::driver::MessageKind;
use crate::jsonrpc::{RpcError, error_in_place_of};

/// One message on a stream.
#[derive(Debug)]
pub(super) struct StreamEvent {
    pub(super) message: Bytes,
    pub(super) kind: MessageKind,
    /// What it holds: of what may be unread, or of what may be kept for a client that comes back.
    pub(super) permit: Permit,
    /// Which of the two.
    pub(super) kept: bool,
}

impl StreamEvent {
    /// A message that holds nothing yet.
    pub(super) fn new(message: Bytes, kind: MessageKind) -> StreamEvent {
        StreamEvent { message, kind, permit: Permit::default(), kept: false }
    }

    /// What it takes to keep it: itself, and about as much as is kept around it.
    pub(super) fn cost(&self) -> usize {
        self.message.len().saturating_add(128)
    }

    /// Returns the error that replaces a reply beyond the limit for unread bytes; `None` if the message is not a reply.
    pub(super) fn refused(&self, exhausted: Exhausted) -> Option<StreamEvent> {
        if !self.kind.is_reply() {
            return None;
        }
        let (bytes, limit) = (self.message.len(), exhausted.limit);
        let error = if bytes > limit {
            // However often the client asks.
            RpcError::internal_error(format!(
                "the reply has {bytes} bytes, for which the limit `{}` of {limit} has no room: ask for less",
                exhausted.name
            ))
        } else {
            RpcError::busy(format!("the reply cannot be held until it is read: {exhausted}"))
        };
        let error = error.with_data(serde_json::json!({ "limit": exhausted.name }));
        let list = self.kind == MessageKind::Batch;
        let mut message = Vec::new();
        if list {
            let replies: Vec<&serde_json::value::RawValue> = serde_json::from_slice(&self.message).ok()?;
            for (place, reply) in replies.iter().enumerate() {
                message.push(if place == 0 { b'[' } else { b',' });
                error_in_place_of(&mut message, reply.get().as_bytes(), &error);
            }
            message.push(b']');
        } else {
            error_in_place_of(&mut message, &self.message, &error);
        }
        let kind = if list { MessageKind::Batch } else { MessageKind::Error };
        Some(StreamEvent::new(message.into(), kind))
    }
}

/// One stream: the answer to a POST, or one that a GET has opened.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) get: bool,
    /// What is kept of it; the first has this number.
    pub(super) events: VecDeque<StreamEvent>,
    pub(super) first: u64,
    /// Up to where the present reader has taken it.
    pub(super) taken: u64,
    /// Since when the present reader has taken nothing of what waits for it, if anything does.
    pub(super) since: Instant,
    /// How many requests of the POST are accepted and unanswered.
    pub(super) open: usize,
    /// The session has all of the POST.
    pub(super) delivered: bool,
    /// Which of its readers it is that reads now, if one does.
    pub(super) reader: Option<u64>,
    pub(super) readers: u64,
    pub(super) waker: Option<Waker>,
    /// It begins with an event, so its reader learns at once under which id it can be taken up.
    pub(super) primed: bool,
    /// Its reader is to go, and to come back for what is from this event on.
    pub(super) hung_up: Option<u64>,
}

impl Stream {
    pub(super) fn new(get: bool, primed: bool, now: Instant) -> Stream {
        Stream {
            get,
            events: VecDeque::new(),
            first: 0,
            taken: 0,
            since: now,
            open: 0,
            delivered: false,
            reader: Some(0),
            readers: 0,
            waker: None,
            primed,
            hung_up: None,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.events.len() as u64)
    }

    /// Whether nothing more will come.
    pub(super) fn is_finished(&self) -> bool {
        !self.get && self.delivered && self.open == 0
    }

    /// Whether nothing is left of it that anyone could ask for.
    pub(super) fn is_spent(&self) -> bool {
        self.events.is_empty() && self.reader.is_none() && (self.get || self.is_finished())
    }

    /// Whether something waits for its present reader.
    pub(super) fn has_untaken(&self) -> bool {
        self.reader.is_some() && self.taken < self.end()
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    pub(super) fn event_mut(&mut self, number: u64) -> Option<&mut StreamEvent> {
        let index = self.index(number)?;
        self.events.get_mut(index)
    }

    /// How many events at the beginning the present reader has taken.
    pub(super) fn taken_count(&self) -> usize {
        usize::try_from(self.taken.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// How many bytes are there that no reader has taken.
    pub(super) fn untaken(&self) -> usize {
        self.events.iter().skip(self.taken_count()).map(|event| event.message.len()).sum()
    }
}

/// A reader of a stream, and what it wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadPosition {
    pub(super) stream: u64,
    pub(super) reader: u64,
    /// The event.
    pub(super) next: u64,
    /// How many bytes of it the reader has.
    pub(super) at: usize,
}

/// What a stream has for its reader.
#[derive(Debug)]
pub(super) enum Next {
    /// The next bytes of the event that it wants, the last ones of it or not, and what they hold until they are
    /// written.
    Part(Bytes, bool, Permit),
    /// Nothing more.
    End,
}

/// An answer in one piece that is longer than what is written at once.
///
/// Invariant: it holds as much of what may be unread as it has bytes that are left.
#[derive(Debug)]
pub(super) struct LongAnswer {
    rest: Bytes,
    permit: Permit,
    /// Since when nothing was taken of it.
    pub(super) since: Instant,
}

impl LongAnswer {
    pub(super) fn new(event: StreamEvent, now: Instant) -> LongAnswer {
        LongAnswer { rest: event.message, permit: event.permit, since: now }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next bytes, as a copy that does not keep the rest, and what they hold.
    pub(super) fn take(&mut self, most: usize, now: Instant) -> (Bytes, Permit) {
        let piece = self.rest.split_to(self.rest.len().min(most));
        self.since = now;
        (Bytes::copy_from_slice(&piece), self.permit.split(piece.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Account, Budget, Holder};

    #[test]
    fn a_reply_that_cannot_be_held_becomes_an_error_under_its_id() {
        let refused_at = |limit: usize, message: &'static str, kind| {
            let budget = Budget::new(Holder::Session, "session_bytes", limit);
            let exhausted = Account::of([budget]).take(limit + 1).unwrap_err();
            let event = StreamEvent::new(Bytes::from_static(message.as_bytes()), kind).refused(exhausted)?;
            let message: serde_json::Value = serde_json::from_slice(&event.message).unwrap();
            Some(message)
        };
        let refused = |message, kind| refused_at(1000, message, kind);
        let place = crate::driver::Place::Replicated;
        let reply = r#"{"jsonrpc":"2.0","id":"a","result":{}}"#;
        let one = refused(reply, MessageKind::Result { place }).unwrap();
        assert_eq!((&one["id"], &one["error"]["code"]), (&"a".into(), &(-32000).into()));
        assert_eq!(one["error"]["data"]["limit"], "session_bytes");
        // There is never room for it.
        let one = refused_at(10, reply, MessageKind::Result { place }).unwrap();
        assert_eq!((&one["id"], &one["error"]["code"]), (&"a".into(), &(-32603).into()));
        assert_eq!(one["error"]["data"]["limit"], "session_bytes");
        let one = refused(r#"{"id":"a","result":{},"error":null}"#, MessageKind::Result { place }).unwrap();
        assert_eq!(one["id"], "a", "of JSON-RPC 1.0");
        assert_eq!((one.get("result"), one.get("jsonrpc")), (Some(&serde_json::Value::Null), None));
        let two = r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
        let two = refused(two, MessageKind::Batch).unwrap();
        assert_eq!((&two[0]["id"], &two[1]["id"]), (&1.into(), &2.into()));
        assert!(refused("{}", MessageKind::Notification { place }).is_none());
    }
}
