//! Waits for what a program takes messages from, in wire order.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

use super::incoming::IncomingQueue;
use super::inputs::Wanted;
use super::session::Session;
use crate::engine::{LinearInput, Link, Source, Waiter};

/// What a program takes messages of the peer from: the value of a session, of one of its channels, or of a sub-session,
/// and the queue that `incoming()` returns. [`first_readable`] waits for several of them. `None` never has anything.
pub trait Readable: Sync {
    /// For the runtime only.
    #[doc(hidden)]
    fn reader(&self) -> Option<Reader<'_>>;
}

impl<R: Readable> Readable for Option<R> {
    fn reader(&self) -> Option<Reader<'_>> {
        self.as_ref().and_then(R::reader)
    }
}

/// Where a [`Readable`] has its messages.
#[doc(hidden)]
pub struct Reader<'s> {
    link: &'s Link,
    source: Source<'s>,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reader").field("link", &self.link).finish_non_exhaustive()
    }
}

/// Waits until one of several values and queues has something to take, or will have nothing any more. Returns its place
/// in the slice.
///
/// Of those that have something, it is the one whose message the peer wrote first. So a program that takes the next
/// message from the value at this place, and asks again, receives all of them in wire order. Values and queues of
/// different sessions may stand in the slice, too, and have no order between them. One that has come to its end counts
/// only while no other one of its session has a message.
///
/// Takes nothing itself, so it may be dropped.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::session::first_readable;
/// use weather::{Active, WeatherServer};
///
/// /// Whatever comes next: from the state of the session, or on the channels next to it.
/// async fn is_for_the_session(server: &WeatherServer<Active>) -> bool {
///     let incoming = server.incoming();
///     first_readable(&[server, &incoming]).await == 0
/// }
/// ```
pub async fn first_readable(readables: &[&dyn Readable]) -> usize {
    let mut sessions: Vec<SessionSources<'_>> = Vec::new();
    for (place, readable) in readables.iter().enumerate() {
        let Some(Reader { link, source }) = readable.reader() else { continue };
        match sessions.iter_mut().find(|group| group.link.is(link)) {
            Some(group) => group.add(place, source),
            None => sessions.push(SessionSources::of(link, place, source)),
        }
    }
    poll_fn(|context| {
        for SessionSources { link, places, sources, waiter } in &mut sessions {
            let first = link.with(|engine| engine.inbox().poll_readable(context, waiter, sources));
            if let Poll::Ready(first) = first {
                return Poll::Ready(places.get(first).copied().unwrap_or_default());
            }
        }
        Poll::Pending
    })
    .await
}

/// Those of one session: only under one lock is it known which of them is the first.
struct SessionSources<'s> {
    link: &'s Link,
    /// The place of each source in the list that the program has given.
    places: Vec<usize>,
    sources: Vec<Source<'s>>,
    waiter: Waiter,
}

impl<'s> SessionSources<'s> {
    fn of(link: &'s Link, place: usize, source: Source<'s>) -> SessionSources<'s> {
        SessionSources { link, places: vec![place], sources: vec![source], waiter: Waiter::default() }
    }

    fn add(&mut self, place: usize, source: Source<'s>) {
        self.places.push(place);
        self.sources.push(source);
    }
}

impl Readable for Session {
    fn reader(&self) -> Option<Reader<'_>> {
        let channel = &self.channel;
        let judge = |input: &LinearInput| channel.judge(Wanted::Any, input);
        let source = Source::Value(channel.sub_session, Box::new(judge));
        Some(Reader { link: &channel.link, source })
    }
}

impl Session {
    /// Waits until there is an input to take, or there will be none. Takes nothing, so it may be dropped at any time.
    pub async fn readable(&self) {
        first_readable(&[self]).await;
    }
}

impl Readable for IncomingQueue {
    fn reader(&self) -> Option<Reader<'_>> {
        Some(Reader { link: &self.link, source: Source::Incoming(self.scope) })
    }
}
