//! `sessionc new` and `sessionc init`: what they write, and what they refuse. `guide.rs` builds what `new` writes.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::fs;
use std::path::PathBuf;

use super::program::{empty_folder, run};

/// A folder that is a repository of its own.
fn folder(name: &str) -> PathBuf {
    let path = empty_folder(&format!("new_{name}"));
    fs::create_dir(path.join(".git")).unwrap();
    path
}

#[test]
fn a_new_protocol_has_no_findings_whatever_it_is_called() {
    let folder = folder("names");
    for name in [
        "calc",
        "my-notes",
        "a1",
        "client",
        "server",
        "types",
        "messages",
        "protocol",
        "start",
        "ready",
        "hello",
        "sum",
        "add",
        "log",
        "entry",
        "total",
        "session",
        "dual",
        "rec",
        "request",
        "import",
        "calculator",
    ] {
        let (code, _, err) = run(&folder, &["new", name]);
        assert_eq!((code, err.as_str()), (0, ""), "{name}");
        let file = format!("{name}/{name}.session");
        assert_eq!(
            run(&folder, &["check", "--deny-warnings", &file]),
            (0, String::new(), String::new()),
            "{name}"
        );
        assert_eq!(run(&folder, &["fmt", "--check", &file]).0, 0, "{name}");
        assert_eq!(run(&folder, &["expand", &file]).0, 0, "{name}");
    }
}

#[test]
fn a_new_crate_says_where_the_runtime_is() {
    let folder = folder("runtime");
    let (code, out, _) = run(&folder, &["new", "deep/calc"]);
    assert!(code == 0 && out.contains("`cd deep/calc` and `cargo test`"), "{out}");
    assert!(out.contains("`--runtime-path PATH`"), "{out}");
    // The folder of the tests is in the workspace of this project.
    assert!(out.contains("has a workspace: add the crate to its `members`"), "{out}");
    let manifest = fs::read_to_string(folder.join("deep/calc/Cargo.toml")).unwrap();
    assert!(
        manifest.contains(concat!("\nmcp-runtime = \"", env!("CARGO_PKG_VERSION"), "\"\n")),
        "{manifest}"
    );

    fs::create_dir_all(folder.join("source/mcp-runtime")).unwrap();
    let (code, _, err) = run(&folder, &["new", "notes", "--runtime-path", "source/mcp-runtime"]);
    let expected = "sessionc: `source/mcp-runtime` is not the folder of the crate `mcp-runtime`: name the one whose \
                    `Cargo.toml` says `name = \"mcp-runtime\"`\n";
    assert_eq!((code, err.as_str()), (2, expected));
    assert!(!folder.join("notes").exists());
    fs::write(folder.join("source/mcp-runtime/Cargo.toml"), "[package]\nname = \"mcp-runtime\"\n").unwrap();
    let (code, out, _) = run(&folder, &["new", "notes", "--runtime-path", "source/mcp-runtime"]);
    assert!(code == 0 && !out.contains("--runtime-path"), "{out}");
    let manifest = fs::read_to_string(folder.join("notes/Cargo.toml")).unwrap();
    assert!(manifest.contains("\nmcp-runtime = { path = \"../source/mcp-runtime\" }\n"), "{manifest}");
}

#[test]
fn new_replaces_nothing() {
    let folder = folder("refused");
    fs::create_dir_all(folder.join("calc")).unwrap();
    for (name, says) in [
        ("calc", "`calc` exists already: choose another name"),
        ("My Notes", "small letters, digits, `-` and `_`; did you mean `my-notes`?"),
        ("match", "Rust uses this word for something else; did you mean `match-protocol`?"),
        ("..", "cannot be the name of a crate"),
        ("end", "did you mean `end-protocol`?"),
    ] {
        let (code, out, err) = run(&folder, &["new", name]);
        assert_eq!((code, out.as_str()), (2, ""), "{name}");
        assert!(err.contains(says), "{name}: {err}");
    }
    assert_eq!(fs::read_dir(folder.join("calc")).unwrap().count(), 0);
}

