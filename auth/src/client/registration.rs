//! As whom the client speaks to an authorization server: registered before, by the document of its id, or just now.

use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::discovery::AuthorizationServer;
use super::error::AuthorizationError;
use super::fetch::{FetchError, Fetcher, is_loopback, parsed};
use super::identity::{Credential, RegisteredClient, SecretIn, now};
use super::store::{AnyStore, load, save};
use crate::secret::Secret;

/// How a client becomes known to authorization servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Registrations {
    /// How the client is called where it registers itself.
    pub(super) name: String,
    /// Where others have registered it.
    pub(super) registered: Vec<RegisteredClient>,
    /// The address of the document that describes the client, which is its id then.
    pub(super) document: Option<String>,
}

/// What an authorization server has registered the client as (RFC 7591).
#[derive(Debug, Serialize, Deserialize)]
struct Registration {
    client_id: String,
    #[serde(default)]
    client_secret: Option<Secret>,
    /// In seconds since 1970; 0 for never.
    #[serde(default)]
    client_secret_expires_at: u64,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    /// Where the user is sent back to: where that changes, the client registers again.
    #[serde(default)]
    redirect_uri: String,
}

/// What an authorization server says where it does not register a client.
#[derive(Deserialize)]
struct Refusal {
    error: String,
    error_description: Option<String>,
}

fn key(issuer: &str) -> String {
    format!("client of {issuer}")
}

impl Registrations {
    /// The authorization servers that know the client already.
    pub(super) fn issuers(&self) -> Vec<String> {
        self.registered.iter().filter_map(|client| client.issuer.clone()).collect()
    }

    /// The client as that authorization server knows it, if it is known by now.
    pub(super) async fn known(
        &self,
        store: &dyn AnyStore,
        issuer: &str,
        id: &str,
    ) -> Result<Option<RegisteredClient>, AuthorizationError> {
        if let Some(client) = self.registered.iter().find(|client| {
            client.id == id && client.issuer.as_ref().is_none_or(|registered| registered == issuer)
        }) {
            return Ok(Some(client.clone()));
        }
        if self.document.as_deref() == Some(id) {
            return Ok(Some(RegisteredClient::new(id)));
        }
        let registration = load::<Registration>(store, &key(issuer)).await?;
        Ok(registration.filter(|registration| registration.client_id == id).map(|known| known.client(issuer)))
    }

    /// The client as that authorization server knows it, in the order that the revisions recommend.
    pub(super) async fn client(
        &self,
        fetcher: &Fetcher,
        store: &dyn AnyStore,
        server: &AuthorizationServer,
        redirect_uri: Option<&str>,
    ) -> Result<RegisteredClient, AuthorizationError> {
        let issuer = &server.issuer;
        let here = |client: &&RegisteredClient| client.issuer.as_ref() == Some(issuer);
        let anywhere = |client: &&RegisteredClient| client.issuer.is_none();
        let mut registered = self.registered.iter();
        if let Some(client) = registered.clone().find(here).or_else(|| registered.find(anywhere)) {
            return Ok(client.clone());
        }
        let is_supported = server.client_id_metadata_document_supported;
        if let Some(document) = self.document.as_ref().filter(|_| is_supported) {
            return Ok(RegisteredClient::new(document));
        }
        let Some(redirect_uri) = redirect_uri else { return Err(self.unknown(issuer)) };
        let stored = load::<Registration>(store, &key(issuer)).await?;
        if let Some(registration) = stored.filter(|stored| stored.is_valid(redirect_uri)) {
            return Ok(registration.client(issuer));
        }
        let Some(endpoint) = &server.registration_endpoint else { return Err(self.unknown(issuer)) };
        let registration = self.register(fetcher, &fetcher.address(endpoint)?, server, redirect_uri).await?;
        save(store, &key(issuer), &registration).await?;
        Ok(registration.client(issuer))
    }

    /// The authorization server does not know the client any more.
    pub(super) async fn forget(&self, store: &dyn AnyStore, issuer: &str) -> Result<(), AuthorizationError> {
        store.write(&key(issuer), None).await
    }

    fn unknown(&self, issuer: &str) -> AuthorizationError {
        match self.registered.first() {
            Some(RegisteredClient { id, issuer: Some(registered), .. }) => {
                AuthorizationError::RegisteredElsewhere {
                    client: id.clone(),
                    registered: registered.clone(),
                    issuer: issuer.to_owned(),
                }
            }
            _ => AuthorizationError::NotRegistered { issuer: issuer.to_owned() },
        }
    }

    async fn register(
        &self,
        fetcher: &Fetcher,
        endpoint: &Url,
        server: &AuthorizationServer,
        redirect_uri: &str,
    ) -> Result<Registration, AuthorizationError> {
        // On the user's machine no secret stays one, so none is wanted where the authorization server does without.
        let supported = server.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
        let method = ["none", "client_secret_basic", "client_secret_post"]
            .into_iter()
            .find(|method| supported.iter().any(|supported| supported == method))
            .unwrap_or("none");
        let is_web = Url::parse(redirect_uri).is_ok_and(|url| url.scheme() == "https" && !is_loopback(&url));
        let body = json!({
            "client_name": self.name,
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": if is_web { "web" } else { "native" },
        });
        let (status, body) = fetcher.post(endpoint, body.to_string()).await?;
        if !matches!(status, 200 | 201) {
            return Err(match parsed::<Refusal>(endpoint, &body) {
                Ok(Refusal { error, error_description: description }) => {
                    AuthorizationError::Refused { error, description }
                }
                Err(_) => FetchError::Status { url: endpoint.to_string(), status }.into(),
            });
        }
        let mut registration: Registration = parsed(endpoint, &body)?;
        registration.redirect_uri = redirect_uri.to_owned();
        Ok(registration)
    }
}

impl Registration {
    fn is_valid(&self, redirect_uri: &str) -> bool {
        let expires = self.client_secret_expires_at;
        self.redirect_uri == redirect_uri && (expires == 0 || expires > now())
    }

    fn client(self, issuer: &str) -> RegisteredClient {
        let client = RegisteredClient::new(self.client_id).issuer(issuer);
        match (self.client_secret, self.token_endpoint_auth_method.as_deref()) {
            (None, _) | (_, Some("none")) => client,
            (Some(secret), method) => RegisteredClient {
                credential: Credential::Secret(secret, method.and_then(SecretIn::named)),
                ..client
            },
        }
    }
}
