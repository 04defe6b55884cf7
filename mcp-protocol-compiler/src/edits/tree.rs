//! The trees of a compilation by the places that findings name.

use std::collections::HashMap;

use crate::ast::{Choice, Item, ItemKind, Sequence, Tail};
use crate::resolve::load::LoadedFile;
use crate::source::{SourceMap, Span};

/// A branch of a choice, and one of its actions or, behind the last, its end.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) choice: &'a Choice,
    pub(super) branch: usize,
    pub(super) action: usize,
}

impl<'a> Spot<'a> {
    pub(super) fn sequence(&self) -> Option<&'a Sequence> {
        self.choice.branches.get(self.branch)
    }
}

/// What a name is declared by.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) item: &'a Item,
    /// Which of a request's replies has the name.
    pub(super) reply: Option<usize>,
}

/// The trees of all files.
pub(super) struct Tree<'a> {
    pub(super) files: &'a [LoadedFile],
    pub(super) sources: &'a SourceMap,
    /// Every choice, an outer one before those in it.
    pub(super) choices: Vec<&'a Choice>,
    /// Where each action, each end, reference, loop and group of channels stands.
    spots: HashMap<Span, Spot<'a>>,
    declared: HashMap<Span, Declared<'a>>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a [LoadedFile], sources: &'a SourceMap) -> Tree<'a> {
        let mut tree =
            Tree { files, sources, choices: Vec::new(), spots: HashMap::new(), declared: HashMap::new() };
        for item in files.iter().flat_map(|file| &file.tree.items) {
            tree.item(item);
        }
        let mut next = 0;
        while let Some(choice) = tree.choices.get(next).copied() {
            tree.choice(choice);
            next += 1;
        }
        tree
    }

    fn item(&mut self, item: &'a Item) {
        let name = match &item.kind {
            ItemKind::Request(request) => {
                for (index, reply) in request.replies.iter().enumerate() {
                    self.declared.insert(reply.name.span, Declared { item, reply: Some(index) });
                }
                &request.name
            }
            ItemKind::Notification(notification) => &notification.name,
            ItemKind::Protocol { name, .. }
            | ItemKind::Shape { name, .. }
            | ItemKind::Group { name, .. }
            | ItemKind::Key { name, .. }
            | ItemKind::Import(name) => name,
            ItemKind::Role { name, body, .. } => {
                self.choices.extend(body);
                name
            }
            ItemKind::Definition { name, body, .. } => {
                self.choices.push(body);
                name
            }
            _ => return,
        };
        self.declared.insert(name.span, Declared { item, reply: None });
    }

    fn choice(&mut self, choice: &'a Choice) {
        for (branch, sequence) in choice.branches.iter().enumerate() {
            for (action, written) in sequence.actions.iter().enumerate() {
                self.spots.insert(written.span, Spot { choice, branch, action });
            }
            let spot = Spot { choice, branch, action: sequence.actions.len() };
            let mut tail = &sequence.tail;
            loop {
                self.spots.entry(span(tail)).or_insert(spot);
                match tail {
                    Tail::Replicated(body, _) => tail = body,
                    Tail::Group(body, _) | Tail::Recursion { body, .. } => break self.choices.push(body),
                    Tail::Parallel(parts, _) => break self.choices.extend(parts),
                    _ => break,
                }
            }
        }
    }

    /// What stands at a place.
    pub(super) fn spot(&self, at: Span) -> Option<Spot<'a>> {
        self.spots.get(&at).copied()
    }

    /// What declares the name at a place.
    pub(super) fn declared(&self, name: Span) -> Option<Declared<'a>> {
        self.declared.get(&name).copied()
    }

    /// Every sequence.
    pub(super) fn sequences(&self) -> impl Iterator<Item = &'a Sequence> + '_ {
        self.choices.iter().flat_map(|choice| &choice.branches)
    }

    /// The loop whose variable is named here: all of it, and its body.
    pub(super) fn recursion(&self, variable: Span) -> Option<(Span, &'a Choice)> {
        self.sequences().find_map(|sequence| match within(&sequence.tail) {
            Tail::Recursion { variable: name, body, span, .. } if name.span == variable => {
                Some((*span, body.as_ref()))
            }
            _ => None,
        })
    }
}

/// What is copied by a `*`, or the tail itself.
pub(super) fn within(mut tail: &Tail) -> &Tail {
    while let Tail::Replicated(body, _) = tail {
        tail = body;
    }
    tail
}

/// Where a tail stands.
pub(super) fn span(tail: &Tail) -> Span {
    match tail {
        Tail::End(span)
        | Tail::Dual { span, .. }
        | Tail::Recursion { span, .. }
        | Tail::Group(_, span)
        | Tail::Parallel(_, span)
        | Tail::Replicated(_, span)
        | Tail::Missing(span) => *span,
        Tail::Name(name) => name.span,
    }
}
