//! All streams of a session: routes each message to one of them, within their limits.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use axum::body::Bytes;
use mcp_protocol_machine::IdTable;

use crate::budget::{Account, Permit};
use crate::driver::{MessageKind, Outgoing, RequestTag};
use crate::transport::http::server::stream::{LongAnswer, ReadPosition, Stream, StreamEvent};

/// The number under which messages wait that no stream is there for.
pub(super) const BACKLOG: u64 = 0;

/// How many bytes of one message are handed to a connection at once.
pub(in super::super) const PIECE: usize = 16 * 1024;

/// Why a session is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Ending {
    /// The client has deleted it, has not used it for too long, or never got to know its name.
    Gone,
    /// The server shuts down: running requests are still answered.
    Shutdown,
}

/// What a POST is answered with.
#[derive(Debug)]
pub(in super::super) enum PostAnswer {
    /// Nothing: it has asked for nothing.
    Accepted,
    /// One message, which is written at once.
    Json(StreamEvent),
    /// One message that has so many bytes, to be taken in pieces.
    Long(MessageKind, usize),
    /// A stream of messages.
    Stream,
    /// The session is over.
    Over,
}

/// A POST that is to be answered.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Posted {
    pub(in super::super) stream: u64,
    /// It is the first of the session.
    pub(in super::super) opens: bool,
}

/// What resuming a stream came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum ResumedStream {
    /// The reader goes on behind the event that it named.
    At(ReadPosition),
    /// The stream is at its end, and the event was the last.
    Finished,
    /// The stream is gone, or what stood behind that event.
    Lost,
}

/// What the streams of a session may hold.
#[derive(Clone, Debug)]
pub(in super::super) struct StreamLimits {
    /// Bytes of messages that a client is there to read.
    pub(in super::super) unread: Account,
    /// Bytes of messages that are kept for a client that comes back.
    pub(in super::super) kept: Account,
    /// How many streams may be read.
    pub(in super::super) streams: usize,
}

/// All streams of a session.
///
/// Invariants: an event that is not kept holds as many of the bytes that may be unread as no connection has taken of
/// it; every event that is kept stands in `kept_at` once, by its stream, unless a reader is to take it once more.
#[derive(Debug)]
pub(in super::super) struct Streams {
    pub(super) streams: IdTable<u64, Stream>,
    pub(super) last: u64,
    /// GET streams that are read, the newest last.
    pub(super) gets: Vec<u64>,
    pub(super) backlog: VecDeque<StreamEvent>,
    /// Where the events stand that are only kept, the oldest first.
    pub(super) kept_at: VecDeque<u64>,
    /// Answers in one piece that are being written.
    pub(super) long: IdTable<u64, LongAnswer>,
    pub(super) limits: StreamLimits,
    /// Bytes that readers have not taken.
    pub(super) waiting: usize,
    /// Requests of this side that no client will receive any more.
    pub(super) lost: Vec<i64>,
    pub(super) readers: usize,
    /// When the client was last heard of.
    pub(super) touched: Instant,
    /// How many POSTs have come.
    pub(super) posts: u64,
    ending: Option<Ending>,
    pub(super) closed: bool,
    /// The session serves one request: all that it says belongs to the answer, which no client can come back for.
    pub(super) one_request: bool,
    /// The task that carries the session.
    pub(super) carrier: Option<Waker>,
    /// The same, as long as it waits for everything to be taken.
    pub(super) drained: Option<Waker>,
}

impl Streams {
    pub(in super::super) fn new(limits: StreamLimits, one_request: bool, now: Instant) -> Streams {
        Streams {
            one_request,
            streams: IdTable::default(),
            last: BACKLOG,
            gets: Vec::new(),
            backlog: VecDeque::new(),
            kept_at: VecDeque::new(),
            long: IdTable::default(),
            limits,
            waiting: 0,
            lost: Vec::new(),
            readers: 0,
            touched: now,
            posts: 0,
            ending: None,
            closed: false,
            carrier: None,
            drained: None,
        }
    }

