//! Judges payloads by their shapes.
//!
//! [`judge`] compares a JSON value with a [`Shape`](crate::protocol::Shape). A value that does not have the shape is a
//! [`ShapeMismatch`], which has the path, what is expected there, and what was found. The crate reads no JSON: the
//! caller has a view of it, [`Json`].
//!
//! ```
//! use mcp_protocol_machine::Protocol;
//! use mcp_protocol_machine::protocol::{RecordField, Shape};
//! use mcp_protocol_machine::shape::{judge, sample};
//! # use std::borrow::Cow;
//! # use mcp_protocol_machine::shape::{Json, JsonView};
//! # #[derive(Clone)]
//! # struct Value(serde_json::Value);
//! # impl Json for Value {
//! #     fn view(&self) -> JsonView<'_, Value> {
//! #         match &self.0 {
//! #             serde_json::Value::Number(number) => JsonView::Number(number.to_string().into()),
//! #             serde_json::Value::Object(members) => JsonView::Object(
//! #                 members.iter().map(|(key, value)| (Cow::Borrowed(&**key), Value(value.clone()))).collect(),
//! #             ),
//! #             _ => JsonView::Null,
//! #         }
//! #     }
//! # }
//!
//! let forecast = Shape::record(const { &[RecordField::required("celsius", Shape::Int)] });
//! let protocol = Protocol::new("Weather".into(), Vec::new().into());
//! let value = Value(serde_json::json!({ "celsius": 4.5 }));
//! let mismatch = judge(&protocol, &forecast, &value).unwrap_err();
//! assert_eq!(mismatch.to_string(), "celsius: expected a whole number, found 4.5");
//! assert_eq!(sample(&protocol, &forecast).as_deref(), Some(r#"{"celsius":0}"#));
//! ```

mod choose;
mod compiled;
mod json;
mod judge;
mod mismatch;
mod sample;
#[cfg(test)]
mod tests;
mod whole;

#[doc(hidden)]
pub use choose::absent_params;
pub use choose::{choose, choose_by_member, hides};
pub use compiled::CompiledShapes;
pub use json::{Json, JsonKind, JsonMember, JsonView};
pub use judge::{DEEPEST, judge};
pub use mismatch::ShapeMismatch;
#[doc(hidden)]
pub use mismatch::{list_of as expected_list, literal as expected_literal};
pub use sample::{LONGEST_SAMPLE, Sample, Samples, sample};
#[doc(hidden)]
pub use whole::whole as whole_number;
