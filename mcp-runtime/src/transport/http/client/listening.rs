//! Keeps the GET stream open, on which the server sends its own requests and notifications.

use std::sync::Arc;

use reqwest::header::HeaderValue;
use reqwest::{Method, StatusCode};

use super::answer::{compressed, form, has_form};
use super::conversation::Conversation;
use super::error::{in_form, may_pass};
use super::events::EventReader;
use super::reconnect::reconnect;
use super::response::Response;
use crate::driver::Epoch;
use crate::error::Error;
use crate::report::Report;
use crate::transport::http::headers::{EVENT_STREAM, LAST_EVENT_ID};

/// Keeps the stream open.
pub(super) async fn listen(conversation: &Arc<Conversation>) {
    let mut last: Option<HeaderValue> = None;
    let mut retry = None;
    let mut failures: usize = 0;
    let mut epoch: Option<Epoch> = None;
    // The server has opened a stream in this session, so it has such streams.
    let mut opened = false;
    // A stream was refused in a session in which a call has succeeded.
    let mut refused = false;
    // That no stream can be opened was reported.
    let mut reported = false;
    loop {
        // Who waits for a call to go through must not miss one that does so before the stream is refused.
        let went = conversation.went_through.notified();
        let mut identity = conversation.identity(None);
        if let Err(error) = conversation.name(&mut identity).await {
            let Error::SessionProvider(error) = error else { return };
            conversation.undelivered(error.to_string());
            // The session provider has no session until a call is accepted.
            went.await;
            continue;
        }
        if epoch.replace(identity.epoch) != Some(identity.epoch) {
            // Another session knows nothing of this one's events.
            (last, opened) = (None, false);
        }
        let opening = conversation.send(Method::GET, &identity, &[], |request| match &last {
            Some(last) => request.header(LAST_EVENT_ID, last),
            None => request,
        });
        let mut epochs = conversation.epochs.subscribe();
        let answer = tokio::select! {
            answer = opening => answer,
            // Some servers begin an answer with its first event only.
            _ = epochs.wait_for(|now| *now > identity.epoch) => continue,
        };
        conversation.listened.notify_one();
        match answer {
            Ok(response) if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) => {
                return tracing::debug!("the server has no such stream");
            }
            Ok(mut response) if response.status().is_success() && unreadable(&response).is_none() => {
                (opened, refused, reported) = (true, false, false);
                let mut events = EventReader::new(conversation.options.max_message_bytes);
                let came = read(conversation, &mut response, &mut events, identity.epoch).await;
                last = events.last_id.or(last);
                retry = events.retry.or(retry);
                failures = if came { 0 } else { failures.saturating_add(1) };
            }
            Ok(response) if conversation.unknown_session(&identity, &response).is_some() => {
                let opened = std::mem::take(&mut opened);
                if conversation.provider.is_some() {
                    if opened {
                        let problem = Error::SessionInvalid.to_string();
                        conversation.undelivered(problem);
                    } else if std::mem::replace(&mut refused, true) {
                        return tracing::debug!("the server opens no stream");
                    }
                    // Either the session is lost, or the server has no such streams. The next call shows which.
                    went.await;
                    continue;
                }
                if !opened {
                    // The server may not have such streams, so this does not prove that the session is lost. The next
                    // call shows that.
                    tracing::debug!("the server opens no stream in this session");
                    let _ = epochs.wait_for(|now| *now > identity.epoch).await;
                    continue;
                }
                if !Box::pin(reconnect(conversation, identity.epoch)).await {
                    return;
                }
                failures = failures.saturating_add(1);
            }
            Ok(response) if last.is_some() && response.status() == StatusCode::BAD_REQUEST => last = None,
            // It will not be otherwise the next time.
            Ok(response) if response.status().is_client_error() => {
                let status = response.status();
                if !may_pass(status) {
                    tracing::debug!(%status, "the server opens no stream");
                    return;
                }
                failures = failures.saturating_add(1);
            }
            failed => {
                failures = failures.saturating_add(1);
                if !std::mem::replace(&mut reported, true) {
                    let problem = match failed {
                        Ok(response) => unreadable(&response).unwrap_or_else(|| {
                            format!("the server answers with status {}", response.status())
                        }),
                        Err(error) => error.to_string(),
                    };
                    conversation.note(Report::NotListening { problem });
                }
            }
        }
        let pause = conversation.pause(retry, failures.saturating_sub(1));
        let another = epochs.wait_for(|now| *now > identity.epoch);
        if tokio::time::timeout(pause, another).await.is_ok() {
            // A server that has begun another session is there, however long it was not.
            failures = 0;
        }
    }
}

/// Why an answer cannot be read as a stream, though its status is one of success.
fn unreadable(response: &Response) -> Option<String> {
    if !response.status().is_success() {
        return None;
    }
    if let Some(error) = compressed(response) {
        return Some(error.to_string());
    }
    (!has_form(response, EVENT_STREAM)).then(|| {
        format!(
            "the server answers GET {}, not with `{EVENT_STREAM}`: a server that has no such stream answers with status \
             405",
            in_form(form(response))
        )
    })
}

/// Reads until the stream ends, or the session that it belongs to is lost; whether anything came.
async fn read(
    conversation: &Arc<Conversation>,
    response: &mut Response,
    events: &mut EventReader,
    epoch: Epoch,
) -> bool {
    let mut came = false;
    let mut epochs = conversation.epochs.subscribe();
    // They are parts of the buffer that the head was read into, and would keep it for as long as the stream is open.
    response.forget_headers();
    loop {
        let piece = tokio::select! {
            piece = response.chunk() => piece,
            _ = epochs.wait_for(|now| *now > epoch) => return came,
        };
        let Ok(Some(piece)) = piece else { return came };
        let fed = events.feed(&piece, |data| {
            if !data.is_empty() {
                conversation.receive(data, epoch);
            }
        });
        came = true;
        if let Err(too_long) = fed {
            // Whatever it was, it can be read no better when it comes again.
            let problem = too_long.to_string();
            conversation.undelivered(problem);
            return came;
        }
    }
}
