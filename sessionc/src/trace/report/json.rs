//! What is found as JSON: one object on each line.

use std::path::Path;

use mcp_runtime::protocol::Side;
use serde_json::{Value, json};

use crate::trace::finding::{Finding, level};
use crate::trace::formats::record::Broken;
use crate::trace::summary::Summary;

pub(super) fn finding(path: &Path, finding: &Finding) -> String {
    line(json!({
        "kind": "finding",
        "file": path.to_string_lossy(),
        "line": finding.place.line,
        "entry": finding.place.entry,
        "code": finding.code.name(),
        "level": level(finding.level),
        "rule": finding.rule,
        "blame": finding.blame.map(Side::word),
        "state": finding.state,
        "expected": finding.expected,
        "got": finding.got,
        "message": finding.message,
        "hint": finding.hint,
    }))
}

pub(super) fn broken(path: &Path, broken: &Broken) -> String {
    line(json!({
        "kind": "broken",
        "file": path.to_string_lossy(),
        "line": broken.place.line,
        "entry": broken.place.entry,
        "message": broken.problem,
    }))
}

pub(super) fn summary(path: &Path, summary: &Summary) -> String {
    let again = summary.again.iter();
    let again =
        again.map(|again| json!({ "line": again.first.line, "count": again.count, "last": again.last.line }));
    line(json!({
        "kind": "summary",
        "file": path.to_string_lossy(),
        "sessions": summary.sessions,
        "revisions": summary.revisions,
        "requests": summary.requests,
        "results": summary.results,
        "errors": summary.errors,
        "notifications": summary.notifications,
        "malformed": summary.malformed,
        "broken": summary.broken,
        "must": summary.must,
        "should": summary.should,
        "again": again.collect::<Vec<_>>(),
        "not observed": summary.unobserved,
    }))
}

fn line(value: Value) -> String {
    format!("{value}\n")
}
