//! The order in which messages reach the program, whichever task is polled when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::desk::messages::{APPROVE, ASK};
use super::pair::End;
use crate::driver::Endpoint;
use crate::engine::{Arrived, Caller, DispatcherKey, Sent, Source, Verdict, Waiter};
use crate::options::Options;

/// A task that is polled only when it was woken, as a runtime would.
#[derive(Default)]
struct Task {
    woken: AtomicBool,
    times: AtomicUsize,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.times.fetch_add(1, Ordering::SeqCst);
    }
}

fn fresh() -> Arc<Task> {
    let task = Task { woken: AtomicBool::new(true), times: AtomicUsize::new(0) };
    Arc::new(task)
}

/// Polls in another thread: what it does is in another task.
fn elsewhere<T: Send>(poll: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(poll).join().unwrap())
}

/// A dispatcher, with the handlers that it runs.
struct Serving {
    key: DispatcherKey,
    waiter: Waiter,
    task: Arc<Task>,
    requests: usize,
    notified: bool,
    /// What it saw when it was last polled.
    seen: (usize, bool),
}

impl Serving {
    fn new(end: &End) -> Serving {
        end.link.with(|engine| engine.attend(None));
        let key = end.link.with(|engine| engine.inbox().dispatcher_began(None));
        Serving {
            key,
            waiter: Waiter::default(),
            task: fresh(),
            requests: 0,
            notified: false,
            seen: (0, false),
        }
    }

    /// Takes one input; the handler of the one before was polled.
    fn take(&mut self, end: &End) -> Option<Arrived> {
        let waker = Waker::from(Arc::clone(&self.task));
        self.seen = (self.requests, self.notified);
        let polled = elsewhere(|| {
            let (context, waiter) = (Context::from_waker(&waker), &mut self.waiter);
            end.link.with(|engine| {
                engine.inbox().poll_served(&context, waiter, self.key, self.requests, self.notified)
            })
        });
        match polled {
            Poll::Ready(arrived) => arrived,
            Poll::Pending => None,
        }
    }

