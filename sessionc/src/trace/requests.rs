//! What is remembered of the requests of a session: where they stand in the log, and their progress.

use std::collections::VecDeque;

use mcp_protocol_machine::IdTable;
use mcp_protocol_machine::protocol::Strictness;
use mcp_runtime::Violation;
use mcp_runtime::observer::{Observed, ObservedKind};
use mcp_runtime::protocol::{RequestId, Side, Token};
use serde::Deserialize;

use super::formats::record::Place;
use super::stream_progress::{LatestProgress, StreamNumber};
use crate::other_type::{asker_of_unknown, of_other_type};

/// How many requests without a reply are remembered.
const RUNNING: usize = 65_536;
/// How many tokens are remembered of requests that have their reply, and how many requests that were cancelled.
const OVER: usize = 1_024;

/// How many requests are remembered that came before a step for which they had to wait.
const BEFORE_STEP: usize = 64;

/// How many bytes an id or a token may have to be remembered.
const LONGEST: usize = 1_024;

/// Whether an id or a token is short enough to be remembered.
pub(crate) fn is_short(id: &RequestId) -> bool {
    match id {
        RequestId::Number(_) => true,
        RequestId::Text(text) => text.len() <= LONGEST,
    }
}

/// The id of a reply that has ended no request.
fn replied(observed: &Observed) -> Option<&RequestId> {
    let is_reply = matches!(observed.kind, ObservedKind::Result | ObservedKind::Error);
    observed.id.as_ref().filter(|_| is_reply && observed.step.is_none())
}

/// Where a message stands in a log, and in which stream it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeardAt {
    pub(crate) place: Place,
    pub(crate) stream: StreamNumber,
}

/// A request that has no reply.
#[derive(Clone, Debug)]
struct Running {
    place: Place,
    token: Option<Token>,
    progress: LatestProgress,
    /// That it has no reply follows from a finding: it was not permitted, and runs all the same, or its reply is not one.
    is_excused: bool,
}

/// The requests of both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    running: IdTable<(Side, RequestId), Running>,
    /// The tokens of requests that have their reply.
    answered: Over,
    /// The requests that their own side has cancelled.
    cancelled: Over,
    /// Requests that came before a step for which they had to wait, while that has not come.
    before_step: Vec<(Side, RequestId)>,
}

/// The tokens or ids of what is over, each with the message that ended it.
#[derive(Clone, Debug, Default)]
struct Over {
    /// The number of the newest end for each of them, and where it was heard.
    places: IdTable<(Side, Token), (u64, HeardAt)>,
    /// The numbers of all ends in their order, and of some that are not in the table any more.
    order: VecDeque<(u64, (Side, Token))>,
    next: u64,
}

impl Over {
    fn add(&mut self, token: (Side, Token), heard: HeardAt) {
        while self.places.len() >= OVER
            && let Some((number, oldest)) = self.order.pop_front()
        {
            if self.places.get(&oldest).is_some_and(|(newest, _)| *newest == number) {
                self.places.remove(&oldest);
            }
        }
        if self.order.len() >= 2 * OVER {
            let places = &self.places;
            self.order
                .retain(|(number, token)| places.get(token).is_some_and(|(newest, _)| newest == number));
        }
        self.order.push_back((self.next, token.clone()));
        self.places.insert(token, (self.next, heard));
        self.next += 1;
    }

    fn end(&self, by: Side, token: &Token) -> Option<HeardAt> {
        self.places.get(&(by, token.clone())).map(|(_, heard)| *heard)
    }

    /// It has begun again.
    fn remove(&mut self, by: Side, token: &Token) {
        if !self.places.is_empty() {
            self.places.remove(&(by, token.clone()));
        }
    }
}

/// The progress that a report tells.
pub(crate) fn progress_of(report: &[u8]) -> Option<f64> {
    #[derive(Deserialize)]
    struct ProgressReport {
        params: ProgressParams,
    }
    #[derive(Deserialize)]
    struct ProgressParams {
        progress: f64,
    }
    serde_json::from_slice::<ProgressReport>(report).ok().map(|report| report.params.progress)
}

