//! The streams of one session: what waits for the client, and what it may ask for once more.
//!
//! In: messages of the session, with what they are about, and readers that come and go. Out: each message on exactly
//! one stream. Refuses to grow: what a reader has not taken yet counts as unwritten, so whoever speaks waits; what was
//! taken, and what nobody is there to take, is kept up to a number of bytes, and then the oldest goes.

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use axum::body::Bytes;

use crate::driver::{MessageKind, Origin, Outgoing};
use crate::jsonrpc::asked;

/// The number under which messages wait that no stream is there for.
const BACKLOG: u64 = 0;

/// Why a session is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The client has deleted it, has not used it for too long, or never got to know its name.
    Gone,
    /// The server shuts down: what is owed is still answered.
    Shutdown,
}

/// One message on a stream.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) message: Bytes,
    pub(super) kind: MessageKind,
}

impl Event {
    /// What it takes to keep it: itself, and about as much as is kept around it.
    fn cost(&self) -> usize {
        self.message.len().saturating_add(128)
    }
}

/// One stream: the answer to a POST, or one that a GET has opened.
#[derive(Debug, Default)]
struct Stream {
    get: bool,
    /// What is kept of it; the first has this number.
    events: VecDeque<Event>,
    first: u64,
    /// Up to where the present reader has taken it.
    taken: u64,
    /// How many requests of the POST are unanswered. Less than nothing while they are not all counted.
    open: i64,
    /// All of them are.
    counted: bool,
    /// Which of its readers it is that reads now, if one does.
    reader: Option<u64>,
    readers: u64,
    waker: Option<Waker>,
    /// It begins with an event, so whoever reads it learns at once under which id it can be taken up.
    primed: bool,
    /// Its reader is to go, and to come back for what is from this event on.
    hung_up: Option<u64>,
}

impl Stream {
    fn end(&self) -> u64 {
        self.first.saturating_add(self.events.len() as u64)
    }

    /// Whether nothing more will come.
    fn is_finished(&self) -> bool {
        !self.get && self.counted && self.open <= 0
    }

    fn event(&self, number: u64) -> Option<&Event> {
        self.events.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// How many bytes nobody has taken.
    fn untaken(&self) -> usize {
        let from = usize::try_from(self.taken.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.events.iter().skip(from).map(|event| event.message.len()).sum()
    }
}

/// What a POST is answered with.
#[derive(Debug)]
pub(super) enum Answer {
    /// Nothing: it has asked for nothing.
    Accepted,
    /// One message.
    Json(Event),
    /// A stream of messages.
    Stream,
    /// The session is over.
    Over,
}

/// What a stream has for its reader.
#[derive(Debug)]
pub(super) enum Next {
    /// An event, under this number.
    Event(u64, Event),
    /// Nothing more.
    End,
}

/// What resuming a stream came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resumed {
    /// The reader goes on behind the event that it named.
    At(Place),
    /// The stream is at its end, and the event was the last.
    Finished,
    /// The stream is gone, or what stood behind that event.
    Lost,
}

/// A reader of a stream, and the event that it wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: u64,
    pub(super) reader: u64,
    pub(super) next: u64,
}

/// All streams of a session.
#[derive(Debug)]
pub(super) struct Streams {
    streams: HashMap<u64, Stream>,
    last: u64,
    /// GET streams that are read, the newest last.
    gets: Vec<u64>,
    backlog: VecDeque<Event>,
    /// Where the events stand that are only kept, the oldest first.
    kept_at: VecDeque<u64>,
    kept: usize,
    most_kept: usize,
    most_streams: usize,
    /// Bytes that readers have not taken.
    waiting: usize,
    /// Requests of this side that nobody will see any more.
    pub(super) lost: Vec<i64>,
    readers: usize,
    pub(super) touched: Instant,
    /// How many messages have come.
    pub(super) came: u64,
    pub(super) ending: Option<Ending>,
    closed: bool,
    /// The task that carries the session.
    pub(super) carrier: Option<Waker>,
    /// The same, as long as it waits for everything to be taken.
    pub(super) drained: Option<Waker>,
}

