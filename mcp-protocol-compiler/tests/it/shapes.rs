//! Random shapes: whatever is written, compiling comes to an end, and what it accepts has values and becomes code.

use std::cell::Cell;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};
use mcp_protocol_compiler::{Compilation, Settings, compile, compile_with, generate};
use mcp_protocol_machine::protocol::{Protocol, Shape, ShapeIndex};
use mcp_protocol_machine::shape::{judge, sample};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::view::View;

const NAMES: [&str; 6] = ["A", "B", "C", "D", "E", "F"];
const KEYS: [&str; 5] = ["a", "b", "_meta", "type", "\"x/y\""];

/// The fields of a record as text; `inner` is what their values are.
fn fields(inner: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = Vec<String>> {
    let keys = prop::sample::subsequence(KEYS.to_vec(), 0..=3);
    (keys, prop::collection::vec((0..4u8, inner), 3)).prop_map(|(keys, values)| {
        let field = |(key, (mark, shape)): (&str, (u8, String))| {
            format!("{key}{}: {shape}", if mark > 0 { "?" } else { "" })
        };
        keys.into_iter().zip(values).map(field).collect()
    })
}

fn leaf() -> impl Strategy<Value = String> {
    let built_in = [
        "string", "int", "uint", "number", "bool", "null", "any", "object", "\"x\"", "\"y\"", "1", "-2",
        "true",
    ];
    prop_oneof![
        4 => prop::sample::select(built_in.to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned),
    ]
}

/// A shape as text.
fn shape() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            2 => inner.clone().prop_map(|of| format!("[{of}]")),
            1 => inner.clone().prop_map(|of| format!("map ({of})")),
            1 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" | "))),
            1 => inner.clone().prop_map(|part| format!("({part} | null)")),
            1 => Just("(\"x\" | \"z\" | string)".to_owned()),
            1 => Just("(int | [string] | { a: int })".to_owned()),
            1 => prop::sample::select(vec![
                "(1 | -1 | int)", "(0 | 7 | uint)", "(1 | \"x\" | true)", "(true | false)",
                "({ a: 1, b: int } | { a: 2 })", "({ a: true } | { a: false, b: string })",
            ]).prop_map(str::to_owned),
            4 => fields(inner).prop_map(|fields| format!("{{ {} }}", fields.join(", "))),
        ]
    })
}

/// A record with spreads of the records before it, and members that it does not know.
fn record(before: &'static [&'static str]) -> impl Strategy<Value = String> {
    let spread = match before {
        [] => Just(None).boxed(),
        some => prop::option::of(prop::sample::select(some)).boxed(),
    };
    (fields(shape()), spread, 0..4u8).prop_map(move |(mut fields, spread, rest)| {
        fields.extend(spread.map(|spread| format!("...{spread}")));
        fields.extend((rest == 0).then(|| "..rest".to_owned()));
        format!("{{ {} }}", fields.join(", "))
    })
}

/// Two files: one that declares shapes, and one that overrides some of them and has paths into them.
fn files() -> impl Strategy<Value = (String, String)> {
    let declared = (record(&[]), record(&["A"]), record(&["A", "B"]), shape(), shape(), shape());
    let overriding = prop::collection::vec((prop::sample::select(&NAMES[..]), shape(), any::<bool>()), 0..2);
    let path = prop::collection::vec(prop::sample::select(&KEYS[..]), 1..4).prop_map(|keys| keys.join("."));
    let path = prop_oneof![3 => Just(None), 1 => path.prop_map(Some)];
    (declared, overriding, path).prop_map(|(declared, overriding, path)| {
        let (a, b, c, d, e, f) = declared;
        let shapes = NAMES.iter().zip([a, b, c, d, e, f]);
        let base: String = shapes.map(|(name, shape)| format!("type {name} = {shape}\n")).collect();
        let mut text = "protocol Random\nimport \"base.session\"\n".to_owned();
        for (name, shape, extends) in overriding {
            let shape = match (extends, matches!(name, "A" | "B" | "C")) {
                (false, _) => shape,
                (true, true) => format!("{{ ...{name}, more?: {shape} }}"),
                (true, false) => format!("{name} | {shape}"),
            };
            text.push_str(&format!("override type {name} = {shape}\n"));
        }
        let (alternatives, key) = match &path {
            Some(path) => (format!(" | Shown (C) if {path}"), format!("open key k = Note.{path}\n")),
            None => Default::default(),
        };
        text.push_str(&format!(
            "request Ask \"ask\" (A) -> Told (B){alternatives}\nrequest Other \"other\" (D) -> Answer (E?)\n\
             notification Note \"note\" (F)\n{key}client Guest\nserver Host = dual Guest\n\
             Guest = (*( !Ask . ?reply . End ), *( !Other . ?reply . End ), *( ?Note . End ))\n"
        ));
        (base, text)
    })
}

