//! Files in, findings out: what every command starts with.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use mcp_protocol_compiler::diagnostic::render::render_all;
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};
use mcp_protocol_compiler::dual::Undefined;
use mcp_protocol_compiler::source::{SourceMap, bytes_of};
use mcp_protocol_compiler::suggest::nearest;
use mcp_protocol_compiler::{Compilation, Settings, compile_among};
use mcp_protocol_machine::TableError;
use mcp_protocol_machine::protocol::Side;

use crate::arguments::Shipped;
use crate::color::style;
use crate::missing_role::RoleToAdd;

/// How many names an error lists.
const NAMES_SHOWN: usize = 20;
/// The argument that stands for standard input.
const DASH: &str = "-";
/// What standard input is called in findings.
const STDIN: &str = "<stdin>";

/// Why a command could not do its work at all.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A protocol cannot be read.
    Read(PathBuf, io::Error),
    /// A file that is not a protocol, such as a log, cannot be read.
    ReadOther(PathBuf, io::Error),
    /// A file cannot be written.
    Write(PathBuf, io::Error),
    /// The command line names no protocol.
    NoProtocol,
    /// The command line names this file and a shipped protocol. How it is written if the file is the command of a
    /// server.
    TwoProtocols(PathBuf, Option<String>),
    /// The file has errors, which were printed.
    HasErrors(PathBuf),
    /// The tables of a protocol cannot be followed.
    Tables(TableError),
    /// The file declares no such role.
    NoRole(PathBuf, Side, RoleToAdd),
    /// The same, of the role that is to be drawn.
    NoRoleToDraw(Box<Failure>),
    /// The guard cannot record on the stream of the client.
    RecordOnStdout,
    /// The guard would record behind what is not a record.
    NotARecord(PathBuf),
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
    /// No log is named.
    NoLog,
    /// A list of what would be probed is not a report of tests.
    ListAsJunit,
    /// A file that a command would write is a protocol.
    WouldReplace(PathBuf),
    /// A protocol stands where a log is wanted.
    ProtocolForLog(PathBuf),
    /// A log has no message.
    NoMessages(PathBuf, Option<&'static str>),
    /// A log stands where the protocol is expected.
    LogForProtocol(PathBuf),
    /// Neither a command nor an address is given.
    NoServer,
    /// This is not the address of a server over HTTP.
    NotAnAddress(String),
    /// The address of a server that is guarded has this, which clients send.
    OfClients(&'static str),
    /// The server at this address is reached over TLS.
    Encrypted(String),
    /// The guard cannot listen at this address.
    Listen(SocketAddr, io::Error),
    /// The command line names nothing to guard.
    NothingToGuard,
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
    /// A file or folder is in the way; what to do about it.
    Exists(PathBuf, &'static str),
    /// This is not the name of a crate, and why; perhaps the other may be.
    BadName(String, &'static str, Option<String>),
    /// The folder does not have the crate `mcp-runtime`.
    NoRuntime(PathBuf),
    /// No file below the folder declares a role.
    NoProtocols(PathBuf),
    /// A text cannot stand in a script; what to do about it.
    Unusual(String, &'static str),
    /// The current folder is not that of the repository, which is this.
    NotTheRoot(PathBuf),
    /// The session with an editor has ended too early.
    Session(mcp_runtime::Error),
    /// No command has this name; the names that there are.
    NoCommand(String, Vec<String>),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoProtocol => formatter.write_str(
                "no protocol is named: give a `.session` file, or a shipped protocol with `--protocol mcp`",
            ),
            Failure::TwoProtocols(path, line) => {
                let path = path.display();
                write!(formatter, "two protocols are named: leave out `{path}` or `--protocol`")?;
                match line {
                    Some(line) => write!(formatter, "; if `{path}` is the command of a server, write `{line}`"),
                    None => Ok(()),
                }
            }
            Failure::HasErrors(path) => {
                write!(formatter, "`{}` has errors: correct them first", path.display())
            }
            Failure::Tables(error) => write!(formatter, "the protocol cannot be followed: {error}"),
            Failure::Read(path, error) => {
                write!(formatter, "cannot read `{}`: {error}", shown(path).display())?;
                instead(formatter, path, error, protocols_in)
            }
            Failure::ReadOther(path, error) => {
                write!(formatter, "cannot read `{}`: {error}", shown(path).display())?;
                instead(formatter, path, error, |_| Vec::new())
            }
            Failure::Write(path, error) => {
                write!(formatter, "cannot write `{}`: {error}", shown(path).display())?;
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                match parent.filter(|parent| error.kind() == io::ErrorKind::NotFound && !parent.is_dir()) {
                    Some(parent) => write!(formatter, "; the folder `{}` does not exist", parent.display()),
                    None => Ok(()),
                }
            }
            Failure::NoRole(path, side, add) => formatter.write_str(&add.write(shown(path), *side)),
            Failure::NoRoleToDraw(no_role) => write!(formatter, "{no_role}, or choose another `--role`"),
            Failure::Code(path, error) => {
                write!(formatter, "cannot generate code from `{}`: {error}", shown(path).display())
            }
            Failure::NoDual(path, why) => match why {
                Undefined::Nothing => write!(formatter, "`{}` has no session type", shown(path).display()),
                Undefined::Unknown(name, known) => {
                    write!(formatter, "`{}` does not define `{name}`", shown(path).display())?;
                    meant(formatter, name, known)
                }
                Undefined::Already(name, other) => {
                    write!(
                        formatter,
                        "`{name}` is written as the dual of `{other}`, so its dual is `{other}`"
                    )
                }
                _ => write!(formatter, "`{}` has no dual", shown(path).display()),
            },
            Failure::NoState(role, name, known) => {
                write!(formatter, "no state of `{role}` is called `{name}`")?;
                meant(formatter, name, known)
            }
            Failure::NoShapes(path) => write!(
                formatter,
                "`{}` does not declare any shape: add one with `type Name = {{ field: string }}`",
                shown(path).display()
            ),
            Failure::NoShape(path, name, known) => {
                write!(formatter, "`{}` does not declare a shape `{name}`", shown(path).display())?;
                meant(formatter, name, known)
            }
            Failure::Json(path, error) => {
                write!(formatter, "`{}` is not a JSON Schema: {error}", shown(path).display())?;
                if path.extension().is_some_and(|extension| extension == "session") {
                    write!(formatter, "; for a schema of its shapes, write `sessionc schema {}`", path.display())?;
                }
                Ok(())
            }
            Failure::Samples(path, error) => {
                write!(formatter, "`{}` is not a JSON object of params by method: {error}", path.display())
            }
            Failure::LogForProtocol(path) => write!(
                formatter,
                "`{0}` is a log and no protocol is named: write `sessionc trace --protocol mcp {0}`, or a `.session` file in \
                 front of it",
                path.display()
            ),
            Failure::NoLog => {
                formatter.write_str("no log is named: write its path after that of the protocol")
            }
            Failure::ListAsJunit => formatter
                .write_str("`--list` tests nothing, and has no JUnit report: use `--format json`, or leave it out"),
            Failure::RecordOnStdout => formatter
                .write_str("`-` is standard output, which belongs to the client: name a file after `--record`"),
            Failure::NotARecord(path) => write!(
                formatter,
                "`{}` has something other than recordings of a guard: name another file after `--record`",
                path.display()
            ),
            Failure::WouldReplace(path) => write!(
                formatter,
                "`{}` is a protocol, and what it says would be lost: name another file to write",
                path.display()
            ),
            Failure::ProtocolForLog(path) => write!(
                formatter,
                "`{}` is a protocol and stands where a log is wanted: name one protocol, in front of the logs",
                path.display()
            ),
            Failure::NoMessages(path, Some(why)) => write!(
                formatter,
                "`{}` has no message: {why}; `sessionc guard --record FILE` writes a log of any session",
                shown(path).display()
            ),
            Failure::NoMessages(path, None) => write!(
                formatter,
                "`{}` has no message: a log has messages as JSON, alone or behind text on a line, or is an HTTP archive; \
                 `sessionc guard --record FILE` writes one of any session",
                shown(path).display()
            ),
            Failure::NoServer => formatter.write_str(
                "no server is named: write its command after `--`, or give its address with `--url`",
            ),
            Failure::NotAnAddress(to) => {
                write!(formatter, "`{to}` is not the address of a server: write `http://HOST:PORT/PATH`")
            }
            Failure::OfClients(what) => write!(
                formatter,
                "`--to` has {what}, which the guard does not send: leave it out, and give it to the clients, with the address \
                 of the guard"
            ),
            Failure::Encrypted(to) => write!(
                formatter,
                "this `sessionc` was built without TLS, which `{to}` needs: install it with \
                 `cargo install --locked sessionc --features tls`, or give an `http` address"
            ),
            Failure::Listen(address, error) => write!(formatter, "cannot listen on {address}: {error}"),
            Failure::NothingToGuard => formatter.write_str(
                "no server is named: write its command after `--`, or use `--listen` and `--to` for a server over HTTP",
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
                if typed.strip_prefix(['C', 'c']).is_some_and(|digits| digits.parse::<u16>().is_ok()) {
                    return write!(
                        formatter,
                        "`{typed}` is a code of `sessionc compat`, and has no page: what breaks, and where, is in the \
                         finding. `sessionc explain` lists the codes that have pages"
                    );
                }
                write!(formatter, "no finding has the code `{typed}`")?;
                match near {
                    Some(near) => write!(formatter, "; did you mean `{near}`? `sessionc explain` lists all codes"),
                    None => formatter.write_str(": `sessionc explain` lists all codes"),
                }
            }
            Failure::Exists(path, what) => write!(formatter, "`{}` exists already: {what}", path.display()),
            Failure::BadName(name, why, near) => {
                write!(formatter, "`{name}` cannot be the name of a crate: {why}")?;
                match near {
                    Some(near) => write!(formatter, "; did you mean `{near}`?"),
                    None => Ok(()),
                }
            }
            Failure::NoRuntime(path) => write!(
                formatter,
                "`{}` is not the folder of the crate `mcp-runtime`: name the one whose `Cargo.toml` says \
                 `name = \"mcp-runtime\"`",
                path.display()
            ),
            Failure::NoProtocols(path) => write!(
                formatter,
                "no `.session` file below `{}` declares a role: write one with `sessionc new NAME`, or name the \
                 files to check",
                path.display()
            ),
            Failure::Unusual(text, what) => write!(
                formatter,
                "`{text}` cannot stand in a script, which takes letters, digits and `/._-+`: {what}"
            ),
            Failure::NotTheRoot(root) => write!(
                formatter,
                "a workflow belongs to a whole repository: run `sessionc init` in `{}`",
                root.display()
            ),
            Failure::Session(mcp_runtime::Error::Disconnected { reason }) => {
                write!(formatter, "the session with the editor has ended: {reason}")
            }
            Failure::Session(error) => write!(formatter, "the session with the editor has ended: {error}"),
            Failure::NoCommand(name, known) => {
                write!(formatter, "no command is called `{name}`")?;
                meant(formatter, name, known)
            }
        }
    }
}

/// What a path is called in messages.
pub(crate) fn shown(path: &Path) -> &Path {
    if is_stdin(path) { Path::new(STDIN) } else { path }
}

/// Whether the path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == DASH
}

/// The file that was probably meant by one that cannot be read: one with a similar name, or one of `known` in its folder.
fn instead(
    formatter: &mut fmt::Formatter<'_>,
    path: &Path,
    error: &io::Error,
    known: impl Fn(&Path) -> Vec<String>,
) -> fmt::Result {
    if path.is_dir() {
        return match known(path).as_slice() {
            [] => write!(formatter, "; name a file"),
            [first, ..] => write!(formatter, "; name a file in it, such as `{}`", path.join(first).display()),
        };
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Ok(());
    }
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return Ok(()) };
    if let Some(shipped) = shipped_as(path) {
        let name = shipped.get_name();
        return write!(formatter, "; for the protocol that comes with `sessionc`, write `--protocol {name}`");
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    if !folder.is_dir() {
        return write!(formatter, "; the folder `{}` does not exist", folder.display());
    }
    let there = names_in(folder);
    match near_file(&name, &there) {
        Some(near) => write!(formatter, "; did you mean `{}`?", parent.join(near).display()),
        None => match known(folder) {
            known if known.is_empty() => Ok(()),
            known => meant(formatter, &name, &known),
        },
    }
}

/// The shipped protocol that a path is the name of, as it is written behind `--protocol`.
fn shipped_as(path: &Path) -> Option<PossibleValue> {
    Shipped::from_str(path.to_str()?, true).ok()?.to_possible_value()
}

/// The file whose name is similar. A common ending does not make two names similar.
fn near_file<'a>(name: &str, there: &'a [String]) -> Option<&'a str> {
    let stem = |name: &str| name.rsplit_once('.').map(|(stem, _)| stem.to_owned());
    if let Some(other_ending) = there.iter().find(|there| stem(there).is_some() && stem(there) == stem(name))
    {
        return Some(other_ending);
    }
    let near = nearest(name, there.iter().map(String::as_str))?;
    let same_ending =
        name.rsplit_once('.').zip(near.rsplit_once('.')).filter(|((_, one), (_, other))| one == other);
    let is_near = same_ending.is_none_or(|((name, _), (near, _))| nearest(name, [near]).is_some());
    is_near.then_some(near)
}

