//! The client's side: answers what is asked, until there is a result.

use std::future::IntoFuture;
use std::sync::Arc;

use mcp_runtime::{Error, RpcError};

use super::declared::undeclared;
use super::retry::{Answers, Questions, Retry, Round};
use crate::mcp_2026_07_28::types::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, InputRequest, InputResponse,
    ListRootsResult,
};
use crate::together::try_all;

/// Answers what a server asks for. What is not answered here is an error of the call.
pub trait User: Send + Sync {
    /// Shows a form or a URL to the user.
    fn elicit(&self, params: ElicitParams) -> impl Future<Output = Result<ElicitResult, RpcError>> + Send {
        let _ = params;
        std::future::ready(Err(RpcError::method_not_found("elicitation/create")))
    }

    /// Has the client's model write a message.
    fn create_message(
        &self,
        params: CreateMessageParams,
    ) -> impl Future<Output = Result<CreateMessageResult, RpcError>> + Send {
        let _ = params;
        std::future::ready(Err(RpcError::method_not_found("sampling/createMessage")))
    }

    /// Lists the directories in which the server may work.
    fn list_roots(&self) -> impl Future<Output = Result<ListRootsResult, RpcError>> + Send {
        std::future::ready(Err(RpcError::method_not_found("roots/list")))
    }
}

impl<U: User> User for Arc<U> {
    fn elicit(&self, params: ElicitParams) -> impl Future<Output = Result<ElicitResult, RpcError>> + Send {
        (**self).elicit(params)
    }

    fn create_message(
        &self,
        params: CreateMessageParams,
    ) -> impl Future<Output = Result<CreateMessageResult, RpcError>> + Send {
        (**self).create_message(params)
    }

    fn list_roots(&self) -> impl Future<Output = Result<ListRootsResult, RpcError>> + Send {
        (**self).list_roots()
    }
}

/// Calls a server, and has a [`User`] answer what the server asks for.
///
/// ```
/// use mcp_protocols::mcp_2026_07_28::types::*;
/// use mcp_protocols::mcp_2026_07_28::{McpClient, Start};
/// use mcp_protocols::rounds::{Answering, RoundsError, User};
/// use mcp_runtime::RpcError;
///
/// struct Ada;
///
/// impl User for Ada {
///     async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, RpcError> {
///         let name = ("name".to_owned(), FieldValue::from("Ada"));
///         Ok(ElicitResult::new(ElicitAction::Accept).content([name]))
///     }
/// }
///
/// async fn greet(client: &McpClient<Start>) -> Result<CallToolResult, RoundsError> {
///     let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
///     let params = CallToolParams::new("greet", RequestMeta::new("2026-07-28", can));
///     Answering::new(Ada).call(params, |params| client.call_tool(params)).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Answering<U> {
    user: U,
    most_rounds: usize,
}

/// How many rounds a call may take, unless the program says otherwise.
const MOST_ROUNDS: usize = 16;

impl<U: User> Answering<U> {
    /// Has this user answer. A call may take 16 rounds.
    pub fn new(user: U) -> Answering<U> {
        Answering { user, most_rounds: MOST_ROUNDS }
    }

    /// The same settings with another user.
    #[cfg(feature = "eras")]
    pub(crate) fn with_user<V: User>(&self, user: V) -> Answering<V> {
        Answering { user, most_rounds: self.most_rounds }
    }

    /// How many times a call may be sent: a server that asks for more is one that never stops asking.
    #[must_use]
    pub fn most_rounds(mut self, most: usize) -> Self {
        self.most_rounds = most;
        self
    }

    /// Sends a request with `call`, for as many rounds as the server needs. Each round is a call of its own: give it a
    /// timeout or a callback for progress there, `|params| client.call_tool(params).on_progress(…)`. The questions of one
    /// round are answered at the same time.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the round that runs. Between two rounds, while the [`User`] answers, no request runs that
    /// could be cancelled: the server keeps what it has for the next round until its own time for that is over.
    ///
    /// # Errors
    /// See [`RoundsError`]. No round follows.
    pub async fn call<P, C, F, R>(&self, params: P, mut call: C) -> Result<P::Result, RoundsError>
    where
        P: Retry,
        C: FnMut(P) -> F,
        F: IntoFuture<Output = Result<R, Error>>,
        R: Into<Round<P::Result>>,
    {
        let mut next = params.clone();
        for _ in 0..self.most_rounds {
            let asked = match call(next).await.map_err(RoundsError::Call)?.into() {
                Round::Done(result) => return Ok(result),
                Round::InputRequired(asked) => asked,
            };
            if asked.input_requests.is_none() && asked.request_state.is_none() {
                return Err(RoundsError::NothingAsked);
            }
            let answers = match asked.input_requests {
                Some(questions) => Some(self.answers(&params, questions).await?),
                None => None,
            };
            next = params.clone().again(answers, asked.request_state);
        }
        Err(RoundsError::TooMany { rounds: self.most_rounds })
    }

