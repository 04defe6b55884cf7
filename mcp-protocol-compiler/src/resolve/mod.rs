//! Names to things: declarations with their imports merged, groups flattened, definitions found.
//!
//! Turns the trees of all files into a [`Resolution`]: the declarations that later stages share, and the definitions
//! and groups that only the next stage needs. Session types are not looked into.

mod bare;
mod defaults;
mod during;
mod groups;
mod inner_shapes;
mod items;
mod keys;
mod labels;
pub mod load;
mod members;
mod messages;
mod paths;
mod payload;
mod placed;
pub(crate) mod recovery;
mod references;
mod shapes;

use crate::declarations::Resolution;
use crate::diagnostic::Diagnostic;

pub use load::LoadedFile;

/// Resolves every name but those inside session types.
pub fn resolve(files: &[LoadedFile], diagnostics: &mut Vec<Diagnostic>) -> Resolution {
    let mut resolution = Resolution::default();
    let items = items::collect(files, diagnostics);
    let sides = items::Sides::of(&items);
    resolution.declarations.shapes = inner_shapes::name(shapes::declare(&items, diagnostics));
    messages::declare(&items, &sides, &mut resolution, diagnostics);
    groups::flatten(&items, &mut resolution, diagnostics);
    during::declare(&items, &mut resolution, diagnostics);
    items::announce(&items, &sides, &mut resolution, diagnostics);
    keys::declare(&items, &mut resolution, diagnostics);
    items::define(&items, &sides, &mut resolution, diagnostics);
    labels::number(&mut resolution);
    paths::check(&items, &sides, &resolution, diagnostics);
    bare::make_up(&mut resolution, diagnostics);
    for (index, definition) in resolution.definitions.iter().enumerate() {
        let place = (definition.side, definition.name.text.clone());
        resolution.definition_places.entry(place).or_insert(index);
    }
    resolution
}
