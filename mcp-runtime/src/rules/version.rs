//! The version of the protocol, and announcements that the program cannot work with.
//!
//! The program gets the negotiation error in place of the payload, and decides what follows.

use mcp_protocol_machine::Violation;
use mcp_protocol_machine::protocol::{Field, Kind, MessageIndex, Text};
use serde_json::{Map, Value, json};

use super::names::Names;
use super::{NAMES, Rules};
use crate::error::{AnnouncedVersion, Error, MismatchError};
use crate::jsonrpc::{Envelope, RawPayload, RpcError, parse};

/// Notes which version is asked for, and looks at the one that the peer announces.
pub(crate) fn note(
    rules: &mut Rules,
    field: &Field,
    message: MessageIndex,
    payload: Option<impl RawPayload>,
    incoming: bool,
) -> Option<Error> {
    // A request whose reply announces the version says at the same place which one it asks for.
    let reply = rules.message(field.message);
    if reply.is_some_and(|reply| reply.kind == Kind::Reply { request: message }) {
        let asked = at(rules, field, payload);
        rules.negotiation.ask(asked.as_deref());
    }
    if field.message != message {
        return None;
    }
    let version = at(rules, field, payload);
    let requested = rules.negotiation.take_requested();
    let mut negotiation = None;
    if incoming {
        negotiation = look_at(rules, version.clone(), requested);
    }
    if let Some(version) = version.as_deref() {
        rules.negotiation.agree(Some(Text::Owned(version.to_owned())));
        govern(rules, version);
    }
    negotiation
}

/// The version that a payload announces or asks for.
pub(crate) fn at(rules: &Rules, field: &Field, payload: Option<impl RawPayload>) -> AnnouncedVersion {
    let found = payload.and_then(|payload| payload.find(&field.path));
    AnnouncedVersion::read(found.as_ref().map(RawPayload::written), rules.protocol.numeric_version)
}

/// The version that was agreed on; in a session that began elsewhere, from the start.
pub(crate) fn agreed(rules: &Rules) -> Option<Text> {
    rules.negotiation.agreed().cloned()
}

/// The violation of a session, said of a version that this side accepts. Until one is agreed on, the tables are those
/// of the program, whose version it may not accept: then it is said of the latest that it does.
pub(crate) fn said_of_accepted(rules: &Rules, violation: Violation) -> Violation {
    if agreed(rules).is_some() {
        return violation;
    }
    let accepted = rules.options.accepted_versions(&rules.protocol).unwrap_or_default();
    match accepted.last() {
        Some(latest) if !is_among(&accepted, violation.version.as_deref()) => {
            violation.in_version(latest.clone())
        }
        _ => violation,
    }
}

/// The version that a reply of the peer announces, if it announces one.
pub(crate) fn of_reply(rules: &Rules, reply: &[u8]) -> Option<String> {
    let Ok(Envelope::Result { result, .. }) = parse(reply, rules.options.max_depth, rules.dialect()) else {
        return None;
    };
    let field = rules.protocol.announced_version()?;
    at(rules, field, Some(result)).as_deref().map(str::to_owned)
}

/// The version that a request of this side asks for, if its reply announces one.
pub(crate) fn asked_by(rules: &Rules, request: &[u8]) -> Option<String> {
    let field = rules.protocol.announced_version()?;
    let Kind::Reply { request: asks } = rules.message(field.message)?.kind else { return None };
    let Ok(Envelope::Request { method, params, .. }) =
        parse(request, rules.options.max_depth, rules.dialect())
    else {
        return None;
    };
    let is_it = *rules.method(asks) == *method;
    at(rules, field, params.filter(|_| is_it)).as_deref().map(str::to_owned)
}

/// The peer has announced a version, or none: whether this side speaks it.
pub(crate) fn look_at(rules: &Rules, offered: AnnouncedVersion, requested: Option<String>) -> Option<Error> {
    let accepted = rules.options.accepted_versions(&rules.protocol)?;
    if is_among(&accepted, offered.as_deref()) {
        return None;
    }
    let accepted = accepted.iter().map(ToString::to_string).collect();
    Some(Error::Version { requested, offered, accepted })
}

/// The error for a request of the peer that says a version which this side does not speak, where each request says its
/// own. What says none has nothing to judge: whether it may, the type of its params says.
pub(crate) fn other_in_request(
    rules: &Rules,
    message: MessageIndex,
    params: Option<impl RawPayload>,
) -> Option<Error> {
    let offered = of_request(rules, message, params)?;
    let accepted = rules.options.accepted_versions(&rules.protocol)?;
    // The latest one is listed last, and a client should read it first.
    let accepted = accepted.iter().rev().map(ToString::to_string).collect();
    Some(Error::Version { requested: None, offered, accepted })
}

