//! Gates that cannot open: capabilities that are announced in a message which their side never sends, and messages that
//! come only before the announcement they require.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{
    Action, Direction, Kind, MessageIndex, Origin, Payload, Requirement, Side, StateIndex, StateKind,
};

use crate::automaton::{Automaton, Edge};
use crate::checks::announcements::{grants, holder};
use crate::compiled::Compiled;
use crate::declarations::{Announced, Declarations, Message};
use crate::diagnostic::{Code, Diagnostic, Edit, Severity};
use crate::findings::dotted;
use crate::source::Span;

/// Capabilities that are announced in a message which their side never sends.
pub const NEVER_SENT: Code = Code("S0119");
/// A message that comes only where its gate is still closed.
pub const NEVER_OPEN: Code = Code("S0120");

/// A notification that needs what only requests of its own side announce.
pub const OWN_NOTIFICATION: Code = Code("S0121");

/// A side that announces both in a message and in each request.
pub const ANNOUNCED_BOTH_WAYS: Code = Code("S0122");

/// Looks at the announcements first: what is announced nowhere opens nothing.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let both: Vec<Diagnostic> = declarations
        .announcements
        .iter()
        .filter(|announced| announced.table.message.is_none())
        .filter_map(|each| announced_both_ways(each, declarations))
        .collect();
    if !both.is_empty() {
        return both;
    }
    let machines = || compiled.client.iter().chain(&compiled.server);
    let mut said: BTreeSet<(Side, MessageIndex)> = BTreeSet::new();
    for machine in machines() {
        let edges = machine.states.iter().flat_map(|state| &state.edges);
        said.extend(edges.map(|edge| (sender(machine, edge.direction), edge.message)));
    }
    if said.is_empty() {
        return Vec::new();
    }
    let requests = |side: Side| {
        said.iter().any(|(by, index)| {
            let kind = declarations.message(*index).map(|message| message.table.kind);
            *by == side && kind == Some(Kind::Request)
        })
    };
    let unsaid = |announced: &&Announced| match announced.table.message {
        Some(message) => !said.contains(&(announced.table.side, message)),
        None => !requests(announced.table.side),
    };
    let unsaid: Vec<&Announced> = declarations.announcements.iter().filter(unsaid).collect();
    let found: Vec<Diagnostic> = match unsaid.as_slice() {
        [first, second] if is_turned(&[first, second], &said) => vec![turned(first, second, declarations)],
        unsaid => unsaid.iter().map(|announced| never_sent(announced, &said, declarations)).collect(),
    };
    if !found.is_empty() || declarations.gates.is_empty() {
        return found;
    }
    let found: BTreeMap<Span, Diagnostic> =
        machines().flat_map(|machine| own_notifications(machine, declarations)).collect();
    if !found.is_empty() {
        return found.into_values().collect();
    }
    let found = machines().flat_map(|machine| GateWalk::walk(machine, declarations).closed());
    worst_of_each_place(found)
}

/// What is found in each place of the text, in the order of the places. Both roles have most steps; the worse of two
/// findings is kept.
pub(super) fn worst_of_each_place(found: impl Iterator<Item = (Span, Diagnostic)>) -> Vec<Diagnostic> {
    let mut worst: BTreeMap<Span, Diagnostic> = BTreeMap::new();
    for (place, finding) in found {
        let known = worst.entry(place).or_insert_with(|| finding.clone());
        if finding.severity == Severity::Error && known.severity != Severity::Error {
            *known = finding;
        }
    }
    worst.into_values().collect()
}

/// `capabilities client = each request.…` next to another announcement of the client.
fn announced_both_ways(each: &Announced, declarations: &Declarations) -> Option<Diagnostic> {
    let side = each.table.side;
    let mut others = declarations.announcements.iter().filter(|other| other.table.side == side);
    let other = others.find(|other| other.message != each.message)?;
    // Two of this kind are reported once.
    if other.table.message.is_none() && other.message.start > each.message.start {
        return None;
    }
    let word = side.word();
    let message =
        format!("each request of the {word} announces its capabilities, and another item does, too");
    let finding = Diagnostic::error(ANNOUNCED_BOTH_WAYS, each.message, message)
        .also(other.message, format!("the {word} announces them here as well"));
    Some(finding.help(format!("delete one of the `capabilities {word}` items")))
}

