//! Raw JSON as shapes are judged by: its values are found once, however deep they stand.

use std::borrow::Cow;

use mcp_protocol_machine::shape::{Json, JsonView};
use memchr::memchr;

use super::key::JsonKey;
use super::recognise::after_text;

/// JSON that was read or written as such before, so nothing in it is checked here.
///
/// Invariant: a value stands before those inside of it, and `behind` is the place of the first one that is not.
#[derive(Clone, Debug)]
pub(crate) struct RawJson<'a> {
    text: &'a str,
    values: Vec<Span>,
}

/// A value, or the key of a member, which stands before its value.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    behind: usize,
}

/// A value in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawValueAt<'j> {
    json: &'j RawJson<'j>,
    place: usize,
}

impl<'a> RawJson<'a> {
    /// Finds the values in a text. What is not JSON is cut off where it stops to be.
    pub(crate) fn new(text: &'a str) -> RawJson<'a> {
        let bytes = text.as_bytes();
        let mut values: Vec<Span> = Vec::with_capacity(text.len() / 16);
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' | b',' | b':' => {
                    at += 1;
                    continue;
                }
                b'{' | b'[' => {
                    at += 1;
                    open.push(values.len());
                }
                b'}' | b']' => {
                    at += 1;
                    let behind = values.len();
                    if let Some(span) = open.pop().and_then(|place| values.get_mut(place)) {
                        (span.end, span.behind) = (at, behind);
                    }
                    continue;
                }
                b'"' => at = after_text(bytes, at + 1),
                _ => {
                    let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\t' | b'\r');
                    let rest = bytes.get(at..).unwrap_or_default();
                    at += rest.iter().position(ends).unwrap_or(rest.len());
                }
            }
            values.push(Span { start, end: at, behind: values.len() + 1 });
        }
        RawJson { text, values }
    }

    /// The whole value.
    pub(crate) fn root(&self) -> RawValueAt<'_> {
        RawValueAt { json: self, place: 0 }
    }

    fn written(&self, place: usize) -> &str {
        self.values.get(place).and_then(|span| self.text.get(span.start..span.end)).unwrap_or_default()
    }

    /// The values right inside of another, keys among them.
    fn inside(&self, place: usize) -> impl Iterator<Item = usize> {
        let end = self.values.get(place).map_or(0, |span| span.behind);
        let first = Some(place + 1).filter(|first| *first < end);
        std::iter::successors(first, move |place| {
            self.values.get(*place).map(|span| span.behind).filter(|next| *next < end)
        })
    }
}

impl Json for RawValueAt<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        let RawValueAt { json, place } = *self;
        let written = json.written(place);
        let value = |place| RawValueAt { json, place };
        match written.as_bytes().first() {
            Some(b'n') => JsonView::Null,
            Some(b't') => JsonView::Bool(true),
            Some(b'f') => JsonView::Bool(false),
            Some(b'"') => JsonView::Text(text(written)),
            Some(b'[') => JsonView::List(json.inside(place).map(value).collect()),
            Some(b'{') => {
                let (mut inside, mut members) = (json.inside(place), Vec::new());
                while let (Some(key), Some(member)) = (inside.next(), inside.next()) {
                    members.push((text(json.written(key)), value(member)));
                }
                JsonView::Object(Cow::Owned(members))
            }
            _ => JsonView::Number(Cow::Borrowed(written)),
        }
    }
}

fn text(json: &str) -> Cow<'_, str> {
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if memchr(b'\\', inner.as_bytes()).is_none() => Cow::Borrowed(inner),
        _ => serde_json::from_str::<JsonKey<'_>>(json).map_or(Cow::Borrowed(""), |key| key.0),
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{Protocol, RecordField, Shape};
    use mcp_protocol_machine::shape::judge;
    use serde_json::Value;

    use super::*;

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
        let verdict = |json: &str| {
            judge(&NOTHING, &shape, &RawJson::new(json).root()).map_err(|mismatch| mismatch.to_string())
        };
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

    /// A value as serde has it.
    fn value<J: Json>(json: &J) -> Value {
        match json.view() {
            JsonView::Null => Value::Null,
            JsonView::Bool(flag) => flag.into(),
            JsonView::Number(number) => serde_json::from_str(&number).unwrap(),
            JsonView::Text(text) => text.into_owned().into(),
            JsonView::List(list) => list.iter().map(value).collect(),
            JsonView::Object(members) => {
                members.iter().map(|(key, member)| (key.to_string(), value(member))).collect()
            }
        }
    }

    #[test]
    fn what_is_found_is_what_serde_finds() {
        for json in [
            "7",
            " [ ] ",
            "{}",
            r#""a\"b""#,
            r#"[[],{},[1,[2,[3]]],{"a":{"b":[{}]},"c":"}]\"{["}]"#,
            r#"{ "a" : null , "a\u0062" : [ true,false ,-1.5e3 ] , "" : { "x" : "" } }"#,
        ] {
            assert_eq!(
                value(&RawJson::new(json).root()),
                serde_json::from_str::<Value>(json).unwrap(),
                "{json}"
            );
        }
        // What is not JSON is not read, and harms nothing.
        for json in ["", "]", "[", "{\"a", "\"\\", "[}{]"] {
            let _ = RawJson::new(json).root().view();
        }
    }
}
