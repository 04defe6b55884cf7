//! `sessionc explain`: what a code means.

use mcp_protocol_compiler::explain::{Page, nearest, page, pages};
use serde::Serialize;

use crate::arguments::{Explain, OutputFormat};
use crate::end::End;
use crate::files::Failure;
use crate::print::{print, print_json};

/// Prints the page of a code, or the list of all codes.
pub(crate) fn run(arguments: &Explain) -> Result<End, Failure> {
    match (&arguments.code, arguments.format) {
        (None, OutputFormat::Text) => print(list())?,
        (None, OutputFormat::Json) => pages().iter().try_for_each(print_page)?,
        (Some(typed), format) => match (page(typed), format) {
            (Some(page), OutputFormat::Text) => print(page.readable())?,
            (Some(page), OutputFormat::Json) => print_page(page)?,
            (None, _) => {
                return Err(Failure::NoCode(typed.clone(), nearest(typed).map(|page| page.code.0)));
            }
        },
    }
    Ok(End::Clean)
}

/// Every code with its title, a line each.
fn list() -> String {
    pages().iter().map(|page| format!("{}  {}\n", page.code.0, page.title)).collect()
}

/// A page for programs.
#[derive(Serialize)]
struct PageLine<'a> {
    code: &'a str,
    title: &'a str,
    text: String,
}

fn print_page(page: &Page) -> Result<(), Failure> {
    print_json(&PageLine { code: page.code.0, title: page.title, text: page.readable() })
}
