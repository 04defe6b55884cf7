//! The requests that may take several rounds.

use std::collections::BTreeMap;

use crate::mcp_2026_07_28::types::{
    CallToolParams, CallToolResult, GetPromptParams, GetPromptResult, InputRequest, InputRequiredResult,
    InputResponse, ReadResourceParams, ReadResourceResult, RequestMeta,
};
use crate::mcp_2026_07_28::{client, server};

/// What a server asks for, by names of its choice.
pub type Questions = BTreeMap<String, InputRequest>;

/// What a client answers, by the names that the server gave.
pub type Answers = BTreeMap<String, InputResponse>;

/// The params of a request that may take several rounds: `tools/call`, `resources/read` and `prompts/get`.
pub trait Retry: Clone + Send + private::SealedRetry + 'static {
    /// The method of the request.
    const METHOD: &'static str;

    /// What the request has as its result.
    type Result: Send + 'static;

    /// Which tool, resource or prompt the request is for.
    fn name(&self) -> &str;

    /// The metadata of the request.
    fn meta(&self) -> &RequestMeta;

    /// What the client answers to the round before.
    fn answers(&self) -> Option<&Answers>;

    /// The state that the server gave in the round before.
    fn state(&self) -> Option<&str>;

    /// The same request, with the answers and the state of the next round. What it had of a round before is gone.
    #[must_use]
    fn again(self, answers: Option<Answers>, state: Option<String>) -> Self;
}

mod private {
    pub trait SealedRetry {}
}

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most rounds are the last one")]
pub enum Round<R> {
    /// The result: this was the last round.
    Done(R),
    /// The server needs to know more.
    InputRequired(InputRequiredResult),
}

impl<R> From<R> for Round<R> {
    /// The last round.
    fn from(result: R) -> Round<R> {
        Round::Done(result)
    }
}

macro_rules! retry {
    ($($params:ident, $method:literal, $name:ident -> $result:ident, $reply:ident { $done:ident, $asked:ident };)*) => { $(
        impl private::SealedRetry for $params {}

        impl Retry for $params {
            const METHOD: &'static str = $method;

            type Result = $result;

            fn name(&self) -> &str {
                &self.$name
            }

            fn meta(&self) -> &RequestMeta {
                &self.meta
            }

            fn answers(&self) -> Option<&Answers> {
                self.input_responses.as_ref()
            }

            fn state(&self) -> Option<&str> {
                self.request_state.as_deref()
            }

            fn again(mut self, answers: Option<Answers>, state: Option<String>) -> Self {
                self.input_responses = answers;
                self.request_state = state;
                self
            }
        }

        impl From<client::$reply> for Round<$result> {
            fn from(reply: client::$reply) -> Self {
                match reply {
                    client::$reply::$done(result) => Round::Done(result),
                    client::$reply::$asked(asked) => Round::InputRequired(asked),
                }
            }
        }

        impl From<Round<$result>> for server::$reply {
            fn from(round: Round<$result>) -> Self {
                match round {
                    Round::Done(result) => server::$reply::$done(result),
                    Round::InputRequired(asked) => server::$reply::$asked(asked),
                }
            }
        }
    )* };
}

retry! {
    CallToolParams, "tools/call", name
        -> CallToolResult, ToolsCallReply { ToolsResult, ToolsInputRequired };
    ReadResourceParams, "resources/read", uri
        -> ReadResourceResult, ResourcesReadReply { ResourcesResult, ResourcesInputRequired };
    GetPromptParams, "prompts/get", name
        -> GetPromptResult, PromptsGetReply { PromptsResult, PromptsInputRequired };
}
