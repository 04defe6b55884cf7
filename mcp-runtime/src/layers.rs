//! Holds which module of this crate may import which.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules at the root, each of which imports only from itself and from those before it.
const LAYERS: [&str; 15] = [
    "epoch",
    "clock",
    "budget",
    "panics",
    "jsonrpc",
    "revisions",
    "error",
    "report",
    "options",
    "driver",
    "session",
    "typed",
    "checked",
    "transport",
    "fuzzing",
];

/// What still goes the other way: the file, and the module that it imports from.
const UPWARDS: [(&str, &str); 3] =
    [("error.rs", "transport"), ("error/step.rs", "checked"), ("typed/session.rs", "checked")];

/// The folders whose files import from each other by the file, and not through the folder's own module. To do: `error`,
/// `options` and `transport`.
const BY_FILE: [&str; 5] = ["checked/", "driver/", "jsonrpc/", "session/", "typed/"];

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

/// The identifiers that stand behind a prefix, each with the place behind it.
fn behind<'c>(code: &'c str, prefix: &'c str) -> impl Iterator<Item = &'c str> {
    code.match_indices(prefix).map(move |(place, _)| {
        let rest = &code[place + prefix.len()..];
        let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
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

#[test]
fn no_module_imports_from_a_later_one_or_through_its_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut paths, mut wrong, mut upwards) = (Vec::new(), Vec::new(), Vec::new());
    files(&root, &mut paths);
    let rank = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let code = code(&path);
        let own = rank(name.split(['/', '.']).next().unwrap_or_default());
        for module in behind(&code, "crate::") {
            if let (Some(own), Some(imported)) = (own, rank(module))
                && imported > own
            {
                upwards.push((name.clone(), module.to_owned()));
            }
        }
        if BY_FILE.iter().any(|folder| name.starts_with(folder)) && !name.ends_with("/mod.rs") {
            wrong.extend(items_of_parent(&code).into_iter().map(|item| format!("{name}: super::{item}")));
        }
    }
    upwards.sort();
    upwards.dedup();
    let known: Vec<_> = UPWARDS.iter().map(|(file, module)| (file.to_string(), module.to_string())).collect();
    assert_eq!(upwards, known, "the file imports from a module that stands above it");
    assert_eq!(wrong, [""; 0], "import from the file that defines the item");
}

#[test]
fn every_module_at_the_root_has_a_layer() {
    let lib = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    let modules = behind(&lib, "mod ").filter(|module| *module != "layers");
    assert_eq!(modules.filter(|module| !LAYERS.contains(module)).collect::<Vec<_>>(), [""; 0]);
}
