//! The requests to which a server says nothing at the beginning of a session.

use std::collections::BTreeMap;
use std::sync::Mutex;

use mcp_protocol_machine::protocol::{MessageIndex, Protocol, Side};

use super::target::Target;
use super::trial::{Missed, Scouted};
use super::walk::request_of;

/// What has become of the first request of sessions, so that not each session waits for an answer that has not come
/// in another one.
#[derive(Debug, Default)]
pub(crate) struct FirstRequests(Mutex<BTreeMap<MessageIndex, Standing>>);

#[derive(Debug)]
enum Standing {
    /// The server has answered the request in a session.
    Answered,
    /// It has not, in those that are over.
    Unanswered(Missed),
}

impl FirstRequests {
    /// Why a state is not reached, if the server does not answer the first request on the way there.
    pub(crate) fn missed(&self, protocol: &Protocol, target: &Target) -> Option<Missed> {
        match self.0.lock().ok()?.get(&first_request(protocol, target)?)? {
            Standing::Answered => None,
            Standing::Unanswered(missed) => Some(missed.clone()),
        }
    }

    /// Takes how a session went that was to come to a state.
    pub(crate) fn note(&self, protocol: &Protocol, target: &Target, scouted: &Scouted) {
        let Some(first) = first_request(protocol, target) else { return };
        let Ok(mut known) = self.0.lock() else { return };
        match &scouted.permitted {
            Err(missed) if missed.unanswered == Some(first) => {
                // The same request later on the way may be the one that has no answer.
                if answers(protocol, target).filter(|answered| *answered == first).count() == 1 {
                    known.entry(first).or_insert_with(|| Standing::Unanswered(missed.clone()));
                }
            }
            _ => _ = known.insert(first, Standing::Answered),
        }
    }
}

/// The request whose reply is the first message of the server on the way to a state.
fn first_request(protocol: &Protocol, target: &Target) -> Option<MessageIndex> {
    answers(protocol, target).next()
}

/// The requests that the server answers on the way to a state, in order.
fn answers(protocol: &Protocol, target: &Target) -> impl Iterator<Item = MessageIndex> {
    let said = target.moves.iter().filter(|step| step.sender == Side::Server);
    said.map(|step| request_of(protocol, step.message))
}
