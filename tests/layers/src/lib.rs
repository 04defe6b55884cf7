//! Holds which module of a crate may import which. A test of each crate says the order, and calls [`Layers::check`].
//!
//! Imports are followed through re-exports to the file that defines the item. A test may import what it likes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::graph::Graph;

pub mod files;
mod graph;
mod source;
#[cfg(test)]
mod tests;

/// The names of the types and traits that a source file declares, outside of its tests and of macros.
#[must_use]
pub fn types_in(text: &str) -> Vec<String> {
    source::read(text).types
}

/// The order of a crate's modules.
#[derive(Default)]
pub struct Layers {
    /// The crate's folder, `env!("CARGO_MANIFEST_DIR")`.
    pub folder: &'static str,
    /// The modules at the root, each of which imports only from itself and from those before it.
    pub order: &'static [&'static str],
    /// Folders within a folder, whose files import nothing from the files of the folder above.
    pub inner: &'static [&'static str],
}

impl Layers {
    /// Checks that each module at the root has a place in the order, that none imports from a later one, that no file
    /// imports from the `mod.rs` above it, that no inner folder imports from the one above, and that no files import from
    /// each other in a circle.
    ///
    /// # Panics
    /// If one does.
    pub fn check(&self) {
        let found = self.violations();
        assert!(found.is_empty(), "{}\n", found.join("\n"));
    }

    fn violations(&self) -> Vec<String> {
        let folder = Path::new(self.folder).join("src");
        let root = if folder.join("lib.rs").is_file() { "lib.rs" } else { "main.rs" };
        let mut graph = Graph::of(&folder, root);
        let mut found = self.upwards(&graph, root);
        found.extend(self.out_of_inner(&graph));
        found.extend(through_parents(&mut graph, root));
        found.extend(circles(&graph));
        found
    }

    fn upwards(&self, graph: &Graph, root: &str) -> Vec<String> {
        let mut found = Vec::new();
        let place = |file: &str| self.order.iter().position(|layer| *layer == root_module(file));
        for (file, imported) in graph.imports() {
            match (place(file), place(imported)) {
                (Some(own), Some(other)) if other > own => {
                    found.push(format!("{file} imports from {imported}, which stands above it"));
                }
                _ => {}
            }
        }
        let modules: BTreeSet<_> =
            graph.files().filter(|file| *file != root && place(file).is_none()).map(root_module).collect();
        found.extend(modules.into_iter().map(|module| format!("`{module}` has no place in the order")));
        found
    }

    fn out_of_inner(&self, graph: &Graph) -> Vec<String> {
        let mut found = Vec::new();
        for inner in self.inner {
            let above = inner.rsplit_once('/').map_or("", |(above, _)| above);
            // A file `a.rs` and those in the folder `a` are parts of one module.
            let is_in = |folder: &str, file: &str| {
                Path::new(file).starts_with(folder) || file.strip_suffix(".rs") == Some(folder)
            };
            let leaves = graph.imports().filter(|(file, imported)| {
                is_in(inner, file) && is_in(above, imported) && !is_in(inner, imported)
            });
            found.extend(leaves.map(|(file, imported)| {
                format!("{file} imports from {imported}, which is outside of {inner}")
            }));
            if !graph.files().any(|file| is_in(inner, file)) {
                found.push(format!("{inner} has no files"));
            }
        }
        found
    }
}

/// The imports from parents. Takes them out of the graph.
fn through_parents(graph: &mut Graph, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (file, imported) in graph.to_parents(root) {
        let name = imported.rsplit('/').next().unwrap_or_default();
        if imported == root || name == "mod.rs" {
            found.push(format!(
                "{file} imports through {imported}, which is above it: import from the file that defines the item"
            ));
        }
        graph.remove(&file, &imported);
    }
    found
}

fn circles(graph: &Graph) -> Vec<String> {
    let files = |circle: BTreeSet<&str>| circle.into_iter().collect::<Vec<_>>().join(", ");
    let circles = graph.circles().into_iter();
    circles.map(|circle| format!("import from each other in a circle: {}", files(circle))).collect()
}

/// The module at the root that a file belongs to.
fn root_module(file: &str) -> &str {
    let module = file.strip_prefix("lib.rs::").unwrap_or(file);
    module.split(['/', '.', ':']).next().unwrap_or_default()
}
