//! [`RepeatedHeaders`]: what the head of a request repeats of its message, and [`ToolTable`]: which parameters of tools.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use mcp_protocol_machine::Excerpt;
use mcp_protocol_machine::protocol::Text;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::driver::RequestText;
use crate::jsonrpc::path::{find, set};
use crate::jsonrpc::{
    ANY_DIALECT, Dialect, Envelope, JsonReader, LookedUp, MessageText, NO_MEMBERS, RawPayload, parse, write,
};
use crate::transport::http::headers::{METHOD, NAME, PROTOCOL_VERSION};
use crate::transport::http::mirrored::{CALL_TOOL, LIST_TOOLS, Mirrored, ParamHeaders, encoded};

const VERSION_HEADER: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);
const METHOD_HEADER: HeaderName = HeaderName::from_static(METHOD);
const NAME_HEADER: HeaderName = HeaderName::from_static(NAME);

/// Where a list of tools stands in a result.
const TOOLS: &[Text] = &[Text::Borrowed("tools")];

/// How many bytes of annotations of tools a client remembers.
const MOST: usize = 1024 * 1024;

/// What the head of a request repeats of its message.
#[derive(Clone, Debug, Default)]
pub(super) struct RepeatedHeaders {
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The answer lists tools.
    pub(super) lists_tools: bool,
}

impl RepeatedHeaders {
    /// Those of a message. `request`: what it says, if it is a request that was read.
    pub(super) fn of(
        message: &Bytes,
        request: Option<RequestText<'_>>,
        tools: &ToolTable,
    ) -> RepeatedHeaders {
        if let Some(RequestText { method, params }) = request {
            return RepeatedHeaders::of_opening(message, method, params, tools);
        }
        let mut reader = JsonReader::default();
        let read = MessageText::read(message, &mut reader);
        match read.parse(usize::MAX, ANY_DIALECT) {
            Ok(Envelope::Request { method, params, .. } | Envelope::Notification { method, params }) => {
                RepeatedHeaders::of_opening(message, &method, params, tools)
            }
            _ => RepeatedHeaders::default(),
        }
    }

    fn of_opening(
        message: &Bytes,
        method: &str,
        params: Option<LookedUp<'_>>,
        tools: &ToolTable,
    ) -> RepeatedHeaders {
        let written = params.as_ref().map_or("", RawPayload::written);
        // Most calls repeat these three.
        let mut headers = Vec::with_capacity(3);
        let mut add = |name: HeaderName, value: &str| {
            // What was written in Base64 can stand in any header, and the rest is refused by the server.
            if let Some(value) = header_value(message, written, value) {
                headers.push((name, value));
            }
        };
        let Mirrored { version, name, .. } = Mirrored::of(method, params);
        if let Some(version) = version.and_then(LookedUp::text) {
            add(VERSION_HEADER, &version);
        }
        add(METHOD_HEADER, method);
        if let Some(name) = name {
            add(NAME_HEADER, &encoded(&name));
            let of_tool = tools.get(&name).filter(|_| method == CALL_TOOL);
            for (header, value) in of_tool.into_iter().flat_map(|of_tool| of_tool.of_call(params)) {
                if let (Ok(header), Some(value)) = (HeaderName::from_bytes(header.as_bytes()), value) {
                    add(header, &encoded(&value.text));
                }
            }
        }
        RepeatedHeaders { headers, lists_tools: method == LIST_TOOLS }
    }
}

/// A text as the value of a header, if it can stand in one. What stands in the message as it is is not copied.
fn header_value(message: &Bytes, params: &str, text: &str) -> Option<HeaderValue> {
    let part = part_of(message, params, text);
    part.map_or_else(|| HeaderValue::from_str(text), HeaderValue::from_maybe_shared).ok()
}

