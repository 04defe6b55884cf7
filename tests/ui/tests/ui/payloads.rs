//! Random values of random shapes: the generated types read what the judge of payloads accepts, refuse what it refuses,
//! and write what both take again.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mcp_protocol_compiler::{compile, generate};
use mcp_protocol_machine::protocol::{Literal, Position, Presence, Protocol, Record, Shape};
use mcp_protocol_machine::shape::judge;
use serde_json::{Map, Value, json};

use crate::expanded::{codes, empty_folder, seed_and_cases, with_shapes};
use crate::random::Random;
use crate::rustc::{Dependencies, Rustc};
use crate::view::View;

/// How many protocols, and how many values for the first shape of each.
const PROTOCOLS: usize = 6;
const VALUES: usize = 120;

/// A value in a shape's place, deeper than which there is `null`.
const DEEPEST: usize = 8;

/// From here on, records have no optional fields.
const DEEP: usize = 4;

/// So many members that are `null` are tried without.
const MOST_NULLS: usize = 12;

/// Writes random values of the shapes of a protocol.
struct Values<'a> {
    tables: &'a Protocol,
    random: &'a mut Random,
}

impl Values<'_> {
    fn one(&mut self, of: &[Value]) -> Value {
        self.random.one(of).cloned().unwrap_or_default()
    }

    fn value(&mut self, shape: &Shape, depth: usize) -> Value {
        if depth > DEEPEST {
            return Value::Null;
        }
        match shape {
            Shape::Any => {
                self.one(&[json!(null), json!(1), json!("x"), json!([1]), json!({"a": null}), json!(true)])
            }
            Shape::Null => Value::Null,
            Shape::Bool => self.one(&[json!(true), json!(false)]),
            Shape::Int => self.one(&[json!(0), json!(-1), json!(7), json!(i64::MAX), json!(i64::MIN)]),
            Shape::Uint => self.one(&[json!(0), json!(1), json!(u64::MAX)]),
            Shape::Number => self.one(&[json!(0), json!(0.5), json!(-1), json!(u64::MAX), json!(1e300)]),
            Shape::Text => self.one(&[json!("x"), json!("y"), json!(""), json!("other")]),
            Shape::Object => self.one(&[json!({}), json!({"o": 1})]),
            Shape::Literal(Literal::Text(text)) => json!(text),
            Shape::Literal(Literal::Int(number)) => json!(number),
            Shape::Literal(Literal::Bool(value)) => json!(value),
            Shape::List(of) => (0..self.random.below(3)).map(|_| self.value(of, depth + 1)).collect(),
            Shape::Tuple(positions) => {
                let required =
                    positions.iter().take_while(|position| position.presence.is_required()).count();
                // Of a rest up to three elements.
                let has_rest = positions.last().is_some_and(|last| last.presence == Presence::Rest);
                let most = positions.len() + if has_rest { 2 } else { 0 };
                let many = required + self.random.below(most - required + 1);
                let elements = (0..many).filter_map(|place| Position::of_element(positions, place));
                elements.map(|position| self.value(&position.shape, depth + 1)).collect()
            }
            Shape::Map(of) => {
                let keys =
                    ["a", "b", "k"].into_iter().filter(|_| self.random.percent(40)).collect::<Vec<_>>();
                Value::Object(
                    keys.into_iter().map(|key| (key.to_owned(), self.value(of, depth + 1))).collect(),
                )
            }
            Shape::Record(record) => Value::Object(self.members(record, depth)),
            Shape::Union(shapes) => match self.random.one(shapes) {
                Some(shape) => self.value(shape, depth + 1),
                None => Value::Null,
            },
            Shape::Named(index) => match self.tables.shape(*index) {
                Some(named) => self.value(&named.shape, depth + 1),
                None => Value::Null,
            },
        }
    }

    fn members(&mut self, record: &Record, depth: usize) -> Map<String, Value> {
        let mut members = Map::new();
        for field in record.fields.iter() {
            if field.required || depth < DEEP && self.random.percent(60) {
                members.insert(field.name.to_string(), self.value(&field.shape, depth + 1));
            }
        }
        if self.random.percent(20) {
            members.insert("extra".to_owned(), self.one(&[json!(1), json!(null), json!({"q": []})]));
        }
        members
    }

    /// Puts something else in one place of a value.
    fn changed(&mut self, value: Value) -> Value {
        if self.random.percent(30) {
            return self.anything();
        }
        match value {
            Value::Object(mut members) if !members.is_empty() => {
                let keys: Vec<String> = members.keys().cloned().collect();
                let Some(key) = self.random.one(&keys).cloned() else { return Value::Object(members) };
                let Some(of) = members.remove(&key) else { return Value::Object(members) };
                if self.random.percent(70) {
                    let changed = self.changed(of);
                    members.insert(key, changed);
                }
                Value::Object(members)
            }
            Value::Array(mut elements) if !elements.is_empty() => {
                let place = self.random.below(elements.len());
                let of = elements.remove(place);
                match self.random.below(5) {
                    0 => {}
                    1 => elements.extend([of.clone(), of]),
                    _ => elements.insert(place, self.changed(of)),
                }
                Value::Array(elements)
            }
            _ => self.anything(),
        }
    }

    fn anything(&mut self) -> Value {
        self.one(&[
            json!(null),
            json!(1),
            json!(-1),
            json!(0.5),
            json!("x"),
            json!("Self"),
            json!([]),
            json!([1]),
            json!({}),
            json!({"a": 1}),
            json!(true),
            json!(u64::MAX),
        ])
    }
}

