//! Reads the head and the body of an HTTP answer.

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::error::HttpError;
use super::response::Response;
use crate::transport::http::pieces::Pieces;

/// The form of an answer, without its parameters.
pub(super) fn form(response: &Response) -> &str {
    let form = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    form.split(';').next().unwrap_or_default().trim()
}

/// Whether that is the form of an answer.
pub(super) fn has_form(response: &Response, expected: &str) -> bool {
    // Most servers write it in the same word, which need not be taken apart.
    let in_this_word = response.headers().get(CONTENT_TYPE).is_some_and(|said| said == expected);
    in_this_word || form(response).eq_ignore_ascii_case(expected)
}

/// Why an answer cannot be read that is compressed, which no request asks for.
pub(super) fn compressed(response: &Response) -> Option<HttpError> {
    let encoding = String::from_utf8_lossy(response.headers().get(CONTENT_ENCODING)?.as_bytes());
    let is_plain = encoding.trim().is_empty() || encoding.trim().eq_ignore_ascii_case("identity");
    (!is_plain).then(|| HttpError::Encoding(encoding.into_owned()))
}

/// Reads an answer to its end.
pub(super) async fn whole(response: &mut Response, most: usize) -> Result<Bytes, HttpError> {
    let mut pieces = Pieces::default();
    while let Some(piece) = response.chunk().await? {
        if !pieces.add(piece, most) {
            return Err(HttpError::TooLong(most));
        }
    }
    Ok(pieces.whole())
}

/// Reads what a server says with a failure, as far as it comes and up to so many bytes.
pub(super) async fn first_bytes(response: &mut Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = most.saturating_sub(body.len());
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if piece.len() >= room {
            break;
        }
    }
    body
}
