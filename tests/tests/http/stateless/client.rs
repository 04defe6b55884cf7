//! The typed client, against the typed server and a scripted one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use integration_tests::http::fake::{Fake, open, result, text, until};
use mcp_protocols::mcp_2026_07_28::client::{SubscribedNext, ToolsCallReply};
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::mcp_2026_07_28::{McpClient, Start, client};
use mcp_runtime::transport::http::{HttpClient, HttpError, ParamHeaders};
use mcp_runtime::{Error, Options, Report};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::desk::{Host, VERSION, query_schema};

fn meta() -> RequestMeta {
    RequestMeta::new(VERSION, ClientCapabilities::new().elicitation(ElicitationCapability::new()))
}

type Reports = Arc<Mutex<Vec<Report>>>;

/// Hears the log, and offers nothing else.
struct Log(mpsc::UnboundedSender<LoggingMessageParams>);

impl client::Handler for Log {
    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        self.0.send(params).unwrap();
    }
}

struct Peer {
    client: McpClient<Start>,
    log: mpsc::UnboundedReceiver<LoggingMessageParams>,
    reports: Reports,
}

fn connected(transport: HttpClient) -> Peer {
    let reports = Reports::default();
    let kept = reports.clone();
    let options = Options::new()
        .judge_payloads(true)
        .on_report(move |report| kept.lock().unwrap().push(report.clone()));
    let client = McpClient::with_options(transport, options);
    let (told, log) = mpsc::unbounded_channel();
    test_support::spawn(client.incoming().serve(Log(told)));
    Peer { client, log, reports }
}

fn to(host: &Host) -> Peer {
    connected(HttpClient::new(host.url()).unwrap())
}

