//! [`Carrier`]: where the future is polled that carries a session.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::runtime::Handle;

/// A future that carries a session.
pub(crate) type Carrying = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A place for the future that carries a session.
#[cfg_attr(
    not(feature = "http-server"),
    allow(dead_code, reason = "other transports have no place of their own")
)]
pub(crate) trait Carry: Send + Sync {
    /// Takes the future, to poll it to its end.
    ///
    /// # Errors
    /// With the future, if it is not polled here.
    fn carry(&self, future: Carrying) -> Result<(), Carrying>;
}

/// Where the future is polled that carries a session. By default this is a task of its own.
///
/// A transport returns it from [`Transport::carrier`](super::Transport::carrier).
#[derive(Clone, Default)]
pub struct Carrier(Option<Arc<dyn Carry>>);

impl Carrier {
    /// A place of the transport.
    #[cfg(feature = "http-server")]
    pub(crate) fn at(place: Arc<dyn Carry>) -> Carrier {
        Carrier(Some(place))
    }

    /// Has the future polled.
    pub(crate) fn start(&self, runtime: &Handle, future: impl Future<Output = ()> + Send + 'static) {
        let Some(place) = &self.0 else {
            runtime.spawn(future);
            return;
        };
        if let Err(future) = place.carry(Box::pin(future)) {
            runtime.spawn(future);
        }
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.0.is_some() { "the transport's" } else { "a task of its own" };
        formatter.debug_tuple("Carrier").field(&place).finish()
    }
}