/// Notifications that require a capability of their sender, which each of its requests announces: no request says what
/// holds for them.
fn own_notifications<'a>(
    machine: &'a Automaton,
    declarations: &'a Declarations,
) -> impl Iterator<Item = (Span, Diagnostic)> + 'a {
    let each = |side: Side| {
        declarations
            .announcements
            .iter()
            .find(move |announced| announced.table.side == side && announced.table.message.is_none())
    };
    let edges = machine.states.iter().flat_map(|state| &state.edges);
    edges.flat_map(move |edge| {
        let message = declarations
            .message(edge.message)
            .filter(|message| message.table.kind == Kind::Notification);
        let gates = message.into_iter().flat_map(|message| message.table.requires.iter().zip(&message.requires));
        gates.filter_map(move |(gate, place)| {
            let side = sender(machine, edge.direction);
            let announced = each(side).filter(|_| holder(machine, edge.direction, gate.holder) == side)?;
            let word = side.word();
            let name = message.map_or("?", |message| &message.table.name);
            let text = format!(
                "the notification `{name}` requires a capability of the {word}, which each of its requests announces"
            );
            let finding = Diagnostic::error(OWN_NOTIFICATION, *place, text)
                .label("no request says whether this is open")
                .also(announced.message, "announced here")
                .suggest("delete this gate", [Edit::delete(*place)]);
            Some((*place, finding))
        })
    })
}

fn sender(machine: &Automaton, direction: Direction) -> Side {
    match direction {
        Direction::Send => machine.side,
        Direction::Receive => machine.side.other(),
    }
}

/// Sides that have announced what they can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct AnnouncedSides {
    client: bool,
    server: bool,
}

impl AnnouncedSides {
    fn has(self, side: Side) -> bool {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    fn with(self, side: Side) -> AnnouncedSides {
        match side {
            Side::Client => AnnouncedSides { client: true, ..self },
            Side::Server => AnnouncedSides { server: true, ..self },
        }
    }

    fn and(self, other: AnnouncedSides) -> AnnouncedSides {
        AnnouncedSides { client: self.client || other.client, server: self.server || other.server }
    }
}

/// The places of one role's machine that a session can come to, each with who has announced by then.
///
/// What one channel announces opens the gates of all, at a time that the text does not say. So what is announced
/// anywhere but on the one linear channel of a session counts everywhere, and in a sub-session all that is announced at
/// all: a gate that is said to be closed is closed on every way.
struct GateWalk<'a> {
    machine: &'a Automaton,
    declarations: &'a Declarations,
    places: BTreeSet<(usize, AnnouncedSides)>,
    /// The sides that announce on parallel channels.
    parallel: AnnouncedSides,
    /// The sides that announce anywhere.
    anywhere: AnnouncedSides,
}

