//! `sessionc dual`: a session type from the other side.

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::dual;

use crate::arguments::Dual;
use crate::end::End;
use crate::files::{Failure, reader, shown};
use crate::print::print_text;
use crate::report::{Channel, Report};

/// Prints the definitions of the dual. Warnings are for `check`; only what keeps names from being known is printed.
pub(crate) fn run(arguments: &Dual) -> Result<End, Failure> {
    let answer = dual::dual(shown(&arguments.file), &mut reader(&arguments.file), arguments.name.as_deref())
        .map_err(|error| Failure::Read(arguments.file.clone(), error))?;
    let mut errors = answer.diagnostics;
    errors.retain(|found| found.severity == Severity::Error);
    if !errors.is_empty() {
        let mut report = Report::new(arguments.format.into(), Channel::Err);
        report.diagnostics(&answer.sources, &errors)?;
        report.end()?;
        return Ok(End::Findings);
    }
    let text = answer.text.map_err(|why| Failure::NoDual(arguments.file.clone(), why))?;
    print_text(&text, arguments.format)?;
    Ok(End::Clean)
}
