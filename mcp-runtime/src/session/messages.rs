//! Messages one by one, for transports that want to know what each is about.
//!
//! In: messages that were just written to the output, and the names that the transport gave to what came in. Out: each
//! message to the transport's outlet, at once, with the name of what it is about. Refuses to cost anything where the
//! transport carries a stream: what is remembered before the transport has said which it wants is forgotten then.

use mcp_protocol_machine::protocol::{Action, Direction, Edge, Origin as Author};
use mcp_protocol_machine::{Awaiting, RequestId, StepKind};

use super::context::Caller;
use super::engine::Engine;
use crate::driver::{Extension, MessageKind, Outgoing, Outlet, Place, RequestTag};

/// What a session keeps for a transport that carries messages.
#[derive(Debug)]
pub(super) struct Messages {
    outlet: Option<Box<dyn Outlet>>,
    /// What was written before the transport said what it wants; `None` once it has.
    before: Option<Vec<Mark>>,
}

/// A message in the output.
#[derive(Debug)]
struct Mark {
    length: usize,
    kind: MessageKind,
    about: Option<RequestTag>,
}

impl Default for Messages {
    fn default() -> Messages {
        Messages { outlet: None, before: Some(Vec::new()) }
    }
}

impl Messages {
    /// The transport carries a stream.
    pub(super) fn not_wanted(&mut self) {
        self.before = None;
    }

    /// The transport is gone.
    pub(super) fn outlet_gone(&mut self) {
        self.outlet = None;
    }

    /// Whether messages leave, or may leave, one by one.
    pub(super) fn one_by_one(&self) -> bool {
        self.outlet.is_some() || self.before.is_some()
    }

    /// How many bytes the transport holds back.
    pub(super) fn waiting(&self) -> usize {
        self.outlet.as_ref().map_or(0, |outlet| outlet.waiting())
    }

    /// What the transport knows of a message of the peer.
    pub(super) fn extension(&self, tag: Option<RequestTag>) -> Option<Extension> {
        self.outlet.as_ref()?.extension(tag?)
    }
}

impl Engine {
    pub(crate) fn outlet_offered(&mut self, outlet: Box<dyn Outlet>) {
        let before = self.messages.before.take().unwrap_or_default();
        self.messages.outlet = Some(outlet);
        let output = std::mem::take(&mut self.output);
        let mut rest = output.get(self.output_start..).unwrap_or_default();
        self.output_start = 0;
        // If the session has ended meanwhile, what was written is gone, and the marks point nowhere.
        if before.iter().map(|mark| mark.length).sum::<usize>() != rest.len() {
            return;
        }
        for Mark { length, kind, about } in before {
            let (message, others) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            rest = others;
            self.hand_over(message, kind, about);
        }
    }

    /// A message was appended to the output: hands it to the outlet, if there is one.
    pub(super) fn let_message_out(&mut self, kind: MessageKind, about: Option<RequestTag>) -> bool {
        if self.messages.outlet.is_none() {
            let length = self.output.len().saturating_sub(self.output_start);
            if let Some(before) = &mut self.messages.before {
                let known: usize = before.iter().map(|mark| mark.length).sum();
                before.push(Mark { length: length.saturating_sub(known), kind, about });
            }
            return false;
        }
        let mut output = std::mem::take(&mut self.output);
        self.hand_over(output.get(self.output_start..).unwrap_or_default(), kind, about);
        self.output_start = 0;
        output.clear();
        self.output = output;
        true
    }

    fn hand_over(&mut self, line: &[u8], kind: MessageKind, about: Option<RequestTag>) {
        let message = line.strip_suffix(b"\n").unwrap_or(line);
        let Some(outlet) = &mut self.messages.outlet else { return };
        if message.is_empty() {
            return;
        }
        let epoch = self.epoch;
        if let Some(waker) = outlet.take(Outgoing { message, kind, in_reply_to: about, epoch }) {
            self.effects.wake(waker);
        }
    }

    /// A request of the peer is settled.
    pub(super) fn settle_tag(&mut self, tag: Option<RequestTag>) {
        if let Some(tag) = tag
            && let Some(outlet) = &mut self.messages.outlet
            && let Some(waker) = outlet.settled(tag)
        {
            self.effects.wake(waker);
        }
    }

    /// Nobody waits for the reply to a request of this side any more.
    pub(super) fn not_awaited(&mut self, id: &RequestId) {
        if let (Some(outlet), RequestId::Number(id)) = (&mut self.messages.outlet, id)
            && let Some(waker) = outlet.not_awaited(*id)
        {
            self.effects.wake(waker);
        }
    }

    /// Nor for those to the requests whose copy the message at hand has ended.
    pub(super) fn end_awaiting(&mut self) {
        for id in self.checker.take_left() {
            self.not_awaited(&id);
        }
    }

    /// Nobody waits for any reply any more.
    pub(super) fn none_awaited(&mut self) {
        let Some(outlet) = &mut self.messages.outlet else { return };
        for waker in outlet.none_awaited() {
            self.effects.wake(waker);
        }
    }

    /// Has the transport end the connection on which the peer waits for the answer to a request.
    pub(crate) fn hang_up(&mut self, request: &RequestId) {
        if let Some(tag) = self.owed.get(request).and_then(|owed| owed.to.tag)
            && let Some(outlet) = &mut self.messages.outlet
            && let Some(waker) = outlet.hang_up(tag)
        {
            self.effects.wake(waker);
        }
    }

    /// Where a message of this side stands, given what it did.
    pub(super) fn place(&self, caller: Caller, step: StepKind) -> Place {
        let (from, to) = match step {
            StepKind::Linear { from, to } => (from, to),
            StepKind::Copy { .. } | StepKind::Reported => return Place::Within,
            _ if caller.is_bound() => return Place::Within,
            _ => return Place::Beside,
        };
        let edges = self.role().and_then(|role| role.state(from)).map_or(&[][..], |state| &state.edges);
        let is_own = |edge: &&Edge| edge.origin == Author::Written && matches!(edge.action, Action::Step(_));
        match edges.iter().filter(is_own).count() {
            0 | 1 if from != to => Place::OnlyStep,
            _ => Place::ChosenStep,
        }
    }

    /// The peer has taken a linear step that is no reply.
    pub(super) fn peer_stepped(&mut self) {
        if let Some(outlet) = &mut self.messages.outlet {
            outlet.stepped();
        }
    }

    /// Whether a request of this side still waits for its reply.
    pub(crate) fn awaits(&self, id: i64) -> bool {
        let id = RequestId::Number(id);
        self.lifecycle.is_open()
            && matches!(self.checker.awaiting(Direction::Receive, &id), Awaiting::Request(_))
    }
}
