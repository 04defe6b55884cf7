//! What stands behind a declared message.

use super::codes::{MALFORMED_DECLARATION, MALFORMED_PATH, UNKNOWN_MODIFIER};
use super::cursor::Parser;
use super::words;
use crate::ast::{JsonPath, Modifier, Reply};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::Kind;
use crate::source::Span;
use crate::suggest;

impl Parser<'_> {
    /// All of them. `notification` is the word, if a notification is declared.
    pub(super) fn modifiers(
        &mut self,
        replies: &mut Vec<Reply>,
        notification: Option<Span>,
    ) -> Vec<Modifier> {
        let mut modifiers = Vec::new();
        // What stands behind something unknown may well be in its right place.
        let mut unknown = None;
        let first = self.span();
        loop {
            // What stands right behind it belongs to it.
            let belongs = unknown == self.index().checked_sub(1) && !self.token().starts_line;
            match self.kind() {
                Kind::Number if belongs => {
                    self.bump();
                }
                Kind::Word if belongs && !words::is_reserved(self.word()) => {
                    unknown = Some(self.index());
                    self.bump();
                }
                Kind::OpenBracket => modifiers.push(Modifier::Levels(self.levels())),
                Kind::Arrow if notification.is_none() && replies.is_empty() => {
                    let (index, arrow) = (self.index(), self.bump());
                    self.replies(replies);
                    if unknown.is_none() {
                        self.late_replies(index, first.to(arrow), arrow.to(self.previous()));
                    }
                }
                Kind::Arrow => self.unexpected_arrow(replies, notification, modifiers.is_empty()),
                Kind::Comma => {
                    let finding =
                        Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`,` between modifiers");
                    self.report(finding.suggest("delete it", [Edit::delete(self.span())]));
                    self.bump();
                }
                Kind::Word if words::MODIFIERS.contains(&self.word()) => {
                    let word = self.word();
                    modifiers.extend(self.modifier(word));
                }
                Kind::Word if self.word() == "or" && self.kind_at(1) == Kind::Word && !replies.is_empty() => {
                    let finding =
                        Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`or` where `|` is meant");
                    self.report(finding.suggest("write `|`", [Edit::replace(self.span(), "|")]));
                    self.bump();
                    self.replies(replies);
                }
                Kind::Word if matches!(self.word(), "default" | "if" | "unless") => self.out_of_place(),
                Kind::Word if !self.at_item() => match self.unknown_modifier() {
                    Some(meant) => modifiers.extend(self.modifier(meant)),
                    None if self.token().starts_line => return modifiers,
                    None => {
                        unknown = Some(self.index());
                        self.bump();
                    }
                },
                _ => return modifiers,
            }
        }
    }

    /// Reports an arrow that does not stand where replies do, and takes what follows it. `first` says that no modifier stands
    /// before it.
    fn unexpected_arrow(&mut self, replies: &mut Vec<Reply>, notification: Option<Span>, first: bool) {
        let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "unexpected `->`");
        self.report(match notification {
            None if first => {
                finding.suggest("separate the replies of a request by `|`", [Edit::replace(self.span(), "|")])
            }
            None => finding.help("write all replies before the modifiers, with `|` between them"),
            Some(word) => finding.suggest(
                "a notification has no reply: write `request` in place of `notification`",
                [Edit::replace(word, "request")],
            ),
        });
        self.bump();
        // Those behind a notification make it a request; others belong to the arrow before.
        let mut others = Vec::new();
        self.replies(if notification.is_some() { replies } else { &mut others });
    }

    /// Reports `default`, `if` or `unless`, which stand elsewhere, and takes it.
    fn out_of_place(&mut self) {
        let (what, help) = match self.word() {
            "default" => (
                "`default` stands where capabilities are announced",
                "delete it here, and write `default capability.part` behind `capabilities ROLE = …`",
            ),
            "if" => {
                ("this condition comes too late", "write `if …` right after the method, a reply or a gate")
            }
            _ => ("this condition comes too late", "write `unless …` right after a gate"),
        };
        let is_condition = self.word() != "default";
        self.report(Diagnostic::error(MALFORMED_DECLARATION, self.span(), what).help(help));
        if is_condition {
            self.condition_of_gate();
        } else {
            self.bump();
        }
    }

    /// Reports replies that stand behind modifiers; `before` is all of those up to the arrow.
    fn late_replies(&mut self, index: usize, before: Span, replies: Span) {
        let arrow = Span { end: replies.start + 2, ..replies };
        let finding = Diagnostic::error(MALFORMED_DECLARATION, arrow, "`-> …` stands behind a modifier");
        let modifiers = self.sources.slice(Span { end: arrow.start, ..before }).trim_end();
        let written = self.sources.slice(replies);
        let help = if modifiers.contains('\n') || written.contains('\n') {
            "write `-> …` before the modifiers".to_owned()
        } else {
            format!("write `{} {}`", shorten(written), shorten(modifiers))
        };
        let edit = Edit::replace(before.to(replies), format!("{written} {modifiers}"));
        // The word may not be a modifier; that has a finding of its own.
        let readable = modifiers.starts_with(|first: char| first.is_alphabetic() || first == '[');
        self.report_at(
            index,
            match readable {
                true => finding.suggest(help, [edit]),
                false => finding.help("the replies stand right behind the method and its payload"),
            },
        );
    }

    /// Reports a word that is not a modifier, and says which one was meant.
    fn unknown_modifier(&mut self) -> Option<&'static str> {
        let word = self.word();
        let meant = suggest::nearest(word, words::MODIFIERS);
        if meant.is_none() && self.token().starts_line {
            return None;
        }
        let finding =
            Diagnostic::error(UNKNOWN_MODIFIER, self.span(), format!("unknown modifier `{}`", shorten(word)));
        let is_error = matches!(word, "error" | "errors" | "throws" | "raises" | "fails" | "err");
        self.report(match meant {
            _ if is_error => finding
                .label("errors are not declared")
                .with_note("every request may be refused with an error: that of `Order` is `OrderError` in session types")
                .suggest("delete it", [Edit::delete(self.line_from_here())]),
            Some(meant) => {
                let edit = Edit::replace(self.span(), meant);
                finding.suggest(format!("did you mean `{meant}`?"), [edit])
            }
            None => finding
                .with_note(format!(
                    "the modifiers are {}",
                    words::MODIFIERS.map(|word| format!("`{word}`")).join(", ")
                ))
                .suggest("delete it, or put a payload type in parentheses", [Edit::delete(self.span())]),
        });
        meant
    }

    /// From this token to the end of its line.
    fn line_from_here(&self) -> Span {
        let start = self.span();
        let ahead = (1..40).take_while(|ahead| {
            let token = self.token_at(*ahead);
            !token.starts_line && token.kind != Kind::EndOfFile
        });
        ahead.last().map_or(start, |ahead| start.to(self.token_at(ahead).span(self.file)))
    }

    /// The modifier that this word begins; the word itself may be misspelt.
    fn modifier(&mut self, word: &str) -> Option<Modifier> {
        let start = self.bump();
        match word {
            "as" => Some(Modifier::As(self.name("the call", "write `as call_name`")?)),
            "answered" => Some(Modifier::Answered(start)),
            "cancellable" => {
                let until_reply = self.eat_word("until").is_some();
                if until_reply {
                    self.demand("reply", "");
                }
                Some(Modifier::Cancellable { until_reply, span: start.to(self.previous()) })
            }
            "cancels" => {
                let id = self.json_path("write `cancels requestId`")?;
                let reply_error = self.eat_word("with").map(|_| self.error_of_reply());
                Some(Modifier::Cancels { id, reply_error, span: start.to(self.previous()) })
            }
            "reports" => self.reports(start),
            "pages" => {
                let help = "write `pages cursor from nextCursor`";
                let (cursor, next) =
                    self.two_paths("from", "where the result carries the next cursor", help)?;
                Some(Modifier::Pages { cursor, next, span: start.to(self.previous()) })
            }
            "rounds" => self.rounds(start),
            "grants" => {
                let path = self.json_path("write `grants registrations.method`")?;
                Some(Modifier::Grants { path, span: start.to(self.previous()) })
            }
            "revokes" => {
                let path = self.json_path("write `revokes registrations.method`")?;
                Some(Modifier::Revokes { path, span: start.to(self.previous()) })
            }
            "during" => {
                let help = "write `during Order`: a request of the receiver, which has to be running";
                let mut requests = vec![self.name("a request", help)?];
                while self.eat(Kind::Bar).is_some() {
                    requests.push(self.name("a request", help)?);
                }
                let condition = self.condition_of_during();
                Some(Modifier::During { requests, condition, span: start.to(self.previous()) })
            }
            "requires" => self.requires(start),
            _ => None,
        }
    }

    /// `requires server.tools`, behind its word at `start`.
    fn requires(&mut self, start: Span) -> Option<Modifier> {
        let help = "write `requires server.tools`: who must have announced it, and what";
        if self.kind() != Kind::Word || self.begins_line_of_item() {
            self.expected(MALFORMED_PATH, "a capability", help);
            return None;
        }
        let holder = self.take_word();
        if self.eat(Kind::Dot).is_none() {
            let help = missing_capability(&shorten(&holder.text));
            self.expected(MALFORMED_PATH, "`.` and a capability", &help);
            return None;
        }
        let path = self.json_path(help)?;
        let (condition, unless) = self.condition_of_gate();
        let span = start.to(self.previous());
        Some(Modifier::Requires { holder, path, condition, unless, span })
    }

    /// `rounds Asked state from state, answers of questions`, behind its word at `start`.
    fn rounds(&mut self, start: Span) -> Option<Modifier> {
        let help = "write `rounds Asked state from state, answers of questions`";
        let reply = self.name("the reply that asks for another round", help)?;
        let (state, given) = self.two_paths("from", "where the reply gives the state", help)?;
        if self.eat(Kind::Comma).is_none() {
            self.expected(MALFORMED_PATH, "`,` and where the request carries answers", help);
            return None;
        }
        let (answers, questions) = self.two_paths("of", "where the reply has its questions", help)?;
        let span = start.to(self.previous());
        Some(Modifier::Rounds { reply, state, given, answers, questions, span })
    }

    /// `reports progressToken of _meta.progressToken`, behind its word at `start`.
    fn reports(&mut self, start: Span) -> Option<Modifier> {
        let help = "write `reports progressToken of _meta.progressToken`";
        let token = self.json_path(help)?;
        if self.eat_word("of").is_none() {
            let key = shorten(&token.segments.last().map_or(String::new(), |last| last.text.clone()));
            let help = format!("write `reports {key} of _meta.{key}`");
            self.expected(MALFORMED_PATH, "`of` and where the request carries it", &help);
            return None;
        }
        let mut of = vec![self.json_path(help)?];
        while self.eat(Kind::Bar).is_some() {
            of.push(self.json_path(help)?);
        }
        Some(Modifier::Reports { token, of, span: start.to(self.previous()) })
    }

    /// Two paths with a word between them; `what` says what the second one is.
    fn two_paths(&mut self, word: &str, what: &str, help: &str) -> Option<(JsonPath, JsonPath)> {
        let first = self.json_path(help)?;
        if self.eat_word(word).is_none() {
            self.expected(MALFORMED_PATH, &format!("`{word}` and {what}"), help);
            return None;
        }
        Some((first, self.json_path(help)?))
    }

    /// `reply error -32800`, behind `with`. Any code stands for one that is missing, which is reported.
    fn error_of_reply(&mut self) -> i64 {
        let written = self.demand("reply", " error -32800") && self.demand("error", " -32800");
        let code = if written || self.kind() == Kind::Number {
            self.error_code(MALFORMED_DECLARATION, "-32800")
        } else {
            None
        };
        code.unwrap_or_default()
    }

    /// Takes a word, or reports that it is missing. `rest` is what has to follow it. Returns whether to read on.
    pub(super) fn demand(&mut self, word: &str, rest: &str) -> bool {
        if self.eat_word(word).is_some() {
            return true;
        }
        let other = self.kind() == Kind::Word
            && !self.token().starts_line
            // `until answered` is what one may take for `until reply`.
            && (self.word() == "answered" || !words::MODIFIERS.contains(&self.word()))
            && !words::ITEMS.contains(&self.word());
        if other {
            let message = format!("expected `{word}`, found {}", self.found());
            let edit = Edit::replace(self.span(), word);
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            self.report(finding.suggest(format!("write `{word}`"), [edit]));
            self.bump();
            return true;
        }
        // A code that stands there already is not written once more.
        let rest = if self.kind() == Kind::Number { "" } else { rest };
        let message = format!("expected `{word}` after {}", self.before());
        let edit = Edit::after(self.previous(), format!(" {word}{rest}"));
        let finding = Diagnostic::error(MALFORMED_DECLARATION, self.previous().after(), message);
        self.report(finding.suggest(format!("write `{word}{rest}`"), [edit]));
        false
    }
}

/// What `requires word` lacks. A word that begins with a capital may be a role; any other word that names no side is the
/// capability, and its side is missing.
fn missing_capability(word: &str) -> String {
    let is_side = matches!(word, "client" | "server" | "own" | "peer");
    match is_side || word.starts_with(char::is_uppercase) {
        true => format!("write `requires {word}.capability`"),
        false => format!(
            "write `requires server.{word}` if the server announces it, and `requires client.{word}` if the client does"
        ),
    }
}
