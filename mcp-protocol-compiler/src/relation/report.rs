//! Disagreements as diagnostics.
//!
//! In: what a comparison found. Out: one [`Diagnostic`] with the shortest way there, both places in the text and
//! what to type. Refuses to look for anything itself.

use mcp_protocol_machine::protocol::{Origin, Side, StateIndex};

use super::disagreement::Disagreement;
use super::machine::{Machine, Move};
use super::product::{PRODUCT_LIMIT, TooMany};
use super::{Found, NOT_COMPATIBLE, NOT_DUAL, TOO_MANY, Wanted, words};
use crate::diagnostic::Diagnostic;
use crate::resolve::Message;
use crate::source::Span;

/// Where a configuration is in the text.
pub(super) fn span(machine: &Machine<'_>, locations: &[StateIndex]) -> Span {
    locations
        .iter()
        .find_map(|&location| machine.state(location))
        .map_or(machine.automaton().span, |state| state.span)
}

/// The two roles, to be looked up by side.
struct Roles<'a, 'b> {
    client: &'b Machine<'a>,
    server: &'b Machine<'a>,
    found: &'b Found,
    messages: &'b [Message],
}

impl<'a> Roles<'a, '_> {
    fn machine(&self, side: Side) -> &Machine<'a> {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    fn locations(&self, side: Side) -> &[StateIndex] {
        match side {
            Side::Client => &self.found.pair.client.locations,
            Side::Server => &self.found.pair.server.locations,
        }
    }

    /// `` `Active` of `McpClient` ``
    fn place(&self, side: Side) -> String {
        let machine = self.machine(side);
        let name = &machine.automaton().name;
        match self.locations(side) {
            [] => format!("`{name}`"),
            locations => format!("{} of `{name}`", words::place(machine, locations)),
        }
    }

    fn span(&self, side: Side) -> Span {
        span(self.machine(side), self.locations(side))
    }

    fn action(&self, step: &Move, side: Side) -> String {
        words::action(self.messages, step.arrow.event, side)
    }

    fn name(&self, step: &Move) -> &str {
        words::name(self.messages, step.arrow.event.message)
    }

    /// What to write in a role so that it has this move.
    fn text(&self, step: &Move, side: Side) -> String {
        if step.is_linear() {
            format!("{} . …", self.action(step, side))
        } else {
            words::replicated(self.messages, step.arrow.event, side)
        }
    }
}

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
    let mut diagnostic = explain(&roles, code, format!("{head}: {way}, {what}"));
    diagnostic.notes.extend(words::seen_from(&found.way).map(str::to_owned));
    if found.way.is_empty() && wanted == Wanted::Dual && !weaker {
        diagnostic = diagnostic.help(format!(
            "if the server is to be nothing but the other side, write `server {server_name} = dual {client_name}`"
        ));
    }
    if weaker {
        diagnostic = diagnostic.help(format!(
            "if the client is meant to do less than the server allows, write `client {client_name} compatible`"
        ));
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
            "{} may go on with copies, which {} does not expect",
            words::role(*who),
            words::role(who.other())
        ),
        Disagreement::NeverGoesOn(who) => format!(
            "{} lets {} go on with copies, which it does not do",
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
fn explain(roles: &Roles<'_, '_>, code: crate::diagnostic::Code, message: String) -> Diagnostic {
    match &roles.found.what {
        Disagreement::Unexpected(step) => lone(roles, code, message, step, step.arrow.event.sender),
        Disagreement::NeverSent(step) => lone(roles, code, message, step, step.arrow.event.sender.other()),
        Disagreement::LinearAndReplicated { client, server } => {
            let (one, linear, replicated) = if client.is_linear() {
                (Side::Client, client, server)
            } else {
                (Side::Server, server, client)
            };
            Diagnostic::error(code, linear.arrow.span, message)
                .label(format!("a step of a sequence or a loop, in {}", roles.place(one)))
                .also(replicated.arrow.span, format!("part of a `*`, in {}", roles.place(one.other())))
                .help(format!(
                    "write `{}` beside the other channels of `{}`, in place of the loop",
                    words::replicated(roles.messages, linear.arrow.event, one),
                    roles.machine(one).automaton().name
                ))
        }
        Disagreement::MayNotClose(who) => {
            let other = who.other();
            Diagnostic::error(code, roles.span(*who), message)
                .label(format!("{} may close here, in {}", words::role(*who), roles.place(*who)))
                .also(roles.span(other), format!("no `End` for the peer here, in {}", roles.place(other)))
                .help(format!("add `& End` to {}, or take `End` away on the other side", roles.place(other)))
        }
        Disagreement::NeverCloses(who) => {
            let other = who.other();
            Diagnostic::error(code, roles.span(other), message)
                .label(format!("lets the peer close, in {}", roles.place(other)))
                .also(roles.span(*who), format!("does not close, in {}", roles.place(*who)))
                .help(format!("add `⊕ End` to {}, or take `End` away on the other side", roles.place(*who)))
        }
        Disagreement::GoesOn(who) | Disagreement::NeverGoesOn(who) => {
            let goes_on = match &roles.found.what {
                Disagreement::GoesOn(_) => *who,
                _ => who.other(),
            };
            let rests = goes_on.other();
            let whose = |side: Side| if side == *who { "its own" } else { "the other side's" };
            Diagnostic::error(code, roles.span(goes_on), message)
                .label(format!("{} copies go on here, in {}", whose(goes_on), roles.place(goes_on)))
                .also(roles.span(rests), format!("they rest here, in {}", roles.place(rests)))
                .help(format!(
                    "mark {} with `only`, too, or take it away from {}",
                    roles.place(goes_on),
                    roles.place(rests)
                ))
        }
        Disagreement::Silent(awaited) => {
            let at = awaited.first().map_or(roles.span(Side::Server), |step| step.arrow.span);
            let texts: Vec<String> =
                awaited.iter().map(|step| format!("`{}`", roles.text(step, Side::Client))).collect();
            Diagnostic::error(code, roles.span(Side::Client), message)
                .label(format!("sends nothing, in {}", roles.place(Side::Client)))
                .also(at, format!("awaited here, in {}", roles.place(Side::Server)))
                .help(format!("let the client go on with {}", texts.join(" or ")))
        }
    }
}

/// Only `owner` has the move.
fn lone(
    roles: &Roles<'_, '_>,
    code: crate::diagnostic::Code,
    message: String,
    step: &Move,
    owner: Side,
) -> Diagnostic {
    let other = owner.other();
    let implied = match step.arrow.origin {
        Origin::Refusal => " (implied: a request may be refused)",
        Origin::Cancel => " (implied: the request may be cancelled)",
        Origin::Written | Origin::Closure => "",
    };
    let diagnostic = Diagnostic::error(code, step.arrow.span, message).label(format!(
        "`{}`{implied}, in {}",
        roles.action(step, owner),
        roles.place(owner)
    ));
    let instead = instead(roles, step, owner);
    let wanted = roles.action(step, other);
    if let [first, .., last] = instead.as_slice()
        && first.arrow.span == last.arrow.span
    {
        let (written, more) = (roles.action(first, other), instead.len() - 1);
        let place = roles.place(other);
        return diagnostic
            .also(
                first.arrow.span,
                format!("`{written}` and {more} more stand here, and no `{wanted}`, in {place}"),
            )
            .help(format!(
                "add `{}` to {place}, or take `{}` out of {}",
                roles.text(step, other),
                roles.action(step, owner),
                roles.place(owner)
            ));
    }
    if let [instead] = instead.as_slice() {
        let written = roles.action(instead, other);
        return diagnostic
            .also(
                instead.arrow.span,
                format!("`{written}` stands here, and no `{wanted}`, in {}", roles.place(other)),
            )
            .help(format!(
                "write `{wanted}` in place of `{written}`, or `{}` in place of `{}`",
                roles.action(instead, owner),
                roles.action(step, owner)
            ));
    }
    let diagnostic = diagnostic.also(
        roles.span(other),
        format!("nothing here fits it: no `{}` in {}", roles.action(step, other), roles.place(other)),
    );
    if step.arrow.origin == Origin::Written {
        diagnostic.help(format!(
            "add `{}` to {}, or take `{}` out of {}",
            roles.text(step, other),
            roles.place(other),
            roles.action(step, owner),
            roles.place(owner)
        ))
    } else {
        diagnostic.help(format!(
            "write `{}` out in {}, or give both roles the same steps here",
            roles.text(step, other),
            roles.place(other)
        ))
    }
}

/// The moves of the other role that may stand where the move should: they go the same way, are of the same kind, and
/// fit nothing of `owner` either. In the order of the text.
fn instead(roles: &Roles<'_, '_>, step: &Move, owner: Side) -> Vec<Move> {
    let (machine, other) = (roles.machine(owner), roles.machine(owner.other()));
    let kind = |step: &Move| {
        words::kind(roles.messages, step.arrow.event.message).map(|kind| std::mem::discriminant(&kind))
    };
    if step.arrow.origin != Origin::Written {
        return Vec::new();
    }
    let mut fitting = other.moves(roles.locations(owner.other()));
    fitting.retain(|found| {
        found.arrow.event.sender == step.arrow.event.sender
            && found.arrow.origin == Origin::Written
            && found.is_linear() == step.is_linear()
            && kind(found) == kind(step)
            && machine.find(roles.locations(owner), found.arrow.event).is_none()
    });
    fitting.sort_by_key(|found| found.arrow.span);
    fitting
}

/// The product of channels got too large.
pub(super) fn too_many(client: &Machine<'_>, server: &Machine<'_>, limit: &TooMany) -> Diagnostic {
    Diagnostic::error(
        TOO_MANY,
        span(client, &limit.client),
        format!(
            "the roles group their messages in channels so differently that more than {PRODUCT_LIMIT} \
             combinations of places would have to be compared"
        ),
    )
    .label(format!("the client was in {}", words::place(client, &limit.client)))
    .also(
        span(server, &limit.server),
        format!("while the server was in {}", words::place(server, &limit.server)),
    )
    .help("write the same channels side by side in both roles, with the same messages in each")
}
