//! [`Server`]: what a server has, and how it is served.

use std::fmt;
use std::sync::Arc;

use mcp_protocols::eras::types::{
    CacheScope, CallToolParams, CallToolResult, CompleteParams, CompleteResult, Completion,
    CompletionReference, GetPromptParams, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Object, PaginatedParams,
    PromptsCapability, ReadResourceParams, ReadResourceResult, ResourcesCapability, ServerCapabilities,
    ToolsCapability,
};
use mcp_protocols::eras::{self, Asker, Changes, Context, Handler, Offer};
use mcp_protocols::rounds::Round;
use mcp_runtime::{Options, RpcError, Transport};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::failure::Failure;
use super::output::Output;
use super::problem::Problem;
use super::prompt::{self, Prompt};
use super::resource::{self, Resource, not_found};
use super::schema::{description_of, name_of};
use super::tool::{self, Tool};

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
    problems: Vec<Problem>,
}

/// What a server has.
struct Parts<S> {
    info: Implementation,
    instructions: Option<String>,
    state: Arc<S>,
    changes: Changes,
    tools: Vec<tool::Entry<S>>,
    prompts: Vec<prompt::Entry<S>>,
    resources: Vec<resource::Entry<S>>,
}

/// How many values a client gets for an argument, as the revisions say.
const MOST_VALUES: usize = 100;

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
        };
        Server { parts, options: Options::new(), problems: Vec::new() }
    }

    /// Says how to use the server, as text that a client may show to its model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Server<S> {
        self.parts.instructions = Some(instructions.into());
        self
    }

    /// The settings of each session.
    pub fn options(mut self, options: Options) -> Server<S> {
        self.options = options;
        self
    }

    /// What notifies clients of changes, for what is not a tool: a watcher of files, or another part of the program.
    pub fn changes(&self) -> Changes {
        self.parts.changes.clone()
    }

    /// Adds a tool.
    pub fn tool<T: Tool<S>>(self) -> Server<S> {
        self.with_tool(tool::Entry::of::<T>())
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
        self.with_tool(tool::Entry::new(name_of::<T>(), description_of::<T>(), run))
    }

    fn with_tool(mut self, entry: Result<tool::Entry<S>, Problem>) -> Server<S> {
        match entry {
            Ok(entry) if self.parts.find_tool(&entry.tool.name).is_some() => {
                self.problems.push(Problem::SameName { name: entry.tool.name });
            }
            Ok(entry) => self.parts.tools.push(entry),
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    /// Adds a prompt.
    pub fn prompt<P: Prompt<S>>(mut self) -> Server<S> {
        match prompt::Entry::of::<P>() {
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
        match resource::Entry::of::<R>() {
            Ok(entry) if self.parts.resources.iter().any(|other| other.uri == entry.uri) => {
                self.problems.push(Problem::SameName { name: entry.uri.to_owned() });
            }
            Ok(entry) => self.parts.resources.push(entry),
            Err(problem) => self.problems.push(problem),
        }
        self
    }

    /// Serves one connection to its end: [`stdio`](crate::stdio()), or any other transport.
    ///
    /// # Errors
    /// The first [`Problem`] of the server; and if a session breaks off.
    pub async fn serve(self, transport: impl Transport) -> Result<(), Failure> {
        Ok(self.finish()?.serve(transport).await?)
    }

    /// Serves the standard streams, on a runtime of its own: the whole of a program that a client starts.
    ///
    /// # Errors
    /// Those of [`serve`](Self::serve); and if the system gives the runtime no threads.
    pub fn run(self) -> Result<(), Failure> {
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
        Ok(eras::Server::new(self.parts).changes(changes).options(self.options))
    }

    /// Serves clients over HTTP: put it into an axum router, `Router::new().route("/mcp", server.method_router())`.
    ///
    /// # Errors
    /// The first [`Problem`] of the server.
    #[cfg(feature = "http")]
    pub fn http(
        self,
        options: mcp_runtime::transport::http::ServerOptions,
    ) -> Result<mcp_runtime::transport::http::HttpServer, Problem> {
        let server = Arc::new(self.finish()?.principal(super::client::principal));
        Ok(mcp_runtime::transport::http::HttpServer::new(options, move |transport| {
            let server = Arc::clone(&server);
            async move {
                // What ends a session early is in the log of the session.
                drop(server.serve(transport).await);
            }
        }))
    }
}

impl<S> Parts<S> {
    fn find_tool(&self, name: &str) -> Option<&tool::Entry<S>> {
        self.tools.iter().find(|entry| entry.tool.name == name)
    }

    fn find_prompt(&self, name: &str) -> Option<&prompt::Entry<S>> {
        self.prompts.iter().find(|entry| entry.prompt.name == name)
    }
}

impl<S: Send + Sync + 'static> Parts<S> {
    fn find_resource(&self, uri: &str) -> Option<&resource::Entry<S>> {
        // One URI alone goes ahead of a template.
        let fixed = self.resources.iter().find(|entry| entry.uri == uri);
        fixed.or_else(|| self.resources.iter().find(|entry| entry.has(uri)))
    }
}

impl<S: Send + Sync + 'static> Handler for Parts<S> {
    fn offer(&self) -> Offer {
        let mut can = ServerCapabilities::new().logging(Object::new());
        if !self.tools.is_empty() {
            can = can.tools(ToolsCapability::new().list_changed(true));
        }
        if !self.prompts.is_empty() {
            can = can.prompts(PromptsCapability::new().list_changed(true));
        }
        if !self.resources.is_empty() {
            can = can.resources(ResourcesCapability::new().subscribe(true).list_changed(true));
        }
        if !self.prompts.is_empty() || !self.resources.is_empty() {
            can = can.completions(Object::new());
        }
        let offer = Offer::new(self.info.clone(), can);
        match &self.instructions {
            Some(instructions) => offer.instructions(instructions),
            None => offer,
        }
    }

    async fn list_tools(&self, _: Context, params: PaginatedParams) -> Result<ListToolsResult, RpcError> {
        let client = &params.meta.client_capabilities;
        let tools = self.tools.iter().filter(|entry| entry.is_for(client)).map(|entry| entry.tool.clone());
        // What a client sees depends on what it can do.
        Ok(ListToolsResult::new(tools, 0, CacheScope::Private))
    }

    async fn call_tool(
        &self,
        asker: Asker,
        params: CallToolParams,
    ) -> Result<Round<CallToolResult>, RpcError> {
        let unknown = || RpcError::invalid_params(format!("there is no tool `{}`", params.name));
        let entry = self.find_tool(&params.name).ok_or_else(unknown)?;
        entry.call(Arc::clone(&self.state), asker, self.changes.clone(), params).await.map(Into::into)
    }

    async fn list_resources(&self, _: Context, _: PaginatedParams) -> Result<ListResourcesResult, RpcError> {
        let mut resources = Vec::new();
        for entry in &self.resources {
            resources.extend(entry.list(Arc::clone(&self.state)).await);
        }
        Ok(ListResourcesResult::new(resources, 0, CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Context,
        _: PaginatedParams,
    ) -> Result<ListResourceTemplatesResult, RpcError> {
        let templates = self.resources.iter().filter_map(resource::Entry::template);
        Ok(ListResourceTemplatesResult::new(templates, 0, CacheScope::Private))
    }

    async fn read_resource(
        &self,
        asker: Asker,
        params: ReadResourceParams,
    ) -> Result<Round<ReadResourceResult>, RpcError> {
        let entry = self.find_resource(&params.uri).ok_or_else(|| not_found(&params.uri))?;
        entry.read(Arc::clone(&self.state), asker, self.changes.clone(), params).await.map(Into::into)
    }

    async fn watch(&self, uri: &str) -> Result<(), RpcError> {
        self.find_resource(uri).map(drop).ok_or_else(|| not_found(uri))
    }

    async fn list_prompts(&self, _: Context, params: PaginatedParams) -> Result<ListPromptsResult, RpcError> {
        let client = &params.meta.client_capabilities;
        let prompts = self.prompts.iter().filter(|entry| entry.is_for(client));
        Ok(ListPromptsResult::new(prompts.map(|entry| entry.prompt.clone()), 0, CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        asker: Asker,
        params: GetPromptParams,
    ) -> Result<Round<GetPromptResult>, RpcError> {
        let unknown = || RpcError::invalid_params(format!("there is no prompt `{}`", params.name));
        let entry = self.find_prompt(&params.name).ok_or_else(unknown)?;
        entry.get(Arc::clone(&self.state), asker, self.changes.clone(), params).await.map(Into::into)
    }

    async fn complete(&self, _: Context, params: CompleteParams) -> Result<CompleteResult, RpcError> {
        let complete = match &params.r#ref {
            CompletionReference::RefPrompt(prompt) => {
                self.find_prompt(&prompt.name).map(|entry| &entry.complete)
            }
            CompletionReference::RefResource(template) => {
                let mut entries = self.resources.iter();
                entries.find(|entry| entry.uri == template.uri).map(|entry| &entry.complete)
            }
            _ => None,
        };
        let unknown = || RpcError::invalid_params("there is no such prompt or resource template");
        let complete = complete.ok_or_else(unknown)?;
        let argument = params.argument;
        let values = complete(Arc::clone(&self.state), argument.name, argument.value).await;
        let (total, more) = (values.len(), values.len() > MOST_VALUES);
        let mut completion = Completion::new(values.into_iter().take(MOST_VALUES));
        completion.total = i64::try_from(total).ok();
        completion.has_more = Some(more);
        Ok(CompleteResult::new(completion))
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("info", &self.parts.info).finish_non_exhaustive()
    }
}
