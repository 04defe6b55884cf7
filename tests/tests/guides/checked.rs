//! The examples of `docs/checked.md`, which run here; a test holds the two against each other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail the test"
)]

use mcp_protocols::mcp_2025_03_26::{
    Active, AwaitingNotif, McpClient, McpServer, PROTOCOL, Uninit, capabilities, messages, server,
};
use mcp_protocols::types::*;
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::{Transport, duplex};
use mcp_runtime::{
    Capabilities, CheckedSession, Error, Event, Options, RequestId, RpcError, StepError, negotiate_version,
};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn hello() -> InitializeParams {
    let capabilities = ClientCapabilities::new().sampling(SamplingCapability::new());
    InitializeParams::new("2025-03-26", capabilities, Implementation::new("this side", "1"))
}

fn welcome(version: &str) -> InitializeResult {
    let capabilities =
        ServerCapabilities::new().tools(ToolsCapability::new()).resources(ResourcesCapability::new());
    InitializeResult::new(version, capabilities, Implementation::new("that side", "1"))
}

fn model(_: CreateMessageParams) -> CreateMessageResult {
    CreateMessageResult::new(Role::Assistant, SamplingContentBlock::from(TextContent::new("hi")), "m")
}

struct Tools;

impl server::Handler for Tools {
    async fn list_tools(
        &self,
        context: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let question = CreateMessageParams::new([], 1);
        if let Err(error) = context.peer().create_message(question).await {
            println!("{error}");
        }
        Ok(ListToolsResult::new([]))
    }
}

/// A server in a task of its own, which answers in this version.
fn serving(transport: impl Transport, version: &'static str) {
    let server = McpServer::with_options(transport, Options::new().accept_any_version());
    tokio::spawn(async move {
        let (_, server) = server.recv_initialize().await.unwrap();
        let server: McpServer<AwaitingNotif> = server.send_initialize_result(welcome(version)).await.unwrap();
        tokio::spawn(server.incoming().serve(Tools));
        if let Ok(server) = server.recv_initialized().await {
            server.ended().await;
        }
    });
}

struct Console {
    session: CheckedSession,
}

#[tokio::test]
async fn in_a_field_of_a_struct() -> Result<(), Failure> {
    let (transport, far) = duplex();
    serving(far, "2025-03-26");
    let session = CheckedSession::start(transport, &PROTOCOL, Side::Client, Options::new());
    let mut console = Console { session };
    let session = &mut console.session;

    let Err(Error::NotPermitted(violation)) = session.request("tools/list", &json!({})).await else {
        panic!()
    };
    assert_eq!(
        violation.to_string(),
        "`tools/list` is not permitted in `Uninit`: the client may send `initialize` or `ping` now (rule L5, should)"
    );

    let asked: RequestId = session.request("initialize", &hello()).await?;
    take(session, asked).await?;
    session.notify(messages::INITIALIZED, &()).await?;
    let why = session.permits("prompts/list").unwrap_err();
    assert_eq!(why.missing_capability(), Some("prompts"));
    println!("{}", why.report());

    // The server asks the model before it answers, so somebody has to take what comes.
    let asked = session.request("tools/list", &json!({})).await?;
    assert_eq!(take(session, asked).await?, json!({ "tools": [] }));
    Ok(())
}

#[tokio::test]
async fn a_call_waits_for_its_reply() -> Result<(), Failure> {
    let (transport, far) = duplex();
    let mut session = CheckedSession::start(transport, &PROTOCOL, Side::Client, Options::new());
    let mut server = CheckedSession::start(far, &PROTOCOL, Side::Server, Options::new());
    let serving = async {
        for answer in [serde_json::to_value(welcome("2025-03-26")).unwrap(), json!({ "tools": [] })] {
            let id = loop {
                if let Event::Request { id, .. } = server.next().await.unwrap() {
                    break id;
                }
            };
            server.respond(&id, &answer).await.unwrap();
        }
    };
    let calling = async {
        let _: Value = session.call("initialize", &hello()).await?;
        session.notify(messages::INITIALIZED, &()).await?;
        let tools: Value = session.call("tools/list", &json!({})).await?;
        assert_eq!(tools, json!({ "tools": [] }));
        Ok(())
    };
    tokio::join!(serving, calling).1
}

