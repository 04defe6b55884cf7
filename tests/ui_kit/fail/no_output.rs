//! The tool returns a number.

use mcp_kit::{Client, Failure, Server, Tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

impl Tool<()> for Add {
    type Needs = ();
    type Output = i64;

    async fn run(self, _: &(), _: Client) -> Result<i64, Failure> {
        Ok(self.a + self.b)
    }
}

fn main() {
    drop(Server::new("adder", "1", ()).tool::<Add>());
    drop(Server::new("adder", "1", ()).tool_fn(|add: Add, _| async move { Ok(add.a + add.b) }));
}
