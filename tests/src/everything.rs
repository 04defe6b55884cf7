//! Starting server-everything, and a session with it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::{McpClient, Uninit};
use mcp_runtime::transport::{Child, ShutdownTimes};
use mcp_runtime::{Options, Report};
use tokio::process::Command;

use crate::tap::{Window, tap};

/// The reports of a session.
#[derive(Clone, Default)]
pub struct Reports(Arc<Mutex<Vec<Report>>>);

impl Reports {
    /// All reports so far, as they would be printed.
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    /// All reports so far.
    pub fn all(&self) -> Vec<Report> {
        self.0.lock().unwrap().clone()
    }

    fn options(&self) -> Options {
        let reports = Arc::clone(&self.0);
        Options::new().on_report(move |report| reports.lock().unwrap().push(report.clone()))
    }
}

/// A session that has not begun, with a new server.
pub fn start() -> (McpClient<Uninit>, Window, Reports) {
    start_with(|options| options)
}

/// The same with settings of its own.
pub fn start_with(set: impl FnOnce(Options) -> Options) -> (McpClient<Uninit>, Window, Reports) {
    let (transport, window) = tap(spawn());
    let reports = Reports::default();
    let client = McpClient::with_options(transport, set(reports.options()));
    (client, window, reports)
}

/// Starts the server, which `npm ci` in `tests/peers` installs.
pub fn spawn() -> Child {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let server = peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let mut command = Command::new("node");
    command.arg(server).arg("stdio");
    // A busy machine may take its time; that it leaves by itself is what is tested.
    let times = ShutdownTimes::new().after_eof(Duration::from_secs(60));
    let child = Child::builder(command)
        .shutdown_times(times)
        .on_stderr_line(|line| eprintln!("server-everything: {line}"))
        .spawn();
    child.expect("`node` starts")
}
