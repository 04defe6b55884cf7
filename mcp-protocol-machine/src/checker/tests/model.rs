//! The slow model: the rules again, over plain lists, with a walk through everything for every question.
//!
//! It shares the tables' types with the checker and nothing else: no lookups, no id table, no memories.

use std::rc::Rc;

use crate::protocol::{
    Action, Condition, Direction, Edge, GateIndex, Holder, Kind, Message, MessageIndex, Protocol, Side,
    State, StateIndex, StateKind,
};
use crate::{About, Awaiting, RequestId, StepKind, ViolationKind};

#[derive(Clone, Debug, PartialEq)]
enum Where {
    /// The channel with this number.
    Linear(usize),
    SubSession(StateIndex),
}

#[derive(Clone, Debug)]
struct Running {
    asker: Direction,
    id: RequestId,
    message: MessageIndex,
    place: Where,
    answered: bool,
    cancelled: bool,
}

type Outcome = Result<StepKind, ViolationKind>;

#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Shared, because the model is copied whenever something is tried out.
    protocol: Rc<Protocol>,
    side: Side,
    /// Number and state of every linear channel.
    channels: Vec<(usize, StateIndex)>,
    next_channel: usize,
    running: Vec<Running>,
    /// Every id ever used.
    used: Vec<(Direction, RequestId)>,
    /// The ids for which one more reply is not a violation, and whether that is because of a cancel.
    owed: Vec<(Direction, RequestId, bool)>,
    /// Every token ever used.
    tokens: Vec<(Direction, RequestId)>,
    /// The token and the id of its newest request.
    holders: Vec<(Direction, RequestId, RequestId)>,
    pub(super) granted: Vec<(Side, GateIndex)>,
    pub(super) closed: bool,
}

impl Model {
    pub(super) fn new(protocol: Protocol, side: Side) -> Model {
        let mut model = Model {
            protocol: Rc::new(protocol),
            side,
            channels: vec![],
            next_channel: 0,
            running: vec![],
            used: vec![],
            owed: vec![],
            tokens: vec![],
            holders: vec![],
            granted: vec![],
            closed: false,
        };
        model.channels = model.parts(StateIndex(0));
        model
    }

    /// The channels that a state stands for; a state other than a fork has no number yet.
    fn parts(&mut self, state: StateIndex) -> Vec<(usize, StateIndex)> {
        let table = self.state(state).clone();
        if table.kind == StateKind::Fork {
            return table.parts.iter().flat_map(|part| self.parts(*part)).collect();
        }
        self.next_channel += 1;
        vec![(self.next_channel, state)]
    }

    fn state(&self, state: StateIndex) -> &State {
        let role = match self.side {
            Side::Client => self.protocol.client.as_ref(),
            Side::Server => self.protocol.server.as_ref(),
        };
        &role.unwrap().states[usize::try_from(state.0).unwrap()]
    }

    fn message(&self, message: MessageIndex) -> &Message {
        &self.protocol.messages[usize::from(message.0)]
    }

    fn edge(&self, state: StateIndex, direction: Direction, message: MessageIndex) -> Option<Edge> {
        let edges = self.state(state).edges.iter();
        edges.copied().find(|edge| edge.direction == direction && edge.message == message)
    }

    /// The first channel that takes a message, of one channel or of all.
    fn taker(
        &self,
        only: Option<usize>,
        direction: Direction,
        message: MessageIndex,
    ) -> Option<(usize, Action)> {
        let channels = self.channels.iter().filter(|(number, _)| only.is_none_or(|only| only == *number));
        let mut taking = channels.filter_map(|(number, state)| {
            self.edge(*state, direction, message).map(|edge| (*number, edge.action))
        });
        taking.next()
    }

    fn follow(&mut self, channel: usize, action: Action) -> StepKind {
        match action {
            Action::Spawn(state) => StepKind::Spawned { state, within: None },
            Action::Step(to) => {
                let place = self.channels.iter().position(|(number, _)| *number == channel).unwrap();
                let from = self.channels[place].1;
                if self.state(to).kind == StateKind::Fork {
                    let parts = self.parts(to);
                    self.channels.splice(place..=place, parts);
                } else {
                    self.channels[place].1 = to;
                }
                StepKind::Linear { from, to }
            }
        }
    }

    fn sender(&self, direction: Direction) -> Side {
        if direction == Direction::Send { self.side } else { self.side.other() }
    }

