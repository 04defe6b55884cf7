//! Reads the envelope of one message; its payload stays a slice of the text.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::Dialect;
use mcp_protocol_machine::{Excerpt, RequestId};
use serde_json::value::RawValue;

use super::error::RpcError;
use super::error::error_problem;
use super::id::parse_id;
use super::members::Parts;
use super::payload::{LookedUp, RawPayload};
use super::raw::JsonValue;
use super::recognise::members;
use super::scan::{Scanner, Sketch, too_deep};

/// What a list is answered with where the protocol has no batches.
pub(crate) const NO_BATCH: &str = "a batch is not permitted here: send each message on its own";

/// One message.
#[derive(Debug)]
pub(crate) enum Envelope<'a, P = &'a str> {
    /// Has a method and an id.
    Request { id: RequestId, method: Cow<'a, str>, params: Option<P> },
    /// Has a method and no id.
    Notification { method: Cow<'a, str>, params: Option<P> },
    /// Has an id and a result.
    Result { id: RequestId, result: P },
    /// Has an id and an error, which may have a problem that does not keep it from being read.
    Error { id: RequestId, error: RpcError, problem: Option<String> },
    /// An error that belongs to no request: the peer could not read what it was sent.
    Complaint { error: RpcError },
}

impl<'a, P> Envelope<'a, P> {
    /// The same with its payload in another form.
    #[inline(always)]
    pub(super) fn with_payload<Q>(self, form: impl FnOnce(P) -> Q) -> Envelope<'a, Q> {
        match self {
            Envelope::Request { id, method, params } => {
                Envelope::Request { id, method, params: params.map(form) }
            }
            Envelope::Notification { method, params } => {
                Envelope::Notification { method, params: params.map(form) }
            }
            Envelope::Result { id, result } => Envelope::Result { id, result: form(result) },
            Envelope::Error { id, error, problem } => Envelope::Error { id, error, problem },
            Envelope::Complaint { error } => Envelope::Complaint { error },
        }
    }
}

/// What is wrong with a line, and whom to tell.
#[derive(Debug)]
pub(crate) struct Malformed {
    /// The error to answer with, or to report where the message cannot be answered. Boxed, so that well-formed messages
    /// are not slower.
    pub(crate) error: Box<RpcError>,
    /// The id, if it can be read.
    pub(crate) id: Option<RequestId>,
    /// An id that is a number or a text and still cannot be used, as it came.
    pub(crate) raw_id: Option<Box<str>>,
    /// What the line was meant as.
    pub(crate) seems: Seems,
    /// What keeps it from being read, where that is not what stands in it.
    pub(crate) fault: Fault,
    /// The line was meant as JSON-RPC at all.
    pub(crate) structured: bool,
}

/// What a malformed line was meant as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seems {
    /// It has a `result` or an `error` and no `method`. Replies are not answered.
    Reply,
    /// It has neither a `method` nor a `result` nor an `error`.
    Neither,
    /// It has a `method`, or is not a message.
    Other,
}

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is longer than so many bytes.
    TooLong(usize),
    /// It nests deeper than so many levels.
    TooDeep(usize),
    NotUtf8,
    /// It is not JSON, or not JSON-RPC.
    Malformed,
}

impl Malformed {
    pub(super) fn from_sketch(error: RpcError, fault: Fault, sketch: Sketch) -> Malformed {
        let is_object = sketch.structured && !sketch.list;
        Malformed {
            error: Box::new(error),
            seems: match (sketch.method, sketch.outcome) {
                (false, true) if is_object => Seems::Reply,
                (false, false) if is_object => Seems::Neither,
                _ => Seems::Other,
            },
            fault,
            structured: sketch.structured,
            id: sketch.id,
            raw_id: None,
        }
    }

    /// A message that has a member twice.
    pub(crate) fn twice(line: &[u8], name: &str) -> Malformed {
        let error = RpcError::invalid_request(format!("`{name}` is there twice"));
        Malformed::from_sketch(error, Fault::Malformed, Scanner::scan(line))
    }

    /// A line that is longer than permitted.
    pub(crate) fn too_long(limit: usize, sketch: Sketch) -> Malformed {
        let error =
            RpcError::invalid_request(format!("the message is longer than the limit of {limit} bytes"));
        Malformed::from_sketch(error, Fault::TooLong(limit), sketch)
    }
}

