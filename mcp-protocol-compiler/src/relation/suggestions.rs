//! What to type where one role has a message that the other one lacks.

use mcp_protocol_machine::protocol::{Action, Origin, Side, StateIndex, StateKind};

use super::disagreement::Disagreement;
use super::machine::{Machine, Move, position};
use super::outcome::{Outcome, Wanted};
use super::roles::Roles;
use super::search::search;
use super::words;
use crate::automaton::{Automaton, Edge, State};
use crate::diagnostic::{Code, Diagnostic, Edit};

/// Only one role has the move.
pub(super) fn lone(
    roles: &Roles<'_, '_>,
    code: Code,
    message: String,
    step: &Move,
    wanted: Wanted,
) -> Diagnostic {
    let sender = step.arrow.event.sender;
    let owner = match roles.found.what {
        Disagreement::NeverSent(_) => sender.other(),
        _ => sender,
    };
    let other = owner.other();
    let implied = match step.arrow.origin {
        Origin::Refusal => " (implied: a request may be refused)",
        Origin::Cancel => " (implied: the request may be cancelled)",
        Origin::Written | Origin::Closure => "",
    };
    let (has, lacks) = (roles.action(step, owner), roles.action(step, other));
    let (here, there) = (roles.place(owner), roles.place(other));
    let diagnostic =
        Diagnostic::error(code, step.arrow.span, message).label(match step.arrow.event.sender == owner {
            true => format!("{} may send `{}` here{implied}, {here}", words::role(owner), roles.name(step)),
            false => format!("{} accepts `{}` here{implied}, {here}", words::role(owner), roles.name(step)),
        });
    if let Some(found) = other_way_round(roles, &diagnostic, step, owner) {
        return found;
    }
    // What is tried out comes before what only looks alike.
    if let Some(found) = one_step_apart(roles, &diagnostic, step, owner, wanted) {
        return found;
    }
    let instead = instead(roles, step, owner);
    if let [instead] = instead.as_slice() {
        let written = roles.action(instead, other);
        return diagnostic
            .also(instead.arrow.span, format!("`{written}` stands here, and no `{lacks}`, {there}"))
            .suggest(
                format!(
                    "write `{lacks}` in place of `{written}`, or `{}` in place of `{has}`",
                    roles.action(instead, owner)
                ),
                [Edit::replace(instead.arrow.span, lacks.as_str())],
            );
    }
    let diagnostic = match instead.as_slice() {
        [first, .., last] if first.arrow.span == last.arrow.span => {
            let (written, more) = (roles.action(first, other), instead.len() - 1);
            let label = format!("`{written}` and {more} more stand here, and no `{lacks}`, {there}");
            diagnostic.also(first.arrow.span, label)
        }
        _ => {
            let (span, position) = roles.gap(other);
            diagnostic.also(span, format!("no `{lacks}` {position}, {there}"))
        }
    };
    let text = roles.text(step, other);
    if step.arrow.origin == Origin::Written {
        let place = next_to(roles, other).unwrap_or(there);
        diagnostic.help(format!("add `{text}` {place}, or remove `{has}` {here}"))
    } else {
        diagnostic.help(format!("write `{text}` out {there}, or give both roles the same steps here"))
    }
}

/// Where a role is to get one more branch.
pub(super) fn next_to(roles: &Roles<'_, '_>, side: Side) -> Option<String> {
    let first = roles.written(side).into_iter().find(Move::is_linear)?;
    Some(format!("next to `{}` {}", roles.action(&first, side), roles.place(side)))
}

/// Both roles are written as one of them sees it.
fn other_way_round(
    roles: &Roles<'_, '_>,
    diagnostic: &Diagnostic,
    step: &Move,
    owner: Side,
) -> Option<Diagnostic> {
    let other = owner.other();
    // A message that goes both ways may be missing in one of them, and right in the other.
    let fits = |found: &Move| roles.machine(owner).find(roles.locations(owner), found.arrow.event).is_some();
    let same = |found: &&Move| {
        found.arrow.event.message == step.arrow.event.message
            && found.arrow.event.sender != step.arrow.event.sender
            && !fits(found)
    };
    let moves = roles.written(other);
    let found = moves.iter().find(same).filter(|_| step.arrow.origin == Origin::Written)?;
    let has = roles.action(step, owner);
    let diagnostic = diagnostic.clone().also(
        found.arrow.span,
        format!("`{}` here, too, {}", roles.action(found, other), roles.place(other)),
    );
    let sees = if other == Side::Server { "server" } else { "client" };
    let name = roles.name_of(other);
    let text = seen_by_peer(roles, owner).filter(|_| roles.found.way.is_empty());
    Some(if let Some(text) = text {
        let edit = Edit::replace(roles.span(other), text.as_str());
        let written = diagnostic.suggest(
            format!("write `{name}` as the {sees} sees it, with `!` and `?` exchanged: `{name} = {text}`"),
            Some(edit).filter(|_| !text.ends_with('…')),
        );
        written.of_state()
    } else {
        let right = roles.action(step, other);
        diagnostic.suggest(
            format!("write `{right}` in place of `{has}` in `{name}`, as the {sees} sees it"),
            [Edit::replace(found.arrow.span, right)],
        )
    })
}

