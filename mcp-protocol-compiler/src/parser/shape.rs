//! Shapes: what JSON a payload may be.

use mcp_protocol_machine::protocol::Literal;

use super::codes::{DEEPEST, MALFORMED_SHAPE, MISSPELT_ITEM, RESERVED_WORD, TOO_DEEP, UNCLOSED};
use super::cursor::Parser;
use super::words;
use crate::ast::{
    BUILT_IN, ItemKind, Member, Name, Shape, ShapeField, ShapeKind, boolean, built_in_meant, is_built_in,
};
use crate::declarations::pascal;
use crate::diagnostic::{Code, Diagnostic, Edit, shorten};
use crate::findings::shapes::shape_in_quotes;
use crate::lexer::Kind;
use crate::source::Span;

/// What may stand where a shape is missing.
const SHAPE_HELP: &str = "write `string`, `int`, `bool`, `any`, a text in quotes, a whole number, the name of another \
                          shape, a list `[string]`, or a record `{ name: string }`";

/// How many tokens are looked at to find out whether brackets are closed.
pub(super) const FARTHEST_AHEAD: usize = 200;

impl Parser<'_> {
    /// `type Name = shape`, behind its first word.
    pub(super) fn shape_item(&mut self) -> Option<ItemKind> {
        if self.kind() == Kind::Word && self.kind_at(1) == Kind::DoubleColon {
            let word = self.previous();
            let finding = Diagnostic::error(MISSPELT_ITEM, word, "`type` declares a shape, `type Name = …`");
            self.report(finding.suggest("did you mean `types`?", [Edit::replace(word, "types")]));
            return self.types();
        }
        let word = self.previous();
        let name = self.name("the shape", "write `type Name = …`")?;
        let is_value = boolean(&name.text).is_some();
        if is_built_in(&name.text) || name.text == "map" || is_value {
            let what = if is_value { "a value in JSON" } else { "a shape of the language" };
            let message = format!("`{}` is {what}", name.text);
            let other = format!("{}Value", pascal(&name.text));
            let edit = Edit::replace(name.span, other.as_str());
            let finding = Diagnostic::error(RESERVED_WORD, name.span, message);
            self.report(finding.suggest(format!("choose another name, for instance `{other}`"), [edit]));
        }
        if self.kind() == Kind::OpenBrace {
            let finding = Diagnostic::error(MALFORMED_SHAPE, name.span.after(), "`=` is missing");
            let help = format!("write `type {} = {{ … }}`", shorten(&name.text));
            self.report(finding.suggest(help, [Edit::after(name.span, " =")]));
        } else {
            self.equals(&format!("write `type {} = …`", shorten(&name.text)))?;
        }
        if self.begins_type_at(0) {
            return Some(self.session_type_of_type(word, name));
        }
        let mut body = self.shape();
        if self.kind() == Kind::Question && !self.token().starts_line {
            let mark = self.bump();
            body = self.marked_nullable(mark, body);
        }
        Some(ItemKind::Shape { name, body })
    }

    /// `A | B`
    pub(super) fn shape(&mut self) -> Shape {
        let start = self.span();
        self.eat(Kind::Bar);
        if self.depth >= DEEPEST {
            return self.too_deep(start);
        }
        self.depth += 1;
        let mut parts = vec![self.shape_part()];
        let (index, sign) = (self.index(), self.span());
        while self.eat(Kind::Ampersand).is_some() {
            parts.push(self.shape_part());
        }
        if parts.len() > 1 {
            parts = vec![self.joined_shapes(&parts, index, sign)];
        }
        let mut ors = Vec::new();
        while self.eat(Kind::Bar).is_some() || self.or_between_shapes(&mut ors) {
            parts.push(self.shape_part());
        }
        self.report_or(&ors);
        self.depth -= 1;
        let span = start.to(self.previous());
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                parts.extend(last);
                Shape { kind: ShapeKind::Union(parts), span }
            }
        }
    }

    // What is said of a mistake is in functions of its own: its memory is not that of each level of shapes in one another.

    pub(super) fn too_deep(&mut self, start: Span) -> Shape {
        let message = format!("shapes nest deeper than {DEEPEST}");
        let finding = Diagnostic::error(TOO_DEEP, start, message);
        self.report(finding.help("give an inner shape a name with `type`"));
        self.missing_shape()
    }

    fn underscore(&mut self) -> ShapeKind {
        let (index, span) = (self.index(), self.bump());
        let finding = Diagnostic::error(MALFORMED_SHAPE, span, "`_` is not a shape");
        self.report_at(index, finding.suggest("write `any` for any JSON", [Edit::replace(span, "any")]));
        ShapeKind::Named(Name { text: "any".to_owned(), span })
    }

    /// A record ends where something else begins. Those around it end here, too.
    fn unclosed_record(&mut self, open: Span, help: &str) {
        let finding = Diagnostic::error(UNCLOSED, open, "`{` without `}`");
        let edit = Edit::after(self.previous(), " }".repeat(self.records));
        self.report(finding.suggest(help, [edit]));
    }

    fn missing_shape(&mut self) -> Shape {
        Shape { kind: ShapeKind::Missing, span: self.previous().after() }
    }

    /// One alternative of a shape.
    pub(super) fn shape_part(&mut self) -> Shape {
        let mut part = self.plain_part();
        if self.word() == "as" && !self.token().starts_line {
            self.variant(&mut part);
        }
        self.brackets_behind(part)
    }

    /// `as Ok` behind a text or a number; behind anything else it is reported.
    fn variant(&mut self, part: &mut Shape) {
        let (index, start) = (self.index(), self.bump());
        let named = self.name("the variant", "write `1 as Ok`");
        match &mut part.kind {
            ShapeKind::Literal(_, name) => {
                *name = named.map(Box::new);
                part.span = part.span.to(self.previous());
            }
            _ if named.is_none() => {}
            _ => {
                let span = start.to(self.previous());
                let finding = Diagnostic::error(
                    MALFORMED_SHAPE,
                    span,
                    "only a text or a number has the name of a variant",
                );
                let finding = finding.label("a variant with a value is called after its type");
                self.report_at(index, finding.suggest("delete it", [Edit::delete(span)]));
            }
        }
    }

    fn plain_part(&mut self) -> Shape {
        if let Some(shape) = self.constructed() {
            return shape;
        }
        let start = self.span();
        let kind = match self.kind() {
            Kind::Text => ShapeKind::Literal(self.take_text().text.into(), None),
            Kind::Number => self.number(),
            Kind::OpenBracket => self.brackets(),
            Kind::Open => {
                self.bump();
                let inner = self.shape();
                if self.kind() == Kind::Comma {
                    return self.tuple_in_parentheses(start, inner);
                }
                if self.eat(Kind::Close).is_none() {
                    self.expected(MALFORMED_SHAPE, "`)`", "close the parentheses behind the shape");
                }
                // With the parentheses, so that a comment in them is not taken for one before them.
                return Shape { kind: inner.kind, span: start.to(self.previous()) };
            }
            Kind::OpenBrace => {
                let open = self.bump();
                self.records += 1;
                let members = self.record(open);
                self.records -= 1;
                ShapeKind::Record(members)
            }
            Kind::Question if self.kind_at(1) == Kind::Word && !self.token_at(1).starts_line => {
                let mark = self.bump();
                let shape = self.plain_part();
                return self.marked_nullable(mark, shape);
            }
            Kind::Word if self.is_map() => {
                self.bump();
                if self.kind() == Kind::Less {
                    return self.arguments(start, "map");
                }
                if self.is_key_of_map() {
                    return self.key_of_map(start);
                }
                ShapeKind::Map(Box::new(self.shape_part()))
            }
            Kind::Word if self.word() == "_" => self.underscore(),
            Kind::Word if !self.begins_line_of_item() && !words::is_reserved(self.word()) => {
                let name = self.take_word();
                if let Some(value) = boolean(&name.text) {
                    return Shape { kind: ShapeKind::Literal(value.into(), None), span: start };
                }
                if self.kind() == Kind::Less {
                    return self.arguments(start, &name.text);
                }
                self.limits_behind(&name);
                ShapeKind::Named(name)
            }
            _ => {
                self.expected(MALFORMED_SHAPE, "a shape", SHAPE_HELP);
                let is_word = self.kind() == Kind::Word && !self.at_item();
                if is_word || self.kind() == Kind::Unknown {
                    self.bump();
                }
                return self.missing_shape();
            }
        };
        Shape { kind, span: start.to(self.previous()) }
    }

    /// A whole number: this value and no other.
    fn number(&mut self) -> ShapeKind {
        let start = self.span();
        match self.whole_number(MALFORMED_SHAPE) {
            Ok(number) => ShapeKind::Literal(number.into(), None),
            Err(finding) => {
                let span = start.to(self.previous());
                let edit = Edit::replace(span, "number");
                self.findings.push(finding.suggest("write `number` for any number", [edit]));
                ShapeKind::Named(Name { text: "number".to_owned(), span })
            }
        }
    }

    /// A whole number of 64 bits, or what is wrong with the number that stands here.
    pub(super) fn whole_number(&mut self, code: Code) -> Result<i64, Diagnostic> {
        let start = self.span();
        let written = self.sources.slice(self.bump());
        let digits = written.trim_start_matches(|sign: char| !sign.is_ascii_digit());
        let sign = if digits.len() < written.len() { "-" } else { "" };
        let whole: Option<i64> = format!("{sign}{digits}").parse().ok();
        let mut is_fraction = false;
        if self.kind() == Kind::Dot && self.kind_at(1) == Kind::Number {
            self.bump();
            let fraction = self.sources.slice(self.bump());
            is_fraction = fraction.contains(|digit| digit != '0');
            if let (Some(number), false) = (whole, is_fraction) {
                let span = start.to(self.previous());
                let finding = Diagnostic::error(code, span, "a whole number with a point");
                let edit = Edit::replace(span, number.to_string());
                self.findings.push(
                    finding
                        .label("a peer may write it so")
                        .suggest(format!("write `{number}`, which is the same number"), [edit]),
                );
            }
        }
        let span = start.to(self.previous());
        let what = match whole {
            Some(number) if !is_fraction => return Ok(number),
            _ if is_fraction => "a number that is not whole cannot be one value and no other",
            _ => "a number beyond 64 bits cannot be one value and no other",
        };
        Err(Diagnostic::error(code, span, what).label("a text, `true`, `false` or a whole number can"))
    }

    /// Whether `map` stands here with what its values are.
    pub(super) fn is_map(&self) -> bool {
        use Kind::{Less, Number, Open, OpenBrace, OpenBracket, Text, Word};
        let next = self.token_at(1);
        self.word() == "map"
            && match next.kind {
                Open | OpenBrace | OpenBracket => true,
                // In a new line a word begins another item.
                Word | Text | Number | Less => !next.starts_line,
                _ => false,
            }
    }

    /// Whether `[string]` and another shape stand here, behind `map` and with no space between them.
    fn is_key_of_map(&self) -> bool {
        let (open, close, value) = (self.token(), self.token_at(2), self.token_at(3));
        open.kind == Kind::OpenBracket
            && open.start == self.previous().end
            && self.kind_at(1) == Kind::Word
            && close.kind == Kind::CloseBracket
            && close.end == value.start
            && matches!(value.kind, Kind::Word | Kind::OpenBrace | Kind::OpenBracket)
    }

    /// `map[string]number`, behind its first word.
    fn key_of_map(&mut self, start: Span) -> Shape {
        let key = self.bump().to(self.token_at(1).span(self.file));
        self.bump();
        self.bump();
        let value = self.shape_part();
        let all = start.to(self.previous());
        let written = shorten(self.sources.slice(value.span));
        let finding = Diagnostic::error(MALFORMED_SHAPE, key, "`map` does not say what its keys are");
        self.findings.push(
            finding
                .label("keys are always texts")
                .suggest(format!("write `map {written}`"), [Edit::replace(key, " ")]),
        );
        Shape { kind: ShapeKind::Map(Box::new(value)), span: all }
    }

    /// `[key: string]: number`, which stands for any keys elsewhere.
    fn index_signature(&mut self, open: Span, is_first: bool) {
        let (index, start) = (self.index(), self.span());
        for _ in 0..6 {
            self.bump();
        }
        let key = start.to(self.previous());
        let value = self.shape();
        let written = self.sources.slice(value.span);
        let finding = Diagnostic::error(MALFORMED_SHAPE, key, "the keys of a record are names");
        let is_only = is_first
            && (self.kind() == Kind::CloseBrace
                || self.kind() == Kind::Comma && self.kind_at(1) == Kind::CloseBrace);
        let finding = if is_only {
            self.eat(Kind::Comma);
            let all = open.to(self.span());
            let help = format!("write `map {}` for any keys", shorten(written));
            finding.suggest(help, [Edit::replace(all, format!("map {written}"))])
        } else {
            let all = start.to(self.previous());
            finding.suggest(
                "write `..rest` to keep the members that the record does not know",
                [Edit::replace(all, "..rest")],
            )
        };
        self.report_at(index, finding);
    }

    /// Whether `[key: string]:` stands here.
    fn at_index_signature(&self) -> bool {
        use Kind::{CloseBracket, Colon, OpenBracket, Word};
        [OpenBracket, Word, Colon, Word, CloseBracket, Colon]
            .into_iter()
            .enumerate()
            .all(|(ahead, kind)| self.kind_at(ahead) == kind)
    }

    /// What stands between the braces of a record, and the closing one.
    fn record(&mut self, open: Span) -> Vec<Member> {
        let mut typed = Vec::new();
        let members = self.members(open, &mut typed);
        self.report_typed_fields(open, typed);
        members
    }

    /// The same; `typed` gets the fields whose types stand before their names.
    fn members(&mut self, open: Span, typed: &mut Vec<(Span, String)>) -> Vec<Member> {
        let mut members = Vec::new();
        loop {
            match self.kind() {
                Kind::CloseBrace => {
                    self.bump();
                    return members;
                }
                Kind::EndOfFile => {
                    let finding = Diagnostic::error(UNCLOSED, open, "`{` without `}`");
                    self.report(finding.help("write `}` behind the last field"));
                    return members;
                }
                Kind::Word if self.ends_record() => {
                    self.unclosed_record(open, "write `}` before the next item");
                    return members;
                }
                Kind::Close if self.ends_payload() => {
                    self.unclosed_record(open, "write `}` before `)`");
                    return members;
                }
                Kind::Word | Kind::Text | Kind::Question => {
                    let foreign = self.foreign_field(typed);
                    members.extend(foreign.or_else(|| self.own_field()).map(Member::Field));
                }
                Kind::Dot if self.kind_at(1) == Kind::Dot || self.sources.slice(self.span()) == "…" => {
                    members.extend(self.dots());
                }
                Kind::OpenBracket if self.at_index_signature() => {
                    self.index_signature(open, members.is_empty());
                }
                _ => self.no_field(),
            }
            self.comma();
        }
    }

    /// The field that begins here.
    fn own_field(&mut self) -> Option<ShapeField> {
        if self.kind() == Kind::Question {
            self.no_field();
            return None;
        }
        Some(self.field("key"))
    }

    fn no_field(&mut self) {
        let help = "a field is written `name: shape`, or `name?: shape`";
        self.expected(MALFORMED_SHAPE, "a field", help);
        self.skip_member();
    }

    /// Whether a line begins here with what is the beginning of an item, and of no field.
    pub(super) fn ends_record(&self) -> bool {
        use Kind::{
            Close, CloseBrace, Comma, EndOfFile, Equals, Exclamation, Mu, Open, Question, Star, Text, Word,
        };
        let (next, behind) = (self.kind_at(1), self.kind_at(2));
        self.token().starts_line
            && match self.word() {
                "import" => next == Text,
                "request" | "notification" => next == Text || next == Word && behind == Text,
                "override" => next == Word && words::ITEMS.contains(&self.word_at(1)),
                "open" => self.word_at(1) == "key",
                "type" | "key" | "group" | "capabilities" => next == Word && behind == Equals,
                "client" | "server" | "protocol" | "types" => {
                    next == Word && !matches!(behind, Comma | CloseBrace | Close | EndOfFile)
                }
                "" => false,
                // A definition.
                _ => next == Equals && matches!(behind, Exclamation | Question | Star | Open | Mu),
            }
    }

    /// Whether a `)` stands here that closes the payload around a record, and not one that is too much in it.
    fn ends_payload(&self) -> bool {
        let goes_on = matches!(self.kind_at(1), Kind::CloseBrace | Kind::Comma | Kind::Close);
        self.in_payload && self.kind() == Kind::Close && !goes_on
    }

    /// The comma behind a member.
    fn comma(&mut self) {
        if self.eat(Kind::Comma).is_some()
            || matches!(self.kind(), Kind::CloseBrace | Kind::EndOfFile)
            || self.ends_record()
            || self.ends_payload()
        {
            return;
        }
        let behind = self.previous();
        if matches!(self.kind(), Kind::Word | Kind::Text | Kind::Dot) {
            let finding = Diagnostic::error(MALFORMED_SHAPE, behind.after(), "`,` is missing");
            self.report(finding.suggest("write `,` between fields", [Edit::after(behind, ",")]));
            return;
        }
        self.expected(MALFORMED_SHAPE, "`,` or `}`", "write `,` between fields, and `}` behind the last");
        self.skip_member();
        self.eat(Kind::Comma);
    }

    /// Goes to the next comma or brace of the record that holds this place.
    fn skip_member(&mut self) {
        let mut inner = 0usize;
        loop {
            match self.kind() {
                Kind::EndOfFile => return,
                Kind::OpenBrace => inner += 1,
                Kind::CloseBrace | Kind::Comma if inner == 0 => return,
                Kind::CloseBrace => inner -= 1,
                Kind::Word if self.ends_record() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether the parenthesis that begins here holds all of the payload.
    pub(super) fn holds_payload(&self) -> bool {
        self.behind_brackets().is_some_and(|ahead| {
            let behind = if self.kind_at(ahead) == Kind::Question { ahead + 1 } else { ahead };
            self.kind_at(behind) == Kind::Close
        })
    }

    /// How far ahead what stands behind the brackets that begin here is.
    pub(super) fn behind_brackets(&self) -> Option<usize> {
        let mut inner = 0usize;
        for ahead in 0..FARTHEST_AHEAD {
            match self.kind_at(ahead) {
                Kind::OpenBracket | Kind::OpenBrace | Kind::Open => inner += 1,
                Kind::CloseBracket | Kind::CloseBrace | Kind::Close if inner > 1 => inner -= 1,
                Kind::CloseBracket | Kind::CloseBrace | Kind::Close => return Some(ahead + 1),
                Kind::EndOfFile => return None,
                _ => {}
            }
        }
        None
    }

    /// `key: shape`, `key?: shape`; `what` is what stands before the `:`.
    pub(super) fn field(&mut self, what: &str) -> ShapeField {
        let documentation = self.take_documentation();
        let is_quoted = self.kind() == Kind::Text;
        let name = if is_quoted { self.take_text() } else { self.take_word() };
        self.mark_of_required();
        let mut optional = self.eat(Kind::Question).is_some();
        if self.eat(Kind::Colon).is_none() {
            let shown = shorten(&name.text);
            if self.kind() == Kind::Equals {
                let equals = self.bump();
                let finding = Diagnostic::error(MALFORMED_SHAPE, equals, "`=` where `:` is meant");
                self.findings.push(finding.suggest("write `:`", [Edit::replace(equals, ":")]));
            } else if self.begins_shape() {
                let behind = self.previous();
                let finding = Diagnostic::error(MALFORMED_SHAPE, behind.after(), "`:` is missing");
                self.report(finding.suggest(format!("write `{shown}: …`"), [Edit::after(behind, ":")]));
            } else {
                let help = format!("write `{shown}: string`, or what else its value is");
                self.expected(MALFORMED_SHAPE, "`:`", &help);
                let shape = self.missing_shape();
                return ShapeField { documentation, name, optional, shape };
            }
        }
        let shape = self.shape();
        let needless = is_quoted && name.text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        if let ShapeKind::Literal(Literal::Text(text), None) = &shape.kind
            && let Some(meant) =
                BUILT_IN.iter().find(|own| **own == &**text).copied().or(built_in_meant(text))
            && needless
        {
            self.findings.push(shape_in_quotes(&name, shape.span, meant));
        }
        self.mark_of_required();
        if self.kind() == Kind::Question {
            let mark = self.bump();
            let finding = Diagnostic::error(MALFORMED_SHAPE, mark, format!("`?` stands behind the {what}"));
            let mut edits = vec![Edit::delete(mark)];
            edits.extend((!optional).then(|| Edit::after(name.span, "?")));
            self.findings.push(finding.suggest(format!("write `{}?: …`", shorten(&name.text)), edits));
            optional = true;
        }
        let absent = (!optional).then(|| Edit::after(name.span, "?"));
        optional |= self.default(what, &format!("{}?: …", shorten(&name.text)), absent);
        ShapeField { documentation, name, optional, shape }
    }

    /// Takes the `= value` that other languages write behind what may be absent, and reports it; nothing if none stands
    /// here. `absent` is what is missing of what is written here for that.
    pub(super) fn default(&mut self, what: &str, written: &str, absent: Option<Edit>) -> bool {
        let is_word =
            self.word() == "default" && matches!(self.kind_at(1), Kind::Text | Kind::Number | Kind::Word);
        if self.kind() != Kind::Equals && (!is_word || self.token().starts_line) {
            return false;
        }
        let equals = self.bump();
        let mut inner = 0usize;
        while self.kind() != Kind::EndOfFile && !(self.kind() == Kind::Word && self.ends_record()) {
            match self.kind() {
                Kind::OpenBracket | Kind::OpenBrace | Kind::Open => inner += 1,
                Kind::CloseBracket | Kind::CloseBrace | Kind::Close | Kind::Comma if inner == 0 => break,
                Kind::CloseBracket | Kind::CloseBrace | Kind::Close => inner -= 1,
                _ if inner == 0 && self.token().starts_line => break,
                _ => {}
            }
            self.bump();
        }
        let all = equals.to(self.previous());
        let message = format!("a {} has no default", if what == "key" { "field" } else { "position" });
        let help = match absent {
            Some(_) => format!("write `{written}` if it may be left out, and delete the default"),
            None => "delete it".to_owned(),
        };
        let edits = absent.into_iter().chain([Edit::delete(all)]);
        let finding = Diagnostic::error(MALFORMED_SHAPE, all, message);
        self.findings
            .push(finding.label("what is left out means what the peers agree on").suggest(help, edits));
        true
    }

    /// Whether a shape begins here, in the line of what stands before it.
    fn begins_shape(&self) -> bool {
        use Kind::{Number, Open, OpenBrace, OpenBracket, Text, Word};
        let begins = matches!(self.kind(), Word | Text | Number | Open | OpenBrace | OpenBracket);
        begins && !self.token().starts_line
    }

    /// `...Name`, `..rest`
    fn dots(&mut self) -> Option<Member> {
        let start = self.span();
        let mut dots = 0usize;
        while self.eat(Kind::Dot).is_some() {
            dots += 1;
        }
        let all = start.to(self.previous());
        if matches!(self.kind(), Kind::CloseBrace | Kind::Comma) {
            let finding = Diagnostic::error(MALFORMED_SHAPE, all, "dots without a name");
            self.report(finding.suggest(
                "write `..rest` to keep the members that the record does not know, or `...Name` for the fields of another \
                 record",
                [Edit::replace(all, "..rest")],
            ));
            return Some(Member::Rest(all));
        }
        if self.kind() != Kind::Word {
            self.expected(
                MALFORMED_SHAPE,
                "the name of a record",
                "write `...Name` for the fields of another record, `..rest` to keep unknown ones",
            );
            self.skip_member();
            return None;
        }
        let is_rest = self.word() == "rest";
        // One character that shows three dots is a token as one dot is.
        let is_ellipsis = self.sources.slice(all).contains('…');
        if is_ellipsis || dots != if is_rest { 2 } else { 3 } {
            let written = if is_rest { ".." } else { "..." };
            let before = shorten(self.word());
            let message = match is_ellipsis {
                true => format!("`…` before `{before}`, one character in place of dots"),
                false => format!("{dots} dots before `{before}`"),
            };
            let help = match is_rest {
                true => "write `..rest` to keep the members that the record does not know".to_owned(),
                false => format!("write `...{}` for the fields of another record", shorten(self.word())),
            };
            let finding = Diagnostic::error(MALFORMED_SHAPE, all, message);
            self.report(finding.suggest(help, [Edit::replace(all, written)]));
        }
        let name = self.take_word();
        let span = start.to(name.span);
        Some(if is_rest { Member::Rest(span) } else { Member::Spread { name, span } })
    }
}
