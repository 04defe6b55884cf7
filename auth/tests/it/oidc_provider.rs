//! A login at an authorization server of others: `oidc-provider`, from the lock file in `tests/peers`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;

use mcp_auth::client::{Authorization, RegisteredClient, Url, UserAgent};
use mcp_auth::server::{Introspection, Jwt};
use mcp_protocols::eras::Era;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::guarded;
use super::proven::Layers;
use super::world::{Session, call, connect, serve, serve_behind};

/// The authorization server, until it is dropped.
struct Provider {
    url: String,
    _process: Child,
}

impl Provider {
    async fn start(format: &str, seconds: u32) -> Provider {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers/authorization_server.mjs");
        let mut process = Command::new("node")
            .arg(script)
            .args([format, &seconds.to_string()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("the authorization server says where it is");
        Provider { url, _process: process }
    }

    /// The grants that have succeeded.
    async fn grants(&self) -> Vec<String> {
        let log = reqwest::get(format!("{}/log", self.url)).await.unwrap().text().await.unwrap();
        serde_json::from_str(&log).unwrap()
    }
}

/// A browser that follows redirects with its cookies, until it is sent back.
#[derive(Default)]
struct Browser(Mutex<BTreeMap<String, String>>);

const BACK: &str = "http://127.0.0.1:1/back";

impl UserAgent for Browser {
    type Error = std::io::Error;

    fn redirect_uri(&self) -> String {
        BACK.to_owned()
    }

    async fn visit(&self, address: Url) -> Result<Url, std::io::Error> {
        let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let mut address = address;
        for _ in 0..20 {
            if address.as_str().starts_with(BACK) {
                return Ok(address);
            }
            let cookies = self
                .0
                .lock()
                .unwrap()
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>();
            let request = browser.get(address.clone()).header(COOKIE, cookies.join("; "));
            let answer = request.send().await.map_err(std::io::Error::other)?;
            for cookie in answer.headers().get_all(SET_COOKIE) {
                let (cookie, _) = cookie.to_str().unwrap().split_once(';').unwrap();
                let (name, value) = cookie.split_once('=').unwrap();
                self.0.lock().unwrap().insert(name.to_owned(), value.to_owned());
            }
            let Some(next) = answer.headers().get(LOCATION).cloned() else {
                let (status, text) = (answer.status(), answer.text().await.unwrap());
                return Err(std::io::Error::other(format!("{status} at {address}: {text}")));
            };
            address = address.join(next.to_str().unwrap()).unwrap();
        }
        Err(std::io::Error::other("too many redirects"))
    }
}

/// Calls until the token has expired so often that two more were needed.
async fn outlive_tokens(provider: &Provider, session: &Session, said: &str) {
    loop {
        assert_eq!(call(session, "whoami").await.unwrap(), said);
        let grants = provider.grants().await;
        if grants.iter().filter(|grant| *grant == "refresh_token").count() >= 2 {
            assert_eq!(grants.iter().filter(|grant| *grant == "authorization_code").count(), 2, "{grants:?}");
            return;
        }
    }
}

#[tokio::test]
#[ignore = "needs Node"]
async fn a_login_with_signed_tokens_that_expire() {
    guarded(async {
        for era in [Era::Handshake, Era::Requests] {
            let provider = Provider::start("jwt", 3).await;
            let keys = format!("{}/jwks", provider.url);
            let url = serve(&provider.url, |_| Jwt::new(&*provider.url, keys).unwrap().leeway(0)).await;
            let authorization =
                Authorization::of_user(&url, Browser::default()).client_name("test").build().unwrap();
            let session = connect(&authorization, &url, era).await.unwrap();
            assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
            assert_eq!(call(&session, "delete").await.unwrap(), "gone");
            outlive_tokens(&provider, &session, "ada with notes:read notes:write").await;
            session.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn a_login_with_tokens_that_the_authorization_server_is_asked_about() {
    guarded(async {
        let provider = Provider::start("opaque", 3).await;
        let endpoint = format!("{}/token/introspection", provider.url);
        let asking = Introspection::new(&*provider.url, endpoint, "notes", "asks").unwrap();
        let url = serve(&provider.url, |_| asking).await;
        let authorization = Authorization::of_user(&url, Browser::default()).build().unwrap();
        let session = connect(&authorization, &url, Era::Handshake).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
        assert_eq!(call(&session, "delete").await.unwrap(), "gone");
        outlive_tokens(&provider, &session, "ada with notes:read notes:write").await;
        session.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn tokens_that_are_bound_to_a_key() {
    guarded(async {
        for era in [Era::Handshake, Era::Requests] {
            let provider = Provider::start("jwt", 3).await;
            let keys = format!("{}/jwks", provider.url);
            let validator = |_: &str| Jwt::new(&*provider.url, keys).unwrap().leeway(0);
            let layers = Layers::default();
            layers.known().nonces[1] = Some("nonce".to_owned());
            let url = serve_behind(&provider.url, validator, layers.around()).await;
            let authorization = Authorization::of_user(&url, Browser::default()).dpop().build().unwrap();
            let session = connect(&authorization, &url, era).await.unwrap();
            assert_eq!(call(&session, "whoami").await.unwrap(), "ada with notes:read");
            assert_eq!(call(&session, "delete").await.unwrap(), "gone");
            // The refresh tokens are bound as well, because the client is public.
            outlive_tokens(&provider, &session, "ada with notes:read notes:write").await;
            session.close().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node"]
async fn a_program_with_credentials_of_its_own() {
    guarded(async {
        let provider = Provider::start("jwt", 60).await;
        let keys = format!("{}/jwks", provider.url);
        let url = serve(&provider.url, |_| Jwt::new(&*provider.url, keys).unwrap()).await;
        let client = RegisteredClient::new("robot").issuer(&*provider.url).secret("works");
        let authorization = Authorization::of_program(&url, client).build().unwrap();
        let session = connect(&authorization, &url, Era::Requests).await.unwrap();
        assert_eq!(call(&session, "whoami").await.unwrap(), "robot with notes:read");
        assert_eq!(call(&session, "delete").await.unwrap(), "gone");
        assert_eq!(provider.grants().await, ["client_credentials"; 2]);
        session.close().await.unwrap();
    })
    .await;
}
