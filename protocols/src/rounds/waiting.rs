//! The calls of a server that wait for their next round.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;

/// What a state belongs to: it is of no use for another request, nor for another principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) method: &'static str,
    pub(super) name: String,
    pub(super) principal: Option<String>,
}

/// The calls that wait, each by a state that cannot be guessed.
///
/// Invariant: a call is in the table once, for at most the time that it was put there for; taking it out ends its timer.
#[derive(Debug)]
pub(super) struct Waiting {
    calls: Mutex<HashMap<String, Call>>,
    most: usize,
}

#[derive(Debug)]
struct Call {
    binding: Binding,
    /// The conversation of one kind of request: which one, the binding tells.
    conversation: Box<dyn Any + Send>,
    timer: AbortHandle,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

impl Waiting {
    pub(super) fn new(most: usize) -> Waiting {
        Waiting { calls: Mutex::default(), most }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Call>> {
        // What is held is one insertion or removal.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many calls wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.calls().len()
    }

    /// Keeps a call for some time. Returns its state; nothing if too many wait already, or the system has no randomness.
    pub(super) fn keep(
        self: &Arc<Self>,
        binding: Binding,
        conversation: Box<dyn Any + Send>,
        lifetime: Duration,
    ) -> Option<String> {
        let state = random_state()?;
        let mut calls = self.calls();
        if calls.len() >= self.most {
            return None;
        }
        let (table, timed): (Weak<Self>, _) = (Arc::downgrade(self), state.clone());
        let timer = tokio::spawn(async move {
            tokio::time::sleep(lifetime).await;
            let late = table.upgrade().and_then(|table| table.calls().remove(&timed));
            drop(late);
        });
        calls.insert(state.clone(), Call { binding, conversation, timer: timer.abort_handle() });
        Some(state)
    }

    /// Takes a call out. Nothing if there is none with this state, or not for this request of this principal: then it goes
    /// on waiting.
    pub(super) fn take<C: Any>(&self, state: &str, binding: &Binding) -> Option<Box<C>> {
        let mut calls = self.calls();
        let call = calls.get(state).filter(|call| call.binding == *binding && call.conversation.is::<C>())?;
        let _ = call;
        let mut call = calls.remove(state)?;
        drop(calls);
        std::mem::replace(&mut call.conversation, Box::new(())).downcast().ok()
    }
}

/// What the states of calls that wait begin with, so that they can be told from sealed ones, which are in Base64.
const PREFIX: &str = "waits.";

/// Whether a state is one of a call that waits, or has waited, in some process.
pub(super) fn is_of_waiting(state: &str) -> bool {
    state.starts_with(PREFIX)
}

/// 128 random bits as text.
fn random_state() -> Option<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(format!("{PREFIX}{:032x}", u128::from_be_bytes(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(name: &str, principal: Option<&str>) -> Binding {
        Binding { method: "tools/call", name: name.to_owned(), principal: principal.map(str::to_owned) }
    }

    #[tokio::test]
    async fn a_call_is_taken_once_and_only_for_its_own_request() {
        let waiting = Arc::new(Waiting::new(2));
        let forever = Duration::from_secs(1 << 30);
        let ours = binding("greet", Some("ada"));
        let state = waiting.keep(ours.clone(), Box::new(7), forever).unwrap();
        assert!(waiting.take::<i32>(&state, &binding("greet", None)).is_none());
        assert!(waiting.take::<i32>(&state, &binding("part", Some("ada"))).is_none());
        assert!(waiting.take::<i32>("0", &ours).is_none());
        assert!(waiting.take::<u8>(&state, &ours).is_none());
        assert_eq!(waiting.take::<i32>(&state, &ours), Some(Box::new(7)));
        assert!(waiting.take::<i32>(&state, &ours).is_none());
    }

    #[tokio::test]
    async fn only_so_many_calls_wait() {
        let waiting = Arc::new(Waiting::new(1));
        let forever = Duration::from_secs(1 << 30);
        let first = waiting.keep(binding("a", None), Box::new(1), forever).unwrap();
        assert!(waiting.keep(binding("b", None), Box::new(2), forever).is_none());
        assert!(waiting.take::<i32>(&first, &binding("a", None)).is_some());
        assert!(waiting.keep(binding("b", None), Box::new(2), forever).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_too_long_is_dropped() {
        let waiting = Arc::new(Waiting::new(1));
        let (dropped, is_dropped) = tokio::sync::oneshot::channel::<()>();
        let state = waiting.keep(binding("a", None), Box::new(dropped), Duration::from_secs(60)).unwrap();
        assert_eq!(waiting.len(), 1);
        assert!(is_dropped.await.is_err());
        assert_eq!(waiting.len(), 0);
        assert!(waiting.take::<tokio::sync::oneshot::Sender<()>>(&state, &binding("a", None)).is_none());
    }
}
