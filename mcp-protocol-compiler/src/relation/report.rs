//! What the relations find, as diagnostics; `race` has the races of two messages.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::{Kind, Side, StateIndex};

use super::disagreement::Disagreement;
use super::machine::{Event, Machine, Move};
use super::outcome::{CLOSED, Found, NOT_COMPATIBLE, NOT_DUAL, RACE, TOO_MANY, Wanted};
use super::product::{PairIndex, TooMany, Walk};
use super::roles::{Roles, span};
use super::{roles, suggestions, words};
use crate::automaton::Automaton;
use crate::declarations::Message;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::findings::{NAMED, listed};
use crate::source::Span;

/// The roles do not relate as wanted. `weaker` says that they are compatible at least.
pub(super) fn not_related(
    client: &Machine<'_>,
    server: &Machine<'_>,
    messages: &[Message],
    wanted: Wanted,
    found: &Found,
    weaker: bool,
) -> Diagnostic {
    let roles = Roles { client, server, found, messages };
    let what = sentence(&roles);
    let (client_name, server_name) = (&client.automaton().name, &server.automaton().name);
    let way = words::way(messages, &found.way);
    let (code, head) = match wanted {
        Wanted::Dual => (NOT_DUAL, format!("`{server_name}` is not the dual of `{client_name}`")),
        Wanted::Compatible => {
            (NOT_COMPATIBLE, format!("`{client_name}` is not compatible with `{server_name}`"))
        }
    };
    let mut diagnostic = explain(&roles, code, format!("{head}: {way}, {what}"), wanted);
    diagnostic.notes.extend(words::seen_from(&found.way).map(str::to_owned));
    if found.way.is_empty() && wanted == Wanted::Dual && !weaker {
        let delete = match server.automaton().inline {
            true => String::new(),
            false => format!(", and delete `{server_name} = …`"),
        };
        let role = server.automaton();
        let text = format!("dual {client_name}");
        let start = span(server, &server.start());
        let edits = match role.inline {
            true => vec![Edit::replace(start, text)],
            false => vec![Edit::after(role.span, format!(" = {text}")), Edit::delete(start)],
        };
        let help = format!(
            "if the server is to be nothing but the other side, write `server {server_name} = dual {client_name}`{delete}"
        );
        diagnostic = diagnostic.suggest(help, edits).of_state();
    }
    if weaker {
        let help = format!(
            "if the client is meant to do less than the server allows, write `client {client_name} compatible`"
        );
        diagnostic = diagnostic.suggest(help, [Edit::after(client.automaton().span, " compatible")]);
    }
    diagnostic
}

/// The disagreement in one clause.
fn sentence(roles: &Roles<'_, '_>) -> String {
    match &roles.found.what {
        Disagreement::Unexpected(step) => {
            let sender = step.arrow.event.sender;
            format!(
                "{} may send `{}`, which {} does not accept",
                words::role(sender),
                roles.name(step),
                words::role(sender.other())
            )
        }
        Disagreement::NeverSent(step) => {
            let sender = step.arrow.event.sender;
            format!(
                "{} accepts `{}`, which {} never sends",
                words::role(sender.other()),
                roles.name(step),
                words::role(sender)
            )
        }
        Disagreement::LinearAndReplicated { client, server: _ } => {
            let one = if client.is_linear() { Side::Client } else { Side::Server };
            format!(
                "`{}` is one step at a time for {}, and may run any number of times at once for {}",
                roles.name(client),
                words::role(one),
                words::role(one.other())
            )
        }
        Disagreement::MayNotClose(who) => {
            format!("{} may close, which {} does not expect", words::role(*who), words::role(who.other()))
        }
        Disagreement::NeverCloses(who) => {
            format!("{} lets {} close, which it never does", words::role(who.other()), words::role(*who))
        }
        Disagreement::GoesOn(who) => format!(
            "{} may go on with instances, which {} does not expect",
            words::role(*who),
            words::role(who.other())
        ),
        Disagreement::NeverGoesOn(who) => format!(
            "{} lets {} go on with instances, which it does not do",
            words::role(who.other()),
            words::role(*who)
        ),
        Disagreement::Silent(awaited) => {
            let names: Vec<String> = awaited.iter().map(|step| format!("`{}`", roles.name(step))).collect();
            format!("the server waits for {}, and the client sends nothing", names.join(" or "))
        }
    }
}

