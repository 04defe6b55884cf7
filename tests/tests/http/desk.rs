//! A server for the tests: a typed session for each client, whose tools wait for the test where that matters.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::{McpError, McpServer, server};
use mcp_runtime::transport::http::{HttpServer, HttpSession, ListenOptions, ServerOptions};
use mcp_runtime::{Options, RpcError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tower_mcp_types::protocol::*;

use super::wire::{Answer, Ask, Wire};

/// A payload written as JSON.
pub fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// Nothing in these tests depends on how long anything takes; this only keeps a bug from hanging them for ever.
pub async fn guarded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs")
}

/// What a test may make the sessions do.
#[derive(Clone)]
pub struct Gates {
    /// A permit lets one call of the tool `hold` go on.
    pub hold: Arc<Semaphore>,
    /// How many calls of it have begun.
    pub holding: Arc<AtomicUsize>,
    /// A permit has each session that waits for one tell that its tools have changed.
    pub announce: Arc<Semaphore>,
}

/// A server on a port of its own.
pub struct Desk {
    pub address: SocketAddr,
    pub server: HttpServer,
    pub gates: Gates,
    ids: Arc<Mutex<Vec<String>>>,
    /// What each session came to.
    pub ended: mpsc::UnboundedReceiver<Result<(), McpError>>,
    stop: Option<oneshot::Sender<()>>,
    pub serving: JoinHandle<std::io::Result<()>>,
}

impl Desk {
    pub async fn start() -> Desk {
        Desk::with(ServerOptions::default(), ListenOptions::default()).await
    }

    pub async fn with(options: ServerOptions, listen: ListenOptions) -> Desk {
        let gates = Gates {
            hold: Arc::new(Semaphore::new(0)),
            holding: Arc::default(),
            announce: Arc::new(Semaphore::new(0)),
        };
        let ids: Arc<Mutex<Vec<String>>> = Arc::default();
        let named = Arc::clone(&ids);
        let (tell, ended) = mpsc::unbounded_channel();
        let given = gates.clone();
        let server = HttpServer::new(options, move |transport| {
            named.lock().unwrap().push(transport.id().to_owned());
            let (gates, tell) = (given.clone(), tell.clone());
            async move {
                // The test may have ended already.
                let _ = tell.send(session(transport, gates).await);
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().route("/mcp", server.method_router());
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = server.clone();
        let serving = tokio::spawn(async move {
            handle.serve_with(listener, router, listen, async { drop(stopped.await) }).await
        });
        Desk { address, server, gates, ids, ended, stop: Some(stop), serving }
    }

    /// The ids of all sessions that have begun and were not asked for yet.
    pub fn ids(&self) -> Vec<String> {
        std::mem::take(&mut *self.ids.lock().unwrap())
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub async fn wire(&self) -> Wire {
        Wire::connect(self.address).await
    }

    /// One request over a connection of its own.
    pub async fn ask(&self, ask: &Ask) -> Answer {
        self.wire().await.ask(ask).await
    }

    /// A session whose client has said `initialize` only.
    pub async fn open(&self) -> String {
        let answer = self.ask(&Ask::post(initialize(0))).await;
        assert_eq!(answer.head.status, 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["serverInfo"]["name"], "desk");
        answer.head.get("mcp-session-id").unwrap().to_owned()
    }

    /// A session that is ready.
    pub async fn ready(&self) -> String {
        let id = self.open().await;
        let answer = self.ask(&Ask::post(initialized()).session(&id)).await;
        assert_eq!((answer.head.status, &*answer.body), (202, ""), "{answer:?}");
        id
    }

    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// What the next session that ends came to.
    pub async fn next_end(&mut self) -> Result<(), McpError> {
        self.ended.recv().await.unwrap()
    }
}

pub fn initialize(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26",
        "capabilities": { "roots": {} },
        "clientInfo": { "name": "wire", "version": "1" },
    } })
}

pub fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

pub fn list(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })
}

pub fn call(id: i64, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": { "message": "hello" }, "_meta": { "progressToken": id },
    } })
}

/// One session, from its beginning to its end.
async fn session(transport: HttpSession, gates: Gates) -> Result<(), McpError> {
    let session = McpServer::with_options(transport, Options::default());
    let tools = Tools { gates: gates.clone() };
    let serving = tokio::spawn(session.incoming().serve(tools));
    let shaken = async {
        let (params, session) = session.recv_initialize().await?;
        let session = session.send_initialize_result(hello(&params.protocol_version)).await?;
        session.recv_initialized().await
    };
    let session = shaken.await;
    if let Ok(session) = &session {
        let announcing = async {
            while let Ok(permit) = gates.announce.acquire().await {
                permit.forget();
                if session.send_tools_list_changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = announcing => {}
            () = session.ended() => {}
        }
    }
    serving.await.unwrap();
    session.map(drop)
}

fn hello(version: &str) -> InitializeResult {
    if version == "refused" {
        panic!("this handshake fails");
    }
    read(json!({
        "protocolVersion": "2025-03-26",
        "serverInfo": { "name": "desk", "version": "1" },
        "capabilities": { "tools": { "listChanged": true }, "logging": {} },
    }))
}

struct Tools {
    gates: Gates,
}

impl server::Handler for Tools {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<ListToolsParams>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(read(json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] })))
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let message = params.arguments.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        match params.name.as_str() {
            "echo" => Ok(CallToolResult::text(message)),
            "hold" => {
                self.gates.holding.fetch_add(1, Ordering::SeqCst);
                self.gates.hold.acquire().await.unwrap().forget();
                Ok(CallToolResult::text("held"))
            }
            // Tells something about the call, waits, and tells more.
            "talk" => {
                for progress in 1..=2 {
                    let report = read(json!({ "progressToken": 0, "progress": progress }));
                    context.send_progress(report).await.unwrap();
                    self.gates.hold.acquire().await.unwrap().forget();
                }
                Ok(CallToolResult::text("talked"))
            }
            // Hangs up, after a report if one is wanted, and answers at once: the client has to come back for that.
            "leave" => {
                if message == "told" {
                    let report = read(json!({ "progressToken": 0, "progress": 1 }));
                    context.send_progress(report).await.unwrap();
                }
                context.hang_up();
                Ok(CallToolResult::text("left"))
            }
            "ask" => match context.peer().list_roots(None).await {
                Ok(result) => Ok(CallToolResult::text(format!("{} roots", result.roots.len()))),
                Err(error) => Ok(CallToolResult::error(format!("no answer: {error}"))),
            },
            other => Err(RpcError::invalid_params(format!("no tool is called `{other}`"))),
        }
    }
}
