//! [`Progress`]: a report of how far the work of a tool has come.

use std::fmt;
use std::pin::Pin;
use std::task::{self, Poll};

use futures_core::future::BoxFuture;
use mcp_protocols::eras::Context;
use mcp_protocols::eras::types::{Number, ProgressParams};

use super::super::failure::Failure;

/// A report of how far the work has come, which is sent when it is awaited. It fails if the client is gone, or if it says no more
/// than the report before.
///
/// ```
/// # use mcp_kit::{Client, Failure};
/// # async fn read_file(_: &str) -> Result<(), Failure> { Ok(()) }
/// async fn read_all(files: &[String], client: &Client) -> Result<(), Failure> {
///     for (done, file) in (0..).zip(files) {
///         client.progress(done, files.len() as u64).message(format!("reading `{file}`")).await?;
///         read_file(file).await?;
///     }
///     Ok(())
/// }
/// ```
#[must_use = "progress is sent when it is awaited"]
pub struct Progress {
    context: Context,
    params: ProgressParams,
    sending: Option<BoxFuture<'static, Result<(), Failure>>>,
}

impl Progress {
    /// The token of the request is filled in where the report is sent.
    pub(super) fn new(context: Context, done: impl Into<Number>) -> Progress {
        Progress { context, params: ProgressParams::new(0, done), sending: None }
    }

    /// Says how much there is to do.
    pub(super) fn total(mut self, total: impl Into<Number>) -> Progress {
        self.params.total = Some(total.into());
        self
    }

    /// Says what is being done, as a text that the client may show.
    pub fn message(mut self, message: impl Into<String>) -> Progress {
        self.params.message = Some(message.into());
        self
    }
}

impl Future for Progress {
    type Output = Result<(), Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        let Progress { context: request, params, sending } = &mut *self;
        let sending = sending.get_or_insert_with(|| {
            let (request, params) = (request.clone(), params.clone());
            Box::pin(async move { Ok(request.send_progress(params).await?) })
        });
        sending.as_mut().poll(context)
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Progress").field("params", &self.params).finish_non_exhaustive()
    }
}
