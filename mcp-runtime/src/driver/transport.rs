//! [`Transport`]: the trait of everything that carries a session.

use std::future::Future;
use std::sync::Arc;

use super::carrier::Carrier;
use super::endpoint::Endpoint;
use super::limits::SharedLimits;

/// What carries a session.
///
/// ```
/// use std::sync::Arc;
/// use mcp_runtime::driver::{Carrier, Endpoint, SharedLimits, Transport};
///
/// /// Notes in the log when the session of another transport ends.
/// struct Logged<T>(T);
///
/// impl<T: Transport> Transport for Logged<T> {
///     async fn run(self, endpoint: Arc<dyn Endpoint>) {
///         self.0.run(endpoint).await;
///         println!("the session is over");
///     }
///
///     fn is_ordered(&self) -> bool {
///         self.0.is_ordered()
///     }
///
///     fn limits(&self) -> SharedLimits {
///         self.0.limits()
///     }
///
///     fn carrier(&self) -> Carrier {
///         self.0.carrier()
///     }
/// }
/// ```
pub trait Transport: Send + 'static {
    /// Carries the session of `endpoint` to its end; returns when nothing is left to do.
    ///
    /// The future is polled on a tokio runtime with I/O and time enabled, in a task of its own unless
    /// [`carrier`](Self::carrier) says otherwise. Dropping it early drops everything at
    /// once.
    fn run(self, endpoint: Arc<dyn Endpoint>) -> impl Future<Output = ()> + Send;

    /// Whether messages arrive in the order in which they were written, both ways, as over a stream. Only then does a
    /// reply prove that its sender has received what was written before the request, and what comes late after that is
    /// a violation. Over HTTP, where each exchange travels by itself, this is `false`.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Whether it carries a single request and ends with it, as over HTTP where the protocol has no handshake. A program
    /// that speaks several protocols learns from it which one the peer speaks; see
    /// [`Successive`](crate::transport::Successive) for connections that begin before this is known.
    fn is_for_one_request(&self) -> bool {
        false
    }

    /// Returns the limits that the session shares with others. It is called once, before [`run`](Self::run).
    fn limits(&self) -> SharedLimits {
        SharedLimits::default()
    }

    /// Returns where the future of [`run`](Self::run) is polled. It is called once, before that.
    fn carrier(&self) -> Carrier {
        Carrier::default()
    }
}
