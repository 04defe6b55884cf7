//! Walks and changes session types in trees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use mcp_protocol_compiler::ast::{Choice, File, ItemKind, Name, Sequence, Tail};
use mcp_protocol_compiler::source::Span;

use crate::random::Random;

/// The files of a protocol.
pub(crate) type Files = BTreeMap<PathBuf, File>;

/// What stands around a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The recursion variables that may be used here.
    pub(crate) bound: Vec<String>,
    /// In a definition in whose states sub-sessions are suspended, which depends on the text.
    pub(crate) only: bool,
    /// The first action here opens a sub-session.
    pub(crate) replicated: bool,
    /// The choice here is a branch of another one, whose state it belongs to.
    pub(crate) nested: bool,
    /// The state here is what a name with levels stands for: they belong to the place, and not to one that behaves
    /// alike.
    pub(crate) leveled: bool,
    /// The file.
    pub(crate) file: PathBuf,
}

/// A place.
pub(crate) enum Node<'a> {
    Choice(&'a mut Choice),
    Sequence(&'a mut Sequence),
    Tail(&'a mut Tail),
}

/// What is done at each place; says whether that was all.
type Visit<'v> = &'v mut dyn FnMut(Node<'_>, &Scope) -> bool;

/// Goes through all session types until a visit says that it was the last.
pub(crate) fn walk(files: &mut Files, visit: Visit<'_>) -> bool {
    let Uses { flattened, replicated, leveled, .. } = used(files);
    for (path, file) in files {
        for item in &mut file.items {
            let (name, only, body) = match &mut item.kind {
                ItemKind::Definition { name, only, body, .. } => (&*name, only.is_some(), body),
                ItemKind::Role { name, body: Some(body), .. } => (&*name, false, body),
                _ => continue,
            };
            let scope = Scope {
                only,
                replicated: replicated.contains(&name.text),
                nested: flattened.contains(&name.text),
                leveled: leveled.contains(&name.text),
                file: path.clone(),
                ..Scope::default()
            };
            if choice(body, &scope, &flattened, visit) {
                return true;
            }
        }
    }
    false
}

fn choice(at: &mut Choice, scope: &Scope, flattened: &BTreeSet<String>, visit: Visit<'_>) -> bool {
    if visit(Node::Choice(at), scope) {
        return true;
    }
    let several = at.branches.len() > 1;
    at.branches.iter_mut().any(|branch| {
        if visit(Node::Sequence(branch), scope) {
            return true;
        }
        let inner = match branch.actions.is_empty() {
            true => Scope { nested: scope.nested || several, ..scope.clone() },
            false => Scope { nested: false, replicated: false, leveled: false, ..scope.clone() },
        };
        tail(&mut branch.tail, &inner, flattened, visit)
    })
}

fn tail(at: &mut Tail, scope: &Scope, flattened: &BTreeSet<String>, visit: Visit<'_>) -> bool {
    if visit(Node::Tail(at), scope) {
        return true;
    }
    match at {
        Tail::End(_) | Tail::Name(_) | Tail::Dual { .. } | Tail::Missing(_) => false,
        Tail::Recursion { variable, body, .. } => {
            let mut inner = scope.clone();
            inner.nested |= flattened.contains(&variable.text);
            inner.bound.push(variable.text.clone());
            choice(body, &inner, flattened, visit)
        }
        Tail::Group(body, _) => choice(body, scope, flattened, visit),
        Tail::Parallel(parts, _) => {
            // A body that starts with channels is opened by the first message of each.
            let inner = Scope { nested: false, leveled: false, ..scope.clone() };
            parts.iter_mut().any(|part| choice(part, &inner, flattened, visit))
        }
        Tail::Replicated(body, _) => {
            let inner = Scope { nested: false, replicated: true, leveled: false, ..scope.clone() };
            tail(body, &inner, flattened, visit)
        }
    }
}

/// How names are used.
#[derive(Default)]
struct Uses {
    /// Those that stand for a branch of a choice somewhere.
    flattened: BTreeSet<String>,
    /// Those that stand for the body of a `*` somewhere.
    replicated: BTreeSet<String>,
    /// Those that have levels.
    leveled: BTreeSet<String>,
    /// Names that stand for what another one stands for.
    same: Vec<(String, String)>,
}

fn used(files: &Files) -> Uses {
    let mut found = Uses::default();
    for item in files.values().flat_map(|file| &file.items) {
        match &item.kind {
            ItemKind::Definition { name, body, levels, .. } => {
                found.leveled.extend((!levels.is_empty()).then(|| name.text.clone()));
                found.choice(body, Some(&name.text));
            }
            ItemKind::Role { name, body: Some(body), .. } => found.choice(body, Some(&name.text)),
            _ => {}
        }
    }
    // What is the same as such a name is one, too.
    loop {
        let count = |found: &Uses| found.flattened.len() + found.replicated.len() + found.leveled.len();
        let known = count(&found);
        for (name, other) in &found.same {
            for set in [&mut found.flattened, &mut found.replicated, &mut found.leveled] {
                if set.contains(name) {
                    set.insert(other.clone());
                }
            }
        }
        if count(&found) == known {
            return found;
        }
    }
}

impl Uses {
    /// Looks at a choice, which is what a name stands for if `is` says so.
    fn choice(&mut self, at: &Choice, is: Option<&str>) {
        let several = at.branches.len() > 1;
        for branch in &at.branches {
            let direct = branch.actions.is_empty();
            let mut tail = &branch.tail;
            let mut starred = false;
            while let Tail::Replicated(body, _) = tail {
                (tail, starred) = (body, true);
            }
            let is = is.filter(|_| direct && !starred);
            match tail {
                Tail::Name(name) | Tail::Dual { name, .. } => {
                    if starred {
                        self.replicated.insert(name.text.clone());
                    } else if direct && several {
                        self.flattened.insert(name.text.clone());
                    } else if let Some(is) = is {
                        self.same.push((is.to_owned(), name.text.clone()));
                    }
                }
                Tail::Recursion { variable, body, .. } => {
                    if let Some(is) = is {
                        self.same.push((is.to_owned(), variable.text.clone()));
                    }
                    self.choice(body, Some(&variable.text));
                }
                Tail::Group(body, _) => self.choice(body, is.filter(|_| !several)),
                Tail::Parallel(parts, _) => parts.iter().for_each(|part| self.choice(part, None)),
                Tail::End(_) | Tail::Missing(_) | Tail::Replicated(..) => {}
            }
        }
    }
}

/// Changes one of the places that fit. `change` is called with `false` to say whether a place fits, and with `true` to
/// change it.
pub(crate) fn one(
    files: &mut Files,
    random: &mut Random,
    change: &mut dyn FnMut(Node<'_>, &Scope, bool) -> bool,
) -> bool {
    let mut fitting = 0;
    walk(files, &mut |node, scope| {
        fitting += usize::from(change(node, scope, false));
        false
    });
    if fitting == 0 {
        return false;
    }
    let mut left = random.below(fitting);
    walk(files, &mut |node, scope| {
        // The second time around a place that fits is either changed or passed by.
        let mut node = node;
        let again = match &mut node {
            Node::Choice(at) => Node::Choice(at),
            Node::Sequence(at) => Node::Sequence(at),
            Node::Tail(at) => Node::Tail(at),
        };
        if !change(again, scope, false) {
            return false;
        }
        if left > 0 {
            left -= 1;
            return false;
        }
        change(node, scope, true)
    })
}

/// The names that a choice uses and does not bind.
pub(crate) fn free(at: &Choice) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    at.branches.iter().for_each(|branch| free_in(&branch.tail, &mut Vec::new(), &mut found));
    found
}

/// The names that what a sequence ends in uses and does not bind.
pub(crate) fn free_of(at: &Tail) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    free_in(at, &mut Vec::new(), &mut found);
    found
}

fn free_in(at: &Tail, bound: &mut Vec<String>, found: &mut BTreeSet<String>) {
    let mut inner = |body: &Choice, bound: &mut Vec<String>| {
        body.branches.iter().for_each(|branch| free_in(&branch.tail, bound, found));
    };
    match at {
        Tail::End(_) | Tail::Missing(_) => {}
        Tail::Name(name) | Tail::Dual { name, .. } => {
            if !bound.contains(&name.text) {
                found.insert(name.text.clone());
            }
        }
        Tail::Recursion { variable, body, .. } => {
            bound.push(variable.text.clone());
            inner(body, bound);
            bound.pop();
        }
        Tail::Group(body, _) => inner(body, bound),
        Tail::Parallel(parts, _) => parts.iter().for_each(|part| inner(part, bound)),
        Tail::Replicated(body, _) => free_in(body, bound, found),
    }
}

/// Puts something where a variable stands. `false` where a loop in between would take one of its names.
pub(crate) fn substitute(at: &mut Choice, variable: &str, by: &Tail) -> bool {
    let names = free_of(by);
    at.branches.iter_mut().all(|branch| put(&mut branch.tail, variable, by, &names))
}

fn put(at: &mut Tail, variable: &str, by: &Tail, names: &BTreeSet<String>) -> bool {
    let inner =
        |body: &mut Choice| body.branches.iter_mut().all(|branch| put(&mut branch.tail, variable, by, names));
    match at {
        Tail::Name(name) if name.text == variable => {
            *at = by.clone();
            true
        }
        // `dual` of a variable is an error, and stays one.
        Tail::Dual { name, .. } => name.text != variable,
        Tail::End(_) | Tail::Missing(_) | Tail::Name(_) => true,
        Tail::Recursion { variable: own, body, .. } => {
            own.text == variable
                || (!(names.contains(&own.text) && free(body).contains(variable)) && inner(body))
        }
        Tail::Group(body, _) => inner(body),
        Tail::Parallel(parts, _) => parts.iter_mut().all(inner),
        Tail::Replicated(body, _) => put(body, variable, by, names),
    }
}

/// How many branches a choice has, with all that are in it.
pub(crate) fn size(at: &Choice) -> usize {
    at.branches.iter().map(|branch| branch.actions.len() + 1 + size_of(&branch.tail)).sum()
}

fn size_of(at: &Tail) -> usize {
    match at {
        Tail::End(_) | Tail::Missing(_) | Tail::Name(_) | Tail::Dual { .. } => 0,
        Tail::Recursion { body, .. } | Tail::Group(body, _) => size(body),
        Tail::Parallel(parts, _) => parts.iter().map(size).sum(),
        Tail::Replicated(body, _) => size_of(body),
    }
}

/// A name that stands nowhere in particular.
pub(crate) fn name(text: &str) -> Name {
    Name { text: text.to_owned(), span: Span::default() }
}

/// A choice of one branch.
pub(crate) fn single(branch: Sequence) -> Choice {
    Choice { branches: vec![branch], operators: Vec::new(), span: Span::default() }
}

/// A sequence without an action.
pub(crate) fn only(tail: Tail) -> Sequence {
    Sequence { actions: Vec::new(), tail, span: Span::default() }
}

/// `( … )`
pub(crate) fn group(body: Choice) -> Tail {
    Tail::Group(Box::new(body), Span::default())
}
