//! Response bodies that stream events, with keep-alive comments.

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::session::HttpSessionState;
use super::stream::{Next, ReadPosition};
use crate::budget::Permit;

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
pub(super) struct EventBody {
    shared: Arc<HttpSessionState>,
    place: ReadPosition,
    get: bool,
    /// What comes before the events, until it is sent.
    opening: Vec<u8>,
    silence: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl EventBody {
    pub(super) fn new(
        shared: Arc<HttpSessionState>,
        place: ReadPosition,
        get: bool,
        primed: bool,
    ) -> EventBody {
        let mut opening = Vec::new();
        let resumable = !shared.is_for_one_request();
        if resumable {
            let retry = shared.options.retry.as_millis();
            // A vector takes whatever is written.
            let _ = writeln!(opening, "retry: {retry}");
        }
        if resumable && place.next == 0 {
            // A client that loses the connection before the first event can still resume the stream.
            let _ = writeln!(opening, "id: {}{}", letter(get), place.stream);
            // Older clients take an event without data for a broken message.
            if primed {
                opening.extend_from_slice(b"data:\n");
            }
        }
        if resumable {
            opening.push(b'\n');
        }
        EventBody { shared, place, get, opening, silence: None, ended: false }
    }

    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut frame = std::mem::take(&mut self.opening);
        let mut permits = Vec::new();
        {
            let mut streams = self.shared.streams();
            while !self.ended && frame.len() < FRAME {
                match streams.poll_event(context, self.place) {
                    Poll::Ready(Next::Part(part, last, permit)) => {
                        let ReadPosition { stream, next, at, .. } = self.place;
                        if at == 0 {
                            if !self.shared.is_for_one_request() {
                                let _ = writeln!(frame, "id: {}{stream}-{next}", letter(self.get));
                            }
                            frame.extend_from_slice(b"data: ");
                        }
                        frame.extend_from_slice(&part);
                        permits.push(permit);
                        if last {
                            frame.extend_from_slice(b"\n\n");
                            self.place = ReadPosition { next: next.saturating_add(1), at: 0, ..self.place };
                        } else {
                            self.place.at = at.saturating_add(part.len());
                        }
                    }
                    Poll::Ready(Next::End) => self.ended = true,
                    Poll::Pending => break,
                }
            }
        }
        if !permits.is_empty() {
            self.shared.wrote();
        }
        if !frame.is_empty() {
            self.silence = None;
            return Poll::Ready(Some(Counted::whole(frame, permits)));
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

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().poll_events(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.shared.streams().disconnected(self.place, Instant::now().into_std());
        if self.shared.is_for_one_request() {
            self.shared.left(self.place.stream);
        }
        self.shared.wrote();
    }
}

/// Bytes on their way to a client, which count until the connection has written them: with one permit, or several.
struct Counted<T, P> {
    bytes: T,
    _permits: P,
}

impl<T: AsRef<[u8]> + Send + 'static, P: Send + 'static> Counted<T, P> {
    fn whole(bytes: T, permits: P) -> Bytes {
        Bytes::from_owner(Counted { bytes, _permits: permits })
    }
}

impl<T: AsRef<[u8]>, P> AsRef<[u8]> for Counted<T, P> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// A short answer, which is written at once.
pub(super) fn short(message: Bytes, permit: Permit) -> Bytes {
    Counted::whole(message, permit)
}

/// The answer to a POST in one piece that is too long to be written at once. It is cut where the client takes nothing
/// of it for too long.
#[derive(Debug)]
pub(super) struct LongBody {
    pub(super) shared: Arc<HttpSessionState>,
    pub(super) number: u64,
    /// How many bytes are left.
    pub(super) left: usize,
}

impl HttpBody for LongBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let piece = this.shared.streams().take_piece(this.number);
        let Some((piece, permit)) = piece else {
            this.left = 0;
            return Poll::Ready(Some(Err(io::Error::other("the answer was not read in time"))));
        };
        this.left = this.left.saturating_sub(piece.len());
        this.shared.wrote();
        Poll::Ready(Some(Ok(Frame::data(Counted::whole(piece, permit)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

impl Drop for LongBody {
    fn drop(&mut self) {
        self.shared.streams().forget_long(self.number);
        self.shared.wrote();
    }
}
