//! The error that stands in place of a reply which was written and does not reach its reader.

use mcp_protocol_machine::protocol::Dialect;

use super::error::RpcError;
use super::id::parse_id;
use super::own_members::OwnMembers;
use super::path::Entries;
use super::write;

/// Writes an error in place of a reply of this side: with the id of that, in the same dialect, and with what its envelope has in
/// addition to the members of JSON-RPC. It has no line feed.
pub(crate) fn error_in_place_of(into: &mut Vec<u8>, reply: &[u8], error: &RpcError) {
    let Entries(members) = serde_json::from_slice(reply).unwrap_or(Entries(Vec::new()));
    let value = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, value)| value.get());
    let dialect = match (value("jsonrpc"), value("result"), value("error")) {
        (Some(_), ..) => Dialect::Standard,
        (None, Some(_), Some(_)) => Dialect::Version1,
        (None, ..) => Dialect::WithoutJsonrpc,
    };
    let own = members.iter().filter(|(name, _)| !matches!(&**name, "jsonrpc" | "id" | "result" | "error"));
    let own: OwnMembers =
        own.filter_map(|(name, value)| Some((name.to_string().into(), parse_id(value.get())?))).collect();
    write::error(into, dialect, value("id").and_then(parse_id).as_ref(), error, &own);
    if into.last() == Some(&b'\n') {
        into.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_of_the_dialect_of_the_reply_and_has_its_members() {
        let cases = [
            (
                r#"{"jsonrpc":"2.0","id":"a","result":{"id":1}}"#,
                r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}"#,
            ),
            (
                r#"{"id":7,"result":{},"error":null}"#,
                r#"{"id":7,"result":null,"error":{"code":1,"message":"x"}}"#,
            ),
            (
                r#"{"id":7,"error":{"code":3,"message":""},"sessionId":"S\""}"#,
                r#"{"id":7,"error":{"code":1,"message":"x"},"sessionId":"S\""}"#,
            ),
        ];
        for (reply, expected) in cases {
            let mut written = Vec::new();
            error_in_place_of(&mut written, reply.as_bytes(), &RpcError::new(1, "x"));
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
