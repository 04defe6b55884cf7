//! The states that a client can bring a session to, and the messages that lead there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mcp_protocol_machine::protocol::{
    Action, Direction, Edge, Kind, MessageIndex, Origin, Protocol, Role, Side, State, StateIndex, StateKind,
};

/// A message on the way to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) sender: Side,
    pub(crate) message: MessageIndex,
}

/// A state of the server's role, and the way to it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) state: StateIndex,
    pub(crate) name: String,
    /// The messages that lead there, of both sides.
    pub(crate) moves: Vec<Move>,
    /// The states of other channels that run in parallel with this one.
    pub(crate) beside: Vec<StateIndex>,
    /// The first state of the sub-session that this is a state of.
    pub(crate) body: Option<StateIndex>,
    /// The message that the server would have to send of its own accord, if no other way leads there.
    pub(crate) needs: Option<MessageIndex>,
    /// The state by its shortest way, where that opens the sub-session earlier.
    pub(crate) shorter: Option<Box<Target>>,
}

/// In which of the states that permit it a sub-session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenedIn {
    /// In the last one, where the handshake is over.
    Last,
    First,
}

/// How hard it is to come to a state: what the server has to do of its own accord counts first.
type Cost = (usize, usize);

/// The best way to a state that is known.
#[derive(Clone, Debug)]
struct Way {
    cost: Cost,
    moves: Vec<Move>,
    beside: Vec<StateIndex>,
    body: Option<StateIndex>,
    needs: Option<MessageIndex>,
}

/// The states in which the client can do something wrong: those of linear channels, and those of sub-sessions in which
/// the client has further steps. In the order of the tables.
pub(crate) fn targets(protocol: &Protocol) -> Vec<Target> {
    let Some(role) = protocol.role(Side::Server) else { return Vec::new() };
    let (ways, shortest) = (ways(protocol, role, OpenedIn::Last), ways(protocol, role, OpenedIn::First));
    let bodies: BTreeSet<StateIndex> = ways.values().filter_map(|way| way.body).collect();
    let with_steps: BTreeSet<StateIndex> =
        bodies.into_iter().filter(|start| has_client_steps(protocol, role, *start)).collect();
    let wanted = |state: &State, way: &Way| match way.body {
        None => matches!(state.kind, StateKind::Linear | StateKind::Replicated),
        Some(start) => state.kind == StateKind::Linear && with_steps.contains(&start),
    };
    ways.into_iter()
        .filter_map(|(index, way)| {
            let state = role.state(index).filter(|state| wanted(state, &way))?;
            let shorter = shortest.get(&index).filter(|other| way.body.is_some() && other.moves != way.moves);
            let shorter = shorter.map(|way| Box::new(Target::new(index, state, way.clone())));
            Some(Target { shorter, ..Target::new(index, state, way) })
        })
        .collect()
}

impl Target {
    fn new(index: StateIndex, state: &State, way: Way) -> Target {
        Target {
            state: index,
            name: state.name.to_string(),
            moves: way.moves,
            beside: way.beside,
            body: way.body,
            needs: way.needs,
            shorter: None,
        }
    }

    /// Why a session over HTTP does not come here, if it cannot.
    pub(crate) fn hindered_by_http(&self, protocol: &Protocol) -> Option<&'static str> {
        self.awaits_reply(protocol).then_some("over HTTP a message that follows a request may overtake it")
    }

    /// The last message on the way is a request of the client that the server has not answered.
    pub(crate) fn awaits_reply(&self, protocol: &Protocol) -> bool {
        self.moves.last().is_some_and(|last| {
            let kind = protocol.message(last.message).map(|table| table.kind);
            last.sender == Side::Client && kind == Some(Kind::Request)
        })
    }
}

/// The edges that the author wrote.
fn written(state: &State) -> impl Iterator<Item = &Edge> {
    state.edges.iter().filter(|edge| edge.origin == Origin::Written)
}

