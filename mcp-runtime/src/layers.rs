//! Holds which module of this crate may import which.

/// Each module imports only from itself and from those before it.
const LAYERS: layers::Layers = layers::Layers {
    folder: env!("CARGO_MANIFEST_DIR"),
    order: &[
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
        "engine",
        // What the macros of `typed` call themselves in other crates.
        "__private",
        "typed",
        "checked",
        "step_error",
        "transport",
        "call",
        "session",
        "protocol",
        "fuzzing",
    ],
    upwards: &[],
    by_file: &["checked/", "driver/", "engine/", "error/", "jsonrpc/", "options/", "transport/", "typed/"],
};

#[test]
fn no_module_imports_from_a_later_one_or_through_its_folder() {
    LAYERS.check();
}

#[test]
fn the_root_has_only_names_of_public_modules() {
    let modules = ["call", "driver", "error", "options", "protocol", "session"];
    let root = include_str!("lib.rs").lines().filter_map(|line| line.strip_prefix("pub use "));
    let others = root.filter(|path| !modules.iter().any(|module| path.starts_with(&format!("{module}::"))));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0], "re-export it from a public module, too");
}
