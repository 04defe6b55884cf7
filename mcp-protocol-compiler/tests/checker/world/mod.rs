//! An observer that has all the time in the world: is there a way in which two programs could have said this?
//!
//! Judges messages one by one against a role's session type, a [`Reading`]. It does not use the machine: it keeps every
//! pair of programs, with the messages on their way to them, that can have produced what was seen.
//!
//! Both programs follow the same type, one of them turned round. A message is seen between its sending and its receipt;
//! without loss of generality it is seen as soon as it is sent. Channels side by side, and sub-sessions, do not wait
//! for one another. Ids, keys and tokens are books of their own, with a plain list for each.

mod closings;
mod configs;
mod exchanges;
mod gates;
mod heard;
mod nesting;
mod sub_sessions;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{
    Direction, GateIndex, KeyIndex, KeyPlace, Kind, MessageIndex, Protocol, Side,
};

use crate::event::Event;
use crate::granted::Granted;
use crate::reading::{Place, Program, Reading, way};
use closings::Closings;
use heard::Heard;

/// What to make of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is permitted, and something moves.
    Fine,
    /// It is permitted, and belongs to a running request, which it does not move.
    Reported,
    /// It comes too late for its state, its exchange or its sub-session, and is dropped.
    Late,
    /// It is about a sub-session that is over, but who sends it has seen or said too much to be late: dropped or
    /// refused.
    Stale,
    /// Its sender may have received so little that the checker does not follow where it stands: dropped or refused.
    Distant,
    /// No correct program could have sent it: the name of the kind of violation.
    Wrong(&'static str),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Item {
    direction: Direction,
    message: MessageIndex,
    id: Option<RequestId>,
    cancels: bool,
    opens: bool,
    /// The notification, or the request that all else is about, and its direction.
    of: (Direction, MessageIndex),
    /// Which of all messages it is.
    at: u64,
}

/// Two programs, and what was seen and has not arrived. The first one sends what goes in direction `Send`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Config {
    programs: [Program; 2],
    inbox: [VecDeque<Item>; 2],
    /// Which of all messages was the last to end a channel of a program that had nothing more to say in it: it is taken as read
    /// at once, and the program may not have read it.
    ended_by: [Option<u64>; 2],
}

impl Config {
    /// Both programs where they begin.
    fn new(start: Program) -> Config {
        Config { programs: [start.clone(), start], inbox: Default::default(), ended_by: [None; 2] }
    }
}

/// A body, and the pairs of programs of which one may open a sub-session of it.
type Opening = (Place, HashSet<Config>);

#[derive(Clone, Debug)]
struct SubSession {
    body: Place,
    /// The sub-session around it.
    outer: Option<usize>,
    configs: HashSet<Config>,
    opener: Option<(Direction, RequestId)>,
    keys: Vec<(KeyIndex, RequestId)>,
    over: Option<Over>,
    /// Once it is over: who has shown to know that, in direction `Send` and in direction `Receive`, by giving one of
    /// its values to another sub-session or by going on with that one.
    let_go: [bool; 2],
    /// Who opened it, and whether the other side has said something in it.
    by: Direction,
    known: bool,
    /// The request that would have opened it came late where it was seen, and has no reply yet. Who received it may
    /// have been where it is permitted.
    unsure: Option<MessageIndex>,
}

/// What a sub-session that is over can be after a message that may have been sent for it: somewhere else, or where it
/// was, with another one opened within it.
enum Past {
    Step(HashSet<Config>),
    Opens(Opening),
}

/// The end of a sub-session: which way the message went, and which of all messages it was.
#[derive(Clone, Copy, Debug)]
struct Over {
    by: Direction,
    at: u64,
    /// It came to its end in whatever state it was, so the side that has ended it knows that.
    cuts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Running,
    Answered,
    /// One more reply is swallowed.
    Owed,
}

