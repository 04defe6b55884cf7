//! Request ids and progress tokens in JSON.

use std::borrow::Cow;

use mcp_protocol_machine::RequestId;

/// Reads an id, or a token, which is the same kind of value.
pub(crate) fn parse_id(raw: &str) -> Option<RequestId> {
    match scalar(raw)? {
        Scalar::Number(number) => Some(RequestId::Number(number)),
        Scalar::Text(text) => Some(RequestId::Text(text.into())),
    }
}

enum Scalar<'a> {
    Number(i64),
    Text(Cow<'a, str>),
}

fn scalar(raw: &str) -> Option<Scalar<'_>> {
    let raw = raw.trim_ascii();
    if let Some(rest) = raw.strip_prefix('"') {
        let plain = rest.strip_suffix('"').filter(|text| !text.contains(['\\', '"']));
        return match plain {
            Some(text) => Some(Scalar::Text(Cow::Borrowed(text))),
            None => serde_json::from_str::<String>(raw).ok().map(|text| Scalar::Text(Cow::Owned(text))),
        };
    }
    // `-0` and `+1` are the two forms that Rust reads as whole numbers and an id should not have.
    match raw.as_bytes() {
        [b'0'..=b'9', ..] | [b'-', b'1'..=b'9', ..] => raw.parse().ok().map(Scalar::Number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_ids() {
        assert_eq!(parse_id("0"), Some(RequestId::Number(0)));
        assert_eq!(parse_id("-7"), Some(RequestId::Number(-7)));
        assert_eq!(parse_id(" 12 "), Some(RequestId::Number(12)));
        assert_eq!(parse_id(r#""a\"b""#), Some(RequestId::Text(r#"a"b"#.into())));
        assert_eq!(parse_id(r#""""#), Some(RequestId::Text("".into())));
        for refused in ["null", "1.5", "1e3", "true", "{}", "[1]", "99999999999999999999", "", "\""] {
            assert_eq!(parse_id(refused), None, "{refused}");
        }
    }
}
