//! The pictures in `docs/` are what `sessionc diagram` draws today, and each shipped protocol has one.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares a picture with what is drawn.
fn compare(picture: &str, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command.current_dir(root()).args(["diagram", "--format", "svg"]).args(arguments);
    let drawn = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let path = root().join("docs/pictures").join(picture);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        drawn == kept,
        "docs/pictures/{picture} is out of date: write it with `sessionc diagram --format svg {} > docs/pictures/{picture}`",
        arguments.join(" ")
    );
    let width = drawn.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
    assert!(width.unwrap().parse::<u32>().unwrap() <= 900, "{picture} is too wide for a page");
}

#[test]
fn the_picture_of_the_example_is_drawn_from_it() {
    compare("counter.svg", &["examples/counter/counter.session"]);
}

#[test]
fn each_shipped_protocol_has_a_picture_on_the_page() {
    let page = fs::read_to_string(root().join("docs/protocols.md")).unwrap();
    let mut count = 0;
    for folder in ["protocols", "lsp", "acp"] {
        for file in fs::read_dir(root().join(folder)).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            let Some(protocol) = file.strip_suffix(".session") else { continue };
            let (picture, source) = (format!("{protocol}.svg"), format!("{folder}/{file}"));
            compare(&picture, &[&source, "--without-refusals"]);
            assert!(
                page.contains(&format!("](pictures/{picture})")),
                "docs/protocols.md does not show {picture}"
            );
            assert!(page.contains(&format!("](../{source})")), "docs/protocols.md does not link to {source}");
            count += 1;
        }
    }
    assert_eq!(count, 8);
}
