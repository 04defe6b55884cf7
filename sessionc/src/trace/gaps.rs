//! Where a log leaves out what a session did: a line that cannot be read, or a message that was not understood.

/// How often a session may go on in another state because of one gap: where something needs what the gap may have
/// announced, and where it may have been a step.
const JUMPS: u8 = 2;

/// The gaps of a session.
///
/// Invariant: a session that has no gap is never judged in another state than its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gaps {
    /// The last line that could not be read.
    unread: Option<u64>,
    /// How often the session may go on in another state yet.
    jumps: u8,
}

impl Gaps {
    /// A line could not be read.
    pub(crate) fn unread(&mut self, line: u64) {
        self.unread = Some(line);
        self.jumps = JUMPS;
    }

    /// A message that was not understood, or that is not in the log, may have moved the session.
    pub(crate) fn may_have_moved(&mut self) {
        self.jumps = JUMPS;
    }

    /// Whether the session may be in another state than it seems to be.
    pub(crate) fn may_jump(&self) -> bool {
        self.jumps > 0
    }

    /// The session goes on in another state. Returns the line that may be why, if one could not be read.
    pub(crate) fn jump(&mut self) -> Option<u64> {
        self.jumps = self.jumps.saturating_sub(1);
        self.unread
    }

    /// Whether a line after this one could not be read.
    pub(crate) fn has_unread_after(&self, line: u64) -> bool {
        self.unread.is_some_and(|unread| unread > line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gap_there_is_no_jump() {
        let gaps = Gaps::default();
        assert!(!gaps.may_jump());
        assert!(!gaps.has_unread_after(0));
    }

    #[test]
    fn each_gap_permits_a_few_jumps() {
        let mut gaps = Gaps::default();
        gaps.unread(7);
        for _ in 0..JUMPS {
            assert!(gaps.may_jump());
            assert_eq!(gaps.jump(), Some(7));
        }
        assert!(!gaps.may_jump());
        gaps.may_have_moved();
        assert!(gaps.may_jump());
        assert!(gaps.has_unread_after(6) && !gaps.has_unread_after(7));
    }
}
