//! The typed client of the Agent Client Protocol with agents of others, and the typed agent with clients of others.
//!
//! The peers come from npm (`npm ci` in `tests/peers`): the example agent and the example client of
//! `@agentclientprotocol/sdk`, and an agent and a client on that SDK that do what the examples do not. The checker reports
//! nothing in any of these tests.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod agent;
mod client;
#[cfg(unix)]
mod example_client;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use acp_protocols::types::{ContentBlock, ContentChunk, SessionUpdate};
use mcp_runtime::transport::Child;
use mcp_runtime::{Options, Report};
use tokio::process::Command;

/// The last version of the SDK whose package has the examples.
const EXAMPLES: &str = "node_modules/acp-examples/dist/examples";

fn peer(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script)
}

/// A program of others as a child, which is the peer.
fn node(script: &str) -> Child {
    let mut command = Command::new("node");
    command.arg(peer(script));
    Child::spawn(command).unwrap()
}

/// What the checker has reported.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<String>>>);

impl Reports {
    fn options(&self) -> Options {
        let reports = Arc::clone(&self.0);
        Options::new().on_report(move |report: &Report| reports.lock().unwrap().push(report.to_string()))
    }

    #[track_caller]
    fn none(&self) {
        assert_eq!(*self.0.lock().unwrap(), Vec::<String>::new());
    }
}

/// An update with text of the agent.
fn says(text: impl Into<String>) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into().into()))
}

/// The text of an update, if it is one of the agent's message.
fn text(update: &SessionUpdate) -> Option<&str> {
    match update {
        SessionUpdate::AgentMessageChunk(ContentChunk { content: ContentBlock::Text(text), .. }) => {
            Some(&text.text)
        }
        _ => None,
    }
}
