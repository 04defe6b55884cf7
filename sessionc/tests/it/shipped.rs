//! The code of the shipped protocols is what `sessionc expand` writes today.

use std::path::Path;
use std::process::Command;

/// The folder of each crate with shipped protocols, its package, and how many `.session` files it has.
const CRATES: [(&str, &str, usize); 3] =
    [("protocols", "mcp-protocols", 6), ("acp", "acp-protocols", 1), ("lsp", "lsp-protocols", 1)];

/// The feature that adds the types of a protocol: each revision of MCP has one.
fn feature(protocol: &str) -> Option<&str> {
    protocol.strip_prefix("mcp-")
}

/// Where the payload types of a revision of MCP stand: those with a handshake share the types of the latest one, and
/// the revision without one takes from there what it has in the same form.
fn shapes(feature: &str) -> &[&str] {
    match feature {
        "2025-11-25" => &[],
        "2026-07-28" => {
            &["--shapes", "::mcp_protocols::types", "--shapes-of", "protocols/mcp-2025-11-25.session"]
        }
        "2026-07-28-tasks" => &[
            "--shapes",
            "::mcp_protocols::mcp_2026_07_28::types",
            "--shapes-of",
            "protocols/mcp-2026-07-28.session",
        ],
        _ => &["--shapes", "::mcp_protocols::types"],
    }
}

#[test]
fn the_shipped_protocols_are_expanded_as_they_stand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (folder, _, files) in CRATES {
        let mut checked = 0;
        for file in std::fs::read_dir(root.join(folder)).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            let Some(protocol) = file.strip_suffix(".session") else { continue };
            let code = format!("{folder}/src/{}.rs", protocol.replace(['-', '.'], "_"));
            let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
            command.current_dir(&root).args(["expand", &format!("{folder}/{file}"), "-o", &code, "--check"]);
            if let Some(feature) = feature(protocol) {
                command.args(["--feature", feature]).args(shapes(feature));
            }
            let output = command.output().unwrap();
            let shown = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
            assert!(output.status.success(), "{shown}");
            checked += 1;
        }
        assert_eq!(checked, files, "{folder}");
    }
}

/// The benchmarks have it checked in, so they build without the compiler.
#[test]
fn the_protocol_of_the_benchmarks_is_expanded_as_it_stands() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/src"));
    let output = command.args(["expand", "echo.session", "-o", "echo.rs", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_program_with_a_shipped_protocol_compiles_no_compiler() {
    for (_, package, _) in CRATES {
        let arguments = ["tree", "--package", package, "--edges", "normal,build", "--prefix", "none"];
        let output = Command::new(env!("CARGO")).args(arguments).arg("--offline").output().unwrap();
        let tree = String::from_utf8(output.stdout).unwrap();
        assert!(tree.contains("mcp-runtime"), "{tree}{}", String::from_utf8_lossy(&output.stderr));
        for name in ["mcp-protocol-macro", "mcp-protocol-compiler", "prettyplease"] {
            assert!(!tree.contains(name), "{name} in:\n{tree}");
        }
    }
}
