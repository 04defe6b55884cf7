//! Starting server-everything, and a session with it.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2025_03_26::{McpClient, Uninit};
use mcp_runtime::transport::{Child, ShutdownTimes};
use mcp_runtime::{Options, Report};
use tokio::process::Command;

use super::tap::{Window, tap};

/// What a session notices beside its steps.
#[derive(Clone, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<Report>>>);

impl Reports {
    /// All reports so far, as they would be printed.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    /// All reports so far.
    pub(crate) fn all(&self) -> Vec<Report> {
        self.0.lock().unwrap().clone()
    }

    fn options(&self) -> Options {
        let reports = Arc::clone(&self.0);
        Options::new().on_report(move |report| reports.lock().unwrap().push(report.clone()))
    }
}

/// A session that has not begun, with a new server; nothing where the server is not installed.
pub(crate) fn start() -> Option<(McpClient<Uninit>, Window, Reports)> {
    start_with(|options| options)
}

/// The same with settings of its own.
pub(crate) fn start_with(
    set: impl FnOnce(Options) -> Options,
) -> Option<(McpClient<Uninit>, Window, Reports)> {
    let (transport, window) = tap(spawn()?);
    let reports = Reports::default();
    let client = McpClient::with_options(transport, set(reports.options()));
    Some((client, window, reports))
}

pub(crate) fn spawn() -> Option<Child> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let server = peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let node = std::process::Command::new("node").arg("--version").stdout(Stdio::null()).status();
    if !server.exists() || node.is_err() {
        let how =
            "the test server is not installed: install Node.js 20 or newer and run `npm ci` in `tests/peers`";
        // A machine that is there to test has to have it; anybody else may want to test the rest only.
        assert!(std::env::var_os("CI").is_none(), "{how}");
        eprintln!("skipped, for {how}");
        return None;
    }
    let mut command = Command::new("node");
    command.arg(server).arg("stdio");
    // A busy machine may take its time; that it leaves by itself is what is tested.
    let times = ShutdownTimes { after_eof: Duration::from_secs(60), ..ShutdownTimes::default() };
    let child = Child::builder(command)
        .shutdown_times(times)
        .on_stderr_line(|line| eprintln!("server-everything: {line}"))
        .spawn();
    Some(child.unwrap())
}
