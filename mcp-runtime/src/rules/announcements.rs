//! What each side announces that it can do: whether that is enough for the program, and whether it is handled.

use mcp_protocol_machine::Capabilities;
use mcp_protocol_machine::protocol::{
    Announcement, Gate, GateIndex, Holder, Kind, Message, MessageIndex, Path, Side, Text,
};

use super::names::{announced, applies};
use super::{Rules, version};
use crate::error::Error;
use crate::jsonrpc::RawPayload;
use crate::jsonrpc::path::{holds, texts};

/// A message was accepted: notes the version and the capabilities that it announces, if it does. Returns why the
/// program cannot work with that, if so. What this side announces goes to `own`, too.
pub(crate) fn note(
    rules: &mut Rules,
    message: MessageIndex,
    payload: Option<impl RawPayload>,
    incoming: bool,
    mut own: impl FnMut(&Rules),
) -> Vec<Error> {
    let mut failed = Vec::new();
    if rules.names.is_announcement(message) {
        note_announcement(rules, message, payload, incoming, &mut own, &mut failed);
    }
    if incoming {
        failed.extend(version::other_in_request(rules, message, payload));
        failed.extend(missing_in_request(rules, message, payload));
    }
    failed
}

fn note_announcement(
    rules: &mut Rules,
    message: MessageIndex,
    payload: Option<impl RawPayload>,
    incoming: bool,
    own: &mut impl FnMut(&Rules),
    failed: &mut Vec<Error>,
) {
    let mut protocol = rules.protocol.clone();
    if let Some(field) = protocol.announced_version() {
        failed.extend(version::note(rules, field, message, payload, incoming));
        if field.message == message {
            // The revision that governs now says which capabilities there are.
            protocol = rules.protocol.clone();
        }
    }
    for announcement in protocol.announcements.iter().filter(|place| place.message == Some(message)) {
        let capabilities = announced(&protocol, announcement, payload);
        let is_own = announcement.side == rules.side;
        if incoming && !is_own {
            failed.extend(missing(rules, announcement, payload, &capabilities));
        }
        rules.checker.announced(announcement.side, message, capabilities);
        if is_own {
            own(rules);
        }
    }
}

/// Notes what a message announces that nothing else follows from, because it is only observed or comes late. Its sender
/// has said it all the same, and goes by it.
pub(crate) fn note_capabilities(rules: &mut Rules, message: MessageIndex, payload: Option<impl RawPayload>) {
    let protocol = rules.protocol.clone();
    for place in protocol.announcements.iter().filter(|place| place.message == Some(message)) {
        let capabilities = announced(&protocol, place, payload);
        rules.checker.announced(place.side, message, capabilities);
    }
}

/// The peer has announced what it can do: whether that is all that the program requires.
pub(crate) fn missing(
    rules: &Rules,
    announcement: &Announcement,
    payload: Option<impl RawPayload>,
    granted: &Capabilities,
) -> Option<Error> {
    if rules.options.required().is_empty() {
        return None;
    }
    let announced = payload.and_then(|payload| payload.find(&announcement.path));
    // What is a gate is granted or not; anything else is there or not, by its parts.
    let there = |written: &str| match gate(rules, written) {
        Some(gate) => granted.grants(gate),
        None => {
            let path: Vec<Text> = written.split('.').map(|part| Text::Owned(part.to_owned())).collect();
            let part = announced.and_then(|announced| announced.find(&path));
            holds(part.as_ref().map(RawPayload::written))
        }
    };
    let required = rules.options.required().iter().filter(|required| !there(required));
    let missing: Vec<String> = required.map(ToString::to_string).collect();
    if missing.is_empty() {
        return None;
    }
    Some(Error::MissingCapabilities { side: announcement.side, missing })
}

/// The error for a request of the peer that does not announce what this side requires, where each request of the peer
/// announces what it can do.
pub(crate) fn missing_in_request(
    rules: &Rules,
    message: MessageIndex,
    params: Option<impl RawPayload>,
) -> Option<Error> {
    if rules.options.required().is_empty() {
        return None;
    }
    rules.message(message).filter(|table| table.kind == Kind::Request)?;
    let peer = rules.side.other();
    let place = rules.protocol.announcement_of_each_request(peer)?;
    missing(rules, place, params, &announced(&rules.protocol, place, params))
}

