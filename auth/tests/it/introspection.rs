//! Tokens that the authorization server is asked about.

use std::collections::HashMap;

use axum::extract::Form;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use mcp_auth::server::{Introspection, TokenError, TokenValidator};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const ISSUER: &str = "https://auth.example";
const RESOURCE: &str = "https://notes.example/mcp";

/// What the authorization server says about a token is the token itself here, with other characters.
async fn introspect(headers: HeaderMap, Form(form): Form<HashMap<String, String>>) -> Json<Value> {
    // The id and the secret are encoded before they are joined.
    assert_eq!(headers["authorization"], "Basic bm90ZXMlM0FhOnAlMjVz");
    let said = match &*form["token"] {
        "good" => json!({ "active": true, "sub": "ada", "aud": RESOURCE, "scope": "a b", "iss": ISSUER }),
        "several" => json!({ "active": true, "client_id": "robot", "aud": ["x", RESOURCE] }),
        "elsewhere" => json!({ "active": true, "sub": "ada", "aud": "https://other.example" }),
        "anywhere" => json!({ "active": true, "sub": "ada" }),
        "foreign" => json!({ "active": true, "sub": "ada", "aud": RESOURCE, "iss": "https://evil.example" }),
        "strange" => json!({ "active": "true", "sub": "ada", "aud": RESOURCE }),
        "a+/=b" => json!({ "active": true, "sub": "encoded", "aud": RESOURCE }),
        _ => json!({ "active": false }),
    };
    Json(said)
}

#[tokio::test]
async fn what_the_authorization_server_says_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/introspect", listener.local_addr().unwrap());
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/introspect", post(introspect))).await },
    );
    let asking = Introspection::new(ISSUER, &*url, "notes:a", "p%s").unwrap();
    let principal = asking.validate("good", RESOURCE).await.unwrap();
    assert_eq!((principal.subject(), principal.scopes().to_string()), ("ada", "a b".to_owned()));
    assert_eq!(asking.validate("several", RESOURCE).await.unwrap().subject(), "robot");
    assert_eq!(asking.validate("a+/=b", RESOURCE).await.unwrap().subject(), "encoded");
    for refused in ["elsewhere", "anywhere", "foreign", "strange", "withdrawn"] {
        let error = asking.validate(refused, RESOURCE).await.unwrap_err();
        assert!(matches!(error, TokenError::Invalid(_)), "{refused}: {error}");
    }
    let nowhere = Introspection::new(ISSUER, "http://127.0.0.1:1/", "notes", "secret").unwrap();
    let error = nowhere.validate("good", RESOURCE).await.unwrap_err();
    assert!(matches!(error, TokenError::Unavailable(_)), "{error}");
    assert_eq!(format!("{nowhere:?}"), r#"Introspection { issuer: "https://auth.example", .. }"#);
}
