//! [`RpcError`], the error object of JSON-RPC.

use std::fmt;

use mcp_protocol_machine::Excerpt;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An error that answers a request in place of a result.
///
/// ```
/// use mcp_runtime::RpcError;
/// use serde_json::json;
///
/// let error = RpcError::invalid_params("`city` is missing").with_data(json!({ "field": "city" }));
/// assert_eq!(error.code, RpcError::INVALID_PARAMS);
/// let own = RpcError::new(-31001, "the weather station is off");
/// assert_eq!(own.to_string(), "the weather station is off (code -31001)");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RpcError {
    /// What kind of error it is; the constants of this type are the ones that JSON-RPC defines.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// Whatever else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// The message is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is JSON and no valid request, or not one that is permitted now.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are not what the method takes.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something went wrong while the request was worked on.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Too much is waiting to be worked on already; from the range that JSON-RPC leaves to implementations.
    pub const BUSY: i64 = -32000;

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> RpcError {
        self.data = Some(data.into());
        self
    }

    /// The message is not JSON.
    pub fn parse_error(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::PARSE_ERROR, message)
    }

    /// The message is not a valid request.
    pub fn invalid_request(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::INVALID_REQUEST, message)
    }

    /// The method does not exist, or no handler serves it.
    pub fn method_not_found(method: &str) -> RpcError {
        RpcError::new(RpcError::METHOD_NOT_FOUND, format!("method not found: `{method}`"))
    }

    /// The parameters are not what the method takes.
    pub fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::INVALID_PARAMS, message)
    }

    /// Something went wrong while the request was worked on.
    pub fn internal_error(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::INTERNAL_ERROR, message)
    }

    /// The peer asked for a version of the protocol that this side does not have: the error that MCP's lifecycle
    /// has for that.
    pub fn unsupported_version<V: AsRef<str>>(
        supported: impl IntoIterator<Item = V>,
        requested: &str,
    ) -> RpcError {
        let supported: Vec<Value> =
            supported.into_iter().map(|version| Value::from(version.as_ref())).collect();
        RpcError::invalid_params("Unsupported protocol version")
            .with_data(serde_json::json!({ "supported": supported, "requested": requested }))
    }

    /// Too much is waiting already.
    pub fn busy(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::BUSY, message)
    }
}

/// The message is what a peer said, so it is escaped and cut; the field `message` has it as it came.
impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (code {})", Excerpt(&self.message), self.code)
    }
}

impl std::error::Error for RpcError {}

/// What is wrong with an error object, which is [read](RpcError) all the same.
pub(crate) fn error_problem(raw: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only whether they can be read matters")]
    struct Strict {
        code: i64,
        message: String,
    }
    let problem = serde_json::from_str::<Strict>(raw).err()?;
    let what = match serde_json::from_str(raw) {
        Ok(Value::Object(error)) => match (error.get("code"), error.get("message")) {
            (None, _) => "it has no `code`".to_owned(),
            (Some(code), _) if code.as_i64().is_none() => "its `code` is not a whole number".to_owned(),
            (_, None) => "it has no `message`".to_owned(),
            (_, Some(message)) if !message.is_string() => "its `message` is not a text".to_owned(),
            _ => problem.to_string(),
        },
        Ok(Value::String(_)) => "it is a text".to_owned(),
        Ok(Value::Array(_)) => "it is a list".to_owned(),
        Ok(other) => format!("it is {other}"),
        Err(_) => problem.to_string(),
    };
    Some(format!("the `error` of a reply must be an object with a `code` and a `message`: {what}"))
}

/// Read leniently, so that the error of a sloppy peer still tells something.
impl<'de> Deserialize<'de> for RpcError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RpcError, D::Error> {
        struct Lenient;

        impl<'de> Visitor<'de> for Lenient {
            type Value = RpcError;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an error object")
            }

            fn visit_str<E>(self, text: &str) -> Result<RpcError, E> {
                Ok(RpcError::internal_error(text))
            }

            /// `[21, "Job not found", null]`, as the Python libraries of JSON-RPC 1.0 write it.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RpcError, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element::<Value>()? {
                    elements.push(element);
                }
                Ok(match elements.as_slice() {
                    [Value::Number(code), Value::String(message), data @ ..] if data.len() <= 1 => RpcError {
                        code: code.as_i64().unwrap_or(RpcError::INTERNAL_ERROR),
                        message: message.clone(),
                        data: data.first().filter(|data| !data.is_null()).cloned(),
                    },
                    _ => RpcError::internal_error(Value::Array(elements).to_string()),
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RpcError, A::Error> {
                let mut error = RpcError::internal_error("the peer gave no reason");
                while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
                    match &*key {
                        "code" => {
                            let code = map.next_value::<Value>()?;
                            error.code = code.as_i64().unwrap_or(error.code);
                        }
                        "message" => match map.next_value::<Value>()? {
                            Value::String(message) => error.message = message,
                            Value::Null => {}
                            other => error.message = other.to_string(),
                        },
                        "data" => error.data = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(error)
            }
        }

        deserializer.deserialize_any(Lenient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sloppy_errors_are_read() {
        let read = |text: &str| serde_json::from_str::<RpcError>(text);
        assert_eq!(read(r#"{"code":-1,"message":"no","data":null}"#).unwrap().code, -1);
        assert_eq!(read(r#"{"message":"no"}"#).unwrap(), RpcError::internal_error("no"));
        assert_eq!(read(r#"{"code":1.5,"message":7}"#).unwrap().message, "7");
        assert_eq!(read(r#""broken""#).unwrap().message, "broken");
        assert!(read("7").is_err());
        assert_eq!(read(r#"[21,"no",null]"#).unwrap(), RpcError::new(21, "no"));
        let traced = RpcError::new(21, "no").with_data("line 3");
        assert_eq!(read(r#"[21,"no","line 3"]"#).unwrap(), traced);
        assert_eq!(read(r#"[21,"no"]"#).unwrap().code, 21);
        assert_eq!(read("[]").unwrap(), RpcError::internal_error("[]"));
        assert_eq!(read(r#"["no",21]"#).unwrap(), RpcError::internal_error(r#"["no",21]"#));
    }

    #[test]
    fn sloppy_errors_are_distinguished_from_good_ones() {
        assert_eq!(error_problem(r#"{"code":-1,"message":"no","data":null,"more":1}"#), None);
        for sloppy in
            [r#"{"message":"no"}"#, r#"{"code":1.5,"message":"m"}"#, r#"{"code":1}"#, "\"broken\"", "7", "{}"]
        {
            assert!(error_problem(sloppy).is_some(), "{sloppy}");
        }
    }

    #[test]
    fn what_a_sloppy_error_lacks_is_named() {
        let expected = "the `error` of a reply must be an object with a `code` and a `message`: ";
        for (sloppy, what) in [
            (r#"{"message":"no"}"#, "it has no `code`"),
            (r#"{"code":1.5,"message":"m"}"#, "its `code` is not a whole number"),
            (r#"{"code":1}"#, "it has no `message`"),
            (r#"{"code":1,"message":null}"#, "its `message` is not a text"),
            ("\"broken: line 3\"", "it is a text"),
            ("[1]", "it is a list"),
            ("7", "it is 7"),
        ] {
            assert_eq!(error_problem(sloppy), Some(format!("{expected}{what}")), "{sloppy}");
        }
    }

    #[test]
    fn written_without_absent_data() {
        let text = serde_json::to_string(&RpcError::method_not_found("a/b")).unwrap();
        assert_eq!(text, r#"{"code":-32601,"message":"method not found: `a/b`"}"#);
    }
}
