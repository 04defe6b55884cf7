//! Reconnects a session that the server has lost. Calls that find the loss together share one reconnection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderValue;

use super::answer::{compressed, first_bytes, form, has_form, whole};
use super::conversation::Conversation;
use super::error::{HttpError, may_pass, not_delivered};
use super::events::EventReader;
use super::identity::{SessionIdentity, secret};
use super::message::PostMessage;
use super::response::Response;
use crate::driver::Epoch;
use crate::error::{Error, ReconnectError};
use crate::jsonrpc::{ANY_DIALECT, Envelope, parse};
use crate::transport::http::headers::{EVENT_STREAM, JSON, SESSION_ID};

/// Reconnects, unless another task has done so since this epoch. If that fails the session ends, and the engine learns
/// the reason before another task may try.
pub(super) async fn reconnect(conversation: &Arc<Conversation>, lost: Epoch) -> bool {
    let _alone = conversation.reconnecting.lock().await;
    let opened = reconnect_alone(conversation, lost).await;
    if let Err(error) = opened {
        conversation.invalid(error);
        return false;
    }
    true
}

async fn reconnect_alone(conversation: &Arc<Conversation>, lost: Epoch) -> Result<(), ReconnectError> {
    let (said, agreed) = {
        let state = conversation.state();
        if state.identity.epoch > lost {
            return Ok(());
        }
        state.handshake.repeatable().ok_or(ReconnectError::NotRepeatable)?
    };
    let mut last = undelivered(HttpError::Late).error;
    let begun = begin_when_possible(conversation, &said, agreed.as_deref(), &mut last);
    let begun = tokio::time::timeout(conversation.options.reconnect_within, begun).await;
    match begun.unwrap_or(Err(last)) {
        Ok((mut identity, opened)) => {
            identity.epoch = lost.next();
            let (request, reply) = opened.map(|(request, reply)| (request.text, reply)).unwrap_or_default();
            conversation.reconnected(identity, &request, &reply);
            Ok(())
        }
        Err(error) => {
            // The session ends with that, so a waiting task does not try again.
            conversation.state().handshake.not_repeatable();
            Err(error)
        }
    }
}

/// Repeats the handshake, until a server takes it that cannot be reached or has no room at first: it may be starting,
/// or another one that takes its place. `last` is why it has not been taken yet.
async fn begin_when_possible(
    conversation: &Conversation,
    said: &[PostMessage],
    agreed: Option<&str>,
    last: &mut ReconnectError,
) -> Result<Begun, ReconnectError> {
    let mut failures = 0;
    loop {
        match begin(conversation, said, agreed).await {
            Ok(begun) => return Ok(begun),
            // A session that was begun in part is not left to the server.
            Err(failed) if !failed.may_pass || conversation.state().begun.is_some() => {
                return Err(failed.error);
            }
            Err(failed) => {
                tracing::debug!(error = %failed.error, "the handshake is repeated later");
                *last = failed.error;
                tokio::time::sleep(conversation.pause(failed.retry_after, failures)).await;
                failures += 1;
            }
        }
    }
}

/// The new identity of the session, and the first request with its reply.
type Begun = (SessionIdentity, Option<(PostMessage, Bytes)>);

/// Why a handshake was not repeated.
struct Failed {
    error: ReconnectError,
    /// Whether the next attempt may succeed.
    may_pass: bool,
    /// How long the server wants the client to wait before that.
    retry_after: Option<Duration>,
}

impl From<ReconnectError> for Failed {
    fn from(error: ReconnectError) -> Failed {
        Failed { error, may_pass: false, retry_after: None }
    }
}

