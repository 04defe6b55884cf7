//! Unusual files: bytes that are not text, missing files, line ends of other systems. What each command prints, and its
//! exit code.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;

use super::program::{empty_folder, run};

const LINES: &str = "\
protocol Counting \"1\"
request Total \"total\" -> Sum (u64)
client Teller
server Counter = dual Teller
Teller = rec again . ( !Total . ?Sum . again ⊕ End )
";

fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("robustness_{name}"))
}

const COMMANDS: [&str; 5] = ["check", "fmt", "dual", "expand", "diagram"];

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let folder = folder("bytes");
    let mut bytes = LINES.as_bytes().to_vec();
    bytes.extend(b"-- \xff\xfe, and half of a pair of surrogates: \xed\xa0\x80\n");
    fs::write(folder.join("bad.session"), &bytes).unwrap();
    for command in COMMANDS {
        let (code, out, err) = run(&folder, &[command, "bad.session"]);
        assert_eq!(code, 1, "{command}");
        let said = if command == "check" { out } else { err };
        assert!(said.contains("error[S0001]: the file is not UTF-8"), "{command}: {said}");
        assert!(said.contains("--> bad.session:6:4\n"), "{command}: {said}");
        let byte = LINES.len() + 3;
        assert!(said.contains(&format!("byte {byte} ")), "{command}: {said}");
    }
    assert_eq!(fs::read(folder.join("bad.session")).unwrap(), bytes, "what cannot be read stays as it is");
}

#[test]
fn a_program_is_not_a_protocol_and_is_not_printed() {
    let folder = folder("binary");
    let program = fs::read(env!("CARGO_BIN_EXE_sessionc")).unwrap();
    fs::write(folder.join("program.session"), &program[..1 << 18]).unwrap();
    let (code, out, _) = run(&folder, &["check", "program.session"]);
    assert_eq!(code, 1);
    assert!(out.contains("S0001") && out.contains("S0003") && out.len() < 1 << 18, "{} bytes", out.len());
    let unseen = |letter: char| letter.is_control() && letter != '\n';
    assert!(!out.contains(unseen), "control characters reach the terminal");
}

#[test]
fn the_line_ends_of_another_system_change_nothing() {
    let folder = folder("line_ends");
    let wrong = LINES.replace("again ⊕", "agian ⊕").replace("protocol", "-- first\n\nprotocol");
    fs::write(folder.join("a.session"), &wrong).unwrap();
    let lf = COMMANDS.map(|command| run(&folder, &[command, "a.session"]));
    fs::write(folder.join("a.session"), format!("\u{FEFF}{}", wrong.replace('\n', "\r\n"))).unwrap();
    let crlf = COMMANDS.map(|command| run(&folder, &[command, "a.session"]));
    assert_eq!(lf, crlf);
    // `fmt` has laid it out, with its own line ends.
    let text = fs::read_to_string(folder.join("a.session")).unwrap();
    assert!(text.starts_with("-- first\n") && !text.contains('\r'), "{text:?}");
}

#[test]
fn a_missing_file_is_reported_and_ends_with_two() {
    let folder = folder("no_file");
    fs::create_dir(folder.join("folder.session")).unwrap();
    for command in COMMANDS {
        for name in ["missing.session", "folder.session", "missing/folder/x.session"] {
            let (code, out, err) = run(&folder, &[command, name]);
            assert_eq!((code, out.as_str()), (2, ""), "{command} {name}");
            assert!(err.starts_with(&format!("sessionc: cannot read `{name}`: ")), "{command}: {err}");
        }
    }
    // An import that cannot be read is a mistake in the file that imports.
    fs::write(folder.join("a.session"), format!("import \"folder.session\"\n{LINES}")).unwrap();
    let (code, out, _) = run(&folder, &["check", "a.session"]);
    assert_eq!(code, 1);
    assert!(out.contains("error[S0041]: cannot read `folder.session`"), "{out}");
}

#[cfg(unix)]
#[test]
fn a_file_that_never_ends_is_too_large() {
    let folder = folder("endless");
    for command in COMMANDS {
        let (code, out, err) = run(&folder, &[command, "/dev/zero"]);
        assert_eq!(code, 1, "{command}");
        assert!((out + &err).contains("error[S0002]: the file is larger than 64 MiB"), "{command}");
    }
    fs::write(folder.join("a.session"), format!("import \"/dev/zero\"\n{LINES}")).unwrap();
    let (code, out, _) = run(&folder, &["check", "a.session"]);
    assert_eq!(code, 1);
    assert!(out.contains("error[S0002]"), "{out}");
}