#[derive(Clone, Debug)]
struct Exchange {
    message: MessageIndex,
    sub_session: Option<usize>,
    standing: Standing,
    token: Option<RequestId>,
    /// Which of all messages it was, and which its reply was.
    at: u64,
    reply_at: Option<u64>,
    /// It was cancelled, and still gets its reply.
    cancelled: bool,
    /// What its sender announced. It holds until the request ends.
    announces: Vec<GateIndex>,
    /// The request as it was sent.
    asked: Event,
    /// Once nothing of it goes on: which way the message went that ended it, and which of all messages that was.
    ended: Option<(Direction, u64)>,
}

/// What a message is part of.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Session,
    SubSession(usize),
    /// A sub-session that is over.
    Over,
    /// The request of a side with this id: the message reports on it.
    Request(Direction, &'a RequestId),
}

/// What was seen so far, for one role.
#[derive(Clone)]
pub(crate) struct World<'a> {
    reading: &'a Reading<'a>,
    protocol: &'a Protocol,
    side: Side,
    /// What closing the diamond adds somewhere in the role.
    added: HashSet<(Direction, MessageIndex)>,
    main: HashSet<Config>,
    sub_sessions: Vec<SubSession>,
    exchanges: HashMap<(Direction, RequestId), Exchange>,
    /// Ids of requests that no correct program could have sent.
    refused: HashMap<(Direction, RequestId), bool>,
    /// What late requests without an answer announce: they may not be late any more where they arrive.
    perhaps: HashMap<(Direction, RequestId), Event>,
    tokens: HashSet<(Direction, RequestId)>,
    /// What each side may be asked for, and what it could be before gates were closed.
    granted: Granted,
    closings: Closings,
    /// How many messages were seen, and which of them each side is known to have read.
    seen: u64,
    heard: Heard,
    /// How many steps of sub-sessions were uncorrelated.
    pub(crate) uncorrelated: u64,
    /// How many sub-sessions were opened within others, and within those.
    pub(crate) within: u64,
    pub(crate) deep: u64,
    /// How many messages came through a gate that had closed behind them.
    pub(crate) behind_gates: u64,
    /// Where a sender is may be less certain for the checker than for the text.
    is_vague: bool,
    /// The rules that the last message may have broken, with `None` where it broke none.
    advice: RefCell<HashSet<Option<String>>>,
    /// A message could have opened either of two bodies.
    torn: Cell<bool>,
}

/// More pairs of programs than this are not followed.
const CONFIGS: usize = 400;

fn index(direction: Direction) -> usize {
    usize::from(direction == Direction::Receive)
}