/// Refuses to write a file that is a protocol.
///
/// # Errors
/// If it is one by its name, or is the one that is read.
pub(crate) fn spare_protocols(output: &Path, read: Option<&Path>) -> Result<(), Failure> {
    let is_named_so = output.extension().is_some_and(|extension| extension == "session");
    let place = |path: &Path| fs::canonicalize(path).ok();
    let is_read = read.is_some_and(|read| place(read).is_some() && place(read) == place(output));
    match is_named_so || is_read {
        true => Err(Failure::WouldReplace(output.to_owned())),
        false => Ok(()),
    }
}

/// The names of what is in a folder, sorted.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// The names of the `.session` files in a folder.
fn protocols_in(folder: &Path) -> Vec<String> {
    names_in(folder).into_iter().filter(|name| name.ends_with(".session")).collect()
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
    let mut list =
        |folder: &Path| protocols_in(&Path::new(".").join(folder)).iter().map(PathBuf::from).collect();
    compile_among(shown(path), &mut reader(path), &mut list, settings)
        .map_err(|error| Failure::Read(path.to_path_buf(), error))
}

/// Reads the files of a compilation that starts with this one.
pub(crate) fn reader(first: &Path) -> impl FnMut(&Path) -> io::Result<Vec<u8>> {
    move |path| {
        if is_stdin(first) && path == shown(first) { read(first) } else { bytes_of(File::open(path)?) }
    }
}

