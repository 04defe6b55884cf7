//! A transport that records what one side reads and writes, message by message.

use mcp_runtime::Transport;
use mcp_runtime::driver::{
    Aside, Delivery, Endpoint, Outgoing, Outlet, OutletNotice, Received, SessionInfo, SessionStatus,
    TransportEvent,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Instant;
use tokio::sync::watch;

/// One message on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// This side has read it.
    Read(Value),
    /// This side has written it.
    Wrote(Value),
}

/// Everything that has passed so far, in the order in which this side saw it.
#[derive(Clone, Debug)]
pub struct Window(watch::Sender<Vec<Line>>);

impl Window {
    /// All messages so far.
    pub fn lines(&self) -> Vec<Line> {
        self.0.borrow().clone()
    }

    fn show(&self, lines: impl IntoIterator<Item = Line>) {
        self.0.send_modify(|all| all.extend(lines));
    }

    /// Waits until the messages so far are as `wanted` says.
    pub async fn until(&self, wanted: impl FnMut(&Vec<Line>) -> bool) {
        // The sender is in our own hands, so the channel cannot close.
        self.0.subscribe().wait_for(wanted).await.unwrap();
    }
}

/// A transport that shows what it carries.
pub struct Tap<T> {
    transport: T,
    window: Window,
}

/// Puts a window into a transport.
pub fn tap<T>(transport: T) -> (Tap<T>, Window) {
    let window = Window(watch::Sender::new(Vec::new()));
    (Tap { transport, window: window.clone() }, window)
}

impl<T: Transport> Transport for Tap<T> {
    fn is_ordered(&self) -> bool {
        self.transport.is_ordered()
    }

    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        self.transport
            .run(Arc::new(Watched { endpoint, window: self.window, answers: Answers::default() }))
            .await;
    }
}

/// The engine's side of the transport, with somebody looking over its shoulder.
struct Watched {
    endpoint: Arc<dyn Endpoint>,
    window: Window,
    /// What was written while a message is being read.
    answers: Answers,
}

type Answers = Arc<Mutex<Option<Vec<Line>>>>;

fn line(message: &[u8], as_line: fn(Value) -> Line) -> Line {
    as_line(serde_json::from_slice(message).unwrap())
}

impl Endpoint for Watched {
    fn attach(&self, outlet: Box<dyn Outlet>) {
        self.endpoint.attach(Box::new(WatchedOutlet {
            outlet,
            window: self.window.clone(),
            answers: Arc::clone(&self.answers),
        }));
    }

    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received {
        let mut received = Received::default();
        delivery.for_each(|message| {
            if message.is_empty() {
                return;
            }
            // The engine sees the message first: who waits for it may rely on the session having it. Its answers are shown
            // behind it all the same.
            *self.answers.lock().unwrap() = Some(Vec::new());
            received = self.endpoint.receive(Delivery::message(message), now);
            let answers = self.answers.lock().unwrap().take().unwrap_or_default();
            self.window.show([line(message, Line::Read)].into_iter().chain(answers));
        });
        received
    }

    fn notify(&self, event: TransportEvent<'_>) {
        self.endpoint.notify(event);
    }

    fn status(&self, context: &mut Context<'_>) -> SessionStatus {
        self.endpoint.status(context)
    }

    fn tick(&self, now: Instant) {
        self.endpoint.tick(now);
    }

    fn info(&self) -> SessionInfo {
        self.endpoint.info()
    }

    fn read_aside(&self, message: &[u8]) -> Aside {
        self.endpoint.read_aside(message)
    }
}

/// The way out, watched too.
#[derive(Debug)]
struct WatchedOutlet {
    outlet: Box<dyn Outlet>,
    window: Window,
    answers: Answers,
}

impl Outlet for WatchedOutlet {
    fn take(&mut self, outgoing: Outgoing<'_>, wake: &mut dyn FnMut(Waker)) -> usize {
        let waiting = self.outlet.take(outgoing, wake);
        let line = line(outgoing.message, Line::Wrote);
        match &mut *self.answers.lock().unwrap() {
            Some(answers) => answers.push(line),
            None => self.window.show([line]),
        }
        waiting
    }

    fn note(&mut self, notice: OutletNotice, wake: &mut dyn FnMut(Waker)) {
        self.outlet.note(notice, wake);
    }

    fn waiting(&self) -> usize {
        self.outlet.waiting()
    }

    fn routes(&self) -> bool {
        self.outlet.routes()
    }
}
