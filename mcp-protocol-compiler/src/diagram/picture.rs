//! What is drawn, whatever the notation.
//!
//! In: an automaton and the messages. Out: a [`Picture`], boxes with lists and arrows between them. Refuses to know
//! where anything is placed.
//!
//! Only what moves a channel is an arrow; arrows between the same two boxes are one arrow with several labels. The
//! body of a `*` is told in the line that opens it where it is one message and its replies; a longer one is drawn
//! beside the rest.

use std::collections::{BTreeMap, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Action, Direction, Kind, MessageIndex, Origin, StateIndex, StateKind};

use crate::automaton::{Automaton, Edge, State};
use crate::resolve::Message;

/// Which way the message of a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Send,
    Receive,
    /// Neither: a remark.
    Quiet,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// A name that every notation takes, `s3`.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) kind: StateKind,
    /// What may happen here and leads nowhere else.
    pub(super) lines: Vec<Line>,
    pub(super) may_close: bool,
    pub(super) peer_may_close: bool,
    /// The first state of a copy, and of which.
    pub(super) opened_by: Option<String>,
}

/// What an arrow stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stroke {
    /// Written by the author.
    Written,
    /// A refusal or a cancellation that the language implies.
    Implied,
    /// A fork to its channels.
    Split,
}

/// An arrow between two boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) stroke: Stroke,
    pub(super) labels: Vec<Line>,
}

/// A whole machine. The first box is where a session starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) nodes: Vec<Node>,
    pub(super) arrows: Vec<Arrow>,
}

impl Picture {
    pub(super) fn of(automaton: &Automaton, messages: &[Message]) -> Picture {
        let view = View { automaton, messages };
        let shown = view.shown();
        let places: HashMap<StateIndex, usize> =
            shown.iter().enumerate().map(|(place, (state, _))| (*state, place)).collect();
        let mut picture = Picture { name: automaton.name.clone(), ..Picture::default() };
        for (index, opened_by) in &shown {
            let Some(state) = view.state(*index) else { continue };
            picture.nodes.push(Node {
                id: format!("s{}", index.0),
                title: state.name.clone(),
                kind: state.kind,
                lines: view.lines(*index, state),
                may_close: state.may_close,
                peer_may_close: state.peer_may_close,
                opened_by: opened_by.clone(),
            });
            let Some(&from) = places.get(index) else { continue };
            let mut arrows: BTreeMap<(Stroke, usize), Arrow> = BTreeMap::new();
            let mut order = Vec::new();
            let parts = state.parts.iter().map(|part| (*part, Stroke::Split, None));
            for (target, stroke, label) in view.steps(*index, state).chain(parts) {
                let Some(&to) = places.get(&target) else { continue };
                let arrow = arrows.entry((stroke, to)).or_insert_with(|| {
                    order.push((stroke, to));
                    Arrow { from, to, stroke, labels: Vec::new() }
                });
                arrow.labels.extend(label);
            }
            picture.arrows.extend(order.iter().filter_map(|key| arrows.remove(key)));
        }
        picture
    }
}

struct View<'a> {
    automaton: &'a Automaton,
    messages: &'a [Message],
}

