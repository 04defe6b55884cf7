//! The files that the pages name are there.

use std::fs;

use layers::files;

/// What stands between backticks and looks like the path of a source file; `NAME.session` stands for any.
fn named(page: &str) -> impl Iterator<Item = &str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        let is_path = text.chars().all(|sign| sign.is_alphanumeric() || "/._-".contains(sign));
        let is_source = [".rs", ".v", ".sh", ".session"].iter().any(|end| text.ends_with(end));
        let is_any =
            text.split(['/', '.']).any(|part| part.len() > 1 && part.chars().all(char::is_uppercase));
        is_path && is_source && text.contains('/') && !is_any
    })
}

#[test]
fn every_source_file_that_a_page_names_is_there() {
    let all = files::of_the_project();
    let pages: Vec<_> = all.iter().filter(|file| file.extension().is_some_and(|end| end == "md")).collect();
    let mut count = 0;
    let mut missing = Vec::new();
    for page in pages {
        let text = fs::read_to_string(page).expect("a page");
        for path in named(&text) {
            count += 1;
            let beside = page.parent().is_some_and(|folder| folder.join(path).is_file());
            let template = format!("{path}.template");
            if !beside && !all.iter().any(|file| file.ends_with(path) || file.ends_with(&template)) {
                missing.push(format!("{} names `{path}`, which is not there", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(count > 50, "the pages name {count} files: are they read?");
}

#[test]
fn paths_are_told_from_other_code() {
    let page =
        "`src/a.rs` and `b.rs`, `tests/diagnostics/NAME.session`, `use a::b;`, `src/` and `c/d.session`";
    assert_eq!(named(page).collect::<Vec<_>>(), ["src/a.rs", "c/d.session"]);
}
