//! Judges the messages of one session, and decides which of them are passed on.

use mcp_protocol_machine::protocol::{Side, Strictness};
use mcp_runtime::observer::{Observed, ObservedKind, Observer, SharedRounds};
use mcp_runtime::{Options, Report, RequestId, RpcError, Violation, ViolationKind};
use serde_json::value::RawValue;

use super::head::{EnvelopeHead, id_in};
use crate::eras::{Era, Eras, advances, awaits};
use crate::files::Failure;
use crate::malformed_texts::{may_be_message, with_hint};
use crate::not_received::NotReceived;
use crate::other_type;
use crate::protocol::Chosen;
use crate::trace::causes::{Causes, Same};
use crate::trace::finding::Finding;
use crate::trace::formats::record::Place;
use crate::trace::gaps::Gaps;
use crate::trace::request_faults::{MessageTexts, RequestFault, not_received};
use crate::trace::requests::{HeardAt, Requests};
use crate::trace::stray_texts::StrayTexts;
use crate::trace::stream_progress::StreamNumber;
use crate::trace::unclear::UnclearMessages;
use crate::trace::wording;
use crate::unknown_revision;

/// What is done with messages that the protocol does not permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// They are passed on.
    Observe,
    /// Those that break a rule of this level, or of a worse one, are refused.
    Enforce(Strictness),
}

/// How bad it is what a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// It breaks a rule.
    Rule(Strictness),
    /// It is worth knowing.
    Note,
}

/// What was done with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It was passed on.
    Forwarded,
    /// It was not passed on, and its sender was answered with an error.
    Refused,
    /// It was not passed on, and an error was sent in its place.
    Replaced,
    /// It was not passed on.
    Dropped,
}

/// What there is to say about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) sender: Side,
    pub(crate) severity: Severity,
    pub(crate) treatment: Treatment,
    /// The method of the message, of a reply that of its request.
    pub(crate) method: Option<String>,
    pub(crate) id: Option<RequestId>,
    pub(crate) rule: Option<String>,
    /// It is about a text that is not a message.
    pub(crate) is_malformed: bool,
    /// What it has in common with remarks that say the same, if there may be any.
    pub(crate) same: Option<Same>,
    pub(crate) text: String,
}

/// What becomes of a text that one side has sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) forward: Forward,
    /// Errors for the sender.
    pub(crate) answers: Vec<Vec<u8>>,
    /// Errors for the receiver, in place of replies.
    pub(crate) replacements: Vec<Vec<u8>>,
    pub(crate) remarks: Vec<Remark>,
    pub(crate) passed: Passed,
}

/// The messages of a text that are passed on, as they were judged: by these they can be withdrawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    era: Era,
    observed: Vec<Observed>,
}

/// How much of a text is passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Forward {
    /// All of it, byte for byte.
    #[default]
    Whole,
    /// Those messages of a batch that are permitted, as a batch.
    Part(Vec<u8>),
    Nothing,
}

/// Judges one session: of a connection over standard streams, of an HTTP session, or of one request that stands for
/// itself.
///
/// Invariant: the observers know of every message that was passed on, except of those that were
/// passed on [unjudged](Judge::unjudged), and of every error that stands for one that was not.
#[derive(Debug)]
pub(crate) struct Judge {
    policy: Policy,
    eras: Eras,
    /// What the session waits for, and what has come in its place.
    causes: Causes,
    texts: StrayTexts,
    /// What was reported and may have been the step that the session waits for.
    unclear: UnclearMessages,
    gaps: Gaps,
    /// The requests of both sides.
    requests: Requests,
}

