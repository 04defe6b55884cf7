//! What is found, on its way to the user: as text, as JSON lines, or as one SARIF log.

mod json;
mod log;
mod text;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::finding::Finding;
use super::formats::record::Broken;
use super::log::Sink;
use super::summary::Summary;
use crate::arguments::FindingFormat;
use crate::files::{Failure, shown};
use crate::print::{print, print_report};
use crate::sarif;
use crate::terminal_line::TerminalLine;

/// How many findings a SARIF log has: it is one value, and is held until the end.
const MOST: usize = 10_000;

/// Prints findings as they come; a SARIF log when all are known.
pub(crate) struct TraceReport {
    format: FindingFormat,
    /// The log that is judged.
    path: PathBuf,
    /// How many logs were judged, with this one.
    logs: usize,
    findings: Vec<sarif::LogResult>,
    /// What shows how far the work is: it makes room for what is printed.
    line: Rc<TerminalLine>,
    /// Why something could not be printed.
    failure: Option<Failure>,
}

impl TraceReport {
    pub(crate) fn new(format: FindingFormat, line: Rc<TerminalLine>) -> TraceReport {
        TraceReport { format, path: PathBuf::new(), logs: 0, findings: Vec::new(), line, failure: None }
    }

    /// What follows is found in this log.
    pub(crate) fn begin(&mut self, path: &Path) {
        self.path = shown(path).to_path_buf();
        self.logs += 1;
    }

    /// The log is over.
    ///
    /// # Errors
    /// If something could not be printed.
    pub(crate) fn summary(&mut self, summary: &Summary) -> Result<(), Failure> {
        match self.format {
            FindingFormat::Text => self.print_text(&text::summary(&self.path, summary)),
            FindingFormat::Json => self.print(&json::summary(&self.path, summary)),
            FindingFormat::Sarif => {}
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    /// All logs are over.
    ///
    /// # Errors
    /// If something could not be printed.
    pub(crate) fn end(mut self, all: &Summary) -> Result<(), Failure> {
        match self.format {
            // Nothing was judged, and an error says why.
            FindingFormat::Text if all.sessions == 0 => {}
            FindingFormat::Text => self.print_text(&text::end(all, self.logs)),
            FindingFormat::Json => {}
            FindingFormat::Sarif => self.print(&sarif::log(&log::rules(), &self.findings)),
        }
        self.failure.map_or(Ok(()), Err)
    }

    /// A report for people.
    fn print_text(&mut self, text: &str) {
        if self.failure.is_none() {
            self.line.clear();
            self.failure = print_report(text).err();
        }
    }

    fn print(&mut self, text: &str) {
        if self.failure.is_none() {
            self.line.clear();
            self.failure = print(text).err();
        }
    }
}

impl Sink for TraceReport {
    fn finding(&mut self, finding: &Finding) {
        match self.format {
            FindingFormat::Text => self.print_text(&text::finding(&self.path, finding)),
            FindingFormat::Json => self.print(&json::finding(&self.path, finding)),
            FindingFormat::Sarif if self.findings.len() < MOST => {
                self.findings.push(log::finding(&self.path, finding));
            }
            FindingFormat::Sarif => {}
        }
    }

    fn broken(&mut self, broken: &Broken) {
        match self.format {
            FindingFormat::Text => self.print_text(&text::broken(&self.path, broken)),
            FindingFormat::Json => self.print(&json::broken(&self.path, broken)),
            FindingFormat::Sarif => {}
        }
    }
}
