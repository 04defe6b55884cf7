//! What the peer sent first reaches the program first: handlers, calls, steps, and the end of the session.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use mcp_runtime::{Error, Options, Report, RpcError};
use serde_json::{Value, json};

use super::help_desk::{Clerk, Open, Visitor, client, server};
use super::late_messages::{editor, notification, opened, request, uri};
use super::raw::{Raw, raw};
use super::turns::{self, Editing};
use super::{open, open_with};

const SECOND: Duration = Duration::from_secs(1);

/// Counts what the clerk has told.
#[derive(Clone, Default)]
struct Counts(Arc<AtomicUsize>);

impl Counts {
    fn seen(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl client::Handler for Counts {
    async fn changed(&self, _: client::Context) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Tells so many times that something has changed, and then answers; all in as few pieces as there may be.
struct Tells(usize);

impl server::Handler for Tells {
    async fn ask(&self, context: server::Context, _: String) -> Result<String, RpcError> {
        for _ in 0..self.0 {
            context.peer().send_changed().await.unwrap();
        }
        Ok("told".into())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_returns_when_the_handlers_of_what_came_before_have_begun() {
    for _ in 0..50 {
        let (visitor, clerk) = open().await;
        let seen = Counts::default();
        // The task may be late, and counts from here on all the same.
        let serving = test_support::spawn(visitor.incoming().serve(seen.clone()));
        test_support::spawn(clerk.incoming().serve(Tells(200)));
        for round in 1..=3 {
            assert_eq!(visitor.ask("?".into()).await.unwrap(), "told");
            assert_eq!(seen.seen(), 200 * round);
        }
        drop(clerk);
        visitor.close().await.unwrap();
        serving.await.unwrap();
    }
}

/// A visitor and a clerk of raw text, after the handshake.
async fn against_raw(options: Options) -> (Visitor<Open>, Raw) {
    let (wire, mut raw) = raw();
    let visitor = Visitor::with_options(wire, options);
    let greets = async {
        let hello = raw.hear().await.unwrap();
        let welcome = json!({"capabilities": {"questions": {}}});
        raw.say(json!({"jsonrpc": "2.0", "id": hello.get("id"), "result": welcome})).await;
        let ready = raw.hear().await.unwrap();
        assert_eq!(ready.get("method"), Some(&json!("ready")));
    };
    let visitor = async {
        let (_, visitor) = visitor.hello(json!({"capabilities": {"approval": {}}})).await.unwrap();
        visitor.send_ready().await.unwrap()
    };
    let (visitor, ()) = tokio::join!(visitor, greets);
    (visitor, raw)
}

/// Changes, and the answer to a question, in one piece.
async fn changes_and_answers(raw: &mut Raw, changes: usize) {
    let question = raw.hear().await.unwrap();
    let mut lines = vec![json!({"jsonrpc": "2.0", "method": "changed"}).to_string(); changes];
    lines.push(json!({"jsonrpc": "2.0", "id": question.get("id"), "result": "told"}).to_string());
    raw.say_line(lines.join("\n").as_bytes()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_peer_said_before_it_went_away_is_handed_out() {
    for answered in [true, false].repeat(20) {
        let (visitor, mut raw) = against_raw(Options::default()).await;
        let seen = Counts::default();
        test_support::spawn(visitor.incoming().serve(seen.clone()));
        let question = visitor.ask("?".into());
        let says = async {
            if answered {
                changes_and_answers(&mut raw, 200).await;
            } else {
                raw.hear().await.unwrap();
                let line = json!({"jsonrpc": "2.0", "method": "changed"}).to_string();
                raw.say_line(vec![line; 200].join("\n").as_bytes()).await;
            }
            drop(raw);
        };
        let (answer, ()) = tokio::join!(question, says);
        match answer {
            Ok(answer) => {
                assert_eq!((&*answer, seen.seen()), ("told", 200));
            }
            Err(error) => assert!(matches!(error, Error::Disconnected { .. }), "{error}"),
        }
        let _ = visitor.close().await;
        assert_eq!(seen.seen(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_takes_messages_itself_may_call_between_them() {
    let (visitor, mut raw) = against_raw(Options::default()).await;
    let incoming = visitor.incoming();
    let says = async {
        for _ in 0..3 {
            changes_and_answers(&mut raw, 2).await;
        }
    };
    let calls = async {
        assert_eq!(visitor.ask("?".into()).await.unwrap(), "told");
        for _ in 0..2 {
            assert!(matches!(incoming.next().await, Some(client::Incoming::Changed)));
            assert_eq!(visitor.ask("?".into()).await.unwrap(), "told");
        }
    };
    tokio::join!(says, calls);
    drop(visitor.close());
    for _ in 0..4 {
        assert!(incoming.next().await.is_some(), "what has come stays after the close");
    }
    assert!(incoming.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_in_the_same_task_has_its_turn_but_is_not_needed() {
    let (visitor, mut raw) = against_raw(Options::default()).await;
    let started = tokio::time::Instant::now();
    let seen = Counts::default();
    let mut serving = Box::pin(visitor.incoming().serve(seen.clone()));
    // In parallel with the call, in one order and in the other.
    for round in 1..=4 {
        let call = async {
            let (answer, ()) = tokio::join!(visitor.ask("?".into()), changes_and_answers(&mut raw, 10));
            answer.unwrap()
        };
        if round % 2 == 0 {
            tokio::select! { biased; () = &mut serving => panic!(), _ = call => {} }
        } else {
            tokio::select! { biased; _ = call => {}, () = &mut serving => panic!() }
        }
        assert_eq!(seen.seen(), 10 * round);
    }
    // Not polled while the call is awaited, as in the body of a branch of a `select!`.
    let (answer, ()) = tokio::join!(visitor.ask("?".into()), changes_and_answers(&mut raw, 10));
    assert_eq!((&*answer.unwrap(), seen.seen()), ("told", 40));
    assert_eq!(started.elapsed(), Duration::ZERO, "nothing waited for a time");
    // Let go of with what it has not handed out.
    drop(serving);
    let (answer, ()) = tokio::join!(visitor.ask("?".into()), changes_and_answers(&mut raw, 10));
    assert_eq!(answer.unwrap(), "told");
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_nothing_polls_holds_replies_up_for_a_time_and_is_reported() {
    let (told, reports) = std::sync::mpsc::channel();
    let options = Options::default().on_report(move |report: &Report| {
        // The handler leaves out what this test does not ask.
        if !matches!(report, Report::Unhandled { .. }) {
            told.send(report.to_string()).unwrap();
        }
    });
    let (visitor, mut raw) = against_raw(options).await;
    let _never_polled = visitor.incoming().serve(Counts::default());
    let started = tokio::time::Instant::now();
    let (answer, ()) = tokio::join!(visitor.ask("?".into()), changes_and_answers(&mut raw, 1));
    assert_eq!(answer.unwrap(), "told");
    assert_eq!(started.elapsed(), SECOND * 5);
    assert!(reports.recv().unwrap().contains("spawn its future, or poll it together with the calls"));
    let (answer, ()) = tokio::join!(visitor.ask("?".into()), changes_and_answers(&mut raw, 1));
    assert_eq!(answer.unwrap(), "told");
    assert_eq!(started.elapsed(), SECOND * 5, "nothing waits for it again");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_calls_has_its_reply_while_others_begin() {
    let (visitor, mut raw) = against_raw(Options::default()).await;
    let seen = Counts::default();
    test_support::spawn(visitor.incoming().serve(Approves(seen.clone())));
    raw.say(json!({"jsonrpc": "2.0", "id": 1, "method": "approve", "params": "?"})).await;
    // The reply to the handler's question stands behind changes, whose handlers ask as well.
    changes_and_answers(&mut raw, 3).await;
    let mut answers = 0;
    while answers < 4 {
        let message = raw.hear().await.unwrap();
        if message["method"] == "ask" {
            raw.say(json!({"jsonrpc": "2.0", "id": message["id"], "result": "told"})).await;
            answers += usize::from(message["params"] == "changed");
        } else {
            assert_eq!(message["result"], true);
            answers += 1;
        }
    }
    assert_eq!(seen.seen(), 3);
}

struct Approves(Counts);

impl client::Handler for Approves {
    async fn approve(&self, context: client::Context, _: String) -> Result<bool, RpcError> {
        Ok(context.peer().ask("approve".into()).await.is_ok())
    }

    async fn changed(&self, context: client::Context) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        context.peer().ask("changed".into()).await.unwrap();
    }
}

/// A text that changes, and what is read from it.
#[derive(Clone, Default)]
struct Text(Arc<AtomicUsize>);

impl server::Handler for Text {
    async fn bell(&self, _: server::Context, version: u32) {
        self.0.store(version as usize, Ordering::SeqCst);
    }

    async fn look(&self, _: server::Context, _: Option<Value>) -> Result<Value, RpcError> {
        Ok(json!(self.0.load(Ordering::SeqCst)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_question_is_answered_from_the_text_after_the_change_before_it() {
    let (visitor, clerk) = open_with(Options::default(), Options::default().max_incoming(10_000)).await;
    test_support::spawn(clerk.incoming().serve(Text::default()));
    let mut questions = Vec::new();
    for version in 1..=1_000 {
        visitor.send_bell(version).await.unwrap();
        questions.push((version, visitor.look(None).send().await.unwrap()));
    }
    for (version, question) in questions {
        assert_eq!(question.await.unwrap(), json!(version));
    }
    let _: &Clerk<Open> = &clerk;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_step_is_taken_when_the_handlers_of_what_came_before_have_begun() {
    let (mut visitor, mut clerk) = open().await;
    let text = Text::default();
    test_support::spawn(clerk.incoming().serve(text.clone()));
    let says = async {
        for version in 1..=300 {
            visitor.send_bell(version).await.unwrap();
            visitor.send_note(version.to_string()).await.unwrap();
        }
    };
    let takes = async {
        for version in 1..=300_usize {
            let note = clerk.recv_note().await.unwrap();
            assert_eq!(note, version.to_string());
            assert!(text.0.load(Ordering::SeqCst) >= version);
        }
    };
    tokio::join!(says, takes);
}

/// Looks at a document whose changes no task has taken.
struct Looks(Arc<Mutex<turns::client::Document<Editing>>>);

impl turns::client::Handler for Looks {
    async fn look(&self, _: turns::client::Context, _: Value) -> Result<Value, RpcError> {
        poll_fn(|context| {
            let mut document = self.0.lock().unwrap();
            let mut saved = 0;
            while pin!(document.recv_saved()).poll(context).is_ready() {
                saved += 1;
            }
            Poll::Ready(Ok(json!(saved)))
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_sub_session_was_sent_stands_in_its_queue_when_a_later_handler_starts() {
    for round in 1..=50 {
        let (editor, mut agent, _) = editor();
        let document = opened(&editor, &mut agent).await;
        test_support::spawn(editor.incoming().serve(Looks(Arc::new(Mutex::new(document)))));
        let mut lines = vec![notification("document/saved", uri()).to_string(); round];
        lines.push(request(7, "look", json!({})).to_string());
        agent.say_line(lines.join("\n").as_bytes()).await;
        assert_eq!(agent.hear().await.unwrap()["result"], round);
    }
}

/// A child that shakes hands, tells so many times that something has changed, and ends; answered or not.
#[cfg(unix)]
fn child(changes: usize, answer: &str) -> mcp_runtime::transport::Child {
    let script = format!(
        r#"read hello; echo '{{"jsonrpc":"2.0","id":0,"result":{{"capabilities":{{"questions":{{}}}}}}}}'; read ready; read ask
        i=0; while [ $i -lt {changes} ]; do echo '{{"jsonrpc":"2.0","method":"changed"}}'; i=$((i+1)); done
        {answer}"#
    );
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script]);
    mcp_runtime::transport::Child::builder(command).spawn().unwrap()
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_child_that_tells_answers_and_exits_everything_is_handed_out() {
    for answer in [r#"echo '{"jsonrpc":"2.0","id":1,"result":"told"}'"#, ":"].repeat(4) {
        let visitor = Visitor::new(child(200, answer));
        let (_, visitor) = visitor.hello(json!({"capabilities": {"approval": {}}})).await.unwrap();
        let visitor = visitor.send_ready().await.unwrap();
        let seen = Counts::default();
        test_support::spawn(visitor.incoming().serve(seen.clone()));
        match visitor.ask("?".into()).await {
            Ok(_) => assert_eq!(seen.seen(), 200),
            Err(error) => assert_eq!(answer, ":", "{error}"),
        }
        let _ = visitor.close().await;
        assert_eq!(seen.seen(), 200);
    }
}
