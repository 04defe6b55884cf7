//! The tables of the older revisions that a program also speaks.

use std::sync::OnceLock;

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Protocol, Text};

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
