//! Payloads: whether each receiver accepts what the sender may write.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::{Kind, MessageIndex, Payload, Side};
use mcp_protocol_machine::shape::Sample;

use super::announced::AllWithheld;
use super::found::{Break, Pairing, Rule, declared};
use super::readings::{Meets, met_if_sent, readings, restricted_by};
use super::shapes::{Refusal, compare};
use crate::declarations::restrict::{any_params, is_met};
use crate::declarations::{Form, Message, PayloadType, Record};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// How many messages of one finding are named.
const NAMED: usize = 4;

/// Compares the payloads of a pairing, in both directions. What the shapes of several messages have in common is found
/// once.
pub(super) fn compare_all(pairing: &Pairing<'_>, withheld: &[AllWithheld; 2]) -> Vec<Break> {
    let mut found = Vec::new();
    for (sender, withheld) in [(Side::Client, &withheld[0]), (Side::Server, &withheld[1])] {
        let mut by_place: BTreeMap<CommonPlace, Misfit> = BTreeMap::new();
        for (index, received, meets) in exchanged(pairing, sender, withheld) {
            let (refusals, note) = of_message(pairing, sender, (index, received), &meets, withheld);
            found.extend(note);
            for refused in refusals {
                let refusal = &refused.refusal;
                let place = CommonPlace {
                    sender: refusal.sender.map(key),
                    receiver: refusal.receiver.map(key),
                    expected: refusal.expected.clone(),
                    found: refusal.found.clone(),
                    // Without a place in a shape, messages have nothing in common.
                    message: if refusal.sender.is_none() && refusal.receiver.is_none() {
                        Some(index.0)
                    } else {
                        None
                    },
                };
                let known = by_place.entry(place);
                known
                    .or_insert_with(|| Misfit { refused, messages: Vec::new() })
                    .messages
                    .push((index, received));
            }
        }
        let mut all: Vec<Misfit> = by_place.into_values().collect();
        all.sort_by_key(|found| {
            (found.messages.first().map(|(index, _)| *index), found.refused.refusal.path.clone())
        });
        found.extend(all.iter().map(|found| report(pairing, sender, found)));
    }
    found
}

/// What several messages have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CommonPlace {
    sender: Option<(u32, u32)>,
    receiver: Option<(u32, u32)>,
    expected: String,
    found: String,
    message: Option<u16>,
}

fn key(span: Span) -> (u32, u32) {
    (span.file.0, span.start)
}

/// A refusal with a payload that shows it, if the one that was found is really sent and read so: a shape does not say all
/// that conditions ask.
struct Refused {
    refusal: Refusal,
    witness: Option<Sample>,
}

impl Refused {
    fn new(refusal: Refusal, meets: &Meets) -> Refused {
        let is_sent = meets.iter().all(|(condition, meets)| is_met(&refusal.witness, condition) == *meets);
        Refused { witness: is_sent.then(|| refusal.witness.clone()), refusal }
    }
}

struct Misfit {
    refused: Refused,
    messages: Vec<(MessageIndex, MessageIndex)>,
}

/// The messages that a side sends and its peer takes, each by its index in both files, and which of its payloads the peer
/// reads so.
fn exchanged(
    pairing: &Pairing<'_>,
    sender: Side,
    withheld: &AllWithheld,
) -> Vec<(MessageIndex, MessageIndex, Meets)> {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let indices = version.declarations.indices();
    let both = indices.filter_map(|index| Some((index, pairing.received_as(sender, index)?)));
    let is_exchanged = |index: &MessageIndex, received: &MessageIndex| {
        !withheld.get(index).is_some_and(|withheld| withheld.always)
            && version.senders(*index).contains(&sender)
            && receiver.senders(*received).contains(&sender)
    };
    let readings = readings(pairing, sender, withheld);
    let mut found = Vec::new();
    for (index, received) in both {
        let others = || readings.iter().filter(|reading| reading.sent == index);
        if is_exchanged(&index, &received) {
            let meets = others().map(|reading| (reading.condition.clone(), false));
            found.push((index, received, meets.collect()));
        }
        for reading in others().filter(|reading| is_exchanged(&index, &reading.read_as)) {
            found.push((index, reading.read_as, vec![(reading.condition.clone(), true)]));
        }
    }
    found
}

/// What comes in place of a payload.
enum SentPayload<'a> {
    Nothing,
    Null,
    Value(&'a Form),
}

