//! [`Server`]: what a server has, and how it is served.

use std::fmt;
use std::sync::Arc;

use mcp_protocols::eras::types::{Implementation, PromptMessage};
use mcp_protocols::eras::{self, Changes, Handler};
use mcp_runtime::{Options, Transport};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::super::failure::Failure;
use super::super::schema::{description_of, name_of};
use super::client::Client;
use super::handler::Parts;
use super::needs::Needs;
use super::output::Output;
use super::principal::principal_of;
use super::problem::Problem;
use super::prompt::{self, Prompt};
use super::prompts::{self, Prompts};
use super::resource::{self, Resource};
use super::resources::{self, Resources};
use super::tool::{self, Tool};
use super::tools::{self, Tools};

/// A server with the state `S`: tools, resources and prompts, for clients of every revision. What it announces follows from
/// what it has.
///
/// ```no_run
/// use mcp_kit::{Client, Failure, Server, Tool, stdio};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Adds two numbers
/// #[derive(Deserialize, JsonSchema)]
/// struct Add { a: i64, b: i64 }
///
/// impl Tool<()> for Add {
///     type Needs = ();
///     type Output = String;
///
///     async fn run(self, _: &(), _: Client) -> Result<String, Failure> {
///         Ok((self.a + self.b).to_string())
///     }
/// }
///
/// # async fn example() -> Result<(), Failure> {
/// Server::new("adder", "1.0.0", ()).tool::<Add>().serve(stdio()).await
/// # }
/// ```
#[must_use = "a server serves with `serve`"]
pub struct Server<S> {
    parts: Parts<S>,
    options: Options,
    revisions: Option<Vec<String>>,
    problems: Vec<Problem>,
}

/// How many entries of a list a client gets at once, unless the program says otherwise.
const PAGE_SIZE: usize = 100;

