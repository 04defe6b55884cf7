//! Sessions that did not begin here and now: begun elsewhere, or begun once more because the peer has lost them.
//!
//! In: what is known of a session that was begun elsewhere; the answer to a beginning that was said once more. Out: the
//! checker in the state that the beginning leads to. Refuses to let anything of a lost session go on in the new one: its
//! requests of the peer are answered by nobody, its copies are over, and whoever holds a part of it is told so with
//! [`Error::SessionRenewed`]. Only calls that have heard nothing stay as they are, for the transport makes them once
//! more, or says why not.

use mcp_protocol_machine::protocol::{Direction, Side, StateIndex, Text};
use mcp_protocol_machine::{Capabilities, Checker, CopyNumber, RequestId, TableError};

use super::engine::{Engine, limits};
use super::faces::Told;
use super::names::announced;
use super::trace::Outcome;
use super::unfit::version_at;
use crate::epoch::Epoch;
use crate::error::{AnnouncedVersion, Error, Reason, Renewal};
use crate::jsonrpc::{Envelope, RpcError, parse, write};
use crate::report::Report;
use crate::typed::{Announced, Resumed};

/// How often the session was begun anew, and in which of these sessions whoever speaks has a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Renewals {
    epoch: Epoch,
    /// `None` for whoever is at home in all of them.
    speaker: Option<Epoch>,
}

impl Renewals {
    pub(super) fn epoch(self) -> Epoch {
        self.epoch
    }

    /// Whether whoever speaks has a part in one session only.
    pub(super) fn is_bound(self) -> bool {
        self.speaker.is_some()
    }

    /// Whether whoever speaks has a part in a session that the peer has lost.
    pub(super) fn is_lost(self) -> bool {
        self.speaker.is_some_and(|epoch| epoch != self.epoch)
    }
}

impl Engine {
    /// What is done from here on is done for somebody who has a part in this session, of those that were begun one
    /// after the other.
    pub(crate) fn speak_in(&mut self, epoch: Option<Epoch>) {
        self.renewals.speaker = epoch;
    }

    /// The present epoch.
    pub(crate) fn epoch(&self) -> Epoch {
        self.renewals.epoch
    }

    /// The session was begun elsewhere, and is in this state.
    pub(crate) fn resume(&mut self, state: StateIndex, resumed: &Resumed) -> Result<(), TableError> {
        self.checker = Checker::resume(&self.protocol, self.side, state)?.with_limits(limits(&self.options));
        self.next_id = resumed.id();
        self.resumed = true;
        self.govern_resumed(resumed);
        let protocol = self.protocol.clone();
        for (side, said) in [(Side::Client, &resumed.client), (Side::Server, &resumed.server)] {
            let capabilities = match said {
                Announced::Unknown => Capabilities::unknown(),
                Announced::Said(payload) => {
                    let own = protocol.announcements.iter().filter(|announcement| announcement.side == side);
                    let granted = own.flat_map(|announcement| {
                        let granted = announced(&protocol, announcement, Some(payload));
                        granted.gates(protocol.gates.len()).collect::<Vec<_>>()
                    });
                    granted.collect()
                }
            };
            self.checker.announce(side, capabilities);
        }
        Ok(())
    }

    /// Whether the session was begun elsewhere.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The version that was agreed on says which revision governs. One that this side does not speak is reported, and
    /// it is its own that governs.
    fn govern_resumed(&mut self, resumed: &Resumed) {
        let protocol = self.protocol.clone();
        let announced = || {
            let field = protocol.version_field.as_ref()?;
            let place = protocol.announcements.iter().find(|place| place.field.message == field.message)?;
            match if place.side == Side::Client { &resumed.client } else { &resumed.server } {
                Announced::Said(payload) => version_at(field, Some(payload)).as_deref().map(str::to_owned),
                Announced::Unknown => None,
            }
        };
        let agreed = resumed.version.clone().or_else(announced);
        if let Some(version) = &agreed {
            self.look_at_version(AnnouncedVersion::Named(version.clone()), None);
            self.govern(version);
            // It is reported, and there is no step that could tell of it.
            self.unfit = None;
        }
        self.agreed = agreed.map(Text::Owned).or_else(|| self.protocol.version.clone());
    }

