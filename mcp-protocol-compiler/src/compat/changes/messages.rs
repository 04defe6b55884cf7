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
        for MessageDifference { text, rules } in differences(old, before, new, after) {
            let counts = |found: &Break| rules.contains(&found.rule);
            let about = About { spans: vec![spans.0, spans.1], counts: Some(&counts), side: None };
            let id = (Part::Message, &*after.table.name);
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
    let senders = version.senders(index).iter().map(|side| match side {
        Side::Client => "the client",
        Side::Server => "the server",
    });
    let senders: Vec<&str> = senders.collect();
    let from = if senders.is_empty() { String::new() } else { format!(" of {}", senders.join(" and ")) };
    let gates = gates(version, message);
    let gates = gates.map(|gates| format!(", requires {gates}")).unwrap_or_default();
    format!("{kind}{}{from}{gates}", words(version, index))
}

/// What has changed about a message, and which findings it causes.
struct MessageDifference {
    text: String,
    rules: &'static [Rule],
}

/// How a property of a message is said that it may have or not: now, before, and where it is gone.
struct Verb {
    has: &'static str,
    had: &'static str,
    lost: &'static str,
}

impl Verb {
    /// What has become of the property; nothing if it is as before.
    fn change(&self, before: Option<String>, after: Option<String>) -> Option<String> {
        if before == after {
            return None;
        }
        let said =
            |verb: &str, what: &str| if what.is_empty() { verb.to_owned() } else { format!("{verb} {what}") };
        Some(match (before, after) {
            (Some(before), Some(after)) => {
                format!("{}, and now {}", said(self.had, &before), said(self.has, &after))
            }
            (Some(before), None) => said(self.lost, &before),
            (None, after) => format!("now {}", said(self.has, &after.unwrap_or_default())),
        })
    }
}

const NAME: Verb = Verb { has: "is called", had: "was called", lost: "has lost the name" };
const READ: Verb = Verb { has: "is read", had: "was read", lost: "is read without a condition, no longer" };
const PERMITTED: Verb = Verb { has: "is permitted", had: "was permitted", lost: "is no longer permitted" };
const REQUIRES: Verb = Verb { has: "requires", had: "required", lost: "no longer requires" };
const CANCELLABLE: Verb =
    Verb { has: "may be cancelled", had: "could be cancelled", lost: "may no longer be cancelled" };
const ANSWERED: Verb = Verb {
    has: "is answered by the runtime",
    had: "was answered by the runtime",
    lost: "is no longer answered by the runtime",
};
const CANCELS: Verb = Verb { has: "cancels", had: "cancelled", lost: "no longer cancels" };
const REPORTS: Verb = Verb { has: "reports on", had: "reported on", lost: "no longer reports on" };
const GRANTS: Verb =
    Verb { has: "grants capabilities", had: "granted capabilities", lost: "no longer grants capabilities" };
const REVOKES: Verb =
    Verb { has: "revokes capabilities", had: "revoked capabilities", lost: "no longer revokes capabilities" };
const CORRELATED: Verb =
    Verb { has: "is correlated by", had: "was correlated by", lost: "is no longer correlated by" };
const PAGES: Verb = Verb { has: "comes in pages", had: "came in pages", lost: "no longer comes in pages" };
const ROUNDS: Verb = Verb { has: "takes rounds", had: "took rounds", lost: "no longer takes rounds" };

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
    let mut found = Vec::new();
    let mut add = |text: Option<String>, rules| {
        found.extend(text.map(|text| MessageDifference { text, rules }));
    };
    add(NAME.change(Some(name(before)), Some(name(after))), NONE);
    let condition = |message: &Message| message.table.condition.as_ref().map(|when| format!("`{when}`"));
    add(READ.change(condition(before), condition(after)), NONE);
    let what = if is_reply { "the result" } else { "the payload" };
    let (was, is) = (payload(before), payload(after));
    add((was != is).then(|| format!("{what} was {was}, is {is}")), PAYLOAD);
    add(REQUIRES.change(gates(old, before), gates(new, after)), GATE);
    add(PERMITTED.change(Some(during(before)), Some(during(after))), GATE);
    add(CANCELLABLE.change(cancellable(before), cancellable(after)), TIE);
    let answered = |message: &Message| message.table.answered.then(String::new);
    add(ANSWERED.change(answered(before), answered(after)), NONE);
    add(CANCELS.change(cancels(before), cancels(after)), TIE);
    add(REPORTS.change(reports(before), reports(after)), TIE);
    add(GRANTS.change(at(before.table.grants.as_deref()), at(after.table.grants.as_deref())), TIE);
    add(REVOKES.change(at(before.table.revokes.as_deref()), at(after.table.revokes.as_deref())), TIE);
    add(CORRELATED.change(keys(old, before), keys(new, after)), TIE);
    add(PAGES.change(pages(before), pages(after)), NONE);
    add(ROUNDS.change(rounds(before), rounds(after)), TIE);
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
fn gates(version: &Version<'_>, message: &Message) -> Option<String> {
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
        format!("only during {}{when}", names.join(" or "))
    };
    list(message.during.iter().map(one).collect(), " and ").unwrap_or_else(|| "at any time".to_owned())
}

fn cancellable(message: &Message) -> Option<String> {
    let until = if message.table.until_reply { "until its reply" } else { "" };
    message.table.cancellable.then(|| until.to_owned())
}

fn cancels(message: &Message) -> Option<String> {
    message.table.cancels.as_ref().map(|cancels| {
        let reply = cancels.reply_error.map(|code| format!(" with reply error {code}")).unwrap_or_default();
        format!("the request at `{}`{reply}", dotted(&cancels.id))
    })
}

fn reports(message: &Message) -> Option<String> {
    message.table.reports.as_ref().map(|reports| {
        let of: Vec<String> = reports.of.iter().map(|path| format!("`{}`", dotted(path))).collect();
        format!("the token at `{}` of {}", dotted(&reports.token), of.join(" or "))
    })
}

fn at(path: Option<&[mcp_protocol_machine::protocol::Text]>) -> Option<String> {
    path.map(|path| format!("at `{}`", dotted(path)))
}

fn keys(version: &Version<'_>, message: &Message) -> Option<String> {
    let one = |key: &mcp_protocol_machine::protocol::MessageKey| {
        let place = match &key.place {
            KeyPlace::Path(path) => format!("`{}`", dotted(path)),
            KeyPlace::Id => "its id".to_owned(),
            KeyPlace::Member(name) => format!("its member `{name}`"),
        };
        match version.declarations.is_open(key) {
            true => format!("{place}, an open key"),
            false => place,
        }
    };
    list(message.table.keys.iter().map(one).collect(), " and ")
}

fn pages(message: &Message) -> Option<String> {
    message
        .pages
        .as_ref()
        .map(|pages| format!("with `{}` from `{}`", dotted(&pages.cursor), dotted(&pages.next)))
}

fn rounds(message: &Message) -> Option<String> {
    message.table.rounds.as_ref().map(|rounds| {
        let (state, given) = (dotted(&rounds.state), dotted(&rounds.given));
        let (answers, questions) = (dotted(&rounds.answers), dotted(&rounds.questions));
        format!("with `{state}` from `{given}`, `{answers}` of `{questions}`")
    })
}

fn list(mut parts: Vec<String>, between: &str) -> Option<String> {
    // The order in which they are written says nothing.
    parts.sort();
    (!parts.is_empty()).then(|| parts.join(between))
}
