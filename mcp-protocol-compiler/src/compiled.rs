//! What compiling gives where nothing is wrong.

use crate::automaton::Automaton;
use crate::declarations::Declarations;

/// A protocol without errors: its machines, one for each role. [`crate::generate`] and [`crate::diagram`] read it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// Messages, gates, announcements.
    #[doc(hidden)]
    pub declarations: Declarations,
    /// The machine of the role declared with `client`.
    #[doc(hidden)]
    pub client: Option<Automaton>,
    /// The machine of the role declared with `server`.
    #[doc(hidden)]
    pub server: Option<Automaton>,
}
