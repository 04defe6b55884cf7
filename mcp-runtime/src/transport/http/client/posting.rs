//! Posts one message and reads its answer to the end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Body, Method, RequestBuilder, StatusCode};
use tokio::time::Instant;

use super::answer::{compressed, first_bytes, form, has_form, whole};
use super::conversation::Conversation;
use super::delivery::RunningPost;
use super::error::{HttpError, SAID, may_pass, not_delivered};
use super::events::EventReader;
use super::identity::{SessionIdentity, secret};
use super::message::PostMessage;
use super::reconnect::reconnect;
use super::response::Response;
use super::running::Over;
use super::sending::{LONG, MessageBody, SentBytes};
use super::unknown_session::UnknownSession;
use crate::error::{Error, ReconnectError};
use crate::jsonrpc::{ANY_DIALECT, Envelope, parse};
use crate::transport::http::headers::{EVENT_STREAM, JSON, LAST_EVENT_ID, SESSION_ID};

/// How long an answer is read on that is not awaited any more: reading it to its end keeps the connection for later
/// requests.
const END: Duration = Duration::from_secs(1);

/// Delivers one message, and its answer. A reply that is lost is sent again.
pub(super) async fn deliver(conversation: &Arc<Conversation>, message: &PostMessage) {
    let mut accepted = AcceptGuard { conversation, message: Some(message), taken: None };
    let running = RunningPost::new(conversation, message);
    let until = Instant::now().checked_add(conversation.options.post_within);
    let mut failures = 0;
    while let Err(error) = attempt(conversation, message, &mut accepted, &running).await {
        if !Box::pin(may_repeat(conversation, message, &error, failures, until)).await {
            return conversation.fail(message, error);
        }
        failures += 1;
    }
}

/// Sends a message, and reads its answer. The end of the session, or of what waits for the answer, is not an error.
async fn attempt(
    conversation: &Arc<Conversation>,
    message: &PostMessage,
    accepted: &mut AcceptGuard<'_>,
    running: &RunningPost<'_>,
) -> Result<(), Error> {
    let mut again = false;
    loop {
        let mut identity = conversation.identity(Some(message));
        // Its answer names the session.
        let opens = message.is_step()
            && !message.asks().is_empty()
            && identity.id.is_none()
            && conversation.provider.is_none()
            && !conversation.is_stateless;
        let naming = opens.then(|| conversation.naming.begin());
        let asked = {
            let posted = pin!(post(conversation, message, || accepted.body(message), &mut identity));
            let left = |over| match over {
                // The session that it begins is to be deleted.
                Over::NotAwaited if opens => conversation.options.delete_within,
                Over::NotAwaited | Over::Cancelled | Over::Late => Duration::ZERO,
                // It may yet be told that the session is lost, and is then made once more.
                Over::Reconnected => conversation.options.replay_within,
            };
            running.until_over(posted, left).await
        };
        let mut response = asked.unwrap_or_else(|over| Err(over.into()))?;
        let (status, epoch) = (response.status(), identity.epoch);
        let is_unknown = match conversation.unknown_session(&identity, &response) {
            Some(UnknownSession::ByStatus) => true,
            // Where another session has such an answer at once, it is about the message.
            Some(UnknownSession::ByText) => !again,
            None => false,
        };
        if is_unknown {
            if conversation.provider.is_some() {
                return Err(Error::SessionInvalid);
            }
            if std::mem::replace(&mut again, true) {
                conversation.invalid(ReconnectError::LostAgain);
                return Ok(());
            }
            // The call may have been dropped or cancelled meanwhile.
            if !Box::pin(reconnect(conversation, identity.epoch)).await
                || (!message.asks().is_empty() && !conversation.is_awaited(message))
            {
                return Ok(());
            }
            continue;
        }
        if status.is_success() {
            conversation.went_through.notify_waiters();
        }
        if status.is_success() && message.is_step() && conversation.provider.is_none() {
            note_session(conversation, message, &response);
            // Before the next message goes: it may be told that the session is lost.
            conversation.state().handshake.record(message);
        }
        if identity.id.is_none() && conversation.provider.is_none() {
            // It is the first message, whose answer has named the session.
            identity.id.clone_from(&conversation.state().identity.id);
        }
        drop(naming);
        accepted.tell();
        let answer = {
            let answer = pin!(answered(conversation, message, &identity, &mut response));
            let left = |over| match over {
                Over::NotAwaited => END,
                // It is an answer of the lost session, which nothing is taken from any more.
                Over::Reconnected | Over::Late => Duration::ZERO,
                // The server is to see it.
                Over::Cancelled => Duration::ZERO,
            };
            running.until_over(answer, left).await
        };
        if let Err(error) = answer.unwrap_or_else(|over| Err(over.into())) {
            // This reconnects. The call itself was made in the lost session.
            if matches!(error.http(), Some(HttpError::SessionReplaced))
                && !Box::pin(reconnect(conversation, epoch)).await
            {
                return Ok(());
            }
            return Err(error);
        }
        return Ok(());
    }
}

