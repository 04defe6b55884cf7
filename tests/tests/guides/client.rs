//! The examples of `docs/client.md`, which run here.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use integration_tests::example::program;
use mcp_kit::{Answer, ConnectOptions};
use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Change, Client, Connector};
use mcp_protocols::rounds::User;
use mcp_runtime::RpcError;
use mcp_runtime::transport::Child;
use mcp_runtime::transport::http::HttpClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[path = "../../../examples/eras/server.rs"]
mod desk;

struct Ada;

impl User for Ada {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else {
            return Ok(ElicitResult::new(ElicitAction::Decline));
        };
        println!("{}", form.message);
        let answers =
            form.requested_schema.properties.into_keys().map(|field| (field, FieldValue::from("Ada")));
        Ok(ElicitResult::new(ElicitAction::Accept).content(answers))
    }
}

fn connector() -> Connector<Ada> {
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    Connector::new(Implementation::new("my-client", "1.0.0"), can, Ada)
}

#[tokio::test]
async fn a_server_is_started_and_called() -> Result<(), Box<dyn Error>> {
    // The program serves if it is told to.
    let server = "sh";
    let mut serve = Command::new(server);
    serve.arg("-c").arg(format!("{} serve", program("eras").display()));
    let client = connector().connect(Child::spawn(serve)?).await?;
    let params = CallToolParams::new("greet", client.meta()).with_argument("polite", true);
    let greeting = client
        .call_tool(params)
        .timeout(Duration::from_secs(30))
        .on_progress(|report| println!("{} of {:?}", report.progress, report.total))
        .await?;
    println!("{}", greeting.first_text().unwrap_or("nothing"));
    assert_eq!(greeting.first_text(), Some("Hello, Ada!"));
    client.close().await?;
    Ok(())
}

/// As the page has it, with a program that needs no arguments.
async fn started(server: &str) -> Result<(), Box<dyn Error>> {
    let child = Child::spawn(Command::new(server))?;
    let client = connector().connect(child).await?;
    assert_eq!(client.offer().server_info.name, "adder");
    client.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_program_is_a_server() -> Result<(), Box<dyn Error>> {
    started(program("adder").to_str().ok_or("the path is no text")?).await
}

#[tokio::test]
async fn a_client_hears_of_changes_at_a_url() -> Result<(), Box<dyn Error>> {
    use mcp_runtime::transport::http::{HttpServer, ServerOptions};

    let desk = desk::server()?;
    let changes = desk.handler().changes.clone();
    let http = HttpServer::new(ServerOptions::default(), move |transport| {
        let desk = desk.clone();
        async move { drop(desk.serve(transport).await) }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = &format!("http://{}/mcp", listener.local_addr()?);
    let router = axum::Router::new().route("/mcp", http.method_router());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });

    let client = connector().connect_to(url, || HttpClient::new(url)).await?;
    let heard = hear(client);
    let told = async {
        // Until the client listens, nobody hears of changes.
        loop {
            changes.tools();
            changes.end();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        heard = heard => heard?,
        () = told => {}
    }
    serving.abort();
    Ok(())
}

async fn hear(client: Client<Ada>) -> Result<(), Box<dyn Error>> {
    let wanted = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["desk://note"]);
    let mut listening = client.listen(wanted).await?;
    while let Some(change) = listening.next().await {
        match change {
            Change::Tools => refresh_tools(&client).await?,
            Change::Resource(uri) => println!("{uri} has changed"),
            _ => {}
        }
    }
    Ok(())
}

async fn refresh_tools(client: &Client<Ada>) -> Result<(), Box<dyn Error>> {
    let tools = client.list_tools(PaginatedParams::new(client.meta())).await?.tools;
    assert!(!tools.is_empty());
    Ok(())
}

#[derive(Serialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

#[derive(Serialize)]
struct AddNote<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
struct Added {
    id: i64,
}

#[derive(Serialize)]
struct DeleteNote {
    id: i64,
}

fn options() -> ConnectOptions {
    ConnectOptions::new("my-client", "1.0.0").on_form(|asked| async move {
        println!("{}", asked.message);
        Ok(Answer::Accepted(Confirm { sure: true }))
    })
}

#[tokio::test]
async fn a_program_calls_with_its_types() -> Result<(), Box<dyn Error + Send + Sync>> {
    let notes = options().connect(Child::spawn(Command::new(program("notes")))?).await?;
    let added: Added = notes.call("add_note", AddNote { text: "buy milk" }).await?;
    println!("{}", notes.call_text("delete_note", DeleteNote { id: added.id }).await?);
    assert_eq!(notes.resources().await?.len(), 0);
    notes.close().await?;
    Ok(())
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let page = include_str!("../../../docs/client.md");
    let here = squeezed(include_str!("client.rs"));
    let mut examples = 0;
    for block in page.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
        examples += 1;
    }
    assert_eq!(examples, 8);
}
