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

/// The number that an id stands for which is written in another way: as a text, or with a fraction of zero. A peer that writes
/// back an id so has not sent it back as it came, but it is clear whose it is.
pub(crate) fn number_meant(raw: &str) -> Option<RequestId> {
    /// From there on, not every whole number is one that a floating-point number can be.
    const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;
    let raw = raw.trim_matches('"');
    if let Some(RequestId::Number(number)) = parse_id(raw) {
        return Some(RequestId::Number(number));
    }
    let number: f64 = raw.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < FIRST_INEXACT).then_some(RequestId::Number(number as i64))
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

    #[test]
    fn a_number_may_be_written_in_other_ways() {
        for raw in ["7", "\"7\"", "7.0", "\"7.0\"", "70e-1", "0.7e1"] {
            assert_eq!(number_meant(raw), Some(RequestId::Number(7)), "{raw}");
        }
        assert_eq!(number_meant("\"-3\""), Some(RequestId::Number(-3)));
        for raw in
            ["7.5", "\"seven\"", "\"\"", "", "1e300", "\"NaN\"", "\"inf\"", "null", "9007199254740993.0"]
        {
            assert_eq!(number_meant(raw), None, "{raw}");
        }
    }
}
