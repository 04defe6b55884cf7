//! Another name for a thing, everywhere.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use lsp_protocols::types::{
    PrepareRenameResponse, RenameParams, TextDocumentPositionParams, TextEdit, WorkspaceEdit,
};
use mcp_protocol_compiler::diagnostic::{Severity, shorten};
use mcp_protocol_compiler::resolve::load::normal;
use mcp_protocol_compiler::symbols::{NotAName, check_name};
use mcp_protocol_compiler::{Settings, compile_with};
use mcp_runtime::RpcError;

use super::edits::workspace_edit;
use super::occurrences::Occurrences;
use super::snapshot::{AskedPlace, Snapshot};

/// The code of a request that is right and cannot be fulfilled.
const REQUEST_FAILED: i64 = -32803;

/// The place of the name at a position, if there is one that can be changed.
pub(super) fn prepare(
    snapshot: &Snapshot,
    at: &TextDocumentPositionParams,
) -> Result<Option<PrepareRenameResponse>, RpcError> {
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let Some((span, symbol)) = asked.symbols.at(asked.file, asked.offset) else {
        return Err(nothing(&asked));
    };
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder {
        range: snapshot.range(asked.symbols.sources(), span),
        placeholder: symbol.name.clone(),
    }))
}

/// The edits that give the name at a position another one. It is refused where the new name is not one, means something
/// else already, or leads to an error that was not there before.
pub(super) fn rename(snapshot: &Snapshot, params: &RenameParams) -> Result<Option<WorkspaceEdit>, RpcError> {
    let at = &params.text_document_position;
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let Some(found) = Occurrences::of(snapshot, &asked)? else { return Err(nothing(&asked)) };
    let new = params.new_name.as_str();
    check(&found, new)?;
    let mut changes: BTreeMap<PathBuf, Vec<(u32, u32)>> = BTreeMap::new();
    for place in &found.places {
        changes.entry(place.path.clone()).or_default().push((place.start, place.end));
    }
    compiles(snapshot, &found, &changes, new)?;
    let mut edits: BTreeMap<PathBuf, Vec<TextEdit>> = BTreeMap::new();
    for place in &found.places {
        let range = found.range(snapshot, place);
        edits.entry(place.path.clone()).or_default().push(TextEdit::new(range, new.to_owned()));
    }
    Ok(Some(workspace_edit(snapshot, edits)))
}

fn refused(message: String) -> RpcError {
    RpcError::new(REQUEST_FAILED, message)
}

/// The answer where no name is.
fn nothing(asked: &AskedPlace) -> RpcError {
    let text = asked.symbols.sources().text(asked.file);
    let (before, after) = text.split_at_checked(asked.offset as usize).unwrap_or((text, ""));
    let is_part = |character: &char| character.is_alphanumeric() || *character == '_';
    let first: usize = before.chars().rev().take_while(is_part).map(char::len_utf8).sum();
    let last: usize = after.chars().take_while(is_part).map(char::len_utf8).sum();
    let (start, end) = (before.len() - first, before.len() + last);
    let word = text.get(start..end).unwrap_or_default();
    refused(match check_name(word) {
        Err(NotAName::Reserved) => {
            format!("`{word}` is a word of the language: place the cursor on a name to rename it")
        }
        _ => {
            "this is not a name: place the cursor on the name of a message, type, role, session type or loop"
                .to_owned()
        }
    })
}

/// Refuses what is not a name, and a name that is taken.
fn check(found: &Occurrences, new: &str) -> Result<(), RpcError> {
    let shown = shorten(new);
    match check_name(new) {
        Ok(()) => {}
        Err(NotAName::Reserved) => {
            return Err(refused(format!("`{shown}` is a word of the language: choose another name")));
        }
        Err(_) => {
            return Err(refused(format!(
                "`{shown}` is not a name: write letters, digits and `_`, and do not begin with a digit"
            )));
        }
    }
    for (symbols, symbol) in found.symbols() {
        let Some(other) = symbols.clash(symbol, new) else { continue };
        let place = other.declarations.first().map(|declaration| declaration.name);
        let place = place.or_else(|| other.uses.first().copied()).map(|span| {
            let sources = symbols.sources();
            let file = sources.path(span.file).file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!(" in line {} of `{file}`", sources.start(span).line)
        });
        return Err(refused(format!(
            "`{shown}` clashes with the {} `{}`{}: choose another name",
            other.kind.word(),
            other.name,
            place.unwrap_or_default()
        )));
    }
    Ok(())
}

/// Refuses a name that leads to an error in a protocol that has none now: a name that Rust already has, for instance.
fn compiles(
    snapshot: &Snapshot,
    found: &Occurrences,
    changes: &BTreeMap<PathBuf, Vec<(u32, u32)>>,
    new: &str,
) -> Result<(), RpcError> {
    let renamed = |path: &Path| -> io::Result<Vec<u8>> {
        let bytes = snapshot.read(path)?;
        let path = normal(path);
        let place = found.places.iter().find(|place| place.path == path);
        Ok(match (changes.get(&path), place) {
            (Some(places), Some(place)) => replaced(found.text(place), places, new).into_bytes(),
            _ => bytes,
        })
    };
    for entry in found.protocols() {
        if snapshot.analysis(entry).is_ok_and(|analysis| analysis.compilation().has_errors()) {
            continue;
        }
        let settings = Settings::default().for_code(true).without_tries(true);
        let Ok(after) = compile_with(entry, &mut |path| renamed(path), settings) else { continue };
        if let Some(error) = after.diagnostics.iter().find(|found| found.severity == Severity::Error) {
            return Err(refused(format!(
                "`{}` cannot be called `{}`: {}",
                found.name,
                shorten(new),
                error.message
            )));
        }
    }
    Ok(())
}

/// A text with another name in some places, which are in order.
fn replaced(text: &str, places: &[(u32, u32)], new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in places {
        out.push_str(text.get(at..*start as usize).unwrap_or_default());
        out.push_str(new);
        at = *end as usize;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
