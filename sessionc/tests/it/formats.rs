//! What programs read: JSON lines and SARIF, the same from every command; what shells and `man` read; colours.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests may fail the test")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::program::{commands_of, empty_folder, run, run_with};

fn folder(name: &str) -> PathBuf {
    empty_folder(&format!("formats_{name}"))
}

const GOOD: &str = "client Teller\nserver Counter = dual Teller\n\nTeller = !Add . ?Sum . End\n";
const WHOLE: &str = "\
request Add \"add\" -> Sum

client Teller
server Counter = dual Teller

Teller = !Add . ?Sum . End
";
const BAD: &str =
    "client Teller\nserver Counter = dual Teller\n\nTeller = !Add . Redy\n\nReady = ?Sum . End\n";
const UNTIDY: &str = "client Teller\nserver Counter = dual Teller\n\nTeller = !Add.?Sum.End\n";

#[test]
fn findings_of_every_command_have_the_same_keys() {
    let folder = folder("keys");
    for (file, text) in
        [("bad.session", BAD), ("untidy.session", UNTIDY), ("good.session", WHOLE), ("old.rs", "")]
    {
        fs::write(folder.join(file), text).unwrap();
    }
    fs::write(folder.join("broken.session"), "client Teller =\n").unwrap();
    for (arguments, code, file, line) in [
        (&["check", "bad.session"][..], "S0103", "bad.session", 4),
        (&["fmt", "--check", "untidy.session"], "unformatted", "untidy.session", 4),
        (&["fmt", "--check", "broken.session"], "S0033", "broken.session", 1),
        (&["expand", "good.session", "-o", "old.rs", "--check"], "outdated", "old.rs", 1),
        (&["expand", "bad.session", "-o", "old.rs", "--check"], "S0103", "bad.session", 4),
    ] {
        let (exit, out, err) = run(&folder, &[arguments, &["--format", "json"]].concat());
        assert_eq!((exit, err.as_str()), (1, ""), "{arguments:?}");
        let first = out.lines().next().unwrap();
        let found: Value = serde_json::from_str(first).unwrap();
        assert_eq!((found["code"].as_str(), found["file"].as_str()), (Some(code), Some(file)), "{first}");
        assert_eq!(found["line"], line, "{first}");
        let keys = ["code", "severity", "message", "file", "line", "column", "help"];
        let places: Vec<_> = keys.iter().map(|key| first.find(&format!("\"{key}\":")).unwrap()).collect();
        assert!(places.is_sorted() && found.as_object().unwrap().len() == keys.len(), "{first}");

        let (exit, out, err) = run(&folder, &[arguments, &["--format", "sarif"]].concat());
        assert_eq!((exit, err.as_str()), (1, ""), "{arguments:?}");
        let log: Value = serde_json::from_str(&out).unwrap();
        let result = &log["runs"][0]["results"][0];
        assert_eq!((&result["ruleId"], &result["level"]), (&code.into(), &"error".into()), "{out}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], file, "{out}");
        assert_eq!(place["region"]["startLine"], line, "{out}");
    }
    let (exit, _, err) = run(&folder, &["fmt", "good.session", "--format", "json"]);
    assert!(exit == 2 && err.contains("--check"), "{err}");
}

#[test]
fn a_fix_of_the_log_mends_the_finding() {
    let folder = folder("fix");
    fs::write(folder.join("bad.session"), BAD).unwrap();
    let log: Value =
        serde_json::from_str(&run(&folder, &["check", "--format", "sarif", "bad.session"]).1).unwrap();
    let result = &log["runs"][0]["results"][0];
    let message = result["message"]["text"].as_str().unwrap();
    assert!(message.contains("\nhelp: "), "{message}");
    let change = &result["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "bad.session");
    let replacement = &change["replacements"][0];
    let region = &replacement["deletedRegion"];
    let number = |key: &str| usize::try_from(region[key].as_u64().unwrap()).unwrap();
    assert_eq!((number("startLine"), number("endLine")), (4, 4));
    let mut lines: Vec<String> = BAD.lines().map(str::to_owned).collect();
    let new = replacement["insertedContent"]["text"].as_str().unwrap();
    lines[3].replace_range(number("startColumn") - 1..number("endColumn") - 1, new);
    fs::write(folder.join("bad.session"), lines.join("\n") + "\n").unwrap();
    assert_eq!(run(&folder, &["check", "bad.session"]), (0, String::new(), String::new()));
}

/// The findings of all the wrong programs that the compiler's tests look at, in one log.
fn wrong_programs() -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-protocol-compiler/tests/diagnostics");
    let files =
        fs::read_dir(&programs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> = files.filter(|file| file.ends_with(".session")).collect();
    let mut arguments = vec!["check", "--format", "sarif"];
    arguments.extend(files.iter().map(String::as_str));
    let (exit, out, _) = run(&programs, &arguments);
    assert_eq!(exit, 1);
    out
}

#[test]
fn every_result_of_a_log_has_its_rule() {
    let log: Value = serde_json::from_str(&wrong_programs()).unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.len() > 80 && rules.len() > 40, "{} {}", results.len(), rules.len());
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_ne!(rule["shortDescription"]["text"], "");
        let region = &result["locations"][0]["physicalLocation"]["region"];
        for key in ["startLine", "startColumn", "endLine", "endColumn"] {
            assert!(region[key].as_u64() > Some(0), "{result}");
        }
    }
}

