//! Which sides send each message of a file.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex, Side};

use crate::automaton::Automaton;
use crate::declarations::Declarations;

/// No side.
static NONE: BTreeSet<Side> = BTreeSet::new();

/// For each message of a file the sides that send it, by the roles that the file has.
///
/// Invariant: there is one set for each message of the declarations, in their order. The sets are made once, because
/// the comparison asks for them at each pair of messages.
pub(super) struct Senders {
    sets: Vec<BTreeSet<Side>>,
}

impl Senders {
    pub(super) fn new<'a>(
        declarations: &Declarations,
        roles: impl IntoIterator<Item = &'a Automaton>,
    ) -> Senders {
        let mut senders = Senders { sets: declarations.indices().map(|_| BTreeSet::new()).collect() };
        for role in roles {
            for edge in role.states.iter().flat_map(|state| &state.edges) {
                let is_own = edge.direction == Direction::Send;
                let sender = if is_own { role.side } else { role.side.other() };
                if let Some(set) = senders.sets.get_mut(usize::from(edge.message.0)) {
                    set.insert(sender);
                }
            }
        }
        senders.add_what_belongs_to_requests(declarations);
        senders
    }

    /// A cancel or a report of progress belongs to a request, and may stand in no session type.
    fn add_what_belongs_to_requests(&mut self, declarations: &Declarations) {
        let (mut of_requests, mut of_cancellable) = (BTreeSet::new(), BTreeSet::new());
        for (index, set) in declarations.indices().zip(&self.sets) {
            let message = declarations.message(index).map(|message| &message.table);
            let Some(request) = message.filter(|message| message.kind == Kind::Request) else { continue };
            of_requests.extend(set);
            if request.cancellable {
                of_cancellable.extend(set);
            }
        }
        for (index, set) in declarations.indices().zip(&mut self.sets) {
            let Some(message) = declarations.message(index).map(|message| &message.table) else { continue };
            // Progress goes to the sender of the request, a cancel comes from it.
            if message.cancels.is_some() {
                set.extend(&of_cancellable);
            } else if message.reports.is_some() {
                set.extend(of_requests.iter().map(|side: &Side| side.other()));
            }
        }
    }

    /// The sides that send a message.
    pub(super) fn of(&self, index: MessageIndex) -> &BTreeSet<Side> {
        self.sets.get(usize::from(index.0)).unwrap_or(&NONE)
    }
}
