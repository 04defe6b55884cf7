//! Messages with their quotes written as text: `{\"jsonrpc\": \"2.0\"}` of programs that show a text, and of Apache,
//! `{\x22jsonrpc\x22: \x222.0\x22}` of nginx, and `{""jsonrpc"": ""2.0""}` of tables; or with each backslash written twice, as
//! `socat -v` shows bytes.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::escapes::unescaped;

/// The object at the beginning of a text that is written so; nothing if it is not.
pub(super) fn object(text: &str) -> Option<String> {
    first::<&RawValue>(&unquoted(text)?).map(|object| object.get().to_owned())
}

/// Whether an object that is written so ends too early.
pub(super) fn is_cut_off(text: &[u8]) -> bool {
    let plain = str::from_utf8(text).ok().and_then(unquoted);
    plain.is_some_and(|plain| serde_json::from_str::<IgnoredAny>(&plain).is_err_and(|error| error.is_eof()))
}

/// A text that begins with an object written so, as it was before. Something else may stand behind the object.
fn unquoted(text: &str) -> Option<String> {
    let inside = text.strip_prefix('{')?.trim_start();
    if inside.starts_with('\\') {
        // It ends with the text that it stands in, or with the line.
        first::<String>(&format!("\"{text}\"")).or_else(|| unescaped(text))
    } else if inside.starts_with("\"\"") {
        Some(text.replace("\"\"", "\""))
    } else {
        text.contains("\\\\").then(|| text.replace("\\\\", "\\"))
    }
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
        // Their line feeds, and what is not ASCII, are numbers, too.
        for shown in [
            r"{\x0A  \x22a\x22: \x22\xC3\xA9 \x5Cu00e9\x22\x0A}",
            r#"{\n  \"a\": \"\xc3\xa9 \\u00e9\"\n}"#,
            r#"{\n  \"a\": \"é \\u00e9\"\n}"#,
        ] {
            for behind in ["", "\"", "\" 200"] {
                let plain = "{\n  \"a\": \"é \\u00e9\"\n}";
                assert_eq!(object(&format!("{shown}{behind}")).as_deref(), Some(plain), "{shown}");
            }
        }
        for other in [r#"{"a": "\\\\""#, r#"{\"a\": 1"#, "{\"\"a\"\": ", "{a: 1}", "{}", "a"] {
            assert_eq!(object(other), None, "{other}");
        }
    }

    #[test]
    fn what_ends_too_early_is_cut_off_in_each_form() {
        for shown in [
            r#"{"a": "it is \\"x\\", an"#,
            r#"{\"a\": \"it is"#,
            r"{\x22a\x22: \x22it is",
            r"{\x22a\x22: \x22it is\x",
            r#"{""a"": ""it is"#,
        ] {
            assert!(is_cut_off(shown.as_bytes()), "{shown}");
        }
        for shown in [r#"{\"a\": it is"#, r"{\x22a\x22: it is", r#"{""a"": it"#, "{}", "{"] {
            assert!(!is_cut_off(shown.as_bytes()), "{shown}");
        }
    }
}
