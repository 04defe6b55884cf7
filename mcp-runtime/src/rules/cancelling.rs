//! Which requests may be cancelled, and how that is said.

use mcp_protocol_machine::protocol::{Action, Cancels, Direction, Edge, Kind, MessageIndex, position};
use mcp_protocol_machine::shape::absent_params;
use mcp_protocol_machine::{Awaiting, RequestId, SubSessionNumber};

use super::Rules;
use crate::error::Error;
use crate::jsonrpc::RpcError;

/// How many positions a list of params may have before the id of a request.
const MOST_POSITIONS: usize = 100;

pub(crate) fn is_cancellable(rules: &Rules, request: MessageIndex) -> bool {
    rules.message(request).is_some_and(|message| message.cancellable)
}

/// Whether a request of this side has its reply and may be cancelled only until then, although what it has opened
/// goes on.
pub(crate) fn is_past_cancel(rules: &Rules, id: &RequestId) -> bool {
    let answered = rules.checker.answered_opener(Direction::Send, id);
    answered.and_then(|request| rules.message(request)).is_some_and(|message| message.until_reply)
}

/// The sub-session that a cancel of the request which opened it would end.
pub(crate) fn ended_by_cancel(rules: &Rules, id: &RequestId) -> Option<SubSessionNumber> {
    let checker = &rules.checker;
    let sub_session = checker.sub_session_of(Direction::Send, id)?;
    let request = match checker.awaiting(Direction::Receive, id) {
        Awaiting::Request(request) => Some(request),
        _ => checker.answered_opener(Direction::Send, id),
    };
    let opener = request.is_some_and(|request| is_cancellable(rules, request));
    (opener && checker.sub_session_opener(sub_session) == Some(id)).then_some(sub_session)
}

/// Whether a request of this side still gets its reply, and was not cancelled.
pub(crate) fn is_running(rules: &Rules, id: i64) -> bool {
    let id = RequestId::Number(id);
    matches!(rules.checker.awaiting(Direction::Receive, &id), Awaiting::Request(_))
        && !rules.checker.is_cancelled(Direction::Send, &id)
}

/// Whether a request of the peer, cancelled or not, still gets its reply.
pub(crate) fn is_reply_awaited(rules: &Rules, id: &RequestId) -> bool {
    matches!(rules.checker.awaiting(Direction::Send, id), Awaiting::Request(_))
}

/// Whether the receiver of a request, which goes in this direction, may say more than its reply in what the request opens.
pub(crate) fn stays_open(rules: &Rules, asks: Direction, request: MessageIndex) -> bool {
    let Some(role) = rules.role() else { return false };
    let spawned = role.states.iter().filter_map(|state| match state.edge(asks, request)?.action {
        Action::Spawn(body) => role.state(body),
        Action::Step(_) => None,
    });
    let says_more = |edge: &Edge| {
        let kind = rules.message(edge.message).map(|table| table.kind);
        edge.direction == asks.flip() && matches!(kind, Some(Kind::Request | Kind::Notification))
    };
    spawned.into_iter().any(|body| body.edges.iter().any(says_more))
}

/// The error that says that a request was given up because the peer has cancelled it.
pub(crate) fn error(rules: &Rules) -> RpcError {
    let code = rules.cancels().and_then(|(_, cancels)| cancels.reply_error);
    RpcError::new(code.unwrap_or(RpcError::INTERNAL_ERROR), "the request was cancelled")
}

/// The params of a cancel whose id stands by its position, before the id is in them: a list with `null` up to there.
pub(crate) fn list_of_params(rules: &Rules, cancel: MessageIndex, cancels: &Cancels) -> Option<String> {
    let place = position(cancels.id.first()?).filter(|place| *place < MOST_POSITIONS)?;
    let shape = rules.message(cancel)?.shape;
    let is_list = absent_params(rules.protocol(), shape) == "[]";
    is_list.then(|| format!("[{}]", vec!["null"; place + 1].join(",")))
}

/// What a cancel says in addition to the id of the request. In a list no place is known to be free.
pub(crate) fn reason(rules: &Rules, error: &Error) -> Option<String> {
    let field = rules.options.cancel_reason?;
    let (cancel, cancels) = rules.cancels()?;
    if list_of_params(rules, cancel, &cancels).is_some() {
        return None;
    }
    // The id may stand at the place that the reason would have.
    let free = cancels.id.first().is_some_and(|first| **first != *field);
    // The peer cannot change the settings of this side, which the error names.
    let reason = match error {
        Error::Timeout { method, after, what, .. } => format!("`{method}` {what} {after:?}"),
        error => error.to_string(),
    };
    free.then(|| serde_json::json!({ field: reason }).to_string())
}
