//! Items as other languages would write them: each is reported once, with what is written here.

use super::codes::{EXPECTED_ITEM, MALFORMED_DECLARATION, MALFORMED_SHAPE, MISSPELT_ITEM};
use super::cursor::Parser;
use super::words;
use crate::ast::{ItemKind, Name, Shape, ShapeKind, is_built_in};
use crate::declarations::pascal;
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::{Kind, TYPES, UNKNOWN_CHARACTER};
use crate::source::Span;

/// Words that bring in another file elsewhere.
const USES: [&str; 4] = ["use", "include", "require", "from"];

impl Parser<'_> {
    /// An item that begins with a word of another language; `None` if none stands here.
    pub(super) fn foreign_item(&mut self) -> Option<Option<ItemKind>> {
        let (word, next) = (self.word(), self.token_at(1));
        if self.kind() == Kind::Text && self.token().starts_line {
            return Some(self.text_for_comment());
        }
        if word.is_empty() || words::is_reserved(word) || next.starts_line {
            return None;
        }
        if self.at_interaction() {
            return Some(self.interactions());
        }
        let extends = matches!(self.word_at(2), "extends" | "implements") && self.kind_at(3) == Kind::Word;
        let brace = if extends { 4 } else { 2 };
        if TYPES.contains(&word) && next.kind == Kind::Word && self.kind_at(brace) == Kind::OpenBrace {
            return Some(self.type_of_another_language());
        }
        if let Some(item) = self.word_before_item() {
            return Some(item);
        }
        let is_head = matches!(word, "package" | "module" | "namespace") && next.kind == Kind::Word;
        if is_head && self.kind_at(2) != Kind::Equals && self.token().starts_line {
            return Some(self.name_of_file());
        }
        let of_role = matches!(self.misspelt_item(), Some("client" | "server"));
        let defines = next.kind == Kind::Word && self.kind_at(2) == Kind::Equals && self.begins_type_at(3);
        if defines && !of_role {
            return Some(self.word_before_definition());
        }
        if self.token().starts_line
            && USES.contains(&word)
            && matches!(next.kind, Kind::Word | Kind::Text | Kind::DoubleColon)
        {
            return Some(self.use_of_file());
        }
        None
    }

    /// Whether what stands so many tokens ahead begins a session type, and nothing else that `=` is followed by.
    pub(super) fn begins_type_at(&self, mut ahead: usize) -> bool {
        while self.kind_at(ahead) == Kind::Open {
            ahead += 1;
        }
        match self.kind_at(ahead) {
            // What may be `null` elsewhere.
            Kind::Question if is_built_in(self.word_at(ahead + 1)) => self.kind_at(ahead + 2) == Kind::Dot,
            Kind::Exclamation | Kind::Question | Kind::Mu => true,
            Kind::Star => matches!(self.kind_at(ahead + 1), Kind::Word | Kind::Open),
            Kind::Word => matches!(self.word_at(ahead), "rec" | "dual" | "End"),
            _ => false,
        }
    }

    /// Whether `Guest -> Waiter : Tip` stands here, a step as the two roles together see it.
    fn at_interaction(&self) -> bool {
        let kinds = [self.kind(), self.kind_at(1), self.kind_at(2), self.kind_at(3), self.kind_at(4)];
        self.token().starts_line
            && kinds == [Kind::Word, Kind::Arrow, Kind::Word, Kind::Colon, Kind::Word]
            && !self.token_at(4).starts_line
    }

    /// Lines such as `Guest -> Waiter : Tip`, as the session type of one role.
    fn interactions(&mut self) -> Option<ItemKind> {
        let (index, start) = (self.index(), self.span());
        let first = shorten(self.sources.slice(start.to(self.token_at(2).span(self.file))));
        let senders = [self.word().to_owned(), self.word_at(2).to_owned()];
        let clients = senders.iter().find(|name| self.is_client(name.as_str()));
        let role = clients.or(senders.first()).cloned().unwrap_or_default();
        let mut steps = Vec::new();
        while self.at_interaction() {
            let sign = if self.word() == role { '!' } else { '?' };
            steps.push(format!("{sign}{} . ", self.word_at(4)));
            for _ in 0..5 {
                self.bump();
            }
            let payload = if self.kind() == Kind::Open { self.behind_brackets() } else { None };
            for _ in 0..payload.unwrap_or_default() {
                self.bump();
            }
        }
        let all = start.to(self.previous());
        let finding = Diagnostic::error(EXPECTED_ITEM, start, format!("`{first}` is not an item"));
        let finding = finding.label("a session type says what one role sends and receives");
        let finding = match self.is_defined(&role) {
            true => finding
                .suggest(format!("delete it: `{}` is defined already", shorten(&role)), [Edit::delete(all)]),
            false => {
                let item = format!("{role} = {}End", steps.concat());
                finding.suggest(format!("write `{}`", shorten(&item)), [Edit::replace(all, item)])
            }
        };
        self.report_at(index, finding);
        None
    }

    /// `export type Dish = …`, `async request …`, `alias Dish = …`
    fn word_before_item(&mut self) -> Option<Option<ItemKind>> {
        let (word, index, span) = (self.word(), self.index(), self.span());
        let is_item = words::ITEMS.contains(&self.word_at(1)) || TYPES.contains(&self.word_at(1));
        let named = self.kind_at(2) == Kind::Word || self.kind_at(2) == Kind::Text;
        let visible = matches!(
            word,
            "export" | "public" | "pub" | "declare" | "async" | "abstract" | "default" | "global"
        );
        if visible && is_item && named {
            self.bump();
            let behind = self.span();
            let edit = Edit::delete(Span { end: behind.start, ..span });
            let item = match self.foreign_item() {
                Some(item) => item,
                None => {
                    let item = self.word();
                    self.item_of_word(item)
                }
            };
            let mut edits = self.findings.take_within(MISSPELT_ITEM, behind.to(self.previous()));
            edits.push(edit);
            let what = shorten(self.sources.slice(behind));
            let finding = Diagnostic::error(MISSPELT_ITEM, span, format!("`{word}` stands before an item"));
            let help = format!("begin the item with `{what}`");
            self.report_at(index, finding.suggest(help, edits));
            return Some(item);
        }
        let declares = matches!(
            word,
            "alias"
                | "typedef"
                | "newtype"
                | "shape"
                | "schema"
                | "record"
                | "data"
                | "union"
                | "enum"
                | "const"
                | "let"
        );
        let is_shape = match self.kind_at(3) {
            Kind::Text | Kind::OpenBrace | Kind::OpenBracket | Kind::Number => true,
            Kind::Word => {
                let first = self.word_at(3);
                is_built_in(first) || self.is_shape(first) || self.kind_at(4) == Kind::Bar
            }
            _ => false,
        };
        if declares && self.kind_at(1) == Kind::Word && self.kind_at(2) == Kind::Equals && is_shape {
            self.bump();
            let shown = shorten(self.word());
            let finding = Diagnostic::error(MISSPELT_ITEM, span, format!("unknown item `{word}`"));
            self.report_at(
                index,
                finding.suggest(format!("write `type {shown} = …`"), [Edit::replace(span, "type")]),
            );
            return Some(self.shape_item());
        }
        None
    }

    /// `package shop`: what a file of another language begins with.
    fn name_of_file(&mut self) -> Option<ItemKind> {
        let (index, start, line) = (self.index(), self.span(), self.found());
        self.bump();
        while !self.token().starts_line && self.kind() != Kind::EndOfFile {
            self.bump();
        }
        let all = start.to(self.previous());
        // A `;` that ends it is not a token.
        let whole = Span { end: all.end + 1, ..all };
        let mut edits = self.findings.take_within(UNKNOWN_CHARACTER, whole);
        edits.push(Edit::delete(all));
        let finding = Diagnostic::error(EXPECTED_ITEM, all, format!("{line} is not an item"))
            .label("a file of this language has no head");
        let help = "delete it; a protocol has a name, `protocol Name \"revision\"`";
        self.report_at(index, finding.suggest(help, edits));
        None
    }

    /// `Guest -> !Tip . End`, `Guest() = !Tip . End`: a definition with something else between its name and its session
    /// type.
    pub(super) fn definition_by_another_sign(&mut self) -> Option<Option<ItemKind>> {
        let is_name =
            self.kind() == Kind::Word && self.token().starts_line && !words::is_reserved(self.word());
        let name = self.word();
        let (length, behind) = match self.kind_at(1) {
            Kind::Arrow => (1, 2),
            Kind::Open => {
                let close = (2..12).find(|ahead| self.kind_at(*ahead) == Kind::Close)?;
                if self.kind_at(close + 1) != Kind::Equals {
                    return None;
                }
                (close + 1, close + 2)
            }
            _ => return None,
        };
        if !is_name || !self.begins_type_at(behind) {
            return None;
        }
        let index = self.index();
        let name = Name { text: name.to_owned(), span: self.bump() };
        let first = self.span();
        for _ in 0..length {
            self.bump();
        }
        let sign = first.to(self.previous());
        let shown = shorten(&name.text);
        let what = shorten(self.sources.slice(sign));
        let finding = Diagnostic::error(
            MALFORMED_DECLARATION,
            sign,
            format!("`{what}` behind the name of a definition"),
        );
        self.report_at(index, finding.suggest(format!("write `{shown} = …`"), [Edit::replace(sign, " =")]));
        let body = self.body(&name);
        Some(Some(ItemKind::Definition { role: None, only: None, levels: Vec::new(), body, name }))
    }

    /// `client request Order …`, behind its first word.
    pub(super) fn message_behind_role(&mut self, role: &str) -> Option<ItemKind> {
        let (index, word) = (self.index(), self.previous());
        let edit = Edit::delete(Span { end: self.span().start, ..word });
        let item = self.word();
        let finding =
            Diagnostic::error(MALFORMED_DECLARATION, word, format!("`{role}` stands before a message"))
                .label("session types say which role sends it")
                .suggest(format!("begin the item with `{item}`"), [edit]);
        self.report_at(index, finding);
        self.item_of_word(item)
    }

    /// `or` between two branches of a definition, and what follows it.
    pub(super) fn or_between_branches(&mut self) {
        let (index, word, shown) = (self.index(), self.span(), self.found());
        self.bump();
        let (_, sign) = self.operator_here();
        let finding = Diagnostic::error(EXPECTED_ITEM, word, format!("{shown} is not an operator"));
        let help = "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses, `( , )` for channels side by \
                    side";
        self.report_at(index, finding.suggest(help, [Edit::replace(word, sign)]));
        self.choice();
    }

    /// `"Shop"` where the name of a protocol is.
    pub(super) fn protocol_in_quotes(&mut self) -> Option<Name> {
        if self.kind() != Kind::Text || self.token().starts_line {
            return None;
        }
        let text = pascal(&crate::lexer::value(self.source(self.token())));
        if !text.starts_with(char::is_alphabetic) {
            return None;
        }
        let name = self.take_text();
        let finding = Diagnostic::error(
            MALFORMED_DECLARATION,
            name.span,
            "the name of a protocol stands without quotes",
        );
        let help = format!("write `protocol {}`", shorten(&text));
        self.findings.push(finding.suggest(help, [Edit::replace(name.span, text.as_str())]));
        Some(Name { text, ..name })
    }

    /// `version "1"`, `v1` behind the name of a protocol: what stands before its revision goes.
    pub(super) fn word_before_revision(&mut self, name: &Name) {
        let word = self.word();
        if self.token().starts_line {
            return;
        }
        let shown = shorten(&name.text);
        let starts = self.kind_at(1) == Kind::Text && !self.token_at(1).starts_line;
        let number = word.strip_prefix('v').filter(|rest| rest.parse::<u32>().is_ok());
        let finding = Diagnostic::error(
            MALFORMED_DECLARATION,
            self.span(),
            format!("{} is not a revision", self.found()),
        );
        if matches!(word, "version" | "revision") && starts {
            let (index, word) = (self.index(), self.bump());
            let revision = shorten(self.sources.slice(self.span()));
            let edit = Edit::delete(Span { end: self.span().start, ..word });
            self.report_at(index, finding.suggest(format!("write `protocol {shown} {revision}`"), [edit]));
        } else if let Some(number) = number {
            let edit = Edit::replace(self.span(), format!("\"{number}\""));
            self.report(finding.suggest(format!("write `protocol {shown} \"{number}\"`"), [edit]));
            self.bump();
        }
    }

    /// `let Guest = …`
    fn word_before_definition(&mut self) -> Option<ItemKind> {
        let (index, word) = (self.index(), self.span());
        let (written, name) = (self.found(), shorten(self.word_at(1)));
        self.bump();
        let edit = Edit::delete(Span { end: self.span().start, ..word });
        let finding = Diagnostic::error(MISSPELT_ITEM, word, format!("{written} stands before a definition"));
        self.report_at(
            index,
            finding.suggest(format!("write `{name} = …`, without a word before it"), [edit]),
        );
        self.definition()
    }

    /// `type Guest = !…`, behind the `=`; `word` is the first one.
    pub(super) fn session_type_of_type(&mut self, word: Span, name: Name) -> ItemKind {
        let finding = Diagnostic::error(MISSPELT_ITEM, word, "`type` stands before a session type")
            .label("declares what JSON a payload is")
            .suggest(
                format!("write `{} = …`", shorten(&name.text)),
                [Edit::delete(Span { end: name.span.start, ..word })],
            );
        self.report(finding);
        let body = self.body(&name);
        ItemKind::Definition { role: None, only: None, levels: Vec::new(), body, name }
    }

    /// `struct Dish { … }`, `enum Course { Starter, Main }`
    fn type_of_another_language(&mut self) -> Option<ItemKind> {
        let (index, word) = (self.index(), self.span());
        let written = self.found();
        let is_enum = self.word() == "enum";
        self.bump();
        let name = self.take_word();
        let shown = shorten(&name.text);
        let finding = Diagnostic::error(MISSPELT_ITEM, word, format!("unknown item {written}"));
        if is_enum {
            let texts = self.texts_of_enum()?;
            let all = word.to(self.previous());
            let item = format!("type {} = {texts}", name.text);
            let help = format!("write `{}`", shorten(&item));
            self.findings.take_within(UNKNOWN_CHARACTER, all);
            self.report_at(index, finding.suggest(help, [Edit::replace(all, item)]));
            let body = Shape::missing(all);
            return Some(ItemKind::Shape { name, body });
        }
        // What it adds to is the fields of another one.
        let base = match self.kind() {
            Kind::Word => {
                let extends = self.bump();
                Some((extends, self.take_word()))
            }
            _ => None,
        };
        let open = self.span();
        let body = self.shape();
        let all = word.to(self.previous());
        let mut edits = self.findings.take_within(UNKNOWN_CHARACTER, all);
        edits.extend(self.findings.take_within(MALFORMED_SHAPE, all));
        edits.push(Edit::replace(word, "type"));
        match &base {
            Some((extends, base)) => {
                edits.push(Edit::replace(extends.to(base.span), "="));
                let comma = if matches!(&body.kind, ShapeKind::Record(members) if members.is_empty()) {
                    ""
                } else {
                    ","
                };
                edits.push(Edit::after(open, format!(" ...{}{comma}", base.text)));
            }
            None => edits.push(Edit::after(name.span, " =")),
        }
        self.report_at(index, finding.suggest(format!("write `type {shown} = {{ … }}`"), edits));
        Some(ItemKind::Shape { name, body })
    }

    /// `{ Starter, Main }` as the texts that are meant.
    fn texts_of_enum(&mut self) -> Option<String> {
        self.bump();
        let mut texts = Vec::new();
        while !matches!(self.kind(), Kind::CloseBrace | Kind::EndOfFile) && !self.begins_line_of_item() {
            if self.kind() == Kind::Word {
                texts.push(format!("\"{}\"", self.word()));
            }
            self.bump();
        }
        self.eat(Kind::CloseBrace);
        (!texts.is_empty()).then(|| texts.join(" | "))
    }

    /// `use crate::shop`, `include "other.session"`
    fn use_of_file(&mut self) -> Option<ItemKind> {
        let span = self.span();
        let word = shorten(self.word());
        let finding = Diagnostic::error(MISSPELT_ITEM, span, format!("unknown item `{word}`"));
        let of_rust = self.kind_at(2) == Kind::DoubleColon || self.kind_at(1) == Kind::DoubleColon;
        let meant = if of_rust { "types" } else { "import" };
        let help = match of_rust {
            true => "write `types a_crate::a_module` for the module of the payload types",
            false => "write `import \"other.session\"`",
        };
        self.report(finding.suggest(help, [Edit::replace(span, meant)]));
        self.item_of_word(meant)
    }

    /// `import { Dish } from "other.session"`, behind its first word.
    pub(super) fn import_of_names(&mut self) -> Option<ItemKind> {
        let index = self.index();
        let ahead = (0..200).find(|ahead| {
            matches!(self.kind_at(*ahead), Kind::Text | Kind::EndOfFile)
                || *ahead > 0 && self.token_at(*ahead).starts_line
        })?;
        if self.kind_at(ahead) != Kind::Text || self.token_at(ahead).starts_line {
            return None;
        }
        let start = self.span();
        for _ in 0..ahead {
            self.bump();
        }
        let edit = Edit::delete(Span { end: self.span().start, ..start });
        let path = self.take_text();
        let before = Span { end: path.span.start, ..start };
        let finding = Diagnostic::error(MALFORMED_DECLARATION, before, "`import` takes a whole file")
            .label("all its messages, shapes and definitions are imported")
            .suggest(format!("write `import \"{}\"`", shorten(&path.text)), [edit]);
        self.report_at(index, finding);
        Some(ItemKind::Import(path))
    }

    /// A text where an item is expected, as some languages document.
    fn text_for_comment(&mut self) -> Option<ItemKind> {
        let (index, start) = (self.index(), self.span());
        while self.kind() == Kind::Text && (self.index() == index || !self.token().starts_line) {
            self.bump();
        }
        let all = start.to(self.previous());
        let finding = Diagnostic::error(EXPECTED_ITEM, all, "a text stands where an item is expected");
        let help = "a comment is written `-- …`, and documentation of the item below it `--- …`";
        self.report_at(index, finding.suggest(help, [Edit::before(all, "--- ")]));
        None
    }

    /// `A & { … }`, which has been read: what other languages write for a record with the fields of both. The first `&`
    /// is at `sign`, and the token at `index`.
    pub(super) fn joined_shapes(&mut self, parts: &[Shape], index: usize, sign: Span) -> Shape {
        let all = parts.first().map_or(sign, |first| first.span).to(self.previous());
        let inner: Vec<String> = parts.iter().filter_map(|part| self.fields_of(part)).collect();
        let finding = Diagnostic::error(MALFORMED_SHAPE, sign, "`&` between shapes")
            .label("a record lists its fields, and `...Name` stands for those of another");
        let known = inner.len() == parts.len();
        let written = format!("{{ {} }}", inner.join(", "));
        let help = match known && !written.contains('\n') {
            true => format!("write `{}`", shorten(&written)),
            false => "write `{ ...One, ...Other }`".to_owned(),
        };
        let edit = known.then(|| Edit::replace(all, written));
        self.report_at(index, finding.suggest(help, edit));
        Shape::missing(all)
    }

    /// What a part of a joined shape is within the braces of one record.
    fn fields_of(&self, part: &Shape) -> Option<String> {
        let written = self.sources.slice(part.span);
        match part.named() {
            Some(name) => Some(format!("...{name}")),
            None => {
                let inner = written.strip_prefix('{')?.strip_suffix('}')?.trim().trim_end_matches(',');
                (!inner.is_empty()).then(|| inner.to_owned())
            }
        }
    }
}
