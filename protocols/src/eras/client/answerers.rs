//! [`Answerer`]: the user of one call. [`RunningCalls`]: the calls of a connection, because neither a question of a
//! session nor a message of the log says which call it belongs to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use mcp_runtime::RpcError;

use crate::mcp_2026_07_28::types::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult,
    LoggingMessageParams,
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

/// Takes messages of the server's log.
pub(super) type OnLog = Arc<dyn Fn(LoggingMessageParams) + Send + Sync>;

/// What one call has of its own, in place of what its client has.
#[derive(Clone, Default)]
pub(super) struct OfCall {
    /// Answers what the server asks.
    pub(super) answerer: Option<Answerer>,
    /// Takes what the server logs.
    pub(super) on_log: Option<OnLog>,
}

impl fmt::Debug for OfCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OfCall").field("answerer", &self.answerer).finish_non_exhaustive()
    }
}

/// The calls of a connection in which the server may ask.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Mutex<CallTable>);

/// Invariant: a call stands here from before it is sent until its result is there, or it is dropped.
#[derive(Debug, Default)]
struct CallTable {
    last: u64,
    running: BTreeMap<u64, OfCall>,
}

impl RunningCalls {
    fn table(&self) -> MutexGuard<'_, CallTable> {
        // What is held is one insertion, removal or look.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins. It ends when the value is dropped.
    pub(super) fn begin(&self, own: OfCall) -> RunningCall<'_> {
        let mut table = self.table();
        table.last += 1;
        let number = table.last;
        table.running.insert(number, own);
        RunningCall { calls: self, number }
    }

    /// What the call that runs has of its own, if it is the only one.
    pub(super) fn only(&self) -> OfCall {
        let table = self.table();
        let mut running = table.running.values();
        running.next().filter(|_| table.running.len() == 1).cloned().unwrap_or_default()
    }

    /// Hands a message of the log to the call that runs, if it is the only one and takes them; or to the client's own.
    pub(super) fn log(&self, own: Option<&OnLog>, line: LoggingMessageParams) {
        if let Some(on_log) = self.only().on_log.as_ref().or(own) {
            on_log(line);
        }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::mcp_2026_07_28::types::LoggingLevel;

    #[test]
    fn a_message_of_the_log_goes_to_the_only_call_that_takes_it_or_to_the_client_s_own() {
        let (heard, hearing) = mpsc::channel();
        let log = |name: &'static str| -> OnLog {
            let heard = heard.clone();
            Arc::new(move |_| heard.send(name).unwrap())
        };
        let (calls, own) = (RunningCalls::default(), log("own"));
        let of_call = |name| OfCall { on_log: Some(log(name)), ..OfCall::default() };
        let hears = |own: Option<&OnLog>| {
            calls.log(own, LoggingMessageParams::new(LoggingLevel::Info, "hello"));
            hearing.try_recv().ok()
        };
        assert_eq!((hears(Some(&own)), hears(None)), (Some("own"), None));
        let first = calls.begin(of_call("first"));
        assert_eq!((hears(Some(&own)), hears(None)), (Some("first"), Some("first")));
        let second = calls.begin(OfCall::default());
        assert_eq!((hears(Some(&own)), hears(None)), (Some("own"), None), "it may be that of either");
        drop(first);
        assert_eq!(hears(Some(&own)), Some("own"), "the second takes none");
        drop(second);
        assert_eq!(hears(None), None);
    }
}
