//! Diagnostics: what is wrong, where, and what to type instead.
//!
//! Every stage makes [`Diagnostic`] values. The macro and the command line share their one rendering.

mod change;
mod edit;
pub(crate) mod encoding;
mod finding;
pub mod json;
pub(crate) mod limit;
pub mod render;
pub(crate) mod repeats;
mod suggestion;

pub(crate) use change::TextChange;
pub use edit::Edit;
pub use finding::{Code, Diagnostic, Label, Severity, has_errors, shorten};
pub use suggestion::Suggestion;
