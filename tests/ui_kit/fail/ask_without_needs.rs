//! The tool asks the user, and its type does not say so.

use mcp_kit::{Client, Failure, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    yes: bool,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Delete;

impl Tool<()> for Delete {
    type Needs = ();
    type Output = ();

    async fn run(self, _: &(), client: Client) -> Result<(), Failure> {
        client.ask::<Sure>("Sure?").await?;
        Ok(())
    }
}

fn main() {
    drop(Server::new("deleter", "1", ()).tool::<Delete>());
}
