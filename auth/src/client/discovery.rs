//! Which authorization server issues the tokens for an MCP server, and what it can do.

use serde::Deserialize;
use url::Url;

use super::error::AuthorizationError;
use super::fetch::Fetcher;
use crate::challenge::BearerChallenge;
use crate::metadata::{PROTECTED_RESOURCE, ResourceMetadata, at_root, well_known};
use crate::scopes::Scopes;

const AUTHORIZATION_SERVER: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";

/// What was found out about an MCP server.
#[derive(Clone, Debug)]
pub(super) struct Discovered {
    /// What tokens are to be for.
    pub(super) resource: String,
    /// The scopes to request if the server does not say more.
    pub(super) scopes: Option<Scopes>,
    pub(super) server: AuthorizationServer,
}

/// An authorization server, as far as a client has to know it (RFC 8414).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) dpop_signing_alg_values_supported: Option<Vec<String>>,
    pub(super) client_id_metadata_document_supported: bool,
    pub(super) authorization_response_iss_parameter_supported: bool,
    /// It is that of revision 2025-03-26, which does not require metadata.
    #[serde(skip)]
    pub(super) is_implied: bool,
}

impl AuthorizationServer {
    /// Whether codes may be exchanged with it: only where a stolen one is of no use.
    pub(super) fn has_pkce(&self) -> bool {
        match &self.code_challenge_methods_supported {
            Some(methods) => methods.iter().any(|method| method == "S256"),
            None => self.is_implied,
        }
    }

    /// Whether tokens may be bound to a key with it. One that says nothing about it may do it all the same.
    pub(super) fn has_dpop(&self) -> bool {
        let mut algorithms = self.dpop_signing_alg_values_supported.iter().flatten();
        self.dpop_signing_alg_values_supported.is_none() || algorithms.any(|algorithm| algorithm == "ES256")
    }
}

/// Finds the authorization server. Of several, one of `known` is preferred, for the client is registered there.
pub(super) async fn discover(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &BearerChallenge,
    known: &[String],
) -> Result<Discovered, AuthorizationError> {
    let Some(metadata) = resource_metadata(fetcher, server, challenge).await? else {
        return implied(fetcher, server, challenge.resource_metadata.as_deref()).await;
    };
    if !is_part(&metadata.resource, server) {
        let expected = server.to_string();
        return Err(AuthorizationError::OtherResource { expected, found: metadata.resource });
    }
    let listed = &metadata.authorization_servers;
    let chosen = listed.iter().find(|issuer| known.contains(issuer)).or(listed.first());
    let issuer = chosen.ok_or(AuthorizationError::NoServer)?;
    let server = authorization_server(fetcher, issuer).await?;
    let scopes = metadata.scopes_supported.map(Scopes::from_iter).filter(|scopes| !scopes.is_empty());
    Ok(Discovered { resource: metadata.resource, scopes, server })
}

/// The metadata of the MCP server: where it says, or else at one of the well-known addresses.
async fn resource_metadata(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &BearerChallenge,
) -> Result<Option<ResourceMetadata>, AuthorizationError> {
    if let Some(named) = &challenge.resource_metadata {
        let url = fetcher.address(named)?;
        let found = fetcher.json(&url).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    let mut places = vec![well_known(server, PROTECTED_RESOURCE), at_root(server, PROTECTED_RESOURCE)];
    places.dedup();
    for place in places {
        let found = fetcher.json(&place).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Whether a server is that resource, or a part of it: the resource may be the host as a whole.
fn is_part(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let whole = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(whole);
    resource.origin() == server.origin()
        && resource.fragment().is_none()
        && resource.query().is_none_or(|query| server.query() == Some(query))
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The metadata of an authorization server, from the first of the well-known addresses that has them.
pub(super) async fn authorization_server(
    fetcher: &Fetcher,
    issuer: &str,
) -> Result<AuthorizationServer, AuthorizationError> {
    let url = fetcher.address(issuer)?;
    let mut places = vec![well_known(&url, AUTHORIZATION_SERVER), well_known(&url, OPENID)];
    let path = url.path().trim_end_matches('/');
    if !path.is_empty() {
        let mut appended = at_root(&url, OPENID);
        appended.set_path(&format!("{path}/.well-known/{OPENID}"));
        places.push(appended);
    }
    for place in places {
        let Some(found) = fetcher.json::<AuthorizationServer>(&place).await? else { continue };
        // Compared as texts: two that mean the same are not the same.
        if found.issuer != issuer {
            return Err(AuthorizationError::OtherIssuer { expected: issuer.to_owned(), found: found.issuer });
        }
        return Ok(found);
    }
    Err(AuthorizationError::NoMetadata { issuer: issuer.to_owned() })
}

/// The authorization server of a server of revision 2025-03-26, which says nothing about itself: its own host. A server that has
/// named an address for its metadata is of a later one, so nothing is guessed: the user would be sent to a page that is not there.
async fn implied(
    fetcher: &Fetcher,
    server: &Url,
    named: Option<&str>,
) -> Result<Discovered, AuthorizationError> {
    let base = server.origin().ascii_serialization();
    let found = fetcher.json::<AuthorizationServer>(&at_root(server, AUTHORIZATION_SERVER)).await?;
    let found = match (found, named) {
        // That revision does not say what the issuer is, so any on this host will do.
        (Some(found), _) => match Url::parse(&found.issuer) {
            Ok(issuer) if issuer.origin() == server.origin() => found,
            _ => return Err(AuthorizationError::OtherIssuer { expected: base, found: found.issuer }),
        },
        (None, Some(named)) => {
            return Err(AuthorizationError::NoResourceMetadata { address: named.to_owned() });
        }
        (None, None) => AuthorizationServer {
            authorization_endpoint: Some(format!("{base}/authorize")),
            token_endpoint: Some(format!("{base}/token")),
            registration_endpoint: Some(format!("{base}/register")),
            issuer: base,
            ..AuthorizationServer::default()
        },
    };
    let resource = canonical(server);
    Ok(Discovered { resource, scopes: None, server: AuthorizationServer { is_implied: true, ..found } })
}

/// The address of a server as the name of a resource: without a fragment, and without a slash in place of a path.
pub(super) fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_part_of_its_resource() {
        let part = |resource, server| is_part(resource, &Url::parse(server).unwrap());
        assert!(part("https://a.example/mcp", "https://a.example/mcp"));
        assert!(part("https://A.example/", "https://a.example/x/mcp"));
        assert!(part("https://a.example", "https://a.example/mcp"));
        assert!(part("https://a.example/mcp/", "https://a.example/mcp"));
        assert!(!part("https://a.example/mcp", "https://a.example/mcp2"));
        assert!(!part("https://a.example/mcp/x", "https://a.example/mcp"));
        assert!(!part("https://b.example/mcp", "https://a.example/mcp"));
        assert!(!part("http://a.example/mcp", "https://a.example/mcp"));
        assert!(!part("https://a.example:8443/mcp", "https://a.example/mcp"));
        assert!(!part("mcp", "https://a.example/mcp"));
    }
}
