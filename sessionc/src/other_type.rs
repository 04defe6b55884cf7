//! Ids that name a request as a text instead of a number, or the other way round.

use mcp_protocol_machine::{Violation, ViolationKind};
use mcp_runtime::observer::{Observed, Observer};
use mcp_runtime::protocol::{RequestId, Side};

use crate::eras::awaits;

/// The same id as a text instead of a number, or the other way round.
pub(crate) fn of_other_type(id: &RequestId) -> Option<RequestId> {
    match id {
        RequestId::Number(number) => Some(RequestId::Text(number.to_string().into())),
        RequestId::Text(text) => text.parse().ok().map(RequestId::Number),
    }
}

/// The side whose request a message means that names an unknown one.
pub(crate) fn asker_of_unknown(violation: &Violation) -> Option<Side> {
    match violation.kind {
        ViolationKind::UnknownId => Some(violation.sender.other()),
        ViolationKind::NotRunning => Some(violation.sender),
        _ => None,
    }
}

/// What to do where a request is named with a text instead of a number, or the other way round.
pub(crate) fn hint(meant: &RequestId) -> String {
    let what = match meant {
        RequestId::Number(_) => "the number, not a text",
        RequestId::Text(_) => "the text, not a number",
    };
    format!("write the id as it came, {meant}: {what}")
}

/// What to do about a message that names a request with an id of the other type.
pub(crate) fn hint_for(observer: &Observer, observed: &Observed, violation: &Violation) -> Option<String> {
    let asker = asker_of_unknown(violation)?;
    let meant = of_other_type(observed.about.as_ref().or(observed.id.as_ref())?)?;
    awaits(observer, asker.other(), &meant).then(|| hint(&meant))
}
