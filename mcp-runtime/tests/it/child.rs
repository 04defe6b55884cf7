//! Sessions with real child processes. Tests wait for events, never for a guessed time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::driver::{End, Transport};
use mcp_runtime::session::{Means, Outcome};
use mcp_runtime::transport::{Child, ENVIRONMENT, ShutdownTimes};
use test_support::script::{Script, guarded};

const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(1);

/// Waits that no test lives to see the end of.
const PATIENT: ShutdownTimes =
    ShutdownTimes::new().flush(HOUR).after_eof(HOUR).after_terminate(HOUR).linger(HOUR);

fn shell(text: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]);
    command
}

/// Starts `command` and its session; also gives the process id.
fn start(command: Command, times: ShutdownTimes) -> (Script, u32) {
    let child = Child::builder(command).shutdown_times(times).spawn().unwrap();
    let id = child.id().unwrap();
    let script = Script::new();
    test_support::spawn(child.run(script.endpoint()));
    (script, id)
}

/// Whether there is such a process, a zombie included.
fn exists(id: u32) -> bool {
    let id = rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap();
    rustix::process::test_kill_process(id).is_ok()
}

async fn until_gone(id: u32) {
    while exists(id) {
        tokio::time::sleep(MOMENT).await;
    }
}

#[track_caller]
fn exited(outcome: Outcome) -> (std::process::ExitStatus, Means) {
    match outcome {
        Outcome::Exited { status, after } => (status, after),
        other => panic!("expected an exit, got {other:?}"),
    }
}

#[tokio::test]
async fn talks_and_ends_when_its_input_ends() {
    guarded(async {
        let (script, id) = start(Command::new("cat"), PATIENT);
        script.send("hello");
        script.until(|seen| seen.input == b"hello\n").await;
        script.finish();
        let (status, after) = exited(script.until_terminated().await);
        assert!(status.success());
        assert_eq!(after, Means::EndOfInput);
        assert!(!exists(id), "waited for");
        assert!(script.look(|seen| seen.output_error.is_none()));
    })
    .await;
}

#[tokio::test]
async fn a_megabyte_goes_through_a_child_that_answers_at_once() {
    guarded(async {
        let (script, _) = start(Command::new("cat"), PATIENT);
        let line = "x".repeat(9_999);
        for _ in 0..100 {
            script.send(&line);
        }
        script.finish();
        exited(script.until_terminated().await);
        assert_eq!(script.look(|seen| seen.input.len()), 1_000_000, "late output is drained");
    })
    .await;
}

#[tokio::test]
async fn ignoring_the_end_of_input_brings_the_term_signal() {
    guarded(async {
        let times = PATIENT.after_eof(MOMENT);
        let (script, id) = start(shell("echo ready; exec sleep 3600"), times);
        script.until(|seen| seen.input == b"ready\n").await;
        script.finish();
        let (status, after) = exited(script.until_terminated().await);
        assert_eq!((status.signal(), after), (Some(15), Means::Terminate));
        assert!(!exists(id));
    })
    .await;
}

#[tokio::test]
async fn a_child_may_use_the_term_signal_to_say_goodbye() {
    guarded(async {
        let times = PATIENT.after_eof(MOMENT);
        let command = shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
        let (script, _) = start(command, times);
        script.until(|seen| seen.input == b"ready\n").await;
        script.finish();
        let (status, after) = exited(script.until_terminated().await);
        assert_eq!((status.code(), after), (Some(7), Means::Terminate));
        assert_eq!(script.look(|seen| seen.text()), "ready\nbye\n");
    })
    .await;
}

#[tokio::test]
async fn ignoring_the_term_signal_brings_the_kill_signal() {
    guarded(async {
        let times = PATIENT.after_eof(MOMENT).after_terminate(MOMENT);
        let (script, id) = start(shell("trap '' TERM; echo ready; exec sleep 3600"), times);
        script.until(|seen| seen.input == b"ready\n").await;
        script.finish();
        let (status, after) = exited(script.until_terminated().await);
        assert_eq!((status.signal(), after), (Some(9), Means::Kill));
        assert!(!exists(id));
    })
    .await;
}

#[tokio::test]
async fn a_child_that_does_not_read_cannot_hold_up_the_end() {
    guarded(async {
        let times = PATIENT.flush(MOMENT).after_eof(MOMENT);
        let (script, _) = start(shell("exec sleep 3600"), times);
        script.send(&"x".repeat(1_000_000));
        script.finish();
        let (_, after) = exited(script.until_terminated().await);
        assert_eq!(after, Means::Terminate);
        let kind = script.look(|seen| seen.output_error.as_ref().map(std::io::Error::kind));
        assert_eq!(kind, Some(std::io::ErrorKind::TimedOut));
        let text = script.look(|seen| seen.output_error.as_ref().map(ToString::to_string));
        assert!(text.is_some_and(|text| text.ends_with("see `ShutdownTimes::flush`")));
    })
    .await;
}

