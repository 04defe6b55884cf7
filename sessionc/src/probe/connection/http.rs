//! A server of Streamable HTTP: each message is a POST, whose answer has messages of the server. Others may come in the stream
//! that a GET opens.

use std::io;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::arrival::{Arrival, Ending, Rejection};
use crate::event_stream::{EventCutter, Piece};
use crate::probe::head::{Head, REVISION, SESSION, repeated};

/// The most bytes of one answer, or of one event.
const LONGEST: usize = 64 << 20;

/// What stands for the number of the sending where a message comes in the stream of the session.
const STREAM: u64 = u64::MAX;

/// A session over HTTP.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
    url: String,
    /// The id of the session and the version, once they are known.
    headers: HeaderMap,
    /// For the tasks that read the answers.
    answers: mpsc::UnboundedSender<Read>,
    arrivals: mpsc::UnboundedReceiver<Read>,
    sent: u64,
    /// What reads the stream of the session, once that is asked for. It ends with the session.
    stream: JoinSet<()>,
}

/// What the task of a POST has read.
#[derive(Debug)]
enum Read {
    Session(HeaderValue),
    Arrival(Arrival),
}

impl Http {
    /// A session that is not opened yet.
    ///
    /// # Errors
    /// If the HTTP client cannot be made.
    pub(super) fn new(url: &str) -> io::Result<Http> {
        // Each session has connections of its own, as each client has.
        let client = Client::builder().no_proxy().build().map_err(io::Error::other)?;
        // What a server sends is limited for each answer, and a session has a few of them.
        let (answers, arrivals) = mpsc::unbounded_channel();
        let (headers, stream) = (HeaderMap::new(), JoinSet::new());
        Ok(Http { client, url: url.to_owned(), headers, answers, arrivals, sent: 0, stream })
    }

    /// The head of a request that carries a message.
    fn head(&self, message: &[u8]) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(repeated(message));
        headers
    }

    /// Whether a head can be wrong in this way here.
    pub(super) fn can_change(&self, message: &[u8], change: Head) -> bool {
        change.change(&mut self.head(message))
    }

    /// Sends bytes with their head, or with that of `like`; it may be wrong in some way.
    pub(super) fn send(&mut self, bytes: Vec<u8>, like: Option<&str>, change: Option<Head>) -> u64 {
        self.sent += 1;
        let mut headers = self.head(like.map_or(&bytes, str::as_bytes));
        if let Some(change) = change {
            change.change(&mut headers);
        }
        let request = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .headers(headers)
            .body(bytes);
        let (answers, number) = (self.answers.clone(), self.sent);
        tokio::spawn(async move {
            let last = match request.send().await {
                Ok(response) => read(response, number, &answers).await,
                Err(error) => Err(error),
            };
            let last = last.unwrap_or_else(|error| Arrival::Ended(Ending::Unreachable(reason(&error))));
            // The session may be over already.
            let _ = answers.send(Read::Arrival(last));
        });
        self.sent
    }

    pub(super) fn has_session(&self) -> bool {
        self.headers.contains_key(SESSION)
    }

    pub(super) fn note_version(&mut self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.headers.insert(REVISION, version);
        }
    }

    pub(super) async fn receive(&mut self) -> Arrival {
        loop {
            match self.arrivals.recv().await {
                Some(Read::Session(id)) => drop(self.headers.insert(SESSION, id)),
                Some(Read::Arrival(arrival)) => {
                    if let Arrival::Finished(2..) | Arrival::Rejected(2.., _) = arrival {
                        self.listen();
                    }
                    return arrival;
                }
                // This side holds a sender, so the queue does not end.
                None => return Arrival::Ended(Ending::Closed),
            }
        }
    }

    /// Asks for the stream of the session, as clients do once it is open. Not every server has one.
    fn listen(&mut self) {
        if !self.has_session() || !self.stream.is_empty() {
            return;
        }
        let request = self.client.get(&self.url).header(ACCEPT, "text/event-stream");
        let (request, answers) = (request.headers(self.headers.clone()), self.answers.clone());
        self.stream.spawn(async move {
            if let Ok(response) = request.send().await
                && response.status().is_success()
                && is_stream(&response)
            {
                // Where it ends, the session goes on.
                let _ = read(response, STREAM, &answers).await;
            }
        });
    }

    /// Deletes the session; not every server permits that.
    pub(super) async fn end(mut self, deadline: Instant) {
        self.stream.abort_all();
        if self.has_session() {
            let delete = self.client.delete(&self.url).headers(self.headers).send();
            let _ = timeout_at(deadline, delete).await;
        }
    }
}

/// Whether an answer is a stream of events.
fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.to_str().is_ok_and(|kind| kind.starts_with("text/event-stream")))
}

/// Reads an answer. Returns what is to be said last.
async fn read(
    mut response: Response,
    number: u64,
    answers: &mpsc::UnboundedSender<Read>,
) -> Result<Arrival, reqwest::Error> {
    let status = response.status();
    let is_stream = is_stream(&response);
    if let Some(id) = response.headers().get(SESSION).filter(|_| status.is_success()) {
        let _ = answers.send(Read::Session(id.clone()));
    }
    let (mut events, mut body) = (EventCutter::new(LONGEST), Vec::new());
    let too_long = || Ok(Arrival::Ended(Ending::Unreadable("an answer is too long".to_owned())));
    while let Some(piece) = response.chunk().await? {
        if is_stream && status.is_success() {
            for piece in events.feed(&piece) {
                let Piece::Event { event, .. } = piece else { return too_long() };
                if let Some(message) = event.content() {
                    let _ = answers.send(Read::Arrival(Arrival::Message(number, message.to_vec())));
                }
            }
        } else {
            body.extend_from_slice(&piece);
        }
        if body.len() > LONGEST {
            return too_long();
        }
    }
    if !status.is_success() {
        return Ok(Arrival::Rejected(number, Rejection { status: status.as_u16(), body }));
    }
    if !body.trim_ascii().is_empty() {
        let _ = answers.send(Read::Arrival(Arrival::Message(number, body)));
    }
    Ok(Arrival::Finished(number))
}

/// The innermost reason of an error, which says most.
fn reason(error: &reqwest::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}
