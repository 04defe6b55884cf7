//! Raw JSON as shapes are judged by.

use std::borrow::Cow;

use mcp_protocol_machine::shape::{Json, JsonMember, JsonView};
use memchr::memchr;
use serde_json::value::RawValue;

use super::path::{Entries, JsonKey};
use super::recognise::{each_element, each_member};

/// JSON that was read or written as such before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawJson<'a>(pub(crate) &'a str);

impl Json for RawJson<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        let text = self.0.trim_ascii();
        // What is not JSON does not come here; it would be an empty text, list or object.
        match text.as_bytes().first() {
            Some(b'n') => JsonView::Null,
            Some(b't') => JsonView::Bool(true),
            Some(b'f') => JsonView::Bool(false),
            Some(b'"') => JsonView::Text(self::text(text)),
            Some(b'[') => JsonView::List(Cow::Owned(elements(text))),
            Some(b'{') => JsonView::Object(Cow::Owned(members(text))),
            _ => JsonView::Number(Cow::Borrowed(text)),
        }
    }
}

fn text(json: &str) -> Cow<'_, str> {
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if memchr(b'\\', inner.as_bytes()).is_none() => Cow::Borrowed(inner),
        _ => serde_json::from_str::<JsonKey<'_>>(json).map_or(Cow::Borrowed(""), |key| key.0),
    }
}

fn elements(json: &str) -> Vec<RawJson<'_>> {
    let mut found = Vec::new();
    if each_element(json, usize::MAX, |element| found.push(RawJson(element))).is_some() {
        return found;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    elements.into_iter().map(|element| RawJson(element.get())).collect()
}

fn members(json: &str) -> Vec<JsonMember<'_, RawJson<'_>>> {
    let mut found = Vec::new();
    if each_member(json, usize::MAX, |key, value| found.push((Cow::Borrowed(key), RawJson(value)))).is_some()
    {
        return found;
    }
    let entries = Entries::of(json).into_iter().flatten();
    entries.map(|(key, value)| (key, RawJson(value))).collect()
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{Protocol, RecordField, Shape};
    use mcp_protocol_machine::shape::judge;

    use super::RawJson;

    const NOTHING: Protocol = Protocol::table("Test", &[]);

    #[test]
    fn raw_json_is_judged_as_it_is_written() {
        let fields = const {
            &[
                RecordField::required("text", Shape::literal("a\"b")),
                RecordField::optional("list", Shape::list(&Shape::Int)),
                RecordField::optional("flag", Shape::Bool),
                RecordField::optional("none", Shape::Null),
                RecordField::optional("big", Shape::Uint),
            ]
        };
        let shape = Shape::record(fields);
        let verdict =
            |json: &str| judge(&NOTHING, &shape, &RawJson(json)).map_err(|mismatch| mismatch.to_string());
        let good = r#" { "te\u0078t" : "a\"b" , "list":[ 1.0, -2 ,3e0 ], "flag" :false,"none":null,
            "big":18446744073709551615 } "#;
        assert_eq!(verdict(good), Ok(()));
        assert_eq!(
            verdict(r#"{"text":"a\"b","big":18446744073709551616}"#).unwrap_err(),
            "big: expected a whole number that is not negative, found 18446744073709551616"
        );
        assert_eq!(
            verdict(r#"{"text":"a\"b","list":[0,{}]}"#).unwrap_err(),
            "list[1]: expected a whole number, found an object"
        );
        assert_eq!(verdict(r#"{"text":"a\"b","text":1}"#).unwrap_err(), "text: expected \"a\"b\", found 1");
        assert_eq!(verdict("[]").unwrap_err(), "expected an object, found a list");
    }
}
