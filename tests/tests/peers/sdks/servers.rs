//! Servers of other SDKs, and our client, which accepts every revision.

use std::process::Stdio;
use std::time::Duration;

use mcp_protocols::VERSIONS;
use mcp_runtime::Outcome;
use mcp_runtime::session::Means;
use mcp_runtime::transport::http::HttpClient;
use mcp_runtime::transport::{Child, ShutdownTimes};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStdout;

use super::session::play;
use super::{Reports, guarded, peer, script};

/// A server that has been started, and ends with this.
pub(crate) struct Serving {
    pub(crate) url: String,
    said: Lines<BufReader<ChildStdout>>,
    _child: tokio::process::Child,
}

impl Serving {
    /// Starts a server, with its way of doing things.
    pub(crate) async fn start(name: &str, manner: &str) -> Serving {
        let mut command = peer(name);
        command.args(["http", manner]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = said.next_line().await.unwrap().expect("the server says where it is");
        Serving { url, said, _child: child }
    }

    /// The next thing that it says.
    pub(crate) async fn says(&mut self) -> String {
        self.said.next_line().await.unwrap().expect("the server is still there")
    }
}

async fn over_http(name: &str, server: &str) {
    let mut serving = Serving::start(name, "plain").await;
    for revision in VERSIONS {
        let reports = Reports::default();
        let (named, _) = play(HttpClient::new(&serving.url).unwrap(), revision, &reports).await;
        assert_eq!(named, server);
        assert_eq!(serving.says().await, "deleted, 0 left", "{revision}");
        assert_elicitation_only(revision, &reports);
    }
}

async fn over_stdio(name: &str, server: &str) {
    for revision in VERSIONS {
        let mut command = script(name);
        command.arg("stdio");
        // A busy machine may take its time; that it leaves by itself is what is tested.
        let times = ShutdownTimes::new().after_eof(Duration::from_secs(60));
        let child = Child::builder(command).shutdown_times(times).on_stderr_line(|line| eprintln!("{line}"));
        let reports = Reports::default();
        let (named, outcome) = play(child.spawn().unwrap(), revision, &reports).await;
        assert_eq!(named, server);
        assert!(
            matches!(outcome, Outcome::Exited { status, after: Means::EndOfInput } if status.success()),
            "{revision}: {outcome:?}"
        );
        assert_elicitation_only(revision, &reports);
    }
}

/// Nothing is out of order but that these servers ask the user in revisions that do not have it.
fn assert_elicitation_only(revision: &str, reports: &Reports) {
    let unknown = format!("`elicitation/create` is not a method that the server sends in `Mcp` {revision}");
    let expected = if matches!(revision, "2024-11-05" | "2025-03-26") { vec![unknown] } else { vec![] };
    assert_eq!(reports.take(), expected, "{revision}");
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_2_over_http() {
    guarded(over_http("server.mjs", "typescript-desk")).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_2_over_stdio() {
    guarded(over_stdio("server.mjs", "typescript-desk")).await;
}

#[tokio::test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
async fn python_over_http() {
    guarded(over_http("server.py", "python-desk")).await;
}

#[tokio::test]
#[ignore = "needs Python and the packages of `tests/peers/requirements.lock`"]
async fn python_over_stdio() {
    guarded(over_stdio("server.py", "python-desk")).await;
}
