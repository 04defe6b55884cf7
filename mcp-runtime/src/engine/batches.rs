//! Several messages in one list, where the protocol permits batches.
//!
//! Each message is judged by itself, in order. The replies go out as one list once the last of them is there. A request
//! that is a step of a linear channel cannot stand in a batch: its reply is a step, too, and would wait for the other
//! replies. Replies that wait count as output; results beyond half of what may wait are replaced by errors.
//!
//! What this side says in one list is written at once, so nothing else gets in between.

use std::collections::BTreeMap;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Action, Direction, MessageIndex};
use serde_json::value::RawValue;

use super::context::{Caller, Inbound};
use super::state::Engine;
use crate::driver::{MessageKind, Received, RequestTag};
use crate::error::Error;
use crate::jsonrpc::{RpcError, batch, parse};
use crate::report::Report;

/// Names a batch of the peer that has not been answered.
pub(super) type BatchKey = u64;

/// The batches that have not been answered.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: BTreeMap<BatchKey, Batch>,
    next: BatchKey,
    /// How much the replies that are held back take.
    bytes: usize,
}

/// Where the answer to a request goes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyTo {
    /// The batch that the request came in.
    pub(super) batch: Option<BatchKey>,
    /// What the transport calls the message that the request came in.
    pub(super) tag: Option<RequestTag>,
}

#[derive(Debug, Default)]
struct Batch {
    tag: Option<RequestTag>,
    /// How many replies are still to come, and one more as long as the batch is being judged.
    waiting: usize,
    /// The replies that are there, as a list without its end.
    replies: Vec<u8>,
}

impl Batches {
    /// How many bytes are held back.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A request of a batch was accepted: the replies of the batch wait for its reply, too.
    pub(super) fn join(&mut self, key: BatchKey) {
        if let Some(batch) = self.open.get_mut(&key) {
            batch.waiting += 1;
        }
    }

    /// Whether a result of that many bytes may wait in its batch with what waits already. If none may, it is refused:
    /// one that is asked for on its own needs not wait.
    pub(super) fn has_room(&self, to: ReplyTo, bytes: usize, most: usize) -> bool {
        to.batch.is_none() || self.bytes.saturating_add(bytes) <= most
    }

    /// Writes a reply into its batch; `false` if there is none, and the reply goes straight to the peer.
    fn write(&mut self, key: Option<BatchKey>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let Some(batch) = key.and_then(|key| self.open.get_mut(&key)) else {
            return false;
        };
        let before = batch.replies.len();
        batch.replies.push(if before == 0 { b'[' } else { b',' });
        write(&mut batch.replies);
        // What is written is a whole line; here its end comes behind the last reply of all.
        batch.replies.pop();
        self.bytes += batch.replies.len().saturating_sub(before);
        true
    }
}

impl Batch {
    fn finish(self, into: &mut Vec<u8>) -> bool {
        if self.replies.is_empty() {
            return false;
        }
        into.extend(self.replies);
        into.extend_from_slice(b"]\n");
        true
    }
}

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
        if let Some(error) = self.closed(caller) {
            return Err(error);
        }
        if !self.protocol.batch {
            let (protocol, version) = (self.protocol.name.clone(), self.protocol.version.clone());
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
        let messages = match batch(line, self.options.max_batch) {
            Ok(messages) => messages,
            Err(malformed) => return self.malformed_came(inbound, malformed),
        };
        let key = self.batches.next;
        self.batches.next = key.wrapping_add(1);
        self.batches.open.insert(key, Batch { tag: inbound.tag, waiting: 1, replies: Vec::new() });
        let inbound = Inbound { batch: Some(key), ..inbound };
        let mut all = Received::default();
        for message in messages.into_iter().map(RawValue::get) {
            // A message may end the session for those behind it.
            if self.lifecycle.is_open() {
                let received = self.message_came(inbound, parse(message.as_bytes(), self.options.max_depth));
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
        let is_step = |edge: &mcp_protocol_machine::protocol::Edge| matches!(edge.action, Action::Step(_));
        let state = self.checker.states().iter().filter_map(|state| self.role()?.state(*state));
        let mut here = state.filter(|state| state.edge(Direction::Receive, message).is_some_and(is_step));
        let state = here.next().map(|state| state.name.clone())?;
        let method = self.method(message);
        let error = RpcError::invalid_request(format!(
            "`{method}` moves the session on from `{state}` and cannot stand in a batch: send it on its own"
        ))
        .with_data(serde_json::json!({ "state": state, "expected": [method] }));
        let received = self.write_error(inbound, Some(id), &error);
        self.report(Report::Malformed { error, id: Some(id.clone()) });
        Some(received)
    }

    /// Writes a reply, to the peer or into the batch of its request.
    pub(super) fn write_reply(&mut self, to: ReplyTo, kind: MessageKind, write: impl Fn(&mut Vec<u8>)) {
        if self.batches.write(to.batch, &write) {
            return self.check_output_limit();
        }
        write(self.outbox.composing());
        self.appended(kind, to.tag);
    }

    /// A request of a batch is answered, or will not be. The last one sends the replies of all.
    pub(super) fn leave_batch(&mut self, key: Option<BatchKey>) {
        let Some(key) = key else { return };
        let Some(batch) = self.batches.open.get_mut(&key) else { return };
        batch.waiting = batch.waiting.saturating_sub(1);
        if batch.waiting > 0 {
            return;
        }
        let Some(batch) = self.batches.open.remove(&key) else { return };
        self.batches.bytes = self.batches.bytes.saturating_sub(batch.replies.len());
        let tag = batch.tag;
        if batch.finish(self.outbox.composing()) {
            self.appended(MessageKind::Batch, tag);
        }
    }

    /// The session is over. What has been replied is sent if `wanted`, without waiting for the rest.
    pub(super) fn leave_batches(&mut self, wanted: bool) {
        let batches = std::mem::take(&mut self.batches);
        self.batches.next = batches.next;
        if wanted {
            for batch in batches.open.into_values() {
                let tag = batch.tag;
                if batch.finish(self.outbox.composing()) {
                    self.outbox.said(MessageKind::Batch, tag, self.epoch, &mut self.effects);
                }
            }
        }
    }
}