#[tokio::test]
async fn an_exit_is_the_reason_why_the_input_ended() {
    guarded(async {
        let (script, id) = start(shell("echo before; exit 3"), PATIENT);
        let (status, after) = exited(script.until_terminated().await);
        assert_eq!((status.code(), after), (Some(3), Means::Nothing));
        assert_eq!(script.look(|seen| seen.text()), "before\n");
        let end = script.look(|seen| seen.end.as_ref().unwrap().to_string());
        assert_eq!(end, "the peer's process has ended (exit status: 3)");
        assert!(!exists(id));
    })
    .await;
}

#[tokio::test]
async fn writing_to_a_child_that_has_exited_ends_the_session() {
    guarded(async {
        let (script, _) = start(shell("exit 0"), PATIENT);
        script.send(&"x".repeat(1_000_000));
        let (status, after) = exited(script.until_terminated().await);
        assert!(status.success());
        assert_eq!(after, Means::Nothing);
    })
    .await;
}

#[tokio::test]
async fn a_child_that_closes_its_output_and_lives_on_has_ended_its_stream() {
    guarded(async {
        let times = PATIENT.after_eof(MOMENT);
        let (script, _) = start(shell("exec >&-; exec sleep 3600"), times);
        script.until(|seen| matches!(seen.end, Some(End::Eof))).await;
        assert!(script.look(|seen| seen.outcome.is_none()));
        script.finish();
        assert_eq!(exited(script.until_terminated().await).1, Means::Terminate);
    })
    .await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_is_not_waited_for_and_ends() {
    guarded(async {
        let times = PATIENT.linger(MOMENT);
        let (script, _) = start(shell("sleep 3600 & echo $!; exit 5"), times);
        let (status, _) = exited(script.until_terminated().await);
        assert_eq!(status.code(), Some(5));
        assert!(script.look(|seen| matches!(seen.end, Some(End::Exited(_)))));
        until_ended(script.look(|seen| seen.text()).trim().parse().unwrap()).await;
    })
    .await;
}

#[tokio::test]
async fn an_abandoned_session_still_ends_its_child() {
    guarded(async {
        let times = PATIENT.after_eof(MOMENT).after_terminate(MOMENT);
        let (script, id) = start(shell("trap '' TERM; echo ready; exec sleep 3600"), times);
        script.until(|seen| seen.input == b"ready\n").await;
        script.abandon();
        assert_eq!(exited(script.until_terminated().await).1, Means::Kill);
        assert!(!exists(id));
    })
    .await;
}

#[tokio::test]
async fn dropping_the_transport_leaves_no_process() {
    guarded(async {
        // Before it runs.
        let child = Child::spawn(shell("trap '' TERM; exec sleep 3600")).unwrap();
        let id = child.id().unwrap();
        drop(child);
        until_gone(id).await;
        // While it runs.
        let child = Child::spawn(shell("trap '' TERM; echo ready; exec sleep 3600")).unwrap();
        let id = child.id().unwrap();
        let script = Script::new();
        let running = test_support::spawn(child.run(script.endpoint()));
        script.until(|seen| seen.input == b"ready\n").await;
        running.abort();
        assert!(matches!(script.until_terminated().await, Outcome::Dropped));
        until_gone(id).await;
    })
    .await;
}

#[test]
fn shutting_the_runtime_down_leaves_no_process() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let id = runtime.block_on(guarded(async {
        let (script, id) = start(shell("trap '' TERM; echo ready; exec sleep 3600"), PATIENT);
        script.until(|seen| seen.input == b"ready\n").await;
        id
    }));
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(guarded(until_gone(id)));
}

#[tokio::test]
async fn error_output_can_be_captured_by_the_line() {
    guarded(async {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let child = Child::builder(shell("echo one >&2; echo out; printf two >&2"))
            .shutdown_times(PATIENT)
            .on_stderr_line(move |line| sink.lock().unwrap().push(line.to_owned()))
            .spawn()
            .unwrap();
        let script = Script::new();
        test_support::spawn(child.run(script.endpoint()));
        exited(script.until_terminated().await);
        // All of it is delivered before the session is notified of its end.
        assert_eq!(*lines.lock().unwrap(), ["one", "two"]);
        assert_eq!(script.look(|seen| seen.text()), "out\n");
    })
    .await;
}

