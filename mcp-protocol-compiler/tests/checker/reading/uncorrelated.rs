//! Bodies for uncorrelated steps of sub-sessions with an open key.

use std::collections::HashSet;
use std::rc::Rc;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::memory::recalled;
use super::{Alphabet, Branch, Move, Node, Place, Program, Reading};

impl Reading<'_> {
    /// Writes down what each step is that may be uncorrelated.
    pub(super) fn find_uncorrelated(&mut self) {
        let bodies: Vec<Place> = self.bodies().collect();
        let first = self.first_steps(&bodies).into_iter();
        let opens: HashSet<(Direction, MessageIndex)> =
            first.map(|(_, step)| (step.direction, step.message)).collect();
        let mut steps: Vec<(Direction, MessageIndex)> = bodies
            .iter()
            .flat_map(|body| {
                self.later(*body)
                    .iter()
                    .copied()
                    .filter(|step| self.is_open(*body, step.1))
                    .collect::<Vec<_>>()
            })
            .filter(|step| !opens.contains(step))
            .collect();
        steps.sort_unstable();
        steps.dedup();
        for (direction, message) in steps {
            let name = self.resolution.declarations.messages[usize::from(message.0)].table.name.to_string();
            let mut next = self.add(Node::End);
            if self.kind(message) == Kind::Request {
                let reply = "reply".to_owned();
                let branch = Branch::Action { direction: direction.flip(), name: reply, next, rule: None };
                next = self.add(Node::Choice(vec![branch], None));
            }
            let branch = Branch::Action { direction, name, next, rule: None };
            let body = self.add(Node::Choice(vec![branch], None));
            self.uncorrelated.insert((direction, message), body);
        }
    }

    /// The steps that may be uncorrelated where sub-sessions can be opened, with these first steps.
    pub(super) fn uncorrelated_bodies(&self, openers: &[(Place, Move)]) -> Vec<(Place, Move)> {
        if self.uncorrelated.is_empty() {
            return Vec::new();
        }
        let later = openers.iter().map(|(body, step)| self.after(*body, step));
        let mut places: Vec<Place> = later.flat_map(|later| self.uncorrelated_of(&later)).collect();
        places.sort_unstable();
        places.dedup();
        self.first_steps(&places)
    }

    /// Whether a program may no longer send something that is uncorrelated, once it has come to be another.
    pub(crate) fn loses_uncorrelated(&self, before: &Program, after: &Program, own: Direction) -> bool {
        if self.uncorrelated.is_empty() {
            return false;
        }
        let sent = |program: &Program| -> HashSet<MessageIndex> {
            let openers = self.openers(program).into_iter();
            let own = openers.filter(|(body, step)| step.direction == own && self.is_uncorrelated(*body));
            own.map(|(_, step)| step.message).collect()
        };
        !sent(before).is_subset(&sent(after))
    }

    fn uncorrelated_of(&self, steps: &HashSet<(Direction, MessageIndex)>) -> Vec<Place> {
        steps.iter().filter_map(|step| self.uncorrelated.get(step).copied()).collect()
    }

    /// Whether a body is what a step is that is uncorrelated, be it written or not.
    pub(crate) fn is_uncorrelated(&self, body: Place) -> bool {
        recalled(&self.memory.uncorrelated, body, || {
            let is_uncorrelated = |step: &(Direction, MessageIndex)| {
                self.bodies().any(|other| self.is_open(other, step.1) && self.later(other).contains(step))
            };
            let first = self.first_steps(&[body]);
            self.uncorrelated.values().any(|other| *other == body)
                || !self.is_keyed(body)
                    && first.iter().any(|(_, step)| is_uncorrelated(&(step.direction, step.message)))
        })
    }

    /// The requests and notifications that a sub-session may have after its first message, without those of the
    /// sub-sessions within it.
    pub(crate) fn later(&self, body: Place) -> Alphabet {
        recalled(&self.memory.later, body, || {
            let first = self.first_steps(&[body]).into_iter();
            let later = first.flat_map(|(_, step)| self.after(body, &step));
            // A reply that is written by its name is found by the id of its request.
            Rc::new(
                later
                    .filter(|step| matches!(self.kind(step.1), Kind::Request | Kind::Notification))
                    .collect(),
            )
        })
    }

    /// What a sub-session of a body may have after a first step: in the channel of that, and in the others.
    fn after(&self, body: Place, first: &Move) -> HashSet<(Direction, MessageIndex)> {
        let of = |step: Move| (step.direction, step.message) == (first.direction, first.message);
        let threads = self.sub_session(body).threads;
        let others = threads.iter().filter(|thread| !self.moves(thread).into_iter().any(of));
        let places = others.map(|thread| thread.at).chain([first.next]);
        places.flat_map(|place| self.alphabet(place).iter().copied().collect::<Vec<_>>()).collect()
    }

    /// Whether a later message of a body carries an open key that distinguishes sub-sessions of the body.
    fn is_open(&self, body: Place, message: MessageIndex) -> bool {
        let declarations = &self.resolution.declarations;
        let mut carried = declarations.messages[usize::from(message.0)].table.keys.iter();
        carried.any(|carried| {
            let key = &declarations.keys[usize::from(carried.key.0)];
            !self.is_key_around(body, carried.key) && (key.table.open || carried.open)
        })
    }
}
