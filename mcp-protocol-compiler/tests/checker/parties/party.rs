//! One party: what it may send, and how each message changes its state.

use std::collections::VecDeque;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{
    Direction, GateIndex, Holder, Kind, MessageIndex, Protocol, Requirement, Side,
};

use super::{Choice, Copied, Item, Owed, Party};
use crate::during::permits;
use crate::event::Event;
use crate::reading::{Asked, Move, Program, way};

impl Party<'_> {
    fn direction(&self, from: Side) -> Direction {
        if from == self.side { Direction::Send } else { Direction::Receive }
    }

    /// Whether it may send a message in the session or in a sub-session, with a payload that fits the conditions of gates
    /// or with one that does not.
    pub(super) fn open(
        &self,
        protocol: &Protocol,
        message: MessageIndex,
        urgent: bool,
        within: Option<usize>,
        reported: Option<&RequestId>,
    ) -> bool {
        let is_announced = |required: &&Requirement| protocol.gate(required.gate).unwrap().during.is_none();
        let mut requires = protocol.message(message).unwrap().requires.iter().filter(is_announced);
        let running = self.running().filter_map(|id| self.announced.get(&id));
        let running: Vec<&Event> = running.collect();
        let around: Vec<&Event> = match reported {
            Some(id) => self.announced.get(id).into_iter().collect(),
            None => self.openers_around(within).collect(),
        };
        permits(self.reading.resolution(), message, running.into_iter(), &around)
            && requires.all(|required| {
                let holder = match required.holder {
                    Holder::Side(side) => side,
                    Holder::Sender => self.side,
                    Holder::Receiver => self.side.other(),
                };
                let granted = match protocol.announces_in_each_request(holder) {
                    // Its own requests announce what they need; a notification has none to do that.
                    true if holder == self.side => {
                        protocol.message(message).is_some_and(|table| table.kind != Kind::Notification)
                    }
                    true => match reported {
                        // A report is permitted by what its own request announces.
                        Some(id) => {
                            self.announced.get(id).is_some_and(|asked| asked.grants.contains(&required.gate))
                        }
                        None => self.is_announced(required.gate, within),
                    },
                    false => self.granted.has(holder, required.gate),
                };
                required.condition.is_some() && urgent == required.unless || granted
            })
    }

    /// The requests of the other side that go on.
    fn running(&self) -> impl Iterator<Item = RequestId> {
        let going_on = self.sub_sessions.values().filter(|copied| copied.program.is_some());
        let theirs = going_on.filter_map(|copied| copied.opener.as_ref());
        let theirs = theirs.filter(|(side, ..)| *side != self.side).map(|(_, id, _)| id.clone());
        theirs.chain(self.owed.iter().map(|owed| owed.id.clone()))
    }

    /// Whether the request announces a gate that opened a sub-session, or else one that goes on.
    fn is_announced(&self, gate: GateIndex, within: Option<usize>) -> bool {
        let announces = |asked: &Event| asked.grants.contains(&gate);
        match self.openers_around(within).next() {
            Some(asked) => announces(asked),
            None => self.running().any(|id| self.announced.get(&id).is_some_and(announces)),
        }
    }

    /// The requests of the other side that opened a sub-session and those around it, the innermost first.
    fn openers_around(&self, within: Option<usize>) -> impl Iterator<Item = &Event> {
        let around = std::iter::successors(within, |number| self.sub_sessions[number].outer);
        let openers = around.filter_map(|number| self.sub_sessions[&number].opener.as_ref());
        let theirs = openers.filter(|(side, ..)| *side != self.side);
        theirs.filter_map(|(_, id, _)| self.announced.get(id))
    }

    /// Remembers which body each message opens here.
    pub(super) fn note_offers(&mut self) {
        let inner = self.sub_sessions.values().filter_map(|copied| copied.program.as_ref());
        let openers = inner.chain([&self.program]).flat_map(|program| self.reading.openers(program));
        let openers: Vec<_> = openers.collect();
        self.offered.extend(openers.into_iter().map(|(body, step)| ((step.direction, step.message), body)));
    }

    /// All that it may send now.
    pub(super) fn choices(&self, protocol: &Protocol, more_sub_sessions: bool) -> Vec<Choice> {
        let mut choices = Vec::new();
        let may_send = |message: MessageIndex, reported: Option<&RequestId>| {
            [false, true].into_iter().any(|urgent| self.open(protocol, message, urgent, None, reported))
        };
        let cancels = protocol.indexed().find(|(_, message)| message.cancels.is_some());
        let cancels = cancels.filter(|(cancel, _)| may_send(*cancel, None));
        let may_within = |step: &Move, within: Option<usize>| {
            step.direction == Direction::Send
                && (self.open(protocol, step.message, false, within, None)
                    || self.open(protocol, step.message, true, within, None))
        };
        let may = |step: &Move| may_within(step, None);
        let running = cancels.filter(|(cancel, _)| reply_follows(protocol, *cancel));
        let cancels = cancels.filter(|_| running.is_none());
        let request = |request: MessageIndex| protocol.message(request).unwrap();
        let cancellable = |message: MessageIndex| request(message).cancellable;
        let again = |asked: &Asked| {
            asked.direction == Direction::Send
                && cancellable(asked.request)
                && !self.cancelled.contains(&asked.id)
        };
        for (place, thread) in self.program.threads.iter().enumerate() {
            let moves = self.reading.moves(thread).into_iter().filter(may);
            choices.extend(moves.map(|step| Choice::Main(place, step)));
            if let Some((cancel, _)) = running {
                let ids = thread.asked.iter().filter(|asked| again(asked)).map(|asked| asked.id.clone());
                choices.extend(ids.map(|id| Choice::CancelRunning(None, cancel, id)));
            }
            for asked in thread.asked.iter().filter(|asked| asked.direction == Direction::Send) {
                if let (Some((cancel, _)), true) = (cancels, cancellable(asked.request)) {
                    choices.push(Choice::CancelMain(cancel, asked.id.clone()));
                }
            }
        }
        if more_sub_sessions {
            let openers = self.reading.openers(&self.program).into_iter();
            let openers = openers.filter(|(_, step)| may(step));
            choices.extend(openers.map(|(body, step)| Choice::Open(None, body, step)));
        }
        for (number, sub_session) in &self.sub_sessions {
            let Some(program) = &sub_session.program else { continue };
            if more_sub_sessions && !self.program.suspended[way(Direction::Send)] {
                let may = |step: &Move| may_within(step, Some(*number));
                let openers = self.reading.openers(program).into_iter().filter(|(_, step)| may(step));
                choices.extend(openers.map(|(body, step)| Choice::Open(Some(*number), body, step)));
            }
            for (place, thread) in program.threads.iter().enumerate() {
                let awake = |step: &Move| {
                    let kind = protocol.message(step.message).unwrap().kind;
                    !self.program.suspended[way(Direction::Send)]
                        || matches!(kind, Kind::Reply { .. } | Kind::Refusal { .. })
                };
                let may = |step: &Move| may_within(step, Some(*number));
                let moves = self.reading.moves(thread).into_iter().filter(may).filter(awake);
                choices.extend(moves.map(|step| Choice::SubSession(*number, place, step)));
                if let Some((cancel, _)) = running {
                    let ids = thread.asked.iter().filter(|asked| again(asked)).map(|asked| asked.id.clone());
                    choices.extend(ids.map(|id| Choice::CancelRunning(Some(*number), cancel, id)));
                }
                for asked in thread.asked.iter().filter(|asked| asked.direction == Direction::Send) {
                    let opener = sub_session
                        .opener
                        .as_ref()
                        .is_some_and(|(side, id, _)| *side == self.side && *id == asked.id);
                    if let (Some((cancel, _)), true, false) = (cancels, cancellable(asked.request), opener) {
                        choices.push(Choice::CancelSubSession(*number, cancel, asked.id.clone()));
                    }
                }
            }
            if let (Some((cancel, _)), Some((side, id, opening))) = (cancels, &sub_session.opener)
                && *side == self.side
                && cancellable(*opening)
                && (!request(*opening).until_reply || awaited(program, id))
            {
                choices.push(Choice::EndSubSession(*number, cancel, id.clone()));
            }
        }
        for (report, _) in protocol.indexed().filter(|(_, message)| message.reports.is_some()) {
            let wanted = self.owed.iter().filter(|owed| may_send(report, Some(&owed.id)));
            let tokens = wanted.filter_map(|owed| owed.token.clone());
            choices.extend(tokens.map(|token| Choice::Report(report, token)));
        }
        let dead = self.dead.iter().cloned();
        choices.extend(dead.map(|(number, id, message)| Choice::Dead(number, id, message)));
        choices
    }

    /// Takes a message that has arrived.
    pub(super) fn take(&mut self, protocol: &Protocol, item: &Item) {
        let Item { event, sub_session, outer, late } = item;
        let direction = self.direction(event.from);
        self.granted.note(protocol, event);
        let table = protocol.message(event.message).unwrap();
        // A report moves nothing; one that stands alone is a step like any other.
        if table.reports.is_some() && sub_session.is_none() {
            return;
        }
        if reply_follows(protocol, event.message) {
            return;
        }
        if table.cancels.is_some() {
            let id = event.about.as_ref().unwrap();
            self.owed.retain(|owed| owed.id != *id);
            match sub_session {
                None => {
                    if let Some(after) = self.reading.cancel(&self.program, direction, id) {
                        self.program = after;
                        self.note_offers();
                    }
                }
                Some(number) => {
                    let Some(copied) = self.sub_sessions.get_mut(number) else { return };
                    let opener = |(side, opened, _): &(Side, RequestId, MessageIndex)| {
                        *side == event.from && opened == id
                    };
                    if copied.opener.as_ref().is_some_and(opener) {
                        self.finish(*number);
                    } else if let Some(program) = &copied.program
                        && let Some(after) = self.reading.cancel(program, direction, id)
                    {
                        copied.program = Some(after);
                        self.settle(*number);
                    }
                }
            }
            return;
        }
        if table.kind == Kind::Request {
            let (id, token) = (event.id.clone().unwrap(), event.token.clone());
            self.announced.insert(id.clone(), event.clone());
            self.owed.push(Owed { id, token, sub_session: *sub_session });
        }
        match sub_session {
            None => {
                let id = event.id.as_ref();
                // What crossed something else on the wire and moves nothing is read and done with.
                if let Some(after) = self.reading.step(&self.program, direction, event.message, id, false) {
                    self.program = after;
                    self.note_offers();
                } else if let Some(id) = id {
                    // What is late does not run.
                    self.announced.remove(id);
                }
            }
            Some(number) => self.take_in_sub_session(protocol, (*number, *outer), event, direction, *late),
        }
    }

    /// Whether a message would open a sub-session, and its endpoint is where none can be opened: it has crossed
    /// something. What waits there has led it on already.
    pub(super) fn finds_late(&self, protocol: &Protocol, item: &Item, waiting: &VecDeque<Item>) -> bool {
        let (event, direction) = (&item.event, self.direction(item.event.from));
        let opens = item.sub_session.is_some_and(|number| {
            !self.sub_sessions.contains_key(&number)
                && waiting.iter().all(|other| other.sub_session != Some(number))
        });
        let kind = protocol.message(event.message).unwrap().kind;
        if !opens || !matches!(kind, Kind::Request | Kind::Notification) {
            return false;
        }
        let program = match item.outer {
            None => self.led_on(protocol, self.program.clone(), None, direction, waiting),
            Some(outer) => match self.sub_session_at_endpoint(protocol, outer, direction, waiting) {
                Some(program) => program,
                // What ends a sub-session ends what notifications have opened within it, too.
                None => return true,
            },
        };
        let openers = self.reading.openers(&program);
        let found = |(_, step): &(usize, Move)| (step.direction, step.message) == (direction, event.message);
        // Of what a notification has opened its sender hears nothing, so it is opened all the same.
        let body = self.offered.get(&(direction, event.message));
        let goes_on = body.is_none_or(|body| self.reading.is_keyed(*body));
        // What opens an instance of its own behind a gate that has closed is dropped.
        let needed = protocol.message(event.message).unwrap().requires.iter();
        let needed = needed.filter(|required| protocol.gate(required.gate).unwrap().during.is_none());
        let mut needed = needed.filter(|required| match required.holder {
            Holder::Side(side) => side == self.side,
            Holder::Sender => false,
            Holder::Receiver => true,
        });
        let is_behind_gate = !protocol.announces_in_each_request(self.side)
            && needed.any(|required| {
                (required.condition.is_none() || event.urgent != required.unless)
                    && !self.granted.has(self.side, required.gate)
            });
        if is_behind_gate && !goes_on {
            return true;
        }
        !openers.iter().any(found) && (kind == Kind::Request || !goes_on)
    }

    /// A program after what waits for it at its endpoint.
    fn led_on(
        &self,
        protocol: &Protocol,
        program: Program,
        sub_session: Option<usize>,
        direction: Direction,
        waiting: &VecDeque<Item>,
    ) -> Program {
        let on_the_way = waiting.iter().filter(|other| other.sub_session == sub_session);
        on_the_way.fold(program, |known, other| {
            let next = match &other.event.about {
                Some(_) if reply_follows(protocol, other.event.message) => None,
                Some(id) => self.reading.cancel(&known, direction, id),
                None => {
                    let id = other.event.id.as_ref();
                    let opens = sub_session.is_some_and(|number| !self.sub_sessions.contains_key(&number))
                        && known.threads.iter().all(|thread| thread.asked.is_empty());
                    self.reading.step(&known, direction, other.event.message, id, opens)
                }
            };
            next.unwrap_or(known)
        })
    }

    /// A sub-session after what waits for it at its endpoint; nothing if it is over then.
    fn sub_session_at_endpoint(
        &self,
        protocol: &Protocol,
        number: usize,
        direction: Direction,
        waiting: &VecDeque<Item>,
    ) -> Option<Program> {
        let on_the_way = || waiting.iter().filter(|other| other.sub_session == Some(number));
        let (program, outer, opener) = match self.sub_sessions.get(&number) {
            Some(copied) => {
                let opener = copied.opener.as_ref().map(|(side, id, _)| (*side, id.clone()));
                (copied.program.clone()?, copied.outer, opener)
            }
            None => {
                let first = on_the_way().next()?;
                let body = self.offered.get(&(direction, first.event.message)).filter(|_| !first.late)?;
                let opener = first.event.id.clone().map(|id| (first.event.from, id));
                (self.reading.sub_session(*body), first.outer, opener)
            }
        };
        if let Some(outer) = outer {
            self.sub_session_at_endpoint(protocol, outer, direction, waiting)?;
        }
        let ends = |other: &Item| {
            let about = other.event.about.clone().map(|id| (other.event.from, id));
            about.is_some() && about == opener && !reply_follows(protocol, other.event.message)
        };
        if on_the_way().any(ends) {
            return None;
        }
        Some(self.led_on(protocol, program, Some(number), direction, waiting))
            .filter(|program| !self.reading.is_over(program))
    }

    fn take_in_sub_session(
        &mut self,
        protocol: &Protocol,
        (number, outer): (usize, Option<usize>),
        event: &Event,
        direction: Direction,
        late: bool,
    ) {
        let id = event.id.as_ref();
        let opens = !self.sub_sessions.contains_key(&number);
        if opens {
            // The branch of a choice that lets sub-sessions start may have been left meanwhile: the message crossed
            // that.
            let body = self.offered.get(&(direction, event.message)).copied().filter(|_| !late);
            let keyed = body.is_some_and(|body| self.reading.is_keyed(body));
            // What ends a sub-session ends those within it.
            let is_over = |outer: usize| self.sub_sessions[&outer].program.is_none();
            let dead = keyed && outer.is_some_and(is_over);
            let program = body.filter(|_| !dead).map(|body| self.reading.sub_session(body));
            let opener = id.map(|id| (event.from, id.clone(), event.message));
            self.sub_sessions.insert(number, Copied { program, opener, outer, keyed });
        }
        let copied = self.sub_sessions.get_mut(&number).unwrap();
        match &copied.program {
            None => {
                if let (Some(id), Kind::Request) = (id, protocol.message(event.message).unwrap().kind) {
                    self.owed.retain(|owed| owed.id != *id);
                    self.dead.push((number, id.clone(), event.message));
                }
            }
            Some(program) => {
                if let Some(after) = self.reading.step(program, direction, event.message, id, opens) {
                    copied.program = Some(after);
                }
                self.settle(number);
            }
        }
    }

    /// Notices that a sub-session has come to its end, or to where others can be opened.
    fn settle(&mut self, number: usize) {
        let over = |copied: &Copied| {
            copied.program.as_ref().is_some_and(|sub_session| self.reading.is_over(sub_session))
        };
        if self.sub_sessions.get(&number).is_some_and(over) {
            self.finish(number);
        }
        self.note_offers();
    }

    fn finish(&mut self, number: usize) {
        self.sub_sessions.get_mut(&number).unwrap().program = None;
        self.owed.retain(|owed| owed.sub_session != Some(number));
        let within = self
            .sub_sessions
            .iter()
            .filter(|(_, copied)| copied.outer == Some(number) && copied.keyed && copied.program.is_some());
        let within: Vec<usize> = within.map(|(number, _)| *number).collect();
        within.into_iter().for_each(|inner| self.finish(inner));
    }

    /// Whether this role may close, and whether its peer may.
    pub(super) fn closing(&self) -> [bool; 2] {
        let threads: Vec<_> =
            self.program.threads.iter().map(|thread| self.reading.closing(thread)).collect();
        [true, false].map(|own| {
            let mut able = threads.iter().filter(|thread| thread.reaches).peekable();
            match able.peek() {
                None => threads.is_empty(),
                Some(_) => able.all(|thread| thread.over || if own { thread.own } else { thread.peer }),
            }
        })
    }
}

