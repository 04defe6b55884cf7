//! Choices as papers and other tools write them: `+{ a: S, b: T }`, `&( S, T )`, `⊕{ … }`.

use super::codes::MALFORMED_CHOICE;
use super::cursor::Parser;
use crate::ast::{Operator, Tail};
use crate::diagnostic::{Diagnostic, Edit};
use crate::lexer::{Kind, UNKNOWN_CHARACTER};
use crate::source::Span;

impl Parser<'_> {
    /// Whether an operator with brackets behind it stands here.
    pub(super) fn at_branches_in_brackets(&self) -> bool {
        let open = self.token_at(1);
        matches!(self.kind(), Kind::Internal | Kind::Ampersand)
            && open.kind == Kind::Open
            && (open.start == self.token().end || self.source(open) == "{")
    }

    /// The same behind the `.` of a sequence.
    pub(super) fn branches_as_tail(&mut self) -> Tail {
        let operator = if self.kind() == Kind::Internal { Operator::Internal } else { Operator::External };
        let sign = self.bump();
        match self.branches_in_brackets(operator, sign) {
            Some(all) => Tail::Missing(all),
            None => {
                let finding =
                    Diagnostic::error(MALFORMED_CHOICE, sign, "an operator before the first branch");
                self.report(finding.suggest("delete it", [Edit::delete(sign)]));
                self.tail()
            }
        }
    }

    /// Takes the brackets behind an operator at the beginning of a choice, where the branches stand in them with commas
    /// between, and reports them. Returns what was taken.
    pub(super) fn branches_in_brackets(&mut self, operator: Operator, sign: Span) -> Option<Span> {
        let open = self.span();
        let written = self.sources.slice(open);
        if self.kind() != Kind::Open || open.start != sign.end && written != "{" {
            return None;
        }
        let behind = self.behind_brackets()?;
        let (edits, commas) = self.edits_of_branches(operator, behind);
        let is_plus = self.sources.slice(sign) == "+";
        let is_channel = self.is_behind_comma(sign) || self.kind_at(behind) == Kind::Comma;
        let repeats = is_plus && is_channel && commas == 0 && written == "(";
        if commas == 0 && written == "(" && !repeats {
            return None;
        }
        for _ in 0..behind {
            self.bump();
        }
        let close = self.previous();
        let all = sign.to(close);
        self.findings.take_within(UNKNOWN_CHARACTER, all);
        let shown = self.sources.slice(sign);
        let finding = match repeats {
            true => Diagnostic::error(MALFORMED_CHOICE, sign, "`+` before a channel")
                .label("a channel is replicated with `*`")
                .suggest("write `*( … )`, for any number of instances", [Edit::replace(sign, "*")]),
            false => {
                let own = if operator == Operator::Internal { "⊕" } else { "&" };
                let (open, close) =
                    ([Edit::replace(open, "(")], [Edit::delete(sign), Edit::replace(close, ")")]);
                let help = match commas {
                    0 => format!("write `( … )`, with `{own}` between the branches"),
                    _ => format!("write `( S {own} T )`: the operator stands between the branches"),
                };
                let edits = close.into_iter().chain(open).chain(edits);
                Diagnostic::error(MALFORMED_CHOICE, all, format!("`{shown}` before the brackets of a choice"))
                    .suggest(help, edits)
            }
        };
        self.findings.push(finding);
        Some(all)
    }

    /// What to do to so many tokens of a choice in brackets: commas become operators, and labels go. Also the number of
    /// commas.
    fn edits_of_branches(&self, operator: Operator, count: usize) -> (Vec<Edit>, usize) {
        let (sign, action) = match operator {
            Operator::Internal => (" ⊕", '!'),
            Operator::External => (" &", '?'),
        };
        let (mut edits, mut commas, mut inner) = (Vec::new(), 0, 0usize);
        for ahead in 0..count {
            let span = self.token_at(ahead).span(self.file);
            match self.kind_at(ahead) {
                Kind::Open | Kind::OpenBracket | Kind::OpenBrace => inner += 1,
                Kind::Close | Kind::CloseBracket | Kind::CloseBrace => inner = inner.saturating_sub(1),
                Kind::Comma if inner == 1 => {
                    edits.push(Edit::replace(span, sign));
                    commas += 1;
                }
                _ => {}
            }
            let begins = inner == 1 && matches!(self.kind_at(ahead), Kind::Open | Kind::Comma);
            let is_labelled = self.kind_at(ahead + 1) == Kind::Word && self.kind_at(ahead + 2) == Kind::Colon;
            if begins && is_labelled {
                let (label, colon) = (self.token_at(ahead + 1), self.token_at(ahead + 2).span(self.file));
                let label = label.span(self.file);
                let next = self.token_at(ahead + 3);
                match next.kind {
                    Kind::Exclamation | Kind::Question => {
                        edits.push(Edit::delete(Span { end: next.start, ..label }))
                    }
                    _ => {
                        edits.push(Edit::before(label, action.to_string()));
                        edits.push(Edit::replace(colon, " ."));
                    }
                }
            }
        }
        (edits, commas)
    }

    /// Whether a comma stands before this place.
    fn is_behind_comma(&self, place: Span) -> bool {
        let before = self.text.get(..place.start as usize).unwrap_or_default();
        before.trim_end().ends_with(',')
    }
}
