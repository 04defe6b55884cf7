//! What cannot be seen from outside.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use super::conversation::{Conversation, Identity, secret};
use super::{HttpClient, SessionProvider};
use crate::driver::{End, Endpoint, Origin, Outcome, Output, Received};

/// Keeps what it is given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl Endpoint for Kept {
    fn receive_message(&self, message: &[u8], _: Origin, _: Instant) -> Received {
        self.0.lock().unwrap().push(String::from_utf8(message.to_vec()).unwrap());
        Received::default()
    }

    fn receive(&self, _: &[u8], _: Instant) {}

    fn input_ended(&self, _: End) {}

    fn poll_output(&self, _: &mut Context<'_>, _: &mut Vec<u8>, _: usize) -> Poll<Output> {
        Poll::Pending
    }

    fn wrote(&self) {}

    fn output_failed(&self, _: io::Error) {}

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn tick(&self, _: Instant) {}

    fn terminated(&self, _: Outcome) {}
}

struct Fixed;

impl SessionProvider for Fixed {
    type Error = io::Error;

    async fn session_id(&self) -> Result<String, io::Error> {
        Ok("theirs".to_owned())
    }
}

#[tokio::test]
async fn the_id_that_a_provider_names_is_kept_from_logs() {
    let client = HttpClient::new("http://127.0.0.1:1").unwrap().sessions_from(Fixed);
    let conversation = Conversation::new(client, Arc::new(Kept::default()));
    let id = conversation.identity(None).await.unwrap().id.unwrap();
    assert_eq!((id.to_str().unwrap(), format!("{id:?}").as_str()), ("theirs", "Sensitive"));
}

#[tokio::test]
async fn what_comes_late_from_a_lost_session_is_not_taken_for_the_next_one_s() {
    let kept = Kept::default();
    let client = HttpClient::new("http://127.0.0.1:1").unwrap();
    let conversation = Conversation::new(client, Arc::new(kept.clone()));
    conversation.receive(b"before", 0);
    let id = Some(secret("s1".parse().unwrap()));
    let told = Kept::default();
    conversation.began_anew(Identity { id, version: None, generation: 1 }, || {
        // What is told of the renewal comes behind everything of the lost session.
        conversation.receive(b"late", 0);
        told.receive_message(b"told", Origin(0), Instant::now());
    });
    conversation.receive(b"late", 0);
    conversation.receive(b"after", 1);
    assert_eq!(*kept.0.lock().unwrap(), ["before", "after"]);
    assert_eq!(*told.0.lock().unwrap(), ["told"]);
}