/// The part of a message that a text is, which may be a part of its params as they were before they were written into the
/// message; `None` if it stands elsewhere.
fn part_of(message: &Bytes, params: &str, text: &str) -> Option<Bytes> {
    let place_in = |whole: &[u8]| {
        let start = text.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
        (start.checked_add(text.len())? <= whole.len()).then_some(start)
    };
    let in_message = || {
        // They are its last member.
        let start = message.len().checked_sub(params.len() + "}".len())?;
        Some(start + place_in(params.as_bytes())?)
    };
    let start = place_in(message).or_else(in_message)?;
    let end = start + text.len();
    (message.get(start..end)? == text.as_bytes()).then(|| message.slice(start..end))
}

/// The tools whose calls repeat parameters, by name.
///
/// Invariant: `held` is what the entries cost, and at most [`MOST`].
#[derive(Clone, Debug, Default)]
pub(super) struct ToolTable {
    tools: HashMap<String, Arc<ParamHeaders>>,
    held: usize,
}

impl ToolTable {
    fn get(&self, tool: &str) -> Option<&ParamHeaders> {
        self.tools.get(tool).map(|headers| &**headers)
    }

    /// Notes the parameters of a tool, in place of those known before. A server that has more tools than can be
    /// remembered is asked for its list again before they are called.
    pub(super) fn note(&mut self, tool: &str, headers: ParamHeaders) {
        if let Some(before) = self.tools.remove(tool) {
            self.held = self.held.saturating_sub(cost(tool, &before));
        }
        let cost = cost(tool, &headers);
        if headers.is_empty() || cost > MOST {
            return;
        }
        if self.held.saturating_add(cost) > MOST {
            tracing::debug!("the headers of earlier tools are forgotten, there are too many");
            *self = ToolTable::default();
        }
        self.held = self.held.saturating_add(cost);
        self.tools.insert(tool.to_owned(), Arc::new(headers));
    }

    /// Notes the tools that a reply lists. Returns the reply without those whose annotations are wrong, which must not
    /// be called, and why; nothing if there are none.
    pub(super) fn learn(&mut self, reply: &[u8]) -> Option<(Vec<u8>, Vec<String>)> {
        let Ok(Envelope::Result { id, result }) = parse(reply, usize::MAX, ANY_DIALECT) else {
            return None;
        };
        let listed: Vec<&RawValue> = serde_json::from_str(find(result, TOOLS)?).ok()?;
        let mut problems = Vec::new();
        let kept = listed.iter().filter(|listed| {
            // What is not a tool is not this table's to judge.
            let Ok(tool) = serde_json::from_str::<ListedTool>(listed.get()) else { return true };
            match ParamHeaders::of_schema(&tool.input_schema) {
                Ok(headers) => {
                    self.note(&tool.name, headers);
                    true
                }
                Err(error) => {
                    self.note(&tool.name, ParamHeaders::default());
                    problems
                        .push(format!("the tool `{}` is left out of the list: {error}", Excerpt(&tool.name)));
                    false
                }
            }
        });
        let kept: Vec<&&RawValue> = kept.collect();
        if problems.is_empty() {
            return None;
        }
        let result = set(Some(result), TOOLS, &serde_json::to_string(&kept).ok()?).ok()?;
        let mut without = Vec::new();
        write::result(&mut without, Dialect::Standard, &id, &result, &NO_MEMBERS);
        Some((without, problems))
    }
}

/// What a tool costs in memory, about.
fn cost(tool: &str, headers: &ParamHeaders) -> usize {
    tool.len().saturating_add(headers.cost()).saturating_add(128)
}

/// What of a tool says which headers its calls have.
#[derive(Deserialize)]
struct ListedTool {
    name: String,
    #[serde(rename = "inputSchema")]
    input_schema: Value,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(header: &str) -> Value {
        json!({ "properties": { "a": { "type": "string", "x-mcp-header": header } } })
    }

    fn list(tools: &Value) -> Vec<u8> {
        json!({ "jsonrpc": "2.0", "id": 7, "result": { "ttlMs": 1, "tools": tools } }).to_string().into()
    }

