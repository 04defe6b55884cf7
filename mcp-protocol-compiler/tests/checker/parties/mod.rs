//! Two programs talk: each follows its own role, over queues, and three observers write down what they see.
//!
//! The result is a [`Talk`]: the same messages as the client's endpoint, an observer in the middle, and the server's
//! endpoint see them. No checker is asked.
//!
//! On its way to the other program a message passes four places: it is sent (the sender's endpoint sees it), it is
//! under way, it is half-way (the one in the middle sees it), it is under way again, it is read (the receiver's
//! endpoint sees it), it waits, and the program takes it. Each direction keeps its order.

mod party;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{
    Direction, GateIndex, Holder, KeyIndex, KeyPlace, Kind, MessageIndex, Protocol, Side,
};

use crate::during::{announceable, may_log};
use crate::event::{Event, keys_in_one_field};
use crate::granted::Granted;
use crate::random::Random;
use crate::reading::{Move, Place, Program, Reading};

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
    /// The most sub-sessions that were alive at once.
    pub(crate) sub_sessions: usize,
}

impl Talk {
    pub(crate) fn seen(&self, seat: Seat) -> &[Event] {
        &self.seen[seat as usize]
    }
}

#[derive(Clone, Debug)]
struct Item {
    event: Event,
    sub_session: Option<usize>,
    /// The sub-session around that one.
    outer: Option<usize>,
    /// It would open a sub-session, and the endpoint that it has come to is where none can be opened.
    late: bool,
}

#[derive(Clone, Debug)]
struct Copied {
    /// `None` once it is over.
    program: Option<Program>,
    opener: Option<(Side, RequestId, MessageIndex)>,
    /// The sub-session around it.
    outer: Option<usize>,
    /// Whether keys tie it together, so that it ends with the one around it.
    keyed: bool,
}

#[derive(Clone, Debug)]
struct Owed {
    id: RequestId,
    token: Option<RequestId>,
    sub_session: Option<usize>,
}

struct Party<'a> {
    side: Side,
    reading: &'a Reading<'a>,
    program: Program,
    sub_sessions: BTreeMap<usize, Copied>,
    /// Requests of the other side that it still has to answer.
    owed: Vec<Owed>,
    /// Requests that came too late for their sub-session: the answer is an error, which ends what they have opened.
    dead: Vec<(usize, RequestId, MessageIndex)>,
    granted: Granted,
    /// Each request of the other side that it has received, unless that was late.
    announced: HashMap<RequestId, Event>,
    /// Its requests that it has cancelled and that still get their reply.
    cancelled: HashSet<RequestId>,
    /// The body that each message opened where it last could: an opening may cross what left the choice.
    offered: HashMap<(Direction, MessageIndex), Place>,
}

/// Something that a party may send.
enum Choice {
    Main(usize, Move),
    /// In the session, or within a sub-session.
    Open(Option<usize>, usize, Move),
    SubSession(usize, usize, Move),
    CancelMain(MessageIndex, RequestId),
    CancelSubSession(usize, MessageIndex, RequestId),
    EndSubSession(usize, MessageIndex, RequestId),
    /// Of a request that still gets its reply, with its sub-session.
    CancelRunning(Option<usize>, MessageIndex, RequestId),
    Report(MessageIndex, RequestId),
    Dead(usize, RequestId, MessageIndex),
}

struct Session<'a> {
    protocol: &'a Protocol,
    parties: [Party<'a>; 2],
    /// Towards each side, in three stages: to the middle, to the endpoint, to the program.
    ways: [[VecDeque<Item>; 3]; 2],
    talk: Talk,
    next_id: [i64; 2],
    next_sub_session: usize,
    /// The sub-sessions around others.
    around: BTreeMap<usize, usize>,
    next_value: i64,
    /// The values that a sub-session holds, and those that are free again.
    held: BTreeMap<usize, Vec<(KeyIndex, RequestId)>>,
    free: Vec<(KeyIndex, RequestId)>,
}

/// How many sub-sessions may be alive at once, and how many where they stand in one another.
const SUB_SESSIONS: usize = 4;
const NESTED_SUB_SESSIONS: usize = 7;

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
        sub_sessions: BTreeMap::new(),
        owed: Vec::new(),
        dead: Vec::new(),
        granted: Granted::new(protocol),
        announced: HashMap::new(),
        cancelled: HashSet::new(),
        offered: HashMap::new(),
    };
    let mut session = Session {
        protocol,
        parties: [party(Side::Client, readings[0]), party(Side::Server, readings[1])],
        ways: Default::default(),
        talk: Talk::default(),
        // The ids of the two directions have nothing to do with one another, so they may be the same.
        next_id: [1, if random.percent(50) { 1 } else { 100 }],
        next_sub_session: 0,
        around: BTreeMap::new(),
        next_value: 0,
        held: BTreeMap::new(),
        free: Vec::new(),
    };
    session.parties.iter_mut().for_each(Party::note_offers);
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

