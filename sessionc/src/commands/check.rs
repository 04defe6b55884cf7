//! `sessionc check`: every finding of every file.

use mcp_protocol_compiler::Settings;
use mcp_protocol_compiler::diagnostic::{Code, Severity};

use crate::arguments::Check;
use crate::end::End;
use crate::files::{Failure, compile_file_with};
use crate::print::print_report;
use crate::report::{Channel, Report};

/// Checks all files, also after one that has errors. An error fails the check; a warning does so with
/// `--deny-warnings`; a note never does.
pub(crate) fn run(arguments: &Check) -> Result<End, Failure> {
    let mut failure = None;
    let mut worst: Option<(Severity, Code)> = None;
    let denied = if arguments.deny_warnings { Severity::Warning } else { Severity::Error };
    // A file that declares no message is checked for what it says.
    let settings =
        Settings::default().without_closure(arguments.without_closure).for_code(true).sketches(true);
    let mut report = Report::new(arguments.format, Channel::Out);
    for file in &arguments.files {
        let compilation = match compile_file_with(file, settings) {
            Ok(compilation) => compilation,
            // The other files are checked all the same; the first that cannot be read decides how this ends.
            Err(unreadable) => {
                failure = failure.or(Some(unreadable));
                continue;
            }
        };
        report.diagnostics(&compilation.sources, &compilation.diagnostics)?;
        for diagnostic in &compilation.diagnostics {
            let worse = worst.is_none_or(|(severity, _)| diagnostic.severity > severity);
            if diagnostic.severity > Severity::Note && worse {
                worst = Some((diagnostic.severity, diagnostic.code));
            }
        }
    }
    if let (Some((severity, code)), true) = (worst, report.is_text()) {
        let what = if severity == Severity::Error { "an error" } else { "a warning" };
        print_report(&format!("for more information about {what}, try `sessionc explain {}`\n", code.0))?;
    }
    report.end()?;
    match failure {
        Some(failure) => Err(failure),
        None if worst.is_some_and(|(severity, _)| severity >= denied) => Ok(End::Findings),
        None => Ok(End::Clean),
    }
}
