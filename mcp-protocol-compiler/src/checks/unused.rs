//! What is declared and never said: messages, correlation keys, and shapes of payloads.

use std::collections::{BTreeMap, HashMap, HashSet};

use mcp_protocol_machine::protocol::{Action, Kind, MessageIndex};

use crate::ast::Name;
use crate::compiled::Compiled;
use crate::components::components;
use crate::declarations::{DeclaredShape, Form, Message};
use crate::diagnostic::{Code, Diagnostic, TextChange};
use crate::source::{FileId, Span};

/// A message that no session type uses.
pub const UNUSED_MESSAGE: Code = Code("S0114");
/// A shape that no message carries.
pub const UNUSED_SHAPE: Code = Code("S0125");
/// A correlation key by which no step finds its sub-session.
pub const UNUSED_KEY: Code = Code("S0127");

/// Finds messages of the first file that no role ever sends or receives, keys that no sub-session needs, and shapes that no
/// message carries.
pub fn check(compiled: &Compiled, first_file: FileId) -> Vec<Diagnostic> {
    let automata = || compiled.client.iter().chain(&compiled.server);
    if automata().next().is_none() {
        return Vec::new();
    }
    let used: HashSet<MessageIndex> = automata()
        .flat_map(|automaton| &automaton.states)
        .flat_map(|state| &state.edges)
        .map(|edge| edge.message)
        .collect();
    let mut found = unused_shapes(compiled, first_file);
    let declarations = &compiled.declarations;
    found.extend(unused_keys(compiled, first_file));
    // That one never runs is said where it is named.
    let named: HashSet<&str> = declarations
        .messages
        .iter()
        .flat_map(|message| &message.during)
        .flat_map(|during| &during.names)
        .map(|(name, _)| name.text.as_str())
        .collect();
    let all = || declarations.indices().zip(&declarations.messages);
    let is_cancellable = all().any(|(index, message)| message.table.cancellable && used.contains(&index));
    for (index, message) in all() {
        let table = &message.table;
        if table.cancels.is_some() && message.span.file == first_file && !is_cancellable {
            found.push(cancels_nothing(&table.name, message.span));
        }
        let exempt = message.undeclared
            || table.cancels.is_some()
            || table.reports.is_some()
            || named.contains(&*table.name)
            || message.span.file != first_file;
        if exempt || used.contains(&index) || !matches!(table.kind, Kind::Request | Kind::Notification) {
            continue;
        }
        let name = &table.name;
        found.push(
            Diagnostic::warning(UNUSED_MESSAGE, message.span, format!("the message `{name}` is never used"))
                .label("no session type of a role has it")
                .changes(
                    format!("remove the declaration, or write `!{name}` where it is sent"),
                    [TextChange::DeleteItem(message.span)],
                ),
        );
    }
    found
}

/// The keys of the first file by which no step finds its sub-session.
fn unused_keys(compiled: &Compiled, first_file: FileId) -> impl Iterator<Item = Diagnostic> {
    let declarations = &compiled.declarations;
    let automata = compiled.client.iter().chain(&compiled.server);
    let in_bodies = automata.flat_map(|automaton| &automaton.states).filter(|state| state.body);
    let steps: HashSet<MessageIndex> =
        in_bodies.flat_map(|state| &state.edges).map(|edge| edge.message).collect();
    let used: HashSet<usize> = steps
        .iter()
        .filter_map(|message| declarations.message(*message))
        .flat_map(|message| message.table.keys.iter())
        .map(|carried| usize::from(carried.key.0))
        .collect();
    let automata = compiled.client.iter().chain(&compiled.server);
    let linear = automata.flat_map(|automaton| &automaton.states).flat_map(|state| &state.edges);
    let linear: HashSet<MessageIndex> =
        linear.filter(|edge| matches!(edge.action, Action::Step(_))).map(|edge| edge.message).collect();
    let keys = declarations.keys.iter().enumerate();
    keys.filter(move |(index, key)| !used.contains(index) && key.span.file == first_file).map(
        move |(index, key)| {
            let carries = |message: &Message| {
                message.table.keys.iter().any(|carried| usize::from(carried.key.0) == index)
            };
            let mut all = declarations.indices().zip(&declarations.messages);
            let first = all.find(|(message, declared)| linear.contains(message) && carries(declared));
            let message = format!("the key `{}` is never used", key.table.name);
            let finding = Diagnostic::warning(UNUSED_KEY, key.span, message)
                .label("no step of a sub-session carries it after the first one")
                .changes(
                    "remove the declaration: a reply finds its request by the id",
                    [TextChange::DeleteItem(key.span)],
                );
            match first {
                Some((_, first)) => finding.help(format!(
                    "or write `*` before the session type that begins with `{}`, if it is a sub-session",
                    first.table.name
                )),
                None => finding,
            }
        },
    )
}

