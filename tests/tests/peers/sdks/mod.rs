//! Real peers: clients of other SDKs and our server, and our client and servers of other SDKs, over HTTP and over
//! standard streams. Each plays a whole session: what is asserted is what both sides saw of it.
//!
//! The peers come from npm and PyPI, at the versions of the lock files in `tests/peers`: `npm ci` there, and
//! `python3 -m venv .venv` with `.venv/bin/pip install --require-hashes -r requirements.lock`. The one in Rust is a package of
//! the workspace in `benches`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "these are tests"
)]
#![allow(missing_docs)]

mod clients;
mod eras;
mod everything;
mod http_variants;
mod inspector;
mod notes;
#[path = "../../../../examples/revisions/server.rs"]
mod revisions_server;
mod rounds;
mod servers;
mod session;

use std::env::consts::EXE_EXTENSION;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::{Options, Report};
use tokio::process::Command;

/// The tests do not depend on timing; this only keeps a bug from hanging them.
async fn guarded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(180), test).await.expect("the test hangs")
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// A command that runs one of the scripts in `tests/peers`, or one below it.
fn script(name: &str) -> Command {
    let python = Path::new(name).extension().is_some_and(|extension| extension == "py");
    let program = if python { peers().join(".venv/bin/python") } else { PathBuf::from("node") };
    let mut command = Command::new(program);
    command.arg(peers().join(name)).kill_on_drop(true);
    command
}

/// A command that runs `rmcp`, which is the program in `tests/peers/rmcp`, or a script.
fn peer(name: &str) -> Command {
    if name != "rmcp" {
        return script(name);
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/target");
    let program = target.join("debug/rmcp-peer").with_extension(EXE_EXTENSION);
    assert!(
        program.exists(),
        "`{}` is not there: `cargo build --manifest-path benches/Cargo.toml --target-dir benches/target -p rmcp-peer` builds it",
        program.display()
    );
    let mut command = Command::new(program);
    command.kill_on_drop(true);
    command
}

/// What the sessions of a test have reported.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

impl Reports {
    fn options(&self) -> Options {
        let noted = Arc::clone(&self.0);
        Options::new().on_report(move |report: &Report| {
            // The handlers of these tests leave out what a test does not ask.
            if !matches!(report, Report::Unhandled { .. }) {
                noted.lock().unwrap().push(report.to_string());
            }
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// The pages of the documentation that say what is tested name the versions that are installed.
#[test]
fn the_pages_name_the_versions_that_are_tested() {
    let http = include_str!("../../../../docs/http.md");
    let (_, peers) = http.split_once("## Tested with").unwrap();
    let transports = include_str!("../../../../docs/transports.md");
    let (_, servers) = transports.split_once("### Framing").unwrap();
    let schemas = include_str!("../../../../docs/json-schema.md");
    let probed = include_str!("../../../../docs/probed.md");
    let guide = include_str!("../../../../docs/guide/README.md");
    let editors = include_str!("../../../../docs/editors.md");
    let package: serde_json::Value =
        serde_json::from_str(include_str!("../../../peers/package.json")).unwrap();
    let python =
        include_str!("../../../peers/requirements.txt").lines().map(|line| line.split_once("==").unwrap());
    let npm = package["dependencies"].as_object().unwrap().iter();
    let (_, rust) =
        include_str!("../../../../benches/Cargo.lock").split_once("name = \"rmcp\"\nversion = \"").unwrap();
    let rust = ("rmcp", rust.split_once('"').unwrap().0);
    let pinned = npm.map(|(name, version)| (name.as_str(), version.as_str().unwrap())).chain(python);
    let pinned = pinned.chain([rust]);
    for (name, version) in pinned {
        let rows = peers.lines().chain(servers.lines()).filter(|line| line.starts_with('|'));
        let mut rows =
            rows.chain(schemas.lines()).chain(probed.lines()).chain(guide.lines()).chain(editors.lines());
        let row = rows.find(|line| line.contains(&format!("`{name}`"))).unwrap_or_default();
        assert!(row.contains(version), "`{name}` is pinned to {version}, and the pages say: {row}");
    }
}