impl Judge {
    /// A judge of a session from its first message on. Where each request that stands for itself has a judge of its own, they
    /// share what replies have asked for.
    ///
    /// # Errors
    /// If the tables of the protocol cannot be followed.
    pub(crate) fn new(
        chosen: &Chosen,
        policy: Policy,
        payloads: bool,
        rounds: Option<&SharedRounds>,
    ) -> Result<Judge, Failure> {
        let options = Options::new().judge_payloads(payloads);
        let refusing = |observer: Observer| match policy {
            Policy::Observe => observer,
            Policy::Enforce(_) => observer.refuse_misshapen(),
        };
        let stateless = chosen.stateless_observer(options.clone())?.map(refusing);
        let stateless = stateless.map(|observer| match rounds {
            Some(rounds) => observer.share_rounds(rounds),
            None => observer,
        });
        let eras = Eras::new(refusing(chosen.observer(options)?), stateless);
        let mut causes = Causes::default();
        causes.wait(eras.owed());
        let (texts, unclear, gaps) = (StrayTexts::default(), UnclearMessages::default(), Gaps::default());
        let requests = Requests::default();
        Ok(Judge { policy, eras, causes, texts, unclear, gaps, requests })
    }

    /// Judges what one side has sent in a stream, and takes note of what becomes of it.
    pub(crate) fn judge(&mut self, sender: Side, stream: StreamNumber, text: &[u8]) -> Judgement {
        let policy = self.policy;
        let era = self.eras.era(sender, text.into());
        let mut observed = self.eras.observe(era, sender, text.into());
        if era == Era::Handshake
            && self.gaps.may_jump()
            && self.eras.is_out_of_order(&observed)
            && let Some((_, again)) = self.eras.find_again(sender, text.into())
        {
            observed = again;
            self.gaps.jump();
            self.causes.wait(self.eras.owed());
        }
        let alone = (observed.len() == 1).then_some(text);
        let observer = self.eras.observer(era);
        let (texts, heard) = (MessageTexts::of(text), HeardAt { stream, ..HeardAt::default() });
        let requests = &mut self.requests;
        let faults = observed.iter().enumerate().map(|(place, one)| {
            RequestFault::note(requests, one, observer.protocol(), || texts.get(place), heard)
        });
        let faults: Vec<Option<RequestFault>> = faults.collect();
        let mut judgement = Judgement::default();
        let refused = observed.iter().zip(&faults).map(|(one, fault)| {
            let stops = |fault: &RequestFault| stops(policy, Severity::Rule(fault.level()));
            is_refused(policy, one) || fault.as_ref().is_some_and(stops)
        });
        let refused: Vec<bool> = refused.collect();
        for (place, ((one, refused), fault)) in observed.iter().zip(&refused).zip(faults).enumerate() {
            let treatment = match refused {
                true => refuse(observer, one, texts.get(place).unwrap_or(text), &mut judgement),
                false => Treatment::Forwarded,
            };
            let form = form(&mut self.texts, one, alone);
            if treatment != Treatment::Forwarded || !follows(&self.causes, &mut self.unclear, one) {
                remark(observer, one, treatment, form, &mut judgement.remarks);
            }
            if let Some(violation) = one.violation() {
                self.unclear.note(Place::default(), violation, observer.protocol());
            }
            let Some(fault) = fault else { continue };
            if *refused {
                fault.not_passed(&mut self.requests, one);
            }
            let finding = fault.finding(heard.place, one, observer.protocol(), String::new());
            judgement.remarks.push(Remark {
                sender,
                severity: Severity::Rule(finding.level),
                treatment,
                method: one.message.and_then(|it| Some(observer.protocol().message(it)?.method.to_string())),
                id: None,
                rule: None,
                is_malformed: false,
                same: Some(fault.same(one)),
                text: finding.sentence(),
            });
        }
        judgement.forward = remaining(text, &refused);
        // What the observer says of these is known: they are errors that answer what was refused.
        let answers = judgement.answers.iter().map(|answer| (sender.other(), answer));
        let replacements = judgement.replacements.iter().map(|error| (sender, error));
        for (side, error) in answers.chain(replacements) {
            for one in self.eras.observe(era, side, error.into()) {
                let protocol = self.eras.observer(era).protocol();
                RequestFault::note(&mut self.requests, &one, protocol, || None, heard);
            }
        }
        let passed = observed.into_iter().zip(refused).filter(|(_, refused)| !refused);
        let passed: Vec<Observed> = passed.map(|(one, _)| one).collect();
        if passed.iter().any(|one| self.may_have_moved(era, one, alone)) {
            self.gaps.may_have_moved();
        }
        let observer = self.eras.observer_mut(era);
        passed.iter().for_each(|one| _ = observer.passed_on(one));
        passed.iter().for_each(|one| self.note_step(era, one));
        judgement.passed = Passed { era, observed: passed };
        judgement
    }

