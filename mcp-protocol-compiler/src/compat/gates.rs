//! Capabilities: whether a receiver demands one that the sender does not ask for.

use mcp_protocol_machine::protocol::{MessageIndex, Requirement, Side, Text};

use super::announced::{
    AllWithheld, Announceable, announcements_of, dotted, holder, is_default, is_open,
    may_come_before_announcement, path,
};
use super::found::{Break, Pairing, Rule, declared};
use super::readings::{Reading, readings};
use super::version::Version;
use crate::declarations::restrict::may_hold;
use crate::declarations::{During, Form, Message, PayloadType};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Compares the gates of the messages that both files have.
pub(super) fn compare(pairing: &Pairing<'_>, withheld: &[AllWithheld; 2]) -> Vec<Break> {
    let mut found = Vec::new();
    for (sender, withheld) in [(Side::Client, &withheld[0]), (Side::Server, &withheld[1])] {
        let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
        for index in version.declarations.indices() {
            let Some(received) = pairing.received_as(sender, index) else { continue };
            let (Some(sent), Some(taken)) = (version.message(index), receiver.message(received)) else {
                continue;
            };
            let is_exchanged =
                version.senders(index).contains(&sender) && receiver.senders(received).contains(&sender);
            if !is_exchanged || withheld.get(&index).is_some_and(|withheld| withheld.always) {
                continue;
            }
            let spans = taken.requires.iter().copied();
            for (requirement, span) in taken.table.requires.iter().zip(spans) {
                let asked = Asked { pairing, sender, sent, requirement };
                if !asked.may_apply() {
                    continue;
                }
                if !asked.is_implied() {
                    found.push(demanded(pairing, sender, (index, received), requirement, span));
                } else if asked.is_by_default() {
                    found.push(by_default(pairing, sender, (index, received), requirement, span));
                } else if let Some(announced) = asked.open_at_first(index) {
                    found.push(open_at_first(
                        pairing,
                        sender,
                        (index, received),
                        (requirement, span),
                        announced,
                    ));
                }
            }
            for during in &taken.during {
                if !sent.during.iter().any(|own| pairing.is_during_within(sender, own, during)) {
                    found.push(only_during(pairing, sender, (index, received), during));
                }
            }
        }
        for reading in readings(pairing, sender, withheld) {
            found.extend(demanded_of_reading(pairing, sender, &reading));
            found.extend(only_during_of_reading(pairing, sender, &reading));
        }
    }
    found
}

/// What a receiver demands for the message that it reads, which the sender does not ask for the one that it writes. Where the
/// latter has no condition, it is what the receiver reads while the gate is closed.
fn demanded_of_reading(pairing: &Pairing<'_>, sender: Side, reading: &Reading) -> Option<Break> {
    let sent = pairing.version(sender).message(reading.sent)?;
    let receiver = pairing.version(sender.other());
    let read_as = receiver.message(reading.read_as)?;
    sent.table.condition.as_ref()?;
    let mut demands = read_as.table.requires.iter().zip(&read_as.requires);
    let (requirement, span) = demands.find(|(requirement, _)| {
        let asked = Asked { pairing, sender, sent, requirement };
        asked.may_apply() && !asked.is_implied()
    })?;
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let (what, other) = (pairing.words(sender, reading.sent), pairing.words(sender.other(), reading.read_as));
    let (capability, whose) =
        (dotted(path(receiver, requirement)), pairing.peer(holder(requirement, sender)));
    let (one, two) = (declared(pairing.version(sender), reading.sent), declared(receiver, reading.read_as));
    let diagnostic = Diagnostic::error(
        Rule::Capability.code(),
        *span,
        format!(
            "{from} may send {what} that {to} reads as {other}, for which {whose} has to announce `{capability}`, and \
             {from} does not ask for it"
        ),
    )
    .label(format!("{to} demands it"))
    .also(one, format!("{from} may send it without"));
    Some(Break::new(Rule::Capability, diagnostic).about([one, two]))
}

