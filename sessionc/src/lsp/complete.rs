//! What the text at a position may go on with.

use std::path::Path;

use lsp_protocols::types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, CompletionTextEdit,
    Documentation, MarkupContent, MarkupKind, TextEdit,
};
use mcp_protocol_compiler::source::Span;
use mcp_protocol_compiler::symbols::{Declaration, Symbol, SymbolKind};
use mcp_runtime::RpcError;

use super::context::{CompletionPlace, Context};
use super::snapshot::Snapshot;

/// The names and words that fit at a position. The editor picks those that fit what has been typed of them.
pub(super) fn complete(
    snapshot: &Snapshot,
    params: &CompletionParams,
) -> Result<Option<CompletionResponse>, RpcError> {
    let at = &params.text_document_position;
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let sources = asked.symbols.sources();
    let context = Context::at(sources, asked.file, asked.offset);
    let typed = Span { file: asked.file, start: context.start, end: asked.offset };
    let range = snapshot.range(sources, typed);
    let is_shown = |symbol: &Symbol| match symbol.kind {
        SymbolKind::Request | SymbolKind::Notification | SymbolKind::Reply | SymbolKind::Group => {
            context.place.takes_message(symbol.kind)
        }
        SymbolKind::Definition if matches!(context.place, CompletionPlace::RoleName(_)) => true,
        SymbolKind::Definition | SymbolKind::Role => {
            context.place == CompletionPlace::SessionType
                || context.place == CompletionPlace::Dual
                || (context.place == CompletionPlace::Side && symbol.kind == SymbolKind::Role)
        }
        SymbolKind::Loop => {
            // The text is not finished, so that the loop may seem to end before the position.
            context.place == CompletionPlace::SessionType
                && symbol.declarations.iter().any(|declaration| {
                    let start = declaration.name.start;
                    declaration.name.file == asked.file && (context.item..context.start).contains(&start)
                })
        }
        SymbolKind::Shape => {
            context.place == CompletionPlace::Shape || context.place == CompletionPlace::Payload
        }
        _ => false,
    };
    let names =
        asked.symbols.all().iter().filter(|symbol| !symbol.declarations.is_empty() && is_shown(symbol));
    let mut items: Vec<CompletionItem> = names.map(item).collect();
    if matches!(context.place, CompletionPlace::Shape | CompletionPlace::Payload) {
        items.extend(asked.symbols.payloads().map(payload));
    }
    items.extend(context.place.words().map(word));
    if let CompletionPlace::RoleName(name) = context.place {
        let mut roles = asked.symbols.all().iter().filter(|symbol| {
            // The parser may take the text behind the position for the name that is asked for.
            let is_elsewhere = |declaration: &Declaration| {
                declaration.name.file != asked.file
                    || !(context.item..=asked.offset).contains(&declaration.name.start)
            };
            symbol.kind == SymbolKind::Role && symbol.declarations.iter().any(is_elsewhere)
        });
        if let (Some(other), None) = (roles.next(), roles.next()) {
            items.push(dual_role(name, &other.name));
        }
    }
    if context.place == CompletionPlace::Import {
        items.extend(importable(snapshot, &asked.path));
    }
    for item in &mut items {
        item.text_edit = Some(CompletionTextEdit::Edit(TextEdit::new(range, item.label.clone())));
    }
    Ok(Some(CompletionResponse::Array(items)))
}

fn item(symbol: &Symbol) -> CompletionItem {
    let documentation: Vec<&str> = symbol
        .declarations
        .iter()
        .flat_map(|declaration| declaration.documentation.iter().map(String::as_str))
        .collect();
    let value = documentation.join("\n");
    let documentation = (!value.is_empty())
        .then_some(Documentation::MarkupContent(MarkupContent { kind: MarkupKind::PlainText, value }));
    CompletionItem {
        label: symbol.name.clone(),
        kind: Some(match symbol.kind {
            SymbolKind::Request => CompletionItemKind::METHOD,
            SymbolKind::Notification => CompletionItemKind::EVENT,
            SymbolKind::Reply => CompletionItemKind::PROPERTY,
            SymbolKind::Group => CompletionItemKind::ENUM,
            SymbolKind::Shape => CompletionItemKind::STRUCT,
            SymbolKind::Role => CompletionItemKind::CLASS,
            SymbolKind::Definition => CompletionItemKind::INTERFACE,
            _ => CompletionItemKind::VARIABLE,
        }),
        detail: Some(symbol.kind.word().to_owned()),
        documentation,
        ..CompletionItem::default()
    }
}

/// A role that does what the other one expects.
fn dual_role(name: &str, other: &str) -> CompletionItem {
    CompletionItem {
        label: format!("{name} = dual {other}"),
        kind: Some(CompletionItemKind::CLASS),
        detail: Some(format!("sends what `{other}` receives, and receives what it sends")),
        ..CompletionItem::default()
    }
}

/// A shape that is written as a payload.
fn payload((name, message): (&str, &str)) -> CompletionItem {
    CompletionItem {
        label: name.to_owned(),
        kind: Some(CompletionItemKind::STRUCT),
        detail: Some(format!("what `{message}` carries")),
        ..CompletionItem::default()
    }
}

fn word(word: &str) -> CompletionItem {
    CompletionItem {
        label: word.to_owned(),
        kind: Some(CompletionItemKind::KEYWORD),
        // Names come first.
        sort_text: Some(format!("~{word}")),
        ..CompletionItem::default()
    }
}

/// The files of the workspace in the folder of a file and below.
fn importable(snapshot: &Snapshot, path: &Path) -> impl Iterator<Item = CompletionItem> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let others = snapshot.files.iter().filter(move |other| *other != path);
    others.filter_map(move |other| {
        let parts: Option<Vec<&str>> =
            other.strip_prefix(folder).ok()?.iter().map(|part| part.to_str()).collect();
        Some(CompletionItem {
            label: parts?.join("/"),
            kind: Some(CompletionItemKind::FILE),
            ..CompletionItem::default()
        })
    })
}