/// The types read a member that is `null` as an absent one where its field is optional. These are the values that may be
/// meant: with each of these members, and without it.
fn meant(value: &Value) -> Vec<Value> {
    let mut all = vec![value.clone()];
    let places = nulls(value, "");
    assert!(places.len() <= MOST_NULLS, "too many ways to read {value}");
    for place in places {
        let (object, key) = place.rsplit_once('/').unwrap_or_default();
        let key = key.replace("~1", "/").replace("~0", "~");
        let mut without = all.clone();
        for value in &mut without {
            let members = value.pointer_mut(object).and_then(Value::as_object_mut);
            members.and_then(|members| members.remove(&key));
        }
        all.extend(without);
    }
    all
}

/// The members that are `null`, as pointers.
fn nulls(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let inside = |(key, value): (&String, &Value)| {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                if value.is_null() { vec![place] } else { nulls(value, &place) }
            };
            members.iter().flat_map(inside).collect()
        }
        Value::Array(elements) => {
            let inside = |(place, value): (usize, &Value)| nulls(value, &format!("{at}/{place}"));
            elements.iter().enumerate().flat_map(inside).collect()
        }
        _ => Vec::new(),
    }
}

/// A protocol, and values for its first shape.
struct Case {
    text: String,
    tables: Protocol,
    values: Vec<Value>,
}

impl Case {
    fn new(text: String, random: &mut Random) -> Case {
        let compilation =
            compile(Path::new("random.session"), &mut |_| Ok(text.clone().into_bytes())).unwrap();
        let tables = generate::machine(compilation.protocol.as_ref().unwrap());
        let shape = tables.shapes.first().unwrap().shape.clone();
        let mut values = Values { tables: &tables, random };
        let one = |values: &mut Values<'_>| {
            let value = values.value(&shape, 0);
            if values.random.percent(50) { values.changed(value) } else { value }
        };
        let values = (0..VALUES).map(|_| one(&mut values)).collect();
        Case { text, tables, values }
    }

    fn is_accepted(&self, value: &Value) -> bool {
        let shape = &self.tables.shapes.first().unwrap().shape;
        judge(&self.tables, shape, &View(value)).is_ok()
    }

    /// What is wrong with what the type made of a value: it wrote this, or refused to read.
    fn wrong(&self, value: &Value, written: Result<Value, &str>) -> Option<String> {
        match (self.is_accepted(value), written) {
            (true, Err(error)) => Some(format!("the judge accepts {value}, which is not read: {error}")),
            (false, Ok(_)) if !meant(value).iter().any(|meant| self.is_accepted(meant)) => {
                Some(format!("the judge refuses {value}, which is read"))
            }
            (true, Ok(written)) if !self.is_accepted(&written) => {
                Some(format!("the judge refuses {written}, which is written for {value}"))
            }
            _ => None,
        }
    }
}

