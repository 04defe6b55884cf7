//! [`Authorization`]: a client's right to speak to an MCP server.

use std::fmt;
use std::sync::Arc;

use mcp_runtime::transport::http::{HttpClient, HttpClientError, HttpConnections};
use url::Url;

use super::binding::Binding;
use super::discovery::canonical;
use super::error::AuthorizationError;
use super::fetch::{Fetcher, is_loopback};
use super::headers::TokenHeaders;
use super::identity::RegisteredClient;
use super::identity_provider::IdentityProvider;
use super::proof_key::ProofKey;
use super::registration::Registrations;
use super::renewal::Tokens;
use super::store::{AnyStore, MemoryStore, Store};
use super::subject::{Known, Subject};
use super::token_source::TokenSource;
use super::user_agent::UserAgent;
use crate::scopes::Scopes;

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
    binding: Binding,
    store: Arc<dyn AnyStore>,
    connections: reqwest::ClientBuilder,
}

impl Authorization {
    /// The user of the program logs in, when the MCP server at that address wants it.
    pub fn of_user(server: impl Into<String>, user_agent: impl UserAgent) -> AuthorizationBuilder {
        AuthorizationBuilder::new(server.into(), Subject::User(Arc::new(user_agent)))
    }

    /// The program itself has credentials (`client_credentials`) and acts without a user.
    pub fn of_program(server: impl Into<String>, client: RegisteredClient) -> AuthorizationBuilder {
        AuthorizationBuilder::new(server.into(), Subject::Known(Known::Program)).registered(client)
    }

    /// The program is a workload, to which its platform gives a JWT: that is exchanged for tokens (RFC 7523), so that the
    /// program needs no secret of its own.
    ///
    /// `client` says as which client the authorization server knows the workload. If its
    /// [`issuer`](RegisteredClient::issuer) says where, the JWT goes there only. Otherwise it goes to the authorization server
    /// that the MCP server names, if the JWT is for it.
    ///
    /// ```
    /// use mcp_auth::client::{Authorization, AuthorizationError, RegisteredClient, TokenSource};
    ///
    /// fn authorized(account: impl TokenSource) -> Result<Authorization, AuthorizationError> {
    ///     let client = RegisteredClient::new("nightly").issuer("https://auth.example");
    ///     Authorization::of_workload("https://notes.example/mcp", client, account).build()
    /// }
    /// ```
    pub fn of_workload(
        server: impl Into<String>,
        client: RegisteredClient,
        identity: impl TokenSource,
    ) -> AuthorizationBuilder {
        let subject = Subject::Known(Known::Workload(Arc::new(identity)));
        AuthorizationBuilder::new(server.into(), subject).registered(client)
    }

    /// The user of the program is logged in at the identity provider of an enterprise, which decides which MCP servers the
    /// program may speak to. It says to the authorization server who the user is, with an identity assertion authorization
    /// grant (ID-JAG): the user consents to nothing, and logs in nowhere else.
    ///
    /// `client` says as which client the authorization server of the MCP server knows the program.
    ///
    /// ```
    /// use mcp_auth::client::{Authorization, AuthorizationError, IdentityProvider, RegisteredClient};
    ///
    /// fn authorized(provider: IdentityProvider) -> Result<Authorization, AuthorizationError> {
    ///     let client = RegisteredClient::new("notes").issuer("https://auth.example").secret("hunter2");
    ///     Authorization::of_enterprise_user("https://notes.example/mcp", client, provider).build()
    /// }
    /// ```
    pub fn of_enterprise_user(
        server: impl Into<String>,
        client: RegisteredClient,
        provider: IdentityProvider,
    ) -> AuthorizationBuilder {
        let subject = Subject::Known(Known::EnterpriseUser(provider));
        AuthorizationBuilder::new(server.into(), subject).registered(client)
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
        Ok(transport.headers_from(TokenHeaders(Arc::clone(&self.0))))
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
            binding: Binding::default(),
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

    /// Binds tokens to a key (DPoP, RFC 9449), so that a token that is stolen is of no use. The key is generated, and kept in
    /// the store with the token. A token that the authorization server does not bind is not used.
    pub fn dpop(mut self) -> AuthorizationBuilder {
        self.binding = Binding::Generated;
        self
    }

    /// The same with a key of the program, which is not put into the store. A token in the store that is bound to another key
    /// is not used.
    pub fn dpop_key(mut self, key: ProofKey) -> AuthorizationBuilder {
        self.binding = Binding::Program(key);
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
        let AuthorizationBuilder { store, registrations, subject, scopes, binding, .. } = self;
        tracing::debug!(server = canonical(&server), "requests are authorized when the server asks for it");
        let tokens = Tokens::new(server, fetcher, store, registrations, subject, scopes, binding);
        Ok(Authorization(Arc::new(tokens)))
    }
}

impl fmt::Debug for AuthorizationBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuthorizationBuilder").field("server", &self.server).finish_non_exhaustive()
    }
}
