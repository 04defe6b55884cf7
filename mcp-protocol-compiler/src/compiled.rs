//! What compiling gives where nothing is wrong.

use crate::automaton::Automaton;
use crate::declarations::Declarations;

/// A protocol without errors.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Messages, gates, announcements.
    pub declarations: Declarations,
    /// The machine of the role declared with `client`.
    pub client: Option<Automaton>,
    /// The machine of the role declared with `server`.
    pub server: Option<Automaton>,
}
