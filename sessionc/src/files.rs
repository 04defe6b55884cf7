//! Files in, findings out: what every command starts with.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::diagnostic::Diagnostic;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::dual::Undefined;
use mcp_protocol_compiler::source::{SourceMap, bytes_of};
use mcp_protocol_compiler::suggest::nearest;
use mcp_protocol_compiler::{Compilation, Settings, compile_with};
use mcp_protocol_machine::TableError;

/// How many names an error lists.
const NAMES_SHOWN: usize = 20;

/// Why a command could not do its work at all.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// A file cannot be written.
    Write(PathBuf, io::Error),
    /// The command line names no protocol.
    NoProtocol,
    /// The command line names this file and a shipped protocol.
    TwoProtocols(PathBuf),
    /// The file has errors, which were printed.
    HasErrors(PathBuf),
    /// The tables of a protocol cannot be followed.
    Tables(TableError),
    /// The file declares no such role.
    NoRole(PathBuf, &'static str),
    /// A payload type is not a Rust type.
    Code(PathBuf, String),
    /// The role has no dual.
    NoDual(PathBuf, Undefined),
    /// No state of the role has this name; the names that there are.
    NoState(String, String, Vec<String>),
    /// The file declares no shapes.
    NoShapes(PathBuf),
    /// The file declares no shape of this name; the names that there are.
    NoShape(PathBuf, String, Vec<String>),
    /// The file is not JSON.
    Json(PathBuf, serde_json::Error),
    /// The file has no params by method.
    Samples(PathBuf, serde_json::Error),
    /// Neither a command nor an address is given.
    NoServer,
    /// The server cannot be started.
    Start(io::Error),
    /// No session with the server comes to any state: why, and what the server has written on its standard error.
    NoSession(String, String),
    /// No offence has this in its name.
    NoOffence(String),
    /// The report cannot be written.
    Report(quick_junit::SerializeError),
    /// No finding has this code; perhaps the other was meant.
    NoCode(String, Option<&'static str>),
    /// One of two files to compare has errors, which have been printed.
    NotComparable,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Read(path, error) => write!(formatter, "cannot read `{}`: {error}", path.display()),
            Failure::Write(path, error) => write!(formatter, "cannot write `{}`: {error}", path.display()),
            Failure::NoProtocol => formatter.write_str(
                "no protocol is named: give a `.session` file, or a shipped protocol with `--protocol mcp`",
            ),
            Failure::TwoProtocols(path) => {
                write!(formatter, "two protocols are named: leave out `{}` or `--protocol`", path.display())
            }
            Failure::HasErrors(path) => {
                write!(formatter, "`{}` has errors: correct them first", path.display())
            }
            Failure::Tables(error) => write!(formatter, "the protocol cannot be followed: {error}"),
            Failure::NoRole(path, role) => write!(
                formatter,
                "`{}` does not declare a {role}: add `{role} Name`, or choose another `--role`",
                path.display()
            ),
            Failure::Code(path, error) => {
                write!(formatter, "cannot generate code from `{}`: {error}", path.display())
            }
            Failure::NoDual(path, why) => match why {
                Undefined::Nothing => write!(formatter, "`{}` has no session type", path.display()),
                Undefined::Unknown(name, known) => {
                    write!(formatter, "`{}` does not define `{name}`", path.display())?;
                    match nearest(name, known.iter().map(String::as_str)) {
                        Some(near) => write!(formatter, "; did you mean `{near}`?"),
                        None => Ok(()),
                    }
                }
                Undefined::Already(name, other) => {
                    write!(
                        formatter,
                        "`{name}` is written as the dual of `{other}`, so its dual is `{other}`"
                    )
                }
                _ => write!(formatter, "`{}` has no dual", path.display()),
            },
            Failure::NoState(role, name, known) => {
                write!(formatter, "no state of `{role}` is called `{name}`")?;
                meant(formatter, name, known)
            }
            Failure::NoShapes(path) => write!(
                formatter,
                "`{}` does not declare any shape: add one with `type Name = {{ field: string }}`",
                path.display()
            ),
            Failure::NoShape(path, name, known) => {
                write!(formatter, "`{}` does not declare a shape `{name}`", path.display())?;
                meant(formatter, name, known)
            }
            Failure::Json(path, error) => {
                write!(formatter, "`{}` is not a JSON Schema: {error}", path.display())
            }
            Failure::Samples(path, error) => {
                write!(formatter, "`{}` is not a JSON object of params by method: {error}", path.display())
            }
            Failure::NoServer => formatter.write_str(
                "no server is named: write its command after `--`, or give its address with `--url`",
            ),
            Failure::Start(error) => write!(formatter, "the server cannot be started: {error}"),
            Failure::NoSession(why, written) => {
                write!(formatter, "no session can be opened: {why}")?;
                match written.as_str() {
                    "" => Ok(()),
                    written => write!(
                        formatter,
                        "\nthe last that the server wrote on its standard error:\n{written}"
                    ),
                }
            }
            Failure::NoOffence(pattern) => {
                write!(formatter, "no offence has `{pattern}` in its name: `--list` shows them all")
            }
            Failure::Report(error) => write!(formatter, "the report cannot be written: {error}"),
            Failure::NotComparable => {
                write!(formatter, "the versions cannot be compared while a file has errors")
            }
            Failure::NoCode(typed, near) => {
                write!(formatter, "no finding has the code `{typed}`")?;
                match near {
                    Some(near) => write!(formatter, "; did you mean `{near}`?"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The name that was probably meant, or the names that there are.
fn meant(formatter: &mut fmt::Formatter<'_>, name: &str, known: &[String]) -> fmt::Result {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => write!(formatter, "; did you mean `{near}`?"),
        None => {
            let shown: Vec<String> = known.iter().take(NAMES_SHOWN).map(|name| format!("`{name}`")).collect();
            let more = if known.len() > NAMES_SHOWN { ", …" } else { "" };
            write!(formatter, "; there are {}{more}", shown.join(", "))
        }
    }
}

/// Compiles a file of the file system.
pub(crate) fn compile_file(path: &Path) -> Result<Compilation, Failure> {
    compile_file_with(path, Settings::default())
}

/// Compiles a file of the file system, with settings.
pub(crate) fn compile_file_with(path: &Path, settings: Settings) -> Result<Compilation, Failure> {
    compile_with(path, &mut read, settings).map_err(|error| Failure::Read(path.to_path_buf(), error))
}

/// The bytes of a file, as many as the compiler wants.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    bytes_of(File::open(path)?)
}

/// Colour on a terminal only, unless the user says otherwise.
pub(crate) fn style(to: &impl IsTerminal) -> Style {
    if coloured(to.is_terminal(), |name| std::env::var_os(name)) { Style::Coloured } else { Style::Plain }
}

/// The usual variables: `NO_COLOR` forbids colour, then `CLICOLOR_FORCE` asks for it everywhere, then `CLICOLOR=0` and
/// a terminal that is dumb go without. An empty variable says nothing.
fn coloured(terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let says = |name: &str| variable(name).filter(|value| !value.is_empty());
    if says("NO_COLOR").is_some() {
        return false;
    }
    if says("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let unwanted = says("CLICOLOR").is_some_and(|value| value == "0");
    let unable = says("TERM").is_some_and(|value| value == "dumb");
    terminal && !unwanted && !unable
}

/// Prints what was found in a file that another command needed without errors.
pub(crate) fn print_findings(compilation: &Compilation) {
    print_diagnostics(&compilation.sources, &compilation.diagnostics);
}

/// Prints findings where a command's own output is not in the way.
pub(crate) fn print_diagnostics(sources: &SourceMap, diagnostics: &[Diagnostic]) {
    eprint!("{}", render_all(sources, diagnostics, style(&io::stderr())));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(terminal: bool, variables: &[(&str, &str)]) -> bool {
        coloured(terminal, |name| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn colour_is_for_terminals_and_on_request() {
        assert!(with(true, &[]) && !with(false, &[]));
        assert!(!with(true, &[("NO_COLOR", "1")]) && with(true, &[("NO_COLOR", "")]));
        assert!(!with(true, &[("CLICOLOR", "0")]) && with(true, &[("CLICOLOR", "1")]));
        assert!(!with(false, &[("CLICOLOR", "1")]));
        assert!(!with(true, &[("TERM", "dumb")]) && with(true, &[("TERM", "xterm")]));
        assert!(with(false, &[("CLICOLOR_FORCE", "1")]) && !with(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(with(true, &[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")]));
        assert!(!with(true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }
}
