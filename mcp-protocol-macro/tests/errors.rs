//! A file with errors: each is shown once with the file's own lines, and rustc adds nothing.

mod support;

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
