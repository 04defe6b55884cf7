//! A scripted endpoint, in place of a session's engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use mcp_runtime::driver::{
    Aside, Delivery, End, Endpoint, Epoch, Finish, MessageKind, Outgoing, Outlet, Received, SessionInfo,
    SessionStatus, TransportEvent,
};
use mcp_runtime::session::Outcome;
use tokio::sync::Notify;

/// What has reached the endpoint, each message on a line, and what it is going to say.
#[derive(Default)]
pub struct Seen {
    pub input: Vec<u8>,
    pub pieces: usize,
    pub end: Option<End>,
    pub output_error: Option<io::Error>,
    /// How many bytes of what was said are written.
    pub confirmed: usize,
    said: usize,
    pub ticks: Vec<Instant>,
    pub outcome: Option<Outcome>,
    outlet: Option<Box<dyn Outlet>>,
    /// What was said before there was an outlet.
    early: Vec<Vec<u8>>,
    wakers: Vec<Waker>,
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

    fn say(&mut self, message: &[u8]) {
        let Some(outlet) = &mut self.outlet else { return self.early.push(message.to_vec()) };
        self.said += message.len() + 1;
        let (kind, epoch) = (MessageKind::Error, Epoch::FIRST);
        outlet.take(Outgoing::new(message, kind, epoch), &mut |waker| self.wakers.push(waker));
        self.count_confirmed();
    }

    fn count_confirmed(&mut self) {
        if self.output_error.is_none() {
            let waiting = self.outlet.as_ref().map_or(0, |outlet| outlet.waiting());
            self.confirmed = self.said.saturating_sub(waiting);
        }
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

    /// The place of the session's engine.
    pub fn endpoint(&self) -> Arc<dyn Endpoint> {
        Arc::new(self.clone())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let mut seen = self.seen.lock().unwrap();
        let result = change(&mut seen);
        let wakers: Vec<Waker> = seen.waker.take().into_iter().chain(seen.wakers.drain(..)).collect();
        drop(seen);
        wakers.into_iter().for_each(Waker::wake);
        self.changed.notify_waiters();
        result
    }

    pub fn send(&self, line: &str) {
        self.change(|seen| seen.say(line.as_bytes()));
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
    fn attach(&self, outlet: Box<dyn Outlet>) {
        self.change(|seen| {
            assert!(seen.outlet.is_none(), "one outlet only");
            seen.outlet = Some(outlet);
            let early = std::mem::take(&mut seen.early);
            early.into_iter().for_each(|line| seen.say(&line));
        });
    }

    fn receive(&self, delivery: Delivery<'_>, _now: Instant) -> Received {
        self.change(|seen| {
            assert!(seen.end.is_none() && seen.outcome.is_none(), "no input after its end");
            seen.pieces += 1;
            delivery.for_each(|message| {
                if message.is_empty() {
                    return;
                }
                seen.input.extend_from_slice(message);
                seen.input.push(b'\n');
                if seen.echo {
                    seen.say(message);
                }
            });
        });
        Received::default()
    }

    fn notify(&self, event: TransportEvent<'_>) {
        self.change(|seen| match event {
            TransportEvent::Wrote => seen.count_confirmed(),
            TransportEvent::InputEnded(why) => {
                assert!(seen.end.is_none() && seen.outcome.is_none(), "one end only");
                seen.end = Some(why);
                seen.finished |= seen.finish_at_end;
            }
            TransportEvent::OutputFailed(error) => {
                assert!(seen.output_error.is_none(), "one failure only");
                seen.output_error = Some(error);
            }
            TransportEvent::Terminated(outcome) => {
                assert!(seen.outcome.is_none(), "one outcome only");
                seen.outcome = Some(outcome);
            }
            event => panic!("{event:?}"),
        });
    }

    fn status(&self, context: &mut Context<'_>) -> SessionStatus {
        let mut seen = self.seen.lock().unwrap();
        assert!(seen.outcome.is_none(), "nothing is asked after the end");
        seen.waker = Some(context.waker().clone());
        let finish = match *seen {
            Seen { abandoned: true, .. } => Some(Finish::Abandoned),
            Seen { finished: true, .. } => Some(Finish::Complete),
            _ => None,
        };
        SessionStatus::new().with_finish(finish).with_deadline(seen.deadline)
    }

    fn tick(&self, now: Instant) {
        self.change(|seen| {
            let deadline = seen.deadline.take().expect("a tick is for a deadline");
            assert!(now >= deadline, "not before the deadline");
            seen.ticks.push(now);
        });
    }

    fn info(&self) -> SessionInfo {
        SessionInfo::default()
    }

    fn read_aside(&self, _: &[u8]) -> Aside {
        Aside::default()
    }
}

/// Fails a test that hangs. Nothing else depends on the time.
pub async fn guarded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test hangs")
}
