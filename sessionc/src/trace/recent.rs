//! What a client has sent last.

use std::collections::VecDeque;

use mcp_runtime::observer::{Observed, ObservedKind};

use crate::eras::{Era, Eras};
use crate::not_received::NotReceived;

/// How many messages are kept.
const KEPT: usize = 64;

/// The last messages of a client as they were judged: the log may say later that one did not arrive.
///
/// Invariant: each list has one message. It is a list so that what a caller has in one need not be moved.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMessages(VecDeque<(Era, Vec<Observed>)>);

impl RecentMessages {
    /// Takes what a client has sent. What is left in `observed` has no message in it; it keeps its room.
    pub(super) fn note(&mut self, era: Era, observed: &mut Vec<Observed>) {
        // All but the last one of a batch.
        while observed.len() > 1 {
            let first = observed.remove(0);
            self.push(era, &mut vec![first]);
        }
        if !observed.is_empty() {
            self.push(era, observed);
        }
    }

    /// Adds a list with one message, and leaves an empty one in its place.
    fn push(&mut self, era: Era, one: &mut Vec<Observed>) {
        let oldest = if self.0.len() == KEPT { self.0.pop_front() } else { None };
        let mut room = oldest.map_or_else(|| Vec::with_capacity(1), |(_, list)| list);
        room.clear();
        self.0.push_back((era, std::mem::replace(one, room)));
    }

    /// Takes the last message that a record means, if it is still known.
    pub(super) fn take(&mut self, meant: &NotReceived, eras: &Eras) -> Option<(Era, Observed)> {
        let is_it = |(era, list): &(Era, Vec<Observed>)| {
            let Some(one) = list.first() else { return false };
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
        let (era, mut list) = self.0.remove(place)?;
        Some((era, list.pop()?))
    }
}