/// The best way to each state.
fn ways(protocol: &Protocol, role: &Role, opening: OpenedIn) -> BTreeMap<StateIndex, Way> {
    let start = Way { cost: (0, 0), moves: Vec::new(), beside: Vec::new(), body: None, needs: None };
    let mut known = BTreeMap::new();
    spread(protocol, role, Role::START, start, &mut known);
    loop {
        let mut opened: BTreeMap<StateIndex, Way> = BTreeMap::new();
        for (index, way) in &known {
            let edges = role.state(*index).into_iter().flat_map(written);
            for edge in edges {
                let Action::Spawn(start) = edge.action else { continue };
                let mut next = moved(protocol, edge, way);
                next.beside.push(*index);
                next.body = Some(start);
                let is_better = |other: &Way| match opening {
                    OpenedIn::Last => (next.cost.0, other.cost.1) < (other.cost.0, next.cost.1),
                    OpenedIn::First => next.cost < other.cost,
                };
                if !known.contains_key(&start) && opened.get(&start).is_none_or(is_better) {
                    opened.insert(start, next);
                }
            }
        }
        if opened.is_empty() {
            return known;
        }
        for (start, way) in opened {
            spread(protocol, role, start, way, &mut known);
        }
    }
}

/// Follows one channel from a state on.
fn spread(
    protocol: &Protocol,
    role: &Role,
    from: StateIndex,
    way: Way,
    known: &mut BTreeMap<StateIndex, Way>,
) {
    known.insert(from, way);
    let mut open = VecDeque::from([from]);
    while let Some(index) = open.pop_front() {
        let (Some(state), Some(way)) = (role.state(index), known.get(&index).cloned()) else { continue };
        for (next, way) in steps(protocol, state, &way) {
            if known.get(&next).is_none_or(|other| way.cost < other.cost) {
                known.insert(next, way);
                open.push_back(next);
            }
        }
    }
}

/// Where a session can go from a state, along one channel.
fn steps(protocol: &Protocol, state: &State, way: &Way) -> Vec<(StateIndex, Way)> {
    let part = |part: &StateIndex| {
        let others = state.parts.iter().filter(|other| *other != part);
        let beside = way.beside.iter().chain(others).copied().collect();
        (*part, Way { beside, ..way.clone() })
    };
    let edges = written(state).filter(|edge| matches!(edge.action, Action::Step(_)));
    let moved = edges.map(|edge| (edge.action.target(), moved(protocol, edge, way)));
    state.parts.iter().map(part).chain(moved).collect()
}

/// A way with one more message.
fn moved(protocol: &Protocol, edge: &Edge, way: &Way) -> Way {
    let mut next = way.clone();
    let sender = if edge.direction == Direction::Receive { Side::Client } else { Side::Server };
    next.moves.push(Move { sender, message: edge.message });
    let kind = protocol.message(edge.message).map(|table| table.kind);
    let of_its_own = sender == Side::Server && !matches!(kind, Some(Kind::Reply { .. }));
    if of_its_own {
        next.needs = next.needs.or(Some(edge.message));
    }
    next.cost = (next.cost.0 + usize::from(of_its_own), next.cost.1 + 1);
    next
}

/// Whether the client sends requests or notifications in a sub-session after the message that opens it.
fn has_client_steps(protocol: &Protocol, role: &Role, start: StateIndex) -> bool {
    let states = states_of_body(role, start);
    let mut edges = states.iter().filter_map(|index| role.state(*index)).flat_map(written);
    edges.any(|edge| {
        let kind = protocol.message(edge.message).map(|table| table.kind);
        edge.direction == Direction::Receive && matches!(kind, Some(Kind::Request | Kind::Notification))
    })
}

/// The requests and notifications of the client that a state has an edge for.
pub(crate) fn accepted(role: &Role, state: StateIndex) -> BTreeSet<MessageIndex> {
    let edges = role.state(state).into_iter().flat_map(|state| state.edges.iter());
    edges.filter(|edge| edge.direction == Direction::Receive).map(|edge| edge.message).collect()
}

