//! A server in front of two others: their tools are its own, and its clients answer what they ask.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::sync::Arc;
use std::time::Duration;

use mcp_kit::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use super::ERAS;

/// Greets the one who is asked for the name
#[derive(Deserialize, JsonSchema)]
struct Greet {}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// What of the work of a server behind has happened.
type Events = mpsc::UnboundedSender<&'static str>;

impl Tool<Events> for Greet {
    type Needs = User;
    type Output = String;

    async fn run(self, _: &Events, client: Client<User>) -> Result<String, Failure> {
        client.progress(1, 2).message("asking").await?;
        client.log(LoggingLevel::Debug, "a client was asked").await?;
        client.log(LoggingLevel::Warning, "its name is not known").await?;
        let name = client.ask::<Name>("Who is there?").await?.accepted().ok_or("nothing was said")?.name;
        client.progress(2, 2).await?;
        Ok(format!("Hello, {name}!"))
    }
}

/// Never returns
#[derive(Deserialize, JsonSchema)]
struct Hang {}

/// Says that a call is dropped.
struct Dropped(Events);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

impl Tool<Events> for Hang {
    type Needs = ();
    type Output = ();

    async fn run(self, events: &Events, _: Client) -> Result<(), Failure> {
        let _dropped = Dropped(events.clone());
        events.send("begun")?;
        std::future::pending().await
    }
}

/// Fails
#[derive(Deserialize, JsonSchema)]
struct Fail {}

impl Tool<Events> for Fail {
    type Needs = ();
    type Output = ();

    async fn run(self, _: &Events, _: Client) -> Result<(), Failure> {
        Err("the disk is full".into())
    }
}

