//! The examples of `docs/calls.md`, which run here. The clock moves only when nothing else can.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail the test")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::{Active, McpClient, McpError, McpServer, server};
use mcp_protocols::types::*;
use mcp_runtime::error::{PaginationError, ReplyProblem};
use mcp_runtime::session::first_readable;
use mcp_runtime::transport::{Transport, duplex};
use mcp_runtime::{Error, Options, RateLimit, RpcError, TimeoutKind};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::Notify;

fn tool(name: &str) -> CallToolParams {
    CallToolParams::new(name)
}

fn hello() -> InitializeParams {
    let capabilities = ClientCapabilities::new().sampling(SamplingCapability::new());
    InitializeParams::new("2025-03-26", capabilities, Implementation::new("this side", "1"))
}

fn welcome() -> InitializeResult {
    let capabilities = ServerCapabilities::new().tools(ToolsCapability::new());
    InitializeResult::new("2025-03-26", capabilities, Implementation::new("that side", "1"))
}

struct Tools;

impl Tools {
    /// Never finds anything.
    async fn search(&self, _: &CallToolParams) -> String {
        std::future::pending().await
    }
}

impl server::Handler for Tools {
    /// Three pages of one tool each.
    async fn list_tools(
        &self,
        _: server::Context,
        params: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        let page: u32 = params.and_then(|params| params.cursor).map_or(1, |cursor| cursor.parse().unwrap());
        let result = ListToolsResult::new([Tool::new(format!("tool {page}"), ObjectSchema::new())]);
        Ok(if page < 3 { result.next_cursor((page + 1).to_string()) } else { result })
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        match params.name.as_str() {
            "search" => {
                tokio::select! {
                    text = self.search(&params) => Ok(CallToolResult::text(text)),
                    () = context.cancelled() => Err(RpcError::internal_error("the call was cancelled")),
                }
            }
            "long" => Ok(CallToolResult::text("x".repeat(2000))),
            "steps" => {
                for step in 1..=4_u32 {
                    context.send_progress(ProgressParams::new(0, step)).await?;
                }
                Ok(CallToolResult::text("there"))
            }
            _ => {
                let question = CreateMessageParams::new([], 9);
                let answer = context.peer().create_message(question).timeout(Duration::from_secs(60)).await;
                Ok(CallToolResult::text(answer.unwrap_err().to_string()))
            }
        }
    }
}

async fn served(options: Options) -> (McpClient<Active>, tokio::task::JoinHandle<McpServer<Active>>) {
    let (near, far) = duplex();
    let server = tokio::spawn(async move {
        let server = McpServer::with_options(far, options);
        tokio::spawn(server.incoming().serve(Tools));
        let (_, server) = server.recv_initialize().await.unwrap();
        let server = server.send_initialize_result(welcome()).await.unwrap();
        server.recv_initialized().await.unwrap()
    });
    (active(near).await.unwrap(), server)
}

async fn active(transport: impl Transport) -> Result<McpClient<Active>, McpError> {
    let options = Options::new().timeout(Duration::from_secs(60)).max_timeout(Duration::from_secs(600));
    let client = McpClient::with_options(transport, options);
    let hello = hello();
    let (welcome, client) = client.initialize(hello).timeout(Duration::from_secs(10)).await?;
    assert_eq!(welcome.server_info.name, "that side");
    Ok(client.send_initialized().await?)
}