impl Streams {
    pub(super) fn new(most_kept: usize, most_streams: usize, now: Instant) -> Streams {
        Streams {
            streams: HashMap::new(),
            last: BACKLOG,
            gets: Vec::new(),
            backlog: VecDeque::new(),
            kept_at: VecDeque::new(),
            kept: 0,
            most_kept,
            most_streams,
            waiting: 0,
            lost: Vec::new(),
            readers: 0,
            touched: now,
            came: 0,
            ending: None,
            closed: false,
            carrier: None,
            drained: None,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the client is there: it reads a stream, or waits for an answer.
    pub(super) fn is_attended(&self) -> bool {
        self.readers > 0
    }

    /// Opens the stream of a POST; `None` if there are too many.
    pub(super) fn post(&mut self, primed: bool) -> Option<u64> {
        self.open(Stream { primed, ..Stream::default() }).map(|place| place.stream)
    }

    /// Opens a stream for a GET, with what has been waiting for one.
    pub(super) fn get(&mut self) -> Option<Place> {
        let place = self.open(Stream { get: true, ..Stream::default() })?;
        self.gets.push(place.stream);
        self.take_backlog(place.stream);
        Some(place)
    }

    fn open(&mut self, stream: Stream) -> Option<Place> {
        if self.readers >= self.most_streams {
            return None;
        }
        self.last += 1;
        self.readers += 1;
        self.streams.insert(self.last, Stream { reader: Some(0), ..stream });
        Some(Place { stream: self.last, reader: 0, next: 0 })
    }

    fn take_backlog(&mut self, number: u64) {
        let backlog = std::mem::take(&mut self.backlog);
        self.kept_at.retain(|at| *at != BACKLOG);
        for event in backlog {
            self.kept = self.kept.saturating_sub(event.cost());
            // Its reader takes it when it is polled first, or has been woken by the message that came before.
            drop(self.push(number, event));
        }
    }

    /// Goes on with a stream behind an event.
    pub(super) fn resume(&mut self, get: bool, number: u64, after: Option<u64>) -> Option<Resumed> {
        if self.readers >= self.most_streams {
            return None;
        }
        let next = after.map_or(0, |after| after.saturating_add(1));
        let Some(stream) = self.streams.get_mut(&number).filter(|stream| stream.get == get) else {
            return Some(Resumed::Lost);
        };
        if next < stream.first || next > stream.end() {
            return Some(Resumed::Lost);
        }
        if stream.is_finished() && next == stream.end() {
            return Some(Resumed::Finished);
        }
        // Whoever reads it still has lost the connection without knowing.
        let (before, was_read) = (stream.untaken(), stream.reader.is_some());
        let replaced = stream.waker.take();
        stream.readers += 1;
        stream.reader = Some(stream.readers);
        stream.taken = next;
        stream.hung_up = None;
        let after = stream.untaken();
        let place = Place { stream: number, reader: stream.readers, next };
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
        Some(Resumed::At(place))
    }

    /// Counts what is only kept; seldom, for this looks at all of it.
    fn recount_kept(&mut self) {
        let mut places: Vec<u64> = Vec::new();
        self.kept = self.backlog.iter().map(Event::cost).sum();
        places.extend(self.backlog.iter().map(|_| BACKLOG));
        let mut numbers: Vec<u64> = self.streams.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let Some(stream) = self.streams.get(&number) else { continue };
            let kept = match stream.reader {
                Some(_) => usize::try_from(stream.taken.saturating_sub(stream.first)).unwrap_or(usize::MAX),
                None => stream.events.len(),
            };
            for event in stream.events.iter().take(kept) {
                self.kept = self.kept.saturating_add(event.cost());
                places.push(number);
            }
        }
        self.kept_at = places.into();
    }

    /// Takes a message of the session. What is returned is to be woken.
    pub(super) fn say(&mut self, outgoing: Outgoing<'_>) -> Option<Waker> {
        if self.closed {
            return None;
        }
        let event = Event { message: Bytes::copy_from_slice(outgoing.message), kind: outgoing.kind };
        let own =
            outgoing.about.map(|Origin(number)| number).filter(|number| self.streams.contains_key(number));
        match own {
            Some(number) => self.push(number, event),
            // Whoever asked has gone before there was a stream that could be resumed.
            None if outgoing.kind.is_reply() => None,
            None => self.say_unasked(event),
        }
    }

    /// Takes a message that has no stream of its own, or not any more. What is returned is to be woken.
    fn say_unasked(&mut self, event: Event) -> Option<Waker> {
        if let Some(number) = self.gets.last() {
            return self.push(*number, event);
        }
        self.keep(BACKLOG, event.cost());
        self.backlog.push_back(event);
        self.shed();
        None
    }

    fn push(&mut self, number: u64, event: Event) -> Option<Waker> {
        let stream = self.streams.get_mut(&number)?;
        let (length, cost) = (event.message.len(), event.cost());
        // An answer is followed by the word that the request is settled, which wakes the reader.
        let last = !stream.get && event.kind.is_reply();
        stream.events.push_back(event);
        if stream.reader.is_some() {
            self.waiting = self.waiting.saturating_add(length);
            return if last { None } else { stream.waker.take() };
        }
        self.keep(number, cost);
        self.shed();
        None
    }

    fn keep(&mut self, number: u64, cost: usize) {
        self.kept = self.kept.saturating_add(cost);
        self.kept_at.push_back(number);
    }

    /// Lets go of the oldest of what is only kept.
    fn shed(&mut self) {
        while self.kept > self.most_kept {
            let Some(number) = self.kept_at.pop_front() else { return };
            let (event, taken) = if number == BACKLOG {
                (self.backlog.pop_front(), false)
            } else {
                let Some(stream) = self.streams.get_mut(&number) else { continue };
                let taken = stream.first < stream.taken;
                let event = stream.events.pop_front();
                stream.first = stream.first.saturating_add(u64::from(event.is_some()));
                if stream.events.is_empty() && stream.reader.is_none() && (stream.get || stream.is_finished())
                {
                    self.streams.remove(&number);
                }
                (event, taken)
            };
            let Some(event) = event else { continue };
            self.kept = self.kept.saturating_sub(event.cost());
            match event.kind {
                _ if taken => continue,
                MessageKind::Request { id, .. } => self.lost.push(id),
                MessageKind::Several { .. } => self.lost.extend(asked(&event.message)),
                _ => continue,
            }
            if let Some(carrier) = self.carrier.take() {
                carrier.wake();
            }
        }
    }

    /// One request of a POST is settled.
    pub(super) fn settled(&mut self, Origin(number): Origin) -> Option<Waker> {
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
    pub(super) fn hang_up(&mut self, Origin(number): Origin) -> Option<Waker> {
        let stream = self.streams.get_mut(&number).filter(|stream| stream.reader.is_some())?;
        if stream.primed || stream.end() > 0 {
            stream.hung_up = Some(stream.end());
        }
        stream.waker.take()
    }

    /// A POST was handed to the session, which accepted so many requests.
    pub(super) fn counted(&mut self, number: u64, requests: usize) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.open = stream.open.saturating_add(i64::try_from(requests).unwrap_or(i64::MAX));
            stream.counted = true;
        }
    }

