//! What is found as text.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::diagnostic::render::Style;
use mcp_protocol_machine::protocol::Strictness;

use crate::color::style;
use crate::trace::finding::{Finding, blamed, level};
use crate::trace::formats::record::{Broken, Place};
use crate::trace::summary::Summary;

/// How much of what would have been right is listed.
const LISTED: usize = 8;
const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const PLAIN: &str = "\x1b[0m";

/// A finding, one thing a line.
pub(super) fn finding(path: &Path, finding: &Finding) -> String {
    let color = match finding.level {
        Strictness::Must => RED,
        Strictness::Should => YELLOW,
    };
    let head = format!("{}[{}]", level(finding.level), finding.code.name());
    let mut text = format!("{}: {}\n", coloured(&head, color), harmless(&finding.message));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "   = {name}: {}", harmless(value));
        }
    };
    line("state", &finding.state);
    line("expected", &listed(&finding.expected));
    line("got", &finding.got);
    line("rule", finding.rule.as_deref().unwrap_or_default());
    line("to blame", &blamed(finding.blame));
    line("hint", &finding.hint);
    text.replacen('\n', &format!("\n  --> {}\n", place(path, finding.place)), 1) + "\n"
}

/// Not more than [`LISTED`] of what would have been right.
fn listed(expected: &[String]) -> String {
    let mut words: Vec<String> = expected.iter().take(LISTED).cloned().collect();
    let more = expected.len().saturating_sub(LISTED);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// A part of a log that cannot be used.
pub(super) fn broken(path: &Path, broken: &Broken) -> String {
    let head = coloured("not read", YELLOW);
    format!("{head}: {}\n  --> {}\n\n", harmless(&broken.problem), place(path, broken.place))
}

/// What a log has.
pub(super) fn summary(path: &Path, summary: &Summary) -> String {
    let revisions = summary.revisions.iter();
    let revisions = revisions.map(|(revision, count)| match summary.revisions.len() {
        1 => revision.clone(),
        _ => format!("{count} × {revision}"),
    });
    let mut text = format!(
        "{}: {} of {}, {}: {}, {}, {}, {}\n",
        harmless(&path.to_string_lossy()),
        counted(summary.sessions, "session"),
        revisions.collect::<Vec<_>>().join(", "),
        counted(summary.messages(), "message"),
        counted(summary.requests, "request"),
        counted(summary.results, "result"),
        counted(summary.errors, "error"),
        counted(summary.notifications, "notification"),
    );
    if summary.malformed > 0 {
        let _ = writeln!(text, "  not messages: {}", summary.malformed);
    }
    if summary.broken > 0 {
        let _ = writeln!(text, "  lines that cannot be read: {}", summary.broken);
    }
    for again in &summary.again {
        let count = counted(again.count, "time");
        let _ = writeln!(
            text,
            "  the same as in line {} again: {count}, the last in line {}",
            again.first.line, again.last.line
        );
    }
    for what in &summary.unobserved {
        let _ = writeln!(text, "  not observed: {}", harmless(what));
    }
    text
}

/// What to do where a log may go on in another one.
const JOIN: &str = "each log is judged by itself: if they are parts of one, as those that were rotated are, join them, the oldest \
                    first, with `cat OLDER NEWER | sessionc trace … -`\n";

/// The last line. Above it stands what to do if the logs may be parts of one.
pub(super) fn end(all: &Summary, logs: usize) -> String {
    let findings = counted(all.must + all.should, "finding");
    let end = format!("{findings}: {} must, {} should\n", all.must, all.should);
    match logs > 1 && all.begins_within {
        true => format!("{JOIN}{end}"),
        false => end,
    }
}

fn place(path: &Path, place: Place) -> String {
    let path = path.to_string_lossy();
    let place = match place.entry {
        Some(entry) => format!("{path}:{} (entry {entry})", place.line),
        None => format!("{path}:{}", place.line),
    };
    harmless(&place)
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn coloured(text: &str, color: &str) -> String {
    match style(&io::stdout()) {
        Style::Plain => text.to_owned(),
        _ => format!("{color}{text}{PLAIN}"),
    }
}

/// Text of a log as it may stand on a terminal: what would control it is escaped.
fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        let turns =
            matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match character.is_control() || turns {
            true => safe.extend(character.escape_debug()),
            false => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_log_cannot_control_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\u{202e}c\nä"), "a\\u{1b}[31mb\\u{202e}c\\nä");
    }
}
