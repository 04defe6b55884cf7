//! Capabilities that a side grants or revokes by the method of a message: which ones each of the two files means by it.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Holder, Kind, MessageIndex, Side, Text};

use super::announced::{dotted, holder, path};
use super::found::{Break, Pairing, Rule, declared};
use super::version::Version;
use crate::diagnostic::Diagnostic;

/// A capability, as the names of nested fields.
type Capability<'a> = &'a [Text];

/// Compares what the methods stand for by which a side may grant capabilities, or revoke them.
pub(super) fn compare(pairing: &Pairing<'_>) -> Vec<Break> {
    let mut found = Vec::new();
    for granter in [Side::Client, Side::Server] {
        let version = pairing.version(granter);
        for index in version.declarations.indices() {
            let Some(message) = version.message(index) else { continue };
            let is_granting = message.table.grants.is_some() || message.table.revokes.is_some();
            let is_known = pairing.received_as(granter, index).is_some();
            if !is_granting || !is_known || !version.senders(index).contains(&granter) {
                continue;
            }
            let of_method = methods(version).into_iter();
            found.extend(of_method.filter_map(|method| differs(pairing, granter, index, method)));
        }
    }
    found
}

/// Whether a message may break because its sender grants capabilities with it, or revokes them, and its receiver does not
/// know, or the other way round.
pub(super) fn matters(pairing: &Pairing<'_>, granter: Side, is_revoked: bool, of: [bool; 2]) -> bool {
    let sender = match of {
        [true, true] => return true,
        [false, false] => return false,
        // What is granted for the granter alone, it uses; what is revoked for it alone, the other side goes on using.
        [for_granter, _] if for_granter == is_revoked => granter.other(),
        _ => granter,
    };
    !required(pairing, sender, granter).is_empty()
}

fn methods<'a>(version: &Version<'a>) -> BTreeSet<&'a str> {
    let messages = version.declarations.indices().filter_map(|index| version.message(index));
    messages
        .filter(|message| !message.table.requires.is_empty())
        .map(|message| &*message.table.method)
        .collect()
}

/// What a method stands for: every capability that its messages require of a side.
fn meant<'a>(version: &Version<'a>, side: Side, method: &str) -> BTreeSet<Capability<'a>> {
    let messages = version.declarations.indices().filter_map(|index| version.message(index));
    let of_method = messages.filter(|message| {
        matches!(message.table.kind, Kind::Request | Kind::Notification) && message.table.method == method
    });
    let requires = of_method.flat_map(|message| message.table.requires.iter());
    let of_side = requires.filter(|requirement| match requirement.holder {
        Holder::Side(holder) => holder == side,
        Holder::Sender | Holder::Receiver => true,
    });
    of_side.map(|requirement| path(version, requirement)).collect()
}

/// What the receiver of the messages of a side requires of the granter for them.
fn required<'a>(pairing: &Pairing<'a>, sender: Side, granter: Side) -> BTreeSet<Capability<'a>> {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let known = version.declarations.indices().filter_map(|index| {
        let received = pairing.received_as(sender, index)?;
        version.senders(index).contains(&sender).then(|| receiver.message(received))?
    });
    let requires = known.flat_map(|message| message.table.requires.iter());
    let of_granter = requires.filter(|requirement| holder(requirement, sender) == granter);
    of_granter.map(|requirement| path(receiver, requirement)).collect()
}

/// What the reader requires of the granter for messages of its own that the granter does not know: granted, they are sent.
fn required_of_unknown<'a>(pairing: &Pairing<'a>, granter: Side) -> BTreeSet<Capability<'a>> {
    let sender = granter.other();
    let version = pairing.version(sender);
    let unknown = version.declarations.indices().filter(|index| {
        version.senders(*index).contains(&sender) && pairing.received_as(sender, *index).is_none()
    });
    let requires =
        unknown.filter_map(|index| version.message(index)).flat_map(|message| message.table.requires.iter());
    let of_granter = requires.filter(|requirement| holder(requirement, sender) == granter);
    of_granter.map(|requirement| path(version, requirement)).collect()
}

fn differs(pairing: &Pairing<'_>, granter: Side, index: MessageIndex, method: &str) -> Option<Break> {
    let (version, reader) = (pairing.version(granter), pairing.version(granter.other()));
    let (own, theirs) = (meant(version, granter, method), meant(reader, granter, method));
    if own.is_empty() {
        return None;
    }
    let table = &version.message(index)?.table;
    let of_granter = required(pairing, granter, granter);
    let mut of_reader = required(pairing, granter.other(), granter);
    of_reader.extend(required_of_unknown(pairing, granter));
    let is_missed = |more: &BTreeSet<Capability<'_>>,
                     less: &BTreeSet<Capability<'_>>,
                     needed: &BTreeSet<Capability<'_>>| {
        more.difference(less).any(|capability| needed.contains(capability))
    };
    // What is granted for its sender alone, the sender uses; what is revoked for its reader alone, too.
    let grants = table.grants.is_some()
        && (is_missed(&own, &theirs, &of_granter) || is_missed(&theirs, &own, &of_reader));
    let revokes = table.revokes.is_some()
        && (is_missed(&own, &theirs, &of_reader) || is_missed(&theirs, &own, &of_granter));
    if !grants && !revokes {
        return None;
    }
    let (from, to) = (pairing.peer(granter), pairing.peer(granter.other()));
    let verb = if grants { "grant" } else { "revoke" };
    let words = |capabilities: &BTreeSet<Capability<'_>>| {
        let words: Vec<String> =
            capabilities.iter().map(|capability| format!("`{}`", dotted(capability))).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(" and ") }
    };
    let (one, other) = (declared(version, index), declared(reader, pairing.received_as(granter, index)?));
    let diagnostic = Diagnostic::error(
        Rule::Tie.code(),
        one,
        format!("{from} may {verb} capabilities by the method `{method}`, which stands for others for {to}"),
    )
    .label(format!("{from}: it stands for {}", words(&own)))
    .also(other, format!("{to}: it stands for {}", words(&theirs)))
    .with_note("a method stands for every capability that messages of this method require of the side that grants it");
    Some(Break::new(Rule::Tie, diagnostic).about([one, other]))
}
