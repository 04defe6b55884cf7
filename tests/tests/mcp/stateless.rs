//! Revision 2026-07-28, which has no handshake: the typed client against the typed server, in memory.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2026_07_28::client::SubscribedNext;
use mcp_protocols::mcp_2026_07_28::server::ToolsCallReply;
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::mcp_2026_07_28::{McpClient, McpServer, Start, Subscribing, client, server};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report, RpcError};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc;

const VERSION: &str = "2026-07-28";

/// The metadata of a request of a client that shows forms.
fn meta() -> RequestMeta {
    let form = ElicitationCapability::new();
    RequestMeta::new(VERSION, ClientCapabilities::new().elicitation(form))
}

fn about(id: RequestId) -> NotificationParams {
    NotificationParams::new().meta(NotificationMeta::new().subscription_id(id))
}

struct Desk;

impl Desk {
    /// What the tool says once the user's name is known.
    fn name(params: &CallToolParams) -> Option<String> {
        assert_eq!(params.request_state.as_deref(), params.input_responses.as_ref().map(|_| "asked once"));
        let InputResponse::Elicit(answer) = params.input_responses.as_ref()?.get("who")? else { panic!() };
        match answer.content.as_ref()?.get("name")? {
            FieldValue::Text(name) => Some(name.clone()),
            other => panic!("{other:?}"),
        }
    }
}

impl server::Handler for Desk {
    async fn discover(&self, _: server::Context, _: RequestParams) -> Result<DiscoverResult, RpcError> {
        let offered = ServerCapabilities::new()
            .logging(Object::new())
            .tools(ToolsCapability::new().list_changed(true))
            .prompts(PromptsCapability::new().list_changed(true));
        Ok(DiscoverResult::new([VERSION], offered, 60_000, CacheScope::Public)
            .result_type(ResultType::Complete))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<ToolsCallReply, RpcError> {
        let line = LoggingMessageParams::new(LoggingLevel::Info, "called");
        let logged = context.peer().send_log_message(line).await;
        match params.meta.log_level {
            Some(_) => logged.unwrap(),
            None => assert!(matches!(logged, Err(Error::NotPermitted(_))), "{logged:?}"),
        }
        context.send_progress(ProgressParams::new(0, 1)).await.unwrap();
        Ok(match Desk::name(&params) {
            Some(name) => {
                let greeting = TextContent::new(format!("Hello, {name}"));
                ToolsCallReply::ToolsResult(
                    CallToolResult::new([greeting.into()]).result_type(ResultType::Complete),
                )
            }
            None => {
                let name: FieldSchema = StringSchema::new().into();
                let form = ElicitFormParams::new("Who is there?", FormSchema::new([("name".into(), name)]));
                let asked = [("who".to_owned(), ElicitInput::new(form).into())];
                let result = InputRequiredResult::new().input_requests(asked).request_state("asked once");
                ToolsCallReply::ToolsInputRequired(result)
            }
        })
    }

    async fn subscriptions_listen(
        &self,
        _: server::Context,
        params: SubscriptionsListenParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        let id: RequestId = subscription.request_id().unwrap().into();
        let NotificationParams { meta, .. } = about(id.clone());
        let mut told = SubscriptionsAcknowledgedParams::new(params.notifications);
        told.meta = meta;
        let mut subscription = subscription.send_subscriptions_acknowledged(told).await.unwrap();
        subscription.send_tools_list_changed(about(id.clone())).await.unwrap();
        // The client did not ask for changes of prompts.
        let prompts = subscription.send_prompts_list_changed(about(id.clone())).await;
        let Err(Error::NotPermitted(violation)) = prompts else { panic!("{prompts:?}") };
        assert!(violation.to_string().contains("notifications.promptsListChanged"), "{violation}");
        // The server has not announced changes of resources.
        let resources = subscription.send_resources_list_changed(about(id.clone())).await;
        let Err(Error::NotPermitted(violation)) = resources else { panic!("{resources:?}") };
        assert!(violation.to_string().contains("the capability `resources.listChanged`"), "{violation}");
        subscription.send_subscription_closed(SubscriptionClosedResult::of(id)).await.unwrap();
    }
}

/// Hears the log, and offers nothing else.
struct Log(mpsc::UnboundedSender<LoggingMessageParams>);

impl client::Handler for Log {
    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        self.0.send(params).unwrap();
    }
}

