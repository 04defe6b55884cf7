//! Both sides go through one linear channel, of a session or of a sub-session.

use super::linear::{Branch, Linear, Message, Side, Then};
use super::program::Program;
use crate::random::Random;

/// Both sides wait here, so that neither ends the session while the other one needs it.
pub(crate) const WAIT: &str = "        both.wait().await;\n";
pub(crate) const CLOSE: &str = "        both.wait().await;\n        session.close().await.unwrap();\n";

#[derive(Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) channel: &'a Linear,
    /// The state in which it is, or the end.
    pub(crate) at: Option<usize>,
    /// The number that the last message carried.
    pub(crate) value: usize,
    /// Whether the sides may wait for each other in it: nothing goes on next to it then.
    pub(crate) crosses: bool,
}

impl Pair<'_> {
    /// Writes one message with its reply, if there is one. Returns whether the session is still open.
    pub(crate) fn step<'p>(
        &mut self,
        client: &mut Program<'p>,
        server: &mut Program<'p>,
        random: &mut Random,
    ) -> bool {
        let Some(number) = self.at else { return true };
        let state = &self.channel.states[number];
        self.has_what_the_file_says(number, client);
        self.has_what_the_file_says(number, server);
        let sides = |by| match by {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        if state.may_close && random.percent(20) {
            let (sender, receiver) = sides(state.by);
            sender.code += CLOSE;
            receiver.code += WAIT;
            receiver.next("Closed", 0);
            return false;
        }
        self.value += 2;
        if self.crosses
            && random.percent(50)
            && let Some((first, other)) = self.crossing(number, random)
        {
            self.at = self.cross((first, other), number, sides(first.by), random);
            return true;
        }
        let branch = random.one(&state.branches).unwrap();
        self.at = self.exchange(branch, number, sides(branch.by), random);
        true
    }

    /// A side has the methods of what the file permits in this state, and no others.
    fn has_what_the_file_says(&self, at: usize, program: &Program<'_>) {
        let state = &self.channel.states[at];
        let own = |branch: &&Branch| branch.by == program.side;
        let name = |branch: &Branch| self.channel.messages[branch.message].name.clone();
        let sends = state.branches.iter().filter(own).map(|branch| format!("send{}", name(branch)));
        let mut methods: Vec<String> = sends.collect();
        let whole = |branch: &&Branch| own(branch) && self.channel.is_a_call(at, branch.then);
        methods.extend(state.branches.iter().filter(whole).map(name));
        let received = state.branches.iter().filter(|branch| !own(branch));
        let received: Vec<String> = received.map(|branch| format!("recv{}", name(branch))).collect();
        let closes = state.may_close && state.by == program.side;
        let closed = state.may_close && !closes;
        methods.extend((received.len() + usize::from(closed) > 1).then(|| "next".to_owned()));
        methods.extend(received);
        methods.extend(closes.then(|| "close".to_owned()));
        program.has(methods);
    }

    /// One message from this state of the file, with its reply or its refusal; the state after it.
    fn exchange(
        &self,
        branch: &Branch,
        here: usize,
        (sender, receiver): (&mut Program<'_>, &mut Program<'_>),
        random: &mut Random,
    ) -> Option<usize> {
        let Message { name, reply, .. } = &self.channel.messages[branch.message];
        let value = self.value;
        let send = format!("send{name}");
        let reply = reply.as_ref().map_or("", |(reply, _)| reply);
        let refuses = random.percent(30);
        let before = sender.state.clone();
        match branch.then {
            Then::State(next) => {
                sender.call(&send, value);
                receiver.receive(name, value, random);
                next
            }
            Then::Reply(next) => {
                receiver.receive(name, value, random);
                receiver.has([format!("send{reply}"), "refuse".to_owned()]);
                let in_one = random.percent(50);
                if !in_one {
                    sender.call(&send, value);
                    // Another state may wait for the same with the refusal written, which gives both `next`.
                    let next = sender.find("next").map(|(name, _)| name);
                    sender.has([format!("recv{reply}")].into_iter().chain(next));
                }
                let call = if in_one { name.clone() } else { format!("recv{reply}") };
                if refuses {
                    receiver.call("refuse", value);
                    sender.refused(&call, value);
                    assert_eq!(sender.state, before, "a refusal leads back");
                    return Some(here);
                }
                receiver.call(&format!("send{reply}"), value);
                sender.call(&call, value);
                next
            }
            Then::ReplyOrError(next, None)
                if self.channel.is_a_call(here, branch.then) && random.percent(50) =>
            {
                if refuses {
                    sender.refused_for_good(name, value);
                } else {
                    sender.call(name, value);
                }
                receiver.receive(name, value, random);
                receiver.call(&if refuses { "refuse".to_owned() } else { format!("send{reply}") }, value);
                if refuses { None } else { next }
            }
            Then::ReplyOrError(next, refused) => {
                sender.call(&send, value);
                receiver.receive(name, value, random);
                receiver.has([format!("send{reply}"), "refuse".to_owned()]);
                sender.has([format!("recv{reply}"), "next".to_owned()]);
                if refuses {
                    receiver.call("refuse", value);
                    sender.next(&format!("{name}Error"), value);
                    refused
                } else {
                    receiver.call(&format!("send{reply}"), value);
                    sender.receive(reply, value, random);
                    next
                }
            }
        }
    }
}
