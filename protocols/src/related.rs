//! The mark by which a message says to which task it belongs.
//!
//! In: the payload of a message, and the id of a task. Out: the payload with the mark, or the id that a mark names.
//! Refuses payloads that are no objects: a mark has no place in them.
//!
//! What is asked and told for a task, and what comes of it, carries the mark; what names the task by itself, such as
//! `tasks/get` and the status of a task, does not. A `.session` file says which messages there are and not what is in
//! them, so whoever sends one writes the mark.

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::{Error, Value, json};

/// Where the mark stands in a payload's `_meta`.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// A payload with the mark of a task: `task.send_task_payload(related(&id, &result)?)`,
/// `context.peer().elicit(related(&id, &form)?)`. What else there is in `_meta` stays.
///
/// It is JSON, which a message declared with `_` takes. A type of the payload may have no room for the mark, and would
/// lose it without a word.
///
/// # Errors
/// If the payload is written as anything but an object.
pub fn related<P: Serialize + ?Sized>(task_id: &str, payload: &P) -> Result<Value, Error> {
    let mut marked = serde_json::to_value(payload)?;
    let no_object = || Error::custom("only an object can carry the mark of a task");
    let members = marked.as_object_mut().ok_or_else(no_object)?;
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    if meta.is_null() {
        *meta = json!({});
    }
    let meta = meta.as_object_mut().ok_or_else(no_object)?;
    meta.insert(RELATED_TASK.to_owned(), json!({ "taskId": task_id }));
    Ok(marked)
}

/// The task that a payload says it belongs to.
pub fn related_task(payload: &Value) -> Option<&str> {
    payload.get("_meta")?.get(RELATED_TASK)?.get("taskId")?.as_str()
}
