//! Compiles session types for two-party JSON-RPC protocols.
//!
//! The pipeline, one module for each stage: text ([`source`]) → tokens (`lexer`) → tree ([`ast`], `parser`) → declarations
//! ([`resolve`]) → machine ([`automaton`], `checks`, `relation`) → code (`generate`, `diagram`).
#![warn(missing_docs)]

pub mod ast;
pub mod automaton;
pub mod checks;
mod compile;
mod compiled;
mod consequences;
pub mod declarations;
pub mod diagnostic;
pub mod diagram;
pub mod dual;
mod edits;
pub mod explain;
pub mod findings;
pub mod format;
pub mod generate;
mod hash;
#[cfg(test)]
mod layers;
pub mod lexer;
mod lists;
pub mod parser;
mod peer_hint;
mod reach;
pub mod relation;
pub mod resolve;
pub mod source;
pub mod suggest;
mod tried;

pub use compile::{Compilation, Settings, compile, compile_with};
pub use compiled::Compiled;
pub use generate::stubs::Outline;
