//! Writes envelopes around payloads that are JSON already.

use std::io::Write as _;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::Dialect;
use serde::Serialize;

use super::error::RpcError;
use super::own_members::OwnMembers;

/// About how many bytes an envelope has around its method and its payload, if its id is short.
const ENVELOPE: usize = 64;

/// A payload as one line of JSON.
pub(crate) fn payload<P: Serialize + ?Sized>(value: &P) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(value)?;
    // Raw JSON inside a payload may hold line breaks, which would cut the line; outside of texts, where alone they
    // can stand, a space means the same.
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        text = text.replace(['\n', '\r'], " ");
    }
    Ok(text)
}

/// A request.
pub(crate) fn request(
    into: &mut Vec<u8>,
    dialect: Dialect,
    id: &RequestId,
    method: &str,
    params: Option<&str>,
    members: &OwnMembers,
) {
    into.reserve(method.len() + params.map_or(0, str::len) + ENVELOPE);
    start("id", dialect, into);
    request_id(into, id);
    into.extend_from_slice(br#","method":"#);
    text(into, method);
    finish(into, dialect, params, members);
}

/// A notification.
pub(crate) fn notification(
    into: &mut Vec<u8>,
    dialect: Dialect,
    method: &str,
    params: Option<&str>,
    members: &OwnMembers,
) {
    into.reserve(method.len() + params.map_or(0, str::len) + ENVELOPE);
    match dialect {
        Dialect::Version1 => {
            start("id", dialect, into);
            into.extend_from_slice(br#"null,"method":"#);
        }
        Dialect::Standard | Dialect::WithoutJsonrpc => start("method", dialect, into),
    }
    text(into, method);
    finish(into, dialect, params, members);
}

/// A reply.
pub(crate) fn result(
    into: &mut Vec<u8>,
    dialect: Dialect,
    id: &RequestId,
    result: &str,
    members: &OwnMembers,
) {
    into.reserve(result.len() + ENVELOPE);
    start("id", dialect, into);
    request_id(into, id);
    into.extend_from_slice(br#","result":"#);
    into.extend_from_slice(result.as_bytes());
    if dialect == Dialect::Version1 {
        into.extend_from_slice(br#","error":null"#);
    }
    end(into, members);
}

/// An error reply; without an id, `null` stands in its place, as JSON-RPC asks for where the id could not be read.
pub(crate) fn error(
    into: &mut Vec<u8>,
    dialect: Dialect,
    id: Option<&RequestId>,
    error: &RpcError,
    members: &OwnMembers,
) {
    start("id", dialect, into);
    match id {
        Some(id) => request_id(into, id),
        None => into.extend_from_slice(b"null"),
    }
    error_tail(into, dialect, error, members);
}

/// An error reply to what cannot be an id, a fraction for instance, given back as it came.
pub(crate) fn error_to_raw(
    into: &mut Vec<u8>,
    dialect: Dialect,
    id: &str,
    error: &RpcError,
    members: &OwnMembers,
) {
    start("id", dialect, into);
    into.extend_from_slice(id.as_bytes());
    error_tail(into, dialect, error, members);
}

/// Whether an error that was written here answers something whose id could not be read.
#[cfg(feature = "http-server")]
pub(crate) fn is_without_id(error: &[u8], dialect: Dialect) -> bool {
    error.strip_prefix(opening(dialect)).is_some_and(|members| members.starts_with(br#"id":null,"#))
}

/// How every message begins, up to the name of its first own member.
fn opening(dialect: Dialect) -> &'static [u8] {
    match dialect {
        Dialect::Standard => br#"{"jsonrpc":"2.0",""#,
        Dialect::WithoutJsonrpc | Dialect::Version1 => br#"{""#,
    }
}

/// How a message begins, up to the value of its first own member, `"id"` or `"method"`.
fn start(first: &'static str, dialect: Dialect, into: &mut Vec<u8>) {
    into.extend_from_slice(opening(dialect));
    into.extend_from_slice(first.as_bytes());
    into.extend_from_slice(br#"":"#);
}

fn error_tail(into: &mut Vec<u8>, dialect: Dialect, error: &RpcError, members: &OwnMembers) {
    into.extend_from_slice(match dialect {
        Dialect::Version1 => br#","result":null,"error":"#,
        Dialect::Standard | Dialect::WithoutJsonrpc => br#","error":"#,
    });
    let start = into.len();
    if serde_json::to_writer(&mut *into, error).is_err() {
        // Only a `data` could fail, and JSON values do not; should it happen, the code is what must arrive.
        into.truncate(start);
        let _ = write!(into, r#"{{"code":{},"message":""}}"#, error.code);
    }
    end(into, members);
}

/// How a message ends: with the members that a protocol has of its own.
fn end(into: &mut Vec<u8>, members: &OwnMembers) {
    for (name, value) in members.iter() {
        into.push(b',');
        text(into, name);
        into.push(b':');
        request_id(into, value);
    }
    into.extend_from_slice(b"}\n");
}

/// An id, or a token, as JSON.
pub(crate) fn id_text(id: &RequestId) -> String {
    let mut bytes = Vec::new();
    request_id(&mut bytes, id);
    String::from_utf8(bytes).unwrap_or_default()
}

fn finish(into: &mut Vec<u8>, dialect: Dialect, params: Option<&str>, members: &OwnMembers) {
    let params = params.or((dialect == Dialect::Version1).then_some("[]"));
    if let Some(params) = params {
        into.extend_from_slice(br#","params":"#);
        into.extend_from_slice(params.as_bytes());
    }
    end(into, members);
}

fn request_id(into: &mut Vec<u8>, id: &RequestId) {
    match id {
        RequestId::Number(number) => number_text(into, *number),
        RequestId::Text(value) => text(into, value),
    }
}

fn number_text(into: &mut Vec<u8>, number: i64) {
    into.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A text in quotes, escaped where it has to be.
fn text(into: &mut Vec<u8>, value: &str) {
    let plain = value.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        into.push(b'"');
        into.extend_from_slice(value.as_bytes());
        into.push(b'"');
    } else {
        // A text is always JSON, and writing to a vector cannot fail.
        let _ = serde_json::to_writer(&mut *into, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::NO_MEMBERS as NO;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn one_line_each() {
        let id = RequestId::Text("a\"\n".into());
        assert_eq!(
            written(|into| request(into, Dialect::Standard, &RequestId::Number(0), "a/b", Some("{}"), &NO)),
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"a/b\",\"params\":{}}\n"
        );
        assert_eq!(
            written(|into| notification(into, Dialect::Standard, "n", None, &NO)),
            "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n"
        );
        assert_eq!(
            written(|into| result(into, Dialect::Standard, &id, "1", &NO)),
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"\\n\",\"result\":1}\n"
        );
        assert_eq!(
            written(|into| error(into, Dialect::Standard, None, &RpcError::new(1, "x"), &NO)),
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}\n"
        );
        assert!(
            written(|into| error_to_raw(into, Dialect::Standard, "1.5", &RpcError::new(1, "x"), &NO))
                .contains("\"id\":1.5,")
        );
    }

    #[test]
    fn members_of_a_protocol_come_last() {
        let members: OwnMembers =
            [("session".into(), "A\"".into()), ("tab".into(), 7.into())].into_iter().collect();
        let with = |members: &OwnMembers| {
            written(|into| notification(into, Dialect::WithoutJsonrpc, "n", Some("{}"), members))
        };
        assert_eq!(with(&members), "{\"method\":\"n\",\"params\":{},\"session\":\"A\\\"\",\"tab\":7}\n");
        assert_eq!(with(&NO), "{\"method\":\"n\",\"params\":{}}\n");
        assert_eq!(
            written(|into| result(into, Dialect::Version1, &RequestId::Number(1), "[]", &members)),
            "{\"id\":1,\"result\":[],\"error\":null,\"session\":\"A\\\"\",\"tab\":7}\n"
        );
    }

    #[test]
    fn version_1_leaves_nothing_out() {
        let id = RequestId::Number(0);
        assert_eq!(
            written(|into| request(into, Dialect::Version1, &id, "a", None, &NO)),
            "{\"id\":0,\"method\":\"a\",\"params\":[]}\n"
        );
        assert_eq!(
            written(|into| notification(into, Dialect::Version1, "n", Some("[1]"), &NO)),
            "{\"id\":null,\"method\":\"n\",\"params\":[1]}\n"
        );
        assert_eq!(
            written(|into| result(into, Dialect::Version1, &id, "1", &NO)),
            "{\"id\":0,\"result\":1,\"error\":null}\n"
        );
        assert_eq!(
            written(|into| error(into, Dialect::Version1, Some(&id), &RpcError::new(1, "x"), &NO)),
            "{\"id\":0,\"result\":null,\"error\":{\"code\":1,\"message\":\"x\"}}\n"
        );
    }

    #[test]
    fn raw_line_breaks_do_not_cut_the_line() {
        let raw = serde_json::value::RawValue::from_string("{\r\n\"a\": \"b\\n\"\n}".to_owned()).unwrap();
        assert_eq!(payload(&raw).unwrap(), "{  \"a\": \"b\\n\" }");
    }
}