/// What the receiver refuses of one message.
fn of_message(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, received): (MessageIndex, MessageIndex),
    meets: &Meets,
    withheld: &AllWithheld,
) -> (Vec<Refused>, Option<Break>) {
    let (version, receiver) = (pairing.version(sender), pairing.version(sender.other()));
    let (Some(sent), Some(taken)) = (version.message(index), receiver.message(received)) else {
        return (Vec::new(), None);
    };
    if matches!(sent.table.kind, Kind::Refusal { .. })
        || matches!(taken.table.payload, Payload::None | Payload::Null)
    {
        return (Vec::new(), None);
    }
    let (form, expected) = match forms(sent, taken) {
        Ok(forms) => forms,
        Err(()) => return (Vec::new(), Some(by_name(pairing, sender, (index, sent), (received, taken)))),
    };
    let empty_record = Form::Record(Record::default());
    let absent = receiver.shapes.absent_params(taken.table.shape);
    let (null, is_reply) = (Form::Null, matches!(sent.table.kind, Kind::Reply { .. }));
    let mut all = met_if_sent(pairing, sender, index, withheld);
    all.extend_from_slice(meets);
    let form = form.and_then(|form| restricted_by(&version.shapes.declared, form, &all));
    let mut values = Vec::new();
    // Params that are `null` are read like params that are left out.
    let any = form.as_ref().filter(|_| !is_reply).and_then(|form| any_params(&version.shapes.declared, form));
    values.extend(any.is_some().then_some(SentPayload::Nothing));
    let form = any.or(form);
    match sent.table.payload {
        Payload::None if is_reply => values.push(SentPayload::Value(&empty_record)),
        Payload::None => values.push(SentPayload::Nothing),
        Payload::Null if !is_reply => values.push(SentPayload::Nothing),
        Payload::Null => values.push(SentPayload::Null),
        Payload::Optional if is_reply => values.push(SentPayload::Null),
        Payload::Optional => values.push(SentPayload::Nothing),
        Payload::Required => {}
    }
    values.extend(form.as_ref().map(SentPayload::Value));
    let is_optional = taken.table.payload == Payload::Optional;
    let mut refusals: Vec<Refused> = Vec::new();
    for value in values {
        let value = match value {
            SentPayload::Nothing | SentPayload::Null if is_optional => continue,
            SentPayload::Nothing => &absent,
            SentPayload::Null => &null,
            SentPayload::Value(form) => form,
        };
        let compared = compare((&version.shapes, value), (&receiver.shapes, &expected));
        for refusal in compared.refusals {
            // Params that are left out lack what is missing in an object or a list without anything in it.
            let is_same = |known: &Refused| known.refusal.says_the_same(&refusal);
            if !refusals.iter().any(is_same) {
                refusals.push(Refused::new(refusal, &all));
            }
        }
        if compared.is_undecided {
            let note = undecided(pairing, sender, index, received);
            return (refusals, Some(note));
        }
    }
    (refusals, None)
}

/// What is sent and what is expected; an error if only Rust knows one of them and not the other.
fn forms(sent: &Message, taken: &Message) -> Result<(Option<Form>, Form), ()> {
    let form = |payload: &PayloadType| match payload {
        PayloadType::None => Ok(None),
        PayloadType::Any => Ok(Some(Form::Any)),
        PayloadType::Shape { index, .. } => Ok(Some(Form::Named(*index))),
        PayloadType::Type(path) => Err(path.text.clone()),
    };
    match (form(&sent.payload), form(&taken.payload)) {
        (Ok(sent), Ok(taken)) => Ok((sent, taken.unwrap_or(Form::Any))),
        (_, Ok(Some(Form::Any))) => Ok((None, Form::Any)),
        // Of two types of one name nothing is known but whether they may be absent.
        (Err(one), Err(other)) if one == other => match (sent.table.payload, taken.table.payload) {
            (Payload::Optional, Payload::Required) => Err(()),
            _ => Ok((None, Form::Any)),
        },
        _ => Err(()),
    }
}

