//! [`Options`], the settings of a session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::protocol::Text;

use super::rate::RateLimit;
use super::timeouts::CallTimeouts;
use crate::panics::contained;
use crate::report::Report;
use crate::revisions::Revision;

/// What is called with every report.
type OnReport = Arc<dyn Fn(&Report) + Send + Sync>;

/// The versions that a session accepts of its peer.
#[derive(Clone, Debug, Default)]
pub(super) enum AcceptedVersions {
    /// The one of the protocol's file.
    #[default]
    Own,
    /// These.
    These(Vec<Text>),
    /// Any.
    Any,
}

/// The settings of a session. Start from [`Options::default`] and change what should differ.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::Options;
///
/// let options = Options::new()
///     .timeout(Duration::from_secs(30))
///     .max_handlers(16)
///     .require(["forecasts"])
///     .on_report(|report| println!("{report}"));
/// assert_eq!(options.max_handlers, 16);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// The longest message that is read, in bytes. A longer one is answered with an error. Default: 16 MiB.
    pub max_message_bytes: usize,
    /// How many levels deep a message may nest. Default: 100, a little below the limit of `serde_json`.
    pub max_depth: usize,
    /// How many messages one batch may hold, where the protocol permits batches; a longer one is answered with an
    /// error. Default: 1024.
    pub max_batch: usize,
    /// How many messages may wait in `incoming`. Beyond it requests are refused and notifications are dropped. Default:
    /// 1024.
    pub max_incoming: usize,
    /// How many early messages of the peer may be held. A message is early if it has to wait for a step of this side,
    /// such as `initialized` before the result of `initialize`. Beyond the limit requests are refused with *busy* and
    /// notifications are dropped. Default: 64.
    pub max_early: usize,
    /// How many bytes the early messages may take together. Default: 1 MiB.
    pub max_early_bytes: usize,
    /// How many bytes of payloads may wait or be worked on by handlers. Beyond it requests are refused and
    /// notifications are dropped; a step of more than 16 KiB ends the session. Decoded payloads are not counted, and
    /// may take several times as much memory. Default: 32 MiB.
    pub max_input_bytes: usize,
    /// How many linear inputs may wait to be taken. Beyond it requests are refused, and notifications that change no
    /// state are dropped. Any other input ends the session, which cannot continue without it. Default: 1024.
    pub max_linear: usize,
    /// Above this many unwritten bytes, calls, notifications, and what handlers return wait before they are written.
    /// Default: 1 MiB.
    pub output_high_water: usize,
    /// At this many unwritten bytes the session ends, because the peer does not read. A single result that would not fit is
    /// replaced by an error, and a request or a notification that would not fit is not sent. Default: 64 MiB.
    pub output_limit: usize,
    /// How many requests `serve` works on at the same time. Default: 256.
    ///
    /// Each request of this side that waits for its reply makes room for one more handler, because the peer may have to
    /// make a request before it can reply. So calls back and forth can nest as deep as
    /// [`max_requests`](Self::max_requests) allows, whatever this is set to.
    pub max_handlers: usize,
    /// How many requests of the peer may be unanswered at the same time. A further one is refused. Default: 4096.
    pub max_requests: usize,
    /// How many exchanges of each side may run at the same time, and how many sub-sessions. A further request of the
    /// peer is refused; one of this side fails with [`Error::NotPermitted`](crate::Error::NotPermitted). Default:
    /// 65,536.
    pub max_running: usize,
    /// How fast the peer may make requests. One that comes too soon is refused, and the error says how long to wait.
    /// All requests count, pings and handshakes included. Default: no limit.
    pub request_rate: Option<RateLimit>,
    /// How many progress messages of one call may wait for the call to be polled; older ones are dropped. Default: 64.
    pub max_progress: usize,
    /// How many pages of a list [`Pages`](crate::call::Pages) reads. Default: 1000.
    pub max_pages: usize,
    /// How long a request may wait while no part of the program holds `incoming`. Then it is answered with *method not
    /// found*. Default: 10 seconds.
    pub unattended_after: Duration,
    /// How long an abandoned session tries to write its pending output. Default: 1 second.
    pub abandon_grace: Duration,
    /// How long handlers may finish requests of the peer after this side has closed the session. Their replies are
    /// still sent. Zero drops the handlers at once. Default: 1 second.
    pub close_grace: Duration,
    /// How long the end of a session may take in all, counted from `close` or from another cause. It includes the
    /// handlers' [`close_grace`](Self::close_grace), pending output, and the shutdown of a child. Then the transport is
    /// dropped, which kills a child, and `close` returns an error with
    /// [`DisconnectReason::CloseTimedOut`](crate::DisconnectReason::CloseTimedOut). Default: 10 seconds.
    pub close_timeout: Duration,
    /// Whether handlers that still run when the session has ended run to their end. If not, they are dropped
    /// [`close_grace`](Self::close_grace) after the end of the session. Default: no.
    pub keep_handlers: bool,
    /// How long handlers may work for a peer that has closed its side. It may still wait for its replies, or be gone,
    /// which not every transport can tell. Then the session ends. Default: 5 minutes.
    pub answer_grace: Duration,
    /// How long a call, or a request of a linear channel, may wait for its reply, unless
    /// [`Call::timeout`](crate::call::Call::timeout) sets another limit. Any other message may wait as long to be
    /// written. `Duration::MAX` disables the limit. Default: no limit.
    pub timeout: Option<Duration>,
    /// How long a call may take in all, however much progress is reported, unless
    /// [`Call::max_timeout`](crate::call::Call::max_timeout) sets another limit. Default: no limit.
    pub max_timeout: Option<Duration>,
    /// The member of a cancelling notification that says why a request timed out; `None`: it has no such member.
    /// Default: `reason`.
    pub cancel_reason: Option<&'static str>,
    /// The member of a progress notification whose number must grow from one to the next on the same request; `None`:
    /// progress notifications have no such member. Default: `progress`.
    pub progress_field: Option<&'static str>,
    /// Whether the error for a request whose handler panicked includes the text of the panic, which may be
    /// confidential. Default: no.
    pub reveal_panics: bool,
    /// Whether payloads are compared with the shapes that the protocol's file has for them, in both directions. One that
    /// does not have its shape is not sent: sending it fails with [`Error::Mismatch`](crate::Error::Mismatch). One of the
    /// peer is a [`Violation`](crate::Violation) and never reaches the program. Default: no, because typed sessions decode
    /// payloads anyway, and many peers write `null` where a field may only be absent.
    pub judge_payloads: bool,
    /// The id of the first request of this side; the others count on from it. Set it where the connection has carried
    /// another session before, whose replies may still come. Default: 0.
    pub first_id: i64,
    required: Vec<Text>,
    tolerated: Vec<Text>,
    pub(super) accepted: AcceptedVersions,
    pub(super) revisions: Arc<[Revision]>,
    on_report: Option<OnReport>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_message_bytes: 16 * 1024 * 1024,
            max_depth: Options::MAX_DEPTH,
            max_batch: 1024,
            max_incoming: 1024,
            max_early: 64,
            max_early_bytes: 1024 * 1024,
            max_input_bytes: 32 * 1024 * 1024,
            max_linear: 1024,
            output_high_water: 1024 * 1024,
            output_limit: 64 * 1024 * 1024,
            max_handlers: 256,
            max_requests: 4096,
            max_running: 65_536,
            request_rate: None,
            max_progress: 64,
            max_pages: 1000,
            unattended_after: Duration::from_secs(10),
            abandon_grace: Duration::from_secs(1),
            close_grace: Duration::from_secs(1),
            close_timeout: Duration::from_secs(10),
            keep_handlers: false,
            answer_grace: Duration::from_secs(300),
            timeout: None,
            max_timeout: None,
            cancel_reason: Some("reason"),
            progress_field: Some("progress"),
            reveal_panics: false,
            judge_payloads: false,
            first_id: 0,
            required: Vec::new(),
            tolerated: Vec::new(),
            accepted: AcceptedVersions::Own,
            revisions: Arc::default(),
            on_report: None,
        }
    }
}

