//! What the layer answers, and what it lets through.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{Request, Response, StatusCode};
use axum::routing::{any, post};
use mcp_auth::server::{Principal, ProtectedResource, TokenError, TokenValidator};
use serde_json::{Value, json};
use tower_service::Service;

/// Takes `reader` and `writer` for tokens.
struct Words;

impl TokenValidator for Words {
    async fn validate(&self, token: &str, resource: &str) -> Result<Principal, TokenError> {
        assert_eq!(resource, "https://notes.example/mcp");
        let principal = Principal::new("https://auth.example", "ada");
        match token {
            "reader" => Ok(principal.with_scopes("notes:read")),
            "writer" => Ok(principal.with_scopes("notes:read notes:write")),
            "broken" => Err(TokenError::Unavailable("the keys are gone".into())),
            _ => Err(TokenError::Invalid("it is \"unknown\"".to_owned())),
        }
    }
}

/// Takes no token.
struct Nothing;

impl TokenValidator for Nothing {
    async fn validate(&self, _: &str, _: &str) -> Result<Principal, TokenError> {
        Err(TokenError::Invalid("it is not taken".to_owned()))
    }
}

fn router() -> Router {
    let resource =
        ProtectedResource::new("https://notes.example/mcp", "https://auth.example", Words).unwrap();
    let resource = resource.name("Notes").scopes("notes:read").max_body_bytes(1000).scopes_of(|operation| {
        match (operation.method, operation.name) {
            ("tools/call", Some("delete")) | ("resources/read", Some("notes://all")) => "notes:write".into(),
            _ => "".into(),
        }
    });
    // Says who asks, and what came through.
    let said = |request: Request<Body>| async move {
        let principal = request.extensions().get::<Principal>().cloned().unwrap();
        let has_token = request.headers().contains_key("authorization");
        let body = to_bytes(request.into_body(), 10_000).await.unwrap();
        format!("{} {has_token} {}", principal.name(), String::from_utf8_lossy(&body))
    };
    resource.protect(Router::new().route("/mcp", post(said)))
}

