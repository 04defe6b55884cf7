//! Bodies for uncorrelated steps of sub-sessions with an open key.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::{Branch, Move, Node, Place, Program, Reading};

impl Reading<'_> {
    /// Writes down what each step is that may be uncorrelated.
    pub(super) fn find_uncorrelated(&mut self) {
        let bodies: Vec<Place> = self.bodies().collect();
        let first = self.first_steps(&bodies).into_iter();
        let opens: HashSet<(Direction, MessageIndex)> =
            first.map(|(_, step)| (step.direction, step.message)).collect();
        let mut steps: Vec<(Direction, MessageIndex)> = bodies
            .iter()
            .flat_map(|body| self.later(*body))
            .filter(|step| matches!(self.kind(step.1), Kind::Request | Kind::Notification))
            .filter(|step| self.is_open(step.1) && !opens.contains(step))
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
        let later = openers.iter().map(|(_, step)| self.alphabet(step.next));
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
        let is_uncorrelated = |step: &(Direction, MessageIndex)| {
            self.is_open(step.1) && self.bodies().any(|other| self.later(other).contains(step))
        };
        let first = self.first_steps(&[body]);
        self.uncorrelated.values().any(|other| *other == body)
            || !self.is_keyed(body)
                && first.iter().any(|(_, step)| is_uncorrelated(&(step.direction, step.message)))
    }

    /// Whether keys tie the steps of a body together; what nothing follows holds no value.
    pub(crate) fn is_keyed(&self, body: Place) -> bool {
        let messages = &self.resolution.declarations.messages;
        self.later(body).iter().any(|(_, message)| !messages[usize::from(message.0)].table.keys.is_empty())
    }

    /// The requests and notifications that a sub-session may have after its first message.
    pub(crate) fn later(&self, body: Place) -> HashSet<(Direction, MessageIndex)> {
        let first = self.first_steps(&[body]).into_iter();
        first.flat_map(|(_, step)| self.alphabet(step.next).iter().copied().collect::<Vec<_>>()).collect()
    }

    /// Whether values of keys that sub-sessions of two bodies hold are in one space: a later message of both is found
    /// by its value alone, or there are bodies between them with which they share one.
    pub(crate) fn shares_keys(&self, one: Place, other: Place) -> bool {
        let (mut seen, mut waiting) = (HashSet::from([one]), vec![one]);
        while let Some(body) = waiting.pop() {
            let later = self.later(body);
            let next =
                self.bodies().filter(|next| self.is_keyed(*next) && !self.later(*next).is_disjoint(&later));
            waiting.extend(next.filter(|next| seen.insert(*next)));
        }
        seen.contains(&other)
    }

    fn is_open(&self, message: MessageIndex) -> bool {
        let declarations = &self.resolution.declarations;
        let carried = &declarations.messages[usize::from(message.0)].table.keys;
        carried.iter().any(|carried| declarations.keys[usize::from(carried.key.0)].table.open)
    }
}