    /// The client has said something.
    pub(in super::super) fn touch(&mut self, now: Instant) {
        self.touched = now;
    }

    /// When the client was last heard of.
    pub(in super::super) fn touched(&self) -> Instant {
        self.touched
    }

    /// Waits for the end of the session, and for requests that no client will receive any more: gives these. `None`: the
    /// session has ended.
    pub(in super::super) fn wait_for_end(&mut self, context: &Context<'_>) -> Option<Vec<i64>> {
        if self.ending.is_some() {
            return None;
        }
        match &self.carrier {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => self.carrier = Some(context.waker().clone()),
        }
        Some(std::mem::take(&mut self.lost))
    }

    /// How many bytes no reader has taken.
    pub(in super::super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(in super::super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the client is there: it reads a stream, or waits for an answer.
    pub(in super::super) fn is_attended(&self) -> bool {
        self.readers > 0 || !self.long.is_empty()
    }

    /// Takes note of a POST and opens its stream; `None` if there are too many.
    pub(in super::super) fn post(&mut self, primed: bool, now: Instant) -> Option<Posted> {
        let stream = self.open(false, primed, now)?.stream;
        self.touched = now;
        self.posts = self.posts.saturating_add(1);
        // From the second message on another time limit counts, which may be the shorter one.
        if self.posts == 2
            && let Some(carrier) = self.carrier.take()
        {
            carrier.wake();
        }
        Some(Posted { stream, opens: self.posts == 1 })
    }

    /// Whether the client has come back after the first answer.
    pub(in super::super) fn is_known(&self) -> bool {
        self.posts > 1
    }

    /// Opens a stream for a GET, with what has been waiting for one.
    pub(in super::super) fn get(&mut self) -> Option<ReadPosition> {
        let place = self.open(true, false, now())?;
        self.gets.push(place.stream);
        self.take_backlog(place.stream);
        Some(place)
    }

    fn open(&mut self, get: bool, primed: bool, now: Instant) -> Option<ReadPosition> {
        if self.is_full() {
            return None;
        }
        self.last += 1;
        self.readers += 1;
        self.streams.insert(self.last, Stream::new(get, primed, now));
        Some(ReadPosition { stream: self.last, reader: 0, next: 0, at: 0 })
    }

    fn is_full(&self) -> bool {
        self.readers.saturating_add(self.long.len()) >= self.limits.streams
    }

    fn take_backlog(&mut self, number: u64) {
        let backlog = std::mem::take(&mut self.backlog);
        self.kept_at.retain(|at| *at != BACKLOG);
        for event in backlog {
            // Its reader takes it when it is polled first, or has been woken by the message that came before.
            drop(self.push(number, event));
        }
    }

    /// Goes on with a stream behind an event.
    pub(in super::super) fn resume(
        &mut self,
        get: bool,
        number: u64,
        after: Option<u64>,
    ) -> Option<ResumedStream> {
        if self.is_full() {
            return None;
        }
        let next = after.map_or(0, |after| after.saturating_add(1));
        let Some(stream) = self.streams.get_mut(&number).filter(|stream| stream.get == get) else {
            return Some(ResumedStream::Lost);
        };
        if next < stream.first || next > stream.end() {
            return Some(ResumedStream::Lost);
        }
        if stream.is_finished() && next == stream.end() {
            return Some(ResumedStream::Finished);
        }
        // The previous reader has lost its connection without noticing.
        let (before, was_read) = (stream.untaken(), stream.reader.is_some());
        let replaced = stream.waker.take();
        stream.readers += 1;
        stream.reader = Some(stream.readers);
        stream.taken = next;
        stream.since = now();
        stream.hung_up = None;
        let after = stream.untaken();
        let place = ReadPosition { stream: number, reader: stream.readers, next, at: 0 };
        if was_read {
            self.waiting = self.waiting.saturating_sub(before).saturating_add(after);
        } else {
            self.readers += 1;
            self.waiting = self.waiting.saturating_add(after);
        }
        // What is to be taken once more is no longer only kept. It will be again.
        self.recount_kept();
        if get {
            self.gets.retain(|open| *open != number);
            self.gets.push(number);
            self.take_backlog(number);
        }
        if let Some(replaced) = replaced {
            replaced.wake();
        }
        Some(ResumedStream::At(place))
    }

    /// Takes a message of the session. What is returned is to be woken.
    pub(in super::super) fn say(&mut self, outgoing: Outgoing<'_>) -> Option<Waker> {
        if self.closed {
            return None;
        }
        let event = StreamEvent::new(Bytes::copy_from_slice(outgoing.message), outgoing.kind);
        let own = outgoing
            .in_reply_to
            .map(|RequestTag(number)| number)
            .filter(|number| self.streams.contains_key(number));
        match own {
            Some(number) => self.push(number, event),
            // The client left before it had a stream that it could resume.
            None if outgoing.kind.is_reply() => None,
            None if self.one_request => {
                // There is one stream, or its reader has left.
                let only = self.streams.keys().next().copied()?;
                self.push(only, event)
            }
            None => self.say_unasked(event),
        }
    }

    /// Takes a message that has no stream of its own, or not any more. What is returned is to be woken.
    pub(super) fn say_unasked(&mut self, event: StreamEvent) -> Option<Waker> {
        if let Some(number) = self.gets.last() {
            return self.push(*number, event);
        }
        self.keep_backlog(event);
        None
    }

    fn push(&mut self, number: u64, mut event: StreamEvent) -> Option<Waker> {
        if self.streams.get(&number)?.reader.is_none() {
            self.push_kept(number, event);
            return None;
        }
        if !event.kept {
            // What it held of a reader that is gone is given back first.
            event.permit = Permit::default();
            match self.limits.unread.take(event.message.len()) {
                Ok(permit) => event.permit = permit,
                Err(exhausted) => {
                    let Some(refused) = event.refused(exhausted) else {
                        self.lose(&event);
                        return None;
                    };
                    let permit = self.limits.unread.overdraw(refused.message.len());
                    event = StreamEvent { permit, ..refused };
                }
            }
        }
        let stream = self.streams.get_mut(&number)?;
        // An answer is followed by the word that the request is settled, which wakes the reader.
        let last = !stream.get && event.kind.is_reply();
        if !stream.has_untaken() {
            stream.since = now();
        }
        self.waiting = self.waiting.saturating_add(event.message.len());
        if last && stream.events.is_empty() {
            // Most POSTs are answered by this message alone.
            stream.events.reserve_exact(1);
        }
        stream.events.push_back(event);
        if last { None } else { stream.waker.take() }
    }

    /// One request of a POST is settled.
    pub(in super::super) fn settled(&mut self, RequestTag(number): RequestTag) -> Option<Waker> {
        let stream = self.streams.get_mut(&number)?;
        stream.open = stream.open.saturating_sub(1);
        let finished = stream.is_finished();
        let waker = if finished { stream.waker.take() } else { None };
        if finished && stream.reader.is_none() && stream.events.is_empty() {
            self.streams.remove(&number);
        }
        waker
    }

    /// Lets the reader of a POST's stream go once it has taken what is there; what comes from here on waits for it to
    /// come back. One who knows no id of the stream could not, and stays.
    pub(in super::super) fn release_connection(&mut self, RequestTag(number): RequestTag) -> Option<Waker> {
        let stream = self.streams.get_mut(&number).filter(|stream| stream.reader.is_some())?;
        if stream.primed || stream.end() > 0 {
            stream.hung_up = Some(stream.end());
        }
        stream.waker.take()
    }

    /// A request of a POST was accepted.
    pub(in super::super) fn accepted(&mut self, RequestTag(number): RequestTag) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.open = stream.open.saturating_add(1);
        }
    }

