//! One mistake made all over a file is one finding.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::finding::{Code, Diagnostic};
use crate::source::{FileId, SourceMap};

/// How many lines a note names.
const NAMED: usize = 8;

/// Brings findings in the order in which they are shown: errors first, each kind in the order of the text, what is said
/// twice once. Findings of some codes that say the same about several places of a file are joined.
pub(crate) fn arrange(found: &mut Vec<Diagnostic>, sources: &SourceMap, joined: &[Code]) {
    let mut seen = HashSet::new();
    found.retain(|finding| seen.insert((finding.code, finding.span(), finding.message.clone())));
    found.sort_by_key(|finding| (Reverse(finding.severity), finding.span()));
    joined.iter().for_each(|code| join(found, sources, *code));
}

/// Joins findings of `code` that say the same about several places of a file.
fn join(diagnostics: &mut Vec<Diagnostic>, sources: &SourceMap, code: Code) {
    let mut first: HashMap<(FileId, String, Vec<String>), usize> = HashMap::new();
    let mut others: HashMap<usize, Vec<u32>> = HashMap::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(diagnostics.len());
    for diagnostic in diagnostics.drain(..) {
        let Some(label) = diagnostic.labels.first().filter(|_| diagnostic.code == code) else {
            kept.push(diagnostic);
            continue;
        };
        let key = (
            label.span.file,
            diagnostic.message.clone(),
            diagnostic.helps.iter().map(|help| help.text().to_owned()).collect(),
        );
        match first.get(&key) {
            Some(at) => {
                let helps = kept.get_mut(*at).map(|first| first.helps.as_mut_slice()).unwrap_or_default();
                for (first, help) in helps.iter_mut().zip(&diagnostic.helps) {
                    first.join(help);
                }
                others.entry(*at).or_default().push(sources.line_number(label.span.file, label.span.start))
            }
            None => {
                first.insert(key, kept.len());
                kept.push(diagnostic);
            }
        }
    }
    for (at, lines) in others {
        if let Some(diagnostic) = kept.get_mut(at) {
            let own =
                diagnostic.labels.first().map(|label| sources.line_number(label.span.file, label.span.start));
            diagnostic.notes.push(note(own, &lines));
        }
    }
    *diagnostics = kept;
}

fn note(own: Option<u32>, lines: &[u32]) -> String {
    let mut distinct: Vec<u32> = lines.iter().copied().filter(|line| Some(*line) != own).collect();
    distinct.dedup();
    let named: Vec<String> = distinct.iter().take(NAMED).map(u32::to_string).collect();
    let more = distinct.len().saturating_sub(NAMED);
    match (named.as_slice(), more) {
        ([], _) => "the same again in this line".to_owned(),
        ([only], 0) => format!("the same again in line {only}"),
        (named, 0) => match named.split_last() {
            Some((last, rest)) => format!("the same again in lines {} and {last}", rest.join(", ")),
            None => String::new(),
        },
        (named, more) => format!("the same again in lines {} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    const CODE: Code = Code("S0010");

    fn found(file: FileId, start: u32, message: &str, help: &str) -> Diagnostic {
        Diagnostic::error(CODE, Span { file, start, end: start + 1 }, message).help(help)
    }

    #[test]
    fn what_says_the_same_is_said_once() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.session", ";;\n;\n;\n{\n");
        let mut findings = vec![
            found(file, 0, "`;`", "delete it"),
            found(file, 1, "`;`", "delete it"),
            found(file, 3, "`;`", "write `.`"),
            found(file, 5, "`;`", "delete it"),
            found(file, 7, "`{`", "write parentheses"),
            Diagnostic { code: Code("S0030"), ..found(file, 1, "`;`", "delete it") },
        ];
        join(&mut findings, &sources, CODE);
        assert_eq!(findings.len(), 4);
        assert_eq!(findings[0].notes, ["the same again in line 3"]);
        assert!(findings[1..].iter().all(|finding| finding.notes.is_empty()));
    }

    #[test]
    fn many_lines_are_counted() {
        assert_eq!(note(Some(1), &[1]), "the same again in this line");
        assert_eq!(note(Some(1), &[2, 3]), "the same again in lines 2 and 3");
        let many: Vec<u32> = (2..30).collect();
        assert_eq!(note(Some(1), &many), "the same again in lines 2, 3, 4, 5, 6, 7, 8, 9 and 20 more");
    }
}
