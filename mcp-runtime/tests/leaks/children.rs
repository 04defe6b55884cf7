//! Sessions with child processes.

use std::process::Command;
use std::time::Duration;

use mcp_runtime::transport::{Child, ShutdownTimes};

use super::help_desk::{Greeting, Visitor};
use super::{Count, Settings, a_thousand, greet, run};

/// Short, because many of these children have to be waited for.
const MOMENT: Duration = Duration::from_millis(2);
const HOUR: Duration = Duration::from_secs(3600);

/// The other side of the handshake.
const WELCOME: &str =
    r#"read hello; echo '{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":{}}}}'; read ready; "#;

fn start(script: &str, times: ShutdownTimes, settings: &Settings) -> Visitor<Greeting> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{WELCOME}{script}")]);
    let child = Child::builder(command).shutdown_times(times).on_stderr_line(|_| {}).spawn().unwrap();
    Visitor::with_options(child, settings.options())
}

const WAYS: usize = 8;

async fn one(way: usize, settings: &Settings) {
    let patient = ShutdownTimes::new().flush(HOUR).after_eof(HOUR).after_terminate(HOUR).linger(HOUR);
    let brief = ShutdownTimes::new().flush(MOMENT).after_eof(MOMENT).after_terminate(MOMENT).linger(MOMENT);
    match way {
        // It ends when its input does.
        0 => {
            let visitor = greet(start("read rest", patient, settings)).await.unwrap();
            visitor.close().await.unwrap();
        }
        // It exits by itself, under a call.
        1 => {
            let visitor =
                greet(start("read question; echo oops >&2; exit 3", patient, settings)).await.unwrap();
            visitor.ask("?".into()).await.unwrap_err();
            drop(visitor);
        }
        // It ignores the end of its input, and then the signal, too.
        2 => {
            let visitor = greet(start("exec sleep 3600", brief, settings)).await.unwrap();
            visitor.close().await.unwrap();
        }
        3 => {
            let visitor = greet(start("trap '' TERM; exec sleep 3600", brief, settings)).await.unwrap();
            visitor.close().await.unwrap();
        }
        // The value goes under running calls; before anything was said; and with the process half-way started.
        4 => {
            let visitor = greet(start("exec sleep 3600", brief, settings)).await.unwrap();
            let handle = visitor.handle();
            let call = tokio::spawn(handle.look(None));
            tokio::task::yield_now().await;
            visitor.abort();
            call.await.unwrap().unwrap_err();
        }
        5 => drop(start("exec sleep 3600", brief, settings)),
        6 => drop(Child::spawn(Command::new("cat")).unwrap()),
        // It is not a server, and another process kills it.
        _ => {
            let visitor =
                greet(start("echo nonsense; echo more >&2; kill -KILL $$", brief, settings)).await.unwrap();
            visitor.look(None).await.unwrap_err();
        }
    }
}

#[test]
fn a_thousand_children_leave_nothing() {
    run(a_thousand(WAYS, one));
}

#[test]
fn a_child_that_is_kept_is_counted() {
    run(async {
        let settings = Settings::default();
        let before = Count::now(&settings);
        let patient = ShutdownTimes::new().flush(HOUR).after_eof(HOUR).after_terminate(HOUR).linger(HOUR);
        let visitor = greet(start("read rest", patient, &settings)).await.unwrap();
        let during = Count::now(&settings);
        assert_eq!((during.children, during.sessions), (before.children + 1, 1));
        assert!(during.files > before.files);
        visitor.close().await.unwrap();
        before.comes_back(&settings).await;
    });
}