    fn gates(&self, direction: Direction, message: MessageIndex, applies: bool) -> Result<(), ViolationKind> {
        for requirement in self.message(message).requires.iter() {
            let holder = match requirement.holder {
                Holder::Side(side) => side,
                Holder::Sender => self.sender(direction),
                Holder::Receiver => self.sender(direction).other(),
            };
            let asked = match (requirement.condition.is_some(), requirement.unless) {
                (false, _) => true,
                (true, false) => applies,
                (true, true) => !applies,
            };
            if asked && !self.granted.contains(&(holder, requirement.gate)) {
                let capability = self.protocol.gates[usize::from(requirement.gate.0)].path.join(".");
                return Err(ViolationKind::NotNegotiated { holder, capability });
            }
        }
        Ok(())
    }

    fn running(&self, asker: Direction, id: &RequestId) -> Option<usize> {
        self.running.iter().position(|running| running.asker == asker && running.id == *id)
    }

    fn owe(&mut self, asker: Direction, id: &RequestId, cancelled: bool) {
        if self.protocol.reuses_ids {
            for owed in self.owed.iter_mut().filter(|owed| (owed.0, &owed.1) == (asker, id)) {
                owed.2 = cancelled;
            }
        } else {
            self.owed.retain(|(direction, owed, _)| (*direction, owed) != (asker, id));
        }
        self.owed.push((asker, id.clone(), cancelled));
    }

    fn end(&mut self, place: usize) {
        let over = self.running.remove(place);
        self.holders.retain(|(asker, _, id)| (*asker, id) != (over.asker, &over.id));
    }

    fn is_end(&self, state: StateIndex) -> bool {
        self.state(state).kind == StateKind::End
    }

    pub(super) fn request(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        token: Option<&RequestId>,
        applies: bool,
    ) -> Outcome {
        if self.closed {
            return Ok(StepKind::Closed);
        }
        let judged = self.judge_request(direction, message, id, applies).and_then(|taker| {
            let holds = |(asker, held, id): &(Direction, RequestId, RequestId)| {
                (*asker, Some(held)) == (direction, token)
                    && self.running.iter().any(|run| run.asker == direction && run.id == *id)
            };
            match self.holders.iter().find(|holder| holds(holder)) {
                Some((_, token, _)) => Err(ViolationKind::TokenInUse { token: token.clone() }),
                None => Ok(taker),
            }
        });
        if let Some(token) = token {
            self.tokens.push((direction, token.clone()));
        }
        self.used.push((direction, id.clone()));
        let (channel, action) = match judged {
            Ok(taker) => taker,
            Err(kind) => {
                self.owe(direction, id, false);
                return Err(kind);
            }
        };
        let place = match action {
            Action::Step(_) => Where::Linear(channel),
            Action::Spawn(state) => Where::SubSession(state),
        };
        let ends = matches!(action, Action::Spawn(state) if self.is_end(state));
        let (answered, cancelled) = (false, false);
        self.running.push(Running { asker: direction, id: id.clone(), message, place, answered, cancelled });
        if let Some(token) = token {
            self.holders.retain(|(asker, held, _)| (*asker, held) != (direction, token));
            self.holders.push((direction, token.clone(), id.clone()));
        }
        if ends {
            self.end(self.running.len() - 1);
        }
        Ok(self.follow(channel, action))
    }

    fn judge_request(
        &self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        applies: bool,
    ) -> Result<(usize, Action), ViolationKind> {
        let running = self.running(direction, id).map(|place| self.running[place].message);
        let is_used = !self.protocol.reuses_ids && self.used.contains(&(direction, id.clone()));
        if is_used || running.is_some() {
            let running = running.map(|message| self.message(message).method.clone());
            return Err(ViolationKind::DuplicateId { running });
        }
        let taker = self.taker(None, direction, message).ok_or(ViolationKind::NotPermitted)?;
        self.gates(direction, message, applies)?;
        Ok(taker)
    }

    pub(super) fn notification(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        about: About<'_>,
        applies: bool,
    ) -> Outcome {
        if self.closed {
            return Ok(StepKind::Closed);
        }
        let table = self.message(message).clone();
        match about {
            About::Request(id) if table.cancels.is_some() => self.cancel(direction, message, id, applies),
            About::Token(token) if table.reports.is_some() && self.is_report(direction, message, token) => {
                self.report(direction, message, token, applies)
            }
            _ => {
                let names_a_request = table.cancels.is_some() || table.reports.is_some();
                let nothing = match about {
                    About::Token(token) if table.reports.is_some() => {
                        ViolationKind::UnknownToken { token: token.clone() }
                    }
                    _ if names_a_request => ViolationKind::RequestUnnamed,
                    _ => ViolationKind::NotPermitted,
                };
                let (channel, action) = self.taker(None, direction, message).ok_or(nothing)?;
                self.gates(direction, message, applies)?;
                Ok(self.follow(channel, action))
            }
        }
    }

