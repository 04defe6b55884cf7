//! Raw JSON: a text is read once, and each value in it is known by its place from then on.

use std::borrow::Cow;
use std::ops::ControlFlow;

use mcp_protocol_machine::shape::{Json, JsonKind, JsonView};

use super::alike::AlikeTexts;
use super::key::JsonKey;
use super::recognise::{Nesting, read};
use super::span::{Span, SpanKind};

/// How many values there is room for between two texts. A text with more of them gives its room back.
const KEPT: usize = 64 * 1024;
/// How many values the first text has room for without a second allocation.
const FIRST: usize = 32;
/// How many lists and objects may be inside one another.
const DEEPEST: u32 = 128;

/// Reads JSON texts. It keeps the room that it needs for one, so that the next one needs no allocation.
#[derive(Clone, Debug, Default)]
pub struct JsonReader {
    values: Vec<Span>,
    /// Texts that were read, where more are expected that are like them.
    alike: Option<Box<AlikeTexts>>,
}

/// A value in a JSON text, or the whole of it.
#[derive(Clone, Copy, Debug)]
pub struct JsonValue<'j> {
    /// The text that the value stands in.
    text: &'j str,
    /// The value itself, and those inside of it, each before those inside of it.
    values: &'j [Span],
    /// How many lists and objects are inside one another in it, or fewer.
    depth: u32,
}

impl JsonReader {
    /// A reader of texts of which many are alike, such as the lines of a log. It remembers the last few kinds of them: a text
    /// that differs from one of these only in numbers and in what stands between quotes takes about as long as comparing
    /// the two. What is read is the same.
    ///
    /// ```
    /// use mcp_runtime::observer::JsonReader;
    ///
    /// let mut reader = JsonReader::of_alike();
    /// for id in 8..12 {
    ///     let line = format!(r#"{{"id":{id},"method":"ping"}}"#);
    ///     let value = reader.read(&line).expect("it is JSON");
    ///     assert_eq!(value.member("id").map(|id| id.written().to_owned()), Some(id.to_string()));
    /// }
    /// assert!(reader.read(r#"{"id":12,"method":"ping"]"#).is_none());
    /// ```
    pub fn of_alike() -> JsonReader {
        JsonReader { alike: Some(Box::default()), ..JsonReader::default() }
    }

    /// Reads a text. Returns nothing if it is not JSON, and where lists and objects are inside one another more than 128
    /// times.
    pub fn read<'j>(&'j mut self, text: &'j str) -> Option<JsonValue<'j>> {
        self.read_to(text, DEEPEST)
    }

    /// The same with another limit.
    pub(super) fn read_to<'j>(&'j mut self, text: &'j str, deepest: u32) -> Option<JsonValue<'j>> {
        u32::try_from(text.len()).ok()?;
        let known = self.alike.as_mut().and_then(|alike| alike.find(text, deepest));
        let Some(known) = known else { return self.read_whole(text, deepest) };
        let (values, depth) = self.alike.as_ref()?.values(known);
        Some(JsonValue { text, values, depth })
    }

    /// Reads a text that is like no other.
    fn read_whole<'j>(&'j mut self, text: &'j str, deepest: u32) -> Option<JsonValue<'j>> {
        if self.values.capacity() > KEPT {
            self.values = Vec::new();
        }
        self.values.clear();
        self.values.reserve(FIRST);
        let mut spans = Spans { values: &mut self.values, innermost: None, depth: 0, reached: 0, deepest };
        read(text, &mut spans)?;
        let depth = spans.reached;
        if let Some(alike) = &mut self.alike {
            alike.note(text, &self.values, depth);
        }
        Some(JsonValue { text, values: &self.values, depth })
    }
}

/// Notes where the values are. While a list or an object is open, its end is the place of the one around it.
struct Spans<'v> {
    values: &'v mut Vec<Span>,
    /// The place of the innermost one that is open, and whether it is an object.
    innermost: Option<(u32, bool)>,
    depth: u32,
    /// How deep the text went.
    reached: u32,
    deepest: u32,
}

/// The end of what stands in no list or object, while it is open.
const NOWHERE: u32 = u32::MAX;

impl Spans<'_> {
    #[inline(always)]
    fn add(&mut self, start: usize, end: usize, kind: SpanKind) {
        self.values.push(Span::new(start, end as u32, kind));
    }
}

