//! This process's own standard input and output, for a server that its client has started.
//!
//! While a session runs, the program must not use the two streams itself; `println!` would write into the protocol.

#[cfg(unix)]
mod nonblocking;
#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod threads;
#[cfg(unix)]
mod unix;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(not(unix))]
use self::portable as system;
#[cfg(unix)]
use self::unix as system;
use crate::driver::{
    End, Endpoint, Framing, Limits, Outcome, Pump, Transport, TransportEvent, duplicate, run,
};

/// How long the end of a session waits unless [`Stdio::limits`] says otherwise: 2 s for the parent to read the last
/// messages, 250 ms for it to close its side. The second is short because nothing it says then matters any more.
pub const LIMITS: Limits = Limits::new(Duration::from_secs(2), Duration::from_millis(250));

/// Whether a session is using the streams of this process.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// This process's own standard input and output.
///
/// ```no_run
/// use mcp_runtime::transport::{Framing, stdio};
///
/// // A language server, whose messages have a `Content-Length` header.
/// let transport = stdio().framing(Framing::ContentLength);
/// # drop(transport);
/// ```
pub fn stdio() -> Stdio {
    Stdio { streams: system::StdioStreams::own(), claims: true, framing: Framing::Lines, limits: LIMITS }
}

/// This process's own standard input and output; nothing is touched before the session runs.
#[derive(Debug)]
pub struct Stdio {
    streams: system::StdioStreams,
    claims: bool,
    framing: Framing,
    limits: Limits,
}

impl Stdio {
    /// Sets how messages are separated. By default each stands on a line of its own.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Sets how long the end of the session waits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Uses two other open files in the same way, say those of a socket that a supervisor has handed over. They are
    /// closed when the session has ended.
    ///
    /// ```no_run
    /// # fn main() -> std::io::Result<()> {
    /// use std::os::{fd::OwnedFd, unix::net::UnixStream};
    /// use mcp_runtime::transport::Stdio;
    ///
    /// let socket = UnixStream::connect("/run/weather.sock")?;
    /// let transport = Stdio::from_files(OwnedFd::from(socket.try_clone()?), OwnedFd::from(socket));
    /// # drop(transport);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(unix)]
    pub fn from_files(input: std::os::fd::OwnedFd, output: std::os::fd::OwnedFd) -> Self {
        Self {
            streams: system::StdioStreams::Given(input, output),
            claims: false,
            framing: Framing::Lines,
            limits: LIMITS,
        }
    }
}

/// The right to use the streams of this process.
struct Claim;

impl Claim {
    fn new() -> io::Result<Self> {
        if IN_USE.swap(true, Ordering::AcqRel) {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another session is using the standard input and output of this process",
            ));
        }
        Ok(Self)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        IN_USE.store(false, Ordering::Release);
    }
}

impl Transport for Stdio {
    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        let Self { streams, claims, framing, limits } = self;
        let claim = if claims { Claim::new().map(Some) } else { Ok(None) };
        let opened = claim.and_then(|claim| Ok((claim, streams.open()?)));
        match opened {
            Ok((_claim, (reader, writer))) => run(Pump::new(endpoint, reader, writer, framing), limits).await,
            Err(error) => {
                endpoint.notify(TransportEvent::InputEnded(End::Failed(duplicate(&error))));
                endpoint.notify(TransportEvent::Terminated(Outcome::Failed(Arc::new(error))));
            }
        }
    }
}
