//! Messages as members of a group: `!A . S ⊕ !B . S` is `!G . S`, where `group G = A | B`.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_compiler::ast::{Choice, GroupMember, GroupOperator, Item, ItemKind, Operator, Sequence};
use mcp_protocol_compiler::format;
use mcp_protocol_compiler::source::Span;

use crate::random::Random;
use crate::transforms::fresh;
use crate::tree::{Files, Node, name, one};

/// Writes a group for the first messages of branches that go on alike; one branch is enough.
pub(crate) fn grouped(files: &mut Files, random: &mut Random) -> bool {
    let is_request = files.values().flat_map(|file| &file.items).filter_map(|item| match &item.kind {
        ItemKind::Request(request) => Some((request.name.text.clone(), true)),
        ItemKind::Notification(notification) => Some((notification.name.text.clone(), false)),
        _ => None,
    });
    let is_request: BTreeMap<String, bool> = is_request.collect();
    let group = fresh(files, "Grouped");
    let mut which = random.fork();
    let mut made = None;
    let done = one(files, random, &mut |node, scope, now| {
        let Node::Choice(choice) = node else { return false };
        let alike = alike(choice, &is_request);
        let Some(places) = which.clone().one(&alike).cloned() else { return false };
        if now {
            which.below(2);
            let first = &choice.branches[places[0]].actions[0];
            let members = places.iter().map(|place| choice.branches[*place].actions[0].message.clone());
            made = Some((scope.file.clone(), members.map(GroupMember::Name).collect::<Vec<_>>()));
            let operator = if first.send { Operator::Internal } else { Operator::External };
            choice.branches[places[0]].actions[0].message = name(&group);
            let mut place = 0;
            choice.branches.retain(|_| {
                place += 1;
                !places[1..].contains(&(place - 1))
            });
            let written = choice.operators.first().map_or(operator, |(operator, _)| *operator);
            choice.operators = vec![(written, Span::default()); choice.branches.len() - 1];
        }
        true
    });
    if let Some((path, members)) = made {
        let kind = ItemKind::Group { name: name(&group), operator: GroupOperator::Define, members };
        let item = Item { documentation: Vec::new(), overrides: None, kind, span: Span::default() };
        files.get_mut(&path).unwrap().items.push(item);
    }
    done
}

/// Which branches of a choice begin with declared messages of one direction and go on alike.
fn alike(choice: &Choice, is_request: &BTreeMap<String, bool>) -> Vec<Vec<usize>> {
    let first = choice.operators.first().map(|(operator, _)| *operator);
    if choice.operators.iter().any(|(operator, _)| Some(*operator) != first) {
        return Vec::new();
    }
    let mut found: BTreeMap<(bool, bool, String), Vec<usize>> = BTreeMap::new();
    for (place, branch) in choice.branches.iter().enumerate() {
        let Some((action, rest)) = branch.actions.split_first() else { continue };
        let Some(request) = is_request.get(&action.message.text) else { continue };
        if !action.levels.is_empty() {
            continue;
        }
        let rest = Sequence { actions: rest.to_vec(), tail: branch.tail.clone(), span: Span::default() };
        let mut key = format::sequence(&rest);
        // The reply is that of one request, unless it is written as the reply to any.
        if *request && rest.actions.first().is_none_or(|reply| reply.message.text != "reply") {
            key = format!("{place} {key}");
        }
        found.entry((action.send, *request, key)).or_default().push(place);
    }
    // An operator that does not fit the direction is a mistake, which one branch without an operator would not have.
    found.retain(|(send, ..), places| {
        let fitting = if *send { Operator::Internal } else { Operator::External };
        places.len() < choice.branches.len() || first.is_none_or(|written| written == fitting)
    });
    // Two branches of one message are a mistake, which the group would not have.
    let message = |place: &usize| &choice.branches[*place].actions[0].message.text;
    found.retain(|_, places| places.iter().map(message).collect::<BTreeSet<_>>().len() == places.len());
    found.into_values().collect()
}
