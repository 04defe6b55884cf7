//! Standard output and standard error. A reader that stops reading, as `head` does, is not a failure; a full disk is.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::arguments::OutputFormat;
use crate::files::Failure;
use crate::terminal_line::width_of_stdout;
use crate::wrapped::wrapped;

/// Prints text as it is.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    printed(out.write_all(text.as_ref()).and_then(|()| out.flush()))
}

/// Prints a report for people: on a terminal, its sentences are broken into lines.
pub(crate) fn print_report(report: &str) -> Result<(), Failure> {
    print(wrapped(report, width_of_stdout()))
}

/// Whether it was a failure to print something.
pub(crate) fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Write(PathBuf::from("<stdout>"), error))
        }
        _ => Ok(()),
    }
}

/// Says on standard error, as a line, why a command ends. Where nothing reads it, the exit code is left to say so.
pub(crate) fn complain(text: impl Display) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// A text that a command writes, for programs.
#[derive(Serialize)]
struct TextJson<'a> {
    text: &'a str,
}

/// Prints a text as it is, or as one line of JSON.
pub(crate) fn print_text(text: &str, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Text => print(text),
        OutputFormat::Json => print_json(&TextJson { text }),
    }
}

/// Prints a value as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value);
    print(line.map_err(|error| Failure::Write(PathBuf::from("<stdout>"), error.into()))? + "\n")
}
