//! Sub-sessions within others: what finds them, and what ends with them.

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, KeyIndex};

use super::{Config, Item, Over, Past, SubSession, World};
use crate::event::Event;
use crate::reading::Place;

impl World<'_> {
    /// A sub-session and those around it, the innermost first.
    pub(super) fn with_those_around(&self, number: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(number), |number| self.sub_sessions[*number].outer)
    }

    /// Whether the keys of a message find a sub-session: it has a value of it, and of each around it.
    pub(super) fn holds(&self, number: usize, event: &Event) -> bool {
        self.with_those_around(number).all(|number| {
            let held = &self.sub_sessions[number].keys;
            event.keys.iter().any(|key| held.contains(key))
        })
    }

    /// Whether a sub-session that is to be opened within another one, or one around that, has another value of a key.
    pub(super) fn is_other_value(&self, outer: Option<usize>, key: &(KeyIndex, RequestId)) -> bool {
        let around = outer.into_iter().flat_map(|outer| self.with_those_around(outer));
        let mut held = around.flat_map(|number| &self.sub_sessions[number].keys);
        held.any(|(known, value)| *known == key.0 && *value != key.1)
    }

    /// Whether a message may open a sub-session within one that its keys find.
    pub(super) fn may_open(&self, number: usize, event: &Event, direction: Direction) -> bool {
        self.holds(number, event)
            && self.reading.opens_within(self.sub_sessions[number].body, (direction, event.message))
    }

    /// Whether a message may be one of some sub-session within one that is over, by who has not heard of that.
    pub(super) fn may_be_within(&self, number: usize, event: &Event, item: &Item) -> bool {
        self.holds(number, event)
            && self.may_go_on_late(number, item.direction)
            && self.reading.all_later(self.sub_sessions[number].body).contains(&item.of)
    }

    /// A sub-session that a message opens.
    pub(super) fn opened_by(
        &self,
        event: &Event,
        item: &Item,
        body: Place,
        outer: Option<usize>,
    ) -> SubSession {
        let sub_session = self.reading.sub_session(body);
        let before = Config::new(sub_session);
        let configs = self.sent(&[before].into(), &Item { opens: true, ..item.clone() });
        let own = |key: &&(KeyIndex, RequestId)| {
            self.reading.is_keyed(body) && !self.reading.is_key_around(body, key.0)
        };
        SubSession {
            body,
            outer,
            configs,
            opener: item.id.clone().map(|id| (item.direction, id)),
            keys: event.keys.iter().filter(own).cloned().collect(),
            over: None,
            let_go: [false; 2],
            by: item.direction,
            known: false,
            unsure: None,
        }
    }

    /// A message was late for a sub-session that is over. If it may have been meant for another one, `sure` is false, and
    /// this one may also be where it was.
    pub(super) fn said_late(&mut self, number: usize, past: Past, sure: bool, event: &Event, item: &Item) {
        match past {
            Past::Step(after) => {
                let configs = &mut self.sub_sessions[number].configs;
                let others = std::mem::take(configs).into_iter().filter(|_| !sure);
                configs.extend(others.chain(after));
            }
            Past::Opens((body, configs)) => {
                if sure {
                    self.sub_sessions[number].configs = self.arrivals(configs);
                }
                // It is over with the one around it.
                let SubSession { over, unsure, .. } = self.sub_sessions[number];
                let opened = self.opened_by(event, item, body, Some(number));
                self.sub_sessions.push(SubSession { over, unsure, ..opened });
            }
        }
    }

    /// What ends a sub-session ends those within it. Exchanges that run there are still answered.
    pub(super) fn end_within(&mut self, outer: usize, ended: Over) {
        for number in 0..self.sub_sessions.len() {
            let SubSession { body, over, outer: around, .. } = self.sub_sessions[number];
            if around == Some(outer) && over.is_none() && self.reading.is_keyed(body) {
                self.end(number, ended);
            }
        }
    }
}