    fn is_at_its_limit(&self, request: bool, most: usize) -> bool {
        if request { self.seen.0 >= most } else { self.seen.1 }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What was sent and has not begun: whether it is a request.
type Waits = BTreeMap<u64, bool>;

/// Plays a server whose messages come, are begun with, taken and finished in some order.
fn play(seed: u64) {
    const HANDLERS: usize = 2;
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let server = End::ready_server(Options::default().max_handlers(HANDLERS));
    let mut serving = Serving::new(&server);
    let (mut number, mut waits, mut begun) = (0, Waits::new(), Vec::new());
    let mut program = Program::new();
    let begins = |serving: &Serving, waits: &Waits, running: usize, number: u64| {
        for (earlier, request) in waits.range(..number) {
            let most = HANDLERS + running;
            assert!(
                serving.is_at_its_limit(*request, most),
                "seed {seed}: {number} has reached the program before {earlier}"
            );
        }
    };
    for round in 0..400 {
        let last = round >= 300;
        match random.below(if last { 6 } else { 10 }) {
            // The dispatcher is polled, if it was woken, or goes on in the same turn.
            0..3 if serving.task.woken.swap(false, Ordering::SeqCst) => {
                let turns = random.below(4) + 1;
                for _ in 0..if last { 1_000 } else { turns } {
                    let Some(arrived) = serving.take(&server) else {
                        serving.task.woken.store(false, Ordering::SeqCst);
                        break;
                    };
                    let payload: u64 = arrived.payload.as_deref().unwrap().trim_matches('"').parse().unwrap();
                    // Another task may run before the handler is polled.
                    if random.below(2) == 0 {
                        program.reach(&server, |number, running| begins(&serving, &waits, running, number));
                    }
                    begins(&serving, &waits, program.running(), payload);
                    assert!(waits.remove(&payload).is_some());
                    let ends = random.below(3) > 0;
                    match arrived.id {
                        Some(id) if ends => {
                            let _ =
                                server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"!\""));
                        }
                        Some(id) => {
                            serving.requests += 1;
                            begun.push(Some(id));
                        }
                        None if ends => {}
                        None => {
                            serving.notified = true;
                            begun.push(None);
                        }
                    }
                    serving.task.woken.store(true, Ordering::SeqCst);
                }
            }
            // A handler comes to its end.
            3 if !begun.is_empty() => {
                let place = usize::try_from(random.below(64)).unwrap() % begun.len();
                match begun.swap_remove(place) {
                    Some(id) => {
                        let _ = server.link.speak(|engine, caller| engine.reply_result(caller, &id, "\"!\""));
                        serving.requests -= 1;
                    }
                    None => serving.notified = false,
                }
                serving.task.woken.store(true, Ordering::SeqCst);
            }
            4 | 5 => program.reach(&server, |number, running| begins(&serving, &waits, running, number)),
            6 => {
                number += 1;
                waits.insert(number, false);
                server.feed(&json!({"jsonrpc":"2.0","method":"bell","params":number}).to_string());
            }
            7 => {
                number += 1;
                waits.insert(number, true);
                let ask = json!({"jsonrpc":"2.0","id":number,"method":"ask","params":number.to_string()});
                server.feed(&ask.to_string());
            }
            8 => {
                number += 1;
                program.notes.insert(number);
                let note = json!({"jsonrpc":"2.0","method":"note","params":number.to_string()});
                server.feed(&note.to_string());
            }
            9 => match program.calls.iter_mut().find(|(_, _, came)| *came == 0) {
                Some((id, _, came)) if random.below(2) == 0 => {
                    number += 1;
                    *came = number;
                    server.feed(&json!({"jsonrpc":"2.0","id":*id,"result":true}).to_string());
                }
                _ => program.calls.push((server.call(APPROVE, "\"?\""), fresh(), 0)),
            },
            _ => {}
        }
    }
    // Whatever is woken from here on comes to its end.
    for _ in 0..1_000 {
        serving.requests = 0;
        serving.notified = false;
        while let Some(arrived) = serving.take(&server) {
            waits.remove(&arrived.payload.as_deref().unwrap().trim_matches('"').parse().unwrap());
        }
    }
    program.reach(&server, |number, _| assert!(waits.range(..number).next().is_none()));
    assert!(waits.is_empty() && program.notes.is_empty(), "seed {seed}: {waits:?} {:?}", program.notes);
    assert_eq!(program.running(), program.calls.len(), "seed {seed}: a call was not woken");
}

/// The steps and the calls of this side, each in a task of its own.
struct Program {
    steps: Arc<Task>,
    waiter: Waiter,
    /// What was sent to the linear channel and was not taken.
    notes: BTreeSet<u64>,
    /// Calls by their ids, with the number of the reply; 0 while there is none.
    calls: Vec<(i64, Arc<Task>, u64)>,
}

impl Program {
    fn new() -> Program {
        Program { steps: fresh(), waiter: Waiter::default(), notes: BTreeSet::new(), calls: Vec::new() }
    }

    /// How many calls have no reply.
    fn running(&self) -> usize {
        self.calls.iter().filter(|(_, _, came)| *came == 0).count()
    }

    /// Takes what steps and calls may take, if their tasks were woken. `reached` is called with each, and how many calls are
    /// running.
    fn reach(&mut self, server: &End, reached: impl Fn(u64, usize)) {
        let running = self.running();
        if self.steps.woken.swap(false, Ordering::SeqCst) {
            let waker = Waker::from(Arc::clone(&self.steps));
            let context = Context::from_waker(&waker);
            while let Poll::Ready(input) = server.link.with(|engine| {
                engine.inbox().poll_input(Caller::ANY, &context, &mut self.waiter, None, |_| Verdict::Take)
            }) {
                let crate::engine::Body::Payload(Some(text)) = input.unwrap().unwrap().body else { panic!() };
                let number = text.trim_matches('"').parse().unwrap();
                reached(number, running);
                assert_eq!(self.notes.pop_first(), Some(number), "steps have their order");
            }
        }
        self.calls.retain(|(id, task, came)| {
            if !task.woken.swap(false, Ordering::SeqCst) {
                return true;
            }
            let waker = Waker::from(Arc::clone(task));
            match server
                .link
                .speak(|engine, caller| engine.calls().poll_call(caller, &Context::from_waker(&waker), *id))
            {
                Poll::Pending => true,
                Poll::Ready(sent) => {
                    assert!(matches!(sent, Sent::Done(Ok(_))));
                    reached(*came, running);
                    false
                }
            }
        });
    }
}