/// Whether a notification cancels requests that still get their reply.
fn reply_follows(protocol: &Protocol, message: MessageIndex) -> bool {
    let cancels = protocol.message(message).unwrap().cancels.as_ref();
    cancels.is_some_and(|cancels| cancels.reply_error.is_some())
}

/// Whether a program waits for the reply to a request.
fn awaited(program: &Program, id: &RequestId) -> bool {
    let mut asked = program.threads.iter().flat_map(|thread| &thread.asked);
    asked.any(|asked| asked.direction == Direction::Send && asked.id == *id)
}

impl Party<'_> {
    /// Does what sending something does to the sender.
    pub(super) fn say(
        &mut self,
        protocol: &Protocol,
        choice: Choice,
        event: &Event,
        sub_session: Option<usize>,
    ) {
        self.granted.note(protocol, event);
        if let Some(id) = &event.id
            && matches!(
                protocol.message(event.message).unwrap().kind,
                Kind::Reply { .. } | Kind::Refusal { .. }
            )
        {
            self.owed.retain(|owed| owed.id != *id);
        }
        let id = event.id.as_ref();
        match choice {
            Choice::Main(place, step) => {
                self.program = self.reading.take(&self.program, place, &step, id, false);
                self.note_offers();
            }
            Choice::Open(outer, body, step) => {
                let opener = id.map(|id| (self.side, id.clone(), event.message));
                let program = self.reading.sub_session(body);
                let program = self.reading.step(&program, Direction::Send, step.message, id, true).unwrap();
                let number = sub_session.unwrap();
                let (program, keyed) = (Some(program), self.reading.is_keyed(body));
                self.sub_sessions.insert(number, Copied { program, opener, outer, keyed });
                self.settle(number);
            }
            Choice::SubSession(number, place, step) => {
                let copied = self.sub_sessions.get_mut(&number).unwrap();
                let program = copied.program.as_ref().unwrap();
                copied.program = Some(self.reading.take(program, place, &step, id, false));
                self.settle(number);
            }
            Choice::CancelMain(_, id) => {
                self.program = self.reading.cancel(&self.program, Direction::Send, &id).unwrap();
                self.note_offers();
            }
            Choice::CancelSubSession(number, _, id) => {
                let copied = self.sub_sessions.get_mut(&number).unwrap();
                let program = copied.program.as_ref().unwrap();
                copied.program = Some(self.reading.cancel(program, Direction::Send, &id).unwrap());
                self.settle(number);
            }
            Choice::EndSubSession(number, ..) => self.finish(number),
            Choice::CancelRunning(_, _, id) => _ = self.cancelled.insert(id),
            Choice::Report(..) => {}
            Choice::Dead(_, id, _) => self.dead.retain(|(_, dead, _)| *dead != id),
        }
    }
}
