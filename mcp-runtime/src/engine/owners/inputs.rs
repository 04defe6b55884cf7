//! Linear inputs: what the values of the linear channels and of sub-sessions take.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{RequestId, Token};

use super::replicated::Arrived;
use super::wakers::Waiting;
use crate::budget::Permit;
use crate::driver::Extension;
use crate::error::Error;
use crate::jsonrpc::RpcError;

/// A linear input.
#[derive(Debug)]
pub(crate) struct LinearInput {
    pub(crate) message: MessageIndex,
    /// The id, if it is a request.
    pub(crate) id: Option<RequestId>,
    /// The id of the request of this side that it answers, if it answers one.
    pub(crate) answers: Option<i64>,
    pub(crate) body: Body,
    /// What it announces, if the program cannot work with it.
    pub(crate) negotiation: Option<Box<Error>>,
    /// What it holds of the budgets for input, until it is taken.
    pub(crate) permit: Permit,
    /// The number of the message.
    pub(crate) came: u64,
    /// What a handler gets to know of it in addition, if it goes to one after all.
    pub(crate) background: Background,
}

/// What a message carries that only handlers use.
#[derive(Debug, Default)]
pub(crate) struct Background {
    /// The token that reports about it carry.
    pub(crate) token: Option<Token>,
    /// What the transport knows of it.
    pub(crate) extension: Option<Arc<dyn Extension>>,
}

impl LinearInput {
    /// What came for a linear channel. With it goes what it announces, if the program cannot work with that.
    pub(crate) fn of(arrived: Arrived, negotiation: Option<Box<Error>>) -> LinearInput {
        let Arrived { message, id, token, payload, permit, extension, came, .. } = arrived;
        let (body, background) = (Body::Payload(payload), Background { token, extension });
        LinearInput { message, id, answers: None, body, negotiation, permit, came, background }
    }

    /// The reply to a request of this side, where a value takes it.
    pub(crate) fn reply(
        message: MessageIndex,
        request: &RequestId,
        body: Body,
        negotiation: Option<Box<Error>>,
        came: u64,
    ) -> LinearInput {
        let answers = match request {
            RequestId::Number(number) => Some(*number),
            RequestId::Text(_) => None,
        };
        let (permit, background) = (Permit::default(), Background::default());
        LinearInput { message, id: None, answers, body, negotiation, permit, came, background }
    }

    /// What came on a replicated channel of a sub-session.
    pub(crate) fn within(mut arrived: Arrived) -> LinearInput {
        let (message, id, came) = (arrived.message, arrived.id.clone(), arrived.came);
        let permit = std::mem::take(&mut arrived.permit);
        let body = Body::Exchange(Box::new(arrived));
        let background = Background::default();
        LinearInput { message, id, answers: None, body, negotiation: None, permit, came, background }
    }

    /// What a value takes: a notification of a replicated channel that opens nothing is like a step that leads back.
    pub(crate) fn taken(self) -> LinearInput {
        match self.body {
            Body::Exchange(arrived) if !arrived.is_asked() => {
                LinearInput::of(Arrived { permit: self.permit, ..*arrived }, None)
            }
            body => LinearInput { body, ..self },
        }
    }

    /// How many bytes its payload has.
    pub(crate) fn length(&self) -> usize {
        match &self.body {
            Body::Payload(payload) => payload.as_ref().map_or(0, |payload| payload.len()),
            Body::Refusal(error) => error.message.len(),
            Body::Rejected(_) => 0,
            Body::Exchange(arrived) => arrived.payload.as_ref().map_or(0, |payload| payload.len()),
        }
    }
}

/// What a linear input carries.
#[derive(Debug)]
pub(crate) enum Body {
    Payload(Option<Box<str>>),
    Refusal(RpcError),
    /// The reply that came cannot be accepted. Whatever it says, the state behind it is the same, or the session is
    /// over.
    Rejected(Error),
    /// Came on a replicated channel of the sub-session, which a `*` in its body has opened.
    Exchange(Box<Arrived>),
}

/// The body of a reply.
impl From<Result<&str, RpcError>> for Body {
    fn from(outcome: Result<&str, RpcError>) -> Body {
        match outcome {
            Ok(result) => Body::Payload(Some(result.into())),
            Err(error) => Body::Refusal(error),
        }
    }
}

