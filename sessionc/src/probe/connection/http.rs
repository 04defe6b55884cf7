//! A server of Streamable HTTP: each message is a POST, whose answer has messages of the server. Others may come in the stream
//! that a GET opens.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::arrival::{Arrival, Ending, READ_AHEAD, Rejection};
use crate::content_kind::{ContentKind, mistake_of_kind};
use crate::event_stream::{EventCutter, Piece};
use crate::probe::head::{Head, REVISION, SESSION, repeated};

/// The most bytes of one answer, or of one event.
const LONGEST: usize = 64 << 20;

/// How long the stream of a session that was deleted is read on, if the server does not end it; and how long the
/// session waits for the head of the answer to the GET before it is deleted.
const SETTLED: Duration = Duration::from_millis(100);

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
    answers: mpsc::Sender<Read>,
    arrivals: mpsc::Receiver<Read>,
    sent: u64,
    stream: SessionStream,
    /// What reads the stream, and what deletes the session in the end. It stops with the session.
    work: JoinSet<()>,
}

/// How far the stream of a session is.
#[derive(Debug, Default)]
enum SessionStream {
    /// It was not asked for.
    #[default]
    Unasked,
    /// The server is asked for it.
    Asked(Arc<StreamEvents>),
    /// The session is being deleted, and only what still comes is read.
    Closing,
}

/// What the tasks of a stream wait for. Each comes once.
#[derive(Debug, Default)]
struct StreamEvents {
    /// The server has answered the GET, or cannot be reached.
    opened: Notify,
    /// The server has answered the DELETE.
    deleted: Notify,
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
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::custom(redirect))
            .build()
            .map_err(io::Error::other)?;
        let (answers, arrivals) = mpsc::channel(READ_AHEAD);
        let (headers, stream, work) = (HeaderMap::new(), SessionStream::default(), JoinSet::new());
        Ok(Http { client, url: url.to_owned(), headers, answers, arrivals, sent: 0, stream, work })
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
            let ending = match request.send().await {
                Ok(response) => {
                    read(response, number, &answers).await.map_err(|error| Ending::CutOff(reason(&error)))
                }
                Err(error) if error.is_connect() => Err(Ending::Unreachable(reason(&error))),
                Err(error) => Err(Ending::CutOff(reason(&error))),
            };
            let last = ending.unwrap_or_else(Arrival::Ended);
            // The session may be over already.
            let _ = answers.send(Read::Arrival(last)).await;
        });
        self.sent
    }

    pub(super) fn has_session(&self) -> bool {
        self.headers.contains_key(SESSION)
    }

    /// Whether the server was asked for the stream of the session, in which messages may come at any time.
    pub(super) fn has_stream(&self) -> bool {
        !matches!(self.stream, SessionStream::Unasked)
    }

    pub(super) fn note_version(&mut self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.headers.insert(REVISION, version);
        }
    }

    /// Waits for what comes next. Where the session is being deleted, it ends when its stream has.
    pub(super) async fn receive(&mut self) -> Arrival {
        loop {
            let read = tokio::select! {
                biased;
                // This side holds a sender, so the queue does not end.
                Some(read) = self.arrivals.recv() => read,
                () = all_done(&mut self.work, &self.stream) => return Arrival::Ended(Ending::Closed),
            };
            match read {
                Read::Session(id) => drop(self.headers.insert(SESSION, id)),
                Read::Arrival(arrival) => {
                    if let Arrival::Finished(2..) | Arrival::Rejected(2.., _) = arrival {
                        self.listen();
                    }
                    return arrival;
                }
            }
        }
    }

    /// Asks for the stream of the session, as clients do once it is open. Not every server has one.
    fn listen(&mut self) {
        if !self.has_session() || !matches!(self.stream, SessionStream::Unasked) {
            return;
        }
        let events = Arc::new(StreamEvents::default());
        self.stream = SessionStream::Asked(Arc::clone(&events));
        let request = self.client.get(&self.url).header(ACCEPT, "text/event-stream");
        let (request, answers) = (request.headers(self.headers.clone()), self.answers.clone());
        self.work.spawn(async move {
            let reading = async {
                let response = request.send().await;
                events.opened.notify_one();
                if let Ok(response) = response
                    && response.status().is_success()
                    && is_stream(&response)
                {
                    // Where it ends, the session goes on.
                    let _ = read(response, STREAM, &answers).await;
                }
            };
            tokio::select! {
                () = reading => {}
                () = async { events.deleted.notified().await; sleep(SETTLED).await } => {}
            }
        });
    }

    /// Deletes the session; not every server permits that. What the server has sent until then still arrives.
    pub(super) fn close(&mut self) {
        let before = std::mem::replace(&mut self.stream, SessionStream::Closing);
        if !self.has_session() {
            return;
        }
        let delete = self.client.delete(&self.url).headers(self.headers.clone());
        self.work.spawn(async move {
            let events = match before {
                SessionStream::Asked(events) => Some(events),
                SessionStream::Unasked | SessionStream::Closing => None,
            };
            if let Some(events) = &events {
                // A server that has deleted the session refuses to open its stream.
                let _ = timeout(SETTLED, events.opened.notified()).await;
            }
            // The session is over, whatever the server says.
            let _ = delete.send().await;
            if let Some(events) = events {
                events.deleted.notify_one();
            }
        });
    }
}

