//! Over HTTP: a server that listens on the loopback, and clients that call it or leave their sessions idle.
//!
//! Calls are measured with both ends in one process. The memory of idle sessions is measured of a server in a child
//! process, so that what its clients take is not mistaken for its own.

use std::io::{BufRead, Read};
use std::process::{Child, Stdio};

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::net::TcpListener;

use crate::case::{Case, Place};
use crate::contest::{Done, Plan, itself};
use crate::measure::{Figures, resident};

/// What can be measured over HTTP.
pub trait OverHttp: Send + 'static {
    /// Serves at `/mcp` for as long as it is let.
    fn serve_http(listener: TcpListener) -> impl Future<Output = ()> + Send;

    /// A session with the server at that address, and the calls of a plan.
    fn call_http(url: String, plan: Plan) -> impl Future<Output = Done> + Send;

    /// A session that has made one call and is idle now, with whatever such a client keeps open.
    fn rest_http(url: String) -> impl Future<Output = Box<dyn Send>> + Send;
}

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// How many idle sessions come before those that are counted: they pay for what all of them share.
const WARM: usize = 100;

/// Measures one case.
pub async fn measure<C: OverHttp>(case: Case, who: &str, plan: Plan) -> Figures {
    if case.place == Place::Http {
        let (listener, url) = bound().await;
        tokio::spawn(C::serve_http(listener));
        return C::call_http(url, plan).await.figures();
    }
    let server = Listening::start(who);
    if case.place == Place::HttpSession {
        let client = reqwest::Client::builder().pool_max_idle_per_host(0);
        let client = client.build().expect("a client can be made");
        let begin = async |sessions| {
            for _ in 0..sessions {
                begin_by_hand(&client, &server.url).await;
            }
        };
        begin(WARM).await;
        let before = server.resident();
        begin(case.calls).await;
        return Figures::memory(server.resident().saturating_sub(before) as f64 / case.calls as f64);
    }
    let of = |server: &Listening| match case.place {
        Place::HttpServer => server.resident(),
        _ => resident("self"),
    };
    let mut kept = Vec::with_capacity(WARM + case.calls);
    for _ in 0..WARM {
        kept.push(C::rest_http(server.url.clone()).await);
    }
    settle().await;
    let before = of(&server);
    for _ in 0..case.calls {
        kept.push(C::rest_http(server.url.clone()).await);
    }
    settle().await;
    let figures = Figures::memory(of(&server).saturating_sub(before) as f64 / case.calls as f64);
    drop(kept);
    figures
}

/// Serves the parent process over HTTP, until it lets go of the standard input.
pub async fn listen<C: OverHttp>() {
    let (listener, url) = bound().await;
    println!("{url}");
    tokio::spawn(C::serve_http(listener));
    let waiting = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    let _ = waiting.await;
}

async fn bound() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has a port");
    let address = listener.local_addr().expect("a bound listener has an address");
    (listener, format!("http://{address}/mcp"))
}

/// Streams are opened in parallel with the calls; they are open by then.
async fn settle() {
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
}

/// A server in a child process.
struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    fn start(who: &str) -> Listening {
        let mut command = itself(who);
        command.arg("http").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a child starts");
        let mut url = String::new();
        let stdout = child.stdout.as_mut().expect("it was piped");
        std::io::BufReader::new(stdout).read_line(&mut url).expect("the child says where it listens");
        Listening { child, url: url.trim_end().to_owned() }
    }

    fn resident(&self) -> u64 {
        resident(&self.child.id().to_string())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Begins a session and makes one call, and leaves nothing open: no connection is kept.
async fn begin_by_hand(client: &reqwest::Client, url: &str) {
    let post = |body: &'static str, session: Option<&str>| {
        let request = client.post(url).header(CONTENT_TYPE, "application/json");
        let request = request.header(ACCEPT, "application/json, text/event-stream").body(body);
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    };
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
    let welcome = post(hello, None).send().await.expect("the server answers");
    let session = welcome.headers().get(SESSION).expect("the server names the session").clone();
    let session = session.to_str().expect("an id is text").to_owned();
    welcome.text().await.expect("the answer has an end");
    let ready = post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Some(&session));
    ready.send().await.expect("the server answers").text().await.expect("the answer has an end");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}"#;
    let told = post(call, Some(&session)).send().await.expect("the server answers");
    assert!(told.text().await.expect("the answer has an end").contains("hello"));
}
