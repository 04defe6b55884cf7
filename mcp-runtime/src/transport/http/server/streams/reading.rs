//! Readers of event streams and of long answers.

use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::body::Bytes;

use super::table::{PIECE, Streams, now};
use crate::budget::Permit;
use crate::transport::http::server::stream::{Next, ReadPosition};

impl Streams {
    /// The next bytes of a long answer, and what they hold until they are written; `None` if nothing is left.
    pub(in super::super) fn take_piece(&mut self, number: u64) -> Option<(Bytes, Permit)> {
        let answer = self.long.get_mut(&number)?;
        let (piece, permit) = answer.take(PIECE, now());
        if answer.left() == 0 {
            self.long.remove(&number);
        }
        self.note_drained(piece.len());
        Some((piece, permit))
    }

    /// A long answer is not written any further.
    pub(in super::super) fn forget_long(&mut self, number: u64) {
        if let Some(answer) = self.long.remove(&number) {
            self.note_drained(answer.left());
        }
    }

    /// The next bytes for a reader.
    pub(in super::super) fn poll_event(&mut self, context: &Context<'_>, place: ReadPosition) -> Poll<Next> {
        let closed = self.closed;
        let Some(stream) = self.streams.get_mut(&place.stream) else { return Poll::Ready(Next::End) };
        if stream.reader != Some(place.reader) {
            // Somebody else goes on with it.
            return Poll::Ready(Next::End);
        }
        if stream.hung_up.is_some_and(|end| place.next >= end) {
            return Poll::Ready(Next::End);
        }
        let finished = stream.is_finished() || closed;
        let Some(event) = stream.event_mut(place.next) else {
            if finished {
                return Poll::Ready(Next::End);
            }
            stream.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let rest = event.message.get(place.at..).unwrap_or_default();
        let (length, last) = (rest.len().min(PIECE), rest.len() <= PIECE);
        let part = event.message.slice_ref(rest.get(..length).unwrap_or_default());
        let whole = event.message.len();
        let permit =
            if event.kept { self.limits.unread.overdraw(length) } else { event.permit.split(length) };
        stream.since = now();
        if last {
            stream.taken = place.next.saturating_add(1);
            self.keep_at(place.stream, place.next);
            self.note_drained(whole);
        }
        Poll::Ready(Next::Part(part, last, permit))
    }

    /// Has readers go that have taken nothing for that long of what waits for them; whether there were any.
    pub(in super::super) fn cut_stalled(&mut self, within: Duration, now: Instant) -> bool {
        let is_late = |since: Instant| since.checked_add(within).is_some_and(|until| until <= now);
        let late: Vec<ReadPosition> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.has_untaken() && is_late(stream.since))
            .filter_map(|(number, stream)| {
                Some(ReadPosition { stream: *number, reader: stream.reader?, next: 0, at: 0 })
            })
            .collect();
        let long: Vec<u64> =
            self.long.iter().filter(|(_, answer)| is_late(answer.since)).map(|(number, _)| *number).collect();
        let cut = !late.is_empty() || !long.is_empty();
        for place in late {
            let waker = self.streams.get_mut(&place.stream).and_then(|stream| stream.waker.take());
            self.disconnected(place, now);
            waker.into_iter().for_each(Waker::wake);
        }
        long.into_iter().for_each(|number| self.forget_long(number));
        cut
    }

    /// A reader is gone.
    pub(in super::super) fn disconnected(&mut self, place: ReadPosition, now: Instant) {
        let Some(stream) = self.streams.get_mut(&place.stream) else { return };
        if stream.reader != Some(place.reader) {
            return;
        }
        stream.reader = None;
        stream.waker = None;
        let untaken = stream.untaken();
        let (from, numbers) = (stream.taken_count(), stream.taken..stream.end());
        let is_get = stream.get;
        self.touched = now;
        self.readers = self.readers.saturating_sub(1);
        self.note_drained(untaken);
        if is_get {
            self.gets.retain(|open| *open != place.stream);
            // What was never on this stream can go on any other.
            let Some(stream) = self.streams.get_mut(&place.stream) else { return };
            let rest = stream.events.split_off(from.min(stream.events.len()));
            self.remove_spent(place.stream);
            rest.into_iter().filter_map(|event| self.say_unasked(event)).for_each(Waker::wake);
        } else {
            numbers.for_each(|number| self.keep_at(place.stream, number));
            self.remove_spent(place.stream);
        }
    }
}
