//! Signed tokens, and the keys that they are signed with.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::routing::get;
use axum::{Json, Router};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use mcp_auth::server::{Jwt, Principal, TokenError, TokenValidator};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const ISSUER: &str = "https://auth.example";
const RESOURCE: &str = "https://notes.example/mcp";
const KEY: &str = include_str!("key.pem");
const NEXT: &str = include_str!("next_key.pem");

/// The keys that the authorization server publishes, by their ids; and how often they were requested.
#[derive(Clone, Default)]
struct Published(Arc<Mutex<(Vec<Value>, usize)>>);

impl Published {
    async fn start() -> (Published, Jwt) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let published = Published::default();
        published.publish(&[("first", KEY)]);
        let keys = published.clone();
        let answer = move || async move {
            let mut keys = keys.0.lock().unwrap();
            keys.1 += 1;
            Json(json!({ "keys": keys.0 }))
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/jwks", get(answer))).await });
        (published, Jwt::new(ISSUER, url).unwrap())
    }

    fn publish(&self, keys: &[(&str, &str)]) {
        let jwk = |(id, pem): &(&str, &str)| {
            let mut jwk = Jwk::from_encoding_key(&signing(pem), Algorithm::ES256).unwrap();
            jwk.common.key_id = Some((*id).to_owned());
            serde_json::to_value(jwk).unwrap()
        };
        self.0.lock().unwrap().0 = keys.iter().map(jwk).collect();
    }

    fn requests(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

fn signing(pem: &str) -> EncodingKey {
    EncodingKey::from_ec_pem(pem.as_bytes()).unwrap()
}

/// The claims of a good token, with these in their place.
fn claims(changed: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({
        "iss": ISSUER, "aud": RESOURCE, "sub": "ada", "scope": "notes:read notes:write", "exp": now + 600, "iat": now,
    });
    for (name, value) in changed.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

fn token(id: &str, pem: &str, changed: Value) -> String {
    let header = Header { kid: Some(id.to_owned()), ..Header::new(Algorithm::ES256) };
    encode(&header, &claims(changed), &signing(pem)).unwrap()
}

async fn validate(jwt: &Jwt, token: &str) -> Result<Principal, String> {
    jwt.validate(token, RESOURCE).await.map_err(|error| match error {
        TokenError::Invalid(why) => why,
        TokenError::Unavailable(error) => format!("unavailable: {error}"),
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn a_good_token_says_who_has_it() {
    let (published, jwt) = Published::start().await;
    for _ in 0..3 {
        let principal = validate(&jwt, &token("first", KEY, json!({ "name": "Ada" }))).await.unwrap();
        assert_eq!((principal.subject(), principal.issuer()), ("ada", ISSUER));
        assert!(principal.scopes().contains_all(&"notes:read notes:write".into()));
        assert_eq!(principal.claims()["name"], "Ada");
    }
    assert_eq!(published.requests(), 1, "the keys are kept");
    let robot =
        json!({ "sub": null, "client_id": "robot", "scope": null, "scp": ["a"], "aud": ["x", RESOURCE] });
    let principal = validate(&jwt, &token("first", KEY, robot)).await.unwrap();
    assert_eq!((principal.subject(), principal.scopes().to_string()), ("robot", "a".to_owned()));
}

#[tokio::test]
async fn a_token_that_is_not_for_this_resource_is_not_valid() {
    let (_published, jwt) = Published::start().await;
    for wrong in [
        json!({ "aud": "https://other.example/mcp" }),
        json!({ "aud": "https://notes.example/mcp/" }),
        json!({ "aud": [] }),
        json!({ "aud": null }),
        json!({ "iss": "https://evil.example" }),
        json!({ "iss": null }),
        json!({ "exp": 1_000_000_000 }),
        json!({ "exp": null }),
        json!({ "nbf": 9_000_000_000_u64 }),
        json!({ "sub": null }),
    ] {
        let refused = validate(&jwt, &token("first", KEY, wrong.clone())).await;
        assert!(refused.is_err_and(|why| !why.starts_with("unavailable")), "{wrong}");
    }
}

#[tokio::test]
async fn a_token_that_is_signed_otherwise_is_not_valid() {
    let (_published, jwt) = Published::start().await;
    // Signed with another key of the same id.
    assert_eq!(validate(&jwt, &token("first", NEXT, json!({}))).await.unwrap_err(), "InvalidSignature");
    // With what everybody knows.
    let header = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::HS256) };
    let guessed = encode(&header, &claims(json!({})), &EncodingKey::from_secret(KEY.as_bytes())).unwrap();
    assert!(validate(&jwt, &guessed).await.unwrap_err().contains("algorithm that is not accepted"));
    // Not at all.
    let good = token("first", KEY, json!({}));
    let (_, rest) = good.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    let none = format!("eyJhbGciOiJub25lIiwia2lkIjoiZmlyc3QifQ.{payload}.");
    assert_eq!(validate(&jwt, &none).await.unwrap_err(), "it is not a signed token");
    for text in ["", "a.b.c", "opaque", &format!("{payload}.{payload}.{signature}")] {
        assert_eq!(validate(&jwt, text).await.unwrap_err(), "it is not a signed token");
    }
}

#[tokio::test]
async fn keys_are_requested_again_when_a_token_names_another_one() {
    tokio::time::pause();
    let (published, jwt) = Published::start().await;
    validate(&jwt, &token("first", KEY, json!({}))).await.unwrap();
    // The authorization server has another key now.
    published.publish(&[("second", NEXT)]);
    let next = token("second", NEXT, json!({}));
    assert_eq!(validate(&jwt, &next).await.unwrap_err(), "it is signed with a key that is not known");
    assert_eq!(published.requests(), 1, "not within ten seconds of the time before");
    tokio::time::advance(Duration::from_secs(10)).await;
    validate(&jwt, &next).await.unwrap();
    assert_eq!(published.requests(), 2);
    // Tokens that name any keys cause no request each.
    for id in 0..10 {
        let forged = token(&format!("key {id}"), NEXT, json!({}));
        assert_eq!(validate(&jwt, &forged).await.unwrap_err(), "it is signed with a key that is not known");
    }
    assert_eq!(published.requests(), 2);
    assert!(validate(&jwt, &token("first", KEY, json!({}))).await.is_err(), "the first was withdrawn");
    // One that was withdrawn does not count for longer than a quarter of an hour.
    published.publish(&[]);
    validate(&jwt, &next).await.unwrap();
    tokio::time::advance(Duration::from_secs(15 * 60)).await;
    assert!(validate(&jwt, &next).await.is_err());
}

#[tokio::test]
async fn without_keys_nothing_can_be_said() {
    let jwt = Jwt::new(ISSUER, "http://127.0.0.1:1/jwks").unwrap();
    for _ in 0..2 {
        let error = validate(&jwt, &token("first", KEY, json!({}))).await.unwrap_err();
        assert!(error.starts_with("unavailable: "), "{error}");
    }
}
