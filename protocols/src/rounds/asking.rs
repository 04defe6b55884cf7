//! The server's side, in one process: a handler asks, and goes on where it was.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use mcp_runtime::RpcError;
use serde_json::json;
use tokio::sync::watch;

use super::ask_error::AskError;
use super::cancelled::unless_cancelled;
use super::questions::OpenQuestions;
use super::retry::{Answers, Questions, Retry, Round};
use super::running::RunningHandler;
use super::waiting::{Binding, ClientKey, KeepError, Waiting, is_of_waiting};
use crate::mcp_2026_07_28::server::Context;
use crate::mcp_2026_07_28::types::{
    CreateMessageInput, CreateMessageParams, CreateMessageResult, ElicitInput, ElicitParams, ElicitResult,
    InputRequest, InputRequiredResult, InputResponse, ListRootsInput, ListRootsResult,
};

/// How many calls wait at once, unless the program says otherwise.
const MOST_WAITING: usize = 1_000;

/// How many of these calls may be of one client, in percent, unless the program says otherwise.
const CLIENT_SHARE: u8 = 50;

/// How long a call waits for its next round, unless the program says otherwise.
const LIFETIME: Duration = Duration::from_secs(600);

/// Runs handlers that ask in the middle of their work. A call that waits for its next round is kept in this process, so the
/// client has to come back to it; a server of several processes protects a state with a `Seal` instead.
///
/// Clones share the calls that wait. The sessions of one server need one `Rounds`: over HTTP, each request may come in a
/// session of its own.
///
/// ```
/// use mcp_protocols::mcp_2026_07_28::server::{Context, Handler, ToolsCallReply};
/// use mcp_protocols::mcp_2026_07_28::types::*;
/// use mcp_protocols::rounds::Rounds;
/// use mcp_runtime::RpcError;
///
/// struct Greeter {
///     rounds: Rounds,
/// }
///
/// impl Handler for Greeter {
///     async fn call_tool(&self, context: Context, params: CallToolParams) -> Result<ToolsCallReply, RpcError> {
///         self.rounds.run(context, params, |asker| async move {
///             let name: FieldSchema = StringSchema::new().into();
///             let form = ElicitFormParams::new("Who is there?", FormSchema::new([("name".into(), name)]));
///             let answer = asker.elicit(form).await?;
///             Ok(CallToolResult::new([TextContent::new(format!("{:?}", answer.content)).into()]))
///         })
///         .await
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Rounds {
    waiting: Arc<Waiting>,
    client_share: u8,
    lifetime: Duration,
    principal: Option<String>,
    /// Whether a handler opens states that it has sealed.
    sealed: bool,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds::new()
    }
}

impl Rounds {
    /// At most 1,000 calls wait, each for at most ten minutes. At most half of them are of one client.
    pub fn new() -> Rounds {
        Rounds {
            waiting: Arc::new(Waiting::new(MOST_WAITING, CLIENT_SHARE)),
            client_share: CLIENT_SHARE,
            lifetime: LIFETIME,
            principal: None,
            sealed: false,
        }
    }

    /// At most so many calls wait at once; one more is refused as busy. Calls that wait already are forgotten, so say this
    /// before the first one.
    #[must_use]
    pub fn most_waiting(mut self, most: usize) -> Self {
        self.waiting = Arc::new(Waiting::new(most, self.client_share));
        self
    }

    /// How many of the calls that wait may be of one client, in percent of [`most_waiting`](Self::most_waiting); one more is
    /// refused as busy. Default: 50, because many clients may share one address. 100 disables the limit. Calls that wait
    /// already are forgotten, so say this before the first one.
    ///
    /// A client is a principal, if one is known: that of [`principal`](Self::principal), or that of the transport, as
    /// `ServerOptions::principal` names it over HTTP. It is an address, too, where the transport knows addresses, and both limit
    /// it. Over streams of bytes neither is known, and no client is limited: a server that shares a `Rounds` among such
    /// connections names their clients with [`principal`](Self::principal).
    #[must_use]
    pub fn client_share(mut self, percent: u8) -> Self {
        self.client_share = percent;
        self.waiting = Arc::new(Waiting::new(self.waiting.most(), percent));
        self
    }

    /// A call waits at most so long for its next round. Then its handler is dropped where it is.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// The same for the requests of one principal: with the state of one, another one cannot go on.
    #[must_use]
    pub fn principal(&self, principal: impl Into<String>) -> Self {
        Rounds { principal: Some(principal.into()), ..self.clone() }
    }