/// A repository with a protocol that imports a part, its code, and what must be left out.
fn repository(name: &str) -> PathBuf {
    let folder = folder(name);
    for below in ["src", "protocols/parts", "target", "node_modules"] {
        fs::create_dir_all(folder.join(below)).unwrap();
    }
    let part = "protocol Talk \"1\"\n\nnotification Say \"say\"\n";
    fs::write(folder.join("protocols/parts/say.session"), part).unwrap();
    let talk = "protocol Talk \"1\"\n\nimport \"parts/say.session\"\n\nclient Speaker\nserver Listener = dual Speaker\n\n\
                Speaker = !Say . End\n";
    for file in ["protocols/talk.session", "target/talk.session", "node_modules/talk.session"] {
        fs::write(folder.join(file), talk).unwrap();
    }
    assert_eq!(run(&folder, &["expand", "protocols/talk.session", "-o", "src/talk.rs"]).0, 0);
    folder
}

#[test]
fn init_checks_what_it_finds() {
    let folder = repository("init");
    let (code, printed, err) = run(&folder, &["init", "--dry-run", "--branch", "trunk"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for line in [
        "sessionc check protocols/talk.session",
        "sessionc fmt --check protocols/parts/say.session protocols/talk.session",
        "sessionc expand protocols/talk.session -o src/talk.rs --check",
        "git worktree add --detach \"$RUNNER_TEMP/old\" origin/trunk",
        "echo \"$file is not compared: trunk has no file of this name\"",
    ] {
        assert!(printed.lines().any(|other| other.trim() == line), "no `{line}` in:\n{printed}");
    }
    assert!(!folder.join(".github").exists());
    assert_eq!(
        run(&folder, &["fmt", "--check", "protocols/parts/say.session", "protocols/talk.session"]).0,
        0
    );

    assert_eq!(run(&folder, &["init", "--branch", "trunk"]).0, 0);
    let file = folder.join(".github/workflows/sessions.yml");
    assert_eq!(fs::read_to_string(&file).unwrap(), printed);
    fs::write(&file, "mine").unwrap();
    let (code, _, err) = run(&folder, &["init"]);
    assert!(code == 2 && err.contains("exists already: replace it with `--force`"), "{err}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(run(&folder, &["init", "--force", "--branch", "trunk"]).0, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), printed);
}

#[test]
fn init_says_what_its_workflow_finds_now() {
    let folder = repository("init_found");
    let (code, printed, _) = run(&folder, &["init"]);
    assert!(code == 0 && !printed.contains("fails"), "{printed}");
    let file = folder.join("protocols/talk.session");
    let talk = fs::read_to_string(&file).unwrap();
    let says = |text: &str, what: &str| {
        fs::write(&file, text).unwrap();
        let (code, printed, _) = run(&folder, &["init", "--force"]);
        assert!(code == 0 && printed.contains(what), "{printed}");
    };
    let path = "protocols/talk.session";
    says(
        &talk.replace("!Say .", "!Say  ."),
        &format!("`{path}` is not formatted, so the workflow fails: run `sessionc fmt {path}`\n"),
    );
    says(
        &talk.replace("!Say .", "!Talk ."),
        &format!("`{path}` has errors, so the workflow fails: see `sessionc check {path}`\n"),
    );
}

#[test]
fn init_says_what_it_cannot_check() {
    let folder = repository("init_refused");
    let (code, _, err) = run(&folder.join("protocols"), &["init"]);
    assert!(code == 2 && err.contains("run `sessionc init` in `"), "{err}");
    let (code, _, err) = run(&folder, &["init", "--branch", "x; rm"]);
    assert!(code == 2 && err.contains("`x; rm` cannot stand in a script"), "{err}");
    let (code, _, err) = run(&folder, &["init", "protocols/tlak.session"]);
    assert!(code == 2 && err.contains("did you mean `protocols/talk.session`?"), "{err}");
    fs::write(
        folder.join("src/talk.rs"),
        "// @generated by `sessionc expand` from `talk.session`; edit that.\n",
    )
    .unwrap();
    let (_, printed, _) = run(&folder, &["init", "--dry-run"]);
    assert!(printed.contains("          # Add the options that it was written with.\n"), "{printed}");
    fs::remove_dir_all(folder.join("protocols")).unwrap();
    let (code, _, err) = run(&folder, &["init"]);
    assert!(code == 2 && err.contains("write one with `sessionc new NAME`"), "{err}");
}
