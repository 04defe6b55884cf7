//! The example `notes`, which is written with the kit, and clients of other SDKs: each uses all of it.

use std::process::Stdio;

use integration_tests::example::program;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::rounds::seen_by;
use super::{guarded, peer, peers};

/// A client, how it connects, and the revision that it speaks then.
type Client = (&'static str, &'static [&'static str], &'static str);

const CLIENTS: [Client; 5] = [
    ("notes.mjs", &["auto"], "2026-07-28"),
    ("notes.mjs", &["legacy"], "2025-11-25"),
    ("notes.py", &["auto"], "2026-07-28"),
    ("notes.py", &["legacy"], "2025-11-25"),
    ("notes_fastmcp.py", &[], "2026-07-28"),
];

/// The ways of one that needs nothing else of `tests/peers`.
const RMCP: [Client; 3] = [
    ("rmcp", &["notes", "initialize"], "2025-11-25"),
    ("rmcp", &["notes", "auto"], "2026-07-28"),
    ("rmcp", &["notes", "discover"], "2026-07-28"),
];

/// What a client sees whose notes these are. The id says how many there were before.
fn all_of_it(script: &str, revision: &str, owner: &str, id: usize) -> Value {
    let uri = format!("notes://{owner}/{id}");
    let mut seen = json!({
        "revision": revision,
        "tools": ["add_note", "find_notes", "delete_note", "sum_up", "import_notes"],
        "uri": uri,
        "imported": "2 notes",
        "progress": [1, 2],
        "found": ["buy milk"],
        "listed": ["buy milk", "one", "two"],
        "read": "buy milk",
        "prompt": "Review these notes about shop:\nbuy milk",
        "tags": ["shop"],
        "summed": "SUM THESE NOTES UP:\nBUY MILK\nONE\nTWO",
        "asked": ["Delete `buy milk`?"],
        "deleted": "deleted",
        "updated": uri,
        "gone": [true, format!("there is no note {id}")]
    });
    if script == "notes.mjs" {
        // It drops a report of progress that it reads together with the reply.
        seen.as_object_mut().unwrap().remove("progress");
    }
    seen
}

/// What a client saw; Python writes the steps of progress with a fraction.
async fn seen(client: &mut Command) -> Value {
    let mut seen = seen_by(client).await;
    for step in seen.get_mut("progress").and_then(Value::as_array_mut).into_iter().flatten() {
        *step = json!(step.as_f64().unwrap() as u64);
    }
    seen
}

/// Each client has a server of its own.
async fn use_all_of_the_notes(clients: &[Client]) {
    for &(name, mode, revision) in clients {
        let mut client = peer(name);
        client.args(mode).arg("stdio").arg(program("notes"));
        assert_eq!(seen(&mut client).await, all_of_it(name, revision, "me", 1), "{name} {mode:?}");
    }
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn clients_of_other_sdks_use_all_of_the_notes() {
    guarded(use_all_of_the_notes(&CLIENTS)).await;
}

#[tokio::test]
#[ignore = "needs the program of tests/peers/rmcp"]
async fn rmcp_uses_all_of_the_notes() {
    guarded(use_all_of_the_notes(&RMCP)).await;
}

/// The notes over HTTP for these users, and the address.
async fn serving(users: &[&str]) -> (tokio::process::Child, String) {
    let tokens: Vec<String> = users.iter().map(|user| format!("{user}={user}-token")).collect();
    let mut server = Command::new(program("notes"));
    server.arg("127.0.0.1:0").env("NOTES_TOKENS", tokens.join(","));
    let mut server = server.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = said.next_line().await.unwrap().unwrap();
    (server, line.strip_prefix("serving ").unwrap().to_owned())
}

/// Each client is another user of one server.
async fn use_one_endpoint(clients: &[Client]) {
    let users = &["ada", "bo", "cy", "di", "ed"][..clients.len()];
    let (mut server, url) = serving(users).await;
    for (turn, (user, &(name, mode, revision))) in users.iter().zip(clients).enumerate() {
        let mut client = peer(name);
        client.args(mode).args(["http", &url, &format!("{user}-token")]);
        // Each client adds three notes to one table, and deletes the first of them.
        let expected = all_of_it(name, revision, user, 3 * turn + 1);
        assert_eq!(seen(&mut client).await, expected, "{name} {mode:?}");
    }
    server.kill().await.unwrap();
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn each_user_of_one_endpoint_has_their_own_notes() {
    guarded(use_one_endpoint(&CLIENTS)).await;
}

#[tokio::test]
#[ignore = "needs the program of tests/peers/rmcp"]
async fn each_user_of_one_endpoint_has_their_own_notes_in_rmcp() {
    guarded(use_one_endpoint(&RMCP)).await;
}

/// What the command line of the Inspector prints.
async fn inspected(words: &[&str]) -> Value {
    let packages = peers().join("node_modules/@modelcontextprotocol");
    // It reads its version from the package that usually has it, which another test may do right now.
    let linked =
        std::fs::hard_link(packages.join("inspector-cli/package.json"), packages.join("package.json"));
    assert!(linked.is_ok() || packages.join("package.json").exists(), "{linked:?}");
    let mut inspector = Command::new("node");
    seen_by(inspector.arg(packages.join("inspector-cli/build/index.js")).args(words)).await
}

/// The tools that a client sees which cannot ask its user or a model.
async fn look_at(over: &[&str], server: &str) {
    let listed = inspected(&[over, &["--method", "tools/list", server]].concat()).await;
    let tools = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    assert_eq!(tools.collect::<Vec<_>>(), ["add_note", "find_notes", "import_notes"]);
    let add = ["--tool-name", "add_note", "--tool-arg", "text=buy milk", "--method", "tools/call", server];
    let added = inspected(&[over, &add].concat()).await;
    assert_eq!(added["structuredContent"]["text"], "buy milk");
    let review = ["--prompt-name", "review", "--prompt-args", "tag=shop", "--method", "prompts/get", server];
    let review = inspected(&[over, &review].concat()).await;
    assert_eq!(review["messages"][0]["content"]["text"], "Review these notes about shop:\n");
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn the_inspector_looks_at_the_notes() {
    guarded(async {
        look_at(&[], program("notes").to_str().unwrap()).await;
        let (mut server, url) = serving(&["ada"]).await;
        look_at(&["--transport", "http", "--header", "Authorization: Bearer ada-token"], &url).await;
        server.kill().await.unwrap();
    })
    .await;
}
