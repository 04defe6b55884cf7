//! The calls of a [`Client`].

use std::fmt;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use mcp_runtime::Error;

use super::answerers::{Answerer, OfCall};
use super::connected::{Client, Way};
use crate::mcp_2026_07_28::types::{
    CallToolParams, CallToolResult, CompleteParams, CompleteResult, GetPromptParams, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingMessageParams, PaginatedParams, ProgressParams, ReadResourceParams, ReadResourceResult,
};
use crate::rounds::{RoundsError, User};

/// A call that is sent when it is awaited.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'a, U, R> {
    client: &'a Client<U>,
    request: R,
    settings: CallSettings,
}

/// How a call is made, each round of it.
#[derive(Clone, Default)]
pub struct CallSettings {
    timeout: Option<Duration>,
    on_progress: Option<OnProgress>,
    own: OfCall,
}

type OnProgress = Arc<Mutex<dyn FnMut(ProgressParams) + Send>>;

impl<U, R> Call<'_, U, R> {
    /// How long each round of the call may take. One that takes longer is cancelled, and fails. With a server that has
    /// sessions a call has one round, in which the user answers; otherwise the user answers between two rounds, and takes as
    /// long as it takes. To limit both, put the call into `tokio::time::timeout`: a dropped call is cancelled.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Asks for progress, and hears of it while the call is awaited.
    pub fn on_progress(mut self, on_progress: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.settings.on_progress = Some(Arc::new(Mutex::new(on_progress)));
        self
    }
}

impl<U, R: MayAsk> Call<'_, U, R> {
    /// Has this user answer what the server asks for in this call, in place of the client's own. A proxy has its own client
    /// answer, with the [`Asker`](crate::eras::Asker) of the request that it works on. The client has to declare what is
    /// answered.
    ///
    /// In a session a question does not say to which call it belongs. It goes to this user if no other such call runs, and to
    /// the client's own otherwise. What is still asked for a call that was dropped counts as asked in the call that runs by
    /// then. Open a client for each of those who may be asked.
    pub fn answered_by(mut self, user: impl User + 'static) -> Self {
        self.settings.own.answerer = Some(Answerer::new(user));
        self
    }

    /// Takes what the server logs for this call, in place of the client's own
    /// [`on_log`](crate::eras::Connector::on_log). A proxy passes it on to its own client. A server of 2026-07-28
    /// logs what `params.meta` asks for; in a session, what the client has asked for, or as much as the server likes.
    ///
    /// A message of the log does not say to which call it belongs. It goes to this call if no other such call runs,
    /// and to the client's own otherwise. What is still logged for a call that was dropped counts as that of the call
    /// that runs by then.
    pub fn on_log(mut self, on_log: impl Fn(LoggingMessageParams) + Send + Sync + 'static) -> Self {
        self.settings.own.on_log = Some(Arc::new(on_log));
        self
    }
}

impl<'a, U: User + 'static, R: Request> IntoFuture for Call<'a, U, R> {
    type Output = Result<R::Result, R::Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.request.send(self.client, self.settings)
    }
}

impl<U, R> fmt::Debug for Call<'_, U, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Call").finish_non_exhaustive()
    }
}

/// The params of a request that a [`Client`] sends.
pub trait Request: private::Sealed + Send + Sized + 'static {
    /// What the call returns.
    type Result: 'static;

    /// How the call fails.
    type Error: 'static;

    #[doc(hidden)]
    fn send<U: User + 'static>(
        self,
        client: &Client<U>,
        settings: CallSettings,
    ) -> BoxFuture<'_, Result<Self::Result, Self::Error>>;
}

/// The params of a request in which the server may ask for something.
pub trait MayAsk: Request {}

mod private {
    pub trait Sealed {}
}

/// Makes a call of either era as the settings say.
macro_rules! set {
    ($call:expr, $settings:expr) => {{
        let mut call = $call;
        if let Some(timeout) = $settings.timeout {
            call = call.timeout(timeout);
        }
        if let Some(on_progress) = $settings.on_progress.clone() {
            call = call.on_progress(move |progress| {
                // If the program's code panics, its state is what it has left behind.
                on_progress.lock().unwrap_or_else(PoisonError::into_inner)(progress.into());
            });
        }
        call
    }};
}

