//! [`Authorization`]: a client's right to speak to an MCP server.

use std::fmt;
use std::sync::Arc;

use mcp_runtime::transport::http::{Challenge, HeaderProvider, HttpClient, HttpClientError, HttpConnections};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use url::Url;

use super::discovery::canonical;
use super::error::AuthorizationError;
use super::fetch::{Fetcher, is_loopback};
use super::grant::{Grant, Origin};
use super::identity::RegisteredClient;
use super::registration::Registrations;
use super::renewal::{Reason, Subject, Tokens};
use super::store::{AnyStore, MemoryStore, Store};
use super::user_agent::UserAgent;
use crate::challenge::BearerChallenge;
use crate::scopes::Scopes;
use crate::secret::Secret;

/// A client's right to speak to an MCP server: it gets a token when the server asks for one, adds it to each request, renews it
/// before it expires, and asks for more scopes when the server wants them. Sessions and streams go on meanwhile.
///
/// [`transport`](Authorization::transport) makes the transport of a session; clones, and transports of one
/// `Authorization`, share the token.
///
/// ```no_run
/// use mcp_auth::client::{Authorization, AuthorizationError, MemoryStore, UserAgent};
///
/// fn authorized(browser: impl UserAgent) -> Result<Authorization, AuthorizationError> {
///     Authorization::of_user("https://notes.example/mcp", browser)
///         .client_name("Notes on the desktop")
///         .client_metadata_document("https://desktop.example/client.json")
///         .store(MemoryStore::default())
///         .build()
/// }
/// ```
#[derive(Clone)]
pub struct Authorization(Arc<Tokens>);

/// An [`Authorization`] that is being described.
#[must_use = "`build` makes the authorization"]
pub struct AuthorizationBuilder {
    server: String,
    subject: Subject,
    registrations: Registrations,
    scopes: Scopes,
    store: Arc<dyn AnyStore>,
    connections: reqwest::ClientBuilder,
}

impl Authorization {
    /// The user of the program logs in, when the MCP server at that address wants it.
    pub fn of_user(server: impl Into<String>, user_agent: impl UserAgent) -> AuthorizationBuilder {
        AuthorizationBuilder::new(server.into(), Subject::User(Arc::new(user_agent)))
    }

    /// The program itself has credentials (`client_credentials`): there is no user.
    pub fn of_program(server: impl Into<String>, client: RegisteredClient) -> AuthorizationBuilder {
        AuthorizationBuilder::new(server.into(), Subject::Program).registered(client)
    }

    /// A session with the server, to be given to a client. All of its requests are authorized.
    ///
    /// # Errors
    /// If reqwest cannot be set up.
    pub fn transport(&self) -> Result<HttpClient, HttpClientError> {
        self.transport_over(HttpConnections::new()?)
    }

    /// The same over connections that sessions share, or that go through proxies, for instance.
    ///
    /// # Errors
    /// None at present: the address was checked before.
    pub fn transport_over(&self, connections: HttpConnections) -> Result<HttpClient, HttpClientError> {
        let transport = HttpClient::with_connections(connections, self.0.server.as_str())?;
        Ok(transport.headers_from(Bearer(Arc::clone(&self.0))))
    }

    /// Forgets the token: the next request that the server refuses begins from the start, perhaps as another user. What authorization
    /// servers have registered the client as stays.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn forget(&self) -> Result<(), AuthorizationError> {
        self.0.forget().await
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.0.server.origin().ascii_serialization();
        formatter.debug_struct("Authorization").field("server", &server).finish_non_exhaustive()
    }
}

impl AuthorizationBuilder {
    fn new(server: String, subject: Subject) -> AuthorizationBuilder {
        let registrations = Registrations { name: "an MCP client".to_owned(), ..Registrations::default() };
        AuthorizationBuilder {
            server,
            subject,
            registrations,
            scopes: Scopes::new(),
            store: Arc::new(MemoryStore::default()),
            connections: reqwest::Client::builder(),
        }
    }

    /// How the client is called where it registers itself, as users see it.
    pub fn client_name(mut self, name: impl Into<String>) -> AuthorizationBuilder {
        self.registrations.name = name.into();
        self
    }

    /// The `https` address of the document that describes the client. Authorization servers that support it take the address
    /// as its id, so that the client need not be registered.
    pub fn client_metadata_document(mut self, address: impl Into<String>) -> AuthorizationBuilder {
        self.registrations.document = Some(address.into());
        self
    }

    /// A client that was registered with an authorization server. This comes before the document, which comes before
    /// registering now.
    pub fn registered(mut self, client: RegisteredClient) -> AuthorizationBuilder {
        self.registrations.registered.push(client);
        self
    }

