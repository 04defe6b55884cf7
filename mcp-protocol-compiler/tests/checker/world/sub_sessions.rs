//! What a message of a sub-session does to it: whether its keys are free, whether it is over, and for which that is
//! over it may be late.

use mcp_protocol_machine::protocol::Direction;

use super::{Config, Item, Over, Part, Past, Standing, SubSession, Verdict, World, index};
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

    /// Whether the keys of a message are all there and free: those of a sub-session that goes on, or of one that is to be
    /// opened within another.
    pub(super) fn free(
        &self,
        event: &Event,
        body: Place,
        own: Option<usize>,
        outer: Option<usize>,
    ) -> Result<(), &'static str> {
        let declared = &self.protocol.message(event.message).unwrap().keys;
        if declared.iter().any(|key| event.keys.iter().all(|(carried, _)| *carried != key.key)) {
            return Err("KeyMissing");
        }
        for key in &event.keys {
            if self.reading.is_key_around(body, key.0) {
                if self.is_other_value(outer, key) {
                    return Err("WrongKey");
                }
                continue;
            }
            let held = self.sub_sessions.iter().enumerate().any(|(number, sub_session)| {
                self.reading.shares_keys(sub_session.body, body)
                    && sub_session.over.is_none()
                    && sub_session.outer == outer
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
        let SubSession { body, outer, ref keys, .. } = self.sub_sessions[number];
        let keys = keys.clone();
        for (other, sub_session) in self.sub_sessions.iter_mut().enumerate() {
            let before = other != number
                && sub_session.over.is_some()
                && sub_session.outer == outer
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
            // Whether the messages between came is not looked at, nor which values are those of an inner sub-session.
            let stale = (0..self.sub_sessions.len()).any(|number| self.may_be_within(number, event, item));
            return (stale || !unheard.is_empty()).then_some(Verdict::Stale);
        }
        // Lateness does not excuse a message whose capability was never negotiated.
        if let Err(kind) = self.gates(event, Part::Over) {
            return Some(Verdict::Wrong(kind));
        }
        let sure = after.len() == 1;
        for (number, past) in after {
            self.said_late(number, past, sure, event, item);
        }
        Some(Verdict::Late)
    }

    /// What some of these sub-sessions can be after a message: those in which it can have been sent.
    pub(super) fn after(&self, numbers: impl Iterator<Item = usize>, item: &Item) -> Vec<(usize, Past)> {
        let after = |number: usize| {
            let configs = &self.sub_sessions[number].configs;
            let after = self.sent(configs, item);
            match after.is_empty() {
                true => self.opening(configs, item.direction, item.message).map(Past::Opens),
                false => Some(Past::Step(after)),
            }
        };
        numbers.filter_map(|number| Some((number, after(number)?))).collect()
    }

    /// Whether a sub-session that is over may have messages in a direction on their way.
    pub(super) fn may_go_on_late(&self, number: usize, direction: Direction) -> bool {
        self.sub_sessions[number].over.is_some()
            && self.with_those_around(number).all(|number| {
                let sub_session = &self.sub_sessions[number];
                let Some(ended) = sub_session.over else { return true };
                let behind = |config: &Config| !self.reading.is_over(&config.programs[index(direction)]);
                let unheard = sub_session.unsure.is_some()
                    || ended.by != direction && !self.was_heard(ended)
                    || ended.by == direction && !ended.cuts && sub_session.configs.iter().any(behind);
                unheard && !sub_session.let_go[way(direction)]
            })
    }

    /// Whether the side whose message has ended a sub-session may have left unread what ends it for that side.
    pub(super) fn may_have_crossed_its_end(&self, number: usize, direction: Direction) -> bool {
        let (own, other) = (index(direction), direction.flip());
        let unread = |config: &Config| {
            !self.reading.is_over(&config.programs[own])
                || config.ended_by[own].is_some_and(|at| !self.heard.is_read(other, at))
        };
        self.with_those_around(number).all(|number| {
            let sub_session = &self.sub_sessions[number];
            let Some(ended) = sub_session.over else { return true };
            ended.by == direction && !ended.cuts && sub_session.configs.iter().any(unread)
        })
    }

    /// After a message of a sub-session: is it over?
    pub(super) fn settle(&mut self, number: usize, by: Direction) {
        let sub_session = &mut self.sub_sessions[number];
        sub_session.known |= by != sub_session.by;
        // Both sides come to the same, but a message that ends it may have crossed another one.
        let configs = &self.sub_sessions[number].configs;
        let over = configs.iter().all(|config| self.reading.is_over(&self.caught_up(config, index(by))));
        if over {
            self.end(number, Over { by, at: self.seen, cuts: false });
        }
    }

    pub(super) fn end(&mut self, number: usize, over: Over) {
        self.sub_sessions[number].over = Some(over);
        for exchange in self.exchanges.values_mut().filter(|exchange| exchange.sub_session == Some(number)) {
            exchange.ended = exchange.ended.or(Some((over.by, self.seen)));
            if exchange.standing == Standing::Running {
                exchange.standing = Standing::Owed;
            }
        }
        self.end_within(number, over);
    }
}
