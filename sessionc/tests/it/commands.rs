//! The program as a user runs it: what it prints, where, and how it ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const COUNTER: &str = "\
--- A counter.
protocol Counting \"1\"
request      Total \"total\" -> Sum (u64)
notification Add   \"add\" (u64)
client Teller
server Counter = dual Teller
Teller = rec again . ( !Add . again ⊕ !Total . ?Sum . again ⊕ End )
";

/// A folder of its own for each test, below the one that Cargo gives to tests.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, &[])
    }

    /// Runs with these variables and none of the others that decide about colour.
    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        Run::of(self.command(arguments).envs(variables.iter().copied()).output().unwrap())
    }

    /// The command with these arguments and without the variables that decide about colour.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(&self.0);
        command
    }
}

#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Run {
    fn of(output: Output) -> Self {
        Run {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn check_says_what_is_wrong_and_where_to_read_more() {
    let folder = Folder::new("check");
    folder.write("good.session", COUNTER);
    folder.write("bad.session", "client C\nC = !A . B\n");
    folder.write("warned.session", "client C\nC = !A . End\nUnused = !A . End\n");

    let run = folder.run(&["check", "good.session"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));

    let run = folder.run(&["check", "bad.session", "good.session"]);
    assert_eq!(run.code, 1);
    assert!(run.out.starts_with("error[S0103]: "), "{}", run.out);
    assert!(run.out.contains("--> bad.session:2:10\n"), "{}", run.out);
    let last = "\nfor more information about an error, try `sessionc explain S0103`\n";
    assert!(run.out.ends_with(last), "{}", run.out);
    assert!(!run.out.contains('\u{1b}'), "colour is for terminals: {}", run.out);

    // An error is what is read about first, whatever comes before it.
    let run = folder.run(&["check", "warned.session", "bad.session"]);
    assert!(run.out.ends_with(last), "{}", run.out);
}

#[test]
fn check_names_the_file_whose_import_was_forgotten() {
    let folder = Folder::new("forgotten");
    folder.write("rest.session", "request Order \"order\" -> Bill\nnotification Bye \"bye\"\n");
    folder.write(
        "shop.session",
        "notification Hi \"hi\"\nclient C\nserver S = dual C\nC = !Hi . !Order . ?Bill . !Bye . End\n",
    );
    let run = folder.run(&["check", "shop.session"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.out.matches("error[").count(), 1, "{}", run.out);
    assert!(
        run.out.contains("= note: not declared either: `Bill` in line 4 and `Bye` in line 4\n"),
        "{}",
        run.out
    );
    assert!(run.out.contains("= help: write `import \"rest.session\"`"), "{}", run.out);
}

#[test]
fn check_says_what_keeps_code_from_being_generated() {
    let folder = Folder::new("check_for_code");
    let session = "client C\nC = *( !A . !B . End )\n";
    let declared =
        "protocol P \"1\"\nnotification A \"a\" (_)\nnotification B \"b\" (_)\nkey k = A.k | B.k\n";
    folder.write("sub_session.session", &format!("{declared}{session}"));
    folder.write("payload.session", "notification A \"a\" (shop::fn)\nclient C\nC = !A . End\n");
    folder.write("sketch.session", "client C\nC = !A . ?B . End\n");

    for (file, code) in [("sub_session.session", "S0902"), ("payload.session", "S0604")] {
        let [checked, expanded] = ["check", "expand"].map(|command| folder.run(&[command, file]));
        assert_eq!((checked.code, expanded.code), (1, 1), "{file}: {checked:?}");
        assert!(checked.out.contains(&format!("error[{code}]")), "{checked:?}");
        assert!(checked.out.starts_with(expanded.err.trim_end()), "{checked:?}\n{expanded:?}");
    }

    // A file that declares no message is a sketch.
    let run = folder.run(&["check", "sketch.session"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
    assert!(folder.run(&["expand", "sketch.session"]).err.contains("error[S0603]"));
}

#[test]
fn a_warning_fails_a_check_only_where_it_is_denied() {
    let folder = Folder::new("check_warnings");
    folder.write("good.session", COUNTER);
    folder.write("bad.session", "client C\nC = !A . B\n");
    folder.write("warned.session", "client C\nC = !A . End\nUnused = !A . End\n");
    let run = folder.run(&["check", "warned.session"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.ends_with("\nfor more information about a warning, try `sessionc explain S0111`\n"));
    let denied = folder.run(&["check", "--deny-warnings", "warned.session", "good.session"]);
    assert_eq!((denied.code, denied.out), (1, run.out));
    for arguments in [&["check", "--format", "json"][..], &["check"]] {
        let code = |more: &[&str]| folder.run(&[arguments, more].concat()).code;
        assert_eq!(code(&["warned.session"]), 0);
        assert_eq!(code(&["warned.session", "bad.session"]), 1);
        assert_eq!(code(&["--deny-warnings", "good.session"]), 0);
        assert_eq!(code(&["--deny-warnings", "warned.session"]), 1);
        assert_eq!(code(&["--deny-warnings", "warned.session", "missing.session"]), 2);
    }
    // A note is never denied.
    let note = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/protocols/note.session");
    let run = folder.run(&["check", "--deny-warnings", note]);
    assert!(run.code == 0 && run.out.contains("note[S0510]"), "{run:?}");
    // A command that uses the file says what is wrong with it, and no notes.
    for arguments in [&["diagram", note][..], &["probe", note, "--list"]] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments:?}");
    }
    let run = folder.run(&["diagram", "warned.session"]);
    assert!(run.err.contains("warning[S0111]"), "{run:?}");
}

#[test]
fn check_prints_one_object_a_line() {
    let folder = Folder::new("check_json");
    folder.write("bad.session", "client C\nC = !A . Nest\nNext = ?\"x\" . End\n");
    let run = folder.run(&["check", "--format", "json", "bad.session"]);
    assert_eq!(run.code, 1);
    assert!(!run.out.is_empty());
    for line in run.out.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let object = object.as_object().unwrap();
        for key in ["code", "severity", "message", "file", "line", "column", "help"] {
            assert!(object.contains_key(key), "no `{key}` in {line}");
        }
        assert_eq!(object["file"], "bad.session");
        assert!(object["line"].is_u64() && object["column"].is_u64(), "{line}");
    }
}

/// Programs, with what is wrong in each, that the compiler's own tests look at.
fn wrong_programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-protocol-compiler/tests/diagnostics");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "session")).collect();
    programs.sort();
    programs
}

#[test]
fn every_finding_is_whole_for_programs() {
    let folder = Folder::new("check_json_whole");
    let keys = ["code", "severity", "message", "file", "line", "column", "help"];
    let mut findings = 0;
    for program in wrong_programs() {
        let path = program.to_str().unwrap();
        let text = fs::read_to_string(&program).unwrap();
        let lines = text.lines().count() as u64;
        let run = folder.run(&["check", "--format", "json", "--without-closure", path]);
        for line in run.out.lines() {
            findings += 1;
            let order: Vec<usize> =
                keys.iter().map(|key| line.find(&format!("\"{key}\":")).unwrap()).collect();
            assert!(order.is_sorted(), "{line}");
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(object.as_object().unwrap().len(), keys.len(), "{line}");
            assert_eq!(object["file"], path, "{line}");
            assert!((1..=lines + 1).contains(&object["line"].as_u64().unwrap()), "{line}");
            assert!(object["column"].as_u64() > Some(0), "{line}");
            for key in ["code", "severity", "message", "help"] {
                assert!(object[key].as_str().is_some_and(|text| !text.is_empty()), "no `{key}` in {line}");
            }
            assert!(!line.contains('\u{1b}'), "{line}");
        }
    }
    assert!(findings > 80, "only {findings} findings were looked at");
}

#[test]
fn colour_is_printed_where_it_is_asked_for() {
    let folder = Folder::new("colour");
    folder.write("bad.session", "client C\nC = !A . B\n");
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        folder.run_with(arguments, variables).out.contains('\u{1b}')
    };
    let check = &["check", "bad.session"];
    assert!(!coloured(check, &[]), "the output is not a terminal");
    assert!(!coloured(check, &[("CLICOLOR", "1")]));
    assert!(coloured(check, &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(check, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&["check", "--format", "json", "bad.session"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn the_text_itself_has_races_that_are_closed_or_dropped() {
    let folder = Folder::new("without_closure");
    let note = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/protocols/note.session");
    let run = folder.run(&["check", note]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.out.matches("note[S0510]").count(), 1, "{}", run.out);
    let run = folder.run(&["check", "--without-closure", note]);
    assert_eq!(run.code, 1);
    let way = "after `!Initialize`, `?InitializeResult`, `!Initialized`, the client may";
    for race in [
        format!(
            "error[S0503]: `ToolsCall` and `ToolsListChanged` race: {way} send `ToolsCall` while the server sends \
             `ToolsListChanged`\n"
        ),
        format!(
            "note[S0503]: closing and `ToolsListChanged` race: {way} close while the server sends \
             `ToolsListChanged`\n"
        ),
    ] {
        assert!(run.out.contains(&race), "{}", run.out);
    }
    assert_eq!(run.out.matches("error[").count(), 1, "{}", run.out);
    let others = "`ToolsCall` and `ResourcesListChanged`; `ResourcesRead` and `ToolsListChanged`; \
                  `ResourcesRead` and `ResourcesListChanged`";
    assert!(run.out.contains(others), "{}", run.out);
}

#[test]
fn what_cannot_be_used_ends_with_two() {
    let folder = Folder::new("unusable");
    folder.write("good.session", COUNTER);
    folder.write("bad.session", "client C\nC = !A . B\n");
    for arguments in [
        &["check", "missing.session"][..],
        &["check"],
        &["check", "good.session", "--format", "yaml"],
        &["nonsense"],
        &["expand", "missing.session"],
        &["expand", "good.session", "--check"],
        &["diagram", "missing.session"],
        &["dual", "missing.session"],
        &["dual", "good.session", "Tellr"],
        &["fmt", "missing.session"],
        &["explain", "S9999"],
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(!run.err.is_empty(), "{arguments:?}");
    }
    // What can be read is checked all the same.
    let run = folder.run(&["check", "missing.session", "bad.session"]);
    assert_eq!(run.code, 2);
    assert!(run.out.contains("error[S0103]"), "{run:?}");
    assert!(run.err.starts_with("sessionc: cannot read `missing.session`: "), "{run:?}");
}

/// As in `sessionc … | head`: a closed pipe is not a reason to panic, and changes no exit code.
#[test]
fn a_reader_that_stops_is_not_a_failure() {
    let folder = Folder::new("closed");
    folder.write("good.session", COUNTER);
    folder.write("bad.session", "client A\nA = !M . Nowhere\n");
    folder.write("old.rs", "fn old() {}\n");
    let cases: [(&[&str], i32); 10] = [
        (&["check", "bad.session"], 1),
        (&["check", "missing.session"], 2),
        (&["explain"], 0),
        (&["explain", "S9999"], 2),
        (&["explain", "S0301"], 0),
        (&["expand", "good.session"], 0),
        (&["expand", "good.session", "-o", "old.rs", "--check"], 1),
        (&["diagram", "good.session"], 0),
        (&["probe", "good.session", "--list"], 0),
        (&["nonsense"], 2),
    ];
    for (arguments, code) in cases {
        let closed = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let mut command = folder.command(arguments);
        let status = command.stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_printed_is_said() {
    let folder = Folder::new("full");
    folder.write("good.session", COUNTER);
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["trace", "--help"],
        &["help", "guard"],
        &["dual", "good.session"],
        &["probe", "good.session", "--list"],
        &["man"],
    ] {
        let mut command = folder.command(arguments);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = Run::of(command.stdout(full).output().unwrap());
        let said = "sessionc: cannot write `<stdout>`: ";
        assert!(run.code == 2 && run.err.starts_with(said), "{arguments:?}: {run:?}");
    }
    for name in ["missing/code.rs", "missing/folder/code.rs"] {
        let run = folder.run(&["expand", "good.session", "-o", name]);
        let parent = Path::new(name).parent().unwrap().display();
        let said = format!("; the folder `{parent}` does not exist\n");
        assert!(run.code == 2 && run.err.ends_with(&said), "{run:?}");
    }
}

#[test]
fn help_has_the_width_of_the_terminal() {
    let folder = Folder::new("width");
    let widest = |arguments: &[&str], variables: &[(&str, &str)]| {
        let run = folder.run_with(arguments, variables);
        assert_eq!(run.code, 0, "{run:?}");
        run.out.lines().map(|line| line.chars().count()).max().unwrap()
    };
    for arguments in [&["--help"][..], &["trace", "--help"], &["init", "--help"], &["guard", "-h"]] {
        assert!(widest(arguments, &[]) <= 100, "{arguments:?}");
        // The lines that show how a command is written are not broken.
        assert!(widest(arguments, &[("COLUMNS", "70")]) <= 70, "{arguments:?}");
    }
}

#[test]
fn numbers_of_a_probe_are_not_zero() {
    let folder = Folder::new("numbers");
    folder.write("good.session", COUNTER);
    for (command, option) in [("probe", "--jobs"), ("probe", "--timeout"), ("guard", "--max-message")] {
        for wrong in ["0", "1k", ""] {
            let run = folder.run(&[command, "good.session", option, wrong, "--", "cat"]);
            assert!(run.code == 2 && run.err.starts_with("error: invalid value '"), "{option}: {run:?}");
            assert!(run.err.contains("': write a whole number, 1 or more\n"), "{option}: {run:?}");
        }
    }
    let run = folder.run(&["probe", "good.session", "--list", "--format", "junit"]);
    assert!(run.code == 2 && run.err.contains("use `--format json`") && run.out.is_empty(), "{run:?}");
}

#[test]
fn a_file_behind_enforce_is_not_its_level() {
    let folder = Folder::new("enforce");
    let run = folder.run(&["guard", "--enforce", "good.session", "--", "cat"]);
    let tip = "  tip: if `good.session` is the file of the protocol, write it in front of `--enforce`, or write `--enforce must`\n";
    assert!(run.code == 2 && run.err.contains(tip), "{}", run.err);
    let run = folder.run(&["guard", "good.session", "--enforce", "shuold", "--", "cat"]);
    assert!(
        run.err.contains("a similar value exists: 'should'") && !run.err.contains("in front of"),
        "{}",
        run.err
    );
}

#[test]
fn a_file_is_not_the_name_of_a_shipped_protocol() {
    let folder = Folder::new("protocol_file");
    let run = folder.run(&["probe", "--protocol", "good.session", "--", "cat"]);
    let tip = "  tip: if `good.session` is the file of the protocol, write it without `--protocol`, as the first argument\n";
    assert!(run.code == 2 && run.err.contains(tip), "{}", run.err);
    let run = folder.run(&["trace", "--protocol", "mpc", "log"]);
    assert!(run.code == 2 && !run.err.contains("write it without"), "{}", run.err);
}

#[cfg(unix)]
#[test]
fn a_script_that_is_not_a_program_is_answered() {
    let folder = Folder::new("script");
    folder.write("good.session", COUNTER);
    folder.write("store.py", "print()\n");
    for command in ["guard", "probe"] {
        let run = folder.run(&[command, "good.session", "--", "./store.py"]);
        let instead =
            "; it is not a program: write what runs it in front of it, as in `python3 ./store.py`\n";
        assert!(run.code == 2 && run.err.ends_with(instead), "{run:?}");
        let run = folder.run(&[command, "good.session", "--", "store.py"]);
        assert!(
            run.code == 2 && run.err.contains("; for the file of this name, write `./store.py`, or"),
            "{run:?}"
        );
        let run = folder.run(&[command, "good.session", "--", "/"]);
        assert!(run.code == 2 && run.err.ends_with("; it is a folder\n"), "{run:?}");
        let run = folder.run(&[command, "good.session", "--", "./missing.py"]);
        assert!(run.code == 2 && run.err.contains("`./missing.py`: No such file"), "{run:?}");
    }
}

#[test]
fn an_option_that_is_not_there_is_not_proposed_as_a_path() {
    let folder = Folder::new("option");
    let run = folder.run(&["probe", "good.session", "--output", "x"]);
    assert!(run.code == 2 && run.err.starts_with("error: unexpected argument '--output' found\n"), "{run:?}");
    assert!(!run.err.contains("tip:"), "{}", run.err);
    let run = folder.run(&["probe", "good.session", "--fromat", "json"]);
    assert!(run.err.contains("a similar argument exists: '--format'"), "{}", run.err);
}

#[test]
fn a_server_without_the_two_dashes_is_shown_where_they_go() {
    let folder = Folder::new("dashes");
    for command in ["probe", "guard"] {
        let run = folder.run(&[command, "good.session", "node", "server.js"]);
        assert_eq!(run.code, 2, "{run:?}");
        let advice = "  tip: to start a server, write its command after `--`: ";
        let advice = format!("{advice}`sessionc {command} good.session -- node server.js`\n");
        assert!(run.err.contains(&advice), "{}", run.err);
    }
    for command in ["probe", "guard"] {
        let run = folder.run(&[command, "--protocol", "mcp", "node", "server.js"]);
        let advice = format!("`sessionc {command} --protocol mcp -- node server.js`\n");
        assert!(run.err.contains(&advice), "{}", run.err);
        let run = folder.run(&[command, "npx", "-y", "server", "--protocol", "mcp"]);
        let advice = format!("`sessionc {command} --protocol mcp -- npx -y server`\n");
        assert!(run.err.contains(&advice), "{}", run.err);
        let run = folder.run(&["--color", "never", command, "npx", "server", "--protocol", "mcp"]);
        let advice = format!("`sessionc {command} --color never --protocol mcp -- npx server`\n");
        assert!(run.err.contains(&advice), "{}", run.err);
        for unknown in
            [&["--protocol", "mcp", "--nonsense"][..], &["good.session", "--protocol", "mcp", "--nonsense"]]
        {
            let run = folder.run(&[&[command], unknown].concat());
            assert!(!run.err.contains("after `--`"), "{}", run.err);
        }
        let run = folder.run(&[command, "--protocol", "mcp", "node"]);
        let said = "leave out `node` or `--protocol`; if `node` is the command of a server, write ";
        let said = format!("{said}`sessionc {command} --protocol mcp -- node`");
        assert!(run.err.contains(&said), "{}", run.err);
        let run = folder.run(&[command, "--protocol", "mcp", "good.session"]);
        assert!(!run.err.contains("is the command"), "{}", run.err);
    }
    let run = folder.run(&["trace", "good.session", "a.log", "--nonsense"]);
    assert!(!run.err.contains("after `--`"), "{}", run.err);
}

#[test]
fn expand_prints_writes_and_compares() {
    let folder = Folder::new("expand");
    folder.write("counter.session", COUNTER);
    let run = folder.run(&["expand", "counter.session"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.contains("pub struct Teller<State>"), "{}", run.out);

    assert_eq!(folder.run(&["expand", "counter.session", "-o", "counter.rs"]).code, 0);
    assert_eq!(folder.read("counter.rs"), run.out);
    assert_eq!(folder.run(&["expand", "counter.session", "-o", "counter.rs", "--check"]).code, 0);

    folder.write("counter.rs", "// not that");
    let run = folder.run(&["expand", "counter.session", "-o", "counter.rs", "--check"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("run `sessionc expand counter.session -o counter.rs`"), "{run:?}");
    assert_eq!(folder.read("counter.rs"), "// not that", "comparing writes nothing");
    assert_eq!(folder.run(&["expand", "counter.session", "-o", "none.rs", "--check"]).code, 2);

    let shared = [
        "expand",
        "counter.session",
        "-o",
        "counter.rs",
        "--shapes",
        "crate::old",
        "--shapes-of",
        "old.session",
    ];
    folder.write("old.session", COUNTER);
    let run = folder.run(&[&shared[..], &["--check"]].concat());
    let command = "-o counter.rs --shapes crate::old --shapes-of old.session`";
    assert!(run.code == 1 && run.err.contains(command), "{run:?}");
    assert_eq!(folder.run(&shared).code, 0);

    folder.write("bad.session", "client C\nC = !A . B\n");
    let run = folder.run(&[&shared[..7], &["bad.session"]].concat());
    assert!(run.code == 1 && run.err.contains("S0103"), "{run:?}");
    let run = folder.run(&["expand", "bad.session", "-o", "bad.rs"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("S0103") && !folder.0.join("bad.rs").exists(), "{run:?}");
}

#[test]
fn diagram_draws_in_three_notations() {
    let folder = Folder::new("diagram");
    folder.write("counter.session", COUNTER);
    for (format, beginning) in [("mermaid", "stateDiagram-v2"), ("dot", "digraph"), ("svg", "<svg")] {
        let client = folder.run(&["diagram", "counter.session", "--format", format]);
        assert_eq!(client.code, 0);
        assert!(client.out.starts_with(beginning), "{format}: {}", client.out);
        let server = folder.run(&["diagram", "counter.session", "--format", format, "--role", "server"]);
        assert_eq!(server.code, 0);
        assert_ne!(client.out, server.out, "{format}");
    }
    let part =
        folder.run(&["diagram", "counter.session", "--definition", "AwaitingSum", "--without-refusals"]);
    assert!(part.code == 0 && !part.out.contains("Error") && part.out.contains("[*] --> s1"), "{part:?}");
    let run = folder.run(&["diagram", "counter.session", "--definition", "AwaitingSmu"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("no state of `Teller` is called `AwaitingSmu`; did you mean `AwaitingSum`?"),
        "{run:?}"
    );
    let run = folder.run(&["diagram", "counter.session", "--definition", "Somewhere"]);
    assert!(run.err.contains("; there are `Start`"), "{run:?}");
    folder.write("alone.session", "client C\nC = !A . End\n");
    let run = folder.run(&["diagram", "alone.session", "--role", "server"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err
            .contains("does not declare a server: add `server Server = dual C`, or choose another `--role`"),
        "{run:?}"
    );
    folder.write("written.session", "client C\nserver Server = dual C\nC = !A . End\n");
    assert_eq!(folder.run(&["diagram", "written.session", "--role", "server"]).code, 0);
    folder.write("taken.session", "client Server\nServer = !A . End\n");
    let run = folder.run(&["diagram", "taken.session", "--role", "server"]);
    assert!(run.err.contains("add `server ServerServer = dual Server`"), "{run:?}");
    folder.write("next.session", "import \"alone.session\"\nserver S = dual C\n");
    let run = folder.run(&["diagram", "next.session"]);
    assert!(run.err.contains("a client, and a role is not imported: add `client C`, or"), "{run:?}");
    folder.write("bad.session", "client C\nC = !A . B\n");
    let run = folder.run(&["diagram", "bad.session"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
}

#[test]
fn explain_prints_a_page_or_the_list() {
    let folder = Folder::new("explain");
    for typed in ["S0301", "s301", "301"] {
        let run = folder.run(&["explain", typed]);
        assert_eq!((run.code, run.err.as_str()), (0, ""));
        assert!(run.out.starts_with("# S0301: "), "{}", run.out);
    }
    let list = folder.run(&["explain"]);
    assert_eq!(list.code, 0);
    assert!(list.out.starts_with("S0001  ") && list.out.lines().count() > 60, "{}", list.out);
    let run = folder.run(&["explain", "S0320"]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    let meant = "sessionc: no finding has the code `S0320`; did you mean `S0313`? `sessionc explain` lists all codes\n";
    assert_eq!(run.err, meant);
    let run = folder.run(&["explain", "C0004"]);
    assert!(run.err.contains("`C0004` is a code of `sessionc compat`, and has no page"), "{}", run.err);
    let run = folder.run(&["explain", "L7"]);
    assert_eq!(run.err, "sessionc: no finding has the code `L7`: `sessionc explain` lists all codes\n");
}

#[test]
fn the_dual_of_a_role_whose_messages_differ_by_a_position() {
    let folder = Folder::new("dual_of_tuples");
    let text = "protocol Chain \"1\"\n\
                request Heads \"subscribe\" if 0 = \"heads\" ([\"heads\",]) -> OfHeads (string)\n\
                request Logs \"subscribe\" if of = \"logs\" ([of: \"logs\", address?: string]) -> OfLogs ([string,])\n\
                key stream = OfHeads | OfLogs.0\n\
                client Wallet\nserver Node = dual Wallet\n\
                Wallet = (*( !Heads . ?OfHeads . End ), *( !Logs . ?OfLogs . End ))\n";
    folder.write("chain.session", text);
    let run = folder.run(&["dual", "chain.session"]);
    let server = "server Node\n\nNode = (*( ?Heads . !OfHeads . End ), *( ?Logs . !OfLogs . End ))\n";
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, server, ""));
    folder.write("both.session", &text.replace("server Node = dual Wallet\n", server));
    let run = folder.run(&["check", "both.session"]);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn dual_prints_what_the_other_role_would_write() {
    let folder = Folder::new("dual");
    folder.write("counter.session", COUNTER);
    let run = folder.run(&["dual", "counter.session"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let server = "server Counter\n\n\
                  Counter = rec again . ( ?Add . again & ?Total . !Sum . again & End )\n";
    assert_eq!(run.out, server);
    assert_eq!(folder.run(&["dual", "counter.session", "Teller"]).out, server);
    folder.write("both.session", &COUNTER.replace("server Counter = dual Teller\n", server));
    assert_eq!(folder.run(&["check", "both.session"]).code, 0);

    let run = folder.run(&["dual", "counter.session", "Tellr"]);
    assert!(run.err.contains("did you mean `Teller`?"), "{run:?}");
    folder.write("bad.session", "client C\nC = !A .\n");
    let run = folder.run(&["dual", "bad.session"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains("error[S00"), "{run:?}");
}

#[test]
fn fmt_lays_out_and_keeps_comments() {
    let folder = Folder::new("fmt");
    let text = "-- head\nclient   C -- who\nC = !A.End(+)\n -- why\n ?B.End";
    let laid_out = "-- head\nclient C  -- who\n\nC =\n    !A . End\n    -- why\n    ⊕ ?B . End\n";
    folder.write("one.session", text);
    let run = folder.run(&["fmt", "--check", "one.session"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.out, "`one.session` is not formatted: run `sessionc fmt one.session`\n");
    assert_eq!(folder.read("one.session"), text, "checking writes nothing");

    let run = folder.run(&["fmt", "one.session"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", ""));
    assert_eq!(folder.read("one.session"), laid_out);
    assert_eq!(folder.run(&["fmt", "--check", "one.session"]).code, 0);

    // A file that cannot be read as a whole stays as it is, and the others are laid out.
    folder.write("bad.session", "client   C\nC = !A .\n");
    folder.write("two.session", text);
    let run = folder.run(&["fmt", "bad.session", "missing.session", "two.session"]);
    assert_eq!(run.code, 2);
    assert_eq!(folder.read("bad.session"), "client   C\nC = !A .\n");
    assert_eq!(folder.read("two.session"), laid_out);
    assert_eq!(folder.run(&["fmt", "bad.session"]).code, 1);
}

const TOOLS: &str = "\
protocol Tools \"1\"
--- A tool that the server offers.
type Tool = {
    --- Unique on this server.
    name: string,
    size?: uint,
    role: \"user\" | \"assistant\",
    ..rest
}
type Tools = [Tool]
notification Offer \"offer\" (Tools)
client User
server Shop = dual User
User = ?Offer . End
";

#[test]
fn schema_prints_what_the_page_shows() {
    let folder = Folder::new("schema");
    folder.write("tools.session", TOOLS);
    let page = include_str!("../../../docs/json-schema.md");
    let shown = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let run = folder.run(&["schema", "tools.session", "Tool"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, shown, ""));

    let all: serde_json::Value = serde_json::from_str(&folder.run(&["schema", "tools.session"]).out).unwrap();
    assert_eq!(all["$defs"]["Tools"]["items"]["$ref"], "#/$defs/Tool");
    assert_eq!(all.get("$ref"), None);
}

#[test]
fn schema_says_what_there_is_no_schema_of() {
    let folder = Folder::new("no_schema");
    folder.write("tools.session", TOOLS);
    folder.write("counter.session", COUNTER);
    folder.write("bad.session", "client C\nC = !A . B\n");
    let run = folder.run(&["schema", "tools.session", "Tol"]);
    assert_eq!(run.code, 2);
    assert_eq!(run.err, "sessionc: `tools.session` does not declare a shape `Tol`; did you mean `Tool`?\n");
    let run = folder.run(&["schema", "counter.session"]);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.err,
        "sessionc: `counter.session` does not declare any shape: add one with `type Name = { field: string }`\n"
    );
    let run = folder.run(&["schema", "bad.session"]);
    assert!(run.code == 1 && run.err.starts_with("error[S0103]"), "{run:?}");
}

#[test]
fn shapes_of_a_schema_compile_and_have_that_schema() {
    let folder = Folder::new("shapes");
    folder.write("tools.session", TOOLS);
    let schema = folder.run(&["schema", "tools.session"]).out;
    folder.write("tools.json", &schema);
    let shapes = folder.run(&["shapes", "tools.json"]);
    let expected = "\
--- A tool that the server offers.
type Tool = {
    --- Unique on this server.
    name: string,
    size?: uint,
    role: \"user\" | \"assistant\",
    ..rest
}

type Tools = [Tool]
";
    assert_eq!((shapes.code, shapes.out.as_str(), shapes.err.as_str()), (0, expected, ""));
    folder.write("again.session", &shapes.out);
    assert_eq!(folder.run(&["schema", "again.session"]).out, schema);

    // The names of variants are titles.
    let status = "type Status = 1 as Ok | 2 as CompileFailed | int\n\n--- Where.\ntype Place = { side?: \"l\" as Left | \"r\" }\n";
    folder.write("status.session", status);
    folder.write("status.json", &folder.run(&["schema", "status.session"]).out);
    assert_eq!(folder.run(&["shapes", "status.json"]).out, status);

    folder.write("broken.json", "{ \"type\": ");
    let run = folder.run(&["shapes", "broken.json"]);
    assert_eq!(run.code, 2);
    assert!(run.err.starts_with("sessionc: `broken.json` is not a JSON Schema: EOF"), "{}", run.err);
    let run = folder.run(&["shapes", "again.session"]);
    assert!(
        run.err.contains("; for a schema of its shapes, write `sessionc schema again.session`"),
        "{}",
        run.err
    );
}
