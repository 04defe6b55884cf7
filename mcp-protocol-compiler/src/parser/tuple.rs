//! Tuples: lists with a shape for each position.

use super::codes::MALFORMED_SHAPE;
use super::cursor::Parser;
use super::foreign_shapes::Constructor;
use super::shape::FARTHEST_AHEAD;
use crate::ast::{Name, Shape, ShapeField, ShapeKind, TuplePosition};
use crate::diagnostic::limit::Findings;
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::Kind;
use crate::source::Span;

impl Parser<'_> {
    /// `[shape]`: a list. `[shape, shape?, ...shape]`, `[label: shape]`, `[shape,]`, `[]`: a tuple.
    pub(super) fn brackets(&mut self) -> ShapeKind {
        let open = self.bump();
        let mut positions = Vec::new();
        let mut is_list = true;
        while self.kind() != Kind::CloseBracket {
            let position = match self.kind() {
                Kind::Dot => self.rest_of_tuple(positions.is_empty()),
                _ => self.position(),
            };
            positions.push(position);
            if !self.comma_of_tuple(&positions) {
                break;
            }
            is_list = false;
        }
        if self.eat(Kind::CloseBracket).is_none() {
            self.expected(MALFORMED_SHAPE, "`]`", "a list is written `[shape]`, a tuple `[shape, shape]`");
        }
        if let Some(message) = misplaced_rest(&positions) {
            return self.list_for_rest(open, message, positions);
        }
        let mut positions = with_all_labels_or_none(positions, &mut self.findings);
        only_last_optional(&mut positions, &mut self.findings);
        let is_one = |position: &TuplePosition| position.label.is_none() && !position.optional;
        if is_list && matches!(positions.as_slice(), [only] if is_one(only)) {
            return ShapeKind::List(Box::new(positions.remove(0).shape));
        }
        ShapeKind::Tuple(positions)
    }

    /// `shape`, `shape?`, `label: shape`, `label?: shape`
    fn position(&mut self) -> TuplePosition {
        if self.begins_label() {
            let ShapeField { documentation, name, optional, shape } = self.field("label");
            return TuplePosition { documentation, label: Some(name), optional, rest: None, shape };
        }
        let shape = self.shape();
        let mut optional = self.eat(Kind::Question).is_some();
        let written = format!("{}?", shorten(self.sources.slice(shape.span)));
        let absent = (!optional).then(|| Edit::after(shape.span, "?"));
        optional |= self.default("position", &written, absent);
        TuplePosition { documentation: Vec::new(), label: None, optional, rest: None, shape }
    }

    /// `...shape`, `...label: shape`: any number of further elements.
    fn rest_of_tuple(&mut self, is_first: bool) -> TuplePosition {
        let is_labelled = self.label_ahead(self.dots_ahead());
        let is_alone = is_first && !is_labelled && self.kind_at(self.dots_ahead()) == Kind::CloseBracket;
        let documentation = if is_labelled { self.take_documentation() } else { Vec::new() };
        let dots = self.dots_of_rest();
        let label = is_labelled.then(|| {
            let name = if self.kind() == Kind::Text { self.take_text() } else { self.take_word() };
            self.mark_of_rest();
            self.eat(Kind::Colon);
            name
        });
        let shape = match self.kind() {
            Kind::CloseBracket | Kind::Comma => self.rest_of_anything(dots, is_alone),
            _ => self.shape(),
        };
        let shape = self.shape_of_each(shape);
        self.mark_of_rest();
        TuplePosition { documentation, label, optional: false, rest: Some(dots), shape }
    }

    /// How many dots stand here.
    fn dots_ahead(&self) -> usize {
        (0..FARTHEST_AHEAD).take_while(|ahead| self.kind_at(*ahead) == Kind::Dot).count()
    }

    /// Takes the dots before a rest, and reports others than three.
    fn dots_of_rest(&mut self) -> Span {
        let start = self.span();
        while self.eat(Kind::Dot).is_some() {}
        let dots = start.to(self.previous());
        let written = self.sources.slice(dots);
        if written != "..." {
            let message = format!("`{}` before the rest of a tuple", shorten(written));
            let finding = Diagnostic::error(MALFORMED_SHAPE, dots, message);
            self.report(finding.suggest("write `...`, three dots", [Edit::replace(dots, "...")]));
        }
        dots
    }

    /// Dots with nothing behind them.
    fn rest_of_anything(&mut self, dots: Span, is_alone: bool) -> Shape {
        let finding = Diagnostic::error(MALFORMED_SHAPE, dots, "`...` without a shape")
            .label("any number of elements, of which nothing is said");
        let finding = match is_alone {
            true => finding.suggest("write `[any]` for a list of any JSON", [Edit::replace(dots, "any")]),
            false => finding.suggest("write `...any` for any JSON", [Edit::after(self.previous(), "any")]),
        };
        self.report(finding.otherwise("or the shape of each of these elements, as in `...string`"));
        Shape::missing(self.previous().after())
    }

    /// The shape of each element of a rest. In TypeScript it is that of all of them, `...string[]` or `...Array<string>`.
    fn shape_of_each(&mut self, shape: Shape) -> Shape {
        let written = self.sources.slice(shape.span);
        let list = if ends_in_brackets(written) { Some("[]") } else { list_word(written) };
        let (ShapeKind::List(of), Some(list)) = (&shape.kind, list) else { return shape };
        let (list, each) = (list.to_owned(), Shape { kind: of.kind.clone(), span: shape.span });
        self.findings.take_within(MALFORMED_SHAPE, shape.span);
        self.list_as_rest(each, &list)
    }

    /// `?` at a rest, which may be empty anyway.
    fn mark_of_rest(&mut self) {
        if self.kind() == Kind::Question {
            let mark = self.bump();
            let finding = Diagnostic::error(MALFORMED_SHAPE, mark, "`?` at the rest of a tuple")
                .label("there may be any number of these elements, and none");
            self.findings.push(finding.suggest("delete it", [Edit::delete(mark)]));
        }
    }

    /// Whether a label stands here: a word with a `:` behind it, or with `?:`.
    fn begins_label(&self) -> bool {
        self.label_ahead(0)
    }

    /// Whether a label stands so far ahead.
    fn label_ahead(&self, ahead: usize) -> bool {
        let colon = if self.kind_at(ahead + 1) == Kind::Question { 2 } else { 1 };
        matches!(self.kind_at(ahead), Kind::Word | Kind::Text) && self.kind_at(ahead + colon) == Kind::Colon
    }

    /// Takes the comma behind a position; nothing if the tuple ends there.
    fn comma_of_tuple(&mut self, positions: &[TuplePosition]) -> bool {
        let is_labelled = positions.last().is_some_and(|position| position.label.is_some());
        if self.kind() == Kind::Comma {
            // A field behind the comma shows that the list was not closed.
            let colon = if self.kind_at(2) == Kind::Question { 3 } else { 2 };
            let is_field = self.records > 0 && self.kind_at(colon) == Kind::Colon;
            if is_field && !is_labelled && !self.closes_ahead() {
                return false;
            }
            self.bump();
            return true;
        }
        let is_rest = self.dots_ahead() > 1
            && !matches!(self.kind_at(self.dots_ahead()), Kind::CloseBracket | Kind::Comma | Kind::EndOfFile);
        if is_rest || (self.begins_label() && is_labelled && !self.ends_record()) {
            let behind = self.previous();
            let finding = Diagnostic::error(MALFORMED_SHAPE, behind.after(), "`,` is missing");
            self.report(finding.suggest("write `,` between positions", [Edit::after(behind, ",")]));
            return true;
        }
        false
    }

    /// Whether the brackets around this place close before the braces around them do.
    fn closes_ahead(&self) -> bool {
        let mut inner = 0usize;
        for ahead in 0..FARTHEST_AHEAD {
            match self.kind_at(ahead) {
                Kind::OpenBracket | Kind::OpenBrace | Kind::Open => inner += 1,
                Kind::CloseBracket if inner == 0 => return true,
                Kind::CloseBrace | Kind::Close if inner == 0 => return false,
                Kind::CloseBracket | Kind::CloseBrace | Kind::Close => inner -= 1,
                Kind::EndOfFile => return false,
                _ => {}
            }
        }
        false
    }
}

