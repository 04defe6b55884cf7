//! Judging: each shape, paths, unions, and what holds for random shapes.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{
    CompiledShapes, DEEPEST, Json, JsonView, ShapeMismatch, absent_params, choose, choose_by_member, hides,
    judge, sample,
};
use crate::protocol::{
    Literal, NamedShape, Position, Presence, Protocol, Record, RecordField, Shape, ShapeIndex,
};

mod random;
mod unions;

impl Json for &Value {
    fn view(&self) -> JsonView<'_, Self> {
        match self {
            Value::Null => JsonView::Null,
            Value::Bool(value) => JsonView::Bool(*value),
            Value::Number(number) => JsonView::Number(number.to_string().into()),
            Value::String(text) => JsonView::Text(Cow::Borrowed(text)),
            Value::Array(elements) => JsonView::List(elements.iter().collect()),
            Value::Object(members) => {
                JsonView::Object(members.iter().map(|(key, value)| (Cow::Borrowed(&**key), value)).collect())
            }
        }
    }
}

fn protocol(shapes: Vec<(&'static str, Shape)>) -> Protocol {
    let mut protocol = Protocol::new("Test".into(), Vec::new().into());
    protocol.shapes = shapes.into_iter().map(|(name, shape)| NamedShape::named(name, shape)).collect();
    protocol
}

fn record(fields: Vec<RecordField>) -> Shape {
    Shape::Record(Record::new(fields.into()))
}

fn union(parts: Vec<Shape>) -> Shape {
    Shape::Union(parts.into())
}

fn list(of: Shape) -> Shape {
    Shape::List(of.into())
}

fn tuple(positions: Vec<Position>) -> Shape {
    Shape::Tuple(positions.into())
}

fn named(index: u16) -> Shape {
    Shape::Named(ShapeIndex(index))
}

use RecordField as Field;

/// What `judge` says of a value, as text. Compiled, the shape takes the same values.
fn verdict(protocol: &Protocol, shape: &Shape, value: &Value) -> String {
    let judged = judge(protocol, shape, &value);
    let mut with_shape = protocol.clone();
    let index = u16::try_from(protocol.shapes.len()).unwrap();
    with_shape.shapes.to_mut().push(NamedShape::named("Judged", shape.clone()));
    let compiled = CompiledShapes::new(&with_shape);
    let has = compiled.has(ShapeIndex(index), &value);
    assert!(has == judged.is_ok() || !has && !compiled.is_whole(), "{value} {shape:?}: {judged:?}");
    judged.map_or_else(|mismatch| mismatch.to_string(), |()| "fits".to_owned())
}

#[test]
fn each_shape_takes_its_own_values() {
    let none = protocol(vec![]);
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1.5),
        json!("a"),
        json!("b"),
        json!([0]),
        json!(["a"]),
        json!({}),
        json!({ "a": "x" }),
    ];
    let shapes = [
        (Shape::Any, "null true -1 18446744073709551615 1.5 \"a\" \"b\" [0] [\"a\"] {} {\"a\":\"x\"}"),
        (Shape::Null, "null"),
        (Shape::Bool, "true"),
        (Shape::Int, "-1"),
        (Shape::Uint, "18446744073709551615"),
        (Shape::Number, "-1 18446744073709551615 1.5"),
        (Shape::Text, "\"a\" \"b\""),
        (Shape::Object, "{} {\"a\":\"x\"}"),
        (Shape::literal("a"), "\"a\""),
        (Shape::literal_int(-1), "-1"),
        (Shape::literal_int(1), ""),
        (Shape::literal_bool(true), "true"),
        (Shape::literal_bool(false), ""),
        (list(Shape::Int), "[0]"),
        (tuple(vec![Position::required(Shape::Int)]), "[0]"),
        (tuple(vec![Position::required(Shape::Any), Position::optional(Shape::Any)]), "[0] [\"a\"]"),
        (tuple(vec![]), ""),
        (Shape::Map(Shape::Text.into()), "{} {\"a\":\"x\"}"),
        (Shape::Map(Shape::Int.into()), "{}"),
        (record(vec![Field::required("a", Shape::Any)]), "{\"a\":\"x\"}"),
        (record(vec![Field::optional("a", Shape::Int)]), "{}"),
        (union(vec![Shape::Null, Shape::Int, Shape::literal("b")]), "null -1 \"b\""),
        (named(0), ""),
        (union(vec![]), ""),
    ];
    for (shape, expected) in shapes {
        let fitting = values.iter().filter(|value| judge(&none, &shape, value).is_ok());
        let fitting: Vec<String> = fitting.map(Value::to_string).collect();
        assert_eq!(fitting.join(" "), expected, "{shape:?}");
    }
}

