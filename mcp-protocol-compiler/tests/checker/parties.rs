//! Two programs talk: each follows its own role, over queues, and three observers write down what they see.
//!
//! In: the readings of both roles and a seed. Out: a [`Talk`]: the same messages as the client's endpoint, somebody in
//! the middle, and the server's endpoint see them. Refuses to ask any checker.
//!
//! On its way to the other program a message passes four places: it is sent (the sender's endpoint sees it), it is
//! under way, it is half-way (the one in the middle sees it), it is under way again, it is read (the receiver's
//! endpoint sees it), it waits, and the program takes it. Each direction keeps its order.

use std::collections::{BTreeMap, HashMap, VecDeque};

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{
    Direction, GateIndex, Holder, KeyIndex, Kind, MessageIndex, Protocol, Side,
};

use crate::event::Event;
use crate::random::Random;
use crate::reading::{Move, Program, Reading};

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    Client,
    Middle,
    Server,
}

/// The same session, as three observers see it.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    seen: [Vec<Event>; 3],
    /// Whether all that was sent was taken in the end, and what both programs then say of closing: each role's right,
    /// and its peer's, as its own type has it.
    pub(crate) ending: Option<[[bool; 2]; 2]>,
    /// The most copies that were alive at once.
    pub(crate) copies: usize,
}

impl Talk {
    pub(crate) fn seen(&self, seat: Seat) -> &[Event] {
        &self.seen[seat as usize]
    }
}

#[derive(Clone, Debug)]
struct Item {
    event: Event,
    copy: Option<usize>,
}

#[derive(Clone, Debug)]
struct Copied {
    /// `None` once it is over.
    program: Option<Program>,
    opener: Option<(Side, RequestId, MessageIndex)>,
}

#[derive(Clone, Debug)]
struct Owed {
    id: RequestId,
    token: Option<RequestId>,
    copy: Option<usize>,
}

struct Party<'a> {
    side: Side,
    reading: &'a Reading<'a>,
    program: Program,
    copies: BTreeMap<usize, Copied>,
    /// Requests of the other side that it still has to answer.
    owed: Vec<Owed>,
    /// Requests that came too late for their copy: the answer is an error.
    dead: Vec<(RequestId, MessageIndex)>,
    granted: HashMap<Side, Vec<GateIndex>>,
}

/// Something that a party may send.
enum Choice {
    Main(usize, Move),
    Open(usize, Move),
    Copy(usize, usize, Move),
    CancelMain(MessageIndex, RequestId),
    CancelCopy(usize, MessageIndex, RequestId),
    EndCopy(usize, MessageIndex, RequestId),
    Report(MessageIndex, RequestId),
    Dead(RequestId, MessageIndex),
}

struct Session<'a> {
    protocol: &'a Protocol,
    parties: [Party<'a>; 2],
    /// Towards each side, in three stages: to the middle, to the endpoint, to the program.
    ways: [[VecDeque<Item>; 3]; 2],
    talk: Talk,
    next_id: [i64; 2],
    next_copy: usize,
    next_value: i64,
    /// The values that a copy holds, and those that are free again.
    held: BTreeMap<usize, Vec<(KeyIndex, RequestId)>>,
    free: Vec<(KeyIndex, RequestId)>,
}

/// How many copies may be alive at once.
const COPIES: usize = 4;

