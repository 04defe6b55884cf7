//! One message to be posted.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{HeaderName, HeaderValue};

use super::repeated::RepeatedHeaders;
use crate::driver::{Epoch, MessageKind, Outgoing};
use crate::jsonrpc::asked;

/// A message to be posted.
#[derive(Clone, Debug)]
pub(super) struct PostMessage {
    pub(super) text: Bytes,
    pub(super) kind: MessageKind,
    asks: Asks,
    /// What its head repeats, where requests have no session.
    repeated: RepeatedHeaders,
    /// The epoch in which it was said.
    epoch: Epoch,
}

/// The requests in a message.
#[derive(Clone, Debug)]
enum Asks {
    Nothing,
    One(i64),
    Several(Arc<[i64]>),
}

impl PostMessage {
    pub(super) fn new(outgoing: Outgoing<'_>) -> PostMessage {
        let Outgoing { message: text, kind, epoch, .. } = outgoing;
        let asks = match kind {
            MessageKind::Request { id, .. } => Asks::One(id),
            MessageKind::Several { .. } => Asks::Several(asked(text).into()),
            _ => Asks::Nothing,
        };
        PostMessage {
            text: Bytes::copy_from_slice(text),
            kind,
            asks,
            repeated: RepeatedHeaders::default(),
            epoch,
        }
    }

    /// The same message, whose head repeats this.
    pub(super) fn repeating(self, repeated: RepeatedHeaders) -> PostMessage {
        PostMessage { repeated, ..self }
    }

    /// What its head repeats.
    pub(super) fn repeated(&self) -> &[(HeaderName, HeaderValue)] {
        &self.repeated.headers
    }

    /// Whether the answer lists tools, and it matters which parameters their calls repeat.
    pub(super) fn lists_tools(&self) -> bool {
        self.repeated.lists_tools
    }

    /// The ids of the requests in it.
    pub(super) fn asks(&self) -> &[i64] {
        match &self.asks {
            Asks::Nothing => &[],
            Asks::One(id) => std::slice::from_ref(id),
            Asks::Several(ids) => ids,
        }
    }

    /// Whether it means nothing in that epoch.
    pub(super) fn is_lost(&self, now: Epoch) -> bool {
        self.kind.is_bound() && self.epoch < now
    }

    pub(super) fn is_step(&self) -> bool {
        match self.kind {
            MessageKind::Request { place, .. }
            | MessageKind::Notification { place }
            | MessageKind::Cancel { place, .. }
            | MessageKind::Result { place } => place.is_step(),
            MessageKind::Error | MessageKind::Batch | MessageKind::Several { .. } => false,
        }
    }
}
