//! Order: whether a client of one file and a server of the other stay in step.
//!
//! The relation is the one that compares the roles of one file that says `compatible`. It compares the roles as they are
//! written, without the messages that a gate never lets through in this pairing.

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Side, StateIndex};

use super::announced::{AllWithheld, Announceable, Withheld, dotted, holder, path, withheld};
use super::found::{Break, Exchanged, Pairing, Rule, declared, words};
use super::readings::{NumberedReading, add, numbered};
use crate::automaton::Automaton;
use crate::declarations::restrict::may_hold;
use crate::declarations::{Form, PayloadType};
use crate::diagnostic::Diagnostic;
use crate::relation::{Apart, Reason, Sent, apart};

/// How many findings about order are collected for one pairing.
const MOST: usize = 50;

/// The messages that a role withholds from its peer.
pub(super) fn all_withheld(pairing: &Pairing<'_>, sender: Side) -> AllWithheld {
    let version = pairing.version(sender);
    let others = Announceable::new(pairing.version(sender.other()), sender.other());
    let messages = version.declarations.indices();
    let found = messages.map(|index| {
        let mut found = withheld((version, sender), index, &others);
        found.always |= never_permitted(pairing, sender, index);
        (index, found)
    });
    found.filter(|(_, withheld)| *withheld != Withheld::default()).collect()
}

/// Whether a message is permitted only during requests that the peer never sends, or never so.
fn never_permitted(pairing: &Pairing<'_>, sender: Side, index: MessageIndex) -> bool {
    let peer = pairing.version(sender.other());
    let Some(message) = pairing.version(sender).message(index) else { return false };
    message.during.iter().any(|during| {
        !during.table.requests.iter().any(|request| {
            let request = pairing.received_as(sender, *request).and_then(|request| peer.message(request));
            request.is_some_and(|request| match (&during.table.condition, &request.payload) {
                (Some(condition), PayloadType::Shape { index, .. }) => {
                    may_hold(&peer.shapes.declared, &Form::Named(*index), condition)
                }
                (Some(_), PayloadType::None) => false,
                _ => true,
            })
        })
    })
}

/// Compares the order of a pairing.
pub(super) fn compare(pairing: &Pairing<'_>, withheld: &[AllWithheld; 2]) -> Vec<Break> {
    let readings =
        [numbered(pairing, Side::Client, &withheld[0]), numbered(pairing, Side::Server, &withheld[1])];
    let (Some(mut client), Some(mut server)) = (
        prepared(pairing, Side::Client, &withheld[0], &readings[0]),
        prepared(pairing, Side::Server, &withheld[1], &readings[1]),
    ) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (sender, role, readings) in
        [(Side::Client, &client, &readings[0]), (Side::Server, &server, &readings[1])]
    {
        found.extend(readings.iter().filter_map(|reading| led_elsewhere(pairing, sender, role, reading)));
    }
    let mut is_cut = false;
    while let Some(apart) = apart(&client, &server) {
        let Reason::Unexpected { sender, message, cancels, moves, .. } = apart.reason else {
            // It may only follow from a step that was taken away.
            found.extend((!is_cut).then(|| other(pairing, &apart)));
            break;
        };
        if !pairing.is_of_pattern(sender, message) || moves {
            found.push(unexpected(pairing, &apart));
        }
        let role = if sender == Side::Client { &mut client } else { &mut server };
        let is_gone = |direction: Direction, edge: MessageIndex, of: Option<MessageIndex>| {
            direction == Direction::Send && edge == message && of == cancels
        };
        // The same message may be a step elsewhere, as of a sub-session whose key is open.
        is_cut |= moves || has_step(role, is_gone);
        let before = count(role);
        remove(role, is_gone);
        let readings = if sender == Side::Client { &readings[0] } else { &readings[1] };
        for reading in readings.iter().filter(|reading| reading.sent == message && !reading.is_known) {
            remove(role, |direction, edge, _| direction == Direction::Send && edge == reading.read_as);
        }
        if found.len() >= MOST || count(role) == before {
            break;
        }
    }
    found
}