async fn status(router: &Router, request: Request<Body>) -> (StatusCode, String) {
    let response = router.clone().call(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

async fn ask(authorization: &[&str], body: impl Into<String>) -> Response<Body> {
    let mut request = Request::post("/mcp");
    for value in authorization {
        request = request.header("authorization", *value);
    }
    router().call(request.body(Body::from(body.into())).unwrap()).await.unwrap()
}

fn challenge(response: &Response<Body>) -> &str {
    response.headers().get("www-authenticate").map_or("", |value| value.to_str().unwrap())
}

const METADATA: &str =
    r#"resource_metadata="https://notes.example/.well-known/oauth-protected-resource/mcp""#;

#[tokio::test]
async fn the_metadata_are_there_for_everybody() {
    let path = "/.well-known/oauth-protected-resource/mcp";
    let response = router().call(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    let expected = json!({
        "resource": "https://notes.example/mcp",
        "authorization_servers": ["https://auth.example"],
        "scopes_supported": ["notes:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Notes",
    });
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    let response = router().call(Request::post(path).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// However a program puts its routers together, its own routes need no token, and those of the server do.
#[tokio::test]
async fn other_routes_stand_next_to_those_that_want_a_token() {
    let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    let health = || Router::new().route("/health", any(|| async { "it is there" }));
    let own = || async { (StatusCode::IM_A_TEAPOT, "nothing here") };
    let (found, nothing) = (StatusCode::NOT_FOUND, StatusCode::IM_A_TEAPOT);
    for (router, elsewhere) in [
        (router().merge(health()), found),
        (health().merge(router()), found),
        (Router::new().merge(router()).merge(health()), found),
        (router().route("/health", any(|| async { "it is there" })), found),
        (router().merge(health()).fallback(own), nothing),
        (health().fallback(own).merge(router()), nothing),
    ] {
        assert_eq!(status(&router, get("/health")).await, (StatusCode::OK, "it is there".to_owned()));
        assert_eq!(status(&router, get("/elsewhere")).await.0, elsewhere);
        let metadata = get("/.well-known/oauth-protected-resource/mcp");
        assert_eq!(status(&router, metadata).await.0, StatusCode::OK);
        assert_eq!(status(&router, get("/mcp")).await.0, StatusCode::UNAUTHORIZED);
        let permitted = Request::post("/mcp").header("authorization", "Bearer reader");
        let (status, _) = status(&router, permitted.body("{}".into()).unwrap()).await;
        assert_eq!(status, StatusCode::OK);
    }
    // A router that is nested, one that has a state, and one without routes.
    let resource = |address: &str| ProtectedResource::new(address, "https://auth.example", Nothing).unwrap();
    let nested = Router::new().nest("/api", Router::new().route("/mcp", any(|| async { "in" })));
    let nested = resource("https://notes.example/api/mcp").protect(nested).merge(health());
    assert_eq!(status(&nested, get("/api/mcp")).await.0, StatusCode::UNAUTHORIZED);
    let metadata = get("/.well-known/oauth-protected-resource/api/mcp");
    assert_eq!(status(&nested, metadata).await.0, StatusCode::OK);
    let state = Router::new().route("/mcp", any(|State(word): State<&'static str>| async move { word }));
    let state = resource("https://notes.example").protect(state).with_state("in");
    assert_eq!(status(&state, get("/mcp")).await.0, StatusCode::UNAUTHORIZED);
    let metadata = get("/.well-known/oauth-protected-resource");
    assert_eq!(
        status(&resource("https://notes.example").protect(Router::new()), metadata).await.0,
        StatusCode::OK
    );
}

/// It is a layer, too, for what is not a router.
#[tokio::test]
async fn a_layer_serves_the_metadata_itself() {
    let resource =
        ProtectedResource::new("https://notes.example/mcp", "https://auth.example", Words).unwrap();
    let router = Router::new().route("/mcp", any(|| async { "in" })).layer(resource);
    let get = |path: &str| Request::get(path).body(Body::empty()).unwrap();
    let metadata = get("/.well-known/oauth-protected-resource/mcp");
    assert_eq!(status(&router, metadata).await.0, StatusCode::OK);
    assert_eq!(status(&router, get("/mcp")).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_request_without_a_token_is_told_which_one_it_needs() {
    let response = ask(&[], "").await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(challenge(&response), format!(r#"Bearer scope="notes:read", {METADATA}"#));
    assert_eq!(ask(&["Basic YTpi"], "").await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_that_is_not_valid_is_refused() {
    let response = ask(&["Bearer stale"], "").await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    let expected = r#"Bearer error="invalid_token", error_description="the token is not valid: it is \"unknown\"", scope="notes:read", "#;
    assert_eq!(challenge(&response), format!("{expected}{METADATA}"));
    for wrong in [&["Bearer"][..], &["Bearer a b"], &["Bearer reader", "Bearer writer"], &["Bearer \u{e9}"]] {
        let response = ask(wrong, "").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{wrong:?}");
        assert!(challenge(&response).contains("invalid_request"));
    }
    let response = ask(&["Bearer broken"], "").await;
    assert_eq!((response.status(), challenge(&response)), (StatusCode::SERVICE_UNAVAILABLE, ""));
}

#[tokio::test]
async fn a_token_that_does_not_permit_enough_is_told_what_is_needed() {
    let call = |method: &str, name: &str| json!({ "method": method, "params": { "name": name } });
    let read = json!({ "method": "resources/read", "params": { "uri": "notes://all" } });
    let delete = call("tools/call", "delete");
    for body in
        [delete.to_string(), read.to_string(), json!([call("tools/call", "list"), delete]).to_string()]
    {
        let response = ask(&["Bearer reader"], &*body).await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{body}");
        let expected = r#"Bearer error="insufficient_scope", scope="notes:read notes:write", "#;
        assert_eq!(challenge(&response), format!("{expected}{METADATA}"));
        let response = ask(&["bearer writer"], &*body).await;
        let said = to_bytes(response.into_body(), 10_000).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&said), format!("https://auth.example ada false {body}"));
    }
    assert_eq!(
        ask(&["Bearer reader"], call("tools/call", "list").to_string()).await.status(),
        StatusCode::OK
    );
    // What cannot be read here, the server might read all the same.
    for unreadable in ["nonsense", "", r#"{"method":"tools/call","params":{"name":"\ud800"}}"#] {
        let response = ask(&["Bearer reader"], unreadable).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{unreadable}");
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["error"]["code"], -32700);
    }
    assert_eq!(ask(&["Bearer reader"], "x".repeat(1001)).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[test]
fn an_address_of_a_resource_is_that_of_a_server() {
    for address in ["notes", "https://notes.example/mcp#x", "mailto:a@b"] {
        let error = ProtectedResource::new(address, "https://auth.example", Words).unwrap_err();
        assert!(error.to_string().contains("is not the address of a resource"), "{error}");
    }
}
