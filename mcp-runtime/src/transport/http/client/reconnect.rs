//! Reconnects a session that the server has lost. Calls that find the loss together share one reconnection.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderValue;

use super::answer::{first_bytes, form, has_form, whole};
use super::conversation::Conversation;
use super::error::{Failure, HttpError, not_delivered};
use super::events::EventReader;
use super::identity::{SessionIdentity, secret};
use super::message::PostMessage;
use super::response::Response;
use crate::driver::Epoch;
use crate::error::{Error, ReconnectError};
use crate::jsonrpc::{Dialect, Envelope, parse};
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
    let begun =
        tokio::time::timeout(conversation.options.reconnect_within, begin(conversation, said, agreed));
    match begun.await.unwrap_or_else(|_| Err(undelivered(HttpError::Late))) {
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

/// Repeats the handshake. Returns the new identity of the session, and the first request with its reply.
async fn begin(
    conversation: &Conversation,
    said: Vec<PostMessage>,
    agreed: Option<String>,
) -> Result<(SessionIdentity, Option<(PostMessage, Bytes)>), ReconnectError> {
    let mut identity = SessionIdentity::default();
    let mut opened: Option<(PostMessage, Bytes)> = None;
    for message in said {
        let said = message.text.clone();
        let response =
            conversation.send(Method::POST, &identity, &[], |request| request.body(said.clone())).await;
        let mut response = response.map_err(undelivered)?;
        let status = response.status();
        if identity.id.is_some() && conversation.options.unknown_session.contains(&status.as_u16()) {
            return Err(ReconnectError::LostAgain);
        }
        if !status.is_success() {
            let failure = Failure::new(&response, &identity);
            let body = first_bytes(&mut response, conversation.options.max_message_bytes).await;
            if let Ok(Envelope::Error { error, .. }) = parse(&body, usize::MAX, Dialect::WithoutJsonrpc) {
                return Err(ReconnectError::Refused(error));
            }
            return Err(undelivered(failure.saying(&body)));
        }
        let &[id] = message.asks() else { continue };
        if let Some(named) = response.headers().get(SESSION_ID) {
            identity.id = Some(secret(named));
            // Whatever becomes of it, it is not left to the server.
            conversation.state().begun = Some(identity.clone());
        }
        let reply = reply(conversation, &identity, id, &mut response).await.map_err(undelivered)?;
        match parse(&reply, usize::MAX, Dialect::WithoutJsonrpc) {
            Ok(Envelope::Result { .. }) => {}
            Ok(Envelope::Error { error, .. }) => return Err(ReconnectError::Refused(error)),
            _ => return Err(undelivered(HttpError::NoReply)),
        }
        if opened.is_none()
            && let Some(now) = conversation.endpoint.read_aside(&reply).version
        {
            if let Some(before) = agreed.as_ref().filter(|before| **before != now) {
                return Err(ReconnectError::OtherVersion { before: before.clone(), now });
            }
            identity.version = HeaderValue::from_str(&now).ok();
        }
        opened.get_or_insert((message, reply));
    }
    Ok((identity, opened))
}

fn undelivered(error: HttpError) -> ReconnectError {
    match not_delivered(error) {
        Error::NotDelivered(error) => ReconnectError::NotDelivered(error),
        _ => ReconnectError::NotRepeatable,
    }
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
        events.feed(&piece, |data| match parse(data, usize::MAX, Dialect::WithoutJsonrpc) {
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
