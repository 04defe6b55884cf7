//! Schemas as shapes, and shapes as schemas.

use std::borrow::Cow;

use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{Shape, ShapeIndex};
use mcp_protocol_machine::shape::{Json, JsonView, judge};

use super::order::Tables;
use super::{Source, Tree, read, text, write};

mod alternatives;
mod payloads;
mod peers;
mod random;
mod reading;
mod suite;
mod writing;

impl Json for &Tree {
    fn view(&self) -> JsonView<'_, Self> {
        match self {
            Tree::Null => JsonView::Null,
            Tree::Bool(value) => JsonView::Bool(*value),
            Tree::Number(written) => JsonView::Number(Cow::Borrowed(written)),
            Tree::Text(text) => JsonView::Text(Cow::Borrowed(text)),
            Tree::List(elements) => JsonView::List(elements.iter().collect()),
            Tree::Object(members) => {
                JsonView::Object(members.iter().map(|(key, value)| (Cow::Borrowed(&**key), value)).collect())
            }
        }
    }
}

fn tree(json: &str) -> Tree {
    serde_json::from_str(json).unwrap()
}

/// The shapes of a schema, as a file has them.
fn shapes(schema: &str) -> String {
    text(&read(&tree(schema), "Root"))
}
