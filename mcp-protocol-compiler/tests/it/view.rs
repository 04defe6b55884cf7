//! Values of `serde_json`, as the judge of shapes looks at them.

use std::borrow::Cow;

use mcp_protocol_machine::shape::{Json, JsonView};
use serde_json::Value;

#[derive(Clone, Copy)]
pub(crate) struct View<'a>(pub(crate) &'a Value);

impl Json for View<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        match self.0 {
            Value::Null => JsonView::Null,
            Value::Bool(value) => JsonView::Bool(*value),
            Value::Number(number) => JsonView::Number(number.to_string().into()),
            Value::String(text) => JsonView::Text(Cow::Borrowed(text)),
            Value::Array(elements) => JsonView::List(elements.iter().map(View).collect()),
            Value::Object(members) => JsonView::Object(
                members.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), View(value))).collect(),
            ),
        }
    }
}