    /// Whether the other side may have understood a message otherwise, so that the session goes on where it was not seen: it
    /// is not a message, or may be the reply for which the session waits, or announces what does not have its shape.
    /// `alone` is its text, if it is not one of a batch.
    fn may_have_moved(&self, era: Era, one: &Observed, alone: Option<&[u8]>) -> bool {
        if one.kind == ObservedKind::Malformed {
            return alone.is_none_or(may_be_message);
        }
        let Some(violation) = one.violation().filter(|_| era == Era::Handshake) else { return false };
        let announcements = &self.eras.handshake().protocol().announcements;
        let announces = |message| announcements.iter().any(|place| place.message == Some(message));
        match violation.kind {
            ViolationKind::UnknownId => !self.eras.has_opened(),
            ViolationKind::Misshapen { .. } => one.message.is_some_and(announces),
            _ => false,
        }
    }

    /// Notes what the session waits for, after a message that was passed on.
    fn note_step(&mut self, era: Era, one: &Observed) {
        if era == Era::Stateless {
            return;
        }
        if advances(one) {
            self.causes.wait(self.eras.owed());
        } else {
            self.causes.note_instead(Place::default(), one, &self.eras);
        }
    }

    /// The session is over: what is said of a step that never came.
    pub(crate) fn missing(&mut self) -> Option<String> {
        let missing = self.causes.missing()?;
        if self.unclear.explain_missing(missing.owed.side, None) {
            return None;
        }
        let table = self.eras.handshake().protocol().message(missing.owed.message);
        Some(wording::missing(&missing, table).message)
    }

    /// Messages that were passed on did not arrive: their sender may send them again. Returns which these are.
    pub(crate) fn withdraw(&mut self, passed: &Passed) -> Vec<NotReceived> {
        let observer = self.eras.observer_mut(passed.era);
        // Of a batch, the last one first.
        let requests = &mut self.requests;
        let withdrawn = passed.observed.iter().rev().filter_map(|observed| {
            observer.withdraw(observed);
            not_received(requests, observed);
            let method = || Some(observer.protocol().message(observed.message?)?.method.to_string());
            match (observed.kind, &observed.id) {
                (ObservedKind::Request, Some(id)) => Some(NotReceived::Request(id.clone())),
                (ObservedKind::Result | ObservedKind::Error, Some(id)) => {
                    Some(NotReceived::Reply(id.clone()))
                }
                (ObservedKind::Notification, _) => Some(NotReceived::Notification(method()?)),
                _ => None,
            }
        });
        let withdrawn: Vec<NotReceived> = withdrawn.collect();
        if passed.era == Era::Handshake && passed.observed.iter().any(advances) {
            self.causes.wait(self.eras.owed());
        }
        withdrawn
    }

