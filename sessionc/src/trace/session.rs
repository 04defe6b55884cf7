//! One session, judged message by message.

use std::sync::Arc;

use mcp_protocol_machine::{ProtocolRef, StepKind};
use mcp_runtime::observer::{MessageText, Observed, ObservedKind};
use mcp_runtime::protocol::{Kind, MessageIndex, RequestId, Side, StateIndex, Token};
use mcp_runtime::{Report, Violation, ViolationKind};

use super::announced::LeftOutAnnouncements;
use super::batch::Batch;
use super::causes::{Causes, Same};
use super::ending::{SessionEnd, revision};
use super::fallback::Fallback;
use super::finding::Finding;
use super::formats::record::{Place, RecordKind};
use super::gaps::Gaps;
use super::heard::{Exit, HeardSides};
use super::ids::Ids;
use super::opening::{AssumedReply, OpeningReply};
use super::recent::RecentMessages;
use super::refused::RefusedRequests;
use super::request_faults::{MessageTexts, RequestFault, not_received};
use super::requests::{HeardAt, Requests};
use super::stray_texts::StrayTexts;
use super::stream_progress::StreamNumber;
use super::summary::Summary;
use super::unclear::UnclearMessages;
use super::without_reply::WithoutReply;
use super::wording;
use crate::eras::{Era, Eras, advances};
use crate::malformed_texts::may_be_message;
use crate::message_head::MessageHead;
use crate::not_received::NotReceived;
use crate::other_type;
use crate::unknown_revision;

/// Follows one session. A protocol may have a revision with a handshake and one without; each message is judged by the
/// tables of the one that it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct JudgedSession {
    eras: Eras,
    /// Those that the sides may agree on.
    revisions: Arc<[ProtocolRef]>,
    requests: Requests,
    causes: Causes,
    unclear: UnclearMessages,
    left_out: LeftOutAnnouncements,
    refused: RefusedRequests,
    ids: Ids,
    server_ids: Ids,
    gaps: Gaps,
    heard: HeardSides,
    opening: OpeningReply,
    without_reply: WithoutReply,
    fallback: Fallback,
    texts: StrayTexts,
    bounds: SessionBounds,
    /// Messages of another session may be among its own.
    overlaps: bool,
    /// Empty between messages; it keeps its room.
    observed: Vec<Observed>,
    recent: RecentMessages,
    summary: Summary,
}

/// Where a message stands in a log, and what its record is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) place: Place,
    pub(crate) sender: Side,
    pub(crate) kind: RecordKind,
}

/// What of a log says where a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionBounds {
    /// The log says where each session begins: no message of this one begins another.
    Marked,
    /// The log has its name: another session with that name begins only where the ids start over.
    Named,
    /// Whatever a message says that may begin another session.
    Unnamed,
}

impl SessionBounds {
    /// Those of a session without a mark where it begins.
    pub(crate) fn of_name(is_named: bool) -> SessionBounds {
        if is_named { SessionBounds::Named } else { SessionBounds::Unnamed }
    }
}

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It belongs to the session, and was judged.
    Judged,
    /// It may begin another session, and was not judged.
    Begins(OpeningId),
}

/// How the id of a request that may begin another session stands to the ids of the session before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpeningId {
    /// The client counts from the start again: another session begins.
    StartsOver,
    /// The client goes on with its ids.
    GoesOn,
    /// A request runs under it.
    Runs,
}

impl JudgedSession {
    /// A session that is followed by these observers, whose sides may agree on one of these revisions.
    pub(crate) fn new(eras: Eras, revisions: Arc<[ProtocolRef]>, bounds: SessionBounds) -> JudgedSession {
        let mut causes = Causes::default();
        causes.wait(eras.owed());
        JudgedSession {
            eras,
            revisions,
            requests: Requests::default(),
            causes,
            unclear: UnclearMessages::default(),
            left_out: LeftOutAnnouncements::default(),
            refused: RefusedRequests::default(),
            ids: Ids::default(),
            server_ids: Ids::default(),
            gaps: Gaps::default(),
            heard: HeardSides::default(),
            opening: OpeningReply::default(),
            without_reply: WithoutReply::default(),
            fallback: Fallback::default(),
            texts: StrayTexts::default(),
            bounds,
            overlaps: false,
            observed: Vec::new(),
            recent: RecentMessages::default(),
            summary: Summary::of_session(),
        }
    }

