//! Where a log leaves out what a session did: a line that cannot be read, or a message that was not understood.

use mcp_runtime::protocol::Side;

use super::formats::record::Place;

/// How often a session may go on in another state because of one gap: where something needs what the gap may have
/// announced, and where it may have been a step.
const JUMPS: u8 = 2;

/// The gaps of a session.
///
/// Invariant: a session that has no gap is never judged in another state than its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gaps {
    /// The last place that could not be read.
    unread: Option<Place>,
    /// How often the session may go on in another state yet.
    jumps: u8,
    /// The log leaves out answers to what the client has sent.
    leaves_out_answers: bool,
}

impl Gaps {
    /// A line could not be read.
    pub(crate) fn unread(&mut self, place: Place) {
        self.unread = Some(place);
        self.jumps = JUMPS;
    }

    /// A message that was not understood, or that is not in the log, may have moved the session.
    pub(crate) fn may_have_moved(&mut self) {
        self.jumps = JUMPS;
    }

    /// The log leaves out answers to what the client has sent.
    pub(crate) fn note_left_out_answers(&mut self) {
        self.leaves_out_answers = true;
    }

    /// Whether the log may leave out the reply to a request of this side.
    pub(crate) fn may_leave_out_replies_to(&self, asker: Side) -> bool {
        self.leaves_out_answers && asker == Side::Client
    }

    /// Whether the session may be in another state than it seems to be.
    pub(crate) fn may_jump(&self) -> bool {
        self.jumps > 0
    }

    /// The session goes on in another state. Returns the line that may be why, if one could not be read.
    pub(crate) fn jump(&mut self) -> Option<u64> {
        self.jumps = self.jumps.saturating_sub(1);
        self.unread.map(|unread| unread.line)
    }

    /// Whether something after this place could not be read. An entry of an archive has the request before the reply.
    pub(crate) fn has_unread_after(&self, place: Place) -> bool {
        self.unread.is_some_and(|unread| unread > place || unread == place && place.entry.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gap_there_is_no_jump() {
        let gaps = Gaps::default();
        assert!(!gaps.may_jump());
        assert!(!gaps.has_unread_after(Place::default()));
    }

    #[test]
    fn each_gap_permits_a_few_jumps() {
        let mut gaps = Gaps::default();
        gaps.unread(Place { line: 7, entry: None });
        for _ in 0..JUMPS {
            assert!(gaps.may_jump());
            assert_eq!(gaps.jump(), Some(7));
        }
        assert!(!gaps.may_jump());
        gaps.may_have_moved();
        assert!(gaps.may_jump());
    }

    #[test]
    fn a_reply_may_stand_in_what_could_not_be_read_after_its_request() {
        let mut gaps = Gaps::default();
        let after = |gaps: &Gaps, line, entry| gaps.has_unread_after(Place { line, entry });
        gaps.unread(Place { line: 7, entry: None });
        assert!(after(&gaps, 6, None) && !after(&gaps, 7, None));
        gaps.unread(Place { line: 7, entry: Some(3) });
        assert!(after(&gaps, 7, Some(2)) && after(&gaps, 7, Some(3)) && !after(&gaps, 7, Some(4)));
    }
}
