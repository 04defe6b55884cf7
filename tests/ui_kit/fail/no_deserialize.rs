//! The arguments cannot be read.

use mcp_kit::{Client, Failure, Server, Tool};

#[derive(schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

impl Tool<()> for Add {
    type Needs = ();
    type Output = String;

    async fn run(self, _: &(), _: Client) -> Result<String, Failure> {
        Ok((self.a + self.b).to_string())
    }
}

fn main() {
    drop(Server::new("adder", "1", ()).tool::<Add>());
}
