//! Messages that a transport delivers to the engine.

use std::sync::Arc;

use super::extension::Extension;
use super::frame::Frame;
use super::framing::FrameReader;
use crate::epoch::Epoch;
use crate::jsonrpc::MessageText;

/// A transport's name for a message, or batch, of the peer. What the session says in reply to it carries the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestTag(pub u64);

/// The result of a delivery.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Received {
    /// How many requests with a tag were accepted.
    pub requests: usize,
    /// Why a notification, or a reply, with a tag was refused; nothing is written about that.
    pub refused: Option<String>,
}

impl Received {
    /// The same of one more message.
    pub(crate) fn add(&mut self, other: Received) {
        self.requests = self.requests.saturating_add(other.requests);
        self.refused = other.refused.or(self.refused.take());
    }
}

/// Messages of the peer, as a transport delivers them to an [`Endpoint`](super::Endpoint).
///
/// ```
/// use mcp_runtime::driver::{Delivery, FrameReader, Framing, RequestTag};
///
/// let mut reader = FrameReader::new(Framing::Lines);
/// let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"weather/alert\"}\n";
/// let mut messages = 0;
/// Delivery::bytes(&mut reader, line).tagged(RequestTag(1)).for_each(|_| messages += 1);
/// assert_eq!(messages, 1);
/// ```
#[derive(Debug)]
pub struct Delivery<'a> {
    source: DeliverySource<'a>,
    tag: Option<RequestTag>,
    extension: Option<&'a Arc<dyn Extension>>,
    epoch: Option<Epoch>,
}

#[derive(Debug)]
enum DeliverySource<'a> {
    Message(MessageText<'a>),
    Bytes(&'a mut FrameReader, &'a [u8]),
    End(&'a mut FrameReader),
    Frame(Frame<'a>),
}

impl<'a> Delivery<'a> {
    /// One whole message, or a batch, laid out in any way.
    pub fn message(message: &'a [u8]) -> Delivery<'a> {
        Delivery::of(DeliverySource::Message(message.into()))
    }

    /// The same, where the message may have been read before.
    #[cfg(feature = "http-server")]
    pub(crate) fn text(message: MessageText<'a>) -> Delivery<'a> {
        Delivery::of(DeliverySource::Message(message))
    }

    /// The next bytes of a stream, in pieces of any size, and the messages that they complete. After it,
    /// [`FrameReader::take_error`] says whether the stream can be read any further.
    pub fn bytes(reader: &'a mut FrameReader, bytes: &'a [u8]) -> Delivery<'a> {
        Delivery::of(DeliverySource::Bytes(reader, bytes))
    }

    /// What is left of a stream that has ended: with [`Framing::Lines`](super::Framing::Lines), a last line without
    /// its end.
    pub fn end_of(reader: &'a mut FrameReader) -> Delivery<'a> {
        Delivery::of(DeliverySource::End(reader))
    }

    /// A message that another endpoint has found.
    pub(crate) fn frame(frame: Frame<'a>) -> Delivery<'a> {
        Delivery::of(match frame {
            Frame::Whole(message) => DeliverySource::Message(message),
            frame @ Frame::TooLong(_) => DeliverySource::Frame(frame),
        })
    }

    fn of(source: DeliverySource<'a>) -> Delivery<'a> {
        Delivery { source, tag: None, extension: None, epoch: None }
    }

    /// Names it, so that what the session says about it carries the name.
    #[must_use]
    pub fn tagged(self, tag: RequestTag) -> Delivery<'a> {
        Delivery { tag: Some(tag), ..self }
    }

    /// Adds what its handlers may ask for with `context.extension()`.
    #[must_use]
    pub fn with_extension(self, extension: &'a Arc<dyn Extension>) -> Delivery<'a> {
        Delivery { extension: Some(extension), ..self }
    }

    /// Says in which epoch it arrived. It is dropped if that is not the present one. No reconnection happens between
    /// the comparison and the taking.
    #[must_use]
    pub fn in_epoch(self, epoch: Epoch) -> Delivery<'a> {
        Delivery { epoch: Some(epoch), ..self }
    }

    /// Hands each message to `each`, for an endpoint that is not an engine.
    pub fn for_each(self, mut each: impl FnMut(&[u8])) {
        self.frames(usize::MAX, |frame| {
            if let Frame::Whole(message) = frame {
                each(message.bytes());
            }
        });
    }

    pub(crate) fn tag(&self) -> Option<RequestTag> {
        self.tag
    }

    pub(crate) fn extension(&self) -> Option<&'a Arc<dyn Extension>> {
        self.extension
    }

    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Hands each message to `each`; those of more than `limit` bytes as a sketch.
    pub(crate) fn frames(self, limit: usize, mut each: impl FnMut(Frame<'_>)) {
        match self.source {
            DeliverySource::Message(message) if message.bytes().len() > limit => {
                each(Frame::too_long(message.bytes()));
            }
            DeliverySource::Message(message) => each(Frame::Whole(message)),
            DeliverySource::Bytes(reader, bytes) => reader.feed(bytes, limit, each),
            DeliverySource::End(reader) => reader.finish(limit, each),
            DeliverySource::Frame(frame) => each(frame),
        }
    }
}
