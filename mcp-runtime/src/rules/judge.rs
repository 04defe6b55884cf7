//! Messages on their way to the checker: what their payloads say of keys, tokens and capabilities goes with them.

use mcp_protocol_machine::protocol::{Action, Direction, Edge, MessageIndex, Text};
use mcp_protocol_machine::{
    About, Awaiting, Correlation, Meant, RequestId, Step, StepKind, Token, Violation,
};

use super::members::Carried;
use super::names::{Names, applies, id_at, on_the_wire};
use super::{Rules, announcements, shapes};
use crate::jsonrpc::{NO_MEMBERS, RawPayload};

/// What a notification names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The request that it cancels.
    pub(crate) cancelled: Option<RequestId>,
    /// The token of the request that it reports on.
    pub(crate) token: Option<Token>,
}

/// Judges a request. If it is permitted, the session moves.
///
/// # Errors
/// If it is not permitted.
pub(crate) fn request(
    rules: &mut Rules,
    direction: Direction,
    message: MessageIndex,
    id: &RequestId,
    token: Option<Token>,
    carried: Carried<'_, impl RawPayload>,
) -> Result<Step, Violation> {
    request_meant(rules, direction, message, id, token, Meant::Anything, carried)
}

/// The same for a request that is meant for a sub-session, or for none.
///
/// # Errors
/// If it is not permitted.
pub(crate) fn request_meant(
    rules: &mut Rules,
    direction: Direction,
    message: MessageIndex,
    id: &RequestId,
    token: Option<Token>,
    meant: Meant,
    carried: Carried<'_, impl RawPayload>,
) -> Result<Step, Violation> {
    let Carried { payload: params, members } = carried;
    let sender = rules.sender(direction);
    let keys = Names::keys(&rules.protocol, message, Some(id), params, members);
    let announces = announcements::announces(rules, sender, message, params);
    let (grants, revokes) = announcements::changes(rules, sender, message, params);
    let correlation = Correlation::meant(&keys, meant)
        .announcing(announces.as_ref())
        .changing(grants.as_ref(), revokes.as_ref());
    rules.checker.request_correlated(direction, message, id, token, correlation, applies(params))
}

/// Judges a notification. If it is permitted, the session moves.
///
/// # Errors
/// If it is not permitted.
pub(crate) fn notification(
    rules: &mut Rules,
    direction: Direction,
    message: MessageIndex,
    named: &Named,
    carried: Carried<'_, impl RawPayload>,
) -> Result<Step, Violation> {
    let Carried { payload: params, members } = carried;
    let sender = rules.sender(direction);
    let about = match (&named.cancelled, &named.token) {
        (Some(id), _) => About::Request(id),
        (None, Some(token)) => About::Token(token),
        (None, None) => About::Nothing,
    };
    let keys = Names::keys(&rules.protocol, message, None, params, members);
    let (grants, revokes) = announcements::changes(rules, sender, message, params);
    let correlation = Correlation::keys(&keys).changing(grants.as_ref(), revokes.as_ref());
    rules.checker.notification_correlated(direction, message, about, correlation, applies(params))
}

/// Judges a reply to a request that runs: its result, or nothing where it is an error. If it is permitted, the
/// session moves.
///
/// # Errors
/// If it is not permitted.
pub(crate) fn reply(
    rules: &mut Rules,
    direction: Direction,
    id: &RequestId,
    reply: MessageIndex,
    carried: Carried<'_, impl RawPayload>,
) -> Result<Step, Violation> {
    let keys = Names::keys(&rules.protocol, reply, Some(id), carried.payload, carried.members);
    let members = Names::members_of_reply(&rules.protocol, reply, carried.members);
    let correlation = Correlation::keys(&keys).with_members(&members);
    rules.checker.reply_correlated(direction, id, reply, correlation)
}

/// Judges what the peer has replied to a request that runs: its result, or nothing where it is an error. Returns the
/// step, and which message the reply is.
///
/// # Errors
/// If it is not permitted.
pub(crate) fn reply_to(
    rules: &mut Rules,
    id: &RequestId,
    request: MessageIndex,
    carried: Carried<'_, &str>,
) -> Result<(Step, MessageIndex), Violation> {
    let result = carried.payload;
    let message = match result {
        Some(result) => rules.reply_of(request, result),
        None => rules.refusal_of(request),
    };
    let misshapen =
        message.zip(result).and_then(|(message, result)| shapes::mismatch(rules, message, Some(result)));
    let (step, message) = match (message, misshapen, rules.any_reply_to(request)) {
        (Some(message), Some(mismatch), _) => {
            (rules.checker.misshapen(Direction::Receive, message, Some(id), mismatch), message)
        }
        (Some(message), None, _) => (reply(rules, Direction::Receive, id, message, carried), message),
        (None, _, Some(reply)) if result.is_some() => {
            (rules.checker.fits_none(Direction::Receive, reply, Some(id)), request)
        }
        // A request without any reply is a flaw of the tables; the call must end all the same.
        (None, ..) => (rules.checker.stray_reply(Direction::Receive, id), request),
    };
    Ok((step?, message))
}

