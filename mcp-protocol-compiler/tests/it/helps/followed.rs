//! Every suggestion that a program of the corpus gets mends it.

use std::collections::BTreeSet;
use std::path::Path;

use super::corpus::{self, Program};

#[test]
fn a_suggestion_that_is_followed_mends_its_finding() {
    let mut failures = Vec::new();
    let mut followed = 0;
    for program in corpus::all() {
        let compilation = program.compiled();
        followed += compilation
            .diagnostics
            .iter()
            .flat_map(|finding| &finding.helps)
            .filter(|suggestion| !suggestion.edits().is_empty())
            .count();
        failures.extend(program.follow(compilation));
    }
    assert!(failures.is_empty(), "{} of {followed} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(followed > 100, "only {followed} suggestions have edits");
}

/// The files whose suggestions have edits wherever they name text that is not there yet.
const TYPED: [&str; 4] =
    ["relation/race.rs", "relation/suspension.rs", "relation/suggestions.rs", "relation/report.rs"];

/// What is not typed into the file, and what is typed in as many places as a choice has branches.
const OPEN: [&str; 2] = ["--without-closure", "write `&` in place of `⊕`"];

/// The pieces in backticks of a help, of those that are to be typed as they stand.
fn quoted(help: &str) -> impl Iterator<Item = &str> {
    help.split('`').skip(1).step_by(2).filter(|text| !text.contains('…'))
}

#[test]
fn a_suggestion_that_names_text_to_type_has_edits() {
    for file in TYPED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        assert!(path.exists(), "{file} has another name now");
    }
    let mut without = BTreeSet::new();
    for program in corpus::all() {
        let compilation = program.compiled();
        let files: Vec<String> =
            program.files.values().map(|file| String::from_utf8_lossy(file).into_owned()).collect();
        for help in compilation.diagnostics.iter().flat_map(|finding| &finding.helps) {
            let new = |text: &str| !files.iter().any(|file| file.contains(text));
            let typed = TYPED.iter().any(|file| help.made_at().file().ends_with(file));
            let open = !typed || OPEN.iter().any(|text| help.contains(text));
            if !open && help.edits().is_empty() && quoted(help).any(new) {
                without.insert(format!("`{}`: {} ({})", program.name, help.text(), help.made_at()));
            }
        }
    }
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn an_edit_of_text_that_does_not_mend_it_is_advice() {
    // `End only [` would be the beginning of another definition.
    let text =
        "notification Tip \"tip\"\nclient Guest\nGuest = !Tip . Left\nLeft\n= only [must \"a\"] = End\n";
    let program = Program::new("main", text);
    let found = program.compiled().diagnostics.iter().find(|found| found.code.0 == "S0033").unwrap();
    assert!(found.helps.iter().all(|help| help.is_withdrawn() && help.edits().is_empty()), "{found:?}");
}

#[test]
fn what_stands_behind_levels_that_cannot_be_read_is_read() {
    let text =
        "notification Tip \"tip\"\nclient Guest\nGuest = !Tip [ Next . End\nNext = !Tip [musst \"a\" . End\n";
    let program = Program::new("main", text);
    let codes: BTreeSet<&str> = program.compiled().diagnostics.iter().map(|found| found.code.0).collect();
    assert_eq!(codes, BTreeSet::from(["S0028"]));
}
