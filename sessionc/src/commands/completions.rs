//! `sessionc completions`: for the shell.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::end::End;
use crate::files::Failure;
use crate::print::print;

/// Prints the script of one shell.
pub(crate) fn run(arguments: &Completions) -> Result<End, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "sessionc", &mut script);
    print(script)?;
    Ok(End::Clean)
}
