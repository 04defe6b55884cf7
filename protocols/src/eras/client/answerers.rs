//! [`Answerer`]: the user of one call. [`RunningCalls`]: the calls of a session, because a question of a
//! session does not say which call it belongs to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use mcp_runtime::RpcError;

use crate::mcp_2026_07_28::types::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult,
};
use crate::rounds::User;

type Answered<'a, T> = BoxFuture<'a, Result<T, RpcError>>;

/// The methods of a [`User`], for users of any type.
trait AnyUser: Send + Sync {
    fn elicit(&self, params: ElicitParams) -> Answered<'_, ElicitResult>;
    fn create_message(&self, params: CreateMessageParams) -> Answered<'_, CreateMessageResult>;
    fn list_roots(&self) -> Answered<'_, ListRootsResult>;
}

impl<U: User> AnyUser for U {
    fn elicit(&self, params: ElicitParams) -> Answered<'_, ElicitResult> {
        Box::pin(User::elicit(self, params))
    }

    fn create_message(&self, params: CreateMessageParams) -> Answered<'_, CreateMessageResult> {
        Box::pin(User::create_message(self, params))
    }

    fn list_roots(&self) -> Answered<'_, ListRootsResult> {
        Box::pin(User::list_roots(self))
    }
}

/// A user of any type, who answers what a server asks in one call.
#[derive(Clone)]
pub(super) struct Answerer(Arc<dyn AnyUser>);

impl Answerer {
    pub(super) fn new(user: impl User + 'static) -> Answerer {
        Answerer(Arc::new(user))
    }
}

impl User for Answerer {
    fn elicit(&self, params: ElicitParams) -> impl Future<Output = Result<ElicitResult, RpcError>> + Send {
        self.0.elicit(params)
    }

    fn create_message(
        &self,
        params: CreateMessageParams,
    ) -> impl Future<Output = Result<CreateMessageResult, RpcError>> + Send {
        self.0.create_message(params)
    }

    fn list_roots(&self) -> impl Future<Output = Result<ListRootsResult, RpcError>> + Send {
        self.0.list_roots()
    }
}

impl fmt::Debug for Answerer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Answerer")
    }
}

/// The calls of a session in which the server may ask.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Mutex<CallTable>);

/// Invariant: a call stands here from before it is sent until its result is there, or it is dropped.
#[derive(Debug, Default)]
struct CallTable {
    last: u64,
    running: BTreeMap<u64, Option<Answerer>>,
}

impl RunningCalls {
    fn table(&self) -> MutexGuard<'_, CallTable> {
        // What is held is one insertion, removal or look.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins, which may have a user of its own. It ends when the value is dropped.
    pub(super) fn begin(&self, answerer: Option<Answerer>) -> RunningCall<'_> {
        let mut table = self.table();
        table.last += 1;
        let number = table.last;
        table.running.insert(number, answerer);
        RunningCall { calls: self, number }
    }

    /// The user of the call that runs, if it is the only one and has a user of its own.
    pub(super) fn answerer(&self) -> Option<Answerer> {
        let table = self.table();
        let mut running = table.running.values();
        running.next().filter(|_| table.running.len() == 1).cloned().flatten()
    }
}

/// A call that runs.
pub(super) struct RunningCall<'a> {
    calls: &'a RunningCalls,
    number: u64,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let ended = self.calls.table().running.remove(&self.number);
        // The lock is released by now: what is dropped may be code of the program.
        drop(ended);
    }
}
