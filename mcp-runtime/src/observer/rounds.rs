//! Requests that take several rounds: a reply asks for something, and the request is sent again with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_protocol_machine::protocol::{Kind, Message, MessageIndex, Path, Protocol, Rounds};
use mcp_protocol_machine::{RequestId, RoundFault};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::jsonrpc::RawPayload;

/// How many replies that ask for another round are remembered.
const REMEMBERED: usize = 256;
/// How many questions of one reply, or bytes in their names, are remembered.
const MOST_QUESTIONS: usize = 64;
const LONGEST_NAMES: usize = 4_096;

/// What replies have asked for, in one place for several [observers](super::Observer::share_rounds). A clone is the same place.
#[derive(Clone, Debug, Default)]
pub struct SharedRounds(Arc<Mutex<AskedRounds>>);

/// What an observer knows of rounds.
#[derive(Clone, Debug)]
pub(super) enum KnownRounds {
    /// Of its own session.
    Own(AskedRounds),
    /// Of whatever others observe, too. There may be replies that none of them has observed.
    Shared(SharedRounds, Option<LastRequest>),
}

/// The last request of an observer that may take several rounds, and its params.
#[derive(Clone, Debug)]
pub(super) struct LastRequest {
    id: RequestId,
    params: Box<str>,
}

impl Default for KnownRounds {
    fn default() -> Self {
        KnownRounds::Own(AskedRounds::default())
    }
}

impl KnownRounds {
    /// What is wrong with a reply that asks for another round, or with a request that is one. `known` says that the observer
    /// has seen all replies before it.
    pub(super) fn fault(
        &mut self,
        protocol: &Protocol,
        message: (MessageIndex, Option<&RequestId>),
        payload: Option<impl RawPayload>,
        known: bool,
    ) -> Option<RoundFault> {
        match self {
            KnownRounds::Own(asked) => asked.fault(protocol, message, payload, known.into()),
            // Most messages have no rounds, and wait for no other observer.
            KnownRounds::Shared(..) if !AskedRounds::concern(protocol, message.0) => None,
            KnownRounds::Shared(shared, last) => {
                if let ((index, Some(id)), Some(params)) = (message, payload)
                    && protocol.message(index).is_some_and(|table| table.rounds.is_some())
                {
                    *last = Some(LastRequest { id: id.clone(), params: params.written().into() });
                }
                let known = if known { Known::OfSameCall } else { Known::Nothing };
                shared.lock().fault(protocol, message, payload, known)
            }
        }
    }

    /// Remembers what an accepted reply asks for.
    pub(super) fn note(
        &mut self,
        protocol: &Protocol,
        reply: (MessageIndex, &RequestId),
        result: Option<impl RawPayload>,
    ) {
        match self {
            KnownRounds::Own(asked) => asked.note(protocol, reply, result, None),
            KnownRounds::Shared(..) if !AskedRounds::concern(protocol, reply.0) => {}
            KnownRounds::Shared(shared, last) => {
                let params = last.as_ref().filter(|last| last.id == *reply.1).map(|last| &*last.params);
                shared.lock().note(protocol, reply, result, params);
            }
        }
    }
}

/// Which replies an observer knows of that may have asked for a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// All of them.
    All,
    /// Others may have asked, too. Where a reply to the same call is remembered that was not answered, that is the one.
    OfSameCall,
    /// Any may have asked.
    Nothing,
}

impl From<bool> for Known {
    fn from(all: bool) -> Known {
        if all { Known::All } else { Known::Nothing }
    }
}

impl SharedRounds {
    fn lock(&self) -> MutexGuard<'_, AskedRounds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What replies have asked for.
///
/// A client may repeat a request at any later time, more than once, or never. So a reply is remembered until others take its
/// room. Where it is not known what was asked, only a round is judged that has the state of a reply which is remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct AskedRounds {
    asked: VecDeque<Asked>,
    has_forgotten: bool,
    hasher: RandomState,
}

/// What one reply has asked for.
#[derive(Clone, Debug)]
struct Asked {
    request: MessageIndex,
    id: RequestId,
    wants: Wants,
    /// The request without what makes it a round, by its hash; nothing where that was not looked at.
    call: Option<u64>,
    is_answered: bool,
}

