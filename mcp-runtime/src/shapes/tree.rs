//! A JSON value in memory.

use std::borrow::Cow;

use mcp_protocol_machine::shape::{Json, JsonView};
use serde_json::Value;

use super::number::Number;

/// An object whose members nothing is said about.
pub type Object = serde_json::Map<String, Value>;

/// A JSON value, for [`FromJson`](super::FromJson) to look at before it decides. Texts without escapes are those of the
/// message and are not copied.
#[derive(Clone, Debug)]
pub enum JsonTree<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<JsonTree<'a>>),
    /// An object, with its members in their order. Of several members with one key the last one counts.
    Object(Vec<(Cow<'a, str>, JsonTree<'a>)>),
}

impl JsonTree<'_> {
    /// The text, if this is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            JsonTree::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<JsonTree<'_>> for Value {
    fn from(tree: JsonTree<'_>) -> Value {
        match tree {
            JsonTree::Null => Value::Null,
            JsonTree::Bool(value) => Value::Bool(value),
            JsonTree::Number(number) => number.into(),
            JsonTree::Text(text) => Value::String(text.into_owned()),
            JsonTree::List(elements) => elements.into_iter().map(Value::from).collect(),
            JsonTree::Object(members) => Value::Object(
                members.into_iter().map(|(key, value)| (key.into_owned(), value.into())).collect(),
            ),
        }
    }
}

impl Json for JsonTree<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        match self {
            JsonTree::Null => JsonView::Null,
            JsonTree::Bool(value) => JsonView::Bool(*value),
            JsonTree::Number(number) => JsonView::Number(Cow::Owned(number.to_string())),
            JsonTree::Text(text) => JsonView::Text(Cow::Borrowed(text)),
            JsonTree::List(elements) => JsonView::List(Cow::Borrowed(elements)),
            JsonTree::Object(members) => JsonView::Object(Cow::Borrowed(members)),
        }
    }
}