/// Whether standard input was read: what has been read from it is gone.
static STDIN_IS_READ: AtomicBool = AtomicBool::new(false);

/// The bytes of a file or of standard input, as many as the compiler wants.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    bytes_of(open(path)?)
}

/// A file or standard input, to be read once.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if !is_stdin(path) {
        return Ok(Box::new(File::open(path)?));
    }
    if STDIN_IS_READ.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("it can be read only once; write `-` once"));
    }
    Ok(Box::new(io::stdin().lock()))
}

/// Prints what is wrong with a file that another command needed. What is only worth knowing is for its author:
/// `check` says it.
pub(crate) fn print_findings(compilation: &Compilation) {
    let wrong = compilation.diagnostics.iter().filter(|finding| finding.severity != Severity::Note);
    let wrong: Vec<Diagnostic> = wrong.cloned().collect();
    print_diagnostics(&compilation.sources, &wrong);
}

/// Prints findings where a command's own output is not in the way.
pub(crate) fn print_diagnostics(sources: &SourceMap, diagnostics: &[Diagnostic]) {
    let text = render_all(sources, diagnostics, style(&io::stderr()));
    // Where standard error is closed, the exit code alone says what happened.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Why a program cannot be started, with its name, and what to write for a script that is there.
pub(crate) fn not_started(program: &str, error: &io::Error) -> io::Error {
    let is_there = Path::new(program).is_file();
    let is_name = !program.contains(['/', '\\']);
    let runs_it = format!("write what runs it in front of it, as in `python3 {program}`");
    let instead = match error.kind() {
        io::ErrorKind::PermissionDenied if is_there => format!("; it is not a program: {runs_it}"),
        io::ErrorKind::PermissionDenied if Path::new(program).is_dir() => "; it is a folder".to_owned(),
        io::ErrorKind::NotFound if is_there && is_name => {
            format!("; for the file of this name, write `./{program}`, or {runs_it}")
        }
        _ => String::new(),
    };
    io::Error::new(error.kind(), format!("`{program}`: {error}{instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_probably_one_that_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let missing = |name: &str| {
            let error = io::Error::from(io::ErrorKind::NotFound);
            Failure::Read(folder.join(name), error).to_string().replace(&*folder.to_string_lossy(), "tests")
        };
        let near = missing("tlak.session");
        assert!(near.ends_with("; did you mean `tests/talk.session`?"), "{near}");
        let far = missing("counter.session");
        assert!(far.ends_with("; there are `talk.session`"), "{far}");
        let elsewhere = missing("nowhere/talk.session");
        assert!(elsewhere.ends_with("; the folder `tests/nowhere` does not exist"), "{elsewhere}");
    }
}