/// A setter for each setting that is a plain value.
macro_rules! setters {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Options {
                self.$name = $name;
                self
            }
        )*
    };
}

impl Options {
    /// How many bytes a result may have, so that it can be written when there is room.
    pub(crate) fn most_payload_bytes(&self) -> usize {
        self.output_limit.saturating_sub(self.output_high_water).max(self.output_limit / 2)
    }

    /// The default of [`max_depth`](Self::max_depth).
    pub(crate) const MAX_DEPTH: usize = 100;

    /// The defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// Calls `report` with every [`Report`]. The call happens on the task that notices, so `report` should be quick. If
    /// it panics, the panic is recorded in `tracing`, and the session continues.
    #[must_use]
    pub fn on_report(mut self, report: impl Fn(&Report) + Send + Sync + 'static) -> Options {
        self.on_report = Some(Arc::new(report));
        self
    }

    /// Requires capabilities of the peer, by the constants of generated code or by their paths in the announcement,
    /// such as `resources.subscribe`. If a capability is missing, the step that takes the announcement fails with
    /// [`Error::MissingCapabilities`](crate::Error::MissingCapabilities), which lists all that are missing. If the
    /// announcement is a request, it is refused; where each request announces what its sender can do, each request is
    /// judged so. Adds to the capabilities required before.
    #[must_use]
    pub fn require<C: AsRef<str>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Options {
        for capability in capabilities {
            let capability = Text::Owned(capability.as_ref().to_owned());
            if !self.required.contains(&capability) {
                self.required.push(capability);
            }
        }
        self
    }