impl<'a> GateWalk<'a> {
    fn walk(machine: &'a Automaton, declarations: &'a Declarations) -> GateWalk<'a> {
        let mut silent = AnnouncedSides { client: true, server: true };
        for announced in &declarations.announcements {
            match announced.table.side {
                Side::Client => silent.client = false,
                Side::Server => silent.server = false,
            }
        }
        // What is open until it is announced is never closed by the text alone, nor is what each request announces.
        let changes = |announced: &&Announced| announced.table.open || announced.table.message.is_none();
        for announced in declarations.announcements.iter().filter(changes) {
            silent = silent.with(announced.table.side);
        }
        // What is granted while the session runs may be granted at any time.
        for side in
            [Side::Client, Side::Server].into_iter().filter(|side| grants(machine, declarations, *side))
        {
            silent = silent.with(side);
        }
        let mut ways =
            GateWalk { machine, declarations, places: BTreeSet::new(), parallel: silent, anywhere: silent };
        // What is announced only grows, so this ends after a few rounds.
        loop {
            let before = (ways.parallel, ways.anywhere);
            ways.places.clear();
            ways.round(silent);
            if before == (ways.parallel, ways.anywhere) {
                return ways;
            }
        }
    }

    fn round(&mut self, silent: AnnouncedSides) {
        let mut waiting = vec![(0, silent, false)];
        let machine = self.machine;
        while let Some((index, announced, part)) = waiting.pop() {
            let Some(state) = machine.states.get(index) else { continue };
            let announced = match state.body {
                true => announced.and(self.anywhere),
                false => announced.and(self.parallel),
            };
            if !self.places.insert((index, announced)) {
                continue;
            }
            let place = |state: StateIndex| usize::try_from(state.0).unwrap_or(usize::MAX);
            waiting.extend(state.parts.iter().map(|part| (place(*part), announced, true)));
            let parallel = part || state.body;
            for edge in &state.edges {
                if self.closed_gate(edge, announced).is_some() {
                    continue;
                }
                let says = |side: Side| {
                    let mut all = self.declarations.announcements.iter().map(|announced| &announced.table);
                    all.any(|table| table.side == side && table.message == Some(edge.message))
                };
                let mut after = announced;
                for side in [Side::Client, Side::Server].into_iter().filter(|side| says(*side)) {
                    after = after.with(side);
                    self.anywhere = self.anywhere.with(side);
                    if parallel || matches!(edge.action, Action::Spawn(_)) {
                        self.parallel = self.parallel.with(side);
                    }
                }
                match edge.action {
                    Action::Step(to) => waiting.push((place(to), after, part)),
                    Action::Spawn(to) => waiting.push((place(to), after, true)),
                }
            }
        }
    }

    /// The first gate of a step that is closed for whatever it carries.
    fn closed_gate(&self, edge: &Edge, announced: AnnouncedSides) -> Option<&'a Requirement> {
        let message = self.declarations.message(edge.message)?;
        if matches!(message.table.kind, Kind::Reply { .. } | Kind::Refusal { .. }) {
            return None;
        }
        message.table.requires.iter().find(|gate| {
            gate.condition.is_none() && !announced.has(holder(self.machine, edge.direction, gate.holder))
        })
    }

    /// The steps that no session takes though it comes to their places: where, and what is said.
    fn closed(&self) -> Vec<(Span, Diagnostic)> {
        let mut taken: BTreeSet<(bool, MessageIndex)> = BTreeSet::new();
        let mut open: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        for (index, announced) in &self.places {
            reached.insert(*index);
            let edges =
                self.machine.states.get(*index).map(|state| state.edges.as_slice()).unwrap_or_default();
            for (number, edge) in edges.iter().enumerate() {
                if self.closed_gate(edge, *announced).is_none() {
                    open.insert((*index, number));
                    // What comes late was sent where it is written.
                    if edge.origin != Origin::Closure {
                        taken.insert((edge.direction == Direction::Send, edge.message));
                    }
                }
            }
        }
        let mut found = Vec::new();
        for index in reached {
            let Some(state) = self.machine.states.get(index) else { continue };
            let ends = state.may_close || state.peer_may_close || state.kind == StateKind::End;
            let stuck =
                !ends
                    && state.parts.is_empty()
                    && state.edges.iter().enumerate().all(|(number, edge)| {
                        edge.origin == Origin::Closure || !open.contains(&(index, number))
                    });
            for (number, edge) in state.edges.iter().enumerate() {
                if open.contains(&(index, number)) || edge.origin != Origin::Written {
                    continue;
                }
                let nowhere = !taken.contains(&(edge.direction == Direction::Send, edge.message));
                // What may be opened at any time is closed for a while in most sessions.
                if matches!(edge.action, Action::Spawn(_)) && !nowhere {
                    continue;
                }
                found.extend(self.report(index, edge, nowhere, stuck));
            }
        }
        found
    }

    fn report(&self, index: usize, edge: &Edge, nowhere: bool, stuck: bool) -> Option<(Span, Diagnostic)> {
        let message = self.declarations.message(edge.message)?;
        let (_, announced) = *self.places.iter().find(|(place, _)| *place == index)?;
        let gate = self.closed_gate(edge, announced)?;
        let holder = holder(self.machine, edge.direction, gate.holder);
        let path = self
            .declarations
            .gates
            .get(usize::from(gate.gate.0))
            .map(ToString::to_string)
            .unwrap_or_default();
        let (word, name) = (holder.word(), &message.table.name);
        let text = format!("`{name}` requires `{word}.{path}`, which the {word} has never announced by then");
        let finding = match nowhere || stuck {
            true => Diagnostic::error(NEVER_OPEN, edge.span, text),
            false => Diagnostic::warning(NEVER_OPEN, edge.span, text),
        };
        let mut finding = finding.label(match (nowhere, stuck) {
            (false, false) => "this branch is never open here",
            _ => "no session comes past this",
        });
        let mut announcements = self.declarations.announcements.iter();
        if let Some(announced) = announcements.find(|announced| announced.table.side == holder) {
            finding = finding.also(announced.message, "announced here, in a message that comes later");
        }
        let closed = |gate: &Requirement| {
            gate.condition.is_none()
                && !announced.has(crate::checks::announcements::holder(
                    self.machine,
                    edge.direction,
                    gate.holder,
                ))
        };
        let places = message.table.requires.iter().zip(&message.requires);
        let deleted: Vec<Edit> =
            places.filter(|(gate, _)| closed(gate)).map(|(_, place)| Edit::delete(*place)).collect();
        if let Some(first) = deleted.first() {
            finding = finding.also(first.span, "the gate");
        }
        let finding = finding
            .suggest(format!("delete `requires {word}.{path}`"), deleted)
            .with_note(format!("a message that announces it has to come before `{name}`"));
        Some((edge.span, finding))
    }
}

