//! What becomes of schemas.

use std::path::Path;

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};

use super::*;

#[test]
fn types_are_shapes() {
    for (schema, shape) in [
        ("{}", "any"),
        ("true", "any"),
        (r#"{"type":"string"}"#, "string"),
        (r#"{"type":"boolean"}"#, "bool"),
        (r#"{"type":"integer"}"#, "int"),
        (r#"{"type":"integer","minimum":0}"#, "uint"),
        (r#"{"type":"number"}"#, "number"),
        (r#"{"type":"object"}"#, "object"),
        (r#"{"type":["string","null"]}"#, "string | null"),
        (r#"{"type":["integer","number"]}"#, "number"),
        (r#"{"type":"array","items":{"type":"string"}}"#, "[string]"),
        (r#"{"type":"array"}"#, "[any]"),
        (r#"{"prefixItems":[{"type":"string"},{"type":"null"}],"items":false}"#, "[string?, null?]"),
        (
            r#"{"type":"array","prefixItems":[true,{"type":"string"}],"minItems":1,"maxItems":2}"#,
            "[any, string?]",
        ),
        (r#"{"type":"array","prefixItems":[{"type":"string"},true],"minItems":1,"maxItems":1}"#, "[string,]"),
        (
            r#"{"type":"array","items":[{"title":"at","type":"integer"}],"additionalItems":false}"#,
            "[at?: int]",
        ),
        (r#"{"type":"array","items":false}"#, "[]"),
        (
            r#"{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"},"minItems":1}"#,
            "[string, ...int]",
        ),
        (r#"{"type":"array","prefixItems":[{"type":"string"}]}"#, "[string?, ...any]"),
        (
            r#"{"type":"array","items":[{"type":"string"}],"additionalItems":{"enum":["a","b"]}}"#,
            r#"[string?, ...("a" | "b")]"#,
        ),
        (
            r#"{"prefixItems":[{"title":"db","type":"string"}],"items":{"title":"operations","type":"object"},"minItems":1}"#,
            "[db: string, ...operations: object]",
        ),
        (r#"{"prefixItems":[{"title":"db"}],"minItems":1}"#, "[db: any, ...rest: any]"),
        (
            r#"{"allOf":[{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}},{"prefixItems":[true,true],"items":false,"minItems":1}]}"#,
            "[string, int?]",
        ),
        (
            r#"{"allOf":[{"prefixItems":[{"type":"string"}],"items":{"type":"number"}},{"prefixItems":[true,true,{"type":"integer"}],"minItems":1}]}"#,
            "[string, number?, int?, ...number]",
        ),
        (
            r#"{"allOf":[{"prefixItems":[{"title":"a"}],"items":{"title":"b","type":"number"}},{"type":"array","items":{"type":"integer"}}]}"#,
            "[a?: int, ...b: int]",
        ),
        (r#"{"const":["a",1]}"#, r#"["a", 1]"#),
        (
            r#"{"allOf":[{"type":"array","items":{"type":"string"}},{"prefixItems":[true],"items":false,"minItems":1}]}"#,
            "[string,]",
        ),
        (r#"{"type":"object","additionalProperties":{"type":"integer"}}"#, "map int"),
        (r#"{"const":"a"}"#, r#""a""#),
        (r#"{"enum":["a","b",null]}"#, r#""a" | "b" | null"#),
        (r#"{"anyOf":[{"type":"string"},{"enum":["a","b"]}]}"#, r#""a" | "b" | string"#),
        (r#"{"type":"string","enum":["a","b"]}"#, r#""a" | "b""#),
        (r#"{"const":1}"#, "1"),
        (r#"{"const":-2.0}"#, "-2"),
        (r#"{"enum":[1,2,"two",null]}"#, r#"1 | 2 | "two" | null"#),
        (r#"{"type":"integer","enum":[1,2]}"#, "1 | 2"),
        (r#"{"type":"integer","minimum":0,"enum":[-1,2]}"#, "2"),
        (r#"{"anyOf":[{"type":"integer"},{"const":"a"},{"enum":[1,2]}]}"#, r#"1 | 2 | int | "a""#),
        (r#"{"enum":[true,false]}"#, "bool"),
        (r#"{"type":"boolean","const":true}"#, "true"),
        (r#"{"anyOf":[{"const":true},{"type":"boolean"}]}"#, "bool"),
        (r#"{"oneOf":[{"type":"number"},{"type":"integer"},{"type":"string"}]}"#, "number | string"),
    ] {
        let whole = format!(r#"{{"$defs":{{"shape":{schema}}}}}"#);
        assert_eq!(shapes(&whole).trim(), format!("type Shape = {shape}"), "{schema}");
    }
}

#[test]
fn alternatives_with_a_rest_that_nothing_tells_apart_become_one() {
    let joined = |one: &str, other: &str| {
        let whole = format!(r#"{{"$defs":{{"shape":{{"anyOf":[{one},{other}]}}}}}}"#);
        let text = shapes(&whole);
        text.lines().find(|line| line.starts_with("type")).unwrap().to_owned()
    };
    assert_eq!(
        joined(
            r#"{"prefixItems":[{"type":"string"}],"items":{"type":"integer"},"minItems":1}"#,
            r#"{"prefixItems":[{"type":"null"},{"type":"boolean"}],"items":{"type":"null"},"minItems":1}"#
        ),
        "type Shape = [string | null, (int | bool)?, ...(int | null)]"
    );
    assert_eq!(
        joined(
            r#"{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}"#,
            r#"{"type":"array","items":{"type":"null"}}"#
        ),
        "type Shape = [string | int | null]"
    );
}

#[test]
fn objects_are_records() {
    let schema = r##"{
        "title": "tool",
        "description": "A tool.\n\nMore.",
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "Its name." },
            "title": { "type": "string" },
            "x-key": { "$ref": "#/definitions/Meta" }
        },
        "required": ["name", "other"],
        "additionalProperties": {},
        "definitions": { "Meta": { "type": "object", "properties": {} } }
    }"##;
    let expected = "\
--- A tool.
---
--- More.
type Tool = {
--- Its name.
name: string,
title?: string,
\"x-key\"?: Meta,
other: any,
..rest
}

type Meta = {}

";
    assert_eq!(shapes(schema), expected);
}

#[test]
fn all_of_spreads_records() {
    let schema = r##"{"$defs":{
        "Base": { "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } } },
        "More": { "allOf": [{ "$ref": "#/$defs/Base" }, { "properties": { "c": { "type": "null" } }, "required": ["a"] }] },
        "Narrow": { "$ref": "#/$defs/Base", "required": ["b"] },
        "Either": {
            "type": "object",
            "properties": { "kind": { "type": "string" } },
            "anyOf": [{ "required": ["kind"] }, { "properties": { "x": true }, "required": ["x"] }]
        }
    }}"##;
    let expected = "\
type Base = {
a?: string,
b?: int
}

type More = {
...Base,
c?: null,
a: string
}

type Narrow = {
...Base,
b: int
}

type Either = {
kind: string
} | {
x: any,
kind?: string
}

";
    assert_eq!(shapes(schema), expected);
}

#[test]
fn what_no_shape_says_is_named() {
    let schema = r##"{"$defs":{
        "Short": { "type": "object", "properties": {
            "a": { "type": "string", "maxLength": 5 }, "b": { "type": "integer", "minimum": 1, "maximum": 9 }
        }, "additionalProperties": false },
        "Keyed": { "type": "object", "propertyNames": { "type": "string" } },
        "Spelt": { "type": "object", "propertyNames": { "type": "string", "pattern": "^a" } },
        "Elsewhere": { "$ref": "https://example.org/other.json" },
        "Never": { "not": {}, "\nno": 1 },
        "Numbers": { "enum": [1.5, "two"] },
        "Apart": { "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "array", "items": { "type": "null" } }] }
    }}"##;
    let expected = "\
-- The schema says more: `maxLength` of `a`
-- The schema says more: `minimum` of `b`
-- The schema says more: `maximum` of `b`
-- The schema says more: `additionalProperties`
type Short = {
a?: string,
b?: uint
}

type Keyed = object

-- The schema says more: `propertyNames`
type Spelt = object

-- The schema says more: `$ref https://example.org/other.json`
type Elsewhere = any

-- The schema says more: `not`
-- The schema says more: ` no`
type Never = any

-- The schema says more: `const`
type Numbers = number | \"two\"

-- The schema says more: alternatives that nothing tells apart are one here
type Apart = [string | null]

";
    assert_eq!(shapes(schema), expected);
}

#[test]
fn an_alternative_that_another_would_take_goes_first() {
    let schema = r##"{"$defs":{
        "Any": { "anyOf": [{ "$ref": "#/$defs/Plain" }, { "$ref": "#/$defs/Choice" }] },
        "Plain": { "type": "object", "properties": { "type": { "const": "string" } }, "required": ["type"] },
        "Choice": {
            "type": "object",
            "properties": { "type": { "const": "string" }, "enum": { "type": "array", "items": { "type": "string" } } },
            "required": ["type", "enum"]
        }
    }}"##;
    assert!(shapes(schema).starts_with("type Any = Choice | Plain\n"), "{}", shapes(schema));
}

#[test]
fn names_are_words_and_references_go_anywhere() {
    let schema = r##"{
        "type": "object",
        "properties": {
            "tool-name": { "type": "object", "properties": { "again": { "$ref": "#" } } },
            "other": { "$ref": "#/properties/tool-name" },
            "third": { "$ref": "#/$defs/a~1b%20c" },
            "fourth": { "$ref": "#/properties/a~1b~0c" },
            "a/b~c": { "type": "number" }
        },
        "$defs": { "a/b c": { "type": "string" }, "AB.C": { "type": "null" }, "2": true }
    }"##;
    let expected = "\
type Root = {
\"tool-name\"?: {
again?: Root
},
other?: ToolName,
third?: ABC,
fourth?: ABC3,
\"a/b~c\"?: number
}

type ABC = string

type ABC2 = null

type Shape2 = any

type ToolName = {
again?: Root
}

type ABC3 = number

";
    assert_eq!(shapes(schema), expected);
}

/// The shapes of a schema, which the compiler accepts.
pub(super) fn accepted(schema: &str) -> String {
    let shapes = shapes(schema);
    let errors = errors(&shapes);
    assert!(errors.is_empty(), "{errors:#?}\n{shapes}");
    shapes
}

/// What the compiler says of shapes.
pub(super) fn errors(shapes: &str) -> Vec<Diagnostic> {
    let text = format!("{shapes}client Guest\nGuest = End\n");
    let compilation = compile(Path::new("a.session"), &mut |_| Ok(text.clone().into_bytes())).unwrap();
    compilation.diagnostics.into_iter().filter(|finding| finding.severity == Severity::Error).collect()
}

#[test]
fn null_stands_once() {
    let schema = r##"{"$defs":{
        "N": {"type":["string","null"]},
        "X": {"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]},
        "Y": {"anyOf":[{"type":"null"},{"type":"integer"},{"$ref":"#/$defs/N"}]},
        "Z": {"properties":{"z":{"oneOf":[{"type":"null"},{"$ref":"#/$defs/Any"}]}}},
        "Any": true
    }}"##;
    let shapes = accepted(schema);
    assert!(shapes.contains("type X = N\n") && shapes.contains("type Y = int | N\n"), "{shapes}");
    assert!(shapes.contains("z?: Any\n"), "{shapes}");
}

#[test]
fn no_shape_has_a_reserved_name() {
    let shapes = accepted(r##"{"$defs":{"End":{"type":"string"},"end":{"$ref":"#/$defs/End"}}}"##);
    assert_eq!(shapes, "type MyEnd = string\n\ntype MyEnd2 = MyEnd\n\n");
}

#[test]
fn nothing_is_made_of_itself() {
    let schema = r##"{"$defs":{
        "A": {"allOf":[{"$ref":"#/$defs/A"},{"properties":{"a":{"type":"string"}}}]},
        "B": {"allOf":[{"$ref":"#/$defs/B"},{"$ref":"#/$defs/A"}]},
        "C": {"allOf":[{"$ref":"#/$defs/D"},{"properties":{"c":{"type":"string"}}}]},
        "D": {"allOf":[{"$ref":"#/$defs/C"},{"properties":{"d":{"type":"string"}}}]},
        "E": {"anyOf":[{"$ref":"#/$defs/E"},{"type":"string"}]},
        "F": {"$ref":"#/$defs/G"},
        "G": {"$ref":"#/$defs/F"}
    }}"##;
    let shapes = accepted(schema);
    assert!(shapes.contains("type A = {\na?: string\n}\n"), "{shapes}");
    assert!(shapes.contains("type E = string\n"), "{shapes}");
    assert!(shapes.contains("-- The schema says more: `allOf`\ntype C = {\nc?: string\n}\n"), "{shapes}");
    assert!(shapes.contains("type D = {\n...C,\nd?: string\n}\n"), "{shapes}");
}

#[test]
fn titles_of_values_are_names_of_variants() {
    for (schema, shape) in [
        (
            r#"{"oneOf":[{"const":1,"title":"Ok"},{"const":2,"title":"Compile failed"},{"const":3,"title":"GONE_AWAY"}]}"#,
            "1 as Ok | 2 as CompileFailed | 3 as GoneAway",
        ),
        (r##"{"anyOf":[{"const":"#f00","title":"Red"},{"const":"#0f0"}]}"##, r##""#f00" as Red | "#0f0""##),
        (r#"{"type":"integer","enum":[1,-3],"x-enum-varnames":["ERROR","Hint"]}"#, "1 as Error | -3 as Hint"),
        (r#"{"enum":[1,2],"x-enumNames":["One","Two"]}"#, "1 as One | 2 as Two"),
        (r#"{"anyOf":[{"const":1,"title":"One"},{"type":"integer"}]}"#, "1 as One | int"),
        // A variant that is called so in any case.
        (r#"{"enum":["read","write"],"enumNames":["Read","Written"]}"#, r#""read" | "write" as Written"#),
        // Names that are those of others, words that mean something else, sentences, and what is not a name.
        (r#"{"enum":[1,2,3,4],"x-enumNames":["V2","Same","Same","Other"]}"#, "1 | 2 | 3 | 4"),
        (
            r#"{"enum":[1,2,3],"x-enumNames":["End","1st","A name of a variant that nobody would write"]}"#,
            "1 | 2 | 3",
        ),
        (r#"{"enum":[1,2],"x-enumNames":["Größe",7]}"#, "1 | 2"),
        // What the compiler would call the variant by itself, of this value and of another one.
        (
            r#"{"enum":["2026-07-28","b"],"x-enumNames":["V20260728","Second"]}"#,
            r#""2026-07-28" | "b" as Second"#,
        ),
        (r#"{"enum":["2026-07-28","b"],"x-enumNames":[null,"V20260728"]}"#, r#""2026-07-28" | "b""#),
        (r#"{"enum":["","b"],"x-enumNames":[null,"Empty"]}"#, r#""" | "b""#),
        (r#"{"oneOf":[{"const":true,"title":"Yes"},{"const":null,"title":"No"}]}"#, "true | null"),
        // One value is not an enum.
        (r#"{"const":1,"title":"One"}"#, "1"),
    ] {
        let whole = format!(r#"{{"$defs":{{"shape":{schema}}}}}"#);
        assert_eq!(shapes(&whole).trim(), format!("type Shape = {shape}"), "{schema}");
    }
    // A value with two names has none, and a name is that of a record's variant.
    let two = r#"{"$defs":{"Pair":{"type":"object","required":["a","b"],"properties":{
        "a":{"oneOf":[{"const":1,"title":"Ok"},{"const":2,"title":"Bad"}]},
        "b":{"oneOf":[{"const":1,"title":"On"},{"const":3,"title":"Off"}]}}}}}"#;
    assert_eq!(shapes(two).trim(), "type Pair = {\na: 1 | 2 as Bad,\nb: 1 | 3 as Off\n}");
    // One without a name elsewhere may be something else there, and the title of a field is not the name of its value.
    let elsewhere = r#"{"$defs":{"Pair":{"type":"object","required":["a","b"],"properties":{
        "a":{"oneOf":[{"const":1,"title":"Ok"},{"const":2,"title":"Bad"}]},
        "b":{"enum":[1,3]}}}}}"#;
    assert_eq!(shapes(elsewhere).trim(), "type Pair = {\na: 1 | 2 as Bad,\nb: 1 | 3\n}");
    let field = r#"{"$defs":{"Pair":{"type":"object","required":["kind","mode"],"properties":{
        "kind":{"const":"a","title":"Kind"},"mode":{"enum":["a","b"],"title":"Mode"}}}}}"#;
    assert_eq!(shapes(field).trim(), "type Pair = {\nkind: \"a\",\nmode: \"a\" | \"b\"\n}");
    let named = r##"{"$defs":{"Ok":{"type":"object","properties":{"a":{}}},
        "Shape":{"oneOf":[{"const":1,"title":"Ok"},{"$ref":"#/$defs/Ok"}]}}}"##;
    assert!(shapes(named).contains("type Shape = 1 | Ok\n"), "{}", shapes(named));
}
