//! Programs with typical mistakes, each with its diagnostics: the source and the rendering together.
//!
//! Each file in `diagnostics/` is one program; its snapshot has the same name. A program that begins with the comment
//! `-- expand` is also looked at as code would be made from it, one with `-- without closure` as `sessionc check
//! --without-closure` looks at it, and one with `-- and 64 MiB of spaces` is as long as it says.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests say what they expect by panicking"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{compiled, rendered, split};
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{Compilation, Settings};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

/// Name and text of every program, in the order of the names.
fn programs() -> Vec<(String, String)> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "session") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            programs.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    programs.sort();
    programs
}

fn compile_program(name: &str, text: &str) -> Compilation {
    let file = format!("{name}.session");
    let settings = Settings::default().without_closure(text.starts_with("-- without closure\n"));
    let long = text.starts_with("-- and 64 MiB of spaces\n").then(|| text.to_owned() + &" ".repeat(64 << 20));
    let text = long.as_deref().unwrap_or(text);
    compiled(&split(text, &file), &file, settings, text.starts_with("-- expand\n"))
}

#[test]
fn every_program_has_its_findings() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../diagnostics");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (name, text) in programs() {
        let compilation = compile_program(&name, &text);
        let shown = format!("{}\n\n{}", text.trim_end(), rendered(&compilation));
        settings.bind(|| insta::assert_snapshot!(name.as_str(), shown.trim_end()));
        assert!(!compilation.diagnostics.is_empty(), "`{name}` is right");
    }
}

#[test]
fn every_snapshot_has_its_program() {
    let programs: BTreeSet<String> = programs().into_iter().map(|(name, _)| name).collect();
    assert!(programs.len() > 30);
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(programs.contains(name), "`{}` belongs to no program", path.display());
    }
}

/// What is wrong says where and what to type, for people and for programs.
#[test]
fn every_finding_has_a_place_and_a_help() {
    for (name, text) in programs() {
        let compilation = compile_program(&name, &text);
        for finding in &compilation.diagnostics {
            let said = rendered(&compilation);
            let label = finding.labels.first().unwrap_or_else(|| panic!("no place: {said}"));
            assert!(compilation.sources.start(label.span).line > 0);
            assert!(finding.severity == Severity::Note || !finding.helps.is_empty(), "no help: {said}");
            assert!(!finding.message.ends_with('.') && !finding.message.is_empty(), "{said}");
        }
    }
}
