//! What is declared and never said: messages, and shapes of payloads.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Kind, MessageIndex};

use crate::ast::Name;
use crate::compiled::Compiled;
use crate::declarations::{DeclaredShape, Form};
use crate::diagnostic::{Change, Code, Diagnostic};
use crate::source::{FileId, Span};

/// A message that no session type uses.
pub const UNUSED_MESSAGE: Code = Code("S0114");
/// A shape that no message carries.
pub const UNUSED_SHAPE: Code = Code("S0125");

/// Finds messages of the first file that no role ever sends or receives, and shapes that no message carries.
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
                    [Change::DeleteItem(message.span)],
                ),
        );
    }
    found
}

/// A notification that cancels requests, where none may be cancelled.
fn cancels_nothing(name: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(UNUSED_MESSAGE, span, format!("the message `{name}` is never used"))
        .label("no request that a role sends is `cancellable`")
        .changes(
            "write `cancellable` behind the requests that may be cancelled, or remove the declaration",
            [Change::DeleteItem(span)],
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
    shapes.iter().enumerate().filter(is_unused).map(|(_, shape)| unused_shape(shape)).collect()
}

/// The shapes that one names, and those whose fields it has by a spread.
fn visit<'a>(form: &'a Form, named: &mut Vec<usize>, spread: &mut HashSet<&'a str>) {
    let mut waiting = vec![form];
    while let Some(form) = waiting.pop() {
        match form {
            Form::Named(index) => named.push(*index),
            Form::List(of) | Form::Map(of) => waiting.push(of),
            Form::Union(parts) => waiting.extend(parts.iter().map(|part| &part.form)),
            Form::Record(record) => {
                spread.extend(record.fields.iter().map(|field| field.owner.as_str()));
                waiting.extend(record.fields.iter().map(|field| &field.form));
            }
            _ => {}
        }
    }
}

fn unused_shape(shape: &DeclaredShape) -> Diagnostic {
    let Name { text, span } = &shape.name;
    Diagnostic::warning(UNUSED_SHAPE, *span, format!("the shape `{text}` is never used"))
        .label("no message carries it")
        .changes(
            format!("remove the declaration, or write `({text})` behind the message that carries it"),
            [Change::DeleteItem(*span)],
        )
}
