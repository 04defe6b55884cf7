//! Requests and notifications.

use mcp_protocol_machine::protocol::Literal;

use super::codes::{MALFORMED_DECLARATION, MISSING_NAME};
use super::cursor::Parser;
use super::words;
use crate::ast::{
    ItemKind, Name, Notification, Payload, Reply, Request, Shape, ShapeKind, boolean, built_in_meant,
    is_built_in,
};
use crate::declarations::{is_primitive, pascal, word_meant};
use crate::diagnostic::{Diagnostic, Edit, TextChange, shorten};
use crate::findings::shapes::MALFORMED_PAYLOAD;
use crate::lexer::Kind;
use crate::source::Span;

/// What may stand between the parentheses of a payload.
const PAYLOAD_HELP: &str =
    "write `(Type)`, `(a::b::Type)`, `(Type?)` if it may be absent, or `(_)` for any JSON";

impl<'s> Parser<'s> {
    pub(super) fn request(&mut self) -> Option<ItemKind> {
        let help = "write `request Name \"method\" (Params) -> Reply (Result)`";
        let (name, method) = self.name_and_method("request", help)?;
        let condition = self.condition();
        let payload = self.payload(&name.text, "Params");
        let mut replies = Vec::new();
        // Where the replies belong if they are forgotten; what cannot be read behind an arrow is another mistake.
        let written = self.sources.slice(name.span.to(self.previous()));
        let mut reply_at = Some(self.previous());
        if self.arrow() {
            reply_at = None;
            self.replies(&mut replies);
        }
        let mut modifiers = self.modifiers(&mut replies, None);
        if replies.is_empty() {
            self.reply_in_its_own_line(&mut replies);
            if !replies.is_empty() {
                modifiers.extend(self.modifiers(&mut replies, None));
            }
        }
        if replies.is_empty() {
            // What else stands in the line may be what was meant for one.
            reply_at = reply_at.filter(|_| self.token().starts_line || self.kind() == Kind::EndOfFile);
            let shown = shorten(&name.text);
            let (reply, is_used) = self.name_of_reply();
            let finding = Diagnostic::error(
                MALFORMED_DECLARATION,
                name.span,
                format!("the request `{shown}` has no reply"),
            )
            .label("JSON-RPC answers every request")
            .suggest(
                format!("write `request {} -> {}`", shorten(written), shorten(&reply)),
                reply_at.map(|place| Edit::after(place, format!(" -> {reply}"))),
            )
            .with_note("a message that has no reply is a `notification`");
            self.report(finding);
            // Session types know it.
            if is_used {
                let payload = Payload::Any { optional: true, span: name.span };
                replies.push(Reply { name: Name { text: reply, span: name.span }, payload, condition: None });
            }
        }
        Some(ItemKind::Request(Request { name, method, condition, payload, replies, modifiers }))
    }

    pub(super) fn notification(&mut self) -> Option<ItemKind> {
        let help = "write `notification Name \"method\" (Params)`";
        let word = self.previous();
        let (name, method) = self.name_and_method("notification", help)?;
        let condition = self.condition();
        let payload = self.payload(&name.text, "Params");
        let mut replies = Vec::new();
        let modifiers = self.modifiers(&mut replies, Some(word));
        if !replies.is_empty() {
            return Some(ItemKind::Request(Request { name, method, condition, payload, replies, modifiers }));
        }
        Some(ItemKind::Notification(Notification { name, method, condition, payload, modifiers }))
    }

    /// The name and the method, which may be a pattern.
    fn name_and_method(&mut self, word: &str, help: &str) -> Option<(Name, Name)> {
        let (name, method) = self.in_either_order(word, help)?;
        if method.text.strip_suffix('*').unwrap_or(&method.text).contains('*') {
            let message = "a pattern has one `*`, at its end";
            let finding = Diagnostic::error(MALFORMED_DECLARATION, method.span, message);
            let written = self.sources.slice(method.span);
            let finding = match written.split_once('*') {
                Some((before, _)) => finding.suggest(
                    format!("write `{}*\"`, for all methods that begin like this", shorten(before)),
                    [Edit::replace(method.span, format!("{before}*\""))],
                ),
                None => finding,
            };
            self.report(finding);
        }
        Some((name, method))
    }

