//! Quotas of an HTTP server: per client and for all sessions together.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::clients::Clients;
use super::options::ServerOptions;
use super::refusal::{RequestRefusal, refused};
use super::streams::StreamLimits;
use crate::budget::{Account, Budget, Exhausted, Holder, Permit};
use crate::driver::{PeerIdentity, SharedLimits, network_of};
use crate::engine::Bucket;
use crate::options::RateLimit;

/// Budgets of one kind of holder: of all clients together, or of one of them.
#[derive(Debug)]
struct Budgets {
    sessions: Budget,
    handlers: Budget,
    bytes: Budget,
    kept: Budget,
    /// At most so many requests in so much time.
    rate: Option<RateLimit>,
    bucket: Mutex<Bucket>,
    /// The accounts of a client that draws on these and on those of all: made once, and not with each request.
    accounts: Accounts,
}

/// What a client draws on, by kind.
#[derive(Debug)]
struct Accounts {
    sessions: Account,
    handlers: Account,
    bytes: Account,
    kept: Account,
}

impl Budgets {
    /// As much as the options say for all clients, or the share of it that one client may have.
    fn new(holder: Holder, options: &ServerOptions, all: Option<&Budgets>) -> Budgets {
        let share = match holder {
            Holder::Client => options.client_share.min(100),
            Holder::All | Holder::Session => 100,
        };
        let budget = |name, limit| Budget::new(holder, name, part(limit, share));
        let rate = options.request_rate.map(|rate| RateLimit {
            times: part_u32(rate.times, share),
            burst: part_u32(rate.burst, share),
            ..rate
        });
        let sessions = budget("max_sessions", options.max_sessions);
        let handlers = budget("max_handlers", options.max_handlers);
        let bytes = budget("max_bytes", options.max_bytes);
        let kept = budget("max_replay_bytes", options.max_replay_bytes);
        let account = |own: &Budget, of_all: fn(&Budgets) -> &Budget| {
            Account::of(std::iter::once(own).chain(all.map(of_all)).cloned())
        };
        let accounts = Accounts {
            sessions: account(&sessions, |all| &all.sessions),
            handlers: account(&handlers, |all| &all.handlers),
            bytes: account(&bytes, |all| &all.bytes),
            kept: account(&kept, |all| &all.kept),
        };
        Budgets { sessions, handlers, bytes, kept, rate, bucket: Mutex::default(), accounts }
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        // What is done under the lock does not panic.
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold_nothing(&self) -> bool {
        [&self.sessions, &self.handlers, &self.bytes, &self.kept].iter().all(|budget| budget.held() == 0)
    }
}

/// A part of a limit, in percent; not nothing, unless the limit is.
pub(super) fn part(limit: usize, percent: u8) -> usize {
    let part = (limit as u128).saturating_mul(u128::from(percent)).div_ceil(100);
    usize::try_from(part).unwrap_or(usize::MAX).max(limit.min(1))
}

fn part_u32(limit: u32, percent: u8) -> u32 {
    u32::try_from(part(limit as usize, percent)).unwrap_or(u32::MAX)
}

/// A client, as far as limits are concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// An address, or a network of addresses that one client usually has to itself.
    Address(IpAddr),
    /// A name that the program gave to it.
    Principal(Arc<str>),
}

impl Client {
    /// The client at an address.
    pub(super) fn at(address: IpAddr) -> Client {
        Client::Address(network_of(address))
    }

    /// The clients whose shares a request counts against, the narrowest first.
    pub(super) fn of(identity: &PeerIdentity) -> impl Iterator<Item = Client> {
        let principal = identity.principal.clone().map(Client::Principal);
        principal.into_iter().chain(identity.address.map(Client::at))
    }
}

/// The budgets of a server.
#[derive(Debug)]
pub(super) struct Quotas {
    all: Arc<Budgets>,
    options: Arc<ServerOptions>,
    clients: Clients<Client, Budgets>,
    /// Notified when a session's code has returned.
    returned: Arc<Notify>,
}

impl Quotas {
    pub(super) fn new(options: &Arc<ServerOptions>) -> Quotas {
        Quotas {
            all: Arc::new(Budgets::new(Holder::All, options, None)),
            options: Arc::clone(options),
            clients: Clients::new(),
            returned: Arc::default(),
        }
    }

    /// How many bytes are held.
    pub(super) fn bytes(&self) -> usize {
        self.all.bytes.held().saturating_add(self.all.kept.held())
    }

    /// The budgets that a request draws on, from the client's own to those of all. A client is known in two ways at most.
    pub(super) fn caller(&self, clients: impl IntoIterator<Item = Client>) -> ClientBudgets {
        let idle = |budgets: &Budgets| budgets.hold_nothing() && budgets.bucket().is_full(now());
        let make = || Budgets::new(Holder::Client, &self.options, Some(&self.all));
        let mut own = clients.into_iter().map(|client| self.clients.get(client, idle, make));
        let (narrowest, wider) = (own.next(), own.next());
        ClientBudgets { narrowest, wider, all: Arc::clone(&self.all) }
    }

