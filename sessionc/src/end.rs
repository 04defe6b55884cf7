//! How a command ends.

use mcp_protocol_machine::protocol::Strictness;

/// How a command ends that could do its work.
pub(crate) enum End {
    /// Nothing to complain about.
    Clean,
    /// Something was found and has been printed.
    Findings,
    /// A program that was run in the name of the user has exited with this code.
    Exited(u8),
}

impl End {
    /// The end of a command whose findings are at worst of this level, and fail it from a level on.
    pub(crate) fn of_findings(worst: Option<Strictness>, least: Option<Strictness>) -> End {
        match (worst, least) {
            (Some(worst), Some(least)) if worst >= least => End::Findings,
            _ => End::Clean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_fail_from_a_level_on() {
        let fails = |worst, least| matches!(End::of_findings(worst, least), End::Findings);
        let (must, should) = (Some(Strictness::Must), Some(Strictness::Should));
        assert!(fails(must, must) && fails(must, should) && fails(should, should));
        assert!(!fails(should, must) && !fails(must, None) && !fails(None, should));
    }
}
