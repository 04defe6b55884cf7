//! What this side says, on its way to the transport.

use std::task::Waker;

use mcp_protocol_machine::RequestId;

use super::wakers::{Effects, Waiting};
use crate::driver::{MessageKind, Outgoing, Outlet, OutletNotice, RequestTag, RequestText};
use crate::epoch::Epoch;

/// A buffer of up to this many bytes is kept, and one of up to [`KEPT_IN_USE`] while messages need a part of it.
const KEPT: usize = 4 * 1024;
const KEPT_IN_USE: usize = 64 * 1024;

/// What this side has said and the transport has not written.
///
/// Invariants: each message is handed to the outlet once, in the order in which they were said. Once an outlet is attached
/// the buffer is empty between two calls into the engine. `with_outlet` is what the outlet said last: less may wait
/// until the transport says so, and never more.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Whole lines: those that are being composed, and those that were said before there was an outlet.
    lines: Vec<u8>,
    /// The messages in `lines` that were said.
    early: Vec<Mark>,
    outlet: Option<Box<dyn Outlet>>,
    routes: bool,
    /// How many bytes wait with the outlet.
    with_outlet: usize,
    /// The tasks that wait for the transport to write.
    waiting: Waiting,
}

/// A message that was said before there was an outlet.
#[derive(Debug)]
struct Mark {
    /// Where it ends in `lines`.
    end: usize,
    kind: MessageKind,
    in_reply_to: Option<RequestTag>,
    epoch: Epoch,
}

impl Outbox {
    /// Where a message is composed, as a whole line at the end.
    pub(crate) fn composing(&mut self) -> &mut Vec<u8> {
        &mut self.lines
    }

    /// Whether each message finds its way by itself, as far as that is known yet.
    pub(crate) fn may_route(&self) -> bool {
        self.routes || self.outlet.is_none()
    }

    /// Hands everything to an outlet from here on.
    pub(crate) fn attach(&mut self, outlet: Box<dyn Outlet>, effects: &mut Effects) {
        self.routes = outlet.routes();
        self.outlet = Some(outlet);
        let lines = std::mem::take(&mut self.lines);
        let mut start = 0;
        for Mark { end, kind, in_reply_to, epoch } in std::mem::take(&mut self.early) {
            let line = lines.get(start..end).unwrap_or_default();
            start = end;
            self.hand_over(Outgoing { in_reply_to, ..Outgoing::new(line, kind, epoch) }, effects);
        }
    }

    /// A message is composed: hands it over.
    pub(crate) fn said(
        &mut self,
        kind: MessageKind,
        in_reply_to: Option<RequestTag>,
        epoch: Epoch,
        request: Option<RequestText<'_>>,
        effects: &mut Effects,
    ) {
        if self.outlet.is_none() {
            let end = self.lines.len();
            return self.early.push(Mark { end, kind, in_reply_to, epoch });
        }
        let mut line = std::mem::take(&mut self.lines);
        self.hand_over(Outgoing { message: &line, kind, in_reply_to, epoch, request }, effects);
        let spare = line.capacity();
        if spare <= KEPT || (spare <= KEPT_IN_USE && line.len() >= spare / 4) {
            line.clear();
            self.lines = line;
        }
    }

    /// Hands over a message, a whole line.
    fn hand_over(&mut self, line: Outgoing<'_>, effects: &mut Effects) {
        let message = line.message.strip_suffix(b"\n").unwrap_or(line.message);
        if let Some(outlet) = &mut self.outlet
            && !message.is_empty()
        {
            self.with_outlet = outlet.take(Outgoing { message, ..line }, &mut |waker| effects.wake(waker));
        }
    }

    /// Tells an outlet that routes messages something about them.
    pub(crate) fn note(&mut self, notice: OutletNotice, effects: &mut Effects) {
        if let Some(outlet) = self.outlet.as_mut().filter(|_| self.routes) {
            outlet.note(notice, &mut |waker: Waker| effects.wake(waker));
            self.with_outlet = outlet.waiting();
        }
    }

    /// A request of the peer is settled.
    pub(crate) fn settled(&mut self, tag: Option<RequestTag>, effects: &mut Effects) {
        if let Some(tag) = tag {
            self.note(OutletNotice::Settled(tag), effects);
        }
    }

    /// No task waits for the reply to a request of this side any more.
    pub(crate) fn not_awaited(&mut self, id: &RequestId, effects: &mut Effects) {
        if let RequestId::Number(id) = id {
            self.note(OutletNotice::NotAwaited(*id), effects);
        }
    }

