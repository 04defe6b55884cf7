//! `sessionc compat`: whether the clients and servers of two versions of a protocol can talk.

use std::io;
use std::path::Path;

use mcp_protocol_compiler::compat::{Break, Comparison, PairVerdict, Verdict, compare};
use mcp_protocol_compiler::diagnostic::json::severity;
use mcp_protocol_compiler::diagnostic::render::render;
use mcp_protocol_compiler::diagnostic::{Diagnostic, Label, Severity};
use mcp_protocol_compiler::source::SourceMap;
use serde_json::{Value, json};

use crate::arguments::{Compat, OutputFormat};
use crate::color::style;
use crate::end::End;
use crate::files::{Failure, print_diagnostics, read};
use crate::print::{print, print_json, print_report};

/// Compares the versions and prints what breaks; exits 1 if something does.
pub(crate) fn run(arguments: &Compat) -> Result<End, Failure> {
    let (comparison, verdict) = compared(arguments)?;
    for pair in &verdict.pairs {
        match arguments.format {
            OutputFormat::Text => print_pair(&comparison.sources, pair)?,
            OutputFormat::Json => {
                for found in &pair.found {
                    print_json(&line(&comparison.sources, pair, found))?;
                }
                print_json(&summary(pair))?;
            }
        }
    }
    Ok(if verdict.is_compatible() { End::Clean } else { End::Findings })
}

/// Compares two files of the file system. What is wrong in one of them is printed.
pub(crate) fn compared(arguments: &Compat) -> Result<(Comparison, Verdict), Failure> {
    let mut last = arguments.old.clone();
    let mut reading = |path: &Path| {
        last = path.to_path_buf();
        read(path)
    };
    let comparison = compare(&arguments.old, &arguments.new, &mut reading);
    let mut comparison = comparison.map_err(|error| Failure::Read(last, error))?;
    let Some(verdict) = comparison.verdict.take() else {
        let errors: Vec<Diagnostic> = comparison
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .cloned()
            .collect();
        print_diagnostics(&comparison.sources, &errors);
        return Err(Failure::NotComparable);
    };
    Ok((comparison, verdict))
}

fn print_pair(sources: &SourceMap, pair: &PairVerdict) -> Result<(), Failure> {
    for found in &pair.found {
        print_report(&format!("{}\n", render(sources, &found.diagnostic, style(&io::stdout()))))?;
    }
    print(format!("{}\n\n", sentence(pair)))
}

/// `the old client and the new server: compatible`
fn sentence(pair: &PairVerdict) -> String {
    let errors = pair.found.iter().filter(|found| found.is_error()).count();
    let verdict = match errors {
        0 => "compatible".to_owned(),
        1 => "1 break".to_owned(),
        several => format!("{several} breaks"),
    };
    format!("{} client, {} server: {verdict}", pair.client.word(), pair.server().word())
}

fn peers(pair: &PairVerdict) -> (&'static str, &'static str) {
    (pair.client.word(), pair.server().word())
}

/// The verdict on a pair as one line of JSON.
fn summary(pair: &PairVerdict) -> Value {
    let (client, server) = peers(pair);
    let breaks = pair.found.iter().filter(|found| found.is_error()).count();
    json!({ "kind": "verdict", "client": client, "server": server,
            "compatible": pair.is_compatible(), "breaks": breaks })
}

/// One finding as one line of JSON.
fn line(sources: &SourceMap, pair: &PairVerdict, found: &Break) -> Value {
    let (client, server) = peers(pair);
    let diagnostic = &found.diagnostic;
    let exchange: Vec<Value> = found
        .exchange
        .iter()
        .map(|sent| json!({ "sender": sent.sender.word(), "message": sent.message }))
        .collect();
    let witness = found.witness.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    json!({
        "kind": "finding",
        "client": client,
        "server": server,
        "code": diagnostic.code.0,
        "severity": severity(diagnostic.severity),
        "message": diagnostic.message,
        "places": diagnostic.labels.iter().map(|label| place(sources, label)).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "exchange": exchange,
        "payload": witness,
    })
}

fn place(sources: &SourceMap, label: &Label) -> Value {
    let start = sources.start(label.span);
    let file = sources.path(label.span.file).to_string_lossy();
    json!({ "file": file, "line": start.line, "column": start.column, "text": label.text })
}