/// A role's sequence as its peer would write it, as far as it is one.
fn seen_by_peer(roles: &Roles<'_, '_>, side: Side) -> Option<String> {
    const SHOWN: usize = 6;
    let machine = roles.machine(side);
    let mut text = String::new();
    let mut locations = machine.start();
    for _ in 0..SHOWN {
        let over = locations
            .iter()
            .filter_map(|&location| machine.state(location))
            .all(|state| state.kind == StateKind::End);
        if over {
            return Some(text + "End");
        }
        let moves = words::written(machine, &locations);
        let [only] = moves.as_slice() else { break };
        text += &format!("{} . ", roles.action(only, side.other()));
        locations = machine.step(&locations, only);
    }
    (!text.is_empty()).then(|| text + "…")
}

/// The roles relate if one of them leaves out the step that stands here, or if the other one has it, too.
fn one_step_apart(
    roles: &Roles<'_, '_>,
    diagnostic: &Diagnostic,
    step: &Move,
    owner: Side,
    wanted: Wanted,
) -> Option<Diagnostic> {
    let other = owner.other();
    let relate = |side: Side, automaton: Automaton| {
        let (changed, same) = (Machine::new(&automaton), roles.machine(side.other()));
        let outcome = match side {
            Side::Client => search(&changed, same, wanted),
            Side::Server => search(same, &changed, wanted),
        };
        matches!(outcome, Outcome::Related)
    };
    if let Some(extra) = only_step(roles, other)
        && relate(other, without(roles.machine(other), &extra))
    {
        let written = roles.action(&extra, other);
        let does = if extra.arrow.event.sender == other { "send" } else { "await" };
        let label = format!(
            "{} can only {does} `{}` here, {}",
            words::role(other),
            roles.name(&extra),
            roles.place(other)
        );
        let help = format!("remove this `{written}` from `{}`", roles.name_of(other));
        return Some(
            diagnostic.clone().also(extra.arrow.span, label).suggest(help, [Edit::delete(extra.arrow.span)]),
        );
    }
    only_step(roles, owner).filter(|found| found == step)?;
    let [location] = *roles.locations(other) else { return None };
    if !relate(other, with(roles.machine(other), location, step)) {
        return None;
    }
    let before = match roles.written(other).first() {
        Some(next) => roles.action(next, other),
        None => "End".to_owned(),
    };
    let lacks = roles.action(step, other);
    let label = format!("no `{lacks}` here, {}", roles.place(other));
    let edit = Edit::before(roles.span(other), format!("{lacks} . "));
    let help = format!(
        "write `{lacks} .` before `{before}` in `{}`, or remove `{}` from `{}`",
        roles.name_of(other),
        roles.action(step, owner),
        roles.name_of(owner)
    );
    Some(diagnostic.clone().also(roles.span(other), label).suggest(help, [edit]))
}

/// The step that is all a role may do where it is, closing included.
fn only_step(roles: &Roles<'_, '_>, side: Side) -> Option<Move> {
    let machine = roles.machine(side);
    let ends = roles
        .locations(side)
        .iter()
        .filter_map(|&location| machine.state(location))
        .any(|state| state.may_close || state.peer_may_close || state.kind == StateKind::End);
    match roles.written(side).as_slice() {
        [only] if only.is_linear() && !ends && !only.is_loop() => Some(*only),
        _ => None,
    }
}

/// A role that goes on behind a step without having taken it.
fn without(machine: &Machine<'_>, step: &Move) -> Automaton {
    let mut automaton = machine.automaton().clone();
    redirect(&mut automaton, step.from, step.arrow.action.target());
    automaton
}

/// A role that takes a step of its peer before it comes to a place.
fn with(machine: &Machine<'_>, place: StateIndex, step: &Move) -> Automaton {
    let mut automaton = machine.automaton().clone();
    let (Some(state), Ok(number)) = (machine.state(place).cloned(), u32::try_from(automaton.states.len()))
    else {
        return automaton;
    };
    // The place moves to the end, and what is new takes its number, so that all that leads there leads through it.
    let moved = StateIndex(number);
    let edge = Edge {
        direction: step.arrow.event.direction(machine.side()),
        message: step.arrow.event.message,
        action: Action::Step(moved),
        origin: step.arrow.origin,
        cancels: step.arrow.event.cancels,
        span: step.arrow.span,
        level: None,
    };
    let sub_sessions = state.edges.iter().filter(|edge| matches!(edge.action, Action::Spawn(_))).cloned();
    let before = State {
        kind: StateKind::Linear,
        edges: sub_sessions.chain([edge]).collect(),
        parts: Vec::new(),
        may_close: false,
        peer_may_close: false,
        ..state.clone()
    };
    automaton.states.push(state);
    if let Some(slot) = automaton.states.get_mut(position(place)) {
        *slot = before;
    }
    automaton
}

/// Lets all that leads to one state lead to another.
fn redirect(automaton: &mut Automaton, from: StateIndex, to: StateIndex) {
    let turn = |state: &mut StateIndex| {
        if *state == from {
            *state = to;
        }
    };
    for state in &mut automaton.states {
        state.parts.iter_mut().for_each(turn);
        for edge in &mut state.edges {
            match &mut edge.action {
                Action::Step(target) | Action::Spawn(target) => turn(target),
            }
        }
    }
    // A session starts in the first state, whatever leads there.
    if from == StateIndex(0)
        && let Some(next) = automaton.states.get(position(to)).cloned()
        && let Some(first) = automaton.states.first_mut()
    {
        *first = next;
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
