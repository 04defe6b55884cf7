//! [`ConnectOptions`]: what a program can do, and how it connects.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_protocols::eras::types::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult, Implementation,
    LoggingLevel, LoggingMessageParams, Root,
};
use mcp_protocols::eras::{ConnectError, Connector, Era};
use mcp_runtime::{Options, Report, RpcError, Transport};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use super::super::answer::Answer;
use super::super::failure::Failure;
use super::super::schema::form_of;
use super::connected::{Connection, OnReport};
use super::handlers::Handlers;
use super::renewed::{AGAIN_AFTER, LONGEST, SHORTEST};

/// What a program that calls servers can do, and how it connects. What it declares follows from the handlers that it has.
///
/// ```no_run
/// use std::process::Command;
///
/// use mcp_kit::transport::Child;
/// use mcp_kit::{Answer, ConnectOptions, Failure};
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Confirm { sure: bool }
///
/// #[derive(Serialize)]
/// struct DeleteNote { id: i64 }
///
/// # async fn example() -> Result<(), Failure> {
/// let options = ConnectOptions::new("my-client", "1.0.0")
///     .on_form(|asked| async move {
///         println!("{}", asked.message);
///         Ok(Answer::Accepted(Confirm { sure: true }))
///     });
/// let notes = options.connect(Child::spawn(Command::new("notes"))?).await?;
/// println!("{}", notes.call_text("delete_note", DeleteNote { id: 7 }).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "`connect` connects"]
pub struct ConnectOptions {
    info: Implementation,
    handlers: Handlers,
    options: Options,
    era: Option<Era>,
    probe: Option<Duration>,
    handshake: Option<Duration>,
    resubscribe: Duration,
    log: Option<(LoggingLevel, OnLog)>,
    on_report: Option<OnReport>,
    problem: Option<String>,
}

type OnLog = Arc<dyn Fn(LoggingMessageParams) + Send + Sync>;

