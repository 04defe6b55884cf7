//! Compiles session types for two-party JSON-RPC protocols.
//!
//! The pipeline, one module a stage: text ([`source`]) → tokens (`lexer`) → tree ([`ast`], `parser`) → declarations
//! ([`resolve`]) → machine ([`automaton`], `checks`, `relation`) → code (`generate`, `diagram`).
#![warn(missing_docs)]

pub mod ast;
pub mod automaton;
pub mod diagnostic;
pub mod resolve;
pub mod source;
