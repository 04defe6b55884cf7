//! The authorization of the client, where the suite's servers want one.

use std::error::Error;

use mcp_auth::client::{Authorization, RegisteredClient, Url, UserAgent};
use serde::Deserialize;

/// Where the suite sends the user back to. No program listens there: the browser below looks at the address only.
const BACK: &str = "http://127.0.0.1:3000/back";

/// The id of the client for authorization servers that read the document at this address. The suite knows it.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The client as the suite has registered it, where it has.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Registered {
    client_id: Option<String>,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    signing_algorithm: String,
}

pub(crate) fn authorization(url: &str, scenario: &str) -> Result<Authorization, Box<dyn Error>> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let registered: Registered = serde_json::from_str(&context)?;
    let client = registered.client_id.map(RegisteredClient::new);
    let client = match (client, registered.client_secret, registered.private_key_pem) {
        (Some(client), Some(secret), _) => Some(client.secret(secret)),
        (Some(client), None, Some(pem)) => Some(client.private_key(&registered.signing_algorithm, &pem)?),
        (client, ..) => client,
    };
    let described = match client {
        Some(client) if scenario.starts_with("auth/client-credentials") => {
            Authorization::of_program(url, client)
        }
        Some(client) => Authorization::of_user(url, Browser::new()?).registered(client),
        None => Authorization::of_user(url, Browser::new()?),
    };
    Ok(described.client_name("conformance-client").client_metadata_document(DOCUMENT).build()?)
}

/// A browser whose user consents to everything.
struct Browser(reqwest::Client);

impl Browser {
    fn new() -> reqwest::Result<Browser> {
        Ok(Browser(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?))
    }
}

impl UserAgent for Browser {
    type Error = std::io::Error;

    fn redirect_uri(&self) -> String {
        BACK.to_owned()
    }

    async fn visit(&self, address: Url) -> Result<Url, std::io::Error> {
        let answer = self.0.get(address).send().await.map_err(std::io::Error::other)?;
        let back = answer.headers().get("location").and_then(|location| location.to_str().ok());
        let back = back.and_then(|back| Url::parse(back).ok());
        back.ok_or_else(|| std::io::Error::other(format!("status {}", answer.status())))
    }
}
