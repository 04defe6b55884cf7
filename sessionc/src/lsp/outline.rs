//! The symbols of a document, and those of the workspace that match a query.

use std::collections::BTreeSet;

use lsp_protocols::types::{
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, OneOf, SymbolInformation, SymbolKind,
    WorkspaceSymbol, WorkspaceSymbolParams, WorkspaceSymbolResponse,
};
use mcp_protocol_compiler::source::Span;
use mcp_protocol_compiler::symbols::{self, Symbol, Symbols};
use mcp_runtime::RpcError;

use super::snapshot::{Snapshot, cannot_read, file_at};
use super::uris::path_of;

/// How many symbols a query returns.
const MOST_SYMBOLS: usize = 500;

/// The symbols of a document, those inside of others below them.
pub(super) fn document_symbols(
    snapshot: &Snapshot,
    params: &DocumentSymbolParams,
) -> Result<Option<DocumentSymbolResponse>, RpcError> {
    let path = path_of(&params.text_document.uri);
    let symbols = snapshot.symbols(&path).map_err(|error| cannot_read(&path, &error))?;
    let Some(file) = file_at(symbols.sources(), &path) else { return Ok(None) };
    let mut declared: Vec<(Span, DocumentSymbol)> = declarations(&symbols)
        .filter(|(_, name, _)| name.file == file)
        .map(|(symbol, name, item)| (item, shown(snapshot, &symbols, symbol, name, item)))
        .collect();
    declared.sort_by_key(|(item, _)| (item.start, std::cmp::Reverse(item.end)));
    if !snapshot.editor.nested_symbols {
        let uri = &params.text_document.uri;
        let flat = declared.into_iter().map(|(_, symbol)| information(uri, symbol));
        return Ok(Some(DocumentSymbolResponse::Flat(flat.collect())));
    }
    Ok(Some(DocumentSymbolResponse::Nested(nested(declared))))
}

/// Every declaration: its symbol, its name and its item.
fn declarations(symbols: &Symbols) -> impl Iterator<Item = (&Symbol, Span, Span)> {
    symbols.all().iter().flat_map(|symbol| {
        symbol.declarations.iter().map(move |declaration| (symbol, declaration.name, declaration.item))
    })
}

#[allow(deprecated, reason = "the type has a field that is deprecated, and no constructor")]
fn shown(snapshot: &Snapshot, symbols: &Symbols, symbol: &Symbol, name: Span, item: Span) -> DocumentSymbol {
    // The item of a definition of one role begins with that role.
    let item = Span { start: item.start.min(name.start), end: item.end.max(name.end), ..item };
    DocumentSymbol {
        name: symbol.name.clone(),
        detail: Some(symbol.kind.word().to_owned()),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: snapshot.range(symbols.sources(), item),
        selection_range: snapshot.range(symbols.sources(), name),
        children: None,
    }
}

/// Puts each symbol below the one that its item stands in. They are in order, and parsing bounds how deep they stand.
fn nested(declared: Vec<(Span, DocumentSymbol)>) -> Vec<DocumentSymbol> {
    let mut done = Vec::new();
    let mut open: Vec<(Span, DocumentSymbol)> = Vec::new();
    let close = |open: &mut Vec<(Span, DocumentSymbol)>, done: &mut Vec<DocumentSymbol>| {
        let Some((_, symbol)) = open.pop() else { return };
        match open.last_mut() {
            Some((_, outer)) => outer.children.get_or_insert_default().push(symbol),
            None => done.push(symbol),
        }
    };
    for (item, symbol) in declared {
        while open.last().is_some_and(|(outer, _)| outer.end < item.end) {
            close(&mut open, &mut done);
        }
        open.push((item, symbol));
    }
    while !open.is_empty() {
        close(&mut open, &mut done);
    }
    done
}

#[allow(deprecated, reason = "the type has a field that is deprecated, and no constructor")]
fn information(uri: &lsp_protocols::types::Uri, symbol: DocumentSymbol) -> SymbolInformation {
    SymbolInformation {
        name: symbol.name,
        kind: symbol.kind,
        tags: None,
        deprecated: None,
        location: lsp_protocols::types::Location::new(uri.clone(), symbol.selection_range),
        container_name: None,
    }
}

/// The symbols of all files of the workspace and of all open documents whose name contains the query.
pub(super) fn workspace_symbols(
    snapshot: &Snapshot,
    params: &WorkspaceSymbolParams,
) -> Result<Option<WorkspaceSymbolResponse>, RpcError> {
    let query = params.query.to_lowercase();
    let paths: BTreeSet<_> = snapshot.documents.paths().chain(snapshot.files.iter()).collect();
    let mut found = Vec::new();
    for path in paths {
        let Ok(symbols) = snapshot.symbols(path) else { continue };
        let Some(file) = file_at(symbols.sources(), path) else { continue };
        let here = declarations(&symbols).filter(|(symbol, name, _)| {
            name.file == file
                && symbol.kind != symbols::SymbolKind::Loop
                && symbol.name.to_lowercase().contains(&query)
        });
        found.extend(here.filter_map(|(symbol, name, _)| {
            Some(WorkspaceSymbol {
                name: symbol.name.clone(),
                kind: kind(symbol.kind),
                tags: None,
                container_name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
                location: OneOf::Left(snapshot.location(symbols.sources(), name)?),
                data: None,
            })
        }));
        if found.len() >= MOST_SYMBOLS {
            break;
        }
    }
    found.truncate(MOST_SYMBOLS);
    Ok(Some(WorkspaceSymbolResponse::Nested(found)))
}

fn kind(kind: symbols::SymbolKind) -> SymbolKind {
    match kind {
        symbols::SymbolKind::Protocol => SymbolKind::MODULE,
        symbols::SymbolKind::Request => SymbolKind::METHOD,
        symbols::SymbolKind::Notification => SymbolKind::EVENT,
        symbols::SymbolKind::Reply => SymbolKind::PROPERTY,
        symbols::SymbolKind::Group => SymbolKind::ENUM,
        symbols::SymbolKind::Key => SymbolKind::KEY,
        symbols::SymbolKind::Shape => SymbolKind::STRUCT,
        symbols::SymbolKind::Role => SymbolKind::CLASS,
        symbols::SymbolKind::Definition => SymbolKind::INTERFACE,
        _ => SymbolKind::VARIABLE,
    }
}
