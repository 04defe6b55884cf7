//! [`ClientLog`]: what tools write with `tracing`, in the log of the client that they work for.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_protocols::eras::Asker;
use mcp_protocols::eras::types::{LoggingLevel, LoggingMessageParams, Object};
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context as OfLayer;

/// How many events of one request may wait until they are written.
const WAITING: usize = 256;
/// How many bytes of a field are written.
const LONGEST: usize = 8 * 1024;
/// The crates below, whose events are about the connection and not about the work.
const BELOW: [&str; 4] = ["mcp_runtime", "mcp_protocols", "mcp_kit", "mcp_auth"];

/// A layer of `tracing-subscriber`: what a tool, a prompt or a resource writes with the macros of `tracing` while it works for a
/// client goes into the log that this client sees, from the severity on that it wants. Other events are not forwarded: those of
/// tasks that the tool has spawned, and those of this library. The target is the name of the logger, and the fields are its data.
///
/// ```
/// use mcp_kit::ClientLog;
/// use tracing_subscriber::layer::SubscriberExt;
///
/// // With it, any other layer: one that writes to the standard error, for example.
/// let subscriber = tracing_subscriber::registry().with(ClientLog::new());
/// # let _guard = tracing::subscriber::set_default(subscriber);
/// ```
///
/// A filter of the layer decides what is forwarded at all:
/// `ClientLog::new().with_filter(LevelFilter::INFO)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientLog(());

impl ClientLog {
    /// A layer that forwards every event.
    pub fn new() -> ClientLog {
        ClientLog(())
    }
}

impl<S: Subscriber> Layer<S> for ClientLog {
    fn on_event(&self, event: &Event<'_>, _: OfLayer<'_, S>) {
        let target = event.metadata().target();
        if BELOW.contains(&target.split("::").next().unwrap_or_default()) {
            return;
        }
        // It fails where no client is worked for.
        let _ = LINES.try_with(|lines| lines.add(line(event)));
    }
}

tokio::task_local! {
    /// Where the events of this task go.
    static LINES: Lines;
}

/// The events of one request that wait to be written.
///
/// Invariant: no more than [`WAITING`] wait; those that find no room are counted.
struct Lines {
    waiting: mpsc::Sender<LoggingMessageParams>,
    lost: Arc<AtomicUsize>,
}

impl Lines {
    fn add(&self, line: LoggingMessageParams) {
        if self.waiting.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Does the work of a request, and writes what it logs meanwhile, each line to the round that is answered then. If the client does
/// not read, the work waits.
pub(super) async fn logged<F: Future>(asker: Asker, work: F) -> F::Output {
    let (sender, mut waiting) = mpsc::channel(WAITING);
    let lost = Arc::new(AtomicUsize::new(0));
    let work = LINES.scope(Lines { waiting: sender, lost: Arc::clone(&lost) }, work);
    tokio::pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            // In the same turn: if the work has asked the client meanwhile, this round ends with it.
            Some(line) = waiting.recv() => {
                write(&asker, line).await;
                while let Ok(line) = waiting.try_recv() {
                    write(&asker, line).await;
                }
            }
        }
    };
    while let Ok(line) = waiting.try_recv() {
        write(&asker, line).await;
    }
    let lost = lost.load(Ordering::Relaxed);
    if lost > 0 {
        let text = format!("{lost} more lines were logged at once than there is room for");
        write(&asker, LoggingMessageParams::new(LoggingLevel::Warning, Value::String(text))).await;
    }
    done
}

async fn write(asker: &Asker, line: LoggingMessageParams) {
    // A client that is gone reads no log.
    let _ = asker.context().log(line).await;
}

/// An event as a client reads it: its text alone, or an object if it has fields.
fn line(event: &Event<'_>) -> LoggingMessageParams {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let mut fields = fields.0;
    let data = match fields.len() {
        1 => fields.remove("message").unwrap_or(Value::Object(fields)),
        _ => Value::Object(fields),
    };
    let level = match *event.metadata().level() {
        Level::ERROR => LoggingLevel::Error,
        Level::WARN => LoggingLevel::Warning,
        Level::INFO => LoggingLevel::Info,
        _ => LoggingLevel::Debug,
    };
    LoggingMessageParams::new(level, data).logger(event.metadata().target())
}

/// The fields of an event.
#[derive(Default)]
struct Fields(Object);

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn add_text(&mut self, field: &Field, mut text: String) {
        if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or_default());
            text.push('…');
        }
        self.add(field, text);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add_text(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_text(field, value.to_owned());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add_text(field, value.to_string());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }
}
