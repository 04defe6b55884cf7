//! Which limit was reached.

use std::fmt;

/// Why a list is taken to be endless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PaginationError {
    /// There were as many pages as may be, and one more to come.
    #[error("there are more than {0}, which is as many as the settings permit")]
    TooMany(usize),
    /// A page led to one that came before; the number of the page that did.
    #[error("page {0} has a cursor that an earlier page had, too")]
    Repeats(usize),
}

/// What did not happen in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// The message could not be written: the peer does not read. It never will be written.
    Room,
    /// The message could not be written: the reply to a request before it has not come, for which nobody waits any
    /// more. It never will be written.
    Turn,
    /// The reply did not come, nor a report where reports renew the time.
    Reply,
    /// The reply did not come within the most that reports may extend the time to.
    InAll,
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TimeoutKind::Room => "could not be written, for the peer does not read: gave up after",
            TimeoutKind::Turn => {
                "could not be written, for the reply to a request before it is missing: gave up after"
            }
            TimeoutKind::Reply => "was not answered within",
            TimeoutKind::InAll => {
                "was not answered, whatever was reported on it, within the most that it may take:"
            }
        })
    }
}
