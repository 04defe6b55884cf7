//! An HTTP server for tests: a typed session for each client, whose tools can wait for the test.
//!
//! It is reached through pipes in this process, so that a test can hold the clock still, or over a port of its own where
//! the test is about connections, or the client needs them.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use mcp_protocols::mcp_2025_03_26::{McpError, McpServer, server};
use mcp_protocols::types::*;
use mcp_runtime::transport::http::{HttpServer, HttpSession, ListenOptions, RequestHead, ServerOptions};
use mcp_runtime::{Options, RpcError, batch};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::wire::{Answer, Ask, Wire};

/// The tests do not depend on timing; this only keeps a bug from hanging them. A paused clock advances when no task can
/// run, so a day passes at once if nothing else happens.
pub async fn guarded<T>(test: impl Future<Output = T>) -> T {
    let mut test = pin!(test);
    let day = Duration::from_secs(24 * 60 * 60);
    let begun = std::time::Instant::now();
    loop {
        // A task that is polled without end keeps a paused clock from advancing.
        match tokio::time::timeout(Duration::from_secs(60), &mut test).await {
            Ok(done) => return done,
            Err(_) => assert!(begun.elapsed() < Duration::from_secs(600), "the test hangs"),
        }
        assert!(
            tokio::time::Instant::now().into_std().duration_since(begun) < day,
            "the test waits for nothing"
        );
    }
}

/// Lets everybody do what they can. The clock of the test has to stand still.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// What a test may make the sessions do.
#[derive(Clone)]
pub struct Gates {
    /// A permit lets one call of the tool `hold` go on.
    pub hold: Arc<Semaphore>,
    /// How many calls of it have begun.
    pub holding: Arc<AtomicUsize>,
    /// How many calls of it are running.
    pub alive: Arc<AtomicUsize>,
    /// A permit has each session that waits for one tell that its tools have changed. Closing it closes all sessions.
    pub announce: Arc<Semaphore>,
    /// A permit lets one `initialize` be answered. There are enough for every test.
    pub greet: Arc<Semaphore>,
    /// Results of tools that may not have reached a client.
    said: Arc<Mutex<Vec<String>>>,
}

impl Gates {
    /// What the tool `hold_and_ask` has said.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
}

/// A server.
pub struct TestServer {
    pub server: HttpServer,
    pub gates: Gates,
    ids: Arc<Mutex<Vec<String>>>,
    /// What each session came to.
    pub ended: mpsc::UnboundedReceiver<Result<(), McpError>>,
    pub router: axum::Router,
    port: Option<Port>,
    /// Every session's code has one, and so have the server and the test.
    running: Arc<()>,
}

/// Where a server listens.
pub struct Port {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    pub serving: JoinHandle<std::io::Result<()>>,
}

impl TestServer {
    /// A server in this process.
    pub fn start() -> TestServer {
        TestServer::with(ServerOptions::default())
    }

    /// A server in this process, with other settings.
    pub fn with(options: ServerOptions) -> TestServer {
        let gates = Gates {
            hold: Arc::new(Semaphore::new(0)),
            holding: Arc::default(),
            alive: Arc::default(),
            announce: Arc::new(Semaphore::new(0)),
            greet: Arc::new(Semaphore::new(1_000_000)),
            said: Arc::default(),
        };
        let ids: Arc<Mutex<Vec<String>>> = Arc::default();
        let named = Arc::clone(&ids);
        let (tell, ended) = mpsc::unbounded_channel();
        let given = gates.clone();
        let running: Arc<()> = Arc::default();
        let counted = Arc::clone(&running);
        let server = HttpServer::new(options, move |transport| {
            named.lock().unwrap().extend(transport.id().map(str::to_owned));
            let (gates, tell, running) = (given.clone(), tell.clone(), Arc::clone(&counted));
            async move {
                let _running = running;
                // The test may have ended already.
                let _ = tell.send(session(transport, gates).await);
            }
        });
        let router = axum::Router::new().route("/mcp", server.method_router());
        TestServer { server, gates, ids, ended, router, port: None, running }
    }

    /// A server on a port of its own.
    pub async fn listening() -> TestServer {
        TestServer::listening_with(ServerOptions::default(), ListenOptions::default()).await
    }

    /// A server on a port of its own, with other settings.
    pub async fn listening_with(options: ServerOptions, listen: ListenOptions) -> TestServer {
        let mut host = TestServer::with(options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (handle, router) = (host.server.clone(), host.router.clone());
        let serving = tokio::spawn(async move {
            handle.serve_with(listener, router, listen, async { drop(stopped.await) }).await
        });
        host.port = Some(Port { address, stop: Some(stop), serving });
        host
    }

    /// The ids of all sessions that have begun and were not asked for yet.
    pub fn ids(&self) -> Vec<String> {
        std::mem::take(&mut *self.ids.lock().unwrap())
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address())
    }

    pub fn address(&self) -> SocketAddr {
        self.port.as_ref().unwrap().address
    }

