//! Unit tests of the HTTP client.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::time::{Duration, Instant};

use super::conversation::Conversation;
use super::delivery::RunningPost;
use super::http_client::HttpClient;
use super::identity::{SessionIdentity, secret};
use super::message::PostMessage;
use super::options::ClientOptions;
use super::posting::deliver;
use super::provider::SessionProvider;
use super::reconnect::reconnect;
use super::running::Over;
use crate::driver::{
    Aside, Delivery, Endpoint, Epoch, MessageKind, Outgoing, Outlet, Place, Received, SessionInfo,
    SessionStatus, TransportEvent,
};
use crate::error::{DisconnectReason, ReconnectError};

/// Keeps what it is given.
#[derive(Clone, Default)]
struct Kept {
    messages: Arc<Mutex<Vec<String>>>,
    reasons: Arc<Mutex<Vec<DisconnectReason>>>,
    /// The conversation whose session id it reads when it is notified of a reconnect.
    within: Arc<Mutex<Option<Arc<Conversation>>>>,
    seen: Arc<Mutex<Vec<Epoch>>>,
    reuses_ids: bool,
}

impl Endpoint for Kept {
    fn receive(&self, delivery: Delivery<'_>, _: Instant) -> Received {
        let mut messages = self.messages.lock().unwrap();
        let lost = messages.iter().filter(|message| *message == "reconnected").count();
        let present = (0..lost).fold(Epoch::FIRST, |epoch, _| epoch.next());
        if delivery.epoch() == Some(present) {
            delivery.for_each(|message| messages.push(String::from_utf8(message.to_vec()).unwrap()));
        }
        Received::default()
    }

    fn notify(&self, event: TransportEvent<'_>) {
        match event {
            TransportEvent::Reconnected { .. } => {
                self.messages.lock().unwrap().push("reconnected".to_owned());
                if let Some(conversation) = &*self.within.lock().unwrap() {
                    self.seen.lock().unwrap().push(conversation.state().identity.epoch);
                }
            }
            TransportEvent::Failed(reason) => self.reasons.lock().unwrap().push(reason),
            _ => {}
        }
    }

    fn attach(&self, _: Box<dyn Outlet>) {}

    fn status(&self, _: &mut Context<'_>) -> SessionStatus {
        SessionStatus::new()
    }

    fn tick(&self, _: Instant) {}

    fn info(&self) -> SessionInfo {
        SessionInfo { reuses_ids: self.reuses_ids, ..SessionInfo::default() }
    }

    fn read_aside(&self, _: &[u8]) -> Aside {
        Aside::default()
    }
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
    let mut identity = conversation.identity(None);
    conversation.name(&mut identity).await.unwrap();
    let id = identity.id.unwrap();
    assert_eq!((id.to_str().unwrap(), format!("{id:?}").as_str()), ("theirs", "Sensitive"));
}

#[tokio::test]
async fn what_comes_late_from_a_lost_session_is_not_taken_for_the_next_one_s() {
    let kept = Kept::default();
    let client = HttpClient::new("http://127.0.0.1:1").unwrap();
    let conversation = Conversation::new(client, Arc::new(kept.clone()));
    conversation.receive(b"before", Epoch::FIRST);
    let id = Some(secret(&"s1".parse().unwrap()));
    conversation.reconnected(SessionIdentity { id, version: None, epoch: Epoch::FIRST.next() }, b"", b"");
    conversation.receive(b"late", Epoch::FIRST);
    conversation.receive(b"after", Epoch::FIRST.next());
    assert_eq!(*kept.messages.lock().unwrap(), ["before", "reconnected", "after"]);
}

#[tokio::test]
async fn nothing_is_asked_under_the_new_name_before_the_session_knows_of_it() {
    let kept = Kept::default();
    let client = HttpClient::new("http://127.0.0.1:1").unwrap();
    let conversation = Conversation::new(client, Arc::new(kept.clone()));
    *kept.within.lock().unwrap() = Some(Arc::clone(&conversation));
    conversation.reconnected(
        SessionIdentity { epoch: Epoch::FIRST.next(), ..SessionIdentity::default() },
        b"",
        b"",
    );
    assert_eq!(*kept.seen.lock().unwrap(), [Epoch::FIRST]);
    assert_eq!(conversation.state().identity.epoch, Epoch::FIRST.next());
    kept.within.lock().unwrap().take();
}

