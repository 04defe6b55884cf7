//! The examples of `docs/server.md`, which run here.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use mcp_kit::ClientLog;
use mcp_kit::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, text: String) -> Result<usize, Failure> {
        let mut notes = self.0.lock().map_err(|_| "the notes are lost")?;
        notes.push(text);
        Ok(notes.len() - 1)
    }

    fn get(&self, id: usize) -> Result<String, Failure> {
        Ok(self.0.lock().map_err(|_| "the notes are lost")?.get(id).ok_or("there is no such note")?.clone())
    }

    fn count(&self) -> Result<usize, Failure> {
        Ok(self.0.lock().map_err(|_| "the notes are lost")?.len())
    }

    fn delete(&self, id: usize) -> Result<(), Failure> {
        self.0.lock().map_err(|_| "the notes are lost")?.remove(id);
        Ok(())
    }
}

#[derive(Serialize, JsonSchema)]
struct Added {
    id: usize,
}

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
        let id = notes.add(self.text)?;
        client.changes().resource("notes://all");
        Ok(Json(Added { id }))
    }
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
        let note = notes.get(self.id)?;
        match client.ask::<Confirm>(format!("Delete `{note}`?")).await? {
            Answer::Accepted(Confirm { sure: true }) => notes.delete(self.id).map(|()| "deleted"),
            _ => Ok("kept"),
        }
    }
}

/// One of the notes
#[derive(Deserialize, JsonSchema)]
struct Note {
    id: usize,
}

impl Resource<Notes> for Note {
    const URI: &'static str = "notes://{id}";
    type Needs = ();

    async fn read(self, notes: &Notes, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, notes.get(self.id)?))
    }

    async fn list(notes: &Notes, _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        let resource = |id| types::Resource::new(format!("notes://{id}"), format!("Note {id}"));
        Ok((0..notes.count()?).map(resource).collect())
    }
}

/// The books of a library: their titles by their ids.
struct Books(BTreeMap<u64, String>);

impl Books {
    async fn title(&self, id: u64) -> Option<String> {
        self.0.get(&id).cloned()
    }

    /// So many books at most, from the one after an id on.
    async fn after(&self, id: Option<u64>, most: usize) -> Vec<(u64, String)> {
        let first = id.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.0.range((first, Bound::Unbounded)).take(most);
        rows.map(|(id, title)| (*id, title.clone())).collect()
    }
}

/// One of the books
#[derive(Deserialize, JsonSchema)]
struct Book {
    id: u64,
}

impl Resource<Books> for Book {
    const URI: &'static str = "books://{id}";
    type Needs = ();

    async fn read(self, books: &Books, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, books.title(self.id).await.ok_or(ResourceNotFound::at(uri))?))
    }

    async fn list(books: &Books, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        let after: Option<u64> = request.cursor()?;
        let rows = books.after(after, request.size()).await;
        let last = rows.last().map(|(id, _)| *id).filter(|_| rows.len() == request.size());
        let page: Page<_> = rows
            .into_iter()
            .map(|(id, title)| types::Resource::new(format!("books://{id}"), title))
            .collect();
        Ok(page.next_cursor(last))
    }
}

#[tokio::test]
async fn a_long_list_is_read_page_by_page() {
    let books = (0..250).map(|id| (id * 7, format!("Volume {id}"))).collect();
    let (near, far) = duplex();
    tokio::spawn(Server::new("library", "1.0.0", Books(books)).resource::<Book>().serve(far));
    let library = ConnectOptions::new("test", "1.0.0").connect(near).await.unwrap();
    let listed = library.resources().await.unwrap();
    assert_eq!((listed.len(), &*listed[249].uri), (250, "books://1743"));
    assert_eq!(library.read_text("books://7").await.unwrap(), "Volume 1");
}

/// Summarises the notes of some days
#[derive(Deserialize, JsonSchema)]
struct Weekly {
    /// How many days back
    days: Option<u32>,
}

impl Prompt<Notes> for Weekly {
    type Needs = ();

    async fn get(self, _: &Notes, _: Client) -> Result<Vec<PromptMessage>, Failure> {
        let days = self.days.unwrap_or(7);
        Ok(vec![said(Role::User, format!("Summarise the notes of the last {days} days."))])
    }