    /// Takes note of messages that another session began with, as if this one had begun with them. What else has happened
    /// in it is not known.
    pub(crate) fn follow<'a>(&mut self, messages: impl IntoIterator<Item = (Side, &'a [u8])>) {
        for (sender, message) in messages {
            self.settle(sender, message);
        }
        self.missed();
    }

    /// The session began before the first message that is judged.
    pub(crate) fn began_before(&mut self) {
        self.missed();
        self.gaps.may_have_moved();
    }

    /// Messages have passed that were not judged.
    fn missed(&mut self) {
        self.eras.all_mut().for_each(Observer::missed_messages);
        self.causes.missed();
    }

    /// Takes note of a message without judging it, such as an error that answers a request without having been sent as one.
    pub(crate) fn settle(&mut self, sender: Side, message: &[u8]) {
        let era = self.eras.era(sender, message.into());
        self.eras.observe(era, sender, message.into());
    }

    /// Takes a message that cannot be judged, because it is too long for instance, by its beginning. Says what becomes of
    /// it: forwarded, it may be any message.
    pub(crate) fn unjudged(&mut self, sender: Side, beginning: &[u8], problem: &str) -> Judgement {
        if self.policy == Policy::Observe {
            self.missed();
            return Judgement::default();
        }
        let mut judgement = Judgement { forward: Forward::Nothing, ..Judgement::default() };
        let id = id_in(beginning);
        let error = RpcError::invalid_request(problem);
        let replacement = id.as_ref().and_then(|id| {
            let asked = self.eras.all().find(|it| awaits(it, sender, id))?;
            Some(asked.error_in_place(sender, id, &error))
        });
        if let Some(error) = replacement {
            self.settle(sender, &error);
            judgement.replacements.push(error);
        } else if id.is_some() || sender == Side::Client {
            judgement.answers.push(self.eras.handshake().error_reply(beginning, id.as_ref(), &error));
        }
        judgement
    }

    /// The error that answers a request of the client in place of the server.
    pub(crate) fn error_in_place(&self, id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
        self.eras.handshake().error_reply(b"", id, error)
    }

    /// The methods and ids of the requests of a side that have no reply.
    pub(crate) fn unanswered(&self, side: Side) -> Vec<(String, RequestId)> {
        let of = |observer: &Observer| -> Vec<(String, RequestId)> {
            let named = observer.running(side).filter_map(|(id, request)| {
                Some((observer.protocol().message(request)?.method.to_string(), id.clone()))
            });
            named.collect()
        };
        self.eras.all().flat_map(of).collect()
    }

    /// Whether a message of the client begins a session.
    pub(crate) fn may_begin_with(&self, text: &[u8]) -> bool {
        self.eras.may_begin_with(Side::Client, text.into()).is_some()
    }

    /// Whether a message of the client is a request that stands for itself.
    pub(crate) fn stands_alone(&self, text: &[u8]) -> bool {
        self.eras.stands_alone(text.into())
    }
}

fn severity(report: &Report) -> Severity {
    match report {
        Report::Violation(violation) => Severity::Rule(violation.strictness),
        Report::Malformed { .. } => Severity::Rule(Strictness::Must),
        _ => Severity::Note,
    }
}

fn is_refused(policy: Policy, observed: &Observed) -> bool {
    observed.reports.iter().map(severity).any(|severity| stops(policy, severity))
}

fn stops(policy: Policy, severity: Severity) -> bool {
    match (policy, severity) {
        (Policy::Enforce(level), Severity::Rule(strictness)) => strictness >= level,
        _ => false,
    }
}

/// Whether a message has to wait for a step of the other side that may have come, as a message which was not understood.
fn follows(causes: &Causes, unclear: &mut UnclearMessages, observed: &Observed) -> bool {
    let step = observed.violation().and_then(|violation| causes.to_assume(violation));
    step.is_some_and(|(side, _)| side != observed.sender && unclear.explain_missing(side, None))
}

/// Writes the error that stands for a message which is not passed on, so that no peer waits in vain.
fn refuse(observer: &Observer, observed: &Observed, text: &[u8], judgement: &mut Judgement) -> Treatment {
    let sender = observed.sender;
    let error =
        observed.refusal().unwrap_or_else(|| RpcError::invalid_request("the message is not permitted"));
    let is_reply = match observed.kind {
        ObservedKind::Result | ObservedKind::Error => true,
        ObservedKind::Malformed => EnvelopeHead::of(text).method.is_none(),
        _ => false,
    };
    match &observed.id {
        Some(id) if is_reply && awaits(observer, sender, id) => {
            let what = format!("the reply of the peer was stopped by a guard: {}", error.message);
            let error = RpcError::internal_error(what);
            judgement.replacements.push(observer.error_in_place(sender, id, &error));
            Treatment::Replaced
        }
        _ if matches!(
            observed.kind,
            ObservedKind::Notification | ObservedKind::Result | ObservedKind::Error
        ) =>
        {
            Treatment::Dropped
        }
        // The answer would be taken for that to another request.
        _ if observed.violation().is_some_and(|violation| !violation.answerable) => Treatment::Dropped,
        // A server that writes something else between its messages does not expect an answer.
        None if sender == Side::Server => Treatment::Dropped,
        id => {
            judgement.answers.push(observer.error_reply(text, id.as_ref(), &error));
            Treatment::Refused
        }
    }
}