/// What the next round has to carry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wants {
    /// The state, which may be long, by its hash.
    state: Option<u64>,
    names: BTreeSet<String>,
}

impl AskedRounds {
    /// Whether a message may be a round, or ask for one.
    fn concern(protocol: &Protocol, message: MessageIndex) -> bool {
        let Some(table) = protocol.message(message) else { return false };
        table.rounds.is_some() || asking(protocol, message, table).is_some()
    }

    /// What is wrong with a reply that asks for another round, or with a request that is one.
    fn fault(
        &mut self,
        protocol: &Protocol,
        (message, id): (MessageIndex, Option<&RequestId>),
        payload: Option<impl RawPayload>,
        known: Known,
    ) -> Option<RoundFault> {
        let table = protocol.message(message)?;
        let (rounds, payload) = (table.rounds.as_ref(), payload?);
        if let Some(rounds) = asking(protocol, message, table) {
            let has = |path: &Path| payload.find(path).is_some();
            return (!has(&rounds.given) && !has(&rounds.questions)).then(|| RoundFault::AsksNothing {
                questions: rounds.questions.join("."),
                state: rounds.given.join("."),
            });
        }
        if self.asked.is_empty() {
            return None;
        }
        let known = if self.has_forgotten { Known::Nothing } else { known };
        self.fault_of_repeated((protocol, rounds?), (message, id?), payload, known)
    }

    /// What is wrong with a request that is another round.
    fn fault_of_repeated(
        &mut self,
        (protocol, rounds): (&Protocol, &Rounds),
        (message, id): (MessageIndex, &RequestId),
        payload: impl RawPayload,
        known: Known,
    ) -> Option<RoundFault> {
        let carried = self.wants(payload, &rounds.state, &rounds.answers)?;
        if carried.is_nothing() || known == Known::Nothing && carried.state.is_none() {
            return None;
        }
        let of_request = |asked: &&mut Asked| asked.request == message;
        let mut exact = self.asked.iter_mut().filter(of_request).filter(|asked| asked.wants == carried);
        if let Some(answered) = exact.next() {
            let is_same_id = std::iter::once(&mut *answered).chain(exact).all(|asked| {
                asked.is_answered |= asked.id != *id;
                asked.id == *id
            });
            return is_same_id.then_some(RoundFault::SameId);
        }
        // A state that is known shows which reply is meant, also if another client calls with it.
        let has_state = carried.state.is_some() && self.of(message).any(|it| it.wants.state == carried.state);
        let call = if known == Known::OfSameCall && !has_state {
            Some(self.call(protocol, rounds, payload.written())?)
        } else {
            None
        };
        let is_meant = |asked: &&Asked| call.is_none() || (asked.call, asked.is_answered) == (call, false);
        let asked = || self.of(message).filter(is_meant);
        // What a reply asked for that has a mistake is not known.
        if asked().any(|asked| asked.wants.is_nothing()) {
            return None;
        }
        let path = || rounds.state.join(".");
        let has_same_names = |asked: &&Asked| asked.wants.names == carried.names;
        // The latest reply with the same state, or else the one with the same questions, is the one that is meant.
        if let Some(meant) = asked().find(|asked| asked.wants.state == carried.state) {
            let is_of_another = carried.state.is_none() && asked().any(|asked| has_same_names(&asked));
            return match is_of_another {
                true => Some(RoundFault::NoState { path: path() }),
                false => compare(&meant.wants.names, &carried.names, &rounds.answers),
            };
        }
        if known == Known::Nothing {
            return None;
        }
        let meant = asked().find(has_same_names).or_else(|| asked().next())?;
        Some(match (carried.state, meant.wants.state) {
            (None, _) => RoundFault::NoState { path: path() },
            (Some(_), None) => RoundFault::StateOfNothing { path: path() },
            (Some(_), Some(_)) => RoundFault::OtherState { path: path() },
        })
    }

