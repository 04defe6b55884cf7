//! What is forbidden in a state.

use std::collections::BTreeSet;
use std::fmt;

use mcp_protocol_machine::protocol::{
    Action, Direction, KeyPlace, Kind, MessageIndex, Protocol, Role, Side, StateIndex,
};

use super::head::Head;
use super::misshapen::{Flaw, misshapen};
use super::payload::{Keys, Payloads};
use super::target::{Target, accepted, after_reply, states_of_body};
use super::wire::Wire;

/// A kind of offence: one row of the table for each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// The state does not permit the message.
    Order,
    /// The message needs a capability that was not announced.
    Capability,
    /// The params do not have their shape.
    Shape,
    /// An id that was used before, or a reply that answers nothing.
    Correlation,
    /// Not a message of JSON-RPC, or not one of the protocol.
    Form,
    /// What is around a message does not fit it, or the session.
    Head,
    /// A message that is long or nested.
    Load,
}

/// Something that a client may not send in a state, or that is hard to read.
#[derive(Clone, Debug)]
pub(crate) struct Offence {
    pub(crate) group: Group,
    pub(crate) name: String,
    pub(crate) act: Act,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// A request or notification, as the protocol has it.
    Message(MessageIndex),
    /// A request with params of a wrong shape.
    Misshapen(MessageIndex, Flaw),
    /// Bytes that are wrong in any state.
    Wire(Wire),
    /// A request that is permitted, with a head that is wrong.
    Head(Head),
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Group::Order => "order",
            Group::Capability => "capability",
            Group::Shape => "shape",
            Group::Correlation => "correlation",
            Group::Form => "form",
            Group::Head => "head",
            Group::Load => "load",
        })
    }
}

/// The requests and notifications that a state forbids. `permitted` is what a session with the server permits there;
/// without it, every message that needs a capability counts as one whose capability may be missing.
pub(crate) fn out_of_order(
    protocol: &Protocol,
    target: &Target,
    permitted: Option<&BTreeSet<MessageIndex>>,
) -> Vec<Offence> {
    let Some(role) = protocol.role(Side::Server) else { return Vec::new() };
    let own = accepted(role, target.state);
    let reopening = reopening(protocol, role, target);
    let beside = target.beside.iter().flat_map(|state| accepted(role, *state));
    let beside: BTreeSet<_> = beside.filter(|message| !reopening.contains(message)).collect();
    // A server that has answered before it reads what follows cannot know that its answer was not awaited.
    let later: BTreeSet<_> = match target.awaits_reply(protocol) {
        true => after_reply(protocol, role, target.state)
            .iter()
            .flat_map(|state| accepted(role, *state))
            .collect(),
        false => BTreeSet::new(),
    };
    let candidates = match target.body {
        None => of_client(protocol, role, (0..=u32::MAX).map(StateIndex).take(role.states.len())),
        Some(start) => {
            let states = states_of_body(role, start);
            of_client(protocol, role, states).union(&reopening).copied().collect()
        }
    };
    let group = |message: &MessageIndex| {
        let table = protocol.message(*message)?;
        if own.contains(message) || beside.contains(message) {
            let is_open = permitted.is_some_and(|permitted| permitted.contains(message));
            let needs = !table.requires.is_empty() && target.body.is_none() && !is_open;
            return needs.then_some((Group::Capability, table));
        }
        (!later.contains(message)).then_some((Group::Order, table))
    };
    let offences = candidates.iter().filter_map(|message| {
        let (group, table) = group(message)?;
        let mut name = Payloads::method(table);
        if let Some(condition) = &table.condition {
            name = format!("{name} {condition}");
        }
        Some(Offence { group, name, act: Act::Message(*message) })
    });
    offences.collect()
}

/// The requests of a state whose params can be given a wrong shape.
pub(crate) fn with_wrong_params(protocol: &Protocol, target: &Target, payloads: &Payloads) -> Vec<Offence> {
    let Some(role) = protocol.role(Side::Server) else { return Vec::new() };
    let states = target.beside.iter().chain([&target.state]);
    let accepted: BTreeSet<_> = states.flat_map(|state| accepted(role, *state)).collect();
    let flaws = accepted.into_iter().flat_map(|message| Flaw::ALL.map(|flaw| (message, flaw)));
    let offences = flaws.filter_map(|(message, flaw)| {
        let table = protocol.message(message).filter(|table| table.kind == Kind::Request)?;
        let made = misshapen(payloads, (message, &Keys::new()), flaw)?;
        let name = format!("{} {made}", Payloads::method(table));
        Some(Offence { group: Group::Shape, name, act: Act::Misshapen(message, flaw) })
    });
    offences.collect()
}

