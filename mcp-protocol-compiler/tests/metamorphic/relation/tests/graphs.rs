//! Random automata as texts: each state is a definition.

use std::fmt::Write;

use mcp_protocol_machine::protocol::{Action, Direction, Kind, Origin, StateKind};

use super::random::{Random, Shape, client, dual, interleave, loosen, mutate, vocabulary};
use crate::automaton::{Automaton, State};
use crate::declarations::Message;

/// Writes a random protocol.
pub(crate) fn write(seed: u64) -> String {
    let mut random = Random::new(seed);
    let shape = Shape { suspends: false, ..Shape::any(&mut random) };
    let one = client(&mut random, shape);
    let mut other = dual(&mut random, &one);
    let compatible = match random.below(8) {
        0 => {
            mutate(&mut random, &mut other);
            false
        }
        1 | 2 => {
            loosen(&mut random, &mut other);
            true
        }
        3 => {
            other = interleave(&other);
            false
        }
        _ => false,
    };
    let messages = vocabulary();
    let mut text = declarations(&messages);
    let parallel = random.percent(50);
    writeln!(text, "client C{}\nserver S", if compatible { " compatible" } else { "" }).unwrap();
    for (role, name) in [(&one, "C"), (&other, "S")] {
        states(role, name, parallel, &messages, &mut text);
    }
    text
}

fn declarations(messages: &[Message]) -> String {
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    let mut keys = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let name = name(message);
        let of = |kind: Kind| matches!(kind, Kind::Reply { request } if usize::from(request.0) == index);
        match message.table.kind {
            Kind::Notification if name == "Cancel" => {
                writeln!(text, "notification Cancel \"cancel\" (P) cancels id").unwrap();
                continue;
            }
            Kind::Notification => writeln!(text, "notification {name} \"{name}\" (P)").unwrap(),
            Kind::Request => {
                let replies = messages.iter().filter(|reply| of(reply.table.kind));
                let replies: Vec<String> = replies
                    .enumerate()
                    .map(|(place, reply)| {
                        let condition = if place > 0 { " if late" } else { "" };
                        format!("{} (P){condition}", reply.table.name)
                    })
                    .collect();
                let modifier = if message.table.cancellable { " cancellable" } else { "" };
                writeln!(text, "request {name} \"{name}\" (P) -> {}{modifier}", replies.join(" | ")).unwrap();
            }
            _ => continue,
        }
        keys.push(format!("{name}.k"));
    }
    writeln!(text, "key k = {}", keys.join(" | ")).unwrap();
    text
}

/// Messages have names that no state has.
fn name(message: &Message) -> String {
    match &*message.table.name {
        short if short.len() == 1 => format!("M{short}"),
        other => other.to_owned(),
    }
}

/// A definition for each state. With `parallel`, what every linear state may open runs in parallel with the channel.
fn states(role: &Automaton, prefix: &str, parallel: bool, messages: &[Message], text: &mut String) {
    let spawns = |state: &State| -> Vec<(Direction, u16, u32)> {
        let edges = state.edges.iter().filter_map(|edge| match edge.action {
            Action::Spawn(body) => Some((edge.direction, edge.message.0, body.0)),
            Action::Step(_) => None,
        });
        edges.collect()
    };
    let sign = |direction| if direction == Direction::Send { '!' } else { '?' };
    let linear = || role.states.iter().filter(|state| !state.body && state.kind != StateKind::Fork);
    let mut all: Vec<(Direction, u16, u32)> = role.states.iter().flat_map(spawns).collect();
    all.sort_unstable();
    all.dedup();
    let named = |(_, message, body): &(Direction, u16, u32)| {
        format!("{prefix}Opened{}At{body}", name(&messages[usize::from(*message)]))
    };
    for opened in &all {
        let action = format!("{}{}", sign(opened.0), name(&messages[usize::from(opened.1)]));
        writeln!(text, "{} = {action} . {prefix}{}", named(opened), opened.2).unwrap();
    }
    let always: Vec<_> = all
        .iter()
        .filter(|opened| parallel && linear().all(|state| spawns(state).contains(opened)))
        .copied()
        .collect();
    let start: Vec<String> = [format!("{prefix}0")]
        .into_iter()
        .chain(always.iter().map(|opened| format!("*{}", named(opened))))
        .collect();
    let start = if start.len() > 1 { format!("({})", start.join(", ")) } else { start.concat() };
    writeln!(text, "{prefix} = {start}").unwrap();
    for (place, state) in role.states.iter().enumerate() {
        if state.kind == StateKind::Fork {
            let parts: Vec<String> = state.parts.iter().map(|part| format!("{prefix}{}", part.0)).collect();
            writeln!(text, "{prefix}{place} = ({})", parts.join(", ")).unwrap();
            continue;
        }
        let mut branches: Vec<String> = Vec::new();
        let mut sends = false;
        for edge in state.edges.iter().filter(|edge| edge.origin == Origin::Written) {
            let message = &messages[usize::from(edge.message.0)];
            match edge.action {
                Action::Step(target) => {
                    sends |= edge.direction == Direction::Send;
                    branches.push(format!(
                        "{}{} . {prefix}{}",
                        sign(edge.direction),
                        name(message),
                        target.0
                    ));
                }
                Action::Spawn(body) => {
                    let opened = (edge.direction, edge.message.0, body.0);
                    if !always.contains(&opened) {
                        branches.push(format!("*{}", named(&opened)));
                    }
                }
            }
        }
        if state.kind == StateKind::End || state.may_close || state.peer_may_close || branches.is_empty() {
            branches.push("End".to_owned());
        }
        let internal = if state.may_close != state.peer_may_close { state.may_close } else { sends };
        writeln!(text, "{prefix}{place} = {}", branches.join(if internal { " ⊕ " } else { " & " })).unwrap();
    }
}
