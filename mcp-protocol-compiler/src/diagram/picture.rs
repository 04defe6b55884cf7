//! What is drawn, whatever the notation.
//!
//! Only what moves a channel is an arrow; arrows between the same two boxes are one arrow with several labels. What
//! leaves a state as it is, replicated channels and loops, is a list in the state's box. The body of a `*` stands in
//! the line that opens it where it is one message and its replies; a longer one is a sub-session with a frame of its
//! own.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt::Write as _;

use mcp_protocol_machine::protocol::{Action, Direction, KeyPlace, Origin, StateIndex, StateKind};

use crate::automaton::{Automaton, Edge, State};
use crate::declarations::Declarations;
use crate::reach::reachable;

/// What is to be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn<'a> {
    pub(super) automaton: &'a Automaton,
    pub(super) declarations: &'a Declarations,
    /// Where the drawing starts.
    pub(super) start: StateIndex,
    /// Whether it has the refusals and cancels that the author did not write.
    pub(super) refusals: bool,
}

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

impl Line {
    pub(super) fn quiet(text: impl Into<String>) -> Line {
        Line { text: text.into(), tone: Tone::Quiet }
    }
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiagramNode {
    /// A name that every notation takes, `s3`.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) kind: StateKind,
    /// What may happen here and leads nowhere else.
    pub(super) lines: Vec<Line>,
    pub(super) may_close: bool,
    pub(super) peer_may_close: bool,
    /// Whether the diagram starts here.
    pub(super) start: bool,
    /// What opens the sub-session in this state. Mostly empty.
    pub(super) opened_by: Vec<Line>,
}

impl DiagramNode {
    /// Whether the session, or the sub-session, may be over here.
    pub(super) fn may_end(&self) -> bool {
        self.kind == StateKind::End || self.may_close || self.peer_may_close
    }

    /// The right to close here, as the language writes it.
    pub(super) fn closing(&self) -> Option<&'static str> {
        match (self.may_close, self.peer_may_close) {
            _ if self.kind == StateKind::End => None,
            (true, true) => Some("⊕ End, & End"),
            (true, false) => Some("⊕ End"),
            (false, true) => Some("& End"),
            (false, false) => None,
        }
    }
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

/// An arrow between two boxes of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiagramArrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) stroke: Stroke,
    pub(super) labels: Vec<Line>,
}

/// The session, or the sub-sessions that share states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// What stands above the frame; none for the session.
    pub(super) caption: Option<String>,
    pub(super) nodes: Vec<DiagramNode>,
    pub(super) arrows: Vec<DiagramArrow>,
}

/// A whole machine. The first frame is the session, or what a definition leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) frames: Vec<Frame>,
    /// What may happen in every state of the first frame, and stands in none of its boxes.
    pub(super) always: Vec<Line>,
    /// What the signs mean that occur in lines.
    pub(super) signs: Vec<Line>,
    /// What the borders and strokes mean that occur, for notations that have them.
    pub(super) strokes: Vec<Line>,
}

/// Above the lines that hold everywhere.
pub(super) const ALWAYS: &str = "In every state";
/// Above the legend.
pub(super) const LEGEND: &str = "Legend";

impl Picture {
    pub(super) fn of(diagram: &Drawn<'_>) -> Picture {
        let view = View(*diagram);
        let groups = view.groups();
        let mut shared: HashMap<StateIndex, usize> = HashMap::new();
        for state in groups.iter().flat_map(|group| &group.states) {
            *shared.entry(*state).or_default() += 1;
        }
        let id = |frame: usize, state: StateIndex| match shared.get(&state) {
            Some(2..) => format!("f{frame}s{}", state.0),
            _ => format!("s{}", state.0),
        };
        let mut frames: Vec<Frame> = groups
            .iter()
            .enumerate()
            .map(|(number, group)| view.frame(group, |state| id(number, state)))
            .collect();
        let always = frames.first_mut().map(take_common).unwrap_or_default();
        let name = diagram.automaton.name.clone();
        let picture = Picture { name, frames, always, ..Picture::default() };
        let (signs, strokes) = (signs(&picture), strokes(&picture));
        Picture { signs, strokes, ..picture }
    }
}