#[test]
fn a_mismatch_says_where_and_what() {
    let content =
        record(vec![Field::required("type", Shape::literal("text")), Field::required("text", Shape::Text)]);
    let result = record(vec![
        Field::required("content", list(named(0))),
        Field::optional("_meta", Shape::Map(Shape::Uint.into())),
        Field::optional("isError", Shape::Bool),
    ]);
    let tables = protocol(vec![("Content", content), ("Result", result)]);
    let verdict = |value: Value| verdict(&tables, &named(1), &value);
    assert_eq!(verdict(json!({ "content": [], "more": 1 })), "fits", "unknown members are ignored");
    assert_eq!(verdict(json!(5)), "expected an object `Result`, found 5");
    assert_eq!(verdict(json!({})), "content: expected a list, found nothing");
    assert_eq!(verdict(json!({ "content": {} })), "content: expected a list, found an object");
    let good = json!({ "type": "text", "text": "x" });
    assert_eq!(
        verdict(json!({ "content": [good, good, { "type": "text", "text": 5 }] })),
        "content[2].text: expected a string, found 5"
    );
    assert_eq!(
        verdict(json!({ "content": [{ "type": "picture", "text": "x" }] })),
        "content[0].type: expected \"text\", found \"picture\""
    );
    assert_eq!(verdict(json!({ "content": [[]] })), "content[0]: expected an object `Content`, found a list");
    assert_eq!(
        verdict(json!({ "content": [], "_meta": { "example.org/a": -1 } })),
        "_meta[\"example.org/a\"]: expected a whole number that is not negative, found -1"
    );
    assert_eq!(
        verdict(json!({ "content": [], "isError": null })),
        "isError: expected true or false, found null",
        "an optional field may be absent, which is not `null`"
    );
}

#[test]
fn a_whole_number_that_is_too_large_is_called_so() {
    let none = protocol(vec![]);
    let says = |shape: Shape, written: &str| {
        let value: Value = serde_json::from_str(written).unwrap();
        verdict(&none, &shape, &value)
    };
    assert_eq!(
        says(Shape::Int, "9223372036854775808"),
        "expected a whole number that an `i64` holds, found 9223372036854775808"
    );
    assert!(
        says(Shape::Uint, "18446744073709551616").starts_with("expected a whole number that a `u64` holds")
    );
    assert!(says(Shape::Int, "123456789012345678901234567890").contains("that an `i64` holds"));
    let or_text = union(vec![Shape::Int, Shape::Text]);
    assert!(
        says(or_text, "9223372036854775808").starts_with("expected a whole number that an `i64` holds or")
    );
    assert_eq!(says(Shape::Int, "0.5"), "expected a whole number, found 0.5");
    assert_eq!(says(Shape::Uint, "-1"), "expected a whole number that is not negative, found -1");
}

