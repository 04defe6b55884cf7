//! Whether the sender of a message may take its gates to be open.

use mcp_protocol_machine::protocol::{Direction, GateIndex, Holder, Kind, Side};

use super::{Exchange, Part, World};
use crate::during::permits;
use crate::event::Event;

impl World<'_> {
    /// Whether the gates of a message are open, and what is wrong if one is not.
    pub(super) fn gates(&self, event: &Event, part: Part<'_>) -> Result<(), &'static str> {
        let mut needed = self.needed(event);
        if !needed.all(|(holder, gate)| self.may_take_for_granted(event, holder, gate, part, false)) {
            return Err("NotNegotiated");
        }
        if self.is_during(event, part, false) { Ok(()) } else { Err("NotDuring") }
    }

    /// Whether a message came through a gate that has closed behind it.
    pub(super) fn is_behind_gate(&self, event: &Event, part: Part<'_>) -> bool {
        self.needed(event).any(|(holder, gate)| !self.may_take_for_granted(event, holder, gate, part, true))
            || !self.is_during(event, part, true)
    }

    /// Whether the sender of a message may take requests of the other side to be running that permit it; `now` looks at
    /// what was said last.
    fn is_during(&self, event: &Event, part: Part<'_>, now: bool) -> bool {
        let by = event.direction(self.side).flip();
        let goes_on = |exchange: &Exchange| self.may_take_to_go_on(exchange, by, by.flip(), now);
        let exchanges =
            self.exchanges.iter().filter(|((direction, _), exchange)| *direction == by && goes_on(exchange));
        let perhaps = self.perhaps.iter().filter(|(place, _)| place.0 == by);
        let running = exchanges.map(|(_, exchange)| &exchange.asked).chain(perhaps.map(|(_, asked)| asked));
        let around: Vec<&Event> = match part {
            Part::SubSession(number) => {
                let openers = self.with_those_around(number).filter_map(|number| {
                    self.sub_sessions[number].opener.as_ref().filter(|(direction, _)| *direction == by)
                });
                openers.map(|opener| &self.exchanges[opener].asked).collect()
            }
            Part::Request(asker, id) if asker == by => vec![&self.exchanges[&(asker, id.clone())].asked],
            Part::Over => return true,
            Part::Request(..) | Part::Session => Vec::new(),
        };
        permits(self.reading.resolution(), event.message, running, &around)
    }

    /// What a message needs, and of whom.
    fn needed(&self, event: &Event) -> impl Iterator<Item = (Side, GateIndex)> {
        let requires = self.protocol.message(event.message).unwrap().requires.iter();
        let requires =
            requires.filter(|required| self.protocol.gate(required.gate).unwrap().during.is_none());
        let needed =
            requires.filter(|required| required.condition.is_none() || event.urgent != required.unless);
        needed.map(|required| {
            let holder = match required.holder {
                Holder::Side(side) => side,
                Holder::Sender => event.from,
                Holder::Receiver => event.from.other(),
            };
            (holder, required.gate)
        })
    }

    /// Whether the sender of a message may take a gate to be open. What the other side has said since it last answered a
    /// request of it, it may not have received; `now` looks at what was said last.
    fn may_take_for_granted(
        &self,
        event: &Event,
        holder: Side,
        gate: GateIndex,
        part: Part<'_>,
        now: bool,
    ) -> bool {
        let unheard_of = |closer: Direction, at: u64| {
            !now && closer != event.direction(self.side) && !self.heard.is_read(closer, at)
        };
        if self.protocol.announces_in_each_request(holder) {
            return self.some_request_grants(event, holder, gate, part, now);
        }
        self.granted.has(holder, gate) || self.closings.may_have_been_open(holder, gate, unheard_of)
    }

    /// The same where each request of a side announces what the side can do meanwhile.
    fn some_request_grants(
        &self,
        event: &Event,
        holder: Side,
        gate: GateIndex,
        part: Part<'_>,
        now: bool,
    ) -> bool {
        let sender = event.direction(self.side);
        let by = if holder == self.side { Direction::Send } else { Direction::Receive };
        let is_request = self.protocol.message(event.message).unwrap().kind == Kind::Request;
        let opener = match part {
            Part::Over => return true,
            _ if holder == event.from && is_request => return event.grants.contains(&gate),
            Part::SubSession(number) => self.with_those_around(number).find_map(|number| {
                self.sub_sessions[number].opener.clone().filter(|(direction, _)| *direction == by)
            }),
            Part::Request(asker, id) => Some((asker, id.clone())).filter(|_| asker == by),
            Part::Session => None,
        };
        match opener {
            Some(opener) => self.exchanges[&opener].announces.contains(&gate),
            None => {
                let mut perhaps = self.perhaps.iter();
                perhaps.any(|((direction, _), asked)| *direction == by && asked.grants.contains(&gate))
                    || self.exchanges.iter().any(|((direction, _), exchange)| {
                        *direction == by
                            && exchange.announces.contains(&gate)
                            && self.may_take_to_go_on(exchange, by, sender, now)
                    })
            }
        }
    }

    /// Whether the sender of a message may take a request, asked in one direction, to go on; `now` looks at what was said
    /// last. Who has ended the request itself knows of it. But where the last messages of a sub-session cross, it goes on
    /// for each side until it has received that of the other one.
    fn may_take_to_go_on(&self, exchange: &Exchange, asker: Direction, sender: Direction, now: bool) -> bool {
        let Some((ended_by, at)) = exchange.ended else { return true };
        let unheard = ended_by == asker && !self.heard.is_read(asker, at);
        let ended_with_it =
            |number: &usize| self.sub_sessions[*number].over.is_some_and(|over| over.at == at);
        let sub_session = exchange.sub_session.filter(ended_with_it);
        let crossed = || sub_session.is_some_and(|number| self.may_have_crossed_its_end(number, sender));
        !now && sender != asker && (unheard || crossed())
    }
}
