//! The command line of `sessionc`.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::ParseIntError;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mcp_protocol_machine::protocol::{Side, Strictness};
use mcp_runtime::driver::Framing;

/// Compiles session types for two-party JSON-RPC protocols
///
/// A FILE may be `-`, which is standard input; its imports are then relative to the current folder. The exit code is 0,
/// 1 if something was found (an error, a difference), and 2 if an argument or a file cannot be used.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    /// When to print in colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Checks files, prints every finding, and exits 1 if there is an error
    Check(Check),
    /// Prints the dual of a role or a definition, in the language
    Dual(Dual),
    /// Formats files, and keeps their comments
    Fmt(Fmt),
    /// Prints the Rust code that `protocol!` generates for a file
    Expand(Expand),
    /// Draws the state machine of a role
    Diagram(Diagram),
    /// Prints the shapes of a file as a JSON Schema
    Schema(Schema),
    /// Prints a JSON Schema as shapes of a `.session` file
    Shapes(Shapes),
    /// Sends a server what its protocol forbids, and says what it did
    Probe(Probe),
    /// Serves an editor: diagnostics, navigation, renaming and more, by the Language Server Protocol
    Lsp(Lsp),
    /// Judges recorded traffic, and names each message that breaks the protocol
    Trace(Trace),
    /// Stands between a client and a server, and reports or stops what the protocol forbids
    Guard(Guard),
    /// Explains a code, with a wrong and a right example
    Explain(Explain),
    /// Compares two versions of a protocol, and exits 1 if the clients and servers of the two cannot talk
    Compat(Compat),
    /// Lists what has changed between two versions of a protocol, and which peers each change breaks
    Diff(Compat),
    /// Writes a crate with a small protocol, which builds and has a passing test
    New(New),
    /// Writes a GitHub workflow that checks the protocols of this repository
    Init(Init),
    /// Prints the script with which a shell completes commands and options
    Completions(Completions),
    /// Prints a page for `man`
    Man(Man),
}

#[derive(Args)]
pub(crate) struct Compat {
    /// The file of the old version
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The file of the new version
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct Check {
    /// The files to check, each with its imports
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The output format of findings
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FindingFormat,
    /// Exit with 1 also if the worst finding is a warning
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Report every race of the text itself, instead of adding the edges that let its messages cross
    #[arg(long)]
    pub(crate) without_closure: bool,
}

#[derive(Args)]
pub(crate) struct Lsp {
    /// Talk over the standard streams, which is the only way there is; editors pass it
    #[arg(long)]
    pub(crate) stdio: bool,
}

/// The output format of findings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// Text for people
    Text,
    /// One JSON object per line, for programs
    Json,
    /// One SARIF 2.1.0 log, for code scanning and editors
    Sarif,
}

impl From<OutputFormat> for FindingFormat {
    fn from(format: OutputFormat) -> FindingFormat {
        match format {
            OutputFormat::Text => FindingFormat::Text,
            OutputFormat::Json => FindingFormat::Json,
        }
    }
}

/// The output format of everything but findings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Args)]
pub(crate) struct Expand {
    /// The file to expand
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the code to this file instead of printing it
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Compare the code with the file OUT instead of writing it; print the difference and exit with 1 if they differ
    #[arg(long, requires = "output")]
    pub(crate) check: bool,
    /// The output format of findings and of the difference
    #[arg(long, value_enum, requires = "check", default_value = "text")]
    pub(crate) format: FindingFormat,
    /// Print the public items without documentation, bodies and tables
    #[arg(long)]
    pub(crate) signatures: bool,
    /// Compile everything but the tables and the types of shapes only if your crate has this feature on
    #[arg(long, value_name = "NAME", conflicts_with = "signatures")]
    pub(crate) feature: Option<String>,
    /// The module that has the types of the shapes, if this file does not: revisions share those of the latest one
    #[arg(long, value_name = "PATH", conflicts_with = "signatures")]
    pub(crate) shapes: Option<String>,
    /// The file whose shapes that module has; only the types that FILE has in the same form are taken from there
    #[arg(long, value_name = "OTHER", requires = "shapes")]
    pub(crate) shapes_of: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Diagram {
    /// The file to draw
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The role to draw
    #[arg(long, value_enum, default_value = "client")]
    pub(crate) role: RoleChoice,
    /// The notation of the diagram
    #[arg(long, value_enum, default_value = "mermaid")]
    pub(crate) format: DiagramFormat,
    /// Draw only the states that can be reached from this definition
    #[arg(long, value_name = "NAME")]
    pub(crate) definition: Option<String>,
    /// Leave out the refusals and cancels that the compiler adds
    #[arg(long)]
    pub(crate) without_refusals: bool,
}

/// The role to draw.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleChoice {
    /// The role declared with `client`
    Client,
    /// The role declared with `server`
    Server,
}

