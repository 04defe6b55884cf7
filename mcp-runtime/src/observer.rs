//! Follows sessions of others from the middle: what a log reader or a proxy judges messages with.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Protocol, Side, StateIndex};
use mcp_protocol_machine::{
    Awaiting, ProtocolRef, RequestId, Step, StepKind, TableError, Violation, ViolationKind,
};

use crate::jsonrpc::{Envelope, Malformed, OwnMembers, RawPayload, RpcError, Seems, batch, is_batch, write};
use crate::options::Options;
use crate::report::Report;
use crate::rules::Rules;
use crate::rules::ended::{self, ReceiverCancels};
use crate::rules::members::{self, Carried};
use crate::rules::{alternatives, announcements, judge, resume, shapes, version};

mod observed;
mod owed;
mod rounds;
#[cfg(test)]
mod tests;
mod withdraw;

pub use crate::jsonrpc::{JsonReader, JsonValue, MessageText};
pub use observed::{Observed, ObservedKind, Unanswered};
pub use owed::Owed;
use rounds::KnownRounds;
pub use rounds::SharedRounds;

/// Follows one session from the middle. It is given the messages of both sides in the order in which they pass, and
/// says of each whether the protocol permits it. It follows the machine of the server's role.
///
/// A message that is not permitted changes nothing, and neither does the reply to a request that was not permitted, unless
/// the request was [passed on](Observer::passed_on). One mistake is so reported once. A clone follows the session on its own from there: with one, a caller can try what a
/// message would be.
///
/// ```
/// mod weather {
///     mcp_runtime::protocol!("doc/weather.session");
/// }
/// use mcp_runtime::observer::Observer;
/// use mcp_runtime::protocol::Side;
/// use mcp_runtime::Options;
///
/// let mut observer = Observer::new(&weather::PROTOCOL, Options::new())?;
/// let early = br#"{"jsonrpc":"2.0","id":1,"method":"weather/forecast","params":{"city":"Oslo"}}"#;
/// let observed = observer.observe(Side::Client, early);
/// assert!(observed[0].reports[0].to_string().contains("is not permitted"));
/// # Ok::<(), mcp_runtime::protocol::TableError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Observer {
    rules: Rules,
    options: Arc<Options>,
    /// Where the payload does not have its shape, the message is not permitted.
    refuses_misshapen: bool,
    /// The session began before the first message that was observed.
    in_the_middle: bool,
    /// How many messages of the client and of the server had no id that could be read, and may be answered with an error
    /// that has none.
    nameless: [usize; 2],
    /// What replies have asked for, where the request is to be sent again.
    rounds: KnownRounds,
}

/// A state that a protocol does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownState {
    name: String,
    known: Vec<String>,
}

impl fmt::Display for UnknownState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the server's role has no state `{}`: it has `{}`",
            self.name,
            self.known.join("`, `")
        )
    }
}

impl StdError for UnknownState {}

impl UnknownState {
    /// The states that the protocol has.
    pub fn known(&self) -> &[String] {
        &self.known
    }
}

impl Observer {
    /// Returns an observer of a session from its first message on.
    ///
    /// Of the options it uses [`revisions`](Options::revisions), [`judge_payloads`](Options::judge_payloads),
    /// [`tolerate`](Options::tolerate) and the limits of a message: `max_depth`, `max_batch` and `max_running`.
    ///
    /// # Errors
    /// If the tables cannot be followed.
    pub fn new(protocol: impl Into<ProtocolRef>, options: Options) -> Result<Observer, TableError> {
        let options = Arc::new(options);
        let rules = Rules::new(protocol.into(), Side::Server, Arc::clone(&options))?;
        Ok(Observer {
            rules,
            options,
            refuses_misshapen: false,
            in_the_middle: false,
            nameless: [0; 2],
            rounds: KnownRounds::default(),
        })
    }

    /// A payload that does not have its shape makes its message one that is not permitted, and so does a round that is not
    /// what the round before it asks for. Otherwise it is reported, and the session goes on with the message.
    #[must_use]
    pub fn refuse_misshapen(mut self) -> Observer {
        self.refuses_misshapen = true;
        self
    }

    /// Keeps what replies ask for where other observers keep it, too. So where each request stands for itself and is followed
    /// by an observer of its own, the request that answers a reply is still judged by it. Others may have asked without having been
    /// observed. So a request whose state is not that of a reply which is remembered is judged only where a reply to the same
    /// call, with the same params otherwise, waits for its round.
    #[must_use]
    pub fn share_rounds(mut self, rounds: &SharedRounds) -> Observer {
        self.rounds = KnownRounds::Shared(rounds.clone(), None);
        self
    }