/// The version that a request says, if it says one, and this side does not speak it.
fn of_request(
    rules: &Rules,
    message: MessageIndex,
    params: Option<impl RawPayload>,
) -> Option<AnnouncedVersion> {
    let place = rules.protocol.version_of_each_request()?;
    rules.message(message).filter(|table| table.kind == Kind::Request)?;
    let said = params?.find(&place.path)?;
    let plain = said.written().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let plain = plain.filter(|text| !rules.protocol.numeric_version && !text.contains('\\'));
    if plain.is_some_and(|version| rules.options.speaks_by_request(&rules.protocol, Some(version))) {
        // Most are, and are not copied.
        return None;
    }
    let version = AnnouncedVersion::read(Some(said.written()), rules.protocol.numeric_version);
    let is_spoken = rules.options.speaks_by_request(&rules.protocol, version.as_deref());
    (!is_spoken).then_some(version)
}

/// The error that answers a request whose announcement this side cannot work with.
pub(crate) fn answer_to(rules: &Rules, unusable: &Error) -> RpcError {
    let answer = unusable.as_answer();
    let (answer, code) = match unusable {
        // What is not a version makes the params invalid.
        Error::Version { offered: AnnouncedVersion::Named(_), .. } => {
            (answer, rules.protocol.version_of_each_request().and_then(|place| place.error))
        }
        Error::MissingCapabilities { side, missing } => {
            match rules.protocol.announcement_of_each_request(*side) {
                Some(place) => (answer.with_data(required_capabilities(missing)), place.error),
                None => (answer, None),
            }
        }
        _ => (answer, None),
    };
    RpcError { code: code.unwrap_or(answer.code), ..answer }
}

/// The revision of a version governs from here on, if it is another one that this side speaks.
pub(crate) fn govern(rules: &mut Rules, version: &str) {
    if rules.protocol.version.as_deref() == Some(version) {
        return;
    }
    if let Some(protocol) = rules.options.governed(&rules.protocol, version) {
        rules.names = NAMES.of(&protocol, Names::new);
        rules.checker.govern(&protocol);
        rules.protocol = protocol;
    }
}

/// Whether this side may give the answer to a request that announces a version: with the version that the request
/// asked for, if this side speaks it, and else with one that it speaks.
pub(crate) fn check_reply(rules: &Rules, request: MessageIndex, written: &str) -> Result<(), Error> {
    let Some(field) = rules.protocol.announced_version() else { return Ok(()) };
    let requested = rules.negotiation.requested();
    // Hardly any reply announces a version.
    if requested.is_none() && rules.negotiation.agreed().is_some() {
        return Ok(());
    }
    let asks = rules.message(field.message).map(|table| table.kind);
    let versions = rules.options.accepted_versions(&rules.protocol);
    let (Some(versions), true) = (versions, asks == Some(Kind::Reply { request })) else { return Ok(()) };
    let announced = at(rules, field, Some(written));
    let versions = match requested.filter(|_| is_among(&versions, requested)) {
        Some(requested) => vec![requested.to_owned()],
        None => versions.iter().map(ToString::to_string).collect(),
    };
    if announced.as_deref().is_some_and(|announced| versions.iter().any(|one| one == announced)) {
        return Ok(());
    }
    let message = rules.name(field.message);
    Err(Error::Mismatch { message, problem: MismatchError::Version { announced, versions } })
}

/// Whether a request may ask for the version that it asks for: the peer may agree to it.
pub(crate) fn check_asked(
    rules: &Rules,
    message: MessageIndex,
    params: Option<impl RawPayload>,
) -> Result<(), Error> {
    if let Some(version) = of_request(rules, message, params) {
        let accepted = rules.options.accepted_versions(&rules.protocol).unwrap_or_default();
        let accepted = accepted.iter().map(ToString::to_string).collect();
        // The type of the params says what else may stand there.
        let AnnouncedVersion::Named(version) = version else { return Ok(()) };
        let problem = MismatchError::Asks { version, accepted };
        return Err(Error::Mismatch { message: rules.name(message), problem });
    }
    let Some(field) = rules.protocol.announced_version() else { return Ok(()) };
    let announces = rules.message(field.message).map(|table| table.kind);
    if announces != Some(Kind::Reply { request: message }) {
        return Ok(());
    }
    let Some(versions) = rules.options.accepted_versions(&rules.protocol) else { return Ok(()) };
    match at(rules, field, params).as_deref() {
        Some(version) if !is_among(&versions, Some(version)) => {
            let accepted = versions.iter().map(ToString::to_string).collect();
            let problem = MismatchError::Asks { version: version.to_owned(), accepted };
            Err(Error::Mismatch { message: rules.name(message), problem })
        }
        _ => Ok(()),
    }
}

/// What a request has to announce as well, in the form in which it announces.
fn required_capabilities(missing: &[String]) -> Value {
    let mut required = Map::new();
    for path in missing {
        let mut inner = &mut required;
        for part in path.split('.') {
            let part = inner.entry(part).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(parts) = part else { break };
            inner = parts;
        }
    }
    json!({ "requiredCapabilities": required })
}

fn is_among(versions: &[Text], version: Option<&str>) -> bool {
    version.is_some_and(|version| versions.iter().any(|other| **other == *version))
}