/// A request that has to run for the message that a receiver reads, and not for the one that its sender writes. If the
/// receiver has a message without a condition, it reads that one meanwhile.
fn only_during_of_reading(pairing: &Pairing<'_>, sender: Side, reading: &Reading) -> Option<Break> {
    let sent = pairing.version(sender).message(reading.sent)?;
    let receiver = pairing.version(sender.other());
    let read_as = receiver.message(reading.read_as)?;
    sent.table.condition.as_ref()?;
    if receiver.declarations.without_condition(reading.read_as).is_some() {
        return None;
    }
    let is_asked =
        |during: &&During| !sent.during.iter().any(|own| pairing.is_during_within(sender, own, during));
    let during = read_as.during.iter().find(is_asked)?;
    Some(only_during(pairing, sender, (reading.sent, reading.read_as), during))
}

/// Whether a side may grant capabilities while the session runs.
fn grants(version: &Version<'_>, side: Side) -> bool {
    version.declarations.indices().any(|index| {
        let grants = version.message(index).is_some_and(|message| message.table.grants.is_some());
        grants && version.senders(index).contains(&side)
    })
}

/// A capability that a receiver demands for a message.
struct Asked<'a> {
    pairing: &'a Pairing<'a>,
    sender: Side,
    sent: &'a Message,
    requirement: &'a Requirement,
}

impl Asked<'_> {
    fn wanted(&self) -> &[Text] {
        path(self.pairing.version(self.sender.other()), self.requirement)
    }

    /// Whether the sender asks for it, or for a part of it, wherever the receiver does.
    fn is_implied(&self) -> bool {
        let (version, wanted) = (self.pairing.version(self.sender), self.wanted());
        let whose = holder(self.requirement, self.sender);
        self.sent.table.requires.iter().any(|own| {
            holder(own, self.sender) == whose
                // To announce a part is to announce what is around it, to grant a part is not.
                && path(version, own).starts_with(wanted)
                && (path(version, own) == wanted || !grants(self.pairing.version(whose), whose))
                && match (&own.condition, &self.requirement.condition) {
                    (None, _) => true,
                    (Some(own_condition), Some(condition)) if own.unless == self.requirement.unless => {
                        // What is asked for in more cases is asked for in these.
                        if own.unless {
                            condition.covers(own_condition)
                        } else {
                            own_condition.covers(condition)
                        }
                    }
                    _ => false,
                }
        })
    }

    /// Whether the side that the capability is of has it by default for the sender, and not for the receiver, and may
    /// announce what is around it alone.
    fn is_by_default(&self) -> bool {
        let (pairing, wanted) = (self.pairing, self.wanted());
        let whose = holder(self.requirement, self.sender);
        let Some((_, around)) = wanted.split_last().filter(|(_, around)| !around.is_empty()) else {
            return false;
        };
        is_default(pairing.version(self.sender), whose, wanted)
            && !is_default(pairing.version(self.sender.other()), whose, wanted)
            && Announceable::new(pairing.version(whose), whose).may_announce_alone(whose, around)
    }

    /// Where the side that the capability is of announces it for the sender, if the sender may send the message before, and
    /// for the sender alone all gates are open until then.
    fn open_at_first(&self, message: MessageIndex) -> Option<Span> {
        let whose = holder(self.requirement, self.sender);
        let (version, receiver) =
            (self.pairing.version(self.sender), self.pairing.version(self.sender.other()));
        if is_open(receiver, whose) || !may_come_before_announcement((version, self.sender), message, whose) {
            return None;
        }
        let open = announcements_of(version, whose).find(|announced| announced.table.open);
        open.map(|announced| announced.message)
    }

    /// Whether the sender may write a payload for which the receiver demands it.
    fn may_apply(&self) -> bool {
        let shapes = &self.pairing.version(self.sender).shapes.declared;
        match (&self.requirement.condition, &self.sent.payload) {
            (Some(condition), PayloadType::Shape { index, .. }) if !self.requirement.unless => {
                may_hold(shapes, &Form::Named(*index), condition)
            }
            (Some(_), PayloadType::None) => self.requirement.unless,
            _ => true,
        }
    }
}

