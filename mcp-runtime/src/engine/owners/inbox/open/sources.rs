//! Which of several sources has the first message.

use std::task::{Context, Poll};

use mcp_protocol_machine::SubSessionNumber;

use super::OpenInbox;
use crate::engine::owners::context::Caller;
use crate::engine::owners::inputs::{LinearInput, Verdict};
use crate::engine::owners::order::Held;
use crate::engine::owners::replicated::Scope;
use crate::engine::owners::wakers::Waiter;

/// Says what a value does with an input that waits.
type Judge<'s> = Box<dyn Fn(&LinearInput) -> Verdict + Send + Sync + 's>;

/// What a program takes messages of the peer from.
pub(crate) enum Source<'s> {
    /// The value of a linear channel, or that of a sub-session or of one of its channels.
    Value(Option<SubSessionNumber>, Judge<'s>),
    /// The replicated inputs of a scope.
    Incoming(Scope),
}

/// What can be taken from a source. What is there goes before the end, and the earlier message before the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Takeable {
    /// The message with this number.
    Message(u64),
    /// Nothing, now or later.
    Over,
}

impl OpenInbox<'_> {
    /// Waits until one of several sources has something to take, or will have nothing. Gives the place of the one whose
    /// message came first. Takes nothing.
    pub(crate) fn poll_readable(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        sources: &[Source<'_>],
    ) -> Poll<usize> {
        let readable = sources.iter().enumerate();
        let readable = readable.filter_map(|(place, source)| Some((self.readable(source)?, place, source)));
        let first = readable.min_by_key(|(readable, place, _)| (*readable, *place));
        if let Some((readable, place, source)) = first
            && self.is_free(context, waiter, readable, source)
        {
            return Poll::Ready(place);
        }
        for source in sources {
            match source {
                Source::Value(sub_session, _) => {
                    self.inbox.values.register(*sub_session, context, waiter, self.effects);
                }
                Source::Incoming(scope) => self.register_incoming(context, waiter, *scope),
            }
        }
        Poll::Pending
    }

    /// Whether what can be taken may reach the program now.
    fn is_free(
        &mut self,
        context: &Context<'_>,
        waiter: &mut Waiter,
        readable: Takeable,
        source: &Source<'_>,
    ) -> bool {
        match (readable, source) {
            (Takeable::Message(came), Source::Value(sub_session, _)) => {
                self.held_back_for(context, &mut waiter.turns, Some((came, Held::of_value(*sub_session))))
            }
            // Nothing is held back for those that take replicated inputs, or for the end.
            (_, Source::Incoming(_)) | (Takeable::Over, _) => true,
        }
    }

    fn readable(&self, source: &Source<'_>) -> Option<Takeable> {
        let (message, is_over) = match source {
            Source::Value(sub_session, judge) => {
                let wanted = self.inbox.values.inputs(*sub_session).and_then(|queue| queue.wanted(judge));
                (wanted.map(|wanted| wanted.came), self.inputs_ended(Caller::ANY, *sub_session).is_some())
            }
            Source::Incoming(scope) => (self.inbox.dispatch.first(*scope), self.incoming_ended(*scope)),
        };
        message.map(Takeable::Message).or(is_over.then_some(Takeable::Over))
    }
}
