//! The service: answers, calls back, sends updates, and counts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{Error, RpcError, StepError};
use serde_json::{Value, json};

use crate::calls::{answer, cancellable, refusal};
use crate::everything::server::{self, ActiveNext, Context, Handler, Watching};
use crate::everything::{Active, BeforeWatched, Service, Start};
use crate::ledger::{Begun, Ending, Ledger};
use crate::noise::Noise;

/// Works on what the caller may ask at any time.
pub(crate) struct ServiceState {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) noise: Mutex<Noise>,
    /// Called with each request that is taken up.
    pub(crate) interrupt: Box<dyn Fn() + Send + Sync>,
}

impl ServiceState {
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
                let update = json!({ "topic": params["topic"], "number": number });
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

impl Handler for ServiceState {
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
            // The caller may let go at any time.
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
pub(crate) async fn live(service: Service<Start>, topic: ServiceState, speeches: usize, ending: Ending) {
    let ledger = Arc::clone(&topic.ledger);
    let mut noise = topic.noise();
    let serving = tokio::spawn(service.incoming().serve(topic));
    let opened = async {
        let (_, service) = service.recv_hello().await?;
        let welcome = json!({ "capabilities": { "questions": {} } });
        Ok::<_, Error>(service.send_welcome(welcome).await?)
    };
    match opened.await {
        Ok(service) => {
            let speaking = tokio::spawn(speak(service.handle(), Arc::clone(&ledger), noise.fork(), speeches));
            let last = (ending == Ending::ServiceAborts).then(|| noise.below(40));
            if let Err(error) = active(service, &ledger, &mut noise, last).await
                && !ledger.is_over()
            {
                ledger.problem(format!("the service's active broke off: {error}"));
            }
            speaking.await.unwrap();
        }
        Err(error) if !ledger.is_over() => ledger.problem(format!("the service got no caller: {error}")),
        Err(_) => {}
    }
    serving.await.unwrap();
}

async fn active(
    mut service: Service<Active>,
    ledger: &Ledger,
    noise: &mut Noise,
    last: Option<usize>,
) -> Result<(), Error> {
    let mut steps = 0;
    loop {
        if last.is_some_and(|last| steps >= last) {
            ledger.end();
            service.abort();
            return Ok(());
        }
        steps += 1;
        if noise.once_in(4) {
            noise.dawdle().await;
        }
        service = match service.next().await? {
            ActiveNext::Closed => return Ok(()),
            ActiveNext::Note(number, service) => {
                ledger.notes_heard.fetch_add(number, Ordering::SeqCst);
                service
            }
            ActiveNext::Count(service) if noise.once_in(6) => service.refuse(RpcError::new(9, "no")).await?,
            ActiveNext::Count(service) => {
                noise.dawdle().await;
                service.send_counted(ledger.notes_heard.load(Ordering::SeqCst)).await?
            }
            ActiveNext::Pause(service) if noise.once_in(6) => service.refuse(RpcError::new(9, "no")).await?,
            ActiveNext::Pause(service) => service.send_paused().await?.recv_resume().await?,
        };
    }
}
