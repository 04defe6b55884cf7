//! What can be reached from a place: messages and the end.

use std::collections::HashSet;
use std::rc::Rc;

use mcp_protocol_compiler::ast::Operator;
use mcp_protocol_compiler::declarations::Meaning;
use mcp_protocol_machine::protocol::{Direction, MessageIndex};

use super::memory::recalled;
use super::{Alphabet, Branch, Closing, Node, Place, Program, Reading, Thread};

impl Reading<'_> {
    /// Whether nothing is left of a sub-session.
    pub(crate) fn is_over(&self, program: &Program) -> bool {
        // One that has gone on with `*` alone has no channel that could end.
        self.ended(program) == program.threads.len()
            && (!program.threads.is_empty() || program.stars.is_empty())
    }

    /// How many channels of a program are at their end.
    pub(crate) fn ended(&self, program: &Program) -> usize {
        program.threads.iter().filter(|thread| self.has_ended(thread)).count()
    }

    /// Whether a channel is at its end.
    pub(crate) fn has_ended(&self, thread: &Thread) -> bool {
        matches!(self.nodes[thread.at], Node::End)
    }

    /// Whether a thread could still come to a message; requests stand for their replies.
    pub(crate) fn concerns(&self, thread: &Thread, of: (Direction, MessageIndex)) -> bool {
        thread.asked.iter().any(|asked| (asked.direction, asked.request) == of)
            || self.alphabet(thread.at).contains(&of)
    }

    /// The requests and notifications that can come from a place on.
    pub(crate) fn alphabet(&self, from: Place) -> Alphabet {
        recalled(&self.memory.alphabets, from, || Rc::new(self.said_from(from)))
    }

    fn said_from(&self, from: Place) -> HashSet<(Direction, MessageIndex)> {
        let (mut found, mut seen, mut waiting) = (HashSet::new(), HashSet::new(), vec![from]);
        while let Some(place) = waiting.pop() {
            if !seen.insert(place) {
                continue;
            }
            match &self.nodes[place] {
                Node::Reference(to) => waiting.push(*to),
                Node::Parallel(parts) => waiting.extend(parts),
                Node::Choice(branches, _) => {
                    for branch in branches {
                        match branch {
                            Branch::Other(inner) => waiting.push(*inner),
                            Branch::Action { direction, name, next, .. } => {
                                waiting.push(*next);
                                match self.resolution.names.get(name) {
                                    Some(Meaning::Message(message)) => {
                                        found.insert((*direction, *message));
                                    }
                                    Some(Meaning::Group(members)) => {
                                        found.extend(members.iter().map(|message| (*direction, *message)));
                                    }
                                    None => {}
                                }
                            }
                        }
                    }
                }
                // What opens a sub-session moves no thread.
                Node::Star(_) | Node::End | Node::Pending => {}
            }
        }
        found
    }

    /// Whether two places have the same text behind them, branch by branch.
    pub(crate) fn is_same_text(&self, one: Place, other: Place) -> bool {
        let (mut seen, mut waiting) = (HashSet::new(), vec![(one, other)]);
        while let Some((one, other)) = waiting.pop() {
            let (one, other) = (self.settle(one), self.settle(other));
            if one == other || !seen.insert((one, other)) {
                continue;
            }
            match (&self.nodes[one], &self.nodes[other]) {
                (Node::End, Node::End) => {}
                (Node::Star(one), Node::Star(other)) => waiting.push((*one, *other)),
                (Node::Parallel(one), Node::Parallel(other)) if one.len() == other.len() => {
                    waiting.extend(one.iter().copied().zip(other.iter().copied()));
                }
                (Node::Choice(one, by_one), Node::Choice(other, by_other))
                    if one.len() == other.len() && by_one == by_other =>
                {
                    for pair in one.iter().zip(other) {
                        match pair {
                            (Branch::Other(one), Branch::Other(other)) => waiting.push((*one, *other)),
                            (
                                Branch::Action { direction, name, next, .. },
                                Branch::Action { direction: way, name: word, next: then, .. },
                            ) if (direction, name) == (way, word) => waiting.push((*next, *then)),
                            _ => return false,
                        }
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// Who may close at a thread's place, this role or the other, and whether its channel can end.
    pub(crate) fn closing(&self, thread: &Thread) -> Closing {
        let (mut own, mut peer) = (false, false);
        self.ends(thread.at, &mut own, &mut peer);
        Closing {
            over: self.has_ended(thread),
            own,
            peer,
            // A refusal leads back, and perhaps another way.
            reaches: self.reaches_end(thread.at)
                || thread.asked.iter().any(|asked| self.reaches_end(asked.back)),
        }
    }

    fn ends(&self, place: Place, own: &mut bool, peer: &mut bool) {
        let Node::Choice(branches, operator) = &self.nodes[place] else { return };
        for branch in branches {
            let Branch::Other(inner) = branch else { continue };
            let inner = self.settle(*inner);
            match (&self.nodes[inner], operator) {
                (Node::End, Some(Operator::External)) => *peer = true,
                (Node::End, _) => *own = true,
                _ => self.ends(inner, own, peer),
            }
        }
    }

    fn reaches_end(&self, from: Place) -> bool {
        let (mut seen, mut waiting) = (HashSet::new(), vec![from]);
        while let Some(place) = waiting.pop() {
            if !seen.insert(place) {
                continue;
            }
            match &self.nodes[place] {
                Node::End => return true,
                Node::Reference(to) => waiting.push(*to),
                Node::Parallel(parts) => waiting.extend(parts),
                Node::Choice(branches, _) => waiting.extend(branches.iter().map(|branch| match branch {
                    Branch::Other(inner) => *inner,
                    Branch::Action { next, .. } => *next,
                })),
                Node::Star(_) | Node::Pending => {}
            }
        }
        false
    }
}
