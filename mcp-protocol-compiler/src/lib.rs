//! Compiles session types for two-party JSON-RPC protocols.
//!
//! [`compile`] reads a `.session` file and what it imports, and checks it. From a protocol without errors [`generate`]
//! makes Rust code and tables, and [`diagram`] draws it. [`diagnostic`] prints what was found, [`explain`] has a page for
//! each code, [`format`](format()) lays a file out, and [`dual`] writes a session type from the other side. [`symbols`]
//! says where names are declared and used.

pub mod compat;
pub mod diagnostic;
pub mod diagram;
pub mod dual;
pub mod explain;
pub mod generate;
pub mod source;
pub mod symbols;

mod compile;
mod compiled;
mod components;
mod consequences;
mod edits;
mod forgotten;
mod formatted;
mod hash;
mod lists;
mod peer_hint;
mod plan;
mod reach;
mod tried;

// For the tests and benchmarks of this project alone: they look at the stages. Nothing here is promised.
#[doc(hidden)]
pub mod ast;
#[doc(hidden)]
pub mod automaton;
#[doc(hidden)]
pub mod checks;
#[doc(hidden)]
pub mod declarations;
#[doc(hidden)]
pub mod findings;
#[doc(hidden)]
pub mod format;
#[doc(hidden)]
pub mod lexer;
#[doc(hidden)]
pub mod parser;
#[doc(hidden)]
pub mod relation;
#[doc(hidden)]
pub mod resolve;
#[doc(hidden)]
pub mod suggest;

pub use compile::{Compilation, Settings, compile, compile_among, compile_with};
pub use compiled::Compiled;
pub use formatted::{Formatted, format};