    /// Scopes to request in addition to those that the server wants.
    pub fn scopes(mut self, scopes: impl Into<Scopes>) -> AuthorizationBuilder {
        self.scopes = scopes.into();
        self
    }

    /// Where tokens are kept. Default: in memory.
    pub fn store(mut self, store: impl Store) -> AuthorizationBuilder {
        self.store = Arc::new(store);
        self
    }

    /// The proxies and certificates of requests for metadata and tokens. Redirects are not followed, whatever the builder says.
    pub fn connections(mut self, builder: reqwest::ClientBuilder) -> AuthorizationBuilder {
        self.connections = builder;
        self
    }

    /// The authorization. Nothing is requested until the server asks for a token.
    ///
    /// # Errors
    /// If a token must not be sent to the server's address, the address of the document is not one, or reqwest cannot be set
    /// up.
    pub fn build(self) -> Result<Authorization, AuthorizationError> {
        let address = || AuthorizationError::Address(self.server.clone());
        let mut server = Url::parse(&self.server).map_err(|_| address())?;
        server.set_fragment(None);
        let is_safe = server.scheme() == "https" || server.scheme() == "http" && is_loopback(&server);
        if !is_safe {
            return Err(address());
        }
        if let Some(document) = &self.registrations.document {
            let url = Url::parse(document).ok();
            if url.is_none_or(|url| url.scheme() != "https" || url.path().len() < 2) {
                return Err(AuthorizationError::Document(document.clone()));
            }
        }
        let fetcher = Fetcher::new(self.connections, &server).map_err(AuthorizationError::Connections)?;
        let AuthorizationBuilder { store, registrations, subject, scopes, .. } = self;
        tracing::debug!(server = canonical(&server), "requests are authorized when the server asks for it");
        Ok(Authorization(Arc::new(Tokens::new(server, fetcher, store, registrations, subject, scopes))))
    }
}

impl fmt::Debug for AuthorizationBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuthorizationBuilder").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Adds the token to each request. It is made for the transport to one server only, so the token goes nowhere else.
struct Bearer(Arc<Tokens>);

/// What callers find in `HttpError::Headers`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Failed(Arc<AuthorizationError>);

impl From<AuthorizationError> for Failed {
    fn from(error: AuthorizationError) -> Failed {
        Failed(Arc::new(error))
    }
}

fn header(access: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", access.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Bearer {
    /// The present token, renewed if it is about to expire.
    async fn token(&self) -> Result<Option<Arc<Grant>>, Failed> {
        let grant = self.0.grant().await?;
        let Some(due) = grant.as_ref().filter(|grant| grant.is_due()) else { return Ok(grant) };
        if let Err(error) = self.0.renew(Some(due.access.clone()), Reason::Expires).await {
            // The server will say what it wants.
            tracing::debug!(%error, "the token was not renewed");
        }
        Ok(self.0.grant().await?.filter(|grant| !grant.is_expired() || grant.origin != Origin::Stored))
    }
}

impl HeaderProvider for Bearer {
    type Error = Failed;

    async fn headers(&self) -> Result<HeaderMap, Failed> {
        let value = self.token().await?.and_then(|grant| header(&grant.access));
        Ok(value.into_iter().map(|value| (AUTHORIZATION, value)).collect())
    }

    async fn challenged(&self, challenge: Challenge) -> Result<bool, Failed> {
        let asked = challenge.authenticate.as_deref().and_then(BearerChallenge::parse);
        let grant = self.0.grant().await?;
        let sent = challenge.sent.get(AUTHORIZATION);
        let present = grant.as_ref().and_then(|grant| header(&grant.access));
        if sent != present.as_ref() && present.is_some() {
            // Somebody else has renewed it meanwhile.
            return Ok(true);
        }
        let before = grant.as_ref().map(|grant| grant.access.clone());
        let reason = match challenge.status {
            401 => {
                let asked = asked.unwrap_or_default();
                let is_new = grant.as_ref().is_some_and(|grant| grant.origin == Origin::Issued);
                let again = challenge.attempts > 1;
                if again && is_new {
                    return Err(AuthorizationError::TokenRefused(asked.error_description).into());
                }
                Reason::Refused { challenge: asked, again }
            }
            _ => {
                let Some(asked) = asked.filter(|asked| asked.error.as_deref() == Some("insufficient_scope"))
                else {
                    return Ok(false);
                };
                let Some(wanted) = &asked.scope else { return Ok(false) };
                if grant.as_ref().is_some_and(|grant| grant.requested.contains_all(wanted)) {
                    return Err(AuthorizationError::NotGranted(wanted.to_string()).into());
                }
                Reason::Insufficient(asked)
            }
        };
        self.0.renew(before, reason).await.map_err(Failed)?;
        Ok(true)
    }
}