    /// The id of a running request that was cancelled.
    pub(super) fn cancelled(&self, asker: Direction) -> Option<RequestId> {
        let mut running = self.running.iter().filter(|running| running.asker == asker);
        running.find(|running| running.cancelled && !running.answered).map(|running| running.id.clone())
    }

    fn cancel(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        id: &RequestId,
        applies: bool,
    ) -> Outcome {
        let place = match self.running(direction, id) {
            Some(place) if !self.running[place].answered => place,
            // What it has opened goes on.
            Some(place) if !self.message(self.running[place].message).cancellable => place,
            _ if self.used.contains(&(direction, id.clone())) => return Ok(StepKind::Swallowed),
            _ => {
                let theirs =
                    self.running(direction.flip(), id).is_some_and(|place| !self.running[place].answered);
                return Err(if theirs { ViolationKind::NotYours } else { ViolationKind::NotRunning });
            }
        };
        let running = self.running[place].clone();
        let request = self.message(running.message).clone();
        if !request.cancellable {
            return Err(ViolationKind::NotCancellable { request: request.method });
        }
        if self.message(message).cancels.as_ref().unwrap().reply_error.is_some() {
            self.gates(direction, message, applies)?;
            if std::mem::replace(&mut self.running[place].cancelled, true) {
                return Err(ViolationKind::CancelledTwice { request: request.method });
            }
            return Ok(StepKind::Reported);
        }
        let kind = match running.place {
            Where::SubSession(_) => {
                self.gates(direction, message, applies)?;
                StepKind::SubSession { ended: true }
            }
            Where::Linear(channel) => match self.taker(Some(channel), direction, message) {
                Some((channel, action @ Action::Step(_))) => {
                    self.gates(direction, message, applies)?;
                    self.follow(channel, action)
                }
                _ => return Err(ViolationKind::NotPermitted),
            },
        };
        self.end(place);
        self.owe(direction, id, true);
        Ok(kind)
    }

    fn report(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        token: &RequestId,
        applies: bool,
    ) -> Outcome {
        let asker = direction.flip();
        let held = self.holders.iter().find(|(holder, held, _)| (*holder, held) == (asker, token));
        if held.cloned().and_then(|(_, _, id)| self.running(asker, &id)).is_none() {
            let known = self.tokens.contains(&(asker, token.clone()));
            return if known {
                Ok(StepKind::Swallowed)
            } else {
                Err(ViolationKind::UnknownToken { token: token.clone() })
            };
        }
        self.gates(direction, message, applies)?;
        Ok(StepKind::Reported)
    }

    /// Whether the token is that of a request, or the message has no other meaning.
    fn is_report(&self, direction: Direction, message: MessageIndex, token: &RequestId) -> bool {
        let asker = direction.flip();
        let held = self.holders.iter().any(|(holder, held, _)| (*holder, held) == (asker, token));
        let states = &self.protocol.role(self.side).unwrap().states;
        let alone = states.iter().flat_map(|state| state.edges.iter());
        let alone = alone.map(|edge| (edge.direction, edge.message)).any(|edge| edge == (direction, message));
        held || self.tokens.contains(&(asker, token.clone())) || !alone
    }

    pub(super) fn awaiting(&self, direction: Direction, id: &RequestId) -> Awaiting {
        let asker = direction.flip();
        if let Some(place) = self.running(asker, id).filter(|place| !self.running[*place].answered) {
            return Awaiting::Request(self.running[place].message);
        }
        match self.owed.iter().find(|(owed, other, _)| (*owed, other) == (asker, id)) {
            Some((_, _, true)) => Awaiting::Retired,
            Some((_, _, false)) => Awaiting::Refused,
            None if self.used.contains(&(asker, id.clone())) => Awaiting::Completed,
            None => Awaiting::Unknown,
        }
    }

