//! A program that calls servers, in both eras.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_kit::transport::duplex;
use mcp_kit::types::*;
use mcp_kit::{
    Answer, CallError, Change, Changes, Client, ConnectOptions, Connection, Context, Era, Failure, Json,
    ListRequest, Model, Page, Resource, Roots, Server, Suggestions, Tool, Typed, User, bytes_at, text_at,
    types,
};
use mcp_runtime::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds two numbers
#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Debug)]
struct Sum {
    sum: i64,
}

/// Asks everything there is to ask
#[derive(Deserialize, JsonSchema)]
struct AskAll;

#[derive(Serialize, Deserialize, JsonSchema, Debug)]
struct Guest {
    name: String,
    age: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

impl Tool<()> for AskAll {
    type Needs = (User, Model, Roots);
    type Output = String;

    async fn run(self, _: &(), client: Client<(User, Model, Roots)>) -> Result<String, Failure> {
        let guest = client.ask::<Guest>("Who?").await?.accepted().ok_or("no guest")?;
        let sure = client.ask::<Sure>("Sure?").await?;
        let said = client.sample("why?", 10).await?;
        let roots = client.list_roots().await?.roots;
        let sure = matches!(sure, Answer::Declined);
        client.progress(1, 2).await?;
        client.log(LoggingLevel::Info, "asked").await?;
        Ok(format!("{} {} {sure} {said} {}", guest.name, guest.age, roots[0].uri))
    }
}

/// A form that no handler has a type for
#[derive(Deserialize, JsonSchema)]
struct AskOther;

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is asked for and not read")]
struct Other {
    seat: u8,
}

impl Tool<()> for AskOther {
    type Needs = User;
    type Output = &'static str;

    async fn run(self, _: &(), client: Client<User>) -> Result<&'static str, Failure> {
        client.ask::<Other>("Where?").await?;
        Ok("answered")
    }
}

/// A leaf
#[derive(Deserialize, JsonSchema)]
struct Leaf {
    id: u32,
}

impl Resource<()> for Leaf {
    const URI: &'static str = "leaf://{id}";
    type Needs = ();

    async fn read(self, _: &(), uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(match self.id {
            9 => bytes_at(uri, [0, 255]),
            id => text_at(uri, id.to_string()),
        })
    }

    async fn list(_: &(), _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok((0..7).map(|id| types::Resource::new(format!("leaf://{id}"), "leaf")).collect())
    }

    async fn watch(self, _: &(), _: &Context) -> Result<(), Failure> {
        if self.id < 7 { Ok(()) } else { Err("it does not change".into()) }
    }

    async fn complete(_: &(), _: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        Ok(vec![format!("{}{}", typed.argument, typed.text)].into())
    }
}

fn server() -> Server<()> {
    Server::new("leaves", "1.0.0", ())
        .page_size(3)
        .tool_fn(|add: Add, _| async move {
            let sum = add.a.checked_add(add.b).ok_or("that is too much")?;
            Ok(Json(Sum { sum }))
        })
        .tool::<AskAll>()
        .tool::<AskOther>()
        .resource::<Leaf>()
}

fn options() -> ConnectOptions {
    ConnectOptions::new("test", "1")
        .on_form(|asked| async move {
            assert_eq!(asked.message, "Who?");
            Ok(Answer::Accepted(Guest { name: "Ada".to_owned(), age: 36 }))
        })
        .on_form(|_| async { Ok(Answer::<Sure>::Declined) })
        .on_sampling(|_| async {
            Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("because"), "model"))
        })
        .on_roots(|| async { Ok(vec![types::Root::new("file:///work")]) })
}

const ERAS: [Era; 2] = [Era::Requests, Era::Handshake];

async fn connect(era: Era, options: ConnectOptions) -> (Connection, Changes) {
    let (near, far) = duplex();
    let server = server();
    let changes = server.changes();
    tokio::spawn(async move { server.serve(far).await.unwrap() });
    (options.era(era).connect(near).await.unwrap(), changes)
}