    /// The log says that it begins here, and it is over where the log says that another one begins.
    pub(crate) fn marked(self) -> JudgedSession {
        JudgedSession { bounds: SessionBounds::Marked, ..self }
    }

    /// The log has another session, too: a side that was heard there is in the log.
    pub(crate) fn note_other(&mut self, other: &JudgedSession) {
        let heard = [Side::Client, Side::Server].into_iter().filter(|side| other.heard.has(*side));
        heard.for_each(|side| self.heard.note(side));
    }

    /// Messages of another session may be among its own: what follows from that is found once.
    pub(crate) fn note_overlap(&mut self) {
        self.overlaps = true;
    }

    /// The id of a message that would begin a session, if it were the first.
    pub(crate) fn may_begin_with(&self, said: Said, message: MessageText<'_>) -> Option<RequestId> {
        if !said.kind.is_sent() {
            return None;
        }
        self.eras.may_begin_with(said.sender, message)
    }

    /// Whether a session is seen from its beginning: it has left its first state, or needs no beginning.
    pub(crate) fn has_begun(&self) -> bool {
        self.eras.has_begun() || self.eras.is_stateless()
    }

    /// Whether a message belongs to a session whose beginning is not in the log: so far the server has refused what stands
    /// for itself, and this message does not.
    pub(crate) fn is_left(&self, said: Said, message: MessageText<'_>) -> bool {
        // Asked of each message of a log, so the message itself is looked at last.
        if !said.kind.is_sent() || self.fallback != Fallback::Refused || self.eras.has_begun() {
            return false;
        }
        let Some(head) = MessageHead::of(message) else { return false };
        let is_of_session = match said.sender {
            Side::Client => !self.eras.stands_alone(message),
            // Another reply to the same request is a mistake here.
            Side::Server => !head.replies_to().is_some_and(|id| self.ids.has(&id)),
        };
        is_of_session && self.eras.era(said.sender, message) == Era::Stateless
    }

    /// The ids that a side has used.
    pub(crate) fn ids(&self, of: Side) -> &Ids {
        match of {
            Side::Client => &self.ids,
            Side::Server => &self.server_ids,
        }
    }

    /// What is remembered of its requests.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// The observers that follow it.
    pub(crate) fn eras(&self) -> &Eras {
        &self.eras
    }

    /// Whether it has begun, and waits for no step.
    pub(crate) fn is_open(&self) -> bool {
        self.has_begun() && !self.causes.is_waiting()
    }

    /// Whether the server has opened the session, or refused to; nothing while its client waits for that.
    pub(crate) fn has_opened(&self) -> Option<bool> {
        match self.opening.is_refused() {
            true => Some(false),
            false => (self.eras.has_begun() && self.eras.has_opened()).then_some(true),
        }
    }

    /// Judges a message. What is found goes into `found`.
    pub(crate) fn take(&mut self, said: Said, message: MessageText<'_>, found: &mut Vec<Finding>) -> Taken {
        self.take_within(self.bounds, said, message, found)
    }

    /// Judges a message that does not begin another session, whatever its id says.
    pub(crate) fn take_here(&mut self, said: Said, message: MessageText<'_>, found: &mut Vec<Finding>) {
        self.take_within(SessionBounds::Marked, said, message, found);
    }

