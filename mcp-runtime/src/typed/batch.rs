//! Sends several calls and notifications as one JSON-RPC batch.

use super::call::Call;
use super::notify::Notify;
use super::timer::room;
use crate::error::Error;
use sealed::{BatchPart, Of, Writing};

/// What can be sent in a batch: calls, notifications, and tuples and lists of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a batch",
    label = "neither a call nor a notification",
    note = "a step moves the session on: take it on its own, before the batch or after it"
)]
pub trait InBatch: BatchPart {
    /// The value that [`batch`] returns for it. For a call, the call, which waits for its reply; for a notification,
    /// whether it was sent.
    type Sent;

    #[doc(hidden)]
    fn sent(self) -> Self::Sent;
}

/// Sends several messages of replicated channels as one JSON-RPC batch, and returns them.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::{Error, call::batch};
/// use serde_json::{Value, json};
/// use weather::{Active, WeatherClient};
///
/// async fn both(client: &WeatherClient<Active>) -> Result<(Value, Value), Error> {
///     let oslo = client.forecast(json!({ "city": "Oslo" }));
///     let rome = client.forecast(json!({ "city": "Rome" }));
///     let (oslo, rome) = batch((oslo, rome)).await?;
///     Ok((oslo.await?, rome.await?))
/// }
/// ```
///
/// Each message is checked separately: one that is not permitted is left out, and awaiting it returns the error. The
/// peer may answer in any order and in any number of messages.
///
/// # Errors
/// [`Error::NoBatches`] where the protocol does not permit batches, and any error that keeps this side from sending.
/// Nothing is written in these cases.
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
    pub trait BatchPart {
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
    use super::sealed::{BatchPart, Of, Writing};
    use super::{Call, Error, InBatch, Notify};

    impl<T, C, G> BatchPart for Call<'_, T, C, G> {
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

    impl BatchPart for Notify<'_> {
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

    impl<I: BatchPart> BatchPart for Vec<I> {
        fn link(&self) -> Option<Of<'_>> {
            self.iter().find_map(BatchPart::link)
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
            impl<$($part: BatchPart),+> BatchPart for ($($part,)+) {
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
