//! What suggestions do to the text.
//!
//! Turns the changes of suggestions into edits of the text. A change that cannot be made in its place leaves advice
//! without edits.

mod change;
mod messages;
mod shapes;
mod tree;

use self::change::Placing;
use self::tree::Tree;
use crate::declarations::Resolution;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::limit::LIMIT_OF_ALL;
use crate::resolve::load::LoadedFile;
use crate::source::SourceMap;

/// Makes edits of all changes.
pub(crate) fn place(
    diagnostics: &mut [Diagnostic],
    files: &[LoadedFile],
    sources: &SourceMap,
    resolution: &Resolution,
) {
    let mut tree = None;
    for (number, help) in diagnostics.iter_mut().flat_map(|found| &mut found.helps).enumerate() {
        let changes = help.take_changes();
        if changes.is_empty() {
            continue;
        }
        if number >= LIMIT_OF_ALL {
            help.place_changes(None);
            continue;
        }
        let tree = tree.get_or_insert_with(|| Tree::new(files, sources));
        let placed = Placing::new(tree, resolution, help.text()).place(&changes);
        help.place_changes(placed);
    }
}
