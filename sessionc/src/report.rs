//! Findings on their way to the user, in the format that was asked for.

use std::io;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::diagnostic::{Diagnostic, Edit, Label, Severity, json, render};
use mcp_protocol_compiler::explain;
use mcp_protocol_compiler::source::{LineColumn, SourceMap, Span};
use serde::Serialize;

use crate::arguments::FindingFormat;
use crate::color::style;
use crate::files::{Failure, print_diagnostics};
use crate::print::{print, print_json, print_report};
use crate::sarif::{self, LogLevel, LogPlace, LogResult, Point, Region, Rule};

/// Where findings go as text. In other formats they always go to standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// To standard output: they are what the command is for.
    Out,
    /// To standard error.
    Err,
}

/// A file that should have another content.
pub(crate) struct Stale {
    /// What kind of finding this is, in a word.
    pub(crate) code: &'static str,
    /// The same in a few words.
    pub(crate) title: &'static str,
    /// The file.
    pub(crate) file: PathBuf,
    /// The first line that should be another, counted from 1.
    pub(crate) line: u32,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: String,
}

/// Prints findings as they come; a SARIF log, which is one value, when all are known.
pub(crate) struct Report {
    format: FindingFormat,
    channel: Channel,
    /// What the log will have; empty in other formats.
    rules: Vec<Rule>,
    findings: Vec<LogResult>,
}

impl Report {
    /// No findings yet.
    pub(crate) fn new(format: FindingFormat, channel: Channel) -> Report {
        Report { format, channel, rules: Vec::new(), findings: Vec::new() }
    }

    /// Whether people read it.
    pub(crate) fn is_text(&self) -> bool {
        self.format == FindingFormat::Text
    }

    /// Adds what the compiler has found.
    pub(crate) fn diagnostics(
        &mut self,
        sources: &SourceMap,
        diagnostics: &[Diagnostic],
    ) -> Result<(), Failure> {
        match (self.format, self.channel) {
            (FindingFormat::Text, Channel::Err) => print_diagnostics(sources, diagnostics),
            (FindingFormat::Text, Channel::Out) => {
                print_report(&render::render_all(sources, diagnostics, style(&io::stdout())))?;
            }
            (FindingFormat::Json, _) => {
                for diagnostic in diagnostics {
                    print(json::line(sources, diagnostic) + "\n")?;
                }
            }
            (FindingFormat::Sarif, _) => {
                for diagnostic in diagnostics {
                    self.add_rule(diagnostic.code.0, || {
                        let page = explain::page(diagnostic.code.0);
                        page.map(|page| (page.title.to_owned(), page.readable())).unwrap_or_default()
                    });
                    self.findings.push(finding(sources, diagnostic));
                }
            }
        }
        Ok(())
    }

    /// Adds a file that should have another content. As text it is up to the command.
    pub(crate) fn stale(&mut self, stale: Stale) -> Result<(), Failure> {
        match self.format {
            FindingFormat::Text => {}
            FindingFormat::Json => {
                print_json(&FindingLine {
                    code: stale.code,
                    severity: json::severity(Severity::Error),
                    message: &stale.message,
                    file: &stale.file.to_string_lossy(),
                    line: stale.line,
                    column: 1,
                    help: &stale.help,
                })?;
            }
            FindingFormat::Sarif => {
                self.add_rule(stale.code, || (stale.title.to_owned(), stale.title.to_owned()));
                let region = Region { start: Point { line: stale.line, column: 1 }, end: None };
                self.findings.push(LogResult {
                    rule: stale.code.to_owned(),
                    level: LogLevel::Error,
                    message: format!("{}\nhelp: {}", stale.message, stale.help),
                    places: vec![LogPlace { file: stale.file, region, message: String::new() }],
                    fixes: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// Prints what waits for the end.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self.format {
            FindingFormat::Sarif => print(sarif::log(&self.rules, &self.findings)),
            FindingFormat::Text | FindingFormat::Json => Ok(()),
        }
    }

    fn add_rule(&mut self, id: &str, words: impl FnOnce() -> (String, String)) {
        if !self.rules.iter().any(|rule| rule.id == id) {
            let (title, help) = words();
            self.rules.push(Rule { id: id.to_owned(), title, help });
        }
    }
}

/// The keys that [`json::line`] has, in its order.
#[derive(Serialize)]
struct FindingLine<'a> {
    code: &'a str,
    severity: &'a str,
    message: &'a str,
    file: &'a str,
    line: u32,
    column: u32,
    help: &'a str,
}

/// The first line in which two texts differ, counted from 1.
pub(crate) fn first_difference(old: &str, new: &str) -> u32 {
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    u32::try_from(same).unwrap_or(u32::MAX).saturating_add(1)
}

/// A finding of the compiler as SARIF has it.
fn finding(sources: &SourceMap, diagnostic: &Diagnostic) -> LogResult {
    let notes = diagnostic.notes.iter().map(|note| format!("\nnote: {note}"));
    let helps = diagnostic.helps.iter().map(|help| format!("\nhelp: {}", help.text()));
    let place = |label: &Label| LogPlace {
        file: file(sources, label.span).to_owned(),
        region: region(sources, label.span),
        message: label.text.clone(),
    };
    let edit = |edit: &Edit| sarif::Edit {
        file: file(sources, edit.span).to_owned(),
        region: region(sources, edit.span),
        text: edit.text.clone(),
    };
    let fixes = diagnostic.helps.iter().filter(|help| !help.edits().is_empty()).map(|help| sarif::Fix {
        description: help.text().to_owned(),
        edits: help.edits().iter().map(edit).collect(),
    });
    LogResult {
        rule: diagnostic.code.0.to_owned(),
        level: match diagnostic.severity {
            Severity::Error => LogLevel::Error,
            Severity::Warning => LogLevel::Warning,
            _ => LogLevel::Note,
        },
        message: diagnostic.message.clone() + &notes.chain(helps).collect::<String>(),
        places: diagnostic.labels.iter().map(place).collect(),
        fixes: fixes.collect(),
    }
}

fn file(sources: &SourceMap, span: Span) -> &Path {
    sources.path(span.file)
}

fn region(sources: &SourceMap, span: Span) -> Region {
    let point = |LineColumn { line, column }| Point { line, column };
    let end = sources.position(span.file, span.end);
    Region { start: point(sources.start(span)), end: Some(point(end)) }
}