/// A role with common numbers, without what it withholds. A message that its peer reads as another one is this one, too.
fn prepared(
    pairing: &Pairing<'_>,
    side: Side,
    withheld: &AllWithheld,
    readings: &[NumberedReading],
) -> Option<Automaton> {
    let version = pairing.version(side);
    let mut role = version.role(side)?.clone();
    remove(&mut role, |direction, message, _| {
        direction == Direction::Send && withheld.get(&message).is_some_and(|withheld| withheld.always)
    });
    let mut role = pairing.wire.renumbered(version, &role);
    readings.iter().for_each(|reading| add(&mut role, reading));
    Some(role)
}

fn count(role: &Automaton) -> usize {
    role.states.iter().map(|state| state.edges.len()).sum()
}

/// Whether one of these messages leads to another state somewhere.
fn has_step(role: &Automaton, which: impl Fn(Direction, MessageIndex, Option<MessageIndex>) -> bool) -> bool {
    role.states.iter().zip(0..).any(|(state, index)| {
        state.edges.iter().any(|edge| {
            let leads_on = matches!(edge.action, Action::Step(to) if to != StateIndex(index));
            leads_on && which(edge.direction, edge.message, edge.cancels)
        })
    })
}

fn remove(role: &mut Automaton, which: impl Fn(Direction, MessageIndex, Option<MessageIndex>) -> bool) {
    for state in &mut role.states {
        state.edges.retain(|edge| !which(edge.direction, edge.message, edge.cancels));
    }
}

/// Who sends what, in words.
fn exchanged(pairing: &Pairing<'_>, sent: &Sent) -> Exchanged {
    let index = pairing.of_number(sent.sender, sent.message);
    let version = pairing.version(sent.sender);
    let to = sent.sender.other();
    let read_as = || {
        let read_as = pairing.of_number(to, sent.message)?;
        let (words, name) = (pairing.words(to, read_as), pairing.version(to).name(read_as));
        Some(format!("{words}, which {} reads as `{name}`", pairing.peer(to)))
    };
    let unknown = || read_as().unwrap_or_else(|| "a message".to_owned());
    let mut words = index.map_or_else(unknown, |index| words(version, index));
    if let Some(request) = sent.cancels.and_then(|request| pairing.of_number(sent.sender, request)) {
        words = format!("{words} for {}", pairing.words(sent.sender, request));
    }
    let named = index.map(|index| version.name(index));
    let message = named.or_else(|| Some(pairing.version(to).name(pairing.of_number(to, sent.message)?)));
    let message = message.unwrap_or_default().to_owned();
    Exchanged { sender: sent.sender, message, words }
}

/// The exchange, one message a line, with the lines of both files.
fn exchange_note(pairing: &Pairing<'_>, apart: &Apart) -> (Vec<Exchanged>, String) {
    let exchange: Vec<Exchanged> = apart.exchange.iter().map(|sent| exchanged(pairing, sent)).collect();
    let mut text = match exchange.is_empty() {
        true => "it may happen at the start of the session".to_owned(),
        false => "the shortest exchange that leads there:".to_owned(),
    };
    for (place, (words, sent)) in exchange.iter().zip(&apart.exchange).enumerate() {
        let sender = pairing.peer(words.sender);
        let (one, other) = (pairing.line(sent.client), pairing.line(sent.server));
        text.push_str(&format!("\n{}. {sender} sends {}   ({one}, {other})", place + 1, words.words));
    }
    (exchange, text)
}

fn finish(pairing: &Pairing<'_>, apart: &Apart, rule: Rule, diagnostic: Diagnostic) -> Break {
    let (exchange, note) = exchange_note(pairing, apart);
    let mut found = Break::new(rule, diagnostic.with_note(note));
    found.exchange = exchange;
    found
}