/// One request of a client: its type, its method, and how it is sent in each era.
macro_rules! request {
    (
        $(#[$documentation:meta])*
        $kind:ident: $method:ident($params:ident) -> $result:ident or $error:ident,
        |$client:ident, $given:ident, $settings:ident| $requests:ident => $send:expr, $session:ident => $call:expr
    ) => {
        #[doc = concat!("The request of [`Client::", stringify!($method), "`].")]
        #[derive(Debug)]
        pub struct $kind($params);

        impl private::Sealed for $kind {}

        impl Request for $kind {
            type Result = $result;
            type Error = $error;

            fn send<U: User + 'static>(
                self,
                $client: &Client<U>,
                $settings: CallSettings,
            ) -> BoxFuture<'_, Result<$result, $error>> {
                let $given = self.0;
                Box::pin(async move {
                    match &$client.way {
                        Way::Requests($requests) => $send,
                        Way::Session($session) => $call,
                    }
                })
            }
        }

        impl<U: User + 'static> Client<U> {
            $(#[$documentation])*
            pub fn $method(&self, params: $params) -> Call<'_, U, $kind> {
                Call { client: self, request: $kind(params), settings: CallSettings::default() }
            }
        }
    };
}

/// Requests for a page of a list.
macro_rules! lists {
    ($($(#[$documentation:meta])* $kind:ident: $method:ident -> $result:ident;)*) => { $(
        request! {
            $(#[$documentation])*
            $kind: $method(PaginatedParams) -> $result or Error,
            |client, params, settings|
                requests => set!(requests.$method(params), settings).await,
                session => {
                    set!(session.client.$method(Some(params.into())), settings).await.map(Into::into)
                }
        }
    )* };
}

/// Requests that may take several rounds.
macro_rules! rounds {
    ($($(#[$documentation:meta])* $kind:ident: $method:ident($params:ident) -> $result:ident;)*) => { $(
        impl MayAsk for $kind {}

        request! {
            $(#[$documentation])*
            $kind: $method($params) -> $result or RoundsError,
            |client, params, settings|
                requests => {
                    let _running = client.calls.begin(settings.own.clone());
                    let call = |params| set!(requests.$method(params), settings);
                    match settings.own.answerer.clone() {
                        Some(answerer) => client.answering.with_user(answerer).call(params, call).await,
                        None => client.answering.call(params, call).await,
                    }
                },
                session => {
                    let _running = client.calls.begin(settings.own.clone());
                    let call = set!(session.client.$method(params.into()), settings);
                    call.await.map(Into::into).map_err(RoundsError::Call)
                }
        }
    )* };
}

lists! {
    /// Lists the server's tools, one page at a time.
    ListTools: list_tools -> ListToolsResult;
    /// Lists the server's resources, one page at a time.
    ListResources: list_resources -> ListResourcesResult;
    /// Lists the server's resource templates, one page at a time.
    ListResourceTemplates: list_resource_templates -> ListResourceTemplatesResult;
    /// Lists the server's prompts, one page at a time.
    ListPrompts: list_prompts -> ListPromptsResult;
}

rounds! {
    /// Calls a tool. What the server asks for meanwhile the user answers.
    CallTool: call_tool(CallToolParams) -> CallToolResult;
    /// Reads the contents of a resource. What the server asks for meanwhile the user answers.
    ReadResource: read_resource(ReadResourceParams) -> ReadResourceResult;
    /// Gets a prompt with its arguments filled in. What the server asks for meanwhile the user answers.
    GetPrompt: get_prompt(GetPromptParams) -> GetPromptResult;
}

request! {
    /// Suggests values for an argument of a prompt or of a resource template.
    Complete: complete(CompleteParams) -> CompleteResult or Error,
    |client, params, settings|
        requests => set!(requests.complete(params), settings).await,
        session => set!(session.client.complete(params.into()), settings).await.map(Into::into)
}
