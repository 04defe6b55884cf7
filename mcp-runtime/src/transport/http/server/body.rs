//! The body of an answer that is a stream of events.
//!
//! In: the events of one stream. Out: frames, each with its id, so that a client that loses the connection can name
//! where it was. Refuses to be silent for long: a comment from time to time shows both sides that the other is there.

use std::convert::Infallible;
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use http_body::Frame;
use tokio::time::{Instant, Sleep};

use super::session::Shared;
use super::streams::{Next, Place};

/// How many bytes go into one frame before it is sent.
const FRAME: usize = 16 * 1024;

/// The letter of a stream in event ids.
fn letter(get: bool) -> char {
    if get { 'g' } else { 'p' }
}

/// Reads what a client has named as the last event that it saw: the stream, and the event in it, if it saw one.
pub(super) fn event_id(text: &str) -> Option<(bool, u64, Option<u64>)> {
    let (get, rest) = match text.split_at_checked(1)? {
        ("g", rest) => (true, rest),
        ("p", rest) => (false, rest),
        _ => return None,
    };
    match rest.split_once('-') {
        Some((stream, event)) => Some((get, stream.parse().ok()?, Some(event.parse().ok()?))),
        None => Some((get, rest.parse().ok()?, None)),
    }
}

/// The events of one stream, from one on.
#[derive(Debug)]
pub(super) struct Events {
    shared: Arc<Shared>,
    place: Place,
    get: bool,
    /// What comes before the events, until it is sent.
    opening: Vec<u8>,
    silence: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl Events {
    pub(super) fn new(shared: Arc<Shared>, place: Place, get: bool, primed: bool) -> Events {
        let retry = shared.options.retry.as_millis();
        let mut opening = format!("retry: {retry}\n").into_bytes();
        if place.next == 0 {
            // Whoever loses the connection before the first event can name the stream nevertheless.
            let _ = writeln!(opening, "id: {}{}", letter(get), place.stream);
            // Older clients take an event without data for a broken message.
            if primed {
                opening.extend_from_slice(b"data:\n");
            }
        }
        opening.push(b'\n');
        Events { shared, place, get, opening, silence: None, ended: false }
    }

    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut frame = std::mem::take(&mut self.opening);
        let mut took = false;
        {
            let mut streams = self.shared.streams();
            while !self.ended && frame.len() < FRAME {
                match streams.poll_event(context, self.place) {
                    Poll::Ready(Next::Event(number, event)) => {
                        took = true;
                        self.place.next = number.saturating_add(1);
                        // A vector takes whatever is written.
                        let _ =
                            write!(frame, "id: {}{}-{number}\ndata: ", letter(self.get), self.place.stream);
                        frame.extend_from_slice(&event.message);
                        frame.extend_from_slice(b"\n\n");
                    }
                    Poll::Ready(Next::End) => self.ended = true,
                    Poll::Pending => break,
                }
            }
        }
        if took {
            self.shared.wrote();
        }
        if !frame.is_empty() {
            self.silence = None;
            return Poll::Ready(Some(frame.into()));
        }
        if self.ended { Poll::Ready(None) } else { self.poll_silence(context) }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let every = self.shared.options.keep_alive;
        let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(every)));
        if silence.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        if let Some(next) = Instant::now().checked_add(every) {
            silence.as_mut().reset(next);
        }
        // It has to be polled once more to be woken for the next time; the frame brings that about.
        Poll::Ready(Some(Bytes::from_static(b":\n\n")))
    }
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().poll_events(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.streams().disconnected(self.place, Instant::now().into_std());
        self.shared.wrote();
    }
}
