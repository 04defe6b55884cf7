//! Payloads: raw JSON in which values are found by their paths, and which is judged by its shape.

#[cfg(any(feature = "http-server", feature = "http-client"))]
use std::borrow::Cow;

use mcp_protocol_machine::Said;
use mcp_protocol_machine::protocol::{Protocol, ShapeIndex, Text, position};
use mcp_protocol_machine::shape::{CompiledShapes, ShapeMismatch, judge};

#[cfg(any(feature = "http-server", feature = "http-client"))]
use super::key::JsonKey;
use super::path;
use super::raw::{JsonReader, JsonValue};

/// The shapes of a protocol: compiled, for what has them, and as tables, which say what is wrong with anything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes<'p> {
    pub(crate) protocol: &'p Protocol,
    pub(crate) compiled: &'p CompiledShapes,
}

impl Shapes<'_> {
    fn mismatch(self, shape: ShapeIndex, value: JsonValue<'_>) -> Option<ShapeMismatch> {
        if self.compiled.has(shape, &value) {
            return None;
        }
        judge(self.protocol, &self.protocol.shape(shape)?.shape, &value).err()
    }
}

/// A payload: a text, or a value of a text that was read. Which of them it is makes no difference to what is found.
pub(crate) trait RawPayload: Copy {
    /// The payload as it is written.
    fn written(&self) -> &str;

    /// The value at a path, if it is there.
    fn find(self, path: &[Text]) -> Option<Self>;

    /// Where it does not have a shape.
    fn mismatch(self, shapes: Shapes<'_>, shape: ShapeIndex) -> Option<ShapeMismatch>;
}

impl RawPayload for &str {
    fn written(&self) -> &str {
        self
    }

    fn find(self, path: &[Text]) -> Option<Self> {
        path::find(self, path)
    }

    fn mismatch(self, shapes: Shapes<'_>, shape: ShapeIndex) -> Option<ShapeMismatch> {
        let mut reader = JsonReader::default();
        // The text was read or written as JSON before, and the judge has a limit of its own for how deep it goes.
        shapes.mismatch(shape, reader.read_to(self, u32::MAX)?)
    }
}

impl RawPayload for JsonValue<'_> {
    fn written(&self) -> &str {
        JsonValue::written(self)
    }

    fn find(self, path: &[Text]) -> Option<Self> {
        path.iter().try_fold(self, |here, key| match here.is_object() {
            true => here.member(key),
            false => here.element(position(key)?),
        })
    }

    fn mismatch(self, shapes: Shapes<'_>, shape: ShapeIndex) -> Option<ShapeMismatch> {
        shapes.mismatch(shape, self)
    }
}

/// A payload in which several values are looked up: a text, or the same once it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LookedUp<'j> {
    Text(&'j str),
    Read(JsonValue<'j>),
}

impl<'j> LookedUp<'j> {
    /// A payload that is read, so that no value in it costs a pass over the text. What cannot be read stays a text.
    pub(crate) fn read(text: &'j str, reader: &'j mut JsonReader) -> LookedUp<'j> {
        reader.read(text).map_or(LookedUp::Text(text), LookedUp::Read)
    }

    /// The values of several keys of an object, each as [`find`](RawPayload::find) finds it.
    #[cfg(any(feature = "http-server", feature = "http-client"))]
    pub(crate) fn members<const KEYS: usize>(self, keys: [&'static str; KEYS]) -> [Option<Self>; KEYS] {
        match self {
            LookedUp::Text(_) => keys.map(|key| self.find(&[Text::Borrowed(key)])),
            LookedUp::Read(value) => value.members_of(keys).map(|value| value.map(LookedUp::Read)),
        }
    }

    /// The text that it is, without quotes and escapes.
    #[cfg(any(feature = "http-server", feature = "http-client"))]
    pub(crate) fn text(self) -> Option<Cow<'j, str>> {
        match self {
            LookedUp::Text(json) => serde_json::from_str(json).ok().map(|JsonKey(text)| text),
            LookedUp::Read(value) => value.text(),
        }
    }
}