/// The text that a tool has returned.
fn said(reply: ToolsCallReply) -> String {
    let ToolsCallReply::ToolsResult(result) = reply else { panic!("{reply:?}") };
    serde_json::to_value(&result.content).unwrap()[0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_repeats_its_message_in_its_head() {
    let host = Host::start().await;
    let Peer { client, reports, .. } = to(&host);
    let found = client.discover(RequestParams::new(meta())).await.unwrap();
    assert_eq!(found.supported_versions, [VERSION]);
    let reply = client.call_tool(CallToolParams::new("headers", meta())).await.unwrap();
    assert_eq!(said(reply), json!(["tools/call", "headers", VERSION, null]).to_string());
    let Err(Error::Refused(error)) = client.call_tool(CallToolParams::new("näme", meta())).await else {
        panic!()
    };
    assert_eq!((error.code, &*error.message), (-32602, "there is no tool `näme`"));
    // An error with a status of its own is an error like any other.
    let Err(Error::Refused(error)) = client.call_tool(CallToolParams::new("needs sampling", meta())).await
    else {
        panic!()
    };
    assert_eq!(error.code, -32021);
    client.close().await.unwrap();
    host.idle().await;
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn parameters_are_repeated_once_the_tools_are_listed() {
    let host = Host::start().await;
    let Peer { client, reports, .. } = to(&host);
    let query = || {
        let arguments = json!({ "city": "Køge", "near": { "floor": 3 } });
        CallToolParams::new("query", meta())
            .arguments(serde_json::from_value::<mcp_runtime::shapes::Object>(arguments).unwrap())
    };
    // What the transport does not know it cannot repeat.
    let Err(Error::Refused(error)) = client.call_tool(query()).await else { panic!() };
    assert_eq!(error.code, -32020);
    let listed = client.list_tools(PaginatedParams::new(meta())).await.unwrap();
    assert_eq!(listed.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["query"]);
    let problem = "the tool `wrong` is left out of the list: `a` has an `x-mcp-header`, so its type must be `string`, \
                   `integer` or `boolean`";
    let reported = std::mem::take(&mut *reports.lock().unwrap());
    assert!(
        matches!(&reported[..], [Report::Undelivered { problem: told }] if told == problem),
        "{reported:?}"
    );
    let expected = json!(["=?base64?S8O4Z2U=?=", "3"]).to_string();
    assert_eq!(said(client.call_tool(query()).await.unwrap()), expected);
    client.close().await.unwrap();
    // A program may know a tool from elsewhere.
    let headers = ParamHeaders::of_schema(&query_schema()).unwrap();
    let Peer { client, .. } = connected(HttpClient::new(host.url()).unwrap().tool("query", headers));
    assert_eq!(said(client.call_tool(query()).await.unwrap()), expected);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_server_that_needs_to_know_more_is_asked_again() {
    let host = Host::start().await;
    let Peer { client, reports, .. } = to(&host);
    let call = CallToolParams::new("greet", meta());
    let ToolsCallReply::ToolsInputRequired(asked) = client.call_tool(call.clone()).await.unwrap() else {
        panic!()
    };
    let name = [("name".to_owned(), FieldValue::from("Ada"))];
    let answers = [("who".to_owned(), ElicitResult::new(ElicitAction::Accept).content(name).into())];
    let again = call.input_responses(answers).request_state(asked.request_state.unwrap());
    assert_eq!(said(client.call_tool(again).await.unwrap()), "Hello, Ada (asked once)");
    client.close().await.unwrap();
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn progress_and_the_log_arrive_before_the_result() {
    let host = Host::start().await;
    let Peer { client, mut log, reports } = to(&host);
    let mut call = CallToolParams::new("talk", meta());
    call.meta.log_level = Some(LoggingLevel::Debug);
    let (told, mut progress) = mpsc::unbounded_channel();
    let reply = client.call_tool(call).on_progress(move |report| told.send(report.progress).unwrap());
    assert_eq!(said(reply.await.unwrap()), "talked");
    assert_eq!(progress.recv().await.unwrap(), 1.0);
    assert_eq!(progress.recv().await.unwrap(), 2.0);
    assert_eq!(log.recv().await.unwrap().data, "talking");
    client.close().await.unwrap();
    host.idle().await;
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn a_subscription_is_ended_by_either_side() {
    let mut host = Host::start().await;
    let Peer { client, reports, .. } = to(&host);
    let wanted = SubscriptionFilter::new().tools_list_changed(true);
    let listen = || client.send_subscriptions_listen(SubscriptionsListenParams::new(wanted.clone(), meta()));
    let (told, subscription) = listen().await.unwrap().recv_subscriptions_acknowledged().await.unwrap();
    assert_eq!((told.notifications, &*host.told().await), (wanted.clone(), "subscribed"));
    // A call goes on meanwhile.
    client.discover(RequestParams::new(meta())).await.unwrap();
    host.signals.changes.send(true).unwrap();
    let SubscribedNext::ToolsListChanged(_, subscription) = subscription.next().await.unwrap() else {
        panic!()
    };
    // The client ends this one: the end of its connection says so.
    drop(subscription);
    assert_eq!(host.told().await, "unsubscribed");
    let (_, subscription) = listen().await.unwrap().recv_subscriptions_acknowledged().await.unwrap();
    assert_eq!(host.told().await, "subscribed");
    host.signals.changes.send(false).unwrap();
    let SubscribedNext::SubscriptionClosed(closed) = subscription.next().await.unwrap() else { panic!() };
    assert_eq!((closed.result_type, &*host.told().await), (Some(ResultType::Complete), "closed"));
    client.close().await.unwrap();
    host.idle().await;
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_by_the_end_of_its_connection() {
    let mut host = Host::start().await;
    let Peer { client, reports, .. } = to(&host);
    for tool in ["wait", "wait aloud"] {
        let (told, mut progress) = mpsc::unbounded_channel();
        let call = client.call_tool(CallToolParams::new(tool, meta()));
        let call = call.on_progress(move |report| told.send(report.progress).unwrap());
        tokio::select! {
            reply = call => panic!("{reply:?}"),
            told = host.told() => assert_eq!(told, "waiting"),
        }
        assert_eq!(host.told().await, "cancelled");
        assert!(progress.recv().await.is_none_or(|progress| progress == 1.0));
    }
    client.close().await.unwrap();
    host.idle().await;
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn calls_of_two_clients_do_not_meet() {
    let mut host = Host::start().await;
    let peers = [to(&host), to(&host)];
    let hold = |who: &str| {
        let arguments = serde_json::from_value::<mcp_runtime::shapes::Object>(json!({ "who": who })).unwrap();
        CallToolParams::new("hold", meta()).arguments(arguments)
    };
    let calls = async {
        let [one, other] = &peers;
        tokio::join!(one.client.call_tool(hold("one")), other.client.call_tool(hold("other")))
    };
    let release = async {
        assert_eq!((&*host.told().await, &*host.told().await), ("holding", "holding"));
        host.signals.hold.add_permits(2);
    };
    let ((one, other), ()) = tokio::join!(calls, release);
    assert_eq!((&*said(one.unwrap()), &*said(other.unwrap())), ("\"one\"", "\"other\""));
    for Peer { client, .. } in peers {
        client.close().await.unwrap();
    }
}

fn found() -> Value {
    json!({ "supportedVersions": [VERSION], "capabilities": { "tools": {} }, "ttlMs": 1, "cacheScope": "public",
        "resultType": "complete" })
}

#[tokio::test]
async fn nothing_but_requests_is_sent() {
    let (server, mut seen) = Fake::holding(|asked, before| match asked.what() {
        "server/discover" => {
            let mut answer = result(asked, found());
            // A server must not; it is not repeated to it.
            answer.headers_mut().insert("mcp-session-id", "theirs".parse().unwrap());
            Some(answer)
        }
        "tools/call" if before == 0 => None,
        _ => Some(result(asked, json!({ "content": [], "resultType": "complete" }))),
    })
    .await;
    let Peer { client, reports, .. } = connected(HttpClient::new(server.url()).unwrap());
    client.discover(RequestParams::new(meta())).await.unwrap();
    tokio::select! {
        reply = client.call_tool(CallToolParams::new("a", meta())) => panic!("{reply:?}"),
        () = until(&mut seen, "tools/call") => {}
    }
    let _ = client.call_tool(CallToolParams::new("b", meta())).await.unwrap();
    client.close().await.unwrap();
    let seen = server.seen.lock().unwrap();
    let asked: Vec<_> = seen.iter().map(|asked| (asked.method.as_str(), asked.what())).collect();
    assert_eq!(asked, [("POST", "server/discover"), ("POST", "tools/call"), ("POST", "tools/call")]);
    for asked in seen.iter() {
        assert_eq!(asked.header("mcp-protocol-version"), VERSION);
        assert_eq!(asked.header("mcp-method"), asked.what());
        assert_eq!(asked.header("mcp-session-id"), "");
        assert_eq!(asked.header("accept"), "application/json, text/event-stream");
    }
    assert_eq!((seen[0].header("mcp-name"), seen[2].header("mcp-name")), ("", "b"));
    assert!(reports.lock().unwrap().is_empty(), "{reports:?}");
}

#[tokio::test]
async fn an_answer_that_is_cut_is_not_resumed() {
    let server = Fake::start(|_, _| text(200, "text/event-stream", "id: 1\nretry: 0\ndata:\n\n")).await;
    let Peer { client, .. } = connected(HttpClient::new(server.url()).unwrap());
    let error = client.discover(RequestParams::new(meta())).await.unwrap_err();
    assert!(matches!(error.http(), Some(HttpError::NoReply)), "{error:?}");
    client.close().await.unwrap();
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[tokio::test]
async fn where_the_connection_is_cut_the_error_says_that_the_answer_was_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let cutting = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut came = Vec::new();
        // What was not read would make another error of it.
        while !came.ends_with(b"}}}") {
            assert_ne!(stream.read_buf(&mut came).await.unwrap(), 0, "the whole message comes");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}6\r\nid: 1\n\r\n").as_bytes()).await.unwrap();
    };
    let Peer { client, .. } = connected(HttpClient::new(&url).unwrap());
    let (outcome, ()) = tokio::join!(client.discover(RequestParams::new(meta())), cutting);
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("the request failed: the answer was cut off: "), "{error}");
    client.abort();
}

#[tokio::test]
async fn a_timeout_ends_the_connection() {
    let (tell, mut opened) = mpsc::unbounded_channel();
    let server = Fake::start(move |_, _| {
        let (say, answer) = open("text/event-stream");
        // The test may have ended.
        let _ = tell.send(say);
        answer
    })
    .await;
    let Peer { client, .. } = connected(HttpClient::new(server.url()).unwrap());
    // On a busy machine a call may time out before the server sees it.
    let say = loop {
        let call = client.discover(RequestParams::new(meta())).timeout(Duration::from_millis(50));
        assert!(call.await.unwrap_err().is_timeout());
        if let Ok(say) = opened.try_recv() {
            break say;
        }
    };
    // The server sees that the answer is not read any more.
    say.closed().await;
    client.close().await.unwrap();
    assert!(server.posted().iter().all(|what| what == "server/discover"), "no cancel is posted");
}

#[tokio::test]
async fn a_server_of_another_revision_is_an_error_that_says_so() {
    let server = Fake::start(|asked, _| {
        let error = json!({ "code": -32022, "message": "Unsupported protocol version",
            "data": { "supported": ["2027-01-01"], "requested": VERSION } });
        text(
            400,
            "application/json",
            json!({ "jsonrpc": "2.0", "id": asked.body["id"], "error": error }).to_string(),
        )
    })
    .await;
    let Peer { client, .. } = connected(HttpClient::new(server.url()).unwrap());
    let Err(Error::Refused(error)) = client.discover(RequestParams::new(meta())).await else { panic!() };
    assert_eq!((error.code, error.data.unwrap()["supported"].clone()), (-32022, json!(["2027-01-01"])));
    client.close().await.unwrap();
}

#[tokio::test]
async fn what_a_server_asks_is_reported_and_not_answered() {
    let server = Fake::start(|asked, _| {
        let asks = json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" });
        let reply = json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": found() });
        text(200, "text/event-stream", format!("data: {asks}\n\ndata: {reply}\n\n"))
    })
    .await;
    let Peer { client, reports, .. } = connected(HttpClient::new(server.url()).unwrap());
    client.discover(RequestParams::new(meta())).await.unwrap();
    client.close().await.unwrap();
    assert_eq!(server.posted(), ["server/discover"]);
    let reports = reports.lock().unwrap();
    assert!(matches!(&reports[..], [Report::Violation(_)]), "{reports:?}");
}
