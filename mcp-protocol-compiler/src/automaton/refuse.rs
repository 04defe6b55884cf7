//! Refusals: every request may be answered by an error.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Kind, MessageIndex, Origin, StateKind};

use super::cancel;
use super::finding::{Finding, FindingKind};
use super::minimise::classes;
use super::open::{OpenSet, OpenSets};
use super::raw::{Raw, RawEdge, RawState, Step, end_of_sub_sessions};
use super::replies::{Answered, answered};
use crate::declarations::Declarations;
use crate::diagnostic::limit::LIMIT_OF_ALL;
use crate::hash::Map;
use crate::source::Span;

/// A state with what is known of the requests that are open in it.
///
/// Whatever changes the state comes between the requests before it and their replies, so at most one request is open
/// whose refusal can lead back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RefusalKey {
    state: usize,
    /// The request that nothing has followed yet, and the state that sent it: its refusal leads back there.
    last: Option<(Step, usize)>,
    /// The request that opened the sub-session: its refusal ends the sub-session.
    opener: Option<Step>,
    /// Requests that something came after, which a refusal would undo.
    lost: OpenSet,
}

impl RefusalKey {
    fn start(state: usize) -> RefusalKey {
        RefusalKey { state, last: None, opener: None, lost: OpenSet::EMPTY }
    }
}

/// Which steps leave a state as it is, so that a request stays the last one.
///
/// A step to another state may lead to the same one once refusals are implied: the one state has a refusal written that
/// the other has implied. Whether that is so shows when all refusals are there. Steps are taken to be such loops as
/// long as nothing but refusals tells their ends apart, and those that turn out to be none are remembered.
#[derive(Default)]
struct Loops {
    /// The class of each state, refusals left out of account; nothing where no refusal is written.
    classes: Vec<usize>,
    /// Steps that do move.
    moves: BTreeSet<(usize, usize)>,
}

/// How often steps that turned out to move are looked for. Steps that still may not be loops then count as moving.
const MOST_ROUNDS: usize = 4;

impl Loops {
    fn new(raw: &Raw, declarations: &Declarations) -> Loops {
        let refusal = |edge: &RawEdge| {
            let message = declarations.message(edge.message);
            message.is_some_and(|message| matches!(message.table.kind, Kind::Refusal { .. }))
        };
        if !raw.states.iter().any(|place| place.edges.iter().any(refusal)) {
            return Loops::default();
        }
        let mut states = raw.states.clone();
        states.iter_mut().for_each(|place| place.edges.retain(|edge| !refusal(edge)));
        Loops { classes: classes(&states), moves: BTreeSet::new() }
    }

    /// Whether a step to another state may be a loop.
    fn may_be(&self, from: usize, to: usize) -> bool {
        let class = |state: usize| self.classes.get(state);
        class(from).is_some() && class(from) == class(to) && !self.moves.contains(&(from, to))
    }
}