/// Repeats the handshake.
async fn begin(
    conversation: &Conversation,
    said: &[PostMessage],
    agreed: Option<&str>,
) -> Result<Begun, Failed> {
    let mut identity = SessionIdentity::default();
    let mut opened: Option<(PostMessage, Bytes)> = None;
    for message in said {
        let said = message.text.clone();
        let naming = (!message.asks().is_empty()).then(|| conversation.naming.begin());
        let response =
            conversation.send(Method::POST, &identity, &[], |request| request.body(said.clone())).await;
        let mut response = response.map_err(undelivered)?;
        let status = response.status();
        if conversation.unknown_session(&identity, &response).is_some() {
            return Err(ReconnectError::LostAgain.into());
        }
        if !status.is_success() {
            let failure = conversation.failure(&response, &identity);
            let retry_after = failure.retry_after;
            let body = first_bytes(&mut response, conversation.options.max_message_bytes).await;
            let failed = match parse(&body, usize::MAX, ANY_DIALECT) {
                Ok(Envelope::Error { error, .. }) => ReconnectError::Refused(error).into(),
                _ => undelivered(failure.saying(&body)),
            };
            return Err(Failed { may_pass: may_pass(status), retry_after, ..failed });
        }
        let &[id] = message.asks() else { continue };
        if let Some(named) = response.headers().get(SESSION_ID) {
            identity.id = Some(secret(named));
            // Whatever becomes of it, it is not left to the server.
            let version = agreed.and_then(|agreed| agreed.parse().ok());
            conversation.state().begun = Some(SessionIdentity { version, ..identity.clone() });
        }
        drop(naming);
        let reply = reply(conversation, &identity, id, &mut response).await.map_err(undelivered)?;
        match parse(&reply, usize::MAX, ANY_DIALECT) {
            Ok(Envelope::Result { .. }) => {}
            Ok(Envelope::Error { error, .. }) => return Err(ReconnectError::Refused(error).into()),
            _ => return Err(undelivered(HttpError::NoReply)),
        }
        if opened.is_none()
            && let Some(now) = conversation.endpoint.read_aside(&reply).version
        {
            if let Some(before) = agreed.filter(|before| *before != now) {
                return Err(ReconnectError::OtherVersion { before: before.to_owned(), now }.into());
            }
            identity.version = HeaderValue::from_str(&now).ok();
        }
        opened.get_or_insert_with(|| (message.clone(), reply));
    }
    Ok((identity, opened))
}

fn undelivered(error: HttpError) -> Failed {
    let may_pass = error.may_pass();
    let error = match not_delivered(error) {
        Error::NotDelivered(error) => ReconnectError::NotDelivered(error),
        _ => ReconnectError::NotRepeatable,
    };
    Failed { may_pass, ..error.into() }
}

/// Reads the reply to a request. Of what comes with it the session has had its own the first time; but a server may
/// wait for an answer to what it asks.
async fn reply(
    conversation: &Conversation,
    identity: &SessionIdentity,
    id: i64,
    response: &mut Response,
) -> Result<Bytes, HttpError> {
    let most = conversation.options.max_message_bytes;
    if let Some(error) = compressed(response) {
        return Err(error);
    }
    if has_form(response, JSON) {
        return whole(response, most).await;
    }
    if !has_form(response, EVENT_STREAM) {
        return Err(HttpError::Form(form(response).to_owned()));
    }
    let own = mcp_protocol_machine::RequestId::Number(id);
    let mut events = EventReader::new(most);
    let mut reply = None;
    while let Some(piece) = response.chunk().await? {
        let mut answers = Vec::new();
        events.feed(&piece, |data| match parse(data, usize::MAX, ANY_DIALECT) {
            Ok(Envelope::Result { id, .. } | Envelope::Error { id, .. }) if id == own => {
                reply = Some(Bytes::copy_from_slice(data));
            }
            Ok(Envelope::Request { .. }) => answers.extend(conversation.endpoint.read_aside(data).answer),
            _ => {}
        })?;
        if let Some(reply) = reply {
            return Ok(reply);
        }
        for answer in answers {
            let sent =
                conversation.send(Method::POST, identity, &[], |request| request.body(answer.clone())).await;
            if let Err(error) = sent {
                tracing::debug!(%error, "an answer was not delivered");
            }
        }
    }
    Err(HttpError::NoReply)
}
