//! [`Successive`]: one connection that carries one session after another.
//!
//! `connection` is what the sessions share; `whole` is the connection's side of it, which takes what comes in, and `part` is
//! the transport of one session.

mod connection;
mod part;
mod whole;

use std::fmt;
use std::sync::Arc;

use crate::driver::{Endpoint, Outcome, Transport, TransportEvent};

use connection::Connection;
use whole::Whole;

pub use connection::Division;
pub use part::Part;

/// A connection that carries one session after another, so that a program can speak several protocols over it: it looks at
/// how the peer begins, or asks the peer, and goes on with what both know.
///
/// Here the peer decides. What it begins with `initialize` is a session with a handshake; anything else is not.
///
/// ```
/// use mcp_runtime::transport::{Division, Successive, duplex};
/// # async fn serve_requests(_: mcp_runtime::transport::Part) {}
/// # async fn serve_session(_: mcp_runtime::transport::Part) {}
/// # async fn example() {
/// let (near, far) = duplex();
/// let mut connection = Successive::divided(near, |method| match method {
///     "initialize" => Division::Begins,
///     _ => Division::Continues,
/// });
/// while let Some(part) = connection.begun().await {
///     match part.begins_with() {
///         Some("initialize") => serve_session(part).await,
///         _ => serve_requests(part).await,
///     }
/// }
/// # drop(far);
/// # }
/// ```
///
/// The transport has to carry its messages in one order, both ways: over HTTP each session has a transport of its own.
///
/// The connection ends with its last session: with the one that is current when it has said everything, or is dropped. At
/// most 16 MiB of messages wait for a session that has not started; more of them end the connection.
pub struct Successive {
    connection: Arc<Connection>,
    /// Starts to carry messages with the first session.
    start: Option<Box<dyn FnOnce() + Send>>,
}

impl Successive {
    /// Sessions that this side begins, with [`begin`](Self::begin).
    pub fn new(transport: impl Transport) -> Successive {
        Successive::over(transport, None)
    }

    /// Sessions that the peer begins. `divide` says by the method of a request or a notification whether it begins a
    /// session. It is not asked about replies and batches, which continue.
    pub fn divided(
        transport: impl Transport,
        divide: impl FnMut(&str) -> Division + Send + 'static,
    ) -> Successive {
        Successive::over(transport, Some(Box::new(divide)))
    }

    fn over(transport: impl Transport, divide: Option<connection::Divide>) -> Successive {
        // What is printed where messages belong is one flood, whichever session it comes in.
        let limits = transport.limits().with_shared_reports();
        let connection = Arc::new(Connection::new(limits, transport.is_ordered(), divide));
        let whole = Arc::new(Whole::new(Arc::clone(&connection)));
        let start = move || {
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn(transport.run(whole))),
                // A session that is started over a part fails, too, and says why.
                Err(_) => whole.notify(TransportEvent::Terminated(Outcome::Dropped)),
            }
        };
        Successive { connection, start: Some(Box::new(start)) }
    }

    /// Begins the next session, at once. The one before gets no more messages, and what it still says is not sent. If it has
    /// sent requests, give this one another [`Options::first_id`](crate::Options::first_id), so that a late reply finds no
    /// request.
    #[must_use]
    pub fn begin(&mut self) -> Part {
        // First of all, so that the connection has a session for what it hears.
        let session = self.connection.begin_here();
        self.start();
        Part::new(session, Arc::clone(&self.connection))
    }

    /// Begins the next session, as [`begin`](Self::begin) does, and keeps the connection where that session ends by itself:
    /// until the next one begins, or this value is dropped. So a program can ask a peer in one session which other one it
    /// speaks, whatever the peer answers.
    ///
    /// ```
    /// use mcp_runtime::transport::{Successive, duplex};
    /// # async fn ask(_: mcp_runtime::transport::Part) {}
    /// # async fn speak(_: mcp_runtime::transport::Part) {}
    /// # async fn example() {
    /// let (near, far) = duplex();
    /// let mut connection = Successive::new(near);
    /// ask(connection.begin_kept()).await;
    /// speak(connection.begin()).await;
    /// # drop(far);
    /// # }
    /// ```
    #[must_use]
    pub fn begin_kept(&mut self) -> Part {
        let part = self.begin();
        self.connection.keep();
        part
    }

    /// Waits until the peer has begun a session. `None` if the connection has ended without another one.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn begun(&mut self) -> Option<Part> {
        self.start();
        let session = self.connection.begun().await?;
        Some(Part::new(session, Arc::clone(&self.connection)))
    }

    fn start(&mut self) {
        if let Some(start) = self.start.take() {
            start();
        }
    }
}

impl Drop for Successive {
    fn drop(&mut self) {
        self.connection.no_more();
    }
}

impl fmt::Debug for Successive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Successive").finish_non_exhaustive()
    }
}
