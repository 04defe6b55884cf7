//! How a session ended, from the transport's point of view.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

/// Why the incoming stream ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum End {
    /// The peer closed its side in order.
    Eof,
    /// Reading failed.
    Failed(io::Error),
    /// The peer is a child process, and it has exited.
    Exited(ExitStatus),
    /// The transport stopped waiting for the peer to close its side after this session had closed its own.
    GaveUp,
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Eof => formatter.write_str("the peer closed the connection"),
            End::Failed(error) => write!(formatter, "reading from the peer failed: {error}"),
            End::Exited(status) => write!(formatter, "the peer's process has ended ({status})"),
            End::GaveUp => {
                formatter.write_str("the peer did not close the connection in time: see `Limits::drain`")
            }
        }
    }
}

/// How a transport ended, once both directions are closed.
///
/// ```
/// use mcp_runtime::session::{Means, Outcome};
///
/// fn had_to_be_killed(outcome: &Outcome) -> bool {
///     matches!(outcome, Outcome::Exited { after: Means::Kill, .. })
/// }
/// assert!(!had_to_be_killed(&Outcome::Closed));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// Everything was written, and the streams were closed in order or abandoned on request.
    Closed,
    /// The future of the transport was dropped before its end, perhaps with the tokio runtime that it ran on.
    Dropped,
    /// Closing took longer than [`Options::close_timeout`](crate::Options::close_timeout), which this is, and the
    /// transport was dropped.
    TimedOut(Duration),
    /// A stream failed; the first error.
    Failed(Arc<io::Error>),
    /// The child process has exited and was waited for.
    Exited {
        /// Its exit status.
        status: ExitStatus,
        /// The strongest means that it took to make it exit.
        after: Means,
    },
}

/// What it took to make a child process exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Means {
    /// Nothing: it exited before this side had closed the session.
    Nothing,
    /// Closing its standard input.
    EndOfInput,
    /// Asking it to terminate (`SIGTERM`).
    Terminate,
    /// Killing it (`SIGKILL`).
    Kill,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Closed => formatter.write_str("closed"),
            Outcome::Dropped => formatter.write_str("the transport was dropped before the session had ended"),
            Outcome::TimedOut(limit) => {
                write!(formatter, "closing took longer than {limit:?}: see `Options::close_timeout`")
            }
            Outcome::Failed(error) => write!(formatter, "the transport failed: {error}"),
            Outcome::Exited { status, after } => {
                write!(formatter, "the peer's process has ended ({status})")?;
                match after {
                    Means::Nothing => formatter.write_str(" of its own accord"),
                    Means::EndOfInput => formatter.write_str(" after its input was closed"),
                    Means::Terminate => formatter.write_str(" after it was asked to terminate"),
                    Means::Kill => formatter.write_str(" after it was killed"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::End;

    #[test]
    fn a_transport_that_gave_up_names_its_setting() {
        assert!(End::GaveUp.to_string().ends_with("see `Limits::drain`"), "{}", End::GaveUp);
    }
}