fn request(id: i64, place: Place) -> PostMessage {
    let kind = MessageKind::Request { id, place };
    PostMessage::new(Outgoing::new(b"{}", kind, Epoch::FIRST))
}

/// No server listens there.
fn nowhere() -> Arc<Conversation> {
    Conversation::new(HttpClient::new("http://127.0.0.1:1").unwrap(), Arc::new(Kept::default()))
}

async fn until_over<T>(
    running: &RunningPost<'_>,
    work: impl Future<Output = T>,
    left: impl Fn(Over) -> Duration,
) -> Result<T, Over> {
    running.until_over(std::pin::pin!(work), left).await
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn what_is_over_has_its_time_left_and_no_more() {
    let conversation = nowhere();
    let message = request(7, Place::Replicated);
    conversation.state().requests.begin(message.asks());
    let running = RunningPost::new(&conversation, &message);
    let left = |over| match over {
        Over::Reconnected => SECOND * 10,
        Over::NotAwaited | Over::Cancelled | Over::Late => SECOND,
    };
    let work = |seconds: u32| tokio::time::sleep(SECOND * seconds);
    let over = |over| drop(conversation.state().requests.all_over(over));
    // Before anything is over, it takes as long as it takes.
    assert_eq!(until_over(&running, work(100), left).await, Ok(()));
    let began = tokio::time::Instant::now();
    over(Over::Reconnected);
    assert_eq!(until_over(&running, work(9), left).await, Ok(()));
    assert_eq!(until_over(&running, work(11), left).await, Err(Over::Reconnected));
    assert_eq!(began.elapsed().as_secs(), 19);
    // In the next session it is not over.
    conversation.state().requests.posted_here(message.asks());
    assert_eq!(until_over(&running, work(100), left).await, Ok(()));
    // `NotAwaited` replaces an earlier state, and is final.
    over(Over::Reconnected);
    let began = tokio::time::Instant::now();
    let later = async {
        work(3).await;
        over(Over::NotAwaited);
        over(Over::Reconnected);
        conversation.state().requests.posted_here(message.asks());
    };
    let (ended, ()) = tokio::join!(until_over(&running, work(100), left), later);
    assert_eq!((ended, began.elapsed().as_secs()), (Err(Over::NotAwaited), 4));
    assert_eq!(until_over(&running, work(0), |_| Duration::ZERO).await, Err(Over::NotAwaited));
    assert_eq!(until_over(&running, work(100), |_| Duration::MAX).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_list_is_over_with_its_last_request() {
    let conversation = nowhere();
    let text = br#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"a"}]"#;
    let outgoing = Outgoing::new(text, MessageKind::Several { bound: false }, Epoch::FIRST);
    let message = PostMessage::new(outgoing);
    assert_eq!(message.asks(), [1, 2]);
    conversation.state().requests.begin(message.asks());
    let running = RunningPost::new(&conversation, &message);
    drop(conversation.state().requests.not_awaited(1));
    let at_once = |_| Duration::ZERO;
    assert_eq!(until_over(&running, tokio::time::sleep(SECOND), at_once).await, Ok(()));
    let later = async {
        tokio::time::sleep(SECOND).await;
        // The caller wakes the task.
        let waker = conversation.state().requests.not_awaited(2);
        waker.unwrap().wake();
    };
    let (ended, ()) = tokio::join!(until_over(&running, std::future::pending::<()>(), at_once), later);
    assert_eq!(ended, Err(Over::NotAwaited));
}

#[tokio::test(start_paused = true)]
async fn a_message_without_requests_has_a_limit() {
    let conversation = nowhere();
    let kind = MessageKind::Notification { place: Place::Replicated };
    let message = PostMessage::new(Outgoing::new(b"{}", kind, Epoch::FIRST));
    let running = RunningPost::new(&conversation, &message);
    let limit = conversation.options.post_within;
    let began = tokio::time::Instant::now();
    let ended = until_over(&running, std::future::pending::<()>(), |_| Duration::ZERO).await;
    assert_eq!((ended, began.elapsed().as_secs()), (Err(Over::Late), limit.as_secs()));
    let in_time = tokio::time::sleep(limit - SECOND);
    assert_eq!(until_over(&running, in_time, |_| Duration::ZERO).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_sent_again_for_a_while_where_it_cannot_be_taken_for_another() {
    let reply = MessageKind::Result { place: Place::Replicated };
    let notification = MessageKind::Notification { place: Place::Replicated };
    // Behind the first attempt, waits of one second, two, four and eight.
    for (kind, reuses_ids, waited) in [(reply, false, 15), (reply, true, 0), (notification, false, 0)] {
        let kept = Kept { reuses_ids, ..Kept::default() };
        let conversation = Conversation::new(HttpClient::new("http://127.0.0.1:1").unwrap(), Arc::new(kept));
        let began = tokio::time::Instant::now();
        deliver(&conversation, &PostMessage::new(Outgoing::new(b"{}", kind, Epoch::FIRST))).await;
        assert_eq!(began.elapsed().as_secs(), waited, "{kind:?} {reuses_ids}");
    }
}

#[tokio::test]
async fn a_renewal_that_failed_is_not_tried_again_and_says_why_first() {
    let options = ClientOptions::new().reconnect_within(Duration::from_millis(100));
    let client = HttpClient::new("http://127.0.0.1:1").unwrap().options(options);
    let kept = Kept::default();
    let conversation = Conversation::new(client, Arc::new(kept.clone()));
    conversation.state().handshake.record(&request(0, Place::OnlyStep));
    // A task that waits for the first one runs only after the first one has reported its result.
    let both = tokio::join!(reconnect(&conversation, Epoch::FIRST), reconnect(&conversation, Epoch::FIRST));
    assert_eq!(both, (false, false));
    let reasons = std::mem::take(&mut *kept.reasons.lock().unwrap());
    assert!(
        matches!(
            &reasons[..],
            [
                DisconnectReason::SessionInvalid(ReconnectError::NotDelivered(_)),
                DisconnectReason::SessionInvalid(ReconnectError::NotRepeatable)
            ]
        ),
        "{reasons:?}"
    );
}

#[tokio::test]
async fn no_server_is_asked_without_a_pause() {
    let conversation = nowhere();
    for failures in [0, 1, 100] {
        assert_eq!(conversation.pause(Some(Duration::ZERO), failures), Duration::from_millis(50));
    }
    assert_eq!(conversation.pause(Some(SECOND), 2), SECOND * 4);
    assert_eq!(conversation.pause(Some(SECOND * 60), 2), SECOND * 60);
}

#[tokio::test]
async fn nothing_shows_more_of_the_address_than_the_server() {
    let client = HttpClient::new("http://guest:secret@127.0.0.1:1/secret?key=secret").unwrap();
    let client = client.header("x-key", "secret").unwrap();
    let shown = format!("{client:?}");
    assert!(shown.contains("http://127.0.0.1") && !shown.contains("secret"), "{shown}");
    let conversation = Conversation::new(client, Arc::new(Kept::default()));
    let shown = format!("{conversation:?}");
    assert!(shown.contains("http://127.0.0.1") && !shown.contains("secret"), "{shown}");
}

#[cfg(not(feature = "http-client-tls"))]
#[tokio::test]
async fn https_without_its_feature_says_so() {
    let client = HttpClient::new("https://127.0.0.1:1/secret").unwrap();
    let request = reqwest::Request::new(reqwest::Method::GET, client.url.clone());
    let error = client.way.send(client.way.prepare(request)).await.map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server cannot be reached: `https` needs the feature `http-client-tls`, of `mcp-runtime` or `mcp-kit`"
    );
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}
