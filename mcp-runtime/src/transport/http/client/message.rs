//! One message to be posted.

use std::sync::Arc;

use bytes::Bytes;

use crate::driver::{Epoch, MessageKind, Outgoing};
use crate::jsonrpc::asked;

/// A message to be posted.
#[derive(Clone, Debug)]
pub(super) struct PostMessage {
    pub(super) text: Bytes,
    pub(super) kind: MessageKind,
    asks: Asks,
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
        PostMessage { text: Bytes::copy_from_slice(text), kind, asks, epoch }
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
            | MessageKind::Result { place } => place.is_step(),
            MessageKind::Error | MessageKind::Batch | MessageKind::Several { .. } => false,
        }
    }
}
