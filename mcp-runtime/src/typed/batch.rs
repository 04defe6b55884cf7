//! Several messages of this side in one line.
//!
//! In: calls and notifications of one session. Out: one JSON-RPC batch, and the calls, which now wait for their replies.
//! Refuses to send one where the protocol, or the revision of it that governs, permits no batches. Steps are no calls,
//! so a step such as `initialize` in a batch does not compile.

use super::call::Call;
use super::notify::Notify;
use super::timer::room;
use crate::error::Error;
use sealed::{Of, Part, Writing};

/// What can be sent in a batch: calls, notifications, and tuples and lists of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a batch",
    label = "neither a call nor a notification",
    note = "a step moves the session on: take it on its own, before the batch or after it"
)]
pub trait InBatch: Part {
    /// What becomes of it: of a call the call, which waits for its reply when it is awaited, or gives why it was not
    /// sent; of a notification, whether it was.
    type Sent;

    #[doc(hidden)]
    fn sent(self) -> Self::Sent;
}

/// Sends several messages beside the linear channels in one line, a JSON-RPC batch, and gives them back.
///
/// ```no_run
/// # use mcp_runtime::{Error, call::{Call, InBatch, ReadReply, batch}};
/// # async fn example<T: ReadReply, C, G>(one: Call<'_, T, C, G>, other: Call<'_, T, C, G>) -> Result<(), Error> {
/// let (one, other) = batch((one, other)).await?;
/// let (one, other) = (one.await?, other.await?);
/// # Ok(())
/// # }
/// ```
///
/// Each is judged by itself: one that is not permitted is left out, and awaiting it says why. The peer may answer in
/// any order and in lines of any number.
///
/// # Errors
/// [`Error::NoBatches`] where the protocol permits none, and whatever else keeps this side from sending; then nothing
/// was written.
pub async fn batch<I: InBatch>(mut items: I) -> Result<I::Sent, Error> {
    let Some((link, first)) = items.link().map(|of| (of.0.clone(), of.1)) else { return Ok(items.sent()) };
    if !items.is_of(&Of(&link, first)) {
        return Err(Error::OtherSession);
    }
    room(&link, first).await?;
    link.speak(|engine, caller| {
        engine.batched(caller, |engine, caller| items.write(&mut Writing(engine, caller)))
    })?;
    Ok(items.sent())
}

mod sealed {
    use mcp_protocol_machine::protocol::MessageIndex;

    use crate::engine::{Caller, Engine, Link};

    /// The session that a part belongs to, and its first message.
    #[derive(Debug)]
    pub struct Of<'a>(pub(super) &'a Link, pub(super) MessageIndex);

    /// Where a part is written, and on whose behalf.
    #[derive(Debug)]
    pub struct Writing<'a>(pub(super) &'a mut Engine, pub(super) Caller);

    /// A part of a batch.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot stand in a batch",
        label = "neither a call nor a notification",
        note = "a step moves the session on: take it on its own, before the batch or after it"
    )]
    pub trait Part {
        /// The session that it belongs to; nothing if there is nothing to send.
        fn link(&self) -> Option<Of<'_>>;

        /// Whether all of it belongs to this session.
        fn is_of(&self, link: &Of<'_>) -> bool {
            self.link().is_none_or(|own| own.0.is(link.0))
        }

        /// Writes it, or notes why not.
        fn write(&mut self, engine: &mut Writing<'_>);
    }
}

mod parts {
    use super::sealed::{Of, Part, Writing};
    use super::{Call, Error, InBatch, Notify};

    impl<T, C, G> Part for Call<'_, T, C, G> {
        fn link(&self) -> Option<Of<'_>> {
            let (link, message) = self.of();
            Some(Of(link, message))
        }

        fn write(&mut self, engine: &mut Writing<'_>) {
            self.write_now(engine.0, engine.1);
        }
    }

    impl<T, C, G> InBatch for Call<'_, T, C, G> {
        type Sent = Self;

        fn sent(self) -> Self {
            self
        }
    }

    impl Part for Notify<'_> {
        fn link(&self) -> Option<Of<'_>> {
            let (link, message) = self.of();
            Some(Of(link, message))
        }

        fn write(&mut self, engine: &mut Writing<'_>) {
            self.write_now(engine.0, engine.1);
        }
    }

    impl InBatch for Notify<'_> {
        type Sent = Result<(), Error>;

        fn sent(self) -> Self::Sent {
            self.outcome()
        }
    }

    impl<I: Part> Part for Vec<I> {
        fn link(&self) -> Option<Of<'_>> {
            self.iter().find_map(Part::link)
        }

        fn is_of(&self, link: &Of<'_>) -> bool {
            self.iter().all(|part| part.is_of(link))
        }

        fn write(&mut self, engine: &mut Writing<'_>) {
            for part in self {
                part.write(engine);
            }
        }
    }

    impl<I: InBatch> InBatch for Vec<I> {
        type Sent = Vec<I::Sent>;

        fn sent(self) -> Self::Sent {
            self.into_iter().map(InBatch::sent).collect()
        }
    }

    macro_rules! tuples {
        ($($($part:ident)+;)+) => {$(
            impl<$($part: Part),+> Part for ($($part,)+) {
                #[allow(non_snake_case, reason = "the parts are named like their types")]
                fn link(&self) -> Option<Of<'_>> {
                    let ($($part,)+) = self;
                    None$(.or_else(|| $part.link()))+
                }

                #[allow(non_snake_case, reason = "the parts are named like their types")]
                fn is_of(&self, link: &Of<'_>) -> bool {
                    let ($($part,)+) = self;
                    true $(&& $part.is_of(link))+
                }

                #[allow(non_snake_case, reason = "the parts are named like their types")]
                fn write(&mut self, engine: &mut Writing<'_>) {
                    let ($($part,)+) = self;
                    $($part.write(engine);)+
                }
            }

            impl<$($part: InBatch),+> InBatch for ($($part,)+) {
                type Sent = ($($part::Sent,)+);

                #[allow(non_snake_case, reason = "the parts are named like their types")]
                fn sent(self) -> Self::Sent {
                    let ($($part,)+) = self;
                    ($($part.sent(),)+)
                }
            }
        )+};
    }

    tuples! {
        A; A B; A B D; A B D E; A B D E F; A B D E F H; A B D E F H J; A B D E F H J K;
    }
}
