//! Which of the successive server-side sessions a message belongs to.

use std::num::NonZeroU64;

/// Which of the successive server-side sessions a message belongs to.
///
/// A session starts in [`Epoch::FIRST`]. When the peer has lost the session and the transport reconnects, the next
/// epoch begins: what a program still says for an earlier one is refused, and what still arrives from it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(
    // Counted from one, so that an `Option<Epoch>` has the size of an `Epoch`.
    NonZeroU64,
);

impl Epoch {
    /// The epoch of a session that has not reconnected.
    pub const FIRST: Epoch = Epoch(NonZeroU64::MIN);

    /// Returns the epoch that begins with the next reconnection.
    #[must_use]
    pub fn next(self) -> Epoch {
        Epoch(self.0.saturating_add(1))
    }
}

impl Default for Epoch {
    fn default() -> Epoch {
        Epoch::FIRST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_epoch_is_a_later_one() {
        assert_eq!(Epoch::default(), Epoch::FIRST);
        assert!(Epoch::FIRST < Epoch::FIRST.next());
        assert_eq!(size_of::<Option<Epoch>>(), size_of::<Epoch>());
    }
}
