//! Findings that only follow from another one are withheld: a mistake is reported once.
//!
//! [`CONSEQUENCES`] says what follows from what. [`of_one_text`] is about two roles of which one is written as the dual
//! of the other. Two things are not decided here. A stage does not go on where it would only repeat an error: a role
//! with an error is not related, and machines are checked only if the text has no errors. And where one wrong name
//! causes several findings in a role, `peer_hint` joins them.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Side;

use crate::checks::{alternatives, announcements, gates, unused};
use crate::declarations::{Definition, Resolution};
use crate::diagnostic::{Code, Diagnostic, has_errors};
use crate::findings::{
    channels, declarations, defaults, imports, members, recursion, refusals, replies, shapes,
};
use crate::parser;
use crate::relation;
use crate::resolve::recovery;
use crate::source::{FileId, SourceMap, Span};

/// What a finding may follow from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Some text could not be read.
    UnreadText,
    /// A line that the finding points at could not be read.
    UnreadLine,
    /// A file is missing.
    MissingFile,
    /// The declaration of the name that the finding is about could not be read.
    UnreadDeclaration,
    /// A finding with this code.
    Finding(Code),
    /// A finding with this code about the same line.
    FindingInLine(Code),
    /// Any error.
    Error,
}

/// Which findings follow from what, applied in this order.
const CONSEQUENCES: [(Code, Cause); 37] = [
    // What is left of a shape that is not read whole.
    (parser::MALFORMED_SHAPE, Cause::FindingInLine(parser::TOO_DEEP)),
    // The line that declares the role may be the one that could not be read.
    (declarations::UNKNOWN_ROLE, Cause::UnreadText),
    // So may the one that says how requests are cancelled, or what a message requires.
    (refusals::STATES_COULD_PART, Cause::UnreadText),
    (defaults::BAD_DEFAULT, Cause::UnreadText),
    // What a declaration says is known once all of it can be read.
    (alternatives::NOT_TOLD_APART, Cause::UnreadLine),
    (declarations::NO_TYPES, Cause::UnreadLine),
    (replies::NOT_ACCEPTED, Cause::UnreadLine),
    // Names are declared in files, and in lines, that could not be read.
    (declarations::UNDEFINED_MESSAGE, Cause::MissingFile),
    (declarations::UNDEFINED_DEFINITION, Cause::MissingFile),
    (declarations::BAD_GROUP, Cause::MissingFile),
    (declarations::BAD_OVERRIDE, Cause::MissingFile),
    (shapes::UNDEFINED_SHAPE, Cause::MissingFile),
    (declarations::UNDEFINED_MESSAGE, Cause::UnreadDeclaration),
    (declarations::UNDEFINED_DEFINITION, Cause::UnreadDeclaration),
    (declarations::BAD_GROUP, Cause::UnreadDeclaration),
    (shapes::UNDEFINED_SHAPE, Cause::UnreadDeclaration),
    (shapes::NO_SUCH_FIELD, Cause::UnreadText),
    (shapes::NEVER_CHOSEN, Cause::UnreadLine),
    (shapes::NEVER_CHOSEN, Cause::Finding(shapes::ENDLESS)),
    (shapes::NEVER_CHOSEN, Cause::Finding(shapes::UNDEFINED_SHAPE)),
    // Which branches there are is known once the line can be read.
    (relation::RACE, Cause::UnreadLine),
    // A gate stays closed if its capability is announced nowhere.
    (gates::NEVER_SENT, Cause::Finding(announcements::NEVER_ANNOUNCED)),
    (gates::NEVER_OPEN, Cause::Finding(announcements::NEVER_ANNOUNCED)),
    // A misspelt item does not replace the imported one, which then has what this one has.
    (declarations::SAME_ON_THE_WIRE, Cause::FindingInLine(declarations::BAD_OVERRIDE)),
    (declarations::DECLARED_TWICE, Cause::FindingInLine(declarations::BAD_OVERRIDE)),
    // No message requires a field that is not there.
    (defaults::BAD_DEFAULT, Cause::FindingInLine(shapes::NO_SUCH_FIELD)),
    // The name that nothing defines may be that of the loop.
    (recursion::NEVER_AGAIN, Cause::Finding(declarations::UNDEFINED_DEFINITION)),
    // A message is unused if only an unused definition has it.
    (unused::UNUSED_MESSAGE, Cause::Finding(declarations::UNUSED_DEFINITION)),
    (unused::UNUSED_KEY, Cause::Finding(declarations::UNUSED_DEFINITION)),
    // The step that could not be read may be the request.
    (replies::WITHOUT_REQUEST, Cause::UnreadLine),
    // The undeclared name may be the missing request, or carry the missing key.
    (replies::WITHOUT_REQUEST, Cause::Finding(declarations::UNDEFINED_MESSAGE)),
    (channels::KEYLESS_STEP, Cause::Finding(declarations::UNDEFINED_MESSAGE)),
    // A place that a key cannot have may be that of the key which is missing.
    (channels::KEYLESS_STEP, Cause::Finding(members::BAD_MEMBER)),
    (unused::UNUSED_KEY, Cause::Finding(members::BAD_MEMBER)),
    // The text that could not be read may be the declaration of the key.
    (channels::KEYLESS_STEP, Cause::UnreadText),
    // With an error elsewhere, a definition may only seem to be unused.
    (declarations::UNUSED_DEFINITION, Cause::Error),
    (relation::CLOSED, Cause::Error),
];

