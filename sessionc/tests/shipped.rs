//! The code in `protocols/src` is what `sessionc expand` writes today.

use std::path::Path;
use std::process::Command;

#[test]
fn the_shipped_protocols_are_expanded_as_they_stand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut checked = 0;
    for file in std::fs::read_dir(root.join("protocols")).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let Some(revision) = file.strip_prefix("mcp-").and_then(|name| name.strip_suffix(".session")) else {
            continue;
        };
        let code = format!("protocols/src/mcp_{}.rs", revision.replace('-', "_"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
        command.current_dir(&root).args(["expand", &format!("protocols/{file}"), "-o", &code, "--check"]);
        let output = command.args(["--feature", revision]).output().unwrap();
        let shown = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        assert!(output.status.success(), "{shown}");
        checked += 1;
    }
    assert_eq!(checked, 4);
}

#[test]
fn a_program_with_a_shipped_protocol_compiles_no_compiler() {
    let arguments = ["tree", "--package", "mcp-protocols", "--edges", "normal,build", "--prefix", "none"];
    let output = Command::new(env!("CARGO")).args(arguments).arg("--offline").output().unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.contains("mcp-runtime"), "{tree}{}", String::from_utf8_lossy(&output.stderr));
    for name in ["mcp-protocol-macro", "mcp-protocol-compiler", "prettyplease"] {
        assert!(!tree.contains(name), "{name} in:\n{tree}");
    }
}
