//! What is found as SARIF has it.

use std::path::Path;

use mcp_protocol_machine::protocol::Strictness;

use crate::sarif::{self, LogLevel, Point, Region, Rule};
use crate::trace::finding::{Code, Finding, blamed};

const CODES: [Code; 10] = [
    Code::Order,
    Code::Capability,
    Code::Correlation,
    Code::Shape,
    Code::Method,
    Code::Form,
    Code::Discouraged,
    Code::Progress,
    Code::Unanswered,
    Code::Missing,
];

/// The rules that findings may name.
pub(super) fn rules() -> Vec<Rule> {
    let rule = |code: Code| Rule {
        id: code.name().to_owned(),
        title: code.title().to_owned(),
        help: code.title().to_owned(),
    };
    CODES.into_iter().map(rule).collect()
}

pub(super) fn finding(path: &Path, finding: &Finding) -> sarif::LogResult {
    let line = u32::try_from(finding.place.line).unwrap_or(u32::MAX).max(1);
    let region = Region { start: Point { line, column: 1 }, end: None };
    let rule = finding.rule.as_ref().map(|rule| format!("\nrule: {rule}")).unwrap_or_default();
    sarif::LogResult {
        rule: finding.code.name().to_owned(),
        level: match finding.level {
            Strictness::Must => LogLevel::Error,
            Strictness::Should => LogLevel::Warning,
        },
        message: format!(
            "{}\nstate: {}\nto blame: {}{rule}\nhelp: {}",
            finding.message,
            finding.state,
            blamed(finding.blame),
            finding.hint
        ),
        places: vec![sarif::LogPlace { file: path.to_path_buf(), region, message: String::new() }],
        fixes: Vec::new(),
    }
}
