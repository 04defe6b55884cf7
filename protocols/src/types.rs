//! The payloads of all revisions: those of the crate `tower-mcp-types`, and the params of some requests in their place.
//!
//! The crate writes `"arguments": null` for a call without arguments, which other implementations refuse, and drops
//! what a request has in `_meta` besides what the crate knows. The types below have the same fields under the same
//! names, leave out what is absent, and keep all of `_meta`. They shadow those of the crate. There is one model for all
//! revisions, in which what a revision does not have is left out.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
pub use tower_mcp_types::protocol::*;

/// What a request says about itself, in `_meta`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestMeta {
    /// What reports on the request carry. A call that asks for reports fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_token: Option<ProgressToken>,
    /// Everything else: trace ids, the mark of a task, whatever the two sides have agreed on.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The params of `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallToolParams {
    /// The tool.
    pub name: String,
    /// What the tool is given. Left out where it is `null`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// What the request says about itself.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
    /// Asks for the call to be run as a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRequestParams>,
}

/// The params of `resources/read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadResourceParams {
    /// The address of the resource.
    pub uri: String,
    /// What the request says about itself.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// The params of `prompts/get`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GetPromptParams {
    /// The prompt.
    pub name: String,
    /// What is filled into it. Left out where it is empty.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub arguments: HashMap<String, String>,
    /// What the request says about itself.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// The params of `roots/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ListRootsParams {
    /// What the request says about itself.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}

/// Params of a request that asks for a page of a list.
macro_rules! pages {
    ($($name:ident $method:literal)*) => { $(
        #[doc = concat!("The params of `", $method, "`.")]
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub struct $name {
            /// Where the page begins: what the page before it gave as `nextCursor`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cursor: Option<String>,
            /// What the request says about itself.
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
    /// Only tasks with this status, where the peer supports that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Where the page begins: what the page before it gave as `nextCursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What the request says about itself.
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
            /// The task.
            pub task_id: String,
            /// What the request says about itself.
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
    /// The task.
    pub task_id: String,
    /// Why, for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the request says about itself.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMeta>,
}
