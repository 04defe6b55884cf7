//! A server that does not speak the revision without a handshake: what a log has after that belongs to a session.

use mcp_runtime::observer::{Observed, ObservedKind};
use mcp_runtime::protocol::Side;

use crate::eras::Era;

/// Whether the server has refused each request that stands for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// None has its reply.
    #[default]
    Unknown,
    /// Each has its reply, which is an error.
    Refused,
    /// One has a result: the server speaks the revision.
    Spoken,
}

impl Fallback {
    /// A message of the connection was judged.
    pub(crate) fn note(&mut self, era: Era, observed: &Observed) {
        if era != Era::Stateless || *self == Fallback::Spoken || observed.step.is_none() {
            return;
        }
        *self = match (observed.sender, observed.kind) {
            (Side::Server, ObservedKind::Result) => Fallback::Spoken,
            (Side::Server, ObservedKind::Error) => Fallback::Refused,
            (Side::Client, ObservedKind::Request) => Fallback::Unknown,
            _ => return,
        };
    }
}
