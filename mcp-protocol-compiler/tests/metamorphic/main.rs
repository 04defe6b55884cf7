//! One behaviour, written in several ways, gets one verdict and one machine, and a session gets one judgement.
//!
//! A text is changed in ways that keep its meaning: a recursion is unfolded, branches, channels and definitions are
//! reordered, an implied refusal is written out, a part becomes a definition, a definition is put where its name
//! stood, definitions stand in a file that is imported, messages are called otherwise, dual roles exchange their sides,
//! two channels are written as one, a session is put into a sub-session, messages become the members of a group, a
//! payload is written as a shape. Then the compiler must find the same errors,
//! the machines must behave alike with as many states, and the checker must say the same of every message of random
//! sessions, with and without a mistake in them. `cases` has pairs by hand; `texts` has where the random texts come from, the generators of the two
//! oracles among them; `transforms` changes texts by the tools of `tree`; `behaviour` compares.
//!
//! A failing case prints its seed, the change, and both texts. `METAMORPHIC_SEED` and `METAMORPHIC_CASES` choose the
//! cases. A long run is `METAMORPHIC_CASES=20000 cargo test --release -p mcp-protocol-compiler --test metamorphic --
//! --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests say what they expect by panicking"
)]

mod behaviour;
mod cases;
mod channel;
mod groups;
mod in_a_sub_session;
mod payloads;
mod placed;
mod run;
#[path = "../support/shipped.rs"]
mod session_files;
mod side_by_side;
mod texts;
mod transforms;
mod tree;

// What the checker's oracle has: its texts, and the programs whose sessions are judged.
#[path = "../checker/during.rs"]
#[allow(dead_code, reason = "the oracle uses the rest")]
mod during;
#[path = "../checker/event.rs"]
#[allow(dead_code, reason = "the oracle uses the rest")]
mod event;
#[path = "../checker/granted.rs"]
#[allow(dead_code, reason = "the oracle uses the rest")]
mod granted;
#[path = "../checker/mistakes.rs"]
#[allow(dead_code, reason = "the oracle uses the rest")]
mod mistakes;
#[path = "../checker/parties/mod.rs"]
mod parties;
#[path = "../checker/protocols/mod.rs"]
#[allow(dead_code, reason = "the oracle uses the rest")]
mod protocols;
#[path = "../checker/random.rs"]
mod random;
#[path = "../checker/reading/mod.rs"]
#[allow(dead_code, reason = "the oracle uses the rest")]
mod reading;

// What the relations' oracle has: random automata.
mod automaton {
    pub(crate) use mcp_protocol_compiler::automaton::{Automaton, Edge, State};
}
mod declarations {
    pub(crate) use mcp_protocol_compiler::declarations::{Message, PayloadType};
}
mod source {
    pub(crate) use mcp_protocol_compiler::source::{FileId, Span};
}
mod relation {
    pub(crate) mod tests {
        pub(crate) mod graphs;
        #[path = "../../../../src/relation/tests/notation.rs"]
        #[allow(dead_code, reason = "the oracle uses the rest")]
        mod notation;
        #[path = "../../../../src/relation/tests/random/mod.rs"]
        #[allow(dead_code, unused_imports, reason = "the oracle uses the rest")]
        mod random;
    }
}