    /// The same, which may stand in the wrong order.
    fn in_either_order(&mut self, word: &str, help: &str) -> Option<(Name, Name)> {
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
            let both = method.span.to(name.span);
            let edit = Edit::replace(both, format!("{} {}", name.text, self.sources.slice(method.span)));
            self.report_at(index, finding.suggest(suggestion, [edit]));
            return Some((name, method));
        }
        if self.kind() == Kind::Text && !self.token().starts_line {
            return Some(self.method_without_name(word));
        }
        let name = self.name(&format!("the {word}"), help)?;
        let method = self.method(word, &name);
        Some((name, method))
    }

    /// A method without the name of its message, which is then called after it.
    fn method_without_name(&mut self, word: &str) -> (Name, Name) {
        let (index, written) = (self.index(), self.found());
        let method = self.take_text();
        let last = method.text.rsplit(['/', '.']).next().unwrap_or(&method.text);
        let text = Some(pascal(last)).filter(|name| name.starts_with(char::is_alphabetic));
        let text = text.unwrap_or_else(|| "Message".to_owned());
        let finding = Diagnostic::error(MISSING_NAME, method.span, format!("the {word} has no name"));
        let finding = finding.label("session types have the names of messages");
        let help = format!("write `{word} {} {}`", shorten(&text), written.trim_matches('`'));
        self.report_at(index, finding.suggest(help, [Edit::before(method.span, format!("{text} "))]));
        (Name { text, span: method.span }, method)
    }

    fn method(&mut self, word: &str, name: &Name) -> Name {
        if matches!(self.kind(), Kind::Colon | Kind::Equals) && self.kind_at(1) == Kind::Text {
            let found = self.found();
            let finding =
                Diagnostic::error(MALFORMED_DECLARATION, self.span(), format!("{found} before the method"));
            let written = shorten(self.sources.slice(self.token_at(1).span(self.file)));
            let help = format!("write `{word} {} {written}`", shorten(&name.text));
            let edit = Edit::replace(self.span(), " ");
            self.report(finding.suggest(help, [edit]));
            self.bump();
        }
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
            let edit = Edit::replace(all, self.sources.slice(method.span));
            let help = format!("write `{word} {} {written}`", shorten(&name.text));
            self.report_at(index, finding.suggest(help, [edit]));
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
            self.report(finding.suggest("write `->`", [Edit::replace(both, "->")]));
            self.bump();
            return true;
        }
        let next = self.token_at(1);
        if self.kind() == Kind::Colon
            && !self.token().starts_line
            && next.kind == Kind::Word
            && !next.starts_line
        {
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`:` where `->` is meant");
            self.report(finding.suggest("write `->`", [Edit::replace(self.span(), " ->")]));
            self.bump();
            return true;
        }
        let is_word = matches!(
            self.word(),
            "returns" | "return" | "yields" | "gives" | "responds" | "result" | "response"
        );
        if is_word
            && !self.token().starts_line
            && matches!(next.kind, Kind::Word | Kind::Open | Kind::OpenBrace)
        {
            let finding = Diagnostic::error(
                MALFORMED_DECLARATION,
                self.span(),
                format!("{} where `->` is meant", self.found()),
            );
            let edit = Edit::replace(self.span(), "->");
            self.bump();
            // `returns (Bill)` has the reply in parentheses.
            let name = self.span_of_lone_name();
            match name {
                Some((all, name)) => {
                    let edits = [edit, Edit::replace(all, name)];
                    self.report(finding.suggest(format!("write `-> {}`", shorten(name)), edits));
                    // Its name is read as that of any reply, and the parenthesis that closes behind it.
                    self.bump();
                }
                None => self.report(finding.suggest("write `->`", [edit])),
            }
            return true;
        }
        self.eat(Kind::Arrow).is_some()
    }

    /// `(Bill)` with all of its tokens, and the name in it.
    fn span_of_lone_name(&self) -> Option<(Span, &'s str)> {
        let kinds = (self.kind(), self.kind_at(1), self.kind_at(2));
        let all = self.span().to(self.token_at(2).span(self.file));
        (kinds == (Kind::Open, Kind::Word, Kind::Close)).then(|| (all, self.word_at(1)))
    }

    /// `response Reply (Result)` below its request.
    fn reply_in_its_own_line(&mut self, replies: &mut Vec<Reply>) {
        let next = self.token_at(1);
        let names = matches!(self.word(), "response" | "reply" | "result" | "returns" | "respond" | "answer");
        if names && next.kind == Kind::Word && !next.starts_line && self.kind_at(2) != Kind::Equals {
            let message = format!("{} where `->` is meant", self.found());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            let finding = finding.label("a reply stands behind its request");
            self.report(finding.suggest("write `->`", [Edit::replace(self.span(), "->")]));
            self.bump();
            self.replies(replies);
        }
    }

    /// What the reply to the request around this place is called: as session types call it, or after the request.
    fn name_of_reply(&mut self) -> (String, bool) {
        let request = self.name_of_request();
        match self.reply_of(request) {
            Some(reply) => (reply.to_owned(), true),
            None => (format!("{request}Result"), false),
        }
    }

    /// A payload where the name of a reply is expected: reports it, and takes nothing.
    fn reply_without_name(&mut self) -> Option<Name> {
        let span = self.span();
        let (reply, _) = self.name_of_reply();
        let finding = Diagnostic::error(MISSING_NAME, span, "the reply has no name");
        let help = format!("write `-> {} (…)`", shorten(&reply));
        let close = self.behind_brackets().filter(|_| self.kind() == Kind::OpenBrace);
        let edits = match close.map(|ahead| self.token_at(ahead - 1).span(self.file)) {
            Some(close) => vec![Edit::before(span, format!("{reply} (")), Edit::after(close, ")")],
            None => vec![Edit::before(span, format!("{reply} "))],
        };
        // That a record lacks its parentheses is part of it.
        self.report(finding.suggest(help, edits));
        Some(Name { text: reply, span })
    }

    /// Adds the replies behind `->`.
    pub(super) fn replies(&mut self, replies: &mut Vec<Reply>) {
        self.eat(Kind::Bar);
        loop {
            let is_opened = self.sources.slice(self.previous()) == "(";
            let name = match self.kind() {
                Kind::Open | Kind::OpenBrace if replies.is_empty() => self.reply_without_name(),
                _ => self.name("the reply", "write `-> Reply (Result)`"),
            };
            let Some(name) = name else { return };
            if is_opened {
                self.eat(Kind::Close);
            }
            let mut condition = self.condition();
            let payload = self.payload(&name.text, "Result");
            condition = condition.or_else(|| self.condition());
            replies.push(Reply { name, payload, condition });
            if self.kind() == Kind::Comma {
                let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`,` where `|` is meant");
                self.report(finding.suggest("write `|`", [Edit::replace(self.span(), " |")]));
                self.bump();
            } else if self.eat(Kind::Bar).is_none() {
                return;
            }
        }
    }

    /// `(T)`, `(T?)`, `(_)`, `(null)`, `({ … })` or nothing. A record is called after the message and what it carries.
    pub(super) fn payload(&mut self, message: &str, carries: &str) -> Payload {
        if self.kind() != Kind::Open {
            return self.bare_payload(message, carries);
        }
        let open = self.bump();
        if self.kind() == Kind::Close {
            let close = self.bump();
            let finding = Diagnostic::error(MALFORMED_PAYLOAD, open.to(close), "empty parentheses")
                .suggest("leave them out for no payload", [Edit::delete(open.to(close))])
                .suggest("write `(_)` for any JSON", [Edit::replace(open.to(close), "(_)")]);
            self.report(finding);
            return Payload::None;
        }
        let struct_help = "a payload is one type: declare `type Name = { … }`, and write `(Name)`";
        if self.begins_field() {
            return self.fields_without_braces();
        }
        self.in_payload = true;
        let payload = self.inside_parentheses(message, carries);
        self.in_payload = false;
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
            let close = self.previous();
            let inner = self.sources.slice(open.to(close)).trim_end_matches(')').to_owned();
            let finding = Diagnostic::error(MALFORMED_PAYLOAD, self.span(), "`?` behind the parentheses");
            let edit = Edit::replace(close.to(self.span()), "?)");
            self.report(finding.suggest(format!("write `{}?)`", shorten(&inner)), [edit]));
            self.bump();
        }
        payload.unwrap_or(Payload::None)
    }

    /// A type that stands where one belongs, but without parentheses; it is read as if it had them.
    ///
    /// What could be a modifier is not taken for one: types begin with a capital letter, are paths, or are Rust's own or
    /// this language's; a level is not a list.
    fn bare_payload(&mut self, message: &str, carries: &str) -> Payload {
        if self.token().starts_line {
            return Payload::None;
        }
        if self.begins_field() {
            return self.bare_fields();
        }
        let word = self.word();
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let path = matches!(self.kind_at(1), Kind::DoubleColon | Kind::Less);
        let known = word == "_" || word == "null" || is_primitive(word) || is_built_in(word);
        let type_like = !word.is_empty() && (capital || path || known) && !words::is_reserved(word)
            || self.kind() == Kind::OpenBrace
            || self.begins_list();
        if !type_like || self.at_item() {
            return Payload::None;
        }
        let (index, start) = (self.index(), self.span());
        let payload = match word {
            "null" => Payload::Null(self.bump()),
            "" => self.record_payload(message, carries),
            _ if word == "_" || word_meant(word).is_some() => {
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
        let finding = Diagnostic::error(MALFORMED_PAYLOAD, all, "a payload type stands in parentheses");
        let named = word_meant(word);
        let edits = match named {
            Some(named) => vec![Edit::replace(start, format!("({named}")), Edit::after(all, ")")],
            None => vec![Edit::before(all, "("), Edit::after(all, ")")],
        };
        let written = self.sources.slice(all);
        let written = named.map_or_else(|| written.to_owned(), |named| written.replacen(word, named, 1));
        self.report_at(index, finding.suggest(format!("write `({})`", shorten(&written)), edits));
        payload
    }

    /// Whether a list of shapes stands here, and not the level of a message.
    fn begins_list(&mut self) -> bool {
        let is_level = match self.kind_at(1) {
            Kind::Word if matches!(self.word_at(1), "must" | "should") => true,
            Kind::Word => !matches!(
                self.kind_at(2),
                Kind::CloseBracket
                    | Kind::Bar
                    | Kind::OpenBracket
                    | Kind::Comma
                    | Kind::Colon
                    | Kind::Question
            ),
            _ => false,
        };
        self.kind() == Kind::OpenBracket && !is_level && self.lists_shapes()
    }

    /// `name: T, other: T`, with neither the parentheses of a payload nor the braces of a record.
    fn bare_fields(&mut self) -> Payload {
        let (index, start) = (self.index(), self.span());
        let name = shorten(self.word());
        self.records += 1;
        while self.begins_field() {
            self.bump();
            self.eat(Kind::Question);
            self.bump();
            self.shape();
            if self.kind() == Kind::Comma {
                self.bump();
            }
        }
        self.records -= 1;
        let all = start.to(self.previous());
        let edits = [Edit::before(all, "({ "), Edit::after(all, " })")];
        let finding = Diagnostic::error(
            MALFORMED_PAYLOAD,
            start,
            format!("the field `{name}` stands outside of a payload"),
        )
        .label("the parentheses of the payload and the braces of a record are missing");
        self.report_at(index, finding.suggest(format!("write `({{ {name}: … }})`"), edits));
        Payload::Any { optional: false, span: all }
    }

    /// Whether a field stands here, `name: T` or `name?: T`. `a:b` may be a path, if `b` is not a shape.
    fn begins_field(&mut self) -> bool {
        use Kind::{Colon, Number, Open, OpenBrace, OpenBracket, Question, Text, Word};
        let colon = if self.kind_at(1) == Question { 2 } else { 1 };
        if !matches!(self.kind(), Word | Text) || self.kind_at(colon) != Colon {
            return false;
        }
        if self.token_at(colon).end < self.token_at(colon + 1).start || colon == 2 || self.kind() == Text {
            return true;
        }
        match self.kind_at(colon + 1) {
            Open | OpenBrace | OpenBracket | Text | Number => true,
            Word => {
                let word = self.word_at(colon + 1);
                let own = is_built_in(word) || boolean(word).is_some() || word == "map";
                own || self.is_shape(word)
            }
            _ => false,
        }
    }

    /// `(name: T, other: T)`: a record that lacks its braces.
    fn fields_without_braces(&mut self) -> Payload {
        let (index, start) = (self.index(), self.span());
        let name = shorten(self.word());
        let message = format!("the field `{name}` stands where a type is expected");
        let mut inner = 0usize;
        while self.kind() != Kind::EndOfFile && !self.ends_record() {
            match self.kind() {
                Kind::Open => inner += 1,
                Kind::Close if inner == 0 => break,
                Kind::Arrow => break,
                Kind::Close => inner -= 1,
                _ => {}
            }
            self.bump();
        }
        let all = start.to(self.previous());
        let end = if self.eat(Kind::Close).is_some() { " }" } else { " })" };
        let edits = [Edit::before(all, "{ "), Edit::after(all, end)];
        let finding =
            Diagnostic::error(MALFORMED_PAYLOAD, start, message).label("the braces of a record are missing");
        let help = format!("write `({{ {name}: … }})`");
        self.report_at(index, finding.suggest(help, edits));
        Payload::Any { optional: false, span: all }
    }

    /// What stands between the parentheses of a payload.
    fn inside_parentheses(&mut self, message: &str, carries: &str) -> Option<Payload> {
        match self.kind() {
            Kind::OpenBrace => Some(self.record_payload(message, carries)),
            _ if self.begins_positions() => {
                let shape = self.positions_without_brackets();
                Some(Payload::of_shape(message, carries, shape, false))
            }
            _ => self.payload_type(message, carries),
        }
    }

    /// `{ … }`, `{ … }?`
    fn record_payload(&mut self, message: &str, carries: &str) -> Payload {
        let shape = self.shape();
        Payload::of_shape(message, carries, shape, self.eat(Kind::Question).is_some())
    }

    /// A shape that is not a record: a list of a shape, a text, `A | null`. If names in it are not known here, they may be
    /// types of Rust, and it is refused.
    fn unnamed_shape(&mut self, message: &str, carries: &str) -> Option<Payload> {
        let is_shape = match self.kind() {
            Kind::Text | Kind::Number => true,
            Kind::Word if boolean(self.word()).is_some() || self.begins_foreign_shape() => true,
            Kind::Word if self.word() != "_" => self.kind_at(1) == Kind::Bar || self.is_map(),
            Kind::OpenBracket => self.lists_shapes(),
            Kind::Open => !self.holds_payload() && self.lists_shapes(),
            _ => false,
        };
        if !is_shape {
            return None;
        }
        let (index, start) = (self.index(), self.span());
        let shape = self.shape();
        if self.knows(&shape) {
            let optional = self.eat(Kind::Question).is_some();
            return Some(Payload::of_shape(message, carries, shape, optional));
        }
        let all = start.to(self.previous());
        let (name, written) = (name_for(&shape), self.sources.slice(all));
        let message = format!("the shape `{}` has no name", shorten(written));
        let declared = [
            TextChange::Declare { name: name.clone(), item: format!("type {name} = {written}") },
            Edit::replace(all, name.as_str()).into(),
        ];
        let of_types = type_of_rust(&shape, &name).map(|(names, written)| TextChange::OfTypes {
            at: all,
            names,
            written,
        });
        let finding = Diagnostic::error(MALFORMED_PAYLOAD, all, message).changes(
            format!("declare `type {name} = {}` and write `({name})`", shorten(written)),
            of_types.into_iter().chain(declared),
        );
        self.report_at(index, finding);
        Some(Payload::Any { optional: self.eat(Kind::Question).is_some(), span: all })
    }

    /// Whether all names in a shape are of the language, or of shapes that this file declares.
    fn knows(&mut self, shape: &Shape) -> bool {
        match &shape.kind {
            ShapeKind::Named(name) => is_built_in(&name.text) || self.is_shape(&name.text),
            ShapeKind::Literal(..) | ShapeKind::Record(_) => true,
            ShapeKind::List(of) | ShapeKind::Map(of) => self.knows(of),
            ShapeKind::Tuple(_) | ShapeKind::Union(_) => {
                shape.inside().into_iter().all(|part| self.knows(part))
            }
            // What stands there instead was reported.
            ShapeKind::Missing => true,
        }
    }

    /// Whether a list or a parenthesis that begins here has something in it that is a shape, and not a type of Rust.
    fn lists_shapes(&mut self) -> bool {
        let mut ahead = 1;
        let mut in_list = self.kind() == Kind::OpenBracket;
        loop {
            in_list |= self.kind_at(ahead) == Kind::OpenBracket;
            match self.kind_at(ahead) {
                Kind::Text | Kind::Number | Kind::OpenBrace => return true,
                // Only a tuple has labels, and several positions.
                Kind::Comma | Kind::Colon | Kind::Question if ahead > 1 && in_list => return true,
                // Dots before the rest of a tuple.
                Kind::Dot if self.kind_at(ahead - 1) == Kind::OpenBracket => return true,
                Kind::CloseBracket if ahead == 1 => return true,
                Kind::Word => {
                    let word = self.word_at(ahead);
                    let own = is_built_in(word) || boolean(word).is_some() || word == "map";
                    if own || self.is_shape(word) {
                        return true;
                    }
                }
                Kind::OpenBracket | Kind::Open | Kind::Bar => {}
                _ => return false,
            }
            ahead += 1;
        }
    }

    /// Whether `[T]` or `[]` stands here, and nothing else in the parentheses.
    fn is_list_of_one_type(&self) -> bool {
        let closes = if self.kind_at(1) == Kind::Word { 2 } else { 1 };
        self.kind_at(closes) == Kind::CloseBracket
            && matches!(self.kind_at(closes + 1), Kind::Close | Kind::Question)
    }

    /// A list with brackets, where a type of Rust is expected.
    fn list_of_rust(&mut self) -> Payload {
        let (index, start) = (self.index(), self.bump());
        let element = (self.kind() == Kind::Word).then(|| self.take_word());
        let all = start.to(self.bump());
        let finding =
            Diagnostic::error(MALFORMED_PAYLOAD, all, "a list of Rust is not written with brackets");
        let element = element.as_ref().map(|element| element.text.as_str()).filter(|element| *element != "_");
        let found = match element {
            Some(element) => {
                let written = match built_in_meant(element) {
                    Some(element) => format!("[{element}]"),
                    None => format!("Vec<{element}>"),
                };
                finding.suggest(
                    format!("write `({})` for a list", shorten(&written)),
                    [Edit::replace(all, written)],
                )
            }
            None => finding.suggest(
                "write `(_)` for any JSON, or `(Vec<Type>)` for a list of one type",
                [Edit::replace(all, "_")],
            ),
        };
        self.report_at(index, found);
        let optional = self.eat(Kind::Question).is_some();
        Payload::Any { optional, span: all }
    }

    /// Whether `T[]` stands here, and nothing else in the parentheses.
    fn is_list_of_another_language(&self) -> bool {
        self.kind() == Kind::Word
            && (self.kind_at(1), self.kind_at(2)) == (Kind::OpenBracket, Kind::CloseBracket)
            && matches!(self.kind_at(3), Kind::Close | Kind::Question)
    }

    /// `T[]`, which other languages write for a list.
    fn list_of_another_language(&mut self) -> Payload {
        let (index, element) = (self.index(), self.take_word());
        let brackets = self.bump().to(self.bump());
        let all = element.span.to(brackets);
        let shape = built_in_meant(&element.text).or_else(|| {
            (is_built_in(&element.text) || self.is_shape(&element.text)).then_some(&*element.text)
        });
        let written = shape.map_or_else(|| format!("Vec<{}>", element.text), |shape| format!("[{shape}]"));
        let finding = Diagnostic::error(MALFORMED_PAYLOAD, brackets, "`[]` behind a type")
            .suggest(format!("write `({})` for a list", shorten(&written)), [Edit::replace(all, written)]);
        self.report_at(index, finding);
        Payload::Any { optional: self.eat(Kind::Question).is_some(), span: all }
    }

    /// `(T)` around what stands in the parentheses of a payload already. A shape may have them, as anywhere else.
    fn parentheses_again(&mut self, message: &str, carries: &str) -> Option<Payload> {
        let (index, start) = (self.index(), self.span());
        let mut opened = 0usize;
        while self.kind() == Kind::Open && (opened == 0 || self.holds_payload()) {
            self.bump();
            opened += 1;
        }
        let inside = self.span();
        let mut payload = self.inside_parentheses(message, carries)?;
        let mut written = self.sources.slice(inside.to(self.previous())).to_owned();
        while opened > 0 && self.kind() == Kind::Close {
            let behind = if self.kind_at(1) == Kind::Question { 2 } else { 1 };
            // The last one is that of the payload.
            if self.kind_at(behind) != Kind::Close {
                break;
            }
            self.bump();
            opened -= 1;
            if self.eat(Kind::Question).is_some() && !payload.is_optional() {
                payload = payload.made_optional();
                written.push('?');
            }
        }
        if opened > 0 || !matches!(payload, Payload::Shape { .. }) {
            let all = start.to(self.previous());
            let finding = Diagnostic::error(MALFORMED_PAYLOAD, start, "parentheses within parentheses");
            let help = format!("write `({})`", shorten(&written));
            self.report_at(index, finding.suggest(help, [Edit::replace(all, written)]));
        }
        Some(payload)
    }

    fn payload_type(&mut self, message: &str, carries: &str) -> Option<Payload> {
        if let Some(payload) = self.unnamed_shape(message, carries) {
            return Some(payload);
        }
        if self.kind() == Kind::Open {
            return self.parentheses_again(message, carries);
        }
        let start = self.span();
        let alone = matches!(self.kind_at(1), Kind::Close | Kind::Question);
        match self.word() {
            "null" if alone => {
                self.bump();
                if self.kind() == Kind::Question {
                    let finding = Diagnostic::error(
                        MALFORMED_PAYLOAD,
                        self.span(),
                        "a payload of `null` cannot be left out",
                    );
                    self.report(finding.suggest(
                        "delete the `?`, or leave the parentheses out if it has no payload",
                        [Edit::delete(self.span())],
                    ));
                    self.bump();
                }
                Some(Payload::Null(start))
            }
            "_" => {
                self.bump();
                let optional = self.eat(Kind::Question).is_some();
                Some(Payload::Any { optional, span: start.to(self.previous()) })
            }
            _ if self.kind() == Kind::OpenBracket && self.is_list_of_one_type() => Some(self.list_of_rust()),
            _ if self.is_list_of_another_language() => Some(self.list_of_another_language()),
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
                    _ => PAYLOAD_HELP,
                };
                let path = self.rust_path(MALFORMED_PAYLOAD, "the path of a Rust type", help)?;
                Some(Payload::Type { path, optional: self.eat(Kind::Question).is_some() })
            }
        }
    }
}