impl ConnectOptions {
    /// A program of this name and version, which answers no questions yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ConnectOptions {
        ConnectOptions {
            info: Implementation::new(name, version),
            handlers: Handlers::default(),
            options: Options::new(),
            era: None,
            probe: None,
            handshake: None,
            resubscribe: AGAIN_AFTER,
            log: None,
            on_report: None,
            problem: None,
        }
    }

    /// Answers forms into a type: those that ask for its fields, with all that the type and the form require. Forms of several
    /// types have a handler each; the first one whose type fits answers.
    pub fn on_form<T, F>(
        mut self,
        answer: impl Fn(ElicitFormParams) -> F + Send + Sync + 'static,
    ) -> ConnectOptions
    where
        T: Serialize + JsonSchema + 'static,
        F: Future<Output = Result<Answer<T>, Failure>> + Send + 'static,
    {
        match form_of::<T>() {
            Ok(fields) => self.handlers.add_form(fields, answer),
            Err(problem) => drop(self.problem.get_or_insert(problem)),
        }
        self
    }

    /// Answers the forms that are of no type, and what is asked at a URL.
    pub fn on_elicitation<F>(
        mut self,
        answer: impl Fn(ElicitParams) -> F + Send + Sync + 'static,
    ) -> ConnectOptions
    where
        F: Future<Output = Result<ElicitResult, Failure>> + Send + 'static,
    {
        self.handlers.set_elicitation(answer);
        self
    }

    /// Has the program's model write the messages that servers ask for.
    pub fn on_sampling<F>(
        mut self,
        answer: impl Fn(CreateMessageParams) -> F + Send + Sync + 'static,
    ) -> ConnectOptions
    where
        F: Future<Output = Result<CreateMessageResult, Failure>> + Send + 'static,
    {
        self.handlers.set_model(answer);
        self
    }

    /// Says in which directories servers may work.
    pub fn on_roots<F>(mut self, roots: impl Fn() -> F + Send + Sync + 'static) -> ConnectOptions
    where
        F: Future<Output = Result<Vec<Root>, Failure>> + Send + 'static,
    {
        self.handlers.set_roots(roots);
        self
    }

    /// Asks servers for the messages of their log, from this severity on.
    pub fn on_log(
        mut self,
        least: LoggingLevel,
        on_log: impl Fn(LoggingMessageParams) + Send + Sync + 'static,
    ) -> ConnectOptions {
        self.log = Some((least, Arc::new(on_log)));
        self
    }

    /// Declares all that servers may ask, and asks for the whole of their logs, for a program that passes calls on to them
    /// for clients of its own, as a gateway does: with [`Connection::pass_on`], those clients answer, and get the log. What is
    /// asked outside of such a call is declined, and what is logged there dropped, unless this program has a handler for it.
    pub fn as_proxy(mut self) -> ConnectOptions {
        self.handlers.decline_the_rest();
        self.log.get_or_insert_with(|| (LoggingLevel::Debug, Arc::new(|_| {})));
        self
    }

    /// Hears what connections report: [`Report::Reconnected`] is a session that the server had lost and that goes on as a new
    /// one. Calls that waited for an answer then have failed; subscriptions and lists of this crate go on.
    pub fn on_report(mut self, on_report: impl Fn(&Report) + Send + Sync + 'static) -> ConnectOptions {
        self.on_report = Some(Arc::new(on_report));
        self
    }

    /// The settings of each connection, but for what hears its reports, which is [`on_report`](Self::on_report).
    pub fn options(mut self, options: Options) -> ConnectOptions {
        self.options = options;
        self
    }

    /// Speaks this era, and does not find out which one the server speaks.
    pub fn era(mut self, era: Era) -> ConnectOptions {
        self.era = Some(era);
        self
    }

    /// How long a server has to say that it speaks revision 2026-07-28, before it is taken for an older one: ten seconds,
    /// if the program does not say otherwise.
    pub fn probe_within(mut self, most: Duration) -> ConnectOptions {
        self.probe = Some(most);
        self
    }

    /// How long a server has to answer `initialize`: what [`Options::timeout`] says, and a minute otherwise, if the program
    /// does not say it here.
    pub fn handshake_within(mut self, most: Duration) -> ConnectOptions {
        self.handshake = Some(most);
        self
    }

    /// How long after a subscription was lost the client subscribes again: one second, if the program does not say
    /// otherwise; not less than 50 milliseconds, and not more than 30 seconds. The wait doubles each time that the
    /// subscription is lost soon or cannot be made, up to 30 seconds.
    pub fn resubscribe_after(mut self, least: Duration) -> ConnectOptions {
        self.resubscribe = least.clamp(SHORTEST, LONGEST);
        self
    }

    /// Connects over a connection that carries its messages in order, such as the standard streams of a child.
    ///
    /// # Errors
    /// See [`ConnectError`]; and if a type of [`on_form`](Self::on_form) has a field that no form has.
    pub async fn connect(&self, transport: impl Transport) -> Result<Connection, ConnectError> {
        let (connector, reconnects, malformed) = self.connector()?;
        let client = connector.connect(transport).await.map_err(|failed| after(&malformed, failed))?;
        Ok(Connection::new(client, reconnects, self.on_report.clone(), self.resubscribe))
    }

    /// Connects to the server of this name, with a connection for each attempt: over HTTP, and to children that do not survive
    /// a request that they do not know.
    ///
    /// ```ignore
    /// let notes = options.connect_to("notes", || HttpClient::new(url)?.header("authorization", "Bearer …")).await?;
    /// ```
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect).
    pub async fn connect_to<T: Transport, E: Into<Box<dyn StdError + Send + Sync>>>(
        &self,
        name: &str,
        open: impl FnMut() -> Result<T, E>,
    ) -> Result<Connection, ConnectError> {
        let (connector, reconnects, malformed) = self.connector()?;
        let client = connector.connect_to(name, open).await.map_err(|failed| after(&malformed, failed))?;
        Ok(Connection::new(client, reconnects, self.on_report.clone(), self.resubscribe))
    }

    /// Connects to a URL, which is a text or a `url::Url`.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect); and if the URL is not one of HTTP.
    #[cfg(feature = "http-client")]
    pub async fn connect_url(&self, url: impl AsRef<str>) -> Result<Connection, ConnectError> {
        let url = url.as_ref();
        self.connect_to(url, || mcp_runtime::transport::http::HttpClient::new(url)).await
    }

    /// What connects, counts how often its connection was opened again, and keeps the first mistake of form.
    fn connector(&self) -> Result<(Connector<Handlers>, watch::Receiver<u64>, FirstMalformed), ConnectError> {
        if let Some(problem) = &self.problem {
            return Err(ConnectError::Open(problem.clone().into()));
        }
        let (count, reconnects) = watch::channel(0);
        let on_report = self.on_report.clone();
        let first = FirstMalformed::default();
        let malformed = Arc::clone(&first);
        let options = self.options.clone().on_report(move |report| {
            match report {
                Report::Reconnected => count.send_modify(|count| *count += 1),
                Report::Malformed { error, id: None } => {
                    first.get_or_init(|| error.clone());
                }
                _ => (),
            }
            if let Some(on_report) = &on_report {
                on_report(report);
            }
        });
        let can = self.handlers.capabilities();
        let mut connector = Connector::new(self.info.clone(), can, self.handlers.clone()).options(options);
        if let Some(era) = self.era {
            connector = connector.era(era);
        }
        if let Some(most) = self.probe {
            connector = connector.probe_within(most);
        }
        if let Some(most) = self.handshake {
            connector = connector.handshake_within(most);
        }
        if let Some((least, on_log)) = self.log.clone() {
            connector = connector.on_log(least, move |line| on_log(line));
        }
        Ok((connector, reconnects, malformed))
    }
}

/// What is wrong with the first input from a server that is not a message.
type FirstMalformed = Arc<OnceLock<RpcError>>;

/// Why connecting failed, with what the server had sent in place of messages.
fn after(malformed: &FirstMalformed, failed: ConnectError) -> ConnectError {
    match malformed.get().cloned() {
        Some(first) => ConnectError::NotMessages { first, failed: Box::new(failed) },
        None => failed,
    }
}

impl fmt::Debug for ConnectOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ConnectOptions");
        shown.field("info", &self.info).field("handlers", &self.handlers).finish_non_exhaustive()
    }
}
