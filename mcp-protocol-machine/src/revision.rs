//! One revision of a protocol governs a session that was written against another.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::protocol::{
    Announcement, Condition, Direction, During, Edge, Gate, GateIndex, Kind, List, Message, Protocol,
    Requirement, Role, Side, State, Text,
};

impl Protocol {
    /// These tables with no more in them than another revision of the protocol has.
    #[must_use]
    pub fn governed_by(&self, revision: &Protocol) -> Protocol {
        let mut governed = self.clone();
        governed.version.clone_from(&revision.version);
        governed.numeric_version = revision.numeric_version;
        governed.batch = revision.batch;
        governed.dialect = revision.dialect;
        governed.reuses_ids = revision.reuses_ids;
        let theirs: HashMap<Identity<'_>, &Message> =
            revision.messages.iter().map(|message| (identity(revision, message), message)).collect();
        // Payloads have the shapes of the revision. What it does not have is not sent.
        governed.shapes.clone_from(&revision.shapes);
        let mut gates: Vec<Gate> = self.gates.to_vec();
        for (own, message) in self.messages.iter().zip(governed.messages.to_mut()) {
            let their = theirs.get(&identity(self, own));
            message.shape = their.and_then(|their| their.shape);
            if let Some(their) = their {
                message.requires = requirements(self, revision, their, &mut gates);
                message.level.clone_from(&their.level);
                message.cancellable = own.cancellable && their.cancellable;
                message.until_reply = own.until_reply || their.until_reply;
            }
        }
        for announcement in governed.announcements.to_mut() {
            let their = revision.announcements.iter().find(|their| their.side == announcement.side);
            if let Some(their) = their {
                announcement.defaults = defaults(self, announcement, revision, their, &mut gates);
            }
        }
        governed.gates = Cow::Owned(gates);
        for side in [Side::Client, Side::Server] {
            let (Some(own), Some(their)) = (self.role(side), revision.role(side)) else { continue };
            let role = narrowed(self, own, revision, their);
            match side {
                Side::Client => governed.client = Some(role),
                Side::Server => governed.server = Some(role),
            }
        }
        governed
    }
}

/// What makes two messages of two revisions the same: that they are on the wire.
type Identity<'a> = (Word, &'a str, Option<&'a Condition>, Option<&'a Condition>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Word {
    Request,
    Notification,
    Reply,
    Refusal,
}

fn identity<'a>(protocol: &'a Protocol, message: &'a Message) -> Identity<'a> {
    let (word, request) = match message.kind {
        Kind::Request => (Word::Request, None),
        Kind::Notification => (Word::Notification, None),
        Kind::Reply { request } => (Word::Reply, Some(request)),
        Kind::Refusal { request } => (Word::Refusal, Some(request)),
    };
    let request = request.and_then(|request| protocol.message(request));
    let asked = request.and_then(|request| request.condition.as_ref());
    (word, &message.method, message.condition.as_ref(), asked)
}

/// What a message needs in a revision, in numbers that stand for the same in these gates.
fn requirements(
    own: &Protocol,
    revision: &Protocol,
    message: &Message,
    gates: &mut Vec<Gate>,
) -> Cow<'static, [Requirement]> {
    let translated = message.requires.iter().filter_map(|requirement| {
        let gate = revision.gate(requirement.gate)?;
        let gate = match &gate.during {
            None => number(gate, gates),
            Some(during) => number(&Gate::granted_by(renumbered(own, revision, during)), gates),
        }?;
        Some(Requirement { gate, ..requirement.clone() })
    });
    translated.collect()
}

/// The requests during which a revision permits a message, in the numbers of these tables. What these tables do not have
/// never runs.
fn renumbered(own: &Protocol, revision: &Protocol, during: &During) -> During {
    let theirs: HashSet<Identity<'_>> = during
        .requests
        .iter()
        .filter_map(|request| Some(identity(revision, revision.message(*request)?)))
        .collect();
    let requests = own.indexed().filter(|(_, message)| theirs.contains(&identity(own, message)));
    During::new(requests.map(|(index, _)| index).collect(), during.condition.clone())
}

/// What a revision grants by default, in the same numbers. Of capabilities that it does not have nothing is different.
fn defaults(
    own: &Protocol,
    announcement: &Announcement,
    revision: &Protocol,
    their: &Announcement,
    gates: &mut Vec<Gate>,
) -> List<GateIndex> {
    let unknown = |gate: &&GateIndex| own.gate(**gate).is_some_and(|gate| !revision.gates.contains(gate));
    let mut defaults: Vec<GateIndex> = announcement.defaults.iter().filter(unknown).copied().collect();
    let theirs = their.defaults.iter().filter_map(|gate| revision.gate(*gate));
    defaults.extend(theirs.filter_map(|gate| number(gate, gates)));
    Cow::Owned(defaults)
}

/// The number of a gate, a new one if it has none yet.
fn number(gate: &Gate, gates: &mut Vec<Gate>) -> Option<GateIndex> {
    let place = gates.iter().position(|known| known == gate).unwrap_or_else(|| {
        gates.push(gate.clone());
        gates.len() - 1
    });
    u16::try_from(place).ok().map(GateIndex)
}

fn narrowed(own: &Protocol, role: &Role, revision: &Protocol, their: &Role) -> Role {
    let mut said: HashSet<(Direction, Identity<'_>)> = HashSet::new();
    for edge in their.states.iter().flat_map(|state| state.edges.iter()) {
        if let Some(message) = revision.message(edge.message) {
            said.insert((edge.direction, identity(revision, message)));
        }
    }
    let both = |edge: &Edge| {
        let message = own.message(edge.message);
        message.is_some_and(|message| said.contains(&(edge.direction, identity(own, message))))
    };
    let levels: HashMap<&Text, &State> = their.states.iter().map(|state| (&state.name, state)).collect();
    let states = role.states.iter().map(|state| {
        let mut narrowed = state.clone();
        narrowed.edges = state.edges.iter().filter(|edge| both(edge)).copied().collect();
        if let Some(their) = levels.get(&state.name) {
            narrowed.outward.clone_from(&their.outward);
            narrowed.inward.clone_from(&their.inward);
        }
        narrowed
    });
    Role { name: role.name.clone(), states: states.collect() }
}
