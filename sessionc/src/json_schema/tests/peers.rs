//! Held against a validator for Python, with the types of MCP's SDK for Python.

use std::io::Write;
use std::process::{Command, Stdio};

use super::random::{Random, changed, value};
use super::writing::Nothing;
use super::*;
use crate::json_schema::item::Item;

/// What the script beside the other peers prints.
fn python(command: &str, input: &str) -> Tree {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers");
    let mut child = Command::new(format!("{folder}/.venv/bin/python"))
        .args([&format!("{folder}/json_schema.py"), command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    tree(&String::from_utf8(output.stdout).unwrap())
}

/// Which values the definitions of a schema accept.
fn accepted(schema: &Tree, cases: &[(String, Tree)]) -> Vec<bool> {
    let cases = cases.iter().map(|(name, value)| Tree::List(vec![Tree::text(&**name), value.clone()]));
    let input = Tree::Object(vec![
        ("schema".to_owned(), schema.clone()),
        ("cases".to_owned(), Tree::List(cases.collect())),
    ]);
    let verdicts = python("judge", &input.to_string());
    verdicts.elements().iter().map(|verdict| *verdict == Tree::Bool(true)).collect()
}

/// Random values of all shapes of a schema, and the same with a mistake.
fn cases(protocol: &Protocol, many: usize) -> Vec<(String, Tree)> {
    let mut random = Random::new(11);
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

#[test]
#[ignore = "needs Python and the packages of `tests/peers`, which `.ci/run` installs"]
fn shapes_of_mcp_accept_what_its_schema_accepts() {
    let schema = python("export", "");
    let items = read(&schema, "Root");
    let protocol = Tables::new(&items).protocol;
    assert!(items.len() > 150);
    let cases = cases(&protocol, 20_000);
    let says_all = |item: &Item| item.unsaid.is_empty();
    assert!(items.iter().filter(|item| says_all(item)).count() > items.len() - 10);

    let written = write(&protocol, None, &Nothing);
    let (by_original, by_written) = (accepted(&schema, &cases), accepted(&written, &cases));
    let (mut good, mut bad, mut beyond, mut wrong) = (0, 0, 0, Vec::new());
    for ((name, value), (original, written)) in cases.iter().zip(by_original.into_iter().zip(by_written)) {
        let (_, named) = protocol.shape_by_name(name).unwrap();
        let judged = judge(&protocol, &named.shape, &value);
        match (judged.is_ok(), written, original) {
            (true, true, true) => good += 1,
            (false, false, false) => bad += 1,
            // A number beyond its bounds, which no shape says.
            (true, true, false) => beyond += 1,
            // A later alternative of a union would take it, but the value looks like an earlier one.
            (false, true, true) => beyond += 1,
            _ => wrong.push(format!("{name}: original {original}, written {written}, {judged:?}: {value}")),
        }
    }
    assert!(good > 5000 && bad > 5000 && beyond < 50, "{good} good, {bad} bad, {beyond} explained");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
