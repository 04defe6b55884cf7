//! Findings that only follow from another one are withheld: a mistake is reported once.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Side;

use crate::checks::{alternatives, announcements, gates, unused};
use crate::declarations::{Definition, Resolution};
use crate::diagnostic::{Code, Diagnostic, has_errors};
use crate::findings::{channels, declarations, replies};
use crate::relation;
use crate::resolve::{load, recovery};
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
    /// Any error.
    Error,
}

/// Which findings follow from what, applied in this order.
const CONSEQUENCES: [(Code, Cause); 18] = [
    (declarations::UNKNOWN_ROLE, Cause::UnreadText),
    // What a declaration says is known once all of it can be read.
    (alternatives::NOT_TOLD_APART, Cause::UnreadLine),
    (replies::NOT_ACCEPTED, Cause::UnreadLine),
    (declarations::NO_TYPES, Cause::UnreadLine),
    (declarations::UNDEFINED_MESSAGE, Cause::MissingFile),
    (declarations::UNDEFINED_DEFINITION, Cause::MissingFile),
    (declarations::BAD_GROUP, Cause::MissingFile),
    (declarations::BAD_OVERRIDE, Cause::MissingFile),
    (declarations::UNDEFINED_MESSAGE, Cause::UnreadDeclaration),
    (declarations::UNDEFINED_DEFINITION, Cause::UnreadDeclaration),
    (declarations::BAD_GROUP, Cause::UnreadDeclaration),
    // What is announced nowhere opens nothing.
    (gates::NEVER_SENT, Cause::Finding(announcements::NEVER_ANNOUNCED)),
    (gates::NEVER_OPEN, Cause::Finding(announcements::NEVER_ANNOUNCED)),
    // What only an unused definition says is that definition's fault.
    (unused::UNUSED_MESSAGE, Cause::Finding(declarations::UNUSED_DEFINITION)),
    // What a name that nothing declares would have asked for, or tied.
    (replies::WITHOUT_REQUEST, Cause::Finding(declarations::UNDEFINED_MESSAGE)),
    (channels::UNTIED_STEP, Cause::Finding(declarations::UNDEFINED_MESSAGE)),
    // What seems unused may only be waiting for something else to be mended.
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
    /// What the findings of reading and parsing say; nothing if there is no error among them.
    pub(crate) fn of(found: &[Diagnostic], sources: &SourceMap) -> Option<Unread> {
        let missing = [load::UNREADABLE_IMPORT, load::CYCLIC_IMPORT];
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
        let all = match cause {
            Cause::Error => has_errors(found),
            Cause::Finding(other) => found.iter().any(|finding| finding.code == other),
            Cause::UnreadText => unread.is_some(),
            Cause::MissingFile => unread.is_some_and(|unread| unread.file_is_missing),
            Cause::UnreadLine | Cause::UnreadDeclaration => false,
        };
        let follows = |finding: &Diagnostic| match (cause, unread) {
            (Cause::UnreadLine, Some(unread)) => {
                lines(finding, sources).any(|line| unread.lines.contains(&line))
            }
            (Cause::UnreadDeclaration, Some(unread)) => {
                finding.span().is_some_and(|span| unread.names.contains(sources.slice(span)))
            }
            _ => all,
        };
        found.retain(|finding| finding.code != code || !follows(finding));
    }
}

/// The lines that a finding is about.
fn lines(finding: &Diagnostic, sources: &SourceMap) -> impl Iterator<Item = (FileId, u32)> {
    let line = |span: Span| (span.file, sources.line_number(span.file, span.start));
    finding.labels.iter().map(move |label| line(label.span))
}

/// The findings of both roles. What one text says of both is reported once: a role that is the dual of the other repeats
/// its mistakes with `!` and `?` turned round, as they stand nowhere.
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

/// Whether a side's role is written as the dual of something, and as nothing else.
fn is_dual(resolution: &Resolution, side: Side) -> bool {
    let index = resolution.role(side).and_then(|role| resolution.definition(&role.name.text, side));
    index.and_then(|index| resolution.definitions.get(index)).is_some_and(Definition::is_dual)
}