impl Session<'_> {
    /// Some party sends something, if one can.
    fn say(&mut self, random: &mut Random) -> bool {
        let who = random.below(2);
        let alive = (0..self.next_sub_session).filter(|number| self.is_alive(*number)).count();
        self.talk.sub_sessions = self.talk.sub_sessions.max(alive);
        let party = &self.parties[who];
        let most = if party.reading.is_nested() { NESTED_SUB_SESSIONS } else { SUB_SESSIONS };
        let mut choices = party.choices(self.protocol, alive < most);
        // Refusals and cancellations would otherwise be most of what is said.
        let rare = |choice: &Choice| match choice {
            Choice::CancelMain(..)
            | Choice::CancelSubSession(..)
            | Choice::EndSubSession(..)
            | Choice::CancelRunning(..) => true,
            Choice::Main(_, step) | Choice::SubSession(_, _, step) => {
                matches!(party.reading.kind(step.message), Kind::Refusal { .. })
            }
            _ => false,
        };
        if random.percent(70) && choices.iter().any(|choice| !rare(choice)) {
            choices.retain(|choice| !rare(choice));
        }
        // Inner sub-sessions need an outer one that goes on, so few of the choices open or move them.
        let inner = |choice: &Choice| match choice {
            Choice::Open(outer, ..) => outer.is_some(),
            Choice::SubSession(number, ..) => self.around.contains_key(number),
            _ => false,
        };
        if choices.iter().any(inner) && random.percent(40) {
            choices.retain(inner);
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

    /// Whether either side, or a message on its way, still has a sub-session.
    fn is_alive(&self, number: usize) -> bool {
        let lives = |party: &Party<'_>| {
            party.sub_sessions.get(&number).is_some_and(|copied| copied.program.is_some())
        };
        self.parties.iter().any(lives)
            || self.ways.iter().flatten().flatten().any(|item| item.sub_session == Some(number))
    }

    fn send(&mut self, random: &mut Random, who: usize, choice: Choice) -> Item {
        let side = self.parties[who].side;
        let (message, sub_session) = match &choice {
            Choice::Main(_, step) => (step.message, None),
            Choice::Open(outer, _, step) => {
                let number = self.next_sub_session;
                self.next_sub_session += 1;
                self.around.extend(outer.map(|outer| (number, outer)));
                (step.message, Some(number))
            }
            Choice::SubSession(number, _, step) => (step.message, Some(*number)),
            Choice::CancelMain(message, _) | Choice::Report(message, _) => (*message, None),
            Choice::CancelSubSession(number, message, _) | Choice::EndSubSession(number, message, _) => {
                (*message, Some(*number))
            }
            Choice::CancelRunning(sub_session, message, _) => (*message, *sub_session),
            Choice::Dead(number, _, request) => {
                let refusal = |(_, table): &(MessageIndex, &mcp_protocol_machine::protocol::Message)| {
                    table.kind == Kind::Refusal { request: *request }
                };
                (self.protocol.indexed().find(refusal).unwrap().0, Some(*number))
            }
        };
        let uncorrelated =
            matches!(&choice, Choice::Open(_, body, _) if self.parties[who].reading.is_uncorrelated(*body));
        let is_alone =
            matches!(&choice, Choice::Open(None, body, _) if !self.parties[who].reading.is_keyed(*body));
        let mut event = Event::new(side, message);
        let table = self.protocol.message(message).unwrap();
        match (&choice, table.kind) {
            (
                Choice::Main(_, step) | Choice::SubSession(_, _, step),
                Kind::Reply { .. } | Kind::Refusal { .. },
            ) => {
                event.id = step.id.clone();
            }
            (Choice::Dead(_, id, _), _) => event.id = Some(id.clone()),
            (
                Choice::CancelMain(_, id)
                | Choice::CancelSubSession(_, _, id)
                | Choice::EndSubSession(_, _, id)
                | Choice::CancelRunning(_, _, id),
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
        let within = match &choice {
            Choice::Open(outer, ..) => *outer,
            Choice::SubSession(number, ..) => Some(*number),
            _ => None,
        };
        let is_report = matches!(choice, Choice::Report(..));
        if table.reports.is_some() && !is_report && random.percent(40) {
            // What stands alone has a token of its own; where a sub-session says what it is, any token.
            let owed = self.parties[who].owed.iter().filter_map(|owed| owed.token.clone());
            let owed: Vec<RequestId> = owed.filter(|_| within.is_some()).collect();
            self.next_value += 1;
            let own = RequestId::from(self.next_value);
            event.token = Some(random.one(&owed).cloned().filter(|_| random.percent(60)).unwrap_or(own));
        }
        if !matches!(table.kind, Kind::Refusal { .. }) && !is_report {
            for carried in table.keys.iter() {
                let key = carried.key;
                // Only a sub-session has a value for the envelope.
                if is_alone && matches!(carried.place, KeyPlace::Member(_)) {
                    continue;
                }
                if let Some(value) = self.held_around(sub_session, key) {
                    event.keys.push(value);
                    continue;
                }
                let other = if self.held_by(sub_session, key).is_some() || self.is_id(key) {
                    None
                } else if uncorrelated {
                    self.other_value(random, who, key)
                } else {
                    self.value_again(random, who, key)
                };
                let field = keys_in_one_field(table).find(|(other, _)| *other == key);
                let same = field.and_then(|(_, first)| event.keys.iter().find(|(held, _)| *held == first));
                let same = same.map(|(_, value)| (key, value.clone()));
                self.free.retain(|free| Some(free) != same.as_ref());
                let value = match same.or(other) {
                    Some(value) => value,
                    None => self.value(random, sub_session, key),
                };
                self.hold(sub_session, &value);
                event.keys.push(value);
            }
        }
        if let (Kind::Reply { .. } | Kind::Refusal { .. }, Some(id)) = (table.kind, &event.id) {
            let asked = self.parties[who].announced.get(id);
            event.members = asked.map(|asked| asked.in_members(self.protocol)).unwrap_or_default();
            // The reply may as well leave them out.
            if !event.members.is_empty() && random.fork().percent(30) {
                event.members.clear();
            }
        }
        let announces =
            self.protocol.announcements.iter().any(|announced| announced.message == Some(message));
        if announces || table.grants.is_some() || table.revokes.is_some() {
            let gates = announceable(self.protocol);
            // Where capabilities are announced again and again, gates close as often as they open.
            let again = self.protocol.announcements.len() > 2;
            event.grants = gates.filter(|_| random.percent(if again { 50 } else { 70 })).collect();
        }
        if table.kind == Kind::Request && self.protocol.announces_in_each_request(side) {
            let gates = announceable(self.protocol);
            let needs = |gate: &GateIndex| {
                let is_own = |holder: Holder| [Holder::Sender, Holder::Side(side)].contains(&holder);
                let mut own = table.requires.iter().filter(|required| is_own(required.holder));
                own.any(|required| required.gate == *gate)
            };
            event.grants = gates.filter(|gate| needs(gate) || random.percent(50)).collect();
        }
        if table.kind == Kind::Request && may_log(self.protocol, message) {
            event.logs = random.percent(60);
        }
        let reported = match &choice {
            Choice::Report(_, token) => {
                let owed = self.parties[who].owed.iter().find(|owed| owed.token.as_ref() == Some(token));
                owed.map(|owed| owed.id.clone())
            }
            _ => None,
        };
        let open = |urgent| self.parties[who].open(self.protocol, message, urgent, within, reported.as_ref());
        event.urgent = (random.percent(30) || !open(false)) && open(true);
        self.parties[who].say(self.protocol, choice, &event, sub_session);
        let outer = sub_session.and_then(|number| self.around.get(&number).copied());
        Item { event, sub_session, outer, late: false }
    }

    /// The value that a sub-session holds of a key.
    fn held_by(&self, sub_session: Option<usize>, key: KeyIndex) -> Option<(KeyIndex, RequestId)> {
        let held = self.held.get(&sub_session?)?;
        held.iter().find(|(known, _)| *known == key).cloned()
    }

    /// Whether the values of a key are ids of requests, which are not used twice.
    fn is_id(&self, key: KeyIndex) -> bool {
        let mut carried = self.protocol.messages.iter().flat_map(|message| message.keys.iter());
        carried.any(|carried| carried.key == key && carried.place == KeyPlace::Id)
    }

    /// The value of a key that a sub-session around one holds.
    fn held_around(&self, sub_session: Option<usize>, key: KeyIndex) -> Option<(KeyIndex, RequestId)> {
        let outer = self.around.get(&sub_session?).copied();
        let mut around = std::iter::successors(outer, |number| self.around.get(number).copied());
        around.find_map(|number| self.held_by(Some(number), key))
    }

    /// A value that is held within another sub-session, and not within the one around this one.
    fn value_elsewhere(
        &self,
        random: &mut Random,
        sub_session: Option<usize>,
        key: KeyIndex,
    ) -> Option<(KeyIndex, RequestId)> {
        let own = *self.around.get(&sub_session?)?;
        let inner = self.held.iter().filter_map(|(number, held)| Some((self.around.get(number)?, held)));
        let (same, elsewhere): (Vec<_>, Vec<_>) = inner.partition(|(outer, _)| **outer == own);
        let in_same = |value: &(KeyIndex, RequestId)| same.iter().any(|(_, held)| held.contains(value));
        let elsewhere = elsewhere.into_iter().flat_map(|(_, held)| held);
        let elsewhere: Vec<_> =
            elsewhere.filter(|value| value.0 == key && !in_same(value)).cloned().collect();
        random.one(&elsewhere).cloned().filter(|_| random.percent(60))
    }

    /// The value that a sub-session holds of a key, or one for it to hold.
    fn value(
        &mut self,
        random: &mut Random,
        sub_session: Option<usize>,
        key: KeyIndex,
    ) -> (KeyIndex, RequestId) {
        // What is over on both sides, with nothing on its way, may be used again.
        let over: Vec<usize> = self
            .held
            .keys()
            .copied()
            .filter(|number| Some(*number) != sub_session && !self.is_alive(*number))
            .collect();
        for number in over {
            for value in self.held.remove(&number).unwrap() {
                if !self.held.values().any(|held| held.contains(&value)) {
                    self.free.push(value);
                }
            }
        }
        if let Some(known) = self.held_by(sub_session, key) {
            return known;
        }
        if let Some(elsewhere) = self.value_elsewhere(random, sub_session, key).filter(|_| !self.is_id(key)) {
            return elsewhere;
        }
        let free = self.free.iter().position(|(known, _)| *known == key && !self.is_id(key));
        let again = free.filter(|_| random.percent(60));
        match again {
            Some(place) => self.free.remove(place),
            None => {
                self.next_value += 1;
                (key, format!("v{}", self.next_value).into())
            }
        }
    }

    /// A value may not be used twice while a sub-session holds it.
    fn hold(&mut self, sub_session: Option<usize>, value: &(KeyIndex, RequestId)) {
        let Some(sub_session) = sub_session else { return };
        let held = self.held.entry(sub_session).or_default();
        if !held.contains(value) {
            held.push(value.clone());
        }
    }

    /// The value of a sub-session that has ended for the side that opens another one, even if the other side does not
    /// know that yet.
    fn value_again(&self, random: &mut Random, who: usize, key: KeyIndex) -> Option<(KeyIndex, RequestId)> {
        let sub_sessions = &self.parties[who].sub_sessions;
        let over = |number: &usize| {
            sub_sessions.get(number).is_some_and(|sub_session| sub_session.program.is_none())
        };
        let (over, other): (Vec<_>, Vec<_>) = self.held.iter().partition(|(number, _)| over(number));
        let other = |value: &(KeyIndex, RequestId)| other.iter().any(|(_, held)| held.contains(value));
        let held = over.into_iter().flat_map(|(_, held)| held);
        let held: Vec<_> = held.filter(|value| value.0 == key && !other(value)).cloned().collect();
        random.one(&held).cloned().filter(|_| random.percent(60))
    }

    /// The value of a sub-session that one side has not heard of yet, or that is over for it and perhaps not for the
    /// other.
    fn other_value(&self, random: &mut Random, who: usize, key: KeyIndex) -> Option<(KeyIndex, RequestId)> {
        let sub_sessions = &self.parties[who].sub_sessions;
        let runs = |number: &usize| {
            sub_sessions.get(number).is_some_and(|sub_session| sub_session.program.is_some())
        };
        let (own, other): (Vec<_>, Vec<_>) = self.held.iter().partition(|(number, _)| runs(number));
        let held = other.into_iter().flat_map(|(_, held)| held);
        let own = |value: &(KeyIndex, RequestId)| own.iter().any(|(_, held)| held.contains(value));
        let held: Vec<_> = held.filter(|value| value.0 == key && !own(value)).cloned().collect();
        random.one(&held).cloned().filter(|_| random.percent(60))
    }

    /// Something goes on its way, if anything is.
    fn pass(&mut self, random: &mut Random) -> bool {
        let mut places = Vec::new();
        for who in [0, 1] {
            places
                .extend((0..3).filter(|stage| !self.ways[who][*stage].is_empty()).map(|stage| (who, stage)));
        }
        let Some((who, stage)) = random.one(&places).copied() else { return false };
        let mut item = self.ways[who][stage].pop_front().unwrap();
        match stage {
            0 => self.talk.seen[1].push(item.event.clone()),
            1 => {
                self.talk.seen[[0, 2][who]].push(item.event.clone());
                item.late = self.parties[who].finds_late(self.protocol, &item, &self.ways[who][2]);
            }
            _ => {
                self.parties[who].take(self.protocol, &item);
                return true;
            }
        }
        self.ways[who][stage + 1].push_back(item);
        true
    }
}