struct Refuser<'a> {
    raw: &'a Raw,
    declarations: &'a Declarations,
    loops: &'a Loops,
    /// Steps to another state of the written automaton that were taken for loops.
    assumed: Vec<(usize, usize)>,
    states: Vec<RawState>,
    sets: OpenSets,
    keys: Map<RefusalKey, usize>,
    waiting: Vec<usize>,
    /// The key of each state, and the first edge that led to it with the state that has it.
    reached: Vec<(RefusalKey, Option<(usize, &'a RawEdge)>)>,
    reported: BTreeSet<(MessageIndex, Span)>,
    /// The state of a sub-session that is over.
    over: Option<usize>,
}

/// Adds the implied edges.
pub(super) fn refuse(raw: &Raw, declarations: &Declarations, findings: &mut Vec<Finding>) -> Raw {
    let mut loops = Loops::new(raw, declarations);
    for _ in 0..MOST_ROUNDS {
        if let Some(found) = refuse_with(raw, declarations, &mut loops, findings) {
            return found;
        }
    }
    let mut none = Loops::default();
    refuse_with(raw, declarations, &mut none, findings).unwrap_or_default()
}

/// The same with what is known of loops; nothing if a step turns out to move, which is known then.
fn refuse_with(
    raw: &Raw,
    declarations: &Declarations,
    loops: &mut Loops,
    findings: &mut Vec<Finding>,
) -> Option<Raw> {
    let mut found = Vec::new();
    let mut refuser = Refuser {
        raw,
        declarations,
        loops,
        assumed: Vec::new(),
        states: Vec::new(),
        sets: OpenSets::default(),
        keys: Map::default(),
        waiting: Vec::new(),
        reached: Vec::new(),
        reported: BTreeSet::new(),
        over: None,
    };
    let start = refuser.state(RefusalKey::start(raw.start), None);
    while let Some(state) = refuser.waiting.pop() {
        refuser.expand(state, &mut found);
    }
    let mut result = Raw { states: refuser.states, start };
    if !refuser.assumed.is_empty() {
        let classes = classes(&result.states);
        let written = |state: &usize| refuser.reached.get(*state).map(|(key, _)| key.state);
        let moves: Vec<(usize, usize)> = refuser
            .assumed
            .iter()
            .filter(|(from, to)| classes.get(*from) != classes.get(*to))
            .filter_map(|(from, to)| Some((written(from)?, written(to)?)))
            .collect();
        if !moves.is_empty() {
            loops.moves.extend(moves);
            return None;
        }
    }
    let openers: Vec<Option<Step>> = refuser.reached.iter().map(|(key, _)| key.opener).collect();
    cancel::add(&mut result, &openers, declarations, &mut found);
    findings.append(&mut found);
    Some(result)
}

impl<'a> Refuser<'a> {
    fn state(&mut self, key: RefusalKey, by: Option<(usize, &'a RawEdge)>) -> usize {
        if let Some(state) = self.keys.get(&key) {
            return *state;
        }
        let number = self.states.len();
        if let Some(place) = self.raw.states.get(key.state) {
            self.states.push(place.without_edges());
            self.reached.push((key, by));
        }
        self.keys.insert(key, number);
        self.waiting.push(number);
        number
    }

    fn expand(&mut self, number: usize, findings: &mut Vec<Finding>) {
        let raw = self.raw;
        let Some((key, _)) = self.reached.get(number).copied() else { return };
        let Some(place) = raw.states.get(key.state) else { return };
        let mut edges = Vec::with_capacity(place.edges.len() + 1);
        for edge in &place.edges {
            let (after, assumed) = self.after(number, key, edge);
            let target = self.state(after, Some((number, edge)));
            if assumed {
                self.assumed.push((number, target));
            }
            edges.push(RawEdge { target, ..edge.clone() });
        }
        for (open, answered) in answered(&place.edges, self.declarations) {
            if let Answered { reply: Some(reply), refused: false } = answered {
                self.refusal(number, key, open, reply, &mut edges, findings);
            }
        }
        // The request that opened a sub-session may be refused as long as it is open: nothing of it is left to undo.
        if let Some(opener) = key.opener
            && place.parts.is_empty()
            && !answered(&place.edges, self.declarations).contains_key(&opener)
        {
            self.refusal(number, RefusalKey { last: None, ..key }, opener, place.span, &mut edges, findings);
        }
        // It is open in the channel that it is the first message of.
        let openers = std::iter::once(key.opener).chain(std::iter::repeat(None));
        let parts = place.parts.iter().zip(openers);
        let parts = parts.map(|(part, opener)| RefusalKey { opener, ..RefusalKey::start(*part) });
        let parts = parts.map(|part| self.state(part, None)).collect();
        if let Some(state) = self.states.get_mut(number) {
            state.edges = edges;
            state.parts = parts;
        }
    }

    /// Where an edge leads, and which requests are open there; whether it is only assumed to be a loop.
    fn after(&mut self, number: usize, key: RefusalKey, edge: &RawEdge) -> (RefusalKey, bool) {
        let kind = self.declarations.message(edge.message).map(|message| message.table.kind);
        let request = (kind == Some(Kind::Request)).then_some((edge.direction, edge.message));
        if edge.spawn {
            return (RefusalKey { opener: request, ..RefusalKey::start(edge.target) }, false);
        }
        if edge.target == key.state {
            return (key, false);
        }
        // Requests and replies change what is open, and lead back to no state.
        if kind == Some(Kind::Notification) && key.last.is_some() && self.loops.may_be(key.state, edge.target)
        {
            return (RefusalKey { state: edge.target, ..key }, true);
        }
        let mut after = RefusalKey { state: edge.target, last: request.map(|open| (open, number)), ..key };
        if let Some((open, _)) = key.last {
            after.lost = self.sets.with(after.lost, open);
        }
        if let Some(Kind::Reply { request } | Kind::Refusal { request }) = kind {
            let answered = (edge.direction.flip(), request);
            after.lost = self.sets.without(after.lost, answered);
            after.opener = after.opener.filter(|opener| *opener != answered);
        }
        (after, false)
    }

    /// The edge of one request's refusal, where its reply may come.
    fn refusal(
        &mut self,
        number: usize,
        key: RefusalKey,
        open: Step,
        reply: Span,
        edges: &mut Vec<RawEdge>,
        findings: &mut Vec<Finding>,
    ) {
        let (direction, request) = open;
        let Some(refusal) = self.declarations.refusal(request) else { return };
        let target = match key.last {
            Some((last, state)) if last == open => state,
            _ if key.opener == Some(open) => self.over(),
            _ if self.sets.contains(key.lost, open) => {
                if self.reported.len() < LIMIT_OF_ALL && self.reported.insert((request, reply)) {
                    let Some(edge) = self.undone(number, open) else { return };
                    let (undone, undone_at) = ((edge.direction, edge.message), edge.span);
                    findings
                        .push(FindingKind::WouldUndo { request: open, refusal, undone, undone_at }.at(reply));
                }
                return;
            }
            _ => return,
        };
        edges.push(RawEdge {
            direction: direction.flip(),
            message: refusal,
            target,
            spawn: false,
            sub_session: None,
            origin: Origin::Refusal,
            cancels: None,
            span: reply,
            level: None,
        });
    }

    /// What came right after a request that is lost in a state, on the first way there.
    fn undone(&self, number: usize, open: Step) -> Option<&'a RawEdge> {
        let mut at = number;
        for _ in 0..=self.reached.len() {
            let (_, by) = self.reached.get(at)?;
            let (before, edge) = (*by)?;
            let (key, _) = self.reached.get(before)?;
            if key.last.is_some_and(|(last, _)| last == open) {
                return Some(edge);
            }
            at = before;
        }
        None
    }

    /// The state of a sub-session that is over; one for all.
    fn over(&mut self) -> usize {
        if let Some(over) = self.over {
            return over;
        }
        let over = match end_of_sub_sessions(&self.raw.states) {
            Some(state) => self.state(RefusalKey::start(state), None),
            // A body that never ends by itself still ends when its request is refused.
            None => {
                let end = RawState::of_sub_session(StateKind::End, None, Vec::new(), Span::default());
                self.states.push(end);
                self.reached.push((RefusalKey::start(usize::MAX), None));
                self.states.len() - 1
            }
        };
        self.over = Some(over);
        over
    }
}
