//! Where the parser stands, and what it does when it cannot go on.

use std::collections::{HashMap, HashSet};

use super::{codes, words};
use crate::ast::{Comment, Name, Payload};
use crate::diagnostic::limit::Findings;
use crate::diagnostic::{Code, Diagnostic, Edit, shorten};
use crate::lexer::{self, Documentation, Kind, Token};
use crate::source::{FileId, SourceMap, Span};
use crate::suggest;

pub(super) struct Parser<'s> {
    pub(super) sources: &'s SourceMap,
    pub(super) file: FileId,
    pub(super) text: &'s str,
    tokens: Vec<Token>,
    documentation: Vec<Documentation>,
    documentation_taken: usize,
    pub(super) comments: Vec<Comment>,
    pub(super) empty_lines: Vec<u32>,
    at: usize,
    /// The token at which the last finding was made.
    reported_at: Option<usize>,
    unreadable_lines: Vec<u32>,
    pub(super) findings: Findings,
    /// How many parentheses, loops and generic arguments are open around this place.
    pub(super) depth: usize,
    /// How many records are open around this place.
    pub(super) records: usize,
    /// Whether the parentheses of a payload are open around this place.
    pub(super) in_payload: bool,
    /// How many shapes around this place are written as in another language, which is reported behind the outermost.
    pub(super) translating: usize,
    /// How many parentheses of session types are open around this place.
    pub(super) parentheses: usize,
    /// Whether an action without a continuation is part of a mistake that is being reported.
    pub(super) lenient: bool,
    /// Whether a `.` stands behind the parentheses around this place.
    pub(super) goes_on: bool,
    /// Whether a loop has been named `μ`, which has been reported.
    pub(super) mu_as_name: bool,
    /// The names that this file defines, and those that it binds with `rec`; looked for when a mistake asks for them.
    names: Option<DeclaredNames<'s>>,
}

/// Names by what makes them, as far as tokens tell.
#[derive(Default)]
struct DeclaredNames<'s> {
    defined: HashSet<&'s str>,
    bound: HashSet<&'s str>,
    shapes: HashSet<&'s str>,
    clients: HashSet<&'s str>,
    servers: HashSet<&'s str>,
    /// The names of shapes that are written as payloads.
    carried: HashSet<String>,
    /// Every word of the file.
    written: HashSet<&'s str>,
    /// The names of messages, by their methods.
    messages: HashMap<String, &'s str>,
    /// What session types seem to take for the replies of requests.
    replies: HashMap<&'s str, &'s str>,
}

impl<'s> Parser<'s> {
    pub(super) fn new(sources: &'s SourceMap, file: FileId) -> Self {
        let lexed = lexer::lex(sources, file);
        let comments = lexed.comments.iter().map(|comment| {
            let span = Span { file, start: comment.start, end: comment.end };
            Comment { text: sources.slice(span).to_owned(), own_line: comment.starts_line, span }
        });
        Parser {
            comments: comments.collect(),
            empty_lines: lexed.empty_lines,
            sources,
            file,
            text: sources.text(file),
            tokens: lexed.tokens,
            documentation: lexed.documentation,
            documentation_taken: 0,
            at: 0,
            reported_at: None,
            unreadable_lines: lexed.unreadable_lines,
            findings: lexed.findings,
            depth: 0,
            records: 0,
            in_payload: false,
            translating: 0,
            parentheses: 0,
            lenient: false,
            goes_on: false,
            mu_as_name: false,
            names: None,
        }
    }

    // Looking

    pub(super) fn token_at(&self, ahead: usize) -> Token {
        let end = self.text.len() as u32;
        let behind = Token { kind: Kind::EndOfFile, starts_line: true, start: end, end };
        self.tokens.get(self.at + ahead).copied().unwrap_or(behind)
    }

    pub(super) fn token(&self) -> Token {
        self.token_at(0)
    }

    pub(super) fn kind(&self) -> Kind {
        self.token().kind
    }

    pub(super) fn kind_at(&self, ahead: usize) -> Kind {
        self.token_at(ahead).kind
    }

    /// The index of this token.
    pub(super) fn index(&self) -> usize {
        self.at
    }

    pub(super) fn span(&self) -> Span {
        self.token().span(self.file)
    }

    /// The place of the token before this one.
    pub(super) fn previous(&self) -> Span {
        let token = self.at.checked_sub(1).and_then(|index| self.tokens.get(index));
        token.map_or(Span { file: self.file, start: 0, end: 0 }, |token| token.span(self.file))
    }

