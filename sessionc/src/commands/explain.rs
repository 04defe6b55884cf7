//! `sessionc explain`: what a code means.

use mcp_protocol_compiler::explain::{nearest, page, pages};

use crate::arguments::Explain;
use crate::end::End;
use crate::files::Failure;

/// Prints the page of a code, or the list of all codes.
pub(crate) fn run(arguments: &Explain) -> Result<End, Failure> {
    let Some(typed) = &arguments.code else {
        print!("{}", list());
        return Ok(End::Clean);
    };
    match page(typed) {
        Some(page) => {
            print!("{}", page.readable());
            Ok(End::Clean)
        }
        None => {
            eprint!("{}", list());
            Err(Failure::NoCode(typed.clone(), nearest(typed).map(|page| page.code.0)))
        }
    }
}

/// Every code with its title, a line each.
fn list() -> String {
    pages().iter().map(|page| format!("{}  {}\n", page.code.0, page.title)).collect()
}
