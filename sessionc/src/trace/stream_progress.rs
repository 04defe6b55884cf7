//! The streams of a session, and what was last said in each of them of the progress of a request.

/// Messages that come one after the other. Between two streams nothing is known of the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamNumber(pub(crate) u64);

/// Of how many streams the progress of one request is remembered.
const STREAMS: usize = 8;

/// The last progress of a request in each stream. Of more than some, the streams that were heard the longest time ago are
/// forgotten.
///
/// Invariant: each stream has one entry, and the one that was heard last is the last.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestProgress(Vec<(StreamNumber, f64)>);

impl LatestProgress {
    /// A stream says how far the request is. Returns what it said before.
    pub(super) fn replace(&mut self, stream: StreamNumber, progress: f64) -> Option<f64> {
        let known = self.0.iter().position(|(known, _)| *known == stream);
        let before = known.map(|place| self.0.remove(place).1);
        if self.0.len() >= STREAMS {
            self.0.remove(0);
        }
        self.0.push((stream, progress));
        before
    }

    /// What was said last did not arrive: what the stream said before counts.
    pub(super) fn keep(&mut self, before: f64) {
        if let Some((_, last)) = self.0.last_mut() {
            *last = before;
        }
    }
}
