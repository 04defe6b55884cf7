//! Calls and notifications beside the linear channels.
//!
//! In: a message and its payload, written as JSON at once. Out: futures, sent when they are first polled. Refuses to
//! leave a request behind: a call that is dropped while it runs is cancelled where the protocol allows it, and
//! otherwise its reply is dropped when it comes.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use mcp_protocol_machine::About;
use mcp_protocol_machine::protocol::MessageIndex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::reply::{ReadReply, Reply};
use crate::error::Error;
use crate::jsonrpc::write;
use crate::options::Report;
use crate::session::{Link, Sent};

/// Marks calls that the protocol allows to be taken back.
#[derive(Clone, Copy, Debug)]
pub enum Cancellable {}

/// Marks calls that the protocol does not allow to be taken back.
#[derive(Clone, Copy, Debug)]
pub enum Uncancellable {}

/// What a call's types say of it, without holding any of it.
type Shape<T, C, G> = fn() -> (T, C, G);

/// What is called with each report on a call.
type OnProgress = Box<dyn FnMut(&str) -> Result<(), serde_json::Error> + Send>;

/// A request that runs beside the linear channels. Sent when it is first polled; `T` is its result, `C` says whether
/// it can be cancelled, `G` is what the peer reports on it.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'a, T, C, G> {
    link: Link,
    message: MessageIndex,
    stage: Stage,
    on_progress: Option<OnProgress>,
    cancelling: Option<Arc<Mutex<Cancelling>>>,
    marker: PhantomData<(&'a (), Shape<T, C, G>)>,
}

enum Stage {
    /// Nothing was written yet.
    New(Result<String, Error>),
    /// Written, under this id.
    Running(i64),
    Over,
}

/// What a call and its cancellers share.
enum Cancelling {
    /// The call was not written yet.
    Unsent,
    /// It was, under this id.
    Sent(i64),
    /// It was cancelled before it was written.
    Early,
}

impl<T, C, G> Call<'_, T, C, G> {
    pub(super) fn new<P: Serialize + ?Sized>(link: Link, message: MessageIndex, params: &P) -> Self {
        let written = written(&link, message, params);
        Call {
            link,
            message,
            stage: Stage::New(written),
            on_progress: None,
            cancelling: None,
            marker: PhantomData,
        }
    }

    /// Asks for reports, and calls `on_progress` with each of them while the call is polled, before its result.
    pub fn on_progress(mut self, mut on_progress: impl FnMut(G) + Send + 'static) -> Self
    where
        G: DeserializeOwned,
    {
        self.on_progress = Some(Box::new(move |raw| {
            on_progress(serde_json::from_str(raw)?);
            Ok(())
        }));
        self
    }

    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<Sent> {
        match &mut self.stage {
            Stage::New(written) => {
                let written = match written {
                    Ok(written) => written,
                    Err(error) => return Poll::Ready(Sent::Done(Err(error.clone()))),
                };
                let (message, progress) = (self.message, self.on_progress.is_some());
                let cancelling = self.cancelling.as_deref();
                let (id, polled) = self.link.with(|engine| {
                    // Locked inside of the engine's lock, always in this order, and never while other code runs.
                    let mut cancelling = cancelling.map(locked);
                    if matches!(cancelling.as_deref(), Some(Cancelling::Early)) {
                        return (None, Poll::Ready(Sent::Done(Err(Error::Cancelled))));
                    }
                    if engine.poll_room(context).is_pending() {
                        return (None, Poll::Pending);
                    }
                    match engine.request(message, written, progress, true) {
                        Ok(id) => {
                            if let Some(cancelling) = &mut cancelling {
                                **cancelling = Cancelling::Sent(id);
                            }
                            (Some(id), engine.poll_call(context, id))
                        }
                        Err(error) => (None, Poll::Ready(Sent::Done(Err(error)))),
                    }
                });
                if let Some(id) = id {
                    self.stage = Stage::Running(id);
                }
                polled
            }
            Stage::Running(id) => {
                let id = *id;
                self.link.with(|engine| engine.poll_call(context, id))
            }
            Stage::Over => Poll::Ready(Sent::Done(Err(Error::Closed))),
        }
    }

    fn progress_came(&mut self, raw: &str) {
        if let Some(on_progress) = &mut self.on_progress
            && let Err(error) = on_progress(raw)
        {
            let message = self.link.with(|engine| engine.name(self.message));
            let problem = format!("a report on it could not be read: {error}");
            self.link.options().report(&Report::Undecodable { message, problem });
        }
    }
}