/// Places and help.
fn explain(roles: &Roles<'_, '_>, code: Code, message: String, wanted: Wanted) -> Diagnostic {
    match &roles.found.what {
        Disagreement::Unexpected(step) => suggestions::lone(roles, code, message, step, wanted),
        Disagreement::NeverSent(step) => suggestions::lone(roles, code, message, step, wanted),
        Disagreement::LinearAndReplicated { client, server } => {
            let (one, linear, replicated) = if client.is_linear() {
                (Side::Client, client, server)
            } else {
                (Side::Server, server, client)
            };
            let sends = |side: Side, event: Event| if event.sender == side { "sends" } else { "takes" };
            let then = match words::kind(roles.messages, linear.arrow.event.message) {
                Some(Kind::Request) => "and the next once it is answered",
                _ => "and then the next",
            };
            Diagnostic::error(code, linear.arrow.span, message)
                .label(format!("{} {} one, {then}", words::role(one), sends(one, linear.arrow.event)))
                .also(
                    replicated.arrow.span,
                    format!(
                        "{} {} any number of these at once (`*`)",
                        words::role(one.other()),
                        sends(one.other(), replicated.arrow.event)
                    ),
                )
                .suggest(
                    format!(
                        "write `{}` in `{}`, in parallel with its other channels, in place of the loop",
                        words::replicated(roles.messages, linear.arrow.event, one),
                        roles.name_of(one)
                    ),
                    [Edit::replace(
                        roles.span(one),
                        words::replicated(roles.messages, linear.arrow.event, one),
                    )],
                )
                .of_state()
        }
        Disagreement::MayNotClose(who) => may_not_close(roles, code, message, *who),
        Disagreement::NeverCloses(who) => {
            let other = who.other();
            Diagnostic::error(code, roles.end(other, *who), message)
                .label(format!("lets the peer close, {}", roles.place(other)))
                .also(roles.span(*who), format!("does not close, {}", roles.place(*who)))
                .suggest(
                    format!("add `⊕ End` {}, or delete `& End` {}", roles.place(*who), roles.place(other)),
                    [Edit::after(roles.span(*who), " ⊕ End")],
                )
                .of_state()
        }
        Disagreement::GoesOn(who) | Disagreement::NeverGoesOn(who) => {
            let goes_on = match &roles.found.what {
                Disagreement::GoesOn(_) => *who,
                _ => who.other(),
            };
            let suspends = goes_on.other();
            let whose = |side: Side| if side == *who { "its own" } else { "the other side's" };
            Diagnostic::error(code, roles.span(goes_on), message)
                .label(format!("{} instances go on here, {}", whose(goes_on), roles.place(goes_on)))
                .also(roles.span(suspends), format!("they are suspended here, {}", roles.place(suspends)))
                .suggest(
                    format!(
                        "{}, or remove `only` {}",
                        words::mark_only(roles.machine(goes_on), roles.locations(goes_on)),
                        roles.place(suspends)
                    ),
                    words::only_edit(roles.machine(goes_on), roles.locations(goes_on)),
                )
        }
        Disagreement::Silent(awaited) => {
            let at = awaited.first().map_or(roles.span(Side::Server), |step| step.arrow.span);
            let texts: Vec<String> =
                awaited.iter().map(|step| format!("`{}`", roles.text(step, Side::Client))).collect();
            Diagnostic::error(code, roles.span(Side::Client), message)
                .label(format!("sends nothing, {}", roles.place(Side::Client)))
                .also(at, format!("awaited here, {}", roles.place(Side::Server)))
                .help(format!("let the client go on with {}", texts.join(" or ")))
        }
    }
}