/// Reads one line that is not blank.
pub(crate) fn parse(line: &[u8], deepest: usize, dialect: Dialect) -> Result<Envelope<'_>, Malformed> {
    let text = utf8(line)?;
    if let Some(parts) = members(text, deepest) {
        return parts.classify(dialect);
    }
    if too_deep(line, deepest) {
        let error = RpcError::invalid_request(format!("the message nests deeper than {deepest} levels"));
        return Err(Malformed::from_sketch(error, Fault::TooDeep(deepest), Scanner::scan(line)));
    }
    if text.trim_ascii_start().starts_with('[') {
        let sketch = Scanner::scan(line);
        let error = match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => RpcError::invalid_request(NO_BATCH),
            Err(error) => not_json(text, &error),
        };
        return Err(Malformed::from_sketch(error, Fault::Malformed, sketch));
    }
    let parts = serde_json::from_str::<Parts<'_, &str>>(text).map_err(|error| {
        let error = if error.is_data() {
            RpcError::invalid_request(format!("the message is not a JSON-RPC message: {error}"))
        } else {
            not_json(text, &error)
        };
        Malformed::from_sketch(error, Fault::Malformed, Scanner::scan(line))
    })?;
    parts.classify(dialect)
}

/// Reads one message that was read as JSON before. Nothing if it nests too deep, is not an object, or has keys with escapes:
/// then [`parse`] says what it is.
pub(super) fn parse_value(
    message: JsonValue<'_>,
    deepest: usize,
    dialect: Dialect,
) -> Option<Result<Envelope<'_, LookedUp<'_>>, Malformed>> {
    let members = message.plain_members().filter(|_| message.is_within(deepest))?;
    let mut parts = Parts::default();
    members.for_each(|(key, value)| parts.add(key, LookedUp::Read(value), || value.written()));
    Some(parts.classify(dialect))
}

/// The error for what is not JSON. The peer may write headers where lines are expected, or print what belongs into its log:
/// such a line is quoted, so that one can see where it comes from.
fn not_json(text: &str, error: &serde_json::Error) -> RpcError {
    let text = text.trim_ascii();
    let name = "content-length:";
    let is_header = text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let problem = if is_header {
        format!(
            "{error}: it is a header with a length, and one message on each line was expected: write each as JSON on one \
             line, or choose `content-length` as the framing"
        )
    } else if text == "{" || text == "[" {
        format!("{error}: nothing follows `{text}` on its line")
    } else if text.starts_with(['{', '[']) {
        error.to_string()
    } else if text.starts_with('\u{feff}') {
        "it begins with a byte order mark (U+FEFF), which JSON does not have".to_owned()
    } else {
        format!("it is the line `{}`", Excerpt(text))
    };
    RpcError::parse_error(format!("the message is not JSON: {problem}"))
}

/// A line as text.
pub(super) fn utf8(line: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(line).map_err(|error| {
        let error = RpcError::parse_error(format!("the message is not UTF-8: {error}"));
        Malformed::from_sketch(error, Fault::NotUtf8, Scanner::scan(line))
    })
}

/// The message that a payload which does not decode is answered with.
pub(crate) fn undecodable(method: &str, error: &serde_json::Error) -> RpcError {
    RpcError::invalid_params(format!("the params of `{method}` are invalid: {error}"))
}

