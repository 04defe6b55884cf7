//! Which file imports which.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a file says about others.
#[derive(Debug)]
pub(super) struct FileHead {
    /// The files that it imports by itself.
    pub(super) imports: Vec<PathBuf>,
    /// Whether it declares a role, so that it is a protocol of its own.
    pub(super) declares_role: bool,
}

/// The imports among some files, backwards.
pub(super) struct Imports {
    importers: HashMap<PathBuf, Vec<PathBuf>>,
    protocols: BTreeSet<PathBuf>,
}

impl Imports {
    /// Follows the imports of the files, also to files that are not among them.
    pub(super) fn from(mut files: Vec<PathBuf>, head: impl Fn(&Path) -> Option<Arc<FileHead>>) -> Imports {
        let mut graph = Imports { importers: HashMap::new(), protocols: BTreeSet::new() };
        let mut seen = BTreeSet::new();
        while let Some(path) = files.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let Some(head) = head(&path) else { continue };
            if head.declares_role {
                graph.protocols.insert(path.clone());
            }
            for import in &head.imports {
                graph.importers.entry(import.clone()).or_default().push(path.clone());
                files.push(import.clone());
            }
        }
        graph
    }

    /// The protocols that have a file, itself first; the file itself if there is none.
    pub(super) fn protocols_of(&self, path: &Path) -> Vec<PathBuf> {
        let mut reached = BTreeSet::from([path.to_path_buf()]);
        let mut waiting = vec![path.to_path_buf()];
        while let Some(next) = waiting.pop() {
            for importer in self.importers.get(&next).into_iter().flatten() {
                if reached.insert(importer.clone()) {
                    waiting.push(importer.clone());
                }
            }
        }
        let own = self.protocols.get(path).into_iter();
        let others = reached.iter().filter(|file| *file != path && self.protocols.contains(*file));
        let found: Vec<PathBuf> = own.chain(others).cloned().collect();
        if found.is_empty() { vec![path.to_path_buf()] } else { found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocols_of(path: &str) -> Vec<PathBuf> {
        let head = |path: &Path| {
            let (imports, declares_role): (&[&str], bool) = match path.to_str()? {
                "one" => (&["part"], true),
                "two" => (&["one", "middle"], true),
                "middle" => (&["part", "missing"], false),
                "part" => (&["middle"], false),
                "alone" => (&[], false),
                _ => return None,
            };
            Some(Arc::new(FileHead { imports: imports.iter().map(PathBuf::from).collect(), declares_role }))
        };
        let files = ["one", "two", "alone"].map(PathBuf::from).to_vec();
        Imports::from(files, head).protocols_of(Path::new(path))
    }

    #[test]
    fn a_part_belongs_to_the_protocols_that_reach_it() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        // Files that import one another in a cycle are a mistake, which the compiler reports.
        assert_eq!(protocols_of("part"), paths(&["one", "two"]));
        assert_eq!(protocols_of("missing"), paths(&["one", "two"]));
        assert_eq!(protocols_of("one"), paths(&["one", "two"]));
        assert_eq!(protocols_of("two"), paths(&["two"]));
        assert_eq!(protocols_of("alone"), paths(&["alone"]));
    }
}
