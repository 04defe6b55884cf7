//! What the requests and sessions of a server share.

use std::sync::Arc;

use mcp_runtime::Options;

use super::changes::Changes;
use super::context::Context;
use super::handler::Handler;
use super::spoken::Spoken;
use crate::mcp_2026_07_28::server;
use crate::mcp_2026_07_28::types::RequestMeta;
use crate::rounds::Rounds;

/// Says on whose behalf a request comes.
pub(super) type Principal = Arc<dyn Fn(&Context) -> Option<String> + Send + Sync>;

/// What the requests and sessions of a server share. A clone is the same.
pub(super) struct Served<H> {
    pub(super) handler: Arc<H>,
    pub(super) changes: Changes,
    pub(super) options: Options,
    pub(super) rounds: Rounds,
    pub(super) principal: Option<Principal>,
    pub(super) spoken: Spoken,
}

impl<H: Handler> Served<H> {
    pub(super) fn new(handler: H) -> Served<H> {
        Served {
            handler: Arc::new(handler),
            changes: Changes::new(),
            options: Options::new(),
            rounds: Rounds::new(),
            principal: None,
            spoken: Spoken::all(),
        }
    }

    /// The calls that wait on behalf of the one who makes a request.
    pub(super) fn rounds(&self, context: &server::Context, meta: &RequestMeta) -> Rounds {
        let context = || Context::of_request(context.clone(), meta.clone());
        let rounds = match self.principal.as_ref().and_then(|principal| principal(&context())) {
            Some(principal) => self.rounds.principal(principal),
            None => self.rounds.clone(),
        };
        if self.handler.opens_states() { rounds.with_sealed_states() } else { rounds }
    }
}

impl<H> Clone for Served<H> {
    fn clone(&self) -> Served<H> {
        Served {
            handler: Arc::clone(&self.handler),
            changes: self.changes.clone(),
            options: self.options.clone(),
            rounds: self.rounds.clone(),
            principal: self.principal.clone(),
            spoken: self.spoken.clone(),
        }
    }
}