/// The program: it reads `number JSON` from each line, and writes what the type of that protocol writes.
fn program(cases: &[Case]) -> String {
    let mut program = "//! Random payloads.\n#![allow(dead_code)]\n\n".to_owned();
    let mut arms = String::new();
    for (number, case) in cases.iter().enumerate() {
        let name = &case.tables.shapes.first().unwrap().name;
        writeln!(program, "mod p{number};").unwrap();
        writeln!(arms, "            \"{number}\" => written::<p{number}::types::{name}>(json),").unwrap();
    }
    program
        + "
fn written<T: serde::de::DeserializeOwned + serde::Serialize>(json: &str) -> String {
    let again = |json: &str| serde_json::from_str::<T>(json).map(|value| serde_json::to_string(&value).unwrap());
    let first = match again(json) {
        Ok(written) => written,
        Err(error) => return format!(\"- {error}\"),
    };
    match again(&first) {
        Ok(second) if second == first => format!(\"+ {first}\"),
        Ok(second) => format!(\"! {first} is read, and written as {second}\"),
        Err(error) => format!(\"! {first} was written, and is not read: {error}\"),
    }
}

fn main() {
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (number, json) = line.split_once(' ').unwrap();
        let said = match number {
" + &arms
        + "            _ => unreachable!(),
        };
        println!(\"{}\", said.replace('\\n', \" \"));
    }
}
"
}

/// What a program says of these lines.
fn said(program: &Path, lines: String) -> String {
    let mut running = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let writes = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = running.wait_with_output().unwrap();
    writes.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// `UI_SEED` chooses other protocols, and `UI_CASES` multiplies them.
#[test]
fn the_generated_types_read_what_the_judge_accepts() {
    let (seed, cases) = seed_and_cases();
    let mut random = Random::new(u64::try_from(seed).unwrap());
    let folder = empty_folder("payloads");
    let mut all = Vec::new();
    for (number, (text, code)) in codes(&mut random, PROTOCOLS * cases, with_shapes).into_iter().enumerate() {
        fs::write(folder.join(format!("p{number}.session")), &text).unwrap();
        fs::write(folder.join(format!("p{number}.rs")), code).unwrap();
        all.push(Case::new(text, &mut random));
    }
    let main = folder.join("payloads.rs");
    fs::write(&main, program(&all)).unwrap();
    let dependencies = Dependencies::of_the_workspace(&crate::CRATES).with_code();
    let program = Rustc::installed("tests/ui").build(&main, &dependencies);
    let mut lines = String::new();
    for (number, case) in all.iter().enumerate() {
        case.values.iter().for_each(|value| writeln!(lines, "{number} {value}").unwrap());
    }
    let said = said(&program, lines);
    let values = all.iter().flat_map(|case| case.values.iter().map(move |value| (case, value)));
    let mut read = 0;
    let mut count = 0;
    for ((case, value), line) in values.zip(said.lines()) {
        let wrong = match line.split_once(' ').unwrap() {
            ("+", written) => {
                read += 1;
                case.wrong(value, Ok(serde_json::from_str(written).unwrap()))
            }
            ("-", error) => case.wrong(value, Err(error)),
            (_, error) => Some(format!("{value}: {error}")),
        };
        assert!(wrong.is_none(), "seed {seed}: {}\n{}", wrong.unwrap_or_default(), case.text);
        count += 1;
    }
    assert_eq!(count, all.len() * VALUES);
    assert!(read * 4 > count && read * 10 < count * 9, "{read} of {count} were read");
}
