//! The payloads of all revisions, generated from the shapes of the latest one, and what makes some of them easier to use.
//!
//! A program that is written against the latest revision also speaks the older ones, so all revisions share these types.
//! What an older revision does not have is an optional field or an alternative of a union: leave it out there.
//!
//! ```
//! use mcp_protocols::types::{CallToolParams, CallToolResult, ImageContent, TextContent};
//!
//! let params = CallToolParams::new("weather").with_argument("city", "Ulm");
//! assert_eq!(serde_json::to_string(&params)?, r#"{"name":"weather","arguments":{"city":"Ulm"}}"#);
//!
//! let result = CallToolResult::new([
//!     TextContent::new("Sunny.").into(),
//!     ImageContent::new("aGk=", "image/png").into(),
//! ]);
//! assert_eq!(result.first_text(), Some("Sunny."));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Each record has `new(…)` with what it must have, and a setter for each optional field. A union has `From` for each of
//! its alternatives, so that `new` and the setters take any of them.

use std::cmp::Ordering;

#[doc(inline)]
pub use mcp_runtime::shapes::{Number, Object};
use serde_json::Value;

#[doc(inline)]
pub use crate::mcp_2025_11_25::types::*;

impl ContentBlock {
    /// The text, if this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ContentBlock::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl ResourceContents {
    /// The text, if the contents are one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ResourceContents::Text(contents) => Some(&contents.text),
            ResourceContents::Blob(_) => None,
        }
    }
}

impl ObjectSchema {
    /// Adds a member that an object may have, with the keywords of its schema.
    ///
    /// ```
    /// # use mcp_protocols::types::ObjectSchema;
    /// let schema = ObjectSchema::new().required_property("city", [("type", "string")]);
    /// let text = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    /// assert_eq!(serde_json::to_string(&schema)?, text);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn property<K: Into<String>, V: Into<Value>>(
        mut self,
        name: impl Into<String>,
        schema: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let schema: Object =
            schema.into_iter().map(|(keyword, value)| (keyword.into(), value.into())).collect();
        self.properties.get_or_insert_default().insert(name.into(), schema.into());
        self
    }

    /// Adds a member that an object must have, with the keywords of its schema.
    #[must_use]
    pub fn required_property<K: Into<String>, V: Into<Value>>(
        mut self,
        name: impl Into<String>,
        schema: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.property(name, schema)
    }
}

impl FormSchema {
    /// Adds a field that the user may leave empty.
    ///
    /// ```
    /// # use mcp_protocols::types::{BooleanSchema, FormSchema, StringSchema};
    /// let form = FormSchema::new([])
    ///     .required_field("email", StringSchema::new().description("Where to write to"))
    ///     .field("newsletter", BooleanSchema::new().default(false));
    /// assert_eq!(form.required, Some(vec!["email".to_owned()]));
    /// ```
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, field: impl Into<FieldSchema>) -> Self {
        self.properties.insert(name.into(), field.into());
        self
    }

    /// Adds a field that the user must fill in.
    #[must_use]
    pub fn required_field(mut self, name: impl Into<String>, field: impl Into<FieldSchema>) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.field(name, field)
    }
}

impl FieldValue {
    /// The text, if the user filled in one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            FieldValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The more severe of two levels is the greater one.
impl Ord for LoggingLevel {
    fn cmp(&self, other: &Self) -> Ordering {
        // The revisions list the levels by their severity.
        (*self as u8).cmp(&(*other as u8))
    }
}

impl PartialOrd for LoggingLevel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The result of `tasks/get` or `tasks/cancel` is the task itself.
impl From<Task> for TaskResult {
    fn from(task: Task) -> TaskResult {
        let Task { task_id, status, status_message, created_at, last_updated_at, ttl, poll_interval } = task;
        TaskResult {
            status_message,
            poll_interval,
            ..TaskResult::new(task_id, status, created_at, last_updated_at, ttl)
        }
    }
}

/// The params of `notifications/tasks/status` are the task itself.
impl From<Task> for TaskStatusParams {
    fn from(task: Task) -> TaskStatusParams {
        let Task { task_id, status, status_message, created_at, last_updated_at, ttl, poll_interval } = task;
        TaskStatusParams {
            status_message,
            poll_interval,
            ..TaskStatusParams::new(task_id, status, created_at, last_updated_at, ttl)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_by_severity() {
        use LoggingLevel::*;
        let all = [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency];
        assert!(all.is_sorted());
        assert!(Debug < Emergency);
    }

    #[test]
    fn a_call_without_arguments_has_none() {
        #[derive(serde::Deserialize)]
        struct Any {}
        let params = CallToolParams::new("now");
        assert_eq!(serde_json::to_string(&params).unwrap(), r#"{"name":"now"}"#);
        assert_eq!(params.argument("city"), None);
        assert!(params.read_arguments::<Any>().is_ok());
    }

    #[test]
    fn the_first_text_of_an_answer_may_stand_in_a_list() {
        let text = SamplingContentBlock::from(TextContent::new("yes"));
        let image = SamplingContentBlock::from(ImageContent::new("", "image/png"));
        assert_eq!(SamplingContent::from(TextContent::new("yes")).first_text(), Some("yes"));
        assert_eq!(SamplingContent::from(vec![image.clone(), text]).first_text(), Some("yes"));
        assert_eq!(SamplingContent::from(image).first_text(), None);
    }

    #[test]
    fn a_task_is_its_own_result_and_status() {
        let task = Task::new("t", TaskStatus::Working, "2026", "2027", Some(5)).poll_interval(3);
        let task = task.status_message("soon");
        let written = serde_json::to_value(&task).unwrap();
        assert_eq!(serde_json::to_value(TaskResult::from(task.clone())).unwrap(), written);
        assert_eq!(serde_json::to_value(TaskStatusParams::from(task)).unwrap(), written);
    }
}
