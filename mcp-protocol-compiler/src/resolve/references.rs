//! Where a role or a definition is named, so that it can be given another name everywhere.

use super::placed::Placed;
use crate::ast::{Choice, ItemKind, Modifier, Name, Sequence, Tail};
use crate::diagnostic::Edit;
use crate::source::Span;

/// The edits that give a role or definition another name, in its declaration and wherever it is used.
pub(super) fn rename(items: &[Placed<'_>], from: &str, to: &str) -> Vec<Edit> {
    let mut found = Vec::new();
    let mut take = |name: &Name| {
        if name.text == from {
            found.push(name.span);
        }
    };
    for placed in items {
        match &placed.item.kind {
            ItemKind::Definition { role, name, .. } => {
                role.iter().for_each(&mut take);
                take(name);
            }
            ItemKind::Role { name, .. } => take(name),
            ItemKind::Capabilities { role, .. } => take(role),
            ItemKind::Request(request) => holders(&request.modifiers).for_each(&mut take),
            ItemKind::Notification(notification) => holders(&notification.modifiers).for_each(&mut take),
            _ => {}
        }
    }
    for placed in items {
        match &placed.item.kind {
            ItemKind::Definition { body, .. } | ItemKind::Role { body: Some(body), .. } => {
                used(body, from, &mut found);
            }
            _ => {}
        }
    }
    found.into_iter().map(|span| Edit::replace(span, to)).collect()
}

/// The roles that a declaration's gates name.
fn holders(modifiers: &[Modifier]) -> impl Iterator<Item = &Name> {
    modifiers.iter().filter_map(|modifier| match modifier {
        Modifier::Requires { holder, .. } => Some(holder),
        _ => None,
    })
}

/// Where a session type goes on as a definition; a loop of the same name hides it.
fn used(body: &Choice, name: &str, found: &mut Vec<Span>) {
    let mut waiting: Vec<&Tail> = tails(body).collect();
    while let Some(tail) = waiting.pop() {
        match tail {
            Tail::Name(used) | Tail::Dual { name: used, .. } if used.text == name => found.push(used.span),
            Tail::Recursion { variable, body, .. } if variable.text != name => waiting.extend(tails(body)),
            Tail::Group(body, _) => waiting.extend(tails(body)),
            Tail::Parallel(parts, _) => waiting.extend(parts.iter().flat_map(tails)),
            Tail::Replicated(body, _) => waiting.push(body),
            Tail::End(_) | Tail::Missing(_) | Tail::Name(_) | Tail::Dual { .. } | Tail::Recursion { .. } => {}
        }
    }
}

fn tails(choice: &Choice) -> impl Iterator<Item = &Tail> {
    choice.branches.iter().map(|branch: &Sequence| &branch.tail)
}
