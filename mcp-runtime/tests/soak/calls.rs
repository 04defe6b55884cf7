//! One call, made in a random way, and whether its outcome is possible.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::call::{Call, Cancellable, Uncancellable};
use mcp_runtime::{Error, RpcError, TimeoutKind};
use serde_json::{Value, json};

use crate::ledger::Ledger;
use crate::noise::Noise;

/// What the other side does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Echo,
    Refuse,
    /// Asks back before it answers, and so many levels below do that, too.
    Nest,
    /// Reports three times before it answers.
    Report,
    /// Answers only once the request is cancelled, and otherwise long after its timeout.
    Never,
}

/// What this side does with its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Waits,
    HasALimit,
    DropsIt,
    TakesItBack,
}

/// The code of a refusal that was asked for.
pub(crate) const WANTED: i64 = 7;

/// A question and how it is to be dealt with.
pub(crate) fn question(number: usize, wish: Wish, noise: &mut Noise) -> Value {
    let delay = noise.moment().as_millis() as u64;
    json!({ "number": number, "wish": format!("{wish:?}"), "delay": delay, "filling": "x".repeat(noise.below(40)) })
}

/// The answer to it.
pub(crate) fn answer(question: &Value) -> Value {
    json!({ "answer": question["number"] })
}

pub(crate) fn refusal(question: &Value) -> RpcError {
    RpcError::new(WANTED, question["number"].to_string())
}

/// Makes a call that can be cancelled.
pub(crate) async fn cancellable(
    ledger: &Ledger,
    noise: &mut Noise,
    make: impl FnOnce(Value) -> Call<'static, Value, Cancellable, Value>,
) {
    let wish = noise.pick(&[Wish::Echo, Wish::Echo, Wish::Refuse, Wish::Nest, Wish::Report, Wish::Never]);
    let way = match wish {
        Wish::Never => noise.pick(&[Way::HasALimit, Way::DropsIt, Way::TakesItBack]),
        _ => noise.pick(&[Way::Waits, Way::Waits, Way::HasALimit, Way::DropsIt, Way::TakesItBack]),
    };
    let number = made(ledger);
    let mut call = make(question(number, wish, noise));
    if way == Way::TakesItBack {
        let canceller = call.canceller();
        let (moment, cancels) = (noise.moment(), noise.below(3));
        let cancelling = async {
            tokio::time::sleep(moment).await;
            // Twice is as good as once.
            for _ in 0..=cancels {
                if let Err(error) = canceller.cancel()
                    && !ledger.is_over()
                {
                    ledger.problem(format!("call {number} could not be cancelled: {error}"));
                }
            }
        };
        let waiting = run(ledger, noise, call, number, wish, Way::TakesItBack);
        tokio::join!(waiting, cancelling);
    } else {
        run(ledger, noise, call, number, wish, way).await;
    }
}

/// Makes a call that cannot be cancelled.
pub(crate) async fn uncancellable(
    ledger: &Ledger,
    noise: &mut Noise,
    make: impl FnOnce(Value) -> Call<'static, Value, Uncancellable, Value>,
) {
    let wish = noise.pick(&[Wish::Echo, Wish::Refuse, Wish::Nest, Wish::Report]);
    let way = noise.pick(&[Way::Waits, Way::Waits, Way::HasALimit, Way::DropsIt]);
    let number = made(ledger);
    let call = make(question(number, wish, noise));
    run(ledger, noise, call, number, wish, way).await;
}

fn made(ledger: &Ledger) -> usize {
    ledger.made.fetch_add(1, Ordering::SeqCst)
}

async fn run<C>(
    ledger: &Ledger,
    noise: &mut Noise,
    mut call: Call<'static, Value, C, Value>,
    number: usize,
    wish: Wish,
    way: Way,
) {
    if noise.once_in(3) {
        call = call.with_progress();
    }
    if way == Way::HasALimit {
        call = call.timeout(noise.moment());
        if noise.once_in(3) {
            call = call.reset_on_progress().max_timeout(Duration::from_millis(4));
        }
    }
    let patience = if way == Way::DropsIt { noise.moment() } else { Duration::MAX };
    // In one step, or written first and waited for later.
    let in_two = noise.once_in(3);
    let whole = async {
        if !in_two {
            return call.await;
        }
        let mut pending = call.send().await?;
        let mut before = 0;
        while let Some(report) = pending.progress().await {
            let now = report["progress"].as_u64().unwrap_or_default();
            if now <= before {
                ledger.problem(format!("call {number} got progress {now} after {before}"));
            }
            before = now;
        }
        pending.await
    };
    let outcome = tokio::select! {
        biased;
        outcome = whole => outcome,
        () = tokio::time::sleep(patience) => return Ledger::add(&ledger.dropped),
    };
    Ledger::add(&ledger.settled);
    if outcome.is_ok() {
        Ledger::add(&ledger.answered);
    }
    if !fits(ledger, &outcome, number, wish, way) {
        let over = ledger.is_over();
        ledger.problem(format!("call {number}, {wish:?}, {way:?}, over: {over}, gave {outcome:?}"));
    }
}

/// Whether what was done explains what came of it.
fn fits(ledger: &Ledger, outcome: &Result<Value, Error>, number: usize, wish: Wish, way: Way) -> bool {
    match outcome {
        Ok(result) => result["answer"] == json!(number) && wish != Wish::Refuse,
        Err(Error::Refused(error)) if error.code == WANTED => {
            wish == Wish::Refuse && error.message == number.to_string()
        }
        Err(Error::Refused(error)) => {
            let nested = wish == Wish::Nest && error.message.starts_with("nested");
            nested || (error.code == -32000 && ledger.is_tight()) || ledger.is_over()
        }
        Err(Error::Cancelled) => way == Way::TakesItBack,
        Err(Error::Timeout {
            what: TimeoutKind::Reply | TimeoutKind::Total | TimeoutKind::Write, ..
        }) => way == Way::HasALimit,
        // A reply in whose middle the wire was cut cannot be accepted.
        Err(Error::Closed | Error::Disconnected { .. } | Error::InvalidReply(_)) => ledger.is_over(),
        Err(_) => false,
    }
}