/// What a text that is not a message has in common with those that are reported together with it. `alone` is the text, if it
/// is not one of a batch.
fn form(texts: &mut StrayTexts, observed: &Observed, alone: Option<&[u8]>) -> Option<Same> {
    if observed.kind != ObservedKind::Malformed {
        texts.end();
    }
    let problem = observed.reports.iter().find_map(|report| match report {
        Report::Malformed { error, .. } => Some(&error.message),
        _ => None,
    });
    let own = Same::of_form(observed.sender, problem?);
    let text = alone.map(<[u8]>::trim_ascii).filter(|_| observed.id.is_none());
    Some(text.and_then(|text| texts.belongs_to(observed.sender, text, &own)).unwrap_or(own))
}

fn remark(
    observer: &Observer,
    observed: &Observed,
    treatment: Treatment,
    form: Option<Same>,
    into: &mut Vec<Remark>,
) {
    let method = observed.message.and_then(|message| observer.protocol().message(message));
    for report in &observed.reports {
        let violation = match report {
            Report::Violation(violation) | Report::Advice(violation) => Some(violation),
            _ => None,
        };
        let method = method.map(|message| message.method.to_string());
        into.push(Remark {
            sender: observed.sender,
            severity: severity(report),
            treatment,
            method: violation
                .map(|violation| violation.got.method.to_string())
                .or(method)
                .filter(|it| !it.is_empty()),
            id: observed.id.clone(),
            rule: violation.and_then(|violation| violation.rule()).map(str::to_owned),
            is_malformed: matches!(report, Report::Malformed { .. }),
            same: match report {
                Report::Malformed { .. } => form.clone(),
                Report::Complaint { error } => Some(Same::of_form(observed.sender, &error.message)),
                _ => violation.and_then(|violation| same(observer, violation)),
            },
            text: text(observer, observed, report),
        });
    }
}

/// What a violation has in common with those that say the same.
fn same(observer: &Observer, violation: &Violation) -> Option<Same> {
    let finding = Finding::of_violation(Place::default(), violation, observer.protocol(), &[]);
    Same::of_live(&finding, violation, observer)
}

/// What to do about a violation, where its sentence does not say it and it is known.
fn hint(observer: &Observer, observed: &Observed, violation: &Violation) -> Option<String> {
    if violation.kind == ViolationKind::UnknownMethod {
        let finding = Finding::of_violation(Place::default(), violation, observer.protocol(), &[]);
        return Some(finding.hint).filter(|hint| hint.starts_with("did you mean"));
    }
    other_type::hint_for(observer, observed, violation)
}

/// What a report says, to a user of the command.
fn text(observer: &Observer, observed: &Observed, report: &Report) -> String {
    match report {
        Report::Malformed { error, .. } => with_hint(report, &error.message),
        Report::Complaint { error } => {
            wording::complaint(Place::default(), observed.sender, String::new(), &error.message).sentence()
        }
        Report::Violation(violation) => match hint(observer, observed, violation) {
            Some(hint) => format!("{report}: {hint}"),
            None => report.to_string(),
        },
        Report::NegotiationFailed { error } => {
            unknown_revision::of_error(error).map_or_else(|| report.to_string(), unknown_revision::sentence)
        }
        _ => report.to_string(),
    }
}

/// What is left of a text without the messages that are refused.
fn remaining(text: &[u8], refused: &[bool]) -> Forward {
    if !refused.contains(&true) {
        return Forward::Whole;
    }
    let messages: Vec<&RawValue> = serde_json::from_slice(text).unwrap_or_default();
    let permitted = messages.iter().zip(refused).filter(|(_, refused)| !**refused);
    let permitted: Vec<&str> = permitted.map(|(message, _)| message.get()).collect();
    match permitted.is_empty() || messages.len() != refused.len() {
        true => Forward::Nothing,
        false => Forward::Part(format!("[{}]", permitted.join(",")).into_bytes()),
    }
}
