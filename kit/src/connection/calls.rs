//! Calls of tools, with the types of a program.

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{CallToolParams, CallToolResult, Number, Object, ProgressParams};
use mcp_protocols::rounds::RoundsError;
use mcp_runtime::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::schema::{read_text, read_value};
use super::arguments::members_of;
use super::connected::Connection;

/// A call of a tool that is sent when it is awaited. What the tool asks meanwhile the handlers of the program answer.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'a, T> {
    connection: &'a Connection,
    tool: String,
    arguments: Result<Object, String>,
    timeout: Option<Duration>,
    on_progress: Option<OnProgress>,
    read: fn(&str, CallToolResult) -> Result<T, CallError>,
}

type OnProgress = Box<dyn FnMut(ProgressParams) + Send>;

impl Connection {
    /// Calls a tool. Its arguments are the members of a value: a struct, a map, or `()`. What it returns is read as a type from its
    /// structured content, or from its text, where the server speaks a revision that knows only text.
    ///
    /// ```no_run
    /// # use mcp_kit::{Connection, Failure};
    /// #[derive(serde::Serialize)]
    /// struct AddNote<'a> { text: &'a str }
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Added { id: i64 }
    ///
    /// # async fn example(notes: &Connection) -> Result<(), Failure> {
    /// let added: Added = notes.call("add_note", AddNote { text: "buy milk" }).await?;
    /// # drop(added.id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<T: DeserializeOwned>(
        &self,
        tool: impl Into<String>,
        arguments: impl Serialize,
    ) -> Call<'_, T> {
        self.call_as(tool, arguments, structured)
    }

    /// Calls a tool that returns text.
    pub fn call_text(&self, tool: impl Into<String>, arguments: impl Serialize) -> Call<'_, String> {
        self.call_as(tool, arguments, |_, result| {
            let texts = result.content.iter().filter_map(|block| block.as_text());
            Ok(texts.collect::<Vec<_>>().join("\n"))
        })
    }

    /// Calls a tool, and returns its result as it is.
    pub fn call_tool(&self, tool: impl Into<String>, arguments: impl Serialize) -> Call<'_, CallToolResult> {
        self.call_as(tool, arguments, |_, result| Ok(result))
    }

    fn call_as<T>(
        &self,
        tool: impl Into<String>,
        arguments: impl Serialize,
        read: fn(&str, CallToolResult) -> Result<T, CallError>,
    ) -> Call<'_, T> {
        let arguments = members_of(arguments);
        Call { connection: self, tool: tool.into(), arguments, timeout: None, on_progress: None, read }
    }
}

impl<T> Call<'_, T> {
    /// How long each round of the call may take. One that takes longer is cancelled, and fails. With a server that has
    /// sessions a call has one round, in which the user answers; otherwise the user answers between two rounds, and takes as
    /// long as it takes. To limit both, put the call into `tokio::time::timeout`: a dropped call is cancelled.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks for progress, and hears of it while the call is awaited: how much is done, and of how much.
    pub fn on_progress(self, mut on_progress: impl FnMut(Number, Option<Number>) + Send + 'static) -> Self {
        self.on_progress_report(move |report| on_progress(report.progress, report.total))
    }

    /// The same with all that the server reports: its `message` says what is being done.
    pub fn on_progress_report(mut self, on_progress: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }
}

impl<'a, T: 'a> IntoFuture for Call<'a, T> {
    type Output = Result<T, CallError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Call { connection, tool, arguments, timeout, on_progress, read } = self;
            let arguments = match arguments {
                Ok(arguments) => arguments,
                Err(problem) => return Err(CallError::Arguments { tool, problem }),
            };
            let client = connection.client();
            let mut call = client.call_tool(CallToolParams::new(&tool, client.meta()).arguments(arguments));
            if let Some(timeout) = timeout {
                call = call.timeout(timeout);
            }
            if let Some(on_progress) = on_progress {
                call = call.on_progress(on_progress);
            }
            let result = call.await.map_err(|error| CallError::Call(Box::new(error)))?;
            match result.is_error {
                Some(true) => Err(CallError::Tool { tool, result: Box::new(result) }),
                _ => read(&tool, result),
            }
        })
    }
}

fn structured<T: DeserializeOwned>(tool: &str, result: CallToolResult) -> Result<T, CallError> {
    let read = match (&result.structured_content, result.first_text()) {
        (Some(value), _) => read_value(value),
        (None, Some(text)) => read_text(text),
        (None, None) => read_value(Value::Null),
    };
    read.map_err(|misfit| {
        let problem = match result.structured_content.is_none() && misfit.inner().is_syntax() {
            true => "it is a text that is not JSON, which `call_text` returns".to_owned(),
            false => misfit.to_string(),
        };
        CallError::Output { tool: tool.to_owned(), problem }
    })
}

impl<T> fmt::Debug for Call<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Call").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// Why a call of a tool has no result.
///
/// ```
/// use mcp_kit::CallError;
///
/// /// What the model of this program reads in place of the result.
/// fn explained(error: &CallError) -> String {
///     match error {
///         // The tool says what is wrong, and the model may call it again.
///         CallError::Tool { result, .. } => result.first_text().unwrap_or("it failed").to_owned(),
///         error => format!("the tool cannot be called: {error}"),
///     }
/// }
/// # let wrong = CallError::Output { tool: "add".to_owned(), problem: "it is a text".to_owned() };
/// # assert!(explained(&wrong).starts_with("the tool cannot be called: the result of `add`"));
/// ```
#[non_exhaustive]
pub enum CallError {
    /// The arguments cannot be sent.
    Arguments {
        /// The name of the tool.
        tool: String,
        /// What is wrong with them.
        problem: String,
    },
    /// The tool has failed, and says why.
    Tool {
        /// The name of the tool.
        tool: String,
        /// What it returned.
        result: Box<CallToolResult>,
    },
    /// The result is not a value of the type that the program reads.
    Output {
        /// The name of the tool.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The call has failed: the server refuses it, or the connection is gone.
    Call(Box<RoundsError>),
}

impl CallError {
    /// The error of the connection: a refusal, a time limit, or its end. `None` if the tool has failed, or its
    /// arguments or its result are not what they should be.
    ///
    /// ```
    /// use mcp_kit::{CallError, Error};
    ///
    /// fn connect_again(error: &CallError) -> bool {
    ///     error.call_error().is_some_and(Error::is_closed)
    /// }
    ///
    /// let wrong = CallError::Output { tool: "add".to_owned(), problem: "it is a text".to_owned() };
    /// assert!(!connect_again(&wrong));
    /// ```
    pub fn call_error(&self) -> Option<&Error> {
        match self {
            CallError::Call(error) => error.call_error(),
            _ => None,
        }
    }
}

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl fmt::Debug for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CallError").field(&self.to_string()).finish()
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Arguments { tool, problem } => {
                write!(formatter, "the arguments of `{tool}` cannot be sent: {problem}")
            }
            CallError::Tool { tool, result } => {
                write!(
                    formatter,
                    "the tool `{tool}` failed: {}",
                    result.first_text().unwrap_or("it does not say why")
                )
            }
            CallError::Output { tool, problem } => {
                write!(formatter, "the result of `{tool}` is not what the program reads: {problem}")
            }
            CallError::Call(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::Call(error) => std::error::Error::source(&**error),
            _ => None,
        }
    }
}