    /// Judges a message, where these say whether another session begins with it.
    fn take_within(
        &mut self,
        bounds: SessionBounds,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
    ) -> Taken {
        let Said { place, sender, kind } = said;
        match kind {
            RecordKind::Sent | RecordKind::Streamed | RecordKind::InStream(_) | RecordKind::Resumed => {}
            RecordKind::Posted => self.gaps.note_left_out_answers(),
            RecordKind::ByGuard => return self.settle(said, message, found),
            RecordKind::NotReceived => return self.withdraw(message, found),
            RecordKind::Begins => return Taken::Judged,
            RecordKind::Mistake => return self.note_mistake(said, message, found),
            RecordKind::Exited => {
                let code = String::from_utf8_lossy(message.bytes());
                let code = Some(code).filter(|code| code != "null").map(Box::from);
                self.heard.note_exit(Exit { code, place });
                return Taken::Judged;
            }
        }
        let era = self.eras.era(sender, message);
        let waits = era == Era::Handshake && self.causes.is_waiting() && !self.is_awaited(sender, message);
        let is_early = waits && self.assume_step(place, sender, message, found);
        let mut observed = std::mem::take(&mut self.observed);
        self.eras.observe_into(era, sender, message, &mut observed);
        if let [one] = observed.as_slice()
            && era == Era::Handshake
            && let Some(opening) = self.begins_another(bounds, one)
        {
            // It may yet be judged here.
            self.eras.observer_mut(era).withdraw(one);
            observed.clear();
            self.observed = observed;
            return Taken::Begins(opening);
        }
        if era == Era::Handshake && !self.gaps.may_jump() && self.goes_on_without_reply(&observed) {
            self.assume_reply(place, &observed, found);
        }
        if era == Era::Handshake {
            let too_early = self.opening.comes_late(&observed);
            self.report(too_early, found);
        }
        if era == Era::Handshake && self.gaps.may_jump() && self.eras.is_out_of_order(&observed) {
            self.find_again(place, sender, message, &mut observed);
        }
        self.heard.note(sender);
        let is_alone = observed.len() == 1;
        let texts = MessageTexts::of(message.bytes());
        for (index, one) in observed.iter().enumerate() {
            self.summary.count(one.kind);
            // What stands in a log was passed on.
            let runs = self.eras.observer_mut(era).passed_on(one);
            if let (true, Some(id)) = (runs, &one.id) {
                self.requests.open_early(sender, id, one.token.clone(), place);
            }
            let text = is_alone.then_some(message.bytes());
            self.note_request(said, one, || texts.get(index), era, found);
            self.requests.excuse_other_type(one);
            self.requests.excuse_other_side(one);
            self.note_opening(era, one);
            self.fallback.note(era, one);
            if let (ObservedKind::Result | ObservedKind::Error, Some(id), Some(_)) =
                (one.kind, &one.id, one.step)
            {
                let early = self.without_reply.take(sender.other(), id);
                self.summary.emit(early, found);
            }
            if let (true, ObservedKind::Request, Some(id)) = (is_early, one.kind, &one.id) {
                self.requests.note_before_step(sender, id);
            }
            self.left_out.note(place, one, text, self.eras.observer(era).protocol());
            self.note_refused(place, one, era, found);
            if one.kind != ObservedKind::Malformed {
                self.texts.end();
            }
            self.judge(place, one, text, era, found);
        }
        match sender {
            Side::Client => self.recent.note(era, &mut observed),
            Side::Server => observed.clear(),
        }
        self.observed = observed;
        Taken::Judged
    }

    /// Takes note of what a guard has written in the name of a side. It is not held against that side.
    fn settle(&mut self, said: Said, message: MessageText<'_>, found: &mut Vec<Finding>) -> Taken {
        let Said { place, sender, .. } = said;
        let era = self.eras.era(sender, message);
        for one in self.eras.observe(era, sender, message) {
            self.note_request(said, &one, || None, era, found);
            self.note_step(place, &one, era, found);
        }
        Taken::Judged
    }

    /// A guard has noted what a side has done wrong.
    fn note_mistake(&mut self, said: Said, what: MessageText<'_>, found: &mut Vec<Finding>) -> Taken {
        let what: String = serde_json::from_slice(what.bytes()).unwrap_or_default();
        let finding = wording::mistake(said.place, said.sender, self.eras.handshake().state(), &what);
        self.report(Some(finding), found);
        Taken::Judged
    }

