//! Bodies that stand in one another: whose keys are whose, and what is found by which.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use mcp_protocol_machine::protocol::{Direction, KeyIndex, Kind, MessageIndex};

use super::memory::recalled;
use super::{Alphabet, Around, Place, Program, Reading};

impl Reading<'_> {
    /// Finds out where each body stands that the role can come to.
    pub(super) fn find_opened(&self) -> HashMap<Place, Around> {
        let mut opened: HashMap<Place, Around> = HashMap::new();
        let mut waiting = vec![(None, self.start(), HashSet::new())];
        while let Some((outer, start, keys)) = waiting.pop() {
            for body in self.opened_from(start) {
                let around = opened.entry(body).or_default();
                let known = (around.bodies.len(), around.keys.len());
                around.bodies.insert(outer);
                around.keys.extend(&keys);
                if known != (around.bodies.len(), around.keys.len()) {
                    let within = keys.union(&self.own_keys(body)).copied().collect();
                    waiting.push((Some(body), self.sub_session(body), within));
                }
            }
        }
        opened
    }

    /// Whether some body stands in another one.
    pub(crate) fn is_nested(&self) -> bool {
        self.opened.values().any(|around| around.bodies.iter().any(Option::is_some))
    }

    /// Whether one more channel of a program is at its end, and sub-sessions within it could go on otherwise: they end with
    /// the last one.
    pub(crate) fn ends_inner(&self, before: &Program, after: &Program) -> bool {
        let nests = after.body.is_some_and(|body| !self.within(body).is_empty());
        nests && self.ended(after) > self.ended(before)
    }

    /// The keys that a message carries.
    pub(super) fn keys(&self, message: MessageIndex) -> impl Iterator<Item = KeyIndex> {
        let carried = &self.resolution.declarations.messages[usize::from(message.0)].table.keys;
        carried.iter().map(|carried| carried.key)
    }

    /// The keys that the messages of a body carry, without those of the bodies within it.
    fn own_keys(&self, body: Place) -> HashSet<KeyIndex> {
        let first = self.first_steps(&[body]).into_iter().map(|(_, step)| step.message);
        let said: HashSet<MessageIndex> =
            first.chain(self.later(body).iter().map(|(_, message)| *message)).collect();
        let replies = said.iter().filter(|message| self.kind(**message) == Kind::Request);
        let replies = replies.flat_map(|request| self.resolution.declarations.replies(*request));
        let replies: Vec<MessageIndex> = replies.collect();
        said.into_iter().chain(replies).flat_map(|message| self.keys(message).collect::<Vec<_>>()).collect()
    }

    /// Whether a key belongs to a body around one.
    pub(crate) fn is_key_around(&self, body: Place, key: KeyIndex) -> bool {
        self.opened.get(&body).is_some_and(|around| around.keys.contains(&key))
    }

    /// The bodies that stand in one.
    fn within(&self, outer: Place) -> Vec<Place> {
        let inner = self.opened.iter().filter(|(_, around)| around.bodies.contains(&Some(outer)));
        inner.map(|(body, _)| *body).collect()
    }

    /// Whether a message opens sub-sessions within those of a body.
    pub(crate) fn opens_within(&self, outer: Place, of: (Direction, MessageIndex)) -> bool {
        let mut first = self.first_steps(&self.within(outer)).into_iter();
        first.any(|(_, step)| (step.direction, step.message) == of)
    }

    /// The requests and notifications that a sub-session may have after its first message, and those of the sub-sessions
    /// within it.
    pub(crate) fn all_later(&self, body: Place) -> Alphabet {
        recalled(&self.memory.all_later, body, || {
            let mut later = HashSet::clone(&self.later(body));
            for inner in self.within(body) {
                later.extend(
                    self.first_steps(&[inner]).into_iter().map(|(_, step)| (step.direction, step.message)),
                );
                later.extend(self.all_later(inner).iter());
            }
            Rc::new(later)
        })
    }

    /// Whether keys tie the steps of a body together; what nothing follows holds no value.
    pub(crate) fn is_keyed(&self, body: Place) -> bool {
        let is_keyed =
            || self.all_later(body).iter().any(|(_, message)| self.keys(*message).next().is_some());
        recalled(&self.memory.keyed, body, is_keyed)
    }

    /// Whether values of keys that sub-sessions of two bodies hold are in one space: a later message of both is found
    /// by its value alone, or there are bodies between them with which they share one. Bodies that stand in different
    /// ones share nothing.
    pub(crate) fn shares_keys(&self, one: Place, other: Place) -> bool {
        recalled(&self.memory.sharing, one, || Rc::new(self.sharing(one))).contains(&other)
    }

    /// The bodies with which one shares a space of values.
    fn sharing(&self, one: Place) -> HashSet<Place> {
        let (mut seen, mut waiting) = (HashSet::from([one]), vec![one]);
        while let Some(body) = waiting.pop() {
            let later = self.all_later(body);
            let next = self.bodies().filter(|next| {
                let side_by_side = match (self.opened.get(&body), self.opened.get(next)) {
                    (Some(one), Some(other)) => !one.bodies.is_disjoint(&other.bodies),
                    _ => true,
                };
                side_by_side && self.is_keyed(*next) && !self.all_later(*next).is_disjoint(&later)
            });
            waiting.extend(next.filter(|next| seen.insert(*next)));
        }
        seen
    }
}
