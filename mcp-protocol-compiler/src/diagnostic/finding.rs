//! One finding: its code, its places, and what is said of them.

use super::change::TextChange;
use super::edit::Edit;
use super::suggestion::Suggestion;
use crate::source::Span;

/// The stable code of a kind of finding, `S0201`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub &'static str);

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Something worth knowing.
    Note,
    /// Probably not what was meant.
    Warning,
    /// Nothing is generated.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Which kind of finding.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where; the first is the primary place.
    pub labels: Vec<Label>,
    /// More to know, each a line or a block of lines.
    pub notes: Vec<String>,
    /// What to do, each a suggestion that can be followed.
    pub helps: Vec<Suggestion>,
}

/// A place and what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What stands under the marks, possibly nothing.
    pub text: String,
}

/// Whether there is an error among some findings.
pub fn has_errors(found: &[Diagnostic]) -> bool {
    found.iter().any(|finding| finding.severity == Severity::Error)
}

impl Diagnostic {
    /// The primary place.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// An error at a place.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, span, message)
    }

    /// A warning at a place.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, span, message)
    }

    /// A note at a place.
    pub fn note(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, span, message)
    }

    fn new(code: Code, severity: Severity, span: Span, message: impl Into<String>) -> Self {
        let labels = vec![Label { span, text: String::new() }];
        Diagnostic { code, severity, message: message.into(), labels, notes: Vec::new(), helps: Vec::new() }
    }

    /// Says something at the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Points at one more place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds something to know.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds something to do where a condition holds.
    #[must_use]
    #[track_caller]
    pub fn helps_if(mut self, holds: bool, help: &str) -> Self {
        if holds {
            self.helps.push(Suggestion::new(help.to_owned(), Vec::new()));
        }
        self
    }

    /// Adds something to do that leaves open what exactly is typed.
    #[must_use]
    #[track_caller]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.helps.push(Suggestion::new(help.into(), Vec::new()));
        self
    }

    /// Adds something to do, and the edits that do it.
    #[must_use]
    #[track_caller]
    pub fn suggest(mut self, help: impl Into<String>, edits: impl IntoIterator<Item = Edit>) -> Self {
        self.helps.push(Suggestion::new(help.into(), edits.into_iter().collect()));
        self
    }
}

impl Diagnostic {
    /// Adds something to do, and the changes that do it. `{tail}` in the sentence and in a change is how the sequence
    /// there ends.
    #[must_use]
    #[track_caller]
    pub(crate) fn changes(
        mut self,
        help: impl Into<String>,
        changes: impl IntoIterator<Item = TextChange>,
    ) -> Self {
        self.helps.push(Suggestion::of_changes(help.into(), changes.into_iter().collect()));
        self
    }

    /// Says that the last suggestion's edits are about all that stands in a state, given by its first step.
    #[must_use]
    pub(crate) fn of_state(mut self) -> Self {
        if let Some(last) = self.helps.last_mut() {
            last.set_of_state();
        }
        self
    }

    /// Findings of the same kind, by their messages, that are not reported as long as this one is.
    #[must_use]
    pub(crate) fn standing_for(mut self, messages: &[String]) -> Self {
        for help in &mut self.helps {
            help.leaves(messages);
        }
        self
    }

    /// Says something else in place of the last suggestion if its edits do not mend the finding.
    #[must_use]
    pub(crate) fn otherwise(mut self, text: impl Into<String>) -> Self {
        if let Some(last) = self.helps.last_mut() {
            last.otherwise(text.into());
        }
        self
    }
}

/// A name as it stands in a message: cut where it would fill the screen, without characters that change the line.
pub fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text
        .chars()
        .take(LONGEST)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}
