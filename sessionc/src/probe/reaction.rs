//! What a server did with an offence.

use std::fmt;

use super::connection::arrival::Ending;

/// What a server did with an offence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// It answered with a result.
    Answered,
    /// It answered with an error.
    Refused {
        /// The code of the JSON-RPC error.
        code: Option<i64>,
        /// The HTTP status, if it is not a success.
        status: Option<u16>,
    },
    /// It answered with the id as something else: a text, or a number.
    OtherId(&'static str),
    /// It answered nothing.
    Silent,
    /// It ended the session.
    Ended(Ending),
}

/// Whether a server still works after an offence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It answered a request that is permitted.
    Works,
    /// It did not answer it.
    Fails(String),
    /// It was waited for until the time was over.
    Unanswered,
    /// It ended the session.
    Ended(Ending),
    /// The session had come to its end, and the server has exited as it may then.
    Over,
    /// Nothing could be asked: no request is permitted after this state.
    NotAsked,
}

impl fmt::Display for Reaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reaction::Answered => formatter.write_str("result"),
            Reaction::Refused { code: Some(code), status: None } => write!(formatter, "error {code}"),
            Reaction::Refused { code: Some(code), status: Some(status) } => {
                write!(formatter, "error {code}, HTTP {status}")
            }
            Reaction::Refused { code: None, status: Some(status) } => write!(formatter, "HTTP {status}"),
            Reaction::Refused { code: None, status: None } => formatter.write_str("error"),
            Reaction::OtherId(what) => write!(formatter, "id as {what}"),
            Reaction::Silent => formatter.write_str("no answer"),
            Reaction::Ended(ending) => ending.fmt(formatter),
        }
    }
}

impl fmt::Display for Afterwards {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Afterwards::Works => formatter.write_str("works"),
            Afterwards::Fails(how) => formatter.write_str(how),
            Afterwards::Unanswered => formatter.write_str("no answer"),
            Afterwards::Ended(ending) => ending.fmt(formatter),
            Afterwards::Over => formatter.write_str("session over"),
            Afterwards::NotAsked => formatter.write_str("not asked"),
        }
    }
}
