//! What a message of a sub-session does to it: whether its keys are free, whether it is over, and for which that is
//! over it may be late.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Direction;

use super::{Config, Item, Standing, Verdict, World, index};
use crate::event::Event;
use crate::reading::{Place, way};

impl World<'_> {
    /// Whether a message may leave its sender where it is.
    pub(super) fn stays(&self, number: usize, item: &Item) -> bool {
        let mut programs =
            self.sub_sessions[number].configs.iter().map(|config| &config.programs[index(item.direction)]);
        programs.any(|program| {
            let step = self.reading.step(program, item.direction, item.message, item.id.as_ref(), false);
            step.as_ref() == Some(program)
        })
    }

    /// Whether the keys of a message are all there and free.
    pub(super) fn free(&self, event: &Event, body: Place, own: Option<usize>) -> Result<(), &'static str> {
        let declared = &self.protocol.message(event.message).unwrap().keys;
        if declared.iter().any(|key| event.keys.iter().all(|(carried, _)| *carried != key.key)) {
            return Err("KeyMissing");
        }
        for key in &event.keys {
            let held = self.sub_sessions.iter().enumerate().any(|(number, sub_session)| {
                self.reading.shares_keys(sub_session.body, body)
                    && sub_session.over.is_none()
                    && Some(number) != own
                    && sub_session.keys.contains(key)
            });
            if held {
                return Err("KeyInUse");
            }
            let other = own.is_some_and(|own| {
                self.sub_sessions[own].keys.iter().any(|(known, value)| *known == key.0 && *value != key.1)
            });
            if other {
                return Err("WrongKey");
            }
        }
        Ok(())
    }

    /// Who gives a value to a sub-session, or goes on with it, knows that the sub-sessions are over that held the value
    /// before.
    pub(super) fn let_go(&mut self, number: usize, by: Direction) {
        let (body, keys) = (self.sub_sessions[number].body, self.sub_sessions[number].keys.clone());
        for (other, sub_session) in self.sub_sessions.iter_mut().enumerate() {
            let before = other != number
                && sub_session.over.is_some()
                && self.reading.shares_keys(sub_session.body, body);
            if before && sub_session.keys.iter().any(|key| keys.contains(key)) {
                sub_session.let_go[way(by)] = true;
            }
        }
    }

    /// What a message is that may be meant for one of these ended sub-sessions, the newest first; nothing if its sender
    /// knows that all have ended.
    ///
    /// Sub-sessions that held the same value one after the other may all be over where the message is seen, and its
    /// sender may not have heard of the end of any of them. So no single one decides.
    pub(super) fn late_for(&mut self, fitting: &[usize], event: &Event, item: &Item) -> Option<Verdict> {
        let may_go_on = |number: &usize| self.may_go_on_late(*number, item.direction);
        let unheard: Vec<usize> = fitting.iter().copied().filter(may_go_on).collect();
        let after = self.after(unheard.iter().copied(), item);
        if after.is_empty() {
            return (!unheard.is_empty()).then_some(Verdict::Stale);
        }
        // Lateness does not excuse a message whose capability was never negotiated.
        if !self.gates(event) {
            return Some(Verdict::Wrong("NotNegotiated"));
        }
        let sure = after.len() == 1;
        for (number, after) in after {
            let configs = &mut self.sub_sessions[number].configs;
            // It is meant for one of these; the others stay where they are.
            let others = std::mem::take(configs).into_iter().filter(|_| !sure);
            configs.extend(others.chain(after));
        }
        Some(Verdict::Late)
    }

    /// What some of these sub-sessions can be after a message: those in which it can have been sent.
    pub(super) fn after(
        &self,
        numbers: impl Iterator<Item = usize>,
        item: &Item,
    ) -> Vec<(usize, HashSet<Config>)> {
        let after = numbers.map(|number| (number, self.sent(&self.sub_sessions[number].configs, item)));
        after.filter(|(_, after)| !after.is_empty()).collect()
    }

    /// Whether a sub-session that is over may have messages in a direction on their way.
    pub(super) fn may_go_on_late(&self, number: usize, direction: Direction) -> bool {
        let sub_session = &self.sub_sessions[number];
        let Some(ended) = sub_session.over else { return false };
        let unheard = sub_session.unsure.is_some() || ended.by != direction && !self.was_heard(ended);
        unheard && !sub_session.let_go[way(direction)]
    }

    /// After a message of a sub-session: is it over?
    pub(super) fn settle(&mut self, number: usize, by: Direction) {
        let sub_session = &mut self.sub_sessions[number];
        sub_session.known |= by != sub_session.by;
        let over = sub_session.configs.iter().all(|config| self.reading.is_over(&config.programs[index(by)]));
        if over {
            self.end(number, by);
        }
    }

    pub(super) fn end(&mut self, number: usize, by: Direction) {
        self.sub_sessions[number].over = Some(super::Over { by, at: self.seen });
        for exchange in self.exchanges.values_mut().filter(|exchange| exchange.sub_session == Some(number)) {
            if exchange.standing == Standing::Running {
                exchange.standing = Standing::Owed;
            }
        }
    }
}
