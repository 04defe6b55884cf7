//! The seller: answers, calls back, sends updates, and counts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{Error, RpcError, StepError};
use serde_json::{Value, json};

use crate::bazaar::server::{self, Context, Handler, TradeNext, Watching};
use crate::bazaar::{BeforeWatched, Seller, Start, Trade};
use crate::calls::{answer, cancellable, refusal};
use crate::ledger::{Begun, Ending, Ledger};
use crate::noise::Noise;

/// Works on what the buyer may ask at any time.
pub(crate) struct Stall {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) noise: Mutex<Noise>,
    /// Called with each request that is taken up.
    pub(crate) interrupt: Box<dyn Fn() + Send + Sync>,
}

impl Stall {
    fn noise(&self) -> Noise {
        self.noise.lock().unwrap().fork()
    }

    async fn work(&self, context: &Context, question: &Value) -> Result<Value, RpcError> {
        let _begun = Begun::new(&self.ledger);
        (self.interrupt)();
        tokio::time::sleep(Duration::from_millis(question["delay"].as_u64().unwrap_or_default())).await;
        match question["wish"].as_str() {
            Some("Refuse") => return Err(refusal(question)),
            Some("Nest") => {
                let wish = if self.noise().once_in(4) { "Nest" } else { "Echo" };
                let nested = json!({ "number": question["number"], "wish": wish, "delay": 0 });
                let verdict = context.peer().approve(nested).await;
                let verdict =
                    verdict.map_err(|error| RpcError::new(8, format!("nested call failed: {error}")))?;
                if verdict != answer(question) {
                    self.ledger.problem(format!("the nested call gave {verdict}"));
                }
            }
            Some("Report") => {
                for progress in 1..=3 {
                    if let Err(error) = context.send_progress(json!({ "progress": progress })).await
                        && !self.ledger.is_over()
                    {
                        self.ledger.problem(format!("a report was not sent: {error}"));
                    }
                }
            }
            Some("Never") => {
                tokio::select! {
                    biased;
                    () = context.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_secs(60)) => {
                        self.ledger.problem(format!("{question} was not cancelled"));
                    }
                }
            }
            _ => {}
        }
        Ok(answer(question))
    }

    async fn watched(
        &self,
        params: &Value,
        watching: Watching<BeforeWatched>,
    ) -> Result<(), StepError<Watching<()>>> {
        let mut noise = self.noise();
        if noise.once_in(5) {
            return watching.refuse(refusal(params)).await.map(drop).map_err(without);
        }
        let mut watching = watching.send_watched(json!({})).await.map_err(without)?;
        let mut number = 0;
        loop {
            let last = number >= 5;
            let moment = if last { Duration::MAX } else { noise.moment() };
            let asked = tokio::select! {
                biased;
                () = watching.readable() => true,
                () = tokio::time::sleep(moment) => false,
            };
            if !asked {
                number += 1;
                let update = json!({ "stall": params["stall"], "number": number });
                watching.send_updated(update).await.map_err(StepError::Ended)?;
                continue;
            }
            let (_, leaving) = watching.recv_unwatch().await.map_err(StepError::Ended)?;
            if !noise.once_in(4) {
                return leaving.send_unwatched(json!({})).await.map(drop).map_err(without);
            }
            watching = leaving.refuse(refusal(params)).await.map_err(without)?;
        }
    }
}

/// The error alone.
fn without<S>(error: StepError<S>) -> StepError<Watching<()>> {
    StepError::Ended(error.into())
}

impl Handler for Stall {
    async fn ask(&self, context: Context, question: Value) -> Result<Value, RpcError> {
        self.work(&context, &question).await
    }

    async fn look(&self, context: Context, question: Value) -> Result<Value, RpcError> {
        self.work(&context, &question).await
    }

    async fn bell(&self, _: Context, number: u32) {
        self.ledger.bells_heard.fetch_add(number, Ordering::SeqCst);
    }

    async fn watch(&self, _: Context, params: Value, watching: Watching<BeforeWatched>) {
        let _begun = Begun::new(&self.ledger);
        (self.interrupt)();
        match self.watched(&params, watching).await.map_err(Error::from) {
            // The buyer may let go at any time.
            Ok(()) | Err(Error::Cancelled) => {}
            Err(_) if self.ledger.is_over() => {}
            Err(error) => self.ledger.problem(format!("watching {params} failed: {error}")),
        }
    }
}

/// Sends requests and notifications of its own, in parallel.
pub(crate) async fn speak(handle: server::Handle, ledger: Arc<Ledger>, mut noise: Noise, times: usize) {
    let mut told = 0;
    for _ in 0..times {
        noise.dawdle().await;
        if noise.once_in(2) {
            cancellable(&ledger, &mut noise, |question| handle.approve(question)).await;
        } else if handle.send_changed(told + 1).await.is_ok() {
            told += 1;
        } else if !ledger.is_over() {
            ledger.problem("`changed` was not sent".to_owned());
        }
    }
}

/// The handshake and everything behind it, to the end of the session.
pub(crate) async fn live(seller: Seller<Start>, stall: Stall, speeches: usize, ending: Ending) {
    let ledger = Arc::clone(&stall.ledger);
    let mut noise = stall.noise();
    let serving = tokio::spawn(seller.incoming().serve(stall));
    let opened = async {
        let (_, seller) = seller.recv_hello().await?;
        let welcome = json!({ "capabilities": { "questions": {} } });
        Ok::<_, Error>(seller.send_welcome(welcome).await?)
    };
    match opened.await {
        Ok(seller) => {
            let speaking = tokio::spawn(speak(seller.handle(), Arc::clone(&ledger), noise.fork(), speeches));
            let last = (ending == Ending::SellerAborts).then(|| noise.below(40));
            if let Err(error) = trade(seller, &ledger, &mut noise, last).await
                && !ledger.is_over()
            {
                ledger.problem(format!("the seller's trade broke off: {error}"));
            }
            speaking.await.unwrap();
        }
        Err(error) if !ledger.is_over() => ledger.problem(format!("the seller got no buyer: {error}")),
        Err(_) => {}
    }
    serving.await.unwrap();
}

async fn trade(
    mut seller: Seller<Trade>,
    ledger: &Ledger,
    noise: &mut Noise,
    last: Option<usize>,
) -> Result<(), Error> {
    let mut steps = 0;
    loop {
        if last.is_some_and(|last| steps >= last) {
            ledger.end();
            seller.abort();
            return Ok(());
        }
        steps += 1;
        if noise.once_in(4) {
            noise.dawdle().await;
        }
        seller = match seller.next().await? {
            TradeNext::Closed => return Ok(()),
            TradeNext::Note(number, seller) => {
                ledger.notes_heard.fetch_add(number, Ordering::SeqCst);
                seller
            }
            TradeNext::Count(seller) if noise.once_in(6) => seller.refuse(RpcError::new(9, "no")).await?,
            TradeNext::Count(seller) => {
                noise.dawdle().await;
                seller.send_counted(ledger.notes_heard.load(Ordering::SeqCst)).await?
            }
            TradeNext::Pause(seller) if noise.once_in(6) => seller.refuse(RpcError::new(9, "no")).await?,
            TradeNext::Pause(seller) => seller.send_paused().await?.recv_resume().await?,
        };
    }
}