/// What is wrong with progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    /// It is less than before.
    Decreases { before: f64 },
    /// It is the same as before.
    Stays { before: f64 },
}

impl Step {
    /// How bad it is.
    pub(crate) fn level(self) -> Strictness {
        match self {
            Step::Decreases { .. } => Strictness::Must,
            Step::Stays { .. } => Strictness::Should,
        }
    }

    /// What was reported before.
    pub(crate) fn before(self) -> f64 {
        let (Step::Decreases { before } | Step::Stays { before }) = self;
        before
    }
}

impl Requests {
    /// A side has sent a request.
    pub(crate) fn open(&mut self, by: Side, id: &RequestId, token: Option<Token>, place: Place) {
        if let Some(token) = &token {
            self.answered.remove(by, token);
        }
        self.cancelled.remove(by, id);
        if self.running.len() < RUNNING && is_short(id) {
            let token = token.filter(is_short);
            self.running.insert(
                (by, id.clone()),
                Running { place, token, progress: LatestProgress::default(), is_excused: false },
            );
        }
    }

    /// The same for a request that is not permitted, which may be why it gets no reply.
    pub(crate) fn open_early(&mut self, by: Side, id: &RequestId, token: Option<Token>, place: Place) {
        self.open(by, id, token, place);
        self.excuse(by, id);
    }

    /// A request of a side came before a step for which it had to wait.
    pub(crate) fn note_before_step(&mut self, by: Side, id: &RequestId) {
        if self.before_step.len() < BEFORE_STEP {
            self.before_step.push((by, id.clone()));
        }
    }

    /// The step has come: that those requests were early is found, and may be why they get no reply.
    pub(crate) fn step_has_come(&mut self) {
        for (by, id) in std::mem::take(&mut self.before_step) {
            self.excuse(by, &id);
        }
    }

    /// A request of a side has its reply. Unless it goes on for some other reason, no progress follows.
    pub(crate) fn answer(&mut self, by: Side, id: &RequestId, heard: HeardAt) {
        let Some(request) = self.running.remove(&(by, id.clone())) else { return };
        if let Some(token) = request.token {
            self.answered.add((by, token), heard);
        }
    }

    /// A side has cancelled its request, and what is under way may still come; or one of the other side, which it ends so.
    pub(crate) fn cancel(&mut self, by: Side, id: &RequestId, heard: HeardAt) {
        if self.running.remove(&(by, id.clone())).is_some() {
            self.cancelled.add((by, id.clone()), heard);
        } else {
            self.running.remove(&(by.other(), id.clone()));
        }
    }

    /// Where a side has cancelled a request of its own that has not begun again.
    pub(crate) fn cancelled(&self, by: Side, id: &RequestId) -> Option<Place> {
        self.cancelled.end(by, id).map(|heard| heard.place)
    }

    /// A request of a side, or the cancel of one, did not arrive.
    pub(crate) fn withdraw(&mut self, by: Side, id: &RequestId) {
        self.running.remove(&(by, id.clone()));
        self.cancelled.remove(by, id);
    }

    /// Progress of a request. It is compared with the last that came in the same stream.
    pub(crate) fn progress(
        &mut self,
        by: Side,
        id: &RequestId,
        progress: f64,
        stream: StreamNumber,
    ) -> Option<Step> {
        let request = self.running.get_mut(&(by, id.clone()))?;
        let before = request.progress.replace(stream, progress)?;
        match progress.partial_cmp(&before)? {
            std::cmp::Ordering::Less => Some(Step::Decreases { before }),
            std::cmp::Ordering::Equal => Some(Step::Stays { before }),
            std::cmp::Ordering::Greater => None,
        }
    }

    /// The last progress of a request did not arrive: the one before it counts.
    pub(crate) fn keep_progress(&mut self, by: Side, id: &RequestId, before: f64) {
        if let Some(request) = self.running.get_mut(&(by, id.clone())) {
            request.progress.keep(before);
        }
    }