    /// Begins in a state, by its name in the server's role. What has happened before is not known: any capability may
    /// have been announced, and any request may be running.
    ///
    /// # Errors
    /// If the state does not exist.
    pub fn begin_in(&mut self, state: &str) -> Result<(), UnknownState> {
        let place = self.named_states().into_iter().find(|(_, name)| *name == state).map(|(index, _)| index);
        match place.map(|index| resume::begin_in(&mut self.rules, index)) {
            Some(Ok(())) => {
                self.in_the_middle = true;
                Ok(())
            }
            Some(Err(_)) | None => {
                let known = self.named_states().into_iter().map(|(_, name)| name.to_owned()).collect();
                Err(UnknownState { name: state.to_owned(), known })
            }
        }
    }

    /// Messages have passed that were not observed, because they were too long for instance. What may belong to them is
    /// not reported from here on: a reply to no request, or what ends what does not run.
    pub fn missed_messages(&mut self) {
        self.in_the_middle = true;
    }

    /// The states that a session can be in, in the order of the tables.
    fn named_states(&self) -> Vec<(StateIndex, &str)> {
        let states = self.rules.role().map(|role| &*role.states).unwrap_or_default();
        (0..).map(StateIndex).zip(states).map(|(index, state)| (index, &*state.name)).collect()
    }

    /// The tables in force: those of the revision that the sides have agreed on, if the options list it.
    pub fn protocol(&self) -> &Protocol {
        self.rules.protocol()
    }

    /// The version that the sides have agreed on.
    pub fn version(&self) -> Option<String> {
        version::agreed(&self.rules).map(String::from)
    }

    /// The names of the states that the session is in: `Active`, or `RequestChannel and NotificationChannel`.
    pub fn state(&self) -> String {
        self.rules.checker().state_names()
    }

    /// The states that the session is in now, one for each linear channel: indices into the server's states.
    pub fn states(&self) -> &[StateIndex] {
        self.rules.checker().states()
    }

    /// What a side may send now.
    pub fn permitted(&self, sender: Side) -> Vec<MessageIndex> {
        self.rules.checker().permitted(direction(sender))
    }

    /// Whether a message is among those that a side may send now. This costs less than to look it up in
    /// [`permitted`](Self::permitted).
    pub fn permits(&self, sender: Side, message: MessageIndex) -> bool {
        self.rules.checker().is_permitted(direction(sender), message)
    }

    /// The requests with this method, and then the notifications; several of one kind only where conditions tell them apart.
    pub fn of_method(&self, method: &str) -> impl Iterator<Item = MessageIndex> {
        [true, false].into_iter().flat_map(move |is_request| self.rules.all_of_method(is_request, method))
    }

    /// Whether a side may end the session here.
    pub fn may_end(&self, side: Side) -> bool {
        match side {
            Side::Server => self.rules.checker().quiescent(),
            Side::Client => self.rules.checker().peer_may_close(),
        }
    }

    /// The requests of a side that have no reply, in no order.
    pub fn running(&self, asker: Side) -> impl Iterator<Item = (&RequestId, MessageIndex)> {
        self.rules.checker().unanswered(direction(asker))
    }

    /// The request without a reply that a reply of this side with this id would answer.
    pub fn awaited(&self, replier: Side, id: &RequestId) -> Option<MessageIndex> {
        match self.rules.checker().awaiting(direction(replier), id) {
            Awaiting::Request(request) => Some(request),
            _ => None,
        }
    }

    /// The requests of both sides that have no reply. With thousands that run this takes its time: where a few of
    /// them are looked for, [`awaited`](Observer::awaited) and [`running`](Observer::running) do not.
    pub fn unanswered(&self) -> Vec<Unanswered> {
        let of = |sender| {
            let requests = self.running(sender);
            requests.map(move |(id, message)| Unanswered {
                sender,
                id: id.clone(),
                message,
                stays_open: self.stays_open(sender, message),
            })
        };
        of(Side::Client).chain(of(Side::Server)).collect()
    }