/// Waits until a session is deleted and its stream has ended.
async fn all_done(work: &mut JoinSet<()>, stream: &SessionStream) {
    if !matches!(stream, SessionStream::Closing) {
        pending::<()>().await;
    }
    while work.join_next().await.is_some() {}
}

/// How many times a message is redirected.
const REDIRECTED: usize = 5;

/// Follows where a server redirects to with the message, and not without it, as 301, 302 and 303 would have it.
fn redirect(attempt: Attempt<'_>) -> Action {
    let keeps_message =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let is_reachable = attempt.url().scheme() == "http" || cfg!(feature = "tls");
    match keeps_message && is_reachable && attempt.previous().len() <= REDIRECTED {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

/// Whether an answer is a stream of events.
fn is_stream(response: &Response) -> bool {
    ContentKind::of(response.headers()) == ContentKind::Events
}

/// Reads an answer. Returns what is to be said last.
async fn read(
    mut response: Response,
    number: u64,
    answers: &mpsc::Sender<Read>,
) -> Result<Arrival, reqwest::Error> {
    let status = response.status();
    let is_stream = is_stream(&response);
    let is_other = ContentKind::of(response.headers()) == ContentKind::Other;
    let mistake = is_other.then(|| mistake_of_kind(response.headers()));
    let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
    let location = location.map(|location| String::from_utf8_lossy(location.as_bytes()).into_owned());
    if let Some(id) = response.headers().get(SESSION).filter(|_| status.is_success()) {
        let _ = answers.send(Read::Session(id.clone())).await;
    }
    let (mut events, mut body) = (EventCutter::new(LONGEST), Vec::new());
    let too_long = || Ok(Arrival::Ended(Ending::Unreadable("an answer is too long".to_owned())));
    while let Some(piece) = response.chunk().await? {
        if is_stream && status.is_success() {
            for piece in events.feed(&piece) {
                let Piece::Event { event, .. } = piece else { return too_long() };
                if let Some(message) = event.content()
                    && answers.send(Read::Arrival(Arrival::Message(number, message.to_vec()))).await.is_err()
                {
                    // The session is over, and the stream may have no end.
                    return Ok(Arrival::Finished(number));
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
        return Ok(Arrival::Rejected(number, Rejection { status: status.as_u16(), location, body }));
    }
    if !body.trim_ascii().is_empty() {
        if let Some(mistake) = mistake {
            let _ = answers.send(Read::Arrival(Arrival::OtherKind(number, mistake))).await;
        }
        let _ = answers.send(Read::Arrival(Arrival::Message(number, body))).await;
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