/// What is wrong in any state.
pub(crate) fn on_the_wire(protocol: &Protocol) -> Vec<Offence> {
    let forbidden = Wire::ALL.into_iter().filter(|wire| wire.is_forbidden(protocol));
    let offences = forbidden.map(|wire| {
        let group = match wire {
            Wire::UsedId | Wire::ReplyToNothing | Wire::ErrorToNothing | Wire::ResultAndError => {
                Group::Correlation
            }
            Wire::Large | Wire::Deep => Group::Load,
            _ => Group::Form,
        };
        Offence { group, name: wire.name().to_owned(), act: Act::Wire(wire) }
    });
    offences.collect()
}

/// What can be wrong around any request, over HTTP or over streams.
pub(crate) fn around_requests(protocol: &Protocol, over_http: bool) -> Vec<Offence> {
    let forbidden = Head::forbidden(protocol, over_http);
    let offences = forbidden.map(|head| Offence {
        group: Group::Head,
        name: head.name().to_owned(),
        act: Act::Head(head),
    });
    offences.collect()
}

/// The requests and notifications of the client that some of these states have an edge for.
fn of_client(
    protocol: &Protocol,
    role: &Role,
    states: impl IntoIterator<Item = StateIndex>,
) -> BTreeSet<MessageIndex> {
    let messages = states.into_iter().flat_map(|state| accepted(role, state));
    let opening = |message: &MessageIndex| {
        let kind = protocol.message(*message).map(|table| table.kind);
        matches!(kind, Some(Kind::Request | Kind::Notification))
    };
    messages.filter(opening).collect()
}

/// The messages that would open the sub-session of a state once more, with the key under which it runs.
fn reopening(protocol: &Protocol, role: &Role, target: &Target) -> BTreeSet<MessageIndex> {
    let states = target.beside.iter().filter_map(|state| role.state(*state));
    let edges = states.flat_map(|state| state.edges.iter());
    let opens = edges.filter(|edge| {
        let says_key = protocol
            .message(edge.message)
            .is_some_and(|table| table.keys.iter().any(|carried| matches!(carried.place, KeyPlace::Path(_))));
        let is_of_body =
            matches!((edge.action, target.body), (Action::Spawn(start), Some(body)) if start == body);
        edge.direction == Direction::Receive && says_key && is_of_body
    });
    opens.map(|edge| edge.message).collect()
}

/// A notification of the client.
pub(crate) fn some_notification(protocol: &Protocol) -> Option<String> {
    let role = protocol.role(Side::Server)?;
    let states = (0..=u32::MAX).map(StateIndex).take(role.states.len());
    let messages = of_client(protocol, role, states);
    let mut tables = messages.iter().filter_map(|message| protocol.message(*message));
    let plain = |table: &&mcp_protocol_machine::protocol::Message| {
        table.kind == Kind::Notification && table.pattern().is_none()
    };
    tables.find(plain).map(|table| table.method.to_string())
}

#[cfg(test)]
mod tests {
    use mcp_protocols::mcp_2025_11_25::PROTOCOL;

    use super::super::target::targets;
    use super::*;

    fn names(state: &str, group: Group) -> Vec<String> {
        let target = targets(&PROTOCOL).into_iter().find(|target| target.name == state).unwrap();
        let offences = out_of_order(&PROTOCOL, &target, None);
        offences.into_iter().filter(|offence| offence.group == group).map(|offence| offence.name).collect()
    }

    #[test]
    fn everything_but_the_opening_and_pings_is_forbidden_at_first() {
        let forbidden = names("Uninit", Group::Order);
        assert!(forbidden.contains(&"tools/list".to_owned()), "{forbidden:?}");
        assert!(!forbidden.contains(&"initialize".to_owned()) && !forbidden.contains(&"ping".to_owned()));
    }

    #[test]
    fn a_second_opening_is_forbidden_and_the_rest_needs_capabilities() {
        assert!(names("Active", Group::Order).contains(&"initialize".to_owned()));
        let gated = names("Active", Group::Capability);
        assert!(gated.contains(&"tools/list".to_owned()) && !gated.contains(&"ping".to_owned()), "{gated:?}");
    }

    #[test]
    fn an_id_that_is_used_again_is_an_offence_unless_the_protocol_permits_it() {
        let used = |protocol: &Protocol| {
            let offences = on_the_wire(protocol);
            offences.iter().any(|offence| matches!(offence.act, Act::Wire(Wire::UsedId)))
        };
        assert!(used(&PROTOCOL));
        assert!(!used(&mcp_protocols::mcp_2026_07_28::PROTOCOL) && !used(&lsp_protocols::lsp_3_17::PROTOCOL));
    }

    #[test]
    fn what_the_awaited_reply_permits_is_no_offence() {
        assert!(!names("AwaitingResult", Group::Order).contains(&"notifications/initialized".to_owned()));
        assert!(names("AwaitingResult", Group::Order).contains(&"initialize".to_owned()));
    }
}
