//! The version of the protocol, as far as it is negotiated.

use mcp_protocol_machine::protocol::Text;

/// The version that was asked for, and the one that was agreed on.
///
/// Invariant: a version is asked for only until the reply that announces one has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Negotiation {
    /// The version that this side, or the peer, has asked for.
    requested: Option<Box<str>>,
    agreed: Option<Text>,
}

impl Negotiation {
    /// The version that was agreed on.
    pub(crate) fn agreed(&self) -> Option<&Text> {
        self.agreed.as_ref()
    }

    /// A version was agreed on.
    pub(crate) fn agree(&mut self, version: Option<Text>) {
        self.agreed = version;
    }

    /// A request asks for a version, or for none.
    pub(crate) fn ask(&mut self, version: Option<&str>) {
        self.requested = version.map(Box::from);
    }

    /// The version that a request has asked for, whose reply has not come.
    pub(crate) fn requested(&self) -> Option<&str> {
        self.requested.as_deref()
    }

    /// The reply that announces a version has come, or is sent: the version that its request has asked for.
    pub(crate) fn take_requested(&mut self) -> Option<String> {
        self.requested.take().map(String::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_asked_for_until_the_reply_has_come() {
        let mut negotiation = Negotiation::default();
        negotiation.ask(Some("1"));
        negotiation.ask(Some("2"));
        assert_eq!(negotiation.requested(), Some("2"), "the last one counts");
        assert_eq!(negotiation.take_requested().as_deref(), Some("2"));
        assert_eq!(negotiation.take_requested(), None);
        negotiation.agree(Some("1".into()));
        assert_eq!(negotiation.agreed().map(|version| &**version), Some("1"));
    }
}
