//! Announcements that have come without what they announce.

use mcp_protocol_machine::protocol::{Announcement, Kind, Message};
use mcp_protocol_machine::{Violation, ViolationKind};
use mcp_runtime::observer::Observed;
use mcp_runtime::protocol::{Protocol, Side};
use serde_json::Value;

use super::finding::Finding;
use super::formats::record::Place;

/// What each side has left out of the message in which it announces what it can do.
///
/// Only of messages without a shape: a shape says what may be left out, and what lacks more is reported.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOutAnnouncements {
    client: Option<LeftOut>,
    server: Option<LeftOut>,
}

#[derive(Clone, Debug)]
struct LeftOut {
    place: Place,
    /// The message, as sentences name it.
    message: String,
    /// Where it has what is announced.
    path: String,
    is_reported: bool,
}

impl LeftOutAnnouncements {
    /// A message was accepted; with its text, where it stands alone.
    pub(super) fn note(
        &mut self,
        place: Place,
        observed: &Observed,
        text: Option<&[u8]>,
        protocol: &Protocol,
    ) {
        let Some(index) = observed.message else { return };
        for announcement in protocol.announcements.iter().filter(|it| it.message == Some(index)) {
            let table = protocol.message(index).filter(|table| table.shape.is_none());
            let left_out = table.filter(|_| text.is_some_and(|text| leaves_out(text, announcement)));
            let left_out = left_out.map(|table| LeftOut {
                place,
                message: name(table, protocol),
                path: announcement.path.join("."),
                is_reported: false,
            });
            *self.of(announcement.side) = left_out;
        }
    }

    /// What is found, where a message needs a capability of a side that has left out its announcement. One cause is one
    /// finding: the others are left out.
    pub(super) fn explain(&mut self, finding: Finding, violation: &Violation) -> Option<Finding> {
        let ViolationKind::NotNegotiated { holder, capability } = &violation.kind else {
            return Some(finding);
        };
        let (is_own, holder_name) = (*holder == violation.sender, holder.word());
        let Some(left_out) = self.of(*holder) else { return Some(finding) };
        if std::mem::replace(&mut left_out.is_reported, true) {
            return None;
        }
        let LeftOut { place, message, path, .. } = left_out;
        Some(Finding {
            // Nothing says whether it may be left out.
            blame: finding.blame.filter(|_| is_own),
            expected: vec![format!("an object at `{path}` of {message} in line {}", place.line)],
            message: format!(
                "{} needs the capability `{capability}`, and the {holder_name} has announced nothing: {message} in line {} has \
                 no object at `{path}`",
                violation.got, place.line,
            ),
            hint: format!(
                "add `{path}` to {message}; if it may be left out, the {holder_name} can do nothing that has to be announced: \
                 do not send {}",
                violation.got,
            ),
            ..finding
        })
    }

    fn of(&mut self, side: Side) -> &mut Option<LeftOut> {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// Whether a message has no object where it announces something.
fn leaves_out(text: &[u8], announcement: &Announcement) -> bool {
    let Ok(message) = serde_json::from_slice::<Value>(text) else { return false };
    let payload = message.get("params").or_else(|| message.get("result")).unwrap_or(&Value::Null);
    let announced = announcement.path.iter().try_fold(payload, |value, key| value.get(&**key));
    !announced.is_some_and(Value::is_object)
}

/// `` `initialize` ``, or `` the reply to `initialize` ``.
fn name(message: &Message, protocol: &Protocol) -> String {
    match message.kind {
        Kind::Reply { request } => {
            let request = protocol.message(request).map(|table| table.method.to_string());
            format!("the reply to `{}`", request.unwrap_or_default())
        }
        _ => format!("`{}`", message.method),
    }
}
