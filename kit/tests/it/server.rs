//! A server of types, as clients of both eras see it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::sync::Mutex;

use mcp_kit::types::*;
use mcp_kit::{
    Answer, Client, Context, Failure, Json, Model, Problem, Prompt, Resource, ResourceNotFound, Server,
    Suggestions, Tool, Typed, User, said, text_at, types,
};
use mcp_protocols::eras::{self, Change, Connector, Era};
use mcp_protocols::rounds;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, RpcError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

/// Adds a note
#[derive(Deserialize, JsonSchema)]
struct AddNote {
    /// What it says
    text: String,
}

impl Tool<Notes> for AddNote {
    type Needs = ();
    type Output = Json<Added>;

    async fn run(self, notes: &Notes, client: Client) -> Result<Json<Added>, Failure> {
        let mut all = notes.0.lock().unwrap();
        all.push(self.text);
        client.changes().resource("notes://all");
        Ok(Json(Added { id: all.len() - 1 }))
    }
}

#[derive(Serialize, JsonSchema)]
struct Added {
    id: usize,
}

/// Deletes a note, if the user confirms it
#[derive(Deserialize, JsonSchema)]
struct DeleteNote {
    id: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

impl Tool<Notes> for DeleteNote {
    type Needs = User;
    type Output = &'static str;

    async fn run(self, notes: &Notes, client: Client<User>) -> Result<&'static str, Failure> {
        let note = notes.0.lock().unwrap().get(self.id).cloned().ok_or("there is no such note")?;
        let answer = client.ask::<Confirm>(format!("Delete `{note}`?")).await?;
        if !matches!(answer, Answer::Accepted(Confirm { sure: true })) {
            return Ok("kept");
        }
        notes.0.lock().unwrap().remove(self.id);
        Ok("deleted")
    }
}

/// Counts, and reports on it
#[derive(Deserialize, JsonSchema)]
struct Count;

impl Tool<Notes> for Count {
    type Needs = ();
    type Output = String;

    async fn run(self, notes: &Notes, client: Client) -> Result<String, Failure> {
        for done in 1..=2 {
            client.progress(done, 2).await?;
        }
        client.log(LoggingLevel::Info, "counted").await?;
        Ok(notes.0.lock().unwrap().len().to_string())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Ask;

impl Tool<Notes> for Ask {
    type Needs = (User, Model);
    type Output = String;
    const NAME: Option<&'static str> = Some("ask-both");

    async fn run(self, _: &Notes, client: Client<(User, Model)>) -> Result<String, Failure> {
        let question = SamplingMessage::new(Role::User, TextContent::new("why?"));
        let answer = client.create_message(CreateMessageParams::new([question], 10)).await?;
        let sure = client.ask::<Confirm>("Sure?").await?.accepted().map(|confirm| confirm.sure);
        Ok(format!("{} {sure:?}", answer.model))
    }
}

/// Summarises the notes of some days
#[derive(Deserialize, JsonSchema)]
struct Weekly {
    /// How many days back
    days: Option<u32>,
    topic: String,
}

impl Prompt<Notes> for Weekly {
    type Needs = ();

    async fn get(self, _: &Notes, _: Client) -> Result<Vec<PromptMessage>, Failure> {
        let days = self.days.unwrap_or(7);
        Ok(vec![said(Role::User, format!("Summarise {} of {days} days.", self.topic))])
    }

    fn description(&self) -> Option<String> {
        self.days.map(|days| format!("Summarises the notes of {days} days"))
    }

    fn describe(prompt: types::Prompt) -> types::Prompt {
        prompt.title("Weekly summary")
    }

    async fn complete(_: &Notes, _: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        let topics: &[&str] = match (&*typed.argument, typed.others.get("days").map(String::as_str)) {
            ("topic", Some("1")) => &["walk"],
            ("topic", _) => &["work", "home"],
            _ => &[],
        };
        Ok(topics.iter().copied().filter(|topic| topic.starts_with(&typed.text)).collect())
    }
}

/// One of the notes
#[derive(Deserialize, JsonSchema)]
struct Note {
    id: usize,
}

impl Resource<Notes> for Note {
    const URI: &'static str = "notes://{id}";
    const MIME_TYPE: Option<&'static str> = Some("text/plain");
    type Needs = ();

    fn describe(note: types::Resource) -> types::Resource {
        note.title("A note")
    }

    async fn read(self, notes: &Notes, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        let notes = notes.0.lock().unwrap();
        Ok(text_at(uri, notes.get(self.id).ok_or(ResourceNotFound::at(uri))?))
    }
}

/// All notes
#[derive(Deserialize, JsonSchema)]
struct All;

impl Resource<Notes> for All {
    const URI: &'static str = "notes://all";
    type Needs = ();

    fn describe(all: types::Resource) -> types::Resource {
        all.title("The notes").size(7)
    }

    async fn read(self, notes: &Notes, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, notes.0.lock().unwrap().join("\n")))
    }
}