/// The notation of a diagram.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagramFormat {
    /// For Markdown pages
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
    /// The machine as data, for programs: one JSON object
    Json,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// The code of a finding, for instance S0301; without a code, lists all codes
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// The output format: text, or the code, its title and its page in Markdown as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct Dual {
    /// The file with the session type
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The role or definition; without it, the first role that is not the dual of the other
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The output format: text, or an object with the text; findings are objects of their own
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct Schema {
    /// The file with the shapes
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The shape to print, with the shapes that it needs; without it, all shapes of the file
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Args)]
pub(crate) struct Shapes {
    /// The schema; its `$defs` or `definitions` become shapes, and so does the schema itself
    #[arg(value_name = "SCHEMA.json")]
    pub(crate) file: PathBuf,
    /// The output format: text, or an object with the text
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct Fmt {
    /// The files to format
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; list the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
    /// The output format of findings and of the list
    #[arg(long, value_enum, requires = "check", default_value = "text")]
    pub(crate) format: FindingFormat,
}

#[derive(Args)]
pub(crate) struct New {
    /// The name of the crate, or a path that ends with it; the folder must not exist
    #[arg(value_name = "NAME")]
    pub(crate) path: PathBuf,
    /// Depend on the crate `mcp-runtime` in this folder instead of the one on crates.io
    #[arg(long, value_name = "PATH")]
    pub(crate) runtime_path: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Init {
    /// The protocols to check; without any, those that are found below the current folder
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The branch that changes are compared with
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) branch: String,
    /// The command with which the workflow installs sessionc
    #[arg(long, value_name = "COMMAND", default_value = concat!("cargo install --locked sessionc --version ", env!("CARGO_PKG_VERSION")))]
    pub(crate) install: String,
    /// Where to write the workflow
    #[arg(short, long, value_name = "OUT", default_value = ".github/workflows/sessions.yml")]
    pub(crate) output: PathBuf,
    /// Print the workflow, and write nothing
    #[arg(long, conflicts_with = "force")]
    pub(crate) dry_run: bool,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Args)]
pub(crate) struct Man {
    /// The command to describe; without it, sessionc itself
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Write a page for sessionc and for each command into this folder
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
}

/// A protocol that needs no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shipped {
    /// The Model Context Protocol: the revision follows from the traffic
    Mcp,
    /// The Language Server Protocol 3.17
    Lsp,
    /// The Agent Client Protocol, version 1
    Acp,
}

/// The protocol that a server speaks: a file, or a shipped one.
#[derive(Args)]
pub(crate) struct OneProtocol {
    /// The file of the protocol that the server speaks
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// A shipped protocol in place of a file
    #[arg(long = "protocol", value_enum, value_name = "NAME")]
    pub(crate) shipped: Option<Shipped>,
}

#[derive(Args)]
pub(crate) struct Probe {
    #[command(flatten)]
    pub(crate) protocol: OneProtocol,
    /// The command that starts the server, with its arguments; it is started for each session
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// The address of a server over HTTP, in place of a command
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// How messages are separated on the standard streams, if not as the protocol has it
    #[arg(long, value_enum, value_name = "FRAMING", conflicts_with = "url")]
    pub(crate) framing: Option<MessageFraming>,
    /// A JSON file with params that the server accepts, by method
    #[arg(long, value_name = "FILE")]
    pub(crate) samples: Option<PathBuf>,
    /// Probe only in this state
    #[arg(long, value_name = "NAME")]
    pub(crate) state: Option<String>,
    /// Commit only the offences whose name contains this, or whose group this is
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Option<String>,
    /// How many milliseconds an answer may take after the server has answered the request that follows
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    pub(crate) wait: u64,
    /// How many seconds the answer to a request that is permitted may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = at_least_one::<u64>)]
    pub(crate) timeout: u64,
    /// How many sessions run at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = at_least_one::<usize>)]
    pub(crate) jobs: usize,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ProbeFormat,
    /// Exit with 1 if there is a fault of this level, or of a worse one
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "must")]
    pub(crate) fail_on: FailOn,
    /// List what would be probed, without a server
    #[arg(long)]
    pub(crate) list: bool,
}

/// How messages are separated in a stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFraming {
    /// One message on each line
    Lines,
    /// A `Content-Length` before each message
    ContentLength,
}

impl From<MessageFraming> for Framing {
    fn from(framing: MessageFraming) -> Framing {
        match framing {
            MessageFraming::Lines => Framing::Lines,
            MessageFraming::ContentLength => Framing::ContentLength,
        }
    }
}

/// The output format of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProbeFormat {
    /// A table
    Text,
    /// One JSON object per line
    Json,
    /// JUnit XML
    Junit,
}

