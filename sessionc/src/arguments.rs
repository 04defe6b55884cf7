//! What can be typed behind `sessionc`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Compiles session types for two-party JSON-RPC protocols.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Checks files, prints every finding, and exits 1 if there is an error
    Check(Check),
    /// Prints the dual of a role or a definition, in the language
    Dual(Dual),
    /// Lays files out in the canonical way, with their comments
    Fmt(Fmt),
    /// Prints the Rust code that `protocol!` generates for a file
    Expand(Expand),
    /// Draws the state machine of a role
    Diagram(Diagram),
    /// Says what a code means, with a wrong and a right example
    Explain(Explain),
}

#[derive(Args)]
pub(crate) struct Check {
    /// The files to check, each with what it imports
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How findings are printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FindingFormat,
    /// Exit 1 also where the worst finding is a warning
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Report every race of the text itself, instead of adding the edges that let its messages cross
    #[arg(long)]
    pub(crate) without_closure: bool,
}

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingFormat {
    /// With the lines they speak of
    Text,
    /// One JSON object a line: code, severity, message, file, line, column, help
    Json,
}

#[derive(Args)]
pub(crate) struct Expand {
    /// The file to expand
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the code there instead of printing it
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Compare the code with what OUT holds instead of writing it; exit 1 if they differ
    #[arg(long, requires = "output")]
    pub(crate) check: bool,
}

#[derive(Args)]
pub(crate) struct Diagram {
    /// The file whose machine is drawn
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Whose machine
    #[arg(long, value_enum, default_value = "client")]
    pub(crate) role: RoleChoice,
    /// In which notation
    #[arg(long, value_enum, default_value = "mermaid")]
    pub(crate) format: DiagramFormat,
    /// Draw only what can be reached from the state of this definition
    #[arg(long, value_name = "NAME")]
    pub(crate) definition: Option<String>,
    /// Leave out refusals and cancels that the file does not write
    #[arg(long)]
    pub(crate) without_refusals: bool,
}

/// Whose machine is drawn.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleChoice {
    /// The role declared with `client`
    Client,
    /// The role declared with `server`
    Server,
}

/// In which notation a diagram is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagramFormat {
    /// For Markdown pages
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture as it is
    Svg,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// The code of a finding, for instance S0301; without it, all codes are listed
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

#[derive(Args)]
pub(crate) struct Dual {
    /// The file with the session type
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The role or definition; without it, the first role that is not the dual of the other
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Args)]
pub(crate) struct Fmt {
    /// The files to lay out, each by itself
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing; name the files that are laid out otherwise, and exit 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}
