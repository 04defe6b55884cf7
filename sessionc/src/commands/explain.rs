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
                // Rules of protocols and the like have numbers, too.
                let near = nearest(typed).filter(|_| begins_as_a_code(typed));
                return Err(Failure::NoCode(typed.clone(), near.map(|page| page.code.0)));
            }
        },
    }
    Ok(End::Clean)
}

/// Whether a code begins as those of pages do, or has no letter.
fn begins_as_a_code(typed: &str) -> bool {
    typed.trim().starts_with(|first: char| first.is_ascii_digit() || first.eq_ignore_ascii_case(&'s'))
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
