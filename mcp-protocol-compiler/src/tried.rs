//! Suggestions are tried before they are made: those about text that cannot be read, those about both roles together, and
//! those that may bring to light what is wrong behind their finding.

use std::collections::BTreeSet;

use crate::ast::{Choice, Tail};
use crate::declarations::Resolution;
use crate::diagnostic::{Code, Diagnostic, Edit, Severity, Suggestion};
use crate::findings::imports::UNREADABLE_IMPORT;
use crate::relation::{NOT_COMPATIBLE, NOT_DUAL, RACE};
use crate::source::{SourceMap, Span};

/// How many suggestions of a compilation are tried.
const TRIES: usize = 4;

/// How many suggestions about names and about one role are tried; the edits of others are left as they are.
const TRIES_OF_ONE_ROLE: usize = 12;

/// How many suggestions about text that cannot be read are tried; the edits of others are left as they are.
const TRIES_OF_TEXT: usize = 12;

/// How long all files together may be.
const LONGEST: usize = 32 * 1024;

/// The findings about both roles together, whose suggestions are tried.
const TRIED: [Code; 3] = [NOT_DUAL, NOT_COMPATIBLE, RACE];

/// Tries the suggestions of these findings, and takes the edits from those that do not mend theirs. `compile` returns the
/// findings of the files with a suggestion's edits; only those about their text, if it gets `true`. Without `tries`, the
/// edits are those of long files, of whose suggestions none is tried.
pub(crate) fn keep_what_mends(
    diagnostics: &mut [Diagnostic],
    sources: &SourceMap,
    resolution: &Resolution,
    tries: bool,
    mut compile: impl FnMut(&Suggestion, bool) -> Option<Vec<Diagnostic>>,
) {
    let length: usize = sources.files().map(|file| sources.text(file).len()).sum();
    let most = |most| if tries && length <= LONGEST { most } else { 0 };
    let (mut left, mut of_one_role, mut of_text) =
        (most(TRIES), most(TRIES_OF_ONE_ROLE), most(TRIES_OF_TEXT));
    let before = diagnostics.to_vec();
    for (found, old) in diagnostics.iter_mut().zip(&before) {
        let helps = found.helps.iter_mut().filter(|help| !help.edits().is_empty());
        if !TRIED.contains(&old.code) {
            let is_text = stage(old) == 0;
            let left = if is_text { &mut of_text } else { &mut of_one_role };
            for help in helps {
                let Some(less) = left.checked_sub(1) else { break };
                *left = less;
                if compile(help, is_text).is_some_and(|after| !leads_on(old, &before, &after)) {
                    help.withdraw();
                }
            }
            continue;
        }
        for help in helps {
            let of_state = help.is_of_state();
            help.place(|edit| place(edit, of_state, sources, resolution));
            let after = if left > 0 { compile(help, false) } else { None };
            left = left.saturating_sub(1);
            if after.is_none_or(|after| !mends(old, &before, &after)) {
                help.withdraw();
            }
        }
    }
}

fn identity(found: &Diagnostic) -> (Code, &str) {
    (found.code, &found.message)
}

/// In which order the compiler comes to what is wrong: text, then names and shapes, then what one role does, then both
/// roles. An error of an earlier stage may hide one of a later stage.
fn stage(found: &Diagnostic) -> u8 {
    if found.code == UNREADABLE_IMPORT {
        return 1;
    }
    match found.code.0.get(..3) {
        Some("S00") => 0,
        Some("S01" | "S07") => 1,
        // These are asked of states that are all there.
        _ if ["S0306", "S0307", "S0403", "S0406", "S0407"].contains(&found.code.0) => 3,
        Some("S02" | "S03" | "S04") => 2,
        Some("S05") => 4,
        _ => 5,
    }
}

/// Whether a finding is gone, and nothing else is wrong that had to be found before it or together with it.
fn leads_on(found: &Diagnostic, before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let known: BTreeSet<_> = before.iter().map(identity).collect();
    let count = |all: &[Diagnostic]| all.iter().filter(|one| identity(one) == identity(found)).count();
    let unreadable = |all: &[Diagnostic]| {
        all.iter().filter(|one| one.severity == Severity::Error && stage(one) == 0).count()
    };
    let is_new = |one: &&Diagnostic| one.severity == Severity::Error && !known.contains(&identity(one));
    let mut new = after.iter().filter(is_new).map(stage);
    count(after) < count(before)
        && unreadable(after) <= unreadable(before)
        && !new.any(|stage| stage > 0 && stage <= self::stage(found))
}