type Reports = Arc<Mutex<Vec<Report>>>;

/// A client of the desk, what it hears of the log, and what either side reports.
fn connected() -> (McpClient<Start>, mpsc::UnboundedReceiver<LoggingMessageParams>, Reports) {
    let reports = Reports::default();
    let options = || {
        let reports = reports.clone();
        Options::new()
            .judge_payloads(true)
            .on_report(move |report| reports.lock().unwrap().push(report.clone()))
    };
    let (near, far) = duplex();
    let server = McpServer::with_options(far, options());
    test_support::spawn(async move {
        let serving = test_support::spawn(server.incoming().serve(Desk));
        server.ended().await;
        serving.await.unwrap();
    });
    let client = McpClient::with_options(near, options());
    let (told, heard) = mpsc::unbounded_channel();
    test_support::spawn(client.incoming().serve(Log(told)));
    (client, heard, reports)
}

#[tokio::test]
async fn a_server_that_needs_to_know_more_is_asked_again() {
    let (client, mut log, reports) = connected();
    let call = CallToolParams::new("greet", meta());
    let client::ToolsCallReply::ToolsInputRequired(asked) = client.call_tool(call.clone()).await.unwrap()
    else {
        panic!("the name is not known yet")
    };
    let InputRequest::ElicitationCreate(question) = &asked.input_requests.unwrap()["who"] else { panic!() };
    let ElicitParams::Form(form) = &question.params else { panic!() };
    assert_eq!(form.message, "Who is there?");

    let name = [("name".to_owned(), FieldValue::from("Ada"))];
    let answers = [("who".to_owned(), ElicitResult::new(ElicitAction::Accept).content(name).into())];
    let mut again = call.input_responses(answers).request_state(asked.request_state.unwrap());
    // Of this try the client wants to read the log.
    again.meta.log_level = Some(LoggingLevel::Debug);
    let (told, mut progress) = mpsc::unbounded_channel();
    let reply =
        client.call_tool(again).on_progress(move |report| told.send(report.progress).unwrap()).await.unwrap();
    let client::ToolsCallReply::ToolsResult(result) = reply else { panic!("the name is known") };
    assert_eq!(serde_json::to_value(&result.content).unwrap()[0]["text"], "Hello, Ada");
    assert_eq!(log.recv().await.unwrap().data, "called");
    assert_eq!(progress.recv().await.unwrap(), 1.0);
    client.close().await.unwrap();
    assert!(log.recv().await.is_none(), "one call asked for the log");
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn what_a_server_can_do_is_open_until_it_is_discovered() {
    let (client, _log, _) = connected();
    let complete = || {
        let reference = PromptReference::new("letter");
        CompleteParams::new(reference, CompletionArgument::new("to", ""), meta())
    };
    // Nothing is known yet: the server says that it cannot.
    let Err(Error::Refused(refusal)) = client.complete(complete()).await else { panic!() };
    assert_eq!(refusal.code, -32601);
    let found = client.discover(RequestParams::new(meta())).await.unwrap();
    assert_eq!(found.supported_versions, [VERSION]);
    let Err(Error::NotPermitted(violation)) = client.complete(complete()).await else { panic!() };
    let said = "`completion/complete` needs the capability `completions`, which the server has not announced";
    assert_eq!(violation.to_string(), said);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_subscription_is_one_long_request() {
    let (client, _log, _) = connected();
    client.discover(RequestParams::new(meta())).await.unwrap();
    let wanted = SubscriptionFilter::new().tools_list_changed(true);
    let params = SubscriptionsListenParams::new(wanted.clone(), meta());
    let subscription = client.send_subscriptions_listen(params).await.unwrap();
    let (told, subscription) = subscription.recv_subscriptions_acknowledged().await.unwrap();
    assert_eq!(told.notifications, wanted);
    let SubscribedNext::ToolsListChanged(_, subscription) = subscription.next().await.unwrap() else {
        panic!()
    };
    let SubscribedNext::SubscriptionClosed(closed) = subscription.next().await.unwrap() else { panic!() };
    assert_eq!(closed.result_type, Some(ResultType::Complete));
    assert_eq!(Some(closed.meta.subscription_id), told.meta.unwrap().subscription_id);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_server_may_end_a_subscription_with_a_cancel() {
    let (wire, mut raw) = raw();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&reports);
    let options = Options::new().on_report(move |report| heard.lock().unwrap().push(report.to_string()));
    let client = McpClient::with_options(wire, options);
    let params = SubscriptionsListenParams::new(SubscriptionFilter::new(), meta());
    let subscription = client.send_subscriptions_listen(params).await.unwrap();
    let id = raw.hear().await.unwrap()["id"].take();
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    let method = "notifications/subscriptions/acknowledged";
    raw.say(json!({ "jsonrpc": "2.0", "method": method, "params": { "notifications": {}, "_meta": meta } }))
        .await;
    let (_, subscription) = subscription.recv_subscriptions_acknowledged().await.unwrap();
    let params = json!({ "requestId": id });
    raw.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    let Err(Error::Refused(refusal)) = subscription.next().await else { panic!() };
    assert_eq!(refusal.message, "the request was cancelled");
    assert_eq!(*reports.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_may_end_a_subscription_with_its_reply_and_a_cancel() {
    for cancels_first in [true, false] {
        let (wire, mut raw) = raw();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&reports);
        let options = Options::new().on_report(move |report| heard.lock().unwrap().push(report.to_string()));
        let client = McpClient::with_options(wire, options);
        let open = async |raw: &mut test_support::raw::Raw| {
            let params = SubscriptionsListenParams::new(SubscriptionFilter::new(), meta());
            let subscription = client.send_subscriptions_listen(params).await.unwrap();
            let id = raw.hear().await.unwrap()["id"].take();
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
            let method = "notifications/subscriptions/acknowledged";
            let params = json!({ "notifications": {}, "_meta": meta });
            raw.say(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
            (subscription.recv_subscriptions_acknowledged().await.unwrap().1, id)
        };
        let (subscription, id) = open(&mut raw).await;
        let cancel =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        let closed =
            json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
        let reply = json!({ "jsonrpc": "2.0", "id": id, "result": closed });
        let both = if cancels_first { [&cancel, &reply] } else { [&reply, &cancel] };
        for message in both {
            raw.say(message.clone()).await;
        }
        assert_eq!(subscription.next().await.is_err(), cancels_first);
        // What comes later has been read when this is.
        let other = open(&mut raw).await;
        assert_eq!(*reports.lock().unwrap(), Vec::<String>::new(), "{cancels_first}");
        // Once more is a mistake, whichever it is.
        raw.say(both[1].clone()).await;
        drop((other, open(&mut raw).await));
        assert_eq!(reports.lock().unwrap().len(), 1, "{cancels_first}: {reports:?}");
    }
}

#[tokio::test]
async fn a_request_of_another_revision_does_not_reach_a_handler() {
    let (wire, mut raw) = raw();
    test_support::spawn(async move { McpServer::new(wire).incoming().serve(Desk).await });
    for (method, version) in [("server/discover", "2025-11-25"), ("tools/call", "2027-01-01")] {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": "greet", "_meta": meta });
        let answer =
            raw.ask(json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params })).await;
        assert_eq!(answer["error"]["code"], -32022, "{answer}");
        let data: UnsupportedVersionData = serde_json::from_value(answer["error"]["data"].clone()).unwrap();
        assert_eq!((data.supported, &*data.requested), (vec![VERSION.to_owned()], version));
    }
    // One that says none is not well-formed.
    let params = json!({ "_meta": { "io.modelcontextprotocol/clientCapabilities": {} } });
    let answer =
        raw.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params })).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn a_request_that_does_not_declare_what_is_required_does_not_reach_a_handler() {
    let (wire, mut raw) = raw();
    let options = Options::new().require(["elicitation", "elicitation.url", "sampling"]);
    test_support::spawn(async move { McpServer::with_options(wire, options).incoming().serve(Desk).await });
    for (method, can, missing) in [
        ("server/discover", json!({}), json!({ "elicitation": { "url": {} }, "sampling": {} })),
        ("tools/call", json!({ "elicitation": {} }), json!({ "elicitation": { "url": {} }, "sampling": {} })),
        ("tools/list", json!({ "elicitation": { "url": {} } }), json!({ "sampling": {} })),
    ] {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": can,
        });
        let params = json!({ "name": "greet", "_meta": meta });
        let answer =
            raw.ask(json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params })).await;
        assert_eq!(answer["error"]["code"], -32021, "{answer}");
        let data: MissingCapabilityData = serde_json::from_value(answer["error"]["data"].clone()).unwrap();
        assert_eq!(serde_json::to_value(data.required_capabilities).unwrap(), missing);
    }
}

