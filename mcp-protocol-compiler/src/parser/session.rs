//! Session types.
//!
//! In: tokens from the start of one. Out: its tree, with [`Tail::Missing`] where something could not be read. Refuses
//! to nest deeper than [`DEEPEST`], and to mind whether `⊕` and `&` meet at one level: the checks do.
//!
//! A term ends at the first token that cannot continue it, so what stands behind a definition is looked at by the
//! caller.

use super::cursor::Parser;
use super::item::missing;
use super::{
    DEEPEST, MALFORMED_CHOICE, MALFORMED_RECURSION, MISSING_CONTINUATION, MISSING_DOT, MISSING_NAME,
    MISSING_TYPE, NOTHING_FOLLOWS, REPLICATED_SEQUENCE, TOO_DEEP, UNCLOSED, words,
};
use crate::ast::{Action, Choice, Name, Operator, Sequence, Tail};
use crate::diagnostic::{Diagnostic, shorten};
use crate::format;
use crate::lexer::Kind;
use crate::source::Span;

/// A suggestion longer than this many characters is no help.
const LONGEST_SUGGESTION: usize = 80;

impl Parser<'_> {
    /// `seq ( ('⊕' seq)+ | ('&' seq)+ )?`
    pub(super) fn choice(&mut self) -> Choice {
        let start = self.span();
        let mut branches = Vec::new();
        let mut operators = Vec::new();
        operators.extend(self.operator());
        loop {
            branches.push(self.sequence());
            match self.operator() {
                Some(operator) => operators.push(operator),
                None if self.forgotten_operator() => operators.push((Operator::Internal, self.span())),
                None => break,
            }
        }
        Choice { branches, operators, span: start.to(self.previous()) }
    }

    fn operator(&mut self) -> Option<(Operator, Span)> {
        match self.kind() {
            Kind::Internal => Some((Operator::Internal, self.bump())),
            Kind::Ampersand => {
                let span = self.bump();
                if self.kind() == Kind::Ampersand && self.span().start == span.end {
                    let both = span.to(self.span());
                    let finding = Diagnostic::error(MALFORMED_CHOICE, both, "`&&` is no operator");
                    self.report(finding.help("write `&` where the peer chooses"));
                    self.bump();
                }
                Some((Operator::External, span))
            }
            Kind::Bar => {
                let finding = Diagnostic::error(MALFORMED_CHOICE, self.span(), "`|` between branches");
                self.report(
                    finding.help("write `⊕` or `(+)` where this role chooses, `&` where the peer chooses"),
                );
                let span = self.bump();
                self.eat(Kind::Bar);
                Some((Operator::Internal, span))
            }
            _ => None,
        }
    }

    /// Whether a branch begins here although no operator has been read; then it has been reported.
    ///
    /// Outside of parentheses only what starts with an action is taken for a branch: anything else may be the
    /// beginning of an item with a mistake in it.
    fn forgotten_operator(&mut self) -> bool {
        let action =
            matches!(self.kind(), Kind::Exclamation | Kind::Question) && self.kind_at(1) == Kind::Word;
        let other = self.parentheses > 0 && self.starts_sequence();
        if !(action || other) {
            return false;
        }
        let message = match self.kind() {
            Kind::Exclamation | Kind::Question => {
                let sign = self.found();
                format!("no operator before `{}{}`", sign.trim_matches('`'), shorten(self.word_at(1)))
            }
            _ => format!("no operator before {}", self.found()),
        };
        let finding = Diagnostic::error(MALFORMED_CHOICE, self.span(), message)
            .label("`⊕`, `&` or a comma is missing")
            .help("write `⊕` or `(+)` where this role chooses, `&` where the peer chooses, `,` between channels");
        self.report(finding);
        true
    }

    /// Whether a sequence can begin here.
    fn starts_sequence(&self) -> bool {
        match self.kind() {
            Kind::Exclamation | Kind::Question | Kind::Star | Kind::Open | Kind::Mu => true,
            Kind::Word => {
                let word = self.word();
                let reserved = words::is_reserved(word) && !matches!(word, "End" | "rec" | "dual");
                !reserved && !self.at_item()
            }
            _ => false,
        }
    }

    /// Whether nothing of the term around this place can stand here.
    fn at_end_of_term(&self) -> bool {
        match self.kind() {
            Kind::EndOfFile | Kind::Close | Kind::Comma | Kind::Internal | Kind::Ampersand | Kind::Bar => {
                true
            }
            Kind::Word => self.at_item(),
            _ => false,
        }
    }

    /// `!A . ?B . … . atom`
    fn sequence(&mut self) -> Sequence {
        let start = self.span();
        let mut actions: Vec<Action> = Vec::new();
        let mut broken = false;
        let tail = loop {
            if matches!(self.kind(), Kind::Exclamation | Kind::Question) {
                let Some(action) = self.action() else {
                    self.skip_in_choice(true);
                    break Tail::Missing(self.previous().after());
                };
                let goes_on = self.continuation(&action);
                actions.push(action);
                if goes_on {
                    continue;
                }
                break Tail::Missing(self.previous().after());
            }
            let tail = self.tail();
            if self.kind() != Kind::Dot {
                break tail;
            }
            self.nothing_follows(&tail);
            self.bump();
            broken = true;
            if self.at_end_of_term() {
                break tail;
            }
        };
        let span = if self.previous().start < start.start { start } else { start.to(self.previous()) };
        let tail = if broken { Tail::Missing(span.after()) } else { tail };
        Sequence { actions, tail, span }
    }

    /// `!M` or `?M`, without the `.`
    fn action(&mut self) -> Option<Action> {
        let send = self.kind() == Kind::Exclamation;
        let start = self.bump();
        let sign = if send { "!" } else { "?" };
        let word = self.word();
        if word.is_empty() || word == "_" || self.at_item() || matches!(word, "End" | "rec" | "dual") {
            let help = format!("write `{sign}Message . …`");
            self.expected(MISSING_NAME, "the name of a message", &help);
            return None;
        }
        if words::is_reserved(word) && word != "reply" {
            self.report_reserved("a message");
        }
        let message = self.take_word();
        let levels = if self.kind() == Kind::OpenBracket { self.levels() } else { Vec::new() };
        Some(Action { send, message, levels, span: start.to(self.previous()) })
    }

    /// What stands behind an action: whether the sequence goes on.
    fn continuation(&mut self, action: &Action) -> bool {
        let shown = format!("{}{}", if action.send { '!' } else { '?' }, shorten(&action.message.text));
        if self.eat(Kind::Dot).is_some() {
            if !self.at_end_of_term() {
                return true;
            }
            let finding = Diagnostic::error(
                MISSING_CONTINUATION,
                self.previous(),
                format!("nothing follows `{shown} .`"),
            )
            .help(format!("write `{shown} . End` if that was all"));
            self.report(finding);
            return false;
        }
        if self.at_end_of_term() {
            if !self.lenient {
                let finding = Diagnostic::error(
                    MISSING_CONTINUATION,
                    action.span,
                    format!("nothing follows `{shown}`"),
                )
                .label("what happens after this?")
                .help(format!("write `{shown} . End` if that was all"));
                self.report(finding);
            }
            return false;
        }
        if self.starts_sequence() {
            let finding =
                Diagnostic::error(MISSING_DOT, action.span.after(), format!("no `.` behind `{shown}`"))
                    .help(format!("write `{shown} . {}`", self.glimpse()));
            self.report(finding);
            return true;
        }
        if matches!(self.kind(), Kind::Arrow | Kind::Colon | Kind::DoubleColon) {
            let message = format!("{} behind `{shown}`", self.found());
            self.report(Diagnostic::error(MISSING_DOT, self.span(), message).help("write `.`"));
            self.bump();
            return !self.at_end_of_term();
        }
        let message = format!("unexpected {} behind `{shown}`", self.found());
        let help = match self.kind() {
            Kind::Text => {
                "the method is given where the message is declared; here its name is enough".to_owned()
            }
            _ => format!("write `{shown} . …`"),
        };
        self.report(Diagnostic::error(MISSING_DOT, self.span(), message).help(help));
        self.skip_in_choice(true);
        false
    }

    /// The beginning of what stands here, for a suggestion.
    fn glimpse(&self) -> String {
        let found = self.found();
        let first = found.trim_matches('`');
        match self.kind() {
            Kind::Exclamation | Kind::Question => format!("{first}{}", shorten(self.word_at(1))),
            Kind::Word if !matches!(first, "rec" | "dual") => first.to_owned(),
            _ => format!("{first} …"),
        }
    }

    fn nothing_follows(&mut self, tail: &Tail) {
        let span = self.span();
        let finding = match tail {
            Tail::Missing(_) => return self.keep_silent(),
            Tail::Name(name) => {
                let shown = shorten(&name.text);
                Diagnostic::error(
                    NOTHING_FOLLOWS,
                    name.span,
                    format!("`{shown}` is followed by `.` but is no action"),
                )
                .with_note("if it is a definition, nothing can follow it: it says itself how it goes on")
                .help(format!("write `!{shown}` to send a message, `?{shown}` to receive it"))
            }
            Tail::End(_) => Diagnostic::error(NOTHING_FOLLOWS, span, "something follows `End`")
                .help("delete `End .`, or what follows it"),
            Tail::Replicated(..) => {
                Diagnostic::error(NOTHING_FOLLOWS, span, "something follows a replicated channel")
                    .with_note("`*` takes what is directly behind it, and its copies never end as a whole")
                    .help("write `*( … . … )` to copy all of it, `(*A, B)` for both side by side")
            }
            Tail::Dual { .. } => Diagnostic::error(NOTHING_FOLLOWS, span, "something follows a definition")
                .with_note("nothing can follow a definition: it says itself how it goes on"),
            Tail::Group(..) | Tail::Parallel(..) | Tail::Recursion { .. } => {
                Diagnostic::error(NOTHING_FOLLOWS, span, "something follows a parenthesis")
                    .with_note("a session type goes on at the end of each branch, not behind all of them")
                    .help("give it a name, `Next = …`, and write `. Next` at the end of each branch")
            }
        };
        self.report(finding);
    }

    /// What a sequence ends in.
    fn tail(&mut self) -> Tail {
        match self.kind() {
            Kind::Star => self.replicated(),
            Kind::Mu => self.recursion(),
            Kind::Open => self.group(),
            Kind::Word if !self.at_item() => match self.word() {
                "End" => Tail::End(self.bump()),
                "rec" => self.recursion(),
                "dual" => {
                    let word = self.bump();
                    match self.name(
                        "a definition or a role",
                        "write `dual Name`; give what is in parentheses a name",
                    ) {
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
                word => {
                    if words::is_reserved(word) {
                        self.report_reserved("a definition");
                    }
                    Tail::Name(self.take_word())
                }
            },
            _ => {
                let help = match self.kind() {
                    Kind::Text => "write the message's name, not its method",
                    _ => "write `End` if nothing is to happen",
                };
                self.expected(MISSING_TYPE, "a session type", help);
                if !self.at_end_of_term() {
                    self.skip_in_choice(true);
                }
                Tail::Missing(self.previous().after())
            }
        }
    }

    /// `*` and one atom.
    fn replicated(&mut self) -> Tail {
        let index = self.index();
        let star = self.bump();
        if self.kind() == Kind::Star {
            while self.kind() == Kind::Star {
                self.bump();
            }
            let finding = Diagnostic::error(REPLICATED_SEQUENCE, star.to(self.previous()), "`*` of `*`")
                .label("copies of copies are copies");
            self.report_at(index, finding.help("write one `*`"));
        }
        let recursion = self.kind() == Kind::Mu || self.word() == "rec";
        if !recursion && !matches!(self.kind(), Kind::Exclamation | Kind::Question) {
            let atom = self.tail();
            let span = star.to(self.previous());
            return Tail::Replicated(Box::new(atom), span);
        }
        let lenient = std::mem::replace(&mut self.lenient, true);
        let body = self.sequence();
        self.lenient = lenient;
        let span = star.to(body.span);
        let written = format::sequence(&body);
        let help = if written.chars().count() <= LONGEST_SUGGESTION {
            format!("write `*({written})`")
        } else {
            "write `*( … )`".to_owned()
        };
        let finding = Diagnostic::error(REPLICATED_SEQUENCE, star, "`*` takes one name or one parenthesis")
            .also(body.span, "what is copied is not clear")
            .help(help);
        self.report_at(index, finding);
        let span_of_body = body.span;
        let choice = Choice { branches: vec![body], operators: Vec::new(), span: span_of_body };
        Tail::Replicated(Box::new(Tail::Group(Box::new(choice), span_of_body)), span)
    }

    /// `rec α . choice`
    fn recursion(&mut self) -> Tail {
        let word = self.bump();
        let written = shorten(self.sources.slice(word));
        let variable = if self.kind() == Kind::Word && !self.at_item() && self.word() != "_" {
            if words::is_reserved(self.word()) {
                self.report_reserved("a loop");
            }
            self.take_word()
        } else {
            let help = format!("write `{written} loop . …` and `loop` where it starts again");
            self.expected(MALFORMED_RECURSION, "the name of the loop", &help);
            if self.kind() == Kind::Mu {
                self.bump();
            }
            Name { text: String::from("_"), span: word }
        };
        let unnamed = variable.span == word;
        if self.eat(Kind::Dot).is_none() {
            let shown = shorten(&variable.text);
            let help = format!("write `{written} {shown} . …`");
            if self.at_end_of_term() || !self.starts_sequence() {
                self.expected(MALFORMED_RECURSION, "`.` and a session type", &help);
                if !self.at_end_of_term() {
                    self.skip_in_choice(true);
                }
                return Tail::Missing(word.to(self.previous()));
            }
            let message = format!("no `.` behind `{written} {shown}`");
            self.report(Diagnostic::error(MALFORMED_RECURSION, word.to(variable.span), message).help(help));
        }
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

    /// `( choice )` or `( choice , choice , … )`
    fn group(&mut self) -> Tail {
        let open = self.span();
        if !self.enter(open) {
            return Tail::Missing(open.to(self.previous()));
        }
        self.bump();
        self.parentheses += 1;
        let parts = self.parts(open);
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
            let close = self.bump();
            let finding = Diagnostic::error(MISSING_TYPE, open.to(close), "empty parentheses");
            self.report_at(self.index() - 1, finding.help("write `End` if nothing is to happen"));
            return None;
        }
        let mut parts = Vec::new();
        loop {
            if self.kind() == Kind::Comma {
                let finding = Diagnostic::error(MISSING_TYPE, self.span(), "no channel before this comma");
                self.report(finding.help("delete the comma"));
                parts.push(missing(self.span()));
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
                let finding = Diagnostic::error(UNCLOSED, open, "this parenthesis is not closed")
                    .also(self.previous().after(), "`)` expected here")
                    .help("write `)`");
                self.report(finding);
                return Some(parts);
            }
            self.unexpected_in_parentheses();
            self.skip_in_choice(false);
            if self.eat(Kind::Close).is_some() {
                return None;
            }
            if self.eat(Kind::Comma).is_none() {
                return None;
            }
        }
    }

    fn unexpected_in_parentheses(&mut self) {
        let word = self.word();
        if !word.is_empty() {
            // A reserved word was meant as a name.
            return self.report_reserved("a definition");
        }
        self.expected(MALFORMED_CHOICE, "an operator, `,` or `)`", "");
    }

    /// Goes one level deeper, or reports that this is too deep and skips what would be inside.
    fn enter(&mut self, at: Span) -> bool {
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
