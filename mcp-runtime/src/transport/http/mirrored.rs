//! What the head of a request repeats of its message: the revision, the method, a name, and parameters of tools.
//!
//! Requests of a revision without sessions carry these headers, so that what forwards them need not read bodies. Client
//! and server share this module: the client writes what the server compares.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_protocol_machine::protocol::Text;
use serde_json::Value;

use super::headers::PARAM_PREFIX;
use crate::error_texts::error_texts;
use crate::jsonrpc::{LookedUp, RawPayload};

const META: &str = "_meta";
/// Where the metadata of a request says its revision.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Where it says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The request that calls a tool.
pub(super) const CALL_TOOL: &str = "tools/call";
/// The request that lists tools.
#[cfg(feature = "http-client")]
pub(super) const LIST_TOOLS: &str = "tools/list";

/// The annotation of a parameter that is repeated in a header.
const ANNOTATION: &str = "x-mcp-header";
/// What a value begins and ends with that is written in Base64.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// What a message says that its head repeats, in addition to its method.
#[derive(Debug, Default)]
pub(super) struct Mirrored<'a> {
    /// Its revision.
    pub(super) version: Option<LookedUp<'a>>,
    /// What its client can do.
    #[cfg_attr(not(feature = "http-server"), allow(dead_code, reason = "only servers look at it"))]
    pub(super) capabilities: Option<LookedUp<'a>>,
    /// The name, or the URI, of what the message is about, if its head repeats that.
    pub(super) name: Option<Cow<'a, str>>,
}

impl<'a> Mirrored<'a> {
    pub(super) fn of(method: &str, params: Option<LookedUp<'a>>) -> Mirrored<'a> {
        let Some(params) = params else { return Mirrored::default() };
        let [meta, name, uri] = params.members([META, "name", "uri"]);
        let [version, capabilities] = meta.map_or([None; 2], |meta| meta.members([VERSION, CAPABILITIES]));
        let about = match method {
            CALL_TOOL | "prompts/get" => name,
            "resources/read" => uri,
            _ => None,
        };
        Mirrored { version, capabilities, name: about.and_then(LookedUp::text) }
    }
}

/// A text as the value of a header. What cannot stand in one is written in Base64.
#[cfg(feature = "http-client")]
pub(super) fn encoded(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && text.trim_matches([' ', '\t']) == text
        && within_marks(text).is_none();
    if is_plain {
        return Cow::Borrowed(text);
    }
    let (before, after) = ENCODED;
    Cow::Owned(format!("{before}{}{after}", STANDARD.encode(text)))
}

/// The text that the value of a header stands for; `None` if it stands for none.
#[cfg(feature = "http-server")]
pub(super) fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = within_marks(value) else { return Some(Cow::Borrowed(value)) };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned)
}

fn within_marks(value: &str) -> Option<&str> {
    value.strip_prefix(ENCODED.0)?.strip_suffix(ENCODED.1)
}

/// Why the annotations of a tool's schema cannot be followed. Such a tool must not be called over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamHeaderError {
    /// It is not the name of a header.
    Name {
        /// The parameter, its path joined with dots.
        at: String,
    },
    /// Two parameters have the same header.
    Twice {
        /// The name, in lower case.
        name: String,
    },
    /// It is not a parameter with one simple type.
    Type {
        /// The parameter, its path joined with dots.
        at: String,
    },
    /// It is at the schema itself, and not at a parameter.
    Whole,
    /// It is at a place to which not only `properties` lead.
    Unreachable {
        /// The first other keyword on the way there.
        below: String,
    },
}

error_texts! {
    ParamHeaderError {
        Self::Name { at } => (
            "the `x-mcp-header` of `{at}` cannot stand in the name of a header: write letters, digits and `-`"
        ),
        Self::Twice { name } => (
            "two parameters have the `x-mcp-header` `{name}`: give one of them another name, which differs not only in case"
        ),
        Self::Type { at } => (
            "`{at}` has an `x-mcp-header`, so its type must be `string`, `integer` or `boolean`"
        ),
        Self::Whole => (
            "the schema itself has an `x-mcp-header`: write it into the schema of a parameter, below `properties`"
        ),
        Self::Unreachable { below } => (
            "an `x-mcp-header` stands below `{below}`: write it into the schema of a parameter to which only `properties` lead"
        ),
    }
}

