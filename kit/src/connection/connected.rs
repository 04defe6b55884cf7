//! [`Connection`]: a server, as a program calls it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocols::eras::types::{
    BlobResourceContents, CompleteParams, CompletionArgument, CompletionReference, GetPromptParams,
    GetPromptResult, PromptReference, ReadResourceParams, ResourceContents, ResourceTemplateReference,
};
use mcp_protocols::eras::{Client, Offer};
use mcp_protocols::rounds::RoundsError;
use mcp_runtime::session::Outcome;
use mcp_runtime::{Error, Report};
use serde::Serialize;
use tokio::sync::watch;

use super::arguments::texts_of;
use super::handlers::Handlers;
use super::passed_on_resources::PassedOn;

/// Hears what a connection reports.
pub(super) type OnReport = Arc<dyn Fn(&Report) + Send + Sync>;

/// A connection to a server, of whichever revision: [`ConnectOptions`](super::ConnectOptions) open it. Calls run side by side;
/// dropping one cancels it.
///
/// ```no_run
/// use mcp_kit::transport::Child;
/// use mcp_kit::{ConnectOptions, Failure};
/// use tokio::process::Command;
///
/// # async fn example() -> Result<(), Failure> {
/// let child = Child::spawn(Command::new("weather-server"))?;
/// let weather = ConnectOptions::new("my-client", "1.0.0").connect(child).await?;
/// for tool in weather.tools().await? {
///     println!("{}: {}", tool.name, tool.description.as_deref().unwrap_or("it does not say what it does"));
/// }
/// weather.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct Connection {
    client: Client<Handlers>,
    /// How often the session was opened again.
    reconnects: watch::Receiver<u64>,
    /// Hears what the connection reports.
    on_report: Option<OnReport>,
    /// How long after a subscription was lost it is made again.
    resubscribe_after: Duration,
    /// The resources whose changes are passed on.
    passed_on: PassedOn,
}

impl Connection {
    pub(super) fn new(
        client: Client<Handlers>,
        reconnects: watch::Receiver<u64>,
        on_report: Option<OnReport>,
        resubscribe_after: Duration,
    ) -> Connection {
        Connection { client, reconnects, on_report, resubscribe_after, passed_on: PassedOn::default() }
    }

    pub(super) fn report(&self, report: &Report) {
        if let Some(on_report) = &self.on_report {
            on_report(report);
        }
    }

    /// What the server is, and what it can do.
    pub fn offer(&self) -> &Offer {
        self.client.offer()
    }

    /// The revision that the program and the server have agreed on.
    pub fn version(&self) -> &str {
        self.client.version()
    }

    /// The client below, for requests that this type does not have.
    pub fn client(&self) -> &Client<Handlers> {
        &self.client
    }

    pub(super) fn passed_on(&self) -> &PassedOn {
        &self.passed_on
    }

    pub(super) fn reconnects(&self) -> watch::Receiver<u64> {
        self.reconnects.clone()
    }

    pub(super) fn resubscribe_after(&self) -> Duration {
        self.resubscribe_after
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// If the server refuses, as it does for an unknown resource; or the connection is gone.
    pub async fn read(&self, uri: impl Into<String>) -> Result<Vec<ResourceContents>, RoundsError> {
        let params = ReadResourceParams::new(uri, self.client.meta());
        Ok(self.client.read_resource(params).await?.contents)
    }

    /// Reads a resource as text: its parts that are texts, one after the other.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); and [`Error::Payload`] if the resource has parts, and none of them is a text.
    pub async fn read_text(&self, uri: impl Into<String>) -> Result<String, RoundsError> {
        let contents = self.read(uri).await?;
        let texts: Vec<&str> = contents.iter().filter_map(ResourceContents::as_text).collect();
        match (&*contents, &*texts) {
            ([ResourceContents::Blob(binary), ..], []) => Err(RoundsError::Call(not_a_text(binary))),
            _ => Ok(texts.concat()),
        }
    }

    /// Gets a prompt with these arguments filled in. They are the members of a value: a struct, a map, or `()`; or pairs of a
    /// name and a value. Numbers are sent as texts, as all arguments of prompts are.
    ///
    /// ```
    /// # use mcp_kit::{Connection, Failure};
    /// # async fn example(notes: &Connection) -> Result<(), Failure> {
    /// let review = notes.prompt("review", [("tag", "shop")]).await?;
    /// let weekly = notes.prompt("weekly", ()).await?;
    /// # drop((review, weekly));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the server refuses, or the connection is gone; and [`Error::Payload`] if an argument is not a text, a number or a
    /// bool.
    pub async fn prompt(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> Result<GetPromptResult, RoundsError> {
        let arguments = texts_of(arguments).map_err(|problem| RoundsError::Call(unsendable(problem)))?;
        let mut params = GetPromptParams::new(name, self.client.meta());
        for (argument, value) in arguments {
            params = params.with_argument(argument, value);
        }
        self.client.get_prompt(params).await
    }

    /// Suggests values for an argument of a prompt of which the user has typed a part.
    ///
    /// # Errors
    /// If the server refuses, or the connection is gone.
    pub async fn complete_prompt(
        &self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        typed: impl Into<String>,
    ) -> Result<Vec<String>, Error> {
        self.complete(PromptReference::new(prompt).into(), CompletionArgument::new(argument, typed)).await
    }

    /// Suggests values for a variable of a resource template of which the user has typed a part.
    ///
    /// # Errors
    /// If the server refuses, or the connection is gone.
    pub async fn complete_resource(
        &self,
        template: impl Into<String>,
        variable: impl Into<String>,
        typed: impl Into<String>,
    ) -> Result<Vec<String>, Error> {
        let template = ResourceTemplateReference::new(template);
        self.complete(template.into(), CompletionArgument::new(variable, typed)).await
    }

    async fn complete(
        &self,
        reference: CompletionReference,
        argument: CompletionArgument,
    ) -> Result<Vec<String>, Error> {
        let params = CompleteParams::new(reference, argument, self.client.meta());
        Ok(self.client.complete(params).await?.completion.values)
    }

    /// Waits until the connection is gone: it has broken off, the server has ended it, or the process of the server has
    /// ended. Over HTTP without a session there is no connection to be lost.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn ended(&self) {
        self.client.ended().await;
    }

    /// Closes the connection: waits until all is written, and for the server to close its side. Returns how the
    /// connection has ended: of a child, with which status it has exited, and what it took to make it exit.
    ///
    /// ```no_run
    /// use mcp_kit::{Connection, Error, Means, Outcome};
    ///
    /// async fn close(server: Connection) -> Result<(), Error> {
    ///     if let Outcome::Exited { after: Means::Kill, .. } = server.close().await? {
    ///         eprintln!("the server had to be killed");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If what was to be written cannot be written, because the connection has broken off.
    pub async fn close(self) -> Result<Outcome, Error> {
        self.client.close().await
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Connection").field(&self.client).finish()
    }
}

/// The error of a program whose arguments of a prompt cannot be sent.
fn unsendable(problem: String) -> Error {
    Error::Payload { message: "PromptsGet".into(), source: Arc::new(serde::ser::Error::custom(problem)) }
}

/// The error of a program that reads bytes as a text.
fn not_a_text(binary: &BlobResourceContents) -> Error {
    let kind = binary.mime_type.as_deref().map(|kind| format!(" of the type `{kind}`")).unwrap_or_default();
    let problem = format!("`{}` is not a text but bytes{kind}, which `read` returns", binary.uri);
    Error::Payload { message: "ResourcesResult".into(), source: Arc::new(serde::de::Error::custom(problem)) }
}
