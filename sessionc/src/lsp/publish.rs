//! Diagnostics of all open documents and of what they import, whenever a text changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use lsp_protocols::lsp_3_17::server::Handle;
use lsp_protocols::types::{Diagnostic, PublishDiagnosticsParams};
use mcp_protocol_compiler::resolve::load::normal;

use super::findings::{file, shown};
use super::snapshot::Snapshot;
use super::workspace::{Workspace, answer};

/// Publishes until the session ends. While it compiles, further changes wait, and all of them together are the next turn:
/// so it needs no timer to keep up with typing.
pub(super) async fn run(workspace: Arc<Workspace>, peer: Handle) {
    let mut published = Published::default();
    loop {
        workspace.changed().await;
        let snapshot = workspace.snapshot();
        let Ok(found) = answer(snapshot.clone(), |texts, ()| Ok(diagnostics(texts)), ()).await else {
            continue;
        };
        for params in published.update(&snapshot, found) {
            if peer.send_publish_diagnostics(params).await.is_err() {
                return;
            }
        }
    }
}

type Found = BTreeMap<PathBuf, Vec<Diagnostic>>;

/// The diagnostics of each file, those of the open documents first of all: these have an entry also if nothing is wrong.
fn diagnostics(snapshot: &Snapshot) -> Found {
    let mut found: Found = snapshot.documents.paths().map(|path| (path.clone(), Vec::new())).collect();
    let protocols: BTreeSet<PathBuf> =
        snapshot.documents.paths().flat_map(|path| snapshot.checked_in(path)).collect();
    for entry in protocols {
        let Ok(analysis) = snapshot.analysis(&entry) else { continue };
        let compilation = analysis.compilation();
        for diagnostic in &compilation.diagnostics {
            let path = normal(file(&compilation.sources, diagnostic, &entry));
            let diagnostic = shown(snapshot, &compilation.sources, diagnostic);
            let of_file = found.entry(path).or_default();
            // Two protocols that import one file find the same in it.
            if !of_file.contains(&diagnostic) {
                of_file.push(diagnostic);
            }
        }
    }
    found
}

/// What the editor shows.
#[derive(Default)]
struct Published {
    files: BTreeMap<PathBuf, (Option<i32>, Vec<Diagnostic>)>,
}

impl Published {
    /// What is to be sent so that the editor shows what was found, and nothing else.
    fn update(&mut self, snapshot: &Snapshot, found: Found) -> Vec<PublishDiagnosticsParams> {
        let mut changes = Vec::new();
        let gone: Vec<PathBuf> =
            self.files.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        for path in gone {
            let shown = self.files.remove(&path).is_some_and(|(_, shown)| !shown.is_empty());
            if let Some(uri) = snapshot.uri(&path).filter(|_| shown) {
                changes.push(PublishDiagnosticsParams::new(uri, Vec::new(), None));
            }
        }
        for (path, diagnostics) in found {
            let version = snapshot.documents.get(&path).map(|document| document.version);
            if self.files.get(&path).is_some_and(|shown| *shown == (version, diagnostics.clone())) {
                continue;
            }
            if let Some(uri) = snapshot.uri(&path) {
                changes.push(PublishDiagnosticsParams::new(uri, diagnostics.clone(), version));
            }
            self.files.insert(path, (version, diagnostics));
        }
        changes
    }
}