/// What a session value does with a linear input that waits.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Takes it.
    Take,
    /// Leaves it for later, or for another value, and looks further.
    Skip,
    /// Can neither take it nor anything behind it.
    Stop(Error),
}

/// The inputs that a value has not taken, in the order in which they came, and the tasks that wait for one.
#[derive(Debug, Default)]
pub(crate) struct InputQueue {
    inputs: VecDeque<LinearInput>,
    waiting: Waiting,
}

/// An input that a value wants, or cannot pass over.
pub(crate) struct WantedInput {
    pub(crate) place: usize,
    /// The number of its message.
    pub(crate) came: u64,
    pub(crate) verdict: Verdict,
}

impl InputQueue {
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &LinearInput> {
        self.inputs.iter()
    }

    /// Adds an input in its place: what comes back from an attendant may be older than what waits here.
    pub(crate) fn push(&mut self, input: LinearInput) {
        // Most sessions have one at a time, and the queue would begin with four places.
        if self.inputs.capacity() == 0 {
            self.inputs.reserve_exact(1);
        }
        let place = self.inputs.partition_point(|waiting| waiting.came <= input.came);
        self.inputs.insert(place, input);
    }

    pub(crate) fn take(&mut self, place: usize) -> Option<LinearInput> {
        self.inputs.remove(place)
    }

    /// Takes the reply to a request of this side.
    pub(crate) fn take_reply(&mut self, request: i64) -> Option<LinearInput> {
        let place = self.inputs.iter().position(|input| input.answers == Some(request))?;
        self.take(place)
    }

    /// Takes what came on replicated channels.
    pub(crate) fn take_exchanges(&mut self) -> VecDeque<LinearInput> {
        let is_exchange = |input: &LinearInput| matches!(input.body, Body::Exchange(_));
        let (taken, kept) = std::mem::take(&mut self.inputs).into_iter().partition(is_exchange);
        self.inputs = kept;
        taken
    }

    /// Drops what does not meet a condition. Returns how many inputs that were.
    pub(crate) fn retain(&mut self, kept: impl Fn(&LinearInput) -> bool) -> usize {
        let before = self.inputs.len();
        self.inputs.retain(kept);
        before - self.inputs.len()
    }

    pub(crate) fn clear(&mut self) {
        self.inputs.clear();
    }

    pub(crate) fn into_inputs(self) -> VecDeque<LinearInput> {
        self.inputs
    }

    /// The first input that a value does not skip.
    pub(crate) fn wanted(&self, mut judge: impl FnMut(&LinearInput) -> Verdict) -> Option<WantedInput> {
        let judged = self.inputs.iter().enumerate();
        let mut judged = judged.map(|(place, input)| (place, input.came, judge(input)));
        let (place, came, verdict) = judged.find(|(.., verdict)| !matches!(verdict, Verdict::Skip))?;
        Some(WantedInput { place, came, verdict })
    }

    /// The tasks that wait for an input.
    pub(crate) fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(message: u16, answers: Option<i64>) -> LinearInput {
        LinearInput {
            message: MessageIndex(message),
            id: None,
            answers,
            body: Body::Payload(None),
            negotiation: None,
            permit: Permit::default(),
            came: u64::from(message),
            background: Background::default(),
        }
    }

    #[test]
    fn a_value_takes_what_it_wants_and_leaves_the_rest_in_order() {
        let mut queue = InputQueue::default();
        for message in 0..4 {
            queue.push(input(message, (message == 2).then_some(7)));
        }
        let second = |input: &LinearInput| match input.message {
            MessageIndex(1) => Verdict::Take,
            _ => Verdict::Skip,
        };
        assert!(matches!(
            queue.wanted(second),
            Some(WantedInput { place: 1, came: 1, verdict: Verdict::Take })
        ));
        assert!(queue.take(1).is_some_and(|taken| taken.message == MessageIndex(1)));
        assert!(queue.take_reply(8).is_none());
        assert!(queue.take_reply(7).is_some_and(|taken| taken.message == MessageIndex(2)));
        assert_eq!(queue.iter().map(|input| input.message.0).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(queue.retain(|input| input.message.0 > 0), 1);
        assert!(queue.wanted(|_| Verdict::Skip).is_none());
        assert_eq!(queue.into_inputs().len(), 1);
    }
}