    /// A POST was handed to the session, which has accepted all that it will accept of it.
    pub(in super::super) fn delivered(&mut self, number: u64) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.delivered = true;
        }
    }

    /// What a POST is to be answered with. The stream is gone unless that is a stream.
    pub(in super::super) fn poll_answer(
        &mut self,
        context: &Context<'_>,
        number: u64,
        in_time: bool,
    ) -> Poll<PostAnswer> {
        let closed = self.closed;
        let Some(stream) = self.streams.get_mut(&number) else { return Poll::Ready(PostAnswer::Over) };
        let finished = stream.is_finished();
        let talks = stream.events.iter().any(|event| !event.kind.is_reply()) || stream.events.len() > 1;
        if talks || stream.hung_up.is_some() || (!in_time && !finished) {
            return Poll::Ready(PostAnswer::Stream);
        }
        if !finished && !closed {
            stream.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let event = stream.events.pop_front();
        self.forget(number);
        Poll::Ready(match event {
            Some(event) if event.message.len() > PIECE => {
                let (kind, length) = (event.kind, event.message.len());
                self.long.insert(number, LongAnswer::new(event, now()));
                PostAnswer::Long(kind, length)
            }
            Some(event) => {
                self.note_drained(event.message.len());
                PostAnswer::Json(event)
            }
            None if closed => PostAnswer::Over,
            None => PostAnswer::Accepted,
        })
    }

    /// Removes a stream that is read, with what it holds.
    pub(in super::super) fn forget(&mut self, number: u64) {
        let Some(stream) = self.streams.remove(&number) else { return };
        self.readers = self.readers.saturating_sub(usize::from(stream.reader.is_some()));
        let untaken = stream.untaken();
        self.note_drained(untaken);
        // A message about a request that is not awaited any more may still be wanted, if it is not an answer.
        let wanted = stream.events.into_iter().filter(|event| !event.kind.is_reply());
        wanted.filter_map(|event| self.say_unasked(event)).for_each(Waker::wake);
    }

    /// Whether nothing more will come on the stream of a POST.
    pub(in super::super) fn is_answered(&self, number: u64) -> bool {
        self.streams.get(&number).is_none_or(Stream::is_finished)
    }

    /// Lets go of everything, whether it was read or not.
    pub(in super::super) fn clear(&mut self) {
        self.close();
        self.long.clear();
        let streams = std::mem::take(&mut self.streams);
        streams.into_values().filter_map(|stream| stream.waker).for_each(Waker::wake);
        self.kept_at.clear();
        self.note_drained(self.waiting);
    }

    pub(super) fn note_drained(&mut self, length: usize) {
        self.waiting = self.waiting.saturating_sub(length);
        if self.waiting == 0
            && let Some(drained) = self.drained.take()
        {
            drained.wake();
        }
    }

    /// Waits until its clients have taken everything.
    pub(in super::super) fn poll_drained(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.waiting == 0 {
            return Poll::Ready(());
        }
        self.drained = Some(context.waker().clone());
        Poll::Pending
    }

    /// The session is to end.
    pub(in super::super) fn end(&mut self, ending: Ending) {
        if self.ending != Some(Ending::Gone) {
            self.ending = Some(ending);
        }
        if let Some(carrier) = self.carrier.take() {
            carrier.wake();
        }
    }

    /// The session is over: readers take what is there, and then see the end.
    pub(in super::super) fn close(&mut self) {
        self.closed = true;
        self.backlog = VecDeque::new();
        self.streams.retain(|_, stream| stream.reader.is_some());
        self.recount_kept();
        for stream in self.streams.values_mut() {
            if let Some(waker) = stream.waker.take() {
                waker.wake();
            }
        }
    }

    /// The streams that GET has opened end, so that their connections do.
    pub(in super::super) fn end_gets(&mut self) {
        for number in std::mem::take(&mut self.gets) {
            if let Some(stream) = self.streams.get_mut(&number) {
                // To its reader it is as if it were a POST that is answered.
                stream.get = false;
                stream.delivered = true;
                if let Some(waker) = stream.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}

/// The time, as tests may hold it still.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