/// The role `who` may close, and the other one does not say so.
fn may_not_close(roles: &Roles<'_, '_>, code: Code, message: String, who: Side) -> Diagnostic {
    let other = who.other();
    let offers = |side: Side, own: bool| {
        let mut states =
            roles.locations(side).iter().filter_map(|&location| roles.machine(side).state(location));
        states.any(|state| if own { state.may_close } else { state.peer_may_close })
    };
    let diagnostic = Diagnostic::error(code, roles.end(who, who), message).label(format!(
        "{} may close here, {}",
        words::role(who),
        roles.place(who)
    ));
    if offers(other, true) && !offers(other, false) {
        return diagnostic
            .also(roles.end(other, other), format!("lets {} close instead", words::role(other)))
            .help(format!(
                "write `&` in place of `⊕` {}: `⊕ End` lets the role itself close",
                roles.place(other)
            ));
    }
    let instead = match offers(who, true) {
        true => format!("delete `⊕ End` {}", roles.place(who)),
        false => format!("let `{}` go on", roles.name_of(who)),
    };
    diagnostic
        .also(roles.span(other), format!("no `End` for the peer here, {}", roles.place(other)))
        .suggest(
            format!(
                "add `& End` {}, or {instead}",
                suggestions::next_to(roles, other).unwrap_or(roles.place(other))
            ),
            [Edit::after(roles.span(other), " & End")],
        )
        .of_state()
}

/// The product of channels got too large.
pub(super) fn too_many(
    client: &Machine<'_>,
    server: &Machine<'_>,
    messages: &[Message],
    limit: &TooMany,
) -> Diagnostic {
    let (channels, others) = (channels(client, &limit.client), channels(server, &limit.server));
    let single = channels.len() < 2 && others.len() < 2;
    let alike = channels == others;
    let message = if single {
        format!("the roles have more than {} pairs of places, and all would have to be compared", limit.pairs)
    } else if alike {
        format!(
            "the roles have channels side by side with more than {} combinations of places, and all would have to be \
             compared",
            limit.products
        )
    } else {
        format!(
            "the roles group their messages in channels so differently that more than {} \
             combinations of places would have to be compared",
            limit.products
        )
    };
    let diagnostic = Diagnostic::error(TOO_MANY, span(client, &limit.client), message)
        .label(format!("the client was in {}", words::place(client, &limit.client)))
        .also(
            span(server, &limit.server),
            format!("while the server was in {}", words::place(server, &limit.server)),
        );
    let shared = shared_by_channels(messages, &channels);
    diagnostic.help(match shared.as_slice() {
        _ if single => {
            "write one role as the `dual` of the other, so that each place meets only one place".to_owned()
        }
        _ if !alike => {
            "write the same channels side by side in both roles, with the same messages in each".to_owned()
        }
        [] => "put fewer channels side by side".to_owned(),
        shared => format!("have {} in one channel only, in both roles", shared.join(", ")),
    })
}

/// What each channel of a configuration may still do, in an order that does not depend on the role.
fn channels(machine: &Machine<'_>, locations: &[StateIndex]) -> Vec<Vec<Event>> {
    let mut channels: Vec<Vec<Event>> =
        locations.iter().map(|&location| machine.reach(location).events().collect()).collect();
    channels.sort_unstable();
    channels
}

/// The first few messages that several channels have.
fn shared_by_channels(messages: &[Message], channels: &[Vec<Event>]) -> Vec<String> {
    const NAMED: usize = 5;
    let mut counts: BTreeMap<Event, usize> = BTreeMap::new();
    for event in channels.iter().flatten() {
        *counts.entry(*event).or_default() += 1;
    }
    let several = counts.into_iter().filter(|(_, count)| *count > 1);
    several.take(NAMED).map(|(event, _)| format!("`{}`", words::name(messages, event.message))).collect()
}

