//! [`Handshake`]: what is said once more to a server that has lost the session.

use super::message::PostMessage;
use crate::driver::{MessageKind, Place};

/// How many messages a handshake may have.
const MOST: usize = 16;

/// The messages of the handshake.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    said: Vec<PostMessage>,
    version: Option<String>,
    /// It cannot be said once more.
    chosen: bool,
}

impl Handshake {
    /// The messages to be said once more, and the version that was agreed on. `None`: something was chosen.
    pub(super) fn repeatable(&self) -> Option<(Vec<PostMessage>, Option<String>)> {
        // Where something was chosen, nothing of it is kept.
        (!self.said.is_empty()).then(|| (self.said.clone(), self.version.clone()))
    }

    /// A step was taken.
    pub(super) fn record(&mut self, message: &PostMessage) {
        let place = match message.kind {
            MessageKind::Request { place, .. }
            | MessageKind::Notification { place }
            | MessageKind::Cancel { place, .. } => place,
            // An answer depends on a question that may not come again.
            _ => Place::ChosenStep,
        };
        if place == Place::ChosenStep || self.said.len() >= MOST {
            self.not_repeatable();
        }
        if !self.chosen {
            self.said.push(message.clone());
        }
    }

    /// Something was chosen.
    pub(super) fn not_repeatable(&mut self) {
        self.chosen = true;
        self.said = Vec::new();
    }

    /// The server has named a version.
    pub(super) fn note_version(&mut self, version: Option<String>) {
        self.version = version;
    }
}