#[test]
fn a_large_file_is_worked_on_as_any_other() {
    let folder = folder("large");
    let steps: String = (0..500).map(|index| format!("!Total{index} . ?Sum{index} . ")).collect();
    let requests: String =
        (0..500).map(|index| format!("request Total{index} \"total/{index}\" -> Sum{index}\n")).collect();
    let text = format!(
        "protocol P \"1\"\n{requests}client Teller\nserver Counter = dual Teller\nTeller = {steps}End\n"
    );
    fs::write(folder.join("right.session"), text).unwrap();
    for command in COMMANDS {
        let (code, out, err) = run(&folder, &[command, "right.session"]);
        assert_eq!((code, err.as_str()), (0, ""), "{command}");
        assert!(command == "check" || command == "fmt" || out.contains("Total499"), "{command}");
    }
    let (code, ..) = run(&folder, &["fmt", "--check", "right.session"]);
    assert_eq!(code, 0);
}

#[test]
fn a_large_file_with_mistakes_says_little() {
    let folder = folder("large_wrong");
    let rest = "client Teller\nTeller = ";
    let texts = [
        format!("{rest}{}", "(".repeat(1 << 18)),
        format!("{rest}{}", "rec again . ".repeat(20_000)),
        format!("{rest}{}End", "!Total . Missing ⊕ ".repeat(10_000)),
        "$\n%\n".repeat(10_000),
        "a".repeat(1 << 20),
    ];
    for text in texts {
        fs::write(folder.join("wrong.session"), &text).unwrap();
        for command in COMMANDS {
            let (code, out, err) = run(&folder, &[command, "wrong.session"]);
            let (first, said) = (&text[..40], out.len() + err.len());
            // What can be turned round is, whatever the messages are.
            assert!(code == 1 || command == "dual" || command == "fmt", "{command} {first}: {code}");
            assert!(code < 2 && (code == 0 || said < 100_000), "{command} {first}: {code}, {said} bytes");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("permission");
    let path = folder.join("secret.session");
    fs::write(&path, LINES).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // A user who may read everything cannot run this test.
    if fs::read(&path).is_err() {
        let (code, _, err) = run(&folder, &["check", "secret.session"]);
        assert_eq!(code, 2);
        assert!(err.starts_with("sessionc: cannot read `secret.session`: "), "{err}");
    }
}

/// The `.session` files below a folder.
fn sessions(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sessions(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "session") {
            into.push(path);
        }
    }
}

#[test]
fn what_is_shipped_is_laid_out_as_fmt_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["protocols", "acp", "lsp", "examples"] {
        sessions(&root.join(folder), &mut files);
    }
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let (code, out, err) = run(root, &["fmt", "--check", file.to_str().unwrap()]);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "{}", file.display());
    }
}

/// Runs with room for at most so many blocks of 512 bytes in a file, as on a disk that is nearly full: exit code and standard
/// error.
#[cfg(unix)]
fn run_with_room(folder: &Path, blocks: u32, arguments: &str) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_sessionc");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{program}' {arguments}");
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_written_whole_stays_as_it_was() {
    let folder = folder("no_room");
    let comment = "-- A line of a long comment that the layout leaves as it is.\n".repeat(40);
    let lines = format!("{comment}{}", LINES.replace("Teller =", "Teller   ="));
    fs::write(folder.join("a.session"), &lines).unwrap();
    fs::write(folder.join("code.rs"), "// good\n").unwrap();
    fs::write(folder.join("flow.yml"), "good: true\n").unwrap();
    fs::create_dir(folder.join(".git")).unwrap();
    for arguments in [
        "fmt a.session",
        "expand a.session -o code.rs",
        "expand a.session -o other.rs",
        "init --force -o flow.yml",
        "man -o pages",
        "new fresh",
    ] {
        let (code, said) = run_with_room(&folder, 1, arguments);
        assert_eq!(code, 2, "{arguments}: {said}");
        assert!(said.starts_with("sessionc: cannot write `"), "{arguments}: {said}");
    }
    assert_eq!(fs::read_to_string(folder.join("a.session")).unwrap(), lines);
    assert_eq!(fs::read_to_string(folder.join("code.rs")).unwrap(), "// good\n");
    assert_eq!(fs::read_to_string(folder.join("flow.yml")).unwrap(), "good: true\n");
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&folder), [".git", "a.session", "code.rs", "flow.yml", "pages"]);
    assert!(names(&folder.join("pages")).is_empty());
}

