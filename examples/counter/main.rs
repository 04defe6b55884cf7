//! A complete small protocol, from `counter.session` to a running session:
//! `cargo run --example counter --features macros`.
//!
//! Both sides are in this program, connected by an in-memory transport. Any other transport works as well.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use mcp_runtime::transport::duplex;

use counting::types::{AddParams, Count, OpenParams};
use counting::{Counter, CountingError, Teller, server};

/// The generated code.
pub(crate) mod counting {
    mcp_runtime::protocol!("./counter.session");
}

#[tokio::main]
async fn main() -> Result<(), CountingError> {
    let (near, far) = duplex();
    let (counted, kept) = tokio::join!(count(Teller::new(near)), keep(Counter::new(far)));
    println!("the teller heard {}, the counter kept {}", counted?, kept?);
    Ok(())
}

/// The client: `!Open . ?Opened . Ready`, then the loop.
pub(crate) async fn count(teller: Teller<counting::Start>) -> Result<u64, CountingError> {
    let (opened, mut teller) = teller.open(OpenParams::new("apples")).await?;
    println!("the counter starts at {}", opened.count);
    for amount in [3, 4] {
        teller.send_add(AddParams::new(amount)).await?;
    }
    let sum = teller.total().await?;
    teller.send_stop().await?.close().await?;
    Ok(sum.count)
}

/// The server: handles the next message, with the session in the state after it.
pub(crate) async fn keep(counter: Counter<counting::Start>) -> Result<u64, CountingError> {
    let (opening, counter) = counter.recv_open().await?;
    println!("a counter for {} is opened", opening.name);
    let mut count = 0;
    let mut counter = counter.send_opened(Count::new(count)).await?;
    loop {
        counter = match counter.next().await? {
            server::ReadyNext::Add(AddParams { amount }, counter) => {
                count += amount;
                counter
            }
            server::ReadyNext::Total(counter) => counter.send_sum(Count::new(count)).await?,
            server::ReadyNext::Stop(counter) => {
                counter.close().await?;
                return Ok(count);
            }
        };
    }
}
