//! What the compiler refuses, one rule a file.
//!
//! In: what a stage found. Out: the [`Diagnostic`](crate::diagnostic::Diagnostic) that says it, with its stable code.
//! A rule that can be judged on its own has its judge here, too; one that falls out of building the machine is
//! reported from there in words from here.

pub mod alternatives;
pub mod announcements;
pub mod channels;
pub mod choices;
pub mod declarations;
pub mod exchanges;
pub mod gates;
pub mod names;
pub mod only;
pub mod other_side;
pub mod pages;
pub mod recursion;
pub mod refusals;
pub mod replies;
pub mod size;
pub mod typed_api;
pub mod unused;