/// What a message of a side grants, and what it revokes; nothing for most messages.
pub(crate) fn changes(
    rules: &Rules,
    side: Side,
    message: MessageIndex,
    params: Option<impl RawPayload>,
) -> (Option<Capabilities>, Option<Capabilities>) {
    let Some(table) = rules.message(message) else { return (None, None) };
    if table.grants.is_none() && table.revokes.is_none() {
        return (None, None);
    }
    let named = |path: &Option<Path>| {
        let named = texts(params?.written(), path.as_ref()?);
        Some(Capabilities::named(&rules.protocol, side, named.iter().map(String::as_str)))
    };
    (named(&table.grants), named(&table.revokes))
}

/// The program says that a side can do more, or less, than before. Returns whether a message needs the capability.
pub(crate) fn change(rules: &mut Rules, side: Side, written: &str, grants: bool) -> bool {
    let Some(gate) = gate(rules, written) else { return false };
    let capabilities = Capabilities::from_gates([gate]);
    match grants {
        true => rules.checker.grant(side, &capabilities),
        false => rules.checker.revoke(side, &capabilities, None),
    }
    true
}

/// What a request of a side grants for as long as it runs: what it announces, if each request of that side does, and
/// what is permitted during it.
pub(crate) fn announces(
    rules: &Rules,
    side: Side,
    request: MessageIndex,
    params: Option<impl RawPayload>,
) -> Option<Capabilities> {
    let place = rules.protocol.announcement_of_each_request(side);
    let announced = place.map(|place| announced(&rules.protocol, place, params));
    if !rules.names.may_grant(request) {
        return announced;
    }
    let during = Capabilities::from_gates(rules.protocol.granted_during(request, applies(params)));
    match announced {
        Some(announced) if !during.is_none() => Some(announced.join(&during)),
        None if !during.is_none() => Some(during),
        announced => announced,
    }
}

/// The gate that is written so.
fn gate(rules: &Rules, written: &str) -> Option<GateIndex> {
    let mut gates = (0..=u16::MAX).map(GateIndex).zip(rules.protocol.gates.iter());
    gates.find(|(_, gate)| gate.during.is_none() && gate.to_string() == written).map(|(index, _)| index)
}

/// Whether a reply to a request announces capabilities or a version, by which other messages are judged.
pub(crate) fn reply_announces(rules: &Rules, request: MessageIndex) -> bool {
    let announces = |message: MessageIndex| {
        rules.message(message).is_some_and(|table| table.kind == Kind::Reply { request })
    };
    let mut places = rules.protocol.announcements.iter().filter_map(|announcement| announcement.message);
    places.any(announces) || rules.protocol.announced_version().is_some_and(|field| announces(field.message))
}

/// Whether a request of a capability has a handler, where these have none. A server that lists resources need not
/// have templates of them. What belongs to a sub-session by a key says nothing: its value may be what handles it.
pub(crate) fn handles_some(rules: &Rules, capability: &str, unhandled: &[MessageIndex]) -> bool {
    (0..=u16::MAX).map(MessageIndex).zip(rules.protocol.messages.iter()).any(|(index, table)| {
        table.kind == Kind::Request
            && table.keys.is_empty()
            && !unhandled.contains(&index)
            && announced_for(rules, table).is_some_and(|known| known == capability)
    })
}

/// Whether this side has said what it can do. Where everything is open until then, it may have said nothing yet.
pub(crate) fn has_announced(rules: &Rules) -> bool {
    !(rules.checker.capabilities(rules.side).is_unknown()
        && rules.protocol.is_open_until_announced(rules.side))
}

/// The capability by which this side has said that it handles a request; nothing if it needs none, or if one that it
/// always needs was not announced. Of several it is the last one, which says most.
pub(crate) fn announced_for(rules: &Rules, request: &Message) -> Option<String> {
    let always = request.requires.iter().filter(|requirement| requirement.condition.is_none());
    let own = always.filter(|requirement| match requirement.holder {
        Holder::Side(side) => side == rules.side,
        Holder::Receiver => true,
        Holder::Sender => false,
    });
    if !has_announced(rules) {
        return None;
    }
    let granted = rules.checker.capabilities(rules.side);
    let mut last = None;
    let is_announced = |gate: &Gate| gate.during.is_none();
    for requirement in own.filter(|own| rules.protocol.gate(own.gate).is_some_and(is_announced)) {
        if !granted.grants(requirement.gate) {
            return None;
        }
        last = Some(requirement.gate);
    }
    let gate = rules.protocol.gate(last?)?;
    Some(gate.path.join("."))
}