/// Says it in capitals
#[derive(Deserialize, JsonSchema)]
struct Shout {
    text: String,
}

fn server() -> Server<Notes> {
    Server::new("notes", "1.0.0", Notes::default())
        .instructions("Write them down.")
        .tool::<AddNote>()
        .tool::<DeleteNote>()
        .tool::<Count>()
        .tool::<Ask>()
        .tool_fn(|shout: Shout, _| async move { Ok(shout.text.to_uppercase()) })
        .prompt::<Weekly>()
        .resource::<Note>()
        .resource::<All>()
}

struct Bo;

impl rounds::User for Bo {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else { panic!("{params:?}") };
        assert!(form.requested_schema.properties.contains_key("sure"));
        Ok(ElicitResult::new(ElicitAction::Accept).content([("sure".to_owned(), true.into())]))
    }

    async fn create_message(&self, _: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("because"), "model"))
    }
}

fn can_all() -> ClientCapabilities {
    ClientCapabilities::new().sampling(SamplingCapability::new()).elicitation(ElicitationCapability::new())
}

async fn connect(era: Era, can: ClientCapabilities) -> eras::Client<Bo> {
    let (near, far) = duplex();
    tokio::spawn(async move { server().serve(far).await.unwrap() });
    let connector = Connector::new(Implementation::new("bo", "1"), can, Bo).era(era);
    connector.connect(near).await.unwrap()
}

async fn call(client: &eras::Client<Bo>, tool: &str, arguments: serde_json::Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    client.call_tool(CallToolParams::new(tool, client.meta()).arguments(arguments)).await.unwrap()
}

const ERAS: [Era; 2] = [Era::Requests, Era::Handshake];

#[tokio::test]
async fn tools_are_described_by_their_types() {
    for era in ERAS {
        let client = connect(era, can_all()).await;
        let tools = client.list_tools(PaginatedParams::new(client.meta())).await.unwrap().tools;
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["add_note", "delete_note", "count", "ask-both", "shout"]);
        let add = serde_json::to_value(&tools[0]).unwrap();
        assert_eq!(add["description"], "Adds a note");
        assert_eq!(add["inputSchema"]["properties"]["text"]["description"], "What it says");
        assert_eq!(add["inputSchema"]["required"], json!(["text"]));
        assert_eq!(add["outputSchema"]["required"], json!(["id"]));
        assert_eq!(tools[2].input_schema, ObjectSchema::new());
        assert_eq!(client.offer().instructions.as_deref(), Some("Write them down."));
    }
}

