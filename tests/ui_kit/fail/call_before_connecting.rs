//! A tool is called before there is a connection.

use mcp_kit::{ConnectOptions, Failure};

async fn call() -> Result<(), Failure> {
    let notes = ConnectOptions::new("client", "1");
    println!("{}", notes.call_text("count", ()).await?);
    Ok(())
}

fn main() {}
