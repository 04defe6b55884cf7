//! [`Response`]: an answer of a server, whichever way its request took.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use reqwest::header::HeaderMap;
use reqwest::{Body, StatusCode};

use super::request_error::RequestError;

/// An answer of a server: its head, and the body as it comes.
pub(super) struct Response {
    status: StatusCode,
    headers: HeaderMap,
    /// What was read of the body to look at it, and is read again.
    peeked: Bytes,
    body: ComingBody,
}

/// The body of an answer, by the way that it takes.
enum ComingBody {
    Direct(Incoming),
    OfClient(Body),
}

impl Response {
    fn new<B>(response: hyper::Response<B>, coming: fn(B) -> ComingBody) -> Response {
        let (head, body) = response.into_parts();
        Response { status: head.status, headers: head.headers, peeked: Bytes::new(), body: coming(body) }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Drops the headers, which take memory.
    pub(super) fn forget_headers(&mut self) {
        self.headers = HeaderMap::new();
    }

    /// Looks at the beginning of the body, as far as it comes: at least so many bytes of it. It is still read as the rest is.
    pub(super) async fn peek(&mut self, least: usize) {
        let mut peeked = Vec::new();
        while peeked.len() < least
            && let Ok(Some(piece)) = self.chunk().await
        {
            peeked.extend_from_slice(&piece);
        }
        self.peeked = peeked.into();
    }

    /// What was looked at, and has not been read.
    pub(super) fn peeked(&self) -> &[u8] {
        &self.peeked
    }

    /// Waits for the next piece of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, RequestError> {
        if !self.peeked.is_empty() {
            return Ok(Some(std::mem::take(&mut self.peeked)));
        }
        loop {
            let Some(frame) = poll_fn(|context| self.body.poll_frame(context)).await else { return Ok(None) };
            // What follows a body does not belong to it, and says nothing here.
            if let Ok(piece) = frame?.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}

impl ComingBody {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, RequestError>>> {
        match self {
            ComingBody::Direct(body) => {
                Pin::new(body).poll_frame(context).map(|frame| frame.map(|frame| Ok(frame?)))
            }
            ComingBody::OfClient(body) => {
                Pin::new(body).poll_frame(context).map(|frame| frame.map(|frame| Ok(frame?)))
            }
        }
    }
}

impl From<reqwest::Response> for Response {
    fn from(response: reqwest::Response) -> Response {
        Response::new(response.into(), ComingBody::OfClient)
    }
}

impl From<hyper::Response<Incoming>> for Response {
    fn from(response: hyper::Response<Incoming>) -> Response {
        Response::new(response, ComingBody::Direct)
    }
}
