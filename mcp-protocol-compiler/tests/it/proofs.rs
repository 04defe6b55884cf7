//! The proofs of `proofs/`: that the page which maps promises to theorems and tests speaks of what there is, and that
//! Coq accepts them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what they expect by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files with proofs.
fn files() -> Vec<String> {
    let listed = fs::read_dir(project().join("proofs")).unwrap();
    let names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names.filter(|name| name.ends_with(".v")).collect();
    files.sort();
    files
}

const STATED: [&str; 3] = ["Theorem", "Corollary", "Example"];

/// Everything that is proved: its name, the word that introduces it, and whether a comment ends right above it.
fn proved() -> BTreeMap<String, (&'static str, bool)> {
    let mut proved = BTreeMap::new();
    for file in files() {
        let text = read(&format!("proofs/{file}"));
        let mut above = "";
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let word = ["Lemma", "Theorem", "Corollary", "Example"]
                .into_iter()
                .find(|word| line.trim_start().starts_with(&format!("{word} ")));
            if let (Some(word), Some(name)) = (word, words.nth(1)) {
                let name = name.trim_end_matches(':').to_owned();
                let before = proved.insert(name.clone(), (word, above.ends_with("*)")));
                assert!(before.is_none(), "{file}: `{name}` is proved twice");
            }
            above = line;
        }
    }
    proved
}

/// What stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the map: what is promised, what is proved, what is tested.
fn rows(page: &str) -> Vec<[&str; 3]> {
    let start = page.find("## The map").unwrap();
    let end = page.find("## What the proofs assume").unwrap();
    let lines = page[start..end].lines().filter(|line| line.starts_with('|'));
    let rows = lines.map(|line| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        [(); 3].map(|()| cells.next().unwrap_or_else(|| panic!("`{line}` has fewer than three columns")))
    });
    rows.filter(|[_, proved, _]| *proved != "proved" && !proved.starts_with("---")).collect()
}

#[test]
fn the_map_of_promises_names_theorems_and_tests_that_exist() {
    let page = read("proofs/README.md");
    let proved = proved();
    let mut named = BTreeSet::new();
    let rows = rows(&page);
    for [what, theorems, tests] in &rows {
        assert!(!theorems.is_empty() || !tests.is_empty(), "neither proved nor tested: {what}");
        for theorem in quoted(theorems) {
            assert!(proved.contains_key(theorem), "{what}: no theorem is called `{theorem}`");
            named.insert(theorem);
        }
        for test in quoted(tests) {
            let (path, name) =
                test.split_once("::").unwrap_or_else(|| panic!("{what}: `{test}` is not a test"));
            assert!(read(path).contains(&format!("fn {name}(")), "{what}: no test is called `{test}`");
        }
    }
    for (name, (word, _)) in &proved {
        assert!(*word == "Lemma" || named.contains(name.as_str()), "`{name}` is not in the map");
    }
    // Every promise and every section of the two pages has a place in it.
    for promise in ["G1", "G2", "G3", "G4"] {
        assert!(rows.iter().any(|[what, _, _]| what.starts_with(&format!("**{promise}**"))), "{promise}");
    }
}

#[test]
fn each_theorem_is_explained_and_none_is_left_unproved() {
    for (name, (word, explained)) in proved() {
        assert!(explained || !["Theorem", "Corollary"].contains(&word), "no comment above `{name}`");
    }
    let script = read("proofs/build.sh");
    let (page, statements) = (read("proofs/README.md"), read("proofs/statements.txt"));
    let stated: BTreeSet<&str> = statements
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.trim_start_matches('@'))
        .collect();
    let expected = proved();
    let expected: BTreeSet<&str> = expected
        .iter()
        .filter(|(_, (word, _))| STATED.contains(word))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(stated, expected, "run proofs/build.sh and read what differs in statements.txt");
    for file in files() {
        let text = read(&format!("proofs/{file}"));
        for word in ["Admitted", "admit", "Axiom", "Parameter", "Conjecture", "Hypothesis"] {
            let found = text.split(|at: char| !at.is_alphanumeric()).any(|found| found == word);
            assert!(!found, "{file} has `{word}`");
        }
        let name = file.trim_end_matches(".v");
        assert!(script.split([' ', '"']).any(|listed| listed == name), "build.sh leaves {file} out");
        assert!(page.contains(&format!("[{file}]({file})")), "the page leaves {file} out");
    }
}

#[test]
#[ignore = "needs Coq"]
fn coq_accepts_the_proofs_and_they_rest_on_no_axiom() {
    let script = project().join("proofs/build.sh");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proofs");
    let built = Command::new("sh").arg(script).arg(&directory).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // What Coq has printed is what is checked in.
    assert_eq!(fs::read_to_string(directory.join("statements.txt")).unwrap(), read("proofs/statements.txt"));
}
