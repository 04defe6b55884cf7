//! [`Way`]: how the requests of a client get to its server.

use std::future::Future;
use std::pin::Pin;

use hyper_util::client::legacy::ResponseFuture;
use reqwest::{RequestBuilder, Url};

use super::connections::HttpConnections;
use super::direct::DirectServer;
use super::error::HttpError;
use super::response::Response;

/// The way to a server.
pub(super) struct Way {
    client: reqwest::Client,
    /// The server itself, if it is reached without the client.
    direct: Option<DirectServer>,
}

/// A request on one of the ways.
enum SentRequest {
    Direct(reqwest::Result<ResponseFuture>),
    ByClient(Pin<Box<dyn Future<Output = reqwest::Result<reqwest::Response>> + Send>>),
}

impl Way {
    pub(super) fn to(url: &Url, connections: HttpConnections) -> Way {
        let HttpConnections { client, direct } = connections;
        Way { client, direct: direct.and_then(|direct| direct.to(url)) }
    }

    /// A request, to be changed and [sent](Self::send).
    pub(super) fn prepare(&self, request: reqwest::Request) -> RequestBuilder {
        RequestBuilder::from_parts(self.client.clone(), request)
    }

    /// Sends a request to the server, and waits for the head of its answer. What waits does not hold the request.
    pub(super) fn send(
        &self,
        request: RequestBuilder,
    ) -> impl Future<Output = Result<Response, HttpError>> + Send + use<> {
        let sent = match &self.direct {
            Some(server) => SentRequest::Direct(request.build().map(|request| server.send(request))),
            None => SentRequest::ByClient(Box::pin(request.send())),
        };
        async move {
            match sent {
                SentRequest::Direct(answer) => Ok(answer?.await?.into()),
                SentRequest::ByClient(answer) => Ok(answer.await?.into()),
            }
        }
    }
}
