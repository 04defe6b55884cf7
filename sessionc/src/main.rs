//! `sessionc`: the session-type compiler on the command line.
//!
//! Reads files, calls the compiler, and prints findings on standard output and failures on standard error. Exit codes:
//! 0 no error, 1 errors (or denied warnings, or a difference), 2 unusable arguments or files.

mod address;
mod arguments;
mod color;
mod commands;
mod content_kind;
mod crate_name;
mod end;
mod eras;
mod event_stream;
mod files;
mod framed;
mod guard;
mod json_schema;
mod lsp;
mod machine_json;
mod malformed_texts;
mod message_head;
mod missing_role;
mod not_received;
mod other_type;
mod print;
mod probe;
mod protocol;
mod report;
mod repository;
mod sarif;
mod server_command;
mod terminal_line;
mod trace;
mod unknown_revision;
mod unusable;
mod whole_file;
mod wrapped;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::{Arguments, Command};
use end::End;
use files::Failure;
use print::{complain, printed};

fn main() -> ExitCode {
    let command = Arguments::command().color(color::asked_for(env::args_os()));
    let matches = command.try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(error) => return ended_early(&unusable::with_advice(error)),
    };
    color::choose(arguments.color);
    let result = match arguments.command {
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Dual(arguments) => commands::dual::run(&arguments),
        Command::Fmt(arguments) => commands::fmt::run(&arguments),
        Command::Expand(arguments) => commands::expand::run(&arguments),
        Command::Diagram(arguments) => commands::diagram::run(&arguments),
        Command::Schema(arguments) => commands::schema::run(&arguments),
        Command::Shapes(arguments) => commands::shapes::run(&arguments),
        Command::Probe(arguments) => commands::probe::run(&arguments),
        Command::Lsp(_) => commands::lsp::run(),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Guard(arguments) => commands::guard::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Compat(arguments) => commands::compat::run(&arguments),
        Command::Diff(arguments) => commands::diff::run(&arguments),
        Command::New(arguments) => commands::new::run(&arguments),
        Command::Init(arguments) => commands::init::run(&arguments),
        Command::Completions(arguments) => commands::completions::run(&arguments),
        Command::Man(arguments) => commands::man::run(&arguments),
    };
    match result {
        Ok(End::Clean) => ExitCode::SUCCESS,
        Ok(End::Findings) => ExitCode::from(1),
        Ok(End::Exited(code)) => ExitCode::from(code),
        Err(failure) => failed(&failure),
    }
}

/// Prints what clap has instead of arguments: the help, the version, or why they cannot be used.
fn ended_early(instead: &clap::Error) -> ExitCode {
    let printed = printed(instead.print().and_then(|()| io::stdout().flush()));
    match (instead.use_stderr(), printed) {
        // Where nothing reads standard error, the exit code is left to say so.
        (true, _) => ExitCode::from(2),
        (false, Ok(())) => ExitCode::SUCCESS,
        (false, Err(failure)) => failed(&failure),
    }
}

fn failed(failure: &Failure) -> ExitCode {
    complain(format!("sessionc: {failure}"));
    ExitCode::from(2)
}
