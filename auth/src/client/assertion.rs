//! The grants of [`TokenEndpoint`] in which a JWT of another issuer says who the client acts for.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use oauth2::basic::{BasicErrorResponse, BasicTokenResponse};
use oauth2::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use oauth2::http::{HeaderValue, Method, Request};
use oauth2::{AsyncHttpClient, RequestTokenError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::error::AuthorizationError;
use super::fetch::FetchError;
use super::grant::{Grant, Origin, TokenEndpoint, TokenError};
use super::identity::{Credential, SecretIn};
use crate::scopes::Scopes;
use crate::secret::Secret;

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The answer to a token exchange (RFC 8693). `token_type` says nothing here, because what was issued is
/// not an access token.
#[derive(Deserialize)]
struct Exchanged {
    access_token: Secret,
    issued_token_type: String,
}

impl TokenEndpoint<'_> {
    /// Gets a token for whom an assertion says (RFC 7523). An assertion that is refused is not sent again.
    pub(super) async fn by_assertion(
        &self,
        assertion: &Secret,
        requested: Scopes,
    ) -> Result<Grant, AuthorizationError> {
        let form = [("grant_type", JWT_BEARER), ("assertion", assertion.expose())];
        let response = self.post::<BasicTokenResponse>(&form, &requested).await;
        self.granted(response, requested, Origin::Issued, None)
    }

    /// Exchanges the ID token of a user for an identity assertion authorization grant, which that authorization server takes
    /// as an assertion.
    pub(super) async fn id_jag(
        &self,
        id_token: &Secret,
        authorization_server: &str,
        requested: &Scopes,
    ) -> Result<Secret, AuthorizationError> {
        let form = [
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", authorization_server),
            ("subject_token", id_token.expose()),
            ("subject_token_type", ID_TOKEN),
        ];
        let exchanged = self.post::<Exchanged>(&form, requested).await.map_err(|error| self.failed(error))?;
        if exchanged.issued_token_type == ID_JAG {
            return Ok(exchanged.access_token);
        }
        let (issuer, found) = (self.issuer.to_owned(), exchanged.issued_token_type);
        Err(AuthorizationError::OtherTokenType { issuer, found })
    }

    /// Makes a request that the `oauth2` crate does not know, as that crate makes its own.
    async fn post<T: DeserializeOwned>(
        &self,
        form: &[(&str, &str)],
        requested: &Scopes,
    ) -> Result<T, TokenError> {
        let request = self.request(form, requested).map_err(RequestTokenError::Request)?;
        let response = self.requests.call(request).await.map_err(RequestTokenError::Request)?;
        let (body, unreadable) = (response.body(), || RequestTokenError::Other(String::new()));
        if response.status().is_success() {
            return serde_json::from_slice(body).map_err(|_| unreadable());
        }
        let refused = serde_json::from_slice::<BasicErrorResponse>(body).map_err(|_| unreadable())?;
        Err(RequestTokenError::ServerResponse(refused))
    }

    fn request(
        &self,
        form: &[(&str, &str)],
        requested: &Scopes,
    ) -> Result<Request<Vec<u8>>, AuthorizationError> {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form).extend_pairs(self.extra()?);
        if !requested.is_empty() {
            body.append_pair("scope", &requested.to_string());
        }
        let id = &self.client.id;
        let mut in_header = None;
        match &self.client.credential {
            Credential::Public | Credential::Key(_) => {
                body.append_pair("client_id", id);
            }
            Credential::Secret(secret, place) => match place.unwrap_or(self.secret_in) {
                SecretIn::Header => in_header = Some(basic(id, secret)),
                SecretIn::Body => {
                    body.append_pair("client_id", id).append_pair("client_secret", secret.expose());
                }
            },
        }
        let url = self.requests.fetcher.address(self.endpoint)?;
        let mut request = Request::new(body.finish().into_bytes());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.as_str().parse().map_err(|_| FetchError::Address(url.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(mut value) = in_header.and_then(|text| HeaderValue::from_str(&text).ok()) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(request)
    }
}

/// The value of `Authorization` for `client_secret_basic`: both parts are encoded as in a form (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &Secret) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(id), encoded(secret.expose()));
    format!("Basic {}", BASE64_STANDARD.encode(both))
}
