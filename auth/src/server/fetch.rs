//! Requests of the resource to its authorization server.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::validator::TokenError;

/// The longest answer that is read, in bytes.
const MOST: usize = 256 * 1024;

/// How long a request may take.
const WITHIN: Duration = Duration::from_secs(10);

/// The connections to authorization servers. No redirect is followed: it would carry tokens to another host.
pub(super) fn connections(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, reqwest::Error> {
    builder.redirect(reqwest::redirect::Policy::none()).build()
}

/// Sends a request, and reads the JSON of the answer.
pub(super) async fn json<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, TokenError> {
    let answered = async {
        let mut response = request.send().await.map_err(reached)?;
        if !response.status().is_success() {
            let status = response.status();
            return Err(TokenError::unavailable(format!(
                "the authorization server answered with status {status}"
            )));
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(reached)? {
            if body.len().saturating_add(piece.len()) > MOST {
                return Err(TokenError::unavailable(
                    "the authorization server answered with more than 256 KiB",
                ));
            }
            body.extend_from_slice(&piece);
        }
        serde_json::from_slice(&body)
            .map_err(|_| TokenError::unavailable("the authorization server answered with something else"))
    };
    let late = || Err(TokenError::unavailable("the authorization server did not answer within 10 seconds"));
    tokio::time::timeout(WITHIN, answered).await.unwrap_or_else(|_| late())
}

fn reached(error: reqwest::Error) -> TokenError {
    TokenError::unavailable(error.without_url())
}
