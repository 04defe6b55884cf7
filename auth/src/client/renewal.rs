//! [`Tokens`]: the token of a client, and how it is renewed, one renewal after another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

use super::binding::Binding;
use super::code;
use super::discovery::{Discovered, discover};
use super::error::AuthorizationError;
use super::fetch::Fetcher;
use super::grant::{Grant, Origin, TokenEndpoint};
use super::identity::RegisteredClient;
use super::nonces::Nonces;
use super::registration::Registrations;
use super::store::{AnyStore, load, save};
use super::subject::Subject;
use super::token_requests::{Proofs, TokenRequests};
use crate::challenge::BearerChallenge;
use crate::scopes::Scopes;
use crate::secret::Secret;

/// Why a token is renewed.
#[derive(Clone, Debug)]
pub(super) enum Reason {
    /// It is about to expire.
    Expires,
    /// The server does not accept it, or wants one in the first place. `again`: it has refused the one before it, too.
    Refused { challenge: BearerChallenge, again: bool },
    /// It does not permit enough.
    Insufficient(BearerChallenge),
}

/// The token of a client for one MCP server.
///
/// Invariant: of all renewals one at a time runs, to its end, even if no request waits for it any more; and what it has got is in the store before
/// it is used. A renewal that somebody else has made unnecessary meanwhile does nothing.
pub(super) struct Tokens {
    pub(super) server: Url,
    pub(super) fetcher: Fetcher,
    pub(super) store: Arc<dyn AnyStore>,
    pub(super) registrations: Registrations,
    pub(super) subject: Subject,
    pub(super) scopes: Scopes,
    pub(super) binding: Binding,
    pub(super) nonces: Arc<Nonces>,
    state: Mutex<State>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// What the store had when it was last read, or was given.
    grant: Option<Arc<Grant>>,
    was_read: bool,
    /// The number of renewals so far, and how the last one failed.
    renewals: u64,
    failure: Option<Arc<AuthorizationError>>,
    /// The authorization server at which a client is registered that the program has not said the server of.
    bound: Option<String>,
}

impl Tokens {
    pub(super) fn new(
        server: Url,
        fetcher: Fetcher,
        store: Arc<dyn AnyStore>,
        registrations: Registrations,
        subject: Subject,
        scopes: Scopes,
        binding: Binding,
    ) -> Tokens {
        let (nonces, state, turn) = (Arc::default(), Mutex::default(), tokio::sync::Mutex::new(()));
        Tokens { server, fetcher, store, registrations, subject, scopes, binding, nonces, state, turn }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self) -> String {
        format!("token for {}", self.server)
    }

    /// The present token.
    pub(super) async fn grant(&self) -> Result<Option<Arc<Grant>>, AuthorizationError> {
        {
            let state = self.state();
            if state.was_read {
                return Ok(state.grant.clone());
            }
        }
        self.reread().await
    }

    async fn reread(&self) -> Result<Option<Arc<Grant>>, AuthorizationError> {
        let stored: Option<Grant> = load(&*self.store, &self.key()).await?;
        // What was stored for another key, or for none, counts as none.
        let stored = stored.and_then(|mut grant| self.binding.fits(grant.bound.as_mut()).then_some(grant));
        let mut state = self.state();
        let is_same = match (&state.grant, &stored) {
            (Some(known), Some(stored)) => known.access == stored.access,
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            state.grant = stored.map(Arc::new);
        }
        state.was_read = true;
        Ok(state.grant.clone())
    }

    /// Forgets the token, so that the next request begins from the start.
    pub(super) async fn forget(&self) -> Result<(), AuthorizationError> {
        let _turn = self.turn.lock().await;
        self.store.write(&self.key(), None).await?;
        let mut state = self.state();
        (state.grant, state.was_read) = (None, true);
        Ok(())
    }

    /// Renews the token, unless it is another than that one by now. What is begun goes on if the caller leaves: the user may be
    /// logging in.
    pub(super) async fn renew(
        self: &Arc<Tokens>,
        before: Option<Secret>,
        reason: Reason,
    ) -> Result<(), Arc<AuthorizationError>> {
        let tokens = Arc::clone(self);
        let renewals = self.state().renewals;
        let renewing = tokio::spawn(async move { tokens.renew_in_turn(before, reason, renewals).await });
        renewing.await.unwrap_or_else(|_| Err(Arc::new(AuthorizationError::Stopped)))
    }

