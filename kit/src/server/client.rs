//! [`Client`]: the client that a tool works for.

use std::fmt;
use std::marker::PhantomData;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{
    CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams, ListRootsResult, LoggingLevel,
    LoggingMessageParams, Number, Role, SamplingMessage, TextContent,
};
use mcp_protocols::eras::{Asker, Changes, Context};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, to_value};

use super::super::answer::Answer;
use super::super::failure::Failure;
use super::super::schema::{form_of, read_value};
use super::needs::{Has, Model, Needs, Roots, User};
use super::principal::principal_of;
use super::progress::Progress;

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

impl<N> Client<N> {
    pub(crate) fn new(asker: Asker, changes: Changes) -> Client<N> {
        Client { asker, changes, needs: PhantomData }
    }

    /// The request that is worked on: which revision governs it, what the client can do, whether it was cancelled.
    pub fn context(&self) -> Context {
        self.asker.context()
    }

    /// The principal that makes the request: over HTTP, what the function of `ServerOptions::principal` has named.
    pub fn principal(&self) -> Option<String> {
        principal_of(&self.context())
    }

    /// The same client with other needs, if it can do what they say: for a tool that does more where it can.
    ///
    /// ```
    /// # use mcp_kit::{Client, Failure, User};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Sure { yes: bool }
    /// async fn is_sure(client: &Client) -> Result<bool, Failure> {
    ///     match client.able_to::<User>() {
    ///         Some(client) => Ok(client.ask::<Sure>("Sure?").await?.accepted().is_some_and(|sure| sure.yes)),
    ///         None => Ok(true),
    ///     }
    /// }
    /// ```
    pub fn able_to<M: Needs>(&self) -> Option<Client<M>> {
        let declared = M::are_met(&self.context().meta().client_capabilities);
        declared.then(|| Client::new(self.asker.clone(), self.changes.clone()))
    }

    /// What the client is asked with below, for questions that this type does not have: by URL, or by names of your own. A
    /// question that the client does not declare is not asked.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Notifies the clients that have subscribed: the list of tools has changed, or a resource.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Reports how far the work has come, and with [`message`](Progress::message) what is being done. Nothing is sent if the
    /// client does not want to know. It fails if the client is gone, or `done` is not more than in the report before.
    pub fn progress(&self, done: impl Into<Number>, total: impl Into<Number>) -> Progress {
        self.progress_so_far(done).total(total)
    }

    /// The same where it is not known how much there is to do.
    pub fn progress_so_far(&self, done: impl Into<Number>) -> Progress {
        Progress::new(self.context(), done)
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
        Box::pin(async move {
            let form = form_of::<T>()?;
            let answer = self.asker.elicit(ElicitFormParams::new(message, form)).await?;
            Ok(match answer.action {
                ElicitAction::Accept => {
                    let content = to_value(answer.content.unwrap_or_default())?;
                    let filled_in = read_value(content);
                    Answer::Accepted(
                        filled_in.map_err(|misfit| format!("the client's answer does not fit: {misfit}"))?,
                    )
                }
                ElicitAction::Decline => Answer::Declined,
                // To dismiss a form is to say nothing.
                _ => Answer::Cancelled,
            })
        })
    }

    /// Asks the client's model to answer a text, with at most so many tokens. What it says that is not text is left out.
    ///
    /// # Errors
    /// If the client does not answer.
    pub fn sample(&self, text: impl Into<String>, most_tokens: i64) -> BoxFuture<'_, Result<String, Failure>>
    where
        N: Has<Model>,
    {
        let asked = SamplingMessage::new(Role::User, TextContent::new(text));
        let answer = self.create_message(CreateMessageParams::new([asked], most_tokens));
        Box::pin(async move { Ok(answer.await?.content.first_text().unwrap_or_default().to_owned()) })
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
        Box::pin(async move { Ok(self.asker.create_message(params).await?) })
    }

    /// Asks for the directories in which the server may work.
    ///
    /// # Errors
    /// If the client does not answer.
    pub fn list_roots(&self) -> BoxFuture<'_, Result<ListRootsResult, Failure>>
    where
        N: Has<Roots>,
    {
        Box::pin(async move { Ok(self.asker.list_roots().await?) })
    }
}

impl<N> fmt::Debug for Client<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("context", &self.context()).finish_non_exhaustive()
    }
}