/// The parameters of one tool that its calls repeat in headers: those that the tool's input schema annotates with
/// `x-mcp-header`.
///
/// A server names those of its tools in
/// [`ServerOptions::param_headers`](super::ServerOptions::param_headers()), a client that has not listed the tools
/// in [`HttpClient::tool`](super::HttpClient::tool).
///
/// ```
/// use mcp_runtime::transport::http::ParamHeaders;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "city": { "type": "string", "x-mcp-header": "City" } },
/// });
/// let headers = ParamHeaders::of_schema(&schema)?;
/// assert_eq!(headers.names().collect::<Vec<_>>(), ["mcp-param-city"]);
/// # Ok::<(), mcp_runtime::transport::http::ParamHeaderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamHeaders {
    params: Vec<ParamHeader>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ParamHeader {
    /// In lower case.
    header: String,
    /// In the params of the call.
    path: Vec<Text>,
}

/// A part of a schema that is looked at.
enum SchemaPart<'a> {
    /// The schema of the parameter at this path; of all parameters, if it is empty.
    Param(Vec<&'a str>, &'a Value),
    /// Something behind this keyword; whether it is a map from names to schemas.
    Behind(&'a str, bool, &'a Value),
}

impl ParamHeaders {
    /// Reads the annotations of a tool's input schema.
    ///
    /// # Errors
    /// If an annotation does not follow the rules of the protocol. A client must then leave the tool out.
    pub fn of_schema(schema: &Value) -> Result<ParamHeaders, ParamHeaderError> {
        let mut found = ParamHeaders::default();
        let mut names = HashSet::new();
        let mut parts = vec![SchemaPart::Param(Vec::new(), schema)];
        while let Some(part) = parts.pop() {
            match part {
                SchemaPart::Param(path, schema) => {
                    let Some(members) = schema.as_object() else { continue };
                    if let Some(name) = members.get(ANNOTATION) {
                        let param = ParamHeader::new(&path, name, members.get("type"))?;
                        if !names.insert(param.header.clone()) {
                            let name = param.header.strip_prefix(PARAM_PREFIX).unwrap_or_default().to_owned();
                            return Err(ParamHeaderError::Twice { name });
                        }
                        found.params.push(param);
                    }
                    for (keyword, value) in members {
                        match (&**keyword, value.as_object()) {
                            ("properties", Some(properties)) => {
                                parts.extend(properties.iter().map(|(key, schema)| {
                                    SchemaPart::Param(path.iter().copied().chain([&**key]).collect(), schema)
                                }));
                            }
                            _ if is_data(keyword) => {}
                            _ => parts.push(SchemaPart::Behind(keyword, holds_names(keyword), value)),
                        }
                    }
                }
                SchemaPart::Behind(below, is_map, Value::Array(values)) => {
                    parts.extend(values.iter().map(|value| SchemaPart::Behind(below, is_map, value)));
                }
                SchemaPart::Behind(below, is_map, Value::Object(members)) => {
                    // The keys of a map of schemas are names, and what a name stands for is a schema.
                    if !is_map && members.contains_key(ANNOTATION) {
                        return Err(ParamHeaderError::Unreachable { below: below.to_owned() });
                    }
                    let inner = members.iter().filter(|(keyword, _)| is_map || !is_data(keyword));
                    parts.extend(inner.map(|(keyword, value)| {
                        SchemaPart::Behind(below, !is_map && holds_names(keyword), value)
                    }));
                }
                SchemaPart::Behind(..) => {}
            }
        }
        found.params.sort_by(|one, other| one.header.cmp(&other.header));
        Ok(found)
    }

    /// Whether the calls of the tool repeat nothing.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The names of the headers, in lower case.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|param| &*param.header)
    }

    /// How many bytes it holds, about.
    #[cfg(feature = "http-client")]
    pub(super) fn cost(&self) -> usize {
        let cost = |param: &ParamHeader| {
            param.header.len() + param.path.iter().map(|key| key.len() + size_of::<Text>()).sum::<usize>()
        };
        self.params.iter().map(cost).sum()
    }

    /// The headers of a call with these params, each with the text that the call has for it, if it has one.
    pub(super) fn of_call<'a>(
        &'a self,
        params: Option<LookedUp<'a>>,
    ) -> impl Iterator<Item = (&'a str, Option<ParamText>)> {
        self.params.iter().map(move |param| {
            let value = params.and_then(|params| params.find(&param.path));
            (&*param.header, value.and_then(|value| ParamText::of(value.written())))
        })
    }
}

