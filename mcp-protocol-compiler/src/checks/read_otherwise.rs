//! Messages of one method that a gate decides between: a payload that crosses the opening of the gate is another message
//! for its receiver than for its sender.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Condition, Direction, Kind, MessageIndex, Requirement, Side};

use super::announcements::{grants, holder};
use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::restrict::may_hold;
use crate::declarations::{Declarations, During, Form, Message, PayloadType};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A payload that its receiver may read as another message, because a gate opens while it is on its way.
pub const READ_OTHERWISE: Code = Code("S0128");

/// Looks at each message with a condition and a gate that the other side opens, and at the message without a condition as
/// which its payloads are written while the gate is closed.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let mut pairs = Vec::new();
    for (index, message) in declarations.indices().zip(&declarations.messages) {
        let is_gated = message.has_gate() && matches!(message.table.kind, Kind::Request | Kind::Notification);
        let Some(condition) = message.table.condition.as_ref().filter(|_| is_gated) else { continue };
        let plain = declarations.without_condition(index);
        let Some(plain) = plain.and_then(|plain| Some((plain, declarations.message(plain)?))) else {
            continue;
        };
        if may_meet(declarations, plain.1, condition) {
            pairs.push(GatedPair { gated: (index, message), plain, condition });
        }
    }
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut reported: BTreeSet<Span> = BTreeSet::new();
    let mut found = Vec::new();
    // Both roles have the same messages; one of them may not be written.
    for machine in compiled.client.iter().chain(&compiled.server) {
        for direction in [Direction::Send, Direction::Receive] {
            let passes = |wanted: MessageIndex| {
                let mut edges = machine.states.iter().flat_map(|state| &state.edges);
                edges.any(|edge| edge.direction == direction && edge.message == wanted)
            };
            for pair in pairs.iter().filter(|pair| passes(pair.gated.0) && passes(pair.plain.0)) {
                let way = MessageWay { machine, declarations, direction };
                if let Some(opens) = way.opens_later(pair)
                    && reported.insert(pair.gated.1.span)
                {
                    found.push(way.finding(pair, &opens));
                }
            }
        }
    }
    found
}

/// A message with a condition and a gate, and the one of its method without a condition.
struct GatedPair<'a> {
    gated: (MessageIndex, &'a Message),
    plain: (MessageIndex, &'a Message),
    condition: &'a Condition,
}

/// The messages of one side, as one of the machines has them.
struct MessageWay<'a> {
    machine: &'a Automaton,
    declarations: &'a Declarations,
    direction: Direction,
}

/// Whether some payload of a message may meet a condition. Members that a shape does not name are not written.
fn may_meet(declarations: &Declarations, message: &Message, condition: &Condition) -> bool {
    match &message.payload {
        PayloadType::Shape { index, .. } => may_hold(&declarations.shapes, &Form::Named(*index), condition),
        PayloadType::Any | PayloadType::Type(_) => true,
        PayloadType::None => false,
    }
}

/// Whether a message is sent only while some of the requests run during which another one may be sent: the sender knows of
/// them.
fn is_open_whenever_sent(during: &During, plain: &Message) -> bool {
    let is_among = |request: &MessageIndex| during.table.requests.contains(request);
    plain.during.iter().any(|own| {
        let fits = during.table.condition.is_none() || during.table.condition == own.table.condition;
        fits && own.table.requests.iter().all(is_among)
    })
}

/// Whether a message needs a capability for each payload for which another one needs it, `required`: then it is not sent
/// either while that gate is closed.
fn is_closed_as_well(plain: &Message, required: &Requirement) -> bool {
    plain.table.requires.iter().any(|own| {
        let same = own.holder == required.holder && own.gate == required.gate;
        same && (own.condition.is_none() || own == required)
    })
}

impl MessageWay<'_> {
    fn sender(&self) -> Side {
        match self.direction {
            Direction::Send => self.machine.side,
            Direction::Receive => self.machine.side.other(),
        }
    }

    /// What opens the gate of the first message on the side that receives it, while the sender may still send the second one.
    fn opens_later(&self, pair: &GatedPair<'_>) -> Option<String> {
        let (gated, (plain_index, plain)) = (pair.gated.1, pair.plain);
        let receiver = self.sender().other();
        let word = receiver.word();
        let opens = gated.during.iter().find(|during| !is_open_whenever_sent(during, plain));
        if let Some((request, _)) = opens.and_then(|during| during.names.first()) {
            return Some(format!("sends `{}`", request.text));
        }
        let of_receiver = gated.table.requires.iter().find(|requirement| {
            !is_closed_as_well(plain, requirement)
                && self.is_needed(pair, requirement)
                && holder(self.machine, self.direction, requirement.holder) == receiver
        })?;
        let gate = self.declarations.gates.get(usize::from(of_receiver.gate.0))?;
        if grants(self.machine, self.declarations, receiver) {
            return Some(format!("grants `{word}.{gate}`"));
        }
        let announced =
            self.declarations.announcements.iter().find(|announced| announced.table.side == receiver)?;
        let is_late = match announced.table.message {
            // What is open until it is announced is closed by the announcement, and not opened.
            _ if announced.table.open => false,
            // Each request announces.
            None => true,
            Some(announcement) => {
                self.machine.passes_before((self.direction, plain_index), |message| message == announcement)
            }
        };
        is_late.then(|| format!("announces `{word}.{gate}`"))
    }

    /// Whether a payload of the second message that fits the condition of the first one may need a capability.
    fn is_needed(&self, pair: &GatedPair<'_>, required: &Requirement) -> bool {
        match &required.condition {
            None => true,
            Some(condition) if required.unless => condition != pair.condition,
            Some(condition) => may_meet(self.declarations, pair.plain.1, condition),
        }
    }

    fn finding(&self, pair: &GatedPair<'_>, opens: &str) -> Diagnostic {
        let (gated, plain, condition) = (pair.gated.1, pair.plain.1, pair.condition);
        let (word, other) = (self.sender().word(), self.sender().other().word());
        let (name, before) = (&gated.table.name, &plain.table.name);
        let message = format!("a `{before}` of the {word} may be read as `{name}`");
        Diagnostic::warning(READ_OTHERWISE, gated.span, message)
            .label(format!("what fits `{condition}` is this message once the {other} {opens}"))
            .also(plain.span, format!("until it has received that, the {word} sends this"))
            .with_note("what is on its way at that moment is one message for its sender and the other for its receiver")
            .help(format!(
                "give `{name}` a method of its own, or `{before}` a shape in which nothing fits `{condition}`"
            ))
    }
}
