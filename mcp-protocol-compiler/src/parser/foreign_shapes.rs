//! Shapes as other languages would write them: each is read as what it means, and reported once, with what to write.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Literal;

use super::codes::MALFORMED_SHAPE;
use super::cursor::Parser;
use super::words;
use crate::ast::{Member, Name, Shape, ShapeField, ShapeKind, TuplePosition, built_in_meant, is_built_in};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::format;
use crate::lexer::{Kind, UNKNOWN_CHARACTER};
use crate::source::Span;

/// How many shapes of other languages within one another are read.
const DEEPEST_TRANSLATED: usize = 16;

/// What a word before brackets, or before a shape, makes of what stands behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Constructor {
    /// One of several: words in it are texts.
    Texts,
    /// One of several shapes.
    Union,
    List,
    Map,
    Tuple,
    Nullable,
    /// What stands behind it, as it is.
    Same,
}

impl Constructor {
    /// What a word means elsewhere.
    pub(super) fn of(word: &str) -> Option<Constructor> {
        Some(match word {
            "enum" | "Enum" | "literal" | "Literal" | "const" | "Const" => Constructor::Texts,
            "oneof" | "oneOf" | "OneOf" | "anyof" | "anyOf" | "AnyOf" | "union" | "Union" => {
                Constructor::Union
            }
            "list" | "List" | "array" | "Array" | "Vec" | "vec" | "Set" | "Sequence" | "seq" => {
                Constructor::List
            }
            "map" | "Map" | "dict" | "Dict" | "Record" | "HashMap" | "BTreeMap" => Constructor::Map,
            "tuple" | "Tuple" => Constructor::Tuple,
            "Option" | "Optional" | "optional" | "Maybe" | "maybe" | "Nullable" | "nullable" => {
                Constructor::Nullable
            }
            "Box" | "Arc" | "Rc" | "Promise" | "Readonly" | "Partial" | "record" | "struct" | "interface"
            | "object" => Constructor::Same,
            _ => return None,
        })
    }

    /// The shape that is meant.
    fn shape(self, mut parts: Vec<Shape>) -> ShapeKind {
        if self == Constructor::Tuple {
            let unlabelled = |shape| TuplePosition::plain(shape);
            return ShapeKind::Tuple(parts.into_iter().map(unlabelled).collect());
        }
        let Some(last) = parts.pop() else { return ShapeKind::Missing };
        let boxed = |shape: Shape| Box::new(shape);
        match self {
            Constructor::Map => ShapeKind::Map(boxed(last)),
            Constructor::List if parts.is_empty() => ShapeKind::List(boxed(last)),
            Constructor::Nullable => or_null(last).kind,
            _ => {
                let span = last.span;
                parts.push(last);
                let kind = union(parts);
                match self {
                    Constructor::List => ShapeKind::List(boxed(Shape { kind, span })),
                    _ => kind,
                }
            }
        }
    }
}

