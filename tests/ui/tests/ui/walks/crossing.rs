//! Messages of both sides that cross in a mixed choice.

use super::linear::{Branch, Message, Then};
use super::pair::Pair;
use super::program::Program;
use crate::random::Random;

/// Both sides go on when all that is on its way has arrived.
const SETTLE: &str = "        both.wait().await;
        for _ in 0..100 { tokio::task::yield_now().await; }
        both.wait().await;\n";

impl Pair<'_> {
    /// Two branches that cross: a message of one side, and a notification of the other one, for which a request may not
    /// wait.
    pub(super) fn crossing(&self, here: usize, random: &mut Random) -> Option<(&Branch, &Branch)> {
        let branches = &self.channel.states[here].branches;
        let first = random.one(branches)?;
        let others: Vec<&Branch> = branches
            .iter()
            .filter(|other| other.by != first.by)
            .filter(|other| match (first.then, other.then) {
                (Then::State(_), Then::State(_)) => true,
                (Then::Reply(_), Then::State(next)) => next == Some(here),
                _ => false,
            })
            .collect();
        Some((first, *random.one(&others)?))
    }

    /// Both are sent before either is received; the state after that.
    pub(super) fn cross(
        &self,
        (first, other): (&Branch, &Branch),
        here: usize,
        (ours, theirs): (&mut Program<'_>, &mut Program<'_>),
        random: &mut Random,
    ) -> Option<usize> {
        let value = self.value;
        let Message { name, reply, .. } = &self.channel.messages[first.message];
        ours.call(&format!("send{name}"), value);
        theirs.call(&format!("send{}", self.channel.messages[other.message].name), value);
        let after_other = match other.then {
            Then::State(next) => next,
            _ => unreachable!("it is a notification"),
        };
        match first.then {
            Then::State(next) => {
                let next = self.arrives(other, next, ours, random);
                let same = self.arrives(first, after_other, theirs, random);
                assert!(self.channel.are_alike(next, same), "a race: {next:?} and {same:?}");
                // What is dropped must not come in a later state.
                ours.code += SETTLE;
                theirs.code += SETTLE;
                next
            }
            Then::Reply(next) => {
                let reply = reply.as_ref().map_or("", |(reply, _)| reply);
                theirs.receive(name, value, random);
                // The notification is dropped before it.
                if random.percent(30) {
                    theirs.call("refuse", value);
                    ours.refused(&format!("recv{reply}"), value);
                    Some(here)
                } else {
                    theirs.call(&format!("send{reply}"), value);
                    ours.call(&format!("recv{reply}"), value);
                    next
                }
            }
            Then::ReplyOrError(..) => unreachable!("it is not chosen"),
        }
    }

    /// A message of another state comes in this one, which takes or drops it; the state after that.
    fn arrives(
        &self,
        branch: &Branch,
        at: Option<usize>,
        receiver: &mut Program<'_>,
        random: &mut Random,
    ) -> Option<usize> {
        let branches = at.map_or(&[][..], |at| &self.channel.states[at].branches);
        let same = |other: &&Branch| (other.by, other.message) == (branch.by, branch.message);
        let Some(Branch { then: Then::State(next), .. }) = branches.iter().find(same) else { return at };
        receiver.receive(&self.channel.messages[branch.message].name, self.value, random);
        *next
    }
}
