//! An authorization server for tests: its user consents to everything, and its tokens are numbered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use jsonwebtoken::dangerous::insecure_decode;
use mcp_auth::Scopes;
use mcp_auth::server::{Principal, TokenError, TokenValidator};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The beginning of all secrets, by which they would be found in a log.
pub(crate) const MARK: &str = "s3cr3t";

/// What the authorization server knows, and what a test wants of it.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) url: String,
    /// Who is logged in.
    pub(crate) user: String,
    /// How long tokens are valid, in seconds, as the server says to clients.
    pub(crate) lifetime: Option<u64>,
    /// Whether there are refresh tokens.
    pub(crate) refreshes: bool,
    /// What the user does not grant.
    pub(crate) withheld: Scopes,
    /// The user refuses.
    pub(crate) denies: bool,
    /// What the metadata say otherwise.
    pub(crate) metadata: Value,
    /// What answers with tokens say otherwise.
    pub(crate) answer: Value,
    /// The error of every request for a token.
    pub(crate) refuses: Option<&'static str>,
    /// What clients have said with JWTs of others.
    pub(crate) assertions: Vec<String>,
    /// What was requested, in order: `register`, `authorize`, `token GRANT`.
    pub(crate) log: Vec<String>,
    issued: usize,
    codes: HashMap<String, HashMap<String, String>>,
    refresh_tokens: HashMap<String, (String, Scopes, String)>,
    /// Valid tokens: whose, for what, for which resource.
    tokens: HashMap<String, (String, Scopes, String)>,
}

/// The authorization server; clones are the same. It says itself which tokens are valid.
#[derive(Clone, Default)]
pub(crate) struct AuthorizationServer(Arc<Mutex<Desk>>);

impl AuthorizationServer {
    pub(crate) async fn start() -> AuthorizationServer {
        AuthorizationServer::start_behind(|router| router).await
    }

    /// The same with a layer around it.
    pub(crate) async fn start_behind(layer: impl FnOnce(Router) -> Router) -> AuthorizationServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = AuthorizationServer::default();
        {
            let mut desk = server.desk();
            desk.url = format!("http://{}", listener.local_addr().unwrap());
            (desk.user, desk.refreshes) = ("ada".to_owned(), true);
        }
        let router = Router::new()
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(server.clone());
        let router = layer(router);
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        self.desk().url.clone()
    }

    /// All tokens that were issued are withdrawn.
    pub(crate) fn withdraw(&self) {
        self.desk().tokens.clear();
    }

    /// A token of that user.
    pub(crate) fn token_of(&self, user: &str) -> String {
        let desk = self.desk();
        let mut tokens = desk.tokens.iter();
        tokens.find(|(_, (owner, ..))| owner == user).unwrap().0.clone()
    }

    /// What was requested since the last time.
    pub(crate) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.desk().log)
    }
}

impl Desk {
    fn secret(&mut self, kind: &str) -> String {
        self.issued += 1;
        format!("{MARK}-{kind}-{}", self.issued)
    }
}

impl TokenValidator for AuthorizationServer {
    async fn validate(&self, token: &str, resource: &str) -> Result<Principal, TokenError> {
        let desk = self.desk();
        match desk.tokens.get(token) {
            Some((user, scopes, of)) if of == resource => {
                Ok(Principal::new(desk.url.clone(), user).with_scopes(scopes.clone()))
            }
            _ => Err(TokenError::Invalid("it is not known".to_owned())),
        }
    }
}

async fn metadata(State(server): State<AuthorizationServer>) -> Json<Value> {
    let desk = server.desk();
    let url = &desk.url;
    let mut metadata = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
    });
    for (name, value) in desk.metadata.as_object().into_iter().flatten() {
        metadata[name] = value.clone();
    }
    Json(metadata)
}

async fn register(State(server): State<AuthorizationServer>, Json(body): Json<Value>) -> Response {
    let mut desk = server.desk();
    desk.log.push("register".to_owned());
    assert_eq!(body["application_type"], "native");
    let id = format!("client-{}", desk.issued);
    let registered = json!({ "client_id": id, "redirect_uris": body["redirect_uris"], "token_endpoint_auth_method": "none" });
    (StatusCode::CREATED, Json(registered)).into_response()
}

async fn authorize(
    State(server): State<AuthorizationServer>,
    Query(query): Query<HashMap<String, String>>,
) -> Redirect {
    let mut desk = server.desk();
    desk.log.push(format!("authorize {}", query.get("scope").map_or("", |scope| scope)));
    assert_eq!(query["code_challenge_method"], "S256");
    let (back, state, issuer) = (&query["redirect_uri"], &query["state"], desk.url.clone());
    if desk.denies {
        return Redirect::to(&format!("{back}?error=access_denied&state={state}&iss={issuer}"));
    }
    let code = desk.secret("code");
    let to = format!("{back}?code={code}&state={state}&iss={issuer}");
    desk.codes.insert(code, query);
    Redirect::to(&to)
}

async fn token(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> Response {
    let mut desk = server.desk();
    let kind = form["grant_type"].clone();
    desk.log.push(format!("token {}", kind.rsplit(':').next().unwrap()));
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    if let Some(error) = desk.refuses {
        return refused(error);
    }
    let (user, scopes, resource) = match &*kind {
        "authorization_code" => {
            let Some(asked) = desk.codes.remove(&form["code"]) else { return refused("invalid_grant") };
            // That the verifier fits the suite and the real server check; here it has to be there, and to be for the same.
            if form["code_verifier"].len() < 43 || form["resource"] != asked["resource"] {
                return refused("invalid_grant");
            }
            let wanted = asked.get("scope").map(|scope| Scopes::from(&**scope)).unwrap_or_default();
            let granted = wanted.iter().filter(|scope| !desk.withheld.contains(scope)).collect();
            (desk.user.clone(), granted, form["resource"].clone())
        }
        "refresh_token" => match desk.refresh_tokens.remove(&form["refresh_token"]) {
            Some(granted) => granted,
            None => return refused("invalid_grant"),
        },
        "client_credentials" => {
            assert_eq!(headers["authorization"], "Basic cm9ib3Q6czNjcjN0LXBhc3M=");
            let scopes = form.get("scope").map(|scope| Scopes::from(&**scope)).unwrap_or_default();
            ("robot".to_owned(), scopes, form["resource"].clone())
        }
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
            let assertion = form["assertion"].clone();
            let claims = insecure_decode::<Value>(&assertion).map(|token| token.claims).unwrap_or_default();
            desk.assertions.push(assertion);
            let scopes = form.get("scope").map(|scope| Scopes::from(&**scope)).unwrap_or_default();
            (claims["sub"].as_str().unwrap_or("unknown").to_owned(), scopes, form["resource"].clone())
        }
        other => panic!("{other}"),
    };
    let access = desk.secret("access");
    desk.tokens.insert(access.clone(), (user.clone(), scopes.clone(), resource.clone()));
    let mut answer = json!({ "access_token": access, "token_type": "Bearer", "scope": scopes.to_string() });
    if let Some(lifetime) = desk.lifetime {
        answer["expires_in"] = lifetime.into();
    }
    if desk.refreshes && matches!(&*kind, "authorization_code" | "refresh_token") {
        let refresh = desk.secret("refresh");
        answer["refresh_token"] = refresh.clone().into();
        desk.refresh_tokens.insert(refresh, (user, scopes, resource));
    }
    for (name, value) in desk.answer.as_object().into_iter().flatten() {
        answer[name] = value.clone();
    }
    Json(answer).into_response()
}