/// The request that an answer of this side is for; nothing if it was cancelled, for then the peer does not wait for
/// one.
///
/// # Errors
/// If the request is unknown, or was answered.
pub(crate) fn answered(rules: &mut Rules, id: &RequestId) -> Result<Option<MessageIndex>, Violation> {
    match rules.checker.awaiting(Direction::Send, id) {
        Awaiting::Request(request) => Ok(Some(request)),
        Awaiting::Retired | Awaiting::Refused => {
            // Keeps count, so that the id is free of its past.
            let _ = rules.checker.stray_reply(Direction::Send, id);
            Ok(None)
        }
        Awaiting::Completed | Awaiting::Unknown => {
            rules.checker.stray_reply(Direction::Send, id).map(|_| None)
        }
    }
}

/// Whether the protocol permits a reply of this side to a request of the peer, before anything has happened.
///
/// # Errors
/// If it does not, as where the result names a sub-session that runs already.
pub(crate) fn check_reply(
    rules: &Rules,
    id: &RequestId,
    message: MessageIndex,
    written: &str,
) -> Result<(), Violation> {
    let Some(table) = rules.message(message) else { return Ok(()) };
    let keys = Names::keys(&rules.protocol, message, Some(id), on_the_wire(table, written), &NO_MEMBERS);
    rules.checker.check_reply(id, message, Correlation::keys(&keys))
}

/// Whether a notification of this side is a report on a request of the peer, by its token.
pub(crate) fn is_report(rules: &Rules, message: MessageIndex, token: Option<&Token>, written: &str) -> bool {
    let keys = Names::keys(&rules.protocol, message, None, Some(written), &NO_MEMBERS);
    token.is_some_and(|token| rules.checker.is_report(Direction::Send, message, token, &keys))
}

/// The state in which a message of the peer is a step of a linear channel now, if it is one.
pub(crate) fn stepped_from(rules: &Rules, message: MessageIndex) -> Option<Text> {
    let is_step = |edge: &Edge| matches!(edge.action, Action::Step(_));
    let mut states = rules.checker.states().iter().filter_map(|state| rules.state(*state));
    let here = states.find(|state| state.edge(Direction::Receive, message).is_some_and(is_step));
    here.map(|state| state.name.clone())
}

/// Whether a linear request of the peer that is refused leaves its channel where it was before. A refusal with a branch
/// of its own leads on, and the value that has not seen the request could not follow.
pub(crate) fn is_undone_by_refusal(rules: &Rules, request: MessageIndex, kind: StepKind) -> bool {
    let StepKind::Linear { from, to } = kind else { return false };
    let refusal = rules.refusal_of(request);
    let asked = rules.state(to);
    let edge = refusal.zip(asked).and_then(|(refusal, asked)| asked.edge(Direction::Send, refusal));
    edge.is_some_and(|edge| edge.action == Action::Step(from))
}

/// Judges a reply to a request that does not run.
///
/// # Errors
/// If it is not permitted.
pub(crate) fn stray_reply(
    rules: &mut Rules,
    direction: Direction,
    id: &RequestId,
    result: Option<impl RawPayload>,
) -> Result<Step, Violation> {
    let message = rules.checker.retired(direction, id).and_then(|request| match result {
        Some(result) => rules.reply_of(request, result),
        None => rules.refusal_of(request),
    });
    let Some(message) = message else { return rules.checker.stray_reply(direction, id) };
    // The sub-session of a request that was cancelled may have its key already.
    let keys = Names::keys(&rules.protocol, message, Some(id), result, &NO_MEMBERS);
    let step = rules.checker.reply_correlated(direction, id, message, Correlation::keys(&keys))?;
    announcements::note_capabilities(rules, message, result);
    Ok(step)
}

/// Judges a request or a notification whose method the protocol does not have, or whose payload fits none of the
/// messages of its method.
///
/// # Errors
/// Always, unless the session is closed.
pub(crate) fn unnamed(
    rules: &mut Rules,
    direction: Direction,
    id: Option<&RequestId>,
    method: &str,
) -> Result<Step, Violation> {
    match rules.names.any_of(&rules.protocol, id.is_some(), method) {
        Some(message) => rules.checker.fits_none(direction, message, id),
        None => rules.checker.unknown_method(direction, id, method),
    }
}

/// Which request a notification names.
pub(crate) fn named(rules: &Rules, notification: MessageIndex, params: Option<impl RawPayload>) -> Named {
    let Some(table) = rules.message(notification) else { return Named::default() };
    Named {
        cancelled: table.cancels.as_ref().and_then(|cancels| id_at(params, &cancels.id)),
        token: table.reports.as_ref().and_then(|reports| id_at(params, &reports.token)),
    }
}