/// The servers behind, by the prefix of their tools.
struct Behind(Vec<(&'static str, Arc<Connection>)>);

impl Tools<Behind> for Behind {
    async fn list(behind: &Behind, _: &ListRequest) -> Result<Page<types::Tool>, Failure> {
        let mut all = Vec::new();
        for (prefix, server) in &behind.0 {
            let named = |mut tool: types::Tool| {
                tool.name = format!("{prefix}{}", tool.name);
                tool
            };
            all.extend(server.tools().await?.into_iter().map(named));
        }
        Ok(all.into())
    }

    async fn call(
        behind: &Behind,
        name: &str,
        arguments: Object,
        client: Client,
    ) -> Result<Option<CallToolResult>, Failure> {
        for (prefix, server) in &behind.0 {
            if let Some(tool) = name.strip_prefix(prefix) {
                return Ok(Some(server.pass_on(tool, arguments, &client).await?));
            }
        }
        Ok(None)
    }
}

fn asks(name: &'static str, era: Era) -> ConnectOptions {
    ConnectOptions::new("test", "1")
        .era(era)
        .on_form(move |_| async move { Ok(Answer::Accepted(Name { name: name.to_owned() })) })
}

/// A server, the changes of its lists, and a connection to it.
async fn behind(era: Era, events: &Events) -> (Changes, Arc<Connection>) {
    let (near, far) = duplex();
    let server = Server::new("behind", "1", events.clone()).tool::<Greet>().tool::<Hang>().tool::<Fail>();
    let changes = server.changes();
    tokio::spawn(server.serve(far));
    (changes, Arc::new(ConnectOptions::new("gateway", "1").era(era).as_proxy().connect(near).await.unwrap()))
}

/// A client of a gateway in front of two servers that are spoken to in this era; and the changes of the first of them.
async fn gateway(before: Era, behind_it: Era, events: &Events) -> (Changes, Connection) {
    let (changes, a) = behind(behind_it, events).await;
    let (_, b) = behind(behind_it, events).await;
    let gateway = Server::new("gateway", "1", Behind(vec![("a_", Arc::clone(&a)), ("b_", b)]));
    let own = gateway.changes();
    tokio::spawn(async move {
        let mut tools = a.live_tools().await?;
        while tools.changed().await?.is_some() {
            own.tools();
        }
        Ok::<_, Error>(())
    });
    let (near, far) = duplex();
    tokio::spawn(gateway.tools::<Behind>().serve(far));
    (changes, asks("Ada", before).connect(near).await.unwrap())
}

#[tokio::test]
async fn the_tools_of_both_are_listed_and_called_and_its_client_answers() {
    for (before, behind) in ERAS {
        let (events, _) = mpsc::unbounded_channel();
        let (_, client) = gateway(before, behind, &events).await;
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["a_greet", "a_hang", "a_fail", "b_greet", "b_hang", "b_fail"]);
        for tool in ["a_greet", "b_greet"] {
            let reports = Arc::new(std::sync::Mutex::new(Vec::new()));
            let heard = Arc::clone(&reports);
            let call = client.call_text(tool, json!({}));
            let call = call.on_progress_report(move |report| heard.lock().unwrap().push(report));
            assert_eq!(call.await.unwrap(), "Hello, Ada!", "{before:?} {behind:?}");
            let reports: Vec<_> = reports
                .lock()
                .unwrap()
                .iter()
                .map(|report| (report.progress.as_i64(), report.message.clone()))
                .collect();
            let expected = [(Some(1), Some("asking".to_owned())), (Some(2), None)];
            assert_eq!(reports, expected, "{before:?} {behind:?}");
        }
    }
}

#[tokio::test]
async fn its_client_reads_what_is_logged_behind_it() {
    for (before, behind_it) in ERAS {
        let (events, _) = mpsc::unbounded_channel();
        let (_, server) = behind(behind_it, &events).await;
        let gateway = Server::new("gateway", "1", Behind(vec![("", server)])).tools::<Behind>();
        let (near, far) = duplex();
        tokio::spawn(gateway.serve(far));
        let (line, mut lines) = mpsc::unbounded_channel();
        let log = move |message: LoggingMessageParams| drop(line.send(message.data));
        let client = asks("Ada", before).on_log(LoggingLevel::Warning, log).connect(near).await.unwrap();
        assert_eq!(client.call_text("greet", json!({})).await.unwrap(), "Hello, Ada!");
        drop(client);
        let mut read = Vec::new();
        while let Some(line) = lines.recv().await {
            read.push(line);
        }
        assert_eq!(read, ["its name is not known"], "{before:?} {behind_it:?}");
    }
}

#[tokio::test]
async fn what_fails_behind_it_fails_as_it_did_there() {
    for (before, behind) in ERAS {
        let (events, _) = mpsc::unbounded_channel();
        let (_, client) = gateway(before, behind, &events).await;
        let failed = client.call_text("a_fail", json!({})).await.unwrap_err();
        assert_eq!(failed.to_string(), "the tool `a_fail` failed: the disk is full");
        for (tool, message) in [("a_sing", "there is no tool `sing`"), ("sing", "there is no tool `sing`")] {
            let refused = client.call_text(tool, json!({})).await.unwrap_err();
            let Some(Error::Refused(error)) = refused.call_error() else { panic!("{refused}") };
            assert_eq!((error.code, &*error.message), (RpcError::INVALID_PARAMS, message));
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_behind_it() {
    for (before, behind) in ERAS {
        let (events, mut happened) = mpsc::unbounded_channel();
        let (_, client) = gateway(before, behind, &events).await;
        let call = client.call_text("b_hang", json!({})).timeout(Duration::from_secs(60));
        tokio::select! {
            ended = std::future::IntoFuture::into_future(call) => panic!("{ended:?}"),
            begun = happened.recv() => assert_eq!(begun, Some("begun")),
        }
        assert_eq!(happened.recv().await, Some("dropped"), "{before:?} {behind:?}");
    }
}

#[tokio::test]
async fn a_change_of_the_tools_behind_it_is_one_of_its_own() {
    for (before, behind) in ERAS {
        let (events, _) = mpsc::unbounded_channel();
        let (changes, client) = gateway(before, behind, &events).await;
        let mut tools = client.live_tools().await.unwrap();
        // The gateway listens from some time on: it is changed until it does.
        let changing = async {
            loop {
                changes.tools();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            changed = tools.changed() => assert_eq!(changed.unwrap().map(<[_]>::len), Some(6)),
            () = changing => {}
        }
    }
}
