//! The pictures in `docs/` are what `sessionc diagram` draws today.

use std::path::Path;
use std::process::Command;

#[test]
fn pictures_in_the_docs_are_drawn_from_the_protocols() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pictures: [(&str, &[&str]); 2] = [
        ("counter.svg", &["examples/counter/counter.session"]),
        ("mcp-2025-11-25.svg", &["protocols/mcp-2025-11-25.session", "--without-refusals"]),
    ];
    for (picture, arguments) in pictures {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
        command.current_dir(&root).args(["diagram", "--format", "svg"]).args(arguments);
        let drawn = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let path = root.join("docs/pictures").join(picture);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            drawn == kept,
            "docs/pictures/{picture} is out of date: write it with `sessionc diagram --format svg {}`",
            arguments.join(" ")
        );
        let width = drawn.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert!(width.unwrap().parse::<u32>().unwrap() <= 900, "{picture} is too wide for a page");
    }
}
