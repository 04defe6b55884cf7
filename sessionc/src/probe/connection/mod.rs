//! Bytes to and from a server: anything can be written, whether or not it is a message.

pub(crate) mod arrival;
mod frames;
mod http;
mod process;

use std::io;

use mcp_runtime::driver::Framing;
use tokio::time::Instant;

use super::head::Head;
use arrival::Arrival;
use http::Http;
use process::Process;

/// Where the server under test is.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    /// A command that is started for each session.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// How messages are separated.
        framing: Framing,
    },
    /// An endpoint of Streamable HTTP.
    Url(String),
}

/// A connection of one session.
#[derive(Debug)]
pub(crate) enum Connection {
    Process(Process),
    Http(Http),
}

impl Connection {
    /// Starts the server, or makes ready to call it.
    ///
    /// # Errors
    /// If the command cannot be started, or the HTTP client cannot be made.
    pub(crate) fn open(address: &Address) -> io::Result<Connection> {
        Ok(match address {
            Address::Command { words, framing } => Connection::Process(Process::start(words, *framing)?),
            Address::Url(url) => Connection::Http(Http::new(url)?),
        })
    }

    /// Whether each message has an answer of its own, and the order of messages that are not answered is not certain.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self, Connection::Http(_))
    }

    /// Whether messages may come in the stream of a session over HTTP.
    pub(crate) fn has_stream(&self) -> bool {
        matches!(self, Connection::Http(http) if http.has_stream())
    }

    /// Whether the server has not given the session an id, over HTTP.
    pub(crate) fn lacks_session(&self) -> bool {
        matches!(self, Connection::Http(http) if !http.has_session())
    }

    /// Sends bytes as one message. Returns the number of the sending, by which arrivals refer to it. It does not wait for
    /// the server.
    pub(crate) fn send(&mut self, bytes: Vec<u8>) -> u64 {
        self.send_with_head(bytes, None, None)
    }

    /// The same, over HTTP with the head that another message has, if `like` is one, and which may be wrong in some way.
    pub(crate) fn send_with_head(&mut self, bytes: Vec<u8>, like: Option<&str>, change: Option<Head>) -> u64 {
        match self {
            Connection::Process(process) => process.send(bytes),
            Connection::Http(http) => http.send(bytes, like, change),
        }
    }

    /// Whether a message can be sent with a head that is wrong in this way.
    pub(crate) fn can_change(&self, message: &[u8], change: Head) -> bool {
        match self {
            Connection::Process(_) => change == Head::NoRevision,
            Connection::Http(http) => http.can_change(message, change),
        }
    }

    /// The version that the sides have agreed on goes into the headers from here on.
    pub(crate) fn note_version(&mut self, version: &str) {
        if let Connection::Http(http) = self {
            http.note_version(version);
        }
    }

    /// Waits for what comes next. It is safe to drop the future: nothing is lost.
    pub(crate) async fn receive(&mut self) -> Arrival {
        match self {
            Connection::Process(process) => process.receive().await,
            Connection::Http(http) => http.receive().await,
        }
    }

    /// Nothing more is asked: a process is shown the end of its input, and a session over HTTP is deleted. What the
    /// server has sent still arrives, and then that it has ended.
    pub(crate) fn close(&mut self) {
        match self {
            Connection::Process(process) => process.close_input(),
            Connection::Http(http) => http.close(),
        }
    }

    /// Ends the process of the server, which may take until a deadline. Returns the end of what the process has written
    /// on its standard error.
    pub(crate) async fn end(self, deadline: Instant) -> String {
        match self {
            Connection::Process(process) => process.end(deadline).await,
            Connection::Http(_) => String::new(),
        }
    }
}
