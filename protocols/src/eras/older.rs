//! From the payloads of the revision without a handshake to those of the revisions with one.

use mcp_runtime::shapes::Object;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::mcp_2025_11_25::types as older;
use crate::mcp_2026_07_28::types as newer;

/// Reads what was written as one type as another one. It is for what is rare: most payloads have conversions below.
pub(super) fn recast<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(value)?)
}

/// Metadata as an object. There is none if nothing is in it.
fn meta(meta: Option<impl Serialize>) -> Option<Object> {
    match serde_json::to_value(meta?) {
        Ok(Value::Object(members)) if !members.is_empty() => Some(members),
        _ => None,
    }
}

impl From<newer::Tool> for older::Tool {
    /// A schema of the output that does not describe an object is left out: the older revisions know only objects.
    fn from(tool: newer::Tool) -> older::Tool {
        let newer::Tool { name, input_schema, title, meta, icons, description, output_schema, annotations } =
            tool;
        older::Tool {
            title,
            meta,
            icons,
            description,
            annotations,
            output_schema: output_schema.and_then(|schema| recast(&schema).ok()),
            ..older::Tool::new(name, input_schema)
        }
    }
}

impl From<newer::CallToolResult> for older::CallToolResult {
    /// Structured content that is not an object is left out: the older revisions know only objects.
    fn from(result: newer::CallToolResult) -> older::CallToolResult {
        let structured_content = match result.structured_content {
            Some(Value::Object(members)) => Some(members),
            _ => None,
        };
        older::CallToolResult {
            is_error: result.is_error,
            structured_content,
            meta: meta(result.meta),
            rest: result.rest,
            ..older::CallToolResult::new(result.content)
        }
    }
}

impl From<newer::ListToolsResult> for older::ListToolsResult {
    fn from(result: newer::ListToolsResult) -> older::ListToolsResult {
        older::ListToolsResult {
            next_cursor: result.next_cursor,
            meta: meta(result.meta),
            rest: result.rest,
            ..older::ListToolsResult::new(result.tools.into_iter().map(Into::into))
        }
    }
}

/// Results whose parts are the same in both.
macro_rules! results {
    ($($name:ident($given:ident) { $($optional:ident),* };)*) => { $(
        impl From<newer::$name> for older::$name {
            fn from(result: newer::$name) -> older::$name {
                older::$name {
                    $($optional: result.$optional,)*
                    meta: meta(result.meta),
                    rest: result.rest,
                    ..older::$name::new(result.$given)
                }
            }
        }
    )* };
}

results! {
    ListResourcesResult(resources) { next_cursor };
    ListResourceTemplatesResult(resource_templates) { next_cursor };
    ReadResourceResult(contents) { };
    ListPromptsResult(prompts) { next_cursor };
    GetPromptResult(messages) { description };
    CompleteResult(completion) { };
}

impl From<newer::ProgressParams> for older::ProgressParams {
    fn from(params: newer::ProgressParams) -> older::ProgressParams {
        older::ProgressParams {
            total: params.total,
            message: params.message,
            meta: meta(params.meta),
            ..older::ProgressParams::new(params.progress_token, params.progress)
        }
    }
}

impl From<newer::LoggingMessageParams> for older::LoggingMessageParams {
    fn from(params: newer::LoggingMessageParams) -> older::LoggingMessageParams {
        older::LoggingMessageParams {
            logger: params.logger,
            meta: meta(params.meta),
            ..older::LoggingMessageParams::new(params.level, params.data)
        }
    }
}

/// The metadata of a request, without what each request says in the revision without a handshake.
impl From<newer::RequestMeta> for older::RequestMeta {
    fn from(meta: newer::RequestMeta) -> older::RequestMeta {
        older::RequestMeta { progress_token: meta.progress_token, rest: meta.rest }
    }
}

fn request_meta(meta: newer::RequestMeta) -> Option<older::RequestMeta> {
    Some(meta.into()).filter(|meta| *meta != older::RequestMeta::default())
}

/// Params whose parts are the same in both.
macro_rules! params {
    ($($newer:ident -> $older:ident($($given:ident),*) { $($optional:ident),* };)*) => { $(
        impl From<newer::$newer> for older::$older {
            fn from(params: newer::$newer) -> older::$older {
                older::$older {
                    $($optional: params.$optional,)*
                    meta: request_meta(params.meta),
                    ..older::$older::new($(params.$given),*)
                }
            }
        }
    )* };
}

params! {
    PaginatedParams -> PaginatedParams() { cursor };
    CallToolParams -> CallToolParams(name) { arguments };
    ReadResourceParams -> ResourceParams(uri) { };
    GetPromptParams -> GetPromptParams(name) { arguments };
}

impl From<newer::CompleteParams> for older::CompleteParams {
    fn from(params: newer::CompleteParams) -> older::CompleteParams {
        older::CompleteParams {
            context: params.context,
            meta: request_meta(params.meta),
            ..older::CompleteParams::new(params.r#ref, params.argument)
        }
    }
}

/// What a client can do. It is announced once, and in the words of the older revisions.
pub(super) fn client_capabilities(
    can: &newer::ClientCapabilities,
) -> Result<older::ClientCapabilities, serde_json::Error> {
    recast(can)
}

/// What a server can do.
pub(super) fn server_capabilities(
    can: &newer::ServerCapabilities,
) -> Result<older::ServerCapabilities, serde_json::Error> {
    recast(can)
}

/// What a server asks its user. In the older revisions an elicitation by URL has an id.
pub(super) fn elicit(
    params: &newer::ElicitParams,
    id: impl FnOnce() -> String,
) -> Result<older::ElicitParams, serde_json::Error> {
    match params {
        newer::ElicitParams::Form(form) => recast(form).map(older::ElicitParams::Form),
        newer::ElicitParams::Url(page) => {
            Ok(older::ElicitUrlParams::new(page.message.clone(), page.url.clone(), id()).into())
        }
    }
}
