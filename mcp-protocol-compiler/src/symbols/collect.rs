//! The walk over items.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::symbol::{Declaration, Import, Space, Symbol, SymbolKind, Symbols, Word};
use crate::ast::{
    AnnouncedField, GroupMember, GroupOperator, Item, ItemKind, KeyFieldPlace, Member, Modifier, Name,
    Payload, Reply, Shape, ShapeKind,
};
use crate::resolve::LoadedFile;
use crate::source::{SourceMap, Span};

/// Finds the symbols of files whose imports precede them.
pub(super) fn collect(files: &[LoadedFile], sources: SourceMap) -> Symbols {
    let mut collector = Collector::new(files, &sources);
    let mut imports = Vec::new();
    let mut roots = Vec::new();
    for file in files {
        for item in &file.tree.items {
            match &item.kind {
                ItemKind::Import(name) => {
                    let folder = sources.path(file.file).parent().unwrap_or(Path::new(""));
                    imports.push(Import { span: name.span, path: folder.join(&name.text) });
                }
                ItemKind::Role { .. } if roots.last() != Some(&file.file) => roots.push(file.file),
                _ => {}
            }
            collector.item(item);
        }
    }
    let Collector { all, words, carried, shapes, .. } = collector;
    // A shape of that name is the one that is meant.
    let carried = carried.into_iter().filter(|(name, _)| !shapes.contains(name));
    let mut carried: Vec<_> = carried.map(|(name, message)| (name.to_owned(), message.to_owned())).collect();
    carried.sort_unstable();
    Symbols::new(sources, all, words, imports, roots, carried)
}

pub(super) struct Collector<'a> {
    sources: &'a SourceMap,
    /// The names of messages and groups that are declared in some file; the others are uses of the refusals of
    /// requests, or of nothing.
    declared: HashSet<&'a str>,
    requests: HashSet<&'a str>,
    shapes: HashSet<&'a str>,
    /// The names of shapes in payloads, each with that of its message.
    carried: HashMap<&'a str, &'a str>,
    roles: HashSet<&'a str>,
    all: Vec<Symbol>,
    words: Vec<Word>,
    /// Where each name is in `all`; loops are in their scopes.
    places: HashMap<(Space, String), usize>,
}