/// `capabilities server = Hello.…` where only the client sends `Hello`.
/// Whether each of two sides is to announce its capabilities in a message that only the other one sends.
fn is_turned(both: &[&Announced; 2], said: &BTreeSet<(Side, MessageIndex)>) -> bool {
    let [first, second] = both;
    let sent_by_the_other = |announced: &Announced| {
        announced.table.message.is_some_and(|index| said.contains(&(announced.table.side.other(), index)))
    };
    first.table.side != second.table.side && sent_by_the_other(first) && sent_by_the_other(second)
}

/// Both announcements are turned: a step goes in the wrong direction, or the words `client` and `server` are exchanged.
fn turned(first: &Announced, second: &Announced, declarations: &Declarations) -> Diagnostic {
    let name = |announced: &Announced| {
        announced.table.message.map(|index| declarations.message_name(index)).unwrap_or_default()
    };
    let (word, other) = (first.table.side.word(), second.table.side.word());
    let (of_first, of_second) = (name(first), name(second));
    let message = format!(
        "the {word} never sends `{of_first}`, in which it is to announce its capabilities, and the {other} never \
         sends `{of_second}`"
    );
    let items = [(other, first, of_first), (word, second, of_second)].map(|(word, announced, name)| {
        let path = dotted(&announced.table.path);
        format!("`capabilities {word} = {name}{}{path}`", if path.is_empty() { "" } else { "." })
    });
    Diagnostic::error(NEVER_SENT, first.message, message)
        .label(format!("only the {other} sends this"))
        .also(second.message, format!("only the {word} sends this"))
        .help(format!(
            "exchange `!` and `?` where `{of_first}` and `{of_second}` are sent, or write {}",
            items.join(" and ")
        ))
}

fn never_sent(
    announced: &Announced,
    said: &BTreeSet<(Side, MessageIndex)>,
    declarations: &Declarations,
) -> Diagnostic {
    let side = announced.table.side;
    let Some(index) = announced.table.message else {
        let word = side.word();
        let message =
            format!("the {word} never sends a request, in which it is to announce its capabilities");
        let finding = Diagnostic::error(NEVER_SENT, announced.message, message);
        return finding.help(format!("name a message that the {word} sends, and that has a payload"));
    };
    let (word, name) = (side.word(), declarations.message_name(index));
    let message = format!("the {word} never sends `{name}`, in which it is to announce its capabilities");
    let label = match said.contains(&(side.other(), index)) {
        true => format!("only the {} sends this", side.other().word()),
        false => "no role sends this".to_owned(),
    };
    let finding = Diagnostic::error(NEVER_SENT, announced.message, message).label(label);
    let sends = |index: &MessageIndex| {
        let carries = |message: &Message| {
            message.table.payload != Payload::None && !matches!(message.table.kind, Kind::Refusal { .. })
        };
        said.contains(&(side, *index)) && declarations.message(*index).is_some_and(carries)
    };
    let instead = declarations.replies(index).find(sends).or_else(|| {
        let all = declarations.indices();
        all.into_iter().find(sends)
    });
    match instead.map(|instead| declarations.message_name(instead)) {
        Some(instead) => finding.suggest(
            format!("write `capabilities {word} = {instead}.{}`", dotted(&announced.table.path)),
            [Edit::replace(announced.message, instead)],
        ),
        None => finding.help(format!("name a message that the {word} sends, and that has a payload")),
    }
}
