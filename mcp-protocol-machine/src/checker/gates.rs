//! Gates: whether the capabilities that a message needs are announced where it looks for them.

use crate::capability::Capabilities;
use crate::condition::dotted;
use crate::exchange::Exchange;
use crate::grants::Released;
use crate::id::{RequestId, SubSessionNumber};
use crate::protocol::{Condition, Direction, GateIndex, Holder, Kind, MessageIndex, Requirement, Side};
use crate::violation::{Violation, ViolationKind};

use super::find::ClosedGate;
use super::state::Checker;

/// What a request announces that announces nothing.
pub(super) static NOTHING: Capabilities = Capabilities::none();

/// What a message is part of, where each request of a side announces what that side can do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Within<'a> {
    /// Of none in particular: a request that runs has to announce what the message needs.
    Any,
    /// Of none, for it is a request, which announces this; nothing if that is not known.
    Opening(Option<&'a Capabilities>),
    /// Of a sub-session, in which it may be a request, which announces this.
    SubSession(SubSessionNumber, Option<&'a Capabilities>),
    /// It reports on the request with this id, of the side that asks in this direction.
    Report(Direction, &'a RequestId),
    /// Of a sub-session that is over. What the request announced that opened it is not remembered.
    Over,
}

/// A gate that does not let a message through.
#[derive(Clone, Copy, Debug)]
enum Shut {
    /// It is neither announced nor tolerated.
    Closed { holder: Side, gate: GateIndex },
    /// The handle that sends the message has a narrower set of capabilities.
    Restricted(GateIndex),
}

impl Checker {
    /// The gates of a message that is permitted otherwise.
    pub(super) fn judge_gates(
        &self,
        direction: Direction,
        message: MessageIndex,
        during: Within<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<(), Violation> {
        self.gates_on_arrival(direction, message, during, applies)
            .map(drop)
            .map_err(|kind| self.violation(direction, message, None, kind))
    }

    /// The gates of a message as its receiver, or an observer, judges them: one that has closed is still open for a
    /// message whose sender may not have received what closed it.
    pub(super) fn gates_on_arrival(
        &self,
        direction: Direction,
        message: MessageIndex,
        during: Within<'_>,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<Option<ClosedGate>, ViolationKind> {
        let mut closed = None;
        for requirement in self.needed(message, applies) {
            let holder = self.holder(direction, requirement.holder);
            if self.is_open(direction, holder, requirement.gate, &self.tolerated, during) {
                continue;
            }
            // What is part of one request needs what that grants.
            if self.granting(holder, requirement.gate, during).is_some() {
                return Err(self.not_negotiated(holder, requirement.gate));
            }
            // A side knows of what it has closed itself.
            let is_unaware = |closer, fence| {
                let by = self.sent_by(closer);
                (by != direction || !self.ordered) && !self.is_past(by, fence)
            };
            let closed_gates = match self.is_during(requirement.gate) {
                true => &self.ended_during,
                false => &self.closed_gates,
            };
            match closed_gates.excuse(holder, requirement.gate, is_unaware) {
                Some(by) => closed = Some(ClosedGate { by }),
                None => return Err(self.not_negotiated(holder, requirement.gate)),
            }
        }
        Ok(closed)
    }

    /// The first gate of a message that is closed: neither announced nor tolerated, or not in `within`.
    pub(super) fn gates(
        &self,
        direction: Direction,
        message: MessageIndex,
        within: &Capabilities,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Result<(), ViolationKind> {
        let shut = self.shut(direction, message, within, &self.tolerated, applies);
        shut.map_or(Ok(()), |shut| Err(self.kind_of(shut)))
    }

    /// A message of the peer that is accepted only because what it needs is tolerated: what would be wrong with it
    /// otherwise.
    pub fn tolerated(
        &self,
        message: MessageIndex,
        applies: impl Fn(&Condition) -> bool,
    ) -> Option<Violation> {
        if self.tolerated.is_none() {
            return None;
        }
        let (within, none) = (Capabilities::unknown(), Capabilities::none());
        let kind = self.kind_of(self.shut(Direction::Receive, message, &within, &none, &applies)?);
        let mut details = self.violation(Direction::Receive, message, None, kind).into_details();
        details.answerable = false;
        Some(Violation::new(details))
    }

    /// Whether all gates of a message are open. This costs less than to say which one is closed.
    pub(super) fn are_gates_open(&self, direction: Direction, message: MessageIndex) -> bool {
        let within = Capabilities::unknown();
        self.shut(direction, message, &within, &self.tolerated, &|_: &Condition| false).is_none()
    }

    /// What is wrong with a message that a gate does not let through.
    fn kind_of(&self, shut: Shut) -> ViolationKind {
        match shut {
            Shut::Closed { holder, gate } => self.not_negotiated(holder, gate),
            Shut::Restricted(gate) => ViolationKind::Restricted { capability: self.capability(gate) },
        }
    }

    /// The first gate of a message that does not let it through.
    fn shut(
        &self,
        direction: Direction,
        message: MessageIndex,
        within: &Capabilities,
        tolerated: &Capabilities,
        applies: &impl Fn(&Condition) -> bool,
    ) -> Option<Shut> {
        self.needed(message, applies).find_map(|requirement| {
            let (holder, gate) = (self.holder(direction, requirement.holder), requirement.gate);
            if !self.is_open(direction, holder, gate, tolerated, self.during(message)) {
                return Some(Shut::Closed { holder, gate });
            }
            // What requests grant is not a capability, which a program could do without.
            (!within.grants(gate) && !self.is_during(gate)).then_some(Shut::Restricted(gate))
        })
    }

    /// What a message is part of that is not there yet. What a request will announce is not known then.
    pub(super) fn during(&self, message: MessageIndex) -> Within<'static> {
        match self.protocol.message(message).map(|table| table.kind) {
            Some(Kind::Request) => Within::Opening(None),
            _ => Within::Any,
        }
    }

    /// The capabilities that a payload needs. A reply is owed, whatever it needs: its request had gates of its own.
    fn needed(
        &self,
        message: MessageIndex,
        applies: &impl Fn(&Condition) -> bool,
    ) -> impl Iterator<Item = &Requirement> {
        let table = self.protocol.message(message);
        let table = table.filter(|table| matches!(table.kind, Kind::Request | Kind::Notification));
        let requires = table.map(|table| &*table.requires).unwrap_or_default();
        requires.iter().filter(move |requirement| requirement.is_needed(applies))
    }

    fn not_negotiated(&self, holder: Side, gate: GateIndex) -> ViolationKind {
        match self.protocol.gate(gate).and_then(|gate| gate.during.as_ref()) {
            None => ViolationKind::NotNegotiated { holder, capability: self.capability(gate) },
            Some(during) => ViolationKind::NotDuring {
                requests: during.requests.iter().filter_map(|request| self.expectation(*request)).collect(),
                condition: during.condition.clone(),
            },
        }
    }

    /// Whether a gate is granted by requests, while they run, and not by an announcement.
    fn is_during(&self, gate: GateIndex) -> bool {
        self.protocol.gate(gate).is_some_and(|gate| gate.during.is_some())
    }

    fn capability(&self, gate: GateIndex) -> String {
        self.protocol.gate(gate).map(|gate| dotted(&gate.path)).unwrap_or_default()
    }

    /// Whether a gate of a side is open for what goes in a direction.
    fn is_open(
        &self,
        direction: Direction,
        holder: Side,
        gate: GateIndex,
        tolerated: &Capabilities,
        during: Within<'_>,
    ) -> bool {
        if direction == Direction::Receive && tolerated.grants(gate) {
            return true;
        }
        let is_during = self.is_during(gate);
        if !is_during && !self.protocol.announces_in_each_request(holder) {
            return self.capabilities(holder).grants(gate);
        }
        // What opened a sub-session that is over is not remembered.
        if let Within::Over = during {
            return true;
        }
        let granting = self.granting(holder, gate, during);
        let grants =
            |exchange: &Exchange| exchange.grants.as_ref().is_some_and(|granted| granted.grants(gate));
        let asked = self.asked(self.sent_by(holder));
        if is_during {
            // It does not matter what else is granted.
            return granting.map_or_else(|| asked.has_granted(gate) || asked.may_grant(gate), grants);
        }
        if self.is_granted(holder, gate) {
            return true;
        }
        match during {
            Within::Opening(own) if holder == self.sender(direction) => {
                own.is_none_or(|own| own.grants(gate))
            }
            Within::SubSession(_, Some(own)) if holder == self.sender(direction) => own.grants(gate),
            _ => granting
                .map_or_else(|| self.capabilities(holder).grants(gate) || asked.may_grant(gate), grants),
        }
    }

    /// The request of a side that a message is part of, if it is this one that has to grant a gate: where each request says
    /// what its side can do, any; and where requests permit messages `during` them, one of these.
    fn granting(&self, holder: Side, gate: GateIndex, during: Within<'_>) -> Option<&Exchange> {
        let permits = self.protocol.gate(gate)?.during.as_ref();
        if permits.is_none() && !self.protocol.announces_in_each_request(holder) {
            return None;
        }
        let by = self.sent_by(holder);
        let is_it =
            |exchange: &&Exchange| permits.is_none_or(|permits| permits.requests.contains(&exchange.message));
        match during {
            Within::SubSession(sub_session, _) => self.openers_of(sub_session, by).find(is_it),
            Within::Report(asker, id) if asker == by => self.asked(by).running_under(id).filter(is_it),
            Within::Report(..) | Within::Any | Within::Opening(_) | Within::Over => None,
        }
    }

    /// The requests of a side that opened a sub-session, or those around it, the innermost first.
    fn openers_of(&self, sub_session: SubSessionNumber, by: Direction) -> impl Iterator<Item = &Exchange> {
        let innermost = self.sub_sessions.get(sub_session);
        let around = std::iter::successors(innermost, |running| {
            running.space().outer.and_then(|outer| self.sub_sessions.get(outer))
        });
        let openers = around.filter_map(|running| running.opener.as_ref());
        let of_side = openers.filter(move |(direction, _)| *direction == by);
        of_side.filter_map(move |(_, id)| self.asked(by).running_under(id))
    }

    fn holder(&self, direction: Direction, holder: Holder) -> Side {
        match holder {
            Holder::Side(side) => side,
            Holder::Sender => self.sender(direction),
            Holder::Receiver => self.sender(direction).other(),
        }
    }

    /// After a message: what the running requests of each side grant now, by what each request announces or because
    /// messages are permitted `during` it.
    pub(super) fn note_grants(&mut self, direction: Direction, message: MessageIndex) {
        for side in [Side::Client, Side::Server] {
            let by = self.sent_by(side);
            let ended = self.asked_mut(by).take_released().map(|Released { gates, crossed }| {
                // A reply has ended a request for its sender, who knows that. A side that has ended its own request does
                // so behind the back of the other one, also where another request still grants the same. And where the
                // last messages of a sub-session cross, it goes on for each side until it has received that of the other
                // one.
                let fence = match direction == by || !self.ordered {
                    true => Some(self.fence_of(side, Some(message))),
                    false => crossed,
                };
                (gates, fence)
            });
            if let Some((released, Some(fence))) = &ended {
                let during: Capabilities = released.each().filter(|gate| self.is_during(*gate)).collect();
                if !during.is_none() {
                    self.note_ended(side, during, message, *fence);
                }
            }
            if !self.protocol.announces_in_each_request(side) {
                continue;
            }
            if let Some((released, Some(fence))) = ended {
                self.announce(side, released);
                let before = self.capabilities(side).clone();
                self.note_closing((side, side), before, Some(message), fence);
            }
            if !self.asked(by).grant_exactly(self.announced_by(side)) {
                let after = self.asked(by).grants();
                self.announce(side, after);
            }
        }
    }
}
