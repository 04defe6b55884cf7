//! Reports on standard error: as text, as JSON lines or as events of `tracing`.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_protocol_machine::protocol::{Side, Strictness};
use mcp_runtime::Report;
use mcp_runtime::session::{LimitedReport, ReportLimit};
use serde_json::{Value, json};

use super::judge::{Remark, Severity, Treatment};
use crate::arguments::ReportFormat;

/// How many reports wait for the thread that writes them.
const WAITING: usize = 1024;
/// How long the program waits at its end for a standard error that is not read.
const GRACE: Duration = Duration::from_secs(1);

/// Hands reports to a thread that writes them. The traffic never waits for it: reports that find no room are counted, and
/// their number is reported. Of many texts that are not messages, and of many failures of single exchanges over HTTP, the
/// first are reported, and then their number.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    /// Nothing, when the program is about to end.
    open: Arc<Mutex<Option<Open>>>,
    lost: Arc<AtomicU64>,
    written: Arc<Mutex<Receiver<()>>>,
}

#[derive(Debug)]
struct Open {
    lines: SyncSender<ReportLine>,
    /// How many there were of the client, of the server, and over HTTP.
    limits: [ReportLimit; 3],
}

/// What there may be many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ManyOf {
    /// Texts of a side that are not messages.
    Malformed(Side),
    /// Messages over HTTP that do not arrive, or are not answered as they should.
    Exchanges,
}

impl ManyOf {
    const ALL: [ManyOf; 3] =
        [ManyOf::Malformed(Side::Client), ManyOf::Malformed(Side::Server), ManyOf::Exchanges];
}

#[derive(Debug)]
struct ReportLine {
    session: Option<u64>,
    content: LineContent,
}

#[derive(Debug)]
enum LineContent {
    Remark(Remark),
    /// Something that concerns no single message.
    Event(String),
}

impl Reporter {
    /// Starts the thread.
    pub(crate) fn start(format: ReportFormat) -> Reporter {
        let (lines, waiting) = sync_channel::<ReportLine>(WAITING);
        let (last, written) = channel();
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::spawn(move || {
            if format == ReportFormat::Tracing {
                let subscriber = tracing_subscriber::fmt().json().with_writer(io::stderr);
                // No other part of the program installs one.
                let _ = subscriber.try_init();
            }
            for line in waiting {
                write(format, &line);
                let lost = counted.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let what =
                        format!("{lost} reports were dropped: standard error was not read fast enough");
                    write(format, &ReportLine { session: None, content: LineContent::Event(what) });
                }
            }
            // Nothing waits for it, if the program has ended.
            let _ = last.send(());
        });
        let open = Open { lines, limits: [ReportLimit::default(); 3] };
        Reporter { open: Arc::new(Mutex::new(Some(open))), lost, written: Arc::new(Mutex::new(written)) }
    }

    pub(super) fn remark(&self, session: Option<u64>, remark: Remark) {
        let many = remark.is_malformed.then_some(ManyOf::Malformed(remark.sender));
        self.content(session, many, LineContent::Remark(remark));
    }

    /// Reports that over HTTP a message does not arrive, or is not answered as it should. Of many, the first are reported.
    pub(super) fn one_of_many(&self, session: Option<u64>, what: impl Into<String>) {
        self.content(session, Some(ManyOf::Exchanges), LineContent::Event(what.into()));
    }

    pub(crate) fn event(&self, session: Option<u64>, what: impl Into<String>) {
        self.content(session, None, LineContent::Event(what.into()));
    }

    /// Reports something, unless it is one of too many.
    fn content(&self, session: Option<u64>, many: Option<ManyOf>, content: LineContent) {
        let mut open = self.lock();
        let Some(open) = open.as_mut() else { return };
        match many.map(|many| (many, open.limit(many).another())) {
            None | Some((_, LimitedReport::Whole)) => self.send(open, session, content),
            Some((many, LimitedReport::Count(count))) => self.send(open, None, counted(many, count)),
            Some((_, LimitedReport::Nothing)) => {}
        }
    }

    fn send(&self, open: &Open, session: Option<u64>, content: LineContent) {
        if let Err(TrySendError::Full(_)) = open.lines.try_send(ReportLine { session, content }) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what there was to report is written, or is not being read. Nothing is reported afterwards.
    pub(crate) fn finish(&self) {
        if let Some(mut open) = self.lock().take() {
            for many in ManyOf::ALL {
                if let Some(count) = open.limit(many).rest() {
                    self.send(&open, None, counted(many, count));
                }
            }
        }
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = written.recv_timeout(GRACE);
    }
}

