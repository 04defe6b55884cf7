//! Holds which module of a crate may import which. A test of each crate says the order, and calls [`Layers::check`].

use std::fs;
use std::path::{Path, PathBuf};

/// The order of a crate's modules.
pub struct Layers {
    /// The crate's folder, `env!("CARGO_MANIFEST_DIR")`.
    pub folder: &'static str,
    /// The modules at the root, each of which imports only from itself and from those before it.
    pub order: &'static [&'static str],
    /// What still goes the other way: the file, and the module that it imports from.
    pub upwards: &'static [(&'static str, &'static str)],
    /// The folders whose files import from each other by the file, and not through the folder's own module.
    pub by_file: &'static [&'static str],
}

impl Layers {
    /// Checks that no module imports from a later one or through its folder, and that each has a place in the order.
    ///
    /// # Panics
    /// If one does, or has none.
    pub fn check(&self) {
        let root = Path::new(self.folder).join("src");
        let (mut paths, mut through, mut upwards) = (Vec::new(), Vec::new(), Vec::new());
        files(&root, &mut paths);
        let rank = |module: &str| self.order.iter().position(|layer| *layer == module);
        for path in paths {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let code = code(&path);
            let own = rank(name.split(['/', '.']).next().unwrap_or_default());
            for module in imported(&code) {
                if let (Some(own), Some(imported)) = (own, rank(module))
                    && imported > own
                {
                    upwards.push((name.clone(), module.to_owned()));
                }
            }
            if self.by_file.iter().any(|folder| name.starts_with(folder)) && !name.ends_with("/mod.rs") {
                through
                    .extend(items_of_parent(&code).into_iter().map(|item| format!("{name}: super::{item}")));
            }
        }
        upwards.sort();
        upwards.dedup();
        let known = self.upwards.iter().map(|(file, module)| (file.to_string(), module.to_string()));
        assert_eq!(upwards, known.collect::<Vec<_>>(), "the file imports from a module that stands above it");
        assert_eq!(through, [""; 0], "import from the file that defines the item");
        let lib = code(&root.join("lib.rs"));
        let without = behind(&lib, "mod ").map(identifier).filter(|module| rank(module).is_none());
        assert_eq!(
            without.filter(|module| *module != "layers").collect::<Vec<_>>(),
            [""; 0],
            "no layer has this module"
        );
    }
}

/// All source files but tests, with their paths below `src`.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            into.push(path);
        }
    }
}

/// The code of a file, without comments and without its unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What stands behind each of a prefix.
fn behind<'c>(code: &'c str, prefix: &'c str) -> impl Iterator<Item = &'c str> {
    code.match_indices(prefix).map(move |(place, _)| &code[place + prefix.len()..])
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The modules that are imported, or named by their path: `crate::a::B`, `use crate::{a, b::C}`.
fn imported(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for path in behind(code, "crate::") {
        let Some(list) = path.strip_prefix('{') else {
            found.push(identifier(path));
            continue;
        };
        let mut depth = 0;
        for (place, character) in list.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                _ if depth == 0 && list[..place].trim_end().ends_with([',', '{']) || place == 0 => {
                    found.push(identifier(&list[place..]));
                }
                _ => {}
            }
        }
    }
    found
}

/// What is imported by name from the parent module: an item, not a file.
fn items_of_parent(code: &str) -> Vec<String> {
    // An import in a module within the file is indented; its parent is the file.
    let imports = code.split("\nuse super::").skip(1).filter_map(|import| import.split(';').next());
    let names = imports.flat_map(|import| match import.strip_prefix('{') {
        Some(list) => list.trim_end_matches('}').split(',').collect::<Vec<_>>(),
        None => vec![import],
    });
    let firsts = names.map(|name| name.trim().split("::").next().unwrap_or_default().to_owned());
    firsts.filter(|name| name.starts_with(char::is_uppercase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_in_paths_and_in_lists() {
        let code = "use crate::a::B;\nuse crate::{c, d::{E, F}, g::h};\nlet x = crate::i::j();";
        let mut found = imported(code);
        found.retain(|name| !name.is_empty());
        assert_eq!(found, ["a", "c", "d", "g", "i"]);
    }

    #[test]
    fn items_are_distinguished_from_files() {
        assert_eq!(items_of_parent("\nuse super::{A, b::C};\nuse super::D;"), ["A", "D"]);
    }
}