    /// Where the reply stands to the request of a side that carried a token, if it came in this stream.
    pub(crate) fn answered(&self, by: Side, token: &Token, stream: StreamNumber) -> Option<Place> {
        self.answered.end(by, token).filter(|reply| reply.stream == stream).map(|reply| reply.place)
    }

    /// That a request has no reply follows from what was found.
    pub(crate) fn excuse(&mut self, by: Side, id: &RequestId) {
        if let Some(request) = self.running.get_mut(&(by, id.clone())) {
            request.is_excused = true;
        }
    }

    /// A reply may have the id of its request as a text instead of a number, or the other way round. That is a mistake of
    /// the reply: that the request is not answered follows from it.
    pub(crate) fn excuse_other_type(&mut self, observed: &Observed) {
        // One that has ended its request means no other one.
        let Some(id) = replied(observed) else { return };
        let asker = observed.sender.other();
        if let Some(meant) = of_other_type(id)
            && self.place(asker, id).is_none()
        {
            self.excuse(asker, &meant);
        }
    }

    /// A side may seem to reply to a request of its own, where a log takes one side for the other. That the request has no
    /// reply follows from it.
    pub(crate) fn excuse_other_side(&mut self, observed: &Observed) {
        if let Some(id) = self.own(observed) {
            self.excuse(observed.sender, &id);
        }
    }

    /// The id of a reply that ends no request, if a request of its own sender has it.
    pub(crate) fn own(&self, observed: &Observed) -> Option<RequestId> {
        let id = replied(observed)?;
        let is_own =
            self.place(observed.sender, id).is_some() && self.place(observed.sender.other(), id).is_none();
        is_own.then(|| id.clone())
    }

    /// The running request that a message seems to mean which names it with an id of the other type.
    pub(crate) fn meant(&self, violation: &Violation, id: Option<&RequestId>) -> Option<RequestId> {
        let asker = asker_of_unknown(violation)?;
        of_other_type(id?).filter(|meant| self.place(asker, meant).is_some())
    }

    /// Whether it follows from a finding that a request has no reply.
    pub(crate) fn is_excused(&self, by: Side, id: &RequestId) -> bool {
        self.running.get(&(by, id.clone())).is_some_and(|request| request.is_excused)
    }

    /// How many requests have no reply.
    pub(crate) fn count(&self) -> usize {
        self.running.len()
    }

    /// Whether a request of a side that has no reply carries a token.
    pub(crate) fn carries(&self, by: Side, token: &Token) -> bool {
        let is_it = |request: &Running| request.token.as_ref() == Some(token);
        // Most programs take the id of the request.
        self.running.get(&(by, token.clone())).is_some_and(is_it)
            || self.running.iter().any(|((side, _), request)| *side == by && is_it(request))
    }

    /// Whether a request of a side has carried a token and has its reply.
    pub(crate) fn has_answered(&self, by: Side, token: &Token) -> bool {
        self.answered.end(by, token).is_some()
    }

