//! The tables of the older revisions that a program also speaks.

use std::sync::OnceLock;

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Action, Direction, Kind, Protocol, Role, Side, Text};

/// A revision of the protocol that may come to govern the session.
#[derive(Debug)]
pub(crate) struct Revision {
    protocol: ProtocolRef,
    /// The tables of the first protocol that it came to govern, for all the sessions that share these settings.
    governing: OnceLock<(Text, ProtocolRef)>,
}

impl Revision {
    pub(crate) fn new(protocol: ProtocolRef) -> Revision {
        Revision { protocol, governing: OnceLock::new() }
    }

    pub(crate) fn version(&self) -> Option<&str> {
        self.protocol.version.as_deref()
    }

    /// The version, to be kept.
    pub(crate) fn named(&self) -> Option<Text> {
        self.protocol.version.clone()
    }

    /// The method of the request with which a client begins a session, if it begins with one.
    pub(crate) fn begins_with(&self) -> Option<&str> {
        let start = self.protocol.role(Side::Client)?.state(Role::START)?;
        let mut steps = start
            .edges
            .iter()
            .filter(|edge| edge.direction == Direction::Send && matches!(edge.action, Action::Step(_)));
        steps.find_map(|step| {
            let message = self.protocol.message(step.message)?;
            (message.kind == Kind::Request).then_some(&*message.method)
        })
    }

    /// Whether a message has this method.
    pub(crate) fn has_method(&self, method: &str) -> bool {
        self.protocol.by_method(method).next().is_some()
    }

    /// The tables of a protocol, governed by this revision.
    pub(crate) fn governing(&self, protocol: &Protocol) -> ProtocolRef {
        let narrow = || ProtocolRef::from(protocol.governed_by(&self.protocol));
        let own = protocol.version.clone().unwrap_or_default();
        match self.governing.get_or_init(|| (own.clone(), narrow())) {
            (version, governing) if *version == own => governing.clone(),
            _ => narrow(),
        }
    }
}