impl Picture {
    /// What all signs, borders and strokes mean that occur.
    pub(super) fn legend(&self) -> Vec<Line> {
        self.signs.iter().chain(&self.strokes).cloned().collect()
    }
}

/// Takes the replicated channels out of the boxes that stand in every one.
fn take_common(frame: &mut Frame) -> Vec<Line> {
    let mut boxes = frame.nodes.iter().filter(|node| node.kind != StateKind::Fork);
    let (Some(first), Some(second)) = (boxes.next(), boxes.next()) else { return Vec::new() };
    let replicated = |line: &&Line| line.text.starts_with('*');
    let mut common: Vec<Line> = first.lines.iter().filter(replicated).cloned().collect();
    for node in std::iter::once(second).chain(boxes) {
        common.retain(|line| node.lines.contains(line));
    }
    for node in &mut frame.nodes {
        node.lines.retain(|line| !common.contains(line));
    }
    common
}

fn signs(picture: &Picture) -> Vec<Line> {
    let nodes = || picture.frames.iter().flat_map(|frame| &frame.nodes);
    let labels = picture.frames.iter().flat_map(|frame| &frame.arrows).flat_map(|arrow| &arrow.labels);
    let lines = nodes().flat_map(|node| node.lines.iter().chain(&node.opened_by));
    let lines: Vec<&Line> = lines.chain(&picture.always).chain(labels).collect();
    let starts = |sign: &str| lines.iter().any(|line| line.text.starts_with(sign));
    let tone = |tone: Tone| lines.iter().any(|line| line.tone == tone);
    let entries = [
        (tone(Tone::Send), Line { text: "!M: this side sends M".to_owned(), tone: Tone::Send }),
        (tone(Tone::Receive), Line { text: "?M: this side receives M".to_owned(), tone: Tone::Receive }),
        (starts("*"), Line::quiet("*: any number at once")),
        (starts("↻"), Line::quiet("↻: the state stays the same")),
        (starts("late"), Line::quiet("late: may still arrive, and is dropped")),
        (nodes().any(|node| node.may_close), Line::quiet("⊕ End: this side may close")),
        (nodes().any(|node| node.peer_may_close), Line::quiet("& End: the peer may close")),
    ];
    entries.into_iter().filter(|(occurs, _)| *occurs).map(|(_, line)| line).collect()
}

fn strokes(picture: &Picture) -> Vec<Line> {
    let ends = picture.frames.iter().flat_map(|frame| &frame.nodes).any(DiagramNode::may_end);
    let stroke = |stroke: Stroke| {
        picture.frames.iter().flat_map(|frame| &frame.arrows).any(|arrow| arrow.stroke == stroke)
    };
    let entries = [
        (ends, "double border: may end here"),
        (stroke(Stroke::Implied), "dashed: refused or cancelled"),
        (stroke(Stroke::Split), "dotted: channels side by side"),
    ];
    entries.into_iter().filter(|(occurs, _)| *occurs).map(|(_, text)| Line::quiet(text)).collect()
}

/// The states of one frame, in order, with what opens some of them.
struct Group<'a> {
    states: BTreeSet<StateIndex>,
    openers: BTreeMap<StateIndex, Vec<&'a Edge>>,
}

struct View<'a>(Drawn<'a>);

