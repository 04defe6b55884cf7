//! The field in `_meta` that names the task to which a message belongs.
//!
//! Requests and notifications that are sent for a task carry this field, and so does its result. Messages that name the
//! task among their own members, such as `tasks/get` and the status of a task, do not. The field stands in the `_meta` of
//! many messages, so the sender of a message adds it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde_json::{Error, json};

/// The key in a payload's `_meta` under which the task is named.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Returns the payload with the task's id in `_meta`: `task.send_task_payload(related(&id, &result)?)`,
/// `context.peer().elicit(related(&id, &form)?)`. Other members of `_meta` stay.
///
/// ```
/// use mcp_protocols::types::ProgressParams;
/// use mcp_protocols::{related, related_task};
///
/// let progress = related("task-1", &ProgressParams::new(0, 50))?;
/// assert_eq!(related_task(&progress), Some("task-1".to_owned()));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// Fails if the payload is not written as an object, or has no room for `_meta`.
pub fn related<P: Serialize + DeserializeOwned>(task_id: &str, payload: &P) -> Result<P, Error> {
    let mut payload = serde_json::to_value(payload)?;
    let not_an_object = || Error::custom("only an object can name its task in `_meta`");
    let members = payload.as_object_mut().ok_or_else(not_an_object)?;
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    if meta.is_null() {
        *meta = json!({});
    }
    let meta = meta.as_object_mut().ok_or_else(not_an_object)?;
    meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": task_id }));
    let payload = serde_json::from_value(payload)?;
    match related_task(&payload) {
        Some(_) => Ok(payload),
        None => Err(Error::custom("a payload of this type has no `_meta` in which it could name its task")),
    }
}

/// Returns the id of the task that a payload names in `_meta`.
pub fn related_task<P: Serialize>(payload: &P) -> Option<String> {
    let payload = serde_json::to_value(payload).ok()?;
    payload.get("_meta")?.get(RELATED_TASK)?.get("taskId")?.as_str().map(str::to_owned)
}
