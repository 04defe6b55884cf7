//! A `tracing` subscriber that records the events of the current thread.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

#[derive(Clone, Debug)]
pub struct Told {
    pub level: String,
    pub text: String,
    /// The spans that it stands in, the outermost first.
    pub within: String,
}

#[derive(Clone, Debug)]
pub struct SpanTold {
    pub name: &'static str,
    pub parent: String,
    fields: Vec<(String, String)>,
    path: String,
    handles: usize,
}

impl SpanTold {
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }
}

#[derive(Debug, Default)]
struct Kept {
    spans: BTreeMap<u64, SpanTold>,
    events: Vec<Told>,
    entered: Vec<u64>,
}

type Callback = Arc<dyn Fn() + Send + Sync>;

pub struct Recorder {
    kept: Arc<Mutex<Kept>>,
    _guard: DefaultGuard,
}

struct Listener {
    kept: Arc<Mutex<Kept>>,
    most: Level,
    callback: Option<Callback>,
}

impl Recorder {
    /// Keeps everything of the runtime down to the level `debug`.
    pub fn here() -> Recorder {
        Recorder::new(Level::DEBUG, None)
    }

    pub fn at(most: Level) -> Recorder {
        Recorder::new(most, None)
    }

    /// Calls something with each span and event.
    pub fn calling(callback: impl Fn() + Send + Sync + 'static) -> Recorder {
        Recorder::new(Level::DEBUG, Some(Arc::new(callback)))
    }

    fn new(most: Level, callback: Option<Callback>) -> Recorder {
        // With one subscriber alone, `tracing` asks only the thread that comes to a place first, which may have none, and
        // then no subscriber hears of that place.
        static SECOND: OnceLock<Dispatch> = OnceLock::new();
        SECOND.get_or_init(|| {
            Dispatch::new(Listener { kept: Arc::default(), most: Level::DEBUG, callback: None })
        });
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let listener = Listener { kept: Arc::clone(&kept), most, callback };
        Recorder { kept, _guard: tracing::subscriber::set_default(listener) }
    }

    pub fn events(&self) -> Vec<Told> {
        self.kept.lock().unwrap().events.clone()
    }

    /// The spans, in the order in which they were made.
    pub fn spans(&self, wanted: impl Fn(&SpanTold) -> bool) -> Vec<SpanTold> {
        self.kept.lock().unwrap().spans.values().filter(|span| wanted(span)).cloned().collect()
    }

    /// The spans that are not closed.
    pub fn open(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap();
        kept.spans.values().filter(|span| span.handles > 0).map(|span| span.path.clone()).collect()
    }
}

#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name().to_owned(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name().to_owned(), value.to_owned()));
    }
}

impl Listener {
    fn path(&self, id: Option<u64>) -> String {
        let kept = self.kept.lock().unwrap();
        id.and_then(|id| kept.spans.get(&id)).map(|span| span.path.clone()).unwrap_or_default()
    }

    fn current(&self) -> Option<u64> {
        self.kept.lock().unwrap().entered.last().copied()
    }

    fn call(&self) {
        if let Some(callback) = &self.callback {
            callback();
        }
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most && !metadata.target().starts_with("tokio")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let parent = match attributes.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if attributes.is_root() => None,
            None => self.current(),
        };
        let parent = self.path(parent);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let name = attributes.metadata().name();
        let listed: Vec<_> = fields.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let separator = if parent.is_empty() { "" } else { "/" };
        let path = format!("{parent}{separator}{name}{{{}}}", listed.join(","));
        let mut kept = self.kept.lock().unwrap();
        let id = kept.spans.len() as u64 + 1;
        kept.spans.insert(id, SpanTold { name, parent, fields: fields.0, path, handles: 1 });
        drop(kept);
        self.call();
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = self.kept.lock().unwrap().spans.get_mut(&span.into_u64()) {
            span.fields.extend(fields.0);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let within = match event.parent() {
            Some(parent) => Some(parent.into_u64()),
            None => self.current(),
        };
        let within = self.path(within);
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut text = String::new();
        fields.0.sort_by_key(|(name, _)| name != "message");
        for (name, value) in &fields.0 {
            match name.as_str() {
                "message" => write!(text, "{value}").unwrap(),
                name => write!(text, " {name}={value}").unwrap(),
            }
        }
        let level = event.metadata().level().to_string();
        self.kept.lock().unwrap().events.push(Told { level, text, within });
        self.call();
    }

    fn enter(&self, span: &Id) {
        self.kept.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let mut kept = self.kept.lock().unwrap();
        if let Some(place) = kept.entered.iter().rposition(|entered| *entered == span.into_u64()) {
            kept.entered.remove(place);
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(span) = self.kept.lock().unwrap().spans.get_mut(&span.into_u64()) {
            span.handles += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut kept = self.kept.lock().unwrap();
        let Some(span) = kept.spans.get_mut(&span.into_u64()) else { return false };
        span.handles -= 1;
        span.handles == 0
    }
}
