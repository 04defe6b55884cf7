//! `.ci/run` runs what `cargo test` leaves out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use layers::files;

/// The arguments with which Cargo runs the tests of a source file: `--lib --bins`, or `--test NAME`.
fn target(file: &Path) -> Option<String> {
    let package = file.ancestors().skip(1).find(|folder| folder.join("Cargo.toml").is_file())?;
    let inside = file.strip_prefix(package).ok()?;
    let mut parts = inside.components().filter_map(|part| part.as_os_str().to_str());
    match (parts.next()?, parts.next()) {
        ("src", _) => Some("--lib --bins".to_owned()),
        ("tests", Some(name)) => Some(format!("--test {}", name.trim_end_matches(".rs"))),
        _ => None,
    }
}

/// Whether a line marks tests as ignored: an attribute, or what a program without the usual harness has in its place.
fn is_marked(line: &str) -> bool {
    line.trim_start().starts_with(concat!("#[", "ignore"))
        || line.contains(concat!(".with_ignored", "_flag(true)"))
}

#[test]
fn every_program_with_tests_that_are_ignored_is_run_by_the_ci() {
    let mut targets = BTreeSet::new();
    for file in files::of_the_project() {
        if file.extension().is_some_and(|end| end == "rs")
            && fs::read_to_string(&file).is_ok_and(|text| text.lines().any(is_marked))
        {
            targets.insert(target(&file).unwrap_or_else(|| panic!("{}: of which target?", file.display())));
        }
    }
    assert!(targets.len() > 3, "{targets:?}: are the sources read?");
    let script = fs::read_to_string(files::root().join(".ci/run")).unwrap();
    let script = script.replace("\\\n", " ");
    let runs: Vec<&str> = script.lines().filter(|line| line.contains("-- --ignored")).collect();
    let missing: Vec<&String> = targets
        .iter()
        .filter(|target| !runs.iter().any(|run| format!("{run} ").contains(&format!("{target} "))))
        .collect();
    assert!(
        missing.is_empty(),
        "`.ci/run` runs no ignored test of {missing:?}: name it where it calls `cargo test … -- --ignored`"
    );
}
