//! What comes from a server.

use std::fmt;

/// What comes from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A message, with the number of the sending that it answers, over HTTP.
    Message(u64, Vec<u8>),
    /// The HTTP answer to a sending is complete.
    Finished(u64),
    /// The HTTP answer to a sending has a status that is not a success.
    Rejected(u64, Rejection),
    /// Nothing more comes.
    Ended(Ending),
}

/// An HTTP answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The process has exited.
    Exited(i32),
    /// A signal has ended the process.
    Killed(i32),
    /// The server has closed its output, and its process is still there.
    Closed,
    /// What the server writes cannot be read.
    Unreadable(String),
    /// The server cannot be reached over HTTP any more.
    Unreachable(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(code) => write!(formatter, "exited with {code}"),
            Ending::Killed(signal) => write!(formatter, "killed by signal {signal}"),
            Ending::Closed => formatter.write_str("closed its output"),
            Ending::Unreadable(problem) => write!(formatter, "wrote what cannot be read: {problem}"),
            Ending::Unreachable(problem) => write!(formatter, "cannot be reached: {problem}"),
        }
    }
}