#[test]
#[ignore = "needs Python and the packages of `tests/peers`, which `.ci/run` installs"]
fn the_schema_of_sarif_accepts_the_log() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers");
    let validate = |log: &str| {
        let mut command = Command::new(peers.join(".venv/bin/python"));
        command.arg(peers.join("sarif.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(log.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let log = wrong_programs();
    assert_eq!(validate(&log), "");
    let traffic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/traffic");
    let arguments = ["trace", "--protocol", "mcp", "--format", "sarif", "everything-violations.jsonl"];
    let (exit, traced, _) = run(&traffic, &arguments);
    assert_eq!((exit, validate(&traced).as_str()), (1, ""));
    let broken = log.replace("\"startLine\": ", "\"startLine\": -");
    assert!(validate(&broken).contains("startLine"), "the schema is not looked at");
}

#[test]
fn explain_prints_pages_for_programs() {
    let folder = folder("explain");
    let (exit, out, _) = run(&folder, &["explain", "S0301", "--format", "json"]);
    let page: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (exit, &page["code"], &page["title"]),
        (0, &"S0301".into(), &"a reply without its request".into())
    );
    assert!(page["text"].as_str().unwrap().starts_with("# S0301: "));
    let (exit, out, _) = run(&folder, &["explain", "--format", "json"]);
    assert!(exit == 0 && out.lines().count() > 60);
    assert!(out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

/// The names of what a machine has in a state, with where each leads.
fn messages(machine: &Value, state: &str) -> Vec<String> {
    let states = machine["states"].as_array().unwrap();
    let state = states.iter().find(|found| found["name"] == state).unwrap();
    let line = |message: &Value| {
        let text = |key: &str| message[key].as_str().unwrap_or("-").to_owned();
        ["direction", "message", "kind", "answers", "to", "opens", "origin"].map(text).join(" ")
    };
    state["messages"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_machine_is_data_for_programs() {
    let folder = folder("machine");
    let text = "\
protocol Desk \"2\"

request Open \"open\" -> Opened
request Ask \"ask\" -> Answer
notification Note \"note\"

client Guest
server Desk = dual Guest

Guest = !Open . ?Opened . Talking
Talking = ( *( !Ask . ?Answer . End ), rec α . ( !Note . α ⊕ End ) )
";
    fs::write(folder.join("desk.session"), text).unwrap();
    let machine = |arguments: &[&str]| -> Value {
        let (exit, out, err) =
            run(&folder, &[&["diagram", "desk.session", "--format", "json"], arguments].concat());
        assert_eq!((exit, err.as_str()), (0, ""), "{arguments:?}: {out}");
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    };
    let client = machine(&[]);
    let head = ["protocol", "version", "role", "side", "start"].map(|key| client[key].as_str().unwrap());
    assert_eq!(head, ["Desk", "2", "Guest", "client", "Start"]);
    assert_eq!(messages(&client, "Start"), ["send Open request - AwaitingOpened - written"]);
    assert_eq!(
        messages(&client, "AwaitingOpened"),
        ["receive Opened result Open Talking - written", "receive OpenError error Open Start - refusal"]
    );
    assert_eq!(
        messages(&client, "Talking"),
        ["send Ask request - - AwaitingAnswer written", "send Note notification - Talking - written"]
    );
    let server = machine(&["--role", "server"]);
    assert_eq!(messages(&server, "Start")[0], "receive Open request - BeforeOpened - written");
    let part = machine(&["--definition", "Talking", "--without-refusals"]);
    assert_eq!(part["start"], "Talking");
    let all = part["states"].as_array().unwrap();
    assert!(all.iter().all(|state| state["name"] != "Start"), "{part}");
    assert!(all.iter().all(|state| {
        messages(&part, state["name"].as_str().unwrap()).iter().all(|line| !line.ends_with("refusal"))
    }));
    // Every state that is named has a place of its own.
    for machine in [&client, &server, &part] {
        let states = machine["states"].as_array().unwrap();
        let named = states.iter().flat_map(|state| state["messages"].as_array().unwrap());
        let named = named.map(|message| message.get("to").or(message.get("opens")).unwrap());
        for name in named.chain([&machine["start"]]) {
            assert_eq!(states.iter().filter(|state| state["name"] == *name).count(), 1, "{name}");
        }
    }
}

#[test]
fn texts_and_their_findings_are_data_for_programs() {
    let folder = folder("texts");
    fs::write(folder.join("bad.session"), "client Teller =\n").unwrap();
    let object = |arguments: &[&str], input: &str, expected: i32| -> Value {
        let (exit, out, err) = run_with(&folder, &[arguments, &["--format", "json"]].concat(), input);
        assert_eq!((exit, err.as_str()), (expected, ""), "{arguments:?}: {out}");
        serde_json::from_str(out.lines().next().unwrap()).unwrap()
    };
    let dual = object(&["dual", "-"], GOOD, 0);
    assert!(dual["text"].as_str().unwrap().starts_with("server Counter\n"), "{dual}");
    let shapes = object(&["shapes", "-"], "{ \"type\": \"object\" }", 0);
    assert!(shapes["text"].as_str().unwrap().starts_with("type Root = "), "{shapes}");
    for command in ["dual", "diagram"] {
        assert_eq!(object(&[command, "bad.session"], "", 1)["code"], "S0033", "{command}");
    }
}

#[test]
fn a_dash_is_standard_input() {
    let folder = folder("stdin");
    fs::write(folder.join("part.session"), "request Add \"add\" -> Sum\n").unwrap();
    let importing = format!("import \"part.session\"\n\n{GOOD}");
    let schema = "{ \"type\": \"object\", \"properties\": { \"name\": { \"type\": \"string\" } } }";
    for (arguments, input, begins) in [
        (&["check", "-"][..], importing.as_str(), ""),
        (&["fmt", "-"], UNTIDY, GOOD),
        (&["fmt", "-"], GOOD, GOOD),
        (&["fmt", "--check", "-"], GOOD, ""),
        (&["expand", "-"], WHOLE, "// @generated"),
        (&["diagram", "-"], GOOD, "stateDiagram-v2"),
        (&["dual", "-"], GOOD, "server Counter\n"),
        (&["schema", "-"], "type Note = { text: string }\n", "{"),
        (&["shapes", "-"], schema, "type Root = "),
    ] {
        let (exit, out, err) = run_with(&folder, arguments, input);
        assert_eq!((exit, err.as_str()), (0, ""), "{arguments:?}");
        assert!(out.starts_with(begins), "{arguments:?}: {out}");
        assert_eq!(begins.is_empty(), out.is_empty(), "{arguments:?}: {out}");
    }
    let (exit, out, _) = run_with(&folder, &["check", "-"], BAD);
    assert!(exit == 1 && out.contains("--> <stdin>:4:17\n"), "{out}");
    let (exit, out, _) = run_with(&folder, &["fmt", "--check", "-"], UNTIDY);
    assert_eq!((exit, out.as_str()), (1, "`<stdin>` is not formatted: run `sessionc fmt -`\n"));
    let (exit, _, err) = run_with(&folder, &["check", "-", "-"], GOOD);
    let expected = "sessionc: cannot read `<stdin>`: it can be read only once; write `-` once\n";
    assert_eq!((exit, err.as_str()), (2, expected));
    // A file of this name can be named, too.
    fs::write(folder.join("-"), BAD).unwrap();
    assert!(run(&folder, &["check", "./-"]).1.contains("--> ./-:4:17\n"));
}

#[test]
fn a_name_that_is_misspelt_is_corrected() {
    let folder = folder("misspelt");
    fs::write(folder.join("good.session"), GOOD).unwrap();
    for (arguments, says) in [
        (&["chekc"][..], "similar subcommands exist: 'schema', 'check'"),
        (&["check", "good.session", "--formta", "json"], "a similar argument exists: '--format'"),
        (&["check", "good.session", "--format", "jsno"], "a similar value exists: 'json'"),
        (&["check", "god.session"], "did you mean `good.session`?"),
        (&["check", "counter.session"], "there are `good.session`"),
        (&["check", "none/good.session"], "the folder `none` does not exist"),
        (&["check", "."], "name a file in it, such as `./good.session`"),
        (&["dual", "good.session", "Tellre"], "did you mean `Teller`?"),
        (&["dual", "good.session", "Somebody"], "there are `Counter`, `Teller`"),
        (&["man", "expnad"], "did you mean `expand`?"),
    ] {
        let (exit, out, err) = run(&folder, arguments);
        assert_eq!((exit, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
}

#[test]
fn color_goes_ahead_of_the_variables() {
    let folder = folder("color");
    fs::write(folder.join("bad.session"), BAD).unwrap();
    let is_coloured = |arguments: &[&str], variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.args(arguments).envs(variable.map(|name| (name, "1"))).current_dir(&folder);
        let output = command.output().unwrap();
        [output.stdout, output.stderr].concat().contains(&0x1b)
    };
    assert!(is_coloured(&["check", "bad.session", "--color", "always"], None));
    assert!(is_coloured(&["check", "bad.session", "--color", "always"], Some("NO_COLOR")));
    assert!(!is_coloured(&["--color", "never", "check", "bad.session"], Some("CLICOLOR_FORCE")));
    assert!(is_coloured(&["check", "bad.session"], Some("CLICOLOR_FORCE")));
    assert!(!is_coloured(&["--color=always", "check", "--format", "json", "bad.session"], None));
    assert!(is_coloured(&["--color=always", "chekc"], None), "clap's own messages follow");
    assert!(!is_coloured(&["--color", "never", "check", "--help"], Some("CLICOLOR_FORCE")));
}

#[test]
fn shells_and_man_learn_every_command() {
    let folder = folder("man");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (exit, script, err) = run(&folder, &["completions", shell]);
        assert_eq!((exit, err.as_str()), (0, ""), "{shell}");
        for word in ["expand", "explain", "without-refusals"] {
            assert!(script.contains(word), "{word} is not completed in {shell}");
        }
    }
    let (_, bash, _) = run(&folder, &["completions", "bash"]);
    let script = format!(
        "{bash}\nCOMP_WORDS=(sessionc exp) COMP_CWORD=1\n_sessionc sessionc exp sessionc\necho \"${{COMPREPLY[@]}}\""
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "expand explain");

    assert_eq!(run(&folder, &["man", "-o", "pages"]), (0, String::new(), String::new()));
    let help = run(&folder, &["--help"]).1;
    let mut count = 0;
    for name in commands_of(&help).into_iter().filter(|name| *name != "help") {
        let page = fs::read_to_string(folder.join(format!("pages/sessionc-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH sessionc-{name} 1")), "{page}");
        assert_eq!(run(&folder, &["man", name]).1, page);
        count += 1;
    }
    assert!(count > 8, "{count} commands");
    let main = fs::read_to_string(folder.join("pages/sessionc.1")).unwrap();
    assert!(main.contains("sessionc\\-check(1)"), "{main}");
}

#[test]
#[cfg(unix)]
fn a_reader_that_stops_reading_is_no_failure() {
    let folder = folder("pipe");
    let script = format!(
        "'{}' explain --format json | head -n 1; echo \"${{PIPESTATUS[0]}}\"",
        env!("CARGO_BIN_EXE_sessionc")
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(&folder).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("{\"code\":\"S0001\"") && out.ends_with("\n0\n"), "{out}");
    assert_eq!(output.stderr, b"");
}
