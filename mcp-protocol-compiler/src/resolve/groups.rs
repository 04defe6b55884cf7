//! Groups: nested ones flattened, `+=` and `-=` applied, `replies G` filled in.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use mcp_protocol_machine::protocol::{Kind, MessageIndex};

use super::placed::Placed;
use crate::ast::{GroupMember, GroupOperator, ItemKind, Name};
use crate::declarations::{Declarations, Meaning, Resolution};
use crate::diagnostic::{Diagnostic, Edit};
use crate::findings::{declarations as finding, size};
use crate::source::Span;

/// How many members groups may have in all. A group of groups has the members of each, so that a short text can
/// stand for many.
const MOST_MEMBERS: usize = 1_000_000;

/// With how many groups a name is compared that none has.
const MOST_COMPARED: usize = 1_000;

/// How many groups may stand in one another.
const DEPTH: usize = 64;

/// Flattens every group and gives it its name.
pub(super) fn flatten(items: &[Placed<'_>], resolution: &mut Resolution, diagnostics: &mut Vec<Diagnostic>) {
    // All edits of groups come before the flattening: an importing file may extend a group that another group of the
    // imported file contains.
    let mut groups: HashMap<&str, GroupItems<'_>> = HashMap::new();
    let mut order = Vec::new();
    for placed in items {
        let ItemKind::Group { name, operator, members } = &placed.item.kind else { continue };
        if *operator == GroupOperator::Define {
            if let Some(Meaning::Message(first)) = resolution.names.get(&name.text) {
                let first = resolution.declarations.message(*first).map_or(name.span, |first| first.span);
                diagnostics.push(finding::declared_twice(name, first, false));
                continue;
            }
            order.push(name);
            groups.insert(&name.text, GroupItems::new(name, members));
            continue;
        }
        let Some(group) = groups.get_mut(name.text.as_str()) else {
            let known = order.iter().map(|name| name.text.as_str()).take(MOST_COMPARED);
            diagnostics.push(finding::undefined_group(name, known));
            continue;
        };
        for member in members {
            let delete = || deleted(member, members);
            match operator {
                GroupOperator::Remove if !group.remove(member) => {
                    diagnostics.push(finding::not_in_group(member, name, delete()));
                }
                GroupOperator::Remove => {}
                _ if !group.add(member, members) => {
                    diagnostics.push(finding::in_group_already(member, name, delete()));
                }
                _ => {}
            }
        }
    }
    let mut flatten = Flatten { groups, resolution, diagnostics, open: Vec::new(), members: 0, full: false };
    for name in order {
        let members = flatten.group(name);
        flatten.resolution.names.insert(name.text.clone(), Meaning::Group(members));
    }
}

struct GroupItems<'a> {
    name: &'a Name,
    /// In order, each with those of its item, with a gap where one was removed.
    members: Vec<Option<(&'a GroupMember, &'a [GroupMember])>>,
    /// Where each is.
    places: HashMap<(bool, &'a str), usize>,
    state: FlattenState,
}

impl<'a> GroupItems<'a> {
    fn new(name: &'a Name, members: &'a [GroupMember]) -> Self {
        let mut group =
            GroupItems { name, members: Vec::new(), places: HashMap::new(), state: FlattenState::Waiting };
        for member in members {
            // One that is named twice is in the group once.
            group.add(member, members);
        }
        group
    }

    /// Adds a member. Returns whether it is new.
    fn add(&mut self, member: &'a GroupMember, item: &'a [GroupMember]) -> bool {
        let Entry::Vacant(place) = self.places.entry(identity(member)) else { return false };
        place.insert(self.members.len());
        self.members.push(Some((member, item)));
        true
    }

    /// Removes a member. Returns whether it was there.
    fn remove(&mut self, member: &'a GroupMember) -> bool {
        let place = self.places.remove(&identity(member)).and_then(|place| self.members.get_mut(place));
        place.is_some_and(|place| place.take().is_some())
    }
}

#[derive(Clone)]
enum FlattenState {
    Waiting,
    Done(Vec<MessageIndex>),
}

/// What makes a member the same as another: its name, and whether it is `replies` to it.
fn identity(member: &GroupMember) -> (bool, &str) {
    match member {
        GroupMember::Name(name) => (false, &name.text),
        GroupMember::Replies(name, _) => (true, &name.text),
    }
}

struct Flatten<'a, 'b> {
    groups: HashMap<&'a str, GroupItems<'a>>,
    resolution: &'b mut Resolution,
    diagnostics: &'b mut Vec<Diagnostic>,
    /// The groups being flattened, to find circles; at most [`DEPTH`].
    open: Vec<&'a str>,
    /// How many members the groups have in all, each of them flattened.
    members: usize,
    /// Whether these were too many, or groups too deep in one another, which has been reported.
    full: bool,
}

/// What the members of a group bring: what begins something, replies, or both.
#[derive(Default)]
struct Kinds<'a> {
    begins: bool,
    /// The first member that brings replies, and the members of its item.
    reply: Option<(&'a GroupMember, &'a [GroupMember])>,
    /// Whether a member brings both, which is said of that group.
    both: bool,
}