#[derive(Args)]
#[command(
    override_usage = "sessionc trace [OPTIONS] <FILE> <LOG>...\n       sessionc trace [OPTIONS] --protocol <NAME> <LOG>..."
)]
pub(crate) struct Trace {
    /// The file of the protocol, unless `--protocol` names one, and then the logs: JSON lines, debug logs, or HTTP
    /// archives
    #[arg(required = true, value_name = "FILE|LOG")]
    pub(crate) paths: Vec<PathBuf>,
    /// A shipped protocol in place of a file
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) protocol: Option<Shipped>,
    /// The logs begin in the middle of a session, in this state; without it, that follows from the messages
    #[arg(long, value_name = "STATE")]
    pub(crate) from: Option<String>,
    /// The side that has sent each message of which the logs do not say it, as in a log that `tee` has written
    #[arg(long, value_enum, value_name = "SIDE")]
    pub(crate) sender: Option<SenderChoice>,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FindingFormat,
    /// The level from which on a finding makes the exit code 1
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "must")]
    pub(crate) fail_on: FailOn,
}

/// The side that has sent the messages of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SenderChoice {
    /// The side that opens the session
    Client,
    /// The other side
    Server,
}

impl From<SenderChoice> for Side {
    fn from(sender: SenderChoice) -> Side {
        match sender {
            SenderChoice::Client => Side::Client,
            SenderChoice::Server => Side::Server,
        }
    }
}

/// Which faults fail a probe, and which findings a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A fault that breaks what the protocol demands
    Must,
    /// Also a fault that breaks what the protocol advises
    Should,
    /// None
    Never,
}

impl FailOn {
    /// The least level that fails, if one does.
    pub(crate) fn least(self) -> Option<Strictness> {
        match self {
            FailOn::Must => Some(Strictness::Must),
            FailOn::Should => Some(Strictness::Should),
            FailOn::Never => None,
        }
    }
}

#[derive(Args)]
pub(crate) struct Guard {
    #[command(flatten)]
    pub(crate) protocol: OneProtocol,
    /// The command that starts the server, with its arguments; the client is at the standard streams
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// The address at which the guard listens for clients over HTTP, in place of a command
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "command", requires = "to", value_parser = listen)]
    pub(crate) listen: Option<SocketAddr>,
    /// The address of the server over HTTP; with a path, only messages to this path are judged
    #[arg(long, value_name = "URL", conflicts_with = "command", requires = "listen")]
    pub(crate) to: Option<String>,
    /// Stop what breaks a rule of this level or of a worse one, and answer its sender with an error
    #[arg(long, value_enum, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "must")]
    pub(crate) enforce: Option<Level>,
    /// Write what passes into this file, one JSON object per line, behind the recordings that it has
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The format of the reports on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) reports: ReportFormat,
    /// Judge payloads by their shapes, too
    #[arg(long)]
    pub(crate) payloads: bool,
    /// How messages are separated on the standard streams, if not as the protocol has it
    #[arg(long, value_enum, value_name = "FRAMING", conflicts_with = "listen")]
    pub(crate) framing: Option<MessageFraming>,
    /// How many bytes a message may have that is judged
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20, value_parser = at_least_one::<usize>)]
    pub(crate) max_message: usize,
}

/// How strict a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// What the protocol demands
    Must,
    /// Also what it advises
    Should,
}

impl From<Level> for Strictness {
    fn from(level: Level) -> Strictness {
        match level {
            Level::Must => Strictness::Must,
            Level::Should => Strictness::Should,
        }
    }
}

/// The format of the reports of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One sentence per line
    Text,
    /// One JSON object per line
    Json,
    /// Events of `tracing` as JSON, with fields named as OpenTelemetry names them
    Tracing,
}

/// A number that is not zero.
fn at_least_one<N: FromStr<Err = ParseIntError> + PartialOrd + From<u8>>(written: &str) -> Result<N, String> {
    let number = written.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "write a whole number, 1 or more".to_owned())
}

/// Where to listen: an address and a port, or `localhost` and a port.
fn listen(written: &str) -> Result<SocketAddr, String> {
    let address = written.parse().ok();
    let local =
        || Some(SocketAddr::from((Ipv4Addr::LOCALHOST, written.strip_prefix("localhost:")?.parse().ok()?)));
    address.or_else(local).ok_or_else(|| "write an address and a port, such as `127.0.0.1:9000`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_listens_at_an_address_and_a_port() {
        let own = |written: &str| listen(written).map(|address| address.to_string());
        assert_eq!(own("127.0.0.1:9000").unwrap(), "127.0.0.1:9000");
        assert_eq!(own("[::1]:9000").unwrap(), "[::1]:9000");
        assert_eq!(own("localhost:0").unwrap(), "127.0.0.1:0");
        for wrong in ["127.0.0.1", "9000", ":9000", "localhost", "localhost:http", "example.com:80"] {
            assert!(own(wrong).unwrap_err().contains("`127.0.0.1:9000`"), "{wrong}");
        }
    }
}