#[tokio::test]
async fn calls_have_the_types_of_the_program() {
    #[derive(Serialize)]
    struct Numbers {
        a: i64,
        b: i64,
    }
    for era in ERAS {
        let (leaves, _) = connect(era, options()).await;
        assert_eq!(leaves.offer().server_info.name, "leaves");
        let sum: Sum = leaves.call("add", Numbers { a: 1, b: 2 }).await.unwrap();
        assert_eq!(sum, Sum { sum: 3 });
        assert_eq!(leaves.call_text("add", Numbers { a: 1, b: 2 }).await.unwrap(), r#"{"sum":3}"#);
        // A tool that fails, a result of another type, arguments that do not fit, and a tool that is not there.
        let failed = leaves.call::<Sum>("add", Numbers { a: i64::MAX, b: 2 }).await.unwrap_err();
        assert!(matches!(&failed, CallError::Tool { tool, .. } if tool == "add"), "{failed:?}");
        assert_eq!(failed.to_string(), "the tool `add` failed: that is too much");
        let other = leaves.call::<Guest>("add", Numbers { a: 1, b: 2 }).await.unwrap_err();
        assert!(matches!(other, CallError::Output { .. }), "{other:?}");
        let other = leaves.call::<HashMap<String, bool>>("add", Numbers { a: 1, b: 2 }).await.unwrap_err();
        let said = "the result of `add` is not what the program reads: sum: invalid type: integer `3`, expected a boolean";
        assert_eq!(other.to_string(), said);
        let none = leaves.call::<Sum>("add", 7).await.unwrap_err();
        assert!(none.to_string().starts_with("the arguments of `add` cannot be sent"), "{none}");
        let unknown = leaves.call::<Sum>("fly", ()).await.unwrap_err();
        assert!(matches!(unknown, CallError::Call(_)), "{unknown:?}");
        leaves.close().await.unwrap();
    }
}

#[tokio::test]
async fn handlers_answer_what_a_server_asks() {
    for era in ERAS {
        let logged = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&logged);
        let options = options().on_log(LoggingLevel::Info, move |line| log.lock().unwrap().push(line.data));
        let (leaves, _) = connect(era, options).await;
        let reports = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&reports);
        let call = leaves.call_text("ask_all", ());
        let said = call.on_progress(move |_, _| _ = seen.fetch_add(1, Ordering::Relaxed)).await.unwrap();
        assert_eq!(said, "Ada 36 true because file:///work");
        assert_eq!(reports.load(Ordering::Relaxed), 1);
        assert_eq!(*logged.lock().unwrap(), ["asked"]);
        let text = leaves.call::<Sum>("ask_all", ()).await.unwrap_err().to_string();
        let hint = "it is a text that is not JSON, which `call_text` returns";
        assert!(text.ends_with(hint), "{text}");
        let other = leaves.call_text("ask_other", ()).await.unwrap_err();
        assert!(other.to_string().contains("the client has no form with these fields: seat"), "{other}");
    }
}

#[tokio::test]
async fn progress_says_what_is_being_done() {
    for era in ERAS {
        let (near, far) = duplex();
        let read = |(), _, client: Client| async move {
            client.progress(1, 3).message("reading").await?;
            client.progress(2_u64, 3).await?;
            client.progress_so_far(2.5).message("almost").await?;
            Ok(())
        };
        tokio::spawn(Server::new("reader", "1.0.0", ()).tool_named("read", "Reads", read).serve(far));
        let reader = ConnectOptions::new("test", "1").era(era).connect(near).await.unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&reports);
        let call = reader.call_text("read", ()).on_progress_report(move |report| {
            heard.lock().unwrap().push((report.progress, report.total, report.message));
        });
        assert_eq!(call.await.unwrap(), "");
        let text = |text: &str| Some(text.to_owned());
        let three = || Some(3.into());
        assert_eq!(
            *reports.lock().unwrap(),
            [
                (1.into(), three(), text("reading")),
                (2.into(), three(), None),
                (2.5.into(), None, text("almost"))
            ],
            "{era:?}"
        );
    }
}

#[tokio::test]
async fn a_program_declares_what_it_answers() {
    for era in ERAS {
        let (leaves, _) = connect(era, ConnectOptions::new("test", "1")).await;
        let names = |tools: Vec<types::Tool>| tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(leaves.tools().await.unwrap()), ["add"]);
        let (leaves, _) = connect(era, options()).await;
        assert_eq!(names(leaves.tools().await.unwrap()), ["add", "ask_all", "ask_other"]);
    }
}

