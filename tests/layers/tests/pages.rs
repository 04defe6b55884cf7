//! The files that the pages name are there, and so is all else that the guides to the code name.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

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

/// What stands between backticks and looks like the name of a file, a folder or an item. A word in capitals, `NAME`, stands
/// for any, and so does `S01xx`.
fn names(page: &str) -> impl Iterator<Item = &str> {
    // Blocks of code have an even number of backticks at each end.
    let quoted = page.split("```").step_by(2).flat_map(|text| text.split('`').skip(1).step_by(2));
    quoted.filter(|text| {
        let is_name = text.chars().all(|sign| sign.is_alphanumeric() || "/._-".contains(sign));
        let is_any = words(text).any(|word| {
            word.len() > 1 && word.chars().all(|sign| !sign.is_lowercase()) || word.ends_with("xx")
        });
        is_name && text.chars().any(char::is_alphabetic) && !is_any
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty())
}

/// Whether a file or a folder of the project has this name, with or without its `.rs`.
fn is_there(all: &[PathBuf], name: &str) -> bool {
    let file = format!("{name}.rs");
    all.iter().any(|path| {
        path.ends_with(&file) || path.ancestors().any(|part| part.ends_with(name.trim_end_matches('/')))
    })
}

#[test]
fn what_the_guides_to_the_code_name_is_there() {
    let all = files::of_the_project();
    let kinds = ["rs", "toml", "session", "js", "sh", "v"];
    let is_text = |path: &&PathBuf| path.extension().is_some_and(|end| kinds.iter().any(|kind| end == *kind));
    let texts = all.iter().filter(is_text).filter_map(|path| fs::read_to_string(path).ok());
    let written: HashSet<String> =
        texts.flat_map(|text| words(&text).map(str::to_owned).collect::<Vec<_>>()).collect();
    let mut missing = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(files::root().join(page)).expect("a page");
        let found: Vec<&str> = names(&text).collect();
        assert!(found.len() > 20, "{page} names {found:?}: is it read?");
        let is_written = |name: &str| !name.contains('/') && words(name).all(|word| written.contains(word));
        let is_known =
            |name: &str| is_written(name) || files::root().join(name).exists() || is_there(&all, name);
        missing
            .extend(found.iter().filter(|name| !is_known(name)).map(|name| format!("{page} names `{name}`")));
    }
    assert!(missing.is_empty(), "not there: {}", missing.join("\n"));
}

/// The text of a page without its blocks of code.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// Where the links of a text lead.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|behind| behind.split([')', ' ', '\n']).next())
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|sign| sign.is_alphanumeric() || " -_".contains(*sign));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

#[test]
fn relative_links_lead_to_files_and_headings() {
    let mut missing = Vec::new();
    let mut count = 0;
    let all = files::of_the_project();
    for page in all.iter().filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let text = prose(&fs::read_to_string(page).expect("a page"));
        for link in links(&text).filter(|link| !link.contains(':')) {
            count += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let is_page = target.extension().is_some_and(|end| end == "md");
            let is_there = match fs::read_to_string(&target) {
                Ok(target) if is_page && !heading.is_empty() => {
                    prose(&target).lines().any(|line| line.starts_with('#') && anchor(line) == heading)
                }
                _ => target.exists(),
            };
            if !is_there {
                missing.push(format!("{} links to `{link}`, which is not there", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(count > 100, "the pages have {count} links: are they read?");
}

#[test]
fn headings_have_anchors() {
    assert_eq!(anchor("## `only`: what is suspended?"), "only-what-is-suspended");
    assert_eq!(links("[a](b.md#c) and [d](e \"f\")").collect::<Vec<_>>(), ["b.md#c", "e"]);
}

#[test]
fn names_are_told_from_other_code() {
    let page = "`checks/` and `let_go`, `NAME.session`, `S01xx`, `a + b`\n```text\n`none`\n```\n`Route`";
    assert_eq!(names(page).collect::<Vec<_>>(), ["checks/", "let_go", "Route"]);
}

#[test]
fn paths_are_told_from_other_code() {
    let page =
        "`src/a.rs` and `b.rs`, `tests/diagnostics/NAME.session`, `use a::b;`, `src/` and `c/d.session`";
    assert_eq!(named(page).collect::<Vec<_>>(), ["src/a.rs", "c/d.session"]);
}

/// The page of each session type would show the methods of these traits, which only generated code calls.
#[test]
fn the_pages_of_session_types_do_not_show_what_generated_code_calls() {
    let roles = files::root().join("mcp-runtime/src/typed/roles.rs");
    let roles = fs::read_to_string(roles).expect("the macros");
    let lines: Vec<&str> = roles.lines().map(str::trim).collect();
    let shown = |name: &str| {
        let start = format!("impl<State> $crate::__private::{name} for ");
        let place = lines.iter().position(|line| line.starts_with(&start)).expect("an implementation");
        lines.get(place.wrapping_sub(1)) != Some(&"#[doc(hidden)]")
    };
    let shown: Vec<&str> = ["InState", "InRole"].into_iter().filter(|name| shown(name)).collect();
    assert!(shown.is_empty(), "write `#[doc(hidden)]` above the implementations of {shown:?}");
}