/// Whether a message that has failed is to be sent again, after a pause that ends in time: a reply may be, because the server knows its
/// request by the id and takes one reply to it. Without it the server, and the call in which it asks, would wait.
async fn may_repeat(
    conversation: &Conversation,
    message: &PostMessage,
    error: &Error,
    failures: usize,
    until: Option<Instant>,
) -> bool {
    let Some(failed) = error.http().filter(|failed| failed.is_passing()) else { return false };
    if !message.kind.is_reply() || conversation.reuses_ids {
        return false;
    }
    let was_cut = matches!(failed, HttpError::Request(failed) if !failed.is_connect());
    let pause = match failures {
        // Connections are kept, and this one may have been lost long ago.
        0 if was_cut => Duration::ZERO,
        _ => conversation.pause(error.retry_after(), failures),
    };
    if Instant::now().checked_add(pause).is_none_or(|then| until.is_some_and(|until| then >= until)) {
        return false;
    }
    tracing::debug!(%error, "a reply is sent again");
    pause.is_zero() || conversation.is_open_after(pause).await
}

impl From<Over> for Error {
    fn from(over: Over) -> Error {
        not_delivered(match over {
            Over::Reconnected => HttpError::SessionReplaced,
            Over::NotAwaited | Over::Cancelled => HttpError::NoReply,
            Over::Late => HttpError::Late,
        })
    }
}

/// Posts a message, and returns the head of the answer. A session provider names the session first.
async fn post(
    conversation: &Conversation,
    message: &PostMessage,
    mut body: impl FnMut() -> Body + Send,
    identity: &mut SessionIdentity,
) -> Result<Response, Error> {
    conversation.name(identity).await?;
    if message.is_lost(identity.epoch) {
        // What it is about was asked in a session that is lost; in this one its id means nothing, or something else.
        return Err(Over::Reconnected.into());
    }
    let repeated = message.repeated();
    let add = |request: RequestBuilder| request.body(body());
    conversation.send(Method::POST, identity, repeated, add).await.map_err(not_delivered)
}

/// Notes once that a message is no longer on its way, at the latest when its delivery is dropped.
struct AcceptGuard<'a> {
    conversation: &'a Arc<Conversation>,
    message: Option<&'a PostMessage>,
    /// How much of it the connection has taken already, where that is counted.
    taken: Option<Arc<SentBytes>>,
}

impl AcceptGuard<'_> {
    /// The message as the body of a request.
    fn body(&mut self, message: &PostMessage) -> Body {
        if message.text.len() < LONG {
            return message.text.clone().into();
        }
        // Only the first attempt to send it counts.
        let first = self.taken.is_none();
        let taken = Arc::clone(self.taken.get_or_insert_default());
        let conversation = Arc::clone(self.conversation);
        let taken = first.then_some(taken);
        Body::wrap(MessageBody { conversation, rest: message.text.clone(), taken })
    }

    fn tell(&mut self) {
        if let Some(message) = self.message.take() {
            let taken = self.taken.as_ref().map_or(0, |taken| taken.all());
            self.conversation.accepted(message, message.text.len().saturating_sub(taken));
        }
    }
}

impl Drop for AcceptGuard<'_> {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Reads what a POST was answered with.
async fn answered(
    conversation: &Arc<Conversation>,
    message: &PostMessage,
    identity: &SessionIdentity,
    response: &mut Response,
) -> Result<(), Error> {
    let status = response.status();
    if message.asks().is_empty() {
        return if status.is_success() {
            Ok(())
        } else {
            Box::pin(refused(conversation, message, identity, response)).await
        };
    }
    if !status.is_success() {
        Box::pin(refused(conversation, message, identity, response)).await?;
    } else if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
        return Err(not_delivered(HttpError::NoReply));
    } else if let Some(error) = compressed(response) {
        return Err(not_delivered(error));
    } else if has_form(response, JSON) {
        let body = whole(response, conversation.options.max_message_bytes).await.map_err(not_delivered)?;
        // That the call has its answer would wake this task once more.
        let woken = conversation.state().requests.answered(message.asks());
        drop(woken);
        hand_over(conversation, message, identity, &body);
    } else if has_form(response, EVENT_STREAM) {
        let stream = Box::pin(stream(conversation, message, identity, response));
        stream.await.map_err(not_delivered)?;
    } else {
        return Err(not_delivered(HttpError::Form(form(response).to_owned())));
    }
    if conversation.is_awaited(message) { Err(not_delivered(HttpError::NoReply)) } else { Ok(()) }
}

/// Hands a message of the server over, after a look at it if it may open the session.
fn hand_over(conversation: &Conversation, message: &PostMessage, identity: &SessionIdentity, came: &[u8]) {
    let opens = message.is_step() && conversation.provider.is_none() && !conversation.state().agreed;
    if opens && matches!(parse(came, usize::MAX, ANY_DIALECT), Ok(Envelope::Result { .. })) {
        // The endpoint is never asked under the lock, for it calls back.
        let version = conversation.endpoint.read_aside(came).version;
        let mut state = conversation.state();
        state.agreed = true;
        state.handshake.note_version(version.clone());
        let version = version.and_then(|text| text.parse().ok());
        state.identity.version = version.or(state.identity.version.take());
    }
    if message.lists_tools() {
        let learned = conversation.state().tools.learn(came);
        if let Some((without, problems)) = learned {
            problems.into_iter().for_each(|problem| conversation.undelivered(problem));
            return conversation.receive(&without, identity.epoch);
        }
    }
    conversation.receive(came, identity.epoch);
}