    /// The same for handlers that give states of their own, and return an `InputRequiredResult` with what they have sealed.
    /// A request with such a state starts the handler again, and the handler has to open the state with a `Seal`, which
    /// refuses what is not from this server.
    #[must_use]
    pub fn with_sealed_states(self) -> Self {
        Rounds { sealed: true, ..self }
    }

    /// Answers a request with what `handle` returns, or with all that it asks for when it waits. A request that comes with the
    /// state of a call that waits goes on with that call, and its `handle` is not used. If the client leaves out some of the
    /// answers, it is asked for these again. Answers that the first request brings are those to the questions with their names. If the
    /// client cancels the request, or the future is dropped, what `handle` is doing is dropped.
    ///
    /// # Errors
    /// What `handle` returns; invalid params for a state that no call of this method, name and principal waits for; and
    /// busy, if too many calls wait, in all or of this client.
    pub async fn run<P, H, F, T, R>(&self, context: Context, params: P, handle: H) -> Result<R, RpcError>
    where
        P: Retry + Sync,
        H: FnOnce(RoundAsker<P>) -> F,
        F: Future<Output = Result<T, RpcError>> + Send + 'static,
        T: Into<Round<P::Result>>,
        R: From<Round<P::Result>>,
    {
        let binding =
            Binding { method: P::METHOD, name: params.name().to_owned(), principal: self.principal.clone() };
        let request = context.clone();
        let mut conversation = match params.state() {
            None => Box::new(Conversation::begin(context, params, handle)),
            Some(state) if self.sealed && !is_of_waiting(state) => {
                Box::new(Conversation::begin(context, params, handle))
            }
            Some(state) => {
                let found = self.waiting.take::<Conversation<P>>(state, &binding);
                let mut conversation = found.ok_or_else(unknown_state)?;
                conversation.go_on(context, params);
                conversation
            }
        };
        let next = poll_fn(|context| conversation.poll_next(context));
        match unless_cancelled(request.cancelled(), next).await {
            Some(Next::Done(result)) => result.map(Into::into),
            Some(Next::Asked(questions)) => {
                self.wait(&request, binding, conversation, questions).map(Into::into)
            }
            None => Err(request.cancelled_error()),
        }
    }

    fn wait<P: Retry + Sync>(
        &self,
        request: &Context,
        binding: Binding,
        mut conversation: Box<Conversation<P>>,
        questions: Questions,
    ) -> Result<Round<P::Result>, RpcError> {
        conversation.handler.leave();
        let clients = ClientKey::of(self.principal.as_deref(), &request.peer_identity());
        let state = self.waiting.keep(binding, clients, conversation, self.lifetime).map_err(refusal)?;
        Ok(Round::InputRequired(InputRequiredResult::new().input_requests(questions).request_state(state)))
    }
}

/// The error of a call that cannot wait. As in every refusal for a limit, its data name the setting.
fn refusal(error: KeepError) -> RpcError {
    let (limit, problem) = match error {
        KeepError::Full => ("most_waiting", "too many calls wait for answers; try again later"),
        KeepError::ClientShare => (
            "client_share",
            "too many calls of this client wait for answers: answer what one of them asks for, or try again later",
        ),
        KeepError::NoRandomness => return RpcError::internal_error("the system has no randomness"),
    };
    RpcError::busy(problem).with_data(json!({ "limit": limit }))
}

fn unknown_state() -> RpcError {
    RpcError::invalid_params(
        "no call waits for this `requestState`: it is over, belongs to another request, or was begun in another process of \
         the server: send the request without it",
    )
}

/// A handler that runs or waits, and the round that it is in.
struct Conversation<P: Retry> {
    round: watch::Sender<(Context, P)>,
    questions: Arc<OpenQuestions>,
    handler: RunningHandler<Returned<P::Result>>,
}

type Returned<R> = Result<Round<R>, RpcError>;

#[expect(clippy::large_enum_variant, reason = "a call has one of them at a time")]
enum Next<R> {
    Asked(Questions),
    Done(Returned<R>),
}

impl<P: Retry + Sync> Conversation<P> {
    fn begin<H, F, T>(context: Context, params: P, handle: H) -> Conversation<P>
    where
        H: FnOnce(RoundAsker<P>) -> F,
        F: Future<Output = Result<T, RpcError>> + Send + 'static,
        T: Into<Round<P::Result>>,
    {
        let questions = Arc::new(OpenQuestions::new(params.answers().cloned().unwrap_or_default()));
        let (round, rounds) = watch::channel((context, params));
        let handled = handle(RoundAsker { questions: Arc::clone(&questions), rounds });
        let handler = RunningHandler::new(async move { handled.await.map(Into::into) });
        Conversation { round, questions, handler }
    }