    /// The replies to a request that are remembered, the latest first.
    fn of(&self, message: MessageIndex) -> impl Iterator<Item = &Asked> {
        self.asked.iter().rev().filter(move |asked| asked.request == message)
    }

    /// The params of a request without what makes it a round, and without what each request says of itself, by their hash.
    fn call(&self, protocol: &Protocol, rounds: &Rounds, params: &str) -> Option<u64> {
        let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(params).ok()?;
        let said = protocol.announcements.iter().filter(|place| place.message.is_none());
        let heads = said.map(|place| &place.path).chain([&rounds.state, &rounds.answers]);
        for head in heads.filter_map(|path| path.first()) {
            members.remove(&**head);
        }
        let members: Vec<(&String, &str)> = members.iter().map(|(key, value)| (key, value.get())).collect();
        Some(self.hasher.hash_one(members))
    }

    /// Remembers what an accepted reply asks for; with the params of its request, where others may have asked, too.
    fn note(
        &mut self,
        protocol: &Protocol,
        (message, id): (MessageIndex, &RequestId),
        result: Option<impl RawPayload>,
        params: Option<&str>,
    ) {
        let Some(table) = protocol.message(message) else { return };
        let (Some(rounds), Some(result)) = (asking(protocol, message, table), result) else { return };
        let Kind::Reply { request } = table.kind else { return };
        let call = params.and_then(|params| {
            let rounds = protocol.message(request)?.rounds.as_ref()?;
            self.call(protocol, rounds, params)
        });
        let wants = self.wants(result, &rounds.given, &rounds.questions);
        let length = |wants: &Wants| wants.names.iter().map(String::len).sum::<usize>();
        let is_short = |wants: &Wants| wants.names.len() <= MOST_QUESTIONS && length(wants) <= LONGEST_NAMES;
        let wants = wants.filter(is_short).unwrap_or_else(|| Wants { state: None, names: BTreeSet::new() });
        // Where others may ask, each request stands for itself, and many have the same id: what is asked again is asked once more.
        let is_same = |asked: &Asked| {
            (asked.request, &asked.id, &asked.wants, asked.call) == (request, id, &wants, call)
        };
        if call.is_some() {
            self.asked.retain(|asked| !is_same(asked));
        }
        if self.asked.len() == REMEMBERED {
            self.asked.pop_front();
            self.has_forgotten = true;
        }
        self.asked.push_back(Asked { request, id: id.clone(), wants, call, is_answered: false });
    }

    /// What stands at the two paths; nothing if it is not a text and an object.
    fn wants(&self, payload: impl RawPayload, state: &Path, names: &Path) -> Option<Wants> {
        let state = match payload.find(state) {
            Some(state) => Some(serde_json::from_str::<String>(state.written()).ok()?),
            None => None,
        };
        let names: BTreeMap<String, IgnoredAny> = match payload.find(names) {
            Some(object) => serde_json::from_str(object.written()).ok()?,
            None => BTreeMap::new(),
        };
        let state = state.map(|state| self.hasher.hash_one(state));
        Some(Wants { state, names: names.into_keys().collect() })
    }
}

impl Wants {
    fn is_nothing(&self) -> bool {
        self.state.is_none() && self.names.is_empty()
    }
}

/// How a request takes rounds, if the message is the reply that asks for another one.
fn asking<'p>(protocol: &'p Protocol, message: MessageIndex, table: &Message) -> Option<&'p Rounds> {
    let Kind::Reply { request } = table.kind else { return None };
    protocol.message(request)?.rounds.as_ref().filter(|rounds| rounds.reply == message)
}

