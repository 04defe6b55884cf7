//! Ids that are used again. An id tells exchanges apart and means nothing else: where it is used again only once its
//! exchange is over and nothing names it any more, the checker says what it says of ids that are all different.

use std::collections::{HashMap, HashSet};

use mcp_protocol_machine::protocol::{KeyPlace, Kind, Protocol, Side};
use mcp_protocol_machine::{Checker, RequestId, ViolationKind};

use crate::event::Event;

/// An exchange: who asks, and the id.
type Name = (Side, RequestId);

/// What the ids of a session become.
struct Renaming {
    /// Where in the session an exchange is named for the last time.
    last: HashMap<Name, usize>,
    /// The new ids of the exchanges that have begun.
    names: HashMap<Name, RequestId>,
    /// Those that have their reply, and were never cancelled.
    answered: HashSet<Name>,
}

impl Renaming {
    fn new(protocol: &Protocol, seen: &[Event]) -> Renaming {
        let named =
            seen.iter().enumerate().filter_map(|(place, event)| Some((name(protocol, event)?, place)));
        Renaming { last: named.collect(), names: HashMap::new(), answered: HashSet::new() }
    }

    /// The new ids that are free at a place, in the order in which they were first used.
    fn free(&self, asker: Side, place: usize) -> Option<RequestId> {
        let names = || self.names.iter().filter(|((by, _), _)| *by == asker);
        let is_over = |name: &Name| {
            self.answered.contains(name) && self.last.get(name).is_some_and(|last| *last < place)
        };
        let taken: HashSet<&RequestId> =
            names().filter(|(name, _)| !is_over(name)).map(|(_, new)| new).collect();
        names().map(|(_, new)| new).filter(|new| !taken.contains(new)).min().cloned()
    }
}

/// The exchange that a message is about.
fn name(protocol: &Protocol, event: &Event) -> Option<Name> {
    match protocol.message(event.message)?.kind {
        Kind::Request => Some((event.from, event.id.clone()?)),
        Kind::Notification => Some((event.from, event.about.clone()?)),
        Kind::Reply { .. } | Kind::Refusal { .. } => Some((event.from.other(), event.id.clone()?)),
    }
}

/// The session that two programs have said, once as it is and once with ids that are used again. Returns how many were.
///
/// # Errors
/// The place where the two are judged differently, and how.
pub(crate) fn judge_again(protocol: &Protocol, side: Side, seen: &[Event]) -> Result<u64, (usize, String)> {
    let by_id = protocol.messages.iter().flat_map(|message| message.keys.iter());
    if by_id.into_iter().any(|key| key.place == KeyPlace::Id) {
        // The id is a value of a key there, so it does mean something.
        return Ok(0);
    }
    let mut reusing = protocol.clone();
    reusing.reuses_ids = true;
    let mut once = Checker::new(protocol.clone(), side).unwrap();
    let mut again = Checker::new(reusing, side).unwrap();
    let mut renaming = Renaming::new(protocol, seen);
    let mut reused = 0;
    for (place, event) in seen.iter().enumerate() {
        let Ok(expected) = event.feed(&mut once, protocol) else { return Ok(reused) };
        let mut renamed = event.clone();
        let name = name(protocol, event);
        if let Some(name) = &name {
            let kind = protocol.message(event.message).unwrap().kind;
            if kind == Kind::Request {
                let free = renaming.free(event.from, place);
                // What a request has opened may go on after its reply, and holds the id.
                let is_held = |id: &RequestId| {
                    let tried = Event { id: Some(id.clone()), ..event.clone() };
                    let outcome = tried.feed(&mut again.clone(), protocol);
                    outcome.is_err_and(|violation| {
                        matches!(violation.kind, ViolationKind::DuplicateId { running: Some(_) })
                    })
                };
                let free = free.filter(|id| !is_held(id));
                reused += u64::from(free.is_some());
                renaming.names.insert(name.clone(), free.unwrap_or_else(|| name.1.clone()));
            }
            let new = renaming.names.get(name).cloned();
            match kind {
                Kind::Notification => {
                    renaming.answered.remove(name);
                    renamed.about = new.or(renamed.about);
                }
                Kind::Request => renamed.id = new,
                Kind::Reply { .. } | Kind::Refusal { .. } => {
                    renaming.answered.insert(name.clone());
                    renamed.id = new.or(renamed.id);
                }
            }
        }
        match renamed.feed(&mut again, protocol) {
            Ok(got) if (got.kind, got.sub_session) == (expected.kind, expected.sub_session) => {}
            got => return Err((place, format!("{expected:?}, and with ids that are used again: {got:?}"))),
        }
    }
    Ok(reused)
}
