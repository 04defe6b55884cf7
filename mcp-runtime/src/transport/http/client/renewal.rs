//! Sessions that the server has lost, and that are begun anew.
//!
//! In: the messages with which this side has begun the session. Out: the same, said once more, and a session that goes
//! on under another id. Refuses where there is more than one way to begin, where the server answers otherwise than it
//! did, and where the session belongs to somebody else. Several calls that find the session lost at the same time
//! share one renewal.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderValue;

use super::conversation::{Conversation, Identity, not_delivered, secret};
use super::error::{Failure, HttpError};
use super::events::Events;
use super::message::Message;
use super::posting::{beginning, form, has_form, whole};
use crate::driver::{Epoch, MessageKind, Place};
use crate::error::{Error, Reason, Renewal};
use crate::jsonrpc::{Envelope, parse};
use crate::transport::http::{EVENT_STREAM, JSON, SESSION_ID};

/// How many messages a beginning may have.
const MOST: usize = 16;

/// What was said to begin the session.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    said: Vec<Message>,
    version: Option<String>,
    /// It cannot be said once more.
    chosen: bool,
}

impl Beginning {
    /// A step was taken.
    pub(super) fn record(&mut self, message: &Message) {
        let place = match message.kind {
            MessageKind::Request { place, .. } | MessageKind::Notification { place } => place,
            // An answer depends on a question that may not come again.
            _ => Place::ChosenStep,
        };
        if place == Place::ChosenStep || self.said.len() >= MOST {
            self.not_repeatable();
        }
        if !self.chosen {
            self.said.push(message.clone());
        }
    }

    /// Something was chosen.
    pub(super) fn not_repeatable(&mut self) {
        self.chosen = true;
        self.said = Vec::new();
    }

    /// The server has named a version.
    pub(super) fn note_version(&mut self, version: Option<String>) {
        self.version = version;
    }
}

/// Begins the session anew, unless another task has done so since this epoch. If that cannot be, the session ends, and
/// says why before anybody else may try: whoever tries then finds nothing that could be said.
pub(super) async fn renew(conversation: &Arc<Conversation>, lost: Epoch) -> bool {
    let _alone = conversation.renewing.lock().await;
    let renewed = renew_alone(conversation, lost).await;
    if let Err(renewal) = renewed {
        conversation.endpoint.failed(Reason::SessionInvalid(renewal));
        return false;
    }
    true
}

async fn renew_alone(conversation: &Arc<Conversation>, lost: Epoch) -> Result<(), Renewal> {
    let (said, agreed) = {
        let state = conversation.state();
        if state.identity.epoch > lost {
            return Ok(());
        }
        // Where something was chosen, nothing of it is kept.
        if state.beginning.said.is_empty() {
            return Err(Renewal::NotRepeatable);
        }
        (state.beginning.said.clone(), state.beginning.version.clone())
    };
    let begun = tokio::time::timeout(conversation.options.renew_within, begin(conversation, said, agreed));
    match begun.await.unwrap_or_else(|_| Err(undelivered(HttpError::Late))) {
        Ok((mut identity, renewed)) => {
            identity.epoch = lost.next();
            let (request, reply) = renewed.map(|(request, reply)| (request.text, reply)).unwrap_or_default();
            conversation.began_anew(identity, &request, &reply);
            Ok(())
        }
        Err(renewal) => {
            // The session ends with that. Whoever waits for it does not try once more.
            conversation.state().beginning.not_repeatable();
            Err(renewal)
        }
    }
}

/// Says the beginning of the session: how it is named now, and the request and the reply that it began with.
async fn begin(
    conversation: &Conversation,
    said: Vec<Message>,
    agreed: Option<String>,
) -> Result<(Identity, Option<(Message, Bytes)>), Renewal> {
    let mut identity = Identity::default();
    let mut renewed: Option<(Message, Bytes)> = None;
    for message in said {
        let said = message.text.clone();
        let response = conversation.send(Method::POST, &identity, |request| request.body(said)).await;
        let response = response.map_err(undelivered)?;
        let status = response.status();
        if identity.id.is_some() && conversation.options.unknown_session.contains(&status.as_u16()) {
            return Err(Renewal::LostAgain);
        }
        if !status.is_success() {
            let failure = Failure::new(&response, &identity);
            let body = beginning(response, conversation.options.max_message_bytes).await;
            if let Ok(Envelope::Error { error, .. }) = parse(&body, usize::MAX) {
                return Err(Renewal::Refused(error));
            }
            return Err(undelivered(failure.saying(&body)));
        }
        let &[id] = message.asks() else { continue };
        if let Some(named) = response.headers().get(SESSION_ID) {
            identity.id = Some(secret(named.clone()));
            // Whatever becomes of it, it is not left to the server.
            conversation.state().begun = Some(identity.clone());
        }
        let reply = reply(conversation, &identity, id, response).await.map_err(undelivered)?;
        match parse(&reply, usize::MAX) {
            Ok(Envelope::Result { .. }) => {}
            Ok(Envelope::Error { error, .. }) => return Err(Renewal::Refused(error)),
            _ => return Err(undelivered(HttpError::NoReply)),
        }
        if renewed.is_none()
            && let Some(now) = conversation.endpoint.announced_version(&reply)
        {
            if let Some(before) = agreed.as_ref().filter(|before| **before != now) {
                return Err(Renewal::OtherVersion { before: before.clone(), now });
            }
            identity.version = HeaderValue::from_str(&now).ok();
        }
        renewed.get_or_insert((message, reply));
    }
    Ok((identity, renewed))
}

fn undelivered(error: HttpError) -> Renewal {
    match not_delivered(error) {
        Error::NotDelivered(error) => Renewal::NotDelivered(error),
        _ => Renewal::NotRepeatable,
    }
}

/// Reads the reply to a request. Of what comes with it the session has had its own the first time; but a server may
/// wait for an answer to what it asks.
async fn reply(
    conversation: &Conversation,
    identity: &Identity,
    id: i64,
    mut response: reqwest::Response,
) -> Result<Bytes, HttpError> {
    let most = conversation.options.max_message_bytes;
    if has_form(&response, JSON) {
        return whole(response, most).await;
    }
    if !has_form(&response, EVENT_STREAM) {
        return Err(HttpError::Form(form(&response).to_owned()));
    }
    let own = mcp_protocol_machine::RequestId::Number(id);
    let mut events = Events::new(most);
    let mut reply = None;
    while let Some(piece) = response.chunk().await? {
        let mut answers = Vec::new();
        events.feed(&piece, |data| match parse(data, usize::MAX) {
            Ok(Envelope::Result { id, .. } | Envelope::Error { id, .. }) if id == own => {
                reply = Some(Bytes::copy_from_slice(data));
            }
            Ok(Envelope::Request { .. }) => answers.extend(conversation.endpoint.answer_aside(data)),
            _ => {}
        })?;
        if let Some(reply) = reply {
            return Ok(reply);
        }
        for answer in answers {
            let sent = conversation.send(Method::POST, identity, |request| request.body(answer)).await;
            if let Err(error) = sent {
                tracing::debug!(%error, "an answer was not delivered");
            }
        }
    }
    Err(HttpError::NoReply)
}
