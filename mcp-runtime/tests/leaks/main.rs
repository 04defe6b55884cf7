//! A thousand sessions, ended in every way, leave nothing behind: no task, no open file, no thread, no process, no
//! state of a session.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod help_desk {
    mcp_runtime::protocol!("tests/sessions/help_desk.session");
}

mod children;
mod memory;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use help_desk::{Clerk, Open, Visitor, server};
use mcp_runtime::{Options, RpcError};
use serde_json::json;

/// What this process has open is counted, so one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What there is at a moment.
#[derive(Debug)]
struct Count {
    /// Of the runtime.
    tasks: usize,
    /// Entries of `/proc/self/fd`.
    files: usize,
    /// Entries of `/proc/self/task`, without those of the tests themselves.
    threads: usize,
    /// Processes that have this one as their parent, zombies included.
    children: usize,
    /// Sessions whose settings somebody still holds.
    sessions: usize,
}

impl Count {
    fn now(settings: &Settings) -> Count {
        let entries = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        Count {
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            files: entries("/proc/self/fd"),
            threads: threads(),
            children: children(),
            sessions: Arc::strong_count(&settings.0) - 1,
        }
    }

    /// What there is once all that was started has ended, but for what is made once and kept.
    async fn at_rest(settings: &Settings) -> Count {
        for _ in 0..2000 {
            let now = Count::now(settings);
            if (now.tasks, now.children, now.sessions) == (0, 0, 0) {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("something goes on: {:?}", Count::now(settings));
    }

    /// Whether there is no more of anything than at another moment. There may be less: a file or a thread that was about
    /// to go when the first count was made.
    fn is_within(&self, before: &Count) -> bool {
        self.tasks <= before.tasks
            && self.files <= before.files
            && self.threads <= before.threads
            && self.children <= before.children
            && self.sessions <= before.sessions
    }

    /// Waits until there is no more than there was. What is released may take its time; a leak stays.
    async fn comes_back(self, settings: &Settings) {
        for _ in 0..2000 {
            if Count::now(settings).is_within(&self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("something was left behind: {:?} was {self:?}", Count::now(settings));
    }
}

/// How many threads there are. The harness runs each test in a thread named after it, and these come and go.
fn threads() -> usize {
    let own = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = std::fs::read_to_string(entry.ok()?.path().join("comm")).ok()?;
        let of_tests = ["leaks", "memory::", "children::"].iter().any(|test| name.starts_with(test));
        (!of_tests).then_some(())
    };
    std::fs::read_dir("/proc/self/task").unwrap().filter_map(own).count()
}

/// How many processes have this one as their parent.
fn children() -> usize {
    let own = std::process::id().to_string();
    let parent = |entry: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        // The name stands in parentheses and may hold anything; behind it come the state and the parent.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1).map(str::to_owned)
    };
    std::fs::read_dir("/proc").unwrap().filter_map(parent).filter(|parent| *parent == own).count()
}

/// Settings that know how many hold them.
#[derive(Default)]
struct Settings(Arc<()>);

impl Settings {
    fn options(&self) -> Options {
        let held = Arc::clone(&self.0);
        // A session lives as long as its settings do, and with them what this holds.
        let hold = move |_: &mcp_runtime::Report| {
            let _ = &held;
        };
        Options::new()
            .abandon_grace(Duration::from_millis(1))
            .close_grace(Duration::from_millis(1))
            .on_report(hold)
    }
}

/// Has a thousand sessions that end in so many ways, and wants nothing of them left.
async fn a_thousand(ways: usize, one: impl AsyncFn(usize, &Settings)) {
    let settings = Settings::default();
    // What is made once and kept is made before the count.
    for way in 0..ways {
        one(way, &settings).await;
    }
    let before = Count::at_rest(&settings).await;
    for session in 0..1000 {
        one(session % ways, &settings).await;
    }
    before.comes_back(&settings).await;
}

async fn greet(visitor: Visitor<help_desk::Greeting>) -> Option<Visitor<Open>> {
    let (_, visitor) = visitor.hello(json!({"capabilities": {"approval": {}}})).await.ok()?;
    visitor.send_ready().await.ok()
}

async fn welcome(clerk: Clerk<help_desk::Greeting>) -> Option<Clerk<Open>> {
    let (_, clerk) = clerk.recv_hello().await.ok()?;
    let clerk = clerk.send_welcome(json!({"capabilities": {"questions": {}}})).await.ok()?;
    clerk.recv_ready().await.ok()
}

/// Answers some questions and never the others.
struct Sometimes;

impl server::Handler for Sometimes {
    async fn ask(&self, context: server::Context, question: String) -> Result<String, RpcError> {
        if question == "never" {
            context.cancelled().await;
        }
        Ok(question)
    }
}

/// Runs a test on a runtime that is made for it, and fails it if it hangs.
fn run(test: impl Future<Output = ()>) {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(300), test).await.unwrap();
    });
}