/// Whether a list is written as in TypeScript, `string[]` or `(string[])`.
fn ends_in_brackets(written: &str) -> bool {
    let before = written.trim_end_matches([')', ' ']).strip_suffix(']').map(str::trim_end);
    before.is_some_and(|before| before.ends_with('[') && before.len() > 1)
}

/// The word that a list is written with, `Array<string>`.
fn list_word(written: &str) -> Option<&str> {
    let end = written.find(|letter: char| !letter.is_alphanumeric())?;
    let word = written.get(..end)?;
    (Constructor::of(word) == Some(Constructor::List)).then_some(word)
}

/// Positions of which all have labels or none has. Otherwise those that are there are left out.
fn with_all_labels_or_none(positions: Vec<TuplePosition>, findings: &mut Findings) -> Vec<TuplePosition> {
    let first = positions.iter().find(|position| position.label.is_none() && !is_missing(position));
    let labelled: Vec<&TuplePosition> =
        positions.iter().filter(|position| position.label.is_some()).collect();
    let (Some(first), false) = (first, labelled.is_empty()) else { return positions };
    if let Some(dots) = rest_without_label(&positions) {
        let finding =
            Diagnostic::error(MALFORMED_SHAPE, first.span(), "the rest has no label, and the positions have")
                .label("all positions of a tuple have labels, or none has")
                .suggest("write a label before it, too: `...rest: …`", [Edit::after(dots, "rest: ")]);
        findings.push(finding.otherwise("or leave the labels out"));
        let label = |position: TuplePosition| match position.rest {
            Some(dots) => {
                TuplePosition { label: Some(Name { text: "rest".to_owned(), span: dots }), ..position }
            }
            None => position,
        };
        return positions.into_iter().map(label).collect();
    }
    let edits = labelled.iter().flat_map(|position| {
        let label = position.label.as_ref().map_or(position.shape.span, |label| label.span);
        let label = Span { end: position.shape.span.start, ..label };
        let mark = position.optional.then(|| Edit::after(position.shape.span, "?"));
        std::iter::once(Edit::delete(label)).chain(mark)
    });
    let finding =
        Diagnostic::error(MALFORMED_SHAPE, first.span(), "this position has no label, and others have")
            .label("all positions of a tuple have labels, or none has")
            .suggest("leave the labels out", edits);
    let dots = if first.rest.is_some() { "..." } else { "" };
    findings.push(finding.otherwise(format!("write a label before this position, too: `{dots}label: …`")));
    let unlabelled = positions.into_iter().map(|position| TuplePosition {
        documentation: Vec::new(),
        label: None,
        ..position
    });
    unlabelled.collect()
}