    /// Messages of the client did not arrive: it may send them again.
    fn withdraw(&mut self, messages: MessageText<'_>, found: &mut Vec<Finding>) -> Taken {
        let messages: Vec<NotReceived> = serde_json::from_slice(messages.bytes()).unwrap_or_default();
        for message in messages {
            let Some((era, one)) = self.recent.take(&message, &self.eras) else { continue };
            self.eras.observer_mut(era).withdraw(&one);
            not_received(&mut self.requests, &one);
            if advances(&one) {
                let early = self.causes.wait(self.eras.owed());
                self.summary.emit(early, found);
            }
        }
        Taken::Judged
    }

    /// A line could not be read. What it may explain is not held against a side: an id that belongs to nothing, a step that
    /// is missing, and a state that does not permit what follows.
    pub(crate) fn missed(&mut self, place: Place) {
        self.eras.missed_messages();
        self.causes.missed();
        self.refused.missed();
        self.gaps.unread(place);
    }

    /// Whether the client takes a step that has to wait for the reply to the request which opens the session.
    fn goes_on_without_reply(&self, observed: &[Observed]) -> bool {
        let [one] = observed else { return false };
        let is_early = one.violation().is_some_and(|violation| violation.kind == ViolationKind::NotPermitted);
        let is_step = |message| self.eras.handshake().leads_on(Side::Client, message);
        (one.sender, one.kind) == (Side::Client, ObservedKind::Notification)
            && is_early
            && one.message.is_some_and(is_step)
            && (!self.eras.has_opened() || self.opening.is_refused())
    }

    /// The client has the reply to the request which opens the session, and the log does not, or the client does not
    /// wait for it. That is the finding, once it is known which; the session goes on as if the reply had come, whatever
    /// it announces.
    fn assume_reply(&mut self, place: Place, observed: &[Observed], found: &mut Vec<Finding>) {
        let Some(violation) = observed.iter().find_map(Observed::violation) else { return };
        let Some((id, request)) = self.eras.opening().map(|(id, request)| (id.clone(), request)) else {
            // The server has refused it: that the client goes on is the mistake, and not each message after it.
            let protocol = self.eras.handshake().protocol();
            let finding = Finding::of_violation(place, violation, protocol, &self.revisions);
            self.report(Some(finding), found);
            self.summary.not_observed(format!(
                "what the server permits: it has refused to open the session, and the client goes on in line {}: judged \
                 from there with any capability",
                place.line
            ));
            self.opening.pass_over();
            return self.go_on_with_any_capability();
        };
        let asked = self.requests.place(Side::Client, &id).unwrap_or(place);
        let handshake = self.eras.handshake();
        let method = handshake.protocol().message(request).map(|table| table.method.to_string());
        let method = method.unwrap_or_default();
        let protocol = handshake.protocol();
        let named = (&*method, &id);
        let never_came = wording::unanswered_step(asked, Side::Client, handshake.state(), named, place);
        let too_early = Finding::of_violation(place, violation, protocol, &self.revisions);
        if !protocol.announcements.is_empty() {
            self.summary.not_observed(format!(
                "what the reply to `{method}` in line {} announces: judged with any capability from line {} on",
                asked.line, place.line
            ));
        }
        self.opening.assume(AssumedReply { request: id, never_came, too_early });
        self.go_on_with_any_capability();
    }

    /// The session goes on in the state that the next message needs, whatever was announced.
    fn go_on_with_any_capability(&mut self) {
        self.eras.missed_messages();
        self.refused.missed();
        self.gaps.may_have_moved();
    }

    /// Goes on in a state that permits a message, if there is one.
    fn find_again(
        &mut self,
        place: Place,
        sender: Side,
        message: MessageText<'_>,
        observed: &mut Vec<Observed>,
    ) {
        let Some((state, again)) = self.eras.find_again(sender, message) else { return };
        *observed = again;
        if let Some(unread) = self.gaps.jump() {
            self.summary.not_observed(format!(
                "what line {unread} does, which cannot be read: judged from the state `{state}` on in line {}, with any \
                 capability",
                place.line
            ));
        }
    }

