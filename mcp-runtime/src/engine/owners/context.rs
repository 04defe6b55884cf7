//! What a call into the engine comes with, and what it learns: [`Caller`], [`Inbound`] and [`Accepted`].

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use mcp_protocol_machine::{Meant, Step, SubSessionNumber};

use super::batches::{BatchKey, ReplyTo};
use crate::driver::{Extension, Received, RequestTag};
use crate::epoch::Epoch;
use crate::error::Error;
use crate::jsonrpc::{NO_MEMBERS, OwnMembers};

/// On whose behalf this side speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// The only epoch in which the caller may speak; `None`: any.
    epoch: Option<Epoch>,
    /// The message of the peer that the caller works on.
    in_reply_to: Option<RequestTag>,
    /// What the caller says is collected, and written as one list.
    in_batch: bool,
    /// The sub-session whose value the caller is, or comes from.
    sub_session: Option<SubSessionNumber>,
}

impl Caller {
    /// A caller that may speak in one epoch only, or in any, and may work on a request of the peer.
    pub(crate) fn new(epoch: Option<Epoch>, in_reply_to: Option<RequestTag>) -> Caller {
        Caller { epoch, in_reply_to, in_batch: false, sub_session: None }
    }

    /// The only epoch in which the caller may speak.
    pub(crate) fn epoch(self) -> Option<Epoch> {
        self.epoch
    }

    /// The engine itself, and callers that work on nothing in particular.
    pub(crate) const ANY: Caller =
        Caller { epoch: None, in_reply_to: None, in_batch: false, sub_session: None };

    /// Whether the caller may speak in one epoch only.
    pub(crate) fn is_bound(self) -> bool {
        self.epoch.is_some()
    }

    pub(crate) fn in_reply_to(self) -> Option<RequestTag> {
        self.in_reply_to
    }

    pub(crate) fn is_in_batch(self) -> bool {
        self.in_batch
    }

    /// The same caller, as the value of a sub-session.
    pub(crate) fn in_sub_session(self, sub_session: Option<SubSessionNumber>) -> Caller {
        Caller { sub_session, ..self }
    }

    /// The sub-session whose value the caller is, or comes from.
    pub(crate) fn sub_session(self) -> Option<SubSessionNumber> {
        self.sub_session
    }

    /// What a message is meant for that the caller sends on a replicated channel.
    pub(crate) fn meant(self) -> Meant {
        self.sub_session.map_or(Meant::New, Meant::NewWithin)
    }

    /// The same caller, whose messages are collected.
    pub(crate) fn in_batch(self) -> Caller {
        Caller { in_batch: true, ..self }
    }
}

/// Where a message of the peer came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inbound<'a> {
    /// The transport's name for it, where messages arrive one by one.
    pub(crate) tag: Option<RequestTag>,
    /// The batch that it is part of.
    pub(crate) batch: Option<BatchKey>,
    /// It was held because it came early, and the transport knows of it.
    pub(crate) held: bool,
    /// What its handlers may ask for.
    pub(crate) extension: Option<&'a Arc<dyn Extension>>,
    /// The members of its envelope that the protocol has of its own.
    pub(crate) members: &'a OwnMembers,
    /// When it arrived.
    pub(crate) now: Instant,
}

impl<'a> Inbound<'a> {
    /// A message that is not part of a batch.
    pub(crate) fn alone(tag: Option<RequestTag>, now: Instant) -> Inbound<'a> {
        Inbound { tag, batch: None, held: false, extension: None, members: &NO_MEMBERS, now }
    }

    /// Tells the transport that the message was refused, and that nothing is written about that.
    pub(crate) fn refused(self, why: &impl fmt::Display) -> Received {
        Received { refused: self.tag.map(|_| why.to_string()), ..Received::default() }
    }

    /// Where an error about it goes.
    pub(crate) fn reply_to(self) -> ReplyTo {
        ReplyTo { batch: self.batch, tag: self.tag }
    }
}

/// A message that the checker has accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) step: Step,
    /// What the message announces, if the program cannot work with it. It goes with the message to the task that takes
    /// it.
    pub(crate) negotiation: Option<Box<Error>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_of_a_sub_session_means_what_is_within_it() {
        let sub_session = SubSessionNumber(3);
        let caller = Caller::new(Some(Epoch::FIRST), Some(RequestTag(1)));
        assert_eq!(caller.meant(), Meant::New);
        let within = caller.in_sub_session(Some(sub_session)).in_batch();
        assert_eq!(
            (within.meant(), within.sub_session()),
            (Meant::NewWithin(sub_session), Some(sub_session))
        );
        assert!(within.is_bound() && within.is_in_batch() && !caller.is_in_batch());
        assert_eq!(within.in_reply_to(), Some(RequestTag(1)));
        assert!(!Caller::ANY.is_bound());
    }

    #[test]
    fn only_the_transport_that_names_its_messages_learns_why_one_was_refused() {
        let inbound = Inbound::alone(Some(RequestTag(1)), Instant::now());
        assert_eq!(inbound.refused(&"why").refused.as_deref(), Some("why"));
        assert!(Inbound { tag: None, ..inbound }.refused(&"why").refused.is_none());
        assert!(inbound.reply_to().batch.is_none() && inbound.reply_to().tag == inbound.tag);
    }
}
