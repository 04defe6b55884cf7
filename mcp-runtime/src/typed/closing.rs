//! [`Closing`]: waits until a closed session has ended.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::driver::Outcome;
use crate::engine::{Link, Waiter};
use crate::error::Error;

/// Waits until a closed session has been drained and its transport is gone. Closing goes on if this is dropped.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use weather::{Active, WeatherClient};
///
/// async fn finish(client: WeatherClient<Active>) {
///     match client.close().await {
///         Ok(outcome) => println!("{outcome}"),
///         Err(error) => println!("the session had ended before: {error}"),
///     }
/// }
/// ```
///
/// # Errors
/// [`Error::Disconnected`](crate::Error::Disconnected) if the session had ended before it was closed, or took too long to
/// close.
#[derive(Debug)]
pub struct Closing {
    link: Link,
    waiter: Waiter,
}

impl Closing {
    pub(crate) fn new(link: Link) -> Closing {
        Closing { link, waiter: Waiter::default() }
    }
}

impl Future for Closing {
    type Output = Result<Outcome, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Closing { link, waiter } = self.get_mut();
        link.with(|engine| engine.poll_terminated(context, waiter))
    }
}
