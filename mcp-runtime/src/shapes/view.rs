//! A value as the machine looks at it.

use std::borrow::Cow;

use mcp_protocol_machine::shape::{Json, JsonView};
use serde_json::Value;

/// A JSON value, for [`judge`](mcp_protocol_machine::shape::judge).
#[derive(Clone, Copy, Debug)]
pub struct ValueView<'a>(pub &'a Value);

impl Json for ValueView<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        match self.0 {
            Value::Null => JsonView::Null,
            Value::Bool(value) => JsonView::Bool(*value),
            Value::Number(number) => JsonView::Number(Cow::Owned(number.to_string())),
            Value::String(text) => JsonView::Text(Cow::Borrowed(text)),
            Value::Array(elements) => JsonView::List(elements.iter().map(ValueView).collect()),
            Value::Object(members) => {
                let member = |(key, value)| (Cow::Borrowed(String::as_str(key)), ValueView(value));
                JsonView::Object(members.iter().map(member).collect())
            }
        }
    }
}