/// The type of Rust that says the same as a shape if the names in it, which are returned first, are types of Rust.
fn type_of_rust(shape: &Shape, name: &str) -> Option<(Vec<String>, String)> {
    let named = |shape: &Shape| match &shape.kind {
        ShapeKind::Named(name) => Some(name.text.clone()),
        _ => None,
    };
    let ShapeKind::Union(parts) = &shape.kind else { return None };
    let names: Vec<String> = parts.iter().filter_map(named).filter(|name| !is_built_in(name)).collect();
    let nulls = parts.iter().filter(|part| named(part).as_deref() == Some("null")).count();
    if names.is_empty() || names.len() + nulls != parts.len() {
        return None;
    }
    let optional = if nulls > 0 { "?" } else { "" };
    let written = match names.as_slice() {
        [only] => format!("{only}{optional}"),
        _ => format!("{}{optional}", name.trim_end_matches("OrNull")),
    };
    Some((names, written))
}

/// A name for a shape that has none.
fn name_for(shape: &Shape) -> String {
    match &shape.kind {
        ShapeKind::Named(name) => pascal(&name.text),
        ShapeKind::Literal(Literal::Text(text), _) => Some(pascal(text))
            .filter(|name| name.starts_with(char::is_alphabetic))
            .map_or_else(|| "Text".to_owned(), |name| format!("{name}Text")),
        ShapeKind::Literal(Literal::Int(_), _) => "Number".to_owned(),
        ShapeKind::Literal(Literal::Bool(value), _) => pascal(&value.to_string()),
        ShapeKind::List(of) => format!("{}s", name_for(of)),
        ShapeKind::Map(of) => format!("{}Map", name_for(of)),
        ShapeKind::Union(parts) => match parts.as_slice() {
            [one, other] => format!("{}Or{}", name_for(one), name_for(other)),
            _ => "Payload".to_owned(),
        },
        ShapeKind::Tuple(_) | ShapeKind::Record(_) | ShapeKind::Missing => "Payload".to_owned(),
    }
}
