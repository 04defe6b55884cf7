//! The versions of a protocol that a session speaks.
//!
//! In: the versions and revisions that the application offers, and the protocol of its own file. Out: which versions are
//! accepted of the peer, the tables of the one that governs, and the answer to a peer that asks for one.

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Protocol, Text};

use super::settings::{Accepted, Options};
use crate::revisions::Revision;

impl Options {
    /// Speaks these versions of the protocol, where `version = …` in the protocol's file says which message announces
    /// the one that governs. Without this it is the version of the file.
    ///
    /// Any other that the peer announces is [`Error::Version`](crate::Error::Version). A side that announces it itself
    /// has to announce the one that it was asked for, if it is among these, and else any of these;
    /// [`negotiate_version`] finds it.
    ///
    /// ```
    /// # use mcp_runtime::Options;
    /// let options = Options::new().accept_versions(["1", "2"]);
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn accept_versions<V: Into<String>>(mut self, versions: impl IntoIterator<Item = V>) -> Options {
        let versions = versions.into_iter().map(|version| Text::Owned(version.into()));
        self.accepted = Accepted::These(versions.collect());
        self
    }

    /// Speaks these revisions of the protocol, too. Which one governs is decided by the version that is announced: from
    /// then on nothing is sent or accepted that this revision does not have, by its messages, its capabilities and its
    /// batches.
    ///
    /// The session is written once, against the protocol of its own file, which should be the revision that has most:
    /// what only another one has cannot be said. Where [`accept_versions`](Self::accept_versions) does not say
    /// otherwise, the versions that are accepted are those of these revisions and that of the file; the latest stands
    /// last.
    ///
    /// ```
    /// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
    /// use mcp_runtime::Options;
    ///
    /// let options = Options::new().revisions([&weather::PROTOCOL]);
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn revisions<P: Into<ProtocolRef>>(mut self, revisions: impl IntoIterator<Item = P>) -> Options {
        self.revisions = revisions.into_iter().map(|revision| Revision::new(revision.into())).collect();
        self
    }

    /// The tables of a protocol as another version governs it, if that is one of the revisions.
    pub(crate) fn governed(&self, protocol: &Protocol, version: &str) -> Option<ProtocolRef> {
        let revision = self.revisions.iter().find(|revision| revision.version() == Some(version));
        revision.map(|revision| revision.governing(protocol))
    }

    /// Accepts whatever version the peer announces, and lets this side announce whichever it likes.
    #[must_use]
    pub fn accept_any_version(mut self) -> Options {
        self.accepted = Accepted::Any;
        self
    }

    /// The versions that are accepted of the peer; nothing where any is.
    pub(crate) fn accepted_versions(&self, protocol: &Protocol) -> Option<Vec<Text>> {
        let own = || {
            let mut versions: Vec<Text> = self.revisions.iter().filter_map(Revision::named).collect();
            versions.extend(protocol.version.clone().filter(|version| !versions.contains(version)));
            versions
        };
        match &self.accepted {
            Accepted::Own => Some(own()).filter(|versions| !versions.is_empty()),
            Accepted::These(versions) => Some(versions.clone()),
            Accepted::Any => None,
        }
    }
}

/// The version with which to answer a peer that asks for one: that one, if it is among those that this side speaks, else
/// the latest of these, which stands last. Where none is given, any is spoken.
///
/// ```
/// use mcp_runtime::negotiate_version;
///
/// assert_eq!(negotiate_version(&["1", "2"], "1"), "1");
/// assert_eq!(negotiate_version(&["1", "2"], "3"), "2");
/// ```
pub fn negotiate_version<'v, V: AsRef<str>>(versions: &'v [V], requested: &'v str) -> &'v str {
    match versions.last() {
        Some(latest) if !versions.iter().any(|version| version.as_ref() == requested) => latest.as_ref(),
        _ => requested,
    }
}
