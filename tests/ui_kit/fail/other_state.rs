//! The tool is one of a server with another state.

use mcp_kit::{Client, Failure, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

struct Notes;

impl Tool<()> for Add {
    type Needs = ();
    type Output = String;

    async fn run(self, _: &(), _: Client) -> Result<String, Failure> {
        Ok((self.a + self.b).to_string())
    }
}

fn main() {
    drop(Server::new("adder", "1", Notes).tool::<Add>());
}