/// Whether each shape has a value that is judged to have it.
fn has_values(protocol: &Protocol) -> Result<(), TestCaseError> {
    for (index, named) in (0..).zip(protocol.shapes.iter()) {
        let shape = Shape::Named(ShapeIndex(index));
        let Some(text) = sample(protocol, &shape) else {
            return Err(TestCaseError::fail(format!("`{}` has no sample", named.name)));
        };
        let value: Value =
            serde_json::from_str(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        if let Err(mismatch) = judge(protocol, &shape, &View(&value)) {
            return Err(TestCaseError::fail(format!("`{}`: {text}: {mismatch}", named.name)));
        }
    }
    Ok(())
}

#[test]
fn what_is_accepted_has_values_and_becomes_code() {
    let config = ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() };
    let accepted = Cell::new(0);
    let ran = TestRunner::new(config).run(&files(), |(base, text)| {
        let mut read = |path: &Path| -> io::Result<Vec<u8>> {
            let file = if path.ends_with("base.session") { &base } else { &text };
            Ok(file.clone().into_bytes())
        };
        let compilation =
            compile_with(Path::new("random.session"), &mut read, Settings::default().without_tries(true))
                .unwrap();
        if let Some(protocol) = &compilation.protocol {
            accepted.set(accepted.get() + 1);
            let code = generate::expand(protocol, &compilation.sources, &Default::default()).unwrap();
            prop_assert!(syn::parse_file(&code).is_ok(), "{}", code);
            has_values(&generate::machine(protocol))?;
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(accepted.get() > 100, "only {} of 600 were accepted", accepted.get());
}

/// A file with unions of few shapes, of which many are never chosen.
fn unions() -> impl Strategy<Value = String> {
    let parts = [
        "null",
        "any",
        "string",
        "int",
        "number",
        "\"x\"",
        "1",
        "false",
        "{ a: 1, b: int }",
        "{ a: 2 }",
        "[int]",
        "[string]",
        "{ a: int }",
        "{ a: int, b: int }",
    ];
    let part = prop_oneof![3 => prop::sample::select(parts.to_vec()).prop_map(str::to_owned), 1 => leaf()];
    let union = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join(" | "));
    prop::collection::vec(union, NAMES.len()).prop_map(|unions| {
        let declared = NAMES.iter().zip(unions);
        let shapes: String = declared.map(|(name, union)| format!("type {name} = {union}\n")).collect();
        format!("{shapes}notification Note \"note\" (A)\nclient Guest\nGuest = !Note . End\n")
    })
}

/// A file with a union in which the name of another one stands.
fn nested_unions() -> impl Strategy<Value = String> {
    let parts = [
        "string",
        "int",
        "[int]",
        "[string]",
        "{ a: int }",
        "{ a: int, b: int }",
        "{ b: string }",
        "map int",
    ];
    let part = prop::sample::select(parts.to_vec());
    let inner = prop::collection::vec(part.clone(), 2..=2).prop_map(|parts| parts.join(" | "));
    let outer = (prop::collection::vec(part, 1..=2), 0..3usize).prop_map(|(mut parts, place)| {
        parts.insert(place.min(parts.len()), "B");
        parts.join(" | ")
    });
    (outer, inner).prop_map(|(outer, inner)| {
        format!("type A = {outer}\ntype B = {inner}\nnotification Note \"note\" (A)\nclient Guest\nGuest = !Note . End\n")
    })
}

/// The lists and objects that a shape may be, through the names in it.
fn leaves<'p>(protocol: &'p Protocol, shape: &'p Shape, depth: usize, into: &mut Vec<&'p Shape>) {
    match shape {
        Shape::Named(index) if depth > 0 => {
            let named = protocol.shape(*index).into_iter();
            named.for_each(|named| leaves(protocol, &named.shape, depth - 1, into));
        }
        Shape::Union(parts) => parts.iter().for_each(|part| leaves(protocol, part, depth, into)),
        Shape::List(_) | Shape::Map(_) | Shape::Record(_) => into.push(shape),
        _ => {}
    }
}

/// A value of a list or an object that has something in it.
fn filled(protocol: &Protocol, shape: &Shape) -> Option<Value> {
    let text = match shape {
        Shape::List(of) => format!("[{}]", sample(protocol, of)?),
        Shape::Map(of) => format!("{{\"a\":{}}}", sample(protocol, of)?),
        other => sample(protocol, other)?,
    };
    serde_json::from_str(&text).ok()
}

/// Where no finding says that an alternative is hidden, what one says of lists and objects is what its union takes.
#[test]
fn what_is_not_reported_as_hidden_can_be_chosen() {
    let config = ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() };
    let judged = Cell::new(0);
    let ran = TestRunner::new(config).run(&nested_unions(), |text| {
        let bytes = text.clone().into_bytes();
        let compilation = compile_with(
            Path::new("random.session"),
            &mut |_| Ok(bytes.clone()),
            Settings::default().without_tries(true),
        )
        .unwrap();
        let Some(protocol) = &compilation.protocol else { return Ok(()) };
        if compilation.diagnostics.iter().any(|found| found.code.0 == "S0703") {
            return Ok(());
        }
        let tables = generate::machine(protocol);
        for named in tables.shapes.iter() {
            let mut found = Vec::new();
            leaves(&tables, &named.shape, 8, &mut found);
            for leaf in found {
                let Some(value) = filled(&tables, leaf) else { continue };
                let judge = |shape| judge(&tables, shape, &View(&value));
                if judge(leaf).is_ok() {
                    judged.set(judged.get() + 1);
                    prop_assert!(
                        judge(&named.shape).is_ok(),
                        "`{}` does not take {}:\n{}",
                        named.name,
                        value,
                        text
                    );
                }
            }
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(judged.get() > 300, "only {} values were judged", judged.get());
}

/// Follows what the findings of S0703 suggest until there are none; how often.
fn mended(first: &str) -> Result<usize, TestCaseError> {
    let (mut text, mut count) = (first.to_owned(), 0);
    let mut before = (usize::MAX, usize::MAX);
    loop {
        let bytes = text.clone().into_bytes();
        let compilation = compile(Path::new("random.session"), &mut |_| Ok(bytes.clone()))
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        // Of two lists, which one is meant is the author's to say: only a warning has no edit.
        let is_open = |found: &Diagnostic| found.helps.iter().any(|help| !help.edits().is_empty());
        let found = compilation.diagnostics.iter().filter(|found| found.code.0 == "S0703");
        let (errors, warnings): (Vec<_>, Vec<_>) = found.partition(|found| found.severity == Severity::Error);
        let next = errors.first().or_else(|| warnings.iter().find(|found| is_open(found)));
        let Some(finding) = next else { return Ok(count) };
        // One that has no edit may get one when another is mended: all count.
        let left = (errors.len(), warnings.len());
        prop_assert!(left < before, "no better:\n{}\nat first:\n{}", text, first);
        before = left;
        let edited = finding.helps.first().zip(finding.span()).map(|(help, at)| help.apply(at.file, &text));
        let Some(edited) = edited.filter(|edited| *edited != text) else {
            return Err(TestCaseError::fail(format!("no edit for {finding:?}")));
        };
        text = edited;
        count += 1;
    }
}

#[test]
fn what_is_never_chosen_is_mended_by_what_its_finding_suggests() {
    let config = ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() };
    let all = Cell::new(0);
    let ran = TestRunner::new(config).run(&unions(), |first| {
        all.set(all.get() + mended(&first)?);
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(all.get() > 100, "only {} were mended", all.get());
}

#[test]
fn an_alternative_that_is_moved_may_show_where_another_one_belongs() {
    let text = "type A = \"x\"\ntype B = { a: 2 }\ntype C = B | { a: 1, b: int } | A | string\n\
                type D = \"x\" | { a: 1, b: int }\ntype F = { a: int } | C | D\n\
                notification Note \"note\" (F)\nclient Guest\nGuest = !Note . End\n";
    assert_eq!(mended(text).map_err(|error| error.to_string()), Ok(3));
}

#[test]
fn an_alternative_that_others_hide_together_is_not_moved_before_one_that_hides_it_alone() {
    let text = "type B = [int] | { a: 1, b: int }\ntype D = { a: 1, b: int } | [int] | any | B\n\
                notification Note \"note\" (D)\nclient Guest\nGuest = !Note . End\n";
    assert_eq!(mended(text).map_err(|error| error.to_string()), Ok(1));
}

#[test]
fn true_and_false_next_to_one_another_are_one_alternative() {
    for (shape, expected) in [
        ("true | false", 0),
        ("true | null | false", 0),
        ("bool | true | false", 1),
        ("any | true | false", 1),
        ("Flag | true | false", 1),
        ("true | false | bool", 1),
        ("true | bool | false", 1),
        ("true | false | true", 1),
        ("bool | true", 1),
    ] {
        let text = format!(
            "type Flag = true | false\ntype A = {shape}\ntype B = [Flag | string]\n\
             notification Note \"note\" ({{ a: A, b: B }})\nclient Guest\nGuest = !Note . End\n"
        );
        assert_eq!(mended(&text).map_err(|error| error.to_string()), Ok(expected), "{shape}");
    }
}

#[test]
fn a_record_in_a_payload_is_called_after_its_message() {
    let session = "client Guest\nserver Shop = dual Guest\nGuest = rec on . ( !Order . ?Bill . on ⊕ !Tip . on ⊕ End )\n";
    let declared = format!(
        "protocol Shop \"1\"\ntype OrderParams = {{ drink: Drink }}\ntype Drink = {{ name: string }}\n\
         type BillResult = {{ price: int, of?: Drink }}\ntype TipParams = {{ cents: uint }}\n\
         request Order \"shop/order\" (OrderParams) -> Bill (BillResult)\n\
         notification Tip \"shop/tip\" (TipParams?)\n{session}"
    );
    let written = format!(
        "protocol Shop \"1\"\ntype Drink = {{ name: string }}\n\
         request Order \"shop/order\" ({{ drink: Drink }}) -> Bill ({{ price: int, of?: Drink }})\n\
         notification Tip \"shop/tip\" ({{ cents: uint }}?)\n{session}"
    );
    let lines = |text: &str| {
        let compiled = compile(Path::new("shop.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
        assert!(compiled.diagnostics.is_empty(), "{:?}", compiled.diagnostics);
        let protocol = compiled.protocol.as_ref().unwrap();
        let code = generate::expand(protocol, &compiled.sources, &Default::default()).unwrap();
        let mut lines: Vec<String> = code.lines().map(|line| line.trim().to_owned()).collect();
        lines.sort_unstable();
        lines
    };
    let (declared, written) = (lines(&declared), lines(&written));
    assert!(written.iter().any(|line| line == "OrderParams {"));
    // Where a shape stands among the others, and what is said of it, follows from the text.
    let differs =
        |line: &&String| ["shop.session", "ShapeIndex(", "///"].iter().any(|text| line.contains(text));
    let relevant = |lines: Vec<String>| lines.into_iter().filter(|line| !differs(&line)).collect::<Vec<_>>();
    let (declared, written) = (relevant(declared), relevant(written));
    let only: Vec<&String> = declared.iter().filter(|line| !written.contains(line)).collect();
    let other: Vec<&String> = written.iter().filter(|line| !declared.contains(line)).collect();
    assert!(only.is_empty() && other.is_empty(), "declared: {only:#?}\nwritten: {other:#?}");
}

/// What a file and the files that it imports are compiled to.
fn compiled(text: &str, imported: &str) -> io::Result<Compilation> {
    let file = |path: &Path| if path == Path::new("shop.session") { text } else { imported };
    compile(Path::new("shop.session"), &mut |path| Ok(file(path).as_bytes().to_vec()))
}

/// What is in a payload of an imported message, which the tests override.
const IMPORTED: &str = "request Order \"shop/order\" ({ drink: string }) -> Bill (BillResult)\n\
    type BillResult = { price: int }\n";

/// The name of a payload's shape stands in an `override` for what the imported message carries.
#[test]
fn an_override_has_the_fields_of_the_payload_that_it_replaces() {
    let text = "protocol Shop \"2\"\nimport \"base.session\"\n\
        override request Order \"shop/order\" ({ ...OrderParams, size?: int }) -> Bill (BillResult)\n\
        client Guest\nGuest = !Order . ?Bill . End\n";
    let compilation = compiled(text, IMPORTED).unwrap();
    assert!(compilation.diagnostics.is_empty(), "{:?}", compilation.diagnostics);
    let protocol = compilation.protocol.as_ref().unwrap();
    let code = generate::expand(protocol, &compilation.sources, &Default::default()).unwrap();
    assert!(code.contains("drink: String, \"drink\"") && code.contains("size: i64, \"size\""), "{code}");
}

/// Where it carries none, the name stands for nothing else than the shape itself.
#[test]
fn a_payload_that_replaces_another_kind_has_no_earlier_fields() {
    let text = "protocol Shop \"2\"\nimport \"base.session\"\n\
        override request Order \"shop/order\" ({ ...OrderParams, size?: int }) -> Bill (BillResult)\n\
        client Guest\nGuest = !Order . ?Bill . End\n";
    let compilation = compiled(text, &IMPORTED.replace("({ drink: string })", "(_)")).unwrap();
    let messages: Vec<_> = compilation.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["`OrderParams` takes its fields from itself"]);
}

/// A shape of a payload is replaced with its message, and a `type` by `override type`.
#[test]
fn what_replaces_a_shape_is_said_where_another_way_was_tried() {
    let guest = "client Guest\nGuest = !Order . ?Bill . End\n";
    let text = format!(
        "protocol Shop \"2\"\nimport \"base.session\"\noverride type OrderParams = {{ size?: int }}\n{guest}"
    );
    let compilation = compiled(&text, IMPORTED).unwrap();
    let [found] = compilation.diagnostics.as_slice() else { panic!("{:?}", compilation.diagnostics) };
    assert_eq!(found.message, "`OrderParams` is not declared by `type`");
    let text = format!(
        "protocol Shop \"2\"\nimport \"base.session\"\n\
         override request Order \"shop/order\" (_) -> Bill ({{ price: int, tip?: int }})\n{guest}"
    );
    let compilation = compiled(&text, IMPORTED).unwrap();
    let [found] = compilation.diagnostics.as_slice() else { panic!("{:?}", compilation.diagnostics) };
    assert_eq!(found.message, "this shape is called `BillResult`, as another one is");
    assert!(
        found.notes.iter().any(|note| note.contains("`override type BillResult = …`")),
        "{:?}",
        found.notes
    );
}

/// Records in lists, in maps and in parentheses are payloads, too.
#[test]
fn records_within_other_shapes_are_payloads() {
    let text = "protocol Shop \"1\"\nnotification A \"a\" ([{ x: int }])\nnotification B \"b\" (map { x: int })\n\
        notification C \"c\" (({ x: int } | null)?)\nnotification D \"d\" ({ x: int } | [{ y: [int] }]?)\n\
        client Guest\nGuest = !A . !B . !C . !D . End\n";
    let compilation = compiled(text, "").unwrap();
    assert!(compilation.diagnostics.is_empty(), "{:?}", compilation.diagnostics);
}

#[test]
fn what_is_called_after_its_message_stands_in_lists_as_any_shape() {
    let found = |own: &str| -> Vec<String> {
        let text = format!(
            "protocol Bank \"1\"\n\
             request All \"all\" ([PayParams]) -> Whole ([PaidResult] | null)\n\
             request Pay \"pay\" if now ({{ now: bool }}) -> Paid ({{ receipt: string }}) | Later (map PayParams) if a\n\
             request Own \"own\" (map LaterResult) -> Owned {own}\nclient Guest\nserver Till = dual Guest\n\
             Guest = (*( !All . ?reply . End ), *( !Pay . ?reply . End ), *( !Own . ?reply . End ))\n"
        );
        let compilation = compiled(&text, "").unwrap();
        compilation.diagnostics.iter().map(|found| found.message.clone()).collect()
    };
    assert_eq!(found("([LaterResult])"), Vec::<String>::new());
    // A message whose payload is not a shape in place gives no name.
    assert_eq!(found("([WholeThing])"), ["a list of Rust is not written with brackets"]);
}

#[test]
fn a_word_of_the_language_is_a_payload_by_itself() {
    let text = "
        protocol P
        request Ask \"ask\" (string) -> Told (int)
        request All \"all\" (any?) -> Found (object)
        request Sum \"sum\" ([bool]) -> Total (number?)
        request Own \"own\" (String) -> Done (\"OK\")
        client C
        server S = dual C
        C = (*( !Ask . ?Told . End ), *( !All . ?Found . End ), *( !Sum . ?Total . End ), *( !Own . ?Done . End ))
    ";
    let compilation = compiled(text, "").unwrap();
    let protocol = compilation.protocol.as_ref().unwrap_or_else(|| panic!("{:?}", compilation.diagnostics));
    let tables = generate::machine(protocol);
    let fits = |message: &str, payload: Value| {
        let message = tables.messages.iter().find(|one| one.name == message).unwrap();
        let shape = tables.shape(message.shape.unwrap()).unwrap();
        judge(&tables, &shape.shape, &View(&payload)).is_ok()
    };
    assert!(fits("Ask", "soup".into()) && !fits("Ask", 1.into()));
    assert!(fits("Told", 1.into()) && !fits("Told", "1".into()));
    assert!(fits("All", Value::Null) && fits("Found", serde_json::json!({})) && !fits("Found", 1.into()));
    assert!(fits("Sum", vec![true].into()) && !fits("Sum", true.into()) && fits("Total", 1.5.into()));
    assert!(fits("Own", "soup".into()) && !fits("Own", 1.into()));
    assert!(fits("Done", "OK".into()) && !fits("Done", "no".into()));
    let api = generate::signatures(protocol, &compilation.sources).unwrap();
    for method in [
        "pub fn ask(&self, params: String) -> client::Call<'_, i64>;",
        "pub fn all(&self, params: Option<typed::Value>) -> client::Call<'_, typed::shapes::Object>;",
        "pub fn sum(&self, params: types::SumParams) -> client::Call<'_, Option<typed::shapes::Number>>;",
        "pub fn own(&self, params: String) -> client::Call<'_, types::DoneResult>;",
    ] {
        assert!(api.contains(method), "{method} in:\n{api}");
    }
}
