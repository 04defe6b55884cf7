//! The official test suite: what a schema accepts, its shapes accept; and if they say all of it, they accept nothing else.

use std::fs;
use std::path::Path;

use super::*;

/// The suite for drafts that have `$defs`, out of the source of a Python package, which `.ci/run` fetches.
const FOLDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers/json-schema/json/tests/draft2020-12");

#[test]
#[ignore = "needs the JSON Schema test suite, which `.ci/run` fetches"]
fn shapes_agree_with_the_suite() {
    let mut files: Vec<_> =
        fs::read_dir(Path::new(FOLDER)).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    let (mut exact, mut wider, mut narrower) = (0, 0, 0);
    for file in files.iter().filter(|file| file.is_file()) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let groups = tree(&fs::read_to_string(file).unwrap());
        for group in groups.elements() {
            let schema = group.get("schema").unwrap();
            let items = read(schema, "Root");
            let tables = Tables::new(&items).protocol;
            let says_all = items.iter().all(|item| item.unsaid.is_empty());
            let root = match items.first() {
                Some(first) if first.name == "Root" => Shape::Named(ShapeIndex(0)),
                _ => Shape::Any,
            };
            for test in group.get("tests").unwrap().elements() {
                let data = test.get("data").unwrap();
                let valid = test.get("valid") == Some(&Tree::Bool(true));
                let accepted = judge(&tables, &root, &data);
                let described = |tree: &Tree| {
                    tree.get("description").and_then(Tree::as_text).unwrap_or_default().to_owned()
                };
                match (valid, &accepted, says_all) {
                    (true, Ok(()), _) | (false, Err(_), _) => exact += 1,
                    (false, Ok(()), false) => wider += 1,
                    // Without a `type` a keyword says nothing of values of other types; a shape does.
                    (true, Err(mismatch), _)
                        if mismatch.expected.starts_with("an object") && mismatch.found != "an object"
                            || mismatch.expected == "a list" && mismatch.found != "a list" =>
                    {
                        narrower += 1;
                    }
                    // A union takes what several alternatives take.
                    (false, Ok(()), true) if name == "oneOf" => wider += 1,
                    _ => {
                        wrong.push(format!("{name}: {}: {}: {accepted:?}", described(group), described(test)))
                    }
                }
            }
        }
    }
    assert!(exact > 800, "{exact} exact, {wider} wider, {narrower} narrower");
    assert!(
        wrong.is_empty(),
        "{} wrong, {exact} exact, {wider} wider, {narrower} narrower:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
