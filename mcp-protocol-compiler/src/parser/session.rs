//! Session types: choices and sequences.
//!
//! A term ends at the first token that cannot continue it, so what stands behind a definition is looked at by the
//! caller.

use super::codes::{
    MALFORMED_CHOICE, MISSING_CONTINUATION, MISSING_DOT, MISSING_NAME, MISSING_TYPE, NOTHING_FOLLOWS,
};
use super::cursor::Parser;
use super::words;
use crate::ast::{Action, Choice, Name, Operator, Sequence, Tail};
use crate::diagnostic::{Diagnostic, Edit, TextChange, shorten};
use crate::lexer::Kind;
use crate::source::Span;

impl Parser<'_> {
    /// `seq ( ('⊕' seq)+ | ('&' seq)+ )?`
    pub(super) fn choice(&mut self) -> Choice {
        let start = self.span();
        let mut branches = Vec::new();
        let mut operators = Vec::new();
        operators.extend(self.operator());
        if let [(operator, sign)] = operators.as_slice()
            && let Some(all) = self.branches_in_brackets(*operator, *sign)
        {
            let branch = Sequence { actions: Vec::new(), tail: Tail::Missing(all), span: all };
            return Choice { branches: vec![branch], operators: Vec::new(), span: start.to(self.previous()) };
        }
        let mut missing = false;
        loop {
            let branch = self.sequence();
            let operator = match self.operator() {
                Some(operator) => Some(operator),
                None if self.forgotten_operator(&branch) => Some((Operator::Internal, self.span())),
                None => None,
            };
            // One branch that could not be read says as much as a million of them.
            let nothing = branch.actions.is_empty() && matches!(branch.tail, Tail::Missing(_));
            if !(nothing && std::mem::replace(&mut missing, true)) {
                branches.push(branch);
                operators.extend(operator);
            }
            if operator.is_none() {
                break;
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
                    let finding = Diagnostic::error(MALFORMED_CHOICE, both, "`&&` is not an operator");
                    self.report(
                        finding.suggest("write `&` where the peer chooses", [Edit::replace(both, "&")]),
                    );
                    self.bump();
                }
                Some((Operator::External, span))
            }
            Kind::Bar => {
                if let Some(both) = self.double_bar() {
                    return Some(both);
                }
                let finding = Diagnostic::error(MALFORMED_CHOICE, self.span(), "`|` between branches");
                let index = self.index();
                let mut span = self.bump();
                span = self.eat(Kind::Bar).map_or(span, |second| span.to(second));
                let (operator, sign) = self.operator_here();
                self.report_at(
                    index,
                    finding.suggest(
                        "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses, and `(S, T)` for channels \
                         side by side",
                        [Edit::replace(span, sign)],
                    ),
                );
                Some((operator, span))
            }
            _ => None,
        }
    }

    /// Whether a branch begins here although no operator has been read; then it has been reported.
    ///
    /// Outside of parentheses only what starts with an action is taken for a branch: anything else may be the
    /// beginning of an item with a mistake in it.
    fn forgotten_operator(&mut self, before: &Sequence) -> bool {
        let action =
            matches!(self.kind(), Kind::Exclamation | Kind::Question) && self.kind_at(1) == Kind::Word;
        let other = self.parentheses > 0 && self.starts_sequence();
        let before_action = matches!(self.kind_at(1), Kind::Exclamation | Kind::Question);
        let word = self.word();
        let is_stray = words::is_reserved(word) && !matches!(word, "End" | "rec" | "dual");
        if self.parentheses > 0 && before_action && is_stray {
            let index = self.index();
            let span = self.bump();
            let finding = Diagnostic::error(
                MALFORMED_CHOICE,
                span,
                format!("`{word}` stands where an operator belongs"),
            )
            .suggest(
                "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses, `,` between channels",
                [Edit::replace(span, self.operator_here().1)],
            );
            self.report_at(index, finding);
            return true;
        }
        if !(action || other) {
            return false;
        }
        // Replicated channels below one another are side by side.
        let is_channel = before.actions.is_empty() && matches!(before.tail, Tail::Replicated(..));
        if self.kind() == Kind::Star && is_channel {
            return false;
        }
        let message = match self.kind() {
            Kind::Exclamation | Kind::Question => {
                let sign = self.found();
                format!("no operator before `{}{}`", sign.trim_matches('`'), shorten(self.word_at(1)))
            }
            _ => format!("no operator before {}", self.found()),
        };
        let finding = Diagnostic::error(MALFORMED_CHOICE, self.span(), message).label("`⊕`, `&` or a comma is missing").suggest(
            "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses, `,` between channels",
            [Edit::before(self.span(), format!("{} ", self.operator_here().1))],
        );
        self.report(finding);
        true
    }

    /// The operator that fits what begins here.
    pub(super) fn operator_here(&self) -> (Operator, &'static str) {
        match self.kind() {
            Kind::Question => (Operator::External, "&"),
            _ => (Operator::Internal, "⊕"),
        }
    }

    /// Whether a sequence can begin here.
    pub(super) fn starts_sequence(&self) -> bool {
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
    pub(super) fn at_end_of_term(&self) -> bool {
        match self.kind() {
            Kind::EndOfFile | Kind::Close | Kind::Comma | Kind::Internal | Kind::Ampersand | Kind::Bar => {
                true
            }
            Kind::Word => self.at_item(),
            _ => false,
        }
    }

    /// Whether nothing of the term around this place can stand so many tokens ahead.
    fn ends_term_at(&self, ahead: usize) -> bool {
        let token = self.token_at(ahead);
        matches!(token.kind, Kind::EndOfFile | Kind::Close | Kind::Comma | Kind::Internal | Kind::Ampersand)
            || token.kind == Kind::Word && token.starts_line
    }

    /// `!A . ?B . … . atom`
    pub(super) fn sequence(&mut self) -> Sequence {
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
            if let Some(action) = self.garbled_action() {
                let goes_on = self.continuation(&action);
                actions.push(action);
                if goes_on {
                    continue;
                }
                break Tail::Missing(self.previous().after());
            }
            self.role_before_action();
            if matches!(self.kind(), Kind::Exclamation | Kind::Question) {
                continue;
            }
            let tail = self.tail();
            match &tail {
                Tail::Group(..) | Tail::Parallel(..) if self.sign_behind_group(&tail) => {
                    break Tail::Missing(self.previous().after());
                }
                Tail::Name(Name { span, .. }) | Tail::End(span) => {
                    let shown = shorten(self.sources.slice(*span));
                    self.sign_behind(&shown, *span);
                    self.call_of_tail(*span);
                }
                _ => {}
            }
            if self.kind() != Kind::Dot {
                break tail;
            }
            if let Tail::Group(group, _) = &tail
                && only_steps(&tail).is_none()
                && self.behind_all(group)
            {
                break Tail::Missing(self.previous().after());
            }
            self.nothing_follows(&tail, actions.is_empty() && !broken);
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
        if self.at_method() {
            return self.method_for_name(sign, send, start);
        }
        if let Some(message) = self.before_message(sign) {
            return Some(Action { send, message, levels: Vec::new(), span: start.to(self.previous()) });
        }
        let word = self.word();
        if word.is_empty() || word == "_" || self.at_item() || matches!(word, "End" | "rec" | "dual") {
            let help = format!("write `{sign}Message . …`");
            self.expected(MISSING_NAME, "the name of a message", &help);
            return None;
        }
        // What `error` was meant for is said where messages are looked up.
        if words::is_reserved(word) && !matches!(word, "reply" | "error") {
            self.report_reserved("a message");
        }
        let message = self.take_word();
        let levels = if self.kind() == Kind::OpenBracket { self.levels() } else { Vec::new() };
        Some(Action { send, message, levels, span: start.to(self.previous()) })
    }

    /// An action in other words, `send Order`, or with its sign behind it, `Order!`; it is read as what was meant.
    fn garbled_action(&mut self) -> Option<Action> {
        let (word, next) = (self.word(), self.token_at(1));
        if self.kind() != Kind::Word || next.starts_line || words::is_reserved(word) || self.at_item() {
            return None;
        }
        if matches!(next.kind, Kind::Exclamation | Kind::Question) && self.kind_at(2) != Kind::Word {
            let send = next.kind == Kind::Exclamation;
            let sign = if send { '!' } else { '?' };
            let (index, shown) = (self.index(), shorten(word));
            let message = self.take_word();
            let span = message.span.to(self.bump());
            let finding = Diagnostic::error(MISSING_TYPE, span, format!("`{sign}` behind `{shown}`"));
            let written = format!("{sign}{}", message.text);
            let edit = Edit::replace(span, written);
            self.report_at(index, finding.suggest(format!("write it in front: `{sign}{shown}`"), [edit]));
            return Some(Action { send, message, levels: Vec::new(), span });
        }
        let small = word.to_lowercase();
        let send = matches!(small.as_str(), "send" | "sends" | "tell" | "out" | "output");
        let receive =
            matches!(small.as_str(), "receive" | "receives" | "recv" | "await" | "input" | "expect");
        // `send` may be the name of a definition, at the end of another one.
        let another = matches!(self.kind_at(2), Kind::Equals | Kind::OpenBracket | Kind::DoubleColon);
        if !(send || receive) || next.kind != Kind::Word || another {
            return None;
        }
        let (index, start) = (self.index(), self.span());
        let finding = not_a_word(word, start);
        self.bump();
        let sign = if send { '!' } else { '?' };
        let shown = shorten(self.word());
        let message = self.take_word();
        let span = start.to(message.span);
        let edit = Edit::replace(span, format!("{sign}{}", message.text));
        self.report_at(index, finding.suggest(format!("write `{sign}{shown}`"), [edit]));
        Some(Action { send, message, levels: Vec::new(), span })
    }

    /// What stands behind an action: whether the sequence goes on.
    fn continuation(&mut self, action: &Action) -> bool {
        let shown = format!("{}{}", if action.send { '!' } else { '?' }, shorten(&action.message.text));
        self.sign_behind(&shown, action.span);
        self.role_behind(&shown);
        let dot = self.eat(Kind::Dot).is_some();
        if dot {
            self.more_dots();
        }
        if dot && (!self.at_end_of_term() || self.at_branches_in_brackets()) {
            return true;
        }
        if dot {
            let finding = Diagnostic::error(
                MISSING_CONTINUATION,
                self.previous(),
                format!("nothing follows `{shown} .`"),
            )
            .suggest(
                format!("write `{shown} . End` if that was all"),
                [Edit::after(self.previous(), " End")],
            );
            self.report(finding);
            return false;
        }
        if self.at_end_of_term() {
            // Outside of parentheses a comma is the mistake, whatever it was to mean.
            let comma = self.kind() == Kind::Comma && self.parentheses == 0;
            if !self.lenient && !comma {
                let finding = Diagnostic::error(
                    MISSING_CONTINUATION,
                    action.span,
                    format!("nothing follows `{shown}`"),
                )
                .label("what happens after this?")
                .suggest(
                    format!("write `{shown} . End` if that was all"),
                    [Edit::after(action.span, " . End")],
                );
                self.report(finding);
            }
            return false;
        }
        if self.arguments_behind(action, &shown) || self.generics_behind(action, &shown) {
            return match self.eat(Kind::Dot) {
                Some(_) => !self.at_end_of_term(),
                None => false,
            };
        }
        if self.other_dot(&shown) {
            return !self.at_end_of_term();
        }
        if self.starts_sequence() {
            let finding =
                Diagnostic::error(MISSING_DOT, action.span.after(), format!("no `.` behind `{shown}`"))
                    .suggest(
                        format!("write `{shown} . {}`", self.glimpse()),
                        [Edit::after(action.span, " .")],
                    );
            self.report(finding);
            return true;
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

    /// Takes what stands behind all branches of a parenthesis, `(!A ⊕ !B) . ?C . End`, and reports it. Nothing is taken
    /// where a branch cannot go on with it.
    fn behind_all(&mut self, group: &Choice) -> bool {
        let mut ends = Vec::new();
        if !self.open_ends(group, &mut ends) || ends.is_empty() {
            return false;
        }
        let (index, dot) = (self.index(), self.bump());
        if self.at_end_of_term() {
            return true;
        }
        // What follows may have a parenthesis that something follows.
        if !self.enter(dot) {
            return true;
        }
        let (first, rest) = (self.index(), self.sequence());
        self.depth -= 1;
        let words = self.words_since(first);
        let is_loop = words.iter().any(|word| self.is_bound(word));
        let written = self.sources.slice(rest.span);
        let name = ["Next", "Rest", "Onwards"].into_iter().find(|name| !words.contains(name));
        // A definition does not know the loops around the place where it is used.
        let (goes_on, declares) = match name.filter(|_| !is_loop && !rest.actions.is_empty()) {
            Some(name) => {
                let mut item = format!("{name} = {written}");
                if matches!(rest.tail, Tail::Missing(_)) {
                    item.push_str(" . End");
                }
                (name, Some(TextChange::Declare { name: name.to_owned(), item }))
            }
            None => (written, None),
        };
        let help = match &declares {
            Some(_) => {
                format!("give it a name, `{goes_on} = …`, and write `. {goes_on}` at the end of each branch")
            }
            None => format!("write `. {}` at the end of each branch", shorten(goes_on)),
        };
        let edits = ends.into_iter().map(|end| match end {
            OpenEnd::Behind(place) => Edit::after(place, format!(" . {goes_on}")),
            OpenEnd::End(end) => Edit::replace(end, goes_on),
        });
        let edits = edits.chain([Edit::delete(dot.to(rest.span))]).map(TextChange::from);
        let finding = Diagnostic::error(NOTHING_FOLLOWS, dot, "something follows a parenthesis")
            .with_note("a session type goes on at the end of each branch, not behind all of them")
            .changes(help, edits.chain(declares));
        self.report_at(index, finding);
        true
    }

    /// Collects where the branches of a choice can go on, and returns whether those are all of them but the ways back.
    pub(super) fn open_ends(&mut self, choice: &Choice, ends: &mut Vec<OpenEnd>) -> bool {
        choice.branches.iter().all(|branch| match (&branch.tail, branch.actions.last()) {
            (Tail::Missing(_), Some(last)) => {
                ends.push(OpenEnd::Behind(last.span));
                true
            }
            (Tail::End(end), _) => {
                ends.push(OpenEnd::End(*end));
                true
            }
            (Tail::Name(name), _) => self.is_bound(&name.text) && !self.is_defined(&name.text),
            (Tail::Group(inner, _) | Tail::Recursion { body: inner, .. }, _) => self.open_ends(inner, ends),
            _ => false,
        })
    }

    /// Reports the `.` behind a tail, which is `first` if nothing stands before it in its sequence.
    fn nothing_follows(&mut self, tail: &Tail, first: bool) {
        let span = self.span();
        let finding = match tail {
            Tail::Missing(_) => return self.keep_silent(),
            Tail::Name(name) => {
                let shown = shorten(&name.text);
                let finding = Diagnostic::error(
                    NOTHING_FOLLOWS,
                    name.span,
                    format!("`{shown}` is followed by `.` but is not an action"),
                );
                if self.is_bound(&name.text) {
                    finding
                        .label("starts the loop again")
                        .help(format!("end the branch with `{shown}`, and delete what follows"))
                } else if self.is_defined(&name.text) {
                    finding
                        .label("a definition says itself how it goes on")
                        .help(format!("write what follows into `{shown}`, in place of its `End`"))
                } else {
                    finding
                        .suggest(
                            format!("write `!{shown}` if this role sends the message"),
                            [Edit::before(name.span, "!")],
                        )
                        .suggest(
                            format!("write `?{shown}` if the peer sends it"),
                            [Edit::before(name.span, "?")],
                        )
                }
            }
            Tail::End(_) if self.kind() == Kind::Dot && self.ends_term_at(1) => {
                Diagnostic::error(NOTHING_FOLLOWS, span, "a `.` behind `End`")
                    .suggest("delete it", [Edit::delete(span)])
            }
            Tail::End(end) => {
                let behind = if self.kind() == Kind::Dot { self.token_at(1).start } else { span.start };
                Diagnostic::error(NOTHING_FOLLOWS, span, "something follows `End`").suggest(
                    "delete `End .`, or what follows it",
                    [Edit::delete(Span { end: behind, ..*end })],
                )
            }
            Tail::Replicated(..) => {
                let finding =
                    Diagnostic::error(NOTHING_FOLLOWS, span, "something follows a replicated channel")
                        .with_note(
                            "`*` takes what is directly behind it, and its instances never end as a whole",
                        );
                let chooser = match self.kind_at(1) {
                    Kind::Exclamation => Some("⊕"),
                    Kind::Question => Some("&"),
                    _ => None,
                };
                match chooser.filter(|_| first) {
                    Some(sign) => finding.suggest(
                        format!("write `{sign}` in place of `.`: instances may be opened until the step behind it is taken"),
                        [Edit::replace(span, sign)],
                    ),
                    None => finding.help("write `*( … . … )` to copy all of it, `(*A, B)` for both side by side"),
                }
            }
            Tail::Dual { .. } => Diagnostic::error(NOTHING_FOLLOWS, span, "something follows a definition")
                .with_note("nothing can follow a definition: it says itself how it goes on"),
            Tail::Group(..) | Tail::Parallel(..) | Tail::Recursion { .. } => {
                let finding = Diagnostic::error(NOTHING_FOLLOWS, span, "something follows a parenthesis")
                    .with_note("a session type goes on at the end of each branch, not behind all of them");
                match only_steps(tail) {
                    Some([before, behind]) => finding.suggest(
                        "leave out the parentheses, and the `End` in them",
                        [Edit::delete(before), Edit::delete(behind)],
                    ),
                    None => finding
                        .help("give it a name, `Next = …`, and write `. Next` at the end of each branch"),
                }
            }
        };
        self.report(finding);
    }
}

/// Where a branch ends that can go on.
pub(super) enum OpenEnd {
    /// Behind its last action.
    Behind(Span),
    /// In place of its `End`.
    End(Span),
}

/// What stands before the steps in parentheses and behind them, where there is one branch, and that ends.
fn only_steps(tail: &Tail) -> Option<[Span; 2]> {
    let Tail::Group(body, whole) = tail else { return None };
    let [Sequence { actions, tail: Tail::End(_), .. }] = body.branches.as_slice() else { return None };
    let ([first, ..], [.., last]) = (actions.as_slice(), actions.as_slice()) else { return None };
    let is_plain = body.operators.is_empty();
    is_plain.then_some([Span { end: first.span.start, ..*whole }, Span { start: last.span.end, ..*whole }])
}

/// A word in a session type that means nothing there.
pub(super) fn not_a_word(word: &str, span: Span) -> Diagnostic {
    Diagnostic::error(MISSING_TYPE, span, format!("`{}` is not a word of this language", shorten(word)))
}
