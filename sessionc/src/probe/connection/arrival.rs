//! What comes from a server.

use std::fmt;

use mcp_protocol_machine::Excerpt;

/// How many arrivals are read ahead.
pub(super) const READ_AHEAD: usize = 64;

/// What comes from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A message, with the number of the sending that it answers, over HTTP.
    Message(u64, Vec<u8>),
    /// An HTTP answer whose content type says that it is not one, and what to send instead. What is in it follows.
    OtherKind(u64, String),
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
    /// Where it redirects to.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Rejection {
    /// What has become of a message that is permitted, and what to do about it.
    pub(crate) fn of_permitted(&self, method: &str) -> String {
        if let Some(location) = &self.location {
            return format!(
                "the server redirects `{method}` to `{}` with HTTP {}: give that address with `--url`",
                Excerpt(location),
                self.status
            );
        }
        let refused = format!("the server refused `{method}` with HTTP {}", self.status);
        let body = String::from_utf8_lossy(self.body.trim_ascii());
        match self.status {
            404 | 405 => format!("{refused}: correct the path of `--url`, if messages go to another one"),
            401 | 403 => format!(
                "{refused}: the probe sends no credentials. Let the server ask for none, and accept the host of `--url`"
            ),
            _ if body.is_empty() => refused,
            _ => format!("{refused}, and says `{}`", Excerpt(&body)),
        }
    }
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
    /// It sent more messages than are listened to.
    Flooded(usize),
    /// The server cannot be reached over HTTP any more.
    Unreachable(String),
    /// The answer of a server over HTTP did not come to its end, or not as HTTP has it.
    CutOff(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Exited(code) => write!(formatter, "exited with {code}"),
            Ending::Killed(signal) => write!(formatter, "killed by signal {signal}"),
            Ending::Closed => formatter.write_str("closed its output"),
            Ending::Unreadable(problem) => write!(formatter, "wrote what cannot be read: {problem}"),
            Ending::Flooded(most) => write!(formatter, "sent more than {most} messages in one session"),
            Ending::Unreachable(problem) => write!(formatter, "cannot be reached ({problem})"),
            Ending::CutOff(problem) => write!(formatter, "sent no whole answer over HTTP ({problem})"),
        }
    }
}