#[tokio::test]
async fn tools_run_with_their_arguments() {
    for era in ERAS {
        let client = connect(era, can_all()).await;
        let added = call(&client, "add_note", json!({ "text": "buy milk" })).await;
        assert_eq!(added.structured_content, Some(json!({ "id": 0 })));
        assert_eq!(added.first_text(), Some(r#"{"id":0}"#));
        assert_eq!(call(&client, "count", json!({})).await.first_text(), Some("1"));
        assert_eq!(call(&client, "shout", json!({ "text": "hey" })).await.first_text(), Some("HEY"));
        assert_eq!(call(&client, "ask-both", json!({})).await.first_text(), Some("model Some(true)"));
        assert_eq!(call(&client, "delete_note", json!({ "id": 0 })).await.first_text(), Some("deleted"));
        // A tool that fails, and wrong arguments: the model reads why.
        let failed = call(&client, "delete_note", json!({ "id": 0 })).await;
        assert_eq!((failed.is_error, failed.first_text()), (Some(true), Some("there is no such note")));
        let wrong = call(&client, "add_note", json!({ "text": 7 })).await;
        let text = wrong.first_text().unwrap();
        let said =
            "the arguments of `add_note` are wrong: text: invalid type: integer `7`, expected a string";
        assert!(wrong.is_error == Some(true) && text == said, "{text}");
        let unknown = client.call_tool(CallToolParams::new("fly", client.meta())).await.unwrap_err();
        let rounds::RoundsError::Call(Error::Refused(error)) = unknown else { panic!("{unknown:?}") };
        assert_eq!(error.code, -32602);
    }
}

#[tokio::test]
async fn a_client_sees_the_tools_that_it_can_serve() {
    for era in ERAS {
        let client = connect(era, ClientCapabilities::new().sampling(SamplingCapability::new())).await;
        let tools = client.list_tools(PaginatedParams::new(client.meta())).await.unwrap().tools;
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["add_note", "count", "shout"]);
        // It may call the others all the same, and learns what is missing.
        let refused = client.call_tool(CallToolParams::new("ask-both", client.meta())).await.unwrap_err();
        let rounds::RoundsError::Call(Error::Refused(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code, -32021);
        let needed = &error.data.unwrap()["requiredCapabilities"];
        assert_eq!(*needed, json!({ "sampling": {}, "elicitation": {} }));
    }
}

#[tokio::test]
async fn prompts_have_arguments_and_suggestions() {
    for era in ERAS {
        let client = connect(era, can_all()).await;
        let prompts = client.list_prompts(PaginatedParams::new(client.meta())).await.unwrap().prompts;
        let weekly = serde_json::to_value(&prompts[0]).unwrap();
        assert_eq!(weekly["name"], "weekly");
        assert_eq!(weekly["title"], "Weekly summary");
        let days = json!({ "name": "days", "description": "How many days back", "required": false });
        assert_eq!(weekly["arguments"], json!([days, { "name": "topic", "required": true }]));
        let get = GetPromptParams::new("weekly", client.meta()).with_argument("topic", "work");
        let got = client.get_prompt(get.clone().with_argument("days", "3")).await.unwrap();
        let ContentBlock::Text(text) = &got.messages[0].content else { panic!("{got:?}") };
        assert_eq!(text.text, "Summarise work of 3 days.");
        assert_eq!(got.description.as_deref(), Some("Summarises the notes of 3 days"));
        let got = client.get_prompt(get.clone()).await.unwrap();
        assert_eq!(got.description.as_deref(), Some("Summarises the notes of some days"));
        let wrong = client.get_prompt(get.with_argument("days", "three")).await.unwrap_err();
        let said = "the arguments of `weekly` are wrong: days: invalid type: string \"three\", expected u32";
        assert!(wrong.to_string().contains(said), "{wrong}");
        let reference = PromptReference::new("weekly");
        let typed = CompletionArgument::new("topic", "w");
        let completed = client.complete(CompleteParams::new(reference, typed, client.meta())).await.unwrap();
        assert_eq!(completed.completion.values, ["work"]);
        let (reference, typed) = (PromptReference::new("weekly"), CompletionArgument::new("topic", "w"));
        let of_a_day = CompletionContext::new().arguments([("days".to_owned(), "1".to_owned())]);
        let params = CompleteParams::new(reference, typed, client.meta()).context(of_a_day);
        assert_eq!(client.complete(params).await.unwrap().completion.values, ["walk"]);
    }
}

#[tokio::test]
async fn an_error_does_not_repeat_all_that_the_client_has_sent() {
    let long = &"x".repeat(100_000);
    for era in ERAS {
        let client = connect(era, can_all()).await;
        let wrong = call(&client, "delete_note", json!({ "id": long })).await;
        let wrong = wrong.first_text().unwrap().to_owned();
        assert!(wrong.ends_with("expected usize"), "{wrong}");
        let mut errors = vec![wrong];
        let get = GetPromptParams::new("weekly", client.meta()).with_argument("topic", "work");
        errors.push(client.get_prompt(get.with_argument("days", long)).await.unwrap_err().to_string());
        let tool = client.call_tool(CallToolParams::new(long, client.meta())).await;
        errors.push(tool.unwrap_err().to_string());
        let prompt = client.get_prompt(GetPromptParams::new(long, client.meta())).await;
        errors.push(prompt.unwrap_err().to_string());
        let resource = client.read_resource(ReadResourceParams::new(long, client.meta())).await;
        errors.push(resource.unwrap_err().to_string());
        let page = client.list_tools(PaginatedParams::new(client.meta()).cursor(long)).await;
        errors.push(page.unwrap_err().to_string());
        for error in errors {
            assert!(error.contains("xxx") && error.len() < 3000, "{} bytes", error.len());
        }
    }
}

#[tokio::test]
async fn resources_are_read_by_their_uris_and_watched() {
    for era in ERAS {
        let client = connect(era, can_all()).await;
        let listed = client.list_resources(PaginatedParams::new(client.meta())).await.unwrap().resources;
        assert_eq!(listed.iter().map(|resource| &*resource.uri).collect::<Vec<_>>(), ["notes://all"]);
        let templates = client.list_resource_templates(PaginatedParams::new(client.meta())).await.unwrap();
        let template = serde_json::to_value(&templates.resource_templates[0]).unwrap();
        assert_eq!(template["uriTemplate"], "notes://{id}");
        assert_eq!(template["mimeType"], "text/plain");
        assert_eq!(template["title"], "A note");
        assert_eq!((listed[0].title.as_deref(), listed[0].size), (Some("The notes"), Some(7)));

        let wanted = SubscriptionFilter::new().resource_subscriptions(["notes://all"]);
        let mut listening = client.listen(wanted).await.unwrap();
        call(&client, "add_note", json!({ "text": "buy milk" })).await;
        assert_eq!(listening.next().await, Some(Change::Resource("notes://all".to_owned())));
        for uri in ["notes://all", "notes://0"] {
            let read = client.read_resource(ReadResourceParams::new(uri, client.meta())).await.unwrap();
            assert_eq!(read.contents[0].as_text(), Some("buy milk"), "{uri}");
        }
        for uri in ["notes://7", "notes://x", "other://0"] {
            let read = client.read_resource(ReadResourceParams::new(uri, client.meta())).await.unwrap_err();
            let rounds::RoundsError::Call(Error::Refused(error)) = read else { panic!("{read:?}") };
            // Each era has a code for it.
            let code = if era == Era::Handshake { -32002 } else { -32602 };
            assert_eq!((error.code, error.data), (code, Some(json!({ "uri": uri }))), "{uri}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_wrong_does_not_serve() {
    #[derive(Deserialize, JsonSchema)]
    enum Choice {
        One,
    }
    impl Tool<()> for Choice {
        type Needs = ();
        type Output = ();
        async fn run(self, _: &(), _: Client) -> Result<(), Failure> {
            Ok(())
        }
    }
    impl Resource<()> for Choice {
        const URI: &'static str = "choice://{one}{two}";
        type Needs = ();
        async fn read(self, _: &(), _: &str, _: Client) -> Result<ResourceContents, Failure> {
            Err("never".into())
        }
    }
    let empty = || Server::new("wrong", "1", ());
    let problem = empty().tool::<Choice>().finish().map(drop).unwrap_err();
    assert_eq!(problem, Problem::NoObject { name: "choice".to_owned() });
    let problem = empty().resource::<Choice>().finish().map(drop).unwrap_err();
    assert!(matches!(problem, Problem::NoTemplate { .. }), "{problem}");
    let problem = server().tool::<Count>().finish().map(drop).unwrap_err();
    assert_eq!(problem.to_string(), "two have the name `count`: give one of them another `NAME`");
    let (_near, far) = duplex();
    let error = server().prompt::<Weekly>().serve(far).await.unwrap_err();
    assert!(error.is::<Problem>(), "{error}");
}
