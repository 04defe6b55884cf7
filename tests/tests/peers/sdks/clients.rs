//! Clients of other SDKs, and our server: the example `revisions`, which offers every revision.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use mcp_runtime::transport::http::{HttpServer, ServerOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Reports, guarded, revisions_server, script};

/// A client that is a program: its script, and what comes before the address or the command of the server.
#[derive(Clone, Copy)]
struct Client {
    script: &'static str,
    mode: &'static [&'static str],
    /// The revision that it must come to.
    revision: &'static str,
    /// Whether it asks for `server/discover` in the session, before anything else.
    discovers: bool,
}

const TYPESCRIPT_1: Client =
    Client { script: "client.mjs", mode: &[], revision: "2025-11-25", discovers: false };
const PYTHON: Client = Client { script: "client.py", mode: &[], revision: "2025-11-25", discovers: true };
/// Over standard streams this one asks a process of its own for `server/discover`, which it then does away with.
const TYPESCRIPT_2: Client =
    Client { script: "client2.mjs", mode: &["auto"], revision: "2025-11-25", discovers: false };

/// The same, when it speaks one revision only.
const fn typescript_2(mode: &'static [&'static str; 1]) -> Client {
    Client { script: "client2.mjs", mode, revision: mode[0], discovers: false }
}

const IN_2025_06_18: Client = typescript_2(&["2025-06-18"]);
const IN_2025_03_26: Client = typescript_2(&["2025-03-26"]);
const IN_2024_11_05: Client = typescript_2(&["2024-11-05"]);

impl Client {
    /// The command, but for where the server is.
    fn command(&self) -> Command {
        let mut command = script(self.script);
        command.args(self.mode).stdin(Stdio::null());
        command
    }

    /// Runs it to its end, and gives what it saw, and what was written on the third stream.
    async fn run(&self, command: &mut Command) -> (Value, String) {
        let output = command.output().await.unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{} {:?}: {errors}", self.script, self.mode);
        (serde_json::from_slice(&output.stdout).unwrap(), errors)
    }

    /// What it must see of a session.
    fn expected(&self) -> Value {
        let user = match self.revision {
            "2024-11-05" | "2025-03-26" => {
                format!(
                    "`elicitation/create` is not a method that the server sends in `Mcp` {}",
                    self.revision
                )
            }
            _ => "accept: Ada".to_owned(),
        };
        json!({
            "revision": self.revision,
            "server": "desk",
            "tools": ["echo", "count", "ask_model", "ask_user", "hold", "wait_for_cancel", "release_connection", "touch"],
            "echo": ["grüße", "twice"],
            "progress": [[1, 3], [2, 3], [3, 3]],
            "counted": "counted to 3",
            "logs": ["counted 3"],
            "model": "calculator: four",
            "user": user,
            "held": "cancelled",
            "wait_for_cancel": "cancelled",
            "hung_up": "still here",
            "note": "buy milk",
            "updated": ["desk://note"],
            "refused": { "code": -32602 },
        })
    }
}

/// One is a number with a fraction in some languages.
fn whole_numbers(mut seen: Value) -> Value {
    let reports = seen["progress"].as_array_mut().unwrap().iter_mut();
    for number in reports.flat_map(|report| report.as_array_mut().unwrap()) {
        *number = json!(number.as_f64().unwrap() as u64);
    }
    seen
}

