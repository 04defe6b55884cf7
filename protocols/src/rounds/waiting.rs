//! The calls of a server that wait for their next round.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use mcp_runtime::driver::PeerIdentity;
use tokio::task::AbortHandle;

/// What a state belongs to: it is of no use for another request, nor for another principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) method: &'static str,
    pub(super) name: String,
    pub(super) principal: Option<String>,
}

/// A client as a limit sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ClientKey {
    /// The name that the program has given to it.
    Principal(Arc<str>),
    /// Its address, or the network that it usually has to itself.
    Network(IpAddr),
}

impl ClientKey {
    /// The keys of the client that a call waits for: its principal and its network, as far as they are known.
    pub(super) fn of(principal: Option<&str>, peer: &PeerIdentity) -> Vec<ClientKey> {
        let principal = principal.map(Into::into).or_else(|| peer.principal.clone());
        let principal = principal.map(ClientKey::Principal);
        principal.into_iter().chain(peer.network().map(ClientKey::Network)).collect()
    }
}

/// Why a call cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeepError {
    /// As many calls wait as may, of all clients together.
    Full,
    /// As many calls of the client wait as may.
    ClientShare,
    /// The system has no randomness for a state.
    NoRandomness,
}

/// The calls that wait, each by a state that cannot be guessed.
///
/// Invariant: a call is in the table once, for at most the time that it was put there for; taking it out ends its timer.
#[derive(Debug)]
pub(super) struct Waiting {
    table: Mutex<Table>,
    most: usize,
    /// How many of them may be of one client.
    most_of_client: usize,
}

/// Invariant: `by_client` has how many of the calls have each key; no entry is zero.
#[derive(Debug, Default)]
struct Table {
    calls: HashMap<String, WaitingCall>,
    by_client: HashMap<ClientKey, usize>,
}

impl Table {
    fn insert(&mut self, state: String, call: WaitingCall) {
        for client in &call.clients {
            *self.by_client.entry(client.clone()).or_default() += 1;
        }
        self.calls.insert(state, call);
    }

    fn remove(&mut self, state: &str) -> Option<WaitingCall> {
        let call = self.calls.remove(state)?;
        for client in &call.clients {
            if let Entry::Occupied(mut waiting) = self.by_client.entry(client.clone()) {
                match waiting.get().checked_sub(1) {
                    None | Some(0) => drop(waiting.remove()),
                    Some(left) => drop(waiting.insert(left)),
                }
            }
        }
        Some(call)
    }

    fn waiting_of(&self, client: &ClientKey) -> usize {
        self.by_client.get(client).copied().unwrap_or_default()
    }
}

#[derive(Debug)]
struct WaitingCall {
    binding: Binding,
    clients: Vec<ClientKey>,
    /// The conversation of one kind of request: which one, the binding tells.
    conversation: Box<dyn Any + Send>,
    timer: AbortHandle,
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

impl Waiting {
    /// At most `most` calls wait, and of one client at most so many percent of them.
    pub(super) fn new(most: usize, client_share: u8) -> Waiting {
        let share = (most as u128).saturating_mul(u128::from(client_share.min(100))).div_ceil(100);
        let most_of_client = usize::try_from(share).unwrap_or(usize::MAX).max(1);
        Waiting { table: Mutex::default(), most, most_of_client }
    }

    /// At most how many calls wait.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // What is held is one insertion or removal.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many calls wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table().calls.len()
    }

    /// Keeps a call of a client for some time. Returns its state.
    pub(super) fn keep(
        self: &Arc<Self>,
        binding: Binding,
        clients: Vec<ClientKey>,
        conversation: Box<dyn Any + Send>,
        lifetime: Duration,
    ) -> Result<String, KeepError> {
        let state = random_state().ok_or(KeepError::NoRandomness)?;
        let mut table = self.table();
        if table.calls.len() >= self.most {
            return Err(KeepError::Full);
        }
        if clients.iter().any(|client| table.waiting_of(client) >= self.most_of_client) {
            return Err(KeepError::ClientShare);
        }
        let (waiting, timed): (Weak<Self>, _) = (Arc::downgrade(self), state.clone());
        let timer = tokio::spawn(async move {
            tokio::time::sleep(lifetime).await;
            let late = waiting.upgrade().and_then(|waiting| waiting.table().remove(&timed));
            drop(late);
        });
        table.insert(
            state.clone(),
            WaitingCall { binding, clients, conversation, timer: timer.abort_handle() },
        );
        Ok(state)
    }