/// Whether a message of the client asks the server to end the session: wherever the server accepts it, that is the end.
pub(crate) fn ends_session(protocol: &Protocol, message: MessageIndex) -> bool {
    let Some(role) = protocol.role(Side::Server) else { return false };
    let edges = role.states.iter().flat_map(|state| state.edges.iter());
    let edges = edges.filter(|edge| edge.direction == Direction::Receive && edge.message == message);
    let mut targets = edges.map(|edge| role.state(edge.action.target())).peekable();
    targets.peek().is_some() && targets.all(|state| state.is_some_and(|state| state.kind == StateKind::End))
}

/// The states that a reply of the server leads to.
pub(crate) fn after_reply(protocol: &Protocol, role: &Role, state: StateIndex) -> Vec<StateIndex> {
    let edges = role.state(state).into_iter().flat_map(|state| state.edges.iter());
    let replies = edges.filter(|edge| {
        let kind = protocol.message(edge.message).map(|table| table.kind);
        edge.direction == Direction::Send && matches!(kind, Some(Kind::Reply { .. }))
    });
    let mut after = Vec::new();
    for edge in replies {
        let next = edge.action.target();
        after.push(next);
        after.extend(role.state(next).into_iter().flat_map(|state| state.parts.iter()).copied());
    }
    after
}

/// The states of a sub-session, by its first one.
pub(crate) fn states_of_body(role: &Role, start: StateIndex) -> BTreeSet<StateIndex> {
    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(index) = open.pop() {
        for edge in role.state(index).into_iter().flat_map(written) {
            if let Action::Step(next) = edge.action
                && seen.insert(next)
            {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use mcp_protocols::mcp_2025_11_25::PROTOCOL;

    use super::*;

    fn way(name: &str) -> Vec<String> {
        let target = targets(&PROTOCOL).into_iter().find(|target| target.name == name).unwrap();
        let name = |step: &Move| PROTOCOL.message(step.message).unwrap().name.to_string();
        target.moves.iter().map(name).collect()
    }

    #[test]
    fn the_shortest_way_leads_to_a_state() {
        assert!(way("Uninit").is_empty());
        assert_eq!(way("AwaitingResult"), ["Initialize"]);
        assert_eq!(way("Active"), ["Initialize", "InitializeResult", "Initialized"]);
    }

    #[test]
    fn a_sub_session_has_states_of_its_own_and_a_plain_request_has_none() {
        let targets = targets(&PROTOCOL);
        let watched = targets.iter().find(|target| target.name == "Watched").unwrap();
        assert!(watched.body.is_some() && watched.needs.is_none());
        let names = watched.moves.iter().map(|step| PROTOCOL.message(step.message).unwrap().name.to_string());
        assert_eq!(names.skip(2).collect::<Vec<_>>(), ["Initialized", "ResourcesSubscribe", "Subscribed"]);
        assert!(!targets.iter().any(|target| target.name.contains("ToolsListResult")));
    }

    #[test]
    fn a_sub_session_has_a_shorter_way_where_an_earlier_state_opens_it() {
        let targets = targets(&PROTOCOL);
        let watched = targets.iter().find(|target| target.name == "Watched").unwrap();
        let shorter = watched.shorter.as_ref().unwrap();
        let names = shorter.moves.iter().map(|step| PROTOCOL.message(step.message).unwrap().name.to_string());
        assert_eq!(
            names.skip(1).collect::<Vec<_>>(),
            ["InitializeResult", "ResourcesSubscribe", "Subscribed"]
        );
        assert!(targets.iter().all(|target| target.body.is_some() || target.shorter.is_none()));
    }

    #[test]
    fn a_way_that_the_server_has_to_open_says_so() {
        let targets = targets(&PROTOCOL);
        let name = |message| PROTOCOL.message(message).unwrap().name.to_string();
        let working = targets.iter().find(|target| target.name == "ClientWorking").unwrap();
        assert_eq!(working.needs.map(name).as_deref(), Some("CreateMessageTask"));
    }
}