impl Parser<'_> {
    /// `enum("a", "b")`, `List[string]`, `optional string`: takes all of it, where such a word stands here.
    pub(super) fn constructed(&mut self) -> Option<Shape> {
        let word = self.word();
        let constructor = Constructor::of(word)?;
        let colon = usize::from(self.kind_at(1) == Kind::Colon && self.kind_at(2) == Kind::OpenBracket);
        let next = self.token_at(1 + colon);
        if next.starts_line || self.is_shape(word) {
            return None;
        }
        // What is a map in this language, too.
        let close = match next.kind {
            Kind::Open if word != "map" || self.has_comma_in_brackets() => Kind::Close,
            Kind::OpenBracket if word != "map" => Kind::CloseBracket,
            Kind::OpenBrace if word != "map" => Kind::CloseBrace,
            Kind::Word | Kind::Text | Kind::Number if colon == 0 => {
                return self.constructed_by_word(constructor);
            }
            _ => return None,
        };
        let is_record =
            close == Kind::CloseBrace && !matches!(constructor, Constructor::Texts | Constructor::Union);
        Some(self.translated(|parser| {
            for _ in 0..=colon {
                parser.bump();
            }
            let parts = match is_record {
                true => vec![parser.shape_part()],
                false => {
                    parser.bump();
                    parser.parts_of_constructor(close, constructor)
                }
            };
            constructor.shape(parts)
        }))
    }

    /// `optional string`, `list of string`, `const "a"`
    fn constructed_by_word(&mut self, constructor: Constructor) -> Option<Shape> {
        let of = usize::from(self.word_at(1) == "of");
        let next = self.token_at(1 + of);
        let begins = match next.kind {
            Kind::Word => {
                let word = self.word_at(1 + of);
                !words::is_reserved(word) && self.kind_at(2 + of) != Kind::Equals
            }
            Kind::Text | Kind::Number => constructor == Constructor::Texts,
            Kind::OpenBrace | Kind::OpenBracket => of > 0,
            _ => false,
        };
        let takes_words = match constructor {
            Constructor::Nullable => true,
            Constructor::List | Constructor::Map => of > 0,
            Constructor::Texts => next.kind != Kind::Word,
            _ => false,
        };
        if !begins || !takes_words || next.starts_line {
            return None;
        }
        Some(self.translated(|parser| {
            for _ in 0..=of {
                parser.bump();
            }
            let part = parser.shape_part();
            constructor.shape(vec![part])
        }))
    }

    /// `Array<T>`, `map<string, T>`, behind the first word: what other languages write for a list and a map.
    pub(super) fn arguments(&mut self, start: Span, name: &str) -> Shape {
        let constructor = Constructor::of(name).unwrap_or(Constructor::List);
        let less = self.span();
        let shape = self.read_as_meant(start, |parser| {
            parser.bump();
            let parts = parser.parts_of_constructor(Kind::Greater, constructor);
            constructor.shape(parts)
        });
        let otherwise = match constructor {
            Constructor::Nullable => " for what may be `null`; what may be left out has `?` behind its name",
            Constructor::Map => " for a map",
            Constructor::List => " for a list",
            _ => "",
        };
        self.say_as_meant(&shape, less, format!("`{}` takes no arguments", shorten(name)), otherwise);
        shape
    }

    /// What stands in brackets, and the bracket that closes them.
    fn parts_of_constructor(&mut self, close: Kind, constructor: Constructor) -> Vec<Shape> {
        let mut parts = Vec::new();
        while self.kind() != close && !self.begins_line_of_item() {
            let word = self.word();
            let is_text = constructor == Constructor::Texts
                && !word.is_empty()
                && !is_built_in(word)
                && !words::is_reserved(word)
                && !self.is_shape(word);
            let part = match is_text {
                true => {
                    let name = self.take_word();
                    Shape { kind: ShapeKind::Literal(Literal::Text(name.text.into()), None), span: name.span }
                }
                false => self.shape(),
            };
            parts.push(part);
            // The numbers of an `enum` are not in its JSON.
            if is_text && self.eat(Kind::Equals).is_some() {
                self.bump();
            }
            if self.eat(Kind::Comma).is_none() && self.eat(Kind::Bar).is_none() {
                break;
            }
        }
        if self.eat(close).is_none() {
            let sign = match close {
                Kind::Close => "`)`",
                Kind::CloseBracket => "`]`",
                Kind::CloseBrace => "`}`",
                _ => "`>`",
            };
            self.expected(MALFORMED_SHAPE, sign, &format!("write {sign} behind the last of them"));
            parts.push(Shape::missing(self.previous().after()));
        }
        parts
    }

    /// Reads a shape that another language would write so, and reports it.
    fn translated(&mut self, read: impl FnOnce(&mut Self) -> ShapeKind) -> Shape {
        let start = self.span();
        let word = shorten(self.word());
        let shape = self.read_as_meant(start, read);
        self.say_as_meant(&shape, start, format!("`{word}` is not written before a shape"), "");
        shape
    }

    /// Reads a shape as what it means. What stands in it that other languages write is part of the mistake around it.
    fn read_as_meant(&mut self, start: Span, read: impl FnOnce(&mut Self) -> ShapeKind) -> Shape {
        if self.translating >= DEEPEST_TRANSLATED {
            let shape = self.too_deep(start);
            self.bump();
            return shape;
        }
        self.translating += 1;
        let kind = read(self);
        self.translating -= 1;
        let mut shape = Shape { kind, span: start.to(self.previous()) };
        if self.translating == 0 {
            self.name_as_here(&mut shape);
        }
        shape
    }

    /// Says what is written here for a shape. Where something in it could not be read, that has been reported.
    fn say_as_meant(&mut self, shape: &Shape, at: Span, message: String, otherwise: &str) {
        self.say_written(shape, at, message, format::shape(shape), otherwise);
    }

    /// The same, where what is written here for the shape depends on what stands around it.
    fn say_written(&mut self, shape: &Shape, at: Span, message: String, written: String, otherwise: &str) {
        if self.translating > 0 || has_missing(shape) {
            return;
        }
        let help = format!("write `{}`{otherwise}", shorten(&written));
        let has_comment = self.sources.slice(shape.span).contains("--");
        let edit = (!has_comment).then(|| Edit::replace(shape.span, written));
        self.findings.push(Diagnostic::error(MALFORMED_SHAPE, at, message).suggest(help, edit));
    }

    /// Puts the names of this language in place of those that others have for its own shapes.
    fn name_as_here(&mut self, shape: &mut Shape) {
        match &mut shape.kind {
            ShapeKind::Named(name) => {
                if let Some(own) = built_in_meant(&name.text).filter(|_| !self.is_shape(&name.text)) {
                    own.clone_into(&mut name.text);
                }
            }
            ShapeKind::List(of) | ShapeKind::Map(of) => self.name_as_here(of),
            ShapeKind::Union(parts) => parts.iter_mut().for_each(|part| self.name_as_here(part)),
            ShapeKind::Tuple(positions) => {
                positions.iter_mut().for_each(|position| self.name_as_here(&mut position.shape));
            }
            ShapeKind::Record(members) => members.iter_mut().for_each(|member| {
                if let Member::Field(field) = member {
                    self.name_as_here(&mut field.shape);
                }
            }),
            ShapeKind::Literal(..) | ShapeKind::Missing => {}
        }
    }

    /// `[]` right behind a shape, as often as it stands there.
    pub(super) fn brackets_behind(&mut self, mut shape: Shape) -> Shape {
        let (start, first) = (shape.span, self.span());
        let is_here = |parser: &Self| {
            parser.kind() == Kind::OpenBracket
                && parser.kind_at(1) == Kind::CloseBracket
                && parser.span().start == parser.previous().end
        };
        if !is_here(self) {
            return shape;
        }
        let mut count = 0usize;
        while is_here(self) {
            self.bump();
            self.bump();
            count += 1;
        }
        let span = start.to(self.previous());
        // Lists in one another are as deep as what is written here may be.
        for _ in 0..count.min(super::codes::DEEPEST) {
            shape = Shape { kind: ShapeKind::List(Box::new(shape)), span };
        }
        if self.translating == 0 {
            self.name_as_here(&mut shape);
        }
        self.say_as_meant(&shape, first.to(self.previous()), "`[]` behind a shape".to_owned(), " for a list");
        shape
    }

    /// `?string`, `string?`: what may be `null` in other languages. The sign is at `mark`.
    pub(super) fn marked_nullable(&mut self, mark: Span, shape: Shape) -> Shape {
        let span = Span { start: mark.start.min(shape.span.start), ..mark }.to(self.previous());
        let shape = Shape { span, ..or_null(shape) };
        let otherwise = " for what may be `null`; what may be left out has `?` behind its name";
        self.say_as_meant(&shape, mark, "`?` at a shape".to_owned(), otherwise);
        shape
    }

    /// Takes `or` between two shapes, which is written `|`, and returns whether it stood here.
    pub(super) fn or_between_shapes(&mut self, words: &mut Vec<Span>) -> bool {
        let next = self.token_at(1);
        let begins = match next.kind {
            Kind::Word => !matches!(self.kind_at(2), Kind::Equals | Kind::Colon | Kind::Question),
            Kind::Text | Kind::Number | Kind::OpenBrace | Kind::OpenBracket | Kind::Open => true,
            _ => false,
        };
        let is_or = self.word() == "or" && !self.token().starts_line && begins && !next.starts_line;
        if is_or {
            words.push(self.bump());
        }
        is_or
    }

    /// Reports `or` between shapes, once for all that stand in one.
    pub(super) fn report_or(&mut self, words: &[Span]) {
        let Some(first) = words.first() else { return };
        if self.translating == 0 {
            let edits = words.iter().map(|word| Edit::replace(*word, "|"));
            let finding = Diagnostic::error(MALFORMED_SHAPE, *first, "`or` between shapes");
            self.findings.push(finding.suggest("write `|`", edits));
        }
    }

    /// `(A, B)`, behind its first shape: a tuple, whose brackets are others here.
    pub(super) fn tuple_in_parentheses(&mut self, start: Span, first: Shape) -> Shape {
        let shape = self.read_as_meant(start, |parser| {
            parser.bump();
            let mut parts = vec![first];
            parts.extend(parser.parts_of_constructor(Kind::Close, Constructor::Tuple));
            Constructor::Tuple.shape(parts)
        });
        let message = "a tuple stands in brackets".to_owned();
        self.say_as_meant(&shape, start, message, " for a list with these positions");
        shape
    }

    /// `...string[]`, as TypeScript writes a rest: the shape of each element, whose span has what makes a list of it.
    pub(super) fn list_as_rest(&mut self, mut each: Shape, list: &str) -> Shape {
        if self.translating == 0 {
            self.name_as_here(&mut each);
        }
        let written = format::shape(&each);
        let written = if matches!(each.kind, ShapeKind::Union(_)) { format!("({written})") } else { written };
        let otherwise = ", the shape of each of these elements";
        self.say_written(&each, each.span, format!("`{list}` for the rest of a tuple"), written, otherwise);
        each
    }

    /// Brackets with a rest that no tuple has: `[...Operation]`, `[...string, int]`. They are taken for a list of what may stand in
    /// any position.
    pub(super) fn list_for_rest(
        &mut self,
        open: Span,
        (dots, message): (Span, &str),
        positions: Vec<TuplePosition>,
    ) -> ShapeKind {
        let span = open.to(self.previous());
        let (mut parts, mut known) = (Vec::new(), HashSet::new());
        for part in positions.into_iter().map(|position| position.shape) {
            let alternatives = match part.kind {
                ShapeKind::Union(inner) => inner,
                _ => vec![part],
            };
            for mut part in alternatives {
                self.name_as_here(&mut part);
                if known.insert(format::shape(&part)) {
                    parts.push(part);
                }
            }
        }
        let kind = ShapeKind::List(Box::new(Shape { kind: union(parts), span }));
        let shape = Shape { kind: kind.clone(), span };
        self.say_as_meant(&shape, dots, message.to_owned(), " for a list of any length");
        kind
    }

    /// Whether a comma stands in the brackets that begin behind this word, and not within others.
    fn has_comma_in_brackets(&self) -> bool {
        let mut inner = 0usize;
        for ahead in 1..60 {
            match self.kind_at(ahead) {
                Kind::Open | Kind::OpenBrace | Kind::OpenBracket => inner += 1,
                Kind::Comma if inner == 1 => return true,
                Kind::Close | Kind::CloseBrace | Kind::CloseBracket if inner <= 1 => return false,
                Kind::Close | Kind::CloseBrace | Kind::CloseBracket => inner -= 1,
                Kind::EndOfFile => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether a shape of another language begins a payload here that has no name.
    pub(super) fn begins_foreign_shape(&self) -> bool {
        let is_constructor = Constructor::of(self.word()).is_some()
            && matches!(self.kind_at(1), Kind::Open | Kind::OpenBracket | Kind::OpenBrace);
        let is_generic = Constructor::of(self.word()).is_some()
            && self.kind_at(1) == Kind::Less
            && self.has_shape_argument();
        let is_or =
            self.word_at(1) == "or" && matches!(self.kind_at(2), Kind::Word | Kind::Text | Kind::Number);
        is_constructor || is_generic || is_or
    }

    /// Whether the arguments that begin behind this word name a shape of this language, and no type of Rust.
    fn has_shape_argument(&self) -> bool {
        // Types of Rust have others of Rust for arguments.
        let of_rust = matches!(self.word(), "Vec" | "Option" | "Box" | "HashMap" | "BTreeMap" | "Arc" | "Rc");
        let arguments =
            (2..24).take_while(|ahead| !matches!(self.kind_at(*ahead), Kind::Close | Kind::EndOfFile));
        let mut arguments = arguments.map(|ahead| (self.kind_at(ahead), self.word_at(ahead)));
        arguments.any(|(kind, word)| {
            matches!(kind, Kind::OpenBrace | Kind::OpenBracket | Kind::Text) || !of_rust && is_built_in(word)
        })
    }

    /// Whether `string, int)` stands here, the shapes of several params.
    pub(super) fn begins_positions(&self) -> bool {
        let is_own = is_built_in(self.word()) || matches!(self.kind(), Kind::Text | Kind::Number);
        is_own && self.kind_at(1) == Kind::Comma && !matches!(self.kind_at(2), Kind::Close | Kind::EndOfFile)
    }

    /// `string, int`, up to the parenthesis that closes the payload: a tuple without its brackets.
    pub(super) fn positions_without_brackets(&mut self) -> Shape {
        let start = self.span();
        let shape = self.read_as_meant(start, |parser| {
            let mut parts = vec![parser.shape()];
            while parser.eat(Kind::Comma).is_some() && parser.kind() != Kind::Close {
                parts.push(parser.shape());
            }
            Constructor::Tuple.shape(parts)
        });
        self.say_as_meant(&shape, start, "several params stand in brackets".to_owned(), "");
        shape
    }

    /// `(64)` right behind the name of a shape.
    pub(super) fn limits_behind(&mut self, name: &Name) {
        let adjacent = self.kind() == Kind::Open && self.span().start == name.span.end;
        let is_limit = matches!(self.kind_at(1), Kind::Number | Kind::Close) && is_built_in(&name.text);
        let Some(behind) = self.behind_brackets().filter(|_| adjacent && is_limit) else { return };
        let start = self.span();
        for _ in 0..behind {
            self.bump();
        }
        let all = start.to(self.previous());
        let shown = shorten(&name.text);
        let finding = Diagnostic::error(MALFORMED_SHAPE, all, format!("parentheses behind `{shown}`"))
            .label("a shape has no limits");
        self.findings.push(finding.suggest("delete them", [Edit::delete(all)]));
    }

    /// `!` right behind a shape or the name of a field, which must be there anyway.
    pub(super) fn mark_of_required(&mut self) {
        if self.kind() != Kind::Exclamation || self.span().start != self.previous().end {
            return;
        }
        let mark = self.bump();
        let finding = Diagnostic::error(MALFORMED_SHAPE, mark, "`!` in a field")
            .label("a field without `?` must be there, and is not `null`");
        self.findings.push(finding.suggest("delete it", [Edit::delete(mark)]));
    }

    // Fields

    /// `?name: shape`, `optional name: shape`, `repeated string name = 1`: a field as other languages write it, if one
    /// stands here.
    pub(super) fn foreign_field(&mut self, typed: &mut Vec<(Span, String)>) -> Option<ShapeField> {
        let marked = self.kind() == Kind::Question && self.kind_at(1) == Kind::Word;
        let is_word = matches!(
            self.word(),
            "optional" | "required" | "readonly" | "const" | "repeated" | "public" | "private" | "nullable"
        );
        let name = self.token_at(1);
        let is_name = matches!(name.kind, Kind::Word | Kind::Text) && !name.starts_line;
        let colon = if self.kind_at(2) == Kind::Question { 3 } else { 2 };
        if marked || is_word && is_name && self.kind_at(colon) == Kind::Colon {
            return Some(self.marked_field());
        }
        let before = usize::from(is_word);
        let has_kinds = |kinds: &[Kind]| {
            kinds.iter().enumerate().all(|(ahead, kind)| self.kind_at(before + ahead) == *kind)
        };
        let is_numbered = has_kinds(&[Kind::Word, Kind::Word, Kind::Equals, Kind::Number]);
        let is_typed = has_kinds(&[Kind::Word, Kind::Word, Kind::Comma])
            || has_kinds(&[Kind::Word, Kind::Word, Kind::CloseBrace]);
        let shape = self.word_at(before);
        let is_typed = is_typed
            && !self.token_at(before + 1).starts_line
            && (is_built_in(shape) || built_in_meant(shape).is_some() || self.is_shape(shape));
        (is_numbered || is_typed).then(|| self.typed_field(is_word, typed))
    }

    /// `?name: shape`, `optional name: shape`
    fn marked_field(&mut self) -> ShapeField {
        let (index, mark) = (self.index(), self.bump());
        let word = self.sources.slice(mark);
        let before = Span { end: self.span().start, ..mark };
        let mut field = self.field("key");
        let shown = shorten(&field.name.text);
        let mut edits = vec![Edit::delete(before)];
        let (mut help, mut otherwise) = (format!("write `{shown}: …`"), None);
        match word {
            "?" | "optional" => {
                help = format!("write `{shown}?: …`");
                edits.extend((!field.optional).then(|| Edit::after(field.name.span, "?")));
                field.optional = true;
            }
            "repeated" => {
                help = format!("write `{shown}: [ … ]` for a list");
                edits.push(Edit::before(field.shape.span, "["));
                edits.push(Edit::after(field.shape.span, "]"));
            }
            "nullable" => {
                help = format!("write `{shown}: … | null`");
                edits.push(Edit::after(field.shape.span, " | null"));
            }
            "required" => otherwise = Some("what may be left out has `?` behind its name"),
            _ => {}
        }
        if self.translating == 0 {
            let finding = Diagnostic::error(MALFORMED_SHAPE, mark, format!("`{word}` stands before a field"));
            let finding = finding.suggest(help, edits);
            self.report_at(
                index,
                otherwise.map_or(finding.clone(), |otherwise| finding.with_note(otherwise)),
            );
        }
        field
    }

    /// `string name`, `string name = 1`, `repeated string name = 1`
    fn typed_field(&mut self, has_word: bool, fields: &mut Vec<(Span, String)>) -> ShapeField {
        let start = self.span();
        let documentation = self.take_documentation();
        let word = if has_word { self.take_word().text } else { String::new() };
        let typed = self.take_word();
        let name = self.take_word();
        if self.eat(Kind::Equals).is_some() {
            self.bump();
        }
        let all = start.to(self.previous());
        let own = if typed.text == "bytes" { Some("string") } else { built_in_meant(&typed.text) };
        let text = own.map_or(typed.text, str::to_owned);
        let mut shape = Shape { span: all, kind: ShapeKind::Named(Name { text, span: typed.span }) };
        if word == "repeated" {
            shape = Shape { span: all, kind: ShapeKind::List(Box::new(shape)) };
        }
        let field = ShapeField { documentation, name, optional: word == "optional", shape };
        let mark = if field.optional { "?" } else { "" };
        fields.push((all, format!("{}{mark}: {}", field.name.text, format::shape(&field.shape))));
        field
    }

    /// Reports the fields of a record whose types stand before their names: the places, and what to write there. What
    /// else other languages have between fields is part of it.
    pub(super) fn report_typed_fields(&mut self, open: Span, fields: Vec<(Span, String)>) {
        let Some((first, _)) = fields.first().filter(|_| self.translating == 0) else { return };
        let all = open.to(self.previous());
        let written: Vec<&str> = fields.iter().map(|(_, written)| written.as_str()).collect();
        let help = format!("write `{{ {} }}`", shorten(&written.join(", ")));
        let finding = Diagnostic::error(MALFORMED_SHAPE, *first, "a type before the name of a field")
            .label("what its value is stands behind the name");
        let mut edits = self.findings.take_within(UNKNOWN_CHARACTER, all);
        edits.extend(fields.into_iter().map(|(place, written)| Edit::replace(place, written)));
        self.findings.push(finding.suggest(help, edits));
    }
}

/// One of several shapes, of which those that are unions themselves are written out.
fn union(parts: Vec<Shape>) -> ShapeKind {
    let mut all = Vec::new();
    for part in parts {
        match part.kind {
            ShapeKind::Union(inner) => all.extend(inner),
            _ => all.push(part),
        }
    }
    match all.len() {
        1 => all.pop().map_or(ShapeKind::Missing, |only| only.kind),
        _ => ShapeKind::Union(all),
    }
}

fn or_null(shape: Shape) -> Shape {
    let span = shape.span;
    let null = Shape { kind: ShapeKind::Named(Name { text: "null".to_owned(), span }), span };
    Shape { kind: union(vec![shape, null]), span }
}

/// Whether something in a shape could not be read.
fn has_missing(shape: &Shape) -> bool {
    shape.kind == ShapeKind::Missing || shape.inside().into_iter().any(has_missing)
}
