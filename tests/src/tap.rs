//! A transport with a window: what one side reads and writes, message by message, for tests that look at the wire.

use mcp_runtime::Transport;
use mcp_runtime::driver::{Delivery, End, Endpoint, Outcome, Output, Received};
use serde_json::Value;
use std::io;
use std::task::{Context, Poll};
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
#[derive(Clone)]
pub struct Window(watch::Sender<Vec<Line>>);

impl Window {
    /// All messages so far.
    pub fn lines(&self) -> Vec<Line> {
        self.0.borrow().clone()
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

    async fn run<E: Endpoint>(self, endpoint: E) {
        self.transport.run(Watched { endpoint, window: self.window }).await;
    }
}

/// The engine's side of the transport, with somebody looking over its shoulder.
struct Watched<E> {
    endpoint: E,
    window: Window,
}

impl<E: Endpoint> Endpoint for Watched<E> {
    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received {
        let mut read = Vec::new();
        let mut received = Received::default();
        delivery.for_each(|message| {
            // The engine sees the message first: who waits for it may rely on the session having it.
            received = self.endpoint.receive(Delivery::message(message), now);
            read.extend_from_slice(message);
            read.push(b'\n');
        });
        self.show(&read, Line::Read);
        received
    }

    fn input_ended(&self, why: End) {
        self.endpoint.input_ended(why);
    }

    fn poll_output(&self, context: &mut Context<'_>, into: &mut Vec<u8>, room: usize) -> Poll<Output> {
        let before = into.len();
        let polled = self.endpoint.poll_output(context, into, room);
        self.show(&into[before..], Line::Wrote);
        polled
    }

    fn wrote(&self) {
        self.endpoint.wrote();
    }

    fn output_failed(&self, error: io::Error) {
        self.endpoint.output_failed(error);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.endpoint.next_deadline()
    }

    fn tick(&self, now: Instant) {
        self.endpoint.tick(now);
    }

    fn terminated(&self, outcome: Outcome) {
        self.endpoint.terminated(outcome);
    }
}

impl<E> Watched<E> {
    fn show(&self, lines: &[u8], as_line: fn(Value) -> Line) {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let messages: Vec<Line> = lines.map(|line| as_line(serde_json::from_slice(line).unwrap())).collect();
        if !messages.is_empty() {
            self.window.0.send_modify(|all| all.extend(messages));
        }
    }
}
