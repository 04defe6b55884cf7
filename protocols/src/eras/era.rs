//! [`Era`]: whether sessions begin with a handshake.

/// Whether sessions begin with a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// They do: the revisions up to 2025-11-25.
    Handshake,
    /// Each request stands for itself: revision 2026-07-28.
    Requests,
}

/// The revision in which each request stands for itself.
pub(super) const VERSION: &str = "2026-07-28";