    /// Whether a message is known to be the step that the session waits for, and no other one of its method.
    pub(crate) fn is_awaited(&self, sender: Side, message: MessageText<'_>) -> bool {
        let protocol = self.eras.handshake().protocol();
        let Some(owed) = self.causes.awaited().filter(|owed| owed.side == sender) else { return false };
        let Some(method) = protocol.message(owed.message).map(|table| &*table.method) else { return false };
        let named = message.value().and_then(|value| value.member("method")?.text());
        let opens = |kind| matches!(kind, Kind::Request | Kind::Notification);
        let alike = protocol.messages.iter().filter(|table| opens(table.kind) && table.method == method);
        named.is_some_and(|named| named == method) && alike.count() == 1
    }

    /// Where a message has to wait for a step, the session goes on as if it had been taken: what follows from its absence is
    /// not another mistake. Returns whether it does.
    fn assume_step(
        &mut self,
        place: Place,
        sender: Side,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
    ) -> bool {
        let observed = self.eras.handshake().clone().observe(sender, message);
        let [one] = observed.as_slice() else { return false };
        let Some(violation) = one.violation() else { return false };
        let Some((side, step)) = self.causes.to_assume(violation) else { return false };
        let is_taken = self.take_step(side, step);
        if is_taken {
            let protocol = self.eras.handshake().protocol();
            let finding =
                self.causes.assume(Finding::of_violation(place, violation, protocol, &self.revisions));
            self.summary.emit(finding, found);
        }
        is_taken
    }

    /// Whether a message that this session does not accept may begin another.
    fn begins_another(&self, bounds: SessionBounds, observed: &Observed) -> Option<OpeningId> {
        let (message, id) = (observed.message?, observed.id.as_ref()?);
        let may_begin = observed.kind == ObservedKind::Request
            && observed.sender == Side::Client
            && observed.step.is_none()
            && bounds != SessionBounds::Marked
            && self.eras.handshake().begins_session(message);
        let opening = match self.requests.place(Side::Client, id) {
            // A log of the client alone has no reply that says when the session was open.
            Some(_) if self.opening.is_assumed() && !self.heard.has(Side::Server) => OpeningId::StartsOver,
            Some(_) => OpeningId::Runs,
            None if self.ids.has(id) => OpeningId::StartsOver,
            None => OpeningId::GoesOn,
        };
        // A client that has the reply and has not gone on with it opens its session twice.
        let is_half_open = self.causes.awaited().is_some_and(|owed| owed.side == Side::Client);
        let may_be = match opening {
            OpeningId::StartsOver => true,
            OpeningId::GoesOn | OpeningId::Runs => bounds == SessionBounds::Unnamed && !is_half_open,
        };
        Some(opening).filter(|_| may_begin && may_be)
    }

    /// Notes that a second session seems to begin while the first waits for the reply that opens it: two clients of one
    /// log, or a log that shows each message twice.
    fn note_opened_twice(&mut self, place: Place, observed: &Observed, violation: &Violation) {
        let begins = |message| self.eras.handshake().begins_session(message);
        if runs_already(violation) && observed.sender == Side::Client && observed.message.is_some_and(begins)
        {
            self.overlaps = true;
            self.summary.not_observed(wording::overlapping_sessions(place.line));
        }
    }

    /// Notes that two clients may share a log without names, where each request stands for itself.
    fn note_several_clients(&mut self, place: Place, era: Era, violation: &Violation) {
        let is_unnamed = self.bounds == SessionBounds::Unnamed && !self.overlaps;
        if era == Era::Stateless && is_unnamed && runs_already(violation) && violation.sender == Side::Client
        {
            self.overlaps = true;
            self.summary.not_observed(wording::several_clients(place.line));
        }
    }

    /// Notes whether the server has refused the request that opens the session.
    fn note_opening(&mut self, era: Era, observed: &Observed) {
        let Some(StepKind::Linear { from, to }) = observed.step.filter(|_| era == Era::Handshake) else {
            return;
        };
        if from != to && matches!(observed.kind, ObservedKind::Request | ObservedKind::Error) {
            self.opening.note_refused(observed.kind == ObservedKind::Error && to == StateIndex(0));
        }
    }