/// Payloads that only Rust knows.
fn by_name(
    pairing: &Pairing<'_>,
    sender: Side,
    (index, sent): (MessageIndex, &Message),
    (received, taken): (MessageIndex, &Message),
) -> Break {
    let name = |message: &Message| {
        let optional = if message.table.payload == Payload::Optional { "?" } else { "" };
        match &message.payload {
            PayloadType::None => "nothing".to_owned(),
            PayloadType::Any => format!("`_{optional}`"),
            PayloadType::Type(path) => format!("`{}{optional}`", path.text),
            PayloadType::Shape { name, .. } => format!("the shape `{name}{optional}`"),
        }
    };
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let (one, other) =
        (declared(pairing.version(sender), index), declared(pairing.version(sender.other()), received));
    let what = pairing.words(sender, index);
    let message = format!(
        "{from} writes {} in {what}, and {to} reads {}: only the Rust types say whether that fits",
        name(sent),
        name(taken)
    );
    let diagnostic = Diagnostic::note(Rule::Unknown.code(), one, message)
        .also(other, "")
        .help("declare both as shapes (`type Name = { … }`) to have them compared");
    Break::new(Rule::Unknown, diagnostic).about([one, other])
}

fn undecided(pairing: &Pairing<'_>, sender: Side, index: MessageIndex, received: MessageIndex) -> Break {
    let (one, other) =
        (declared(pairing.version(sender), index), declared(pairing.version(sender.other()), received));
    let what = pairing.words(sender, index);
    let diagnostic = Diagnostic::warning(
        Rule::Unknown.code(),
        one,
        format!("the payload of {what} has too many alternatives, and not all of them have been compared"),
    )
    .also(other, "");
    Break::new(Rule::Unknown, diagnostic).about([one, other])
}

/// One refusal, with the messages that have it.
fn report(pairing: &Pairing<'_>, sender: Side, found: &Misfit) -> Break {
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let Refused { refusal, witness } = &found.refused;
    let first = found.messages.first().copied().unwrap_or((MessageIndex(0), MessageIndex(0)));
    let what = pairing.words(sender, first.0);
    let is_missing = refusal.found == "nothing";
    let message = match (is_missing, refusal.path.as_str()) {
        (true, path) => {
            format!("{from} may send {what} without `{path}`, where {to} expects {}", refusal.expected)
        }
        (false, "") => {
            format!("{from} may send {what} as {}, where {to} expects {}", refusal.found, refusal.expected)
        }
        (false, path) => {
            format!(
                "{from} may send {what} with {} in `{path}`, where {to} expects {}",
                refusal.found, refusal.expected
            )
        }
    };
    let version = |side: Side| pairing.version(side);
    let of_sender = refusal.sender.unwrap_or(declared(version(sender), first.0));
    let of_receiver = refusal.receiver.unwrap_or(declared(version(sender.other()), first.1));
    let (one, other) = match is_missing {
        true => ("not written by the sender", "must be there for the receiver"),
        false => ("what is sent", "what is expected"),
    };
    let mut diagnostic = Diagnostic::error(Rule::Payload.code(), of_receiver, message)
        .label(format!("{to}: {other}"))
        .also(of_sender, format!("{from}: {one}"));
    let witness = witness.as_ref().map(Sample::to_string);
    if let Some(witness) = &witness {
        let payload = payload_word(pairing, sender, first.0);
        diagnostic = diagnostic.with_note(format!("for instance, {payload} is `{}`", short(witness)));
    }
    if let Some(others) = others(pairing, sender, found) {
        diagnostic = diagnostic.with_note(others);
    }
    let mut subjects = vec![of_sender, of_receiver];
    for (index, received) in &found.messages {
        subjects.extend([declared(version(sender), *index), declared(version(sender.other()), *received)]);
    }
    let mut found = Break::new(Rule::Payload, diagnostic).about(subjects);
    found.witness = witness;
    found
}

/// The other messages with the same refusal.
fn others(pairing: &Pairing<'_>, sender: Side, found: &Misfit) -> Option<String> {
    let others = found.messages.get(1..).filter(|others| !others.is_empty())?;
    let names: Vec<String> =
        others.iter().take(NAMED).map(|(index, _)| pairing.words(sender, *index)).collect();
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("the same holds for {}{more}", names.join(", ")))
}

fn payload_word(pairing: &Pairing<'_>, sender: Side, index: MessageIndex) -> &'static str {
    match pairing.version(sender).message(index).map(|message| message.table.kind) {
        Some(Kind::Reply { .. }) => "`result`",
        _ => "`params`",
    }
}

/// A payload that is too long for a line is cut; the output for programs has all of it.
fn short(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut short: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}