    async fn answers<P: Retry>(&self, params: &P, questions: Questions) -> Result<Answers, RoundsError> {
        if let Some((name, need)) = undeclared(&params.meta().client_capabilities, &questions) {
            let (name, capability) = (name.to_owned(), need.name().to_owned());
            return Err(RoundsError::NotDeclared { name, capability });
        }
        let answer = |(name, question)| async move {
            match self.answer(question).await {
                Ok(answer) => Ok((name, answer)),
                Err(error) => Err(RoundsError::Unanswered { name, error }),
            }
        };
        Ok(try_all(questions.into_iter().map(answer)).await?.into_iter().collect())
    }

    async fn answer(&self, question: InputRequest) -> Result<InputResponse, RpcError> {
        Ok(match question {
            InputRequest::ElicitationCreate(asked) => self.user.elicit(asked.params).await?.into(),
            InputRequest::SamplingCreateMessage(asked) => {
                self.user.create_message(asked.params).await?.into()
            }
            InputRequest::RootsList(_) => self.user.list_roots().await?.into(),
        })
    }
}

/// Why a call that may take several rounds has no result.
#[derive(Clone)]
#[non_exhaustive]
pub enum RoundsError {
    /// One of the rounds failed.
    Call(Error),
    /// The server still asks after this many rounds.
    TooMany {
        /// How many times the request was sent.
        rounds: usize,
    },
    /// The server asks for what the request does not declare that the client can answer.
    NotDeclared {
        /// The name of the question.
        name: String,
        /// The capability that it needs: `elicitation.url`.
        capability: String,
    },
    /// The [`User`] has no answer.
    Unanswered {
        /// The name of the question.
        name: String,
        /// What the user's method returned.
        error: RpcError,
    },
    /// The server needs to know more, and says neither what nor with which state to go on.
    NothingAsked,
}

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl std::fmt::Debug for RoundsError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("RoundsError").field(&self.to_string()).finish()
    }
}

impl std::fmt::Display for RoundsError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RoundsError::Call(error) => error.fmt(formatter),
            RoundsError::TooMany { rounds } => {
                write!(formatter, "the server still asks after {rounds} rounds")
            }
            RoundsError::NotDeclared { name, capability } => write!(
                formatter,
                "the server asks `{name}`, which needs the capability `{capability}`, and the request does not declare it"
            ),
            RoundsError::Unanswered { name, error } => write!(formatter, "`{name}` has no answer: {error}"),
            RoundsError::NothingAsked => formatter.write_str(
                "the server needs input, and gave neither `inputRequests` nor `requestState` to go on with",
            ),
        }
    }
}

impl RoundsError {
    /// The error of the round that failed: a refusal, a time limit, or the end of the connection. `None` if the rounds
    /// have come to nothing in another way.
    ///
    /// ```
    /// use mcp_protocols::rounds::RoundsError;
    /// use mcp_runtime::Error;
    ///
    /// fn connect_again(error: &RoundsError) -> bool {
    ///     error.call_error().is_some_and(Error::is_closed)
    /// }
    ///
    /// assert!(connect_again(&RoundsError::Call(Error::Closed)));
    /// assert!(!connect_again(&RoundsError::NothingAsked));
    /// ```
    pub fn call_error(&self) -> Option<&Error> {
        match self {
            RoundsError::Call(error) => Some(error),
            _ => None,
        }
    }
}

/// So that a handler which calls another server ends with `?`: a refusal is passed on as it came, and any other error is an
/// internal one with the text of the error.
///
/// ```
/// use mcp_protocols::rounds::RoundsError;
/// use mcp_runtime::{Error, RpcError};
///
/// let refused = RoundsError::Call(Error::Refused(RpcError::invalid_params("no such city")));
/// assert_eq!(RpcError::from(refused), RpcError::invalid_params("no such city"));
/// assert_eq!(RpcError::from(RoundsError::NothingAsked).code, RpcError::INTERNAL_ERROR);
/// ```
impl From<RoundsError> for RpcError {
    fn from(error: RoundsError) -> RpcError {
        match error {
            RoundsError::Call(error) => error.into(),
            error => RpcError::internal_error(error.to_string()),
        }
    }
}

impl std::error::Error for RoundsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RoundsError::Call(error) => std::error::Error::source(error),
            RoundsError::Unanswered { error, .. } => Some(error),
            _ => None,
        }
    }
}