/// What is lost of a payload that is read as its type and written again.
fn lost<T: serde::Serialize + serde::de::DeserializeOwned>(payload: &Value) -> Option<String> {
    match serde_json::from_value::<T>(payload.clone()) {
        Ok(read) => {
            (serde_json::to_value(read).unwrap() != *payload).then(|| format!("{payload} is changed"))
        }
        Err(error) => Some(error.to_string()),
    }
}

fn params_lost(method: &str, params: &Value) -> Option<String> {
    match method {
        "server/discover" => lost::<RequestParams>(params),
        "tools/list" => lost::<PaginatedParams>(params),
        "tools/call" => lost::<CallToolParams>(params),
        "subscriptions/listen" => lost::<SubscriptionsListenParams>(params),
        "notifications/subscriptions/acknowledged" => lost::<SubscriptionsAcknowledgedParams>(params),
        "notifications/tools/list_changed" => lost::<NotificationParams>(params),
        "notifications/cancelled" => lost::<CancelledParams>(params),
        other => Some(format!("`{other}` is not read here")),
    }
}

fn result_lost(method: &str, result: &Value) -> Option<String> {
    match method {
        _ if result["resultType"] == "input_required" => lost::<InputRequiredResult>(result),
        "server/discover" => lost::<DiscoverResult>(result),
        "tools/list" => lost::<ListToolsResult>(result),
        "tools/call" => lost::<CallToolResult>(result),
        other => Some(format!("the result of `{other}` is not read here")),
    }
}

