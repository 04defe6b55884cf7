//! One case: where the server is, what is called, and how often.

use crate::payload::Tool;

/// Where the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the same process.
    Duplex,
    /// In a child process.
    Child,
    /// In the same process, as many sessions at once as calls are in flight, on every core there is.
    Sessions,
    /// In the same process, and nothing is said.
    Idle,
    /// In the same process, and asked over HTTP.
    Http,
    /// In a child process, and nothing is said over HTTP, nor open: the memory of the server.
    HttpSession,
    /// In a child process, with idle clients over HTTP: the memory of the server.
    HttpServer,
    /// In a child process, with idle clients over HTTP: the memory of the clients.
    HttpClient,
    /// There is none: the checker judges messages that are not written.
    Nowhere,
}

impl Place {
    /// Whether it is over HTTP.
    pub fn is_http(self) -> bool {
        matches!(self, Place::Http | Place::HttpSession | Place::HttpServer | Place::HttpClient)
    }

    /// Whether it is memory that is measured.
    pub fn is_idle(self) -> bool {
        matches!(self, Place::Idle | Place::HttpSession | Place::HttpServer | Place::HttpClient)
    }
}

/// What is measured of each contestant.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// Where the server is.
    pub place: Place,
    /// What is called.
    pub tool: Tool,
    /// How many calls run at the same time.
    pub in_flight: usize,
    /// How many calls make a measurement; connections, where it is memory that is measured; messages, where they are
    /// judged and no more.
    pub calls: usize,
    /// Who takes part; kinds of messages, where they are judged and no more.
    pub contestants: &'static [&'static str],
}