/// All of them at once, each in a session of its own, and what stands between them and the server, if anything does.
async fn over_http(clients: &[Client], between: Option<Cutter>) {
    let reports = Reports::default();
    let (tell, mut ended) = mpsc::unbounded_channel();
    let noting = reports.clone();
    let server = HttpServer::new(ServerOptions::default(), move |transport| {
        let (tell, options, id) = (tell.clone(), noting.options(), transport.id().map(str::to_owned));
        async move {
            let outcome = revisions_server::serve(transport, options).await;
            // What asks for `server/discover` comes by itself, and is refused.
            if let Some(id) = id {
                tell.send((id, outcome)).unwrap();
            }
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let address = match &between {
        Some(cutter) => cutter.stand_before(address).await,
        None => address,
    };
    let url = format!("http://{address}/mcp");
    // The streams that clients have opened with GET: those for what is said unasked, and the rests of others.
    let (opened, resumed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (Arc::clone(&opened), Arc::clone(&resumed));
    let count = from_fn(move |request: Request, next: Next| {
        let again = request.headers().contains_key("last-event-id");
        let counter = Arc::clone(if again { &counters.1 } else { &counters.0 });
        let get = request.method() == Method::GET;
        async move {
            let response = next.run(request).await;
            // A client that resumes the stream of a cancelled call does not get one.
            counter.fetch_add(usize::from(get && response.status() == StatusCode::OK), Ordering::SeqCst);
            response
        }
    });
    let router = axum::Router::new().route("/mcp", server.method_router()).layer(count);
    let serving = server.clone();
    let serving =
        test_support::spawn(async move { serving.serve(listener, router, std::future::pending()).await });

    let mut running = JoinSet::new();
    for client in clients.iter().copied() {
        let mut command = client.command();
        command.args(["http", &url]);
        running.spawn(async move { (client, client.run(&mut command).await) });
    }
    let mut named = Vec::new();
    while let Some(done) = running.join_next().await {
        let (client, (mut seen, errors)) = done.unwrap();
        assert_eq!(errors, "");
        // The Python client keeps the id to itself.
        named.extend(seen.as_object_mut().unwrap().remove("session"));
        assert_eq!(whole_numbers(seen), client.expected());
    }
    assert_eq!(server.session_count(), 0, "the clients have deleted their sessions");
    // Each client has begun one session, which has come to its end here as well.
    let mut begun = Vec::new();
    for _ in clients {
        let (id, outcome) = ended.recv().await.unwrap();
        outcome.unwrap();
        begun.push(json!(id));
    }
    assert!(ended.try_recv().is_err(), "what asks for `server/discover` begins no session");
    assert!(named.iter().all(|id| begun.contains(id)), "{named:?} {begun:?}");
    assert_eq!(reports.take(), [""; 0]);
    // The server hangs up once, where the revision lets it.
    let hung_up = clients.iter().filter(|client| client.revision == "2025-11-25").count();
    let cut = between.iter().filter(|Cutter(cut)| cut.load(Ordering::SeqCst)).count();
    assert_eq!(cut, usize::from(between.is_some()));
    let counted = (opened.load(Ordering::SeqCst), resumed.load(Ordering::SeqCst));
    assert_eq!(counted, (clients.len(), hung_up + cut));
    serving.abort();
}

/// Stands between clients and a server, and cuts the connection that carries the second report on a call, in the middle
/// of the report. Knows whether it has done so.
#[derive(Default)]
struct Cutter(Arc<AtomicBool>);

impl Cutter {
    /// Takes connections for a server, at the address that this gives.
    async fn stand_before(&self, server: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::clone(&self.0);
        test_support::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                test_support::spawn(carry(
                    client,
                    TcpStream::connect(server).await.unwrap(),
                    Arc::clone(&cut),
                ));
            }
        });
        address
    }
}

/// Carries what both sides say, until one of them is done, or the connection is cut.
async fn carry(client: TcpStream, server: TcpStream, cut: Arc<AtomicBool>) {
    const REPORT: &[u8] = br#""progress":2"#;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asking = test_support::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let (mut said, mut carried) = (Vec::new(), 0);
    while from_server.read_buf(&mut said).await.is_ok_and(|read| read > 0) {
        let report = said.windows(REPORT.len()).position(|bytes| bytes == REPORT);
        let here = report.filter(|_| !cut.swap(true, Ordering::SeqCst));
        let end = here.unwrap_or(said.len()).max(carried);
        if to_client.write_all(&said[carried..end]).await.is_err() || here.is_some() {
            break;
        }
        carried = end;
    }
    asking.abort();
}

async fn over_stdio(client: Client) {
    let mut command = client.command();
    let (seen, errors) =
        client.run(command.arg("stdio").arg(integration_tests::example::program("revisions"))).await;
    assert_eq!(whole_numbers(seen), client.expected());
    // The server has the client's third stream, and reports there. It has no more to say than this.
    let discovered = "`server/discover` is not a method that the client sends in `Mcp` 2025-11-25\n";
    assert_eq!(errors, if client.discovers { discovered } else { "" });
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_1_over_http() {
    guarded(over_http(&[TYPESCRIPT_1], None)).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_1_over_stdio() {
    guarded(over_stdio(TYPESCRIPT_1)).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_2_over_http() {
    guarded(over_http(&[TYPESCRIPT_2], None)).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_2_over_stdio() {
    guarded(over_stdio(TYPESCRIPT_2)).await;
}

#[tokio::test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
async fn python_over_http() {
    guarded(over_http(&[PYTHON], None)).await;
}

#[tokio::test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
async fn python_over_stdio() {
    guarded(over_stdio(PYTHON)).await;
}

/// What was not read comes again when the client asks for it, and nothing comes twice.
#[tokio::test]
#[ignore = "needs Node, Python and the packages in `tests/peers`"]
async fn a_stream_that_is_cut_and_taken_up_again() {
    for client in [TYPESCRIPT_1, TYPESCRIPT_2, PYTHON] {
        guarded(over_http(&[client], Some(Cutter::default()))).await;
    }
}

#[tokio::test]
#[ignore = "needs Node, Python and the packages in `tests/peers`"]
async fn all_of_them_at_once_over_http() {
    let clients = [TYPESCRIPT_1, TYPESCRIPT_2, PYTHON, IN_2025_06_18, IN_2025_03_26, IN_2024_11_05];
    guarded(over_http(&clients, None)).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_2_in_older_revisions_over_stdio() {
    for client in [IN_2025_06_18, IN_2025_03_26, IN_2024_11_05] {
        guarded(over_stdio(client)).await;
    }
}
