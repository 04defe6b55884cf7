//! The field in `_meta` that names the task to which a message belongs.
//!
//! Requests and notifications that are sent for a task carry this field, and so does its result. Messages that name the
//! task among their own members, such as `tasks/get` and the status of a task, do not. A `.session` file describes the
//! messages and not their payloads, so the sender of a message adds the field.

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::{Error, Value, json};

/// The key in a payload's `_meta` under which the task is named.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Returns the payload with the task's id in `_meta`: `task.send_task_payload(related(&id, &result)?)`,
/// `context.peer().elicit(related(&id, &form)?)`. Other members of `_meta` stay.
///
/// The result is JSON, which a message declared with `_` takes. A typed payload may have no room for the id and would
/// lose it silently.
///
/// ```
/// use mcp_protocols::{related, related_task};
/// use serde_json::json;
///
/// let progress = related("task-1", &json!({ "progress": 50 }))?;
/// assert_eq!(related_task(&progress), Some("task-1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// Fails if the payload does not serialize to an object.
pub fn related<P: Serialize + ?Sized>(task_id: &str, payload: &P) -> Result<Value, Error> {
    let mut payload = serde_json::to_value(payload)?;
    let not_an_object = || Error::custom("only an object can name its task in `_meta`");
    let members = payload.as_object_mut().ok_or_else(not_an_object)?;
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    if meta.is_null() {
        *meta = json!({});
    }
    let meta = meta.as_object_mut().ok_or_else(not_an_object)?;
    meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": task_id }));
    Ok(payload)
}

/// Returns the id of the task that a payload names in `_meta`.
pub fn related_task(payload: &Value) -> Option<&str> {
    payload.get("_meta")?.get(RELATED_TASK)?.get("taskId")?.as_str()
}
