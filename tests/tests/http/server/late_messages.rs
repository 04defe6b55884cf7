//! Late messages over HTTP, where each message is an exchange of its own and no reply proves what the peer has received:
//! what may be late has no fence, and ends with the table of ended sub-sessions.

use std::sync::{Arc, Mutex};

use mcp_runtime::protocol::Strictness;
use mcp_runtime::transport::http::{HttpServer, HttpSession, ServerOptions};
use mcp_runtime::{Options, Report, ViolationKind};
use serde_json::{Value, json};

use super::test_server::{connect, guarded, settle};
use super::wire::{Answer, Ask, Wire};

mod documents {
    mcp_runtime::protocol!("protocols/documents.session");
}
use documents::server::{EditingNext, Incoming};
use documents::{DocumentsError, Tool};

/// How many ended sub-sessions a session remembers.
const REMEMBERED: usize = 1024;

/// What the server's program has received, and what its sessions have reported.
#[derive(Clone, Default)]
struct Seen {
    received: Arc<Mutex<Vec<String>>>,
    reports: Arc<Mutex<Vec<Report>>>,
}

impl Seen {
    fn receive(&self, message: &str, params: &Value) {
        self.received.lock().unwrap().push(format!("{message} {}", params["uri"].as_str().unwrap()));
    }

    fn received(&self) -> Vec<String> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    fn reports(&self) -> Vec<Report> {
        std::mem::take(&mut self.reports.lock().unwrap())
    }
}

async fn session(transport: HttpSession, seen: Seen) -> Result<(), DocumentsError> {
    let reports = Arc::clone(&seen.reports);
    let options =
        Options::default().on_report(move |report: &Report| reports.lock().unwrap().push(report.clone()));
    let (_, tool) = Tool::with_options(transport, options).recv_initialize().await?;
    let tool = tool.send_welcome(json!({})).await?;
    let incoming = tool.incoming();
    while let Some(Incoming::Opened(params, mut document)) = incoming.next().await {
        seen.receive("Opened", &params);
        loop {
            document = match document.next().await? {
                EditingNext::Changed(params, document) => {
                    seen.receive("Changed", &params);
                    document
                }
                EditingNext::Read(params, document) => {
                    seen.receive("Read", &params);
                    document.send_text(json!({})).await?
                }
                EditingNext::Closed(params) => {
                    seen.receive("Closed", &params);
                    break;
                }
            };
        }
    }
    Ok(())
}

/// A client that posts each message by itself.
struct Client {
    wire: Wire,
    session: String,
}

impl Client {
    async fn say(&mut self, message: Value) -> Answer {
        self.wire.ask(&Ask::post(message).session(&self.session)).await
    }

    /// Tells something of a document; the status of the answer.
    async fn tell(&mut self, method: &str, uri: &str) -> u16 {
        let answer = self.say(json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": uri } })).await;
        settle().await;
        answer.head.status
    }

    async fn read(&mut self, id: i64, uri: &str) -> Answer {
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": "document/read", "params": { "uri": uri } }))
            .await
    }

    async fn open_and_close(&mut self, uri: &str) {
        assert_eq!(self.tell("document/opened", uri).await, 202);
        assert_eq!(self.tell("document/closed", uri).await, 202);
    }
}

async fn start() -> (Client, Seen) {
    let seen = Seen::default();
    let given = seen.clone();
    let server = HttpServer::new(ServerOptions::default(), move |transport| {
        let seen = given.clone();
        async move {
            // The test ends first.
            let _ended = session(transport, seen).await;
        }
    });
    let mut wire = connect(&axum::Router::new().route("/mcp", server.method_router()));
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} });
    let answer = wire.ask(&Ask::post(initialize)).await;
    let session = answer.head.get("mcp-session-id").unwrap().to_owned();
    (Client { wire, session }, seen)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_after_the_end_of_its_sub_session_is_late_however_much_was_answered_since() {
    guarded(async {
        let (mut client, seen) = start().await;
        client.open_and_close("a").await;
        assert_eq!(seen.received(), ["Opened a", "Closed a"]);
        assert_eq!(seen.reports().len(), 0);
        // The close has overtaken this message, which was posted at the same time: neither side is to blame.
        assert_eq!(client.tell("document/changed", "a").await, 202);
        let reports = seen.reports();
        assert!(
            matches!(&reports[..], [Report::Late { message, state, crossed: Some(crossed), over: true }]
                if message == "Changed" && state == "Editing" && crossed == "Closed"),
            "{reports:?}"
        );
        // Another exchange of the session has been answered, and proves nothing.
        client.open_and_close("b").await;
        let refused = client.read(1, "a").await;
        assert_eq!((refused.head.status, &refused.json()["id"]), (200, &json!(1)));
        assert_eq!(refused.json()["error"]["message"], "the request is late: what it belongs to is over");
        let reports = seen.reports();
        assert!(
            matches!(&reports[..], [Report::Late { message, over: true, .. }] if message == "Read"),
            "{reports:?}"
        );
        assert_eq!(seen.received(), ["Opened b", "Closed b"], "what is late is not handed out");
        // The value is free for a sub-session that begins now.
        client.open_and_close("a").await;
        assert_eq!(seen.received(), ["Opened a", "Closed a"]);
        assert_eq!(seen.reports().len(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_for_a_sub_session_that_was_forgotten_is_unknown_and_not_wrong() {
    guarded(async {
        let (mut client, seen) = start().await;
        // As long as nothing was forgotten, a value that was never in use is a mistake. It is reported and not refused, for
        // a client cannot know what has overtaken its message.
        assert_eq!(client.tell("document/changed", "never").await, 202);
        let unknown = |expected: Strictness| {
            let reports = seen.reports();
            let [Report::Violation(violation)] = &reports[..] else { panic!("{reports:?}") };
            assert!(matches!(violation.kind, ViolationKind::UnknownKey { .. }), "{violation:?}");
            assert_eq!(violation.strictness(), expected, "{violation}");
        };
        unknown(Strictness::Must);
        for number in 0..=REMEMBERED {
            client.open_and_close(&number.to_string()).await;
        }
        assert_eq!(seen.received().len(), 2 * (REMEMBERED + 1));
        assert_eq!(seen.reports().len(), 0);
        // The oldest is forgotten, the one after it is not.
        assert_eq!(client.tell("document/changed", "0").await, 202);
        unknown(Strictness::Should);
        assert_eq!(client.tell("document/changed", "1").await, 202);
        assert!(matches!(&seen.reports()[..], [Report::Late { .. }]));
        // Nothing tells the forgotten values from those that were never in use.
        assert_eq!(client.tell("document/changed", "never").await, 202);
        unknown(Strictness::Should);
        let refused = client.read(1, "0").await;
        assert_eq!(
            (refused.head.status, &refused.json()["error"]["code"]),
            (200, &json!(-32600)),
            "{refused:?}"
        );
        unknown(Strictness::Should);
        assert_eq!(seen.received(), [""; 0]);
    })
    .await;
}
