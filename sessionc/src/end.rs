//! How a command ends.

/// How a command ends that could do its work.
pub(crate) enum End {
    /// Nothing to complain about.
    Clean,
    /// Something was found and has been printed.
    Findings,
}
