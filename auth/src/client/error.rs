//! [`AuthorizationError`]: why a client has no token.

use std::error::Error as StdError;

use super::fetch::FetchError;

/// Why a client has no token for a server. No message has a token in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationError {
    /// A request to the MCP server's host or to the authorization server failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The metadata of the MCP server are those of another resource.
    #[error(
        "the metadata of the server say that it is `{found}`, which is not `{expected}`: its tokens would be for another server"
    )]
    OtherResource {
        /// The address that the client was given.
        expected: String,
        /// The resource in the metadata.
        found: String,
    },
    /// The MCP server has named an address for its metadata, and nothing is there.
    #[error(
        "the server says that its metadata are at `{address}`, and nothing is there, nor at its well-known addresses: it must \
         serve them there without a token, or the client cannot find the authorization server"
    )]
    NoResourceMetadata {
        /// The address in `WWW-Authenticate`.
        address: String,
    },
    /// The metadata of the MCP server name no authorization server.
    #[error(
        "the metadata of the server name no authorization server: it must list one in `authorization_servers`"
    )]
    NoServer,
    /// The authorization server has no metadata.
    #[error(
        "the authorization server `{issuer}` has no metadata, neither those of OAuth nor those of OpenID Connect"
    )]
    NoMetadata {
        /// The authorization server.
        issuer: String,
    },
    /// The metadata of the authorization server are those of another one.
    #[error(
        "the metadata of the authorization server `{expected}` are those of `{found}`, so they are not used"
    )]
    OtherIssuer {
        /// The authorization server that was asked.
        expected: String,
        /// The one in the metadata.
        found: String,
    },
    /// The authorization server does not have what the client needs of it.
    #[error(
        "the authorization server `{issuer}` does not support {what}, without which this client does not continue"
    )]
    Unsupported {
        /// The authorization server.
        issuer: String,
        /// What is missing.
        what: &'static str,
    },
    /// The client is not known to the authorization server, and cannot become so.
    #[error(
        "the client is not known to the authorization server `{issuer}`, which registers none by itself: register the \
         program there, and name it with `Authorization::registered`"
    )]
    NotRegistered {
        /// The authorization server.
        issuer: String,
    },
    /// The client is registered with another authorization server than the one that the MCP server names.
    #[error(
        "the client `{client}` is registered with `{registered}`, but the server wants tokens of `{issuer}`: register the \
         program there, too"
    )]
    RegisteredElsewhere {
        /// The id of the client.
        client: String,
        /// Where it is registered.
        registered: String,
        /// The authorization server that the MCP server names.
        issuer: String,
    },
    /// The user, or the authorization server, has refused.
    #[error("the authorization server refused: {error}{}", described(description))]
    Refused {
        /// The code of the error, such as `access_denied`.
        error: String,
        /// What the authorization server says about it.
        description: Option<String>,
    },
    /// What the user came back with does not belong to this request.
    #[error("the answer of the authorization server is not used: {0}")]
    Answer(&'static str),
    /// The program's [`UserAgent`](super::UserAgent) failed.
    #[error("the user did not come back from the authorization server: {0}")]
    UserAgent(#[source] Box<dyn StdError + Send + Sync>),
    /// The program's [`Store`](super::Store) failed.
    #[error("the store of tokens failed: {0}")]
    Store(#[source] Box<dyn StdError + Send + Sync>),
    /// The program's [`TokenSource`](super::TokenSource) failed.
    #[error("the program has no JWT that says who it is: its source failed: {0}")]
    TokenSource(#[source] Box<dyn StdError + Send + Sync>),
    /// The JWT of a workload is for another authorization server than the one that the MCP server names.
    #[error(
        "the JWT of the program is not for the authorization server `{issuer}`, so it is not sent there: its `aud` must be \
         that, or `RegisteredClient::issuer` must say that the client belongs there"
    )]
    OtherAudience {
        /// The authorization server.
        issuer: String,
    },
    /// The identity provider does not say to the authorization server who the user is.
    #[error(
        "the identity provider `{issuer}` refused: {error}{}: the user may have to log in there again, or an administrator \
         has to permit the program to act for the user",
        described(description)
    )]
    IdentityProvider {
        /// The identity provider.
        issuer: String,
        /// The code of the error, such as `invalid_grant`.
        error: String,
        /// What the identity provider says about it.
        description: Option<String>,
    },
    /// The identity provider has answered with another kind of token.
    #[error(
        "the identity provider `{issuer}` answered with a token of type `{found}`, where an ID-JAG was requested"
    )]
    OtherTokenType {
        /// The identity provider.
        issuer: String,
        /// The `issued_token_type`.
        found: String,
    },
    /// The server asks for a nonce in the proof of the key, and does not accept the one that it has given.
    #[error(
        "the server refuses the proof of the key: it asks for a nonce again, right after it has given one"
    )]
    NonceRefused,
    /// The key of the client cannot sign.
    #[error("the key of the client cannot sign with {algorithm}: {reason}")]
    Key {
        /// The algorithm.
        algorithm: String,
        /// Why.
        reason: String,
    },
    /// The server refuses a token that it should accept.
    #[error("the server refuses a token that was just issued for it{}", described(.0))]
    TokenRefused(Option<String>),
    /// The server asks for scopes that were asked for already, and the token does not have.
    #[error(
        "the server wants the scopes `{0}`, which were requested already: the user, or the authorization server, did not grant them"
    )]
    NotGranted(String),
    /// The address cannot be used.
    #[error(
        "`{0}` is not an address that a token may be sent to: write one that begins with `https://`, or with `http://` on the loopback"
    )]
    Address(String),
    /// The document that describes the client has no address that a client may have as its id.
    #[error(
        "`{0}` cannot be the id of a client: the address of its document begins with `https://` and has a path"
    )]
    Document(String),
    /// reqwest could not be set up.
    #[error("no connections could be made: {0}")]
    Connections(#[source] reqwest::Error),
    /// The task that gets the token has ended.
    #[error("the task that gets the token was stopped")]
    Stopped,
}

impl AuthorizationError {
    /// Whether the authorization server does not know the client any more.
    pub(super) fn is_unknown_client(&self) -> bool {
        matches!(self, AuthorizationError::Refused { error, .. } if error == "invalid_client")
    }
}

fn described(description: &Option<String>) -> String {
    description.as_ref().map(|text| format!(": {text}")).unwrap_or_default()
}
