//! Holds which module of this crate may import which.

/// The pipeline, and what it stands on. Each module imports only from itself and from those before it.
const LAYERS: layers::Layers = layers::Layers {
    folder: env!("CARGO_MANIFEST_DIR"),
    order: &[
        "hash",
        "lists",
        "reach",
        "source",
        "ast",
        "diagnostic",
        "suggest",
        "lexer",
        "format",
        "declarations",
        "findings",
        "parser",
        "formatted",
        "resolve",
        "dual",
        "automaton",
        "relation",
        "plan",
        "compiled",
        "checks",
        "generate",
        "diagram",
        "peer_hint",
        "edits",
        "tried",
        "consequences",
        "compile",
        "explain",
    ],
    upwards: &[],
    by_file: &["relation/"],
};

#[test]
fn no_module_imports_from_a_later_one() {
    LAYERS.check();
}
