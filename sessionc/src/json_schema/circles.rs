//! Cuts what leads a shape back to itself: a record that spreads itself, and a name that stands for itself. What is spread
//! and turns out not to be a record is left out, too.

use std::collections::{BTreeMap, BTreeSet};

use super::item::{Item, Written, meant};

/// The names that the shape of each name begins with.
type Begins = BTreeMap<String, BTreeSet<String>>;

/// Leaves out the spreads and the alternatives that lead back to their item. That an item is itself says nothing; what
/// else is left out is named in its comment.
pub(super) fn cut(items: &mut [Item]) {
    let begins = |items: &[Item], names: fn(&Written) -> BTreeSet<String>| -> Begins {
        items.iter().map(|item| (item.name.clone(), names(&item.shape))).collect()
    };
    let records = records(items);
    let (mut spreads, mut aliases) = (begins(items, spreads_of), begins(items, aliases_of));
    for item in items {
        let leads_back =
            |begins: &Begins, name: &str| name == item.name || leads_to(begins, name, &item.name);
        let mut left_out = BTreeSet::new();
        each_spread(&mut item.shape, &mut |names| {
            names.retain(|name| {
                let is_left_out = !records.contains(name) || leads_back(&spreads, name);
                left_out.extend(is_left_out.then(|| name.clone()));
                !is_left_out
            });
        });
        let is_itself = |part: &Written| match part {
            Written::Named(name) => leads_back(&aliases, name),
            _ => false,
        };
        let shape = match std::mem::replace(&mut item.shape, Written::Any) {
            Written::Union(parts) => {
                let kept: Vec<Written> = parts.into_iter().filter(|part| !is_itself(part)).collect();
                if kept.is_empty() { Written::Any } else { Written::union(kept) }
            }
            shape if is_itself(&shape) => Written::Any,
            shape => shape,
        };
        item.shape = shape;
        left_out.remove(&item.name);
        let note = "`allOf`".to_owned();
        if !left_out.is_empty() && !item.unsaid.contains(&note) {
            item.unsaid.push(note);
        }
        spreads.insert(item.name.clone(), spreads_of(&item.shape));
        aliases.insert(item.name.clone(), aliases_of(&item.shape));
    }
}

/// The names that stand for records.
fn records(items: &[Item]) -> BTreeSet<String> {
    let shapes: BTreeMap<&str, &Written> = items.iter().map(|item| (&*item.name, &item.shape)).collect();
    let shape_of = |name: &str| shapes.get(name).copied();
    let records = items.iter().filter(|item| matches!(meant(shape_of, &item.shape), Written::Record(_)));
    records.map(|item| item.name.clone()).collect()
}

/// Whether going on from a name to what its shape begins with leads to another name.
fn leads_to(begins: &Begins, from: &str, to: &str) -> bool {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(name) = waiting.pop() {
        if !seen.insert(name) {
            continue;
        }
        for next in begins.get(name).into_iter().flatten() {
            if next == to {
                return true;
            }
            waiting.push(next);
        }
    }
    false
}

/// The records that a shape spreads, also deep in it, and the one that it is another name for.
fn spreads_of(shape: &Written) -> BTreeSet<String> {
    let mut found = match shape {
        Written::Named(_) => aliases_of(shape),
        _ => BTreeSet::new(),
    };
    // The shape is looked at and not changed.
    each_spread(&mut shape.clone(), &mut |names| found.extend(names.iter().cloned()));
    found
}

/// The names that a shape stands for, alone or as alternatives.
fn aliases_of(shape: &Written) -> BTreeSet<String> {
    let parts = match shape {
        Written::Union(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let name = |part: &Written| match part {
        Written::Named(name) => Some(name.clone()),
        _ => None,
    };
    parts.iter().filter_map(name).collect()
}

/// The lists of spreads in a shape.
fn each_spread(shape: &mut Written, visit: &mut impl FnMut(&mut Vec<String>)) {
    match shape {
        Written::List(of) | Written::Map(of) => each_spread(of, visit),
        Written::Tuple(positions) => {
            positions.iter_mut().for_each(|position| each_spread(&mut position.shape, visit));
        }
        Written::Union(parts) => parts.iter_mut().for_each(|part| each_spread(part, visit)),
        Written::Record(record) => {
            visit(&mut record.spreads);
            record.fields.iter_mut().for_each(|field| each_spread(&mut field.shape, visit));
        }
        _ => {}
    }
}
