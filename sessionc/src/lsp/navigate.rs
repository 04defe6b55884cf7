//! Where names are declared and used.

use lsp_protocols::types::{
    DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams, GotoDefinitionParams,
    GotoDefinitionResponse, Location, Range, ReferenceParams,
};
use mcp_runtime::RpcError;

use super::occurrences::Occurrences;
use super::snapshot::Snapshot;

/// Where the name at a position is declared; for an import, the file.
pub(super) fn definition(
    snapshot: &Snapshot,
    params: &GotoDefinitionParams,
) -> Result<Option<GotoDefinitionResponse>, RpcError> {
    let at = &params.text_document_position_params;
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let symbols = &asked.symbols;
    let import = symbols.imports().iter().find(|import| {
        import.span.file == asked.file && (import.span.start..=import.span.end).contains(&asked.offset)
    });
    if let Some(import) = import {
        let file = snapshot.uri(&import.path).map(|uri| Location::new(uri, Range::default()));
        return Ok(file.map(GotoDefinitionResponse::Scalar));
    }
    let Some((_, symbol)) = symbols.at(asked.file, asked.offset) else { return Ok(None) };
    let places = symbol.declarations.iter().map(|declaration| declaration.name);
    let places: Vec<Location> =
        places.filter_map(|span| snapshot.location(symbols.sources(), span)).collect();
    Ok((!places.is_empty()).then_some(GotoDefinitionResponse::Array(places)))
}

/// Every place of the name at a position.
pub(super) fn references(
    snapshot: &Snapshot,
    params: &ReferenceParams,
) -> Result<Option<Vec<Location>>, RpcError> {
    let at = &params.text_document_position;
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let Some(found) = Occurrences::of(snapshot, &asked)? else { return Ok(None) };
    let wanted = found.places.iter().filter(|place| params.context.include_declaration || !place.declares);
    let locations = wanted.filter_map(|place| {
        let range = found.range(snapshot, place);
        Some(Location::new(snapshot.uri(&place.path)?, range))
    });
    Ok(Some(locations.collect()))
}

/// The places of the name at a position in the same document.
pub(super) fn highlights(
    snapshot: &Snapshot,
    params: &DocumentHighlightParams,
) -> Result<Option<Vec<DocumentHighlight>>, RpcError> {
    let at = &params.text_document_position_params;
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let symbols = &asked.symbols;
    let Some((_, symbol)) = symbols.at(asked.file, asked.offset) else { return Ok(None) };
    let declared = symbol.declarations.iter().map(|found| (found.name, DocumentHighlightKind::WRITE));
    let used = symbol.uses.iter().map(|span| (*span, DocumentHighlightKind::READ));
    let here = declared.chain(used).filter(|(span, _)| span.file == asked.file);
    let highlights = here.map(|(span, kind)| DocumentHighlight {
        range: snapshot.range(symbols.sources(), span),
        kind: Some(kind),
    });
    Ok(Some(highlights.collect()))
}
