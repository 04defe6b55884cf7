//! `sessionc diff`: what has changed between two versions of a protocol.

use mcp_protocol_compiler::compat::{Change, Part};
use mcp_protocol_compiler::source::{SourceMap, Span};
use serde_json::{Value, json};

use crate::arguments::{Compat, OutputFormat};
use crate::commands::compat::compared;
use crate::end::End;
use crate::files::Failure;
use crate::print::{print, print_json, print_report};

/// Lists the changes; exits 1 if there are any.
pub(crate) fn run(arguments: &Compat) -> Result<End, Failure> {
    let (comparison, verdict) = compared(arguments)?;
    let mut last: Option<(Part, &str)> = None;
    for change in &verdict.changes {
        match arguments.format {
            OutputFormat::Json => print_json(&line(&comparison.sources, change))?,
            OutputFormat::Text => {
                if last != Some((change.part, &change.name)) {
                    print(format!("{} {}\n", change.part.word(), heading(change)))?;
                }
                print_report(&format!("    {}{}\n", change.text, breaks(change)))?;
            }
        }
        last = Some((change.part, &change.name));
    }
    Ok(if verdict.changes.is_empty() { End::Clean } else { End::Findings })
}

/// The name, in quotes where it is not words.
fn heading(change: &Change) -> String {
    match change.part {
        Part::Message | Part::Shape => format!("`{}`", change.name),
        _ => change.name.clone(),
    }
}

/// Which peers a change breaks.
fn breaks(change: &Change) -> String {
    let pairs: Vec<String> =
        change.breaks.iter().map(|(client, server)| format!("{client} with {server}")).collect();
    if pairs.is_empty() { String::new() } else { format!("   [breaks {}]", pairs.join(", ")) }
}

fn line(sources: &SourceMap, change: &Change) -> Value {
    let breaks: Vec<Value> = change
        .breaks
        .iter()
        .map(|(client, server)| json!({ "client": client.age.word(), "server": server.age.word() }))
        .collect();
    json!({
        "part": change.part.word(),
        "name": change.name,
        "change": change.text,
        "breaks": breaks,
        "old": change.old.map(|span| place(sources, span)),
        "new": change.new.map(|span| place(sources, span)),
    })
}

fn place(sources: &SourceMap, span: Span) -> Value {
    let file = sources.path(span.file).to_string_lossy();
    json!({ "file": file, "line": sources.start(span).line })
}