    async fn renew_in_turn(
        &self,
        before: Option<Secret>,
        reason: Reason,
        renewals: u64,
    ) -> Result<(), Arc<AuthorizationError>> {
        let _turn = self.turn.lock().await;
        {
            let state = self.state();
            if let Some(failure) = state.failure.as_ref().filter(|_| state.renewals > renewals) {
                // Who has waited for it does not ask the user once more.
                return Err(Arc::clone(failure));
            }
        }
        let renewed = self.renew_alone(before, reason).await.map_err(Arc::new);
        let mut state = self.state();
        state.renewals = state.renewals.saturating_add(1);
        state.failure = renewed.as_ref().err().map(Arc::clone);
        renewed
    }

    async fn renew_alone(&self, before: Option<Secret>, reason: Reason) -> Result<(), AuthorizationError> {
        let grant = self.reread().await?;
        if grant.as_ref().map(|grant| &grant.access) != before.as_ref() {
            return Ok(());
        }
        let renewed = match (&reason, &grant) {
            (Reason::Expires, Some(grant)) => self.before_expiry(grant).await?,
            (Reason::Expires, None) => return Ok(()),
            (Reason::Refused { challenge, again }, _) => {
                self.after_refusal(grant.as_deref(), challenge, *again).await?
            }
            (Reason::Insufficient(challenge), _) => self.authorize(grant.as_deref(), challenge).await?,
        };
        save(&*self.store, &self.key(), &renewed).await?;
        tracing::debug!(issuer = renewed.issuer, origin = ?renewed.origin, "there is a new token");
        self.state().grant = Some(Arc::new(renewed));
        Ok(())
    }

