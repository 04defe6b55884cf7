//! What a sequence ends in: names, loops, parentheses and sub-sessions.
//!
//! What calls itself for what is inside keeps little on the stack: findings are made by functions of their own.

use super::codes::{
    DEEPEST, MALFORMED_CHOICE, MALFORMED_RECURSION, MISSING_TYPE, REPLICATED_SEQUENCE, TOO_DEEP, UNCLOSED,
};
use super::cursor::Parser;
use super::cursor::is_short;
use super::item::missing;
use super::session::not_a_word;
use super::words;
use crate::ast::{Choice, Name, Sequence, Tail};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::format;
use crate::lexer::Kind;
use crate::source::Span;
use crate::suggest;

impl Parser<'_> {
    /// What a sequence ends in.
    pub(super) fn tail(&mut self) -> Tail {
        match self.kind() {
            Kind::Star => self.replicated(),
            Kind::Mu => self.recursion(),
            Kind::Open => self.group(),
            Kind::Word if !self.at_item() => match self.word() {
                "End" => Tail::End(self.bump()),
                "rec" => self.recursion(),
                "dual" => self.dual(),
                word => {
                    if let Some(tail) = self.misspelt_tail(word).or_else(|| self.foreign_words()) {
                        return tail;
                    }
                    if words::is_reserved(word) {
                        self.report_reserved("a definition");
                    }
                    Tail::Name(self.take_word())
                }
            },
            Kind::Internal | Kind::Ampersand if self.at_branches_in_brackets() => self.branches_as_tail(),
            _ => self.brackets_for_parentheses().unwrap_or_else(|| self.no_tail()),
        }
    }

    /// `dual Name`
    fn dual(&mut self) -> Tail {
        let word = self.bump();
        if self.kind() == Kind::Open && self.kind_at(1) == Kind::Word && self.kind_at(2) == Kind::Close {
            let shown = shorten(self.word_at(1));
            let finding =
                Diagnostic::error(MALFORMED_CHOICE, self.span(), "`dual` takes a name without parentheses");
            let all = word.to(self.token_at(2).span(self.file));
            let edit = Edit::replace(all, format!("dual {}", self.word_at(1)));
            self.report(finding.suggest(format!("write `dual {shown}`"), [edit]));
            self.bump();
            let name = self.take_word();
            let span = word.to(self.bump());
            return Tail::Dual { name, span };
        }
        match self.name("a definition or a role", "give it a name, `Name = …`, and write `dual Name`") {
            Some(name) => {
                let span = word.to(name.span);
                Tail::Dual { name, span }
            }
            None => {
                self.skip_in_choice(true);
                Tail::Missing(word)
            }
        }
    }

    /// Reports that no session type can begin here.
    fn no_tail(&mut self) -> Tail {
        if self.kind() == Kind::Number {
            let finding = Diagnostic::error(
                MISSING_TYPE,
                self.span(),
                format!("expected a session type, found {}", self.found()),
            );
            self.report(
                finding
                    .suggest("write `End` where nothing more happens", [Edit::replace(self.span(), "End")]),
            );
            return Tail::Missing(self.bump());
        }
        let operator = matches!(self.sources.slice(self.previous()), "⊕" | "(+)" | "&");
        let help = match self.kind() {
            Kind::Text => "write the message's name, not its method",
            _ if operator => "write `End` if nothing is to happen, or delete the operator",
            _ => "write `End` if nothing is to happen",
        };
        self.expected(MISSING_TYPE, "a session type", help);
        if !self.at_end_of_term() {
            self.skip_in_choice(true);
        }
        Tail::Missing(self.previous().after())
    }

    /// A word before a name in the same line is not one of the language: `REC x . …`, `daul Guest`, `loop x . …`.
    fn misspelt_tail(&mut self, word: &str) -> Option<Tail> {
        let next = self.token_at(1);
        if next.kind != Kind::Word
            || next.starts_line
            || words::is_reserved(word)
            || matches!(self.kind_at(2), Kind::Equals | Kind::OpenBracket | Kind::DoubleColon)
        {
            return None;
        }
        let behind = shorten(self.word_at(1));
        let small = word.to_lowercase();
        let finding = not_a_word(word, self.span());
        let loops = matches!(small.as_str(), "loop" | "repeat" | "while" | "fix" | "mu");
        if self.kind_at(2) == Kind::Dot && (loops || suggest::nearest(word, ["rec"]).is_some()) {
            let edit = Edit::replace(self.span(), "rec");
            self.report(finding.suggest(format!("a loop is written `rec {behind} . ( … )`"), [edit]));
            return Some(self.recursion());
        }
        if matches!(small.as_str(), "goto" | "continue" | "call" | "jump" | "do" | "run")
            && self.kind_at(2) != Kind::Dot
        {
            let edit = Edit::delete(Span { end: next.start, ..self.span() });
            self.report(finding.suggest(format!("write the name alone, `{behind}`"), [edit]));
            self.bump();
            return Some(Tail::Name(self.take_word()));
        }
        if suggest::nearest(word, ["dual"]).is_some() {
            let edit = Edit::replace(self.span(), "dual");
            self.report(finding.suggest(format!("did you mean `dual {behind}`?"), [edit]));
            self.bump();
            let name = self.take_word();
            return Some(Tail::Missing(name.span));
        }
        None
    }

    /// `*` and one atom.
    fn replicated(&mut self) -> Tail {
        let index = self.index();
        let star = self.bump();
        if self.kind() == Kind::Star {
            self.more_stars(index, star);
        }
        if self.at_end_of_term() {
            self.expected(MISSING_TYPE, "what is to be copied", "write `*Name` or `*( … )`");
            return Tail::Missing(star);
        }
        let recursion = self.kind() == Kind::Mu || self.word() == "rec";
        if !recursion && !matches!(self.kind(), Kind::Exclamation | Kind::Question) {
            let atom = self.tail();
            let span = star.to(self.previous());
            return Tail::Replicated(Box::new(atom), span);
        }
        if !self.enter(star) {
            return Tail::Missing(star);
        }
        let lenient = std::mem::replace(&mut self.lenient, true);
        let body = self.sequence();
        self.lenient = lenient;
        self.depth -= 1;
        self.without_parentheses(index, star, body)
    }

    /// Reports `*` of `*`.
    fn more_stars(&mut self, index: usize, star: Span) {
        while self.kind() == Kind::Star {
            self.bump();
        }
        let all = star.to(self.previous());
        let finding =
            Diagnostic::error(REPLICATED_SEQUENCE, all, "`*` of `*`").label("one `*` says the same");
        self.report_at(index, finding.suggest("write one `*`", [Edit::replace(all, "*")]));
    }

    /// Reports a sequence behind `*`, which is read as though it stood in parentheses.
    fn without_parentheses(&mut self, index: usize, star: Span, body: Sequence) -> Tail {
        let span = star.to(body.span);
        let mut finding =
            Diagnostic::error(REPLICATED_SEQUENCE, star, "`*` takes one name or one parenthesis");
        let edits = self.in_parentheses(&body);
        finding = if is_short(body.span) {
            let help = format!("write `*( {} )`", format::sequence(&body));
            finding.also(body.span, "what is copied is not clear").suggest(help, edits)
        } else {
            finding.suggest("write `*( … )`", edits)
        };
        self.report_at(index, finding);
        let span_of_body = body.span;
        let choice = Choice { branches: vec![body], operators: Vec::new(), span: span_of_body };
        Tail::Replicated(Box::new(Tail::Group(Box::new(choice), span_of_body)), span)
    }

    /// Puts a sequence into parentheses, and ends it where it does not end.
    fn in_parentheses(&self, body: &Sequence) -> Vec<Edit> {
        let end = match (&body.tail, body.actions.is_empty()) {
            (Tail::Missing(_), false) => " . End )",
            _ => " )",
        };
        vec![Edit::before(body.span, "( "), Edit::after(body.span, end)]
    }

    /// `rec α . choice`
    fn recursion(&mut self) -> Tail {
        let word = self.bump();
        let variable = match self.variable(word) {
            Ok(variable) => variable,
            Err(instead) => return instead,
        };
        let unnamed = variable.span == word;
        if !self.enter(word) {
            return Tail::Missing(word.to(self.previous()));
        }
        let body = self.choice();
        self.depth -= 1;
        let span = word.to(self.previous());
        if unnamed {
            return Tail::Missing(span);
        }
        let parenthesised = match body.branches.as_slice() {
            [only] => {
                only.actions.is_empty() && matches!(only.tail, Tail::Group(..)) && body.operators.is_empty()
            }
            _ => false,
        };
        Tail::Recursion { variable, body: Box::new(body), parenthesised, span }
    }

    /// The name of a loop and the dot behind it, or what stands for the loop where they cannot be read.
    fn variable(&mut self, word: Span) -> Result<Name, Tail> {
        let written = shorten(self.sources.slice(word));
        if self.mu_as_name && self.kind() != Kind::Word && self.sources.slice(word) != "rec" {
            return Err(Tail::Missing(word));
        }
        let variable = if self.kind() == Kind::Word && !self.at_item() && self.word() != "_" {
            if words::is_reserved(self.word()) {
                self.report_reserved("a loop");
            }
            self.take_word()
        } else {
            if self.kind() == Kind::Mu {
                let message = format!("{} begins a loop and cannot be its name", self.found());
                let finding = Diagnostic::error(MALFORMED_RECURSION, self.span(), message);
                self.report(finding.help("choose another name, for instance `α`"));
                self.mu_as_name = true;
                self.bump();
            } else {
                let help = format!("write `{written} loop . …` and `loop` where it starts again");
                self.expected(MALFORMED_RECURSION, "the name of the loop", &help);
            }
            Name { text: String::from("_"), span: word }
        };
        let other_dot = match self.kind() {
            Kind::Colon | Kind::Arrow => 1,
            Kind::Equals if self.kind_at(1) == Kind::Greater => 2,
            _ => 0,
        };
        if other_dot > 0 {
            let first = self.span();
            for _ in 0..other_dot {
                self.bump();
            }
            let sign = first.to(self.previous());
            let shown = shorten(&variable.text);
            let message = format!("`{}` behind `{written} {shown}`", shorten(self.sources.slice(sign)));
            let finding = Diagnostic::error(MALFORMED_RECURSION, sign, message);
            let help = format!("write `{written} {shown} . …`");
            self.findings.push(finding.suggest(help, [Edit::replace(sign, " .")]));
        } else if self.eat(Kind::Dot).is_none() {
            let shown = shorten(&variable.text);
            let help = format!("write `{written} {shown} . …`");
            if self.at_end_of_term() || !self.starts_sequence() {
                self.expected(MALFORMED_RECURSION, "`.` and a session type", &help);
                if !self.at_end_of_term() {
                    self.skip_in_choice(true);
                }
                return Err(Tail::Missing(word.to(self.previous())));
            }
            let message = format!("no `.` behind `{written} {shown}`");
            let finding = Diagnostic::error(MALFORMED_RECURSION, word.to(variable.span), message);
            self.report(finding.suggest(help, [Edit::after(variable.span, " .")]));
        }
        Ok(variable)
    }

    /// `( choice )` or `( choice , choice , … )`
    fn group(&mut self) -> Tail {
        let open = self.span();
        // How a branch goes on may stand behind all of them, where it is a mistake of its own.
        let behind = self.behind_brackets();
        let goes_on = match behind.map(|ahead| self.kind_at(ahead)) {
            Some(Kind::Dot) => true,
            _ if behind.is_some_and(|ahead| self.repeats_brackets(ahead)) => true,
            Some(Kind::Close | Kind::Internal | Kind::Ampersand) => self.goes_on,
            _ => false,
        };
        if !self.enter(open) {
            return Tail::Missing(open.to(self.previous()));
        }
        self.bump();
        self.parentheses += 1;
        let lenient = std::mem::replace(&mut self.lenient, goes_on);
        let outer = std::mem::replace(&mut self.goes_on, goes_on);
        let parts = self.parts(open);
        (self.lenient, self.goes_on) = (lenient, outer);
        self.parentheses -= 1;
        self.depth -= 1;
        let span = open.to(self.previous());
        let Some(mut parts) = parts else { return Tail::Missing(span) };
        match (parts.pop(), parts.is_empty()) {
            (Some(only), true) => Tail::Group(Box::new(only), span),
            (Some(last), false) => {
                parts.push(last);
                Tail::Parallel(parts, span)
            }
            (None, _) => Tail::Missing(span),
        }
    }

    /// What is between parentheses, and the one that closes them.
    fn parts(&mut self, open: Span) -> Option<Vec<Choice>> {
        if self.kind() == Kind::Close {
            self.empty_parentheses(open);
            return None;
        }
        let mut parts = Vec::new();
        loop {
            if self.kind() == Kind::Comma {
                parts.push(self.no_channel());
            } else {
                parts.push(self.choice());
            }
            if self.eat(Kind::Comma).is_some() {
                if self.eat(Kind::Close).is_some() {
                    return Some(parts);
                }
                continue;
            }
            if self.eat(Kind::Close).is_some() {
                return Some(parts);
            }
            if self.kind() == Kind::EndOfFile || self.at_item() {
                self.unclosed(open);
                return Some(parts);
            }
            if self.kind() == Kind::Star {
                self.no_comma();
                continue;
            }
            self.unexpected_in_parentheses();
            self.skip_in_choice(false);
            if self.eat(Kind::Close).is_some() {
                return None;
            }
            self.eat(Kind::Comma)?;
        }
    }

    fn empty_parentheses(&mut self, open: Span) {
        let close = self.bump();
        let finding = Diagnostic::error(MISSING_TYPE, open.to(close), "empty parentheses");
        let edit = Edit::replace(open.to(close), "End");
        self.report_at(self.index() - 1, finding.suggest("write `End` if nothing is to happen", [edit]));
    }

    fn no_channel(&mut self) -> Choice {
        let finding = Diagnostic::error(MISSING_TYPE, self.span(), "no channel before this comma");
        self.report(finding.suggest("delete the comma", [Edit::delete(self.span())]));
        missing(self.span())
    }

    fn no_comma(&mut self) {
        let message = format!("no operator before {}", self.found());
        let finding = Diagnostic::error(MALFORMED_CHOICE, self.span(), message);
        self.report(finding.label("a comma is missing").suggest(
            "write `,` between channels, or `⊕` where a step behind them ends both",
            [Edit::after(self.previous(), ",")],
        ));
    }

    fn unclosed(&mut self, open: Span) {
        let finding = Diagnostic::error(UNCLOSED, open, "this parenthesis is not closed")
            .also(self.previous().after(), "`)` expected here")
            .suggest("write `)`", [Edit::after(self.previous(), " )")]);
        self.report(finding);
    }

    fn unexpected_in_parentheses(&mut self) {
        let word = self.word();
        if !word.is_empty() {
            // A reserved word was meant as a name.
            return self.report_reserved("a definition");
        }
        self.expected(
            MALFORMED_CHOICE,
            "an operator, `,` or `)`",
            "delete it, or close the parenthesis before it",
        );
    }

    /// Goes one level deeper, or reports that this is too deep and skips what would be inside.
    pub(super) fn enter(&mut self, at: Span) -> bool {
        if self.depth < DEEPEST {
            self.depth += 1;
            return true;
        }
        let finding = Diagnostic::error(TOO_DEEP, at, format!("this nests deeper than {DEEPEST} levels"))
            .help("give an inner part a name, `Name = …`");
        self.report(finding);
        self.skip_in_choice(false);
        false
    }
}