impl<'a, P: RawPayload> Parts<'a, P> {
    fn classify(self, dialect: Dialect) -> Result<Envelope<'a, P>, Malformed> {
        let id = self.id.and_then(parse_id);
        if let Some(name) = self.twice {
            // Either of the two may have been meant, so neither is trusted where it is the id itself.
            let id = id.filter(|_| name != "id");
            return Err(self.malformed(id, format!("`{name}` is there twice")));
        }
        let may_be_left_out = match dialect {
            Dialect::Standard => false,
            Dialect::WithoutJsonrpc => self.jsonrpc.is_none(),
            // It has no such member: one that is there means nothing.
            Dialect::Version1 => true,
        };
        let is_right =
            || self.jsonrpc == Some("\"2.0\"") || self.text(self.jsonrpc).as_deref() == Some("2.0");
        if !may_be_left_out && !is_right() {
            let problem = match self.jsonrpc {
                // The peer may log objects where its messages belong.
                None if self.has_nothing() => {
                    "`jsonrpc` is missing, and so are `method`, `id`, `result` and `error`".to_owned()
                }
                None => "`jsonrpc` is missing: it must be \"2.0\"".to_owned(),
                Some(other) => format!("`jsonrpc` must be \"2.0\", not {}", shortened(other)),
            };
            return Err(self.malformed(id, problem));
        }
        let Some(raw_method) = self.method else { return self.reply(id, dialect) };
        let Some(method) = self.text(Some(raw_method)) else {
            return Err(self.malformed(id, "`method` must be a string".to_owned()));
        };
        if self.result.is_some() || self.error.is_some() {
            return Err(
                self.malformed(id, "a message with a `method` has no `result` and no `error`".to_owned())
            );
        }
        // JSON-RPC wants an object or a list here. Protocols may declare any type, so the type decides.
        let params = self.params.filter(|params| params.written() != "null");
        match (self.id, id) {
            (None, _) => Ok(Envelope::Notification { method, params }),
            (Some("null"), None) if dialect == Dialect::Version1 => {
                Ok(Envelope::Notification { method, params })
            }
            (Some(_), Some(id)) => Ok(Envelope::Request { id, method, params }),
            (Some(raw), None) => {
                let problem = format!("`id` must be a string or a whole number, not {}", shortened(raw));
                Err(self.malformed(None, problem))
            }
        }
    }

    /// Whether it has no member by which a message is known.
    fn has_nothing(&self) -> bool {
        self.method.is_none() && self.id.is_none() && self.result.is_none() && self.error.is_none()
    }

    fn reply(mut self, id: Option<RequestId>, dialect: Dialect) -> Result<Envelope<'a, P>, Malformed> {
        let is_null =
            (self.result.map(|result| result.written() == "null"), self.error.map(|error| error == "null"));
        if dialect == Dialect::Version1 {
            match is_null {
                (_, Some(true)) => self.error = None,
                (Some(true), Some(false)) => self.result = None,
                _ => {}
            }
        }
        match (self.result, self.error) {
            (Some(_), Some(_)) => {
                let why = match is_null {
                    (Some(true), _) | (_, Some(true)) => {
                        ", also where one is `null`: a protocol whose replies have both says `jsonrpc \"1.0\"`"
                    }
                    _ => "",
                };
                Err(self.malformed(id, format!("a reply has a `result` or an `error`, not both{why}")))
            }
            (None, None) => {
                Err(self
                    .malformed(id, "the message has neither `method` nor `result` nor `error`".to_owned()))
            }
            (Some(result), None) => match id {
                Some(id) => Ok(Envelope::Result { id, result }),
                None => Err(self.without_id()),
            },
            (None, Some(error)) => {
                // What an error looks like, JSON-RPC 1.0 does not say.
                let problem = (dialect != Dialect::Version1).then(|| error_problem(error)).flatten();
                let error = serde_json::from_str(error).unwrap_or_else(|_| {
                    RpcError::internal_error(format!("the peer sent {} as its error", shortened(error)))
                });
                match (id, self.id) {
                    (Some(id), _) => Ok(Envelope::Error { id, error, problem }),
                    (None, None | Some("null")) => Ok(Envelope::Complaint { error }),
                    (None, Some(_)) => Err(self.without_id()),
                }
            }
        }
    }

    /// A reply that does not say what it replies to.
    fn without_id(&self) -> Malformed {
        let problem = match self.id {
            None => "the reply has no `id`".to_owned(),
            Some(raw) => format!("the `id` of the reply is not an id: it is {}", shortened(raw)),
        };
        self.malformed(None, problem)
    }

    fn malformed(&self, id: Option<RequestId>, problem: String) -> Malformed {
        let usable = |raw: &&str| {
            raw.len() <= 512 && raw.starts_with(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        };
        let raw_id = if id.is_none() && self.twice != Some("id") {
            self.id.filter(usable).map(Box::from)
        } else {
            None
        };
        Malformed {
            error: Box::new(RpcError::invalid_request(problem)),
            id,
            raw_id,
            seems: match (self.method, self.result.map(drop).or(self.error.map(drop))) {
                (None, Some(_)) => Seems::Reply,
                (None, None) => Seems::Neither,
                (Some(_), _) => Seems::Other,
            },
            fault: Fault::Malformed,
            structured: true,
        }
    }

    fn text(&self, raw: Option<&'a str>) -> Option<Cow<'a, str>> {
        let raw = raw?;
        let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
        if inner.contains('\\') {
            serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(inner))
        }
    }
}

