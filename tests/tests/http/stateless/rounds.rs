//! Calls that wait for the next round of their client: how many may be of one client.

use std::net::SocketAddr;

use axum::Extension;
use axum::extract::ConnectInfo;
use integration_tests::http::test_server::connect;
use mcp_kit::{Client, Server, User};
use mcp_protocols::rounds::Rounds;
use mcp_runtime::transport::http::{HttpServer, ServerOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{call, meta, request};

#[derive(Deserialize, JsonSchema)]
struct Guest {
    name: String,
}

/// A server of which at most four calls wait, two of one client.
fn server() -> axum::Router {
    let greet = |(), _, client: Client<User>| async move {
        let guest = client.ask::<Guest>("Who is there?").await?.accepted();
        Ok(guest.map_or_else(String::new, |guest| guest.name))
    };
    let greeter = Server::new("greeter", "1.0.0", ()).tool_named("greet", "Greets", greet);
    let greeter = greeter.finish().unwrap().rounds(Rounds::new().most_waiting(4));
    let options = ServerOptions::default()
        .any_host()
        .principal(|request| request.headers.get("x-user")?.to_str().ok().map(str::to_owned));
    let http = HttpServer::new(options, move |transport| {
        let greeter = greeter.clone();
        async move { greeter.serve(transport).await.unwrap() }
    });
    axum::Router::new().route("/mcp", http.method_router())
}

/// The answer to a call from an address, perhaps of a principal.
async fn greet(server: &axum::Router, address: &str, user: Option<&str>) -> Value {
    let address: SocketAddr = format!("{address}:1").parse().unwrap();
    let mut ask = call(1, "greet");
    if let Some(user) = user {
        ask = ask.with("x-user", user);
    }
    connect(&server.clone().layer(Extension(ConnectInfo(address)))).ask(&ask).await.json()
}

#[tokio::test]
async fn one_client_leaves_places_for_the_calls_of_others() {
    let server = server();
    let limit = |answer: &Value| {
        let error = &answer["error"];
        (error["code"].as_i64(), error["data"]["limit"].as_str().map(str::to_owned))
    };
    let share = (Some(-32000), Some("client_share".to_owned()));
    let first = greet(&server, "10.0.0.1", None).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert!(greet(&server, "10.0.0.1", None).await["result"].is_object());
    let refused = greet(&server, "10.0.0.1", None).await;
    assert_eq!(limit(&refused), share, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("of this client"), "{refused}");
    // A principal is one client wherever it is.
    assert!(greet(&server, "10.0.0.2", Some("ada")).await["result"].is_object());
    // A call that has its answer leaves its place.
    let params = json!({
        "name": "greet",
        "requestState": first["result"]["requestState"],
        "inputResponses": { "input": { "action": "accept", "content": { "name": "Eve" } } },
        "_meta": meta(),
    });
    let address: SocketAddr = "10.0.0.1:1".parse().unwrap();
    let mut wire = connect(&server.clone().layer(Extension(ConnectInfo(address))));
    let greeted = wire.ask(&request(2, "tools/call", params)).await.json();
    assert_eq!(greeted["result"]["content"][0]["text"], "Eve", "{greeted}");
    assert!(greet(&server, "10.0.0.3", Some("ada")).await["result"].is_object());
    assert_eq!(limit(&greet(&server, "10.0.0.4", Some("ada")).await), share);
    assert!(greet(&server, "10.0.0.4", Some("bob")).await["result"].is_object());
    assert_eq!(
        limit(&greet(&server, "10.0.0.5", None).await),
        (Some(-32000), Some("most_waiting".to_owned()))
    );
}
