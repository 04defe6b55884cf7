//! `sessionc shapes`: a JSON Schema as items of a `.session` file.

use std::path::Path;

use mcp_protocol_compiler::format;

use crate::arguments::Shapes;
use crate::end::End;
use crate::files::{self, Failure, is_stdin};
use crate::json_schema::{Tree, read, text};
use crate::print::print_text;

/// Prints the shapes, laid out as `fmt` does.
pub(crate) fn run(arguments: &Shapes) -> Result<End, Failure> {
    let path = &arguments.file;
    let bytes = files::read(path).map_err(|error| Failure::ReadOther(path.clone(), error))?;
    let schema: Tree = serde_json::from_slice(&bytes).map_err(|error| Failure::Json(path.clone(), error))?;
    let stem = path.file_stem().filter(|_| !is_stdin(path));
    let name = stem.and_then(|stem| stem.to_str()).unwrap_or("Root");
    let shapes = text(&read(&schema, name));
    let formatted = format(Path::new("shapes.session"), shapes.clone().into_bytes());
    print_text(&formatted.text.unwrap_or(shapes), arguments.format)?;
    Ok(End::Clean)
}
