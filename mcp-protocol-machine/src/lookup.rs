//! From wire names to messages, prepared once.

use std::collections::HashMap;

use crate::protocol::{Kind, MessageIndex, Protocol};

/// An index over the messages of one protocol.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    requests: HashMap<Box<str>, Vec<MessageIndex>>,
    notifications: HashMap<Box<str>, Vec<MessageIndex>>,
    /// By the index of the request.
    replies: Vec<Vec<MessageIndex>>,
    refusals: Vec<Option<MessageIndex>>,
}

impl Lookup {
    /// Reads a protocol.
    pub fn new(protocol: &Protocol) -> Lookup {
        let mut lookup = Lookup {
            replies: vec![Vec::new(); protocol.messages.len()],
            refusals: vec![None; protocol.messages.len()],
            ..Lookup::default()
        };
        for (index, message) in protocol.indexed() {
            match message.kind {
                Kind::Request => lookup.requests.entry((*message.method).into()).or_default().push(index),
                Kind::Notification => {
                    lookup.notifications.entry((*message.method).into()).or_default().push(index)
                }
                Kind::Reply { request } => {
                    if let Some(replies) = lookup.replies.get_mut(usize::from(request.0)) {
                        replies.push(index);
                    }
                }
                Kind::Refusal { request } => {
                    if let Some(refusal) = lookup.refusals.get_mut(usize::from(request.0)) {
                        *refusal = Some(index);
                    }
                }
            }
        }
        lookup
    }

    /// The requests with this method, in order of declaration; more than one only where conditions tell them apart.
    pub fn requests(&self, method: &str) -> &[MessageIndex] {
        self.requests.get(method).map_or(&[], Vec::as_slice)
    }

    /// The notifications with this method, in order of declaration.
    pub fn notifications(&self, method: &str) -> &[MessageIndex] {
        self.notifications.get(method).map_or(&[], Vec::as_slice)
    }

    /// The replies of a request, in order of declaration.
    pub fn replies(&self, request: MessageIndex) -> &[MessageIndex] {
        self.replies.get(usize::from(request.0)).map_or(&[], Vec::as_slice)
    }

    /// The error reply of a request.
    pub fn refusal(&self, request: MessageIndex) -> Option<MessageIndex> {
        self.refusals.get(usize::from(request.0)).copied().flatten()
    }
}
