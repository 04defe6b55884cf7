//! Session types as other languages would write them: each is reported once, with what is written here.

use super::codes::{MALFORMED_CHOICE, MISSING_DOT, MISSING_NAME, MISSING_TYPE, NOTHING_FOLLOWS};
use super::cursor::Parser;
use super::session::not_a_word;
use super::words;
use crate::ast::{Action, Name, Operator, Tail};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::{CHOICES, CONDITIONS, Kind, LOOPS, UNKNOWN_CHARACTER};
use crate::source::Span;

/// How a choice is written.
const BRANCHES: &str = "write the branches alone, `!A . S ⊕ !B . T` where this role chooses, `?A . S & ?B . T` where the peer \
                        chooses: the first message of a branch selects it";

impl Parser<'_> {
    /// Takes what stands in place of the `.` behind an action: `->`, `=>`, `:`, `then`. Returns whether something did.
    pub(super) fn other_dot(&mut self, shown: &str) -> bool {
        let first = self.span();
        let length = match self.kind() {
            Kind::Arrow | Kind::Colon | Kind::DoubleColon => 1,
            Kind::Equals if self.kind_at(1) == Kind::Greater => 2,
            Kind::Word if self.before_step("then") || self.before_step("and") => 1,
            _ => return false,
        };
        let index = self.index();
        for _ in 0..length {
            self.bump();
        }
        let span = first.to(self.previous());
        // Of an arrow that is another character, too, this is all that is said.
        self.findings.take_within(UNKNOWN_CHARACTER, span);
        let message = format!("`{}` behind `{shown}`", shorten(self.sources.slice(span)));
        let finding = Diagnostic::error(MISSING_DOT, span, message);
        self.report_at(index, finding.suggest("write `.`", [Edit::replace(span, " . ")]));
        true
    }

    /// Whether this word stands here, between two steps of a line.
    fn before_step(&self, word: &str) -> bool {
        let next = self.token_at(1);
        self.word() == word
            && !self.token().starts_line
            && !next.starts_line
            && (matches!(next.kind, Kind::Exclamation | Kind::Question | Kind::Open | Kind::Star)
                || next.kind == Kind::Word && self.kind_at(2) != Kind::Equals)
    }

    /// Takes the dots behind the one before this place, of which one is meant.
    pub(super) fn more_dots(&mut self) {
        let dot = self.previous();
        if self.kind() != Kind::Dot {
            return;
        }
        let index = self.index();
        while self.kind() == Kind::Dot {
            self.bump();
        }
        let all = dot.to(self.previous());
        let message = format!("`{}` between two steps", shorten(self.sources.slice(all)));
        let finding = Diagnostic::error(MISSING_TYPE, all, message);
        self.report_at(index, finding.suggest("write one `.`", [Edit::replace(all, ".")]));
    }

    /// Takes what stands between `!` or `?` and the name of a message: a `*`, or parentheses around the name.
    pub(super) fn before_message(&mut self, sign: &str) -> Option<Name> {
        let (index, first) = (self.index(), self.span());
        let opened = match self.kind() {
            Kind::Star => false,
            Kind::Open if self.kind_at(2) == Kind::Close => true,
            Kind::Less if self.kind_at(2) == Kind::Greater => true,
            Kind::OpenBracket if self.kind_at(2) == Kind::CloseBracket => true,
            _ => return None,
        };
        if self.kind_at(1) != Kind::Word || words::is_reserved(self.word_at(1)) {
            return None;
        }
        self.bump();
        let shown = shorten(self.word());
        let message = self.take_word();
        if opened {
            let close = self.bump();
            let what = if self.sources.slice(first) == "(" { "parentheses" } else { "brackets" };
            let finding = Diagnostic::error(MISSING_NAME, first, format!("{what} behind `{sign}`"));
            let edits = [Edit::delete(first), Edit::delete(close)];
            self.report_at(index, finding.suggest(format!("write `{sign}{shown}`"), edits));
        } else {
            let finding = Diagnostic::error(MISSING_NAME, first, format!("`*` behind `{sign}`"))
                .label("a step is taken once")
                .suggest(
                    format!("write `{sign}{shown}`, or `*( {sign}{shown} . … )` for any number at once"),
                    [Edit::delete(first)],
                );
            self.report_at(index, finding);
        }
        Some(message)
    }

    /// Takes `Waiter` in `Waiter!Tip`, where it is a role.
    pub(super) fn role_before_action(&mut self) {
        let sign = self.kind_at(1);
        let is_action = matches!(sign, Kind::Exclamation | Kind::Question) && self.kind_at(2) == Kind::Word;
        let word = self.word();
        if self.kind() != Kind::Word || !is_action || self.token_at(1).starts_line || !self.is_role(word) {
            return;
        }
        let index = self.index();
        let role = self.bump();
        let behind = Span { end: self.span().start, ..role };
        let sign = if sign == Kind::Exclamation { '!' } else { '?' };
        let written = format!("{sign}{}", shorten(self.word_at(1)));
        let finding =
            Diagnostic::error(MISSING_TYPE, role, format!("`{}` before `{written}`", shorten(word)))
                .label("there are two roles, so a step does not name one")
                .suggest(format!("write `{written}`"), [Edit::delete(behind)]);
        self.report_at(index, finding);
    }

    /// Takes `to Waiter` or `from Waiter` behind an action, where that is a role.
    pub(super) fn role_behind(&mut self, shown: &str) {
        let role = self.word_at(1);
        if !matches!(self.word(), "to" | "from")
            || self.token().starts_line
            || role.is_empty()
            || !self.is_role(role)
        {
            return;
        }
        let index = self.index();
        let all = self.bump().to(self.bump());
        let what = shorten(self.sources.slice(all));
        let finding = Diagnostic::error(MISSING_DOT, all, format!("`{what}` behind `{shown}`"))
            .label("there are two roles, so a step does not name one")
            .suggest("delete it", [Edit::delete(all)]);
        self.report_at(index, finding);
    }

    /// `()` behind `End` or a name: takes it.
    pub(super) fn call_of_tail(&mut self, before: Span) {
        if self.kind() != Kind::Open || self.kind_at(1) != Kind::Close || self.span().start != before.end {
            return;
        }
        let index = self.index();
        let all = self.bump().to(self.bump());
        let shown = shorten(self.sources.slice(before));
        let finding = Diagnostic::error(NOTHING_FOLLOWS, all, format!("parentheses behind `{shown}`"));
        self.report_at(index, finding.suggest("delete them", [Edit::delete(all)]));
    }

    /// Takes a sign right behind an action or a name, `shown`, that repeats or leaves out what stands before it elsewhere.
    pub(super) fn sign_behind(&mut self, shown: &str, before: Span) {
        if !self.at_sign_behind(before) {
            return;
        }
        let (sign, span) = (self.found(), self.span());
        let finding = Diagnostic::error(MALFORMED_CHOICE, span, format!("{sign} behind `{shown}`"));
        let is_action = shown.starts_with(['!', '?']);
        let finding = if self.kind() == Kind::Question {
            finding
                .label("a step is not left out")
                .suggest("delete it; what may happen or not is a choice, `A ⊕ B`", [Edit::delete(span)])
        } else if is_action {
            finding.label("a step is taken once").suggest(
                "delete it; a loop is written `rec again . ( … )`, with `again` where it starts again",
                [Edit::delete(span)],
            )
        } else if shown == "End" {
            finding.suggest("delete it", [Edit::delete(span)])
        } else {
            finding.suggest(
                format!("write it in front, `*{shown}`, for any number at once"),
                [Edit::before(before, "*"), Edit::delete(span)],
            )
        };
        self.report(finding);
        self.bump();
    }

    /// `( … )` right behind an action, which is not a call: takes the parenthesis.
    pub(super) fn arguments_behind(&mut self, action: &Action, shown: &str) -> bool {
        let adjacent = self.kind() == Kind::Open && self.span().start == action.span.end;
        let is_payload = match self.kind_at(1) {
            Kind::Word => {
                matches!(
                    self.kind_at(2),
                    Kind::Close | Kind::Colon | Kind::Comma | Kind::DoubleColon | Kind::Less
                ) && !matches!(self.word_at(1), "End")
            }
            Kind::Text | Kind::Number | Kind::OpenBrace | Kind::Close => true,
            _ => false,
        };
        if !adjacent || !is_payload {
            return false;
        }
        let Some(behind) = self.behind_brackets() else { return false };
        self.payload_behind(behind, shown)
    }

    /// `<uint>` right behind an action: takes it.
    pub(super) fn generics_behind(&mut self, action: &Action, shown: &str) -> bool {
        let adjacent = self.kind() == Kind::Less && self.span().start == action.span.end;
        let close = (1..20).find(|ahead| self.kind_at(*ahead) == Kind::Greater).filter(|_| adjacent);
        close.is_some_and(|close| self.payload_behind(close + 1, shown))
    }

    /// Takes so many tokens, which are a payload behind an action.
    fn payload_behind(&mut self, count: usize, shown: &str) -> bool {
        let (index, open) = (self.index(), self.span());
        for _ in 0..count {
            self.bump();
        }
        let all = open.to(self.previous());
        let finding = Diagnostic::error(MISSING_DOT, all, format!("a payload behind `{shown}`"));
        let finding = finding
            .label("the payload is said where the message is declared")
            .suggest(format!("write `{shown} . …`, the name alone"), [Edit::delete(all)]);
        self.report_at(index, finding);
        true
    }

    /// `[ … ]` where a session type is expected.
    pub(super) fn brackets_for_parentheses(&mut self) -> Option<Tail> {
        if self.kind() != Kind::OpenBracket {
            return None;
        }
        let (index, open) = (self.index(), self.span());
        let mut depth = 0usize;
        loop {
            match self.kind() {
                Kind::OpenBracket => depth += 1,
                Kind::CloseBracket => depth = depth.saturating_sub(1),
                Kind::EndOfFile => break,
                _ if self.at_item() => break,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                break;
            }
        }
        let all = open.to(self.previous());
        let close = self.previous();
        let closed = depth == 0 && self.sources.slice(close) == "]";
        let edits = closed.then(|| [Edit::replace(open, "("), Edit::replace(close, ")")]);
        let finding = Diagnostic::error(MISSING_TYPE, open, "`[` where a session type is expected");
        let help = "write parentheses, `( … )`";
        self.report_at(index, finding.suggest(help, edits.into_iter().flatten()));
        Some(Tail::Missing(all))
    }

    /// `if …`, `loop { … }`: takes all of it, as far as that is known.
    pub(super) fn foreign_words(&mut self) -> Option<Tail> {
        let (word, next) = (self.word(), self.token_at(1));
        if next.starts_line || self.at_item() {
            return None;
        }
        let start = self.span();
        let decides = CONDITIONS.contains(&word)
            && !matches!(
                next.kind,
                Kind::Internal | Kind::Ampersand | Kind::Close | Kind::Comma | Kind::EndOfFile
            );
        if decides && !self.is_defined(word) {
            let finding = not_a_condition(word, start);
            self.report(finding);
            self.skip_in_choice(false);
            return Some(Tail::Missing(start.to(self.previous())));
        }
        let help = match word {
            _ if LOOPS.contains(&word) => {
                "a loop is written `rec again . ( … )`, with `again` where it starts again"
            }
            "par" | "parallel" => "channels side by side are written in parentheses, `( S, T )`",
            _ if CHOICES.contains(&word) => BRANCHES,
            _ => return None,
        };
        let goes_on = LOOPS.contains(&word) && matches!(next.kind, Kind::Exclamation | Kind::Question);
        if next.kind != Kind::Open && !goes_on || self.is_defined(word) || self.is_bound(word) {
            return None;
        }
        let finding = not_a_word(word, start).help(help);
        let index = self.index();
        self.bump();
        let behind = if goes_on { None } else { self.behind_brackets() };
        for _ in 0..behind.unwrap_or_default() {
            self.bump();
        }
        self.report_at(index, finding);
        let all = start.to(self.previous());
        self.skip_in_choice(true);
        Some(Tail::Missing(all))
    }

    /// Whether a method stands behind `!` or `?`, in quotes or with a sign in it that no name has.
    pub(super) fn at_method(&self) -> bool {
        let next = self.token_at(1);
        self.kind() == Kind::Text
            || self.kind() == Kind::Word && next.kind == Kind::Unknown && next.start == self.token().end
    }

    /// A method behind `!` or `?`, in quotes or without: the name of its message, which is read in its place.
    pub(super) fn method_for_name(&mut self, sign: &str, send: bool, start: Span) -> Option<Action> {
        let index = self.index();
        let (method, all) = if self.kind() == Kind::Text {
            (self.take_text().text, self.previous())
        } else {
            let first = self.bump();
            let all = first.to(self.bump());
            (self.sources.slice(all).to_owned(), all)
        };
        let shown = shorten(&method);
        let finding = Diagnostic::error(MISSING_NAME, all, format!("`{shown}` is a method"));
        let finding = finding.label("a session type has the names of messages");
        match self.message_of(&method).map(str::to_owned) {
            Some(name) => {
                let help = format!("write `{sign}{}`", shorten(&name));
                self.report_at(index, finding.suggest(help, [Edit::replace(all, name.as_str())]));
                let message = crate::ast::Name { text: name, span: all };
                Some(Action { send, message, levels: Vec::new(), span: start.to(all) })
            }
            None => {
                self.report_at(index, finding.help(format!(
                    "declare a message, `notification Name \"{shown}\"` or `request Name \"{shown}\" -> Reply`, and write \
                     `{sign}Name`"
                )));
                None
            }
        }
    }

    /// `||`, which is not an operator: takes it, and reports it.
    pub(super) fn double_bar(&mut self) -> Option<(Operator, Span)> {
        let (first, second) = (self.token(), self.token_at(1));
        if (first.kind, second.kind) != (Kind::Bar, Kind::Bar) || first.end != second.start {
            return None;
        }
        let index = self.index();
        let mut both = self.bump().to(self.bump());
        while self.kind() == Kind::Bar && self.span().start == both.end {
            both = both.to(self.bump());
        }
        let (operator, sign) = self.operator_here();
        let message = format!("`{}` is not an operator", shorten(self.sources.slice(both)));
        let finding = Diagnostic::error(MALFORMED_CHOICE, both, message);
        let finding = finding
            .suggest(
                "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses",
                [Edit::replace(both, sign)],
            )
            .help("write `(S, T)` for channels side by side");
        self.report_at(index, finding);
        Some((operator, both))
    }
}

fn not_a_condition(word: &str, span: Span) -> Diagnostic {
    let message = format!("`{}` does not begin a choice", shorten(word));
    Diagnostic::error(MISSING_TYPE, span, message).help(BRANCHES)
}