    /// Where a request stands that has no reply.
    pub(crate) fn place(&self, by: Side, id: &RequestId) -> Option<Place> {
        self.running.get(&(by, id.clone())).map(|request| request.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamNumber = StreamNumber(0);

    fn at(line: u64) -> Place {
        Place { line, entry: None }
    }

    fn heard(line: u64) -> HeardAt {
        HeardAt { place: at(line), stream: STREAM }
    }

    #[test]
    fn progress_increases_until_the_reply() {
        let (id, token) = (RequestId::Number(1), Token::from("t"));
        let mut requests = Requests::default();
        requests.open(Side::Client, &id, Some(token.clone()), at(1));
        assert_eq!(requests.progress(Side::Client, &id, 1.0, STREAM), None);
        assert_eq!(requests.progress(Side::Client, &id, 1.0, STREAM), Some(Step::Stays { before: 1.0 }));
        assert_eq!(requests.progress(Side::Client, &id, 0.5, STREAM), Some(Step::Decreases { before: 1.0 }));
        assert_eq!(requests.answered(Side::Client, &token, STREAM), None);
        requests.answer(Side::Client, &id, heard(5));
        assert_eq!(requests.answered(Side::Client, &token, STREAM), Some(at(5)));
        assert_eq!(requests.answered(Side::Server, &token, STREAM), None);
        // Another request may carry the token again.
        requests.open(Side::Client, &RequestId::Number(2), Some(token.clone()), at(6));
        assert_eq!(requests.answered(Side::Client, &token, STREAM), None);
    }

    #[test]
    fn tokens_of_the_past_are_forgotten_at_last() {
        let mut requests = Requests::default();
        for number in 0..3_000 {
            let id = RequestId::Number(number);
            requests.open(Side::Client, &id, Some(id.clone()), at(1));
            requests.answer(Side::Client, &id, heard(2));
        }
        assert_eq!(requests.answered.places.len(), OVER);
        assert!(requests.running.is_empty());
        let answered =
            |number: i64| requests.answered(Side::Client, &RequestId::Number(number), STREAM).is_some();
        assert!(!answered(1_975) && answered(1_976) && answered(2_999));
    }

    #[test]
    fn a_token_that_is_used_again_and_again_takes_no_room() {
        let mut requests = Requests::default();
        for number in 0..5_000 {
            let id = RequestId::Number(number);
            requests.open(Side::Client, &id, Some(Token::from(number % 2)), at(1));
            requests.answer(Side::Client, &id, heard(2));
        }
        assert_eq!(requests.answered.places.len(), 2);
        assert!(requests.answered.order.len() <= 2 * OVER);
    }

    #[test]
    fn a_cancelled_request_is_known_until_its_id_begins_again() {
        let (id, mut requests) = (RequestId::Number(1), Requests::default());
        requests.open(Side::Client, &id, None, at(1));
        requests.cancel(Side::Client, &id, heard(2));
        assert_eq!(requests.cancelled(Side::Client, &id), Some(at(2)));
        assert_eq!(requests.cancelled(Side::Server, &id), None);
        requests.open(Side::Client, &id, None, at(3));
        assert_eq!(requests.cancelled(Side::Client, &id), None);
        // The other side ends it.
        requests.cancel(Side::Server, &id, heard(4));
        assert_eq!(requests.cancelled(Side::Server, &id), None);
        requests.open(Side::Client, &id, None, at(5));
        requests.cancel(Side::Client, &id, heard(6));
        requests.withdraw(Side::Client, &id);
        assert_eq!(requests.cancelled(Side::Client, &id), None);
    }

    #[test]
    fn between_streams_nothing_is_known_of_the_order() {
        let (id, token, other) = (RequestId::Number(1), Token::from("t"), StreamNumber(1));
        let mut requests = Requests::default();
        requests.open(Side::Client, &id, Some(token.clone()), at(1));
        assert_eq!(requests.progress(Side::Client, &id, 2.0, STREAM), None);
        assert_eq!(requests.progress(Side::Client, &id, 1.0, other), None);
        assert_eq!(requests.progress(Side::Client, &id, 1.0, other), Some(Step::Stays { before: 1.0 }));
        // Each is compared with what it has said itself, whatever the other has said since.
        let decreases = Some(Step::Decreases { before: 2.0 });
        assert_eq!(requests.progress(Side::Client, &id, 1.5, STREAM), decreases);
        requests.keep_progress(Side::Client, &id, 2.0);
        for stream in (2..20).map(StreamNumber) {
            assert_eq!(requests.progress(Side::Client, &id, 0.0, stream), None);
        }
        // Those of many streams are not all remembered.
        assert_eq!(requests.progress(Side::Client, &id, 1.0, STREAM), None);
        requests.answer(Side::Client, &id, heard(4));
        assert_eq!(requests.answered(Side::Client, &token, other), None);
        assert_eq!(requests.answered(Side::Client, &token, STREAM), Some(at(4)));
    }
}