impl<'a> View<'a> {
    fn state(&self, index: StateIndex) -> Option<&'a State> {
        self.0.automaton.states.get(usize::try_from(index.0).ok()?)
    }

    /// The edges that are drawn.
    fn edges(&self, state: &'a State) -> impl Iterator<Item = &'a Edge> + use<'a> {
        let implied = |edge: &Edge| matches!(edge.origin, Origin::Refusal | Origin::Cancel);
        let refusals = self.0.refusals;
        state.edges.iter().filter(move |edge| refusals || !implied(edge))
    }

    fn action(&self, edge: &Edge) -> String {
        let mark = if edge.direction == Direction::Send { '!' } else { '?' };
        format!("{mark}{}", self.0.declarations.message_name(edge.message))
    }

    fn line(&self, edge: &Edge) -> Line {
        let tone = if edge.direction == Direction::Send { Tone::Send } else { Tone::Receive };
        Line { text: self.action(edge), tone }
    }

    /// All states that some steps lead to, and the edges that open sub-sessions there.
    fn reached(&self, first: StateIndex) -> (BTreeSet<StateIndex>, Vec<&'a Edge>) {
        let steps =
            |state: &'a State| self.edges(state).filter(|edge| matches!(edge.action, Action::Step(_)));
        let states = reachable([first], |index| {
            let state = self.state(index).into_iter();
            state.flat_map(move |state| {
                state.parts.iter().copied().chain(steps(state).map(|edge| edge.action.target()))
            })
        });
        let opened = states.iter().filter_map(|index| self.state(*index)).flat_map(|state| self.edges(state));
        let opens = |edge: &&Edge| matches!(edge.action, Action::Spawn(body) if self.summary(body).is_none());
        let opened = opened.filter(opens).collect();
        (states.into_iter().filter(|index| self.state(*index).is_some()).collect(), opened)
    }

    /// The frames: the session, then the sub-sessions in the order in which they are opened. Bodies that lead to a
    /// common state stand in one frame; the end that all of them have is not such a state.
    fn groups(&self) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut waiting: VecDeque<(StateIndex, Option<&Edge>)> = VecDeque::from([(self.0.start, None)]);
        while let Some((first, opener)) = waiting.pop_front() {
            let known = groups.iter_mut().find(|group| group.states.contains(&first));
            let group = match known {
                Some(group) => group,
                None => {
                    let (states, opened) = self.reached(first);
                    waiting.extend(opened.into_iter().map(|edge| (edge.action.target(), Some(edge))));
                    let goes_on = |state: &&StateIndex| {
                        self.state(**state).is_some_and(|state| state.kind != StateKind::End)
                    };
                    let shares = |group: &Group| {
                        states.iter().filter(goes_on).any(|state| group.states.contains(state))
                    };
                    let place = match groups.iter().position(shares) {
                        Some(place) => place,
                        None => {
                            groups.push(Group { states: BTreeSet::new(), openers: BTreeMap::new() });
                            groups.len() - 1
                        }
                    };
                    let Some(group) = groups.get_mut(place) else { continue };
                    group.states.extend(states);
                    group
                }
            };
            let openers = group.openers.entry(first).or_default();
            let opens_as = |known: &&Edge, edge: &Edge| {
                (known.direction, known.message) == (edge.direction, edge.message)
            };
            openers.extend(opener.filter(|edge| !openers.iter().any(|known| opens_as(known, edge))));
        }
        groups
    }

    fn frame(&self, group: &Group<'a>, id: impl Fn(StateIndex) -> String) -> Frame {
        let first = self.0.start;
        let opener = |edge: &&Edge| {
            let line = self.line(edge);
            Line { text: format!("* {}", line.text), ..line }
        };
        let ends = |state: &StateIndex| self.state(*state).is_some_and(|state| state.kind == StateKind::End);
        let rank = |state: &StateIndex| (*state != first, ends(state), *state);
        let mut states: Vec<StateIndex> = group.states.iter().copied().collect();
        states.sort_by_key(rank);
        let places: HashMap<StateIndex, usize> =
            states.iter().enumerate().map(|(place, state)| (*state, place)).collect();
        let mut frame = Frame { caption: self.caption(group), ..Frame::default() };
        for (from, index) in states.iter().copied().enumerate() {
            let Some(state) = self.state(index) else { continue };
            let unnamed_end = state.kind == StateKind::End && !state.named;
            frame.nodes.push(DiagramNode {
                id: id(index),
                title: if unnamed_end { "End".to_owned() } else { state.name.clone() },
                kind: state.kind,
                lines: self.lines(index, state),
                may_close: state.may_close,
                peer_may_close: state.peer_may_close,
                start: index == first,
                opened_by: group.openers.get(&index).into_iter().flatten().map(opener).collect(),
            });
            let mut arrows: BTreeMap<(Stroke, usize), DiagramArrow> = BTreeMap::new();
            let mut order = Vec::new();
            let parts = state.parts.iter().map(|part| (*part, Stroke::Split, None));
            for (target, stroke, label) in self.steps(index, state).chain(parts) {
                let Some(&to) = places.get(&target) else { continue };
                let arrow = arrows.entry((stroke, to)).or_insert_with(|| {
                    order.push((stroke, to));
                    DiagramArrow { from, to, stroke, labels: Vec::new() }
                });
                arrow.labels.extend(label);
            }
            frame.arrows.extend(order.iter().filter_map(|key| arrows.remove(key)));
        }
        frame
    }

    /// What a frame of sub-sessions is: by which keys their later messages are correlated.
    fn caption(&self, group: &Group<'a>) -> Option<String> {
        let states = || group.states.iter().filter_map(|state| self.state(*state));
        if !states().any(|state| state.body) {
            return None;
        }
        let declarations = self.0.declarations;
        // What opens one within has keys of that one, too.
        let steps = states().flat_map(|state| &state.edges);
        let steps = steps.filter(|edge| matches!(edge.action, Action::Step(_)));
        let edges = group.openers.values().flatten().copied().chain(steps);
        let mut keys: BTreeMap<usize, bool> = BTreeMap::new();
        for edge in edges {
            let carried = declarations.message(edge.message).map(|message| message.table.keys.as_ref());
            for carried in carried.unwrap_or_default() {
                *keys.entry(usize::from(carried.key.0)).or_default() |= carried.place == KeyPlace::Id;
            }
        }
        let mut caption = "sub-session".to_owned();
        for (key, is_id) in keys {
            let name = declarations.keys.get(key).map_or("?", |key| key.table.name.as_ref());
            // Writing to a string does not fail.
            _ = write!(caption, " · key {name}{}", if is_id { ", the id of the request" } else { "" });
        }
        Some(caption)
    }

    /// What follows in a body, in a few words, where that is its replies at most.
    fn summary(&self, body: StateIndex) -> Option<String> {
        let state = self.state(body).filter(|state| state.kind != StateKind::Fork)?;
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
        let mut late: Vec<String> = Vec::new();
        // A fork is left at once; its channels list what runs in parallel.
        for edge in self.edges(state).filter(|_| state.kind != StateKind::Fork) {
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
        let suspended = match (state.only.outward, state.only.inward) {
            (true, true) => Some("sub-sessions suspended"),
            (true, false) => Some("sub-sessions send nothing"),
            (false, true) => Some("sub-sessions receive nothing"),
            (false, false) => None,
        };
        lines.extend(suspended.map(Line::quiet));
        if !late.is_empty() {
            lines.push(Line::quiet(format!("late {}", late.join(", "))));
        }
        lines
    }

    fn steps(
        &self,
        index: StateIndex,
        state: &'a State,
    ) -> impl Iterator<Item = (StateIndex, Stroke, Option<Line>)> {
        self.edges(state).filter_map(move |edge| match edge.action {
            Action::Step(target) if target != index => {
                let implied = matches!(edge.origin, Origin::Refusal | Origin::Cancel);
                let stroke = if implied { Stroke::Implied } else { Stroke::Written };
                Some((target, stroke, Some(self.line(edge))))
            }
            _ => None,
        })
    }
}
