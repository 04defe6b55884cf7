//! The authorization of the client, where the suite's servers want one.

use std::error::Error;

use mcp_auth::Secret;
use mcp_auth::client::{
    Authorization, AuthorizationBuilder, AuthorizationError, IdentityProvider, RegisteredClient, Url,
    UserAgent,
};
use serde::Deserialize;

/// Where the suite sends the user back to. No program listens there: the browser below looks at the address only.
const BACK: &str = "http://127.0.0.1:3000/back";

/// The id of the client for authorization servers that read the document at this address. The suite knows it.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// What the suite has told the client.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    /// The client as the suite has registered it, where it has.
    client_id: Option<String>,
    client_secret: Option<String>,
    private_key_pem: Option<String>,
    signing_algorithm: String,
    /// Of a workload: the JWT of its platform.
    valid_jwt: Option<String>,
    /// Of the user of an enterprise: where the user is logged in, and the ID token.
    idp_issuer: String,
    idp_client_id: String,
    idp_id_token: Option<String>,
}

pub(crate) fn authorization(url: &str, scenario: &str) -> Result<Authorization, Box<dyn Error>> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Context = serde_json::from_str(&context)?;
    let described = match context.client()? {
        Some(client) => context.registered(url, scenario, client)?,
        None => Authorization::of_user(url, Browser::new()?),
    };
    let described = if scenario.starts_with("auth/dpop") { described.dpop() } else { described };
    Ok(described.client_name("conformance-client").client_metadata_document(DOCUMENT).build()?)
}

impl Context {
    fn client(&self) -> Result<Option<RegisteredClient>, AuthorizationError> {
        let Some(client) = self.client_id.as_ref().map(RegisteredClient::new) else { return Ok(None) };
        match (&self.client_secret, &self.private_key_pem) {
            (Some(secret), _) => Ok(Some(client.secret(secret))),
            (None, Some(pem)) => client.private_key(&self.signing_algorithm, pem).map(Some),
            (None, None) => Ok(Some(client)),
        }
    }

    fn registered(
        self,
        url: &str,
        scenario: &str,
        client: RegisteredClient,
    ) -> Result<AuthorizationBuilder, Box<dyn Error>> {
        Ok(match (self.valid_jwt, self.idp_id_token) {
            (Some(jwt), _) => Authorization::of_workload(url, client, Secret::new(jwt)),
            (None, Some(id_token)) => {
                let program = RegisteredClient::new(self.idp_client_id);
                let provider = IdentityProvider::new(self.idp_issuer, program, Secret::new(id_token));
                Authorization::of_enterprise_user(url, client, provider)
            }
            (None, None) if scenario.starts_with("auth/client-credentials") => {
                Authorization::of_program(url, client)
            }
            (None, None) => Authorization::of_user(url, Browser::new()?).registered(client),
        })
    }
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
