//! Messages with their quotes written as text: `{\"jsonrpc\": \"2.0\"}` of programs that show a text,
//! `{\x22jsonrpc\x22: \x222.0\x22}` of nginx, and `{""jsonrpc"": ""2.0""}` of tables; or with each backslash written twice, as
//! `socat -v` shows bytes.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The object at the beginning of a text that is written so; nothing if it is not.
pub(super) fn object(text: &str) -> Option<String> {
    let inside = text.strip_prefix('{')?.trim_start();
    let unquoted = if inside.starts_with("\\\"") {
        // It ends with the text that it stands in, or with the line.
        first::<String>(&format!("\"{text}\""))?
    } else if inside.starts_with("\\x22") {
        text.replace("\\x22", "\"").replace("\\x5C", "\\")
    } else if inside.starts_with("\"\"") {
        text.replace("\"\"", "\"")
    } else if text.contains("\\\\") {
        text.replace("\\\\", "\\")
    } else {
        return None;
    };
    first::<&RawValue>(&unquoted).map(|object| object.get().to_owned())
}

/// Whether an object whose backslashes are written twice ends too early.
pub(super) fn is_cut_off(text: &[u8]) -> bool {
    let plain = str::from_utf8(text).ok().filter(|text| text.contains("\\\\"));
    let plain = plain.map(|text| text.replace("\\\\", "\\"));
    plain.is_some_and(|plain| serde_json::from_str::<IgnoredAny>(&plain).is_err_and(|error| error.is_eof()))
}

/// The value at the beginning of a text.
fn first<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_taken_away_once() {
        let plain = r#"{"a": "say \"x\"", "b": "\\", "c": ""}"#;
        let escaped = plain.replace('\\', "\\\\").replace('"', "\\\"");
        let numbered = plain.replace('\\', "\\x5C").replace('"', "\\x22");
        let doubled = plain.replace('"', "\"\"");
        for behind in ["", "\"", "\", 7", "\",\"more\""] {
            assert_eq!(object(&format!("{escaped}{behind}")).as_deref(), Some(plain), "{behind}");
            assert_eq!(object(&format!("{numbered}{behind}")).as_deref(), Some(plain), "{behind}");
            assert_eq!(object(&format!("{doubled}{behind}")).as_deref(), Some(plain), "{behind}");
        }
        assert_eq!(object(&plain.replace('\\', "\\\\")).as_deref(), Some(plain));
        for other in [r#"{"a": "\\\\""#, r#"{\"a\": 1"#, "{\"\"a\"\": ", "{a: 1}", "{}", "a"] {
            assert_eq!(object(other), None, "{other}");
        }
    }
}