impl<'a> World<'a> {
    pub(crate) fn new(
        reading: &'a Reading<'a>,
        protocol: &'a Protocol,
        side: Side,
        added: HashSet<(Direction, MessageIndex)>,
    ) -> World<'a> {
        let start = reading.start();
        let config = Config::new(start);
        World {
            reading,
            protocol,
            side,
            added,
            main: HashSet::from([config]),
            sub_sessions: Vec::new(),
            exchanges: HashMap::new(),
            refused: HashMap::new(),
            perhaps: HashMap::new(),
            tokens: HashSet::new(),
            granted: Granted::new(protocol),
            closings: Closings::default(),
            seen: 0,
            heard: Heard::default(),
            uncorrelated: 0,
            within: 0,
            deep: 0,
            behind_gates: 0,
            is_vague: false,
            advice: RefCell::default(),
            torn: Cell::new(false),
        }
    }

    /// What it knows of the text.
    pub(crate) fn reading(&self) -> &'a Reading<'a> {
        self.reading
    }

    /// The rule that advised against the last message, where that is certain.
    pub(crate) fn advice(&self, event: &Event) -> Option<Option<String>> {
        let crossing = self.added.contains(&(event.direction(self.side), event.message));
        let advice = self.advice.borrow();
        let mut rules = advice.iter();
        let rule = rules.next().filter(|_| !crossing)?;
        if rules.next().is_none() { Some(rule.clone()) } else { None }
    }

    /// Whether a message could have opened either of two bodies, which no text may leave open.
    pub(crate) fn is_torn(&self) -> bool {
        self.torn.get()
    }

    /// Whether there are too many possibilities to go on.
    pub(crate) fn is_lost(&self) -> bool {
        self.main.len() >= CONFIGS
            || self.sub_sessions.iter().any(|sub_session| sub_session.configs.len() >= CONFIGS)
    }

    /// Judges a message. A message that no correct program could have sent changes nothing.
    pub(crate) fn see(&mut self, event: &Event) -> Verdict {
        self.advice.borrow_mut().clear();
        self.seen += 1;
        let direction = event.direction(self.side);
        self.heard.wrote(direction, self.seen);
        let kind = self.protocol.message(event.message).unwrap().kind;
        let verdict = match kind {
            Kind::Request => self.request(event, direction),
            Kind::Notification => self.notification(event, direction),
            Kind::Reply { request } => self.reply(event, direction, request, false),
            Kind::Refusal { request } => self.reply(event, direction, request, true),
        };
        let verdict = match (verdict, kind) {
            (Verdict::Wrong(kinds), Kind::Request | Kind::Notification)
                if self.heard.is_far_behind(direction) || self.is_vague =>
            {
                let opens = || self.opens(event.message, direction);
                match kinds {
                    "NotPermitted" | "NotPermitted|KeyInUse" => Verdict::Distant,
                    // What opens a sub-session depends on where the sender is, whatever else it may be.
                    "NotPermitted|UnknownKey" if opens() => Verdict::Distant,
                    _ => verdict,
                }
            }
            (verdict, _) => verdict,
        };
        if let (Verdict::Wrong(_), Kind::Request) = (verdict, kind) {
            self.refused.insert((direction, event.id.clone().unwrap()), true);
        }
        if kind == Kind::Request
            && let Some(token) = &event.token
        {
            self.tokens.insert((direction, token.clone()));
        }
        if matches!(verdict, Verdict::Fine | Verdict::Reported | Verdict::Late) {
            self.note_granted(event, direction);
        }
        verdict
    }

    /// What the checker makes of a message that it may refuse or take for a late one. What it has taken announces and
    /// grants what it says. A request that it has refused announces nothing, as one that is wrong.
    pub(crate) fn settle_stale(&mut self, event: &Event, is_taken: bool) {
        let direction = event.direction(self.side);
        if is_taken {
            self.note_granted(event, direction);
        } else if let Kind::Request = self.protocol.message(event.message).unwrap().kind {
            self.perhaps.remove(&(direction, event.id.clone().unwrap()));
        }
    }

    /// What a message announces, grants and revokes, and what it closes by that.
    fn note_granted(&mut self, event: &Event, direction: Direction) {
        let open =
            |granted: &Granted| [Side::Client, Side::Server].map(|side| granted.open(self.protocol, side));
        let narrows = self.granted.narrows(self.protocol, event);
        let before = open(&self.granted);
        let revoking_side = self.granted.revoking_side(self.protocol, event);
        self.granted.note(self.protocol, event);
        let after = open(&self.granted);
        for (side, (before, after)) in
            [Side::Client, Side::Server].into_iter().zip(before.into_iter().zip(after))
        {
            let narrower = narrows && side == event.from;
            if narrower || revoking_side == Some(side) || before.iter().any(|gate| !after.contains(gate)) {
                self.closings.add((side, direction), self.seen, before, &self.heard);
            }
        }
    }

    fn request(&mut self, event: &Event, direction: Direction) -> Verdict {
        let id = event.id.clone().unwrap();
        let place = (direction, id.clone());
        if self.exchanges.contains_key(&place) || self.refused.contains_key(&place) {
            return Verdict::Wrong("DuplicateId");
        }
        let in_use = event.token.as_ref().is_some_and(|token| self.holder_of(direction, token).is_some());
        let before = in_use.then(|| (self.main.clone(), self.sub_sessions.clone()));
        let (verdict, sub_session) = self.plain(event, direction);
        if let (Verdict::Fine, Some((main, sub_sessions))) = (verdict, before) {
            (self.main, self.sub_sessions) = (main, sub_sessions);
            return Verdict::Wrong("TokenInUse");
        }
        match verdict {
            Verdict::Fine => {
                let standing = Standing::Running;
                let (message, token) = (event.message, event.token.clone());
                let (at, reply_at, cancelled) = (self.seen, None, false);
                let mut announces = Vec::new();
                if self.protocol.announces_in_each_request(event.from) {
                    announces.clone_from(&event.grants);
                }
                let ended = None;
                let exchange = Exchange {
                    message,
                    sub_session,
                    standing,
                    token,
                    at,
                    reply_at,
                    cancelled,
                    announces,
                    asked: event.clone(),
                    ended,
                };
                self.exchanges.insert(place, exchange);
            }
            Verdict::Late | Verdict::Stale => {
                self.perhaps.insert(place.clone(), event.clone());
                self.refused.insert(place, true);
            }
            _ => {}
        }
        verdict
    }

    /// A request or a notification that stands for itself.
    fn plain(&mut self, event: &Event, direction: Direction) -> (Verdict, Option<usize>) {
        let (message, id) = (event.message, event.id.as_ref());
        let item = Item {
            direction,
            message,
            id: id.cloned(),
            cancels: false,
            opens: false,
            of: (direction, message),
            at: self.seen,
        };
        let after = self.sent(&self.main, &item);
        if !after.is_empty() {
            if let Err(kind) = self.gates(event, Part::Session) {
                return (Verdict::Wrong(kind), None);
            }
            self.behind_gates += u64::from(self.is_behind_gate(event, Part::Session));
            let late = self.crosses(&self.main, &item);
            self.main = after;
            return (if late { Verdict::Late } else { Verdict::Fine }, None);
        }
        let opening = self.opening(&self.main, direction, message);
        let uncorrelated = opening.as_ref().is_some_and(|(body, _)| self.reading.is_uncorrelated(*body));
        let is_step = |number: usize| {
            self.sub_sessions[number].over.is_none() && self.may_go_on(number, event, direction)
        };
        // What names a sub-session in its envelope opens nothing in the session itself.
        let is_named = !event.in_members(self.protocol).is_empty();
        match opening {
            // What opens sub-sessions and goes on with them goes on with one where it can.
            Some(opening) if !uncorrelated && !is_named && !(0..self.sub_sessions.len()).any(is_step) => {
                self.open(event, item, opening, None)
            }
            opening => self.later(event, item, opening.filter(|_| uncorrelated)),
        }
    }

    /// The body of which a message opens a sub-session, and those of some pairs of programs of which one may do that now.
    fn opening(
        &self,
        configs: &HashSet<Config>,
        direction: Direction,
        message: MessageIndex,
    ) -> Option<Opening> {
        let mut opened: Option<Opening> = None;
        for config in configs {
            let openers = self.reading.openers(&config.programs[index(direction)]);
            let opener =
                openers.into_iter().find(|(_, step)| (step.direction, step.message) == (direction, message));
            if let Some((body, _)) = opener {
                let known = opened.get_or_insert_with(|| (body, HashSet::new()));
                match self.reading.is_same_text(known.0, body) {
                    true => _ = known.1.insert(config.clone()),
                    false => self.torn.set(true),
                }
            }
        }
        opened
    }

    /// A new sub-session, in the session itself or within another one, or something that is uncorrelated and holds no
    /// value.
    fn open(
        &mut self,
        event: &Event,
        item: Item,
        (body, configs): Opening,
        outer: Option<usize>,
    ) -> (Verdict, Option<usize>) {
        let (direction, keyed) = (item.direction, self.reading.is_keyed(body));
        let free = match keyed {
            true => self.free(event, body, None, outer),
            // Only its key says whether it is one of a sub-session that goes on.
            false
                if event.keys.is_empty()
                    && !self.may_be_alone(event)
                    && self.may_be_inner(event.message, direction) =>
            {
                Err("KeyMissing")
            }
            false => Ok(()),
        };
        let part = outer.map_or(Part::Session, Part::SubSession);
        let free = match outer {
            Some(_) => free.and_then(|()| self.gates(event, part)),
            None => self.gates(event, part).and(free),
        };
        if let Err(kind) = free {
            return (Verdict::Wrong(kind), None);
        }
        let sender = index(direction);
        let late = configs.iter().all(|config| {
            let openers = self.reading.openers(&self.caught_up(config, sender));
            openers.iter().all(|(_, step)| (step.direction, step.message) != (direction, item.message))
        });
        // What opens an instance of its own has moved nothing, so it is dropped behind a gate that has closed.
        let behind_gate = self.is_behind_gate(event, part);
        self.behind_gates += u64::from(behind_gate);
        let late = late || behind_gate && !keyed;
        let past = self.past_of(event, &item);
        let is_past = !past.is_empty();
        // The checker does not follow what is said late in a sub-session that is over, and takes this to be possible.
        let unheard = |number| self.is_unheard(number, event, direction);
        self.is_vague |= !is_past && (0..self.sub_sessions.len()).any(unheard);
        if !is_past {
            // Who has opened a sub-session may read on now.
            let configs = self.arrivals(configs);
            *outer.map_or(&mut self.main, |outer| &mut self.sub_sessions[outer].configs) = configs;
        }
        // Otherwise it may have been sent for one of these, wherever its sender is.
        for (number, past) in past {
            self.said_late(number, past, false, event, &item);
        }
        // Of what a notification has opened its sender hears nothing, so it is opened all the same.
        let refused = late && (item.id.is_some() || !keyed);
        if refused && !keyed {
            return (Verdict::Late, None);
        }
        self.uncorrelated += u64::from(self.reading.is_uncorrelated(body));
        // What is answered with an error was over at once.
        let over = refused.then_some(Over { by: direction.flip(), at: u64::MAX, cuts: true });
        let unsure = refused.then_some(event.message);
        self.within += u64::from(outer.is_some());
        self.deep += u64::from(outer.is_some_and(|outer| self.sub_sessions[outer].outer.is_some()));
        let opened = self.opened_by(event, &item, body, outer);
        self.sub_sessions.push(SubSession { over, unsure, ..opened });
        if refused {
            return (Verdict::Late, None);
        }
        let number = self.sub_sessions.len() - 1;
        self.let_go(number, direction);
        self.settle(number, direction);
        (Verdict::Fine, Some(number))
    }

    /// Whether a message that carries a key opens what runs within some sub-session.
    fn may_be_inner(&self, message: MessageIndex, direction: Direction) -> bool {
        let carries = !self.protocol.message(message).unwrap().keys.is_empty();
        carries && self.reading.bodies().any(|body| self.reading.opens_within(body, (direction, message)))
    }

    /// The sub-sessions that are over and that a message may have been sent for, with what they can be after it.
    fn past_of(&self, event: &Event, item: &Item) -> Vec<(usize, Past)> {
        let may_be_meant = |number: &usize| self.is_unheard(*number, event, item.direction);
        self.after((0..self.sub_sessions.len()).filter(may_be_meant), item)
    }

    /// Whether a message has the keys of a sub-session that is over, of which its sender may not have heard.
    fn is_unheard(&self, number: usize, event: &Event, direction: Direction) -> bool {
        (self.may_go_on(number, event, direction) || self.may_open(number, event, direction))
            && self.may_go_on_late(number, direction)
    }

    /// Whether a message may be a later step of a sub-session, which one of its keys ties to it.
    pub(super) fn may_go_on(&self, number: usize, event: &Event, direction: Direction) -> bool {
        self.holds(number, event)
            && self.reading.later(self.sub_sessions[number].body).contains(&(direction, event.message))
    }

    /// A later message of a sub-session, which a key ties to it, or one that is uncorrelated.
    fn later(
        &mut self,
        event: &Event,
        item: Item,
        uncorrelated: Option<Opening>,
    ) -> (Verdict, Option<usize>) {
        let direction = item.direction;
        let awake = self.awake(direction);
        if awake.is_empty() && self.reading.is_of_sub_sessions(direction, event.message) {
            // As a branch of a choice it is uncorrelated also where sub-sessions are suspended, unless its envelope names one.
            let is_named = !event.in_members(self.protocol).is_empty();
            if let Some(uncorrelated) = uncorrelated.filter(|_| !is_named) {
                return self.open(event, item, uncorrelated, None);
            }
            let opens = self.opens(event.message, direction);
            let kind = if opens { "NotPermitted|Suspended" } else { "Suspended" };
            return (Verdict::Wrong(kind), None);
        }
        let awake = self.arrivals(awake);
        let uncorrelated = uncorrelated.filter(|_| self.may_be_alone(event));
        let declared = &self.protocol.message(event.message).unwrap().keys;
        let fitting = self.fitting(event, direction);
        let live = fitting.iter().copied().find(|number| self.sub_sessions[*number].over.is_none());
        if let Some(number) = live {
            let opening = self.opening(&self.sub_sessions[number].configs, direction, event.message);
            if let Some(opening) = opening {
                let (mut verdict, opened) = self.open(event, item.clone(), opening, Some(number));
                if matches!(verdict, Verdict::Wrong("KeyInUse" | "NotNegotiated" | "NotDuring")) {
                    // It may be meant for one before this one.
                    verdict = self.late_for(&fitting, event, &item).unwrap_or(verdict);
                }
                if !matches!(verdict, Verdict::Wrong(_)) {
                    self.main = awake;
                }
                return (verdict, opened);
            }
            let after = self.sent(&self.sub_sessions[number].configs, &item);
            let unheard = self.sub_sessions[number].by != direction && !self.sub_sessions[number].known;
            if after.is_empty() {
                return match uncorrelated {
                    // By who has not heard that the value is held.
                    Some(uncorrelated) if unheard => self.open(event, item, uncorrelated, None),
                    Some(_) => (Verdict::Wrong("NotPermitted"), None),
                    // It may be meant for one before it, by who has not heard of either's fate.
                    None => match self.late_for(&fitting, event, &item) {
                        Some(verdict) => (verdict, None),
                        // Where no sub-session can begin with another message of the body, it only opens them.
                        None if self.opens(event.message, direction) => {
                            (Verdict::Wrong("NotPermitted|KeyInUse"), None)
                        }
                        None => (Verdict::Wrong("NotPermitted"), None),
                    },
                };
            }
            let part = Part::SubSession(number);
            if let Err(kind) = self.gates(event, part) {
                // The gate may be open for what it was meant for, by who has not heard of this sub-session.
                if let Some(uncorrelated) = uncorrelated.filter(|_| unheard) {
                    return self.open(event, item, uncorrelated, None);
                }
                let late = self.late_for(&fitting, event, &item);
                return (late.unwrap_or(Verdict::Wrong(kind)), None);
            }
            self.behind_gates += u64::from(self.is_behind_gate(event, part));
            let goes_on = !self.stays(number, &item);
            let known = self.sub_sessions[number].known || goes_on;
            let late = self.crosses(&self.sub_sessions[number].configs, &item);
            let configs = &mut self.sub_sessions[number].configs;
            // Who may have sent it alone, before it had heard of the sub-session, may be anywhere in it.
            let before = std::mem::take(configs).into_iter();
            configs.extend(before.filter(|_| unheard && uncorrelated.is_some() && !goes_on).chain(after));
            self.main = awake;
            if late {
                return (Verdict::Late, None);
            }
            if goes_on {
                self.let_go(number, direction);
            }
            self.settle(number, direction);
            // What leaves the sub-session where it is may be uncorrelated, by who has not heard of the sub-session.
            self.sub_sessions[number].known &= known;
            return (Verdict::Fine, Some(number));
        }
        if let Some(uncorrelated) = uncorrelated {
            if self.is_value_taken(event, direction) {
                return (Verdict::Wrong("NotPermitted"), None);
            }
            return self.open(event, item, uncorrelated, None);
        }
        if let Some(verdict) = self.late_for(&fitting, event, &item) {
            if verdict == Verdict::Late {
                self.main = awake;
            }
            return (verdict, None);
        }
        let kind = match (declared.is_empty(), event.keys.is_empty()) {
            (true, _) => "NotPermitted",
            (false, true) => "NotPermitted|KeyMissing",
            (false, false) => "NotPermitted|UnknownKey",
        };
        (Verdict::Wrong(kind), None)
    }

    /// Whether a message carries an open key; in its envelope, it then has no value of it.
    fn may_be_alone(&self, event: &Event) -> bool {
        let is_carried = |wanted| event.keys.iter().any(|(key, _)| *key == wanted);
        let mut declared = self.protocol.message(event.message).unwrap().keys.iter();
        declared.any(|declared| {
            let in_envelope = matches!(declared.place, KeyPlace::Member(_));
            self.protocol.is_open(declared) && is_carried(declared.key) != in_envelope
        })
    }

    /// Whether the values of a message are those of a sub-session that goes on, has no such message, and shares its values
    /// with those that have it. Who has not heard of that sub-session does not know.
    fn is_value_taken(&self, event: &Event, direction: Direction) -> bool {
        let meant = |body: &Place| self.reading.later(*body).contains(&(direction, event.message));
        self.sub_sessions.iter().enumerate().any(|(number, sub_session)| {
            let shares = |body: Place| self.reading.shares_keys(body, sub_session.body);
            let is_unheard = sub_session.by != direction && !sub_session.known;
            sub_session.over.is_none()
                && !is_unheard
                && self.holds(number, event)
                && self.reading.bodies().filter(meant).any(shares)
        })
    }

    /// What a message is that was meant for a sub-session which is over, if it may be: uncorrelated, or late.
    pub(super) fn meant_for_one_that_is_over(
        &mut self,
        event: &Event,
        direction: Direction,
    ) -> Option<Verdict> {
        let item = Item {
            direction,
            message: event.message,
            id: None,
            cancels: false,
            opens: false,
            of: (direction, event.message),
            at: self.seen,
        };
        if event.keys.is_empty() || !self.sent(&self.main, &item).is_empty() {
            return None;
        }
        if let Some(opening) = self.opening(&self.main, direction, event.message) {
            let uncorrelated = self.reading.is_uncorrelated(opening.0);
            let (verdict, _) = uncorrelated.then(|| self.open(event, item, opening, None))?;
            return Some(verdict).filter(|verdict| !matches!(verdict, Verdict::Wrong(_)));
        }
        let awake = self.awake(direction);
        if awake.is_empty() {
            return None;
        }
        let verdict = self.late_for(&self.fitting(event, direction), event, &item)?;
        if verdict == Verdict::Late {
            self.main = self.arrivals(awake);
        }
        Some(verdict)
    }

    /// Those of the pairs of programs in which sub-sessions do not rest where a message is sent.
    fn awake(&self, sender: Direction) -> HashSet<Config> {
        let rests = |config: &&Config| config.programs[index(sender)].suspended[way(sender)];
        self.main.iter().filter(|config| !rests(config)).cloned().collect()
    }

    /// The sub-sessions that hold the values of a message which may be a step of them, or open one within, the newest
    /// first.
    fn fitting(&self, event: &Event, direction: Direction) -> Vec<usize> {
        let fits = |number: &usize| {
            self.may_go_on(*number, event, direction) || self.may_open(*number, event, direction)
        };
        (0..self.sub_sessions.len()).rev().filter(fits).collect()
    }

    /// Whether a message opens sub-sessions somewhere, and not only as what is uncorrelated.
    fn opens(&self, message: MessageIndex, direction: Direction) -> bool {
        let opened = self.reading.opened_by(direction, message);
        opened.into_iter().any(|body| !self.reading.is_uncorrelated(body))
    }

    /// Whether the other side is known to have heard of the end of a sub-session: it has answered what was asked later.
    fn was_heard(&self, over: Over) -> bool {
        self.heard.is_read(over.by, over.at)
    }
}
