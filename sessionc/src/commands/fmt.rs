//! `sessionc fmt`: the canonical layout.

use std::path::Path;

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::format;

use crate::arguments::Fmt;
use crate::end::End;
use crate::files::{Failure, is_stdin, read, shown};
use crate::print::print;
use crate::report::{Channel, Report, Stale, first_difference};
use crate::whole_file;

/// Lays all files out; one that cannot be read does not keep the others from it.
pub(crate) fn run(arguments: &Fmt) -> Result<End, Failure> {
    let mut end = End::Clean;
    let mut failure = None;
    let mut report = Report::new(arguments.format, Channel::Err);
    for file in &arguments.files {
        match lay_out(file, arguments.check, &mut report) {
            Ok(found @ End::Findings) => end = found,
            Ok(_) => {}
            Err(unusable) => failure = failure.or(Some(unusable)),
        }
    }
    report.end()?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(end),
    }
}

/// A file with errors stays as it is: its tree lacks what could not be read. Standard input is laid out to standard
/// output.
fn lay_out(path: &Path, check: bool, report: &mut Report) -> Result<End, Failure> {
    let bytes = read(path).map_err(|error| Failure::Read(path.to_path_buf(), error))?;
    let mut formatted = format(shown(path), bytes.clone());
    let Some(text) = formatted.text else {
        formatted.diagnostics.retain(|found| found.severity == Severity::Error);
        report.diagnostics(&formatted.sources, &formatted.diagnostics)?;
        return Ok(End::Findings);
    };
    if is_stdin(path) && !check {
        print(text)?;
        return Ok(End::Clean);
    }
    if text.as_bytes() == bytes {
        return Ok(End::Clean);
    }
    if check {
        let message = format!("`{}` is not formatted", shown(path).display());
        let help = format!("run `sessionc fmt {}`", path.display());
        if report.is_text() {
            print(format!("{message}: {help}\n"))?;
        }
        report.stale(Stale {
            code: "unformatted",
            title: "a file that is not formatted",
            file: shown(path).to_owned(),
            line: first_difference(&String::from_utf8_lossy(&bytes), &text),
            message,
            help,
        })?;
        return Ok(End::Findings);
    }
    whole_file::write(path, text)?;
    Ok(End::Clean)
}