#[test]
fn whatever_is_polled_when_earlier_messages_have_reached_the_program_before_later_ones() {
    (1..=40).for_each(play);
}

/// A client whose call has its reply behind a notification that no handler has seen.
fn behind_a_notification() -> (End, Serving, i64) {
    let client = End::ready_client(Options::default());
    let serving = Serving::new(&client);
    let id = client.call(ASK, "\"?\"");
    client.feed(r#"{"jsonrpc":"2.0","method":"changed"}"#);
    client.feed(&json!({"jsonrpc":"2.0","id":id,"result":"yes"}).to_string());
    (client, serving, id)
}

fn is_done(client: &End, id: i64, task: &Arc<Task>) -> bool {
    let waker = Waker::from(Arc::clone(task));
    client
        .link
        .speak(|engine, caller| engine.calls().poll_call(caller, &Context::from_waker(&waker), id))
        .is_ready()
}

#[test]
fn a_reply_waits_for_the_handler_before_it_and_is_woken_once() {
    let (client, mut serving, id) = behind_a_notification();
    let task = fresh();
    assert!(!elsewhere(|| is_done(&client, id, &task)));
    assert!(serving.take(&client).is_some());
    assert!(!elsewhere(|| is_done(&client, id, &task)), "it is taken, and not begun with");
    assert_eq!(task.times.load(Ordering::SeqCst), 0);
    assert!(serving.take(&client).is_none());
    assert_eq!(task.times.load(Ordering::SeqCst), 1);
    assert!(is_done(&client, id, &task));
}

#[test]
fn a_reply_does_not_wait_for_a_dispatcher_that_is_gone_or_at_its_limit() {
    let (client, serving, id) = behind_a_notification();
    let task = fresh();
    assert!(!elsewhere(|| is_done(&client, id, &task)));
    client.link.with(|engine| engine.inbox().dispatcher_left(serving.key));
    assert!(is_done(&client, id, &task));
    let (client, mut serving, id) = behind_a_notification();
    serving.notified = true;
    assert!(serving.take(&client).is_none());
    assert!(is_done(&client, id, &task));
}

#[test]
fn a_reply_does_not_wait_for_a_dispatcher_that_its_own_task_does_not_poll() {
    let (client, mut serving, id) = behind_a_notification();
    let task = fresh();
    serving.task.woken.store(false, Ordering::SeqCst);
    let waker = Waker::from(Arc::clone(&serving.task));
    // It is polled here, and starts nothing, for it works on a notification; then never again.
    let mut waiter = Waiter::default();
    let taken = client.link.with(|engine| {
        engine.inbox().poll_served(&Context::from_waker(&waker), &mut waiter, serving.key, 0, false)
    });
    assert!(matches!(taken, Poll::Ready(Some(_))));
    let _ = client.link.with(|engine| {
        engine.inbox().poll_served(&Context::from_waker(&waker), &mut waiter, serving.key, 0, false)
    });
    client.feed(r#"{"jsonrpc":"2.0","method":"changed"}"#);
    let other = client.call(ASK, "\"?\"");
    client.feed(&json!({"jsonrpc":"2.0","id":other,"result":"yes"}).to_string());
    assert!(is_done(&client, id, &task), "what came before has begun");
    let mut turns = 0;
    while !is_done(&client, other, &task) {
        assert!(task.woken.swap(false, Ordering::SeqCst), "it asks for another turn");
        turns += 1;
        assert!(turns < 10);
    }
    assert!(turns > 1, "the dispatcher had its turns");
    // Once it is polled, it counts again.
    assert!(serving.take(&client).is_some());
    let last = client.call(ASK, "\"?\"");
    client.feed(&json!({"jsonrpc":"2.0","id":last,"result":"yes"}).to_string());
    assert!(!elsewhere(|| is_done(&client, last, &task)));
}

#[test]
fn a_dispatcher_elsewhere_that_is_not_polled_is_waited_for_no_longer_than_its_time() {
    let (mut client, _serving, id) = behind_a_notification();
    let task = fresh();
    assert!(!is_done(&client, id, &task));
    assert!(client.deadline().is_some());
    client.later(Duration::from_secs(4));
    assert!(!is_done(&client, id, &task));
    client.later(Duration::from_secs(1));
    assert!(is_done(&client, id, &task));
    let reports = client.reports();
    assert!(reports[0].contains("was not polled for 5s"), "{reports:?}");
}

#[test]
fn closing_hands_out_what_has_come_within_its_grace_period() {
    for in_time in [true, false] {
        let (mut client, mut serving, _) = behind_a_notification();
        client.link.with(|engine| engine.close());
        assert!(client.output().1.is_none(), "the transport stays");
        if in_time {
            assert!(serving.take(&client).is_some());
            assert!(serving.take(&client).is_none());
            assert_eq!(client.reports(), [""; 0]);
        } else {
            let now = client.now;
            client.link.tick(now);
            client.later(Duration::from_secs(1));
            assert!(serving.take(&client).is_none());
            assert_eq!(
                client.reports(),
                ["`Changed` was dropped: the session ended before the program took it"]
            );
        }
        assert!(client.output().1.is_some());
    }
    let client = End::ready_client(Options::default());
    client.link.with(|engine| engine.attend(None));
    client.feed(r#"{"jsonrpc":"2.0","method":"changed"}"#);
    client.link.with(|engine| engine.close());
    assert!(client.output().1.is_some(), "nothing waits for a queue that the program empties itself");
    assert!(client.incoming().is_some(), "and what stands in it stays");
    assert!(client.incoming().is_none());
}

#[test]
fn behind_the_end_of_its_input_a_server_sends_replies_only() {
    let server = End::ready_server(Options::default());
    server.feed(
        r#"{"jsonrpc":"2.0","id":1,"method":"ask","params":"?"}
{"jsonrpc":"2.0","id":2,"method":"ask","params":"?"}"#,
    );
    let (one, two) = (server.incoming().unwrap().id.unwrap(), server.incoming().unwrap().id.unwrap());
    server.end_input(crate::driver::End::Eof);
    let told = server.link.speak(|engine, caller| {
        engine.notification(
            caller,
            super::desk::messages::CHANGED,
            "null",
            mcp_protocol_machine::About::Nothing,
        )
    });
    assert!(matches!(told, Ok(false)), "a handler goes on");
    server.link.speak(|engine, caller| engine.reply_result(caller, &one, "\"1\"")).unwrap();
    assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":1,"result":"1"})]);
    assert!(server.output().1.is_none(), "another reply is owed");
    server.link.speak(|engine, caller| engine.reply_result(caller, &two, "\"2\"")).unwrap();
    assert_eq!(server.said(), [json!({"jsonrpc":"2.0","id":2,"result":"2"})]);
    assert!(server.output().1.is_some());
    assert_eq!(
        server.reports(),
        ["`Changed` was dropped: the peer has closed its side, and is only sent replies"]
    );
}

#[test]
fn a_value_is_readable_once_what_came_before_has_begun() {
    let server = End::ready_server(Options::default());
    let mut serving = Serving::new(&server);
    server.feed(r#"{"jsonrpc":"2.0","id":1,"method":"ask","params":"1"}"#);
    server.feed(r#"{"jsonrpc":"2.0","method":"note","params":"2"}"#);
    let task = fresh();
    let (waker, mut waiter) = (Waker::from(Arc::clone(&task)), Waiter::default());
    let mut readable = |sources: &[Source<'_>]| {
        elsewhere(|| {
            let context = Context::from_waker(&waker);
            server.link.with(|engine| engine.inbox().poll_readable(&context, &mut waiter, sources))
        })
    };
    let value = || Source::Value(None, Box::new(|_| Verdict::Take));
    assert!(readable(&[value()]).is_pending());
    assert_eq!(readable(&[value(), Source::Incoming(None)]), Poll::Ready(1));
    task.woken.store(false, Ordering::SeqCst);
    assert!(serving.take(&server).is_some() && readable(&[value()]).is_pending());
    // The handler was polled when the dispatcher is.
    serving.requests += 1;
    assert!(serving.take(&server).is_none() && task.woken.load(Ordering::SeqCst));
    assert_eq!(readable(&[value(), Source::Incoming(None)]), Poll::Ready(0));
}
