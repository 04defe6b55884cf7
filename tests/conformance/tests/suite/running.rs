//! Running the suite, and our programs.
//!
//! The suite runs in a Node of its own version (`package.json`), which `loopback.cjs` keeps on this machine.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::results::Results;

pub(crate) const CLIENT: &str = env!("CARGO_BIN_EXE_conformance-client");
const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

/// The versions of the suite, by the names that `package.json` gives them.
#[derive(Clone, Copy)]
pub(crate) enum Version {
    Stable,
    Next,
}

/// The suite in one version, and the Node that runs it.
pub(crate) struct Suite {
    node: PathBuf,
    program: PathBuf,
}

/// What one run came to.
pub(crate) struct Run {
    output: Output,
    pub(crate) results: Results,
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The tests do not depend on timing; this only keeps a bug from hanging them.
pub(crate) async fn guarded<T>(running: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(240), running).await.expect("the suite hangs")
}

impl Suite {
    pub(crate) fn installed(version: Version) -> Suite {
        let name = match version {
            Version::Stable => "conformance-stable",
            Version::Next => "conformance-next",
        };
        let modules = here().join("node_modules");
        let program = modules.join(name).join("dist/index.js");
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let installed = modules.join(format!("node-{}-{architecture}/bin/node", std::env::consts::OS));
        // Where no Node comes with the suite, the one of the machine has to do.
        let node = if installed.exists() { installed } else { PathBuf::from("node") };
        Suite { node, program }
    }

    /// Runs the suite with these arguments; `name` is that of the folder for what it writes.
    pub(crate) async fn run(&self, name: &str, arguments: &[&str]) -> Run {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = self.node(&[]);
        command.arg(&self.program).args(arguments);
        if arguments.first() != Some(&"list") {
            command.arg("--output-dir").arg(&folder);
        }
        let output = guarded(command.current_dir(&folder).output()).await.unwrap();
        Run { output, results: Results::read(&folder) }
    }

    /// Node, kept on this machine.
    pub(crate) fn node(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.node);
        command.arg("--require").arg(here().join("loopback.cjs")).args(arguments);
        for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
            command.env_remove(proxy).env_remove(proxy.to_uppercase());
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

impl Run {
    fn said(&self) -> String {
        let Output { stdout, stderr, .. } = &self.output;
        format!("{}\n{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr))
    }

    /// The suite itself is content.
    #[track_caller]
    pub(crate) fn assert_success(&self) {
        assert!(self.output.status.success(), "{}: {}", self.output.status, self.said());
    }

    /// The same without those that are marked: these are run, and do not count.
    #[track_caller]
    pub(crate) fn required(&self, role: &str) -> Vec<String> {
        self.listed(role, false)
    }

    /// The scenarios that a list names for one role, in order: those under its heading, and those that are marked.
    #[track_caller]
    pub(crate) fn scenarios(&self, role: &str) -> Vec<String> {
        self.listed(role, true)
    }

    #[track_caller]
    fn listed(&self, role: &str, marked: bool) -> Vec<String> {
        self.assert_success();
        let mut scenarios = Vec::new();
        let mut heading = String::new();
        for line in String::from_utf8_lossy(&self.output.stdout).lines() {
            let Some(entry) = line.trim_start().strip_prefix("- ") else {
                heading = line.to_lowercase();
                continue;
            };
            if heading.starts_with(role) || marked && entry.ends_with(&format!("[{role}]")) {
                scenarios.extend(entry.split(' ').next().map(str::to_owned));
            }
        }
        scenarios.sort();
        scenarios
    }
}

/// Our server, until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    _process: Child,
}

impl Server {
    pub(crate) async fn start(arguments: &[&str]) -> Server {
        let mut process = Command::new(SERVER)
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("our server starts");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = guarded(lines.next_line()).await.unwrap().expect("our server says where it is");
        Server { url, _process: process }
    }
}
