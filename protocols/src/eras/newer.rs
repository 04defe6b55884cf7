//! From the payloads of the revisions with a handshake to those of the revision without one.

use mcp_runtime::shapes::Object;
use serde_json::Value;

use super::older::recast;
use crate::mcp_2025_11_25::types as older;
use crate::mcp_2026_07_28::types as newer;

fn result_meta(meta: Option<Object>) -> Option<newer::ResultMeta> {
    let meta = meta?;
    // What the newer revision has names for may be anything in an older one.
    let read = recast(&meta);
    Some(read.unwrap_or_else(|_| newer::ResultMeta { rest: meta, ..newer::ResultMeta::new() }))
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
    let meta = meta?;
    let read = recast(&meta);
    Some(read.unwrap_or_else(|_| newer::NotificationMeta { rest: meta, ..newer::NotificationMeta::new() }))
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    /// Reads a result as both types, and compares what they become.
    fn same<N, O>(older: Value, only_newer: Value)
    where
        N: Serialize + DeserializeOwned + Clone + From<O>,
        O: Serialize + DeserializeOwned + Clone + From<N>,
    {
        let mut newer = older.clone();
        newer.as_object_mut().unwrap().extend(only_newer.as_object().unwrap().clone());
        let typed_newer: N = serde_json::from_value(newer.clone()).unwrap();
        let typed_older: O = serde_json::from_value(older.clone()).unwrap();
        assert_eq!(serde_json::to_value(O::from(typed_newer)).unwrap(), older);
        assert_eq!(serde_json::to_value(N::from(typed_older)).unwrap(), newer);
    }

    #[test]
    fn results_lose_nothing_that_both_eras_can_say() {
        let meta = json!({ "x": 1, "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" } });
        let complete = || json!({ "resultType": "complete" });
        let kept = || json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
        let annotations = json!({ "audience": ["user"], "priority": 1 });
        let icons = json!([{ "src": "data:,", "mimeType": "image/png", "sizes": ["any"], "theme": "dark" }]);
        let text = json!({ "type": "text", "text": "t", "annotations": annotations, "_meta": {} });
        same::<newer::CallToolResult, older::CallToolResult>(
            json!({ "content": [text], "isError": true, "structuredContent": { "a": 1 }, "_meta": meta, "y": 2 }),
            complete(),
        );
        let schema =
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
        same::<newer::ListToolsResult, older::ListToolsResult>(
            json!({
                "tools": [{
                    "name": "n", "title": "t", "icons": icons, "description": "d", "inputSchema": schema,
                    "outputSchema": schema, "annotations": { "readOnlyHint": true }, "_meta": { "z": 3 }
                }],
                "nextCursor": "c", "_meta": meta, "y": 2
            }),
            kept(),
        );
        same::<newer::ListResourcesResult, older::ListResourcesResult>(
            json!({ "resources": [{ "uri": "u", "name": "n", "size": 1 }], "nextCursor": "c", "_meta": meta }),
            kept(),
        );
        same::<newer::ListResourceTemplatesResult, older::ListResourceTemplatesResult>(
            json!({ "resourceTemplates": [{ "uriTemplate": "u", "name": "n" }], "nextCursor": "c", "y": 2 }),
            kept(),
        );
        same::<newer::ReadResourceResult, older::ReadResourceResult>(
            json!({ "contents": [{ "uri": "u", "mimeType": "m", "text": "t" }], "_meta": meta, "y": 2 }),
            kept(),
        );
        same::<newer::ListPromptsResult, older::ListPromptsResult>(
            json!({ "prompts": [{ "name": "n", "arguments": [{ "name": "a", "required": true }] }], "nextCursor": "c" }),
            kept(),
        );
        same::<newer::GetPromptResult, older::GetPromptResult>(
            json!({ "description": "d", "messages": [{ "role": "user", "content": text }], "_meta": meta }),
            complete(),
        );
        same::<newer::CompleteResult, older::CompleteResult>(
            json!({ "completion": { "values": ["v"], "total": 1, "hasMore": false }, "_meta": meta, "y": 2 }),
            complete(),
        );
    }

    #[test]
    fn params_lose_nothing_that_both_eras_can_say() {
        fn same<O, N>(params: Value)
        where
            O: WithMeta<Newer = N> + Serialize + DeserializeOwned + From<N>,
            N: Serialize + Clone,
        {
            let can = newer::ClientCapabilities::new().roots(Object::new());
            let session = newer::RequestMeta::new("2025-11-25", can);
            let typed: O = serde_json::from_value(params.clone()).unwrap();
            let newer = typed.with_meta(&session);
            let written = serde_json::to_value(&newer).unwrap();
            assert_eq!(written["_meta"]["io.modelcontextprotocol/protocolVersion"], "2025-11-25");
            assert_eq!(written["_meta"]["progressToken"], 7);
            assert_eq!(serde_json::to_value(O::from(newer)).unwrap(), params);
        }

        let meta = json!({ "progressToken": 7, "x": 1 });
        same::<older::PaginatedParams, _>(json!({ "cursor": "c", "_meta": meta }));
        same::<older::CallToolParams, _>(json!({ "name": "n", "arguments": { "a": 1 }, "_meta": meta }));
        same::<older::ResourceParams, newer::ReadResourceParams>(json!({ "uri": "u", "_meta": meta }));
        same::<older::GetPromptParams, _>(json!({ "name": "n", "arguments": { "a": "b" }, "_meta": meta }));
        same::<older::CompleteParams, _>(json!({
            "ref": { "type": "ref/prompt", "name": "n" }, "argument": { "name": "a", "value": "v" },
            "context": { "arguments": { "b": "c" } }, "_meta": meta
        }));
    }
}
