//! What values may send in the states that they are in, which may lag the state on the wire.

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Side, StateIndex};
use mcp_protocol_machine::{Capabilities, Checker, Violation};

use crate::engine::{Engine, Link};

/// Whether a message may be sent now by values in these states, and if not, why.
pub(crate) fn permits(
    link: &Link,
    states: &[StateIndex],
    message: MessageIndex,
    within: &Capabilities,
) -> Result<(), Violation> {
    let here = checker_at(link, states);
    link.with(|engine| may_send(engine, here.as_ref(), message, within))
}

/// What may be sent now by values in these states; nothing if there are none.
pub(crate) fn permitted(link: &Link, states: &[StateIndex], within: &Capabilities) -> Vec<MessageIndex> {
    let Some(here) = checker_at(link, states) else { return Vec::new() };
    link.with(|engine| {
        let messages = link.protocol().indexed().map(|(index, _)| index);
        messages.filter(|message| may_send(engine, Some(&here), *message, within).is_ok()).collect()
    })
}

fn may_send(
    engine: &Engine,
    here: Option<&Checker>,
    message: MessageIndex,
    within: &Capabilities,
) -> Result<(), Violation> {
    engine.lifecycle().not_over(engine.rules(), message)?;
    // What belongs to a running exchange is known at the wire only.
    let wire = engine.rules().checker();
    let is_correlated = wire.protocol().message(message).is_some_and(|message| match message.kind {
        Kind::Reply { .. } | Kind::Refusal { .. } => true,
        Kind::Notification => message.cancels.is_some() || message.reports.is_some(),
        Kind::Request => false,
    });
    let checker = here.filter(|_| !is_correlated).unwrap_or(wire);
    checker.permits_if(Direction::Send, message, within, |_| false)?;
    // A sub-session that could go on may be suspended where the session is.
    wire.sub_sessions_go_on(Direction::Send, message)
}

/// A checker in the states of values, which may lag those of the wire, with the capabilities of the session.
pub(crate) fn checker_at(link: &Link, states: &[StateIndex]) -> Option<Checker> {
    let (first, others) = states.split_first()?;
    link.with(|engine| {
        let checker = engine.rules().checker();
        let protocol = engine.rules().protocol();
        let mut here = Checker::resume_channels(protocol, checker.side(), *first, others).ok()?;
        if checker.is_governed() {
            here.govern(protocol);
        }
        for side in [Side::Client, Side::Server] {
            here.announce(side, checker.capabilities(side).clone());
        }
        Some(here)
    })
}