impl<'a> Kinds<'a> {
    fn take_in(
        &mut self,
        member: &'a GroupMember,
        item: &'a [GroupMember],
        found: &[MessageIndex],
        declarations: &Declarations,
    ) {
        let kinds = || {
            found.iter().filter_map(|index| declarations.message(*index)).map(|message| message.table.kind)
        };
        let answers = |kind: Kind| matches!(kind, Kind::Reply { .. } | Kind::Refusal { .. });
        let (begins, replies) = (kinds().any(|kind| !answers(kind)), kinds().any(answers));
        self.begins |= begins;
        self.both |= begins && replies;
        if replies {
            self.reply.get_or_insert((member, item));
        }
    }

    fn reply_among_others(&self) -> Option<(&'a GroupMember, &'a [GroupMember])> {
        self.reply.filter(|_| self.begins && !self.both)
    }
}

/// The edit that deletes a member from its item, with the `|` next to it; none where nothing would be left.
fn deleted(member: &GroupMember, item: &[GroupMember]) -> Option<Edit> {
    let span = |member: &GroupMember| match member {
        GroupMember::Name(name) => name.span,
        GroupMember::Replies(_, span) => *span,
    };
    let own = span(member);
    let at = item.iter().position(|other| span(other) == own)?;
    let before = at.checked_sub(1).and_then(|before| item.get(before));
    match (before, item.get(at + 1)) {
        (Some(before), _) => Some(Edit::delete(span(before).after().to(own))),
        (None, Some(next)) => Some(Edit::delete(Span { end: span(next).start, ..own })),
        (None, None) => None,
    }
}

impl<'a> Flatten<'a, '_> {
    fn group(&mut self, used: &'a Name) -> Vec<MessageIndex> {
        let Some((&key, group)) = self.groups.get_key_value(used.text.as_str()) else { return Vec::new() };
        if let FlattenState::Done(members) = &group.state {
            return members.clone();
        }
        if self.full {
            return Vec::new();
        }
        let (name, members) = (group.name, group.members.clone());
        if self.open.contains(&key) {
            self.diagnostics.push(finding::cyclic_group(used, &self.open));
            return Vec::new();
        }
        if self.open.len() >= DEPTH {
            if !std::mem::replace(&mut self.full, true) {
                self.diagnostics.push(size::groups_too_deep(used.span, DEPTH));
            }
            return Vec::new();
        }
        self.open.push(key);
        let known = self.diagnostics.len();
        let mut result = Vec::new();
        let mut seen = HashSet::new();
        let mut kinds = Kinds::default();
        for (member, item) in members.into_iter().flatten() {
            let found = match member {
                GroupMember::Name(name) => self.named(name),
                GroupMember::Replies(name, _) => {
                    let requests = self.named(name);
                    let declarations = &self.resolution.declarations;
                    let is_request =
                        |index: &MessageIndex| declarations.message(*index).map(|message| message.table.kind);
                    if !requests.is_empty()
                        && !requests.iter().any(|index| is_request(index) == Some(Kind::Request))
                    {
                        self.diagnostics.push(finding::no_requests_in(name));
                    }
                    requests.into_iter().flat_map(|request| declarations.replies(request)).collect()
                }
            };
            kinds.take_in(member, item, &found, &self.resolution.declarations);
            result.extend(found.into_iter().filter(|index| seen.insert(*index)));
        }
        self.open.pop();
        self.members = self.members.saturating_add(result.len());
        if self.members > MOST_MEMBERS {
            if !std::mem::replace(&mut self.full, true) {
                self.diagnostics.push(size::too_many_members(name.span, MOST_MEMBERS));
            }
            result.clear();
        }
        if let Some((reply, item)) = kinds.reply_among_others() {
            self.diagnostics.push(finding::reply_in_group(name, reply, deleted(reply, item)));
        }
        // A group that is empty because of something else has that reported.
        if result.is_empty() && self.diagnostics.len() == known && !self.full {
            self.diagnostics.push(finding::empty_group(name));
        }
        if let Some(group) = self.groups.get_mut(key) {
            group.state = FlattenState::Done(result.clone());
        }
        result
    }

    fn named(&mut self, name: &'a Name) -> Vec<MessageIndex> {
        if let Some(Meaning::Message(index)) = self.resolution.names.get(&name.text) {
            return vec![*index];
        }
        if self.groups.contains_key(name.text.as_str()) {
            return self.group(name);
        }
        self.diagnostics.push(finding::undefined_message(name, self.resolution));
        Vec::new()
    }
}
