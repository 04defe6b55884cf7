//! The settings of a session, and how a program changes them.

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
pub(super) enum Accepted {
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
    /// The longest message that is read, in bytes; a longer one is answered with an error. Default: 16 MiB.
    pub max_message_bytes: usize,
    /// How deep the brackets of a message may nest. Default: 100, a little less than payloads can be read to.
    pub max_depth: usize,
    /// How many messages one batch may hold, where the protocol permits batches; a longer one is answered with an
    /// error. Default: 1024.
    pub max_batch: usize,
    /// How many replicated inputs may wait in `incoming`; then requests are refused and notifications are dropped.
    /// Default: 1024.
    pub max_incoming: usize,
    /// How many messages of the peer may be held that came before a step of this side which they have to wait for, such
    /// as `initialized` before the result of `initialize`. Then requests are refused with *busy* and notifications are
    /// dropped. Default: 64.
    pub max_early: usize,
    /// How many bytes these messages may take together. Default: 1 MiB.
    pub max_early_bytes: usize,
    /// How many bytes the payloads of the peer's messages may have that wait, or that handlers work on. Beyond it a
    /// request is refused, and a notification dropped; a step of more than 16 KiB that cannot be left out ends the
    /// session. What a payload takes once it is read as its type is not known, and may be several times as much.
    /// Default: 32 MiB.
    pub max_input_bytes: usize,
    /// How many linear inputs may wait to be taken. Then requests are refused, and notifications that change no state
    /// are dropped; anything else ends the session, which cannot go on without it. Default: 1024.
    pub max_linear: usize,
    /// Above this many unwritten bytes, calls and notifications wait before they are written. Default: 1 MiB.
    pub output_high_water: usize,
    /// At this many unwritten bytes the session ends, for the peer does not read. Default: 64 MiB.
    pub output_limit: usize,
    /// How many requests `serve` works on at the same time. Default: 256.
    ///
    /// Each request of this side that waits for its reply makes room for one more: the peer may have to ask something
    /// before it can answer, and that must not wait for a handler which waits for the answer. So calls back and forth
    /// can nest as deep as [`max_requests`](Self::max_requests) allows, whatever this is set to.
    pub max_handlers: usize,
    /// How many requests of the peer may be unanswered at the same time, whether they wait or are worked on; a further
    /// one is refused. Default: 4096.
    pub max_requests: usize,
    /// How many exchanges each side may have running at the same time, steps among them, and how many sub-sessions that
    /// live longer than an exchange there may be. A further request of the peer is refused, one of this side gives
    /// [`Error::NotPermitted`](crate::Error::NotPermitted). Default: 65,536.
    pub max_running: usize,
    /// How fast the peer may make requests; one that comes too soon is refused, with the time to wait in its error.
    /// This counts whatever the protocol permits, pings and handshakes included. Default: as fast as it likes.
    pub request_rate: Option<RateLimit>,
    /// How many progress messages of one call may wait for the call to be polled; older ones are dropped. Default: 64.
    pub max_progress: usize,
    /// How many pages a list may have that is asked for by [`Pages`](crate::call::Pages). Default: 1000.
    pub max_pages: usize,
    /// How long a request may wait while nobody holds `incoming`, before it is answered with *method not found*.
    /// Default: 10 seconds.
    pub unattended_after: Duration,
    /// How long an abandoned session tries to write what it has already been given. Default: 1 second.
    pub abandon_grace: Duration,
    /// How long a session that this side closes lets handlers go on that are working on requests of the peer, whose
    /// replies are still sent. Zero drops them at once. Default: 1 second.
    pub close_grace: Duration,
    /// How long the end of a session may take in all, from `close`, or from when it is over for another reason: the
    /// handlers' [`close_grace`](Self::close_grace), what is still to be written, and the shutdown of a child. Then the
    /// transport is dropped, which kills a child, and `close` returns an error with
    /// [`DisconnectReason::CloseTimedOut`](crate::DisconnectReason::CloseTimedOut). Default: 10 seconds.
    pub close_timeout: Duration,
    /// Whether handlers that still run when the session is over go on to their end. If not, they have
    /// [`close_grace`](Self::close_grace) from the end of the session on; then their futures are dropped. Default: no.
    pub keep_handlers: bool,
    /// How long handlers may go on working for a peer that has said everything and closed its side. It may still wait
    /// for its answers, or be gone for good, which not every transport can tell. Then the session ends. Default: 5
    /// minutes.
    pub answer_grace: Duration,
    /// How long a call, or a request of a linear channel, may wait for its reply where nothing else is said by
    /// [`Call::timeout`](crate::call::Call::timeout), where `Duration::MAX` is without end. Whatever else is sent waits
    /// no longer to be written. Default: without end.
    pub timeout: Option<Duration>,
    /// How long a call may take in all, whatever is reported on it, where nothing else is said by
    /// [`Call::max_timeout`](crate::call::Call::max_timeout). Default: without end.
    pub max_timeout: Option<Duration>,
    /// The member in which the notification that cancels an overdue request says why; `None`: it does not. Default:
    /// `reason`.
    pub cancel_reason: Option<&'static str>,
    /// The member of a progress notification whose number must grow from one to the next on the same request; `None`:
    /// there is no such member. Default: `progress`.
    pub progress_field: Option<&'static str>,
    /// Whether the error that answers a request whose handler panicked carries the text of the panic, which may hold
    /// what is not meant for the peer. Default: no.
    pub reveal_panics: bool,
    required: Vec<Text>,
    tolerated: Vec<Text>,
    pub(super) accepted: Accepted,
    pub(super) revisions: Arc<[Revision]>,
    on_report: Option<OnReport>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_message_bytes: 16 * 1024 * 1024,
            max_depth: 100,
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
            required: Vec::new(),
            tolerated: Vec::new(),
            accepted: Accepted::Own,
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
    /// The defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// Calls `report` with every [`Report`]. It is called on whatever task happens to notice, and should be quick.
    /// A panic in it is told to `tracing` and ends nothing.
    #[must_use]
    pub fn on_report(mut self, report: impl Fn(&Report) + Send + Sync + 'static) -> Options {
        self.on_report = Some(Arc::new(report));
        self
    }

    /// Requires capabilities of the peer, by the constants that generated code has for them or by their paths in the
    /// announcement, `resources.subscribe`. A peer that announces less is not worked with: the step that takes its
    /// announcement fails with [`Error::MissingCapabilities`](crate::Error::MissingCapabilities), which lists all that
    /// is missing; a peer that announces in a request has that refused. Adds to what was required before.
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

    /// Accepts what the peer sends that needs one of these capabilities although it was not announced, and reports each
    /// such message as [`Report::Tolerated`]. Everything else that needs a capability which was
    /// not announced is refused. What this side sends needs its capabilities as before. Adds to what was tolerated
    /// before.
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
            Report::Advice(_) | Report::Tolerated(_) | Report::Dropped { .. } | Report::Early { .. } => {
                tracing::debug!(%report, "session report")
            }
            _ => tracing::warn!(%report, "session report"),
        }
        if let Some(on_report) = &self.on_report
            && let Err(text) = contained(|| on_report(report))
        {
            // Whoever makes the report may be the task that reads, which must not end with it.
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
            .field("required", &self.required)
            .field("tolerated", &self.tolerated)
            .field("accepted", &self.accepted)
            .field("revisions", &self.revisions)
            .finish_non_exhaustive()
    }
}