/// The dots of a rest which alone has no label, where `rest` may be its label.
fn rest_without_label(positions: &[TuplePosition]) -> Option<Span> {
    let (last, others) = positions.split_last()?;
    let is_other =
        |position: &TuplePosition| position.label.as_ref().is_some_and(|label| label.text != "rest");
    last.rest.filter(|_| last.label.is_none() && !is_missing(last) && others.iter().all(is_other))
}

/// What is wrong with where a rest stands, if something is.
fn misplaced_rest(positions: &[TuplePosition]) -> Option<(Span, &'static str)> {
    let dots: Vec<Span> = positions.iter().filter_map(|position| position.rest).collect();
    let (last, others) = positions.split_last()?;
    match (dots.as_slice(), others) {
        ([], _) => None,
        ([_, second, ..], _) => Some((*second, "a tuple has one rest")),
        ([only], []) => Some((*only, "a tuple that is nothing but a rest is a list")),
        ([only], _) if last.rest.is_none() => {
            Some((*only, "the rest of a tuple stands behind all its positions"))
        }
        _ => None,
    }
}

/// Whether nothing could be read, which has been reported.
fn is_missing(position: &TuplePosition) -> bool {
    position.shape.kind == ShapeKind::Missing
}

/// Reports what must be there behind what may be absent, and takes it for what may be absent.
fn only_last_optional(positions: &mut [TuplePosition], findings: &mut Findings) {
    let optional = positions.iter().position(|position| position.optional).unwrap_or(positions.len());
    let behind = positions.get_mut(optional..).unwrap_or_default();
    let required =
        || behind.iter().filter(|position| position.presence().is_required() && !is_missing(position));
    if let Some(first) = required().next() {
        let mark = |position: &TuplePosition| {
            Edit::after(position.label.as_ref().map_or(position.shape.span, |label| label.span), "?")
        };
        let text = "this position must be there, and one before it may be absent";
        let finding = Diagnostic::error(MALFORMED_SHAPE, first.span(), text)
            .label("only the last positions of a tuple may be absent")
            .suggest("write `?` here, too", required().map(mark));
        findings.push(finding.otherwise("or write no `?` before it"));
    }
    behind.iter_mut().for_each(|position| position.optional = position.rest.is_none());
}
