//! The share of one client, and the owner of a session.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Extension;
use axum::extract::ConnectInfo;
use mcp_runtime::RateLimit;
use mcp_runtime::transport::http::{HttpServer, ListenOptions, ServerOptions};

use super::recorder::Recorder;
use super::test_server::{TestServer, call, connect, guarded, initialize, initialized, list, settle};
use super::wire::{Answer, Ask, Wire};

/// A connection from an address.
fn from(host: &TestServer, address: &str) -> Wire {
    let address: std::net::SocketAddr = format!("{address}:1").parse().unwrap();
    connect(&host.router.clone().layer(Extension(ConnectInfo(address))))
}

/// The status of an answer, and the limit that it names.
fn refused(answer: &Answer) -> (u16, String) {
    (answer.head.status, answer.json()["error"]["data"]["limit"].as_str().unwrap_or_default().to_owned())
}

/// Names principals by a header, as a layer that has checked a token would by an extension.
fn named(options: ServerOptions) -> ServerOptions {
    options.principal(|request| request.headers.get("x-user")?.to_str().ok().map(str::to_owned))
}

#[tokio::test(start_paused = true)]
async fn one_address_has_its_share_of_the_sessions() {
    guarded(async {
        let host = TestServer::with(ServerOptions::default().max_sessions(4));
        let open = async |address| from(&host, address).ask(&Ask::post(initialize(0))).await;
        for address in ["10.0.0.1", "10.0.0.1", "10.0.0.2"] {
            assert_eq!(open(address).await.head.status, 200);
        }
        let third = open("10.0.0.1").await;
        assert_eq!(refused(&third), (429, "max_sessions".to_owned()));
        assert_eq!((third.head.get("retry-after"), &third.json()["id"]), (Some("1"), &0.into()));
        assert_eq!(open("10.0.0.3").await.head.status, 200);
        assert_eq!(refused(&open("10.0.0.4").await), (503, "max_sessions".to_owned()));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn forwarded_addresses_have_shares_if_the_proxy_is_trusted() {
    guarded(async {
        let proxy = "10.0.0.1";
        for trusted in [false, true] {
            let options = ServerOptions::default().max_sessions(4);
            let proxies = trusted.then(|| proxy.parse().unwrap());
            let host = TestServer::with(options.trusted_proxies(proxies));
            let open = async |client: &str| {
                let ask = Ask::post(initialize(0)).with("x-forwarded-for", client);
                from(&host, proxy).ask(&ask).await.head.status
            };
            let mut statuses = Vec::new();
            for client in ["1.1.1.1", "1.1.1.1", "1.1.1.1", "9.9.9.9, 1.1.1.1", "2.2.2.2"] {
                statuses.push(open(client).await);
            }
            let last = if trusted { 200 } else { 429 };
            assert_eq!(statuses, [200, 200, 429, 429, last]);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_principal_has_its_share_wherever_it_is() {
    guarded(async {
        let host = TestServer::with(named(ServerOptions::default().max_sessions(4)));
        let open = async |address, user| {
            from(&host, address).ask(&Ask::post(initialize(0)).with("x-user", user)).await.head.status
        };
        let statuses = [
            open("10.0.0.1", "ada").await,
            open("10.0.0.2", "ada").await,
            open("10.0.0.3", "ada").await,
            open("10.0.0.3", "bob").await,
        ];
        assert_eq!(statuses, [200, 200, 429, 200]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_session_belongs_to_the_principal_that_began_it() {
    guarded(async {
        let host = TestServer::with(named(ServerOptions::default()));
        let opened = host.ask(&Ask::post(initialize(0)).with("x-user", "ada")).await;
        let id = opened.head.get("mcp-session-id").unwrap().to_owned();
        for ask in [Ask::post(list(1)), Ask::get(), Ask::method("DELETE")] {
            let stolen = ask.session(&id);
            for thief in [stolen.clone().with("x-user", "bob"), stolen] {
                let answer = host.ask(&thief).await;
                assert_eq!(answer.head.status, 404, "{answer:?}");
                let unknown = host.ask(&thief.session("unknown")).await;
                assert_eq!(answer.body, unknown.body, "it is as if it were not there");
            }
        }
        let own = |ask: Ask| ask.session(&id).with("x-user", "ada");
        assert_eq!(host.ask(&own(Ask::post(initialized()))).await.head.status, 202);
        assert!(host.ask(&own(Ask::post(list(1)))).await.json()["result"].is_object());
        assert_eq!(host.ask(&own(Ask::method("DELETE"))).await.head.status, 204);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn handlers_and_the_code_of_a_session_see_the_client() {
    guarded(async {
        let host = TestServer::start();
        let id = host.ready().await;
        for user in ["ada", "bob"] {
            let ask = Ask::post(call(user.len() as i64 + i64::from(user == "bob"), "who")).session(&id);
            let answer = from(&host, "10.0.0.1").ask(&ask.with("x-user", user)).await;
            let text = answer.json()["result"]["content"][0]["text"].take();
            assert_eq!(text, format!("{user} at Some(10.0.0.1)"));
        }
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let server = HttpServer::new(named(ServerOptions::default()), move |transport| {
            let head = transport.request();
            let said = head.headers()["x-user"].to_str().unwrap() == head.principal().unwrap();
            tell.send((said, head.principal().map(str::to_owned))).unwrap();
            async {}
        });
        let router = axum::Router::new().route("/mcp", server.method_router());
        connect(&router).ask(&Ask::post(initialize(0)).with("x-user", "ada")).await;
        assert_eq!(told.recv().await.unwrap(), (true, Some("ada".to_owned())));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_address_has_its_share_of_the_rate_the_handlers_and_the_bytes() {
    guarded(async {
        let options = ServerOptions::default().request_rate(Some(RateLimit::new(4, Duration::from_secs(1))));
        let host = TestServer::with(options);
        let ask = async |address| from(&host, address).ask(&Ask::get()).await;
        assert_eq!([ask("10.0.0.1").await.head.status, ask("10.0.0.1").await.head.status], [400, 400]);
        assert_eq!(refused(&ask("10.0.0.1").await), (429, "request_rate".to_owned()));
        assert_eq!(ask("10.0.0.2").await.head.status, 400);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(ask("10.0.0.1").await.head.status, 400);

        let options = ServerOptions::default().max_handlers(4).stream_after(Duration::from_secs(600));
        let host = TestServer::with(options.max_bytes(20 * 1024));
        let mut sessions = Vec::new();
        for address in ["10.0.0.1", "10.0.0.2"] {
            let opened = from(&host, address).ask(&Ask::post(initialize(0))).await;
            let id = opened.head.get("mcp-session-id").unwrap().to_owned();
            from(&host, address).ask(&Ask::post(initialized()).session(&id)).await;
            sessions.push((address, id));
        }
        let (address, id) = &sessions[0];
        let mut held = Vec::new();
        for call_id in 1..=2 {
            let mut wire = from(&host, address);
            wire.send(&Ask::post(call(call_id, "hold")).session(id).text()).await;
            held.push(wire);
        }
        settle().await;
        let third = from(&host, address).ask(&Ask::post(call(3, "hold")).session(id)).await;
        assert_eq!(refused(&third), (200, "max_handlers".to_owned()));
        let listed = from(&host, sessions[1].0).ask(&Ask::post(list(1)).session(&sessions[1].1)).await;
        assert!(listed.json()["result"].is_object(), "{listed:?}");
        assert_eq!(host.gates.alive.load(Ordering::SeqCst), 2);

        let mut long = from(&host, address);
        long.send(&Ask::post("x".repeat(11 * 1024)).with("content-length", "12000").text()).await;
        assert_eq!(refused(&long.answer().await), (429, "max_bytes".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn one_address_has_its_share_of_the_connections() {
    guarded(async {
        let listen = ListenOptions::default().max_connections(4);
        let host = TestServer::listening_with(ServerOptions::default(), listen).await;
        let (mut first, mut second, mut third) = (host.wire().await, host.wire().await, host.wire().await);
        assert_eq!(first.ask(&Ask::get()).await.head.status, 400);
        assert_eq!(second.ask(&Ask::get()).await.head.status, 400);
        assert!(third.head().await.is_none(), "it is closed at once");
        drop(first);
        // It takes the server a moment to see that.
        while host.wire().await.try_ask(&Ask::get()).await.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn refusals_are_logged_so_often_only() {
    guarded(async {
        let recorder = Recorder::here();
        let host = TestServer::start();
        let evil = Ask::get().with("host", "evil.example");
        for _ in 0..1000 {
            assert_eq!(host.ask(&evil).await.head.status, 403);
        }
        let warnings = || recorder.events().iter().filter(|told| told.level == "WARN").count();
        assert_eq!(warnings(), 10);
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(host.ask(&evil).await.head.status, 403);
        assert_eq!(warnings(), 11);
        assert!(
            recorder.events().last().unwrap().text.contains("more=990"),
            "{:?}",
            recorder.events().last()
        );
    })
    .await;
}