/// The first difference between what was asked and what is answered.
fn compare(questions: &BTreeSet<String>, answers: &BTreeSet<String>, path: &Path) -> Option<RoundFault> {
    let path = path.join(".");
    if let Some(question) = questions.difference(answers).next() {
        return Some(RoundFault::NotAnswered { path, question: question.clone() });
    }
    let question = answers.difference(questions).next()?.clone();
    Some(RoundFault::NotAsked { path, question })
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{Condition, Text};

    use super::*;

    const ASK: MessageIndex = MessageIndex(0);
    const MORE: MessageIndex = MessageIndex(1);
    static STATE: [Text; 1] = [Text::Borrowed("state")];
    static ANSWERS: [Text; 1] = [Text::Borrowed("answers")];
    static QUESTIONS: [Text; 1] = [Text::Borrowed("questions")];
    static MESSAGES: [Message; 2] = [
        Message::request("Ask", "ask").rounds(MORE, (&STATE, &STATE), (&ANSWERS, &QUESTIONS)),
        Message::reply("More", ASK).when(Condition::present(&QUESTIONS)),
    ];
    static PROTOCOL: Protocol = Protocol::table("Rounds", &MESSAGES);

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    fn note(asked: &mut AskedRounds, number: i64, result: &str) {
        asked.note(&PROTOCOL, (MORE, &id(number)), Some(result), None);
    }

    fn fault(asked: &mut AskedRounds, params: &str) -> Option<RoundFault> {
        asked.fault(&PROTOCOL, (ASK, Some(&id(-1))), Some(params), Known::All)
    }

    #[test]
    fn a_round_may_answer_any_reply_and_more_than_once() {
        let mut asked = AskedRounds::default();
        note(&mut asked, 1, r#"{"state":"a","questions":{"x":1}}"#);
        note(&mut asked, 2, r#"{"state":"b","questions":{"y":1}}"#);
        let first = r#"{"state":"a","answers":{"x":2}}"#;
        assert_eq!((fault(&mut asked, first), fault(&mut asked, first)), (None, None));
        assert_eq!(fault(&mut asked, r#"{"state":"b","answers":{"y":2}}"#), None);
        // That of another reply.
        let path = "answers".to_owned();
        let question = "y".to_owned();
        let missing = RoundFault::NotAnswered { path, question };
        assert_eq!(fault(&mut asked, r#"{"state":"b","answers":{"x":2}}"#), Some(missing));
        assert_eq!(fault(&mut asked, "{}"), None);
        let same = asked.fault(&PROTOCOL, (ASK, Some(&id(1))), Some(first), Known::All);
        assert_eq!(same, Some(RoundFault::SameId));
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let mut asked = AskedRounds::default();
        let other = r#"{"state":"z"}"#;
        assert_eq!(fault(&mut asked, other), None);
        note(&mut asked, 0, r#"{"state":"a"}"#);
        assert_eq!(fault(&mut asked, other), Some(RoundFault::OtherState { path: "state".to_owned() }));
        assert_eq!(asked.fault(&PROTOCOL, (ASK, Some(&id(9))), Some(other), Known::Nothing), None);
        // What has the state of a reply that was seen answers that one.
        let same = r#"{"state":"a","answers":{"x":1}}"#;
        let question = ("answers".to_owned(), "x".to_owned());
        let mut fault_unknown =
            |text| asked.fault(&PROTOCOL, (ASK, Some(&id(9))), Some(text), Known::Nothing);
        let not_asked = RoundFault::NotAsked { path: question.0, question: question.1 };
        assert_eq!(fault_unknown(same), Some(not_asked));
        assert_eq!(fault_unknown(r#"{"answers":{"x":1}}"#), None);
        assert_eq!(fault_unknown(r#"{"state":"a"}"#), None);
        for number in 1..=300 {
            note(&mut asked, number, &format!(r#"{{"state":"{number}"}}"#));
        }
        assert_eq!((asked.asked.len(), fault(&mut asked, other)), (REMEMBERED, None));
        let many: Vec<String> = (0..100).map(|number| format!(r#""{number}":1"#)).collect();
        let mut asked = AskedRounds::default();
        note(&mut asked, 0, r#"{"state":"a"}"#);
        note(&mut asked, 1, &format!(r#"{{"questions":{{{}}}}}"#, many.join(",")));
        assert_eq!(fault(&mut asked, other), None);
        for unreadable in ["{}", r#"{"state":1}"#, r#"{"questions":[1]}"#] {
            let mut asked = AskedRounds::default();
            note(&mut asked, 0, r#"{"state":"a"}"#);
            note(&mut asked, 1, unreadable);
            assert_eq!(fault(&mut asked, other), None, "{unreadable}");
        }
    }
}