impl View<'_> {
    fn state(&self, index: StateIndex) -> Option<&State> {
        self.automaton.states.get(usize::try_from(index.0).ok()?)
    }

    fn message(&self, message: MessageIndex) -> (&str, Option<Kind>) {
        let found = self.messages.get(usize::from(message.0));
        (found.map_or("?", |found| found.table.name.as_ref()), found.map(|found| found.table.kind))
    }

    fn action(&self, edge: &Edge) -> String {
        let mark = if edge.direction == Direction::Send { '!' } else { '?' };
        format!("{mark}{}", self.message(edge.message).0)
    }

    fn line(&self, edge: &Edge) -> Line {
        let tone = if edge.direction == Direction::Send { Tone::Send } else { Tone::Receive };
        Line { text: self.action(edge), tone }
    }

    /// The states that get a box: all that linear channels reach, then those of longer bodies, each with what opens
    /// it.
    fn shown(&self) -> Vec<(StateIndex, Option<String>)> {
        let mut shown = Vec::new();
        let mut seen = HashSet::new();
        let mut bodies = vec![(StateIndex(0), None)];
        while let Some((first, opened_by)) = bodies.pop() {
            let mut waiting = vec![(first, opened_by)];
            let mut next = Vec::new();
            while let Some((index, opened_by)) = waiting.pop() {
                let Some(state) = self.state(index).filter(|_| seen.insert(index)) else { continue };
                shown.push((index, opened_by));
                for edge in &state.edges {
                    match edge.action {
                        Action::Step(target) => next.push((target, None)),
                        Action::Spawn(body) if self.summary(body).is_none() => {
                            bodies.push((body, Some(self.action(edge))));
                        }
                        Action::Spawn(_) => {}
                    }
                }
                next.extend(state.parts.iter().map(|part| (*part, None)));
                waiting.extend(next.drain(..).rev());
            }
        }
        let linear =
            |(index, _): &(StateIndex, Option<String>)| self.state(*index).is_some_and(|state| state.body);
        shown.sort_by_key(|place| (linear(place), place.0));
        shown
    }

    /// The rest of a copy in a few words, where that is its replies at most.
    fn summary(&self, body: StateIndex) -> Option<String> {
        let state = self.state(body)?;
        if state.kind == StateKind::End {
            return Some(String::new());
        }
        let mut replies = Vec::new();
        for edge in &state.edges {
            let target = self.state(edge.action.target())?;
            if matches!(edge.action, Action::Spawn(_)) || target.kind != StateKind::End {
                return None;
            }
            if edge.origin == Origin::Written {
                replies.push(self.action(edge));
            }
        }
        Some(format!(" . {}", replies.join(" | ")))
    }

    fn lines(&self, index: StateIndex, state: &State) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut late = Vec::new();
        // A fork is left at once; its channels list what runs beside them.
        let edges = state.edges.iter().filter(|_| state.kind != StateKind::Fork);
        for edge in edges {
            if edge.origin == Origin::Closure {
                late.push(self.action(edge));
                continue;
            }
            let mut line = self.line(edge);
            match edge.action {
                Action::Spawn(body) => {
                    let rest = self.summary(body).unwrap_or_else(|| {
                        format!(" . {}", self.state(body).map_or("?", |body| body.name.as_str()))
                    });
                    line.text = format!("* {}{rest}", line.text);
                }
                Action::Step(target) if target == index => line.text = format!("↻ {}", line.text),
                Action::Step(_) => continue,
            }
            lines.push(line);
        }
        let rests = match (state.only.outward, state.only.inward) {
            (true, true) => Some("copies rest"),
            (true, false) => Some("copies send nothing"),
            (false, true) => Some("copies receive nothing"),
            (false, false) => None,
        };
        lines.extend(rests.map(|text| Line { text: text.to_owned(), tone: Tone::Quiet }));
        if !late.is_empty() {
            lines.push(Line { text: format!("late {}", late.join(", ")), tone: Tone::Quiet });
        }
        lines
    }

    fn steps<'s>(
        &'s self,
        index: StateIndex,
        state: &'s State,
    ) -> impl Iterator<Item = (StateIndex, Stroke, Option<Line>)> + 's {
        state.edges.iter().filter_map(move |edge| match edge.action {
            Action::Step(target) if target != index => {
                let implied = matches!(edge.origin, Origin::Refusal | Origin::Cancel);
                let stroke = if implied { Stroke::Implied } else { Stroke::Written };
                Some((target, stroke, Some(self.line(edge))))
            }
            _ => None,
        })
    }
}

/// The right to close in a state, as the language writes it.
pub(super) fn closing(node: &Node) -> Option<&'static str> {
    match (node.may_close, node.peer_may_close) {
        (true, true) => Some("⊕ End, & End"),
        (true, false) => Some("⊕ End"),
        (false, true) => Some("& End"),
        (false, false) => None,
    }
}
