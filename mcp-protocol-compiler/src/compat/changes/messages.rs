//! Which messages were added or removed, and what has changed about the others.

use mcp_protocol_machine::protocol::{Holder, KeyPlace, Kind, MessageIndex, Payload, Side};

use super::super::announced::{dotted, path};
use super::super::found::{Break, Rule, declared, words};
use super::super::version::Version;
use super::super::wire::Wire;
use super::change::{About, Changes, Part};
use crate::declarations::{Message, PayloadType};

pub(super) fn compare(changes: &mut Changes<'_>, old: &Version<'_>, new: &Version<'_>, wire: &Wire) {
    for (version, text) in [(old, "removed"), (new, "added")] {
        let is_old = text == "removed";
        for index in version.declarations.indices() {
            let Some(message) = version.message(index).filter(|message| !is_refusal(message)) else {
                continue;
            };
            let of_request = match message.table.kind {
                Kind::Reply { request } => wire.in_other(version.age, request).is_none(),
                _ => false,
            };
            // The replies of a request come and go with it.
            if wire.in_other(version.age, index).is_some() || of_request {
                continue;
            }
            let span = declared(version, index);
            let places = if is_old { (Some(span), None) } else { (None, Some(span)) };
            let about = About { spans: vec![span], counts: None, side: None };
            let text = format!("{text}: {}", declaration(version, index));
            changes.add((Part::Message, &message.table.name), text, places, &about);
        }
    }
    for index in old.declarations.indices() {
        let Some(now) = wire.in_other(old.age, index) else { continue };
        let (Some(before), Some(after)) = (old.message(index), new.message(now)) else { continue };
        if is_refusal(before) {
            continue;
        }
        let spans = (declared(old, index), declared(new, now));
        for MessageDifference { what, before, after: now, rules } in differences(old, before, new, after) {
            let counts = |found: &Break| rules.contains(&found.rule);
            let about = About { spans: vec![spans.0, spans.1], counts: Some(&counts), side: None };
            let id = (Part::Message, &*after.table.name);
            let text = format!("{what} was {before}, is {now}");
            changes.add(id, text, (Some(spans.0), Some(spans.1)), &about);
        }
    }
}

fn is_refusal(message: &Message) -> bool {
    matches!(message.table.kind, Kind::Refusal { .. })
}

/// A message that only one file has.
fn declaration(version: &Version<'_>, index: MessageIndex) -> String {
    let Some(message) = version.message(index) else { return String::new() };
    let kind = match message.table.kind {
        Kind::Request => "the request ",
        Kind::Notification => "the notification ",
        Kind::Reply { .. } | Kind::Refusal { .. } => "",
    };
    let senders = version.senders(index).into_iter().map(|side| match side {
        Side::Client => "the client",
        Side::Server => "the server",
    });
    let senders: Vec<&str> = senders.collect();
    let from = if senders.is_empty() { String::new() } else { format!(" of {}", senders.join(" and ")) };
    let gates = gates(version, message);
    let gates = if gates == "none" { String::new() } else { format!(", requires {gates}") };
    format!("{kind}{}{from}{gates}", words(version, index))
}

/// What has changed about a message, and which findings it causes.
struct MessageDifference {
    what: &'static str,
    before: String,
    after: String,
    rules: &'static [Rule],
}

fn differences(
    old: &Version<'_>,
    before: &Message,
    new: &Version<'_>,
    after: &Message,
) -> Vec<MessageDifference> {
    const NONE: &[Rule] = &[];
    const PAYLOAD: &[Rule] = &[Rule::Payload];
    const GATE: &[Rule] = &[Rule::Capability, Rule::Message];
    const TIE: &[Rule] = &[Rule::Tie];
    let is_reply = matches!(before.table.kind, Kind::Reply { .. });
    let yes = |holds: bool| if holds { "yes" } else { "no" }.to_owned();
    let mut found = Vec::new();
    let mut compare = |what, before: String, after: String, rules| {
        if before != after {
            found.push(MessageDifference { what, before, after, rules });
        }
    };
    compare("its name", name(before), name(after), NONE);
    let what = if is_reply { "the result" } else { "the payload" };
    compare(what, payload(before), payload(after), PAYLOAD);
    compare("what it requires", gates(old, before), gates(new, after), GATE);
    compare("when it is permitted", during(before), during(after), GATE);
    compare("whether it may be cancelled", cancellable(before), cancellable(after), TIE);
    compare("whether the runtime answers it", yes(before.table.answered), yes(after.table.answered), NONE);
    compare("what it cancels", cancels(before), cancels(after), TIE);
    compare("what it reports on", reports(before), reports(after), TIE);
    compare("where it grants", at(before.table.grants.as_deref()), at(after.table.grants.as_deref()), TIE);
    compare("where it revokes", at(before.table.revokes.as_deref()), at(after.table.revokes.as_deref()), TIE);
    compare("what correlates it", keys(before), keys(after), TIE);
    compare("how it comes in pages", pages(before), pages(after), NONE);
    compare("how it takes rounds", rounds(before), rounds(after), TIE);
    found
}