    /// Finds that a side refuses as unknown what it has announced.
    fn note_refused(&mut self, place: Place, observed: &Observed, era: Era, found: &mut Vec<Finding>) {
        if era == Era::Stateless {
            return;
        }
        let Some(refused) = self.refused.note(observed, self.eras.handshake()) else { return };
        let finding = wording::refused_though_announced(
            place,
            observed.sender,
            self.eras.handshake().state(),
            &refused,
        );
        self.report(Some(finding), found);
    }

    /// Notes what a message does with a request, and finds what is wrong with that.
    fn note_request<'a>(
        &mut self,
        said: Said,
        observed: &Observed,
        text: impl FnOnce() -> Option<&'a [u8]>,
        era: Era,
        found: &mut Vec<Finding>,
    ) {
        let place = said.place;
        if let (ObservedKind::Request, Some(id)) = (observed.kind, &observed.id) {
            match observed.sender {
                Side::Client => self.ids.note(id),
                Side::Server => self.server_ids.note(id),
            }
        }
        let has_no_time = matches!(said.kind, RecordKind::Streamed | RecordKind::Resumed);
        let replied = |token: &Token| self.requests.has_answered(observed.sender.other(), token);
        let is_report =
            (observed.kind, observed.step) == (ObservedKind::Notification, Some(StepKind::Swallowed));
        if has_no_time && is_report && observed.token.as_ref().is_some_and(replied) {
            self.summary.not_observed(format!(
                "when the progress in line {} came: it is taken as coming before the reply",
                place.line
            ));
            return;
        }
        let observer = self.eras.observer(era);
        // A stream that goes on with another one has its order, and one of the server's own has another.
        let stream = StreamNumber(match said.kind {
            RecordKind::Streamed => 1,
            RecordKind::InStream(number) => number,
            _ => 0,
        });
        let heard = HeardAt { place, stream };
        let fault = RequestFault::note(&mut self.requests, observed, observer.protocol(), text, heard);
        let Some(fault) = fault else { return };
        let same = fault.same(observed);
        if !self.causes.count(&same, place) {
            self.causes.remember(same, place);
            let finding = fault.finding(place, observed, observer.protocol(), observer.state());
            self.summary.emit(Some(finding), found);
        }
    }

    /// Notes what the observer says of a message.
    fn judge(
        &mut self,
        place: Place,
        observed: &Observed,
        text: Option<&[u8]>,
        era: Era,
        found: &mut Vec<Finding>,
    ) {
        for report in &observed.reports {
            let late = observed.message.and_then(|message| self.causes.comes_late(observed.sender, message));
            if let (Some(early), Era::Handshake) = (late, era) {
                self.requests.step_has_come();
                self.summary.emit(early, found);
                continue;
            }
            match report {
                Report::Violation(violation) | Report::Advice(violation) => {
                    if self.may_be_of_another(violation) {
                        self.summary.not_observed(
                            "whether the server uses ids again in one session, or begins another one",
                        );
                        continue;
                    }
                    self.note_opened_twice(place, observed, violation);
                    self.note_several_clients(place, era, violation);
                    // Where the session waits for a step, that is what is missing.
                    let waits = era == Era::Handshake && self.causes.is_waiting();
                    let is_of_state = violation.kind == ViolationKind::NotPermitted;
                    if !(waits && is_of_state) && self.unclear.explain(violation) {
                        continue;
                    }
                    let protocol = self.eras.observer(era).protocol();
                    self.unclear.note(place, violation, protocol);
                    if is_of_state && era == Era::Handshake {
                        self.causes.note_early(observed);
                    }
                    let mut finding = Finding::of_violation(place, violation, protocol, &self.revisions);
                    let answers_nothing =
                        matches!(violation.kind, ViolationKind::UnknownId | ViolationKind::SecondReply);
                    if answers_nothing && self.requests.own(observed).is_some() {
                        self.unclear.note_reply_to_itself(place, observed.sender, observed.id.as_ref());
                        finding = wording::reply_to_itself(finding, observed.sender);
                    }
                    let id = observed.about.as_ref().or(observed.id.as_ref());
                    if let Some(meant) = self.requests.meant(violation, id) {
                        finding.hint = other_type::hint(&meant);
                    }
                    let explained = self.left_out.explain(finding, violation);
                    if let Some(same) = Same::of_overlap(violation).filter(|_| self.overlaps) {
                        if self.causes.count(&same, place) {
                            continue;
                        }
                        self.causes.remember(same, place);
                    }
                    let judged = Some((violation, self.eras.observer(era)));
                    let finding = explained.and_then(|it| self.causes.distinct(it, judged));
                    let finding = match (&violation.kind, self.may_be_announced(violation, era)) {
                        (ViolationKind::NotNegotiated { capability, .. }, true) => {
                            let finding = finding.map(|it| wording::before_announcement(it, capability));
                            finding.and_then(|finding| self.opening.hold(finding))
                        }
                        _ => finding,
                    };
                    let finding = finding.and_then(|it| {
                        match WithoutReply::awaited(violation, self.eras.observer(era)) {
                            Some(request) => self.without_reply.hold(observed.sender, request, it),
                            None => Some(it),
                        }
                    });
                    self.summary.emit(finding, found);
                    self.note_unclear(observed, violation, era);
                }
                Report::Malformed { error, id } => {
                    let batch = text.and_then(|text| Batch::refused(text, &error.message));
                    if let Some(batch) = batch
                        && self.note_batch(place, observed.sender, batch)
                    {
                        continue;
                    }
                    if text.is_none_or(may_be_message) {
                        self.unclear.note_malformed(place, observed.sender, id.as_ref());
                        self.gaps.may_have_moved();
                    }
                    if let Some(id) = id {
                        self.requests.excuse(observed.sender.other(), id);
                    }
                    let text = text.map(<[u8]>::trim_ascii).filter(|_| id.is_none());
                    let own = Same::of_form(observed.sender, &error.message);
                    let before = text.and_then(|text| self.texts.belongs_to(observed.sender, text, &own));
                    if let Some(before) = before {
                        self.causes.count(&before, place);
                        continue;
                    }
                    let state = self.eras.observer(era).state();
                    let finding =
                        wording::malformed(place, observed.sender, state, id.as_ref(), &error.message);
                    self.report(Some(finding), found);
                }
                Report::Complaint { error } => {
                    self.unclear.note_complaint(place, observed.sender);
                    let state = self.eras.observer(era).state();
                    let finding = wording::complaint(place, observed.sender, state, &error.message);
                    self.report(Some(finding), found);
                }
                Report::NegotiationFailed { error } => {
                    let (unknown, known) = unknown_revision::of_error(error)
                        .unwrap_or_else(|| (String::new(), error.to_string()));
                    self.summary.not_observed(format!(
                        "the rules of the revision {unknown}, which is not known: judged by {} ({known})",
                        revision(&self.eras),
                    ));
                }
                // What crosses a step of the other side is not a mistake.
                _ => {}
            }
        }
        self.note_step(place, observed, era, found);
    }

    /// Notes a batch where none is permitted. Returns whether it answers another one, which was found.
    fn note_batch(&mut self, place: Place, sender: Side, batch: Batch) -> bool {
        batch.answered.iter().for_each(|id| self.requests.excuse(sender.other(), id));
        let is_answer = batch.asked.is_empty() && self.unclear.explain_batch(sender);
        if !is_answer {
            self.unclear.note_batch(place, sender, batch.asked);
        }
        is_answer
    }

    /// Whether an id is used again in a log of the server alone: the client begins sessions, and is not in it.
    fn may_be_of_another(&self, violation: &Violation) -> bool {
        let is_again = matches!(violation.kind, ViolationKind::DuplicateId { .. });
        is_again
            && violation.sender == Side::Server
            && !self.heard.has(Side::Client)
            && self.bounds == SessionBounds::Unnamed
    }

    /// Whether a server says something that needs what it may announce in the reply which has not come.
    fn may_be_announced(&self, violation: &Violation, era: Era) -> bool {
        let is_capability = matches!(violation.kind, ViolationKind::NotNegotiated { .. });
        let is_of_server = violation.sender == Side::Server && era == Era::Handshake;
        is_capability && is_of_server && !self.eras.has_opened()
    }

    /// What has waited for the reply that opens the session is found: the reply has come, or the session is over.
    fn emit_held(&mut self, found: &mut Vec<Finding>) {
        for finding in self.opening.release() {
            self.summary.emit(Some(finding), found);
        }
    }

    /// Notes what was not taken of a message: a reply that does not end its request, and capabilities.
    fn note_unclear(&mut self, observed: &Observed, violation: &Violation, era: Era) {
        if let (ObservedKind::Result, None, Some(id)) = (observed.kind, observed.step, &observed.id) {
            self.requests.excuse(observed.sender.other(), id);
        }
        // It may have been the reply for which the session waits.
        if era == Era::Handshake && violation.kind == ViolationKind::UnknownId && !self.eras.has_opened() {
            self.gaps.may_have_moved();
        }
        let protocol = self.eras.observer(era).protocol();
        let announces = protocol
            .announcements
            .iter()
            .any(|place| place.message.is_some() && place.message == observed.message);
        if announces && matches!(violation.kind, ViolationKind::Misshapen { .. }) {
            self.gaps.may_have_moved();
        }
    }

    /// Notes what the session waits for.
    fn note_step(&mut self, place: Place, observed: &Observed, era: Era, found: &mut Vec<Finding>) {
        if era == Era::Stateless {
            return;
        }
        if advances(observed) {
            self.emit_held(found);
            let early = self.causes.wait(self.eras.owed());
            self.summary.emit(early, found);
            self.take_early_step();
            return;
        }
        self.causes.note_instead(place, observed, &self.eras);
    }

    /// The session waits for a step that was reported before, because it came too early: it goes on as if that had been
    /// taken now.
    fn take_early_step(&mut self) {
        let Some((side, step)) = self.causes.take_early() else { return };
        if self.take_step(side, step) {
            self.causes.wait(self.eras.owed());
        }
    }

    /// Takes a step of a side that has not sent it now, if it is a notification. Returns whether it was taken.
    fn take_step(&mut self, side: Side, step: MessageIndex) -> bool {
        let Some(table) = self.eras.handshake().protocol().message(step) else { return false };
        if table.kind != Kind::Notification {
            return false;
        }
        let step = serde_json::json!({ "jsonrpc": "2.0", "method": table.method }).to_string();
        let observed = self.eras.observe(Era::Handshake, side, step.as_bytes().into());
        matches!(observed.as_slice(), [Observed { step: Some(_), .. }])
    }

    fn report(&mut self, finding: Option<Finding>, found: &mut Vec<Finding>) {
        let finding = finding.and_then(|finding| self.causes.distinct(finding, None));
        self.summary.emit(finding, found);
    }

    /// The session is over: what is left of it.
    pub(crate) fn finish(mut self, found: &mut Vec<Finding>) -> Summary {
        self.emit_held(found);
        let JudgedSession {
            eras,
            requests,
            causes,
            unclear,
            gaps,
            heard,
            opening,
            without_reply,
            overlaps,
            summary,
            ..
        } = self;
        SessionEnd { eras, requests, causes, unclear, gaps, heard, opening, without_reply, overlaps, summary }
            .find(found)
    }

    /// The log does not have its beginning: it is judged from a state on, and begins in this line.
    pub(crate) fn began_in(&mut self, state: String, line: u64) {
        self.summary.began_in(state, line);
    }

    /// The state, as the observer of the handshake has it, and how many steps it waits for.
    pub(crate) fn standing(&self) -> (String, usize) {
        (self.eras.handshake().state(), self.eras.handshake().owes().len())
    }
}

/// Whether a message has the id of a request that runs.
fn runs_already(violation: &Violation) -> bool {
    matches!(violation.kind, ViolationKind::DuplicateId { running: Some(_) })
}
