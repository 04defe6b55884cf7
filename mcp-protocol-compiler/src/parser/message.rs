//! Requests and notifications.
//!
//! In: tokens behind `request` or `notification`. Out: the declaration; one without a method gets its own name for
//! one, so that nothing that follows looks undeclared. Refuses to judge which modifiers go with what.

use super::cursor::Parser;
use super::words;
use super::{MALFORMED_DECLARATION, MALFORMED_PATH, MALFORMED_PAYLOAD, UNKNOWN_MODIFIER};
use crate::ast::{ItemKind, Modifier, Name, Notification, Payload, Reply, Request};
use crate::diagnostic::{Diagnostic, shorten};
use crate::lexer::Kind;
use crate::resolve::is_primitive;
use crate::source::Span;
use crate::suggest;

/// What may stand between the parentheses of a payload.
const PAYLOAD_HELP: &str =
    "write `(Type)`, `(a::b::Type)`, `(Type?)` if it may be absent, or `(_)` for any JSON";

impl Parser<'_> {
    pub(super) fn request(&mut self) -> Option<ItemKind> {
        let help = "write `request Name \"method\" (Params) -> Reply (Result)`";
        let (name, method) = self.name_and_method("request", help)?;
        let condition = self.condition();
        let payload = self.payload();
        let mut replies = Vec::new();
        if self.arrow() {
            self.replies(&mut replies);
        }
        let modifiers = self.modifiers(&mut replies, true);
        if replies.is_empty() {
            let shown = shorten(&name.text);
            let finding = Diagnostic::error(
                MALFORMED_DECLARATION,
                name.span,
                format!("the request `{shown}` has no reply"),
            )
            .label("JSON-RPC answers every request")
            .help(format!("write `request {shown} \"{}\" -> {shown}Result`", shorten(&method.text)))
            .help("or, if none is ever sent, declare a `notification`");
            self.report(finding);
        }
        Some(ItemKind::Request(Request { name, method, condition, payload, replies, modifiers }))
    }

    pub(super) fn notification(&mut self) -> Option<ItemKind> {
        let help = "write `notification Name \"method\" (Params)`";
        let (name, method) = self.name_and_method("notification", help)?;
        let condition = self.condition();
        let payload = self.payload();
        let modifiers = self.modifiers(&mut Vec::new(), false);
        Some(ItemKind::Notification(Notification { name, method, condition, payload, modifiers }))
    }

    /// The name and the method, which may stand in the wrong order.
    fn name_and_method(&mut self, word: &str, help: &str) -> Option<(Name, Name)> {
        if self.kind() == Kind::Text && self.kind_at(1) == Kind::Word && !self.token_at(1).starts_line {
            let (index, written) = (self.index(), self.found());
            let method = self.take_text();
            let name = self.name(&format!("the {word}"), help)?;
            let finding = Diagnostic::error(
                MALFORMED_DECLARATION,
                method.span,
                format!("the method of the {word} stands before its name"),
            );
            let suggestion = format!("write `{word} {} {}`", shorten(&name.text), written.trim_matches('`'));
            self.report_at(index, finding.help(suggestion));
            return Some((name, method));
        }
        let name = self.name(&format!("the {word}"), help)?;
        let method = self.method(word, &name);
        Some((name, method))
    }

    fn method(&mut self, word: &str, name: &Name) -> Name {
        if self.kind() == Kind::Text {
            return self.take_text();
        }
        if self.kind() == Kind::Open && self.kind_at(1) == Kind::Text && self.kind_at(2) == Kind::Close {
            let (index, open) = (self.index(), self.bump());
            let written = self.found();
            let method = self.take_text();
            let all = open.to(self.bump());
            let finding =
                Diagnostic::error(MALFORMED_DECLARATION, all, "the method stands without parentheses");
            let written = written.trim_matches('`');
            self.report_at(index, finding.help(format!("write `{word} {} {written}`", shorten(&name.text))));
            return method;
        }
        let shown = shorten(&name.text);
        let named =
            self.kind() == Kind::Word && !self.token().starts_line && !words::is_reserved(self.word());
        let method = if named { self.found().trim_matches('`').to_owned() } else { "method".to_owned() };
        let help = format!("write `{word} {shown} \"{method}\"`");
        self.expected(MALFORMED_DECLARATION, "the method in quotes", &help);
        // What is written without quotes is most likely the method, which may have slashes in it.
        if named {
            while !self.token().starts_line && matches!(self.kind(), Kind::Word | Kind::Dot | Kind::Unknown) {
                self.bump();
            }
        }
        Name { text: name.text.clone(), span: name.span }
    }

    /// Takes `->`, or the `=>` that other languages have.
    fn arrow(&mut self) -> bool {
        if self.kind() == Kind::Equals && self.kind_at(1) == Kind::Greater && !self.token().starts_line {
            let first = self.bump();
            let both = first.to(self.span());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, both, "`=>` where `->` is meant");
            self.report(finding.help("write `->`"));
            self.bump();
            return true;
        }
        self.eat(Kind::Arrow).is_some()
    }

    /// Adds the replies behind `->`.
    fn replies(&mut self, replies: &mut Vec<Reply>) {
        self.eat(Kind::Bar);
        loop {
            let Some(name) = self.name("the reply", "write `-> Reply (Result)`") else { return };
            let mut condition = self.condition();
            let payload = self.payload();
            condition = condition.or_else(|| self.condition());
            replies.push(Reply { name, payload, condition });
            if self.kind() == Kind::Comma {
                let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`,` where `|` is meant");
                self.report(finding.help("write `|`"));
                self.bump();
            } else if self.eat(Kind::Bar).is_none() {
                return;
            }
        }
    }

    /// `(T)`, `(T?)`, `(_)`, `(null)` or nothing.
    pub(super) fn payload(&mut self) -> Payload {
        if self.kind() != Kind::Open {
            return self.bare_payload();
        }
        let open = self.bump();
        if self.kind() == Kind::Close {
            let close = self.bump();
            let finding = Diagnostic::error(MALFORMED_PAYLOAD, open.to(close), "empty parentheses")
                .help("leave them out for no payload, or write `(_)` for any JSON");
            self.report(finding);
            return Payload::None;
        }
        let struct_help = "a payload is one Rust type: declare a struct in Rust and write `(crate::Name)`";
        let fields = self.kind() == Kind::Word
            && self.kind_at(1) == Kind::Colon
            && self.token_at(1).end < self.token_at(2).start;
        let payload = if fields {
            let message = format!("the field `{}` stands where a type is expected", shorten(self.word()));
            self.report(Diagnostic::error(MALFORMED_PAYLOAD, self.span(), message).help(struct_help));
            None
        } else {
            self.payload_type()
        };
        if self.eat(Kind::Close).is_none() {
            if payload.is_some() {
                let help = if self.kind() == Kind::Comma { struct_help } else { "write `)`" };
                self.expected(MALFORMED_PAYLOAD, "`)`", help);
            }
            while !self.token().starts_line
                && !matches!(self.kind(), Kind::Close | Kind::EndOfFile | Kind::Arrow)
            {
                self.bump();
            }
            self.eat(Kind::Close);
        } else if self.kind() == Kind::Question && !self.token().starts_line {
            let inner = self.sources.slice(open.to(self.previous())).trim_end_matches(')').to_owned();
            let finding = Diagnostic::error(MALFORMED_PAYLOAD, self.span(), "`?` behind the parentheses");
            self.report(finding.help(format!("write `{}?)`", shorten(&inner))));
            self.bump();
        }
        payload.unwrap_or(Payload::None)
    }

    /// A type that stands where one belongs, but without parentheses; it is read as if it had them.
    ///
    /// What could be a modifier is not taken for one: types begin with a capital letter, are paths, or are Rust's own.
    fn bare_payload(&mut self) -> Payload {
        let word = self.word();
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let path = matches!(self.kind_at(1), Kind::DoubleColon | Kind::Less);
        let known = word == "_" || word == "null" || is_primitive(word);
        let type_like = !word.is_empty() && (capital || path || known) && !words::is_reserved(word);
        if self.token().starts_line || !type_like || self.at_item() {
            return Payload::None;
        }
        let (index, start) = (self.index(), self.span());
        let payload = match word {
            "null" => Payload::Null(self.bump()),
            "_" => {
                self.bump();
                Payload::Any { optional: self.eat(Kind::Question).is_some(), span: start.to(self.previous()) }
            }
            _ => {
                let Some(path) = self.rust_path(MALFORMED_PAYLOAD, "the path of a Rust type", PAYLOAD_HELP)
                else {
                    return Payload::None;
                };
                Payload::Type { path, optional: self.eat(Kind::Question).is_some() }
            }
        };
        let all = start.to(self.previous());
        let written = shorten(self.sources.slice(all));
        let finding = Diagnostic::error(MALFORMED_PAYLOAD, all, "a payload type stands in parentheses");
        self.report_at(index, finding.help(format!("write `({written})`")));
        payload
    }

    fn payload_type(&mut self) -> Option<Payload> {
        let start = self.span();
        let alone = matches!(self.kind_at(1), Kind::Close | Kind::Question);
        match self.word() {
            "null" if alone => {
                self.bump();
                if self.kind() == Kind::Question {
                    let finding =
                        Diagnostic::error(MALFORMED_PAYLOAD, self.span(), "`null` is there or it is not");
                    self.report(finding.help("leave the parentheses out if there is no payload"));
                    self.bump();
                }
                Some(Payload::Null(start))
            }
            "_" => {
                self.bump();
                let optional = self.eat(Kind::Question).is_some();
                Some(Payload::Any { optional, span: start.to(self.previous()) })
            }
            _ => {
                let list;
                let help = match self.kind() {
                    Kind::OpenBracket => {
                        let element = if self.kind_at(1) == Kind::Word { self.word_at(1) } else { "_" };
                        let element = if element == "_" { "String" } else { element };
                        list = format!("write `(Vec<{}>)` for a list", shorten(element));
                        &list
                    }
                    Kind::Ampersand if self.kind_at(1) == Kind::OpenBracket => {
                        list = format!(
                            "a message owns what it carries: write `(Vec<{}>)`",
                            shorten(self.word_at(2))
                        );
                        &list
                    }
                    Kind::Ampersand if self.word_at(1) == "str" || self.kind_at(1) != Kind::Word => {
                        "a message owns what it carries: write `(String)`"
                    }
                    Kind::Ampersand => {
                        list =
                            format!("a message owns what it carries: write `({})`", shorten(self.word_at(1)));
                        &list
                    }
                    Kind::Text => "write the name of a type; what a message holds is said in Rust",
                    _ => PAYLOAD_HELP,
                };
                let path = self.rust_path(MALFORMED_PAYLOAD, "the path of a Rust type", help)?;
                Some(Payload::Type { path, optional: self.eat(Kind::Question).is_some() })
            }
        }
    }

    fn modifiers(&mut self, replies: &mut Vec<Reply>, request: bool) -> Vec<Modifier> {
        let mut modifiers = Vec::new();
        // What stands behind something unknown may well be in its right place.
        let mut unknown = false;
        let first = self.span();
        loop {
            match self.kind() {
                Kind::OpenBracket => modifiers.push(Modifier::Levels(self.levels())),
                Kind::Arrow if request && replies.is_empty() => {
                    let (index, arrow) = (self.index(), self.bump());
                    self.replies(replies);
                    if !unknown {
                        self.late_replies(index, first.to(arrow), arrow.to(self.previous()));
                    }
                }
                Kind::Arrow => {
                    let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "unexpected `->`");
                    self.report(if request {
                        finding.help("separate the replies of a request by `|`")
                    } else {
                        finding
                            .help("a notification has no reply: write `request` in place of `notification`")
                    });
                    self.bump();
                    self.replies(&mut Vec::new());
                }
                Kind::Comma => {
                    let finding =
                        Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`,` between modifiers");
                    self.report(finding.help("delete it"));
                    self.bump();
                }
                Kind::Word if words::MODIFIERS.contains(&self.word()) => {
                    let word = self.word();
                    modifiers.extend(self.modifier(word));
                }
                Kind::Word if self.word() == "or" && self.kind_at(1) == Kind::Word && !replies.is_empty() => {
                    let finding =
                        Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`or` where `|` is meant");
                    self.report(finding.help("write `|`"));
                    self.bump();
                    self.replies(replies);
                }
                Kind::Word if self.word() == "default" => {
                    let finding = Diagnostic::error(
                        MALFORMED_DECLARATION,
                        self.span(),
                        "`default` stands where capabilities are announced",
                    );
                    self.report(finding.help(
                        "delete it here, and write `default capability.part` behind `capabilities ROLE = …`",
                    ));
                    self.bump();
                }
                Kind::Word if matches!(self.word(), "if" | "unless") => {
                    let finding = Diagnostic::error(
                        MALFORMED_DECLARATION,
                        self.span(),
                        "this condition comes too late",
                    );
                    self.report(finding.help(match self.word() {
                        "if" => "write `if …` right after the method, a reply or a gate",
                        _ => "write `unless …` right after a gate",
                    }));
                    self.condition_of_gate();
                }
                Kind::Word if !self.at_item() => match self.unknown_modifier() {
                    Some(meant) => modifiers.extend(self.modifier(meant)),
                    None if self.token().starts_line => return modifiers,
                    None => {
                        unknown = true;
                        self.bump();
                    }
                },
                _ => return modifiers,
            }
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
        self.report_at(index, finding.help(help));
    }

    /// Reports a word that is no modifier, and says which one was meant.
    fn unknown_modifier(&mut self) -> Option<&'static str> {
        let word = self.word();
        let meant = suggest::nearest(word, words::MODIFIERS);
        if meant.is_none() && self.token().starts_line {
            return None;
        }
        let finding =
            Diagnostic::error(UNKNOWN_MODIFIER, self.span(), format!("unknown modifier `{}`", shorten(word)));
        self.report(match meant {
            Some(meant) => finding.help(format!("did you mean `{meant}`?")),
            None => finding
                .with_note(format!(
                    "the modifiers are {}",
                    words::MODIFIERS.map(|word| format!("`{word}`")).join(", ")
                ))
                .help("delete it, or put a payload type in parentheses"),
        });
        meant
    }

    /// The modifier that this word begins; the word itself may be misspelt.
    fn modifier(&mut self, word: &str) -> Option<Modifier> {
        let start = self.bump();
        match word {
            "as" => Some(Modifier::As(self.name("the call", "write `as call_name`")?)),
            "answered" => Some(Modifier::Answered(start)),
            "cancellable" => Some(Modifier::Cancellable(start)),
            "cancels" => {
                let path = self.json_path("write `cancels requestId`")?;
                Some(Modifier::Cancels(path, start.to(self.previous())))
            }
            "reports" => {
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
            "pages" => {
                let help = "write `pages cursor from nextCursor`";
                let cursor = self.json_path(help)?;
                if self.eat_word("from").is_none() {
                    self.expected(
                        MALFORMED_PATH,
                        "`from` and where the result carries the next cursor",
                        help,
                    );
                    return None;
                }
                let next = self.json_path(help)?;
                Some(Modifier::Pages { cursor, next, span: start.to(self.previous()) })
            }
            "requires" => {
                let help = "write `requires server.tools`: who must have announced it, and what";
                if self.kind() != Kind::Word || self.begins_line_of_item() {
                    self.expected(MALFORMED_PATH, "a capability", help);
                    return None;
                }
                let holder = self.take_word();
                if self.eat(Kind::Dot).is_none() {
                    let help = format!("write `requires {}.capability`", shorten(&holder.text));
                    self.expected(MALFORMED_PATH, "`.` and a capability", &help);
                    return None;
                }
                let path = self.json_path(help)?;
                let (condition, unless) = self.condition_of_gate();
                let span = start.to(self.previous());
                Some(Modifier::Requires { holder, path, condition, unless, span })
            }
            _ => None,
        }
    }
}
