//! One program for both eras, and peers of each: the example `eras` is the server, and its client finds out what it speaks with.

use std::process::Stdio;

use integration_tests::example::program;
use mcp_protocols::eras::types::*;
use mcp_protocols::eras::{Change, Client, Connector, Era};
use mcp_runtime::transport::Child;
use mcp_runtime::transport::http::HttpClient;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::rounds::seen_by;
use super::servers::Serving;
use super::{guarded, peer, script};

#[path = "../../../../examples/eras/client.rs"]
#[allow(dead_code, reason = "other servers have other tools")]
mod client;

/// A client of another SDK, how it connects, and the revision that it speaks then.
type Peer = (&'static str, &'static [&'static str], &'static str);

const CLIENTS: [Peer; 5] = [
    ("rounds.mjs", &["auto"], "2026-07-28"),
    ("rounds.mjs", &["2026-07-28"], "2026-07-28"),
    ("rounds.mjs", &["legacy"], "2025-11-25"),
    ("rounds.py", &["auto"], "2026-07-28"),
    ("rounds.py", &["legacy"], "2025-11-25"),
];

/// The ways of one that needs nothing else of `tests/peers`.
const RMCP: [Peer; 3] = [
    ("rmcp", &["eras", "initialize"], "2025-11-25"),
    ("rmcp", &["eras", "auto"], "2026-07-28"),
    ("rmcp", &["eras", "discover"], "2026-07-28"),
];

/// What each client saw; `dances` says how often a tool was learnt before.
fn all_of_it(revision: &str, dances: usize) -> Value {
    let tools = ["greet", "learn", "count", "climb", "write"].into_iter();
    let tools: Vec<&str> = tools.chain(std::iter::repeat_n("dance", dances)).collect();
    json!({
        "revision": revision,
        "asked": ["Who is there?"],
        "said": { "greet": "Hello, Ada!", "learn": "I can dance now.", "count": "one, two, three" },
        "tools": tools,
        "refused": -32602
    })
}

/// Each client has a server of its own.
async fn with_a_server_each(clients: &[Peer]) {
    for &(name, mode, revision) in clients {
        let mut client = peer(name);
        client.args(mode).arg("stdio").arg(program("eras")).arg("serve");
        assert_eq!(seen_by(&mut client).await, all_of_it(revision, 1), "{name} {mode:?}");
    }
}

/// One after the other, so that each finds the tools that those before have had the server learn.
async fn with_one_endpoint(clients: &[Peer]) {
    let (mut server, url) = serving("eras").await;
    for (dances, &(name, mode, revision)) in (1..).zip(clients) {
        let mut client = peer(name);
        client.args(mode).args(["http", &url]);
        assert_eq!(seen_by(&mut client).await, all_of_it(revision, dances), "{name} {mode:?}");
    }
    server.kill().await.unwrap();
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn clients_of_both_eras_and_one_server() {
    guarded(with_a_server_each(&CLIENTS)).await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn clients_of_both_eras_and_one_endpoint() {
    guarded(with_one_endpoint(&CLIENTS)).await;
}

#[tokio::test]
#[ignore = "needs the program of tests/peers/rmcp"]
async fn rmcp_and_one_server() {
    guarded(with_a_server_each(&RMCP)).await;
}

#[tokio::test]
#[ignore = "needs the program of tests/peers/rmcp"]
async fn rmcp_and_one_endpoint() {
    guarded(with_one_endpoint(&RMCP)).await;
}

#[tokio::test]
#[ignore = "needs the program of tests/peers/rmcp"]
async fn rmcp_and_a_server_that_has_sessions_only() {
    guarded(async {
        let expected = json!({
            "revision": "2025-11-25", "echo": "grüße", "user": "accept: Ada", "asked": ["who are you"]
        });
        let (mut server, url) = serving("revisions").await;
        for mode in ["initialize", "auto"] {
            let mut client = peer("rmcp");
            client.args(["revisions", mode, "stdio"]).arg(program("revisions"));
            assert_eq!(seen_by(&mut client).await, expected, "{mode}");
            let mut client = peer("rmcp");
            client.args(["revisions", mode, "http", &url]);
            assert_eq!(seen_by(&mut client).await, expected, "{mode}");
        }
        server.kill().await.unwrap();
    })
    .await;
}

/// What the client of the example does with a server of rmcp that has the same tools.
async fn talk_with_rmcp(client: Client<client::Ada>, revision: &str) {
    let said = client::talk(client).await.unwrap();
    let first = format!("rmcp-desk in {revision}");
    let expected = [
        &*first,
        "greet: Hello, Ada!",
        "learn: I can dance now.",
        "count: one, two, three",
        "climb: 1, 2, 3, I am on the roof.",
        "tools: greet, learn, count, climb, write, dance",
        "note: buy bread",
    ];
    assert_eq!(said, expected);
}

/// The connectors: one that finds out, and two that are pinned; and the revision that each comes to.
fn connectors() -> [(Connector<client::Ada>, &'static str); 3] {
    [
        (client::connector(), "2026-07-28"),
        (client::connector().era(Era::Requests), "2026-07-28"),
        (client::connector().era(Era::Handshake), "2025-11-25"),
    ]
}

#[tokio::test]
#[ignore = "needs the program of tests/peers/rmcp"]
async fn one_client_and_the_server_of_rmcp() {
    guarded(async {
        for (connector, revision) in connectors() {
            talk_with_rmcp(connector.connect(child("rmcp")).await.unwrap(), revision).await;
        }
        for (connector, revision) in connectors() {
            let server = Serving::start("rmcp", "plain").await;
            let client = connector.connect_to("rmcp", || HttpClient::new(&server.url)).await.unwrap();
            talk_with_rmcp(client, revision).await;
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn fastmcp_and_one_server() {
    guarded(async {
        let seen = json!({
            "asked": ["Who is there?"],
            "progress": [1.0, 2.0, 3.0],
            "log": ["climbed"],
            "said": { "greet": "Hello, Ada!", "count": "one, two, three", "climb": "I am on the roof." },
            "resources": ["desk://note"],
            "note": "buy milk",
            "refused": "MCPError"
        });
        let mut client = script("fastmcp_client.py");
        client.arg("stdio").arg(program("eras")).arg("serve");
        assert_eq!(seen_by(&mut client).await, seen);
        let (mut server, url) = serving("eras").await;
        let mut client = script("fastmcp_client.py");
        client.args(["http", &url]);
        assert_eq!(seen_by(&mut client).await, seen);
        server.kill().await.unwrap();
    })
    .await;
}

/// An example over HTTP, and its address.
pub(super) async fn serving(example: &str) -> (tokio::process::Child, String) {
    let mut server = Command::new(program(example));
    server.args(["serve", "127.0.0.1:0"]).stdout(Stdio::piped()).kill_on_drop(true);
    let mut server = server.spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = said.next_line().await.unwrap().unwrap();
    (server, line.strip_prefix("serving ").unwrap().to_owned())
}

/// Calls tools of a server, and returns the first text of each result.
async fn call(client: &Client<client::Ada>, tools: &[(&str, Value)]) -> Vec<String> {
    let mut said = Vec::new();
    for (tool, arguments) in tools {
        let params = CallToolParams::new(*tool, client.meta());
        let params = params.arguments(arguments.as_object().unwrap().clone());
        let result = client.call_tool(params).await.unwrap();
        said.push(result.first_text().unwrap_or_default().to_owned());
    }
    said
}

/// The servers of other SDKs that have rounds.
const ROUNDS: [&str; 2] = ["rounds_server.mjs", "rounds_server.py"];

/// Asks a server that has rounds.
async fn talk_with_rounds(client: Client<client::Ada>) {
    assert_eq!((client.era(), client.version()), (Era::Requests, "2026-07-28"));
    let wanted = SubscriptionFilter::new().tools_list_changed(true);
    let mut listening = client.listen(wanted).await.unwrap();
    let none = || json!({});
    let said = call(&client, &[("greet", none()), ("learn", none()), ("count", none())]).await;
    assert_eq!(said, ["Hello, Ada!", "I can dance now.", "one, two, three"]);
    assert_eq!(listening.next().await, Some(Change::Tools));
    drop(listening);
    client.close().await.unwrap();
}

/// Asks a server that has sessions.
async fn talk_in_a_session(client: Client<client::Ada>) {
    assert_eq!((client.era(), client.version()), (Era::Handshake, "2025-11-25"));
    let uri = "desk://note";
    let wanted = SubscriptionFilter::new().resource_subscriptions([uri]);
    let mut listening = client.listen(wanted).await.unwrap();
    let said = call(
        &client,
        &[
            ("echo", json!({ "message": "hello" })),
            ("ask_user", json!({ "message": "who?" })),
            ("touch", json!({ "uri": uri })),
        ],
    )
    .await;
    assert_eq!(said, ["hello", "accept: Ada", "touched"]);
    assert_eq!(listening.next().await, Some(Change::Resource(uri.to_owned())));
    drop(listening);
    client.close().await.unwrap();
}

fn child(name: &str) -> Child {
    let mut command = peer(name);
    command.arg("stdio");
    Child::spawn(command).unwrap()
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn one_client_and_servers_of_both_eras() {
    guarded(async {
        for server in ROUNDS {
            talk_with_rounds(client::connector().connect(child(server)).await.unwrap()).await;
        }
        talk_in_a_session(client::connector().connect(child("server.mjs")).await.unwrap()).await;
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn one_client_and_endpoints_of_both_eras() {
    guarded(async {
        let connector = client::connector();
        for manner in ["plain", "json"] {
            let server = Serving::start("server.mjs", manner).await;
            // The second time it is known what the server speaks.
            for _ in 0..2 {
                let client = connector.connect_to(manner, || HttpClient::new(&server.url)).await.unwrap();
                if manner == "plain" {
                    talk_in_a_session(client).await;
                } else {
                    assert_eq!(call(&client, &[("echo", json!({ "message": "hello" }))]).await, ["hello"]);
                }
            }
        }
        for name in ROUNDS {
            let server = Serving::start(name, "plain").await;
            talk_with_rounds(connector.connect_to(name, || HttpClient::new(&server.url)).await.unwrap())
                .await;
        }
    })
    .await;
}
