//! Each crate's modules in order, and what in them is not in order yet.

use layers::Layers;

#[test]
fn the_machine() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-protocol-machine"),
        order: &[
            "excerpt",
            "hash",
            "protocol",
            "shape",
            "id",
            "capability",
            "condition",
            "fence",
            "closed",
            "grants",
            "history",
            "endings",
            "exchange",
            "trail",
            "channels",
            "bodies",
            "sub_sessions",
            "lookup",
            "tables",
            "revision",
            "violation",
            "checker",
        ],
        ..Layers::default()
    }
    .check();
}

#[test]
fn the_compiler() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-protocol-compiler"),
        order: &[
            "hash",
            "lists",
            "components",
            "reach",
            "source",
            "ast",
            "diagnostic",
            "suggest",
            "lexer",
            "format",
            "declarations",
            "findings",
            "parser",
            "formatted",
            "resolve",
            "symbols",
            "dual",
            "automaton",
            "relation",
            "plan",
            "compiled",
            "checks",
            "generate",
            "diagram",
            "peer_hint",
            "forgotten",
            "edits",
            "tried",
            "consequences",
            "compile",
            "compat",
            "explain",
        ],
        ..Layers::default()
    }
    .check();
}

#[test]
fn the_macro() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-protocol-macro"),
        order: &["arguments", "debug", "findings", "search", "locate", "receivers", "expand"],
        ..Layers::default()
    }
    .check();
}

#[test]
fn the_runtime() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-runtime"),
        order: &[
            "error_texts",
            "epoch",
            "clock",
            "bell",
            "budget",
            "panics",
            "jsonrpc",
            "shapes",
            "revisions",
            "error",
            "report",
            "options",
            "driver",
            "rules",
            "observer",
            "engine",
            "typed",
            "checked",
            "step_error",
            "__private",
            "transport",
            "call",
            "session",
            "protocol",
            "fuzzing",
        ],
        inner: &["engine/owners"],
    }
    .check();
}

#[test]
fn the_command_line() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessionc"),
        order: &[
            "arguments",
            "server_command",
            "end",
            "color",
            "missing_role",
            "files",
            "whole_file",
            "address",
            "terminal_line",
            "wrapped",
            "print",
            "sarif",
            "report",
            "json_schema",
            "machine_json",
            "protocol",
            "message_head",
            "eras",
            "unknown_revision",
            "not_received",
            "malformed_texts",
            "other_type",
            "content_kind",
            "event_stream",
            "framed",
            "probe",
            "lsp",
            "trace",
            "guard",
            "crate_name",
            "repository",
            "unusable",
            "commands",
        ],
        ..Layers::default()
    }
    .check();
}

#[test]
fn the_shipped_protocols() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../protocols"),
        order: &[
            "mcp_2025_11_25",
            "types",
            "related",
            "mcp_2024_11_05",
            "mcp_2025_03_26",
            "mcp_2025_06_18",
            "revisions",
            "mcp_2026_07_28",
            "mcp_2026_07_28_tasks",
            "helpers",
            "subscribing",
            "together",
            "rounds",
            "eras",
        ],
        ..Layers::default()
    }
    .check();
}

#[test]
fn the_kit() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../kit"),
        order: &["answer", "schema", "failure", "server", "connection", "prelude"],
        ..Layers::default()
    }
    .check();
}

#[test]
fn authorization() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../auth"),
        order: &["scopes", "secret", "challenge", "metadata", "client", "server"],
        ..Layers::default()
    }
    .check();
}

#[test]
fn acp() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../acp"),
        order: &["types", "acp_v1"],
        ..Layers::default()
    }
    .check();
}

#[test]
fn lsp() {
    Layers {
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/../../lsp"),
        order: &["types", "lsp_3_17"],
        ..Layers::default()
    }
    .check();
}

#[test]
fn the_root_of_the_runtime_has_only_names_of_public_modules() {
    let lib = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-runtime/src/lib.rs"));
    let lib = lib.expect("the root of the runtime");
    let modules = ["call", "driver", "error", "options", "protocol", "session"];
    let exported: Vec<_> = lib.lines().filter_map(|line| line.strip_prefix("pub use ")).collect();
    let others =
        exported.iter().filter(|path| !modules.iter().any(|module| path.starts_with(&format!("{module}::"))));
    assert!(!exported.is_empty());
    assert_eq!(others.collect::<Vec<_>>(), [&""; 0], "re-export it from a public module, too");
}
