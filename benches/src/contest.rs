//! What every contestant does, and how its calls are counted.

use std::future::Future;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::measure::{Figures, allocations};
use crate::payload::Tool;

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What is called.
    pub tool: Tool,
    /// How many calls run at the same time.
    pub in_flight: usize,
    /// How many calls are measured.
    pub calls: usize,
}

impl Plan {
    /// How many calls there are with those that warm up.
    pub fn all(self) -> usize {
        self.calls + self.warm()
    }

    /// How many come first and are not counted.
    pub fn warm(self) -> usize {
        (self.calls / 10).clamp(self.in_flight, 2_000.max(self.in_flight))
    }
}

/// What can be measured.
pub trait Contestant: Send + 'static {
    /// The server in a child process.
    fn child(plan: Plan) -> impl Future<Output = Done> + Send;

    /// What the child process does.
    fn serve_stdio() -> impl Future<Output = ()> + Send;
}

/// What can be measured in one process as well, for neither end blocks the other.
pub trait InProcess: Contestant {
    /// Both ends in this process.
    fn duplex(plan: Plan) -> impl Future<Output = Done> + Send;

    /// This many connections with both ends in this process, each used once.
    fn idle(connections: usize) -> impl Future<Output = Vec<Box<dyn Send>>> + Send;
}

/// This program, as the server of `who`.
pub fn itself(who: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program knows where it is"));
    command.args(["serve", who]);
    command
}

/// Calls that have finished.
#[derive(Debug)]
pub struct Done {
    plan: Plan,
    seen: usize,
    latencies: Vec<Duration>,
    begun: Option<(Instant, u64)>,
}

impl Done {
    /// None yet.
    pub fn new(plan: Plan) -> Done {
        Done { plan, seen: 0, latencies: Vec::with_capacity(plan.calls), begun: None }
    }

    /// One more.
    pub fn add(&mut self, latency: Duration) {
        self.seen += 1;
        if self.seen > self.plan.warm() {
            self.latencies.push(latency);
        } else if self.seen == self.plan.warm() {
            self.begun = Some((Instant::now(), allocations()));
        }
    }

    /// How many have finished.
    pub fn finished(&self) -> usize {
        self.seen
    }

    /// Whether these were all.
    pub fn is_full(&self) -> bool {
        self.seen >= self.plan.all()
    }

    /// How long each call took.
    pub fn latencies(self) -> Vec<Duration> {
        self.latencies
    }

    /// The figures. To be asked for right after the last call.
    pub fn figures(self) -> Figures {
        let (begun, before) = self.begun.expect("there were calls to warm up");
        Figures::of(self.latencies, begun.elapsed(), allocations() - before)
    }
}

/// Makes the calls of a plan, `in_flight` at a time, each by a task that makes one after the other.
pub async fn drive<C, F>(plan: Plan, call: C) -> Done
where
    C: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = usize> + Send,
{
    let mut done = Done::new(plan);
    if plan.in_flight == 1 {
        while !done.is_full() {
            let start = Instant::now();
            assert_eq!(call().await, plan.tool.length());
            done.add(start.elapsed());
        }
        return done;
    }
    let left = Arc::new(AtomicUsize::new(plan.all()));
    let (finished, mut latencies) = mpsc::unbounded_channel();
    for _ in 0..plan.in_flight {
        let (left, call, finished) = (left.clone(), call.clone(), finished.clone());
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                let start = Instant::now();
                assert_eq!(call().await, plan.tool.length());
                batch.push(start.elapsed());
            }
            // They are handed over at the end, so that counting costs the calls nothing.
            let _ = finished.send(batch);
        });
    }
    drop(finished);
    let begun = (Instant::now(), allocations());
    let mut all = Vec::new();
    while let Some(batch) = latencies.recv().await {
        all.extend(batch);
    }
    assert_eq!(all.len(), plan.all(), "a call has failed");
    Done { plan: Plan { calls: all.len(), ..plan }, seen: all.len(), latencies: all, begun: Some(begun) }
}