    /// What a POST is to be answered with. The stream is gone unless that is a stream.
    pub(super) fn poll_answer(&mut self, context: &Context<'_>, number: u64, in_time: bool) -> Poll<Answer> {
        let closed = self.closed;
        let Some(stream) = self.streams.get_mut(&number) else { return Poll::Ready(Answer::Over) };
        let finished = stream.is_finished();
        let talks = stream.events.iter().any(|event| !event.kind.is_reply()) || stream.events.len() > 1;
        if talks || stream.hung_up.is_some() || (!in_time && !finished) {
            return Poll::Ready(Answer::Stream);
        }
        if !finished && !closed {
            stream.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let event = stream.events.pop_front();
        self.forget(number);
        self.note_drained(event.as_ref().map_or(0, |event| event.message.len()));
        Poll::Ready(match event {
            Some(event) => Answer::Json(event),
            None if closed => Answer::Over,
            None => Answer::Accepted,
        })
    }

    /// Removes a stream that is read, with what it holds.
    pub(super) fn forget(&mut self, number: u64) {
        let Some(stream) = self.streams.remove(&number) else { return };
        self.readers = self.readers.saturating_sub(usize::from(stream.reader.is_some()));
        let untaken = stream.untaken();
        self.note_drained(untaken);
        // What is about something that nobody waits for any more may still be wanted, if it is no answer.
        let wanted = stream.events.into_iter().filter(|event| !event.kind.is_reply());
        wanted.filter_map(|event| self.say_unasked(event)).for_each(Waker::wake);
    }

    /// The next event for a reader.
    pub(super) fn poll_event(&mut self, context: &Context<'_>, place: Place) -> Poll<Next> {
        let Some(stream) = self.streams.get_mut(&place.stream) else { return Poll::Ready(Next::End) };
        if stream.reader != Some(place.reader) {
            // Somebody else goes on with it.
            return Poll::Ready(Next::End);
        }
        if stream.hung_up.is_some_and(|end| place.next >= end) {
            return Poll::Ready(Next::End);
        }
        let Some(event) = stream.event(place.next).cloned() else {
            if stream.is_finished() || self.closed {
                return Poll::Ready(Next::End);
            }
            stream.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        stream.taken = place.next.saturating_add(1);
        self.keep(place.stream, event.cost());
        self.note_drained(event.message.len());
        self.shed();
        Poll::Ready(Next::Event(place.next, event))
    }

    fn note_drained(&mut self, length: usize) {
        self.waiting = self.waiting.saturating_sub(length);
        if self.waiting == 0
            && let Some(drained) = self.drained.take()
        {
            drained.wake();
        }
    }

    /// A reader is gone.
    pub(super) fn disconnected(&mut self, place: Place, now: Instant) {
        let Some(stream) = self.streams.get_mut(&place.stream) else { return };
        if stream.reader != Some(place.reader) {
            return;
        }
        stream.reader = None;
        stream.waker = None;
        let untaken = stream.untaken();
        let from = usize::try_from(stream.taken.saturating_sub(stream.first)).unwrap_or(usize::MAX);
        let is_get = stream.get;
        self.touched = now;
        self.readers = self.readers.saturating_sub(1);
        self.note_drained(untaken);
        if is_get {
            self.gets.retain(|open| *open != place.stream);
            // What was never on this stream can go on any other.
            let Some(stream) = self.streams.get_mut(&place.stream) else { return };
            let rest = stream.events.split_off(from.min(stream.events.len()));
            if stream.events.is_empty() {
                self.streams.remove(&place.stream);
            }
            rest.into_iter().filter_map(|event| self.say_unasked(event)).for_each(Waker::wake);
        } else {
            let costs: Vec<usize> = self
                .streams
                .get(&place.stream)
                .map(|stream| stream.events.iter().skip(from).map(Event::cost).collect())
                .unwrap_or_default();
            for cost in costs {
                self.keep(place.stream, cost);
            }
            let done = |stream: &Stream| stream.is_finished() && stream.events.is_empty();
            if self.streams.get(&place.stream).is_some_and(done) {
                self.streams.remove(&place.stream);
            }
            self.shed();
        }
    }

    /// The session is to end.
    pub(super) fn end(&mut self, ending: Ending) {
        if self.ending != Some(Ending::Gone) {
            self.ending = Some(ending);
        }
        if let Some(carrier) = self.carrier.take() {
            carrier.wake();
        }
    }

    /// The session is over: readers take what is there, and then see the end.
    pub(super) fn close(&mut self) {
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
    pub(super) fn end_gets(&mut self) {
        for number in std::mem::take(&mut self.gets) {
            if let Some(stream) = self.streams.get_mut(&number) {
                // To its reader it is as if it were a POST that is answered.
                stream.get = false;
                stream.counted = true;
                if let Some(waker) = stream.waker.take() {
                    waker.wake();
                }
            }
        }
    }
}
