//! The tool has its needs in another order.

use mcp_kit::{Client, Failure, Model, Server, Tool, User};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Poem;

impl Tool<()> for Poem {
    type Needs = (Model, User);
    type Output = String;

    async fn run(self, _: &(), _: Client<(Model, User)>) -> Result<String, Failure> {
        Ok(String::new())
    }
}

fn main() {
    drop(Server::new("poet", "1", ()).tool::<Poem>());
}
