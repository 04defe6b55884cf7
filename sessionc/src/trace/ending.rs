//! A session that is over: requests without a reply, steps that never came, and what is counted.

use mcp_runtime::protocol::Side;

use super::causes::{Causes, Same};
use super::finding::Finding;
use super::gaps::Gaps;
use super::heard::HeardSides;
use super::opening::OpeningReply;
use super::requests::Requests;
use super::summary::Summary;
use super::unclear::UnclearMessages;
use super::without_reply::WithoutReply;
use super::wording;
use crate::eras::{Era, Eras};

/// What is known of a session when it is over. Nothing waits any more for the reply that opens it.
#[derive(Debug)]
pub(super) struct SessionEnd {
    pub(super) eras: Eras,
    pub(super) requests: Requests,
    pub(super) causes: Causes,
    pub(super) unclear: UnclearMessages,
    pub(super) gaps: Gaps,
    pub(super) heard: HeardSides,
    pub(super) opening: OpeningReply,
    pub(super) without_reply: WithoutReply,
    /// Messages of another session may be among its own.
    pub(super) overlaps: bool,
    pub(super) summary: Summary,
}

impl SessionEnd {
    /// What is found only now goes into `found`.
    pub(super) fn find(mut self, found: &mut Vec<Finding>) -> Summary {
        let is_known = self.heard.has(Side::Server) && !self.gaps.may_leave_out_replies_to(Side::Client);
        let never_came = self.opening.never_came().filter(|_| is_known);
        self.summary.emit(never_came, found);
        while let Some(missing) = self.causes.missing() {
            if self.unclear.explain_missing(missing.owed.side, missing.before) {
                continue;
            }
            let table = self.eras.handshake().protocol().message(missing.owed.message);
            let finding = wording::missing(&missing, table);
            self.summary.emit(Some(finding), found);
        }
        let eras = [Era::Handshake, Era::Stateless];
        for era in eras.into_iter().take(self.eras.all().count()) {
            self.find_unanswered(era, found);
        }
        // Where nothing says that the reply is missing, that the side has not waited is the mistake.
        for (asker, id, early) in self.without_reply.drain() {
            let is_known = self.heard.has(asker.other())
                && !self.gaps.may_leave_out_replies_to(asker)
                && !self.requests.is_excused(asker, &id);
            self.summary.emit(Some(early).filter(|_| is_known), found);
        }
        for (side, name) in [(Side::Client, "client"), (Side::Server, "server")] {
            if !self.heard.has(side) {
                self.summary.not_observed(format!(
                    "any message of the {name}: record both sides in one log, as `sessionc guard --record` does"
                ));
            }
        }
        self.summary.governed(revision(&self.eras));
        self.summary.again = self.causes.again().collect();
        // Those of one line in one order, too, whatever order the table has.
        self.summary.again.sort_by_key(|again| (again.first, again.last, again.count));
        self.summary
    }

    /// The requests of an era that have no reply, where nothing else explains that.
    fn find_unanswered(&mut self, era: Era, found: &mut Vec<Finding>) {
        let mut unanswered = self.eras.observer(era).unanswered();
        // That an early request has no reply follows from it. A side that has said nothing may not be in the log.
        unanswered.retain(|request| {
            let is_excused = self.requests.is_excused(request.sender, &request.id);
            let replier = request.sender.other();
            !request.stays_open && !is_excused && self.heard.has(replier)
        });
        // Those of a batch stand at one place.
        unanswered.sort_by_cached_key(|request| {
            (self.requests.place(request.sender, &request.id), request.sender, request.id.clone())
        });
        for request in unanswered {
            if self.gaps.may_leave_out_replies_to(request.sender) {
                self.summary.not_observed(wording::LEFT_OUT_ANSWERS);
                continue;
            }
            let Some(place) = self.requests.place(request.sender, &request.id) else { continue };
            let early = self.without_reply.take(request.sender, &request.id);
            if self.unclear.explain_unanswered(request.sender, &request.id, place) {
                continue;
            }
            let observer = self.eras.observer(era);
            let table = observer.protocol().message(request.message);
            let method = table.map(|table| table.method.to_string()).unwrap_or_default();
            if self.gaps.has_unread_after(place) {
                self.summary.not_observed(format!(
                    "the reply to `{method}` in line {}: it may stand in a line that cannot be read",
                    place.line
                ));
                continue;
            }
            let (replier, state) = (request.sender.other(), observer.state());
            let named = (&*method, &request.id);
            let finding = match early {
                Some(early) => wording::unanswered_step(place, request.sender, state, named, early.place),
                None => wording::unanswered(place, replier, state, &method, &request.id),
            };
            let Some(exit) = self.heard.exit(replier) else {
                let same = Same::unanswered_in_overlap(replier);
                if self.overlaps && self.causes.count(&same, place) {
                    continue;
                }
                self.causes.remember(same, place);
                self.summary.emit(Some(finding), found);
                continue;
            };
            // That it has exited is the cause, whatever it has left.
            let same = Same::of_exit();
            if !self.causes.count(&same, place) {
                let finding = wording::unanswered_at_exit(finding, exit, &method, &request.id);
                self.causes.remember(same, place);
                self.summary.emit(Some(finding), found);
            }
        }
    }
}

/// The revision that governs: `Mcp 2025-11-25`.
pub(super) fn revision(eras: &Eras) -> String {
    let is_stateless = eras.is_stateless() && eras.handshake().version().is_none();
    let protocol = eras.observer(if is_stateless { Era::Stateless } else { Era::Handshake }).protocol();
    let name = if protocol.name.is_empty() { "a protocol without a name" } else { &protocol.name };
    match &protocol.version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}
