//! What the tests of several packages share.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinHandle;

pub mod raw;
pub mod recorder;
pub mod script;

/// As `tokio::spawn`. The future is boxed, so that what drives a task is compiled once for each output and not for each of
/// the hundreds of futures that tests spawn, which took a sixth of the time that their build takes.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let boxed: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    tokio::spawn(boxed)
}
