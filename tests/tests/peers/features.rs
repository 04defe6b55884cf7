//! The editor asks the language servers everything that they offer: each answer is one that the payload types can read.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use lsp_protocols::types::*;
use mcp_runtime::Error;
use serde_json::{Value, json};

use super::editors::{CONTENT_MODIFIED, Language, PYTHON, RUST, Running, TYPESCRIPT, guarded, started};

/// What was asked.
#[derive(Debug, Default)]
struct Asked {
    answered: Vec<&'static str>,
    /// The server has an error instead: there may be nothing to rename, for instance.
    refused: Vec<&'static str>,
    /// The server has not announced it.
    not_offered: Vec<&'static str>,
}

impl Asked {
    /// Notes how a question went. An answer that cannot be read fails the test.
    fn note<T>(&mut self, what: &'static str, answer: Result<T, Error>) -> Option<T> {
        match answer {
            Ok(answer) => {
                self.answered.push(what);
                return Some(answer);
            }
            Err(Error::Refused(_)) => self.refused.push(what),
            Err(Error::NotPermitted(_)) => self.not_offered.push(what),
            Err(error) => panic!("{what}: {error}"),
        }
        None
    }
}

/// Params from JSON: most have only a document and a place.
fn params<T: serde::de::DeserializeOwned>(fields: &Value, more: Value) -> T {
    let mut all = fields.clone();
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

async fn everything(language: &Language, text: &str, line: u32, character: u32) -> Option<Asked> {
    let running: Running = started(&format!("{}-features", language.server), language).await?;
    let document = running.open_text(language, text).await.unwrap();
    let uri = running.uri(language);
    let of = json!({ "textDocument": { "uri": uri } });
    let at = params(&of, json!({ "position": { "line": line, "character": character } }));
    let at = |more| params::<Value>(&at, more);
    let end = text.lines().count();
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": end, "character": 0 } });
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let mut asked = Asked::default();

    macro_rules! ask {
        ($method:ident, $more:expr) => {{
            let answer = loop {
                let answer = document.$method(serde_json::from_value(at($more)).unwrap()).await;
                // rust-analyzer loads what is around the text meanwhile, and wants to be asked again.
                if !matches!(&answer, Err(Error::Refused(error)) if error.code == CONTENT_MODIFIED) {
                    break answer;
                }
            };
            asked.note(stringify!($method), answer)
        }};
    }
    ask!(hover, json!({}));
    ask!(declaration, json!({}));
    ask!(definition, json!({}));
    ask!(type_definition, json!({}));
    ask!(implementation, json!({}));
    ask!(references, json!({ "context": { "includeDeclaration": true } }));
    ask!(document_highlight, json!({}));
    ask!(document_symbol, json!({}));
    ask!(moniker, json!({}));
    ask!(signature_help, json!({}));
    ask!(document_diagnostic, json!({}));
    let lenses = ask!(code_lens, json!({})).flatten().unwrap_or_default();
    ask!(document_link, json!({}));
    ask!(folding_range, json!({}));
    ask!(selection_range, json!({ "positions": [{ "line": line, "character": character }] }));
    ask!(semantic_tokens_full, json!({}));
    ask!(semantic_tokens_range, json!({ "range": range }));
    let hints = ask!(inlay_hint, json!({ "range": range })).flatten().unwrap_or_default();
    ask!(inline_value, json!({ "range": range, "context": { "frameId": 0, "stoppedLocation": range } }));
    ask!(document_color, json!({}));
    let completed = ask!(completion, json!({})).flatten();
    let actions = ask!(code_action, json!({ "range": range, "context": { "diagnostics": [] } })).flatten();
    ask!(formatting, json!({ "options": options }));
    ask!(range_formatting, json!({ "range": range, "options": options }));
    ask!(prepare_rename, json!({}));
    ask!(rename, json!({ "newName": "renamed" }));
    ask!(linked_editing_range, json!({}));
    let callers = ask!(prepare_call_hierarchy, json!({})).flatten().unwrap_or_default();
    ask!(prepare_type_hierarchy, json!({}));

    let editor = &running.editor;
    let items = match completed {
        Some(CompletionResponse::Array(items)) => items,
        Some(CompletionResponse::List(list)) => list.items,
        None => Vec::new(),
    };
    for item in items.into_iter().take(3) {
        asked.note("resolve_completion", editor.resolve_completion(item).await);
    }
    for action in actions.unwrap_or_default().into_iter().take(3) {
        if let CodeActionOrCommand::CodeAction(action) = action {
            asked.note("resolve_code_action", editor.resolve_code_action(action).await);
        }
    }
    for lens in lenses.into_iter().take(3) {
        asked.note("resolve_code_lens", editor.resolve_code_lens(lens).await);
    }
    for hint in hints.into_iter().take(3) {
        asked.note("resolve_inlay_hint", editor.resolve_inlay_hint(hint).await);
    }
    for item in callers.into_iter().take(1) {
        let of = json!({ "item": item });
        asked.note("incoming_calls", editor.incoming_calls(params(&of, json!({}))).await);
        asked.note("outgoing_calls", editor.outgoing_calls(params(&of, json!({}))).await);
    }
    let query = json!({ "query": "total" });
    asked.note("workspace_symbol", editor.workspace_symbol(params(&query, json!({}))).await);

    let editor = running.editor.shutdown().await.unwrap();
    editor.send_exit().await.unwrap().close().await.unwrap();
    assert_eq!(*running.reports.lock().unwrap(), Vec::<String>::new());
    eprintln!("{}: {asked:?}", language.server);
    Some(asked)
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn pyright_answers_everything_that_it_offers() {
    let text = "def total(numbers: list[int]) -> int:\n    return sum(numbers)\n\n\nprint(total([1, 2]))\n";
    guarded(async {
        let Some(asked) = everything(&PYTHON, text, 4, 7).await else { return };
        assert!(asked.answered.len() >= 10, "{asked:?}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn typescript_answers_everything_that_it_offers() {
    let text = "function total(numbers: number[]): number {\n  return numbers.length;\n}\n\ntotal([1, 2]);\n";
    guarded(async {
        let Some(asked) = everything(&TYPESCRIPT, text, 4, 1).await else { return };
        assert!(asked.answered.len() >= 15, "{asked:?}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs rust-analyzer"]
async fn rust_analyzer_answers_everything_that_it_offers() {
    let text = "fn total(numbers: &[u32]) -> u32 {\n    numbers.iter().sum()\n}\n\nfn main() {\n    total(&[1, 2]);\n}\n";
    guarded(async {
        let Some(asked) = everything(&RUST, text, 5, 5).await else { return };
        assert!(asked.answered.len() >= 15, "{asked:?}");
    })
    .await;
}