/// Raw JSON for a message to a human.
fn shortened(raw: &str) -> Cow<'_, str> {
    match raw.char_indices().nth(40) {
        Some((end, _)) => Cow::Owned(format!("{}…", raw.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> Malformed {
        parse(line.as_bytes(), 64, Dialect::Standard).expect_err(line)
    }

    #[test]
    fn a_header_in_place_of_a_line_is_called_one() {
        let error = |line: &[u8]| parse(line, 10, Dialect::Standard).unwrap_err().error.message;
        let header = error(b"Content-Length: 52");
        assert!(
            header.contains("one message on each line was expected: write each as JSON on one line"),
            "{header}"
        );
        assert!(header.ends_with("or choose `content-length` as the framing"), "{header}");
        assert!(!error(b"Content").contains("Framing"));
    }

    #[test]
    fn a_line_for_the_log_is_quoted() {
        let error = |line: &str| parse(line.as_bytes(), 10, Dialect::Standard).unwrap_err().error.message;
        assert_eq!(error(" listening on 80\r"), "the message is not JSON: it is the line `listening on 80`");
        assert_eq!(
            error("\u{feff}{}"),
            "the message is not JSON: it begins with a byte order mark (U+FEFF), which JSON does not have"
        );
        assert_eq!(error("\u{1b}[32mready"), r"the message is not JSON: it is the line `\u{1b}[32mready`");
        assert!(error(&"long ".repeat(1_000_000)).len() < 400);
        assert!(error("{\"id\": 1,}").contains("line 1 column"));
        assert!(error("{\r").ends_with(": nothing follows `{` on its line"));
    }

    #[test]
    fn the_four_kinds() {
        let line = br#"{"params":{"a":[1, 2]},"method":"a\/b","id":0,"jsonrpc":"2.0","more":[]}"#;
        let Ok(Envelope::Request { id, method, params }) = parse(line, 64, Dialect::Standard) else {
            panic!()
        };
        assert_eq!((id, &*method, params), (RequestId::Number(0), "a/b", Some(r#"{"a":[1, 2]}"#)));
        let line = br#"{"jsonrpc":"2.0","method":"n","params":null}"#;
        assert!(matches!(
            parse(line, 64, Dialect::Standard),
            Ok(Envelope::Notification { params: None, .. })
        ));
        let line = br#"{"jsonrpc":"2.0","id":"x","result":null}"#;
        assert!(matches!(parse(line, 64, Dialect::Standard), Ok(Envelope::Result { result: "null", .. })));
        let line = br#"{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"m"}}"#;
        assert!(matches!(
            parse(line, 64, Dialect::Standard),
            Ok(Envelope::Error { error: RpcError { code: 5, .. }, .. })
        ));
        let line = br#"{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"m"}}"#;
        assert!(matches!(parse(line, 64, Dialect::Standard), Ok(Envelope::Complaint { .. })));
    }

    #[test]
    fn each_fault_has_its_code_and_its_id() {
        let cases = [
            (r#"{"jsonrpc":"2.0","id":5,"method":"x",}"#, -32700, Some(5)),
            (r#"{"jsonrpc":"2.0","id":5,"method":"x""#, -32700, Some(5)),
            ("garbage", -32700, None),
            (r#"{"jsonrpc":"1.0","id":5,"method":"x"}"#, -32600, Some(5)),
            (r#"{"id":5,"method":"x"}"#, -32600, Some(5)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"x"}"#, -32600, None),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, -32600, Some(5)),
            (r#"{"jsonrpc":"2.0","id":5,"method":"x","result":7}"#, -32600, Some(5)),
            (r#"{"jsonrpc":"2.0","id":5}"#, -32600, Some(5)),
            (r#"{"jsonrpc":"2.0","id":5,"result":1,"error":{}}"#, -32600, Some(5)),
            (r#"[{"jsonrpc":"2.0","id":5,"method":"x"}]"#, -32600, None),
            ("[1,", -32700, None),
            ("7", -32600, None),
        ];
        for (line, code, id) in cases {
            let malformed = refused(line);
            assert_eq!(malformed.error.code, code, "{line}: {}", malformed.error);
            assert_eq!(malformed.id, id.map(RequestId::Number), "{line}");
        }
    }

    #[test]
    fn version_1_has_null_for_what_is_not_there() {
        let read = |line: &'static str| parse(line.as_bytes(), 64, Dialect::Version1);
        let result = |line| match read(line) {
            Ok(Envelope::Result { id: RequestId::Number(5), result }) => result,
            other => panic!("{other:?}"),
        };
        assert_eq!(result(r#"{"id":5,"result":true,"error":null}"#), "true");
        assert_eq!(result(r#"{"id":5,"result":null,"error":null}"#), "null");
        assert_eq!(result(r#"{"jsonrpc":"1.0","id":5,"result":7}"#), "7");
        let error = |line| match read(line) {
            Ok(Envelope::Error { id: RequestId::Number(5), error, problem: None }) => error,
            other => panic!("{other:?}"),
        };
        let refused = error(r#"{"id":5,"result":null,"error":{"code":-8,"message":"m"}}"#);
        assert_eq!(refused, RpcError::new(-8, "m"));
        assert_eq!(
            error(r#"{"id":5,"error":[21,"Job not found",null]}"#),
            RpcError::new(21, "Job not found")
        );
        assert_eq!(error(r#"{"id":5,"result":null,"error":"busy"}"#), RpcError::internal_error("busy"));
        let line = r#"{"id":null,"method":"n","params":[2]}"#;
        assert!(matches!(read(line), Ok(Envelope::Notification { params: Some("[2]"), .. })));
        assert!(matches!(read(r#"{"method":"n"}"#), Ok(Envelope::Notification { .. })));
        let line = r#"{"id":null,"result":null,"error":"what?"}"#;
        assert!(matches!(read(line), Ok(Envelope::Complaint { .. })));
        for line in [
            r#"{"id":5,"result":1,"error":2}"#,
            r#"{"id":5,"error":null}"#,
            r#"{"id":5}"#,
            r#"{"id":null,"result":1,"error":null}"#,
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_reply_of_version_1_is_called_one() {
        let problem = |line: &str| refused(line).error.message;
        let both = "a reply has a `result` or an `error`, not both";
        assert_eq!(problem(r#"{"jsonrpc":"2.0","id":5,"result":1,"error":2}"#), both);
        for line in [
            r#"{"jsonrpc":"2.0","id":5,"result":1,"error":null}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":null,"error":2}"#,
        ] {
            let why = ", also where one is `null`: a protocol whose replies have both says `jsonrpc \"1.0\"`";
            assert_eq!(problem(line), format!("{both}{why}"));
        }
    }

    #[test]
    fn a_reply_without_an_id_is_told_from_one_with_another_value_there() {
        let problem = |line: &str| refused(line).error.message;
        assert_eq!(problem(r#"{"jsonrpc":"2.0","result":{}}"#), "the reply has no `id`");
        assert_eq!(
            problem(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#),
            "the `id` of the reply is not an id: it is null"
        );
        let error = r#"{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"m"}}"#;
        assert_eq!(problem(error), "the `id` of the reply is not an id: it is 1.5");
    }

    #[test]
    fn a_fraction_is_given_back_as_it_came() {
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#).raw_id.as_deref(), Some("1.5"));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#).raw_id, None);
    }

    #[test]
    fn replies_are_distinguished_from_requests() {
        let seems = |line: &str| refused(line).seems;
        assert_eq!(seems(r#"{"jsonrpc":"1.0","id":5,"result":1}"#), Seems::Reply);
        assert_eq!(seems(r#"{"jsonrpc":"2.0","id":5,"result":1,"error":1}"#), Seems::Reply);
        assert_eq!(seems(r#"{"jsonrpc":"2.0","id":5,"result":{,}}"#), Seems::Reply);
        assert_eq!(seems(r#"{"jsonrpc":"2.0","id":5}"#), Seems::Neither);
        assert_eq!(seems(r#"{"jsonrpc":"2.0","id":5,}"#), Seems::Neither);
        assert_eq!(seems(r#"{"jsonrpc":"1.0","id":5,"method":"x"}"#), Seems::Other);
        assert_eq!(seems("[]"), Seems::Other);
        assert_eq!(seems("7"), Seems::Other);
    }

    #[test]
    fn depth_and_encoding() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"x","params":{}{}}}"#,
            "[".repeat(90),
            "]".repeat(90)
        );
        let malformed = refused(&deep);
        assert_eq!((malformed.error.code, malformed.id), (-32600, Some(RequestId::Number(5))));
        let malformed =
            parse(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}", 64, Dialect::Standard).unwrap_err();
        assert_eq!((malformed.error.code, malformed.id), (-32700, Some(RequestId::Number(5))));
    }
}
