//! A server and a client that import the prelude alone.

use mcp_kit::prelude::*;
use mcp_kit::transport::duplex;
use schemars::JsonSchema;
use serde::Deserialize;

/// Says hello
#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

impl Tool<()> for Greet {
    type Needs = ();
    type Output = CallToolResult;

    fn describe(tool: types::Tool) -> types::Tool {
        tool.title("Greeting")
    }

    async fn run(self, _: &(), client: Client) -> Result<CallToolResult, Failure> {
        client.log(LoggingLevel::Info, "greeting").await?;
        Ok(CallToolResult::text(format!("Hello, {}!", self.name)))
    }
}

#[tokio::test]
async fn one_import_has_the_traits_and_the_payloads() {
    let (near, far) = duplex();
    tokio::spawn(Server::new("greeter", "1.0.0", ()).tool::<Greet>().serve(far));
    let client: Connection = ConnectOptions::new("test", "1").connect(near).await.unwrap();
    let tools: Vec<types::Tool> = client.tools().await.unwrap();
    assert_eq!(tools[0].title.as_deref(), Some("Greeting"));
    let said = client.call_text("greet", serde_json::json!({ "name": "Ada" })).await.unwrap();
    assert_eq!(said, "Hello, Ada!");
}

#[tokio::test]
async fn a_server_that_begins_a_runtime_within_another_says_what_to_write() {
    let failure = Server::new("greeter", "1.0.0", ()).tool::<Greet>().run().unwrap_err();
    assert!(failure.to_string().contains("write `.serve(mcp_kit::stdio()).await`"), "{failure}");
}
