//! Catches panics of the program's callbacks and handlers.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code of the program; if that panics, returns the text of the panic. What the code shares with others is its own
/// to keep whole.
pub(crate) fn contained<T>(call: impl FnOnce() -> T) -> Result<T, Option<String>> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| text(&*panic))
}

/// Returns the text of a panic.
pub(crate) fn text(panic: &(dyn Any + Send)) -> Option<String> {
    let fixed = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    fixed.or_else(|| panic.downcast_ref::<String>().cloned())
}
