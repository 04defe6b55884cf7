//! The files of a crate, and which of them imports from which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::source::{self, Import};

/// How many re-exports may lead to an item.
const MOST_REEXPORTS: usize = 16;

/// Which file imports from which. A module within the root file counts as a file of its own, `lib.rs::session`.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    edges: BTreeMap<String, BTreeSet<String>>,
    /// The file that declares the module of a file.
    parents: BTreeMap<String, String>,
}

/// The modules by their paths from the root.
#[derive(Debug, Default)]
struct Modules {
    by_path: BTreeMap<Vec<String>, Module>,
    /// The files of the macros that stand at the root of the crate, wherever they are written.
    macros: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct Module {
    file: String,
    imports: Vec<Import>,
}

impl Graph {
    /// Reads the crate whose root is `file` in `folder`.
    pub(crate) fn of(folder: &Path, file: &str) -> Graph {
        let mut modules = Modules::default();
        modules.read(folder, file, Vec::new());
        let mut graph = Graph::default();
        for (path, module) in &modules.by_path {
            let edges = graph.edges.entry(module.file.clone()).or_default();
            for import in &module.imports {
                if let Some(path) = modules.absolute(path, &import.path) {
                    modules.resolve(&path, edges, 0);
                }
            }
            edges.remove(&module.file);
            if let Some((_, above)) = path.split_last()
                && let Some(parent) = modules.by_path.get(above)
                && parent.file != module.file
            {
                graph.parents.insert(module.file.clone(), parent.file.clone());
            }
        }
        // A file stands above those that it declares.
        for (child, parent) in &graph.parents {
            graph.edges.entry(parent.clone()).or_default().insert(child.clone());
        }
        graph
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.edges.keys().map(String::as_str)
    }

    pub(crate) fn imports(&self) -> impl Iterator<Item = (&str, &str)> {
        self.edges
            .iter()
            .flat_map(|(file, edges)| edges.iter().map(move |other| (file.as_str(), other.as_str())))
    }

    pub(crate) fn remove(&mut self, file: &str, imported: &str) {
        if let Some(edges) = self.edges.get_mut(file) {
            edges.remove(imported);
        }
    }

    /// The imports of a file from one that stands above it.
    pub(crate) fn to_parents(&self, root: &str) -> Vec<(String, String)> {
        let is_above = |file: &str, other: &str| {
            let mut above = self.parents.get(file);
            std::iter::from_fn(|| {
                let parent = above?;
                above = self.parents.get(parent);
                Some(parent)
            })
            .any(|parent| parent == other)
        };
        let of_root = |file: &str| file.starts_with(&format!("{root}::"));
        self.imports()
            .filter(|(file, other)| !of_root(file) && is_above(file, other))
            .map(|(file, other)| (file.to_owned(), other.to_owned()))
            .collect()
    }

    /// The files that an import leads to, and from there again.
    fn reached<'g>(&'g self, start: &'g str) -> BTreeSet<&'g str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(file) = open.pop() {
            let edges = self.edges.get(file).into_iter().flatten();
            open.extend(edges.map(String::as_str).filter(|next| reached.insert(*next)));
        }
        reached
    }

    /// The largest sets of files of which each imports, over others, from each.
    pub(crate) fn circles(&self) -> BTreeSet<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.files().map(|file| (file, self.reached(file))).collect();
        let leads = |from: &str, to: &str| reached.get(from).is_some_and(|reached| reached.contains(to));
        let around = self.files().filter(|file| leads(file, file));
        around
            .map(|file| self.files().filter(|other| leads(file, other) && leads(other, file)).collect())
            .collect()
    }
}

impl Modules {
    fn read(&mut self, folder: &Path, file: &str, path: Vec<String>) {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let source = source::read(&text);
        self.macros.extend(source.macros.into_iter().map(|name| (name, file.to_owned())));
        self.by_path.insert(path.clone(), Module { file: file.to_owned(), imports: Vec::new() });
        for declared in &source.modules {
            let full: Vec<String> = path.iter().chain(&declared.path).cloned().collect();
            if declared.inline {
                let own = format!("{file}::{}", declared.path.join("::"));
                let file = if path.is_empty() { own } else { file.to_owned() };
                self.by_path.insert(full, Module { file, imports: Vec::new() });
                continue;
            }
            let name = full.join("/");
            let candidates = [format!("{name}.rs"), format!("{name}/mod.rs")];
            let child = candidates.iter().find(|candidate| folder.join(candidate).is_file());
            let Some(child) = child else { panic!("{file} declares `{name}`, which has no file") };
            self.read(folder, child, full);
        }
        for import in source.imports {
            let own: Vec<String> = path.iter().chain(&import.within).cloned().collect();
            if let Some(module) = self.by_path.get_mut(&own) {
                module.imports.push(import);
            }
        }
    }

    /// The segments from the root; `None` for a path of another crate.
    fn absolute(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut base = match path.first()?.as_str() {
            "crate" => Vec::new(),
            "super" | "self" => from.to_vec(),
            first => {
                let child: Vec<String> = from.iter().cloned().chain([first.to_owned()]).collect();
                return self.by_path.contains_key(&child).then(|| from.iter().chain(path).cloned().collect());
            }
        };
        for segment in path {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => drop(base.pop()),
                _ => base.push(segment.clone()),
            }
        }
        Some(base)
    }

    /// Notes the file that has the item of a path, and those that re-export it on the way there.
    fn resolve(&self, path: &[String], edges: &mut BTreeSet<String>, depth: usize) {
        if let [name] = path
            && let Some(file) = self.macros.get(name)
        {
            edges.insert(file.clone());
            return;
        }
        let length =
            (0..=path.len()).rev().find(|length| self.by_path.contains_key(&path[..*length])).unwrap_or(0);
        let (module_path, item) = path.split_at(length);
        let Some(module) = self.by_path.get(module_path) else { return };
        edges.insert(module.file.clone());
        let Some(name) = item.first().filter(|_| depth < MOST_REEXPORTS) else { return };
        for import in module.imports.iter().filter(|import| import.name.as_ref() == Some(name)) {
            if let Some(mut target) = self.absolute(module_path, &import.path) {
                target.extend_from_slice(&item[1..]);
                self.resolve(&target, edges, depth + 1);
            }
        }
    }
}