/// The text that could not be read.
pub(crate) struct Unread {
    lines: HashSet<(FileId, u32)>,
    file_is_missing: bool,
    /// The names that stand where declarations were to be, known or not.
    names: HashSet<String>,
}

impl Unread {
    /// The findings of reading and parsing, if one of them is an error.
    pub(crate) fn of(found: &[Diagnostic], sources: &SourceMap) -> Option<Unread> {
        let missing = [imports::UNREADABLE_IMPORT, imports::CYCLIC_IMPORT];
        has_errors(found).then(|| Unread {
            lines: found.iter().flat_map(|finding| lines(finding, sources)).collect(),
            file_is_missing: found.iter().any(|finding| missing.contains(&finding.code)),
            names: recovery::names(sources),
        })
    }
}

/// Drops the findings that follow from others.
pub(crate) fn withhold(found: &mut Vec<Diagnostic>, unread: Option<&Unread>, sources: &SourceMap) {
    for (code, cause) in CONSEQUENCES {
        let every_finding_follows = match cause {
            Cause::Error => has_errors(found),
            Cause::Finding(other) => found.iter().any(|finding| finding.code == other),
            Cause::UnreadText => unread.is_some(),
            Cause::MissingFile => unread.is_some_and(|unread| unread.file_is_missing),
            Cause::UnreadLine | Cause::UnreadDeclaration | Cause::FindingInLine(_) => false,
        };
        let lines_of_cause: HashSet<(FileId, u32)> = match cause {
            Cause::FindingInLine(other) => {
                let others = found.iter().filter(|finding| finding.code == other);
                others.filter_map(|finding| lines(finding, sources).next()).collect()
            }
            _ => HashSet::new(),
        };
        let follows = |finding: &Diagnostic| match (cause, unread) {
            (Cause::UnreadLine, Some(unread)) => {
                lines(finding, sources).any(|line| unread.lines.contains(&line))
            }
            (Cause::FindingInLine(_), _) => {
                lines(finding, sources).any(|line| lines_of_cause.contains(&line))
            }
            (Cause::UnreadDeclaration, Some(unread)) => {
                finding.span().is_some_and(|span| unread.names.contains(sources.slice(span)))
            }
            _ => every_finding_follows,
        };
        found.retain(|finding| finding.code != code || !follows(finding));
    }
}

/// The lines that a finding is about.
fn lines(finding: &Diagnostic, sources: &SourceMap) -> impl Iterator<Item = (FileId, u32)> {
    let line = |span: Span| (span.file, sources.line_number(span.file, span.start));
    finding.labels.iter().map(move |label| line(label.span))
}

/// Joins the findings of both roles. A role that is the dual of the other one repeats its mistakes, with `!` and `?`
/// swapped as they stand nowhere in the text. These are reported once, for the role that is written out.
pub(crate) fn of_one_text(
    resolution: &Resolution,
    client: Vec<Diagnostic>,
    server: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    if is_dual(resolution, Side::Server) && has_errors(&client) {
        return client;
    }
    if is_dual(resolution, Side::Client) && has_errors(&server) {
        return server;
    }
    let place = |finding: &Diagnostic| (finding.code, finding.span());
    let known: HashSet<_> = client.iter().map(place).collect();
    let mut found: Vec<_> = server.into_iter().filter(|finding| !known.contains(&place(finding))).collect();
    found.extend(client);
    found
}

/// Whether a side's role is written as the dual of something that there is, and as nothing else.
fn is_dual(resolution: &Resolution, side: Side) -> bool {
    let index = resolution.role(side).and_then(|role| resolution.definition(&role.name.text, side));
    let dual_of = index.and_then(|index| resolution.definitions.get(index)).and_then(Definition::dual_of);
    dual_of.is_some_and(|name| {
        resolution.is_role(&name.text) || resolution.definition(&name.text, side).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(found: &[Code]) -> Vec<Code> {
        let sources = SourceMap::new();
        let of = |code: &Code| Diagnostic::warning(*code, Span::default(), "");
        let mut found: Vec<Diagnostic> = found.iter().map(of).collect();
        withhold(&mut found, None, &sources);
        found.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_finding_is_withheld_where_its_cause_is_found_and_kept_elsewhere() {
        for (code, cause) in CONSEQUENCES {
            assert_eq!(codes(&[code]), [code]);
            if let Cause::Finding(other) | Cause::FindingInLine(other) = cause {
                assert_eq!(codes(&[code, other]), [other]);
            }
        }
    }

    #[test]
    fn what_an_error_withholds_still_is_a_cause() {
        let unused = declarations::UNUSED_DEFINITION;
        let mut found = vec![
            Diagnostic::warning(unused::UNUSED_MESSAGE, Span::default(), ""),
            Diagnostic::warning(unused, Span::default(), ""),
            Diagnostic::error(relation::RACE, Span::default(), ""),
        ];
        withhold(&mut found, None, &SourceMap::new());
        assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [relation::RACE]);
    }
}
