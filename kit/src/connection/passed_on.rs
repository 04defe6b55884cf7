//! Calls that a program passes on to a server, for a client of its own.

use std::future::IntoFuture;

use mcp_protocols::eras::types::{
    CallToolParams, CallToolResult, CompleteParams, CompletionArgument, CompletionContext,
    CompletionReference, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult,
    GetPromptParams, GetPromptResult, ListRootsResult, LoggingMessageParams, Object, ProgressParams,
    ReadResourceParams, RequestMeta, ResourceContents,
};
use mcp_protocols::eras::{Asker, Call, MayAsk};
use mcp_protocols::rounds::{RoundsError, User};
use mcp_runtime::RpcError;
use tokio::sync::{mpsc, oneshot};

use super::super::server::{Client, Suggestions, Typed};
use super::connected::Connection;
use super::handlers::Handlers;

/// How much of what the server says meanwhile waits for a client that is slow to read it. It misses what is beyond.
const MEANWHILE: usize = 64;

/// What the server says while it works on a request.
enum Said {
    Progress(ProgressParams),
    Log(LoggingMessageParams),
    /// It asks, once this is heard of.
    Question(oneshot::Sender<()>),
}

/// Has a client answer, once it has heard what the server has said before it asked: to ask may end the request in
/// which that can be said.
struct InOrder {
    asker: Asker,
    said: mpsc::Sender<Said>,
}

impl InOrder {
    async fn asker(&self) -> &Asker {
        let (passed, waiting) = oneshot::channel();
        // If the call is over, its client is not asked any more.
        if self.said.send(Said::Question(passed)).await.is_ok() {
            drop(waiting.await);
        }
        &self.asker
    }
}

impl User for InOrder {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        User::elicit(self.asker().await, params).await
    }

    async fn create_message(&self, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        User::create_message(self.asker().await, params).await
    }

    async fn list_roots(&self) -> Result<ListRootsResult, RpcError> {
        User::list_roots(self.asker().await).await
    }
}

impl Connection {
    /// Passes a call of a tool on, for the client that a tool of this program works for: that client answers what the
    /// server asks, and gets its progress and what it logs. If it cancels, so that the future is dropped, the call is
    /// cancelled. The result is as the server returned it, also where its tool has failed.
    ///
    /// The server asks only for what this connection declares, so give [`ConnectOptions`](super::ConnectOptions)
    /// handlers for all that clients may be asked: they answer for none of these calls. In a session a question does
    /// not say which call it belongs to, and a message of the log never does: where several calls run, they go to
    /// these handlers, and to `on_log`. Open a connection for each client, then.
    ///
    /// ```no_run
    /// # use mcp_kit::types::{self, CallToolResult, Object};
    /// use mcp_kit::{Client, Connection, Failure, ListRequest, Page, Tools};
    ///
    /// struct Behind;
    ///
    /// impl Tools<Connection> for Behind {
    ///     async fn list(server: &Connection, _: &ListRequest) -> Result<Page<types::Tool>, Failure> {
    ///         Ok(server.tools().await?.into())
    ///     }
    ///
    ///     async fn call(
    ///         server: &Connection,
    ///         name: &str,
    ///         arguments: Object,
    ///         client: Client,
    ///     ) -> Result<Option<CallToolResult>, Failure> {
    ///         Ok(Some(server.pass_on(name, arguments, &client).await?))
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// What the server refuses is refused as it came; an internal error says how else the call has failed.
    pub async fn pass_on<N>(
        &self,
        tool: impl Into<String>,
        arguments: Object,
        client: &Client<N>,
    ) -> Result<CallToolResult, RpcError> {
        let params = CallToolParams::new(tool, self.meta_for(client)).arguments(arguments);
        passed_on(self.client().call_tool(params), client).await
    }

    /// Passes a request for a prompt on, as [`pass_on`](Self::pass_on) does a call of a tool.
    ///
    /// # Errors
    /// Those of [`pass_on`](Self::pass_on).
    pub async fn pass_on_prompt<N>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
        client: &Client<N>,
    ) -> Result<GetPromptResult, RpcError> {
        let mut params = GetPromptParams::new(name, self.meta_for(client));
        for (argument, value) in arguments {
            params = params.with_argument(argument, value);
        }
        passed_on(self.client().get_prompt(params), client).await
    }

    /// Passes the reading of a resource on, as [`pass_on`](Self::pass_on) does a call of a tool.
    ///
    /// # Errors
    /// Those of [`pass_on`](Self::pass_on).
    pub async fn pass_on_read<N>(
        &self,
        uri: impl Into<String>,
        client: &Client<N>,
    ) -> Result<Vec<ResourceContents>, RpcError> {
        let params = ReadResourceParams::new(uri, self.meta_for(client));
        Ok(passed_on(self.client().read_resource(params), client).await?.contents)
    }

    /// Passes on the question which values fit what a user has typed: of an argument of a prompt, as in
    /// `PromptReference::new("review")`, or of a variable of a resource template. How many there are is passed on, too.
    ///
    /// ```no_run
    /// # use mcp_kit::types::PromptReference;
    /// # use mcp_kit::{Connection, Failure, Suggestions, Typed};
    /// /// What `Prompts::complete` of a gateway does.
    /// async fn complete(server: &Connection, name: &str, typed: &Typed) -> Result<Option<Suggestions>, Failure> {
    ///     Ok(Some(server.pass_on_completion(PromptReference::new(name), typed).await?))
    /// }
    /// ```
    ///
    /// # Errors
    /// What the server refuses is refused as it came; an internal error says how else the request has failed.
    pub async fn pass_on_completion(
        &self,
        of: impl Into<CompletionReference>,
        typed: &Typed,
    ) -> Result<Suggestions, RpcError> {
        let argument = CompletionArgument::new(&typed.argument, &typed.text);
        let mut params = CompleteParams::new(of, argument, self.client().meta());
        if !typed.others.is_empty() {
            params = params.context(CompletionContext::new().arguments(typed.others.clone()));
        }
        Ok(self.client().complete(params).await?.completion.into())
    }

    /// The metadata of a request that is passed on: its client says how much of the log it wants to hear.
    fn meta_for<N>(&self, client: &Client<N>) -> RequestMeta {
        let mut meta = self.client().meta();
        meta.log_level = client.context().log_level();
        meta
    }
}

/// Makes a call for a client, which answers and hears what the server says meanwhile.
async fn passed_on<R, N>(call: Call<'_, Handlers, R>, client: &Client<N>) -> Result<R::Result, RpcError>
where
    R: MayAsk<Error = RoundsError>,
{
    let (sender, mut said) = mpsc::channel(MEANWHILE);
    let logged = sender.clone();
    let call = call
        .answered_by(InOrder { asker: client.asker().clone(), said: sender.clone() })
        .on_progress(move |report| drop(sender.try_send(Said::Progress(report))))
        .on_log(move |line| drop(logged.try_send(Said::Log(line))));
    // A client that is gone, or one that has heard of more already, needs no report.
    let pass = async |said| match said {
        Said::Progress(report) => drop(client.context().send_progress(report).await),
        Said::Log(line) => drop(client.context().log(line).await),
        Said::Question(passed) => drop(passed.send(())),
    };
    let mut call = call.into_future();
    loop {
        tokio::select! {
            biased;
            Some(said) = said.recv() => pass(said).await,
            called = &mut call => {
                // What came in one piece with the result.
                while let Ok(said) = said.try_recv() {
                    pass(said).await;
                }
                return Ok(called?);
            }
        }
    }
}