    #[test]
    fn calls_repeat_what_the_list_of_tools_says() {
        let mut tools = ToolTable::default();
        let listed =
            json!([{ "name": "one", "inputSchema": schema("City") }, { "name": "ä", "inputSchema": {} }]);
        assert_eq!(tools.learn(&list(&listed)), None);
        let call = |name: &str, tools: &ToolTable| {
            let meta = json!({ "io.modelcontextprotocol/protocolVersion": "v" });
            let params = json!({ "name": name, "arguments": { "a": "Oslo" }, "_meta": meta });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            let headers = RepeatedHeaders::of(&call.to_string().into(), None, tools).headers;
            reqwest::header::HeaderMap::from_iter(headers)
        };
        let headers = call("one", &tools);
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(text("mcp-protocol-version"), Some("v"));
        assert_eq!((text("mcp-method"), text("mcp-name")), (Some("tools/call"), Some("one")));
        assert_eq!(text("mcp-param-city"), Some("Oslo"));
        assert_eq!(call("ä", &tools).get("mcp-name").unwrap(), "=?base64?w6Q=?=");
        // A list that says otherwise counts.
        assert_eq!(tools.learn(&list(&json!([{ "name": "one", "inputSchema": {} }]))), None);
        assert!(!call("one", &tools).contains_key("mcp-param-city"));
        assert_eq!((tools.held, tools.tools.len()), (0, 0));
    }

    #[test]
    fn a_header_is_a_part_of_its_message_where_that_says_the_same() {
        let message = |method: &str| Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#));
        let of = |message: &Bytes| RepeatedHeaders::of(message, None, &ToolTable::default()).headers;
        let plain = message(r#""tools/list""#);
        let [(_, value)] = &of(&plain)[..] else { panic!("one header") };
        assert_eq!(value, "tools/list");
        assert!(plain.as_ptr_range().contains(&value.as_bytes().as_ptr()));
        let escaped = message(r#""tools\u002flist""#);
        assert_eq!(of(&escaped)[0].1, "tools/list");
        assert!(of(&message(r#""a\nb""#)).is_empty(), "no header has a line feed");
    }

    #[test]
    fn a_header_of_params_that_were_read_is_a_part_of_the_message() {
        let params = r#"{"name":"one","arguments":{"a":"Oslo"},"_meta":{"io.modelcontextprotocol/protocolVersion":"v"}}"#;
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let message = Bytes::from(text);
        let mut tools = ToolTable::default();
        tools.note("one", ParamHeaders::of_schema(&schema("City")).unwrap());
        let mut reader = JsonReader::default();
        let params = Some(LookedUp::read(params, &mut reader));
        let request = RequestText { method: CALL_TOOL, params };
        let headers = RepeatedHeaders::of(&message, Some(request), &tools).headers;
        assert_eq!(headers, RepeatedHeaders::of(&message, None, &tools).headers);
        assert_eq!(headers.len(), 4);
        let (_, version) = &headers[0];
        assert!(message.as_ptr_range().contains(&version.as_bytes().as_ptr()), "{version:?} is not a copy");
        // A message whose params are not where they should be is not cut.
        let other = Bytes::from_static(br#"{"params":{},"method":"tools/call"}"#);
        assert_eq!(RepeatedHeaders::of(&other, Some(request), &tools).headers, headers);
    }

    #[test]
    fn a_tool_with_wrong_annotations_is_left_out() {
        let mut tools = ToolTable::default();
        let listed =
            json!([{ "name": "one", "inputSchema": schema("a b") }, { "name": "two", "inputSchema": {} }]);
        let (without, problems) = tools.learn(&list(&listed)).unwrap();
        let without: Value = serde_json::from_slice(&without).unwrap();
        assert_eq!(without["id"], 7);
        assert_eq!(without["result"], json!({ "ttlMs": 1, "tools": [listed[1]] }));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("the tool `one` is left out of the list"), "{problems:?}");
        // What is not a list of tools stays as it is.
        for reply in [&b"{}"[..], br#"{"jsonrpc":"2.0","id":1,"result":{"tools":3}}"#, b"["] {
            assert_eq!(tools.learn(reply), None);
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tools = ToolTable::default();
        for number in 0..100_000 {
            tools.note(&format!("tool {number}"), ParamHeaders::of_schema(&schema("City")).unwrap());
            assert!(tools.held <= MOST);
        }
        assert!(tools.get("tool 99999").is_some());
    }
}
