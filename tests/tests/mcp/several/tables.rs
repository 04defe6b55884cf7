//! What governs the latest revision's tables is what the older revision's own file says, state by state.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{
    Action, Condition, Direction, Holder, Kind, Level, Protocol, Role, Side, State, StateIndex,
};
use mcp_protocol_machine::shape::expected_literal;
use mcp_protocols::{REVISIONS, VERSIONS};

fn condition(condition: Option<&Condition>) -> String {
    condition.map_or_else(String::new, |condition| {
        let value = condition.literal.as_ref().map_or("*".to_owned(), expected_literal);
        format!(" if {}={value}", condition.path.join("."))
    })
}

/// One way out of a state: the message with all that decides whether it may be sent, and where it leads.
fn ways(
    protocol: &Protocol,
    role: &Role,
    state: &State,
    depth: usize,
    into: &mut BTreeSet<String>,
    path: &str,
) {
    for edge in state.edges.iter() {
        let message = protocol.message(edge.message).unwrap();
        let sign = if edge.direction == Direction::Send { '!' } else { '?' };
        let kind = match message.kind {
            Kind::Request => "request",
            Kind::Notification => "notification",
            Kind::Reply { .. } => "reply",
            Kind::Refusal { .. } => "refusal",
        };
        let gates: Vec<String> = message
            .requires
            .iter()
            .map(|requirement| {
                let holder = match requirement.holder {
                    Holder::Side(Side::Client) => "client",
                    Holder::Side(Side::Server) => "server",
                    Holder::Sender => "own",
                    Holder::Receiver => "peer",
                };
                let gate = protocol.gate(requirement.gate).unwrap();
                let unless = if requirement.unless { " unless" } else { "" };
                format!("{holder}.{gate}{unless}{}", condition(requirement.condition.as_ref()))
            })
            .collect();
        let (word, target): (&str, StateIndex) = match edge.action {
            Action::Step(target) => ("step", target),
            Action::Spawn(target) => ("instance", target),
        };
        let way = format!(
            "{path}{sign}{kind} {}{} [{}] {word} cancellable={}",
            message.method,
            condition(message.condition.as_ref()),
            gates.join(", "),
            message.cancellable,
        );
        // Sub-sessions are followed to their end, or as far as makes a difference.
        if depth > 0 && (word == "instance" || !path.is_empty()) {
            ways(protocol, role, role.state(target).unwrap(), depth - 1, into, &format!("{way} . "));
        }
        into.insert(way);
    }
}

fn levels(state: &State) -> String {
    let level = |level: &Level| format!("{:?} {:?}", level.strictness, level.rule);
    format!("out {} in {}", level(&state.outward), level(&state.inward))
}

#[test]
fn the_latest_revision_narrowed_is_the_older_one() {
    let latest = REVISIONS.last().unwrap();
    for (revision, version) in REVISIONS.into_iter().zip(VERSIONS) {
        assert_eq!(revision.version.as_deref(), Some(version));
        let governed = latest.governed_by(revision);
        assert_eq!((governed.version.as_deref(), governed.batch), (Some(version), revision.batch));
        for side in [Side::Client, Side::Server] {
            let (ours, theirs) = (governed.role(side).unwrap(), revision.role(side).unwrap());
            for name in ["Uninit", "AwaitingResult", "AwaitingNotif", "Active"] {
                let of = |protocol: &Protocol, role: &Role| {
                    let state = role.state(role.by_name(name).unwrap()).unwrap();
                    let mut found = BTreeSet::new();
                    ways(protocol, role, state, 4, &mut found, "");
                    (found, levels(state))
                };
                let (ours, theirs) = (of(&governed, ours), of(revision, theirs));
                assert!(!theirs.0.is_empty());
                assert_eq!(
                    ours.0.symmetric_difference(&theirs.0).collect::<Vec<_>>(),
                    [""; 0],
                    "{version} {name}"
                );
                assert_eq!(ours.1, theirs.1, "{version}: the levels of {name}");
            }
        }
    }
}