/// Lets two programs talk for some steps.
pub(crate) fn talk(
    random: &mut Random,
    readings: [&Reading<'_>; 2],
    protocol: &Protocol,
    steps: usize,
) -> Talk {
    let party = |side: Side, reading| Party {
        side,
        reading,
        program: Reading::start(reading),
        copies: BTreeMap::new(),
        owed: Vec::new(),
        dead: Vec::new(),
        granted: HashMap::new(),
    };
    let mut session = Session {
        protocol,
        parties: [party(Side::Client, readings[0]), party(Side::Server, readings[1])],
        ways: Default::default(),
        talk: Talk::default(),
        // The ids of the two directions have nothing to do with one another, so they may be the same.
        next_id: [1, if random.percent(50) { 1 } else { 100 }],
        next_copy: 0,
        next_value: 0,
        held: BTreeMap::new(),
        free: Vec::new(),
    };
    let patience = random.below(60);
    for _ in 0..steps {
        if random.percent(patience) || !session.say(random) {
            session.pass(random);
        }
    }
    if random.percent(70) {
        while session.pass(random) {}
        session.talk.ending = Some([0, 1].map(|who| session.parties[who].closing()));
    }
    session.talk
}

impl Party<'_> {
    fn direction(&self, from: Side) -> Direction {
        if from == self.side { Direction::Send } else { Direction::Receive }
    }

    fn open(&self, protocol: &Protocol, message: MessageIndex) -> bool {
        protocol.message(message).unwrap().requires.iter().all(|required| {
            let holder = match required.holder {
                Holder::Side(side) => side,
                Holder::Sender => self.side,
                Holder::Receiver => self.side.other(),
            };
            self.granted.get(&holder).is_some_and(|granted| granted.contains(&required.gate))
        })
    }

    /// All that it may send now.
    fn choices(&self, protocol: &Protocol, more_copies: bool) -> Vec<Choice> {
        let mut choices = Vec::new();
        let cancels = protocol.indexed().find(|(_, message)| message.cancels.is_some());
        let reports = protocol.indexed().find(|(_, message)| message.reports.is_some());
        let may = |step: &Move| {
            step.direction == Direction::Send && self.open(protocol, step.message)
        };
        let cancellable = |request: MessageIndex| {
            protocol.message(request).is_some_and(|message| message.cancellable)
        };
        for (place, thread) in self.program.threads.iter().enumerate() {
            let moves = self.reading.moves(thread).into_iter().filter(may);
            choices.extend(moves.map(|step| Choice::Main(place, step)));
            for asked in thread.asked.iter().filter(|asked| asked.direction == Direction::Send) {
                if let (Some((cancel, _)), true) = (cancels, cancellable(asked.request)) {
                    choices.push(Choice::CancelMain(cancel, asked.id.clone()));
                }
            }
        }
        if more_copies {
            let openers = self.reading.openers(&self.program).into_iter();
            choices.extend(
                openers.filter(|(_, step)| may(step)).map(|(body, step)| Choice::Open(body, step)),
            );
        }
        for (number, copy) in &self.copies {
            let Some(program) = &copy.program else { continue };
            for (place, thread) in program.threads.iter().enumerate() {
                let moves = self.reading.moves(thread).into_iter().filter(may);
                choices.extend(moves.map(|step| Choice::Copy(*number, place, step)));
                for asked in thread.asked.iter().filter(|asked| asked.direction == Direction::Send) {
                    let opener = copy.opener.as_ref().is_some_and(|(side, id, _)| {
                        *side == self.side && *id == asked.id
                    });
                    if let (Some((cancel, _)), true, false) = (cancels, cancellable(asked.request), opener) {
                        choices.push(Choice::CancelCopy(*number, cancel, asked.id.clone()));
                    }
                }
            }
            if let (Some((cancel, _)), Some((side, id, request))) = (cancels, &copy.opener)
                && *side == self.side
                && cancellable(*request)
            {
                choices.push(Choice::EndCopy(*number, cancel, id.clone()));
            }
        }
        if let Some((report, _)) = reports.filter(|(report, _)| self.open(protocol, *report)) {
            let tokens = self.owed.iter().filter_map(|owed| owed.token.clone());
            choices.extend(tokens.map(|token| Choice::Report(report, token)));
        }
        choices.extend(self.dead.iter().map(|(id, message)| Choice::Dead(id.clone(), *message)));
        choices
    }

    /// Takes a message that has arrived.
    fn take(&mut self, protocol: &Protocol, item: &Item) {
        let Item { event, copy } = item;
        let direction = self.direction(event.from);
        announce(protocol, &mut self.granted, event);
        let table = protocol.message(event.message).unwrap();
        if table.reports.is_some() {
            return;
        }
        if table.cancels.is_some() {
            let id = event.about.as_ref().unwrap();
            self.owed.retain(|owed| owed.id != *id);
            match copy {
                None => {
                    if let Some(after) = self.reading.cancel(&self.program, direction, id) {
                        self.program = after;
                    }
                }
                Some(number) => {
                    let Some(copied) = self.copies.get_mut(number) else { return };
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
            self.owed.push(Owed { id, token, copy: *copy });
        }
        match copy {
            None => {
                let id = event.id.as_ref();
                // What crossed something else on the wire and moves nothing is read and done with.
                if let Some(after) = self.reading.step(&self.program, direction, event.message, id, false) {
                    self.program = after;
                }
            }
            Some(number) => self.take_in_copy(protocol, *number, event, direction),
        }
    }

    fn take_in_copy(&mut self, protocol: &Protocol, number: usize, event: &Event, direction: Direction) {
        let id = event.id.as_ref();
        let opens = !self.copies.contains_key(&number);
        if opens {
            // The branch of a choice that lets copies start may have been left meanwhile: the message crossed that.
            let body = self.reading.body(direction, event.message).unwrap();
            let program = Some(self.reading.copy(body));
            let opener = id.map(|id| (event.from, id.clone(), event.message));
            self.copies.insert(number, Copied { program, opener });
        }
        let copied = self.copies.get_mut(&number).unwrap();
        match &copied.program {
            None => {
                if let (Some(id), Kind::Request) = (id, protocol.message(event.message).unwrap().kind) {
                    self.owed.retain(|owed| owed.id != *id);
                    self.dead.push((id.clone(), event.message));
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

    /// Notices that a copy has come to its end.
    fn settle(&mut self, number: usize) {
        let over = |copied: &Copied| copied.program.as_ref().is_some_and(|copy| self.reading.is_over(copy));
        if self.copies.get(&number).is_some_and(over) {
            self.finish(number);
        }
    }

    fn finish(&mut self, number: usize) {
        self.copies.get_mut(&number).unwrap().program = None;
        self.owed.retain(|owed| owed.copy != Some(number));
    }

    /// Whether this role may close, and whether its peer may.
    fn closing(&self) -> [bool; 2] {
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

fn announce(protocol: &Protocol, granted: &mut HashMap<Side, Vec<GateIndex>>, event: &Event) {
    let here = |side: Side| {
        let mut fields = protocol.announcements.iter();
        fields.any(|announced| announced.side == side && announced.field.message == event.message)
    };
    if here(event.from) {
        granted.insert(event.from, event.grants.clone());
    }
}

impl Session<'_> {
    /// Some party sends something, if one can.
    fn say(&mut self, random: &mut Random) -> bool {
        let who = random.below(2);
        let alive = (0..self.next_copy).filter(|number| self.is_alive(*number)).count();
        self.talk.copies = self.talk.copies.max(alive);
        let party = &self.parties[who];
        let mut choices = party.choices(self.protocol, alive < COPIES);
        // Refusals and cancellations would otherwise be most of what is said.
        let rare = |choice: &Choice| match choice {
            Choice::CancelMain(..) | Choice::CancelCopy(..) | Choice::EndCopy(..) => true,
            Choice::Main(_, step) | Choice::Copy(_, _, step) => {
                matches!(party.reading.kind(step.message), Kind::Refusal { .. })
            }
            _ => false,
        };
        if random.percent(70) && choices.iter().any(|choice| !rare(choice)) {
            choices.retain(|choice| !rare(choice));
        }
        if choices.is_empty() {
            return false;
        }
        let choice = choices.swap_remove(random.below(choices.len()));
        let item = self.send(random, who, choice);
        self.talk.seen[[0, 2][who]].push(item.event.clone());
        self.ways[1 - who][0].push_back(item);
        true
    }

    /// Whether either side, or a message on its way, still has a copy.
    fn is_alive(&self, number: usize) -> bool {
        let lives = |party: &Party<'_>| {
            party.copies.get(&number).is_some_and(|copied| copied.program.is_some())
        };
        self.parties.iter().any(lives)
            || self.ways.iter().flatten().flatten().any(|item| item.copy == Some(number))
    }

    fn send(&mut self, random: &mut Random, who: usize, choice: Choice) -> Item {
        let side = self.parties[who].side;
        let (message, copy) = match &choice {
            Choice::Main(_, step) => (step.message, None),
            Choice::Open(_, step) => {
                self.next_copy += 1;
                (step.message, Some(self.next_copy - 1))
            }
            Choice::Copy(number, _, step) => (step.message, Some(*number)),
            Choice::CancelMain(message, _) | Choice::Report(message, _) => (*message, None),
            Choice::CancelCopy(number, message, _) | Choice::EndCopy(number, message, _) => {
                (*message, Some(*number))
            }
            Choice::Dead(_, request) => {
                let refusal = |(_, table): &(MessageIndex, &mcp_protocol_machine::protocol::Message)| {
                    table.kind == Kind::Refusal { request: *request }
                };
                (self.protocol.indexed().find(refusal).unwrap().0, None)
            }
        };
        let mut event = Event::new(side, message);
        let table = self.protocol.message(message).unwrap();
        match (&choice, table.kind) {
            (Choice::Main(_, step) | Choice::Copy(_, _, step), Kind::Reply { .. } | Kind::Refusal { .. }) => {
                event.id = step.id.clone();
            }
            (Choice::Dead(id, _), _) => event.id = Some(id.clone()),
            (
                Choice::CancelMain(_, id) | Choice::CancelCopy(_, _, id) | Choice::EndCopy(_, _, id),
                _,
            ) => event.about = Some(id.clone()),
            (Choice::Report(_, token), _) => event.token = Some(token.clone()),
            (_, Kind::Request) => {
                let number = self.next_id[who];
                self.next_id[who] += 1;
                let text = random.percent(20);
                event.id = Some(if text { number.to_string().into() } else { number.into() });
                if random.percent(40) {
                    self.next_value += 1;
                    event.token = Some(self.next_value.into());
                }
            }
            _ => {}
        }
        if !matches!(table.kind, Kind::Refusal { .. }) {
            for key in table.keys.iter().map(|key| key.key) {
                event.keys.push(self.value(random, copy, key));
            }
        }
        if self.protocol.announcements.iter().any(|announced| announced.field.message == message) {
            let gates = (0_u16..).take(self.protocol.gates.len()).map(GateIndex);
            event.grants = gates.filter(|_| random.percent(70)).collect();
        }
        self.parties[who].say(self.protocol, choice, &event, copy);
        Item { event, copy }
    }

    /// The value that a copy holds of a key, or one for it to hold.
    fn value(
        &mut self,
        random: &mut Random,
        copy: Option<usize>,
        key: KeyIndex,
    ) -> (KeyIndex, RequestId) {
        // What is over on both sides, with nothing on its way, may be used again.
        let over: Vec<usize> =
            self.held.keys().copied().filter(|number| Some(*number) != copy && !self.is_alive(*number)).collect();
        for number in over {
            self.free.extend(self.held.remove(&number).unwrap());
        }
        let held = copy.map(|copy| self.held.entry(copy).or_default());
        if let Some(known) = held.and_then(|held| held.iter().find(|(known, _)| *known == key)) {
            return known.clone();
        }
        let again = self.free.iter().position(|(known, _)| *known == key).filter(|_| random.percent(60));
        let value = match again {
            Some(place) => self.free.remove(place),
            None => {
                self.next_value += 1;
                (key, format!("v{}", self.next_value).into())
            }
        };
        if let Some(copy) = copy {
            self.held.entry(copy).or_default().push(value.clone());
        }
        value
    }

    /// Something goes on its way, if anything is.
    fn pass(&mut self, random: &mut Random) -> bool {
        let mut places = Vec::new();
        for who in [0, 1] {
            places.extend((0..3).filter(|stage| !self.ways[who][*stage].is_empty()).map(|stage| (who, stage)));
        }
        let Some((who, stage)) = random.one(&places).copied() else { return false };
        let item = self.ways[who][stage].pop_front().unwrap();
        match stage {
            0 => self.talk.seen[1].push(item.event.clone()),
            1 => self.talk.seen[[0, 2][who]].push(item.event.clone()),
            _ => {
                self.parties[who].take(self.protocol, &item);
                return true;
            }
        }
        self.ways[who][stage + 1].push_back(item);
        true
    }
}

impl Party<'_> {
    /// Does what sending something does to the sender.
    fn say(&mut self, protocol: &Protocol, choice: Choice, event: &Event, copy: Option<usize>) {
        announce(protocol, &mut self.granted, event);
        if let Some(id) = &event.id
            && matches!(protocol.message(event.message).unwrap().kind, Kind::Reply { .. } | Kind::Refusal { .. })
        {
            self.owed.retain(|owed| owed.id != *id);
        }
        let id = event.id.as_ref();
        match choice {
            Choice::Main(place, step) => {
                self.program = self.reading.take(&self.program, place, &step, id, false);
            }
            Choice::Open(body, step) => {
                let opener = id.map(|id| (self.side, id.clone(), event.message));
                let program = self.reading.copy(body);
                let program =
                    self.reading.step(&program, Direction::Send, step.message, id, true).unwrap();
                let number = copy.unwrap();
                self.copies.insert(number, Copied { program: Some(program), opener });
                self.settle(number);
            }
            Choice::Copy(number, place, step) => {
                let copied = self.copies.get_mut(&number).unwrap();
                let program = copied.program.as_ref().unwrap();
                copied.program = Some(self.reading.take(program, place, &step, id, false));
                self.settle(number);
            }
            Choice::CancelMain(_, id) => {
                self.program = self.reading.cancel(&self.program, Direction::Send, &id).unwrap();
            }
            Choice::CancelCopy(number, _, id) => {
                let copied = self.copies.get_mut(&number).unwrap();
                let program = copied.program.as_ref().unwrap();
                copied.program = Some(self.reading.cancel(program, Direction::Send, &id).unwrap());
                self.settle(number);
            }
            Choice::EndCopy(number, ..) => self.finish(number),
            Choice::Report(..) => {}
            Choice::Dead(id, _) => self.dead.retain(|(dead, _)| *dead != id),
        }
    }
}