    fn previous_kind(&self) -> Option<Kind> {
        self.at.checked_sub(1).and_then(|index| self.tokens.get(index)).map(|token| token.kind)
    }

    pub(super) fn source(&self, token: Token) -> &'s str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    /// The word some tokens ahead; empty if that is not a word.
    pub(super) fn word_at(&self, ahead: usize) -> &'s str {
        let token = self.token_at(ahead);
        if token.kind == Kind::Word { self.source(token) } else { "" }
    }

    /// The words from the token with this index to this one, which is not among them.
    pub(super) fn words_since(&self, index: usize) -> Vec<&'s str> {
        let tokens = self.tokens.get(index..self.at).unwrap_or_default();
        let words = tokens.iter().filter(|token| token.kind == Kind::Word);
        words.map(|token| self.source(*token)).collect()
    }

    pub(super) fn word(&self) -> &'s str {
        self.word_at(0)
    }

    /// How a message names this token.
    pub(super) fn found(&self) -> String {
        match self.kind() {
            Kind::EndOfFile => "the end of the file".to_owned(),
            _ => format!("`{}`", shorten(self.source(self.token()))),
        }
    }

    /// How a message names the token before this one.
    pub(super) fn before(&self) -> String {
        format!("`{}`", shorten(self.sources.slice(self.previous())))
    }

    /// Whether the file has a definition of this name.
    pub(super) fn is_defined(&mut self, name: &str) -> bool {
        self.names().defined.contains(name)
    }

    /// Whether the file has a loop of this name.
    pub(super) fn is_bound(&mut self, name: &str) -> bool {
        self.names().bound.contains(name)
    }

    /// Whether the file declares a role of this name.
    pub(super) fn is_role(&mut self, name: &str) -> bool {
        let names = self.names();
        names.clients.contains(name) || names.servers.contains(name)
    }

    /// Whether the client that the file declares has this name.
    pub(super) fn is_client(&mut self, name: &str) -> bool {
        self.names().clients.contains(name)
    }

    /// Whether the file declares a shape of this name, by `type` or as a payload.
    pub(super) fn is_shape(&mut self, name: &str) -> bool {
        let names = self.names();
        names.shapes.contains(name) || names.carried.contains(name)
    }

    /// The name of the message that has a method, as far as the file declares one.
    pub(super) fn message_of(&mut self, method: &str) -> Option<&'s str> {
        self.names().messages.get(method).copied()
    }

    /// The name of the request whose declaration is around this place.
    pub(super) fn name_of_request(&self) -> &'s str {
        let before = self.tokens.get(..self.at).unwrap_or_default();
        let word = before.iter().rposition(|token| self.source(*token) == "request");
        let name = word.and_then(|word| before.get(word + 1));
        name.filter(|name| name.kind == Kind::Word).map_or("Request", |name| self.source(*name))
    }

    /// What session types of this file take for the reply to a request: `Bill` in `!Order . ?Bill`.
    pub(super) fn reply_of(&mut self, request: &str) -> Option<&'s str> {
        self.names().replies.get(request).copied()
    }

    /// The replies that session types seem to give requests.
    fn replies_in_types(&self) -> HashMap<&'s str, &'s str> {
        let is_sign = |token: &Token| matches!(token.kind, Kind::Exclamation | Kind::Question);
        let pairs = self.tokens.windows(6).filter_map(|tokens| {
            let [sent, request, dot, rest @ ..] = tokens else { return None };
            let rest = if rest.first()?.kind == Kind::Open { rest.get(1..)? } else { rest };
            let [received, reply, ..] = rest else { return None };
            let are_steps = is_sign(sent) && dot.kind == Kind::Dot && is_sign(received);
            let is_reply = received.kind != sent.kind && reply.kind == Kind::Word;
            let reply = self.source(*reply);
            (are_steps && is_reply && !words::is_reserved(reply)).then(|| (self.source(*request), reply))
        });
        // Of several, the first.
        let mut pairs: Vec<_> = pairs.collect();
        pairs.reverse();
        pairs.into_iter().collect()
    }

    /// The names of the shapes that are written as payloads.
    fn carried(&self) -> HashSet<String> {
        let mut found = HashSet::new();
        let (mut carrier, mut depth) = (None, 0usize);
        for (index, token) in self.tokens.iter().enumerate() {
            let kind_at = |ahead: usize| self.tokens.get(index + ahead).map(|token| token.kind);
            let word_at = |ahead: usize| match self.tokens.get(index + ahead) {
                Some(token) if token.kind == Kind::Word => Some(self.source(*token)),
                _ => None,
            };
            match token.kind {
                Kind::Open => {
                    let is_type = kind_at(1) == Some(Kind::Word)
                        && matches!(
                            kind_at(2),
                            Some(Kind::Close | Kind::Question | Kind::DoubleColon | Kind::Less)
                        );
                    if let Some((message, carries)) = carrier.take_if(|_| depth == 0 && !is_type) {
                        found.insert(Payload::name_of_shape(message, carries));
                    }
                    depth += 1;
                }
                Kind::Close => depth = depth.saturating_sub(1),
                Kind::Arrow | Kind::Bar if depth == 0 => {
                    carrier = word_at(1).map(|message| (message, "Result"));
                }
                Kind::Equals => carrier = None,
                Kind::Word if matches!(self.source(*token), "request" | "notification") => {
                    carrier = word_at(1).map(|message| (message, "Params"));
                    depth = 0;
                }
                _ => {}
            }
        }
        found
    }

    fn names(&mut self) -> &DeclaredNames<'s> {
        let names = self.names.take().unwrap_or_else(|| {
            let (carried, replies) = (self.carried(), self.replies_in_types());
            let mut names = DeclaredNames { carried, replies, ..DeclaredNames::default() };
            for pair in self.tokens.windows(2) {
                let [first, second] = pair else { continue };
                if first.kind == Kind::Word {
                    names.written.insert(self.source(*first));
                }
                if first.kind == Kind::Word && matches!(second.kind, Kind::Equals | Kind::OpenBracket) {
                    names.defined.insert(self.source(*first));
                }
                if first.kind == Kind::Word && second.kind == Kind::Text {
                    let method = lexer::value(self.source(*second));
                    names.messages.entry(method).or_insert_with(|| self.source(*first));
                }
                if self.source(*first) == "type" && second.kind == Kind::Word {
                    names.shapes.insert(self.source(*second));
                }
                if first.starts_line && second.kind == Kind::Word {
                    match self.source(*first) {
                        "client" => names.clients.insert(self.source(*second)),
                        "server" => names.servers.insert(self.source(*second)),
                        _ => false,
                    };
                }
                let begins_loop = first.kind == Kind::Mu || self.source(*first) == "rec";
                if begins_loop && second.kind == Kind::Word {
                    names.bound.insert(self.source(*second));
                }
            }
            names
        });
        self.names.insert(names)
    }

    // Taking

    pub(super) fn bump(&mut self) -> Span {
        let span = self.span();
        if self.kind() != Kind::EndOfFile {
            self.at += 1;
        }
        span
    }

    pub(super) fn eat(&mut self, kind: Kind) -> Option<Span> {
        (self.kind() == kind).then(|| self.bump())
    }

    pub(super) fn eat_word(&mut self, word: &str) -> Option<Span> {
        (self.word() == word).then(|| self.bump())
    }

    /// This word, whatever it is, as a name.
    pub(super) fn take_word(&mut self) -> Name {
        let text = self.word().to_owned();
        Name { text, span: self.bump() }
    }

    /// This text, without quotes.
    pub(super) fn take_text(&mut self) -> Name {
        let text = lexer::value(self.source(self.token()));
        Name { text, span: self.bump() }
    }

    /// A name that is not reserved. `what` says whose: "the message".
    pub(super) fn name(&mut self, what: &str, example: &str) -> Option<Name> {
        let word = self.word();
        let begins_item = self.begins_line_of_item() && !self.is_name_of_item(what);
        let is_modifier = self.token().starts_line && words::MODIFIERS.contains(&word);
        if word.is_empty() || word == "_" || begins_item || is_modifier {
            self.expected(codes::MISSING_NAME, &format!("the name of {what}"), example);
            return None;
        }
        if words::is_reserved(word) {
            self.report_reserved(what);
        }
        Some(self.take_word())
    }

    /// Whether the word is followed by what is written behind the names of some items: then it is not a definition.
    fn is_name_of_item(&self, what: &str) -> bool {
        let signs: &[Kind] = match what {
            "the shape" | "the key" | "the role" => &[Kind::Equals],
            "the group" => &[Kind::Equals, Kind::PlusEquals, Kind::MinusEquals],
            _ => return false,
        };
        signs.contains(&self.kind_at(1)) && !words::is_reserved(self.word())
    }

    pub(super) fn report_reserved(&mut self, what: &str) {
        let word = self.word();
        let mut letters = word.chars();
        let upper: String =
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
        let others = match what {
            "the call" => [format!("do_{word}"), format!("call_{word}"), format!("my_{word}")],
            _ => [upper.clone(), format!("My{upper}"), format!("Other{upper}")],
        };
        let written = &self.names().written;
        let is_free = |name: &&String| !words::is_reserved(name) && !written.contains(name.as_str());
        let [first, ..] = &others;
        let other = others.iter().find(is_free).unwrap_or(first).clone();
        self.report(
            Diagnostic::error(codes::RESERVED_WORD, self.span(), format!("`{word}` is a reserved word"))
                .label(format!("cannot be the name of {what}"))
                .suggest(
                    format!("choose another name, for instance `{other}`"),
                    [Edit::replace(self.span(), other.as_str())],
                ),
        );
    }

    // Reporting

    /// Reports something that was noticed at this token.
    pub(super) fn report(&mut self, finding: Diagnostic) {
        self.report_at(self.at, finding);
    }

    /// Reports something that was noticed at the token with this index.
    pub(super) fn report_at(&mut self, index: usize, finding: Diagnostic) {
        if self.reported_at == Some(index) {
            return;
        }
        self.reported_at = Some(index);
        let Some(token) = self.tokens.get(index) else { return };
        if token.kind == Kind::Unknown || self.is_unreadable(token.start) {
            return;
        }
        // What is missing at the start of a line is missing at the end of the line before.
        let before = index.checked_sub(1).and_then(|index| self.tokens.get(index));
        if token.starts_line && before.is_some_and(|before| self.is_unreadable(before.start)) {
            return;
        }
        self.findings.push(finding);
    }

    /// Makes sure that nothing more is reported at this token.
    pub(super) fn keep_silent(&mut self) {
        self.reported_at = Some(self.at);
    }

    fn is_unreadable(&self, offset: u32) -> bool {
        let line = self.sources.line_number(self.file, offset);
        self.unreadable_lines.binary_search(&line).is_ok()
    }

    /// Reports that something else should stand here.
    pub(super) fn expected(&mut self, code: Code, what: &str, help: &str) {
        let token = self.token();
        let finding = if token.starts_line || token.kind == Kind::EndOfFile {
            let message = match self.at {
                0 => format!("expected {what}"),
                _ => format!("expected {what} after {}", self.before()),
            };
            Diagnostic::error(code, self.previous().after(), message)
        } else {
            Diagnostic::error(code, self.span(), format!("expected {what}, found {}", self.found()))
        };
        let meant = help.strip_prefix("did you mean `").and_then(|rest| rest.split('`').next());
        self.report(match meant {
            _ if help.is_empty() => finding,
            Some(meant) => finding.suggest(help, [Edit::replace(self.span(), meant)]),
            None => finding.help(help),
        });
    }

    // Documentation

    /// The documentation that stands right before this token; what stands before it elsewhere is warned about.
    pub(super) fn take_documentation(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut last_stray = None;
        while let Some(comment) = self.documentation.get(self.documentation_taken).copied() {
            if comment.next > self.at {
                break;
            }
            self.documentation_taken += 1;
            if self.is_documentation(comment) {
                lines.push(
                    self.text.get(comment.text as usize..comment.end as usize).unwrap_or("").to_owned(),
                );
            } else {
                if last_stray.replace(comment.next) != Some(comment.next) {
                    self.stray_documentation(comment);
                }
                self.keep_as_comment(comment);
            }
        }
        lines
    }

    fn is_documentation(&self, comment: Documentation) -> bool {
        comment.next == self.at && comment.starts_line && self.kind() != Kind::EndOfFile
    }

    /// Documentation of nothing is kept with two dashes, so that it never becomes that of something.
    fn keep_as_comment(&mut self, comment: Documentation) {
        let span = Span { file: self.file, start: comment.start, end: comment.end };
        let text = self.sources.slice(span);
        let text = text.strip_prefix('-').unwrap_or(text).trim_end().to_owned();
        self.comments.push(Comment { text, own_line: comment.starts_line, span });
    }

    fn stray_documentation(&mut self, comment: Documentation) {
        let span = Span { file: self.file, start: comment.start, end: comment.end };
        // The lines below it, of which nothing more is said.
        let first = self.documentation_taken.saturating_sub(1);
        let behind = self.documentation.get(first..).unwrap_or_default();
        let block = behind.iter().take_while(|other| other.next == comment.next);
        let edits: Vec<Edit> = block
            .filter(|other| !self.is_documentation(**other))
            .map(|other| Edit::delete(Span { start: other.start, end: other.start + 1, ..span }))
            .collect();
        self.findings.push(
            Diagnostic::warning(codes::STRAY_DOCUMENTATION, span, "this documentation belongs to no item")
                .suggest("put it on the line above an item, or write `--` for a comment", edits),
        );
    }

    // Going on after a mistake

    /// Whether an item begins here.
    pub(super) fn at_item(&self) -> bool {
        let word = self.word();
        if word.is_empty() {
            return false;
        }
        let starts_line = self.token().starts_line;
        let next = self.kind_at(1);
        let plausible = match word {
            "protocol" | "request" | "notification" | "capabilities" | "group" | "key" | "client"
            | "server" | "override" => next == Kind::Word,
            "type" => {
                next == Kind::Word && matches!(self.kind_at(2), Kind::Equals | Kind::Colon | Kind::OpenBrace)
            }
            "types" => matches!(next, Kind::Word | Kind::DoubleColon),
            "import" => next == Kind::Text,
            "open" => self.word_at(1) == "key",
            _ => false,
        };
        plausible
            || self.at_definition(next)
            || (starts_line && words::ITEMS.contains(&word) && next != Kind::Dot)
            || (starts_line && !self.before_definition() && self.misspelt_item().is_some())
    }

    /// Whether a definition begins behind this word, which then is the end of something else.
    fn before_definition(&self) -> bool {
        matches!(self.kind_at(2), Kind::Equals | Kind::OpenBracket | Kind::DoubleColon) || self.only_at(2)
    }

    /// Whether `only` stands so many tokens ahead, as it does between the name of a definition and what follows.
    pub(super) fn only_at(&self, ahead: usize) -> bool {
        let direction = usize::from(matches!(self.word_at(ahead + 1), "out" | "in"));
        self.word_at(ahead) == "only"
            && matches!(self.kind_at(ahead + 1 + direction), Kind::Equals | Kind::OpenBracket)
    }

    fn at_definition(&self, next: Kind) -> bool {
        let starts_line = self.token().starts_line;
        match next {
            // `if mode = "url"` and `if level = 1` are conditions. Inside parentheses only a new line makes a new definition.
            Kind::Equals => {
                !matches!(self.kind_at(2), Kind::Text | Kind::Number | Kind::Greater)
                    && (starts_line || self.parentheses == 0)
            }
            Kind::OpenBracket => {
                use Kind::{Arrow, Bar, Exclamation, Question};
                let message = matches!(self.previous_kind(), Some(Exclamation | Question | Bar | Arrow));
                !message && (starts_line || matches!(self.word_at(2), "must" | "should"))
            }
            Kind::DoubleColon => {
                self.kind_at(2) == Kind::Word
                    && (matches!(self.kind_at(3), Kind::Equals | Kind::OpenBracket) || self.only_at(3))
            }
            Kind::Word => self.only_at(1) && (starts_line || self.parentheses == 0),
            Kind::Colon | Kind::PlusEquals | Kind::MinusEquals => starts_line,
            _ => false,
        }
    }

    /// The item word that another word was probably meant to be.
    pub(super) fn misspelt_item(&self) -> Option<&'static str> {
        let word = self.word();
        let next = self.token_at(1);
        if words::is_reserved(word) || next.starts_line || !matches!(next.kind, Kind::Word | Kind::Text) {
            return None;
        }
        suggest::nearest(word, words::ITEMS)
    }

    /// Whether an item word begins a line here. It is then not a name, nor a key of a path.
    pub(super) fn begins_line_of_item(&self) -> bool {
        self.token().starts_line && self.at_item()
    }

    /// Skips to the next item.
    pub(super) fn skip_to_item(&mut self) {
        while self.kind() != Kind::EndOfFile && !self.at_item() {
            self.bump();
        }
    }

    /// Skips to where the session type that holds this place may go on: its next operator, comma or parenthesis.
    pub(super) fn skip_in_choice(&mut self, stop_at_operators: bool) {
        let mut inner = 0usize;
        loop {
            match self.kind() {
                Kind::EndOfFile => return self.keep_silent(),
                Kind::Open => inner += 1,
                Kind::Close if inner > 0 => inner -= 1,
                Kind::Close | Kind::Comma if inner == 0 && self.parentheses > 0 => return,
                Kind::Internal | Kind::Ampersand if inner == 0 && stop_at_operators => return,
                Kind::Word if self.at_item() => return self.keep_silent(),
                _ => {}
            }
            self.bump();
        }
    }
}

/// Whether what stands in a place is short enough to be repeated in a suggestion.
pub(super) fn is_short(place: Span) -> bool {
    place.end.saturating_sub(place.start) <= 80
}