    pub(super) fn reply(&mut self, direction: Direction, id: &RequestId, message: MessageIndex) -> Outcome {
        if self.closed {
            return Ok(StepKind::Closed);
        }
        let asker = direction.flip();
        match self.awaiting(direction, id) {
            Awaiting::Unknown => Err(ViolationKind::UnknownId),
            Awaiting::Completed => Err(ViolationKind::SecondReply),
            Awaiting::Retired | Awaiting::Refused => {
                let place = self.owed.iter().position(|(owed, other, _)| (*owed, other) == (asker, id));
                self.owed.remove(place.unwrap());
                Ok(StepKind::Swallowed)
            }
            Awaiting::Request(request) => {
                let refusal = match self.message(message).kind {
                    Kind::Reply { request: answered } if answered == request => false,
                    Kind::Refusal { request: answered } if answered == request => true,
                    _ => {
                        let request = self.message(request).method.clone();
                        return Err(ViolationKind::WrongReply { request });
                    }
                };
                let place = self.running(asker, id).unwrap();
                match self.running[place].place.clone() {
                    Where::Linear(channel) => {
                        let taker = self.taker(Some(channel), direction, message);
                        let (channel, action) = taker.ok_or(ViolationKind::NotPermitted)?;
                        self.end(place);
                        Ok(self.follow(channel, action))
                    }
                    Where::SubSession(_) if refusal => {
                        self.end(place);
                        Ok(StepKind::SubSession { ended: true })
                    }
                    Where::SubSession(state) => {
                        let edge = self.edge(state, direction, message).ok_or(ViolationKind::NotPermitted)?;
                        let ended = self.is_end(edge.action.target());
                        self.running[place].place = Where::SubSession(edge.action.target());
                        self.running[place].answered = true;
                        if ended {
                            self.end(place);
                        }
                        Ok(StepKind::SubSession { ended })
                    }
                }
            }
        }
    }

    /// A message is permitted if there is a way to send it that is accepted and not dropped: tried out.
    pub(super) fn permitted(&self, direction: Direction) -> Vec<MessageIndex> {
        let fresh = RequestId::from("fresh");
        let taken = |outcome: Outcome| outcome.is_ok_and(|kind| !kind.is_dropped());
        let all = (0..self.protocol.messages.len()).map(|index| MessageIndex(u16::try_from(index).unwrap()));
        all.filter(|message| match self.message(*message).kind {
            Kind::Request => taken(self.clone().request(direction, *message, &fresh, None, false)),
            Kind::Notification => {
                let ids = self.used.iter().map(|(_, id)| About::Request(id));
                let tokens = self.tokens.iter().map(|(_, token)| About::Token(token));
                let mut about = ids.chain(tokens).chain([About::Nothing]);
                about.any(|about| taken(self.clone().notification(direction, *message, about, false)))
            }
            Kind::Reply { .. } | Kind::Refusal { .. } => {
                let mut ids = self.running.iter().map(|running| &running.id);
                ids.any(|id| taken(self.clone().reply(direction, id, *message)))
            }
        })
        .collect()
    }

    pub(super) fn states(&self) -> Vec<StateIndex> {
        self.channels.iter().map(|(_, state)| *state).collect()
    }

    pub(super) fn count(&self, asker: Direction) -> usize {
        self.running.iter().filter(|running| running.asker == asker && !running.answered).count()
    }

    /// In the words of the language reference: every linear channel that can reach `End` is at it or offers it, and at
    /// least one such channel exists or no linear channel does.
    pub(super) fn may_close(&self, own: bool) -> bool {
        let states = self.channels.iter().map(|(_, state)| self.state(*state));
        let linear: Vec<&State> = states.filter(|state| state.kind != StateKind::Replicated).collect();
        let can: Vec<&&State> = linear.iter().filter(|state| state.reaches_end).collect();
        let offers = |state: &State| if own { state.may_close } else { state.peer_may_close };
        can.iter().all(|state| state.kind == StateKind::End || offers(state))
            && (!can.is_empty() || linear.is_empty())
    }

    /// Ids and tokens worth trying.
    pub(super) fn ids(&self, asker: Direction) -> Vec<RequestId> {
        self.used.iter().filter(|(direction, _)| *direction == asker).map(|(_, id)| id.clone()).collect()
    }

    pub(super) fn held(&self) -> Vec<RequestId> {
        self.tokens.iter().map(|(_, token)| token.clone()).collect()
    }
}

/// The payload fits every condition, or none.
pub(super) fn applying(applies: bool) -> impl Fn(&Condition) -> bool {
    move |_| applies
}