/// Takes what comes until a request of this side is answered.
async fn take(session: &mut CheckedSession, asked: RequestId) -> Result<Value, Failure> {
    loop {
        match session.next().await? {
            Event::Request { id, method, params, .. } if method == "sampling/createMessage" => {
                session.respond(&id, &model(params.read()?)).await?;
            }
            Event::Request { id, method, .. } => session.refuse(&id, &RpcError::method_not_found(&method))?,
            Event::Notification { method, params, .. } => println!("{method} {params}"),
            Event::Reply { id, result, .. } if id == asked => break Ok(result.read()?),
            Event::Refused { id, error } if id == asked => break Err(error.into()),
            Event::Failed { id, error } if id == asked => break Err(error.into()),
            Event::Closed => break Err("the server has closed".into()),
            _ => {}
        }
    }
}

async fn active() -> McpClient<Active> {
    let (near, far) = duplex();
    serving(far, "2025-03-26");
    let (_, client) = McpClient::new(near).initialize(hello()).await.unwrap();
    tokio::spawn(client.incoming().serve(EmptyHandler));
    client.send_initialized().await.unwrap()
}

struct EmptyHandler;

impl mcp_protocols::mcp_2025_03_26::client::Handler for EmptyHandler {}

#[tokio::test]
async fn from_face_to_face() -> Result<(), Failure> {
    let client = active().await;
    let session: CheckedSession = client.into_checked();
    let client: McpClient<Active> = session.try_into_typed()?;
    client.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_sub_session() -> Result<(), Failure> {
    let (near, far) = duplex();
    let mut session = CheckedSession::start(near, &PROTOCOL, Side::Client, Options::new());
    let mut server = CheckedSession::start(far, &PROTOCOL, Side::Server, Options::new());
    session.request("initialize", &hello()).await?;
    let Event::Request { id, .. } = server.next().await? else { panic!() };
    let capabilities = ServerCapabilities::new().resources(ResourcesCapability::new().subscribe(true));
    let offers = InitializeResult::new("2025-03-26", capabilities, Implementation::new("that side", "1"));
    server.respond(&id, &offers).await?;
    session.next().await?;
    session.notify(messages::INITIALIZED, &()).await?;
    server.next().await?;
    let serving = async {
        let Event::Opened { id: Some(id), session: mut sub_session, .. } = server.next().await.unwrap()
        else {
            panic!()
        };
        sub_session.respond(&id, &json!({})).await.unwrap();
        sub_session
    };
    let subscribing = async {
        let mut subscription = session.open("resources/subscribe", &json!({ "uri": "note:1" })).await?;
        let Event::Reply { .. } = subscription.next().await? else { panic!() };
        Ok(())
    };
    tokio::join!(serving, subscribing).1
}

#[tokio::test]
async fn requiring() -> Result<(), Failure> {
    let (transport, far) = duplex();
    serving(far, "2025-03-26");
    let options = Options::new().require([capabilities::TOOLS, capabilities::RESOURCES_SUBSCRIBE]);
    let client = McpClient::with_options(transport, options);
    match client.initialize(hello()).await {
        Ok((result, client)) => go_on(result, client).await,
        Err(StepError::NegotiationFailed { error: Error::MissingCapabilities { missing, .. }, session }) => {
            assert_eq!(missing, ["resources.subscribe"]);
            session.abort();
        }
        Err(other) => return Err(other.into()),
    }
    Ok(())
}

async fn go_on(_: InitializeResult, _: McpClient<AwaitingNotif>) {
    panic!("the server lacks something");
}

#[tokio::test]
async fn restricting() {
    let client = active().await;
    let full = client.handle();
    let weak = full.restrict(&Capabilities::from_iter([capabilities::TOOLS]));
    assert!(weak.list_tools(None).await.is_ok());
    assert!(weak.permits(messages::PROMPTS_LIST).is_err());
    let weaker = weak.restrict(&Capabilities::none()).restrict(&Capabilities::unknown());
    assert!(weaker.list_tools(None).await.is_err());
}

#[tokio::test]
async fn versions() -> Result<(), Failure> {
    let (near, far) = duplex();
    serving(far, "2024-11-05");
    let client = McpClient::new(near);
    let Err(StepError::NegotiationFailed { error, session }) = client.initialize(hello()).await else {
        panic!()
    };
    assert_eq!(
        error.to_string(),
        "the peer speaks version `2024-11-05`, and this side accepts `2025-03-26`: list others with `Options::revisions`"
    );
    session.abort();

    let (near, far) = duplex();
    let options = Options::new().accept_versions(["2024-11-05", "2025-03-26"]);
    let server = McpServer::with_options(far, options);
    let answering = async {
        let (params, server) = server.recv_initialize().await?;
        let versions = ["2024-11-05", "2025-03-26"];
        let version = negotiate_version(&versions, &params.protocol_version);
        assert_eq!(version, "2025-03-26");
        let server = server.refuse(RpcError::unsupported_version(versions, &params.protocol_version)).await?;
        let _: McpServer<Uninit> = server;
        Ok(())
    };
    let (refused, answered) = tokio::join!(McpClient::new(near).initialize(hello()), answering);
    assert!(matches!(refused, Err(StepError::Refused { .. })));
    answered
}

#[test]
fn an_observer_in_the_middle() -> Result<(), Failure> {
    use mcp_protocols::REVISIONS;
    use mcp_runtime::observer::Observer;

    let mut observer = Observer::new(&PROTOCOL, Options::new().revisions(REVISIONS))?;
    assert!(observer.observe(Side::Client, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)[0].is_clean());
    let early = observer.observe(Side::Client, br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(
        early[0].reports[0].to_string(),
        "`tools/list` is not permitted in `Uninit`: the client may send `initialize` or `ping` now (rule L5, should)"
    );
    Ok(())
}

#[tokio::test]
async fn a_protocol_that_is_read_when_the_program_runs() -> Result<(), Failure> {
    use std::path::Path;

    use mcp_protocol_compiler::{compile, generate};

    async fn start(transport: impl Transport, folder: &Path) -> Result<CheckedSession, Failure> {
        let mut read_file = |path: &Path| std::fs::read(folder.join(path));
        let compilation = compile(Path::new("calculator.session"), &mut read_file)?;
        let Some(compiled) = &compilation.protocol else { return Err("the file has errors".into()) };
        let session =
            CheckedSession::start(transport, generate::machine(compiled), Side::Client, Options::new());
        Ok(session)
    }
    let folder = std::env::temp_dir().join(format!("a-protocol-at-run-time-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("calculator.session");
    let (near, _far) = duplex();
    std::fs::write(
        &file,
        "protocol Calculator\nrequest Sum \"sum\" (_) -> Total (_)\nclient Asker\nAsker = !Sum",
    )?;
    assert_eq!(start(near, &folder).await.unwrap_err().to_string(), "the file has errors");
    let (near, _far) = duplex();
    std::fs::write(
        &file,
        "protocol Calculator\nrequest Sum \"sum\" (_) -> Total (_)\nclient Asker\nAsker = !Sum . ?Total . End",
    )?;
    let mut session = start(near, &folder).await?;
    session.request("sum", &json!([1, 2])).await?;
    assert_eq!(session.state_name(), "AwaitingTotal");
    assert!(session.permits("sum").is_err());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

mod stations {
    mcp_runtime::protocol!("protocols/stations.session", tables);
}

#[tokio::test]
async fn payloads_are_judged() -> Result<(), Failure> {
    let (transport, _far) = duplex();
    let options = Options::new().judge_payloads(true);
    let mut station = CheckedSession::start(transport, &stations::PROTOCOL, Side::Client, options);
    let wrong = station.notify("measured", &json!({ "station": "north", "celsius": "4" })).await.unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the payload of `Measured` does not have its shape: celsius: expected a number, found \"4\""
    );
    station.notify("measured", &json!({ "station": "north", "celsius": 4 })).await?;
    Ok(())
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let here = squeezed(include_str!("checked.rs"));
    let (mut rust, mut lines) = (false, 0);
    for line in include_str!("../../../docs/checked.md").lines() {
        if line.starts_with("```") {
            rust = line == "```rust";
        } else if rust {
            assert!(here.contains(&squeezed(line)), "this is not compiled: {line}");
            lines += 1;
        }
    }
    assert!(lines >= 50, "only {lines} lines of examples were found");
}

#[test]
fn what_may_come_without_its_capability() {
    let options = Options::new().tolerate([capabilities::LOGGING]);
    assert!(format!("{options:?}").contains(r#"tolerated: ["logging"]"#));
}