    pub async fn wire(&self) -> Wire {
        if let Some(port) = &self.port {
            let stream = TcpStream::connect(port.address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            return Wire::over(stream);
        }
        connect(&self.router)
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

    /// How many sessions have code that runs.
    pub fn running(&self) -> usize {
        Arc::strong_count(&self.running) - 2
    }

    /// Has the server stop listening, finish, and end.
    pub fn stop(&mut self) -> Port {
        let mut port = self.port.take().unwrap();
        drop(port.stop.take());
        port
    }

    /// What the next session that ends came to.
    pub async fn next_end(&mut self) -> Result<(), McpError> {
        self.ended.recv().await.unwrap()
    }
}

/// A connection within this process.
pub fn connect(router: &axum::Router) -> Wire {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let service = TowerToHyperService::new(router.clone());
    // How it ends is for the client to see.
    tokio::spawn(async move {
        drop(http1::Builder::new().serve_connection(TokioIo::new(far), service).await);
    });
    Wire::over(near)
}

pub fn initialize(id: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26",
        "capabilities": { "roots": { "listChanged": true } },
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
    // What is on its way is little, so that a test need not say much until somebody has to wait.
    let session = McpServer::with_options(transport, Options::default().output_high_water(64 * 1024));
    let tools = Tools { gates: gates.clone() };
    let serving = tokio::spawn(session.incoming().serve(tools));
    let shaken = async {
        let (params, session) = session.recv_initialize().await?;
        tokio::select! {
            permit = gates.greet.acquire() => permit.unwrap().forget(),
            () = session.ended() => {}
        }
        let session = session.send_initialize_result(hello(&params.protocol_version)).await?;
        session.recv_initialized().await
    };
    let session = match shaken.await {
        Ok(session) => session,
        Err(error) => {
            serving.await.unwrap();
            return Err(error);
        }
    };
    let closed = {
        let session = &session;
        let announcing = async {
            while let Ok(permit) = gates.announce.acquire().await {
                permit.forget();
                if session.send_tools_list_changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = announcing => gates.announce.is_closed(),
            () = session.ended() => false,
        }
    };
    if closed {
        session.close().await?;
    }
    serving.await.unwrap();
    Ok(())
}

fn hello(version: &str) -> InitializeResult {
    if version == "refused" {
        panic!("this handshake fails");
    }
    let offered =
        ServerCapabilities::new().tools(ToolsCapability::new().list_changed(true)).logging(Object::new());
    InitializeResult::new("2025-03-26", offered, Implementation::new("desk", "1"))
}

/// A handler that runs.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Alive {
        count.fetch_add(1, Ordering::SeqCst);
        Alive(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Tools {
    gates: Gates,
}

/// The outcome of a request to the client.
async fn asked(context: &server::Context) -> String {
    match context.peer().list_roots(None).await {
        Ok(result) => format!("{} roots", result.roots.len()),
        Err(error) => format!("no answer: {error}"),
    }
}

impl server::Handler for Tools {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult::new([Tool::new("echo", ObjectSchema::new())]))
    }

    async fn set_level(&self, _: server::Context, _: SetLevelParams) -> Result<(), RpcError> {
        Ok(())
    }

    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        let message = params.argument("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        match params.name.as_str() {
            "echo" => Ok(CallToolResult::text(message)),
            "hold" => {
                self.gates.holding.fetch_add(1, Ordering::SeqCst);
                let _alive = Alive::new(&self.gates.alive);
                self.gates.hold.acquire().await.unwrap().forget();
                Ok(CallToolResult::text("held"))
            }
            // Whose request it is, as far as its head says.
            "who" => {
                let head = context.extension::<RequestHead>().unwrap();
                let user = head.headers().get("x-user").map_or("", |user| user.to_str().unwrap());
                Ok(CallToolResult::text(format!("{user} at {:?}", head.address())))
            }
            "large" => Ok(CallToolResult::text("x".repeat(message.parse().unwrap()))),
            // Tells something about the call, waits, and tells more.
            "talk" => {
                for progress in 1..=2 {
                    let report = ProgressParams::new(0, progress);
                    context.send_progress(report).await.unwrap();
                    self.gates.hold.acquire().await.unwrap().forget();
                }
                Ok(CallToolResult::text("talked"))
            }
            // Takes three seconds, and reports progress.
            "slow" => {
                for progress in 1..=3 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let report = ProgressParams::new(0, progress);
                    drop(context.send_progress(report).await);
                }
                Ok(CallToolResult::text("slow"))
            }
            "ask" => Ok(CallToolResult::text(asked(&context).await)),
            "hold_and_ask" => {
                self.gates.hold.acquire().await.unwrap().forget();
                let said = asked(&context).await;
                self.gates.said.lock().unwrap().push(said.clone());
                Ok(CallToolResult::text(said))
            }
            // Hangs up, after a report if one is wanted, and answers at once: the client has to come back for that.
            "leave" => {
                if message == "told" {
                    let report = ProgressParams::new(0, 1);
                    context.send_progress(report).await.unwrap();
                }
                context.release_connection();
                Ok(CallToolResult::text("left"))
            }
            "hold_and_ask_twice" => {
                self.gates.hold.acquire().await.unwrap().forget();
                let peer = context.peer();
                let (roots, ping) = batch((peer.list_roots(None), peer.ping())).await.unwrap();
                let said = match tokio::join!(roots, ping) {
                    (Ok(_), Ok(_)) => "both".to_owned(),
                    (roots, ping) => format!("{roots:?}, {ping:?}"),
                };
                self.gates.said.lock().unwrap().push(said.clone());
                Ok(CallToolResult::text(said))
            }
            other => Err(RpcError::invalid_params(format!("no tool is called `{other}`"))),
        }
    }
}