impl Nesting for Spans<'_> {
    #[inline(always)]
    fn open(&mut self, start: usize, is_object: bool) -> Option<()> {
        if self.depth == self.deepest {
            return None;
        }
        self.depth += 1;
        self.reached = self.reached.max(self.depth);
        let around = self.innermost.map_or(NOWHERE, |(place, _)| place);
        self.innermost = Some((self.values.len() as u32, is_object));
        let kind = if is_object { SpanKind::Object } else { SpanKind::List };
        self.values.push(Span::new(start, around, kind));
        Some(())
    }

    #[inline(always)]
    fn close(&mut self, end: usize) {
        let count = self.values.len() as u32;
        let Some((place, _)) = self.innermost else { return };
        let Some(span) = self.values.get_mut(place as usize) else { return };
        let around = std::mem::replace(&mut span.end, end as u32);
        span.count = count - place;
        self.depth -= 1;
        let is_object = self.values.get(around as usize).map(|span| span.kind == SpanKind::Object);
        self.innermost = is_object.map(|is_object| (around, is_object));
    }

    #[inline(always)]
    fn is_in_object(&self) -> Option<bool> {
        self.innermost.map(|(_, is_object)| is_object)
    }

    #[inline(always)]
    fn key(&mut self, start: usize, end: usize, is_plain: bool) {
        if !is_plain
            && let Some((place, _)) = self.innermost
            && let Some(object) = self.values.get_mut(place as usize)
        {
            object.has_escaped_key = true;
        }
        self.text(start, end, is_plain);
    }

    #[inline(always)]
    fn text(&mut self, start: usize, end: usize, is_plain: bool) {
        self.add(start, end, if is_plain { SpanKind::Plain } else { SpanKind::Escaped });
    }

    #[inline(always)]
    fn word(&mut self, start: usize, end: usize) {
        self.add(start, end, SpanKind::Word);
    }
}