impl<S: Send + Sync + 'static> Server<S> {
    /// A server of this name and version that has nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>, state: S) -> Server<S> {
        let parts = Parts {
            info: Implementation::new(name, version),
            instructions: None,
            state: Arc::new(state),
            changes: Changes::new(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            other_tools: Vec::new(),
            other_prompts: Vec::new(),
            other_resources: Vec::new(),
            page_size: PAGE_SIZE,
        };
        Server { parts, options: Options::new(), revisions: None, problems: Vec::new() }
    }

    /// Says how to use the server, as text that a client may show to its model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Server<S> {
        self.parts.instructions = Some(instructions.into());
        self
    }

    /// Sets how many tools, prompts or resources a client gets at once, which is 100 without this call. The client asks for
    /// the next ones with the cursor that it gets. Zero counts as one.
    pub fn page_size(mut self, most: usize) -> Server<S> {
        self.parts.page_size = most.max(1);
        self
    }

    /// Sets the options of each session.
    pub fn options(mut self, options: Options) -> Server<S> {
        self.options = options;
        self
    }

    /// Speaks these revisions, in place of all. A client that asks for another one with a handshake is offered the latest of
    /// these. Without `2026-07-28` the server is one with sessions only, and with `2026-07-28` alone one without. A name that
    /// is not a revision is a [`Problem`].
    ///
    /// ```
    /// # use mcp_kit::Server;
    /// let server = Server::new("notes", "1.0.0", ()).revisions(["2025-11-25", "2026-07-28"]);
    /// # drop(server);
    /// ```
    pub fn revisions<V: Into<String>>(mut self, revisions: impl IntoIterator<Item = V>) -> Server<S> {
        self.revisions = Some(revisions.into_iter().map(Into::into).collect());
        self
    }

    /// Notifies clients of changes through a [`Changes`] of yours, of which the state of the server may have a clone. Call it
    /// before [`changes`](Self::changes).
    ///
    /// ```
    /// use mcp_kit::{Changes, Server};
    ///
    /// /// A state whose methods notify clients.
    /// struct Notes {
    ///     changes: Changes,
    /// }
    ///
    /// let changes = Changes::new();
    /// let server = Server::new("notes", "1.0.0", Notes { changes: changes.clone() }).with_changes(changes);
    /// # drop(server);
    /// ```
    pub fn with_changes(mut self, changes: Changes) -> Server<S> {
        self.parts.changes = changes;
        self
    }

    /// Returns what notifies clients of changes, for code that is not in a tool, such as a watcher of files.
    pub fn changes(&self) -> Changes {
        self.parts.changes.clone()
    }

    /// Adds a tool.
    pub fn tool<T: Tool<S>>(self) -> Server<S> {
        self.with_tool(tool::ToolEntry::of::<T>())
    }

    /// Adds a tool that is a function of its arguments and the state, and asks the client nothing. Its name and its description
    /// are those of the type of the arguments.
    ///
    /// ```
    /// # use mcp_kit::Server;
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// /// Says it in capitals
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Shout { text: String }
    ///
    /// let server = Server::new("loud", "1.0.0", ()).tool_fn(|shout: Shout, _| async move { Ok(shout.text.to_uppercase()) });
    /// # drop(server);
    /// ```
    pub fn tool_fn<T, O, F>(self, run: impl Fn(T, Arc<S>) -> F + Send + Sync + 'static) -> Server<S>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        O: Output,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let run = move |arguments, state, _: Client| run(arguments, state);
        self.with_tool(tool::ToolEntry::new(name_of::<T>(), description_of::<T>(), run))
    }

    /// Adds a tool that is a function, with a name and a description of its own: of its arguments, the state and the client. What
    /// it may ask the client stands in the type of that. A tool without arguments takes `()`.
    ///
    /// ```
    /// # use mcp_kit::{Client, Model, Server};
    /// let server = Server::new("poet", "1.0.0", ()).tool_named("poem", "Writes a poem", |(), _, client: Client<Model>| async move {
    ///     client.sample("Write a poem.", 200).await
    /// });
    /// # drop(server);
    /// ```
    pub fn tool_named<T, N, O, F>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        run: impl Fn(T, Arc<S>, Client<N>) -> F + Send + Sync + 'static,
    ) -> Server<S>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        N: Needs,
        O: Output,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        self.with_tool(tool::ToolEntry::new(name.into(), Some(description.into()), run))
    }

    fn with_tool(mut self, entry: Result<tool::ToolEntry<S>, Problem>) -> Server<S> {
        match entry {
            Ok(entry) if self.parts.find_tool(&entry.tool.name).is_some() => {
                self.problems.push(Problem::SameName { name: entry.tool.name });
            }
            Ok(entry) => self.parts.tools.push(entry),
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    /// Adds tools that are known only while the program runs. One of them that has the name of another tool of the server is
    /// left out.
    pub fn tools<T: Tools<S>>(mut self) -> Server<S> {
        self.parts.other_tools.push(tools::ToolsEntry::of::<T>());
        self
    }

    /// Adds prompts that are known only while the program runs. One of them that has the name of another prompt of
    /// the server is left out.
    pub fn prompts<P: Prompts<S>>(mut self) -> Server<S> {
        self.parts.other_prompts.push(prompts::PromptsEntry::of::<P>());
        self
    }

    /// Adds resources that are known only while the program runs. Where another resource of the server has the URI of
    /// one of them, that one is read.
    pub fn resources<R: Resources<S>>(mut self) -> Server<S> {
        self.parts.other_resources.push(resources::ResourcesEntry::of::<R>());
        self
    }

    /// Adds a prompt.
    pub fn prompt<P: Prompt<S>>(self) -> Server<S> {
        self.with_prompt(prompt::PromptEntry::of::<P>())
    }

    /// Adds a prompt that is a function, with a name and a description of its own.
    pub fn prompt_named<T, N, F>(
        self,
        name: impl Into<String>,
        description: impl Into<String>,
        get: impl Fn(T, Arc<S>, Client<N>) -> F + Send + Sync + 'static,
    ) -> Server<S>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
        N: Needs,
        F: Future<Output = Result<Vec<PromptMessage>, Failure>> + Send + 'static,
    {
        self.with_prompt(prompt::PromptEntry::new(name.into(), Some(description.into()), |_| None, get))
    }

    fn with_prompt(mut self, entry: Result<prompt::PromptEntry<S>, Problem>) -> Server<S> {
        match entry {
            Ok(entry) if self.parts.find_prompt(&entry.prompt.name).is_some() => {
                self.problems.push(Problem::SameName { name: entry.prompt.name });
            }
            Ok(entry) => self.parts.prompts.push(entry),
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    /// Adds resources.
    pub fn resource<R: Resource<S>>(mut self) -> Server<S> {
        match resource::ResourceEntry::of::<R>() {
            Ok(entry) if self.parts.resources.iter().any(|other| other.uri == entry.uri) => {
                self.problems.push(Problem::SameName { name: entry.uri.to_owned() });
            }
            Ok(entry) => self.parts.resources.push(entry),
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    /// Serves one connection to its end: [`stdio`](crate::stdio()), or any other transport. Once the client has closed its
    /// side, that is when the tools that run have returned, or [`Options::answer_grace`] has passed: five minutes, if the
    /// program does not say otherwise.
    ///
    /// # Errors
    /// The first [`Problem`] of the server; and if a session breaks off.
    pub async fn serve(self, transport: impl Transport) -> Result<(), Failure> {
        Ok(self.finish()?.serve(transport).await?)
    }

    /// Serves the standard streams, on a runtime of its own: the whole of a program that a client starts.
    ///
    /// # Errors
    /// Those of [`serve`](Self::serve); if the system gives the runtime no threads; and if it is called where a runtime of tokio
    /// runs already, as in a `main` with `#[tokio::main]`: call `serve(stdio())` there.
    pub fn run(self) -> Result<(), Failure> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err("`run` begins a runtime of its own, and is called where one runs already: write \
                        `.serve(mcp_kit::stdio()).await` in place of `.run()`, or take `#[tokio::main]` away"
                .into());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(mcp_runtime::transport::stdio()))
    }

    /// The server for every revision below, of which clones may serve many connections.
    ///
    /// # Errors
    /// The first [`Problem`] of the server.
    pub fn finish(self) -> Result<eras::Server<impl Handler>, Problem> {
        if let Some(problem) = self.problems.into_iter().next() {
            return Err(problem);
        }
        let changes = self.parts.changes.clone();
        let server = eras::Server::new(self.parts);
        let server = server.with_changes(changes).options(self.options).principal(principal_of);
        match self.revisions {
            Some(revisions) => server.revisions(revisions).map_err(Problem::Revisions),
            None => Ok(server),
        }
    }

    /// Serves clients over HTTP, and sees to it that headers repeat those arguments of tools whose schemas say so. Put it into an axum router, `Router::new().route("/mcp", server.method_router())`.
    ///
    /// # Errors
    /// The first [`Problem`] of the server.
    #[cfg(feature = "http")]
    pub fn http(
        self,
        mut options: mcp_runtime::transport::http::ServerOptions,
    ) -> Result<mcp_runtime::transport::http::HttpServer, Problem> {
        if options.param_headers.is_none() {
            let headers = self.parts.param_headers()?;
            options = options.param_headers(move |tool| headers.get(tool).cloned());
        }
        if let Some(revisions) = &self.revisions {
            options.versions.retain(|version| revisions.contains(version));
        }
        let server = Arc::new(self.finish()?);
        Ok(mcp_runtime::transport::http::HttpServer::new(options, move |transport| {
            let server = Arc::clone(&server);
            async move {
                // What ends a session early is in the log of the session.
                drop(server.serve(transport).await);
            }
        }))
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("info", &self.parts.info).finish_non_exhaustive()
    }
}
