//! A file with errors: each is shown once with the file's own lines, and rustc adds nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what they expect by panicking")]

mod support;

use std::path::Path;

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use support::Package;

/// A program that uses everything it could of a protocol that did not compile.
const PROGRAM: &str = r#"
mod talk {
    mcp_protocol_macro::protocol!(crate::runtime, "talk.session");
}
use talk::client::{Context, Handler, Incoming};
use talk::{Active, Caller, Greeting, TalkError};

async fn play(transport: String) -> Result<(), TalkError> {
    let caller = Caller::new(transport);
    let caller: Caller<Greeting> = caller.send_hello(1).await?;
    let (answer, caller) = caller.recv_welcome().await?;
    let text: String = answer.text;
    let (one, two) = (caller.ask(text), caller.ping());
    let queue = caller.incoming();
    match queue.next().await {
        Some(Incoming::Ask(params, responder)) => responder.respond(params).await?,
        _ => {}
    }
    one.await?;
    two.on_progress(|_| ()).await?;
    caller.close().await?;
    Ok(())
}

fn permitted(caller: &Caller<Active>) -> bool {
    caller.permits(talk::messages::ASK).is_ok() && talk::PROTOCOL.client.is_some()
}

struct Mine;

impl Handler for Mine {
    async fn ask(&self, context: Context, params: u32) -> Result<u32, String> {
        context.peer().ping().await.ok();
        Ok(params)
    }
}

fn main() {}
"#;

/// Two errors: a message and a definition that do not exist.
const SESSION: &str = "\
protocol Talk \"1\"
request Hello \"hello\" -> Welcome
request Ask \"ask\" (u32) -> Answer (u32)
client Caller
Caller = Greeting
Greeting = !Hello . ?Welcome . Active
Active = (*( ?Ask . !reply . End ), *( !Pang . End ), Missing)
";

#[test]
fn only_the_files_own_errors_are_shown() {
    let package = Package::new("noise");
    package.write("src/main.rs", PROGRAM);
    package.write("talk.session", SESSION);
    let errors = package.errors();
    let headlines: Vec<&str> = errors.lines().filter(|line| line.starts_with("error")).collect();
    let (last, found) = headlines.split_last().unwrap();
    assert!(last.contains("could not compile"), "{errors}");
    assert_eq!(found.len(), 2, "{errors}");
    assert!(found.iter().all(|line| line.starts_with("error: [S")), "{errors}");
    assert!(errors.contains("--> talk.session:7:"), "{errors}");
    // The path literal in the source is what rustc points at.
    assert!(errors.contains("src/main.rs:3:51"), "{errors}");
}

#[test]
fn a_file_that_is_not_there_says_where_it_was_looked_for() {
    let package = Package::new("missing");
    package.write(
        "src/main.rs",
        "mod talk { mcp_protocol_macro::protocol!(crate::runtime, \"talk.session\"); }\nfn main() {}\n",
    );
    package.write("src/talk.session", "");
    let errors = package.errors();
    assert!(errors.contains(&format!("no file `{}`", package.path("talk.session").display())), "{errors}");
    assert!(errors.contains("written `\"./talk.session\"`"), "{errors}");
}

#[cfg(unix)]
#[test]
fn a_file_that_never_ends_is_too_large() {
    let package = Package::new("endless");
    package.write(
        "src/main.rs",
        "mod talk { mcp_protocol_macro::protocol!(crate::runtime, \"talk.session\"); }\nfn main() {}\n",
    );
    package.write("talk.session", "import \"/dev/zero\"\nclient Caller\nCaller = !Hello . End\n");
    let errors = package.errors();
    assert!(errors.contains("[S0002] the file is larger than 64 MiB"), "{errors}");
}

#[test]
fn warnings_are_shown_as_warnings() {
    let package = Package::new("warned");
    package.write("src/main.rs", &format!("{}\nmod talk {{ mcp_protocol_macro::protocol!(crate::runtime, \"talk.session\"); }}\nfn main() {{}}\n", support::RUNTIME));
    package.write("talk.session", "protocol Talk \"1\"\nnotification Hello \"hello\"\n--- Of nothing.\n");
    let output = package.cargo("check");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("--> talk.session:3:1"), "{said}");
    assert!(said.contains("warning: use of deprecated constant"), "{said}");
}

/// What the command line prints of the errors in a file of a package, as rustc prints the text of a `compile_error!`:
/// it writes the level by itself, and the lines after the first are indented by that much.
fn as_rustc_shows_it(package: &Package, file: &str) -> Vec<String> {
    let mut compilation =
        compile(Path::new(file), &mut |path| std::fs::read(package.path(path.to_str().unwrap()))).unwrap();
    compilation.diagnostics.retain(|found| found.severity == Severity::Error);
    let rendered = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
    let parts = rendered.split("error[").filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let text = format!("error: [{}", part.trim_end().replacen("]: ", "] ", 1));
            let lines = text.lines().enumerate();
            let lines =
                lines.map(|(number, line)| if number == 0 { line.to_owned() } else { indented(line) });
            lines.collect::<Vec<String>>().join("\n")
        })
        .collect()
}

fn indented(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("{:width$}{line}", "", width = "error: ".len()) }
}

/// The macro and the command line have one rendering: with several labels, in several files, with helps and notes.
#[test]
fn rustc_shows_what_the_command_line_prints() {
    let wrong = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-protocol-compiler/tests/diagnostics");
    let mut files: Vec<(String, String)> = std::fs::read_dir(wrong)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "session"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()))
        .filter_map(|(name, bytes)| Some((name, String::from_utf8(bytes).ok()?)))
        // What the driver of that folder makes more of, another file or megabytes, is of no use as it stands.
        .filter(|(_, text)| !text.contains("-- in ") && !text.contains("-- and "))
        .collect();
    files.sort();
    files.push((
        "imports".to_owned(),
        "protocol Imports \"1\"\nimport \"imported.session\"\nnotification Tip \"mine\"\n".to_owned(),
    ));
    let package = Package::new("rendered");
    package.write("imported.session", "notification Other \"other\"\nnotification Tip \"tip\"\n");
    let mut program = "fn main() {}\n".to_owned();
    for (number, (name, text)) in files.iter().enumerate() {
        package.write(&format!("{name}.session"), text);
        program += &format!(
            "mod case_{number} {{ mcp_protocol_macro::protocol!(crate::runtime, \"{name}.session\"); }}\n"
        );
    }
    package.write("src/main.rs", &program);
    let said = package.errors();
    let mut compared = 0;
    for (name, _) in &files {
        for expected in as_rustc_shows_it(&package, &format!("{name}.session")) {
            compared += 1;
            assert!(said.contains(&expected), "{name}: this is not there:\n{expected}\nbut:\n{said}");
        }
    }
    assert!(said.contains("--> imported.session:2") || said.contains("::: imported.session:2"), "{said}");
    assert!(compared >= 50, "only {compared} errors were compared");
}
