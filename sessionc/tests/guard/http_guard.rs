//! A guard that listens, and what its clients do.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use super::client::{INITIALIZE, INITIALIZED, guard};

pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

/// A guard that listens.
pub(crate) struct Guard {
    child: Child,
    reports: BufReader<std::process::ChildStderr>,
    pub(crate) url: String,
    pub(crate) client: Client,
}

impl Guard {
    pub(crate) fn start(to: &str, more: &[&str]) -> Guard {
        let arguments = [&["--protocol", "mcp", "--listen", "127.0.0.1:0", "--to", to], more].concat();
        Guard::run(guard(&arguments))
    }

    /// Starts a command, and waits until it listens.
    pub(crate) fn run(mut command: Command) -> Guard {
        let mut child = command.spawn().unwrap();
        let mut reports = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        reports.read_line(&mut line).unwrap();
        let own = line.split("http://").nth(1).unwrap().split(',').next().unwrap();
        let url = format!("http://{own}/mcp");
        Guard { child, reports, url, client: Client::builder().no_proxy().build().unwrap() }
    }

    pub(crate) fn post(&self, session: Option<&str>, message: &str) -> RequestBuilder {
        post(&self.client, &self.url, session, message)
    }

    /// Sends a message, and returns the status and the message that answers it.
    pub(crate) async fn ask(&self, session: Option<&str>, message: &str) -> (u16, Value) {
        let response = self.post(session, message).send().await.unwrap();
        (response.status().as_u16(), message_of(&response.text().await.unwrap()))
    }

    /// Goes through the handshake. Returns the session's id.
    pub(crate) async fn initialize(&self) -> String {
        let response = self.post(None, INITIALIZE).send().await.unwrap();
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(self.ask(Some(&id), INITIALIZED).await.0, 202);
        id
    }

    /// Stops the guard, and returns its reports.
    pub(crate) fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        let mut reports = String::new();
        self.reports.read_to_string(&mut reports).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        reports
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A test that fails leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn post(client: &Client, url: &str, session: Option<&str>, message: &str) -> RequestBuilder {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_owned());
    match session {
        Some(id) => request.header("mcp-session-id", id),
        None => request,
    }
}

/// The last message of a body.
pub(crate) fn message_of(body: &str) -> Value {
    let line = body
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .rfind(|line| line.trim().starts_with('{'));
    line.map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
}

pub(crate) async fn parts(response: Response) -> (u16, Vec<String>, Vec<u8>) {
    let status = response.status().as_u16();
    let headers = response.headers().iter().filter(|(name, _)| *name != "date");
    let mut headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    headers.sort();
    (status, headers, response.bytes().await.unwrap().to_vec())
}
