//! [`Principal`]: who makes a request.

use axum::http::request::Parts;
use mcp_runtime::transport::http::RequestHead;
use serde_json::{Map, Value};

use crate::scopes::Scopes;

/// Who makes a request, according to its token. It is in the extensions of the request.
///
/// A handler finds it in the head of its request:
///
/// ```
/// use mcp_auth::server::Principal;
/// use mcp_runtime::transport::http::RequestHead;
///
/// fn greeting(head: &RequestHead) -> String {
///     match Principal::of(head) {
///         Some(principal) => format!("hello, {}", principal.subject()),
///         None => "hello, stranger".to_owned(),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Principal {
    subject: String,
    issuer: String,
    scopes: Scopes,
    claims: Map<String, Value>,
}

impl Principal {
    /// The principal that this authorization server calls so, without scopes and claims. For tests, and for validators of your
    /// own.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Principal {
        let (subject, issuer) = (subject.into(), issuer.into());
        Principal { subject, issuer, scopes: Scopes::new(), claims: Map::new() }
    }

    /// The principal with these scopes.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl Into<Scopes>) -> Principal {
        self.scopes = scopes.into();
        self
    }

    /// The principal with these claims.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Principal {
        self.claims = claims;
        self
    }

    /// The principal of a request.
    pub fn of(head: &RequestHead) -> Option<&Principal> {
        head.extensions().get()
    }

    /// The user, as the authorization server names them; a client without a user is its own subject.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The authorization server that has issued the token.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// What the token permits.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The claims of the token, or what the authorization server says about it.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// A name that no other principal has, whichever authorization server it comes from.
    pub fn name(&self) -> String {
        // An issuer has no spaces.
        format!("{} {}", self.issuer, self.subject)
    }
}

/// The name of the principal of a request, for
/// [`ServerOptions::principal`](mcp_runtime::transport::http::ServerOptions::principal()): a session then belongs to the
/// principal that began it, and for any other it is not there.
///
/// ```
/// use mcp_auth::server::principal;
/// use mcp_runtime::transport::http::ServerOptions;
///
/// let options = ServerOptions::new().principal(principal);
/// # drop(options);
/// ```
pub fn principal(request: &Parts) -> Option<String> {
    request.extensions.get().map(Principal::name)
}

/// Reads the principal out of the claims of a token. The error says which claim is missing.
pub(super) fn of_claims(claims: Map<String, Value>, issuer: &str) -> Result<Principal, &'static str> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
    let subject = text("sub").or_else(|| text("client_id")).ok_or("it does not say who its subject is")?;
    let scopes = match claims.get("scope").or_else(|| claims.get("scp")) {
        Some(Value::String(text)) => Scopes::from(&**text),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Scopes::new(),
    };
    Ok(Principal { subject, issuer: issuer.to_owned(), scopes, claims })
}

/// Whether the claim `aud` names that resource.
pub(super) fn is_for(claims: &Map<String, Value>, resource: &str) -> bool {
    match claims.get("aud") {
        Some(Value::String(one)) => one == resource,
        Some(Value::Array(several)) => several.iter().any(|one| one.as_str() == Some(resource)),
        _ => false,
    }
}
