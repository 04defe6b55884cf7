//! Sessions belong to those who have begun them.

use mcp_auth::client::Authorization;
use mcp_protocols::eras::Era;
use serde_json::json;

use super::authorization_server::AuthorizationServer;
use super::guarded;
use super::world::{Browser, call, connect, serve};

/// Lists the tools in a session of any id.
async fn list(url: &str, session: &str, token: &str) -> u16 {
    let body = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" }).to_string();
    let request = reqwest::Client::new().post(url).header("mcp-session-id", session).bearer_auth(token);
    let request = request.header("content-type", "application/json").body(body);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_session_is_not_there_for_anybody_else() {
    guarded(async {
        let server = AuthorizationServer::start().await;
        let url = serve(&server.url(), |_| server.clone()).await;
        let mut sessions = Vec::new();
        for user in ["ada", "bob"] {
            server.desk().user = user.to_owned();
            let authorization = Authorization::of_user(&url, Browser).build().unwrap();
            let session = connect(&authorization, &url, Era::Handshake).await.unwrap();
            assert_eq!(call(&session, "whoami").await.unwrap(), format!("{user} with notes:read"));
            sessions.push(session);
        }

        // Their tokens, and a session of Ada's, of which a thief knows the id.
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } },
        });
        let [ada, bob] = ["ada", "bob"].map(|user| server.token_of(user));
        let opening = reqwest::Client::new().post(&url).bearer_auth(&ada).body(hello.to_string());
        let opened = opening.header("content-type", "application/json").send().await.unwrap();
        let id = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(list(&url, &id, &bob).await, 404, "as for a session that never was");
        assert_eq!(list(&url, "0123456789abcdef", &bob).await, 404);
        assert_eq!(list(&url, &id, "unknown").await, 401);
        assert_eq!(list(&url, &id, &ada).await, 200);
        for session in sessions {
            session.close().await.unwrap();
        }
    })
    .await;
}
