//! Which message is posted when: the first alone, then notifications and replies one after another, and requests in
//! parallel.

use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

use super::conversation::Conversation;
use super::listening::listen;
use super::message::PostMessage;
use super::posting::deliver;
use super::repeated::RepeatedHeaders;
use super::running::Over;
use crate::driver::{MessageKind, Outgoing, Outlet, OutletNotice};

/// The way out: messages are posted.
#[derive(Debug)]
pub(super) struct Posts(pub(super) Arc<Conversation>);

impl Outlet for Posts {
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize {
        let mut state = self.0.state();
        if state.is_over() {
            return state.waiting();
        }
        let mut message = PostMessage::new(outgoing);
        if self.0.is_stateless {
            if let MessageKind::Cancel { id, .. } = message.kind {
                // The request ends with its connection, which says the same.
                state.requests.cancelled(id).into_iter().for_each(wake);
                return state.waiting();
            }
            if message.kind.is_reply() {
                // No server may ask, so none reads an answer. That it has asked is reported.
                return state.waiting();
            }
            let repeated = RepeatedHeaders::of(&message.text, outgoing.request, &state.tools);
            message = message.repeating(repeated);
        }
        let at_once = state.say(message);
        let waiting = state.waiting();
        drop(state);
        match at_once {
            Some(message) => post_in_parallel(&self.0, message),
            None => self.0.queued.notify_one(),
        }
        waiting
    }

    fn note(&mut self, notice: OutletNotice, wake: &mut dyn FnMut(Waker)) {
        let mut state = self.0.state();
        match notice {
            OutletNotice::NotAwaited(id) => state.requests.not_awaited(id).into_iter().for_each(wake),
            OutletNotice::NoneAwaited => state.requests.all_over(Over::NotAwaited).into_iter().for_each(wake),
            OutletNotice::PeerStepped => state.handshake.not_repeatable(),
            OutletNotice::Accepted(_)
            | OutletNotice::Settled(_)
            | OutletNotice::ReleaseConnection(_)
            | OutletNotice::Discarded => {}
        }
    }

    fn waiting(&self) -> usize {
        self.0.state().waiting()
    }

    fn routes(&self) -> bool {
        true
    }
}

/// Posts, one after another, what must not overtake one another. Never ends.
pub(super) async fn post_in_order(conversation: &Arc<Conversation>) {
    loop {
        let (next, drained) = conversation.state().next();
        if let Some(drained) = drained {
            drained.wake();
        }
        let Some(message) = next else {
            conversation.queued.notified().await;
            continue;
        };
        let opens = !conversation.state().opened;
        match message.asks() {
            // Before the first answer the session does not have a name.
            [_, ..] if opens => {
                post_in_parallel(conversation, message);
                conversation.opened.notified().await;
            }
            [_, ..] => post_in_parallel(conversation, message),
            [] => {
                // Seldom, so that it takes no memory while the session is idle.
                Box::pin(deliver(conversation, &message)).await;
                // Some servers lose messages that they send before the stream is open, even in the middle of a
                // call. So later messages wait until the stream is open, up to a limit.
                if begin_listening(conversation) {
                    let listened = conversation.listened.notified();
                    drop(Box::pin(tokio::time::timeout(conversation.options.listen_within, listened)).await);
                }
            }
        }
    }
}

fn post_in_parallel(conversation: &Arc<Conversation>, message: PostMessage) {
    let not_handed = conversation.state().posters.hand(message);
    match not_handed {
        Some(message) => conversation.spawn(post_all(Arc::clone(conversation), message)),
        None => conversation.handed.notify_one(),
    }
}

/// Posts a message, and those that it is handed after that.
async fn post_all(conversation: Arc<Conversation>, message: PostMessage) {
    let mut next = Some(message);
    while let Some(message) = next {
        // Boxed, so that it takes no memory while the task rests.
        Box::pin(deliver(&conversation, &message)).await;
        drop(message);
        next = handed(&conversation).await;
    }
}

/// Waits for a message, if the task may rest.
async fn handed(conversation: &Conversation) -> Option<PostMessage> {
    if !conversation.state().posters.rest() {
        return None;
    }
    loop {
        let mut notified = pin!(conversation.handed.notified());
        // From here on no message is missed.
        notified.as_mut().enable();
        let taken = conversation.state().posters.take();
        if taken.is_some() {
            return taken;
        }
        notified.await;
    }
}

/// Opens the stream for what the server says unasked, unless it is open; whether it is begun now.
pub(super) fn begin_listening(conversation: &Arc<Conversation>) -> bool {
    if conversation.is_stateless || !conversation.options.listen || !conversation.state().begin_listening() {
        return false;
    }
    let listening = Arc::clone(conversation);
    conversation.spawn(async move { listen(&listening).await });
    true
}
