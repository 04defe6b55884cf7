//! Unions that are read from a schema: each alternative can be chosen.

use serde_json::{Value, json};

use super::random::Random;
use super::reading::{accepted, errors};
use super::shapes;

#[test]
fn a_union_is_looked_at_again_where_what_it_names_has_changed() {
    let schema = r##"{"$defs":{
        "Dependency": {"anyOf":[{"$ref":"#/$defs/Version"},{"type":"null"},{"properties":{"sdk":{"type":"string"}}}]},
        "Version": {"oneOf":[{"$ref":"#/$defs/One"},{"$ref":"#/$defs/Other"}]},
        "One": {"type":["array","null"],"items":{"type":"string"}},
        "Other": {"type":["null","array"],"items":{"type":"integer"}}
    }}"##;
    let shapes = accepted(schema);
    assert!(shapes.contains("type Version = [string | int] | null\n"), "{shapes}");
    assert!(shapes.contains("type Dependency = Version | {\nsdk?: string\n}\n"), "{shapes}");
}

#[test]
fn an_alternative_that_goes_first_may_take_those_behind_it() {
    let schema = r##"{"$defs":{"Source": {"anyOf":[
        {"properties":{"source":{"type":"string"},"path":{"type":"string"}},"required":["path"]},
        {"properties":{"source":{"const":"regex"},"path":{"type":"string"}},"required":["path","source"]},
        {"properties":{"path":{"type":"string"},"source":{"type":"string"}},"required":["source"]},
        {"properties":{"source":{"const":"code"},"path":{"type":"string"}},"required":["path","source"]}
    ]}}}"##;
    accepted(schema);
}

#[test]
fn what_two_records_share_is_what_both_say() {
    let schema = r##"{"$defs":{
        "Bindings": {"type":"array","items":{"anyOf":[
            {"allOf":[{"$ref":"#/$defs/Base"},{"$ref":"#/$defs/Timer"}]},
            {"allOf":[{"$ref":"#/$defs/Queue"},{"$ref":"#/$defs/Base"}]},
            {"$ref":"#/$defs/Timer","properties":{"kind":{"enum":["timer","queue"]},"at":{"type":"integer"}}}
        ]}},
        "Base": {"properties":{"kind":{"type":"string"},"name":{"type":"string"}},"required":["kind"]},
        "Timer": {"properties":{"kind":{"const":"timer"},"at":{"type":"string"}}},
        "Queue": {"properties":{"kind":{"const":"queue"}}}
    }}"##;
    let shapes = accepted(schema);
    assert!(shapes.contains("{\n...Base,\n...Timer,\nkind: \"timer\"\n}"), "{shapes}");
    assert!(shapes.contains("{\n...Queue,\n...Base,\nkind: \"queue\"\n}"), "{shapes}");
    // No value has a text that is an integer. The note says so.
    assert!(shapes.contains("kind?: \"timer\""), "{shapes}");
    assert!(shapes.contains("-- The schema says more: `allOf`"), "{shapes}");
}

#[test]
fn a_list_within_a_named_union_is_told_from_another_list() {
    let schema = r##"{"$defs":{
        "Hooks": {"oneOf":[{"$ref":"#/$defs/Texts"},{"type":"array","items":{"$ref":"#/$defs/Hook"}},{"type":"boolean"}]},
        "Texts": {"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
        "Hook": {"type":"object","properties":{"url":{"type":"string"}}}
    }}"##;
    let shapes = accepted(schema);
    assert!(shapes.contains("type Hooks = string | [string | Hook] | bool\n"), "{shapes}");
}

#[test]
fn a_field_may_have_its_own_record_within() {
    let schema = r##"{"$defs":{
        "Tree": {"properties":{"child":{"allOf":[{"$ref":"#/$defs/Tree"},{"$ref":"#/$defs/Leaf"}]}}},
        "Leaf": {"properties":{"child":{"allOf":[{"$ref":"#/$defs/Leaf"},{"$ref":"#/$defs/Tree"}]}}}
    }}"##;
    accepted(schema);
}

/// Random schemas, made of few names, so that their parts have much in common.
#[test]
fn the_compiler_accepts_the_shapes_of_every_schema() {
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let definitions = (0..DEFINITIONS).map(|number| (format!("T{number}"), schema(&mut random, 3)));
        let schema = json!({ "$defs": definitions.collect::<serde_json::Map<_, _>>() });
        println!("seed {seed}: {schema}");
        let shapes = shapes(&schema.to_string());
        let mut errors = errors(&shapes);
        // Some of the schemas accept no value at all, for it would have itself within.
        errors.retain(|error| error.code.0 != "S0704");
        assert!(errors.is_empty(), "{errors:#?}\n{shapes}");
    }
}

const DEFINITIONS: usize = 5;
const TITLES: [&str; 12] =
    ["One", "Other", "V1", "A", "minus 1", "True", "List", "Object", "Map", "null", "String", "T0"];
const TYPES: [&str; 5] = ["string", "integer", "number", "null", "boolean"];

fn schema(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 4 } else { 12 }) {
        0 => json!({ "type": TYPES[random.below(TYPES.len())] }),
        1 => {
            let values = json!(["a", "b", 1, -1, true, false]);
            let value = json!({ "const": values[random.below(6)] });
            // The names of variants are those of others, too, and of what has none.
            match TITLES.get(random.below(TITLES.len() * 2)) {
                Some(title) => json!({ "const": value["const"], "title": title }),
                None => value,
            }
        }
        2 | 3 => json!({ "$ref": format!("#/$defs/T{}", random.below(DEFINITIONS)) }),
        4 => json!({ "type": ["array", "null"], "items": schema(random, depth - 1) }),
        5 => json!({ "type": "object", "additionalProperties": schema(random, depth - 1) }),
        6 | 7 => {
            let names = ["kind", "a", "b"];
            let properties =
                names[random.below(3)..].iter().map(|name| ((*name).to_owned(), schema(random, depth - 1)));
            let properties: serde_json::Map<_, _> = properties.collect();
            let required = &names[random.below(4)..];
            json!({ "type": "object", "properties": properties, "required": required })
        }
        8 => json!({ "anyOf": schemas(random, depth - 1) }),
        9 | 10 => {
            let positions = schemas(random, depth - 1);
            let titles = ["at", "of", "to", "at"];
            let titled = |(place, schema): (usize, Value)| match schema {
                Value::Object(mut members) if random.below(2) == 0 => {
                    members.insert("title".to_owned(), json!(titles[place % titles.len()]));
                    Value::Object(members)
                }
                other => other,
            };
            let positions: Vec<Value> = positions.into_iter().enumerate().map(titled).collect();
            let least = random.below(positions.len() + 1);
            match random.below(3) {
                0 => json!({ "prefixItems": positions, "items": false, "minItems": least }),
                1 => json!({ "prefixItems": positions, "minItems": least }),
                _ => {
                    let others = schema(random, depth - 1);
                    json!({ "prefixItems": positions, "items": others, "minItems": least })
                }
            }
        }
        _ => json!({ "allOf": schemas(random, depth - 1) }),
    }
}

fn schemas(random: &mut Random, depth: usize) -> Vec<Value> {
    (0..random.below(3) + 2).map(|_| schema(random, depth)).collect()
}
