//! What every message is like, and where revisions and capabilities are announced.

use mcp_protocol_machine::protocol::{Announcement, Dialect, Kind, MessageIndex, Side, VersionField};

use super::announced::dotted;
use super::found::{Break, Pairing, Rule, declared};
use super::version::{Age, Version};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Compares the files as wholes.
pub(super) fn compare(pairing: &Pairing<'_>) -> Vec<Break> {
    let mut found = Vec::new();
    for sender in [Side::Client, Side::Server] {
        found.extend(form(pairing, sender));
        found.extend(announcement(pairing, sender));
    }
    found.extend(version_field(pairing));
    found
}

fn error(one: Span, message: String, label: &str, other: Span, text: &str) -> Break {
    let diagnostic = Diagnostic::error(Rule::Envelope.code(), one, message)
        .label(label.to_owned())
        .also(other, text.to_owned());
    Break::new(Rule::Envelope, diagnostic).about([one, other])
}

fn protocol(version: &Version<'_>) -> Span {
    let role = || version.client.as_ref().or(version.server.as_ref()).map(|role| role.span);
    version.declarations.name.as_ref().map(|name| name.span).or_else(role).unwrap_or_default()
}

fn sends_requests(version: &Version<'_>, sender: Side) -> bool {
    let mut requests = version
        .declarations
        .indices()
        .filter(|index| version.message(*index).is_some_and(|message| message.table.kind == Kind::Request));
    requests.any(|request| version.senders(request).contains(&sender))
}

/// The version of JSON-RPC, batches, and ids that are used again.
fn form(pairing: &Pairing<'_>, sender: Side) -> Vec<Break> {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let (one, other) = (protocol(version), protocol(receiver));
    let mut found = Vec::new();
    let (written, read) = (version.declarations.dialect, receiver.declarations.dialect);
    match (written, read) {
        // Of JSON-RPC 1.0, a side reads what is left out, too.
        (Dialect::Standard, _)
        | (_, Dialect::Version1)
        | (Dialect::WithoutJsonrpc, Dialect::WithoutJsonrpc) => {}
        (Dialect::WithoutJsonrpc, Dialect::Standard) => {
            let message = format!("{from} writes messages without the member `jsonrpc`, which {to} refuses");
            found.push(error(one, message, "`without jsonrpc`", other, "messages have the member"));
        }
        (Dialect::Version1, Dialect::Standard | Dialect::WithoutJsonrpc) => {
            let message = format!("{from} writes messages of JSON-RPC 1.0, which {to} refuses");
            found.push(error(one, message, "`jsonrpc \"1.0\"`", other, "messages are of JSON-RPC 2.0"));
        }
    }
    if version.declarations.batch && !receiver.declarations.batch {
        let message = format!("{from} may send batches, which {to} refuses");
        found.push(error(one, message, "`batch`", other, "no batches"));
    }
    if version.declarations.reuses_ids && !receiver.declarations.reuses_ids && sends_requests(version, sender)
    {
        let message = format!("{from} may use the id of an earlier request again, which {to} refuses");
        found.push(error(one, message, "`reuses ids`", other, "each id is used once"));
    }
    found
}

/// Where a side announces its capabilities, for a reader who looks for them.
fn announcement(pairing: &Pairing<'_>, side: Side) -> Option<Break> {
    let (version, reader) = (pairing.version(side), pairing.version(side.other()));
    let find = |version: &Version<'_>| -> Vec<(Announcement, Span)> {
        let of_side = version.declarations.announcements.iter().filter(|found| found.table.side == side);
        of_side.map(|found| (found.table.clone(), found.message)).collect()
    };
    let (own, read) = (find(version), find(reader));
    let (Some((_, one)), Some((_, other))) = (own.first(), read.first()) else { return None };
    let places = |version: &Version<'_>, all: &[(Announcement, Span)]| {
        let place = |(announcement, _): &(Announcement, Span)| {
            let number = |index: MessageIndex| pairing.wire.common(version.age, index);
            (announcement.message.map(number), announcement.path.to_vec())
        };
        all.iter().map(place).collect::<Vec<_>>()
    };
    if places(version, &own).iter().all(|place| places(reader, &read).contains(place)) {
        return None;
    }
    let word = |version: &Version<'_>, all: &[(Announcement, Span)]| {
        let one = |(announcement, _): &(Announcement, Span)| match announcement.message {
            Some(message) => format!("`{}.{}`", version.name(message), dotted(&announcement.path)),
            None => format!("`{}` of each request", dotted(&announcement.path)),
        };
        all.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let (from, to) = (pairing.peer(side), pairing.peer(side.other()));
    let (at, looked_at) = (word(version, &own), word(reader, &read));
    let message =
        format!("{from} announces its capabilities in {at}, and {to} looks for them in {looked_at}");
    Some(error(*one, message, "announced here", *other, "looked for here"))
}

/// Where a version says that messages announce its revision.
pub(super) fn place_of_version(version: &Version<'_>, field: &VersionField) -> String {
    match field {
        VersionField::Message(field) => {
            format!("`{}.{}`", version.name(field.message), dotted(&field.path))
        }
        VersionField::EachRequest(place) => format!("`{}` of each request", dotted(&place.path)),
    }
}

/// Where the revision is announced, and as what.
fn version_field(pairing: &Pairing<'_>) -> Option<Break> {
    let (client, server) = (pairing.client.declarations, pairing.server.declarations);
    let (one, other) = (client.version_field.as_ref()?, server.version_field.as_ref()?);
    let number = |version: &Version<'_>, index| pairing.wire.common(version.age, index);
    let is_same_place = match (one, other) {
        (VersionField::Message(one), VersionField::Message(other)) => {
            number(pairing.client, one.message) == number(pairing.server, other.message)
                && one.path == other.path
        }
        (VersionField::EachRequest(one), VersionField::EachRequest(other)) => one.path == other.path,
        _ => false,
    };
    let (from, to) = (pairing.peer(Side::Client), pairing.peer(Side::Server));
    if !is_same_place {
        let message = format!(
            "{from} takes the revision from {}, and {to} from {}",
            place_of_version(pairing.client, one),
            place_of_version(pairing.server, other)
        );
        let at = |version: &Version<'_>, field: &VersionField| match field {
            VersionField::Message(field) => (declared(version, field.message), "in this message"),
            VersionField::EachRequest(_) => (protocol(version), "in each request"),
        };
        let ((first, label), (second, text)) = (at(pairing.client, one), at(pairing.server, other));
        return Some(error(first, message, label, second, text));
    }
    if client.numeric_version != server.numeric_version {
        let word = |numeric: bool| if numeric { "a number" } else { "a text" };
        let message = format!(
            "the revision is {} for {from} and {} for {to}",
            word(client.numeric_version),
            word(server.numeric_version)
        );
        return Some(error(protocol(pairing.client), message, "", protocol(pairing.server), ""));
    }
    // One note for both pairs of roles.
    if client.version == server.version || pairing.age(Side::Client) == Age::New {
        return None;
    }
    let text =
        |version: &Version<'_>| version.declarations.version.clone().unwrap_or_else(|| "none".to_owned());
    let diagnostic = Diagnostic::note(
        Rule::Envelope.code(),
        protocol(pairing.client),
        format!(
            "the old file is revision {} and the new one {}: peers that negotiate a revision speak one of them, and this \
             compares what happens if each keeps to its own file",
            text(pairing.client),
            text(pairing.server)
        ),
    )
    .also(protocol(pairing.server), "");
    Some(Break::new(Rule::Envelope, diagnostic))
}