    /// Takes a call out. Nothing if there is none with this state, or not for this request of this principal: then it goes
    /// on waiting.
    pub(super) fn take<C: Any>(&self, state: &str, binding: &Binding) -> Option<Box<C>> {
        let mut table = self.table();
        let call = table.calls.get(state);
        call.filter(|call| call.binding == *binding && call.conversation.is::<C>())?;
        let mut call = table.remove(state)?;
        drop(table);
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
        let waiting = Arc::new(Waiting::new(2, 100));
        let forever = Duration::from_secs(1 << 30);
        let ours = binding("greet", Some("ada"));
        let state = waiting.keep(ours.clone(), Vec::new(), Box::new(7), forever).unwrap();
        assert!(waiting.take::<i32>(&state, &binding("greet", None)).is_none());
        assert!(waiting.take::<i32>(&state, &binding("part", Some("ada"))).is_none());
        assert!(waiting.take::<i32>("0", &ours).is_none());
        assert!(waiting.take::<u8>(&state, &ours).is_none());
        assert_eq!(waiting.take::<i32>(&state, &ours), Some(Box::new(7)));
        assert!(waiting.take::<i32>(&state, &ours).is_none());
    }

    #[tokio::test]
    async fn only_so_many_calls_wait() {
        let waiting = Arc::new(Waiting::new(1, 100));
        let forever = Duration::from_secs(1 << 30);
        let first = waiting.keep(binding("a", None), Vec::new(), Box::new(1), forever).unwrap();
        assert!(waiting.keep(binding("b", None), Vec::new(), Box::new(2), forever).is_err());
        assert!(waiting.take::<i32>(&first, &binding("a", None)).is_some());
        assert!(waiting.keep(binding("b", None), Vec::new(), Box::new(2), forever).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_too_long_is_dropped() {
        let waiting = Arc::new(Waiting::new(1, 100));
        let (dropped, is_dropped) = tokio::sync::oneshot::channel::<()>();
        let state =
            waiting.keep(binding("a", None), Vec::new(), Box::new(dropped), Duration::from_secs(60)).unwrap();
        assert_eq!(waiting.len(), 1);
        assert!(is_dropped.await.is_err());
        assert_eq!(waiting.len(), 0);
        assert!(waiting.take::<tokio::sync::oneshot::Sender<()>>(&state, &binding("a", None)).is_none());
    }

    #[tokio::test]
    async fn one_client_leaves_places_to_others() {
        let waiting = Arc::new(Waiting::new(5, 40));
        let forever = Duration::from_secs(1 << 30);
        let keep = |principal: Option<&str>, address: &str| {
            let peer = PeerIdentity::default().with_address(address.parse().unwrap());
            let clients = ClientKey::of(principal, &peer);
            waiting.keep(binding("a", None), clients, Box::new(()), forever)
        };
        let first = keep(None, "10.0.0.1").unwrap();
        assert!(keep(None, "10.0.0.1").is_ok());
        assert_eq!(keep(None, "10.0.0.1"), Err(KeepError::ClientShare));
        // Under another name it is the same client, and under the same name from elsewhere, too.
        assert_eq!(keep(Some("ada"), "10.0.0.1"), Err(KeepError::ClientShare));
        assert!(keep(Some("ada"), "2001:db8::1").is_ok());
        assert!(keep(Some("ada"), "10.0.0.2").is_ok());
        assert_eq!(keep(Some("ada"), "10.0.0.3"), Err(KeepError::ClientShare));
        // A call that goes on, or is too late, does not count any more.
        assert!(waiting.take::<()>(&first, &binding("a", None)).is_some());
        assert!(keep(None, "10.0.0.1").is_ok());
        assert!(keep(None, "2001:db8::2").is_ok());
        assert_eq!(keep(None, "10.0.0.4"), Err(KeepError::Full));
        assert_eq!(waiting.table().by_client.values().sum::<usize>(), 5 + 2);
    }

    #[test]
    fn a_share_is_at_least_one_call() {
        assert_eq!(Waiting::new(10, 0).most_of_client, 1);
        assert_eq!(Waiting::new(1_000, 50).most_of_client, 500);
        assert_eq!(Waiting::new(usize::MAX, 255).most_of_client, usize::MAX);
    }
}
