//! A session with a server over HTTP, as a transport.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use super::conversation::Conversation;
use super::error::HttpError;
use super::http_client::HttpClient;
use super::posts::{Posts, begin_listening, post_in_order};
use crate::driver::{Clocked, End, Endpoint, Finish, Outcome, Transport, TransportEvent, duplicate};
use crate::error::DisconnectReason;
use crate::transport::http::headers::SESSION_ID;

impl Transport for HttpClient {
    fn is_ordered(&self) -> bool {
        false
    }

    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        let info = endpoint.info();
        if info.resumed
            && !info.is_stateless
            && self.provider.is_none()
            && !self.headers.contains_key(SESSION_ID)
        {
            // No server would know the session. It is over before anything is said in it.
            let reason = DisconnectReason::NotDelivered(Arc::new(HttpError::Unnamed));
            endpoint.notify(TransportEvent::Failed(reason));
        }
        let conversation = Conversation::new(self, Arc::clone(&endpoint));
        if conversation.state().opened {
            // It needs no answer to have a name.
            begin_listening(&conversation);
        }
        endpoint.attach(Box::new(Posts(Arc::clone(&conversation))));
        {
            let mut posting = pin!(post_in_order(&conversation));
            tokio::select! {
                () = carry(&conversation, Clocked::new(endpoint)) => {}
                () = &mut posting => {}
            }
            // What is being posted may be what opens a session, once more.
            tokio::select! {
                () = conversation.stop() => {}
                () = posting => {}
            }
        }
        // An abandoned session has not been deleted yet; the server should not have to wait for its timeout.
        conversation.end().await;
    }
}

/// Waits until the session has said everything, has its last messages posted, and deletes it at the server.
async fn carry(conversation: &Arc<Conversation>, mut session: Clocked) {
    let options = &conversation.options;
    let mut outcome = Outcome::Closed;
    if session.finish().await == Finish::Complete {
        // To learn the name of a session may take as long as to delete it.
        let flush = options.delete_within.saturating_mul(2).saturating_add(options.post_within);
        let ended = async {
            conversation.drained().await;
            conversation.stop().await;
            conversation.end().await;
        };
        let ended = tokio::select! {
            ended = tokio::time::timeout(flush, ended) => Some(ended),
            () = session.abandoned() => None,
        };
        if let Some(Err(_)) = ended {
            let problem =
                "the server did not take the last messages in time: see `ClientOptions::post_within`";
            let error = io::Error::new(io::ErrorKind::TimedOut, problem);
            session.endpoint().notify(TransportEvent::OutputFailed(duplicate(&error)));
            outcome = Outcome::Failed(Arc::new(error));
        }
        if ended.is_some() {
            session.endpoint().notify(TransportEvent::InputEnded(End::GaveUp));
        }
    }
    session.terminate(outcome);
}