    /// Counts one more session, until its code has returned.
    pub(super) fn session(&self, caller: &ClientBudgets) -> Result<SessionSlot, RequestRefusal> {
        let sessions = caller.account(|budgets| &budgets.sessions, |accounts| &accounts.sessions);
        let permit = sessions.take(1)?;
        Ok(SessionSlot { permit: Some(permit), returned: Arc::clone(&self.returned) })
    }

    /// Waits until the code of every session has returned.
    pub(super) async fn all_returned(&self) {
        loop {
            let mut returned = std::pin::pin!(self.returned.notified());
            returned.as_mut().enable();
            if self.all.sessions.held() == 0 {
                return;
            }
            returned.await;
        }
    }
}

/// Who makes a request, and what may still be taken for that.
#[derive(Clone, Debug)]
pub(super) struct ClientBudgets {
    /// Those of the client, if it is known.
    narrowest: Option<Arc<Budgets>>,
    /// The same, if it is known in a second way.
    wider: Option<Arc<Budgets>>,
    all: Arc<Budgets>,
}

impl ClientBudgets {
    /// All budgets, the narrowest first.
    fn budgets(&self) -> impl Iterator<Item = &Budgets> {
        [self.narrowest.as_deref(), self.wider.as_deref(), Some(&*self.all)].into_iter().flatten()
    }

    fn account(
        &self,
        which: impl Fn(&Budgets) -> &Budget,
        of_one: impl Fn(&Accounts) -> &Account,
    ) -> Account {
        match (&self.narrowest, &self.wider) {
            (Some(_), Some(_)) => Account::of(self.budgets().map(|budgets| which(budgets).clone())),
            (Some(own), None) | (None, Some(own)) => of_one(&own.accounts).clone(),
            (None, None) => of_one(&self.all.accounts).clone(),
        }
    }

    /// Counts one more request.
    pub(super) fn request(&self) -> Result<(), RequestRefusal> {
        // The clock is read once, and not at all where nothing is limited.
        let mut at = None;
        for budgets in self.budgets() {
            let Some(rate) = budgets.rate else { continue };
            budgets.bucket().take(rate, *at.get_or_insert_with(now)).map_err(|wait| {
                let wait = wait.as_millis().max(1);
                let problem = format!("too many requests in too short a time: try again in {wait} ms");
                RequestRefusal {
                    limit: Some("request_rate"),
                    ..refused(StatusCode::TOO_MANY_REQUESTS, problem)
                }
            })?;
        }
        Ok(())
    }

    /// What bytes are taken from outside of any session.
    pub(super) fn bytes(&self) -> Account {
        self.account(|budgets| &budgets.bytes, |accounts| &accounts.bytes)
    }

    /// What a session may hold that this caller begins. One that serves a single request keeps nothing.
    pub(super) fn session_quotas(&self, options: &ServerOptions, one_request: bool) -> SessionQuotas {
        let own = |name, limit| Budget::new(Holder::Session, name, limit);
        let kept = || self.account(|budgets| &budgets.kept, |accounts| &accounts.kept);
        SessionQuotas {
            handlers: self.account(|budgets| &budgets.handlers, |accounts| &accounts.handlers),
            bytes: self.bytes().within(own("session_bytes", options.session_bytes)),
            kept: match one_request {
                true => Account::default(),
                false => kept().within(own("replay_bytes", options.replay_bytes)),
            },
        }
    }
}

/// What one session may hold.
#[derive(Clone, Debug)]
pub(super) struct SessionQuotas {
    handlers: Account,
    bytes: Account,
    kept: Account,
}

impl SessionQuotas {
    /// What bytes are taken from.
    pub(super) fn bytes(&self) -> &Account {
        &self.bytes
    }

    /// What its engine may hold.
    pub(super) fn engine(&self) -> SharedLimits {
        SharedLimits { handlers: self.handlers.clone(), bytes: self.bytes.clone(), ..SharedLimits::default() }
    }

    /// What its streams may hold.
    pub(super) fn streams(&self, options: &ServerOptions) -> StreamLimits {
        StreamLimits { unread: self.bytes.clone(), kept: self.kept.clone(), streams: options.max_streams }
    }
}

/// The place of one session, held by the task that runs its code.
#[derive(Debug, Default)]
pub(super) struct SessionSlot {
    permit: Option<Permit>,
    returned: Arc<Notify>,
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.returned.notify_waiters();
    }
}

impl From<Exhausted> for RequestRefusal {
    fn from(exhausted: Exhausted) -> RequestRefusal {
        let status = match exhausted.holder {
            Holder::All => StatusCode::SERVICE_UNAVAILABLE,
            Holder::Client | Holder::Session => StatusCode::TOO_MANY_REQUESTS,
        };
        RequestRefusal { limit: Some(exhausted.name), ..refused(status, exhausted.to_string()) }
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up_and_are_not_nothing() {
        assert_eq!([part(10, 50), part(3, 50), part(1, 1), part(0, 50)], [5, 2, 1, 0]);
        assert_eq!(part(usize::MAX, 100), usize::MAX);
    }

    #[test]
    fn networks_of_one_client_count_as_one() {
        let at = |text: &str| Client::at(text.parse().unwrap());
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
        assert_ne!(at("10.0.0.2"), at("10.0.0.1"));
    }
}