    pub(crate) fn required(&self) -> &[Text] {
        &self.required
    }

    /// Accepts messages of the peer that need one of these capabilities although it was not announced, and reports each
    /// as [`Report::Tolerated`]. Messages that need any other capability that was not announced are refused. Messages
    /// of this side need their capabilities as before. A message that is permitted only `during` requests is tolerated by
    /// its method. Adds to the capabilities tolerated before.
    ///
    /// ```
    /// # use mcp_runtime::Options;
    /// // Many servers send log messages without announcing `logging`.
    /// let options = Options::new().tolerate(["logging"]);
    /// ```
    #[must_use]
    pub fn tolerate<C: AsRef<str>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Options {
        for capability in capabilities {
            let capability = Text::Owned(capability.as_ref().to_owned());
            if !self.tolerated.contains(&capability) {
                self.tolerated.push(capability);
            }
        }
        self
    }

    pub(crate) fn tolerated(&self) -> &[Text] {
        &self.tolerated
    }

    setters! {
        max_message_bytes: usize,
        max_depth: usize,
        max_batch: usize,
        max_incoming: usize,
        max_early: usize,
        max_early_bytes: usize,
        max_input_bytes: usize,
        max_linear: usize,
        output_high_water: usize,
        output_limit: usize,
        max_handlers: usize,
        max_requests: usize,
        max_running: usize,
        max_progress: usize,
        max_pages: usize,
        unattended_after: Duration,
        abandon_grace: Duration,
        close_grace: Duration,
        close_timeout: Duration,
        keep_handlers: bool,
        answer_grace: Duration,
        cancel_reason: Option<&'static str>,
        progress_field: Option<&'static str>,
        reveal_panics: bool,
        judge_payloads: bool,
        first_id: i64,
    }

    /// Sets [`request_rate`](Self::request_rate).
    #[must_use]
    pub fn request_rate(mut self, rate: RateLimit) -> Options {
        self.request_rate = Some(rate);
        self
    }

    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Options {
        self.timeout = Some(timeout);
        self
    }

    /// Sets [`max_timeout`](Self::max_timeout).
    #[must_use]
    pub fn max_timeout(mut self, most: Duration) -> Options {
        self.max_timeout = Some(most);
        self
    }

    /// How long a call may take where nothing else is said.
    pub(crate) fn call_timeouts(&self) -> CallTimeouts {
        CallTimeouts { timeout: self.timeout, most: self.max_timeout, reset_on_progress: false }
    }

    pub(crate) fn report(&self, report: &Report) {
        match report {
            Report::Advice(_)
            | Report::Tolerated(_)
            | Report::Dropped { .. }
            | Report::ManyDropped { .. }
            | Report::Early { .. } => {
                tracing::debug!(%report, "session report")
            }
            _ => tracing::warn!(%report, "session report"),
        }
        if let Some(on_report) = &self.on_report
            && let Err(text) = contained(|| on_report(report))
        {
            // The task that reports may be the one that reads, which must not end with a panic.
            tracing::error!(panic = text.unwrap_or_default(), "`on_report` panicked");
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("max_message_bytes", &self.max_message_bytes)
            .field("max_depth", &self.max_depth)
            .field("max_batch", &self.max_batch)
            .field("max_incoming", &self.max_incoming)
            .field("max_early", &self.max_early)
            .field("max_early_bytes", &self.max_early_bytes)
            .field("max_input_bytes", &self.max_input_bytes)
            .field("max_linear", &self.max_linear)
            .field("output_high_water", &self.output_high_water)
            .field("output_limit", &self.output_limit)
            .field("max_handlers", &self.max_handlers)
            .field("max_requests", &self.max_requests)
            .field("max_running", &self.max_running)
            .field("request_rate", &self.request_rate)
            .field("max_progress", &self.max_progress)
            .field("max_pages", &self.max_pages)
            .field("unattended_after", &self.unattended_after)
            .field("abandon_grace", &self.abandon_grace)
            .field("close_grace", &self.close_grace)
            .field("close_timeout", &self.close_timeout)
            .field("keep_handlers", &self.keep_handlers)
            .field("answer_grace", &self.answer_grace)
            .field("timeout", &self.timeout)
            .field("max_timeout", &self.max_timeout)
            .field("cancel_reason", &self.cancel_reason)
            .field("progress_field", &self.progress_field)
            .field("reveal_panics", &self.reveal_panics)
            .field("judge_payloads", &self.judge_payloads)
            .field("required", &self.required)
            .field("tolerated", &self.tolerated)
            .field("accepted", &self.accepted)
            .field("revisions", &self.revisions)
            .finish_non_exhaustive()
    }
}
