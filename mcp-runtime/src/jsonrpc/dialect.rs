//! [`Dialect`]: whether messages say that they are JSON-RPC 2.0.

/// Whether messages have the member `jsonrpc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// They do, as JSON-RPC 2.0 demands.
    Standard,
    /// They are written without it, and need not have it.
    WithoutJsonrpc,
}

impl Dialect {
    /// How a message begins, up to the value of its first own member, `"id"` or `"method"`.
    pub(super) fn start(self, first: &'static str, into: &mut Vec<u8>) {
        into.extend_from_slice(match self {
            Dialect::Standard => br#"{"jsonrpc":"2.0",""#,
            Dialect::WithoutJsonrpc => br#"{""#,
        });
        into.extend_from_slice(first.as_bytes());
        into.extend_from_slice(br#"":"#);
    }
}
