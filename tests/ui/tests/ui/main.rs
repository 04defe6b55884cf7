//! What the typed interface lets a program say, and what it does not.
//!
//! `pass` is part of this program, so that what must compile does. What must not is in `fail`, each file next to a
//! snapshot of rustc's output: `INSTA_UPDATE=always cargo test -p ui-tests` updates that.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use mcp_protocols::mcp_2025_11_25::{McpServer, server};
use mcp_protocols::types::*;
use mcp_runtime::{RpcError, transport};

use rustc::{Dependencies, Rustc};

#[path = "../../pass/correct_usage.rs"]
mod correct_usage;
#[allow(dead_code)]
#[path = "../../pass/client.rs"]
mod every_method_of_a_client;
#[allow(dead_code)]
#[path = "../../pass/server.rs"]
mod every_method_of_a_server;
mod expanded;
mod normal;
mod payloads;
#[path = "../../../../mcp-protocol-compiler/tests/checker/protocols/mod.rs"]
mod protocols;
#[allow(dead_code, reason = "the checker's oracle uses the rest")]
#[path = "../../../../mcp-protocol-compiler/tests/checker/random.rs"]
mod random;
mod rustc;
#[allow(dead_code)]
#[path = "../../pass/tasks.rs"]
mod tasks;
#[path = "../../../../mcp-protocol-compiler/tests/it/view.rs"]
mod view;
mod walks;

/// The compiler whose words are recorded. Another may put them differently, so that of what it says only the gist
/// has to be the same.
const RECORDED_WITH: &str = "rustc 1.95.";

/// The crates that a program may use, except for `mcp_protocols`.
const CRATES: [&str; 4] = ["mcp_runtime", "serde", "serde_json", "tokio"];

#[test]
fn what_must_not_compile() {
    let dependencies = Dependencies::of_one_revision(&CRATES);
    let rustc = Rustc::installed("tests/ui/fail");
    let recorded = rustc.version().starts_with(RECORDED_WITH);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../fail");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let programs = programs();
    assert!(programs.len() >= 18, "only {} programs", programs.len());
    for (program, said) in programs.iter().zip(rustc.errors(&programs, &dependencies)) {
        let name = program.file_stem().unwrap().to_str().unwrap();
        if recorded {
            settings.bind(|| insta::assert_snapshot!(name, said));
        } else {
            let snapshot = fs::read_to_string(program.with_extension("snap")).unwrap();
            assert_eq!(gist(&snapshot), gist(&said), "{name}");
        }
    }
}

/// The programs of `fail`, in the order of their names.
fn programs() -> Vec<PathBuf> {
    let files = fs::read_dir("fail").unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")).collect();
    programs.sort();
    programs
}

#[test]
fn every_snapshot_has_its_program() {
    let snapshots = fs::read_dir("fail").unwrap().map(|entry| entry.unwrap().path());
    for snapshot in snapshots.filter(|file| file.extension().is_some_and(|extension| extension == "snap")) {
        assert!(snapshot.with_extension("rs").exists(), "`{}` belongs to no program", snapshot.display());
    }
}

/// Each error up to the first name that it speaks of.
fn gist(said: &str) -> Vec<String> {
    let errors = said.lines().filter(|line| line.starts_with("error"));
    errors.map(|line| line.split_inclusive('`').take(2).collect()).collect()
}

#[test]
fn a_call_that_comes_too_early_names_its_state() {
    let said = include_str!("../../fail/a_call_before_initialized.snap");
    assert!(said.contains("no method named `call_tool` found for struct `McpClient<Uninit>`"), "{said}");
    assert!(said.contains("the method was found for\n          - `McpClient<Active>`"), "{said}");
}

#[test]
fn pass_names_every_method_in_the_state_that_has_it() {
    let generated = methods(include_str!("../../../../protocols/src/mcp_2025_11_25.rs"));
    assert!(generated.contains("McpClient::<Active>::call_tool"), "{generated:?}");
    let mut named = BTreeSet::new();
    for text in [include_str!("../../pass/client.rs"), include_str!("../../pass/server.rs")] {
        let starts = ["Mcp", "client::", "server::"].map(|of| text.match_indices(of));
        for (start, _) in starts.into_iter().flatten() {
            let path =
                text[start..].split(|letter: char| !(letter.is_alphanumeric() || "_:<>".contains(letter)));
            named.extend(path.take(1).filter(|path| path.contains(">::")).map(str::to_owned));
        }
    }
    // What every session has comes from the runtime; that the files compile holds it.
    named.retain(|path| !COMMON.iter().any(|name| path.ends_with(&format!(">::{name}"))));
    assert_eq!(generated, named);
}

/// The methods of every session.
const COMMON: [&str; 11] = [
    "new",
    "with_options",
    "resume",
    "handle",
    "incoming",
    "permits",
    "permitted",
    "into_checked",
    "ended",
    "readable",
    "abort",
];

/// The public methods of sessions in generated code: `McpClient::<Active>::call_tool`.
fn methods(generated: &str) -> BTreeSet<String> {
    let mut methods = BTreeSet::new();
    let mut session = None;
    for line in generated.lines() {
        if let Some(of) = line.strip_prefix("    impl ").and_then(|rest| rest.strip_suffix("> {")) {
            let shown = ["Mcp", "client::", "server::"].iter().any(|start| of.starts_with(start));
            session = shown.then(|| of.replace('<', "::<"));
        } else if line == "    }" {
            session = None;
        }
        let method = line.strip_prefix("        pub ").map(|method| method.trim_start_matches("async "));
        let method = method.and_then(|method| method.strip_prefix("fn "));
        if let (Some(session), Some(method)) = (&session, method) {
            let name = method.split(['(', '<']).next().unwrap();
            methods.insert(format!("{session}>::{name}"));
        }
    }
    methods
}

/// Answers what the flow of the note asks.
struct Desk;

impl server::Handler for Desk {
    async fn call_tool(
        &self,
        _: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        Ok(CallToolResult::text(params.name))
    }

    async fn read_resource(
        &self,
        _: server::Context,
        params: ResourceParams,
    ) -> Result<ReadResourceResult, RpcError> {
        Ok(ReadResourceResult::new([TextResourceContents::new(params.uri, "read").into()]))
    }
}

#[tokio::test]
async fn the_flow_of_the_note_runs() {
    let (near, far) = transport::duplex();
    let program = Implementation::new("note", "1");
    let offered =
        ServerCapabilities::new().tools(ToolsCapability::new()).resources(ResourcesCapability::new());
    let welcome = InitializeResult::new("2025-11-25", offered, program.clone());
    let server = async {
        let server = McpServer::new(far);
        let serving = tokio::spawn(server.incoming().serve(Desk));
        let (_, server) = server.recv_initialize().await.unwrap();
        let server = server.send_initialize_result(welcome).await.unwrap();
        let server = server.recv_initialized().await.unwrap();
        serving.await.unwrap();
        drop(server);
    };
    let client = correct_usage::correct_usage(
        near,
        InitializeParams::new("2025-11-25", ClientCapabilities::new(), program),
        CallToolParams::new("sum"),
        ResourceParams::new("desk://notes"),
    );
    let (said, ()) = tokio::join!(client, server);
    let (result, tool, resource) = said.unwrap();
    assert_eq!(result.server_info.name, "note");
    assert_eq!(tool.first_text(), Some("sum"));
    assert_eq!(resource.contents[0].as_text(), Some("read"));
}