    /// Judges what one side has sent: one message, or several where the protocol permits batches. Text that is blank has
    /// no message in it.
    pub fn observe<'a>(&mut self, sender: Side, text: impl Into<MessageText<'a>>) -> Vec<Observed> {
        let mut observed = Vec::new();
        self.observe_into(sender, text, &mut observed);
        observed
    }

    /// The same, and puts what it says behind what is in `observed`. A caller with many messages saves an allocation for
    /// each.
    pub fn observe_into<'a>(
        &mut self,
        sender: Side,
        text: impl Into<MessageText<'a>>,
        observed: &mut Vec<Observed>,
    ) {
        let message = text.into();
        let text = message.bytes();
        // A value that is an object is neither blank nor a batch.
        let is_read = message.value().is_some_and(|value| value.is_object());
        if !is_read && text.trim_ascii().is_empty() {
            return;
        }
        if !is_read && self.rules.protocol().batch && is_batch(text) {
            match batch(text, self.options.max_batch) {
                Ok(messages) => {
                    let messages = messages.into_iter().map(|message| message.get().as_bytes().into());
                    observed.extend(messages.map(|message| self.observe_one(sender, message)));
                }
                Err(malformed) => observed.push(self.malformed(sender, malformed)),
            }
            return;
        }
        observed.push(self.observe_one(sender, message));
    }

    /// Judges one message.
    fn observe_one(&mut self, sender: Side, message: MessageText<'_>) -> Observed {
        let (depth, dialect) = (self.options.max_depth, self.rules.dialect());
        let mut parsed = message.parse(depth, dialect);
        let members = members::read(&self.rules, message, &mut parsed);
        self.read(sender, parsed, &members)
    }

    fn read<P: RawPayload>(
        &mut self,
        sender: Side,
        message: Result<Envelope<'_, P>, Malformed>,
        members: &OwnMembers,
    ) -> Observed {
        let carried = |payload| Carried { payload, members };
        match message {
            Ok(Envelope::Request { id, method, params }) => {
                self.request(sender, id, &method, carried(params))
            }
            Ok(Envelope::Notification { method, params }) => {
                self.notification(sender, &method, carried(params))
            }
            Ok(Envelope::Result { id, result }) => self.reply(sender, id, carried(Some(result))),
            Ok(Envelope::Error { id, error, problem }) => {
                let mut observed = self.reply(sender, id.clone(), carried(None));
                if let Some(problem) = problem {
                    let error = RpcError::invalid_request(problem);
                    observed.reports.push(Report::Malformed { error, id: Some(id) });
                }
                observed.error = Some(error);
                observed
            }
            Ok(Envelope::Complaint { error }) => {
                let mut observed = Observed::new(sender, ObservedKind::Error, None);
                observed.error = Some(error.clone());
                if !self.answers_nameless(sender) {
                    observed.reports.push(Report::Complaint { error });
                }
                observed
            }
            Err(malformed) => self.malformed(sender, malformed),
        }
    }

    /// Writes the error that answers a message: in the dialect of the protocol, with those members of the message's
    /// envelope that are keys, if `message` is whole. Without an `id` the error has `null` there. It has no line feed.
    ///
    /// The observer does not take note of it: [`observe`](Observer::observe) it, if it is sent.
    pub fn error_reply<'a>(
        &self,
        message: impl Into<MessageText<'a>>,
        id: Option<&RequestId>,
        error: &RpcError,
    ) -> Vec<u8> {
        self.written(id, error, &members::of_answer_to(&self.rules, message.into()))
    }

    /// Writes the error that stands for the reply of a side to a request, where that is not passed on. It has the members
    /// of the request's envelope that are keys, if the request runs: those of the reply may be wrong.
    ///
    /// The observer does not take note of it, either.
    pub fn error_in_place(&self, replier: Side, id: &RequestId, error: &RpcError) -> Vec<u8> {
        let asked = direction(replier.other());
        let request = self.awaited(replier, id);
        let members = request.map(|request| members::of_reply(&self.rules, asked, request, id));
        self.written(Some(id), error, &members.unwrap_or_default())
    }

    fn written(&self, id: Option<&RequestId>, error: &RpcError, members: &OwnMembers) -> Vec<u8> {
        let mut written = Vec::new();
        write::error(&mut written, self.rules.dialect(), id, error, members);
        written.pop_if(|last| *last == b'\n');
        written
    }

    fn nameless_of(&mut self, sender: Side) -> &mut usize {
        let [client, server] = &mut self.nameless;
        if sender == Side::Client { client } else { server }
    }

    /// Whether an error without an id answers a message of the other side that was reported. Each is answered once.
    fn answers_nameless(&mut self, sender: Side) -> bool {
        let nameless = self.nameless_of(sender.other());
        let left = nameless.checked_sub(1);
        *nameless = left.unwrap_or_default();
        left.is_some()
    }

    fn malformed(&mut self, sender: Side, malformed: Malformed) -> Observed {
        let Malformed { error, id, seems, .. } = malformed;
        if seems == Seems::Reply && id.is_none() && self.answers_nameless(sender) {
            // The error has the id as it came, which was reported.
            return Observed::new(sender, ObservedKind::Error, None);
        }
        let mut observed = Observed::new(sender, ObservedKind::Malformed, id.clone());
        // The error that answers the message is not a second mistake. A reply has the id of a request of the other side.
        let awaiting = id.as_ref().map(|id| self.rules.checker().awaiting(direction(sender), id));
        let may_reply = seems == Seems::Neither && matches!(awaiting, Some(Awaiting::Request(_)));
        match (&id, sender) {
            (Some(_), _) if seems == Seems::Reply || may_reply => {}
            (Some(id), _) => drop(self.rules.checker_mut().unknown_method(direction(sender), Some(id), "")),
            (None, sender) => *self.nameless_of(sender) += 1,
        }
        observed.reports.push(Report::Malformed { error: *error, id });
        observed
    }

    fn request(
        &mut self,
        sender: Side,
        id: RequestId,
        method: &str,
        carried: Carried<'_, impl RawPayload>,
    ) -> Observed {
        let (direction, params) = (direction(sender), carried.payload);
        let mut observed = Observed::new(sender, ObservedKind::Request, Some(id.clone()));
        observed.message = alternatives::read_as(&self.rules, direction, true, method, params);
        observed.token = self.rules.token(params);
        let judged = match observed.message {
            None => judge::unnamed(&mut self.rules, direction, Some(&id), method),
            Some(message) => self.fitting(&mut observed, direction, message, params).and_then(|()| {
                judge::request(&mut self.rules, direction, message, &id, observed.token.clone(), carried)
            }),
        };
        self.judged(&mut observed, judged, params);
        observed
    }

    fn notification(
        &mut self,
        sender: Side,
        method: &str,
        carried: Carried<'_, impl RawPayload>,
    ) -> Observed {
        let (direction, params) = (direction(sender), carried.payload);
        let mut observed = Observed::new(sender, ObservedKind::Notification, None);
        observed.message = alternatives::read_as(&self.rules, direction, false, method, params);
        let judged = match observed.message {
            None => judge::unnamed(&mut self.rules, direction, None, method),
            Some(message) => {
                let named = judge::named(&self.rules, message, params);
                let reported = named.token.as_ref();
                let reported = reported.and_then(|token| self.rules.checker().reported(direction, token));
                observed.about = named.cancelled.as_ref().or(reported).cloned();
                observed.token.clone_from(&named.token);
                let cancels = named.cancelled.as_ref().and_then(|id| {
                    Some((id, ended::receiver_cancels(&mut self.rules, direction, message, id)?))
                });
                if let Some((_, ReceiverCancels::Again)) = cancels {
                    observed.step = Some(StepKind::Swallowed);
                    return observed;
                }
                self.fitting(&mut observed, direction, message, params).and_then(|()| match cancels {
                    Some((id, ReceiverCancels::Ends(request))) => {
                        ended::end_request(&mut self.rules, direction, request, id)
                    }
                    _ => judge::notification(&mut self.rules, direction, message, &named, carried),
                })
            }
        };
        self.judged(&mut observed, judged, params);
        observed
    }

    /// A reply without a result is an error.
    fn reply(&mut self, sender: Side, id: RequestId, carried: Carried<'_, impl RawPayload>) -> Observed {
        let (direction, result) = (direction(sender), carried.payload);
        let kind = if result.is_some() { ObservedKind::Result } else { ObservedKind::Error };
        let mut observed = Observed::new(sender, kind, Some(id.clone()));
        observed.about = Some(id.clone());
        let Awaiting::Request(request) = self.rules.checker().awaiting(direction, &id) else {
            if ended::is_reply_after_cancel(&mut self.rules, direction, &id) {
                observed.step = Some(StepKind::Swallowed);
                return observed;
            }
            let judged = judge::stray_reply(&mut self.rules, direction, &id, result);
            self.judged(&mut observed, judged, result);
            return observed;
        };
        observed.message = match result {
            Some(result) => self.rules.reply_of(request, result),
            None => self.rules.refusal_of(request),
        };
        let judged = match (observed.message, self.rules.any_reply_to(request)) {
            (Some(message), _) => self
                .fitting(&mut observed, direction, message, result)
                .and_then(|()| judge::reply(&mut self.rules, direction, &id, message, carried))
                .inspect(|_| self.rounds.note(self.rules.protocol(), (message, &id), result)),
            (None, Some(any)) => self.rules.checker_mut().fits_none(direction, any, Some(&id)),
            (None, None) => judge::stray_reply(&mut self.rules, direction, &id, result),
        };
        if let Ok(step) = &judged {
            ended::note_reply(&mut self.rules, direction, request, &id, step);
        }
        self.judged(&mut observed, judged, result);
        observed
    }

    /// Judges what a payload holds: its shape, and whether a round of a request is what the round before it asks for.
    fn fitting(
        &mut self,
        observed: &mut Observed,
        direction: Direction,
        message: MessageIndex,
        payload: Option<impl RawPayload>,
    ) -> Result<(), Violation> {
        if observed.kind == ObservedKind::Error {
            return Ok(());
        }
        let id = observed.id.as_ref();
        let checker = self.rules.checker();
        let violation = match shapes::mismatch(&self.rules, message, payload) {
            Some(mismatch) if self.refuses_misshapen => {
                return self.rules.checker_mut().misshapen(direction, message, id, mismatch).map(drop);
            }
            Some(mismatch) => checker.would_be_misshapen(direction, message, id, mismatch),
            None => {
                let known = !self.in_the_middle;
                let fault = self.rounds.fault(self.rules.protocol(), (message, id), payload, known);
                match fault {
                    None => return Ok(()),
                    Some(fault) if self.refuses_misshapen => {
                        return self.rules.checker_mut().wrong_round(direction, message, id, fault).map(drop);
                    }
                    Some(fault) => checker.would_be_wrong_round(direction, message, id, fault),
                }
            }
        };
        observed.reports.push(Report::Violation(violation));
        Ok(())
    }

    /// Notes what the checker says.
    fn judged(
        &mut self,
        observed: &mut Observed,
        judged: Result<Step, Violation>,
        payload: Option<impl RawPayload>,
    ) {
        match judged {
            Ok(step) => {
                observed.step = Some(step.kind);
                observed.message = observed.message.or(step.message);
                if let (StepKind::Late(late), Some(message)) = (step.kind, observed.message) {
                    observed.reports.push(self.rules.late(message, late));
                }
                observed.reports.extend(step.advice.map(Report::Advice));
                match observed.message {
                    Some(message) if step.kind.is_dropped() => {
                        announcements::note_capabilities(&mut self.rules, message, payload)
                    }
                    Some(message) => self.note_announcements(observed, message, payload),
                    None => {}
                }
            }
            Err(violation) if self.in_the_middle && is_of_the_past(&violation) => {}
            // That it does not say what it belongs to follows from its shape.
            Err(violation) if is_untied(&violation) && observed.violation().is_some() => {}
            Err(violation) => observed.reports.push(Report::Violation(violation)),
        }
        // Nothing is kept of what ended: no value waits for it.
        self.rules.checker_mut().take_ended();
        self.rules.checker_mut().take_left();
    }

    /// Takes the version and the capabilities that a message announces.
    fn note_announcements(
        &mut self,
        observed: &mut Observed,
        message: MessageIndex,
        payload: Option<impl RawPayload>,
    ) {
        let is_announcement = self.rules.is_announcement(message);
        let protocol = is_announcement.then(|| self.rules.protocol().clone());
        if let Some(field) = protocol.as_ref().and_then(|protocol| protocol.announced_version()) {
            let unknown = version::note(&mut self.rules, field, message, payload, true);
            observed.reports.extend(unknown.map(|error| Report::NegotiationFailed { error }));
        }
        let other = version::other_in_request(&self.rules, message, payload);
        observed.reports.extend(other.map(|error| Report::NegotiationFailed { error }));
        if is_announcement {
            // The revision that governs now says which capabilities there are.
            announcements::note_capabilities(&mut self.rules, message, payload);
        }
    }
}

/// Whether a message does not say what it belongs to.
fn is_untied(violation: &Violation) -> bool {
    matches!(violation.kind, ViolationKind::RequestUnnamed | ViolationKind::KeyMissing { .. })
}

/// Whether a message is only not understood because what it belongs to was there before the observer.
fn is_of_the_past(violation: &Violation) -> bool {
    matches!(
        violation.kind,
        ViolationKind::UnknownId
            | ViolationKind::UnknownToken { .. }
            | ViolationKind::UnknownKey { .. }
            | ViolationKind::NotRunning
    )
}

/// Directions are those of the server, whose machine is followed.
fn direction(sender: Side) -> Direction {
    match sender {
        Side::Client => Direction::Receive,
        Side::Server => Direction::Send,
    }
}
