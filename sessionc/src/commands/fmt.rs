//! `sessionc fmt`: the canonical layout.

use std::fs;
use std::path::Path;

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::format;

use crate::arguments::Fmt;
use crate::end::End;
use crate::files::{Failure, print_diagnostics, read};

/// Lays all files out; one that cannot be read does not keep the others from it.
pub(crate) fn run(arguments: &Fmt) -> Result<End, Failure> {
    let mut end = End::Clean;
    let mut failure = None;
    for file in &arguments.files {
        match lay_out(file, arguments.check) {
            Ok(End::Clean) => {}
            Ok(End::Findings) => end = End::Findings,
            Err(unusable) => failure = failure.or(Some(unusable)),
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(end),
    }
}

/// A file with errors stays as it is: its tree lacks what could not be read.
fn lay_out(path: &Path, check: bool) -> Result<End, Failure> {
    let bytes = read(path).map_err(|error| Failure::Read(path.to_path_buf(), error))?;
    let mut formatted = format(path, bytes.clone());
    let Some(text) = formatted.text else {
        formatted.diagnostics.retain(|found| found.severity == Severity::Error);
        print_diagnostics(&formatted.sources, &formatted.diagnostics);
        return Ok(End::Findings);
    };
    if text.as_bytes() == bytes {
        return Ok(End::Clean);
    }
    if check {
        println!("`{0}` is not formatted: run `sessionc fmt {0}`", path.display());
        return Ok(End::Findings);
    }
    fs::write(path, text).map_err(|error| Failure::Write(path.to_path_buf(), error))?;
    Ok(End::Clean)
}
