//! The payloads of all revisions: those of the crate `tower-mcp-types`, and the params of some requests in their place.
//!
//! That crate writes `"arguments": null` for a call without arguments, which other implementations refuse. It also
//! drops members of `_meta` that it does not know. The types below have the same fields under the same names, leave out
//! absent fields, and keep all of `_meta`. They shadow those of the crate. There is one model for all revisions; fields
//! that a revision does not have are left out.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
pub use tower_mcp_types::protocol::*;

/// The metadata of a request, in `_meta`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestMeta {
    /// The token that progress notifications of the request carry. A call with progress fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_token: Option<ProgressToken>,
    /// All other members: trace ids, the task of the request, anything that the two sides have agreed on.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The params of `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallToolParams {
    /// The name of the tool.
    pub name: String,
    /// The arguments of the tool. Left out if `null`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// The metadata of the request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
    /// Asks the peer to run the call as a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRequestParams>,
}

/// The params of `resources/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadResourceParams {
    /// The URI of the resource.
    pub uri: String,
    /// The metadata of the request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// The params of `prompts/get`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GetPromptParams {
    /// The name of the prompt.
    pub name: String,
    /// The arguments of the prompt. Left out if empty.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub arguments: HashMap<String, String>,
    /// The metadata of the request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// The params of `roots/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ListRootsParams {
    /// The metadata of the request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// Params of a request that asks for a page of a list.
macro_rules! pages {
    ($($name:ident $method:literal)*) => { $(
        #[doc = concat!("The params of `", $method, "`.")]
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub struct $name {
            /// Where the page begins: the `nextCursor` of the previous page.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cursor: Option<String>,
            /// The metadata of the request.
            #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
            pub meta: Option<RequestMeta>,
        }
    )* };
}

pages! {
    ListToolsParams "tools/list"
    ListResourcesParams "resources/list"
    ListResourceTemplatesParams "resources/templates/list"
    ListPromptsParams "prompts/list"
}

/// The params of `tasks/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ListTasksParams {
    /// Lists only tasks with this status, if the peer supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Where the page begins: the `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The metadata of the request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// Params of a request about one task.
macro_rules! tasks {
    ($($name:ident $method:literal)*) => { $(
        #[doc = concat!("The params of `", $method, "`.")]
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// The id of the task.
            pub task_id: String,
            /// The metadata of the request.
            #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
            pub meta: Option<RequestMeta>,
        }
    )* };
}

tasks! {
    GetTaskInfoParams "tasks/get"
    GetTaskResultParams "tasks/result"
}

/// The params of `tasks/cancel`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelTaskParams {
    /// The id of the task.
    pub task_id: String,
    /// The reason, as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The metadata of the request.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}
