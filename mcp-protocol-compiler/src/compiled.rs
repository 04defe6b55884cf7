//! What compiling gives where nothing is wrong.

use std::sync::Arc;

use crate::automaton::Automaton;
use crate::declarations::Declarations;
use crate::plan::Plan;

/// A protocol without errors: its machines, one for each role. [`crate::generate`] and [`crate::diagram`] read it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// Messages, gates, announcements.
    #[doc(hidden)]
    pub declarations: Arc<Declarations>,
    /// The machine of the role declared with `client`.
    #[doc(hidden)]
    pub client: Option<Arc<Automaton>>,
    /// The machine of the role declared with `server`.
    #[doc(hidden)]
    pub server: Option<Arc<Automaton>>,
    /// The types and methods: the name check judges them, the generator writes them.
    pub(crate) plan: Arc<Plan>,
}

impl Compiled {
    pub(crate) fn new(
        declarations: Declarations,
        client: Option<Automaton>,
        server: Option<Automaton>,
    ) -> Compiled {
        let (declarations, client, server) =
            (Arc::new(declarations), client.map(Arc::new), server.map(Arc::new));
        let automata: Vec<_> = client.iter().chain(&server).collect();
        let plan = Arc::new(Plan::new(&declarations, &automata));
        Compiled { declarations, client, server, plan }
    }
}
