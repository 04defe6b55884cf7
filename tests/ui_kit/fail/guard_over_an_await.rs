//! The state stays locked while the client is notified of progress.

use std::sync::Mutex;

use mcp_kit::{Client, Failure, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count;

impl Tool<Mutex<u32>> for Count {
    type Needs = ();
    type Output = String;

    async fn run(self, count: &Mutex<u32>, client: Client) -> Result<String, Failure> {
        let count = count.lock().map_err(|_| "the count is lost")?;
        client.progress(1, 2).await?;
        Ok(count.to_string())
    }
}

fn main() {
    drop(Server::new("counter", "1", Mutex::new(0)).tool::<Count>());
}
