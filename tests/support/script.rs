//! An endpoint that does as it is told, in the place of a session's engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "these are tests")]

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_runtime::driver::{Delivery, End, Endpoint, Outcome, Output, Received};
use tokio::sync::Notify;

/// What has reached the endpoint, each message on a line, and what it is going to say.
#[derive(Default)]
pub struct Seen {
    pub input: Vec<u8>,
    pub pieces: usize,
    pub end: Option<End>,
    pub output_error: Option<io::Error>,
    pub confirmed: usize,
    pub taken: usize,
    pub ticks: Vec<Instant>,
    pub outcome: Option<Outcome>,
    output: VecDeque<Vec<u8>>,
    /// Each line that comes in goes out again.
    echo: bool,
    finished: bool,
    /// Finishes when the input has ended, as a server does.
    finish_at_end: bool,
    abandoned: bool,
    deadline: Option<Instant>,
    waker: Option<Waker>,
}

impl Seen {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.input).into_owned()
    }
}

#[derive(Clone, Default)]
pub struct Script {
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// A server that answers each line with itself and finishes when its input ends.
    pub fn echo() -> Self {
        let script = Self::new();
        script.change(|seen| {
            seen.echo = true;
            seen.finish_at_end = true;
        });
        script
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let mut seen = self.seen.lock().unwrap();
        let result = change(&mut seen);
        let waker = seen.waker.take();
        drop(seen);
        if let Some(waker) = waker {
            waker.wake();
        }
        self.changed.notify_waiters();
        result
    }

    pub fn send(&self, line: &str) {
        self.change(|seen| seen.output.push_back(format!("{line}\n").into_bytes()));
    }

    pub fn finish(&self) {
        self.change(|seen| seen.finished = true);
    }

    pub fn abandon(&self) {
        self.change(|seen| seen.abandoned = true);
    }

    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.change(|seen| seen.deadline = deadline);
    }

    pub fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }

    /// Waits until `condition` holds.
    pub async fn until(&self, condition: impl Fn(&Seen) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.look(&condition) {
                return;
            }
            changed.await;
        }
    }

    pub async fn until_terminated(&self) -> Outcome {
        self.until(|seen| seen.outcome.is_some()).await;
        self.look(|seen| seen.outcome.clone().unwrap())
    }
}

impl Endpoint for Script {
    fn receive(&self, delivery: Delivery<'_>, _now: Instant) -> Received {
        self.change(|seen| {
            assert!(seen.end.is_none() && seen.outcome.is_none(), "no input after its end");
            seen.pieces += 1;
            delivery.for_each(|message| {
                if message.is_empty() {
                    return;
                }
                let line = [message, b"\n"].concat();
                seen.input.extend_from_slice(&line);
                if seen.echo {
                    seen.output.push_back(line);
                }
            });
        });
        Received::default()
    }

    fn input_ended(&self, why: End) {
        self.change(|seen| {
            assert!(seen.end.is_none() && seen.outcome.is_none(), "one end only");
            seen.end = Some(why);
            seen.finished |= seen.finish_at_end;
        });
    }

    fn poll_output(&self, context: &mut Context<'_>, into: &mut Vec<u8>, room: usize) -> Poll<Output> {
        let mut seen = self.seen.lock().unwrap();
        assert!(seen.outcome.is_none(), "nothing is asked after the end");
        if seen.abandoned {
            return Poll::Ready(Output::Abandoned);
        }
        let before = into.len();
        while into.len() - before < room {
            let Some(line) = seen.output.pop_front() else { break };
            assert!(seen.output_error.is_none(), "no room after a failure");
            into.extend_from_slice(&line);
            seen.taken += line.len();
        }
        if into.len() > before {
            self.changed.notify_waiters();
            return Poll::Ready(Output::Bytes);
        }
        seen.waker = Some(context.waker().clone());
        let failed = seen.output_error.is_some();
        if seen.finished && (seen.output.is_empty() || failed) {
            Poll::Ready(Output::Finished)
        } else {
            Poll::Pending
        }
    }

    fn wrote(&self) {
        self.change(|seen| seen.confirmed = seen.taken);
    }

    fn output_failed(&self, error: io::Error) {
        self.change(|seen| {
            assert!(seen.output_error.is_none(), "one failure only");
            seen.output_error = Some(error);
        });
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.look(|seen| seen.deadline)
    }

    fn tick(&self, now: Instant) {
        self.change(|seen| {
            let deadline = seen.deadline.take().expect("a tick is for a deadline");
            assert!(now >= deadline, "not before the deadline");
            seen.ticks.push(now);
        });
    }

    fn terminated(&self, outcome: Outcome) {
        self.change(|seen| {
            assert!(seen.outcome.is_none(), "one outcome only");
            seen.outcome = Some(outcome);
        });
    }
}

/// Fails a test that hangs. Nothing else depends on the time.
pub async fn guarded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs")
}
