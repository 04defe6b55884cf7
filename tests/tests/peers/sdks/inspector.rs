//! The Inspector by its command `mcpdo`, against the example `eras`. A process of its own keeps the connections, so that one
//! command begins a call, and another answers what the server asks in it.
//!
//! `tests/peers/package.json` pins `vite`, which the Inspector has for its page: a newer one names a package that is in no
//! registry.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use integration_tests::example::program;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::eras::serving;
use super::rounds::seen_by;
use super::{guarded, script};

/// The eras in which it connects, and the one that it comes to.
const ERAS: [(&str, &str); 3] = [("legacy", "legacy"), ("modern", "modern"), ("auto", "modern")];

/// The Inspector with connections of its own.
struct Inspector {
    /// Its home, with the socket of the process that keeps the connections: it has a short path.
    home: PathBuf,
}

impl Inspector {
    fn new(name: &str) -> Inspector {
        let home = std::env::temp_dir().join(format!("mcp-inspector-{}-{name}", std::process::id()));
        fs::create_dir_all(home.join("daemon")).unwrap();
        Inspector { home }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command =
            script("node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js");
        command.env("HOME", &self.home);
        command.env("MCP_INSPECTOR_DAEMON_DIR", self.home.join("daemon"));
        command.env("MCP_INSPECTOR_DAEMON_TOKEN", "of-this-test");
        command.args(["--format", "json"]).args(words);
        command
    }

    /// What it prints, on its connection `desk`.
    async fn says(&self, words: &[&str]) -> Value {
        seen_by(&mut self.command(&[&["--connection", "desk"], words].concat())).await
    }

    /// A tool that asks the user, a subscription, and a list that changes.
    async fn use_the_desk(&self, era: &str, comes_to: &str, server: &[&str]) {
        let connected = self.says(&[&["connect", "--era", era], server].concat()).await;
        assert_eq!(connected["protocolEra"], comes_to, "{connected}");
        let mut reports = self.reports_of("desk://note");
        until(&mut reports, "subscribed").await;

        let asked = self.says(&["tools/call", "greet"]).await;
        let question = &asked["elicitationPending"];
        assert_eq!(question["message"], "Who is there?", "{asked}");
        // In a session the server sends a request; without one its answer is that it needs input.
        let origin = if comes_to == "legacy" { "server-request" } else { "input-required" };
        assert_eq!(question["origin"], origin);
        let id = question["elicitationId"].as_str().unwrap();
        assert_eq!(text(&self.says(&["elicitation/respond", id, "name:=Ada"]).await), "Hello, Ada!");

        assert_eq!(text(&self.says(&["tools/call", "write"]).await), "written");
        until(&mut reports, "resources/updated").await;
        assert_eq!(text(&self.says(&["tools/call", "learn"]).await), "I can dance now.");
        let listed = self.says(&["tools/list"]).await;
        assert!(listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "dance"), "{listed}");
        assert_eq!(self.says(&["disconnect"]).await, json!({ "name": "desk" }));
    }

    /// What it prints of a subscription, line by line. It ends with what is returned.
    fn reports_of(&self, uri: &str) -> Reports {
        let mut command = self.command(&["--connection", "desk", "resources/subscribe", uri]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Reports { _process: process, lines }
    }
}

impl Drop for Inspector {
    /// Ends the process that keeps the connections, and with it the servers that it has started.
    fn drop(&mut self) {
        drop(self.command(&["daemon", "stop"]).as_std_mut().output());
        drop(fs::remove_dir_all(&self.home));
    }
}

struct Reports {
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Waits for a report of this type.
async fn until(reports: &mut Reports, kind: &str) {
    let expected = format!("\"type\": \"{kind}\",");
    while reports.lines.next_line().await.unwrap().expect("it reports no more").trim() != expected {}
}

/// The text that a tool answers with.
fn text(result: &Value) -> &Value {
    &result["content"][0]["text"]
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn the_inspector_in_each_era() {
    guarded(async {
        let inspector = Inspector::new("stdio");
        for (era, comes_to) in ERAS {
            inspector.use_the_desk(era, comes_to, &["--", program("eras").to_str().unwrap(), "serve"]).await;
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn the_inspector_in_each_era_over_http() {
    guarded(async {
        let (mut server, url) = serving("eras").await;
        let inspector = Inspector::new("http");
        for (era, comes_to) in ERAS {
            inspector.use_the_desk(era, comes_to, &["--transport", "http", "--server-url", &url]).await;
        }
        drop(inspector);
        server.kill().await.unwrap();
    })
    .await;
}
