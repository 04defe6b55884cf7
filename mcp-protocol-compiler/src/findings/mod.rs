//! What the stages find, in words: one file for each family of rules, with its stable codes.
//!
//! Each function makes the [`Diagnostic`](crate::diagnostic::Diagnostic) of a finding. The stages and `checks` decide
//! what is a finding.

pub mod channels;
pub mod choices;
pub mod declarations;
pub mod defaults;
pub mod during;
pub mod exchanges;
pub mod imports;
pub mod members;
pub mod only;
mod phrases;
pub mod recursion;
pub mod refusals;
pub mod replies;
pub mod shapes;
pub mod size;

pub use phrases::list;
pub(crate) use phrases::{NAMED, dotted, listed};