    /// The transport has written something.
    pub(crate) fn wrote(&mut self) {
        self.with_outlet = self.outlet.as_ref().map_or(0, |outlet| outlet.waiting());
    }

    /// How many bytes are not written.
    pub(crate) fn unwritten(&self) -> usize {
        self.lines.len().saturating_add(self.with_outlet)
    }

    /// The tasks that wait for the transport to write.
    pub(crate) fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }

    /// Whether messages wait for an outlet.
    pub(crate) fn waits_for_outlet(&self) -> bool {
        !self.lines.is_empty()
    }

    /// What is not written is not wanted any more.
    pub(crate) fn discard(&mut self, effects: &mut Effects) {
        self.lines = Vec::new();
        self.early = Vec::new();
        if let Some(outlet) = &mut self.outlet {
            outlet.note(OutletNotice::Discarded, &mut |waker: Waker| effects.wake(waker));
            self.with_outlet = outlet.waiting();
        }
    }

    /// The transport is gone, with what it has not written.
    pub(crate) fn transport_gone(&mut self) {
        self.outlet = None;
        self.with_outlet = 0;
        self.routes = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what it was given, in order.
    #[derive(Clone, Debug, Default)]
    struct Kept {
        routes: bool,
        seen: Arc<Mutex<Vec<String>>>,
    }

    impl Outlet for Kept {
        fn take(&mut self, outgoing: Outgoing<'_>, _: &mut dyn FnMut(Waker)) -> usize {
            self.seen.lock().unwrap().push(String::from_utf8_lossy(outgoing.message).into_owned());
            self.waiting()
        }

        fn note(&mut self, notice: OutletNotice, _: &mut dyn FnMut(Waker)) {
            self.seen.lock().unwrap().push(format!("{notice:?}"));
        }

        fn waiting(&self) -> usize {
            self.seen.lock().unwrap().iter().map(String::len).sum()
        }

        fn routes(&self) -> bool {
            self.routes
        }
    }

    fn say(outbox: &mut Outbox, text: &str, effects: &mut Effects) {
        outbox.composing().extend_from_slice(text.as_bytes());
        outbox.composing().push(b'\n');
        outbox.said(MessageKind::Error, None, Epoch::FIRST, None, effects);
    }

    #[test]
    fn what_was_said_before_there_was_an_outlet_goes_first() {
        let (mut outbox, mut effects, kept) = (Outbox::default(), Effects::default(), Kept::default());
        say(&mut outbox, "one", &mut effects);
        say(&mut outbox, "two", &mut effects);
        assert!(outbox.waits_for_outlet() && outbox.unwritten() == 8);
        outbox.attach(Box::new(kept.clone()), &mut effects);
        say(&mut outbox, "three", &mut effects);
        assert_eq!(*kept.seen.lock().unwrap(), ["one", "two", "three"]);
        assert!(!outbox.waits_for_outlet() && outbox.unwritten() == 11, "what waits is with the outlet");
        kept.seen.lock().unwrap().clear();
        outbox.wrote();
        assert_eq!(outbox.unwritten(), 0);
    }

    #[test]
    fn only_an_outlet_that_routes_learns_of_requests() {
        for routes in [false, true] {
            let (mut outbox, mut effects) = (Outbox::default(), Effects::default());
            let kept = Kept { routes, ..Kept::default() };
            assert!(outbox.may_route(), "that is not known yet");
            outbox.attach(Box::new(kept.clone()), &mut effects);
            assert_eq!(outbox.may_route(), routes);
            outbox.settled(Some(RequestTag(1)), &mut effects);
            outbox.settled(None, &mut effects);
            outbox.not_awaited(&RequestId::Number(2), &mut effects);
            outbox.not_awaited(&RequestId::Text("theirs".into()), &mut effects);
            let expected: &[&str] = if routes { &["Settled(RequestTag(1))", "NotAwaited(2)"] } else { &[] };
            assert_eq!(*kept.seen.lock().unwrap(), expected);
        }
    }

    #[test]
    fn what_is_discarded_is_not_said_later() {
        let (mut outbox, mut effects, kept) = (Outbox::default(), Effects::default(), Kept::default());
        say(&mut outbox, "lost", &mut effects);
        outbox.discard(&mut effects);
        assert_eq!(outbox.unwritten(), 0);
        outbox.attach(Box::new(kept.clone()), &mut effects);
        outbox.discard(&mut effects);
        assert_eq!(*kept.seen.lock().unwrap(), ["Discarded"]);
        outbox.transport_gone();
        assert_eq!(outbox.unwritten(), 0);
    }
}