impl<'j> JsonValue<'j> {
    /// The value as it is written.
    #[inline]
    pub fn written(&self) -> &'j str {
        self.span().map_or("", |span| self.cut(span))
    }

    /// The text that this is, without quotes and escapes.
    #[inline]
    pub fn text(&self) -> Option<Cow<'j, str>> {
        self.span().and_then(|span| self.text_of(span))
    }

    /// The members of an object, in their order; of anything else there are none.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'j, str>, JsonValue<'j>)> + use<'j> {
        let whole = *self;
        self.entries().map(move |(key, value)| (whole.text_of(key).unwrap_or_default(), value))
    }

    /// The member with this key; of several the last one. Nothing if there is a key that is not Unicode.
    #[inline]
    pub fn member(&self, key: &str) -> Option<JsonValue<'j>> {
        self.last_member(|name| match name.kind {
            SpanKind::Plain => Some(self.is_plain_text(name, key)),
            _ => Some(self.text_of(name)? == key),
        })
    }

    /// The members with these keys, in one pass, each as [`member`](Self::member) finds it.
    #[cfg(any(feature = "http-server", feature = "http-client"))]
    pub(super) fn members_of<const KEYS: usize>(&self, keys: [&str; KEYS]) -> [Option<JsonValue<'j>>; KEYS] {
        let mut found = [None; KEYS];
        for (name, value) in self.entries() {
            let read = if name.kind == SpanKind::Plain { None } else { Some(self.text_of(name)) };
            for (key, place) in keys.iter().zip(&mut found) {
                let is_it = match &read {
                    None => self.is_plain_text(name, key),
                    Some(Some(text)) => text == key,
                    Some(None) => return [None; KEYS],
                };
                if is_it {
                    *place = Some(value);
                }
            }
        }
        found
    }

    /// The element at this position of a list, counted from 0.
    pub(super) fn element(&self, at: usize) -> Option<JsonValue<'j>> {
        let is_list = self.span().is_some_and(|span| span.kind == SpanKind::List);
        if is_list { self.inside().nth(at) } else { None }
    }

    /// Whether this is an object.
    #[inline]
    pub fn is_object(&self) -> bool {
        self.span().is_some_and(|span| span.kind == SpanKind::Object)
    }

    /// Whether lists and objects are inside one another at most so many times. Where it is not known, it is denied.
    pub(super) fn is_within(&self, deepest: usize) -> bool {
        usize::try_from(self.depth).is_ok_and(|depth| depth <= deepest)
    }

    /// The members of an object whose keys have no escapes, in their order; nothing for anything else.
    #[inline]
    pub fn plain_members(&self) -> Option<impl Iterator<Item = (&'j str, JsonValue<'j>)> + use<'j>> {
        let is_plain = self.span().is_some_and(|span| span.kind == SpanKind::Object && !span.has_escaped_key);
        let whole = *self;
        is_plain.then(|| self.entries().map(move |(key, value)| (whole.between_quotes(key), value)))
    }

    #[inline]
    fn span(&self) -> Option<&'j Span> {
        self.values.first()
    }

    #[inline]
    fn cut(&self, span: &Span) -> &'j str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    #[inline]
    fn between_quotes(&self, span: &Span) -> &'j str {
        self.text.get(span.start as usize + 1..span.end as usize - 1).unwrap_or_default()
    }

    #[inline]
    fn text_of(&self, span: &Span) -> Option<Cow<'j, str>> {
        match span.kind {
            SpanKind::Plain => Some(Cow::Borrowed(self.between_quotes(span))),
            SpanKind::Escaped => serde_json::from_str::<JsonKey<'_>>(self.cut(span)).ok().map(|key| key.0),
            SpanKind::Object | SpanKind::List | SpanKind::Word => None,
        }
    }

    #[inline(always)]
    fn is_text_of(&self, span: &Span, text: &str) -> bool {
        match span.kind {
            SpanKind::Plain => self.is_plain_text(span, text),
            SpanKind::Escaped => self.text_of(span).unwrap_or_default() == text,
            SpanKind::Object | SpanKind::List | SpanKind::Word => false,
        }
    }

    /// The last member with a key for which this holds; nothing if it cannot be said of a key. Only the keys are looked at:
    /// of most members nothing else is needed.
    #[inline]
    fn last_member(&self, is_it: impl Fn(&Span) -> Option<bool>) -> Option<JsonValue<'j>> {
        let mut members = if self.is_object() { self.values.get(1..)? } else { &[] };
        let mut found = None;
        while let [name, behind @ ..] = members {
            let count = behind.first()?.count as usize;
            if is_it(name)? {
                found = Some(behind);
            }
            members = behind.get(count..)?;
        }
        let found = found?;
        let values = found.get(..found.first()?.count as usize)?;
        Some(JsonValue { text: self.text, values, depth: self.depth.saturating_sub(1) })
    }

    /// Whether a text without escapes is this one. Most keys that are looked for are not there, and most have another length.
    #[inline(always)]
    fn is_plain_text(&self, span: &Span, text: &str) -> bool {
        let (start, end) = (span.start as usize + 1, span.end as usize - 1);
        end - start == text.len() && self.text.as_bytes().get(start..end) == Some(text.as_bytes())
    }

    /// The values right inside of this one, keys among them.
    #[inline]
    fn inside(&self) -> Inside<'j> {
        let values = self.values.get(1..).unwrap_or_default();
        Inside { text: self.text, values, depth: self.depth.saturating_sub(1) }
    }

    /// The members: their keys and their values.
    #[inline]
    fn entries(&self) -> impl Iterator<Item = (&'j Span, JsonValue<'j>)> + use<'j> {
        let Inside { text, mut values, depth } = self.inside();
        if !self.is_object() {
            values = &[];
        }
        std::iter::from_fn(move || {
            let (key, behind) = values.split_first()?;
            let count = behind.first()?.count;
            let (value, behind) = behind.split_at_checked(count as usize)?;
            values = behind;
            Some((key, JsonValue { text, values: value, depth }))
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Inside<'j> {
    text: &'j str,
    values: &'j [Span],
    depth: u32,
}

impl<'j> Iterator for Inside<'j> {
    type Item = JsonValue<'j>;

    #[inline]
    fn next(&mut self) -> Option<JsonValue<'j>> {
        let count = self.values.first()?.count;
        let (values, behind) = self.values.split_at_checked(count as usize)?;
        self.values = behind;
        Some(JsonValue { text: self.text, values, depth: self.depth })
    }
}