#[tokio::test]
async fn lists_have_all_their_pages_and_are_refreshed() {
    for era in ERAS {
        let (leaves, changes) = connect(era, options()).await;
        // Three in a page.
        assert_eq!(leaves.resources().await.unwrap().len(), 7);
        assert_eq!(leaves.resource_templates().await.unwrap().len(), 1);
        let mut tools = leaves.live_tools().await.unwrap();
        assert_eq!(tools.len(), 3);
        changes.tools();
        assert_eq!(tools.changed().await.unwrap().unwrap().len(), 3);
        let mut resources = leaves.live_resources().await.unwrap();
        changes.resources();
        assert_eq!(resources.changed().await.unwrap().unwrap().len(), 7);
        // A cursor that the server has not given is refused.
        let asked = PaginatedParams::new(leaves.client().meta()).cursor("next");
        let Error::Refused(error) = leaves.client().list_tools(asked).await.unwrap_err() else { panic!() };
        assert_eq!(error.code, -32602);
    }
}

#[tokio::test]
async fn bytes_are_not_read_as_a_text() {
    for era in ERAS {
        let (leaves, _) = connect(era, options()).await;
        assert_eq!(leaves.read_text("leaf://2").await.unwrap(), "2");
        let error = leaves.read_text("leaf://9").await.unwrap_err().to_string();
        assert!(error.ends_with("`leaf://9` is not a text but bytes, which `read` returns"), "{error}");
        assert!(matches!(&*leaves.read("leaf://9").await.unwrap(), [ResourceContents::Blob(_)]));
    }
}

#[tokio::test]
async fn subscriptions_are_streams() {
    for era in ERAS {
        let (leaves, changes) = connect(era, options()).await;
        let mut changed = leaves.subscribe(["leaf://1", "leaf://2"]).await.unwrap();
        changes.resource("leaf://3");
        changes.resource("leaf://2");
        assert_eq!(changed.next().await.unwrap().unwrap(), "leaf://2");
        assert_eq!(leaves.read_text("leaf://2").await.unwrap(), "2");
        // One that the server refuses is not passed over.
        let refused = leaves.subscribe(["leaf://1", "leaf://8"]).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
        assert_eq!(leaves.complete_resource("leaf://{id}", "id", "4").await.unwrap(), ["id4"]);
        drop(changed);
        leaves.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_changes_of_a_server_are_a_stream_below() {
    use futures_util::StreamExt;

    for era in ERAS {
        let (leaves, changes) = connect(era, options()).await;
        let wanted = SubscriptionFilter::new().tools_list_changed(true);
        let mut listening = leaves.client().listen(wanted).await.unwrap();
        changes.tools();
        assert_eq!(StreamExt::next(&mut listening).await, Some(Change::Tools));
    }
}

#[tokio::test]
async fn a_type_that_no_form_has_is_found_before_the_program_connects() {
    #[derive(Serialize, JsonSchema)]
    struct Deep {
        inner: Sure,
    }
    let options = options().on_form(|_| async { Ok(Answer::<Deep>::Cancelled) });
    let (near, _far) = duplex();
    let error = options.connect(near).await.unwrap_err();
    assert!(error.to_string().contains("the field `inner` of `Deep` cannot stand in a form"), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_offer_a_list_has_nothing_in_it() {
    for era in ERAS {
        let (near, far) = duplex();
        tokio::spawn(Server::new("none", "1.0.0", ()).serve(far));
        let none = options().era(era).connect(near).await.unwrap();
        assert_eq!(none.tools().await.unwrap(), []);
        assert_eq!(none.resources().await.unwrap(), []);
        assert_eq!(none.resource_templates().await.unwrap(), []);
        assert_eq!(none.prompts().await.unwrap(), []);
        assert!(none.live_tools().await.unwrap().is_empty());
        assert!(none.live_resources().await.unwrap().is_empty());
        assert!(none.live_prompts().await.unwrap().is_empty());
        // What a program names is refused all the same.
        let called = none.call_text("add", ()).await.unwrap_err();
        assert!(matches!(called.call_error(), Some(Error::NotPermitted(_))), "{called}");
    }
}