impl Open {
    fn limit(&mut self, of: ManyOf) -> &mut ReportLimit {
        let [client, server, exchanges] = &mut self.limits;
        match of {
            ManyOf::Malformed(Side::Client) => client,
            ManyOf::Malformed(Side::Server) => server,
            ManyOf::Exchanges => exchanges,
        }
    }
}

/// `server: 40 malformed messages so far: …`
fn counted(many: ManyOf, count: u64) -> LineContent {
    LineContent::Event(match many {
        ManyOf::Malformed(sender) => format!("{}: {}", sender.word(), Report::ManyMalformed { count }),
        ManyOf::Exchanges => {
            format!(
                "{count} failures of single exchanges over HTTP so far: those after the first ones are only counted"
            )
        }
    })
}

fn write(format: ReportFormat, line: &ReportLine) {
    let text = match format {
        ReportFormat::Text => text(line),
        ReportFormat::Json => json(line).to_string(),
        ReportFormat::Tracing => return trace(line),
    };
    // Where standard error is closed, the traffic goes on without reports.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Rule(Strictness::Must) => "must",
        Severity::Rule(Strictness::Should) => "should",
        Severity::Note => "note",
    }
}

fn treatment(treatment: Treatment) -> &'static str {
    match treatment {
        Treatment::Forwarded => "forwarded",
        Treatment::Refused => "refused",
        Treatment::Replaced => "replaced",
        Treatment::Dropped => "dropped",
    }
}

/// `guard: client: refused: …`
fn text(line: &ReportLine) -> String {
    let session = line.session.map(|number| format!("session {number}: ")).unwrap_or_default();
    match &line.content {
        LineContent::Event(what) => format!("guard: {session}{what}"),
        LineContent::Remark(remark) => {
            let treated = match remark.treatment {
                Treatment::Forwarded => String::new(),
                other => format!("{}: ", treatment(other)),
            };
            format!("guard: {session}{}: {treated}{}", remark.sender.word(), remark.text)
        }
    }
}

fn json(line: &ReportLine) -> Value {
    let mut object = match &line.content {
        LineContent::Event(what) => json!({ "kind": "event", "report": what }),
        LineContent::Remark(remark) => json!({
            "kind": "message",
            "sender": remark.sender.word(),
            "level": level(remark.severity),
            "rule": remark.rule,
            "method": remark.method,
            "id": remark.id,
            "treatment": treatment(remark.treatment),
            "report": remark.text,
        }),
    };
    if let (Some(session), Some(object)) = (line.session, object.as_object_mut()) {
        object.insert("session".to_owned(), session.into());
    }
    object
}

/// The names of the fields are those of OpenTelemetry's conventions, where it has them.
fn trace(line: &ReportLine) {
    let session = line.session;
    match &line.content {
        LineContent::Event(what) => tracing::info!(guard.session = session, "{what}"),
        LineContent::Remark(remark) => {
            macro_rules! event {
                ($level:expr) => {
                    tracing::event!(
                        $level,
                        rpc.system.name = "jsonrpc",
                        rpc.method = remark.method,
                        jsonrpc.request.id = remark.id.as_ref().map(tracing::field::display),
                        guard.session = session,
                        guard.sender = remark.sender.word(),
                        guard.level = level(remark.severity),
                        guard.rule = remark.rule,
                        guard.treatment = treatment(remark.treatment),
                        "{}",
                        remark.text
                    )
                };
            }
            match remark.severity {
                Severity::Note => event!(tracing::Level::INFO),
                Severity::Rule(Strictness::Should) => event!(tracing::Level::WARN),
                Severity::Rule(Strictness::Must) => event!(tracing::Level::ERROR),
            }
        }
    }
}