/// A role may send what the other does not accept.
fn unexpected(pairing: &Pairing<'_>, apart: &Apart) -> Break {
    let Reason::Unexpected { sender, message, cancels, step, .. } = apart.reason else {
        return other(pairing, apart);
    };
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let receiver = if sender == Side::Client { &apart.server } else { &apart.client };
    let here = Sent { sender, message, cancels, client: step, server: step };
    let what = exchanged(pairing, &here).words;
    let index = pairing.of_number(sender, message);
    let known = pairing.of_number(sender.other(), message);
    let why = match (index, known) {
        (None, Some(_)) => " and accepts only in other states".to_owned(),
        (_, Some(_)) => format!(", which {to} accepts only in other states"),
        (_, None) => format!(", which {to} does not know"),
    };
    let mut diagnostic =
        Diagnostic::error(Rule::Message.code(), step, format!("{from} may send {what}{why}"))
            .label(format!("{from} may send it here"))
            .also(receiver.span, format!("{to} does not accept it, {}", receiver.words));
    if let Some(note) = index.and_then(|index| consequence(pairing, sender, index, known.is_some())) {
        diagnostic = diagnostic.with_note(note);
    }
    for note in index.map(|index| open_gates(pairing, sender, index)).unwrap_or_default() {
        diagnostic = diagnostic.with_note(note);
    }
    // What the receiver has read as another message before has led it here.
    let read = apart.exchange.iter().filter(|sent| pairing.of_number(sent.sender, sent.message).is_none());
    let read = read.map(|sent| (sent.sender.other(), pairing.of_number(sent.sender.other(), sent.message)));
    let subjects = [(sender, index), (sender.other(), known)].into_iter().chain(read);
    let subjects = subjects.filter_map(|(side, index)| Some((side, index?)));
    let subjects: Vec<_> = subjects.map(|(side, index)| declared(pairing.version(side), index)).collect();
    finish(pairing, apart, Rule::Message, diagnostic).about(subjects)
}

/// A payload that the receiver reads as a message which leads elsewhere in the sender's file.
fn led_elsewhere(
    pairing: &Pairing<'_>,
    sender: Side,
    role: &Automaton,
    reading: &NumberedReading,
) -> Option<Break> {
    let one = reading.crossing(role)?;
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let sent = pairing.of_number(sender, reading.sent)?;
    let read_as = pairing.of_number(sender.other(), reading.read_as)?;
    let (what, other) = (pairing.words(sender, sent), pairing.words(sender.other(), read_as));
    let (declared_here, declared_there) =
        (declared(pairing.version(sender), sent), declared(pairing.version(sender.other()), read_as));
    let diagnostic = Diagnostic::error(
        Rule::Message.code(),
        one,
        format!("{from} may send {what} that {to} reads as {other}, which leads elsewhere"),
    )
    .label(format!("{from} may send it here"))
    .also(declared_there, format!("for {to} this message is declared first"))
    .with_note("of two messages whose conditions both hold, the one that is declared first is meant");
    Some(Break::new(Rule::Message, diagnostic).about([declared_here, declared_there]))
}

/// What the receiver does with a message that it does not accept.
fn consequence(pairing: &Pairing<'_>, sender: Side, index: MessageIndex, is_known: bool) -> Option<String> {
    let to = pairing.peer(sender.other());
    let table = &pairing.version(sender).message(index)?.table;
    let receiver = pairing.version(sender.other());
    let of_method = receiver.declarations.indices().find(|other| {
        let other = receiver.message(*other).map(|message| &message.table);
        other.is_some_and(|other| {
            other.kind == table.kind && other.method == table.method && other.condition != table.condition
        })
    });
    if let Some(other) = of_method.filter(|_| !is_known) {
        return Some(format!("{to} reads it as `{}`", receiver.name(other)));
    }
    match table.kind {
        Kind::Request => Some(format!("{to} answers it with an error")),
        Kind::Notification => Some(format!("{to} drops it and reports it")),
        Kind::Reply { .. } | Kind::Refusal { .. } => None,
    }
}

