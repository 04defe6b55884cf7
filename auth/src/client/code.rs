//! The user logs in: the authorization code grant, with PKCE.

use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope, basic::BasicClient};
use url::Url;

use super::discovery::{AuthorizationServer, Discovered};
use super::error::AuthorizationError;
use super::fetch::FetchError;
use super::grant::{Grant, TokenEndpoint};
use super::identity::RegisteredClient;
use super::token_requests::TokenRequests;
use super::user_agent::AnyUserAgent;
use crate::scopes::Scopes;

/// The scope that OpenID Connect has for refresh tokens.
const OFFLINE: &str = "offline_access";

/// Has the user log in, and gets a token.
pub(super) async fn authorize(
    requests: TokenRequests<'_>,
    user_agent: &dyn AnyUserAgent,
    found: &Discovered,
    client: &RegisteredClient,
    requested: Scopes,
) -> Result<Grant, AuthorizationError> {
    let server = &found.server;
    let unsupported = |what| AuthorizationError::Unsupported { issuer: server.issuer.clone(), what };
    if !server.has_pkce() {
        return Err(unsupported("PKCE with S256"));
    }
    let endpoint = server.authorization_endpoint.as_deref();
    let endpoint =
        requests.fetcher.address(endpoint.ok_or_else(|| unsupported("the authorization code grant"))?)?;
    let redirect_uri = user_agent.redirect();
    let redirect_uri =
        RedirectUrl::new(redirect_uri.clone()).map_err(|_| FetchError::Address(redirect_uri))?;
    let token_endpoint = TokenEndpoint::at(requests, server, &found.resource, client)?;

    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let asked = with_offline(server, &requested);
    let oauth = BasicClient::new(ClientId::new(client.id.clone()))
        .set_auth_uri(AuthUrl::from_url(endpoint))
        .set_redirect_uri(redirect_uri.clone());
    let mut request = oauth
        .authorize_url(CsrfToken::new_random)
        .set_pkce_challenge(challenge)
        .add_scopes(asked.iter().map(|scope| Scope::new(scope.to_owned())))
        .add_extra_param("resource", &found.resource);
    if let Some(proofs) = &token_endpoint.requests.proofs {
        // A code that is stolen is of no use without the key then, either.
        request = request.add_extra_param("dpop_jkt", proofs.key.thumbprint());
    }
    if asked.contains(OFFLINE) {
        // OpenID Connect gives refresh tokens only with the user's consent.
        request = request.add_extra_param("prompt", "consent");
    }
    let (address, state) = request.url();
    tracing::debug!(issuer = server.issuer, scopes = %asked, "the user is sent to the authorization server");
    let returned = user_agent.send(address).await?;
    let code = code(&returned, state.secret(), server)?;
    token_endpoint.exchange(code, verifier, redirect_uri, requested).await
}

fn with_offline(server: &AuthorizationServer, requested: &Scopes) -> Scopes {
    let has_offline = server.scopes_supported.iter().flatten().any(|scope| scope == OFFLINE);
    if has_offline { requested.with(&Scopes::from(OFFLINE)) } else { requested.clone() }
}

/// Reads the code that the user came back with, if it is the answer to this request and of this authorization server.
fn code(returned: &Url, state: &str, server: &AuthorizationServer) -> Result<String, AuthorizationError> {
    let find = |name: &str| {
        let mut found = returned.query_pairs().filter(|(found, _)| found == name);
        let value = found.next().map(|(_, value)| value.into_owned());
        match found.next() {
            // What is there twice may be read in two ways.
            Some(_) => Err(AuthorizationError::Answer("a parameter is there twice")),
            None => Ok(value),
        }
    };
    if find("state")?.as_deref() != Some(state) {
        return Err(AuthorizationError::Answer("it belongs to another request: `state` is another one"));
    }
    // Before anything else of it is believed.
    match find("iss")? {
        Some(issuer) if issuer == server.issuer => {}
        Some(_) => {
            return Err(AuthorizationError::Answer(
                "it is that of another authorization server: `iss` is another one",
            ));
        }
        None if server.authorization_response_iss_parameter_supported => {
            return Err(AuthorizationError::Answer("it does not say whose it is: `iss` is missing"));
        }
        None => {}
    }
    if let Some(error) = find("error")? {
        return Err(AuthorizationError::Refused { error, description: find("error_description")? });
    }
    find("code")?.ok_or(AuthorizationError::Answer("it has no code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(query: &str, advertised: bool) -> Result<String, String> {
        let server = AuthorizationServer {
            issuer: "https://auth.example".to_owned(),
            authorization_response_iss_parameter_supported: advertised,
            ..AuthorizationServer::default()
        };
        let url = Url::parse(&format!("http://127.0.0.1:1/back?{query}")).unwrap();
        code(&url, "s", &server).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_is_believed_if_it_is_that_of_this_authorization_server() {
        assert_eq!(answer("code=c&state=s&iss=https%3A%2F%2Fauth.example", true).unwrap(), "c");
        assert_eq!(answer("code=c&state=s&iss=https%3A%2F%2Fauth.example", false).unwrap(), "c");
        assert_eq!(answer("code=c&state=s", false).unwrap(), "c");
        assert!(answer("code=c&state=s", true).unwrap_err().contains("`iss` is missing"));
        for other in
            ["https%3A%2F%2Fauth.example%2F", "https%3A%2F%2FAUTH.example", "https%3A%2F%2Fevil.example", ""]
        {
            let error = answer(&format!("code=c&state=s&iss={other}"), false).unwrap_err();
            assert!(error.contains("`iss` is another one"), "{error}");
        }
    }

    #[test]
    fn an_answer_that_is_not_to_this_request_is_not_used() {
        assert!(answer("code=c", false).unwrap_err().contains("`state`"));
        assert!(answer("code=c&state=t", false).unwrap_err().contains("`state`"));
        assert!(answer("code=c&code=d&state=s", false).unwrap_err().contains("twice"));
        assert!(answer("state=s", false).unwrap_err().contains("no code"));
    }

    #[test]
    fn an_error_is_shown_only_if_it_is_that_of_this_authorization_server() {
        let error = answer("error=access_denied&error_description=no&state=s", false).unwrap_err();
        assert_eq!(error, "the authorization server refused: access_denied: no");
        let error = answer("error=access_denied&error_description=no&state=s&iss=x", false).unwrap_err();
        assert!(!error.contains("access_denied"), "{error}");
    }
}