#[test]
fn recorded_payloads_of_rounds_come_back_whole() {
    for name in ["rounds-ts240", "rounds-py230"] {
        let path = format!("{}/traffic/2026-07-28/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let (mut methods, mut read) = (HashMap::new(), 0);
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let message = &line["msg"];
            let wrong = match message["method"].as_str() {
                Some(method) => {
                    methods.insert(message["id"].to_string(), method.to_owned());
                    params_lost(method, &message["params"])
                }
                None if message.get("error").is_some() => None,
                None => result_lost(&methods[&message["id"].to_string()], &message["result"]),
            };
            assert_eq!(wrong, None, "{name}: {line}");
            read += 1;
        }
        assert!(read >= 20, "{name}: {read}");
    }
}

#[tokio::test]
async fn many_lines_of_the_log_after_the_call_are_reported_in_few_words() {
    let reports: Arc<Mutex<Vec<Report>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let options = Options::new().on_report(move |report: &Report| seen.lock().unwrap().push(report.clone()));
    let (near, mut server) = raw();
    let client = McpClient::with_options(near, options);
    let (log, mut logged) = mpsc::unbounded_channel();
    tokio::spawn(client.incoming().serve(Log(log)));
    let meta = meta().log_level(LoggingLevel::Info);
    let call = tokio::spawn(client.handle().call_tool(CallToolParams::new("greet", meta)).into_future());
    let called = server.hear().await.unwrap();
    let line = |data: u64| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": data } });
    server.say(line(0)).await;
    let result = json!({ "content": [], "resultType": "complete" });
    server.say(json!({ "jsonrpc": "2.0", "id": called["id"], "result": result })).await;
    drop(call.await.unwrap().unwrap());
    assert_eq!(logged.recv().await.unwrap().data, json!(0));
    for data in 1..=250 {
        server.say(line(data)).await;
    }
    drop(server);
    assert!(logged.recv().await.is_none(), "what comes after the call is not a part of the log");
    let reports = reports.lock().unwrap();
    let whole = reports.iter().filter(|report| matches!(report, Report::Violation(_))).count();
    let counted = reports.iter().filter_map(|report| match report {
        Report::ManyViolations { violation, count } => {
            assert_eq!(&*violation.got.method, "notifications/message");
            Some(*count)
        }
        _ => None,
    });
    assert_eq!((whole, counted.collect::<Vec<_>>()), (100, vec![101, 202, 250]));
}