fn name(message: &Message) -> String {
    let call = message.call_name.as_ref().map(|name| format!(" as `{}`", name.text)).unwrap_or_default();
    format!("`{}`{call}", message.table.name)
}

fn payload(message: &Message) -> String {
    let text = match (&message.payload, message.table.payload) {
        (_, Payload::None) => return "nothing".to_owned(),
        (_, Payload::Null) => return "`null`".to_owned(),
        (PayloadType::None | PayloadType::Any, _) => "_",
        (PayloadType::Type(path), _) => &path.text,
        (PayloadType::Shape { name, .. }, _) => name,
    };
    format!("`{text}{}`", if message.table.payload == Payload::Optional { "?" } else { "" })
}

/// The capabilities that a message needs.
fn gates(version: &Version<'_>, message: &Message) -> String {
    let one = |requirement: &mcp_protocol_machine::protocol::Requirement| {
        let holder = match requirement.holder {
            Holder::Side(Side::Client) => "client",
            Holder::Side(Side::Server) => "server",
            Holder::Sender => "own",
            Holder::Receiver => "peer",
        };
        let when = requirement.when().map(|when| format!(" {when}")).unwrap_or_default();
        format!("`{holder}.{}`{when}", dotted(path(version, requirement)))
    };
    list(message.table.requires.iter().map(one).collect(), " and ")
}

fn during(message: &Message) -> String {
    let one = |during: &crate::declarations::During| {
        let names: Vec<String> = during.names.iter().map(|(name, _)| format!("`{}`", name.text)).collect();
        let when = during.table.condition.as_ref().map(|when| format!(" {when}")).unwrap_or_default();
        format!("during {}{when}", names.join(" or "))
    };
    match message.during.is_empty() {
        true => "at any time".to_owned(),
        false => list(message.during.iter().map(one).collect(), " and "),
    }
}

fn cancellable(message: &Message) -> String {
    match (message.table.cancellable, message.table.until_reply) {
        (false, _) => "no".to_owned(),
        (true, false) => "yes".to_owned(),
        (true, true) => "until its reply".to_owned(),
    }
}

fn cancels(message: &Message) -> String {
    message.table.cancels.as_ref().map_or("nothing".to_owned(), |cancels| {
        let reply = cancels.reply_error.map(|code| format!(" with reply error {code}")).unwrap_or_default();
        format!("the request at `{}`{reply}", dotted(&cancels.id))
    })
}

fn reports(message: &Message) -> String {
    message.table.reports.as_ref().map_or("nothing".to_owned(), |reports| {
        let of: Vec<String> = reports.of.iter().map(|path| format!("`{}`", dotted(path))).collect();
        format!("the token at `{}` of {}", dotted(&reports.token), of.join(" or "))
    })
}

fn at(path: Option<&[mcp_protocol_machine::protocol::Text]>) -> String {
    path.map_or("nowhere".to_owned(), |path| format!("at `{}`", dotted(path)))
}

fn keys(message: &Message) -> String {
    let one = |key: &mcp_protocol_machine::protocol::MessageKey| match &key.place {
        KeyPlace::Path(path) => format!("`{}`", dotted(path)),
        KeyPlace::Id => "its id".to_owned(),
    };
    list(message.table.keys.iter().map(one).collect(), " and ")
}

fn pages(message: &Message) -> String {
    message.pages.as_ref().map_or("not at all".to_owned(), |pages| {
        format!("`{}` from `{}`", dotted(&pages.cursor), dotted(&pages.next))
    })
}

fn rounds(message: &Message) -> String {
    message.table.rounds.as_ref().map_or("not at all".to_owned(), |rounds| {
        let (state, given) = (dotted(&rounds.state), dotted(&rounds.given));
        let (answers, questions) = (dotted(&rounds.answers), dotted(&rounds.questions));
        format!("`{state}` from `{given}`, `{answers}` of `{questions}`")
    })
}

fn list(mut parts: Vec<String>, between: &str) -> String {
    // The order in which they are written says nothing.
    parts.sort();
    if parts.is_empty() { "none".to_owned() } else { parts.join(between) }
}
