//! Holds which module of this crate may import which.

/// Each module imports only from itself and from those before it.
const LAYERS: layers::Layers = layers::Layers {
    folder: env!("CARGO_MANIFEST_DIR"),
    order: &[
        "excerpt",
        "hash",
        "protocol",
        "id",
        "capability",
        "condition",
        "fence",
        "history",
        "endings",
        "exchange",
        "trail",
        "sub_sessions",
        "lookup",
        "tables",
        "revision",
        "violation",
        "checker",
    ],
    upwards: &[],
    by_file: &[],
};

#[test]
fn no_module_imports_from_a_later_one() {
    LAYERS.check();
}