    async fn complete(_: &Notes, _: &Context, typed: &Typed) -> Result<Suggestions, Failure> {
        let fits = |days: &&str| typed.argument == "days" && days.starts_with(&typed.text);
        Ok(["1", "7", "30"].into_iter().filter(fits).collect())
    }
}

fn server() -> Server<Notes> {
    Server::new("notes", "1.0.0", Notes::default())
        .tool::<AddNote>()
        .tool::<DeleteNote>()
        .resource::<Note>()
        .prompt::<Weekly>()
}

#[tokio::test]
async fn a_server_is_tested_in_one_program() -> Result<(), Failure> {
    let (near, far) = duplex();
    tokio::spawn(server().serve(far));
    let notes = ConnectOptions::new("test", "1.0.0").connect(near).await?;
    let added: Value = notes.call("add_note", json!({ "text": "buy milk" })).await?;
    assert_eq!(added, json!({ "id": 0 }));
    assert_eq!(notes.read_text("notes://0").await?, "buy milk");
    // It shows no forms.
    let tools = notes.tools().await?;
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["add_note"]);
    notes.close().await?;
    Ok(())
}

#[tokio::test]
async fn the_same_server_is_part_of_a_router() -> Result<(), Failure> {
    let http = server().http(ServerOptions::default())?;
    let router = axum::Router::new().route("/mcp", http.method_router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stop_signal = async { drop(stopped.await) };
    let serving = tokio::spawn(async move {
        http.serve(listener, router, stop_signal).await?;
        Ok::<_, Failure>(())
    });
    let notes = ConnectOptions::new("test", "1.0.0").connect_url(&url).await?;
    assert_eq!(notes.prompt("weekly", ()).await?.messages.len(), 1);
    assert_eq!(notes.complete_prompt("weekly", "days", "3").await?, ["30"]);
    notes.close().await?;
    drop(stop);
    serving.await?
}

/// What each user has put into the cart.
#[derive(Default)]
struct Carts(Mutex<BTreeMap<String, Vec<String>>>);

/// Puts something into the cart
#[derive(Deserialize, JsonSchema)]
struct PutIntoCart {
    item: String,
}

impl Tool<Carts> for PutIntoCart {
    type Needs = ();
    type Output = String;

    async fn run(self, carts: &Carts, client: Client) -> Result<String, Failure> {
        let user = client.principal().ok_or("log in first")?;
        let mut carts = carts.0.lock().map_err(|_| "the carts are lost")?;
        let cart = carts.entry(user).or_default();
        cart.push(self.item);
        Ok(cart.join(", "))
    }
}

/// The user that made a request.
#[derive(Clone)]
struct UserName(String);

fn user_of(token: &str) -> Option<UserName> {
    Some(UserName(token.strip_prefix("Bearer ")?.to_owned()))
}

/// Lets requests through that have a token, and says whose they are.
async fn log_in(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let token = request.headers().get("authorization").and_then(|token| token.to_str().ok());
    let user = token.and_then(user_of).ok_or(StatusCode::UNAUTHORIZED)?;
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

fn carts() -> Server<Carts> {
    Server::new("carts", "1.0.0", Carts::default()).tool::<PutIntoCart>()
}

#[tokio::test]
async fn each_user_has_a_cart() -> Result<(), Failure> {
    let options =
        ServerOptions::new().principal(|head| head.extensions.get::<UserName>().map(|user| user.0.clone()));
    let http = carts().http(options)?;
    let router = axum::Router::new()
        .route("/mcp", http.method_router())
        .layer(middleware::from_fn(log_in))
        .route("/health", get(|| async { "it is there" }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving =
        tokio::spawn(async move { http.serve(listener, router, async { drop(stopped.await) }).await });
    let url = format!("http://{address}/mcp");
    for (token, cart) in [("Bearer ada", "milk"), ("Bearer bob", "milk"), ("Bearer ada", "milk, milk")] {
        let options = ConnectOptions::new("test", "1.0.0");
        let client =
            options.connect_to(&url, || HttpClient::new(&url)?.header("authorization", token)).await?;
        assert_eq!(client.call_text("put_into_cart", json!({ "item": "milk" })).await?, cart);
        client.close().await?;
    }
    let refused =
        ConnectOptions::new("test", "1.0.0").connect_url(&url).await.err().map(|error| error.to_string());
    assert!(refused.is_some_and(|refused| refused.contains("status 401")));
    assert_eq!(reqwest::get(format!("http://{address}/health")).await?.text().await?, "it is there");
    drop(stop);
    serving.await??;
    Ok(())
}

#[test]
fn a_client_may_read_what_a_program_logs() {
    tracing_subscriber::registry().with(ClientLog::new()).init();
}

/// The servers behind, by the prefix of their tools.
struct Behind(Vec<(&'static str, Arc<Connection>)>);

impl Tools<Behind> for Behind {
    async fn list(behind: &Behind, _: &ListRequest) -> Result<Page<types::Tool>, Failure> {
        let mut all = Vec::new();
        for (prefix, server) in &behind.0 {
            for mut tool in server.tools().await? {
                tool.name.insert_str(0, prefix);
                all.push(tool);
            }
        }
        Ok(all.into())
    }

    async fn call(
        behind: &Behind,
        name: &str,
        arguments: Object,
        client: Client,
    ) -> Result<Option<CallToolResult>, Failure> {
        for (prefix, server) in &behind.0 {
            if let Some(tool) = name.strip_prefix(prefix) {
                return Ok(Some(server.pass_on(tool, arguments, &client).await?));
            }
        }
        Ok(None)
    }
}

impl Prompts<Behind> for Behind {
    async fn list(behind: &Behind, _: &ListRequest) -> Result<Page<types::Prompt>, Failure> {
        let mut all = Vec::new();
        for (prefix, server) in &behind.0 {
            for mut prompt in server.prompts().await? {
                prompt.name.insert_str(0, prefix);
                all.push(prompt);
            }
        }
        Ok(all.into())
    }

    async fn get(
        behind: &Behind,
        name: &str,
        arguments: BTreeMap<String, String>,
        client: Client,
    ) -> Result<Option<GetPromptResult>, Failure> {
        for (prefix, server) in &behind.0 {
            if let Some(prompt) = name.strip_prefix(prefix) {
                return Ok(Some(server.pass_on_prompt(prompt, arguments, &client).await?));
            }
        }
        Ok(None)
    }
}

#[tokio::test]
async fn a_gateway_has_the_tools_and_prompts_of_the_servers_behind_it() {
    let (near, far) = duplex();
    let behind = server();
    let changed = behind.changes();
    tokio::spawn(behind.serve(far));
    let notes = Arc::new(ConnectOptions::new("gateway", "1.0.0").connect(near).await.unwrap());
    let gateway =
        Server::new("gateway", "1.0.0", Behind(vec![("notes_", Arc::clone(&notes))])).tools::<Behind>();
    let changes = gateway.changes();
    tokio::spawn(async move { notes.pass_on_changes(&changes).await });

    let (near, far) = duplex();
    tokio::spawn(gateway.prompts::<Behind>().serve(far));
    let client = ConnectOptions::new("test", "1.0.0").connect(near).await.unwrap();
    let weekly = client.prompt("notes_weekly", [("days", "2")]).await.unwrap();
    assert_eq!(weekly.messages, [said(Role::User, "Summarise the notes of the last 2 days.")]);
    let added: Value = client.call("notes_add_note", json!({ "text": "buy milk" })).await.unwrap();
    assert_eq!(added, json!({ "id": 0 }));
    let mut tools = client.live_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.name.starts_with("notes_")));
    // The gateway listens from some time on.
    let changing = async {
        loop {
            changed.tools();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        heard = tools.changed() => assert!(heard.unwrap().is_some()),
        () = changing => {}
    }
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let page = include_str!("../../../docs/server.md");
    let adder = include_str!("../../../examples/adder/main.rs");
    let here = squeezed(&[include_str!("server.rs"), adder].concat());
    let mut examples = 0;
    for block in page.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
        examples += 1;
    }
    assert_eq!(examples, 16);
    let lines = adder.lines().filter(|line| !line.is_empty() && !line.starts_with("//!"));
    assert!(lines.count() <= 15, "the smallest server has more than fifteen lines");
    for block in page.split("```json\n").skip(1) {
        serde_json::from_str::<serde_json::Value>(block.split("```").next().unwrap()).unwrap();
    }
}
