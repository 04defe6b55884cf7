//! A client finds out which era its server speaks, as the stdio page of revision 2026-07-28 wants it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use mcp_protocols::eras::types::{PaginatedParams, SubscriptionFilter};
use mcp_protocols::eras::{Client, ConnectError, Connector, Era};
use mcp_runtime::transport::{Duplex, duplex};
use mcp_runtime::{Options, Report};
use serde_json::{Value, json};
use test_support::raw::{Raw, Wire, raw};
use test_support::script::guarded;

use super::client::{Ada, connector};
use super::server;

type Connected = Result<Client<Ada>, ConnectError>;

/// A client that connects to a raw server.
fn connecting(connector: Connector<Ada>) -> (Raw, tokio::task::JoinHandle<Connected>) {
    let (wire, server) = raw();
    (server, test_support::spawn(async move { connector.connect(wire).await }))
}

fn error(id: &Value, code: i64, data: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no", "data": data } })
}

/// Answers the handshake of a client.
async fn welcome(server: &mut Raw, initialize: &Value) {
    assert_eq!(initialize["method"], "initialize", "{initialize}");
    assert_eq!(initialize["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(initialize["params"]["capabilities"], json!({ "elicitation": {} }));
    let result = json!({
        "protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": { "name": "old", "version": "1" }
    });
    server.say(json!({ "jsonrpc": "2.0", "id": initialize["id"], "result": result })).await;
    assert_eq!(server.hear().await.unwrap()["method"], "notifications/initialized");
}

fn expect_session(connected: Connected) {
    let client = connected.unwrap();
    assert_eq!((client.era(), client.version()), (Era::Handshake, "2025-03-26"));
    assert_eq!(client.offer().server_info.name, "old");
}

#[tokio::test]
async fn any_error_that_is_not_of_the_newer_era_means_a_handshake() {
    guarded(async {
        for code in [-32601, -32602, -32600, -32000, -32001, -32603, 7] {
            let (mut server, client) = connecting(connector());
            let probe = server.hear().await.unwrap();
            assert_eq!(probe["method"], "server/discover");
            let meta = &probe["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            server.say(error(&probe["id"], code, Value::Null)).await;
            let initialize = server.hear().await.unwrap();
            welcome(&mut server, &initialize).await;
            expect_session(client.await.unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_no_answer_to_the_question_means_a_handshake_too() {
    guarded(async {
        for answer in [json!({}), json!({ "tools": [] }), json!({ "supportedVersions": 7 })] {
            let (mut server, client) = connecting(connector());
            let probe = server.hear().await.unwrap();
            server.say(json!({ "jsonrpc": "2.0", "id": probe["id"], "result": answer })).await;
            let initialize = server.hear().await.unwrap();
            welcome(&mut server, &initialize).await;
            expect_session(client.await.unwrap());
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_has_a_handshake_and_may_answer_late() {
    let reports = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = reports.clone();
    let options = Options::new().on_report(move |report| seen.lock().unwrap().push(report.to_string()));
    let (mut server, client) = connecting(connector().options(options).probe_within(Duration::from_secs(3)));
    let probe = server.hear().await.unwrap();
    let initialize = server.hear().await.unwrap();
    assert_eq!(initialize["method"], "initialize", "nothing is cancelled that the server does not know");
    assert_ne!(initialize["id"], probe["id"]);
    server.say(error(&probe["id"], -32601, Value::Null)).await;
    welcome(&mut server, &initialize).await;
    expect_session(client.await.unwrap());
    assert_eq!(reports.lock().unwrap().len(), 1, "the late answer is reported: {reports:?}");
}

#[tokio::test]
async fn what_a_server_prints_before_and_after_the_first_question_is_one_flood() {
    guarded(async {
        let reports = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = reports.clone();
        let options = Options::new().on_report(move |report: &Report| {
            seen.lock().unwrap().push(match report {
                Report::Malformed { .. } => None,
                Report::ManyMalformed { count } => Some(*count),
                other => panic!("{other}"),
            });
        });
        let (mut server, client) = connecting(connector().options(options));
        let probe = server.hear().await.unwrap();
        for _ in 0..90 {
            server.say_line(b"loading").await;
        }
        server.say(error(&probe["id"], -32601, Value::Null)).await;
        let initialize = server.hear().await.unwrap();
        for _ in 0..90 {
            server.say_line(b"loading").await;
        }
        welcome(&mut server, &initialize).await;
        expect_session(client.await.unwrap());
        drop(server);
        // The client was dropped above: when its session is over, it reports what it has only counted.
        let all = || reports.lock().unwrap().clone();
        while all().last() != Some(&Some(180)) {
            tokio::task::yield_now().await;
        }
        let all = all();
        assert_eq!(all.iter().filter(|one| one.is_none()).count(), 100, "{all:?}");
        assert_eq!(all[100], Some(101));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_notify_of_changes_is_not_asked_to() {
    guarded(async {
        let (mut server, client) = connecting(connector());
        let probe = server.hear().await.unwrap();
        let can = json!({ "tools": { "listChanged": false }, "resources": { "subscribe": false } });
        let result = json!({
            "supportedVersions": ["2026-07-28"], "capabilities": can, "resultType": "complete", "ttlMs": 0,
            "cacheScope": "private"
        });
        server.say(json!({ "jsonrpc": "2.0", "id": probe["id"], "result": result })).await;
        let client = client.await.unwrap().unwrap();
        let wanted =
            SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(["desk://note"]);
        let mut listening = client.listen(wanted).await.unwrap();
        assert_eq!(*listening.heard(), SubscriptionFilter::new());
        let (_, said) = tokio::join!(client.list_tools(PaginatedParams::new(client.meta())), async {
            let said = server.hear().await.unwrap();
            server.say(error(&said["id"], -32603, Value::Null)).await;
            said["method"].clone()
        });
        assert_eq!(said, "tools/list", "nothing else was asked");
        drop(server);
        assert_eq!(listening.next().await, None);
        assert!(listening.lost().is_none());
        client.ended().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_does_not_keep_the_client() {
    let second = Duration::from_secs(1);
    for (connector, within, said) in [
        (connector(), 70 * second, "within 60s"),
        (connector().options(Options::new().timeout(90 * second)), 100 * second, "within 90s"),
        (connector().handshake_within(5 * second).era(Era::Handshake), 5 * second, "within 5s"),
    ] {
        let began = tokio::time::Instant::now();
        let (_server, client) = connecting(connector);
        let failed = client.await.unwrap().unwrap_err();
        assert!(matches!(failed, ConnectError::Handshake(_)), "{failed:?}");
        let text = failed.to_string();
        assert!(text.contains(said) && text.ends_with("gets it with `handshake_within`"), "{text}");
        assert!(began.elapsed() < within + second, "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_server_of_the_newer_era_is_not_asked_for_a_handshake() {
    guarded(async {
        let unsupported = |supported: Value| json!({ "supported": supported, "requested": "2026-07-28" });
        for (code, data) in [
            (-32020, Value::Null),
            (-32021, json!({ "requiredCapabilities": {} })),
            (-32022, unsupported(json!(["2027-01-01"]))),
            (-32022, unsupported(json!([]))),
            (-32022, Value::Null),
        ] {
            let (mut server, client) = connecting(connector());
            let probe = server.hear().await.unwrap();
            server.say(error(&probe["id"], code, data)).await;
            let failed = client.await.unwrap().unwrap_err();
            match (code, &failed) {
                (-32022, ConnectError::NoCommonVersion { .. }) => {}
                (-32020 | -32021, ConnectError::Refused(refused)) => assert_eq!(refused.code, code),
                _ => panic!("{code}: {failed:?}"),
            }
            assert!(server.hear().await.is_none(), "nothing else is said");
        }
        // One that refuses the revision that it names is asked again, once.
        let (mut server, client) = connecting(connector());
        for _ in 0..2 {
            let probe = server.hear().await.unwrap();
            assert_eq!(probe["method"], "server/discover");
            server.say(error(&probe["id"], -32022, unsupported(json!(["2026-07-28"])))).await;
        }
        let failed = client.await.unwrap().unwrap_err();
        assert!(matches!(failed, ConnectError::NoCommonVersion { .. }), "{failed:?}");
        // One that has both.
        let (mut server, client) = connecting(connector());
        let probe = server.hear().await.unwrap();
        server.say(error(&probe["id"], -32022, unsupported(json!(["2027-01-01", "2025-11-25"])))).await;
        let initialize = server.hear().await.unwrap();
        welcome(&mut server, &initialize).await;
        expect_session(client.await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_server_that_ends_is_reported_with_what_to_do() {
    guarded(async {
        let (mut server, client) = connecting(connector());
        server.hear().await.unwrap();
        drop(server);
        let error = client.await.unwrap().unwrap_err();
        assert!(matches!(error, ConnectError::Ended(_)), "{error:?}");
        assert!(error.to_string().contains("`era(Era::Handshake)`"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_pinned_era_is_not_left() {
    guarded(async {
        let (mut server, client) = connecting(connector().era(Era::Handshake));
        let initialize = server.hear().await.unwrap();
        welcome(&mut server, &initialize).await;
        expect_session(client.await.unwrap());

        let (mut server, client) = connecting(connector().era(Era::Requests));
        let probe = server.hear().await.unwrap();
        server.say(error(&probe["id"], -32601, Value::Null)).await;
        let error = client.await.unwrap().unwrap_err();
        assert!(matches!(error, ConnectError::NotDiscovered(_)), "{error:?}");
        assert!(error.to_string().starts_with("the server does not know `server/discover`"), "{error}");
        assert!(server.hear().await.is_none());
    })
    .await;
}

/// Opens a connection to a server for each attempt, and keeps the servers' ends.
fn opening<'a>(
    wires: &'a mut VecDeque<Wire>,
    opened: &'a mut usize,
) -> impl FnMut() -> Result<Wire, &'static str> + 'a {
    move || {
        *opened += 1;
        wires.pop_front().ok_or("no server")
    }
}

#[tokio::test]
async fn which_era_a_server_speaks_is_remembered_by_its_name() {
    guarded(async {
        let connector = connector();
        let (wires, mut servers): (VecDeque<Wire>, VecDeque<Raw>) = (0..3).map(|_| raw()).unzip();
        let remembering = connector.clone();
        let client = test_support::spawn(async move {
            let (mut wires, mut opened) = (wires, 0);
            expect_session(remembering.connect_to("old", opening(&mut wires, &mut opened)).await);
            assert_eq!(opened, 2, "a connection for each attempt");
            expect_session(remembering.connect_to("old", opening(&mut wires, &mut opened)).await);
            assert_eq!(opened, 3, "it is known what the server speaks");
        });
        // A server that does not survive the question.
        let mut server = servers.pop_front().unwrap();
        assert_eq!(server.hear().await.unwrap()["method"], "server/discover");
        drop(server);
        for mut server in servers {
            let initialize = server.hear().await.unwrap();
            welcome(&mut server, &initialize).await;
        }
        client.await.unwrap();

        // Another server has taken its place, which has no sessions.
        let mut opened = 0;
        let client = connector
            .connect_to("old", || {
                opened += 1;
                let (near, far) = duplex();
                test_support::spawn(async move {
                    mcp_protocols::mcp_2026_07_28::McpServer::new(far).incoming().serve(Modern).await;
                });
                Ok::<Duplex, Infallible>(near)
            })
            .await
            .unwrap();
        assert_eq!((client.era(), opened), (Era::Requests, 2));

        let error = connector.connect_to("none", opening(&mut VecDeque::new(), &mut 0)).await.unwrap_err();
        assert!(matches!(error, ConnectError::Open(_)), "{error:?}");
        assert_eq!(error.to_string(), "the connection could not be opened: no server");
    })
    .await;
}

/// A server of the newer era alone.
struct Modern;

impl mcp_protocols::mcp_2026_07_28::server::Handler for Modern {
    async fn discover(
        &self,
        _: mcp_protocols::mcp_2026_07_28::server::Context,
        _: mcp_protocols::eras::types::RequestParams,
    ) -> Result<mcp_protocols::eras::types::DiscoverResult, mcp_runtime::RpcError> {
        use mcp_protocols::eras::types::*;

        Ok(DiscoverResult::new(["2026-07-28"], ServerCapabilities::new(), 0, CacheScope::Public))
    }
}

#[tokio::test]
async fn over_http_a_client_connects_to_servers_of_both_eras() {
    use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};

    guarded(async {
        let desk = server::server().unwrap();
        let server = HttpServer::new(ServerOptions::default(), move |transport| {
            let desk = desk.clone();
            async move { drop(desk.serve(transport).await) }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/mcp", server.method_router());
        let serving = test_support::spawn(async move { axum::serve(listener, router).await });
        for (connector, version) in [
            (connector(), "2026-07-28"),
            (connector().era(Era::Handshake), "2025-11-25"),
            (connector().era(Era::Requests), "2026-07-28"),
        ] {
            let client = connector.connect_to("desk", || HttpClient::new(&url)).await.unwrap();
            let said = super::client::talk(client).await.unwrap();
            assert_eq!(said[0], format!("desk in {version}"));
            assert_eq!(said[1..5], super::TALK[..4]);
            assert_eq!(said[6], super::TALK[5]);
        }
        // A client of a revision to come learns all that there are.
        let later = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {} });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": later } });
        let refused = reqwest::Client::builder().no_proxy().build().unwrap().post(&url);
        let refused = refused
            .header("mcp-protocol-version", "2099-01-01")
            .header("mcp-method", "tools/list")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(request.to_string());
        let refused = refused.send().await.unwrap();
        assert_eq!(refused.status(), 400);
        let refused: Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
        let supported = ["2026-07-28", "2025-03-26", "2025-06-18", "2025-11-25"];
        assert_eq!(refused["error"]["data"], json!({ "requested": "2099-01-01", "supported": supported }));
        serving.abort();
    })
    .await;
}

/// Some servers wait, when their input has ended, until what runs is over. A subscription is over when it is cancelled.
#[tokio::test]
async fn closing_cancels_the_subscriptions_first() {
    guarded(async {
        for dropped in [true, false] {
            let (mut server, client) = connecting(connector());
            let discover = server.hear().await.unwrap();
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
                "capabilities": { "tools": { "listChanged": true } }
            });
            server.say(json!({ "jsonrpc": "2.0", "id": discover["id"], "result": result })).await;
            let client = client.await.unwrap().unwrap();
            let listening = async {
                let wanted = SubscriptionFilter::new().tools_list_changed(true);
                let listening = client.listen(wanted).await.unwrap();
                (!dropped).then_some(listening)
            };
            let answering = async {
                let listen = server.hear().await.unwrap();
                let meta = json!({ "io.modelcontextprotocol/subscriptionId": listen["id"] });
                let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
                let method = "notifications/subscriptions/acknowledged";
                server.say(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
                listen["id"].clone()
            };
            let (_listening, id) = tokio::join!(listening, answering);
            let closing = test_support::spawn(client.close());
            let cancel = server.hear().await.expect("the subscription is cancelled before the connection ends");
            assert_eq!((&cancel["method"], &cancel["params"]["requestId"]), (&"notifications/cancelled".into(), &id));
            assert_eq!(server.hear().await, None);
            server.hush().await;
            closing.await.unwrap().unwrap();
        }
    })
    .await;
}

/// A server that never answers one subscription does not keep others from beginning.
#[tokio::test]
async fn resources_are_subscribed_to_side_by_side() {
    guarded(async {
        let (mut server, client) = connecting(connector().era(Era::Handshake));
        let initialize = server.hear().await.unwrap();
        let result = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "resources": { "subscribe": true } },
            "serverInfo": { "name": "slow", "version": "1" }
        });
        server.say(json!({ "jsonrpc": "2.0", "id": initialize["id"], "result": result })).await;
        assert_eq!(server.hear().await.unwrap()["method"], "notifications/initialized");
        let client = client.await.unwrap().unwrap();
        let listen =
            |uri: &str| client.listen(SubscriptionFilter::new().resource_subscriptions([uri.to_owned()]));
        let (slow, quick) = (listen("x://slow"), listen("x://quick"));
        let answering = async {
            assert_eq!(server.hear().await.unwrap()["params"]["uri"], "x://slow");
            let second = server.hear().await.unwrap();
            assert_eq!(second["params"]["uri"], "x://quick");
            server.say(json!({ "jsonrpc": "2.0", "id": second["id"], "result": {} })).await;
        };
        tokio::select! {
            // The slow one asks first.
            biased;
            _ = slow => panic!("it is not answered"),
            (listening, ()) = async { tokio::join!(quick, answering) } => drop(listening.unwrap()),
        }
    })
    .await;
}