/// Whether a finding is gone and nothing else is wrong that was not wrong before.
fn mends(found: &Diagnostic, before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let mut known: BTreeSet<_> = before.iter().map(identity).collect();
    for one in before {
        known.extend(one.helps.iter().flat_map(Suggestion::left).map(|message| (one.code, message)));
    }
    let count = |all: &[Diagnostic]| all.iter().filter(|one| identity(one) == identity(found)).count();
    count(after) < count(before)
        && after.iter().all(|one| one.severity != Severity::Error || known.contains(&identity(one)))
}

/// Where an edit goes in the text: with the dot behind a step that is deleted, and, if it is about a state, around all
/// that stands there.
fn place(edit: &Edit, of_state: bool, sources: &SourceMap, resolution: &Resolution) -> Edit {
    let span = edit.span;
    // A state that is deleted takes its definition with it.
    if of_state && edit.text.is_empty() {
        let mut definitions = resolution.definitions.iter();
        let around =
            |whole: Span| whole.file == span.file && whole.start <= span.start && span.end <= whole.end;
        let found = definitions.find(|definition| around(definition.span));
        return Edit::delete(found.map_or(span, |definition| definition.span));
    }
    if of_state && let Some(found) = state(span, resolution) {
        if span.start < span.end {
            return Edit::replace(found.span, edit.text.as_str());
        }
        return match found.whole {
            true => Edit::after(found.span, edit.text.as_str()),
            false => Edit::replace(found.span, format!("( {}{} )", sources.slice(found.span), edit.text)),
        };
    }
    let mut placed = edit.clone();
    let defined = resolution.definitions.iter().map(|definition| (definition.span, definition.body.span));
    let starts = |other: Span| span.start == span.end && (other.file, other.start) == (span.file, span.start);
    if let Some((_, body)) = defined.into_iter().find(|(whole, _)| starts(*whole)) {
        placed.span = Span { end: body.start, ..body };
    }
    if edit.text.is_empty() {
        let behind = sources.text(span.file).get(span.end as usize..).unwrap_or("");
        if let Some(next) = behind.trim_start().strip_prefix('.') {
            placed.span.end += u32::try_from(behind.len() - next.trim_start().len()).unwrap_or(0);
        }
    }
    placed
}

/// What stands in one state.
struct StateText {
    span: Span,
    /// Whether it is a whole choice, which one more branch may join; else the rest of a sequence.
    whole: bool,
}

/// What stands in the state that has this span, which is a definition's or that of the state's first step. An empty
/// span is the end of it.
fn state(span: Span, resolution: &Resolution) -> Option<StateText> {
    let same = |other: Span| {
        other == span || span.start == span.end && (other.file, other.end) == (span.file, span.start)
    };
    let definitions = &resolution.definitions;
    if let Some(definition) = definitions.iter().find(|definition| same(definition.span)) {
        return Some(StateText { span: definition.body.span, whole: true });
    }
    let mut choices: Vec<&Choice> = definitions.iter().map(|definition| &definition.body).collect();
    while let Some(choice) = choices.pop() {
        for branch in &choice.branches {
            match branch.actions.iter().position(|action| same(action.span)) {
                Some(0) => return Some(StateText { span: choice.span, whole: true }),
                Some(index) => {
                    let first = branch.actions.get(index)?.span;
                    return Some(StateText { span: first.to(branch.span), whole: false });
                }
                None => {}
            }
            choices.extend(choices_in(&branch.tail));
        }
    }
    None
}

/// The choices right within a tail.
fn choices_in(mut tail: &Tail) -> Vec<&Choice> {
    while let Tail::Replicated(body, _) = tail {
        tail = body;
    }
    match tail {
        Tail::Recursion { body, .. } | Tail::Group(body, _) => vec![body],
        Tail::Parallel(parts, _) => parts.iter().collect(),
        _ => Vec::new(),
    }
}
