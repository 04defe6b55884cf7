//! Held against a validator for Python, with the types of MCP's SDKs for Python and TypeScript.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use mcp_protocol_machine::shape::ShapeMismatch;

use super::random::{Random, changed, value};
use super::writing::Nothing;
use super::*;
use crate::json_schema::item::Item;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers");

/// A shape by its name, and a value.
pub(super) type Case = (String, Tree);

/// What the Python script next to the other peers prints.
pub(super) fn python(command: &str, input: &str) -> Tree {
    printed(&format!("{FOLDER}/.venv/bin/python"), "json_schema.py", command, input)
}

/// What the TypeScript one prints.
fn node(command: &str, input: &str) -> Tree {
    printed("node", "json_schema.mjs", command, input)
}

fn printed(program: &str, script: &str, command: &str, input: &str) -> Tree {
    let mut child = Command::new(program)
        .args([&format!("{FOLDER}/{script}"), command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    tree(&String::from_utf8(output.stdout).unwrap())
}

/// Cases as the scripts read them.
pub(super) fn input(schema: Option<&Tree>, cases: &[Case]) -> String {
    let cases = cases.iter().map(|(name, value)| Tree::List(vec![Tree::text(&**name), value.clone()]));
    let mut members = vec![("cases".to_owned(), Tree::List(cases.collect()))];
    members.extend(schema.map(|schema| ("schema".to_owned(), schema.clone())));
    Tree::Object(members).to_string()
}

fn verdicts(printed: &Tree) -> Vec<bool> {
    printed.elements().iter().map(|verdict| *verdict == Tree::Bool(true)).collect()
}

/// Random values of all shapes of a schema, and the same with a mistake.
fn cases(protocol: &Protocol, seed: u64, many: usize) -> Vec<Case> {
    let mut random = Random::new(seed);
    let mut cases = Vec::new();
    while cases.len() < many {
        for named in protocol.shapes.iter() {
            let value = value(&mut random, protocol, &named.shape, 6);
            cases.push((named.name.to_string(), changed(&mut random, &value)));
            cases.push((named.name.to_string(), value));
        }
    }
    cases
}

/// What is said of a value.
struct Judged {
    case: Case,
    /// By the shapes that are read from the schema.
    shape: Result<(), ShapeMismatch>,
    /// By the schema that is written of these shapes.
    written: bool,
    /// By the schema.
    original: bool,
    /// Whether its shape, and those which that one needs, say all that the schema says.
    says_all: bool,
}

/// What is said of random values of a schema.
fn judged(schema: &Tree, items: &[Item], seed: u64, many: usize) -> Vec<Judged> {
    let protocol = Tables::new(items).protocol;
    let cases = cases(&protocol, seed, many);
    let accepted = |schema: &Tree| verdicts(&python("judge", &input(Some(schema), &cases)));
    let (by_original, by_written) = (accepted(schema), accepted(&write(&protocol, None, &Nothing)));
    assert_eq!((by_original.len(), by_written.len()), (cases.len(), cases.len()));
    let (mut judged, mut says_all) = (Vec::new(), BTreeMap::new());
    for ((name, value), (original, written)) in cases.into_iter().zip(by_original.into_iter().zip(by_written))
    {
        let (index, named) = protocol.shape_by_name(&name).unwrap();
        let shape = judge(&protocol, &named.shape, &&value);
        let says_all = *says_all.entry(index).or_insert_with(|| {
            let needed = write(&protocol, Some(index), &Nothing);
            let is_needed = |item: &&Item| needed.get("$defs").unwrap().get(&item.name).is_some();
            items.iter().filter(is_needed).all(|item| item.unsaid.is_empty())
        });
        judged.push(Judged { case: (name, value), shape, written, original, says_all });
    }
    judged
}

/// How often each kind of verdict was found, and the cases that are of none.
#[derive(Debug, Default)]
pub(super) struct Tally {
    kinds: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Tally {
    /// Adds a case to its kind, or to the wrong ones.
    pub(super) fn add(&mut self, kind: Option<&'static str>, wrong: impl FnOnce() -> String) {
        match kind {
            Some(kind) => *self.kinds.entry(kind).or_default() += 1,
            None => self.wrong.push(wrong()),
        }
    }

    /// How many cases are of a kind.
    pub(super) fn count(&self, kind: &str) -> usize {
        self.kinds.get(kind).copied().unwrap_or_default()
    }

    /// How many cases have different verdicts.
    pub(super) fn different(&self) -> usize {
        self.kinds.values().sum::<usize>() - self.count(GOOD) - self.count(BAD)
    }

    /// Every case is of a kind, and every kind occurs.
    #[track_caller]
    pub(super) fn assert_explained(&self, kinds: &[&'static str]) {
        let wrong: Vec<&str> = self.wrong.iter().take(40).map(String::as_str).collect();
        assert!(wrong.is_empty(), "{:#?}, {} wrong:\n{}", self.kinds, self.wrong.len(), wrong.join("\n"));
        for kind in kinds {
            assert!(self.count(kind) > 0, "{:#?}: none is of the kind: {kind}", self.kinds);
        }
    }
}

pub(super) const GOOD: &str = "all accept it";
pub(super) const BAD: &str = "all refuse it";
const WIDER: &str = "the schema has bounds, lengths, patterns or closed records, which no shape says";
const EARLIER: &str = "a later alternative of a union takes what looks like an earlier one";
const EARLIER_AND_WIDER: &str = "a later alternative takes it, but the schema has that one closed";
const BEYOND: &str = "an integer beyond 64 bits";
const FUNCTION: &str =
    "zod checks with a function what its schema leaves out: Base64, and objects that are `any` there";
const FORMAT: &str = "zod checks a format, which is an annotation in a schema";
const PREPARED: &str = "zod removes a `content` that is `null` before it looks, which its schema leaves out";

/// Of which kind the verdicts of the shapes and of the two schemas are.
fn kind_of(judged: &Judged) -> Option<&'static str> {
    let Judged { shape, written, original, says_all, .. } = judged;
    let is_beyond =
        |mismatch: &ShapeMismatch| mismatch.found == "1e30" && mismatch.expected.contains("whole number");
    match (shape, written, original) {
        (Ok(()), true, true) => Some(GOOD),
        (Err(_), false, false) => Some(BAD),
        (Ok(()), true, false) if !says_all => Some(WIDER),
        (Err(_), true, true) => Some(EARLIER),
        (Err(_), true, false) if !says_all => Some(EARLIER_AND_WIDER),
        (Err(mismatch), false, true) if is_beyond(mismatch) => Some(BEYOND),
        _ => None,
    }
}

impl Judged {
    /// Whether the shape finds `null` as the `content`.
    fn is_null_content(&self) -> bool {
        self.shape.as_ref().is_err_and(|mismatch| mismatch.path == "content" && mismatch.found == "null")
    }

    fn describe(&self) -> String {
        let Judged { case: (name, value), shape, written, original, .. } = self;
        format!("{name}: original {original}, written {written}, {shape:?}: {value}")
    }
}

/// How many items have left something out.
fn wider(items: &[Item]) -> usize {
    items.iter().filter(|item| !item.unsaid.is_empty()).count()
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers`, which `.ci/run` installs"]
fn shapes_of_mcp_accept_what_its_schema_accepts() {
    let schema = python("export", "");
    let items = read(&schema, "Root");
    assert!(items.len() > 150 && wider(&items) < 10);

    let mut tally = Tally::default();
    for judged in judged(&schema, &items, 11, 20_000) {
        tally.add(kind_of(&judged), || judged.describe());
    }
    tally.assert_explained(&[WIDER, EARLIER, BEYOND]);
    assert!(tally.count(GOOD) > 5000 && tally.count(BAD) > 5000 && tally.different() < 50, "{tally:?}");
}

#[test]
#[ignore = "needs Python, Node and the packages of `tests/peers`, which `.ci/run` installs"]
fn shapes_of_mcp_accept_what_its_zod_types_accept() {
    let schema = node("export", "");
    let items = read(&schema, "Root");
    assert!(items.len() > 150 && wider(&items) < 20);

    let judged = judged(&schema, &items, 14, 40_000);
    let cases: Vec<Case> = judged.iter().map(|judged| judged.case.clone()).collect();
    let by_zod = node("judge", &input(None, &cases));
    assert_eq!(by_zod.elements().len(), cases.len());
    let mut tally = Tally::default();
    for (judged, by_zod) in judged.iter().zip(by_zod.elements()) {
        let kind = match (by_zod.as_text().unwrap(), judged.original) {
            ("accepted", true) | ("refused" | "custom" | "invalid_format", false) => kind_of(judged),
            ("accepted", false) if judged.is_null_content() => Some(PREPARED),
            ("custom", true) => kind_of(judged).map(|kind| if kind == GOOD { FUNCTION } else { kind }),
            ("invalid_format", true) => kind_of(judged).map(|kind| if kind == GOOD { FORMAT } else { kind }),
            _ => None,
        };
        tally.add(kind, || format!("zod {by_zod}, {}", judged.describe()));
    }
    tally.assert_explained(&[WIDER, EARLIER, EARLIER_AND_WIDER, FUNCTION, FORMAT, PREPARED]);
    assert!(tally.count(GOOD) > 20_000 && tally.count(BAD) > 10_000 && tally.different() < 4000, "{tally:?}");
}
