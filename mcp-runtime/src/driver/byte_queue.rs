//! The queue of outgoing messages of a byte-stream transport.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use super::framing::Framing;
use super::outlet::{Outgoing, Outlet, OutletNotice};

/// About how many bytes the pump takes at once.
const COALESCE: usize = 64 * 1024;

/// A buffer of up to this size is kept while nothing is to be written.
pub(super) const KEEP: usize = 4 * 1024;

/// How many ends of messages there is room for while nothing is to be written.
const KEPT_ENDS: usize = 64;

/// A way to write at once, in whatever task has something to say.
///
/// A message that is written so saves two changes of tasks, which on a connection within one machine is most of what
/// a call takes.
pub(crate) trait DirectOutput: Send + fmt::Debug {
    /// Writes as much as can be taken without waiting, perhaps nothing. After an error nothing was written; the
    /// transport's own task will meet the same error, and tells it.
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<WrittenNow>;
}

/// What [`DirectOutput::write_now`] did.
#[derive(Debug)]
pub(crate) struct WrittenNow {
    /// How many bytes were taken.
    pub(crate) length: usize,
    /// The task that waits for them, if this has to wake it. It is woken once the session is unlocked.
    pub(crate) reader: Option<Waker>,
}

/// Framed messages that wait for the writer, shared by the engine and the pump.
///
/// Invariant: bytes leave in the order in which they came. The direct way is used only while nothing waits and the pump
/// has flushed what it took.
#[derive(Clone, Debug)]
pub(super) struct ByteQueue(Arc<Mutex<QueuedBytes>>);

#[derive(Debug)]
struct QueuedBytes {
    framing: Framing,
    /// Messages, from `start` on.
    bytes: Vec<u8>,
    start: usize,
    /// Where they end in `bytes`.
    ends: VecDeque<usize>,
    /// A part of the first was written.
    begun: bool,
    /// The pump has taken messages that the writer has not flushed.
    writing: bool,
    /// Nothing can be written any more.
    closed: bool,
    direct: Option<Box<dyn DirectOutput>>,
    /// The direct way was used since the pump last had its turn: a session that speaks again so soon waits for that, so
    /// that many small messages still go as one piece.
    direct_used: bool,
    pump: Option<Waker>,
}

