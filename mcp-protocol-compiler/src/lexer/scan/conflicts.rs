//! Conflicts that a merge has left in the text.

use super::Scanner;
use crate::diagnostic::{Diagnostic, Edit};
use crate::lexer::codes::MERGE_CONFLICT;
use crate::source::Span;

/// How many signs a marker has.
const MARKER: usize = 7;

/// The conflict at hand, and what is known of those that follow.
#[derive(Default)]
pub(super) struct Conflicts {
    /// Where the second text of the conflict at hand ends.
    end: Option<usize>,
    /// Whether no conflict ends behind this place, once an end was looked for.
    none_ends: bool,
}

/// The lines of one conflict that are markers.
struct Markers {
    first: Span,
    /// Where the first text ends: at the text that both have changed, if the merge has written it, or at the second one.
    first_ends: Span,
    second: Span,
    last: Span,
}

impl Scanner<'_> {
    /// Reads a marker, which begins a line here: the first text of a conflict is read, and what follows it is not. `false`
    /// if no marker stands here.
    pub(super) fn conflict(&mut self) -> bool {
        let Some((sign, line)) = marker(self.rest()) else { return false };
        let line = self.span(line.len());
        match self.conflicts.end {
            // What stands behind the first text is passed over.
            Some(end) if sign != '<' && self.at < end => self.at = end,
            Some(end) if self.at < end => self.left_over(line),
            _ => match self.markers(sign) {
                Some(markers) => {
                    self.conflicts.end = Some(markers.last.end as usize);
                    self.report_conflict(&markers);
                    self.at = markers.first.end as usize;
                }
                None => self.left_over(line),
            },
        }
        true
    }

    /// The markers of the conflict that begins here.
    fn markers(&mut self, sign: char) -> Option<Markers> {
        if sign != '<' || self.conflicts.none_ends {
            return None;
        }
        let mut at = self.at;
        let (mut first, mut first_ends, mut second) = (None, None, None);
        for line in self.rest().split_inclusive('\n') {
            let span = self.span_of(at, line.trim_end_matches(['\r', '\n']).len());
            at += line.len();
            match marker(line).map(|(sign, _)| sign) {
                Some('<') if first.is_none() => first = Some(span),
                // Another one begins, so this one has no end.
                Some('<') => return None,
                Some('|') if second.is_none() => first_ends = first_ends.or(Some(span)),
                Some('=') => second = second.or(Some(span)),
                Some('>') => {
                    let second = second?;
                    let first_ends = first_ends.unwrap_or(second);
                    return Some(Markers { first: first?, first_ends, second, last: span });
                }
                _ => {}
            }
        }
        self.conflicts.none_ends = true;
        None
    }

    fn report_conflict(&mut self, markers: &Markers) {
        let Markers { first, first_ends, second, last } = *markers;
        let finding = Diagnostic::error(MERGE_CONFLICT, first, "a merge has left a conflict here")
            .label("one text begins here")
            .also(second, "the other one begins here")
            .also(last, "and ends here")
            .suggest(
                "keep the first text: delete the line `<<<<<<<`, and all from `=======` to `>>>>>>>`",
                [Edit::delete(first), Edit::delete(first_ends.to(last))],
            )
            .suggest(
                "keep the second text: delete all from `<<<<<<<` to `=======`, and the line `>>>>>>>`",
                [Edit::delete(first.to(second)), Edit::delete(last)],
            );
        self.lexed.findings.push(finding);
    }

    fn left_over(&mut self, line: Span) {
        let finding = Diagnostic::error(MERGE_CONFLICT, line, "a merge has left this line")
            .label("the other lines of this conflict are gone")
            .suggest("delete the line", [Edit::delete(line)]);
        self.lexed.findings.push(finding);
        self.at = line.end as usize;
    }
}

/// The sign of the marker that a line begins with, and the line.
fn marker(text: &str) -> Option<(char, &str)> {
    let sign = text.chars().next().filter(|sign| "<|=>".contains(*sign))?;
    let line = text.lines().next()?;
    let behind = line.trim_start_matches(sign);
    let is_marker = line.len() - behind.len() == MARKER && (behind.is_empty() || behind.starts_with(' '));
    (is_marker && (sign != '=' || behind.trim().is_empty())).then_some((sign, line))
}