/// A notification that cancels requests, where none may be cancelled.
fn cancels_nothing(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(UNUSED_MESSAGE, span, format!("the message `{name}` is never used"))
        .label("no request that a role sends is `cancellable`")
        .changes(
            "write `cancellable` behind the requests that may be cancelled, or remove the declaration",
            [TextChange::DeleteItem(span)],
        )
}

/// Shapes of the first file that no message carries.
fn unused_shapes(compiled: &Compiled, first_file: FileId) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let shapes = &declarations.shapes;
    let carried = declarations.messages.iter().filter_map(|message| message.table.shape);
    let mut waiting: Vec<usize> = carried.map(|shape| usize::from(shape.0)).collect();
    let (mut used, mut spread) = (HashSet::new(), HashSet::new());
    while let Some(index) = waiting.pop() {
        if let Some(shape) = shapes.get(index).filter(|_| used.insert(index)) {
            visit(&shape.form, &mut waiting, &mut spread);
        }
    }
    let is_unused = |(index, shape): &(usize, &DeclaredShape)| {
        let name = &shape.name;
        !used.contains(index)
            && !spread.contains(name.text.as_str())
            && !shape.is_inner
            && !shape.imported
            && name.span.file == first_file
    };
    let unused: Vec<usize> = shapes.iter().enumerate().filter(is_unused).map(|(index, _)| index).collect();
    if unused.is_empty() {
        return Vec::new();
    }
    let by_name: HashMap<&str, usize> =
        shapes.iter().enumerate().map(|(index, shape)| (shape.name.text.as_str(), index)).collect();
    let named_by = |index: usize| {
        let (mut named, mut spread) = (Vec::new(), HashSet::new());
        if let Some(shape) = shapes.get(index) {
            visit(&shape.form, &mut named, &mut spread);
        }
        named.extend(spread.iter().filter_map(|name| by_name.get(name)));
        named
    };
    // What another unused shape names goes when that one has gone. Shapes that name one another go together.
    let component = components(shapes.len(), named_by);
    let of = |index: usize| component.get(index).copied();
    let not_used = (0..shapes.len()).filter(|index| !used.contains(index));
    let named: HashSet<Option<usize>> = not_used
        .flat_map(|index| named_by(index).into_iter().map(move |next| (index, next)))
        .filter(|(index, next)| of(*index) != of(*next))
        .map(|(_, next)| of(next))
        .collect();
    let mut together: BTreeMap<Option<usize>, Vec<&DeclaredShape>> = BTreeMap::new();
    for index in unused.into_iter().filter(|index| !named.contains(&of(*index))) {
        together.entry(of(index)).or_default().extend(shapes.get(index));
    }
    together.values().filter_map(|shapes| Some(unused_shape(shapes.first()?, shapes))).collect()
}

/// The shapes that one names, and those whose fields it has by a spread.
fn visit<'a>(form: &'a Form, named: &mut Vec<usize>, spread: &mut HashSet<&'a str>) {
    let mut waiting = vec![form];
    while let Some(form) = waiting.pop() {
        match form {
            Form::Named(index) => named.push(*index),
            Form::Record(record) => spread.extend(record.fields.iter().map(|field| field.owner.as_str())),
            _ => {}
        }
        waiting.extend(form.inside());
    }
}

/// A shape that no message carries; `all` are those that go with it.
fn unused_shape(shape: &DeclaredShape, all: &[&DeclaredShape]) -> Diagnostic {
    let Name { text, span } = &shape.name;
    Diagnostic::warning(UNUSED_SHAPE, *span, format!("the shape `{text}` is never used"))
        .label("no message carries it")
        .changes(
            format!("remove the declaration, or write `({text})` behind the message that carries it"),
            all.iter().map(|shape| TextChange::DeleteItem(shape.name.span)),
        )
}