impl RawPayload for LookedUp<'_> {
    fn written(&self) -> &str {
        match self {
            LookedUp::Text(text) => text,
            LookedUp::Read(value) => value.written(),
        }
    }

    fn find(self, path: &[Text]) -> Option<Self> {
        match self {
            LookedUp::Text(text) => path::find(text, path).map(LookedUp::Text),
            LookedUp::Read(value) => value.find(path).map(LookedUp::Read),
        }
    }

    fn mismatch(self, shapes: Shapes<'_>, shape: ShapeIndex) -> Option<ShapeMismatch> {
        match self {
            LookedUp::Text(text) => text.mismatch(shapes, shape),
            LookedUp::Read(value) => value.mismatch(shapes, shape),
        }
    }
}

/// What an announcement says of the capability at a path. One with nothing but `null` in it has nothing in it.
pub(crate) fn said(json: impl RawPayload, path: &[Text]) -> Said {
    let Some(value) = json.find(path) else { return Said::Nothing };
    let value = value.written().trim_ascii();
    match value {
        "null" => Said::Nothing,
        "false" => Said::No,
        "true" => Said::Bare,
        // A number or a text has no parts, either: LSP's `"textDocumentSync":2`.
        _ if !value.starts_with(['{', '[']) => Said::Bare,
        _ => match serde_json::from_str::<path::Entries<'_>>(value) {
            Ok(entries) if entries.0.iter().all(|(_, value)| value.get() == "null") => Said::Bare,
            _ => Said::Parts,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_was_read_has_what_its_text_has() {
        for json in [
            r#"{"a":1,"b":{"a":2},"c":3}"#,
            r#"{"\u0061":"1\n","c":[{}]}"#,
            r#"{"a":1,"a":"2"}"#,
            r#"{"c":{"a":1}}"#,
            r#"{"a":1"#,
            "[1]",
            "7",
            "",
        ] {
            let mut reader = JsonReader::default();
            let (text, read) = (LookedUp::Text(json), LookedUp::read(json, &mut reader));
            #[cfg(any(feature = "http-server", feature = "http-client"))]
            {
                let keys = ["a", "b", "absent"];
                let each = keys.map(|key| path::find(json, &[Text::Borrowed(key)]).map(str::to_owned));
                let found = read.members(keys);
                assert_eq!(found.map(|found| found.map(|found| found.written().to_owned())), each, "{json}");
            }
            for path in [&["a"][..], &["b"], &["b", "a"], &["absent"]] {
                let path: Vec<Text> = path.iter().map(|key| Text::Borrowed(key)).collect();
                let (of_text, of_read) = (text.find(&path), read.find(&path));
                let written = |found: Option<LookedUp<'_>>| found.map(|found| found.written().to_owned());
                assert_eq!(written(of_read), written(of_text), "{json}");
                #[cfg(any(feature = "http-server", feature = "http-client"))]
                assert_eq!(of_read.and_then(LookedUp::text), of_text.and_then(LookedUp::text), "{json}");
            }
        }
    }

    #[test]
    fn what_is_said_of_a_capability() {
        let json = r#"{"a":{},"b":{"x":null, "y" : null},"c":{"x":{}},"d":{"x":false},"e":true,"f":false,"g":null,
            "h":[],"i":"yes","j":{"k":{ }},"l":2}"#;
        let mut reader = JsonReader::default();
        let read = reader.read(json).unwrap();
        let of = |key: &str| {
            let path: Vec<Text> = key.split('/').map(|key| Text::Owned(key.to_owned())).collect();
            let found = said(json, &path);
            assert_eq!(said(read, &path), found, "{key}");
            assert_eq!(said(LookedUp::Read(read), &path), found, "{key}");
            assert_eq!(said(LookedUp::Text(json), &path), found, "{key}");
            found
        };
        assert_eq!(["a", "b", "e", "i", "j/k", "l"].map(of), [Said::Bare; 6]);
        assert_eq!(["c", "d", "h", "j"].map(of), [Said::Parts; 4]);
        assert_eq!((of("f"), of("d/x")), (Said::No, Said::No));
        assert_eq!(["g", "b/x", "a/x", "nothing"].map(of), [Said::Nothing; 4]);
    }
}