/// Keeps the id that the server has given the session.
fn note_session(conversation: &Conversation, message: &PostMessage, response: &Response) {
    let Some(id) = response.headers().get(SESSION_ID) else { return };
    // The endpoint is never asked under the lock, for it calls back.
    let requested = conversation.endpoint.read_aside(&message.text).requested;
    let mut state = conversation.state();
    if state.identity.id.is_some() {
        return;
    }
    state.identity.id = Some(secret(id));
    state.requested = requested.and_then(|version| version.parse().ok());
    drop(state);
    conversation.tell_session(Some(id));
}

/// Reads why a message was refused. If it is an error for the request itself, the session gets it.
async fn refused(
    conversation: &Conversation,
    message: &PostMessage,
    identity: &SessionIdentity,
    response: &mut Response,
) -> Result<(), Error> {
    let failure = conversation.failure(response, identity);
    let is_json = has_form(response, JSON);
    let most = if is_json { conversation.options.max_message_bytes } else { SAID };
    let body = first_bytes(response, most).await;
    // A call that the server has no room for has not reached it. Of a step the session may go on from where it was.
    let not_taken = !message.is_step() && is_no_room(response.status());
    if let (true, [id]) = (is_json && !not_taken, message.asks()) {
        let own = mcp_protocol_machine::RequestId::Number(*id);
        if matches!(parse(&body, usize::MAX, ANY_DIALECT), Ok(Envelope::Error { id, .. }) if id == own) {
            conversation.receive(&body, identity.epoch);
            return Ok(());
        }
    }
    Err(not_delivered(failure.saying(&body)))
}

/// Whether a status says that a request was not taken, and may be taken later.
fn is_no_room(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

/// Reads a stream until the reply has come, and takes it up where it was if it is cut.
async fn stream(
    conversation: &Arc<Conversation>,
    message: &PostMessage,
    identity: &SessionIdentity,
    response: &mut Response,
) -> Result<(), HttpError> {
    let mut resumed = true;
    let mut last: Option<HeaderValue> = None;
    let mut retry = None;
    let mut failures = 0;
    let mut outcome = Err(HttpError::NoReply);
    loop {
        if std::mem::take(&mut resumed) {
            let mut events = EventReader::new(conversation.options.max_message_bytes);
            let mut came = false;
            outcome = read(conversation, message, identity, response, &mut events, &mut came).await;
            if let Err(error @ HttpError::TooLong(_)) = outcome {
                return Err(error);
            }
            if outcome.is_ok() || came || events.last_id.is_some() {
                // A server may end a stream as often as it likes, and have its client come back for the answer.
                failures = 0;
            }
            // An answer without a session is not kept for anyone who comes back.
            last = events.last_id.or(last).filter(|_| !conversation.is_stateless);
            retry = events.retry.or(retry);
        }
        if !conversation.is_awaited(message) {
            return Ok(());
        }
        let Some(last) = last.as_ref().filter(|_| failures < conversation.options.resume_attempts) else {
            return outcome.and(Err(HttpError::NoReply));
        };
        tokio::time::sleep(conversation.pause(retry, failures)).await;
        failures += 1;
        // Event ids mean something in the session that they came in only.
        let resuming =
            conversation.send(Method::GET, identity, &[], |request| request.header(LAST_EVENT_ID, last));
        match resuming.await {
            Ok(answer) if answer.status().is_success() && has_form(&answer, EVENT_STREAM) => {
                *response = answer;
                resumed = true;
            }
            // The server has lost the session in which the answer was to come.
            Ok(answer)
                if conversation.provider.is_none()
                    && conversation.unknown_session(identity, &answer).is_some() =>
            {
                return Err(HttpError::SessionReplaced);
            }
            Ok(mut answer) => {
                let (status, failure) = (answer.status(), conversation.failure(&answer, identity));
                let failure = failure.saying(&first_bytes(&mut answer, SAID).await);
                if !may_pass(status) {
                    return Err(failure);
                }
                outcome = Err(failure);
            }
            Err(error) => outcome = Err(error),
        }
    }
}

/// Reads one connection's part of a stream, to its end.
async fn read(
    conversation: &Arc<Conversation>,
    message: &PostMessage,
    identity: &SessionIdentity,
    response: &mut Response,
    events: &mut EventReader,
    came: &mut bool,
) -> Result<(), HttpError> {
    while let Some(piece) = response.chunk().await? {
        events.feed(&piece, |data| {
            if !data.is_empty() {
                *came = true;
                hand_over(conversation, message, identity, data);
            }
        })?;
    }
    Ok(())
}
