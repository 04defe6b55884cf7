//! `docs/editors.md`: what it shows is what the server does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lsp_protocols::types::*;
use mcp_protocol_compiler::explain::{Block, blocks};
use serde_json::Value;

use super::editor::{COUNTER, Editor};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/editors.md")).unwrap()
}

fn block<'p>(page: &'p str, language: &str) -> Block<'p> {
    blocks(page).into_iter().find(|block| block.has(language)).unwrap()
}

/// The methods in the table are those of the capabilities, in both directions.
#[tokio::test]
async fn the_table_lists_what_the_server_announces() {
    let editor = Editor::new("table", &[]).await;
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let listed: BTreeSet<String> = rows
        .flat_map(|row| row.split('|').nth(2).unwrap_or_default().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    let announced = serde_json::to_value(&editor.announced).unwrap();
    let mut expected = BTreeSet::from(["textDocument/publishDiagnostics".to_owned()]);
    for (name, value) in announced.as_object().unwrap() {
        let Some(name) = name.strip_suffix("Provider") else { continue };
        expected.insert(match name {
            "workspaceSymbol" => "workspace/symbol".to_owned(),
            "executeCommand" => format!("workspace/{name}"),
            _ => format!(
                "textDocument/{}",
                name.trim_start_matches("documentF").replace("ormatting", "formatting")
            ),
        });
        if value["prepareProvider"] == true {
            expected.insert("textDocument/prepareRename".to_owned());
        }
    }
    assert_eq!(listed, expected);
    editor.end().await;
}

#[tokio::test]
async fn the_argument_of_the_diagram_is_taken() {
    let editor = Editor::new("argument", &[("counter.session", COUNTER)]).await;
    let page = page();
    let mut argument: Value = serde_json::from_str(&block(&page, "json").text).unwrap();
    argument["uri"] = serde_json::to_value(editor.uri("counter.session")).unwrap();
    let params = ExecuteCommandParams {
        command: "sessionc.diagram".to_owned(),
        arguments: vec![argument],
        work_done_progress_params: Default::default(),
    };
    let result = editor.client.execute_command(params).await.unwrap().unwrap();
    let members: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members.iter().collect::<BTreeSet<_>>(), ["role", "states", "text"].iter().collect());
    for member in members {
        assert!(page.contains(&format!("`{member}`")), "{member}");
    }
    editor.end().await;
}

/// Each editor starts the command that there is, for the files that there are.
#[test]
fn the_editors_start_this_command() {
    let page = page();
    let lua = block(&page, "lua").text;
    assert!(lua.contains("cmd = { 'sessionc', 'lsp' }") && lua.contains("session = 'session'"), "{lua}");
    let toml = block(&page, "toml").text;
    assert!(toml.contains("command = \"sessionc\"\nargs = [\"lsp\"]\n"), "{toml}");
    assert!(toml.contains("file-types = [\"session\"]") && toml.contains("comment-token = \"--\""), "{toml}");
    let vscode =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode/README.md"));
    for line in block(&page, "sh").text.lines().skip(1) {
        assert!(vscode.as_ref().unwrap().contains(line), "{line}");
    }
}
