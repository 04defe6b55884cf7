//! Several messages in one list, where the protocol permits batches.
//!
//! Each message is judged by itself, in order. The replies go out as one list once the last of them is there. A request
//! that is a step of a linear channel cannot stand in a batch: its reply is a step, too, and would wait for the other
//! replies. Replies that wait count as output; results beyond half of what may wait are replaced by errors.
//!
//! What this side says in one list is written at once, so nothing else gets in between.

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Action, Direction, Edge, MessageIndex};
use serde_json::value::RawValue;

use super::owners::batches::{BatchKey, ReplyTo};
use super::owners::context::{Caller, Inbound};
use super::state::Engine;
use crate::driver::{MessageKind, Received};
use crate::error::Error;
use crate::jsonrpc::{Dialect, RpcError, batch, parse};
use crate::report::Report;

impl Engine {
    /// Writes several messages of this side as one list.
    ///
    /// # Errors
    /// [`Error::NoBatches`] if the protocol does not permit batches.
    pub(crate) fn batched(
        &mut self,
        caller: Caller,
        write: impl FnOnce(&mut Engine, Caller),
    ) -> Result<(), Error> {
        if let Some(error) = self.lifecycle.closed(caller) {
            return Err(error);
        }
        if !self.rules.protocol().batch {
            let (protocol, version) =
                (self.rules.protocol().name.clone(), self.rules.protocol().version.clone());
            return Err(Error::NoBatches { protocol, version });
        }
        let start = self.outbox.composing().len();
        write(self, caller.in_batch());
        let output = self.outbox.composing();
        let written = output.split_off(start);
        let mut separator = b'[';
        // A message is one line, without an end of line in it.
        for message in written.split(|byte| *byte == b'\n').filter(|message| !message.is_empty()) {
            output.push(separator);
            output.extend_from_slice(message);
            separator = b',';
        }
        if output.len() > start {
            output.extend_from_slice(b"]\n");
            self.appended(MessageKind::Several { bound: caller.is_bound() }, caller.in_reply_to());
        }
        Ok(())
    }

    /// Takes a line that is a list.
    pub(super) fn batch_came(&mut self, inbound: Inbound<'_>, line: &[u8]) -> Received {
        let messages = match batch(line, self.rules.options().max_batch) {
            Ok(messages) => messages,
            Err(malformed) => return self.malformed_came(inbound, malformed),
        };
        let key = self.batches.begin(inbound.tag);
        let inbound = Inbound { batch: Some(key), ..inbound };
        let mut all = Received::default();
        for message in messages.into_iter().map(RawValue::get) {
            // A message may end the session for those behind it.
            if self.lifecycle.is_open() {
                let received = self.message_came(
                    inbound,
                    parse(message.as_bytes(), self.rules.options().max_depth, self.rules.dialect()),
                );
                all.add(received);
            }
        }
        self.leave_batch(Some(key));
        all
    }

    /// The refusal of a request that cannot stand in a batch; `None` if it can, or is not in one.
    pub(super) fn refused_in_batch(
        &mut self,
        inbound: Inbound<'_>,
        message: MessageIndex,
        id: &RequestId,
    ) -> Option<Received> {
        inbound.batch?;
        let is_step = |edge: &Edge| matches!(edge.action, Action::Step(_));
        let state = self.rules.checker().states().iter().filter_map(|state| self.rules.role()?.state(*state));
        let mut here = state.filter(|state| state.edge(Direction::Receive, message).is_some_and(is_step));
        let state = here.next().map(|state| state.name.clone())?;
        let method = self.rules.method(message);
        let error = RpcError::invalid_request(format!(
            "`{method}` moves the session on from `{state}` and cannot stand in a batch: send it on its own"
        ))
        .with_data(serde_json::json!({ "state": state, "expected": [method] }));
        let received = self.write_error(inbound, Some(id), &error);
        self.report(Report::Malformed { error, id: Some(id.clone()) });
        Some(received)
    }

    /// Writes a reply, to the peer or into the batch of its request.
    pub(super) fn write_reply(
        &mut self,
        to: ReplyTo,
        kind: MessageKind,
        write: impl Fn(&mut Vec<u8>, Dialect),
    ) {
        let dialect = self.rules.dialect();
        if self.batches.write(to.batch, |into| write(into, dialect)) {
            return self.check_output_limit();
        }
        write(self.outbox.composing(), dialect);
        self.appended(kind, to.tag);
    }

    /// A request of a batch is answered, or will not be. The last one sends the replies of all.
    pub(super) fn leave_batch(&mut self, key: Option<BatchKey>) {
        let Some(key) = key else { return };
        let Some(batch) = self.batches.leave(key) else { return };
        let tag = batch.tag;
        if batch.finish(self.outbox.composing()) {
            self.appended(MessageKind::Batch, tag);
        }
    }

    /// The session is over. What has been replied is sent if `wanted`, without waiting for the rest.
    pub(super) fn leave_batches(&mut self, wanted: bool) {
        for batch in self.batches.take_all() {
            let tag = batch.tag;
            if wanted && batch.finish(self.outbox.composing()) {
                self.outbox.said(MessageKind::Batch, tag, self.lifecycle.epoch(), &mut self.effects);
            }
        }
    }
}
