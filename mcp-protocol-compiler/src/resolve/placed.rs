//! Items in their files.

use crate::ast::{Item, RustPath};

/// An item with what its file says about it.
pub(super) struct Placed<'a> {
    pub(super) item: &'a Item,
    /// The `types` of the item's own file.
    pub(super) types: Option<&'a RustPath>,
    pub(super) imported: bool,
    /// What this item overrides, the latest last.
    pub(super) earlier: Vec<&'a Item>,
}
