//! What was found about one pair of roles.

use super::found::Break;
use super::version::Age;

/// What was found about a client of one file and a server of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairVerdict {
    /// Which file the client is of; the server is of the other one.
    pub client: Age,
    /// What was found; only errors break something.
    pub found: Vec<Break>,
}

impl PairVerdict {
    /// Which file the server is of.
    pub fn server(&self) -> Age {
        self.client.other()
    }

    /// Whether the two can talk.
    pub fn is_compatible(&self) -> bool {
        !self.found.iter().any(Break::is_error)
    }
}