fn demanded(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, received): (MessageIndex, MessageIndex),
    requirement: &Requirement,
    span: Span,
) -> Break {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let what = pairing.words(sender, index);
    let whose = pairing.peer(holder(requirement, sender));
    let capability = dotted(path(pairing.version(sender.other()), requirement));
    let when = requirement.when().map(|when| format!(" ({when})")).unwrap_or_default();
    let whose = if whose == to { "it".to_owned() } else { whose.to_string() };
    let one = declared(pairing.version(sender), index);
    let diagnostic = Diagnostic::error(
        Rule::Capability.code(),
        span,
        format!("{to} accepts {what}{when} only if {whose} has announced `{capability}`, which {from} does not ask for"),
    )
    .label(format!("{to} demands it"))
    .also(one, format!("{from} may send it without"));
    Break::new(Rule::Capability, diagnostic).about([one, declared(pairing.version(sender.other()), received)])
}

/// A capability that its side has by default in the sender's file alone.
fn by_default(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, received): (MessageIndex, MessageIndex),
    requirement: &Requirement,
    span: Span,
) -> Break {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let what = pairing.words(sender, index);
    let wanted = path(pairing.version(sender.other()), requirement);
    let around = wanted.split_last().map(|(_, around)| dotted(around)).unwrap_or_default();
    let whose = holder(requirement, sender);
    let (capability, holder) = (dotted(wanted), pairing.peer(whose));
    let announcements =
        |side: Side| announcements_of(pairing.version(side), whose).next().map(|announced| announced.message);
    let one = declared(pairing.version(sender), index);
    let other = declared(pairing.version(sender.other()), received);
    let mut diagnostic = Diagnostic::error(
        Rule::Capability.code(),
        span,
        format!(
            "{from} may send {what} where {holder} has announced `{around}` and no part of it, which for {to} is not \
             `{capability}`"
        ),
    )
    .label(format!("{to} demands it"));
    if let Some(place) = announcements(sender) {
        diagnostic = diagnostic.also(place, format!("for {from} the default is `{capability}`"));
    }
    let places = [Side::Client, Side::Server].into_iter().filter_map(announcements);
    Break::new(Rule::Capability, diagnostic).about([one, other]).about(places)
}

/// A gate that is open until there is an announcement in the sender's file alone.
fn open_at_first(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, received): (MessageIndex, MessageIndex),
    (requirement, span): (&Requirement, Span),
    announced: Span,
) -> Break {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let what = pairing.words(sender, index);
    let capability = dotted(path(pairing.version(sender.other()), requirement));
    let holder = pairing.peer(holder(requirement, sender));
    let diagnostic = Diagnostic::error(
        Rule::Capability.code(),
        span,
        format!(
            "{from} may send {what} before {holder} has announced its capabilities, and {to} accepts it only after it has \
             announced `{capability}`"
        ),
    )
    .label(format!("{to} demands it from the start"))
    .also(announced, format!("for {from} every gate is open until this announcement"));
    let (one, other) =
        (declared(pairing.version(sender), index), declared(pairing.version(sender.other()), received));
    Break::new(Rule::Capability, diagnostic).about([one, other, announced])
}

fn only_during(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, received): (MessageIndex, MessageIndex),
    during: &During,
) -> Break {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let what = pairing.words(sender, index);
    let names: Vec<String> = during.names.iter().map(|(name, _)| format!("`{}`", name.text)).collect();
    let when = during.table.condition.as_ref().map(|condition| format!(" {condition}")).unwrap_or_default();
    let one = declared(pairing.version(sender), index);
    let diagnostic = Diagnostic::error(
        Rule::Capability.code(),
        during.span,
        format!(
            "{to} accepts {what} only while {}{when} runs, which {from} does not wait for",
            names.join(" or ")
        ),
    )
    .label(format!("{to} demands it"))
    .also(one, format!("{from} may send it at other times"));
    Break::new(Rule::Capability, diagnostic).about([one, declared(pairing.version(sender.other()), received)])
}
