//! What can be wrong between two roles in one pair of configurations.

use mcp_protocol_machine::protocol::Side;

use super::machine::{Event, Move};

/// One way in which two roles do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disagreement {
    /// A role may send what the other does not accept.
    Unexpected(Move),
    /// A role accepts what the other never sends.
    NeverSent(Move),
    /// Both have the message, but one of them as a step of a linear channel and the other in a `*`.
    LinearAndReplicated { client: Move, server: Move },
    /// A role may close where the other does not say so.
    MayNotClose(Side),
    /// A role says that the other may close, which it may not.
    NeverCloses(Side),
    /// A role may go on with sub-sessions where the other has them rest.
    GoesOn(Side),
    /// One role suspends sub-sessions where the other may go on with them.
    NeverGoesOn(Side),
    /// The server waits for one of these, and the client sends none.
    Silent(Vec<Move>),
}

impl Disagreement {
    /// The smallest is reported first: what breaks a session comes before a mere difference, and a missing message
    /// before the right to close, which mostly follows from it.
    fn rank(&self) -> u8 {
        match self {
            Disagreement::LinearAndReplicated { .. } => 0,
            Disagreement::Unexpected(step) if step.is_linear() => 1,
            Disagreement::Unexpected(_) => 2,
            Disagreement::Silent(_) => 3,
            Disagreement::NeverSent(step) if step.is_linear() => 4,
            Disagreement::GoesOn(_) => 5,
            Disagreement::MayNotClose(_) => 6,
            Disagreement::NeverSent(_) => 7,
            Disagreement::NeverGoesOn(_) => 8,
            Disagreement::NeverCloses(_) => 9,
        }
    }

    /// Keeps the one that is reported first; the earlier one among equals.
    pub(super) fn keep(best: &mut Option<Disagreement>, next: Disagreement) {
        if best.as_ref().is_none_or(|known| next.rank() < known.rank()) {
            *best = Some(next);
        }
    }
}

/// The moves of one event: the client's, the server's, or both.
pub(super) struct Matched {
    pub(super) event: Event,
    pub(super) client: Option<Move>,
    pub(super) server: Option<Move>,
}

/// Puts the moves of both roles together, event by event.
pub(super) fn matched(client: &[Move], server: &[Move]) -> Vec<Matched> {
    let mut matched = Vec::with_capacity(client.len().max(server.len()));
    let (mut client, mut server) = (client.iter().peekable(), server.iter().peekable());
    loop {
        let ahead = (client.peek().map(|step| step.arrow.event), server.peek().map(|step| step.arrow.event));
        let event = match ahead {
            (None, None) => return matched,
            (Some(event), None) | (None, Some(event)) => event,
            (Some(one), Some(other)) => one.min(other),
        };
        let client = client.next_if(|step| step.arrow.event == event).copied();
        let server = server.next_if(|step| step.arrow.event == event).copied();
        matched.push(Matched { event, client, server });
    }
}