impl<T, G> Call<'_, T, Cancellable, G> {
    /// A handle that takes the call back, from any task.
    pub fn canceller(&mut self) -> Canceller {
        let state = match self.stage {
            Stage::New(_) => Cancelling::Unsent,
            Stage::Running(id) => Cancelling::Sent(id),
            Stage::Over => Cancelling::Early,
        };
        let shared = self.cancelling.get_or_insert_with(|| Arc::new(Mutex::new(state)));
        Canceller { link: self.link.clone(), shared: Arc::clone(shared) }
    }
}

impl<T: ReadReply, C, G> Future for Call<'_, T, C, G> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        loop {
            match call.poll_sent(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Sent::Progress(raw)) => call.progress_came(&raw),
                Poll::Ready(Sent::Done(result)) => {
                    call.stage = Stage::Over;
                    let read = result.and_then(|answer| {
                        T::read_reply(Reply::new(answer.message, &answer.text)).map_err(|error| {
                            let message = call.link.with(|engine| engine.name(call.message));
                            Error::payload(&message, error)
                        })
                    });
                    return Poll::Ready(read);
                }
            }
        }
    }
}

impl<T, C, G> Drop for Call<'_, T, C, G> {
    fn drop(&mut self) {
        if let Stage::Running(id) = self.stage {
            self.link.with(|engine| engine.let_go(id));
        }
    }
}

impl<T, C, G> fmt::Debug for Call<'_, T, C, G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = match self.stage {
            Stage::Running(id) => Some(id),
            Stage::New(_) | Stage::Over => None,
        };
        formatter
            .debug_struct("Call")
            .field("message", &self.message)
            .field("id", &id)
            .finish_non_exhaustive()
    }
}

/// Takes one call back, from any task. Harmless once the call is complete.
#[derive(Clone)]
pub struct Canceller {
    link: Link,
    shared: Arc<Mutex<Cancelling>>,
}

impl Canceller {
    /// Takes the call back: it ends with [`Error::Cancelled`], unless its result has come already.
    pub fn cancel(&self) -> Result<(), Error> {
        self.cancel_raw(None)
    }

    /// The same, with further members for the notification, given as something that is written as a JSON object.
    pub fn cancel_with<P: Serialize + ?Sized>(&self, extra: &P) -> Result<(), Error> {
        let extra = write::payload(extra).map_err(|error| {
            let message = self.link.with(|engine| engine.takes_back().map(|message| engine.name(message)));
            Error::payload(&message.unwrap_or_default(), error)
        })?;
        self.cancel_raw(Some(&extra))
    }

    fn cancel_raw(&self, extra: Option<&str>) -> Result<(), Error> {
        self.link.with(|engine| {
            let mut cancelling = locked(&self.shared);
            match *cancelling {
                Cancelling::Sent(id) => engine.cancel(id, extra).map(drop),
                Cancelling::Unsent => {
                    *cancelling = Cancelling::Early;
                    // The call may wait for room.
                    engine.nudge();
                    Ok(())
                }
                Cancelling::Early => Ok(()),
            }
        })
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Canceller").finish_non_exhaustive()
    }
}

fn locked(cancelling: &Mutex<Cancelling>) -> MutexGuard<'_, Cancelling> {
    cancelling.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A notification beside the linear channels. Sent when it is first polled.
#[must_use = "a notification is sent when it is awaited"]
#[derive(Debug)]
pub struct Notify<'a> {
    link: Link,
    message: MessageIndex,
    written: Result<String, Error>,
    marker: PhantomData<&'a ()>,
}

impl Notify<'_> {
    pub(super) fn new<P: Serialize + ?Sized>(link: Link, message: MessageIndex, params: &P) -> Self {
        let written = written(&link, message, params);
        Notify { link, message, written, marker: PhantomData }
    }
}

impl Future for Notify<'_> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let written = match &self.written {
            Ok(written) => written,
            Err(error) => return Poll::Ready(Err(error.clone())),
        };
        self.link.with(|engine| match engine.poll_room(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                Poll::Ready(engine.notification(self.message, written, About::Nothing).map(drop))
            }
        })
    }
}

/// A payload as JSON.
pub(super) fn written<P: Serialize + ?Sized>(
    link: &Link,
    message: MessageIndex,
    payload: &P,
) -> Result<String, Error> {
    write::payload(payload).map_err(|error| {
        let name = link.protocol().message(message).map(|message| message.name.clone());
        Error::payload(&name.unwrap_or_default(), error)
    })
}