    /// The client has come back.
    fn go_on(&mut self, context: Context, params: P) {
        let answers = params.answers().cloned().unwrap_or_default();
        self.round.send_replace((context, params));
        self.handler.return_to();
        self.questions.answer(answers);
    }

    /// Goes on with the handler until it has returned, or waits and has asked what only the client can answer.
    fn poll_next(&mut self, context: &mut task::Context<'_>) -> Poll<Next<P::Result>> {
        match self.handler.poll(context) {
            Poll::Ready(Some(returned)) => Poll::Ready(Next::Done(returned)),
            // Nothing runs any more: the runtime has ended.
            Poll::Ready(None) => {
                Poll::Ready(Next::Done(Err(RpcError::internal_error("the handler of the request has ended"))))
            }
            Poll::Pending => self.questions.poll_round(context).map(Next::Asked),
        }
    }
}

impl<P: Retry> Drop for Conversation<P> {
    fn drop(&mut self) {
        self.questions.end();
    }
}

/// What a handler asks with, in a request that may take several rounds.
#[derive(Debug)]
pub struct RoundAsker<P: Retry> {
    questions: Arc<OpenQuestions>,
    rounds: watch::Receiver<(Context, P)>,
}

impl<P: Retry> Clone for RoundAsker<P> {
    fn clone(&self) -> Self {
        RoundAsker { questions: Arc::clone(&self.questions), rounds: self.rounds.clone() }
    }
}

/// The methods that ask one thing: of what has a method `ask`.
macro_rules! asks {
    () => {
        /// Asks the user with a form or a URL.
        ///
        /// # Errors
        /// See [`AskError`].
        pub async fn elicit(&self, params: impl Into<ElicitParams> + Send) -> Result<ElicitResult, AskError> {
            match self.ask_alone(ElicitInput::new(params.into()).into()).await? {
                InputResponse::Elicit(answer) => Ok(answer),
                _ => Err($crate::rounds::AskError::of_another_kind($crate::rounds::ALONE)),
            }
        }

        /// Asks the client's model for a message.
        ///
        /// # Errors
        /// See [`AskError`].
        pub async fn create_message(
            &self,
            params: CreateMessageParams,
        ) -> Result<CreateMessageResult, AskError> {
            match self.ask_alone(CreateMessageInput::new(params).into()).await? {
                InputResponse::CreateMessage(answer) => Ok(answer),
                _ => Err($crate::rounds::AskError::of_another_kind($crate::rounds::ALONE)),
            }
        }

        /// Asks for the directories in which the server may work.
        ///
        /// # Errors
        /// See [`AskError`].
        pub async fn list_roots(&self) -> Result<ListRootsResult, AskError> {
            match self.ask_alone(ListRootsInput::new().into()).await? {
                InputResponse::ListRoots(answer) => Ok(answer),
                _ => Err($crate::rounds::AskError::of_another_kind($crate::rounds::ALONE)),
            }
        }

        async fn ask_alone(&self, question: InputRequest) -> Result<InputResponse, AskError> {
            let mut answers = self.ask([($crate::rounds::ALONE.to_owned(), question)]).await?;
            answers
                .remove($crate::rounds::ALONE)
                .ok_or_else(|| $crate::rounds::AskError::of_another_kind($crate::rounds::ALONE))
        }
    };
}
#[cfg(feature = "eras")]
pub(crate) use asks;

/// The name of a question that is asked alone.
pub(crate) const ALONE: &str = "input";

impl<P: Retry + Sync> RoundAsker<P> {
    /// The params of the request, as it came last.
    pub fn params(&self) -> P {
        self.rounds.borrow().1.clone()
    }

    /// The context of the request that is answered now: each round is a request of its own, so ask for this again after a
    /// question. Progress and messages of the log are about that request.
    pub fn context(&self) -> Context {
        self.rounds.borrow().0.clone()
    }

    asks! {}

    /// Asks several things, by names of the server's choice. The answers have the same names, and each is an answer to its
    /// question.
    ///
    /// What the parts of a handler ask at the same time is one round, as with `tokio::join!`: all that is asked when the
    /// handler waits. If two parts use a name, the client gets another one for the second, such as `input-2`.
    ///
    /// # Errors
    /// See [`AskError`].
    ///
    /// # Cancel safety
    /// A question whose future is dropped is not asked any more. The client may have it already; its answer is dropped.
    pub async fn ask(
        &self,
        questions: impl IntoIterator<Item = (String, InputRequest)> + Send,
    ) -> Result<Answers, AskError> {
        let questions: Questions = questions.into_iter().collect();
        AskError::undeclared(&self.rounds.borrow().1.meta().client_capabilities, &questions)?;
        self.questions.ask(questions).await
    }
}
