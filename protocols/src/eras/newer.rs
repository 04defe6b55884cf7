//! From the payloads of the revisions with a handshake to those of the revision without one.

use mcp_runtime::shapes::Object;
use serde_json::Value;

use super::older::recast;
use crate::mcp_2025_11_25::types as older;
use crate::mcp_2026_07_28::types as newer;

fn result_meta(meta: Option<Object>) -> Option<newer::ResultMeta> {
    Some(newer::ResultMeta { rest: meta?, ..newer::ResultMeta::new() })
}

impl From<older::Tool> for newer::Tool {
    fn from(tool: older::Tool) -> newer::Tool {
        let older::Tool {
            name,
            input_schema,
            title,
            meta,
            icons,
            description,
            annotations,
            output_schema,
            // Tasks are an extension, which has requests of its own.
            execution: _,
        } = tool;
        newer::Tool {
            title,
            meta,
            icons,
            description,
            annotations,
            output_schema: output_schema.and_then(|schema| recast(&schema).ok()),
            ..newer::Tool::new(name, input_schema)
        }
    }
}

impl From<older::CallToolResult> for newer::CallToolResult {
    fn from(result: older::CallToolResult) -> newer::CallToolResult {
        newer::CallToolResult {
            is_error: result.is_error,
            structured_content: result.structured_content.map(Value::Object),
            meta: result_meta(result.meta),
            result_type: Some(newer::ResultType::Complete),
            rest: result.rest,
            ..newer::CallToolResult::new(result.content)
        }
    }
}

impl From<older::ListToolsResult> for newer::ListToolsResult {
    fn from(result: older::ListToolsResult) -> newer::ListToolsResult {
        newer::ListToolsResult {
            next_cursor: result.next_cursor,
            meta: result_meta(result.meta),
            result_type: Some(newer::ResultType::Complete),
            rest: result.rest,
            ..newer::ListToolsResult::new(
                result.tools.into_iter().map(Into::into),
                0,
                newer::CacheScope::Private,
            )
        }
    }
}

/// Results whose parts are the same in both. What a client may keep it may keep for no time, as the older revisions say
/// nothing of that.
macro_rules! results {
    ($($name:ident($given:ident $(, $keep:expr, $scope:expr)?) { $($optional:ident),* };)*) => { $(
        impl From<older::$name> for newer::$name {
            fn from(result: older::$name) -> newer::$name {
                newer::$name {
                    $($optional: result.$optional,)*
                    meta: result_meta(result.meta),
                    result_type: Some(newer::ResultType::Complete),
                    rest: result.rest,
                    ..newer::$name::new(result.$given $(, $keep, $scope)?)
                }
            }
        }
    )* };
}

results! {
    ListResourcesResult(resources, 0, newer::CacheScope::Private) { next_cursor };
    ListResourceTemplatesResult(resource_templates, 0, newer::CacheScope::Private) { next_cursor };
    ReadResourceResult(contents, 0, newer::CacheScope::Private) { };
    ListPromptsResult(prompts, 0, newer::CacheScope::Private) { next_cursor };
    GetPromptResult(messages) { description };
    CompleteResult(completion) { };
}

/// The metadata of a request of a session, with what each request says in the revision without a handshake.
pub(super) fn request_meta(
    session: &newer::RequestMeta,
    meta: Option<older::RequestMeta>,
) -> newer::RequestMeta {
    let older::RequestMeta { progress_token, rest } = meta.unwrap_or_default();
    newer::RequestMeta { progress_token, rest, ..session.clone() }
}

/// Params with what each request says in the revision without a handshake.
pub(super) trait WithMeta: Sized {
    type Newer;

    fn with_meta(self, session: &newer::RequestMeta) -> Self::Newer;
}

/// Params whose parts are the same in both.
macro_rules! params {
    ($($older:ident -> $newer:ident($($given:ident),*) { $($optional:ident),* };)*) => { $(
        impl WithMeta for older::$older {
            type Newer = newer::$newer;

            fn with_meta(self, session: &newer::RequestMeta) -> newer::$newer {
                let meta = request_meta(session, self.meta);
                newer::$newer { $($optional: self.$optional,)* ..newer::$newer::new($(self.$given,)* meta) }
            }
        }
    )* };
}

params! {
    PaginatedParams -> PaginatedParams() { cursor };
    CallToolParams -> CallToolParams(name) { arguments };
    ResourceParams -> ReadResourceParams(uri) { };
    GetPromptParams -> GetPromptParams(name) { arguments };
    CompleteParams -> CompleteParams(r#ref, argument) { context };
}

impl From<older::ProgressParams> for newer::ProgressParams {
    fn from(params: older::ProgressParams) -> newer::ProgressParams {
        newer::ProgressParams {
            total: params.total,
            message: params.message,
            meta: notification_meta(params.meta),
            ..newer::ProgressParams::new(params.progress_token, params.progress)
        }
    }
}

impl From<older::LoggingMessageParams> for newer::LoggingMessageParams {
    fn from(params: older::LoggingMessageParams) -> newer::LoggingMessageParams {
        newer::LoggingMessageParams {
            logger: params.logger,
            meta: notification_meta(params.meta),
            ..newer::LoggingMessageParams::new(params.level, params.data)
        }
    }
}

fn notification_meta(meta: Option<Object>) -> Option<newer::NotificationMeta> {
    Some(newer::NotificationMeta { rest: meta?, ..newer::NotificationMeta::new() })
}
