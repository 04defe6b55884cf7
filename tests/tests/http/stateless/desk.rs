//! A server of the revision without sessions, whose tools can wait for the test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use integration_tests::http::wire::{Answer, Ask, Wire};
use mcp_protocols::mcp_2026_07_28::server::ToolsCallReply;
use mcp_protocols::mcp_2026_07_28::types::*;
use mcp_protocols::mcp_2026_07_28::{McpServer, Subscribing, server};
use mcp_runtime::transport::http::{HttpServer, ParamHeaders, RequestHead, ServerOptions};
use mcp_runtime::{Options, RpcError};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;

pub const VERSION: &str = "2026-07-28";

/// What the tools tell the test, and wait for.
#[derive(Clone)]
pub struct Signals {
    /// What has happened, in words.
    told: mpsc::UnboundedSender<String>,
    /// A permit lets one call of `hold` go on.
    pub hold: Arc<Semaphore>,
    /// `true` says that the tools have changed, `false` ends the subscriptions.
    pub changes: broadcast::Sender<bool>,
    /// How many sessions were begun.
    pub begun: Arc<AtomicUsize>,
}

impl Signals {
    fn tell(&self, what: impl Into<String>) {
        // The test may have ended.
        let _ = self.told.send(what.into());
    }
}

struct Desk(Signals);

fn text(text: impl Into<String>) -> Result<ToolsCallReply, RpcError> {
    let text = TextContent::new(text);
    Ok(ToolsCallReply::ToolsResult(CallToolResult::new([text.into()]).result_type(ResultType::Complete)))
}

/// The schema of the tool `query`, two of whose parameters are repeated in headers.
pub fn query_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "x-mcp-header": "City" },
            "near": { "type": "object", "properties": { "floor": { "type": "integer", "x-mcp-header": "Floor" } } },
        },
    })
}

impl server::Handler for Desk {
    async fn discover(&self, _: server::Context, _: RequestParams) -> Result<DiscoverResult, RpcError> {
        let offered =
            ServerCapabilities::new().logging(Object::new()).tools(ToolsCapability::new().list_changed(true));
        Ok(DiscoverResult::new([VERSION], offered, 60_000, CacheScope::Public)
            .result_type(ResultType::Complete))
    }

