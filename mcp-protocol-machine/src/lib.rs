//! The state machine of a two-party JSON-RPC protocol as data, and the checker that runs it.
#![warn(missing_docs)]

pub mod protocol;
