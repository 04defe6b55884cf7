//! A client in a session whose id is in Redis:
//! `cargo run --example redis_sessions --features redis -- redis://127.0.0.1:6379 KEY http://127.0.0.1:8080/mcp`.
//!
//! The program that opened the session has stored its id under the key. The client reads the id before each request, so
//! it is in the right session even if another session has replaced the first.

#![allow(clippy::print_stdout)]

mod provider;

use std::error::Error;
use std::time::Duration;

use mcp_protocols::mcp_2025_11_25::{Active, McpClient};
use mcp_protocols::types::CallToolParams;
use mcp_runtime::Resumed;
use mcp_runtime::transport::http::{ClientOptions, HttpClient};
use provider::FromRedis;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [redis, key, url] = arguments.as_slice() else {
        return Err("usage: redis_sessions REDIS-URL KEY URL".into());
    };
    let provider = FromRedis::new(redis, key, Duration::from_secs(5))?;
    let options = ClientOptions::default().protocol_version("2025-11-25");
    let transport = HttpClient::new(url)?.options(options).sessions_from(provider);
    // This sends nothing: the session exists already.
    let client = McpClient::<Active>::resume(transport, Resumed::unknown());
    let echo = CallToolParams::new("echo").with_argument("message", "hello again");
    println!("echo says: {}", client.call_tool(echo).await?.first_text().unwrap_or("nothing"));
    // The session continues: another program owns it.
    client.close().await?;
    Ok(())
}