#[tokio::test]
async fn a_child_that_exits_is_distinguished_from_a_broken_pipe() {
    guarded(async {
        // Its input is closed before it says so, hence what is sent then cannot be written.
        let (script, _) = start(shell("exec <&-; echo ready; exit 3"), PATIENT);
        script.until(|seen| seen.input == b"ready\n").await;
        script.send("is anyone there?");
        let (status, after) = exited(script.until_terminated().await);
        assert_eq!((status.code(), after), (Some(3), Means::Nothing));
        assert!(script.look(|seen| seen.output_error.is_none()), "the exit says more than the pipe");
    })
    .await;
}

#[tokio::test]
async fn a_child_that_closes_its_input_and_stays_is_reported_in_time() {
    guarded(async {
        let times = PATIENT.linger(MOMENT).after_eof(MOMENT);
        let (script, _) = start(shell("exec <&-; echo ready; exec sleep 3600"), times);
        script.until(|seen| seen.input == b"ready\n").await;
        script.send("is anyone there?");
        script.until(|seen| seen.output_error.is_some()).await;
        script.abandon();
        exited(script.until_terminated().await);
    })
    .await;
}

/// The id of a process that the child has started and printed in its first line.
async fn grandchild(script: &Script) -> u32 {
    script.until(|seen| seen.input.ends_with(b"\n")).await;
    script.look(|seen| seen.text().trim().parse().unwrap())
}

/// Its adoptive parent reaps it, which takes a moment; a zombie has ended.
async fn until_ended(id: u32) {
    let ended = || match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(text) => text.rsplit(')').next().unwrap().trim_start().starts_with('Z'),
        Err(_) => true,
    };
    while !ended() {
        tokio::time::sleep(MOMENT).await;
    }
}

/// The session of a child that has started a process of its own comes to its end, and so does that process.
async fn ends_with_its_child(command: &str, times: ShutdownTimes) {
    guarded(async {
        let (script, _) = start(shell(command), times);
        let started = grandchild(&script).await;
        script.finish();
        exited(script.until_terminated().await);
        until_ended(started).await;
    })
    .await;
}

#[tokio::test]
async fn what_a_child_has_started_ends_with_it() {
    let times = PATIENT.linger(MOMENT);
    ends_with_its_child("sleep 3600 >/dev/null & echo $!; exec cat", times).await;
}

#[tokio::test]
async fn what_a_child_has_started_is_killed_where_it_does_not_end() {
    let times = PATIENT.linger(MOMENT).after_terminate(MOMENT);
    let stubborn = "(trap '' TERM; while :; do sleep 0.01; done) >/dev/null & echo $!; exec cat";
    ends_with_its_child(stubborn, times).await;
}

#[tokio::test]
async fn dropping_the_transport_kills_what_the_child_has_started() {
    guarded(async {
        let child = Child::spawn(shell("sleep 3600 >/dev/null & echo $!; exec cat")).unwrap();
        let script = Script::new();
        let running = test_support::spawn(child.run(script.endpoint()));
        let started = grandchild(&script).await;
        running.abort();
        assert!(matches!(script.until_terminated().await, Outcome::Dropped));
        until_ended(started).await;
    })
    .await;
}

/// The environment of a child, as `NAME=value` lines.
async fn environment(builder: mcp_runtime::transport::ChildBuilder) -> Vec<String> {
    let script = Script::new();
    test_support::spawn(builder.shutdown_times(PATIENT).spawn().unwrap().run(script.endpoint()));
    exited(script.until_terminated().await);
    script.look(|seen| seen.text().lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn a_child_gets_a_short_list_of_variables_and_those_that_were_set() {
    guarded(async {
        // Cargo sets this one for tests.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let command = || {
            let mut command = Command::new("/usr/bin/env");
            command.env("OF_THE_CALLER", "yes").env_remove("PATH");
            command
        };
        let short = environment(Child::builder(command())).await;
        assert!(short.contains(&"OF_THE_CALLER=yes".to_owned()), "{short:?}");
        for line in &short {
            let name = line.split('=').next().unwrap();
            let known = ENVIRONMENT.contains(&name) || name == "OF_THE_CALLER";
            assert!(known && name != "PATH", "{line}");
        }
        if let Ok(home) = std::env::var("HOME") {
            assert!(short.contains(&format!("HOME={home}")), "{short:?}");
        }
        let all = environment(Child::builder(command()).inherit_environment()).await;
        assert!(all.iter().any(|line| line.starts_with("CARGO_MANIFEST_DIR=")), "{all:?}");
        assert!(all.contains(&"OF_THE_CALLER=yes".to_owned()), "{all:?}");
    })
    .await;
}
