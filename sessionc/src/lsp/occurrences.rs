//! Every place of a name, in all protocols that share the file in which it is declared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use lsp_protocols::types::Range;
use mcp_protocol_compiler::resolve::load::normal;
use mcp_protocol_compiler::source::{FileId, SourceMap, Span};
use mcp_protocol_compiler::symbols::{Symbol, Symbols};
use mcp_runtime::RpcError;

use super::snapshot::{AskedPlace, Snapshot, cannot_read, file_at};

/// A place of a name. Offsets are the same in every protocol that has the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Occurrence {
    /// The file.
    pub(super) path: PathBuf,
    /// The first byte.
    pub(super) start: u32,
    /// The byte after the last.
    pub(super) end: u32,
    /// Whether the name is declared there.
    pub(super) declares: bool,
}

/// A name in the protocols that have it.
pub(super) struct Occurrences {
    /// The name.
    pub(super) name: String,
    /// All places, in the order of the files.
    pub(super) places: BTreeSet<Occurrence>,
    protocols: BTreeMap<PathBuf, Symbols>,
}

impl Occurrences {
    /// Finds all places of the name that was asked about; nothing if there is none.
    pub(super) fn of(snapshot: &Snapshot, asked: &AskedPlace) -> Result<Option<Occurrences>, RpcError> {
        let Some((span, symbol)) = asked.symbols.at(asked.file, asked.offset) else { return Ok(None) };
        let start = (normal(asked.symbols.sources().path(span.file)), span.start);
        let mut found =
            Occurrences { name: symbol.name.clone(), places: BTreeSet::new(), protocols: BTreeMap::new() };
        let mut waiting = vec![start];
        let mut seen = BTreeSet::new();
        // A file that declares the name may be part of protocols that the file of the question is not a part of.
        while let Some((path, offset)) = waiting.pop() {
            if !seen.insert((path.clone(), offset)) {
                continue;
            }
            for entry in snapshot.protocols_of(&path) {
                if !found.protocols.contains_key(&entry) {
                    let symbols = snapshot.symbols(&entry).map_err(|error| cannot_read(&entry, &error))?;
                    found.protocols.insert(entry.clone(), symbols);
                }
                let Some(symbols) = found.protocols.get(&entry) else { continue };
                let Some(file) = file_at(symbols.sources(), &path) else { continue };
                let Some((_, symbol)) = symbols.at(file, offset) else { continue };
                let place = |span: Span| (normal(symbols.sources().path(span.file)), span);
                for declaration in &symbol.declarations {
                    let (path, span) = place(declaration.name);
                    waiting.push((path.clone(), span.start));
                    found.places.insert(Occurrence {
                        path,
                        start: span.start,
                        end: span.end,
                        declares: true,
                    });
                }
                for used in &symbol.uses {
                    let (path, span) = place(*used);
                    found.places.insert(Occurrence {
                        path,
                        start: span.start,
                        end: span.end,
                        declares: false,
                    });
                }
            }
        }
        Ok(Some(found))
    }

    /// The files of the protocols that have the name.
    pub(super) fn protocols(&self) -> impl Iterator<Item = &PathBuf> {
        self.protocols.keys()
    }

    /// The symbol in each protocol.
    pub(super) fn symbols(&self) -> impl Iterator<Item = (&Symbols, &Symbol)> {
        self.protocols.values().filter_map(|symbols| {
            let mut places = self.places.iter();
            let symbol = places.find_map(|place| {
                let file = file_at(symbols.sources(), &place.path)?;
                symbols.at(file, place.start).filter(|(_, symbol)| symbol.name == self.name)
            });
            Some((symbols, symbol?.1))
        })
    }

    /// The text of a file that has a place.
    pub(super) fn text(&self, occurrence: &Occurrence) -> &str {
        self.file(occurrence).map_or("", |(sources, file)| sources.text(file))
    }

    /// A place for the editor.
    pub(super) fn range(&self, snapshot: &Snapshot, occurrence: &Occurrence) -> Range {
        let Some((sources, file)) = self.file(occurrence) else { return Range::default() };
        snapshot.range(sources, Span { file, start: occurrence.start, end: occurrence.end })
    }

    fn file(&self, occurrence: &Occurrence) -> Option<(&SourceMap, FileId)> {
        self.protocols.values().find_map(|symbols| {
            let sources: &SourceMap = symbols.sources();
            Some((sources, file_at(sources, &occurrence.path)?))
        })
    }
}
