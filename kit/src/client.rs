//! [`Client`]: the client that a tool works for.

use std::fmt;
use std::marker::PhantomData;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocols::eras::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams, ListRootsResult, LoggingLevel,
    LoggingMessageParams, ProgressParams,
};
use mcp_protocols::eras::{Asker, Changes, Context};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, to_value};

use super::failure::Failure;
use super::needs::{Has, Model, Roots, User};
use super::schema::form_of;

/// The client that a tool, a prompt or a resource works for, of which it needs `N`. What it may ask stands in its type: a
/// `Client<()>` asks nothing.
///
/// ```compile_fail,E0277
/// # use mcp_kit::{Client, Failure, Tool, User};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Sure { yes: bool }
/// async fn run(client: Client<()>) -> Result<(), Failure> {
///     client.ask::<Sure>("Sure?").await?; // `Needs` of the tool does not have `User`
///     Ok(())
/// }
/// ```
///
/// With `User` among its needs it has:
///
/// ```
/// # use mcp_kit::{Client, Failure, Model, User};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Sure { yes: bool }
/// async fn run(client: Client<(User, Model)>) -> Result<bool, Failure> {
///     let sure = client.ask::<Sure>("Sure?").await?.accepted();
///     Ok(sure.is_some_and(|sure| sure.yes))
/// }
/// ```
pub struct Client<N = ()> {
    asker: Asker,
    changes: Changes,
    needs: PhantomData<fn() -> N>,
}

/// What a user said to a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user filled it in.
    Accepted(T),
    /// The user refused.
    Declined,
    /// The user dismissed the form without a choice.
    Cancelled,
}

impl<T> Answer<T> {
    /// What the user filled in, if that was done.
    pub fn accepted(self) -> Option<T> {
        match self {
            Answer::Accepted(value) => Some(value),
            Answer::Declined | Answer::Cancelled => None,
        }
    }
}

impl<N> Client<N> {
    pub(crate) fn new(asker: Asker, changes: Changes) -> Client<N> {
        Client { asker, changes, needs: PhantomData }
    }

    /// The request that is worked on: which revision governs it, what the client can do, whether it was cancelled.
    pub fn context(&self) -> Context {
        self.asker.context()
    }

    /// Who makes the request, as `ServerOptions::principal` names them: over HTTP, behind a layer that has found it out. A
    /// session belongs to its principal, and so does a question that waits for its answer.
    #[cfg(feature = "http")]
    pub fn principal(&self) -> Option<String> {
        principal(&self.context())
    }

    /// Notifies the clients that have subscribed: the list of tools has changed, or a resource.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Reports how far the work has come. Nothing is sent if the client does not want to know.
    ///
    /// # Errors
    /// If the client is gone, or `done` is not more than in the report before.
    pub async fn progress(&self, done: u32, total: u32) -> Result<(), Failure> {
        Ok(self.context().send_progress(ProgressParams::new(0, done).total(total)).await?)
    }

    /// Writes to the log that the client sees. Nothing is sent if it does not want messages of this severity.
    ///
    /// # Errors
    /// If the client is gone.
    pub async fn log(&self, level: LoggingLevel, message: impl Into<String>) -> Result<(), Failure> {
        let line = LoggingMessageParams::new(level, Value::String(message.into()));
        Ok(self.context().log(line).await?)
    }

    /// Shows the user a form with the fields of a type: texts, numbers, yes or no, and choices.
    ///
    /// # Errors
    /// If the client does not answer, or with something else; and if the type has a field that no form has.
    // What these methods return does not name `N`, so that rustc says once that a need is missing.
    pub fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        message: impl Into<String>,
    ) -> BoxFuture<'_, Result<Answer<T>, Failure>>
    where
        N: Has<User>,
    {
        let message = message.into();
        async move {
            let form =
                form_of::<T>().map_err(|field| format!("the field `{field}` cannot stand in a form"))?;
            let answer = self.asker.elicit(ElicitFormParams::new(message, form)).await?;
            Ok(match answer.action {
                ElicitAction::Accept => {
                    let content = to_value(answer.content.unwrap_or_default())?;
                    Answer::Accepted(serde_json::from_value(content)?)
                }
                ElicitAction::Decline => Answer::Declined,
                // To dismiss a form is to say nothing.
                _ => Answer::Cancelled,
            })
        }
        .boxed()
    }

    /// Asks the client's model for a message.
    ///
    /// # Errors
    /// If the client does not answer.
    pub fn create_message(
        &self,
        params: CreateMessageParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Failure>>
    where
        N: Has<Model>,
    {
        async move { Ok(self.asker.create_message(params).await?) }.boxed()
    }

    /// Asks for the directories in which the server may work.
    ///
    /// # Errors
    /// If the client does not answer.
    pub fn list_roots(&self) -> BoxFuture<'_, Result<ListRootsResult, Failure>>
    where
        N: Has<Roots>,
    {
        async move { Ok(self.asker.list_roots().await?) }.boxed()
    }
}

/// The principal of the request that a context is of.
#[cfg(feature = "http")]
pub(crate) fn principal(context: &Context) -> Option<String> {
    let head = context.extension::<mcp_runtime::transport::http::RequestHead>()?;
    head.principal().map(str::to_owned)
}

impl<N> fmt::Debug for Client<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("context", &self.context()).finish_non_exhaustive()
    }
}