#[test]
fn a_protocol_is_not_written_over() {
    let folder = folder("written_over");
    fs::write(folder.join("a.session"), LINES).unwrap();
    fs::write(folder.join("b.text"), LINES).unwrap();
    fs::create_dir(folder.join(".git")).unwrap();
    for arguments in [
        &["expand", "a.session", "-o", "a.session"][..],
        &["expand", "b.text", "-o", "a.session"],
        &["expand", "b.text", "-o", "./b.text"],
        &["init", "--force", "-o", "a.session"],
        &["guard", "a.session", "--record", "a.session", "--", "cat"],
        &["guard", "b.text", "--record", "b.text", "--", "cat"],
    ] {
        let (code, out, err) = run(&folder, arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains("is a protocol, and what it says would be lost"), "{arguments:?}: {err}");
    }
    for name in ["a.session", "b.text"] {
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), LINES);
    }
    // Standard output may be named like standard input.
    assert_eq!(run(&folder, &["expand", "a.session", "-o", "-"]), run(&folder, &["expand", "a.session"]));
    let (code, _, err) = run(&folder, &["guard", "a.session", "--record", "-", "--", "cat"]);
    assert!(code == 2 && err.contains("belongs to the client"), "{err}");
    assert!(!folder.join("-").exists());
}

#[test]
fn a_name_that_is_not_a_file_is_answered() {
    let folder = folder("names");
    for name in ["counter.session", "a.session", "notes.log"] {
        fs::write(folder.join(name), if name == "a.session" { "" } else { LINES }).unwrap();
    }
    for (arguments, expected) in [
        (&["check", "conter.session"][..], "; did you mean `counter.session`?\n"),
        // Their ending is all that these have in common.
        (&["check", "missing.session"], "; there are `a.session`, `counter.session`\n"),
        (&["check", "counter.txt"], "; did you mean `counter.session`?\n"),
        (
            &["trace", "mcp", "notes.log"],
            "; for the protocol that comes with `sessionc`, write `--protocol mcp`\n",
        ),
        (&["probe", "LSP", "--", "cat"], "write `--protocol lsp`\n"),
        (
            &["trace", "a.session", "notes.log"],
            "`a.session` does not declare a server: add `server Name` and its session type, `Name = …`\n",
        ),
        (
            &["diagram", "a.session"],
            "add `client Name` and its session type, `Name = …`, or choose another `--role`\n",
        ),
        (
            &["trace", "--protocol", "mcp", "notes.log", "a.session"],
            "name one protocol, in front of the logs\n",
        ),
        (
            &["trace", "counter.session", "notes.log", "a.session"],
            "name one protocol, in front of the logs\n",
        ),
        (
            &["trace", "--protocol", "mcp", "-"],
            "`<stdin>` has no message: it is empty; `sessionc guard --record FILE` writes a log of any session\n",
        ),
    ] {
        let (code, _, err) = run(&folder, arguments);
        assert!(code == 2 && err.ends_with(expected), "{arguments:?}: {err}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_written_in_place_of_a_file_keeps_its_mode_and_its_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder("mode");
    let file = folder.join("a.session");
    fs::write(&file, LINES.replace("Teller =", "Teller   =")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a.session", folder.join("link.session")).unwrap();
    assert_eq!(run(&folder, &["fmt", "link.session"]).0, 0);
    assert!(folder.join("link.session").is_symlink());
    assert_eq!(run(&folder, &["fmt", "--check", "a.session"]).0, 0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    // A device takes what is written, and is not replaced.
    assert_eq!(run(&folder, &["expand", "a.session", "-o", "/dev/null"]).0, 0);
    assert_eq!(run(&folder, &["expand", "a.session", "-o", "/dev/full"]).0, 2);
}