    async fn list_tools(&self, _: server::Context, _: PaginatedParams) -> Result<ListToolsResult, RpcError> {
        // One of them breaks the rules for headers.
        let wrong =
            json!({ "type": "object", "properties": { "a": { "type": "number", "x-mcp-header": "A" } } });
        let result = json!({
            "tools": [
                { "name": "query", "inputSchema": query_schema() },
                { "name": "wrong", "inputSchema": wrong },
            ],
            "ttlMs": 1000, "cacheScope": "public", "resultType": "complete",
        });
        Ok(serde_json::from_value(result).unwrap())
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<ToolsCallReply, RpcError> {
        let Desk(signals) = self;
        match &*params.name {
            "headers" => {
                let head = context.extension::<RequestHead>().unwrap();
                let names = ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"];
                let said = names
                    .map(|name| head.headers().get(name).map(|value| value.to_str().unwrap().to_owned()));
                text(json!(said).to_string())
            }
            "query" => {
                let head = context.extension::<RequestHead>().unwrap();
                let said =
                    |name: &str| head.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
                text(json!([said("mcp-param-city"), said("mcp-param-floor")]).to_string())
            }
            "greet" => {
                let answer = params.input_responses.as_ref().and_then(|answers| answers.get("who"));
                let Some(answer) = answer else {
                    let name: FieldSchema = StringSchema::new().into();
                    let form =
                        ElicitFormParams::new("Who is there?", FormSchema::new([("name".into(), name)]));
                    let asked = [("who".to_owned(), ElicitInput::new(form).into())];
                    let result = InputRequiredResult::new().input_requests(asked).request_state("asked once");
                    return Ok(ToolsCallReply::ToolsInputRequired(result));
                };
                let InputResponse::Elicit(answer) = answer else { panic!("{answer:?}") };
                let Some(FieldValue::Text(name)) =
                    answer.content.as_ref().and_then(|fields| fields.get("name"))
                else {
                    panic!("{answer:?}")
                };
                text(format!("Hello, {name} ({})", params.request_state.unwrap()))
            }
            "talk" => {
                let line = LoggingMessageParams::new(LoggingLevel::Info, "talking");
                context.peer().send_log_message(line).await.unwrap();
                context.send_progress(ProgressParams::new(0, 1)).await.unwrap();
                context.send_progress(ProgressParams::new(0, 2)).await.unwrap();
                text("talked")
            }
            // Says something first, so that the answer has begun, or not.
            name @ ("wait" | "wait aloud") => {
                if name == "wait aloud" {
                    context.send_progress(ProgressParams::new(0, 1)).await.unwrap();
                }
                signals.tell("waiting");
                context.cancelled().await;
                signals.tell("cancelled");
                Err(context.cancelled_error())
            }
            "hold" => {
                signals.tell("holding");
                signals.hold.acquire().await.unwrap().forget();
                let who = params.arguments.as_ref().and_then(|arguments| arguments.get("who").cloned());
                text(serde_json::to_string(&who).unwrap())
            }
            "long" => text("x".repeat(100_000)),
            "needs sampling" => {
                let needed = json!({ "requiredCapabilities": { "sampling": {} } });
                Err(RpcError::new(-32021, "this needs sampling").with_data(needed))
            }
            other => Err(RpcError::invalid_params(format!("there is no tool `{other}`"))),
        }
    }

    async fn subscriptions_listen(
        &self,
        _: server::Context,
        params: SubscriptionsListenParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        let Desk(signals) = self;
        let mut changes = signals.changes.subscribe();
        let id: RequestId = serde_json::from_value(json!(subscription.request_id().unwrap())).unwrap();
        let meta = || NotificationMeta::new().subscription_id(id.clone());
        let mut told = SubscriptionsAcknowledgedParams::new(params.notifications);
        told.meta = Some(meta());
        let mut subscription = subscription.send_subscriptions_acknowledged(told).await.unwrap();
        signals.tell("subscribed");
        loop {
            let change = tokio::select! {
                change = changes.recv() => change.unwrap(),
                () = subscription.cancelled() => return signals.tell("unsubscribed"),
            };
            if !change {
                let closed = SubscriptionClosedResult::of(id);
                subscription.send_subscription_closed(closed).await.unwrap();
                return signals.tell("closed");
            }
            let params = NotificationParams::new().meta(meta());
            subscription.send_tools_list_changed(params).await.unwrap();
        }
    }
}

/// The server, on a port of its own.
pub struct Host {
    pub server: HttpServer,
    pub address: SocketAddr,
    pub signals: Signals,
    told: mpsc::UnboundedReceiver<String>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Host {
    pub async fn start() -> Host {
        Host::with(ServerOptions::default()).await
    }

    pub async fn with(options: ServerOptions) -> Host {
        let (told, heard) = mpsc::unbounded_channel();
        let signals = Signals {
            told,
            hold: Arc::new(Semaphore::new(0)),
            changes: broadcast::channel(16).0,
            begun: Arc::default(),
        };
        let given = signals.clone();
        let query = Arc::new(ParamHeaders::of_schema(&query_schema()).unwrap());
        let options = options.param_headers(move |tool| (tool == "query").then(|| query.clone()));
        let server = HttpServer::new(options, move |transport| {
            given.begun.fetch_add(1, Ordering::Relaxed);
            let desk = Desk(given.clone());
            async move {
                let server = McpServer::with_options(transport, Options::new().judge_payloads(true));
                server.incoming().serve(desk).await;
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().route("/mcp", server.method_router());
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = server.clone();
        let serving = test_support::spawn(async move {
            handle.serve(listener, router, async { drop(stopped.await) }).await
        });
        Host { server, address, signals, told: heard, stop: Some(stop), serving }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// What a tool tells next.
    pub async fn told(&mut self) -> String {
        self.told.recv().await.unwrap()
    }

    pub async fn wire(&self) -> Wire {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Wire::over(stream)
    }

    pub async fn ask(&self, ask: &Ask) -> Answer {
        self.wire().await.ask(ask).await
    }

    /// Waits until no request is served, and nothing is held for one.
    pub async fn idle(&self) {
        while self.server.session_count() > 0 || self.server.held_bytes() > 0 {
            tokio::task::yield_now().await;
        }
    }

    pub fn begin_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub async fn stop(mut self) {
        self.begin_to_stop();
        self.serving.await.unwrap().unwrap();
    }
}

/// The metadata of a request.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    })
}

/// A request as a client of this revision posts it.
pub fn request(id: u32, method: &'static str, mut params: Value) -> Ask {
    let named = ["name", "uri"].map(|key| params[key].as_str().map(str::to_owned));
    let named = named.into_iter().flatten().next();
    if params["_meta"].is_null() {
        params["_meta"] = meta();
    }
    let ask = Ask::post(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    let ask = ask.with("mcp-protocol-version", VERSION).with("mcp-method", method);
    match named {
        Some(named) => ask.with("mcp-name", &named),
        None => ask,
    }
}

/// A call of a tool.
pub fn call(id: u32, tool: &str) -> Ask {
    request(id, "tools/call", json!({ "name": tool }))
}
