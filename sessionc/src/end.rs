//! How a command ends.

/// How a command ends that could do its work.
pub(crate) enum End {
    /// Nothing to complain about.
    Clean,
    /// Something was found and has been printed.
    Findings,
    /// A program that was run in the name of the user has exited with this code.
    Exited(u8),
}
