//! What a client has sent last.

use std::collections::VecDeque;

use mcp_runtime::observer::{Observed, ObservedKind};

use crate::eras::{Era, Eras};
use crate::not_received::NotReceived;

/// How many messages are kept.
const KEPT: usize = 64;

/// The last messages of a client as they were judged: the log may say later that one did not arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMessages(VecDeque<(Era, Observed)>);

impl RecentMessages {
    pub(super) fn note(&mut self, era: Era, observed: impl Iterator<Item = Observed>) {
        for one in observed {
            if self.0.len() == KEPT {
                self.0.pop_front();
            }
            self.0.push_back((era, one));
        }
    }

    /// Takes the last message that a record means, if it is still known.
    pub(super) fn take(&mut self, meant: &NotReceived, eras: &Eras) -> Option<(Era, Observed)> {
        let is_it = |(era, one): &(Era, Observed)| {
            let has_id = |id| one.id.as_ref() == Some(id);
            match meant {
                NotReceived::Request(id) => one.kind == ObservedKind::Request && has_id(id),
                NotReceived::Reply(id) => {
                    matches!(one.kind, ObservedKind::Result | ObservedKind::Error) && has_id(id)
                }
                NotReceived::Notification(method) => {
                    let table = one.message.and_then(|index| eras.observer(*era).protocol().message(index));
                    one.kind == ObservedKind::Notification
                        && table.is_some_and(|table| table.method == **method)
                }
            }
        };
        let place = self.0.iter().rposition(is_it)?;
        self.0.remove(place)
    }
}
