//! A role's state machine, drawn: Mermaid, Graphviz, or a picture of its own.
//!
//! In: an automaton and the messages. Out: text. Refuses to leave anything out but what would only repeat: what may
//! happen in a state and leaves it what it was (replicated channels, loops) is a list in the state's box, so that a
//! state with twenty of them stays readable.
//!
//! Every notation is written from one `picture`, equal for equal automata to the byte.

mod dot;
mod layout;
mod mermaid;
mod order;
mod picture;
mod svg;

#[cfg(test)]
mod tests;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