/// The value of a parameter, as a header repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParamText {
    pub(super) text: String,
    is_number: bool,
}

impl ParamHeader {
    fn new(path: &[&str], name: &Value, form: Option<&Value>) -> Result<ParamHeader, ParamHeaderError> {
        if path.is_empty() {
            return Err(ParamHeaderError::Whole);
        }
        let at = || path.join(".");
        let name = name.as_str().filter(|name| !name.is_empty() && name.bytes().all(is_in_names));
        let name = name.ok_or_else(|| ParamHeaderError::Name { at: at() })?;
        let is_simple = match form {
            Some(Value::String(form)) => is_simple(form),
            Some(Value::Array(forms)) => {
                // One that may be left out by `null`.
                let forms: Vec<_> =
                    forms.iter().filter_map(Value::as_str).filter(|form| *form != "null").collect();
                matches!(&forms[..], [form] if is_simple(form))
            }
            _ => false,
        };
        if !is_simple {
            return Err(ParamHeaderError::Type { at: at() });
        }
        let path = std::iter::once(&"arguments").chain(path);
        Ok(ParamHeader {
            header: format!("{PARAM_PREFIX}{}", name.to_ascii_lowercase()),
            path: path.map(|key| Cow::Owned((*key).to_owned())).collect(),
        })
    }
}

fn is_simple(form: &str) -> bool {
    matches!(form, "string" | "integer" | "boolean")
}

/// Whether a byte may stand in the name of a header.
fn is_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether values stand behind a keyword, and not schemas.
fn is_data(keyword: &str) -> bool {
    matches!(keyword, "default" | "examples" | "const" | "enum" | ANNOTATION)
}

/// Whether the keys behind a keyword are names, each with a schema.
fn holds_names(keyword: &str) -> bool {
    matches!(keyword, "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas")
}

impl ParamText {
    /// A JSON value as a text; `None` for one that headers do not repeat, such as `null`.
    fn of(json: &str) -> Option<ParamText> {
        let text = |text| ParamText { text, is_number: false };
        let number = |text| ParamText { text, is_number: true };
        Some(match serde_json::from_str(json).ok()? {
            Value::String(value) => text(value),
            Value::Bool(truth) => text(truth.to_string()),
            Value::Number(value) if value.is_f64() => {
                let whole = value.as_f64().filter(|whole| whole.fract() == 0.0 && whole.abs() < SAFE)?;
                number(format!("{whole:.0}"))
            }
            Value::Number(value) => number(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        })
    }

    /// Whether the value of a header is this one. Numbers may be written in different ways.
    #[cfg(feature = "http-server")]
    pub(super) fn is_in(&self, header: &str) -> bool {
        let Some(said) = decoded(header) else { return false };
        let whole = |text: &str| text.parse::<f64>().ok().filter(|number| number.abs() < SAFE);
        said == *self.text
            || (self.is_number && whole(&said).is_some_and(|said| whole(&self.text) == Some(said)))
    }
}

/// From here on not all programs can tell whole numbers apart.
const SAFE: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(properties: Value) -> Result<Vec<String>, ParamHeaderError> {
        let headers = ParamHeaders::of_schema(&json!({ "type": "object", "properties": properties }))?;
        Ok(headers.names().map(str::to_owned).collect())
    }

