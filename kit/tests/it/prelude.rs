//! A server and a client that import the prelude alone.

use mcp_kit::prelude::*;
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

#[tokio::test]
async fn what_a_program_names_of_the_crates_below_is_there_too() {
    let refuses = |error: CallError| matches!(error.call_error(), Some(Error::Refused(RpcError { .. })));
    let (near, far) = duplex();
    let served = Server::new("greeter", "1.0.0", ()).options(Options::new()).tool::<Greet>();
    tokio::spawn(served.serve(far));
    let quiet = |report: &Report| panic!("{report}");
    let client = ConnectOptions::new("test", "1").options(Options::new()).on_report(quiet);
    let client = client.connect(near).await.unwrap();
    assert!(refuses(client.call_text("sing", ()).await.unwrap_err()));
    let read: RoundsError = client.read("greeter://none").await.unwrap_err();
    assert!(matches!(read.call_error(), Some(Error::NotPermitted(_))), "{read}");
    let _: Option<(DisconnectReason, TimeoutKind, Child, Offer, Asker)> = None;
}

/// A program whose `main` returns an error prints it with `Debug`.
#[tokio::test]
async fn an_error_that_main_returns_is_a_sentence() {
    let twice = Server::new("greeter", "1.0.0", ()).tool::<Greet>().tool::<Greet>().finish();
    let problem = twice.err().unwrap();
    assert_eq!(format!("{problem:?}"), format!("Problem({:?})", problem.to_string()));

    let (near, far) = duplex();
    drop(far);
    let unconnected = ConnectOptions::new("test", "1").connect(near).await.unwrap_err();
    assert_eq!(format!("{unconnected:?}"), format!("ConnectError({:?})", unconnected.to_string()));

    let (near, far) = duplex();
    tokio::spawn(Server::new("greeter", "1.0.0", ()).tool::<Greet>().serve(far));
    let client = ConnectOptions::new("test", "1").connect(near).await.unwrap();
    let called = client.call_text("sing", ()).await.unwrap_err();
    assert_eq!(format!("{called:?}"), format!("CallError({:?})", called.to_string()));
    let read = client.read("greeter://none").await.unwrap_err();
    assert_eq!(format!("{read:?}"), format!("RoundsError({:?})", read.to_string()));
    let error = read.call_error().unwrap();
    assert_eq!(format!("{error:?}"), format!("Error({:?})", error.to_string()));
}