impl<'a> Collector<'a> {
    fn new(files: &'a [LoadedFile], sources: &'a SourceMap) -> Self {
        let mut collector = Collector {
            sources,
            declared: HashSet::new(),
            requests: HashSet::new(),
            shapes: HashSet::new(),
            carried: HashMap::new(),
            roles: HashSet::new(),
            all: Vec::new(),
            words: Vec::new(),
            places: HashMap::new(),
        };
        for item in files.iter().flat_map(|file| &file.tree.items) {
            let carried = item.shapes().filter_map(|shape| Some((shape.name, shape.carrier?)));
            collector
                .carried
                .extend(carried.map(|(name, carrier)| (name.text.as_str(), carrier.text.as_str())));
            match &item.kind {
                ItemKind::Request(request) => {
                    collector.requests.insert(&request.name.text);
                    collector.declared.insert(&request.name.text);
                    collector.declared.extend(request.replies.iter().map(|reply| reply.name.text.as_str()));
                }
                ItemKind::Notification(notification) => {
                    collector.declared.insert(&notification.name.text);
                }
                ItemKind::Group { name, operator: GroupOperator::Define, .. } => {
                    collector.declared.insert(&name.text);
                }
                ItemKind::Shape { name, .. } => {
                    collector.shapes.insert(&name.text);
                }
                ItemKind::Role { name, .. } => {
                    collector.roles.insert(&name.text);
                }
                _ => {}
            }
        }
        collector
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Protocol { name, .. } => self.declare(SymbolKind::Protocol, name, item),
            ItemKind::Types(_) | ItemKind::Import(_) => {}
            ItemKind::Shape { name, body } => {
                self.declare(SymbolKind::Shape, name, item);
                self.shape(body);
            }
            ItemKind::Request(request) => {
                self.declare(SymbolKind::Request, &request.name, item);
                self.payload(&request.payload);
                request.replies.iter().for_each(|reply| self.reply(reply));
                self.modifiers(&request.modifiers);
            }
            ItemKind::Notification(notification) => {
                self.declare(SymbolKind::Notification, &notification.name, item);
                self.payload(&notification.payload);
                self.modifiers(&notification.modifiers);
            }
            ItemKind::Capabilities { role, field, .. } => {
                self.role(role);
                self.announced(field);
            }
            ItemKind::Version { field, .. } => self.announced(field),
            ItemKind::Group { name, operator, members } => {
                match operator {
                    GroupOperator::Define => self.declare(SymbolKind::Group, name, item),
                    GroupOperator::Add | GroupOperator::Remove => self.message(name),
                }
                for GroupMember::Name(name) | GroupMember::Replies(name, _) in members {
                    self.message(name);
                }
            }
            ItemKind::Key { name, fields, .. } => {
                self.declare(SymbolKind::Key, name, item);
                for field in fields {
                    match &field.place {
                        KeyFieldPlace::Field(field) => self.message(&field.message),
                        KeyFieldPlace::Id(name) | KeyFieldPlace::Member { of: name, .. } => {
                            self.message(name)
                        }
                    }
                }
            }
            ItemKind::Role { name, body, .. } => {
                self.declare(SymbolKind::Role, name, item);
                if let Some(body) = body {
                    self.session(body);
                }
            }
            ItemKind::Definition { role, name, body, .. } => {
                if let Some(role) = role {
                    self.role(role);
                }
                self.declare(SymbolKind::Definition, name, item);
                self.session(body);
            }
        }
    }

    fn reply(&mut self, reply: &Reply) {
        let name = reply.name.span;
        let span = reply.payload.span().map_or(name, |payload| name.to(payload));
        self.add(SymbolKind::Reply, &reply.name, span, Vec::new());
        self.payload(&reply.payload);
    }

    fn modifiers(&mut self, modifiers: &[Modifier]) {
        for modifier in modifiers {
            match modifier {
                Modifier::Requires { holder, .. } => self.role(holder),
                Modifier::Rounds { reply, .. } => self.message(reply),
                Modifier::During { requests, .. } => requests.iter().for_each(|name| self.message(name)),
                _ => {}
            }
        }
    }

    /// A payload that is a declared shape, or a record with names in it; any other is a type of Rust.
    fn payload(&mut self, payload: &Payload) {
        match payload {
            Payload::Type { path, .. } => {
                self.shape_name(&Name { text: path.text.clone(), span: path.span });
            }
            Payload::Shape { shape, .. } => self.shape(shape),
            _ => {}
        }
    }

    fn shape(&mut self, shape: &Shape) {
        match &shape.kind {
            ShapeKind::Named(name) => {
                self.shape_name(name);
            }
            ShapeKind::Record(members) => {
                for member in members {
                    match member {
                        Member::Field(field) => self.shape(&field.shape),
                        Member::Spread { name, .. } if self.shape_name(name) => {}
                        Member::Spread { name, .. } => self.used(SymbolKind::Shape, name),
                        Member::Rest(_) => {}
                    }
                }
            }
            _ => shape.inside().into_iter().for_each(|inner| self.shape(inner)),
        }
    }

    /// A name where a shape may stand, if it is that of one. What a message carries, `PayParams`, is a use of the message's
    /// name.
    fn shape_name(&mut self, name: &Name) -> bool {
        if self.shapes.contains(name.text.as_str()) {
            self.used(SymbolKind::Shape, name);
            return true;
        }
        let Some(message) = self.carried.get(name.text.as_str()).map(|message| (*message).to_owned()) else {
            return false;
        };
        self.first_part_used(SymbolKind::Message, name, message);
        true
    }

    /// A side by its role's name; `client`, `own` and the like are words of the language.
    fn role(&mut self, name: &Name) {
        if self.roles.contains(name.text.as_str()) {
            self.used(SymbolKind::Role, name);
        }
    }

    /// Where capabilities or the version are announced.
    fn announced(&mut self, field: &AnnouncedField) {
        if let AnnouncedField::Message(field) = field {
            self.message(&field.message);
        }
    }

    /// A message or a group. A name that is not declared may be that of a request's refusal.
    pub(super) fn message(&mut self, name: &Name) {
        let request = name.text.strip_suffix("Error").filter(|request| self.requests.contains(request));
        match request {
            Some(request) if !self.declared.contains(name.text.as_str()) => {
                self.first_part_used(SymbolKind::Request, name, request.to_owned());
            }
            _ => self.used(SymbolKind::Message, name),
        }
    }

    pub(super) fn used(&mut self, kind: SymbolKind, name: &Name) {
        self.used_in(kind, name, name.span);
    }

    /// A use of another name, with which a word begins.
    fn first_part_used(&mut self, kind: SymbolKind, word: &Name, text: String) {
        let end = word.span.start + u32::try_from(text.len()).unwrap_or(0);
        let part = Name { text, span: Span { end, ..word.span } };
        self.used_in(kind, &part, word.span);
    }

    /// A use of a name that is a part of a word.
    fn used_in(&mut self, kind: SymbolKind, name: &Name, word: Span) {
        let symbol = self.named(kind, name);
        self.used_at(symbol, name, word);
    }

    /// A use of a symbol that is known. What the parser has read as something else than is written is not a place of
    /// the name.
    pub(super) fn used_at(&mut self, symbol: usize, name: &Name, word: Span) {
        if self.sources.slice(name.span) != name.text {
            return;
        }
        self.words.push(Word { word, name: name.span, symbol });
        if let Some(symbol) = self.all.get_mut(symbol) {
            symbol.uses.push(name.span);
        }
    }

    fn declare(&mut self, kind: SymbolKind, name: &Name, item: &Item) {
        self.add(kind, name, item.span, item.documentation.clone());
    }

    fn add(&mut self, kind: SymbolKind, name: &Name, item: Span, documentation: Vec<String>) {
        let symbol = self.named(kind, name);
        self.declared_at(symbol, kind, name, Declaration { name: name.span, item, documentation });
    }

    pub(super) fn declared_at(
        &mut self,
        index: usize,
        kind: SymbolKind,
        name: &Name,
        declaration: Declaration,
    ) {
        if self.sources.slice(name.span) != name.text {
            return;
        }
        self.words.push(Word { word: name.span, name: name.span, symbol: index });
        if let Some(symbol) = self.all.get_mut(index) {
            // A use may come before the declaration, and a role is more than the definition of its session type.
            if symbol.declarations.is_empty() || kind == SymbolKind::Role {
                symbol.kind = kind;
            }
            symbol.declarations.push(declaration);
        }
    }

    fn named(&mut self, kind: SymbolKind, name: &Name) -> usize {
        let next = self.all.len();
        let index = *self.places.entry((kind.space(), name.text.clone())).or_insert(next);
        if index == next {
            self.new_symbol(kind, name);
        }
        index
    }

    pub(super) fn new_symbol(&mut self, kind: SymbolKind, name: &Name) -> usize {
        self.all.push(Symbol { kind, name: name.text.clone(), declarations: Vec::new(), uses: Vec::new() });
        self.all.len() - 1
    }
}