/// Gates that do not protect the receiver: the sender opens them itself, or they are open until the receiver closes them.
fn open_gates(pairing: &Pairing<'_>, sender: Side, index: MessageIndex) -> Vec<String> {
    let version = pairing.version(sender);
    let Some(message) = version.message(index) else { return Vec::new() };
    let (from, to) = (pairing.peer(sender), pairing.peer(sender.other()));
    let is_open = |side: Side| {
        let announcements = &version.declarations.announcements;
        announcements.iter().any(|announced| announced.table.side == side && announced.table.open)
    };
    let notes = message.table.requires.iter().filter_map(|requirement| {
        let capability = dotted(path(version, requirement));
        if holder(requirement, sender) == sender {
            Some(format!("it requires `{capability}`, which {from} announces itself, whatever {to} knows"))
        } else if is_open(sender.other()) {
            Some(format!(
                "it requires `{capability}`, which counts as announced until {to} has announced something"
            ))
        } else {
            None
        }
    });
    notes.collect()
}

/// The roles differ in another way.
fn other(pairing: &Pairing<'_>, apart: &Apart) -> Break {
    let (client, server) = (pairing.peer(Side::Client), pairing.peer(Side::Server));
    let name = |side: Side, number: MessageIndex| {
        pairing.of_number(side, number).map_or("a message".to_owned(), |index| pairing.words(side, index))
    };
    let (of_client, of_server) = (&apart.client, &apart.server);
    let place = |side: Side| if side == Side::Client { of_client } else { of_server };
    let code = Rule::Order.code();
    let diagnostic = match &apart.reason {
        Reason::LinearAndReplicated { message, linear, steps } => {
            let (one, many) = (pairing.peer(*linear), pairing.peer(linear.other()));
            let what = name(*linear, *message);
            let (at_one, at_many) = if *linear == Side::Client { *steps } else { (steps.1, steps.0) };
            Diagnostic::error(
                code,
                at_one,
                format!("{what} is one step at a time for {one}, and may run any number of times at once for {many}"),
            )
            .label("one at a time")
            .also(at_many, "any number at once (`*`)")
        }
        Reason::MayNotClose(who) => {
            let (closer, peer) = (pairing.peer(*who), pairing.peer(who.other()));
            Diagnostic::error(
                code,
                place(*who).span,
                format!("{closer} may close the session where {peer} does not expect it"),
            )
            .label(format!("{closer} may close, {}", place(*who).words))
            .also(place(who.other()).span, format!("{peer} goes on, {}", place(who.other()).words))
        }
        Reason::GoesOn(who) => {
            let (one, peer) = (pairing.peer(*who), pairing.peer(who.other()));
            Diagnostic::error(
                code,
                place(*who).span,
                format!("{one} may go on with sub-sessions where {peer} suspends them"),
            )
            .label(format!("they go on, {}", place(*who).words))
            .also(place(who.other()).span, format!("they are suspended, {}", place(who.other()).words))
        }
        Reason::Silent(awaited) => {
            let names: Vec<String> = awaited.iter().map(|number| name(Side::Server, *number)).collect();
            Diagnostic::error(
                code,
                of_client.span,
                format!(
                    "{server} waits for {}, and {client} sends nothing that it accepts",
                    names.join(" or ")
                ),
            )
            .label(format!("{client} sends nothing, {}", of_client.words))
            .also(of_server.span, format!("{server} waits, {}", of_server.words))
        }
        Reason::NeverSent(message) => Diagnostic::error(
            code,
            of_client.span,
            format!(
                "{client} waits for {}, and the sub-session has ended for {server}",
                name(Side::Client, *message)
            ),
        )
        .label(format!("{client} waits, {}", of_client.words))
        .also(of_server.span, format!("it has ended, {}", of_server.words)),
        Reason::TooMany | Reason::Unexpected { .. } => Diagnostic::error(
            Rule::Unknown.code(),
            of_client.span,
            "there are too many combinations of places of the two roles to compare their order",
        )
        .also(of_server.span, "the other role"),
    };
    let rule = if apart.reason == Reason::TooMany { Rule::Unknown } else { Rule::Order };
    finish(pairing, apart, rule, diagnostic)
}
