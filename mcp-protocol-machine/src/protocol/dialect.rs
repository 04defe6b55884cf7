//! [`Dialect`]: which JSON-RPC the messages of a protocol are.

/// Which JSON-RPC messages are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// JSON-RPC 2.0.
    #[default]
    Standard,
    /// JSON-RPC 2.0 without the member `jsonrpc`: it is not demanded, and not written.
    WithoutJsonrpc,
    /// JSON-RPC 1.0: a reply has a `result` and an `error`, one of which is `null`, a notification has the id `null`, and
    /// params are always there.
    Version1,
}
