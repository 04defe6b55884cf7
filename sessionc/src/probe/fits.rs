//! Whether params have a shape.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{Protocol, Shape};
use mcp_protocol_machine::shape::{Json, JsonView, judge};
use serde_json::Value;

/// Whether the judge accepts a value as one of this shape.
pub(crate) fn fits(protocol: &Protocol, shape: &Shape, value: &Value) -> bool {
    judge(protocol, shape, &Looked(value)).is_ok()
}

/// A value, for the judge to look at.
#[derive(Clone)]
struct Looked<'v>(&'v Value);

impl Json for Looked<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        match self.0 {
            Value::Null => JsonView::Null,
            Value::Bool(value) => JsonView::Bool(*value),
            Value::Number(number) => JsonView::Number(Cow::Owned(number.to_string())),
            Value::String(text) => JsonView::Text(Cow::Borrowed(text)),
            Value::Array(elements) => JsonView::List(elements.iter().map(Looked).collect()),
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| (Cow::Borrowed(&**key), Looked(value)));
                JsonView::Object(members.collect())
            }
        }
    }
}