    /// The version of a session that was begun elsewhere.
    pub(crate) fn agreed_version(&self) -> Option<Text> {
        self.agreed.clone()
    }

    /// What is said to a request that the peer makes before the session is begun anew, and that is no part of it: one
    /// that is answered without anybody's doing is answered, any other is refused. To anything else nothing is said.
    pub(crate) fn answer_aside(&self, message: &[u8]) -> Option<Vec<u8>> {
        let Ok(Envelope::Request { id, method, params }) = parse(message, self.options.max_depth) else {
            return None;
        };
        let read = self.read_as(Direction::Receive, true, &method, params);
        let mut answer = Vec::new();
        if read.and_then(|read| self.message(read)).is_some_and(|table| table.answered) {
            write::result(&mut answer, &id, "{}");
        } else {
            let error = RpcError::busy("the session is being begun: ask again later");
            write::error(&mut answer, Some(&id), &error);
        }
        answer.pop_if(|last| *last == b'\n');
        Some(answer)
    }

    /// The peer has lost the session, and its beginning was said once more: this request, which got this result.
    pub(crate) fn renewed(&mut self, request: &[u8], result: &[u8]) {
        if self.closed().is_some() {
            return;
        }
        // A request beside the linear channels can be made once more if somebody waits for its first reply. Whatever a
        // value or a handler has a part in was of the lost session.
        let (calls, openers) = (&self.calls, self.unbound_openers());
        let waits = |id: &RequestId| match id {
            RequestId::Number(id) => match calls.get(id) {
                Some(pending) => pending.result.is_none() && !pending.bound,
                None => openers.contains(id),
            },
            RequestId::Text(_) => false,
        };
        let Some(lost) = self.checker.renew(waits) else {
            return self.end(Reason::SessionInvalid(Renewal::NotRepeatable));
        };
        self.renewals.epoch = self.renewals.epoch.next();
        self.announced_anew(request, result);
        let unattended = self.forget_asked();
        for id in &lost {
            self.trace_over(Direction::Send, id, Outcome::Lost);
            self.not_awaited(id);
            if let RequestId::Number(number) = id {
                self.complete(*number, Err(Error::SessionRenewed));
            }
        }
        self.end_lost_copies();
        for copy in unattended {
            // No value was made for it, and none will be.
            self.leave_copy(copy);
        }
        self.forget_debts();
        self.report(Report::SessionRenewed);
    }

    /// What was announced counts anew.
    fn announced_anew(&mut self, request: &[u8], result: &[u8]) {
        let protocol = self.protocol.clone();
        let (Ok(Envelope::Request { method, params, .. }), Ok(Envelope::Result { result, .. })) =
            (parse(request, self.options.max_depth), parse(result, self.options.max_depth))
        else {
            return;
        };
        let asked = self.names.by_method(&protocol, self.side, true, &method, params);
        let Some(reply) = asked.and_then(|asked| self.names.reply(&protocol, asked, result)) else { return };
        for announcement in protocol.announcements.iter().filter(|place| place.field.message == reply) {
            let capabilities = announced(&protocol, announcement, Some(result));
            if announcement.side != self.side {
                self.look_for_required(announcement, Some(result), &capabilities);
            }
            self.checker.announce(announcement.side, capabilities);
        }
        // It is reported, and there is no step that could tell of it.
        self.unfit = None;
    }

    /// Nobody waits any more for the answers to what the peer has asked. What it told before it lost the session
    /// still counts. Gives the copies that nobody has taken.
    fn forget_asked(&mut self) -> Vec<CopyNumber> {
        let mut unattended = Vec::new();
        self.early = Default::default();
        self.incoming.retain(|arrived| {
            unattended.extend(arrived.copy.map(|(copy, _)| copy));
            arrived.id.is_none() && arrived.copy.is_none()
        });
        self.leave_batches(false);
        let mut owed: Vec<_> = self.owed.drain().collect();
        owed.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (id, mut owed) in owed {
            owed.waiting.wake(&mut self.effects);
            self.settle_origin(owed.origin);
            self.trace_over(Direction::Receive, &id, Outcome::Lost);
            if let Some(face) = owed.face {
                self.tell_face(face, Told::TakenBack(id));
            }
        }
        self.reached();
        // Whoever has answered waits here to learn that nobody wants to know.
        self.closing_waiting.wake(&mut self.effects);
        unattended
    }
}
