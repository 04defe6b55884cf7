//! The diagnostics of one file, no more of them than anyone reads.

use std::collections::BTreeMap;

use super::edit::Edit;
use super::finding::{Code, Diagnostic, Severity};
use crate::source::{FileId, Span};

/// There are more findings than are shown.
pub(crate) const MORE_FINDINGS: Code = Code("S0003");

/// How many findings of one file are shown.
pub(crate) const LIMIT: usize = 100;

/// Collects findings.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    kept: Vec<Diagnostic>,
    more_errors: usize,
    more_others: usize,
}

impl Findings {
    /// Takes one finding.
    pub fn push(&mut self, finding: Diagnostic) {
        // Twice the limit is held because what comes late may stand early in the text.
        if self.kept.len() < 2 * LIMIT {
            self.kept.push(finding);
        } else {
            self.leave_out(&finding);
        }
    }

    /// Takes out the findings of a code in a place whose first suggestion has edits, and returns these edits: they are
    /// part of what is said of all of the place.
    pub(crate) fn take_within(&mut self, code: Code, place: Span) -> Vec<Edit> {
        let mut edits = Vec::new();
        self.kept.retain(|finding| {
            let is_within = finding.code == code
                && finding.labels.first().is_some_and(|label| {
                    let at = label.span;
                    at.file == place.file && place.start <= at.start && at.end <= place.end
                });
            let own = finding.helps.first().map(|help| help.edits()).unwrap_or_default();
            if !is_within || own.is_empty() {
                return true;
            }
            edits.extend(own.iter().cloned());
            false
        });
        edits
    }

    fn leave_out(&mut self, finding: &Diagnostic) {
        match finding.severity {
            Severity::Error => self.more_errors += 1,
            Severity::Warning | Severity::Note => self.more_others += 1,
        }
    }

    /// What is to be shown, in the order of the text.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        let start =
            |finding: &Diagnostic| finding.labels.first().map(|label| (label.span.file, label.span.start));
        self.kept.sort_by_key(start);
        let rest = self.kept.split_off(self.kept.len().min(LIMIT));
        for finding in &rest {
            self.leave_out(finding);
        }
        if self.more_errors + self.more_others > 0 {
            let place = rest.first().or(self.kept.last()).and_then(|finding| finding.labels.first());
            let span = place.map_or(Span::default(), |label| label.span);
            // The place is where the list stops, so that a reader knows how far it goes.
            let message = format!("… and {}", counted(self.more_errors, self.more_others));
            // Without an error among those shown the file would pass for correct.
            let hidden =
                self.more_errors > 0 && self.kept.iter().all(|shown| shown.severity < Severity::Error);
            let severity = if hidden { Severity::Error } else { Severity::Note };
            self.kept.push(Diagnostic { severity, ..Diagnostic::note(MORE_FINDINGS, span, message) });
        }
        self.kept
    }
}

/// How many findings of all files are shown.
pub(crate) const LIMIT_OF_ALL: usize = 10 * LIMIT;

/// Keeps the first [`LIMIT`] findings of each file and ten times as many of all, and says where there were
/// more how many.
pub(crate) fn limit(diagnostics: &mut Vec<Diagnostic>) {
    // Of each file: how many are kept, where the last of them stands, and those left out.
    let mut files: BTreeMap<FileId, (usize, Span, Findings)> = BTreeMap::new();
    let mut rest = Findings::default();
    let mut all = 0;
    diagnostics.retain(|finding| {
        if all >= LIMIT_OF_ALL {
            rest.leave_out(finding);
            return false;
        }
        let span = finding.labels.first().map_or(Span::default(), |label| label.span);
        let (kept, last, others) = files.entry(span.file).or_default();
        let keep = *kept < LIMIT || finding.code == MORE_FINDINGS;
        if keep {
            (*kept, *last) = (*kept + 1, span);
            all += 1;
        } else {
            others.leave_out(finding);
        }
        keep
    });
    let end = files.values().last().map_or(Span::default(), |(_, last, _)| *last);
    for (_, last, others) in files.into_values().chain([(0, end, rest)]) {
        if others.more_errors + others.more_others > 0 {
            let message = format!("… and {}", counted(others.more_errors, others.more_others));
            diagnostics.push(Diagnostic::note(MORE_FINDINGS, last, message));
        }
    }
}

fn counted(errors: usize, others: usize) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    match (errors, others) {
        (errors, 0) => format!("{errors} more error{}", plural(errors)),
        (0, others) => format!("{others} more warning{}", plural(others)),
        (errors, others) => {
            format!("{errors} more error{} and {others} more warning{}", plural(errors), plural(others))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn at(start: u32) -> Span {
        Span { file: FileId(0), start, end: start }
    }

    #[test]
    fn findings_come_in_the_order_of_the_text() {
        let mut findings = Findings::default();
        for start in [5, 1, 3] {
            findings.push(Diagnostic::error(Code("S0001"), at(start), start.to_string()));
        }
        let messages: Vec<String> = findings.finish().into_iter().map(|finding| finding.message).collect();
        assert_eq!(messages, ["1", "3", "5"]);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let mut findings = Findings::default();
        for start in 0..512 {
            findings.push(Diagnostic::error(Code("S0001"), at(start), "m"));
        }
        findings.push(Diagnostic::warning(Code("S0001"), at(600), "m"));
        let shown = findings.finish();
        assert_eq!(shown.len(), LIMIT + 1);
        assert_eq!(shown[LIMIT].message, "… and 412 more errors and 1 more warning");
        assert_eq!(shown[LIMIT].severity, Severity::Note);
    }

    #[test]
    fn of_each_file_the_first_are_kept() {
        let other = Span { file: FileId(1), start: 0, end: 0 };
        let mut findings: Vec<Diagnostic> =
            (0..150).map(|start| Diagnostic::error(Code("S0001"), at(start), "m")).collect();
        findings.push(Diagnostic::warning(Code("S0001"), other, "m"));
        findings.push(Diagnostic::warning(Code("S0001"), at(7), "m"));
        limit(&mut findings);
        assert_eq!(findings.len(), LIMIT + 2);
        assert_eq!(findings[LIMIT].labels[0].span, other);
        assert_eq!(findings[LIMIT + 1].message, "… and 50 more errors and 1 more warning");
        assert_eq!(findings[LIMIT + 1].labels[0].span, at(LIMIT as u32 - 1));
    }

    #[test]
    fn an_error_behind_many_warnings_is_not_lost() {
        let mut findings = Findings::default();
        for start in 0..300 {
            findings.push(Diagnostic::warning(Code("S0001"), at(start), "m"));
        }
        findings.push(Diagnostic::error(Code("S0001"), at(600), "m"));
        let shown = findings.finish();
        assert_eq!(shown[LIMIT].message, "… and 1 more error and 200 more warnings");
        assert_eq!(shown[LIMIT].severity, Severity::Error);
    }
}
