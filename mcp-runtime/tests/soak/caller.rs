//! The caller: makes every kind of request, watches topics, and goes through the states of a active.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{Error, RpcError, StepError};
use serde_json::{Value, json};

use crate::calls::{WANTED, answer, cancellable, refusal, uncancellable};
use crate::everything::client::{self, Context, Handler, Watching};
use crate::everything::{Active, AfterWatched, Caller};
use crate::ledger::{Begun, Ledger};
use crate::noise::Noise;

/// Works on what the service may ask at any time.
pub(crate) struct Purse {
    pub(crate) ledger: Arc<Ledger>,
    /// The last number that `changed` carried.
    pub(crate) told: Mutex<u32>,
}

impl Handler for Purse {
    async fn approve(&self, context: Context, question: Value) -> Result<Value, RpcError> {
        let _begun = Begun::new(&self.ledger);
        tokio::time::sleep(Duration::from_millis(question["delay"].as_u64().unwrap_or_default())).await;
        match question["wish"].as_str() {
            Some("Refuse") => return Err(refusal(&question)),
            Some("Nest") => {
                let nested = json!({ "number": question["number"], "wish": "Echo", "delay": 0 });
                let told = context.peer().ask(nested).await;
                told.map_err(|error| RpcError::new(8, format!("nested call failed: {error}")))?;
            }
            Some("Never") => context.cancelled().await,
            _ => {}
        }
        Ok(answer(&question))
    }

    async fn changed(&self, _: Context, number: u32) {
        let before = std::mem::replace(&mut *self.told.lock().unwrap(), number);
        if number != before + 1 && !self.ledger.is_tight() {
            self.ledger.problem(format!("`changed` said {number} after {before}"));
        }
    }
}

/// Makes calls one after another.
pub(crate) async fn ask(
    handle: client::Handle,
    ledger: Arc<Ledger>,
    mut noise: Noise,
    topic: usize,
    times: usize,
) {
    for _ in 0..times {
        match noise.below(10) {
            0..4 => cancellable(&ledger, &mut noise, |question| handle.ask(question)).await,
            4..6 => uncancellable(&ledger, &mut noise, |question| handle.look(question)).await,
            6 => match handle.send_bell(1).await {
                Ok(()) => drop(ledger.bells_sent.fetch_add(1, Ordering::SeqCst)),
                Err(_) if ledger.is_over() => {}
                Err(error) => ledger.problem(format!("a bell was not sent: {error}")),
            },
            7 => match handle.ping().await {
                Ok(_) => {}
                Err(_) if ledger.is_over() => {}
                Err(error) => ledger.problem(format!("a ping failed: {error}")),
            },
            _ => {
                let patience = if noise.once_in(3) { noise.moment() } else { Duration::MAX };
                let noise = &mut noise;
                Ledger::add(&ledger.made);
                let whole = watch(&handle, &ledger, noise, topic);
                let finished = tokio::select! {
                    biased;
                    () = whole => true,
                    () = tokio::time::sleep(patience) => false,
                };
                Ledger::add(if finished { &ledger.settled } else { &ledger.dropped });
            }
        }
    }
}

/// Watches a topic for a while.
async fn watch(handle: &client::Handle, ledger: &Ledger, noise: &mut Noise, topic: usize) {
    let name = json!({ "topic": topic });
    let mut watching = match handle.watch(name.clone()).await {
        Ok((_, watching)) => watching,
        Err(Error::Refused(error)) if error.code == WANTED => return,
        Err(Error::Refused(error)) if error.code == -32000 && ledger.is_tight() => return,
        Err(_) if ledger.is_over() => return,
        Err(error) => return ledger.problem(format!("topic {topic} could not be watched: {error}")),
    };
    if let Err(error) = updates(&mut watching, noise).await
        && !ledger.is_over()
    {
        ledger.problem(format!("topic {topic}: {error}"));
    }
    if noise.once_in(3) {
        return;
    }
    loop {
        watching = match watching.unwatch(name.clone()).await {
            Err(StepError::Refused { session, .. }) => session,
            Ok(_) => return,
            Err(_) if ledger.is_over() => return,
            Err(error) => return ledger.problem(format!("topic {topic} could not be left: {error}")),
        }
    }
}

async fn updates(watching: &mut Watching<AfterWatched>, noise: &mut Noise) -> Result<(), String> {
    for number in 1..=noise.below(6) {
        tokio::select! {
            biased;
            () = watching.readable() => {}
            () = tokio::time::sleep(noise.moment()) => return Ok(()),
        }
        let update = watching.recv_updated().await.map_err(|error| format!("no update: {error}"))?;
        if update["number"] != json!(number) {
            return Err(format!("{update} came in the place of number {number}"));
        }
    }
    Ok(())
}

/// Goes through the states of a active; gives the value back unless the session is over.
pub(crate) async fn active(
    mut caller: Caller<Active>,
    ledger: &Ledger,
    noise: &mut Noise,
    steps: usize,
) -> Option<Caller<Active>> {
    for _ in 0..steps {
        let went = match noise.below(8) {
            0..3 => match caller.send_note(1).await {
                Ok(()) => {
                    ledger.notes_sent.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            3..6 => count(&mut caller, ledger, noise).await,
            6 => match caller.pause().await {
                Ok(resting) => {
                    noise.dawdle().await;
                    match resting.send_resume().await {
                        Ok(active) => {
                            caller = active;
                            Ok(())
                        }
                        Err(error) => return fail(ledger, &error.into()),
                    }
                }
                Err(StepError::Refused { session, .. }) => {
                    caller = session;
                    Ok(())
                }
                Err(error) => return fail(ledger, &error.into()),
            },
            _ => {
                noise.dawdle().await;
                Ok(())
            }
        };
        if let Err(error) = went {
            return fail(ledger, &error);
        }
    }
    Some(caller)
}

fn fail(ledger: &Ledger, error: &Error) -> Option<Caller<Active>> {
    if !ledger.is_over() {
        ledger.problem(format!("the caller's active broke off: {error}"));
    }
    None
}

/// Asks how many notes there were; lets go of it half-way at times, or gives it little time.
async fn count(caller: &mut Caller<Active>, ledger: &Ledger, noise: &mut Noise) -> Result<(), Error> {
    let expected = ledger.notes_sent.load(Ordering::SeqCst);
    let way = noise.below(4);
    let patience = if way == 0 { noise.moment() } else { Duration::MAX };
    let exchange = caller.count();
    let exchange = if way == 1 { exchange.timeout(noise.moment()) } else { exchange };
    let outcome = tokio::select! {
        biased;
        outcome = exchange => outcome,
        () = tokio::time::sleep(patience) => return Ok(()),
    };
    match outcome {
        Ok(count) if count != expected => {
            ledger.problem(format!("{count} notes were counted, and {expected} sent"));
            Ok(())
        }
        Ok(_) | Err(Error::Timeout { .. }) => Ok(()),
        Err(Error::Refused(error)) if error.code == 9 => Ok(()),
        Err(error) => Err(error),
    }
}
