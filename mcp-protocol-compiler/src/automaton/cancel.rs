//! Cancels of linear requests that end the exchange. Where the reply still follows, a cancel moves nothing and has no
//! edge.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Origin};

use super::finding::{Finding, FindingKind};
use super::minimise::classes;
use super::raw::{Raw, RawEdge, RawState, Step};
use super::replies::answered;
use crate::declarations::Declarations;

/// Adds the cancel edges: legal where the reply and the refusal lead to the same state, because then it does not
/// matter which of them a cancel crosses.
pub(super) fn add(
    raw: &mut Raw,
    openers: &[Option<Step>],
    declarations: &Declarations,
    findings: &mut Vec<Finding>,
) {
    let Some(notification) = declarations.ends_by_cancel() else { return };
    let classes = classes(&raw.states);
    let class = |state: usize| classes.get(state).copied();
    let mut reported: BTreeSet<MessageIndex> = BTreeSet::new();
    for (place, opener) in raw.states.iter_mut().zip(openers) {
        let mut added: Vec<RawEdge> = Vec::new();
        let linear = answered(&place.edges, declarations).into_keys().filter(|open| Some(*open) != *opener);
        for (direction, request) in linear {
            let cancellable =
                declarations.message(request).is_some_and(|declared| declared.table.cancellable);
            if !cancellable {
                continue;
            }
            let answers = answers(place, direction, request, declarations);
            let Some(first) = answers.first() else { continue };
            let same = answers.iter().all(|edge| class(edge.target) == class(first.target));
            let other = added.iter().find(|edge| edge.direction == direction);
            if same && other.is_none() {
                let edge = RawEdge {
                    direction,
                    message: notification,
                    target: first.target,
                    spawn: false,
                    sub_session: None,
                    origin: Origin::Cancel,
                    cancels: Some(request),
                    span: first.span,
                    level: None,
                };
                added.push(edge);
                continue;
            }
            if !reported.insert(request) {
                continue;
            }
            let step = (direction, request);
            let refusal = declarations.refusal(request);
            let refusal =
                answers.iter().find(|edge| edge.origin == Origin::Written && Some(edge.message) == refusal);
            let what = match other.filter(|_| same).and_then(|edge| edge.cancels) {
                Some(other) => FindingKind::TwoCancels { request: step, other },
                None => FindingKind::StatesCouldPart {
                    request: step,
                    refusal: refusal.map(|edge| (edge.direction, edge.message)),
                    in_sub_session: place.in_body(),
                },
            };
            findings.push(what.at(first.span));
        }
        place.edges.append(&mut added);
    }
}

/// The edges that answer a request in a state.
fn answers<'a>(
    place: &'a RawState,
    direction: Direction,
    request: MessageIndex,
    declarations: &Declarations,
) -> Vec<&'a RawEdge> {
    let answers = |edge: &&RawEdge| {
        let kind = declarations.message(edge.message).map(|message| message.table.kind);
        edge.direction == direction.flip()
            && matches!(kind, Some(Kind::Reply { request: of } | Kind::Refusal { request: of }) if of == request)
    };
    place.edges.iter().filter(answers).collect()
}
