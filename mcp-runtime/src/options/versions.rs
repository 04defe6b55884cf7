//! Which protocol versions a session accepts, and the tables of the one that governs.

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Protocol, Text};

use super::settings::{AcceptedVersions, Options};
use crate::revisions::Revision;

impl Options {
    /// Accepts these versions of the protocol. `version = …` in the protocol's file says which message announces the
    /// one that governs. By default only the version of the file is accepted.
    ///
    /// If the peer announces another one, the step fails with [`Error::Version`](crate::Error::Version). A side that
    /// announces the version itself has to announce the requested one, if it is among these, and otherwise any of
    /// these; [`negotiate_version`] finds it.
    ///
    /// ```
    /// # use mcp_runtime::Options;
    /// let options = Options::new().accept_versions(["1", "2"]);
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn accept_versions<V: Into<String>>(mut self, versions: impl IntoIterator<Item = V>) -> Options {
        let versions = versions.into_iter().map(|version| Text::Owned(version.into()));
        self.accepted = AcceptedVersions::These(versions.collect());
        self
    }

    /// Also speaks these revisions of the protocol. The announced version decides which one governs. From then on only
    /// the messages, capabilities and batches of that revision are sent and accepted.
    ///
    /// Write the program against the latest revision and list the older ones here: a message that only another revision
    /// has cannot be sent. Unless [`accept_versions`](Self::accept_versions) says otherwise, the accepted versions are
    /// those of these revisions and of the file. List the latest one last.
    ///
    /// Where each request says its version (`version = each request.path`), no other revision governs it. Those of this
    /// list are only named in the error that refuses a request of another version.
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

    /// How a session of other revisions begins: with the request of this method, in these versions. Those of the revisions
    /// that are meant count.
    pub(crate) fn other_sessions(&self, is_meant: impl Fn(&Revision) -> bool) -> Option<(&str, Vec<String>)> {
        let meant = || self.revisions.iter().filter(|revision| is_meant(revision));
        let begins_with = meant().find_map(Revision::begins_with)?;
        let alike = meant().filter(|revision| revision.begins_with() == Some(begins_with));
        Some((begins_with, alike.filter_map(|revision| revision.version().map(str::to_owned)).collect()))
    }

    /// Accepts every version that the peer announces, and lets this side announce any version.
    #[must_use]
    pub fn accept_any_version(mut self) -> Options {
        self.accepted = AcceptedVersions::Any;
        self
    }

    /// Whether a request may say this version, where each request says its own: the tables of another revision govern a
    /// whole session, so only the file's version and those that the program accepts by name are spoken.
    pub(crate) fn speaks_by_request(&self, protocol: &Protocol, version: Option<&str>) -> bool {
        match &self.accepted {
            AcceptedVersions::Own => protocol.version.is_none() || protocol.version.as_deref() == version,
            AcceptedVersions::These(versions) => versions.iter().any(|one| Some(&**one) == version),
            AcceptedVersions::Any => true,
        }
    }

    /// The versions that are accepted of the peer; nothing where any is.
    pub(crate) fn accepted_versions(&self, protocol: &Protocol) -> Option<Vec<Text>> {
        let own = || {
            let mut versions: Vec<Text> = self.revisions.iter().filter_map(Revision::named).collect();
            versions.extend(protocol.version.clone().filter(|version| !versions.contains(version)));
            versions
        };
        match &self.accepted {
            AcceptedVersions::Own => Some(own()).filter(|versions| !versions.is_empty()),
            AcceptedVersions::These(versions) => Some(versions.clone()),
            AcceptedVersions::Any => None,
        }
    }
}

/// Returns the version with which to answer a request for one: the requested version, if it is listed, otherwise the
/// latest, which is listed last. An empty list accepts any version.
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
