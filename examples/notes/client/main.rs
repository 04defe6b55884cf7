//! A client of the notes: `cargo run --example notes_client --features notes -- COMMAND…` starts a server as a child, and
//! `-- URL TOKEN` speaks HTTP. It adds notes, hears of their changes, and has its user and its "model" answer the server.
//!
//! The user is asked on the terminal; `--yes` in front of the other arguments answers for them.

use std::io::Write;
use std::process::Command;

use mcp_kit::transport::Child;
use mcp_kit::transport::http::HttpClient;
use mcp_kit::types::*;
use mcp_kit::{Answer, CallError, ConnectOptions, Connection, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

#[derive(Serialize)]
struct AddNote<'a> {
    text: &'a str,
    tag: &'a str,
}

#[derive(Deserialize)]
struct Added {
    id: i64,
    uri: String,
}

#[derive(Serialize)]
struct FindNotes<'a> {
    words: &'a str,
}

#[derive(Deserialize)]
struct Found {
    notes: Vec<Note>,
}

#[derive(Deserialize)]
struct Note {
    text: String,
}

#[derive(Serialize)]
struct DeleteNote {
    id: i64,
}

#[derive(Serialize)]
struct ImportNotes<'a> {
    text: &'a str,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).peekable();
    let says_yes = arguments.next_if(|argument| argument == "--yes").is_some();
    let arguments: Vec<String> = arguments.collect();
    let options = options(says_yes);
    let notes = match arguments.as_slice() {
        [url, token] if url.starts_with("http") => {
            let bearer = format!("Bearer {token}");
            options.connect_to(url, || HttpClient::new(url)?.header("authorization", &bearer)).await?
        }
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            options.connect(Child::spawn(command)?).await?
        }
        [] => return Err("name a server: `COMMAND…`, or `URL TOKEN`".into()),
    };
    println!("{} in revision {}", notes.offer().server_info.name, notes.version());
    write(&notes).await?;
    notes.close().await?;
    Ok(())
}

/// Who answers what the server asks.
fn options(says_yes: bool) -> ConnectOptions {
    ConnectOptions::new("notes-client", env!("CARGO_PKG_VERSION"))
        .on_form(move |asked| async move {
            println!("asked: {}", asked.message);
            Ok(Answer::Accepted(Confirm { sure: says_yes || confirmed().await? }))
        })
        .on_sampling(|asked| async move {
            let asked =
                asked.messages.last().and_then(|message| message.content.first_text().map(str::to_owned));
            let lines = asked.unwrap_or_default().lines().count() - 1;
            let said = TextContent::new(format!("{lines} notes"));
            Ok(CreateMessageResult::new(Role::Assistant, said, "counts-lines"))
        })
        .on_log(LoggingLevel::Info, |line| println!("log: {}", line.data.as_str().unwrap_or("not a text")))
        .on_report(|report| eprintln!("{report}"))
}

/// Reads the user's answer from the terminal, on a thread that may wait.
async fn confirmed() -> Result<bool, Failure> {
    let read = || {
        print!("yes or no? ");
        std::io::stdout().flush()?;
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        Ok(line.trim() == "yes")
    };
    tokio::task::spawn_blocking(read).await?
}

/// Uses everything that the server has.
async fn write(notes: &Connection) -> Result<(), Failure> {
    let tools = notes.tools().await?;
    println!("tools: {}", tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(", "));
    let mut listed = notes.live_resources().await?;

    let milk = AddNote { text: "buy milk", tag: "shop" };
    let added: Added = notes.call("add_note", milk).await?;
    println!("added: {}", notes.read_text(&*added.uri).await?);
    if let Some(listed) = listed.changed().await? {
        println!("listed: {}", listed.iter().map(|note| &*note.name).collect::<Vec<_>>().join(", "));
    }

    let imported = ImportNotes { text: "mend the roof\ncall Bo" };
    let progress = |done: Number, all: Option<Number>| println!("import: {done} of {}", all.unwrap_or(done));
    println!("imported: {}", notes.call_text("import_notes", imported).on_progress(progress).await?);

    let found: Found = notes.call("find_notes", FindNotes { words: "roof" }).await?;
    println!("found: {}", found.notes.iter().map(|note| &*note.text).collect::<Vec<_>>().join(", "));
    println!("tags: {}", notes.complete_prompt("review", "tag", "s").await?.join(", "));
    let review = notes.prompt("review", [("tag", "shop")]).await?;
    let said = review.messages.iter().filter_map(|message| message.content.as_text());
    println!("prompt: {}", said.collect::<String>().replace('\n', " "));
    println!("summed up: {}", notes.call_text("sum_up", ()).await?);
    let mut changes = notes.subscribe([&added.uri]).await?;
    println!("note {}: {}", added.id, notes.call_text("delete_note", DeleteNote { id: added.id }).await?);
    if let Some(uri) = changes.next().await.transpose()? {
        println!("changed: {uri}");
    }
    drop(changes);
    match notes.call_text("delete_note", DeleteNote { id: added.id }).await {
        Err(CallError::Tool { result, .. }) => println!("again: {}", result.first_text().unwrap_or_default()),
        other => println!("again: {other:?}"),
    }
    Ok(())
}
