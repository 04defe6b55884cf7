//! The examples of `docs/client.md`, which run here.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use integration_tests::example::program;
use mcp_kit::{Answer, CallError, ConnectOptions, Connection};
use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Change, Client, Connector};
use mcp_protocols::rounds::User;
use mcp_runtime::RpcError;
use mcp_runtime::transport::http::HttpClient;
use mcp_runtime::transport::{Child, duplex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};

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
    // The program serves if its argument says so.
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
    let options = ConnectOptions::new("my-client", "1.0.0");
    let notes = options.connect(Child::spawn(Command::new(server))?).await?;
    println!("{} {}", notes.offer().server_info.name, notes.version());
    assert_eq!(notes.offer().server_info.name, "notes");
    notes.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_program_is_a_server() -> Result<(), Box<dyn Error>> {
    started(program("notes").to_str().ok_or("the path is not text")?).await
}

#[tokio::test]
async fn a_client_hears_of_changes_at_a_url() -> Result<(), Box<dyn Error>> {
    use mcp_runtime::transport::http::{HttpServer, ServerOptions};

    let desk = desk::server()?;
    let changes = desk.handler().changes.clone();
    // Over HTTP the client of the kit would subscribe again.
    let (near, far) = duplex();
    let of_streams = desk.clone();
    let streaming = tokio::spawn(async move { of_streams.serve(far).await });
    let http = HttpServer::new(ServerOptions::default(), move |transport| {
        let desk = desk.clone();
        async move { drop(desk.serve(transport).await) }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = &format!("http://{}/mcp", listener.local_addr()?);
    let router = axum::Router::new().route("/mcp", http.method_router());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });

    let client = connector().connect_to(url, || HttpClient::new(url)).await?;
    let of_types = options().connect(near).await?;
    let heard = async {
        hear(client).await?;
        hear_of_tools(&of_types).await?;
        hear_of_a_resource(&of_types, &Added { id: 1, uri: "desk://note".to_owned() }).await
    };
    let told = async {
        // The client hears of changes only once it listens.
        loop {
            changes.tools();
            changes.resource("desk://note");
            changes.end();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        heard = heard => heard?,
        () = told => {}
    }
    serving.abort();
    streaming.abort();
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

async fn hear_of_tools(client: &Connection) -> Result<(), Box<dyn Error>> {
    let mut tools = client.live_tools().await?;
    println!("{} tools", tools.len());
    while let Some(changed) = tools.changed().await? {
        println!("now {}", changed.len());
    }
    Ok(())
}

async fn hear_of_a_resource(notes: &Connection, added: &Added) -> Result<(), Box<dyn Error>> {
    let mut changes = notes.subscribe([&added.uri]).await?;
    while let Some(uri) = changes.next().await {
        println!("{} has changed", uri?);
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
    uri: String,
}

#[derive(Serialize)]
struct DeleteNote {
    id: i64,
}

#[derive(Serialize)]
struct ImportNotes<'a> {
    text: &'a str,
}

fn options() -> ConnectOptions {
    ConnectOptions::new("my-client", "1.0.0").on_form(|asked| async move {
        println!("{}", asked.message);
        Ok(Answer::Accepted(Confirm { sure: true }))
    })
}

#[tokio::test]
async fn a_program_uses_all_of_a_server() -> Result<(), Box<dyn Error + Send + Sync>> {
    let notes = options().connect(Child::spawn(Command::new(program("notes")))?).await?;
    let added: Added = notes.call("add_note", AddNote { text: "buy milk" }).await?;
    let text = notes.read_text(&*added.uri).await?;
    let review = notes.prompt("review", [("tag", "shop")]).await?;
    let tags = notes.complete_prompt("review", "tag", "s").await?;
    assert_eq!((&*text, review.messages.len(), tags.len()), ("buy milk", 1, 0));

    let progress = |done: Number, all: Option<Number>| println!("{done} of {}", all.unwrap_or(done));
    let call = notes.call_text("import_notes", ImportNotes { text: "one\ntwo" });
    println!("{}", call.timeout(Duration::from_secs(30)).on_progress(progress).await?);
    assert_eq!(notes.resources().await?.len(), 3);

    let added: Added = notes.call("add_note", AddNote { text: "buy milk" }).await?;
    println!("{}", notes.call_text("delete_note", DeleteNote { id: added.id }).await?);
    assert_eq!(notes.resources().await?.len(), 3);
    let unknown = notes.call_text("sing", ()).await.unwrap_err();
    assert!(!connect_again(&unknown), "{unknown}");
    notes.close().await?;
    Ok(())
}

fn connect_again(error: &CallError) -> bool {
    error.call_error().is_some_and(mcp_kit::Error::is_closed)
}

#[tokio::test]
async fn a_program_shows_a_token() -> Result<(), Box<dyn Error>> {
    let token = "ada-token";
    let mut server = tokio::process::Command::new(program("notes"));
    server.arg("127.0.0.1:0").env("NOTES_TOKENS", format!("ada={token}")).kill_on_drop(true);
    let mut server = server.stdout(std::process::Stdio::piped()).spawn()?;
    let mut said = BufReader::new(server.stdout.take().ok_or("it is piped")?).lines();
    let said = said.next_line().await?.unwrap_or_default();
    let url = said.strip_prefix("serving ").ok_or("it says where")?;
    let bearer = format!("Bearer {token}");
    let notes = options().connect_to(url, || HttpClient::new(url)?.header("authorization", &bearer)).await?;
    assert_eq!(notes.version(), "2026-07-28");
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
    assert_eq!(examples, 14);
}
