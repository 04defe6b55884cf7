//! What tools log with `tracing`, in the log that the client sees.
#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::sync::{Arc, Mutex};

use mcp_kit::transport::duplex;
use mcp_kit::types::LoggingLevel;
use mcp_kit::{Answer, Client, ClientLog, ConnectOptions, Era, Failure, Server, Tool, User};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tracing_subscriber::layer::SubscriberExt;

/// Logs while it works
#[derive(Deserialize, JsonSchema)]
struct Work {
    lines: u32,
}

impl Tool<()> for Work {
    type Needs = ();
    type Output = &'static str;

    async fn run(self, _: &(), _: Client) -> Result<&'static str, Failure> {
        tracing::info!("it begins");
        tokio::task::yield_now().await;
        tracing::warn!(left = self.lines, ratio = 0.5, "it\nworks");
        tracing::debug!("a detail");
        tracing::info!(target: "mcp_runtime::link", "of the connection");
        for line in 0..self.lines {
            tracing::error!("{line}");
        }
        tracing::info!(text = "x".repeat(20_000));
        Ok("done")
    }
}

/// What the client reads, of a call that logs so many errors.
async fn read(era: Era, lines: u32) -> Vec<(LoggingLevel, Option<String>, Value)> {
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(ClientLog::new()));
    let (near, far) = duplex();
    let server = tokio::spawn(Server::new("worker", "1.0.0", ()).tool::<Work>().serve(far));
    let read = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&read);
    let options = ConnectOptions::new("test", "1").era(era).on_log(LoggingLevel::Info, move |line| {
        heard.lock().unwrap().push((line.level, line.logger, line.data));
    });
    let client = options.connect(near).await.unwrap();
    assert_eq!(client.call_text("work", json!({ "lines": lines })).await.unwrap(), "done");
    // Outside of the work for a client there is nothing to forward to.
    tracing::error!("of the program");
    client.close().await.unwrap();
    server.await.unwrap().unwrap();
    let read = read.lock().unwrap();
    read.clone()
}

#[tokio::test]
async fn the_client_reads_what_a_tool_logs() {
    for era in [Era::Requests, Era::Handshake] {
        let read = read(era, 1).await;
        let own = || Some("log".to_owned());
        assert_eq!(
            read[..3],
            [
                (LoggingLevel::Info, own(), json!("it begins")),
                (LoggingLevel::Warning, own(), json!({ "message": "it\nworks", "left": 1, "ratio": 0.5 })),
                (LoggingLevel::Error, own(), json!("0")),
            ]
        );
        // A long text is cut, and the client wants no details.
        let text = read[3].2["text"].as_str().unwrap();
        assert!(text.len() < 10_000 && text.ends_with("x…"), "{} bytes", text.len());
        assert_eq!(read.len(), 4, "{era:?}");
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[tokio::test]
async fn a_tool_that_has_asked_logs_to_the_round_that_is_answered() {
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(ClientLog::new()));
    for era in [Era::Requests, Era::Handshake] {
        let (near, far) = duplex();
        let greet = |(), _, client: Client<User>| async move {
            tracing::info!("asking");
            client.ask::<Name>("Who?").await?;
            tracing::info!("answered");
            Ok("done")
        };
        tokio::spawn(Server::new("greeter", "1.0.0", ()).tool_named("greet", "Greets", greet).serve(far));
        let read = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&read);
        let options = ConnectOptions::new("test", "1")
            .era(era)
            .on_form(|_| async { Ok(Answer::Accepted(Name { name: "Ada".to_owned() })) })
            .on_log(LoggingLevel::Info, move |line| heard.lock().unwrap().push(line.data));
        let client = options.connect(near).await.unwrap();
        client.call_text("greet", ()).await.unwrap();
        assert_eq!(*read.lock().unwrap(), ["asking", "answered"], "{era:?}");
    }
}

#[tokio::test]
async fn a_handler_that_goes_on_between_two_rounds_is_within_the_span_of_its_request() {
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry());
    let (seen, was_seen) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
    let (spans, is_seen) = (Arc::clone(&seen), Arc::clone(&was_seen));
    let greet = move |(), _, client: Client<User>| {
        let (spans, is_seen) = (Arc::clone(&spans), Arc::clone(&is_seen));
        let look = move || spans.lock().unwrap().push(tracing::Span::current().id());
        async move {
            look();
            // While the client asks its user.
            let meanwhile = async {
                tokio::task::yield_now().await;
                look();
                is_seen.notify_one();
            };
            let (name, ()) = tokio::join!(client.ask::<Name>("Who?"), meanwhile);
            Ok(name?.accepted().map_or_else(String::new, |name| name.name))
        }
    };
    let (near, far) = duplex();
    tokio::spawn(Server::new("greeter", "1.0.0", ()).tool_named("greet", "Greets", greet).serve(far));
    let options = ConnectOptions::new("test", "1").era(Era::Requests).on_form(move |_| {
        let was_seen = Arc::clone(&was_seen);
        async move {
            was_seen.notified().await;
            Ok(Answer::Accepted(Name { name: "Ada".to_owned() }))
        }
    });
    let client = options.connect(near).await.unwrap();
    assert_eq!(client.call_text("greet", ()).await.unwrap(), "Ada");
    let seen = seen.lock().unwrap();
    assert!(seen[0].is_some());
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn lines_that_find_no_room_are_counted() {
    for era in [Era::Requests, Era::Handshake] {
        let read = read(era, 1_000).await;
        let (level, _, said) = read.last().unwrap();
        assert_eq!(*level, LoggingLevel::Warning);
        // The room is for 256 lines after those that were written at the pause.
        assert_eq!(*said, json!("747 more lines were logged at once than there is room for"), "{era:?}");
    }
}