    /// How the next token is requested, after that one.
    fn requests(&self, before: Option<&Grant>) -> Result<TokenRequests<'_>, AuthorizationError> {
        let key = self.binding.next(before.and_then(|grant| grant.bound.as_ref()))?;
        let proofs = key.map(|key| Proofs { key, nonces: Arc::clone(&self.nonces) });
        Ok(TokenRequests { fetcher: &self.fetcher, proofs })
    }

    /// Another token from where this one came from.
    async fn before_expiry(&self, grant: &Grant) -> Result<Grant, AuthorizationError> {
        let known = self.registrations.known(&*self.store, &grant.issuer, &grant.client).await?;
        let not_registered = || AuthorizationError::NotRegistered { issuer: grant.issuer.clone() };
        let client = known.ok_or_else(not_registered)?;
        let endpoint = TokenEndpoint::of_grant(self.requests(Some(grant))?, grant, &client);
        match (&self.subject, &grant.refresh) {
            (_, Some(refresh)) => endpoint.refresh(refresh, grant.requested.clone()).await,
            (Subject::Known(known), None) => known.grant(&endpoint, grant.requested.clone()).await,
            (Subject::User(_), None) => Ok(grant.clone()),
        }
    }

    /// Another token, if there is a refresh token for one; else a new one. Who issues tokens may have changed.
    async fn after_refusal(
        &self,
        grant: Option<&Grant>,
        challenge: &BearerChallenge,
        again: bool,
    ) -> Result<Grant, AuthorizationError> {
        let Some(grant) = grant else { return self.authorize(None, challenge).await };
        // What a refresh token is good for has been seen then.
        let is_of_no_use = again && grant.origin == Origin::Refreshed;
        let Some(refresh) = grant.refresh.as_ref().filter(|_| !is_of_no_use) else {
            return self.authorize(Some(grant), challenge).await;
        };
        let found = self.discover(challenge).await?;
        let known = self.registrations.known(&*self.store, &grant.issuer, &grant.client).await?;
        if let Some(client) = known.filter(|_| found.server.issuer == grant.issuer) {
            let requests = self.requests(Some(grant))?;
            let endpoint = TokenEndpoint::at(requests, &found.server, &found.resource, &client)?;
            match endpoint.refresh(refresh, grant.requested.clone()).await {
                Err(AuthorizationError::Refused { error, .. }) => {
                    tracing::debug!(error, "the refresh token is not accepted");
                }
                other => return other,
            }
        }
        self.authorize_at(&found, Some(grant), challenge).await
    }

    async fn authorize(
        &self,
        grant: Option<&Grant>,
        challenge: &BearerChallenge,
    ) -> Result<Grant, AuthorizationError> {
        let found = self.discover(challenge).await?;
        self.authorize_at(&found, grant, challenge).await
    }

    async fn discover(&self, challenge: &BearerChallenge) -> Result<Discovered, AuthorizationError> {
        discover(&self.fetcher, &self.server, challenge, &self.registrations.issuers()).await
    }

    /// Gets a token that has not been there before.
    async fn authorize_at(
        &self,
        found: &Discovered,
        grant: Option<&Grant>,
        challenge: &BearerChallenge,
    ) -> Result<Grant, AuthorizationError> {
        // What was granted before stays granted, unless somebody else grants now.
        let before = grant.filter(|grant| grant.issuer == found.server.issuer);
        let before = before.map(|grant| grant.requested.clone()).unwrap_or_default();
        let wanted = challenge.scope.as_ref().or(found.scopes.as_ref().filter(|_| before.is_empty()));
        let wanted = wanted.cloned().unwrap_or_default().with(&before).with(&self.scopes);
        let redirect_uri = match &self.subject {
            Subject::User(user_agent) => Some(user_agent.redirect()),
            Subject::Known(_) => None,
        };
        let redirect_uri = redirect_uri.as_deref();
        let client = self.client(found, redirect_uri).await?;
        let granted = self.grant_to(found, &client, grant, wanted.clone()).await;
        match granted {
            // It may have been registered so long ago that it was removed.
            Err(error) if error.is_unknown_client() && redirect_uri.is_some() => {
                self.registrations.forget(&*self.store, &found.server.issuer).await?;
                let again = self.client(found, redirect_uri).await?;
                if again.id == client.id {
                    Err(error)
                } else {
                    self.grant_to(found, &again, grant, wanted).await
                }
            }
            other => other,
        }
    }

    async fn client(
        &self,
        found: &Discovered,
        redirect_uri: Option<&str>,
    ) -> Result<RegisteredClient, AuthorizationError> {
        let server = &found.server;
        let client = self.registrations.client(&self.fetcher, &*self.store, server, redirect_uri).await?;
        if client.issuer.is_none() && self.registrations.document.as_ref() != Some(&client.id) {
            let mut state = self.state();
            let bound = state.bound.get_or_insert_with(|| server.issuer.clone());
            if *bound != server.issuer {
                let (registered, issuer) = (bound.clone(), server.issuer.clone());
                return Err(AuthorizationError::RegisteredElsewhere {
                    client: client.id,
                    registered,
                    issuer,
                });
            }
        }
        Ok(client)
    }

    async fn grant_to(
        &self,
        found: &Discovered,
        client: &RegisteredClient,
        before: Option<&Grant>,
        scopes: Scopes,
    ) -> Result<Grant, AuthorizationError> {
        let requests = self.requests(before)?;
        match &self.subject {
            Subject::User(user_agent) => {
                code::authorize(requests, &**user_agent, found, client, scopes).await
            }
            Subject::Known(known) => {
                let endpoint = TokenEndpoint::at(requests, &found.server, &found.resource, client)?;
                known.grant(&endpoint, scopes).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::identity::RegisteredClient;
    use crate::client::store::MemoryStore;
    use crate::client::subject::Known;

    #[tokio::test]
    async fn those_who_wait_for_a_renewal_share_its_failure() {
        // No server is there.
        let server = Url::parse("http://127.0.0.1:1/mcp").unwrap();
        let fetcher = Fetcher::new(reqwest::Client::builder(), &server).unwrap();
        let registered = vec![RegisteredClient::new("robot")];
        let registrations = Registrations { registered, ..Registrations::default() };
        let store = Arc::new(MemoryStore::default());
        let subject = Subject::Known(Known::Program);
        let tokens =
            Tokens::new(server, fetcher, store, registrations, subject, Scopes::new(), Binding::Unbound);
        let tokens = Arc::new(tokens);
        let reason = || Reason::Refused { challenge: BearerChallenge::default(), again: false };
        // All of them ask before the first renewal begins, because it runs on this thread.
        let failed = futures_util::future::join_all((0..5).map(|_| tokens.renew(None, reason()))).await;
        let failed: Vec<_> = failed.into_iter().map(Result::unwrap_err).collect();
        assert!(failed.iter().all(|error| Arc::ptr_eq(error, &failed[0])), "{failed:?}");
        // Who asks later tries again.
        let again = tokens.renew(None, reason()).await.unwrap_err();
        assert!(!Arc::ptr_eq(&again, &failed[0]));
        assert!(again.to_string().contains("cannot be reached"), "{again}");
    }
}
