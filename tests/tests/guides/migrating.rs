//! The examples of `docs/migrating.md`, which run here.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mcp_kit::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Added {
    value: i64,
}

#[derive(Default)]
struct Counter {
    value: AtomicI64,
}

fn server() -> Server<Counter> {
    Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), Counter::default())
        .instructions("Counts.")
        .tool_named("increment", "Adds one to the counter", increment)
        .tool_named("echo", "Repeats its arguments", echo)
        .tool::<Add>()
        .prompt::<Analysis>()
        .resource::<Value>()
}

async fn increment((): (), counter: Arc<Counter>, _: Client) -> Result<String, Failure> {
    Ok((counter.value.fetch_add(1, Ordering::Relaxed) + 1).to_string())
}

async fn echo(arguments: Object, _: Arc<Counter>, _: Client) -> Result<String, Failure> {
    Ok(serde_json::to_string(&arguments)?)
}

/// Adds to the counter
#[derive(Deserialize, JsonSchema)]
struct Add {
    /// How much
    amount: i64,
}

impl Tool<Counter> for Add {
    type Needs = ();
    type Output = Json<Added>;

    async fn run(self, counter: &Counter, client: Client) -> Result<Json<Added>, Failure> {
        let value = counter.value.fetch_add(self.amount, Ordering::Relaxed).checked_add(self.amount);
        client.changes().resource("counter://value");
        Ok(Json(Added { value: value.ok_or("the counter is full")? }))
    }
}

/// Says how far the counter is from a goal
#[derive(Deserialize, JsonSchema)]
struct Analysis {
    goal: i64,
}

impl Prompt<Counter> for Analysis {
    type Needs = ();
    const NAME: Option<&'static str> = Some("counter_analysis");

    async fn get(self, counter: &Counter, _: Client) -> Result<Vec<PromptMessage>, Failure> {
        let value = counter.value.load(Ordering::Relaxed);
        Ok(vec![said(Role::User, format!("The counter is at {value}, the goal is {}.", self.goal))])
    }
}

/// The value of the counter
#[derive(Deserialize, JsonSchema)]
struct Value;

impl Resource<Counter> for Value {
    const URI: &'static str = "counter://value";
    type Needs = ();

    async fn read(self, counter: &Counter, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, counter.value.load(Ordering::Relaxed).to_string()))
    }
}

async fn add(command: Command) -> Result<i64, Failure> {
    let options = ConnectOptions::new("my-client", "1.0.0")
        .on_sampling(|_| async { Err("there is no model".into()) })
        .on_log(LoggingLevel::Info, |line| eprintln!("{}", line.data));
    let counter = options.connect(Child::spawn(command)?).await?;
    let added: Added = counter.call("add", json!({ "amount": 2 })).await?;
    counter.close().await?;
    Ok(added.value)
}

#[tokio::test]
async fn the_server_of_the_page_counts() {
    let (near, far) = duplex();
    tokio::spawn(server().serve(far));
    let counter = ConnectOptions::new("test", "1").connect(near).await.unwrap();
    let names: Vec<String> = counter.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["increment", "echo", "add"]);
    assert_eq!(counter.call_text("increment", ()).await.unwrap(), "1");
    assert_eq!(counter.call_text("echo", json!({ "a": [1] })).await.unwrap(), r#"{"a":[1]}"#);
    let added: Added = counter.call("add", json!({ "amount": 2 })).await.unwrap();
    assert_eq!(added.value, 3);
    assert_eq!(counter.read_text("counter://value").await.unwrap(), "3");
    let analysis = counter.prompt("counter_analysis", [("goal", "7")]).await.unwrap();
    assert_eq!(analysis.messages, [said(Role::User, "The counter is at 3, the goal is 7.")]);
    let wrong = add(Command::new("/is/not/there")).await.unwrap_err();
    assert!(wrong.to_string().contains("/is/not/there"), "{wrong}");
}

#[test]
fn every_example_of_the_page_is_here() {
    let here = include_str!("migrating.rs");
    let blocks = include_str!("../../../docs/migrating.md").split("```rust\n").skip(1);
    let examples = blocks.map(|block| block.split("```").next().unwrap());
    let missing: Vec<_> = examples.clone().filter(|code| !here.contains(code)).collect();
    assert_eq!((examples.count(), missing), (6, Vec::new()));
}
