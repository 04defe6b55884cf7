//! The service in a process of its own, which talks to its parent over pipes, prints nonsense between the lines and on
//! its error output, and may die at any time.

use std::io::Write;
use std::process::{Command, exit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::transport::{Child, stdio};
use mcp_runtime::{DisconnectReason, Error, Outcome};
use serde_json::json;

use crate::caller::{Purse, active, ask};
use crate::everything::{Caller, Service};
use crate::ledger::{Ending, Ledger, Whose};
use crate::noise::Noise;
use crate::service::{ServiceState, live};
use crate::wire::nonsense;

/// Tasks of the caller, and how many calls each makes.
const TASKS: usize = 8;
const CALLS: usize = 40;

/// What both processes know, for they have the same seed.
struct Plan {
    ending: Ending,
    tight: bool,
    threads: bool,
}

impl Plan {
    fn new(noise: &mut Noise) -> Plan {
        let ending = match noise.below(8) {
            0 | 1 => Ending::Cut,
            2 => Ending::CallerCloses,
            3 => Ending::CallerAborts,
            4 => Ending::ServiceAborts,
            _ => Ending::InOrder,
        };
        Plan { ending, tight: noise.once_in(3), threads: noise.once_in(2) }
    }

    fn runtime(&self) -> tokio::runtime::Runtime {
        let mut builder = if self.threads {
            tokio::runtime::Builder::new_multi_thread()
        } else {
            tokio::runtime::Builder::new_current_thread()
        };
        builder.worker_threads(2).enable_all().build().unwrap()
    }
}

/// The child.
pub(crate) fn play(seed: u64) {
    let mut noise = Noise::new(seed);
    let plan = Plan::new(&mut noise);
    let ledger = Arc::new(Ledger::default());
    ledger.tight.store(plan.tight, Ordering::SeqCst);
    // It does not learn what the parent is going to do.
    ledger.end();
    let interrupt = interruption(plan.ending, noise.fork(), Arc::clone(&ledger));
    let runtime = plan.runtime();
    runtime.block_on(async {
        let service = Service::with_options(stdio(), ledger.options(Whose::Service));
        let topic = ServiceState { ledger: Arc::clone(&ledger), noise: noise.fork().into(), interrupt };
        live(service, topic, TASKS * CALLS / 10, plan.ending).await;
    });
    for problem in ledger.problems() {
        eprintln!("problem: {problem}");
    }
    let [notes, bells] = [&ledger.notes_heard, &ledger.bells_heard].map(|count| count.load(Ordering::SeqCst));
    let counts = [&ledger.begun, &ledger.ended, &ledger.garbage[0], &ledger.noticed[1]];
    let [begun, ended, garbage, noticed] = counts.map(|count| count.load(Ordering::SeqCst));
    eprintln!("account: {}", json!([notes, bells, begun, ended, garbage, noticed]));
}

/// Called with each request: says nonsense at times, and dies when its time has come.
fn interruption(ending: Ending, mut noise: Noise, ledger: Arc<Ledger>) -> Box<dyn Fn() + Send + Sync> {
    let last = if ending == Ending::Cut { noise.below(60) } else { usize::MAX };
    let calls = AtomicUsize::new(0);
    let noise = Mutex::new(noise);
    Box::new(move || {
        let mut noise = noise.lock().unwrap();
        let call = calls.fetch_add(1, Ordering::SeqCst);
        if call == last {
            if noise.once_in(2) {
                exit(3);
            }
            drop(Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status());
        }
        if noise.once_in(10) {
            eprintln!("call {call} came");
        }
        if noise.once_in(10) {
            let mut line = nonsense(&mut noise, &mut 0);
            // A parent answers a request that it does not know, and a line this long would not go out in one piece.
            if !line.contains("ghost") && line.len() < 4000 {
                line.push('\n');
                // In one piece, and between the lines of the session as long as the pipe does not fill up.
                let mut output = std::io::stdout().lock();
                if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_ok() {
                    Ledger::add(&ledger.garbage[Whose::Caller as usize]);
                }
            }
        }
    })
}

/// The parent.
pub(crate) fn round(seed: u64) {
    let mut noise = Noise::new(seed);
    let plan = Plan::new(&mut noise);
    let ledger = Arc::new(Ledger::default());
    ledger.tight.store(plan.tight, Ordering::SeqCst);
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let runtime = plan.runtime();
    let played = runtime.block_on(async {
        let played = play_out(seed, &plan, &ledger, &said, noise);
        tokio::time::timeout(Duration::from_secs(120), played).await
    });
    let said = said.lock().unwrap();
    assert!(played.is_ok(), "seed {seed} hangs, {:?}: {ledger:#?} {said:#?}", plan.ending);
    let problems: Vec<_> = said.iter().filter(|line| line.starts_with("problem")).collect();
    assert!(problems.is_empty(), "seed {seed}, {:?}: {problems:#?}", plan.ending);
    assert_eq!(ledger.problems(), Vec::<String>::new(), "seed {seed}, {:?}: {ledger:#?}", plan.ending);
    let count = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    assert_eq!(count(&ledger.made), count(&ledger.settled) + count(&ledger.dropped), "seed {seed}");
    assert_eq!(count(&ledger.begun), count(&ledger.ended), "seed {seed}");
    if plan.ending == Ending::InOrder {
        let account = said.iter().find_map(|line| line.strip_prefix("account: ")).unwrap();
        let account: [u32; 6] = serde_json::from_str(account).unwrap();
        let [notes, bells, begun, ended, garbage, noticed] = account;
        assert_eq!(notes, ledger.notes_sent.load(Ordering::SeqCst), "seed {seed}");
        let sent = ledger.bells_sent.load(Ordering::SeqCst);
        assert!(bells == sent || (plan.tight && bells < sent), "seed {seed}: {bells} of {sent} bells");
        assert_eq!((begun, noticed), (ended, 0), "seed {seed}");
        assert_eq!(garbage as usize, count(&ledger.noticed[0]), "seed {seed}: {ledger:#?}");
        // How many depends on the machine: a child runs in real time, and many calls have limits of a few milliseconds.
        assert!(count(&ledger.answered) > 0, "seed {seed}: {ledger:#?}");
    }
}

async fn play_out(
    seed: u64,
    plan: &Plan,
    ledger: &Arc<Ledger>,
    said: &Arc<Mutex<Vec<String>>>,
    mut noise: Noise,
) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("SOAK_CHILD", seed.to_string());
    let lines = Arc::clone(said);
    let child =
        Child::builder(command).on_stderr_line(move |line| lines.lock().unwrap().push(line.to_owned()));
    let caller = Caller::with_options(child.spawn().unwrap(), ledger.options(Whose::Caller));
    if matches!(plan.ending, Ending::Cut | Ending::ServiceAborts) {
        // The child does not announce its end.
        ledger.end();
    }
    let purse = Purse { ledger: Arc::clone(ledger), told: 0.into() };
    let serving = tokio::spawn(caller.incoming().serve(purse));
    let (_, caller) = caller.hello(json!({ "capabilities": { "approval": {} } })).await.unwrap();
    let handle = caller.handle();
    let tasks: Vec<_> = (0..TASKS)
        .map(|topic| tokio::spawn(ask(caller.handle(), Arc::clone(ledger), noise.fork(), topic, CALLS)))
        .collect();
    let steps = match plan.ending {
        Ending::InOrder => CALLS,
        Ending::ServiceAborts => usize::MAX,
        _ => noise.below(CALLS),
    };
    let caller = active(caller, ledger, &mut noise, steps).await;
    let finish = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    match (plan.ending, caller) {
        (Ending::InOrder, Some(caller)) => {
            finish.await;
            // A ping arrives after everything that was sent before. Abandoned handlers end after a while.
            while !format!("{handle:?}").contains("running: 0, unanswered: 0") {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            caller.ping().await.unwrap();
            ledger.end();
            let closed = caller.close().await;
            if !matches!(&closed, Ok(Outcome::Exited { status, .. }) if status.success()) {
                ledger.problem(format!("closing gave {closed:?}"));
            }
        }
        (Ending::CallerCloses, Some(caller)) => {
            ledger.end();
            drop(caller.close().await);
            finish.await;
        }
        (Ending::CallerAborts, Some(caller)) => {
            ledger.end();
            caller.abort();
            finish.await;
        }
        (Ending::Cut, caller) => {
            finish.await;
            // It may not have been asked often enough.
            while !matches!(handle.look(json!({})).await, Err(Error::Disconnected { .. })) {}
            let error = handle.ping().await.unwrap_err();
            if !matches!(&error, Error::Disconnected { reason: DisconnectReason::Exited(_) }) {
                ledger.problem(format!("the child has died, and this is said to be why: {error}"));
            }
            drop(caller);
        }
        (_, caller) => {
            finish.await;
            drop(caller);
        }
    }
    serving.await.unwrap();
}
