//! Cancels and progress: notifications that belong to a request without being a step, and the tokens of requests.

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Path, Side};

use super::announced::{AllWithheld, dotted};
use super::found::{Break, Pairing, Rule, declared};
use super::version::Version;
use crate::declarations::restrict::may_identify;
use crate::declarations::{Form, PayloadType};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Compares which notifications about requests a side may send, and which fields are tokens.
pub(super) fn compare(pairing: &Pairing<'_>, withheld: &[AllWithheld; 2]) -> Vec<Break> {
    let mut found = Vec::new();
    for (sender, withheld) in [(Side::Client, &withheld[0]), (Side::Server, &withheld[1])] {
        let version = pairing.version(sender);
        let is_withheld = |index: &MessageIndex| withheld.get(index).is_some_and(|withheld| withheld.always);
        for index in version.declarations.indices().filter(|index| !is_withheld(index)) {
            found.extend(unknown(pairing, sender, index));
            found.extend(used_twice(pairing, sender, index));
        }
    }
    found
}

/// Whether a request of a side is one of the other file, too.
fn is_exchanged(pairing: &Pairing<'_>, sender: Side, index: MessageIndex) -> bool {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let received = pairing.received_as(sender, index);
    version.senders(index).contains(&sender)
        && received.is_some_and(|received| receiver.senders(received).contains(&sender))
}

fn requests<'a>(version: &'a Version<'_>) -> impl Iterator<Item = MessageIndex> + use<'a> {
    let is_request = |index: &MessageIndex| {
        version.message(*index).is_some_and(|message| message.table.kind == Kind::Request)
    };
    version.declarations.indices().filter(is_request)
}

/// Whether a request of a file may have a token at a path.
fn may_have_token(version: &Version<'_>, request: MessageIndex, path: &Path) -> bool {
    match version.message(request).map(|message| &message.payload) {
        Some(PayloadType::Shape { index, .. }) => {
            may_identify(&version.shapes.declared, &Form::Named(*index), path)
        }
        _ => false,
    }
}

/// A cancel or progress that is not a message of the receiver's file. As a step it is one that order compares.
fn unknown(pairing: &Pairing<'_>, sender: Side, index: MessageIndex) -> Option<Break> {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let table = &version.message(index)?.table;
    let is_step = version.role(sender)?.states.iter().flat_map(|state| &state.edges);
    let mut is_step = is_step.filter(|edge| edge.direction == Direction::Send && edge.cancels.is_none());
    let number = pairing.wire.common(version.age, index)?;
    if pairing.received_as(sender, index).is_some()
        || is_step.any(|edge| edge.message == index)
        || pairing.is_of_pattern(sender, number)
    {
        return None;
    }
    let (request, why): (Span, &str) = match (&table.cancels, &table.reports) {
        (Some(_), _) => {
            let request = requests(version).find(|request| {
                let is_cancellable = |version: &Version<'_>, request: MessageIndex| {
                    version.message(request).is_some_and(|message| message.table.cancellable)
                };
                let received = pairing.received_as(sender, *request);
                is_exchanged(pairing, sender, *request)
                    && is_cancellable(version, *request)
                    && received.is_some_and(|received| is_cancellable(receiver, received))
            })?;
            (declared(version, request), "it may cancel this request")
        }
        (None, Some(reports)) => {
            let request = requests(receiver).find(|request| {
                is_exchanged(pairing, sender.other(), *request)
                    && reports.of.iter().any(|path| may_have_token(receiver, *request, path))
            })?;
            (declared(receiver, request), "it may report on this request, which may carry a token")
        }
        (None, None) => return None,
    };
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let what = pairing.words(sender, index);
    let one = declared(version, index);
    let diagnostic = Diagnostic::error(
        Rule::Message.code(),
        one,
        format!("{from} may send {what}, which {to} does not know"),
    )
    .label(format!("{from} may send it while a request runs"))
    .also(request, why)
    .with_note(format!("{to} drops it and reports it"));
    Some(Break::new(Rule::Message, diagnostic).about([one]))
}

/// A field that is a token for the receiver alone, so that its sender may use one value in two running requests.
fn used_twice(pairing: &Pairing<'_>, sender: Side, index: MessageIndex) -> Option<Break> {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let message = version.message(index)?;
    if message.table.kind != Kind::Request || !is_exchanged(pairing, sender, index) {
        return None;
    }
    let (reports, path) = receiver.declarations.indices().find_map(|reports| {
        let of = receiver.message(reports)?.table.reports.as_ref()?;
        let path =
            of.of.iter().find(|path| !version.has_token_at(path) && may_have_token(version, index, path))?;
        Some((reports, path))
    })?;
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let (what, field) = (pairing.words(sender, index), dotted(path));
    let (one, other) = (declared(version, index), declared(receiver, reports));
    let diagnostic = Diagnostic::error(
        Rule::Tie.code(),
        one,
        format!(
            "{from} may send {what} with the `{field}` of a request that still runs, which {to} refuses: it is a token"
        ),
    )
    .label(format!("for {from} `{field}` is a field like others"))
    .also(other, format!("for {to} it is the token of progress, and belongs to one running request"));
    Some(Break::new(Rule::Tie, diagnostic).about([one, other]))
}
