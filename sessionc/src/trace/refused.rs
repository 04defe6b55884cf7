//! Requests that a side refuses as unknown, although it has announced that it answers them.

use mcp_protocol_machine::protocol::{Gate, Holder, Kind, MessageIndex, Payload};
use mcp_runtime::RpcError;
use mcp_runtime::observer::{Observed, ObservedKind, Observer};
use mcp_runtime::protocol::{Protocol, Side};

/// Which sides have announced what they can do, in messages that are in the log.
///
/// Only requests are looked at that need no params: where a side has no method for certain params, it may say so with the
/// same error.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedRequests {
    client: bool,
    server: bool,
}

/// A request that was refused, and the capability that its receiver has announced for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedRequest {
    pub(super) method: String,
    pub(super) capability: String,
}

impl RefusedRequests {
    /// A message was accepted. Returns the request that it refuses.
    pub(super) fn note(&mut self, observed: &Observed, observer: &Observer) -> Option<RefusedRequest> {
        let protocol = observer.protocol();
        let message = observed.message.filter(|_| observed.step.is_some())?;
        for place in protocol.announcements.iter().filter(|place| place.message == Some(message)) {
            *self.has_announced(place.side) = observed.is_clean();
        }
        observed.error.as_ref().filter(|error| error.code == RpcError::METHOD_NOT_FOUND)?;
        let is_seen = *self.has_announced(observed.sender) && observed.kind == ObservedKind::Error;
        let Kind::Refusal { request } = protocol.message(message)?.kind else { return None };
        // The request may have come although nothing was announced that it needs.
        let is_open = is_seen && observer.permits(observed.sender.other(), request);
        refused(protocol, request, observed.sender).filter(|_| is_open)
    }

    /// Messages are missing from the log: another announcement may be among them.
    pub(super) fn missed(&mut self) {
        *self = RefusedRequests::default();
    }

    fn has_announced(&mut self, side: Side) -> &mut bool {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// A request that needs no params, and the first capability of its receiver that it needs in any case.
fn refused(protocol: &Protocol, request: MessageIndex, receiver: Side) -> Option<RefusedRequest> {
    let table = protocol.message(request).filter(|table| table.payload != Payload::Required)?;
    let gates = table.requires.iter().filter(|it| it.condition.is_none());
    let mut of_receiver = gates.filter(|it| match it.holder {
        Holder::Side(side) => side == receiver,
        Holder::Receiver => true,
        Holder::Sender => false,
    });
    let announced = |gate: &&Gate| gate.during.is_none();
    let gate = of_receiver.find_map(|it| protocol.gate(it.gate).filter(announced))?;
    Some(RefusedRequest { method: table.method.to_string(), capability: gate.to_string() })
}
