//! Where formatted text is written, line by line, with the comments where they belong.

use crate::ast::Comment;
use crate::source::Span;

/// How wide a line may become where it can be broken.
pub(super) const WIDTH: usize = 100;

pub(super) struct Writer<'a> {
    out: String,
    /// Where the current line begins.
    line: usize,
    /// Whether the current line has a comment in it, which then ends it.
    commented: bool,
    /// The comments that have not been written.
    comments: &'a [Comment],
}

impl<'a> Writer<'a> {
    pub(super) fn new(comments: &'a [Comment]) -> Self {
        Writer { out: String::new(), line: 0, commented: false, comments }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Where the current line begins.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// How wide the current line is.
    pub(super) fn column(&self) -> usize {
        width(self.out.get(self.line..).unwrap_or(""))
    }

    /// How far the current line is indented.
    pub(super) fn indent(&self) -> usize {
        let line = self.out.get(self.line..).unwrap_or("");
        line.len() - line.trim_start().len()
    }

    /// Whether nothing stands in the current line but its indentation.
    pub(super) fn blank(&self) -> bool {
        self.out.get(self.line..).unwrap_or("").trim().is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Whether what was written goes over several lines.
    pub(super) fn broken(&self) -> bool {
        self.out.contains('\n')
    }

    /// Writes text without a line end in it.
    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Begins a line, unless it has just begun.
    pub(super) fn new_line(&mut self, indent: usize) {
        let line_is_new = self.blank() && self.line > 0;
        self.trim_end();
        if !line_is_new {
            self.end_line();
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self) {
        self.trim_end();
        self.out.push('\n');
        self.line = self.out.len();
        self.commented = false;
    }

    fn trim_end(&mut self) {
        let length = self.out.get(self.line..).unwrap_or("").trim_end().len();
        self.out.truncate(self.line + length);
    }

    // Comments

    /// The first comment that has not been written and stood before a place.
    pub(super) fn pending(&self, before: u32) -> Option<&'a Comment> {
        self.comments.first().filter(|comment| comment.span.start < before)
    }

    /// Whether a comment that has not been written stands inside of this place.
    pub(super) fn has_within(&self, place: Span) -> bool {
        let next = self.comments.partition_point(|comment| comment.span.start <= place.start);
        self.comments.get(next).is_some_and(|comment| comment.span.start < place.end)
    }

    /// Writes the comments that stood before a place; if there were any, what follows begins a line.
    pub(super) fn at(&mut self, place: u32, indent: usize) {
        while let Some(comment) = self.pending(place) {
            if comment.own_line || !self.end_with(comment) {
                self.new_line(indent);
                self.comment(comment);
            }
            self.new_line(indent);
        }
    }

    /// Writes the next comment at the end of the current line, if nothing is against it.
    pub(super) fn end_with(&mut self, comment: &Comment) -> bool {
        let possible = !self.blank() && !self.commented;
        if possible {
            self.trim_end();
            self.out.push_str("  ");
            self.comment(comment);
        }
        possible
    }

    /// Writes the next comment here.
    pub(super) fn comment(&mut self, comment: &Comment) {
        self.out.push_str(&comment.text);
        self.commented = true;
        self.comments = self.comments.get(1..).unwrap_or_default();
    }
}

/// How many characters wide a text is.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}