#[test]
fn a_tuple_has_a_shape_for_each_element() {
    let none = protocol(vec![]);
    let pair = tuple(vec![
        Position::required_as("address", Shape::Text),
        Position::required(record(vec![Field::required("a", Shape::Int)])),
        Position::optional_as("block", Shape::Text),
    ]);
    let verdict = |value: Value| verdict(&none, &pair, &value);
    assert_eq!(verdict(json!(["x", { "a": 1 }])), "fits");
    assert_eq!(verdict(json!(["x", { "a": 1 }, "latest"])), "fits");
    assert_eq!(verdict(json!([])), "[0]: expected a string, found nothing");
    assert_eq!(verdict(json!(["x"])), "[1]: expected an object, found nothing");
    assert_eq!(verdict(json!([5])), "[0]: expected a string, found 5");
    assert_eq!(verdict(json!(["x", { "a": "1" }])), "[1].a: expected a whole number, found \"1\"");
    assert_eq!(verdict(json!(["x", { "a": 1 }, null])), "[2]: expected a string, found null");
    assert_eq!(verdict(json!(["x", { "a": 1 }, "y", 4])), "[3]: expected the end of the list, found 4");
    assert_eq!(verdict(json!({})), "expected a list of 2 or 3 elements, found an object");
    assert_eq!(super::sample(&none, &pair).as_deref(), Some(r#"["",{"a":0}]"#));
}

#[test]
fn a_rest_takes_all_elements_behind_the_positions() {
    let none = protocol(vec![]);
    let operation = || record(vec![Field::required("op", Shape::Text)]);
    let transact = tuple(vec![Position::required(Shape::Text), Position::rest_as("operations", operation())]);
    let verdict_of = |value: Value| verdict(&none, &transact, &value);
    for value in [json!(["db"]), json!(["db", { "op": "a" }]), json!(["db", { "op": "a" }, { "op": "b" }])] {
        assert_eq!(verdict_of(value), "fits");
    }
    assert_eq!(verdict_of(json!([])), "[0]: expected a string, found nothing");
    assert_eq!(verdict_of(json!(["db", { "op": "a" }, 7])), "[2]: expected an object, found 7");
    assert_eq!(verdict_of(json!(["db", { "op": "a" }, {}])), "[2].op: expected a string, found nothing");
    assert_eq!(verdict_of(json!({})), "expected a list of at least 1 element, found an object");
    assert_eq!(super::sample(&none, &transact).as_deref(), Some(r#"[""]"#));

    let filled = tuple(vec![Position::optional(Shape::Text), Position::rest(Shape::Int)]);
    let verdict = |value: Value| verdict(&none, &filled, &value);
    assert_eq!([verdict(json!([])), verdict(json!(["a"])), verdict(json!(["a", 1, 2]))], ["fits"; 3]);
    assert_eq!(verdict(json!([1])), "[0]: expected a string, found 1", "positions are filled from the left");
    assert_eq!(verdict(json!(null)), "expected a list, found null");
}

#[test]
fn a_literal_that_is_a_number_is_told_by_its_value() {
    let none = protocol(vec![]);
    for written in ["1", "1.0", "10e-1"] {
        let value: Value = serde_json::from_str(written).unwrap();
        assert_eq!(verdict(&none, &Shape::literal_int(1), &value), "fits", "{written}");
    }
    let verdict = |shape: &Shape, value: Value| verdict(&none, shape, &value);
    assert_eq!(verdict(&Shape::literal_int(i64::MIN), json!(i64::MIN)), "fits");
    assert_eq!(verdict(&Shape::literal_int(1), json!(1.5)), "expected 1, found 1.5");
    assert_eq!(verdict(&Shape::literal_int(1), json!("1")), "expected 1, found \"1\"");
    assert_eq!(verdict(&Shape::literal_bool(true), json!(false)), "expected true, found false");
    let several = union(vec![Shape::literal_int(1), Shape::literal_int(-2), Shape::literal("a")]);
    assert_eq!(verdict(&several, json!(2)), "expected 1, -2 or \"a\", found 2");
}

#[test]
fn a_mismatch_is_short_and_shows_no_control_characters() {
    let none = protocol(vec![]);
    let long = json!("\u{1b}[31m".repeat(100_000));
    let mismatch = judge(&none, &Shape::Int, &&long).unwrap_err();
    assert!(mismatch.found.starts_with(r#""\u{1b}[31m"#) && mismatch.found.len() < 2000, "{mismatch}");
    let map = Shape::Map(Shape::Int.into());
    let mismatch = judge(&none, &map, &&json!({ "k\n".repeat(100_000): "" })).unwrap_err();
    assert!(mismatch.path.starts_with(r#"["k\nk\n"#) && mismatch.path.len() < 2000, "{mismatch}");
}

#[test]
fn nesting_is_limited() {
    let tables = protocol(vec![("Tree", list(named(0)))]);
    let nested = |depth: usize| (0..depth).fold(json!([]), |inner, _| json!([inner]));
    assert_eq!(verdict(&tables, &named(0), &nested(DEEPEST)), "fits");
    let mismatch = judge(&tables, &named(0), &&nested(DEEPEST + 1)).unwrap_err();
    assert_eq!(mismatch.path, "[0]".repeat(DEEPEST + 1));
    assert_eq!(mismatch.found, "more");
    assert_eq!(
        verdict(&tables, &Shape::Any, &nested(DEEPEST + 1)),
        "fits",
        "the shape does not look into it"
    );
}

#[test]
fn shapes_that_lead_nowhere_fit_nothing() {
    let tables = protocol(vec![
        ("Self", named(0)),
        ("Either", union(vec![named(1), named(2)])),
        ("Other", union(vec![named(1), named(1)])),
    ]);
    for index in 0..4 {
        assert!(judge(&tables, &named(index), &&json!(1)).is_err());
        assert_eq!(sample(&tables, &named(index)), None);
    }
}

#[test]
fn samples_are_small() {
    let tables = protocol(vec![
        ("Endless", record(vec![Field::required("next", named(0))])),
        (
            "List",
            record(vec![
                Field::required("value", Shape::Int),
                Field::required("next", union(vec![named(1), Shape::Null])),
            ]),
        ),
        ("Quoted", Shape::literal("a\"\\\n")),
    ]);
    let sample = |shape: &Shape| sample(&tables, shape);
    assert_eq!(sample(&named(0)), None);
    assert_eq!(sample(&union(vec![named(0), Shape::Bool])).unwrap(), "false");
    assert_eq!(sample(&named(1)).unwrap(), r#"{"value":0,"next":null}"#);
    assert_eq!(sample(&named(2)).unwrap(), r#""a\"\\\u000a""#);
    let pair = record(vec![
        Field::required("a", Shape::literal("x")),
        Field::optional("b", Shape::Int),
        Field::required("c", list(named(0))),
    ]);
    assert_eq!(sample(&pair).unwrap(), r#"{"a":"x","c":[]}"#);
}

#[test]
fn a_sample_of_a_union_is_taken_for_the_alternative_that_it_is_of() {
    // `{ a: "" }` nests less, and is taken for the first alternative, of which it is not a value.
    let hides = |inner| {
        let fixed = Field::optional("b", Shape::literal("x"));
        let first = record(vec![Field::required("a", inner), fixed]);
        union(vec![first, record(vec![Field::required("a", Shape::Text)])])
    };
    let tables = protocol(vec![("Inner", hides(record(vec![]))), ("Endless", hides(named(1)))]);
    assert_eq!(sample(&tables, &named(0)).unwrap(), r#"{"a":{}}"#);
    assert_eq!(sample(&tables, &named(1)).unwrap(), r#"{"a":"","b":"not x"}"#);
}

#[test]
fn a_sample_is_told_apart_by_an_optional_field_of_its_own() {
    // `{ a: 0 }` is taken for the first alternative, and so is one with a text in `b`, which has to be a number.
    let first = record(vec![Field::required("a", named(0)), Field::optional("b", Shape::literal("x"))]);
    let second = record(vec![Field::required("a", Shape::Int), Field::optional("b", Shape::literal_int(7))]);
    let tables = protocol(vec![("Root", union(vec![first, second]))]);
    assert_eq!(sample(&tables, &named(0)).unwrap(), r#"{"a":0,"b":7}"#);
}

#[test]
fn a_sample_is_told_apart_by_one_of_several_optional_fields_of_its_own() {
    // With `c` it would be taken for the second alternative, which has no value, as the first one has none.
    let none = || Field::required("a", named(0));
    let first = record(vec![none(), Field::optional("b", Shape::literal("x"))]);
    let second = record(vec![none(), Field::optional("b", Shape::Text), Field::required("c", Shape::Number)]);
    let third = record(vec![
        Field::required("a", Shape::Int),
        Field::optional("b", Shape::literal_int(7)),
        Field::optional("c", Shape::literal("z")),
    ]);
    let tables = protocol(vec![("Root", union(vec![first, second, third]))]);
    assert_eq!(sample(&tables, &named(0)).unwrap(), r#"{"a":0,"b":7}"#);
}

#[test]
fn a_sample_is_told_apart_by_an_optional_object_that_is_not_empty() {
    // Nothing fits the first alternative. In `b` of the second one stands the shape itself, or another one that is a number.
    let fixed = Field::optional("b", Shape::literal("x"));
    let first = record(vec![Field::required("a", named(1)), fixed]);
    let inner = record(vec![
        Field::required("c", Shape::Bool),
        Field::required("next", union(vec![named(0), Shape::Int])),
    ]);
    let second = record(vec![Field::required("a", Shape::Int), Field::optional("b", inner)]);
    let endless = record(vec![Field::required("self", named(1))]);
    let tables = protocol(vec![("Root", union(vec![first, second])), ("Endless", endless)]);
    assert_eq!(sample(&tables, &named(0)).unwrap(), r#"{"a":0,"b":{"c":false,"next":0}}"#);
}

#[test]
fn a_sample_has_a_limit() {
    // Each shape has two of the next one: its sample would have 2⁴⁰ values.
    let shapes = (1..=40).map(|next| {
        ("Two", record(vec![Field::required("a", named(next)), Field::required("b", named(next))]))
    });
    let tables = protocol(shapes.chain([("Last", Shape::Int)]).collect());
    assert_eq!(sample(&tables, &named(0)), None);
    assert!(sample(&tables, &named(35)).is_some());
    let chain = (1..60_000).map(|next| ("Chain", record(vec![Field::optional("a", named(next))])));
    let tables = protocol(chain.collect());
    assert_eq!(sample(&tables, &named(0)).unwrap(), "{}");
}

/// The mismatch of a value that has one.
fn mismatch(protocol: &Protocol, shape: &Shape, value: &Value) -> ShapeMismatch {
    judge(protocol, shape, &value).unwrap_err()
}

#[test]
fn params_that_are_left_out_are_an_empty_list_where_all_values_are_lists() {
    let positions = || tuple(vec![Position::required(Shape::Text)]);
    let shapes = vec![
        ("Empty", tuple(vec![])),
        ("Either", union(vec![positions(), named(0), named(1), list(Shape::Any)])),
        ("Mixed", union(vec![named(1), Shape::Object])),
        ("Itself", named(3)),
        ("Any", Shape::Any),
        ("Fields", record(vec![Field::optional("a", Shape::Int)])),
    ];
    let protocol = protocol(shapes);
    let of = |index| absent_params(&protocol, Some(ShapeIndex(index)));
    assert_eq!([of(0), of(1)], ["[]"; 2]);
    assert_eq!([of(2), of(3), of(4), of(5), of(6)], ["{}"; 5]);
    assert_eq!(absent_params(&protocol, None), "{}");
}