impl ByteQueue {
    pub(super) fn new(framing: Framing, direct: Option<Box<dyn DirectOutput>>) -> ByteQueue {
        ByteQueue(Arc::new(Mutex::new(QueuedBytes {
            framing,
            bytes: Vec::new(),
            start: 0,
            ends: VecDeque::new(),
            begun: false,
            writing: false,
            closed: false,
            direct,
            direct_used: false,
            pump: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, QueuedBytes> {
        // What is done under the lock does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes whole messages that wait, in place of an empty buffer. If there are none, the pump is woken by the next one.
    pub(super) fn take_into(&self, context: &Context<'_>, empty: &mut Vec<u8>) {
        let mut queued = self.lock();
        if queued.bytes.is_empty() {
            queued.direct_used = false;
            match &mut queued.pump {
                Some(waker) => waker.clone_from(context.waker()),
                None => queued.pump = Some(context.waker().clone()),
            }
            return;
        }
        queued.take_into(empty);
        queued.writing = true;
    }

    /// Whether nothing waits for the pump.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().bytes.is_empty()
    }

    /// What the pump has taken is flushed.
    pub(super) fn flushed(&self) {
        self.lock().writing = false;
    }

    /// Nothing can be written any more.
    pub(super) fn close(&self) {
        let mut queued = self.lock();
        queued.closed = true;
        queued.writing = false;
        queued.clear();
        queued.bytes = Vec::new();
    }
}

impl QueuedBytes {
    /// How many bytes are not written; something is as long as the writer has not flushed.
    fn waiting(&self) -> usize {
        let waiting = self.bytes.len().saturating_sub(self.start);
        waiting.saturating_add(self.writing.into())
    }

    /// Writes what waits without the pump, if that is possible; whether nothing is left.
    fn write_directly(&mut self, wake: &mut dyn FnMut(Waker)) -> bool {
        let Some(direct) = &mut self.direct else { return false };
        if self.writing || std::mem::replace(&mut self.direct_used, true) {
            return false;
        }
        let waiting = self.bytes.get(self.start..).unwrap_or_default();
        let Ok(WrittenNow { length, reader }) = direct.write_now(waiting) else { return false };
        reader.into_iter().for_each(wake);
        self.start = self.start.saturating_add(length);
        if self.start < self.bytes.len() {
            self.ends.retain(|end| *end > self.start);
            self.begun = true;
            return false;
        }
        if self.bytes.capacity() > KEEP && self.bytes.len() < self.bytes.capacity() / 4 {
            self.bytes = Vec::new();
        }
        self.clear();
        true
    }

    /// Takes all messages, or about as many bytes as are taken at once.
    fn take_into(&mut self, empty: &mut Vec<u8>) {
        let enough = self.start.saturating_add(COALESCE);
        if self.start == 0 && self.bytes.len() <= COALESCE {
            std::mem::swap(&mut self.bytes, empty);
            return self.clear();
        }
        let taken = self.ends.partition_point(|end| *end < enough).saturating_add(1);
        let end = self.ends.drain(..taken.min(self.ends.len())).next_back().unwrap_or(self.bytes.len());
        empty.extend_from_slice(self.bytes.get(self.start..end).unwrap_or_default());
        self.start = end;
        self.begun = false;
        if self.start >= self.bytes.len() {
            self.clear();
        } else if self.start > self.bytes.len() / 2 {
            // Moving at most as much as was taken keeps the cost of a byte constant.
            self.bytes.drain(..self.start);
            self.ends.iter_mut().for_each(|end| *end = end.saturating_sub(self.start));
            self.start = 0;
        }
    }

    /// Drops the messages of which nothing is written. The direct way may have written a part of the first.
    fn discard(&mut self) {
        let begun = if self.begun { self.ends.front().copied() } else { None };
        self.bytes.truncate(begun.unwrap_or_default());
        self.ends.truncate(usize::from(begun.is_some()));
        self.start = self.start.min(self.bytes.len());
    }

    fn clear(&mut self) {
        self.begun = false;
        self.bytes.clear();
        self.ends.clear();
        self.ends.shrink_to(KEPT_ENDS);
        self.start = 0;
    }
}

impl Outlet for ByteQueue {
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize {
        let mut queued = self.lock();
        if queued.closed {
            return 0;
        }
        let framing = queued.framing;
        framing.write(outgoing.message, &mut queued.bytes);
        let end = queued.bytes.len();
        queued.ends.push_back(end);
        if !queued.write_directly(wake) {
            queued.pump.take().into_iter().for_each(wake);
        }
        queued.waiting()
    }

    fn note(&mut self, notice: OutletNotice, _: &mut dyn FnMut(Waker)) {
        let mut queued = self.lock();
        if notice == OutletNotice::Discarded {
            queued.discard();
        }
    }

    fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    fn routes(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::MessageKind;
    use crate::epoch::Epoch;

    fn say(queue: &mut ByteQueue, message: &[u8]) -> usize {
        let (kind, epoch) = (MessageKind::Error, Epoch::FIRST);
        let mut woken = 0;
        queue.take(Outgoing::new(message, kind, epoch), &mut |_| woken += 1);
        woken
    }

    fn taken(queue: &ByteQueue) -> String {
        let mut taken = Vec::new();
        queue.take_into(&Context::from_waker(Waker::noop()), &mut taken);
        String::from_utf8(taken).unwrap()
    }

    #[test]
    fn messages_are_taken_whole_and_in_order() {
        let mut queue = ByteQueue::new(Framing::Lines, None);
        assert_eq!(taken(&queue), "");
        let messages: Vec<String> =
            (0..500).map(|number| format!("{number}{}", "x".repeat(number))).collect();
        let woken: usize = messages.iter().map(|message| say(&mut queue, message.as_bytes())).sum();
        assert_eq!(woken, 1, "a pump that was woken is not woken again");
        let mut seen = String::new();
        loop {
            let piece = taken(&queue);
            if piece.is_empty() {
                break;
            }
            assert!(piece.ends_with('\n') && piece.len() < COALESCE + 1000);
            seen.push_str(&piece);
        }
        assert_eq!(seen.lines().collect::<Vec<_>>(), messages);
        assert_eq!(queue.waiting(), 1, "the pump has not flushed it");
        queue.flushed();
        assert_eq!(queue.waiting(), 0);
    }

    /// Takes so many bytes at a time.
    #[derive(Debug)]
    struct Narrow(usize);

    impl DirectOutput for Narrow {
        fn write_now(&mut self, bytes: &[u8]) -> io::Result<WrittenNow> {
            Ok(WrittenNow { length: self.0.min(bytes.len()), reader: None })
        }
    }

    #[test]
    fn what_the_direct_way_has_begun_is_written_to_its_end() {
        let mut queue = ByteQueue::new(Framing::Lines, Some(Box::new(Narrow(5))));
        say(&mut queue, b"abcdef");
        say(&mut queue, b"ghi");
        assert_eq!(queue.waiting(), 6, "the second waits for the pump");
        queue.note(OutletNotice::Discarded, &mut |_| {});
        assert_eq!(queue.waiting(), 2);
        assert_eq!(taken(&queue), "f\n");
        queue.flushed();
        assert_eq!(taken(&queue), "", "the pump has its turn");
        say(&mut queue, b"jkl");
        assert_eq!(queue.waiting(), 0);
        say(&mut queue, b"mno");
        queue.note(OutletNotice::Discarded, &mut |_| {});
        assert_eq!((queue.waiting(), taken(&queue).as_str()), (0, ""));
        queue.close();
        say(&mut queue, b"pqr");
        assert_eq!(queue.waiting(), 0, "nothing is taken any more");
    }
}