/// `who` may close while the peer sends the messages of `crossing`.
pub(super) fn closing(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    who: Side,
    crossing: &[Move],
    messages: &[Message],
) -> Option<Diagnostic> {
    let (first, others) = crossing.split_first()?;
    let pair = walk.pair(index)?;
    let way = walk.way(index);
    let name = words::name(messages, first.arrow.event.message);
    let (closer, peer) = (words::role(who), words::role(who.other()));
    let (machine, locations) = match who {
        Side::Client => (walk.client, &pair.client.locations),
        Side::Server => (walk.server, &pair.server.locations),
    };
    let place = words::within(machine, locations, way.is_empty());
    let span = roles::end(machine, locations, who).unwrap_or(roles::span(machine, locations));
    let mut found = Diagnostic::note(
        RACE,
        span,
        format!(
            "closing and `{name}` race: {}, {closer} may close while {peer} sends `{name}`",
            words::way(messages, &way)
        ),
    )
    .label(format!("{closer} may close here, {place}"))
    .also(first.arrow.span, format!("{peer} may send `{name}`"))
    .with_note(format!("having closed, {closer} is at `End`, which does not accept `{name}`"));
    found.notes.extend(words::seen_from(&way).map(str::to_owned));
    if !others.is_empty() {
        let names = others.iter().map(|step| words::name(messages, step.arrow.event.message));
        found = found.with_note(format!("closing races with {} here, too", listed(names)));
    }
    // Only closing by the rules is left out by the setting that asks for these, and it accepts and drops everything.
    Some(
        found.help(
            "harmless: a closed session drops what was on its way; listed because of `--without-closure`",
        ),
    )
}

/// A message suspends the sub-sessions of its sender's peer, who may just have gone on with one: `before` is where the
/// peer is, `behind` where the sender is after its message.
pub(super) fn suspends(
    walk: &Walk<'_, '_>,
    index: PairIndex,
    step: &Move,
    before: (&Machine<'_>, &[StateIndex]),
    behind: (&Machine<'_>, &[StateIndex]),
    messages: &[Message],
) -> Diagnostic {
    let event = step.arrow.event;
    let name = words::name(messages, event.message);
    let (one, other) = (words::role(event.sender), words::role(event.sender.other()));
    let way = walk.way(index);
    let place = words::within(before.0, before.1, way.is_empty());
    let mut found = Diagnostic::error(
        RACE,
        step.arrow.span,
        format!(
            "`{name}` and instances race: {}, {one} may send `{name}` while {other} goes on with an instance",
            words::way(messages, &way)
        ),
    )
    .label(format!("leads to {}, where instances are suspended", words::place(behind.0, behind.1)))
    .also(roles::span(before.0, before.1), format!("{other} goes on with instances here, {place}"));
    found.notes.extend(words::seen_from(&way).map(str::to_owned));
    found.suggest(
        format!("{}, so that instances are suspended there already", words::mark_only(before.0, before.1)),
        words::only_edit(before.0, before.1),
    )
}

/// Messages of one sender are also accepted in these states of the receiver, because another one may cross them. `None`
/// if none is accepted late, and only then.
pub(super) fn accepted_late(
    receiver: &Automaton,
    states: &[StateIndex],
    late: &[(Event, Span)],
    (crossing, crosses_at): (Event, Span),
    messages: &[Message],
) -> Option<Diagnostic> {
    let mut late = late.to_vec();
    late.sort_by_key(|(event, sent_at)| (*sent_at, *event));
    let (&(first, sent_at), others) = late.split_first()?;
    let (are, they, them) = match others {
        [] => ("is", "it", "it"),
        _ => ("are", "they", "them"),
    };
    let names = late.iter().map(|(event, _)| words::name(messages, event.message));
    let message = format!(
        "{} {are} also accepted in {} of `{}`, where {they} may arrive late",
        listed(names),
        words::names(receiver, states),
        receiver.name
    );
    let crossing = words::name(messages, crossing.message);
    let mut note = Diagnostic::note(CLOSED, sent_at, message)
        .label(format!("{} may send {them} while `{crossing}` is on its way", words::role(first.sender)));
    let mut places = others.to_vec();
    places.dedup_by_key(|(_, sent_at)| *sent_at);
    let elsewhere = places.iter().filter(|(_, place)| *place != sent_at);
    for (event, place) in elsewhere.take(NAMED - 1) {
        note = note.also(*place, format!("`{}` is one of them", words::name(messages, event.message)));
    }
    Some(note.also(crosses_at, format!("`{crossing}` crosses {them}")))
}
