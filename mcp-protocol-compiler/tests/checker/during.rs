//! What is permitted only during certain requests, by the text.

use mcp_protocol_compiler::declarations::Resolution;
use mcp_protocol_machine::protocol::{GateIndex, MessageIndex, Protocol};

use crate::event::Event;

/// Whether a message may be sent while these requests of its receiver run. `around` are those that it is part of, the
/// innermost first: of these the first that is named counts, whatever else runs.
pub(crate) fn permits<'e>(
    resolution: &Resolution,
    message: MessageIndex,
    running: impl Iterator<Item = &'e Event> + Clone,
    around: &[&Event],
) -> bool {
    let declared = resolution.declarations.message(message).map(|message| &message.during);
    declared.into_iter().flatten().all(|during| {
        let is_named = |request: MessageIndex| during.names.iter().any(|(_, all)| all.contains(&request));
        let counts = |request: &Event| request.logs || during.table.condition.is_none();
        match around.iter().find(|request| is_named(request.message)) {
            Some(own) => counts(own),
            None => running.clone().any(|request| is_named(request.message) && counts(request)),
        }
    })
}

/// Whether the params of a request may fit the condition behind some `during`.
pub(crate) fn may_log(protocol: &Protocol, request: MessageIndex) -> bool {
    let during = protocol.gates.iter().filter_map(|gate| gate.during.as_ref());
    during.filter(|during| during.condition.is_some()).any(|during| during.requests.contains(&request))
}

/// The gates that a side can announce.
pub(crate) fn announceable(protocol: &Protocol) -> impl Iterator<Item = GateIndex> {
    let gates = (0_u16..).map(GateIndex).zip(protocol.gates.iter());
    gates.filter(|(_, gate)| gate.during.is_none()).map(|(index, _)| index)
}
