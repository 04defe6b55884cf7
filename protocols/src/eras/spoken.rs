//! [`Spoken`]: which revisions a server speaks.

use std::fmt;

use mcp_runtime::protocol::Protocol;

use super::era::VERSION;
use crate::revisions::{REVISIONS, VERSIONS};

/// The revisions that a server speaks: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    /// Those with a handshake, the latest last.
    sessions: Vec<&'static str>,
    /// Whether it speaks the one without.
    requests: bool,
}

impl Spoken {
    pub(super) fn all() -> Spoken {
        Spoken { sessions: VERSIONS.to_vec(), requests: true }
    }

    /// Those of these names, in whichever order.
    pub(super) fn of(names: &[String]) -> Result<Spoken, UnknownRevision> {
        let all = Spoken::all();
        if let Some(unknown) = names.iter().find(|name| !all.latest_first().any(|known| known == **name)) {
            return Err(UnknownRevision(Some(unknown.clone())));
        }
        let is_named = |version: &&str| names.iter().any(|name| name == version);
        let spoken = Spoken {
            sessions: VERSIONS.into_iter().filter(is_named).collect(),
            requests: is_named(&VERSION),
        };
        let speaks_none = spoken.latest_first().next().is_none();
        if speaks_none { Err(UnknownRevision(None)) } else { Ok(spoken) }
    }

    /// Those with a handshake, the latest last.
    pub(super) fn sessions(&self) -> &[&'static str] {
        &self.sessions
    }

    /// The tables of those with a handshake, the latest last.
    pub(super) fn tables(&self) -> impl Iterator<Item = &'static Protocol> {
        let all = VERSIONS.into_iter().zip(REVISIONS);
        all.filter(|(version, _)| self.sessions.contains(version)).map(|(_, tables)| tables)
    }

    /// Whether the one without a handshake is among them.
    pub(super) fn has_requests(&self) -> bool {
        self.requests
    }

    /// All of them, the latest first.
    pub(super) fn latest_first(&self) -> impl Iterator<Item = &'static str> {
        self.requests.then_some(VERSION).into_iter().chain(self.sessions.iter().rev().copied())
    }
}

/// A server is to speak a revision that MCP does not have, or none.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownRevision(Option<String>);

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl fmt::Debug for UnknownRevision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("UnknownRevision").field(&self.to_string()).finish()
    }
}

impl fmt::Display for UnknownRevision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Spoken::all().latest_first().collect::<Vec<_>>().join(", ");
        match &self.0 {
            Some(name) => write!(formatter, "`{name}` is not a revision of MCP: write one of {known}"),
            None => write!(formatter, "the server speaks no revision: name at least one of {known}"),
        }
    }
}

impl std::error::Error for UnknownRevision {}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Spoken, UnknownRevision> {
        Spoken::of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_order_is_that_of_the_revisions() -> Result<(), UnknownRevision> {
        let spoken = of(&["2026-07-28", "2025-11-25", "2024-11-05"])?;
        assert_eq!(spoken.sessions(), ["2024-11-05", "2025-11-25"]);
        let tables: Vec<_> = spoken.tables().filter_map(|tables| tables.version.as_deref()).collect();
        assert_eq!(tables, spoken.sessions());
        assert_eq!(spoken.latest_first().collect::<Vec<_>>(), ["2026-07-28", "2025-11-25", "2024-11-05"]);
        assert_eq!(of(&VERSIONS)?.latest_first().next(), Some("2025-11-25"));
        Ok(())
    }

    #[test]
    fn what_is_not_a_revision_is_named() {
        let said = |names: &[&str]| of(names).map_err(|error| error.to_string());
        let known = "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05";
        let error = format!("`2025-06` is not a revision of MCP: write one of {known}");
        assert_eq!(said(&["2025-11-25", "2025-06"]), Err(error));
        assert_eq!(said(&[]), Err(format!("the server speaks no revision: name at least one of {known}")));
    }
}