impl Json for JsonValue<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        let members = || -> Vec<(Cow<'_, str>, Self)> {
            let whole = *self;
            self.entries().map(|(key, value)| (whole.text_of(key).unwrap_or_default(), value)).collect()
        };
        match self.kind() {
            JsonKind::Null => JsonView::Null,
            JsonKind::Bool(value) => JsonView::Bool(value),
            JsonKind::Number(written) => JsonView::Number(written),
            JsonKind::Text => JsonView::Text(Json::text(self)),
            JsonKind::List => JsonView::List(self.inside().collect()),
            JsonKind::Object => JsonView::Object(Cow::Owned(members())),
        }
    }

    #[inline]
    fn kind(&self) -> JsonKind<'_> {
        let Some(span) = self.span() else { return JsonKind::Null };
        match span.kind {
            SpanKind::Object => JsonKind::Object,
            SpanKind::List => JsonKind::List,
            SpanKind::Plain | SpanKind::Escaped => JsonKind::Text,
            SpanKind::Word => {
                let written = self.cut(span);
                match written.as_bytes().first() {
                    Some(b'n') => JsonKind::Null,
                    Some(b't') => JsonKind::Bool(true),
                    Some(b'f') => JsonKind::Bool(false),
                    _ => JsonKind::Number(Cow::Borrowed(written)),
                }
            }
        }
    }

    #[inline]
    fn text(&self) -> Cow<'_, str> {
        JsonValue::text(self).unwrap_or_default()
    }

    #[inline]
    fn is_text(&self, text: &str) -> bool {
        self.span().is_some_and(|span| self.is_text_of(span, text))
    }

    fn with_member<B>(&self, key: &str, take: impl FnOnce(Option<&Self>) -> B) -> B {
        take(self.last_member(|name| Some(self.is_text_of(name, key))).as_ref())
    }

    fn each_element<B>(&self, mut take: impl FnMut(&Self) -> ControlFlow<B>) -> ControlFlow<B> {
        let is_list = self.span().is_some_and(|span| span.kind == SpanKind::List);
        self.inside().filter(|_| is_list).try_for_each(|element| take(&element))
    }

    fn each_member<B>(&self, mut take: impl FnMut(&str, &Self) -> ControlFlow<B>) -> ControlFlow<B> {
        self.entries().try_for_each(|(key, value)| match key.kind {
            SpanKind::Plain => take(self.between_quotes(key), &value),
            _ => take(&self.text_of(key).unwrap_or_default(), &value),
        })
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{NamedShape, Protocol, Record, RecordField, Shape, ShapeIndex};
    use mcp_protocol_machine::shape::{CompiledShapes, judge};
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::recognise::tests::nearly_json;
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
            judge(&NOTHING, &shape, &JsonReader::default().read(json).unwrap())
                .map_err(|mismatch| mismatch.to_string())
        };
        let good = r#" { "te\u0078t" : "a\"b" , "list":[ 1.0, -2 ,3e0 ], "flag" :false,"none":null,
            "big":18446744073709551615 } "#;
        assert_eq!(verdict(good), Ok(()));
        assert_eq!(
            verdict(r#"{"text":"a\"b","big":18446744073709551616}"#).unwrap_err(),
            "big: expected a whole number that a `u64` holds, found 18446744073709551616"
        );
        assert_eq!(
            verdict(r#"{"text":"a\"b","list":[0,{}]}"#).unwrap_err(),
            "list[1]: expected a whole number, found an object"
        );
        assert_eq!(verdict(r#"{"text":"a\"b","text":1}"#).unwrap_err(), "text: expected \"a\"b\", found 1");
        assert_eq!(verdict("[]").unwrap_err(), "expected an object, found a list");
    }

    /// Objects that have a few keys, some of them twice or with escapes, in any order.
    fn with_keys_twice() -> impl Strategy<Value = String> {
        let key = prop::sample::select(vec![r#""type""#, r#""a""#, r#""\u0061""#, r#""b""#, r#""other""#]);
        let value = prop::sample::select(vec![r#""x""#, r#""y""#, r#""\u0078""#, "1", "null", r#"{"a":1}"#]);
        let members = prop::collection::vec((key, value), 0..5);
        members.prop_map(|members| {
            let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", members.join(","))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_compiled_shape_takes_nothing_that_the_judge_refuses(text in with_keys_twice()) {
            let field = RecordField::required;
            let records: Vec<Shape> = vec![
                Shape::Record(Record::new(vec![field("type", Shape::literal("x")), field("a", Shape::Int)].into())),
                Shape::Record(Record::new(vec![field("type", Shape::literal("y"))].into())),
                Shape::Record(Record::new(vec![field("b", Shape::Text)].into())),
            ];
            let mut protocol = NOTHING.clone();
            protocol.shapes = vec![NamedShape::named("Union", Shape::Union(records.into()))].into();
            let mut reader = JsonReader::default();
            let value = reader.read(&text).unwrap();
            let has = CompiledShapes::new(&protocol).has(ShapeIndex(0), &value);
            let judged = judge(&protocol, &Shape::Named(ShapeIndex(0)), &value);
            let mut keys: Vec<_> = value.members().map(|(key, _)| key).collect();
            keys.sort();
            let is_twice = keys.windows(2).any(|keys| keys[0] == keys[1]);
            prop_assert!(has == judged.is_ok() || is_twice && !has, "{}: {:?}", text, judged);
        }
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

    /// Whether the members of all objects are found by their keys, and no others.
    fn finds_members(json: JsonValue<'_>, expected: &Value) -> bool {
        match expected {
            Value::Object(members) => {
                let others = ["id", "method", "params", "", "a", "dohtem"].into_iter();
                let mut keys = members.keys().map(String::as_str).chain(others);
                keys.all(|key| match (json.member(key), members.get(key)) {
                    (Some(found), Some(member)) => finds_members(found, member) && value(&found) == *member,
                    (found, member) => {
                        found.is_none() && member.is_none() && json.with_member(key, |found| found.is_none())
                    }
                })
            }
            Value::Array(elements) => {
                (0..).zip(elements).all(|(at, one)| json.element(at).is_some_and(|it| finds_members(it, one)))
            }
            _ => json.member("id").is_none(),
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
                value(&JsonReader::default().read(json).unwrap()),
                serde_json::from_str::<Value>(json).unwrap(),
                "{json}"
            );
        }
        for json in ["", "]", "[", "{\"a", "\"\\", "[}{]", "{} {}", "[1,]", "{\"a\" 1}", r#""\u00g0""#, "01"]
        {
            assert!(JsonReader::default().read(json).is_none(), "{json}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_text_is_read_as_serde_reads_it(text in nearly_json()) {
            let mut reader = JsonReader::default();
            match (reader.read(&text), serde_json::from_str::<Value>(&text)) {
                (Some(read), Ok(expected)) => {
                    prop_assert!(finds_members(read, &expected), "{}", text);
                    prop_assert_eq!(value(&read), expected);
                }
                (None, Ok(_)) => prop_assert!(false, "left {}", text),
                // Numbers that no float is near, and texts that are not Unicode.
                (Some(read), Err(_)) => prop_assert!(read.written().contains(['e', 'E', '\\']), "took {}", text),
                (None, Err(_)) => {}
            }
        }
    }

    #[test]
    fn the_last_of_several_members_with_one_key_counts() {
        let mut reader = JsonReader::default();
        let value = reader.read(r#"{"a":1,"\u0061":{"b":"c"},"d":[{"a":2}]}"#).unwrap();
        assert_eq!(value.member("a").map(|value| value.written()), Some(r#"{"b":"c"}"#));
        let inner = value.member("a").and_then(|value| value.member("b")).and_then(|value| value.text());
        assert_eq!(inner.as_deref(), Some("c"));
        assert!(value.plain_members().is_none() && value.member("b").is_none());
        assert!(
            value.member("d").is_some_and(|list| list.plain_members().is_none() && list.text().is_none())
        );
        let keys: Vec<String> = value.members().map(|(key, _)| key.into_owned()).collect();
        assert_eq!(keys, ["a", "a", "d"]);
    }

    #[test]
    fn nesting_is_limited_and_known() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let mut reader = JsonReader::default();
        for (levels, most, is_within) in
            [(0, 0, false), (1, 0, false), (1, 1, true), (128, 127, false), (128, 128, true)]
        {
            let text = nested(levels);
            let read = reader.read(&text).is_some_and(|value| value.is_within(most));
            assert_eq!(read, is_within, "{levels} {most}");
        }
        assert!(reader.read(&nested(129)).is_none());
        let text = format!(r#"{{"a":{},"b":{{}}}}"#, nested(5));
        let value = reader.read(&text).unwrap();
        assert!(value.is_within(6) && !value.is_within(5));
        assert!(value.member("a").unwrap().is_within(5) && !value.member("a").unwrap().is_within(4));
    }

    #[test]
    fn a_large_text_gives_its_room_back() {
        let mut reader = JsonReader::default();
        let many = format!("[{}0]", "0,".repeat(KEPT * 2));
        assert!(reader.read(&many).is_some());
        assert!(reader.read("[]").is_some());
        assert!(reader.values.capacity() <= KEPT);
    }

    #[test]
    fn texts_are_alike_that_differ_in_numbers_and_texts_alone() {
        let first = r#"{"t":9,"m":{"id":"a","p":[1.5,null,{"x":"","\u0061":"\n"}]},"e":{}}"#;
        for (before, after, is_alike) in [
            (r#""t":9"#, r#""t":10"#, true),
            (r#""t":9"#, r#""t":-0.5e3"#, true),
            (r#""t":9"#, r#""t":"9""#, false),
            (r#""t":9"#, r#""t":01"#, false),
            (r#""t":9"#, r#""t":9 "#, false),
            (r#""t":9"#, r#""T":9"#, false),
            (r#""a""#, r#""""#, true),
            (r#""a""#, r#""of some length, and é""#, true),
            (r#""a""#, r#""\u0061""#, false),
            (r#""a""#, r#""a":1"#, false),
            ("1.5", "1", true),
            ("null", "7", true),
            ("null", "nul", false),
            ("null", "true", false),
            (r#""x":"""#, r#""x":"\n""#, false),
            ("{}}", "{}]", false),
            ("{}}", "{}}}", false),
            ("{}}", "{}", false),
        ] {
            let mut reader = JsonReader::of_alike();
            assert!(reader.read(first).is_some());
            let text = first.replacen(before, after, 1);
            assert_ne!(text, first);
            let found = reader.alike.as_mut().unwrap().find(&text, DEEPEST);
            assert_eq!(found.is_some(), is_alike, "{text}");
            assert!(reader.alike.as_mut().unwrap().find(&text, 3).is_none(), "it is four levels deep");
        }
    }

    #[test]
    fn texts_that_are_alike_are_found_again_after_others() {
        let mut reader = JsonReader::of_alike();
        for number in 0..1_000 {
            assert!(reader.read(&format!(r#"{{"{number}":0}}"#)).is_some());
        }
        let two_kinds = |number: u32| format!(r#"{{"{}":{number}}}"#, ["id", "method"][number as usize % 2]);
        for number in 0..200 {
            assert!(reader.read(&two_kinds(number)).is_some());
        }
        for number in 200..300 {
            let text = two_kinds(number);
            assert!(reader.alike.as_mut().unwrap().find(&text, DEEPEST).is_some(), "{text}");
        }
    }

    /// A text with other numbers and texts in it, also in place of keys, and sometimes with other bytes.
    fn varied(text: &str, choices: &[u8]) -> String {
        const NUMBERS: [&str; 8] = ["0", "10", "-7", "1.25", "1e9", "01", "-", "123456789012345678901"];
        const TEXTS: [&str; 7] = [
            r#""""#,
            r#""a""#,
            r#""longer than the others""#,
            r#""\n""#,
            r#""é{""#,
            r#""\u0069d""#,
            "\"\u{1}\"",
        ];
        let mut choices = choices.iter().map(|choice| usize::from(*choice));
        let mut varied = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '"' => rest.match_indices('"').nth(1).map_or(rest.len(), |(end, _)| end + 1),
                '0'..='9' | '-' => {
                    rest.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(rest.len())
                }
                other => other.len_utf8(),
            };
            let (token, behind) = rest.split_at(end);
            let choice =
                if end > 1 || first.is_ascii_digit() { choices.next().unwrap_or_default() } else { 0 };
            varied += match (first, choice / 2, choice % 2) {
                (_, _, 0) => token,
                ('"', other, _) => TEXTS[other % TEXTS.len()],
                (_, other, _) => NUMBERS[other % NUMBERS.len()],
            };
            rest = behind;
        }
        varied
    }

    /// What was read, whatever it was read by.
    fn all_of(read: Option<JsonValue<'_>>) -> Option<(String, u32)> {
        read.map(|value| (format!("{:?}", value.values), value.depth))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn a_text_that_is_like_another_is_read_as_it_is_read_alone(
            kinds in prop::collection::vec(nearly_json(), 1..9),
            turns in prop::collection::vec(
                (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..8), 2..9_u32),
                1..24,
            ),
        ) {
            let mut reader = JsonReader::of_alike();
            for (kind, choices, deepest) in turns {
                let kind: &String = kind.get(&kinds);
                let text = varied(kind, &choices);
                let mut alone = JsonReader::default();
                prop_assert_eq!(all_of(reader.read_to(&text, deepest)), all_of(alone.read_to(&text, deepest)), "{}", text);
            }
        }
    }
}