    #[test]
    fn annotated_parameters_are_found_at_any_depth() {
        let found = of(json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "where": {
                "type": "object",
                "properties": { "floor": { "type": ["integer", "null"], "x-mcp-header": "floor" } },
            },
            // The name of a parameter, and a value.
            "x-mcp-header": { "type": "string", "default": { "x-mcp-header": 1 } },
        }));
        assert_eq!(found.unwrap(), ["mcp-param-floor", "mcp-param-region"]);
    }

    #[test]
    fn annotations_that_break_a_rule_are_refused() {
        let text = |name: Value| json!({ "type": "string", "x-mcp-header": name });
        for name in [json!(""), json!("a b"), json!("a\r\nb"), json!("ä"), json!(1)] {
            assert!(
                matches!(of(json!({ "a": text(name.clone()) })), Err(ParamHeaderError::Name { .. })),
                "{name}"
            );
        }
        let twice = of(json!({ "a": text(json!("X")), "b": text(json!("x")) }));
        assert_eq!(twice, Err(ParamHeaderError::Twice { name: "x".to_owned() }));
        for form in [json!("number"), json!("object"), json!(["string", "integer"]), json!(null)] {
            let found = of(json!({ "a": { "type": form, "x-mcp-header": "a" } }));
            assert!(matches!(found, Err(ParamHeaderError::Type { .. })), "{form}");
        }
        for (below, schema) in [
            ("items", json!({ "type": "array", "items": text(json!("a")) })),
            ("anyOf", json!({ "anyOf": [text(json!("a"))] })),
            ("$defs", json!({ "$defs": { "a": text(json!("a")) } })),
            ("not", json!({ "not": { "properties": { "a": text(json!("a")) } } })),
            (
                "items",
                json!({ "items": [{ "properties": { "properties": { "items": text(json!("a")) } } }] }),
            ),
        ] {
            assert_eq!(
                of(json!({ "a": schema })),
                Err(ParamHeaderError::Unreachable { below: below.to_owned() })
            );
        }
        // A parameter may have the name of a keyword.
        let named = json!({ "anyOf": [{ "properties": { "x-mcp-header": { "type": "string" } } }] });
        assert_eq!(of(json!({ "a": named })), Ok(Vec::new()));
        let whole = ParamHeaders::of_schema(&json!({ "type": "string", "x-mcp-header": "a" }));
        assert_eq!(whole, Err(ParamHeaderError::Whole));
    }

    #[test]
    fn what_is_refused_says_what_to_write() {
        let error = |properties: Value| of(properties).unwrap_err().to_string();
        assert_eq!(
            error(json!({ "a": { "$defs": { "b": { "type": "string", "x-mcp-header": "b" } } } })),
            "an `x-mcp-header` stands below `$defs`: write it into the schema of a parameter to which only `properties` lead"
        );
        assert_eq!(
            error(json!({ "a": { "type": "string", "x-mcp-header": "b c" } })),
            "the `x-mcp-header` of `a` cannot stand in the name of a header: write letters, digits and `-`"
        );
        assert_eq!(
            ParamHeaders::of_schema(&json!({ "x-mcp-header": "a" })).unwrap_err().to_string(),
            "the schema itself has an `x-mcp-header`: write it into the schema of a parameter, below `properties`"
        );
    }

    #[test]
    fn values_are_texts_and_nothing_is_left_out() {
        let schema = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "A" },
            "b": { "properties": { "c": { "type": "integer", "x-mcp-header": "C" } } },
        } });
        let headers = ParamHeaders::of_schema(&schema).unwrap();
        let of_call = |arguments: &str| {
            let params = format!(r#"{{"name":"t","arguments":{arguments}}}"#);
            headers
                .of_call(Some(LookedUp::Text(&params)))
                .map(|(_, text)| text.map(|text| text.text))
                .collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of_call(r#"{"a":"x\ny","b":{"c":-7}}"#), [some("x\ny"), some("-7")]);
        assert_eq!(of_call(r#"{"a":null,"b":{"c":42.0}}"#), [None, some("42")]);
        assert_eq!(of_call(r#"{"a":true,"b":3}"#), [some("true"), None]);
        assert_eq!(of_call("[]"), [None, None]);
    }

    #[cfg(all(feature = "http-client", feature = "http-server"))]
    #[test]
    fn any_text_can_be_the_value_of_a_header() {
        for (text, value) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("a b", "a b"),
            ("Grüße", "=?base64?R3LDvMOfZQ==?="),
            (" a", "=?base64?IGE=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ] {
            assert_eq!(encoded(text), value);
            assert_eq!(decoded(value).unwrap(), text);
            assert!(ParamText { text: text.to_owned(), is_number: false }.is_in(value));
        }
        assert_eq!(decoded("=?base64?!?="), None);
        assert_eq!(decoded("=?base64?").unwrap(), "=?base64?");
        let is_in = |header: &str, json: &str| ParamText::of(json).unwrap().is_in(header);
        assert!(is_in("42.0", "42") && !is_in("43", "42") && !is_in("x", "\"y\""));
        assert!(is_in("true", "true") && !is_in("42.0", "\"42\""));
        // Beyond what a float can say, digits count.
        assert!(!is_in("9007199254740993", "9007199254740992"));
    }
}