#[tokio::test(start_paused = true)]
async fn limits_of_time() {
    let (client, _server) = served(Options::new()).await;
    let params = tool("search");
    let result = client
        .call_tool(params)
        .timeout(Duration::from_secs(30))
        .reset_on_progress()
        .max_timeout(Duration::from_secs(300))
        .await;
    match result {
        Err(Error::Timeout { method, after, what, .. }) => {
            assert_eq!((&*method, after, what), ("tools/call", Duration::from_secs(30), TimeoutKind::Reply));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn reports() -> Result<(), McpError> {
    let (client, _server) = served(Options::new()).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (seen, params) = (Arc::clone(&heard), tool("steps"));
    let result = client
        .call_tool(params)
        .on_progress(move |progress| seen.lock().unwrap().push(progress.progress))
        .await?;
    assert_eq!((result.first_text(), heard.lock().unwrap().len()), (Some("there"), 4));
    Ok(())
}

#[tokio::test]
async fn cancelling() {
    let (client, _server) = served(Options::new()).await;
    let params = tool("search");
    let mut call = client.call_tool(params);
    let canceller = call.canceller();
    let (outcome, _) = tokio::join!(call, async { canceller.cancel_with(&json!({ "reason": "enough" })) });
    assert!(matches!(outcome, Err(Error::Cancelled)));
}

#[tokio::test]
async fn replies_that_cannot_be_accepted() {
    let (near, far) = duplex();
    let server = McpServer::new(far);
    tokio::spawn(server.incoming().serve(Tools));
    let welcoming = async {
        let (_, server) = server.recv_initialize().await.unwrap();
        server.send_initialize_result(welcome()).await.unwrap().recv_initialized().await.unwrap()
    };
    let client = McpClient::with_options(near, Options::new().max_message_bytes(1024));
    let greeting = async { client.initialize(hello()).await.unwrap().1.send_initialized().await.unwrap() };
    let (client, _server) = tokio::join!(greeting, welcoming);
    let params = tool("long");
    match client.call_tool(params).await {
        Err(Error::InvalidReply(reply)) => {
            assert_eq!(reply.method, "tools/call");
            assert!(matches!(reply.problem, ReplyProblem::TooLong(1024)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(client.list_tools(None).await.unwrap().tools.len(), 1);
}

#[tokio::test]
async fn written_and_not_answered() -> Result<(), McpError> {
    let (client, _server) = served(Options::new()).await;
    let (params, mut steps) = (tool("steps"), Vec::new());
    let mut call = client.call_tool(params).with_progress().send().await?;
    while let Some(progress) = call.progress().await {
        steps.push(progress.progress);
    }
    let result = call.await?;
    assert_eq!(result.first_text(), Some("there"));
    assert_eq!(steps, [1.0, 2.0, 3.0, 4.0]);
    Ok(())
}

#[tokio::test]
async fn pages() -> Result<(), McpError> {
    let options = Options::new()
        .max_message_bytes(1024 * 1024)
        .max_requests(64)
        .request_rate(RateLimit::new(50, Duration::from_secs(1)).burst(100));
    let (client, _server) = served(options).await;
    let mut names = Vec::new();
    let mut pages = client.list_tools_pages(None).timeout(Duration::from_secs(10));
    while let Some(page) = pages.next().await {
        names.extend(page?.tools.into_iter().map(|tool| tool.name));
    }
    assert_eq!(names, ["tool 1", "tool 2", "tool 3"]);
    let two = client.handle().list_tools_pages(None).max_pages(2).all().await;
    assert!(matches!(two, Err(Error::Pagination { problem: PaginationError::TooMany(2), .. })));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn calling_back_and_closing() {
    let options = Options::new().max_handlers(1).max_requests(64);
    let (client, server) = served(options).await;
    // The client does not take the request, and refuses it in time.
    let result = client.call_tool(tool("ask")).await.unwrap();
    assert!(result.first_text().unwrap().contains("method not found"), "{result:?}");
    client.close().await.unwrap();
    drop(server.await.unwrap());
}

#[tokio::test]
async fn waiting_for_several_things() -> Result<(), McpError> {
    let options = Options::new().close_grace(Duration::from_secs(5));
    for stops in [false, true] {
        let (near, far) = duplex();
        let client = tokio::spawn(async move {
            let (_, client) = McpClient::new(near).initialize(hello()).await.unwrap();
            if stops { std::future::pending().await } else { client.send_initialized().await.unwrap() }
        });
        let (_, server) = McpServer::with_options(far, options.clone()).recv_initialize().await?;
        let server = server.send_initialize_result(welcome()).await?;
        let stop = Notify::new();
        if stops {
            stop.notify_one();
        }
        wait(server, &stop).await?;
        client.abort();
    }
    Ok(())
}

async fn wait(
    server: McpServer<mcp_protocols::mcp_2025_03_26::AwaitingNotif>,
    stop: &Notify,
) -> Result<(), McpError> {
    let server = tokio::select! {
        () = server.readable() => server.recv_initialized().await?,
        () = stop.notified() => {
            server.abort();
            return Ok(());
        }
    };
    drop(server);
    Ok(())
}

#[tokio::test]
async fn what_comes_first_on_the_wire() -> Result<(), McpError> {
    let (wire, mut raw) = raw();
    let opening = tokio::spawn(McpServer::new(wire).recv_initialize());
    raw.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello() })).await;
    let (_, server) = opening.await.unwrap()?;
    let server = server.send_initialize_result(welcome()).await?;
    raw.hear().await.unwrap();
    let list = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
    raw.say(list(2)).await;
    raw.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    raw.say(list(3)).await;
    let early = before_initialized(server).await?;
    assert_eq!(early, 1);
    Ok(())
}

async fn before_initialized(
    server: McpServer<mcp_protocols::mcp_2025_03_26::AwaitingNotif>,
) -> Result<usize, McpError> {
    let mut early = Vec::new();
    // Everything that the client has sent before `initialized`.
    let incoming = server.incoming();
    while first_readable(&[&server, &incoming]).await != 0 {
        early.extend(incoming.next().await);
    }
    let server = server.recv_initialized().await?;
    drop(server);
    Ok(early.len())
}

mod matches {
    mcp_runtime::protocol!("protocols/matches.session");
}

use matches::client::{CommentsNext, Game, GameIncoming, ScoreNext};
use matches::{AfterFollow, MatchesError};

/// Everything that is said about a match, in the order in which the reporter has said it.
async fn watch(game: Game<AfterFollow>) -> Result<Vec<Value>, MatchesError> {
    let mut said = Vec::new();
    let (score, comments) = game.split();
    let rumours = score.incoming();
    let (mut score, mut comments) = (Some(score), Some(comments));
    while score.is_some() || comments.is_some() {
        match first_readable(&[&score, &comments, &rumours]).await {
            0 => match score.take().ok_or(Error::Closed)?.next().await? {
                ScoreNext::Goal(goal, open) => {
                    said.push(goal);
                    score = Some(open);
                }
                ScoreNext::Over(result) => said.push(result), // the last step of this channel
                other => score = other.into_score().ok(),
            },
            1 => match comments.take().ok_or(Error::Closed)?.next().await? {
                CommentsNext::Comment(comment, open) => {
                    said.push(comment);
                    comments = Some(open);
                }
                CommentsNext::Silence(last) => said.push(last),
                other => comments = other.into_comments().ok(),
            },
            _ => match rumours.next().await.ok_or(Error::Closed)? {
                GameIncoming::Rumour(rumour) => said.push(rumour),
                GameIncoming::Guess(_, owed) => owed.respond(json!("a draw"))?,
            },
        }
    }
    Ok(said)
}

#[tokio::test]
async fn one_task_takes_everything_of_a_sub_session_in_wire_order() {
    let (wire, mut raw) = raw();
    let fan = matches::Fan::new(wire);
    let game = fan.send_follow(json!({ "game": "a" })).await.unwrap();
    let methods =
        ["rumour", "comment", "goal", "goal", "rumour", "silence", "rumour", "goal", "guess", "over"];
    for (number, method) in methods.iter().enumerate() {
        let params = json!({ "game": "a", "number": number });
        let mut message = json!({ "jsonrpc": "2.0", "method": format!("match/{method}"), "params": params });
        if *method == "guess" {
            message["id"] = json!(1);
        }
        raw.say(message).await;
    }
    let said: Vec<u64> =
        watch(game).await.unwrap().iter().map(|said| said["number"].as_u64().unwrap()).collect();
    assert_eq!(said, [0, 1, 2, 3, 4, 5, 6, 7, 9]);
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let page = include_str!("../../../docs/calls.md");
    let here = squeezed(include_str!("calls.rs"));
    let mut examples = 0;
    for block in page.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
        examples += 1;
    }
    assert!(examples >= 12, "only {examples} examples were found");
}
