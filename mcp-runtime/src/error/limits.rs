//! Which limit was reached.

use std::fmt;

use crate::error_texts::error_texts;

/// Why reading the pages of a list was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PaginationError {
    /// The list has more pages than `max_pages` permits.
    TooMany(usize),
    /// A page has the cursor of an earlier page; the number of that page.
    Repeats(usize),
}

error_texts! {
    PaginationError {
        Self::TooMany(value) => ("it has more than {value}: see `Options::max_pages`"),
        Self::Repeats(value) => ("page {value} has the cursor of an earlier page"),
    }
}

/// What did not happen in time.
///
/// ```
/// use mcp_runtime::{Error, TimeoutKind};
///
/// /// Whether the peer may have carried the request out.
/// fn may_have_happened(error: &Error) -> bool {
///     match error {
///         Error::Timeout { what: TimeoutKind::Write | TimeoutKind::EarlierReply, .. } => false,
///         Error::Timeout { .. } => true,
///         error => !error.is_unsent(),
///     }
/// }
/// assert!(may_have_happened(&Error::Cancelled));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// The message could not be written, because the peer does not read. It will not be written later.
    Write,
    /// The message could not be written, because the abandoned reply to an earlier request has not arrived. It will not
    /// be written later.
    EarlierReply,
    /// The reply did not come, and no progress where progress extends the timeout.
    Reply,
    /// The reply did not come within `max_timeout`, however much progress was reported.
    Total,
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TimeoutKind::Write => "could not be written, because the peer does not read: gave up after",
            TimeoutKind::EarlierReply => {
                "could not be written, because the reply to an earlier request is missing: gave up after"
            }
            TimeoutKind::Reply => "was not answered within",
            TimeoutKind::Total => "was not answered, in spite of its progress, within",
        })
    }
}

impl TimeoutKind {
    /// The settings that decide how long the limit is.
    pub(super) fn settings(self) -> &'static str {
        match self {
            TimeoutKind::Write | TimeoutKind::EarlierReply => "`Options::timeout` and `Options::max_timeout`",
            TimeoutKind::Reply => "`Options::timeout`, and `timeout` of the call",
            TimeoutKind::Total => "`Options::max_timeout`, and `max_timeout` of the call",
        }
    }
}
