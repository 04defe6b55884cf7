//! Which side sends which method, and what is meant by one that no side sends.

use mcp_protocol_compiler::suggest::nearest;
use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Direction, Kind, Message};
use mcp_runtime::Violation;
use mcp_runtime::protocol::{Protocol, Side};

/// The requests and notifications that a side sends. One may come more than once.
pub(crate) fn sent_by(protocol: &Protocol, side: Side) -> impl Iterator<Item = &Message> {
    let own = protocol.role(side).map(|role| (role, Direction::Send));
    let others = protocol.role(side.other()).map(|role| (role, Direction::Receive));
    let edges = own.into_iter().chain(others).flat_map(|(role, direction)| {
        let edges = role.states.iter().flat_map(|state| state.edges.iter());
        edges.filter(move |edge| edge.direction == direction)
    });
    let opens = |table: &&Message| matches!(table.kind, Kind::Request | Kind::Notification);
    edges.filter_map(|edge| protocol.message(edge.message)).filter(opens)
}

/// Whether only the other side sends a method.
pub(super) fn is_only_of_other(protocol: &Protocol, sender: Side, method: &str) -> bool {
    let sends = |side| sent_by(protocol, side).any(|table| *table.method == *method);
    sends(sender.other()) && !sends(sender)
}

/// What to do about a method that its sender does not send, where the sides may have agreed on one of these revisions, too.
pub(super) fn hint_of_unknown(
    violation: &Violation,
    protocol: &Protocol,
    revisions: &[ProtocolRef],
) -> String {
    let (sender, method) = (violation.sender, &*violation.got.method);
    let has = |protocol: &Protocol| sent_by(protocol, sender).any(|table| table.method == method);
    let known = revisions.iter().filter(|other| other.version != protocol.version);
    let having = known.filter(|other| has(other)).filter_map(|other| other.version.as_deref());
    let having: Vec<String> = having.map(|version| format!("`{version}`")).collect();
    if !having.is_empty() {
        return format!("do not send it, or agree on a revision that has it: {}", having.join(", "));
    }
    let of_kind = |table: &&Message| violation.got.kind.is_none_or(|kind| table.kind == kind);
    let (mut named, mut patterns) = (Vec::new(), Vec::new());
    for table in sent_by(protocol, sender).filter(of_kind) {
        let list = if table.pattern().is_some() { &mut patterns } else { &mut named };
        if !list.contains(&&*table.method) {
            list.push(&*table.method);
        }
    }
    // Many methods have their beginning in common: what differs is behind it.
    let end = |method: &'_ str| method.rsplit('/').next().unwrap_or_default().to_owned();
    let ends_alike =
        |known: &&str| end(known) == end(method) || nearest(&end(method), [&*end(known)]).is_some();
    if let Some(near) = nearest(method, named.iter().copied().filter(ends_alike)) {
        return format!("did you mean `{near}`?");
    }
    // Some leave the beginning out.
    let mut whole = named.into_iter().filter(|known| known.rsplit('/').next() == Some(method));
    if let (Some(whole), None) = (whole.next(), whole.next()) {
        return format!("did you mean `{whole}`?");
    }
    let patterns = patterns.into_iter().map(|pattern| format!(", name it as an extension, `{pattern}`,"));
    format!("correct its name{} or judge by a `.session` file that declares it", patterns.collect::<String>())
}
