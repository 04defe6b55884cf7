//! What to do about a finding: a sentence, and where the sentence names text to type, the edits that type it.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;

use super::change::TextChange;
use super::edit::Edit;
use crate::source::FileId;

/// What to do about a finding.
///
/// The edits do what the text says: applied together they mend the finding. A suggestion that leaves something open,
/// a name to choose or a `…`, has none.
#[derive(Clone, Debug)]
pub struct Suggestion {
    text: String,
    edits: Vec<Edit>,
    /// What the edits are made of, until they are.
    changes: Vec<TextChange>,
    /// The sentence in place of `text` where the edits were tried and do not mend the finding.
    otherwise: Option<String>,
    /// Whether the edits are about all that stands in a state; their places are those of its first step.
    of_state: bool,
    /// The messages of findings of the same kind that may be reported after the edits, in place of the one that they mend.
    left: Vec<String>,
    /// Whether it had edits that were tried and do not mend the finding.
    withdrawn: bool,
    /// Where the compiler makes it, so that a test can say which suggestions no case has.
    made_at: &'static Location<'static>,
}

impl Suggestion {
    /// A suggestion with its edits; none where it leaves something open.
    #[track_caller]
    pub(crate) fn new(text: String, mut edits: Vec<Edit>) -> Suggestion {
        edits.sort_by_key(|edit| edit.span);
        Suggestion {
            text,
            edits,
            changes: Vec::new(),
            otherwise: None,
            of_state: false,
            left: Vec::new(),
            withdrawn: false,
            made_at: Location::caller(),
        }
    }

    /// A suggestion whose edits depend on what stands around its places.
    #[track_caller]
    pub(crate) fn of_changes(text: String, changes: Vec<TextChange>) -> Suggestion {
        Suggestion { changes, ..Self::new(text, Vec::new()) }
    }

    /// What is still to become edits.
    pub(crate) fn take_changes(&mut self) -> Vec<TextChange> {
        std::mem::take(&mut self.changes)
    }

    /// The edits that the changes are, with the sentence that goes with them; none where they cannot be made.
    pub(crate) fn place_changes(&mut self, placed: Option<(String, Vec<Edit>)>) {
        match placed {
            Some((text, mut edits)) => {
                edits.sort_by_key(|edit| edit.span);
                (self.text, self.edits) = (text, edits);
            }
            None => {
                self.without_edits();
                self.text = self.text.replace("{tail}", "…").replace("{path}", "id");
            }
        }
    }

    /// Takes in the edits of the same suggestion for another place.
    pub(crate) fn join(&mut self, other: &Suggestion) {
        self.edits.extend(other.edits.iter().cloned());
        self.changes.extend(other.changes.iter().cloned());
        self.edits.sort_by_key(|edit| edit.span);
    }

    /// Says something else where the edits do not mend the finding.
    pub(crate) fn otherwise(&mut self, text: String) {
        self.otherwise = Some(text);
    }

    /// Says which findings of the same kind may be reported after the edits, by their messages.
    pub(crate) fn leaves(&mut self, messages: &[String]) {
        self.left = messages.to_vec();
    }

    /// The messages of the findings that may be reported after the edits.
    pub(crate) fn left(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(String::as_str)
    }

    /// Says that the edits are about whole states, given by their first steps.
    pub(crate) fn set_of_state(&mut self) {
        self.of_state = true;
    }

    /// Whether the edits are about whole states.
    pub(crate) fn is_of_state(&self) -> bool {
        self.of_state
    }

    /// Puts each edit in its place.
    pub(crate) fn place(&mut self, place: impl FnMut(&Edit) -> Edit) {
        self.edits = self.edits.iter().map(place).collect();
        self.edits.sort_by_key(|edit| edit.span);
    }

    /// Takes the edits away, which were tried and do not mend the finding.
    pub(crate) fn withdraw(&mut self) {
        self.withdrawn = true;
        self.without_edits();
    }

    /// Leaves advice.
    pub(crate) fn without_edits(&mut self) {
        self.edits.clear();
        if let Some(text) = self.otherwise.take() {
            self.text = text;
        }
    }

    /// The sentence.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What does it, in the order of the text, without overlaps; possibly nothing.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Whether it had edits that the compiler tried, and took away because the finding was there after them, or others
    /// were. So a test can count them.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    /// The line of the compiler's source that makes it.
    pub fn made_at(&self) -> &'static Location<'static> {
        self.made_at
    }

    /// The text of one file with the edits in it.
    pub fn apply(&self, file: FileId, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for edit in self.edits.iter().filter(|edit| edit.span.file == file) {
            let (start, end) = (edit.span.start as usize, edit.span.end as usize);
            // An edit that overlaps the one before, or splits a character, is left out.
            let Some(between) = text.get(at..start).filter(|_| text.is_char_boundary(end) && end >= start)
            else {
                continue;
            };
            out.push_str(between);
            out.push_str(&edit.text);
            at = end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

impl PartialEq for Suggestion {
    fn eq(&self, other: &Suggestion) -> bool {
        (&self.text, &self.edits) == (&other.text, &other.edits)
    }
}

impl Eq for Suggestion {}

impl Deref for Suggestion {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    const FILE: FileId = FileId(0);

    fn at(start: u32, end: u32) -> Span {
        Span { file: FILE, start, end }
    }

    #[test]
    fn edits_are_applied_together() {
        let edits = vec![
            Edit::after(at(4, 5), "!"),
            Edit::replace(at(0, 3), "the"),
            Edit::before(at(4, 5), "great "),
            Edit::delete(Span { file: FileId(1), start: 0, end: 1 }),
        ];
        let suggestion = Suggestion::new("write it".to_owned(), edits);
        assert_eq!(suggestion.apply(FILE, "one α"), "the great α");
        assert_eq!(suggestion.apply(FILE, "one x."), "the great x!.");
        assert_eq!(suggestion.apply(FileId(1), "abc"), "bc");
        assert!(suggestion.made_at().file().ends_with("suggestion.rs"));
    }
}
