//! Items other than messages.

use mcp_protocol_machine::protocol::Dialect;

use super::codes::{
    BARE_CHANNELS, EXPECTED_ITEM, MALFORMED_DECLARATION, MALFORMED_PATH, MISSING_TYPE, MISSPELT_ITEM,
    UNOPENED,
};
use super::cursor::Parser;
use super::cursor::is_short;
use super::words;
use crate::ast::{
    AnnouncedField, Choice, Envelope, Item, ItemKind, JsonPath, LevelDirection, MessageField, Name, OnlyMark,
    Revision, RoleSide, RustPath, Sequence, Tail,
};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::findings::choices::in_place_of_comma;
use crate::format;
use crate::lexer::Kind;
use crate::source::Span;
use crate::suggest;

impl Parser<'_> {
    /// One item.
    pub(super) fn item(&mut self) -> Option<Item> {
        let documentation = self.take_documentation();
        let start = self.span();
        let overrides = self.overrides();
        let kind = self.item_kind();
        let complete = kind.is_some();
        let item = kind.map(|kind| Item { documentation, overrides, kind, span: start.to(self.previous()) });
        if !complete {
            self.skip_to_item();
        }
        item
    }

    /// `override`, if it is there.
    fn overrides(&mut self) -> Option<Span> {
        if self.kind_at(1) == Kind::Equals {
            return None;
        }
        if self.word() != "override" && self.misspelt_item() == Some("override") {
            self.report_misspelt("override");
            return Some(self.bump());
        }
        self.eat_word("override")
    }

    fn report_misspelt(&mut self, meant: &str) {
        let message = format!("unknown item `{}`", shorten(self.word()));
        let finding = Diagnostic::error(MISSPELT_ITEM, self.span(), message);
        let edit = Edit::replace(self.span(), meant);
        self.report(finding.suggest(format!("did you mean `{meant}`?"), [edit]));
    }

    fn item_kind(&mut self) -> Option<ItemKind> {
        let word = self.word();
        // A reserved word as the name of a definition is that mistake and no other.
        let named = matches!(self.kind_at(1), Kind::Equals | Kind::OpenBracket)
            || (self.kind_at(1) == Kind::DoubleColon && word != "types")
            || self.only_at(1);
        if word == "version" && self.kind_at(1) == Kind::Equals {
            return self.item_of_word("version");
        }
        // A field follows no name in a definition.
        let is_path = self.kind_at(1) == Kind::Equals
            && self.kind_at(2) == Kind::Word
            && self.kind_at(3) == Kind::Dot
            && self.kind_at(4) == Kind::Word;
        if is_path && !words::is_reserved(word) && suggest::nearest(word, ["version"]).is_some() {
            self.report_misspelt("version");
            return self.item_of_word("version");
        }
        if word == "types" && self.kind_at(1) == Kind::Equals && self.kind_at(3) == Kind::DoubleColon {
            return self.types_behind_equals();
        }
        // `group = A | B`, `key = A.b` and `type = { … }` lack their names.
        let unnamed = match word {
            "group" | "key" => {
                self.kind_at(2) == Kind::Word && matches!(self.kind_at(3), Kind::Bar | Kind::Dot)
            }
            "type" => self.kind_at(1) == Kind::Equals && self.kind_at(2) == Kind::OpenBrace,
            _ => false,
        };
        if named && !unnamed && !word.is_empty() {
            return self.definition();
        }
        if words::ITEMS.contains(&word) || word == "open" {
            return self.item_of_word(word);
        }
        if let Some(item) = self.foreign_item() {
            return item;
        }
        if let Some(meant) = self.misspelt_item() {
            self.report_misspelt(meant);
            return self.item_of_word(meant);
        }
        match self.kind_at(1) {
            Kind::Colon if !word.is_empty() => self.definition(),
            Kind::PlusEquals | Kind::MinusEquals if !word.is_empty() => {
                let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`group` is missing")
                    .suggest(
                        format!("write `group {} …`", shorten(word)),
                        [Edit::before(self.span(), "group ")],
                    );
                self.report(finding);
                let name = self.take_word();
                self.group_named(name)
            }
            _ => self.no_item(),
        }
    }

    /// The item that this word begins; the word itself may be misspelt.
    pub(super) fn item_of_word(&mut self, word: &str) -> Option<ItemKind> {
        if word == "open" {
            let open = self.bump();
            if self.eat_word("key").is_none() {
                self.expected(MALFORMED_DECLARATION, "`key`", "write `open key name = Message.path`");
            }
            return self.key_behind_word(Some(open));
        }
        self.bump();
        match word {
            "protocol" => {
                let name = match self.protocol_in_quotes() {
                    Some(name) => name,
                    None => self.name("the protocol", "write `protocol Name \"revision\"`")?,
                };
                self.word_before_revision(&name);
                let version = self.revision(&name);
                let envelope = self.envelope();
                Some(ItemKind::Protocol { name, version, envelope })
            }
            "types" => self.types(),
            "type" => self.shape_item(),
            "import" => self.import(),
            "request" => self.request(),
            "notification" => self.notification(),
            "capabilities" => self.capabilities(),
            "version" => self.version(),
            "group" => self.group_behind_word(),
            "key" => self.key_behind_word(None),
            "client" => self.role(RoleSide::Client),
            "server" => self.role(RoleSide::Server),
            "override" => {
                let help = "write the whole item that replaces the imported one";
                self.expected(MALFORMED_DECLARATION, "an item", help);
                None
            }
            _ => None,
        }
    }

    /// `types a_crate::a_module`, behind its first word.
    pub(super) fn types(&mut self) -> Option<ItemKind> {
        let example = "write `types a_crate::a_module`";
        let what = "the module of the payload types";
        let place = self.previous().after();
        let path = self.rust_path(MALFORMED_DECLARATION, what, example);
        // That the file says where types are is known, whatever it says.
        Some(ItemKind::Types(path.unwrap_or_else(|| RustPath { text: "types".to_owned(), span: place })))
    }

    /// `types = a_crate::a_module`
    fn types_behind_equals(&mut self) -> Option<ItemKind> {
        self.bump();
        let equals = self.bump();
        let finding = Diagnostic::error(MALFORMED_DECLARATION, equals, "`=` behind `types`");
        self.findings.push(finding.suggest("delete it", [Edit::delete(equals)]));
        let help = "write `types a_crate::a_module`";
        Some(ItemKind::Types(self.rust_path(
            MALFORMED_DECLARATION,
            "the module of the payload types",
            help,
        )?))
    }

    /// `batch`, `without jsonrpc` or `jsonrpc "1.0"`, and `reuses ids`, in any order.
    fn envelope(&mut self) -> Envelope {
        const WORDS: [&str; 4] = ["batch", "without", "jsonrpc", "reuses"];
        let mut envelope = Envelope::default();
        loop {
            let word = match self.misspelt(WORDS) {
                Some(meant) => {
                    let message = format!("{} where `{meant}` is meant", self.found());
                    let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
                    let edit = Edit::replace(self.span(), meant);
                    self.report(finding.suggest(format!("write `{meant}`"), [edit]));
                    meant
                }
                None => self.word(),
            };
            match word {
                "batch" if envelope.batch.is_none() => envelope.batch = Some(self.bump()),
                "without" => {
                    let place = self.two_words("without", "jsonrpc");
                    self.dialect(&mut envelope, place.map(|place| (place, Dialect::WithoutJsonrpc)));
                }
                "jsonrpc" if !self.at_item() => {
                    let written = self.jsonrpc_version();
                    self.dialect(&mut envelope, written);
                }
                "reuses" if envelope.reuses_ids.is_none() => {
                    envelope.reuses_ids = self.two_words("reuses", "ids");
                }
                _ => return envelope,
            }
        }
    }

    /// Takes what was read about the version of JSON-RPC, which a protocol says once.
    fn dialect(&mut self, envelope: &mut Envelope, written: Option<(Span, Dialect)>) {
        let Some((start, _)) = written else { return };
        let Some((first, _)) = envelope.dialect else {
            envelope.dialect = written;
            return;
        };
        let span = start.to(self.previous());
        let finding =
            Diagnostic::error(MALFORMED_DECLARATION, span, "the version of JSON-RPC is written twice");
        let finding = finding.also(first, "the first time");
        self.findings
            .push(finding.suggest("delete it: JSON-RPC 1.0 has no member `jsonrpc`", [Edit::delete(span)]));
    }

    /// `jsonrpc "1.0"`. Nothing if the messages are those of JSON-RPC 2.0 all the same, or if no version is written.
    fn jsonrpc_version(&mut self) -> Option<(Span, Dialect)> {
        let place = self.bump();
        if self.token().starts_line || !matches!(self.kind(), Kind::Text | Kind::Number) {
            let message = "expected the version of JSON-RPC after `jsonrpc`";
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.previous().after(), message);
            let edit = Edit::after(place, " \"1.0\"");
            self.report(finding.suggest("write `jsonrpc \"1.0\"`", [edit]));
            return None;
        }
        let (index, is_text) = (self.index(), self.kind() == Kind::Text);
        let (version, span) = if is_text {
            let Name { text, span } = self.take_text();
            (text, span)
        } else {
            let start = self.bump();
            let span = self.rest_of_number(start);
            (self.sources.slice(span).to_owned(), span)
        };
        let whole = place.to(span);
        let finding = |message: String| Diagnostic::error(MALFORMED_DECLARATION, span, message);
        let message = match &*version {
            "1.0" if is_text => return Some((place, Dialect::Version1)),
            "2" | "2.0" => {
                let finding = finding("messages are those of JSON-RPC 2.0 by themselves".to_owned());
                self.report_at(index, finding.suggest("delete it", [Edit::delete(whole)]));
                return None;
            }
            "1" | "1.0" | "1.1" | "1.2" => "the version of JSON-RPC is the text `\"1.0\"`".to_owned(),
            other => format!("JSON-RPC has no version `{}`", shorten(other)),
        };
        let edit = Edit::replace(span, "\"1.0\"");
        self.report_at(index, finding(message).suggest("write `jsonrpc \"1.0\"`", [edit]));
        Some((place, Dialect::Version1))
    }

    /// The place of a number that may go on in its line, as `1.0` and `2025-03-26` do.
    fn rest_of_number(&mut self, start: Span) -> Span {
        while matches!(self.kind(), Kind::Number | Kind::Dot) && !self.token().starts_line {
            self.bump();
        }
        start.to(self.previous())
    }

    /// The word that is meant in the rest of a line, where another one stands that is like it.
    fn misspelt<const N: usize>(&self, words: [&'static str; N]) -> Option<&'static str> {
        let word = self.word();
        let belongs = !self.token().starts_line && !words::is_reserved(word) && !self.at_item();
        belongs.then(|| suggest::nearest(word, words)).flatten()
    }

    /// A word that means something only with another one behind it. Where the other one is missing, that is reported.
    fn two_words(&mut self, first: &str, second: &str) -> Option<Span> {
        let place = self.bump();
        if self.eat_word(second).is_some() {
            return Some(place);
        }
        if self.token().starts_line {
            let message = format!("expected `{second}` after `{first}`");
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.previous().after(), message);
            let edit = Edit::after(place, format!(" {second}"));
            self.report(finding.suggest(format!("write `{first} {second}`"), [edit]));
        } else {
            let help = format!("did you mean `{second}`?");
            self.expected(MALFORMED_DECLARATION, &format!("`{second}`"), &help);
            self.bump();
        }
        None
    }

    /// The revision of a protocol, if one is written: a text, or a whole number.
    fn revision(&mut self, name: &Name) -> Option<Revision> {
        let is_number = self.kind() == Kind::Number;
        if is_number {
            let (text, index) = (self.source(self.token()).to_owned(), self.index());
            let is_whole = text.parse::<u64>().is_ok_and(|number| number.to_string() == text);
            let span = self.bump();
            let goes_on = matches!(self.kind(), Kind::Number | Kind::Dot) && !self.token().starts_line;
            if is_whole && !goes_on {
                return Some(Revision { name: Name { text, span }, is_number });
            }
            self.bare_revision(name, index, span);
        }
        (self.kind() == Kind::Text).then(|| Revision { name: self.take_text(), is_number: false })
    }

    /// `2025-03-26` without quotes.
    fn bare_revision(&mut self, name: &Name, index: usize, start: Span) {
        let span = self.rest_of_number(start);
        let written = shorten(self.sources.slice(span));
        let finding = Diagnostic::error(MALFORMED_DECLARATION, span, "the revision stands in quotes");
        let edits = [Edit::before(span, "\""), Edit::after(span, "\"")];
        let help = format!("write `protocol {} \"{written}\"`", shorten(&name.text));
        self.report_at(index, finding.suggest(help, edits));
    }

    /// Nothing that begins an item.
    fn no_item(&mut self) -> Option<ItemKind> {
        if let Some(word) = self.message_by_another_word() {
            let span = self.span();
            let message = format!("expected an item, found {}", self.found());
            let what = if word == "request" { "it has a reply" } else { "no reply follows" };
            let finding = Diagnostic::error(EXPECTED_ITEM, span, message);
            self.report(finding.label(what).suggest(format!("write `{word}`"), [Edit::replace(span, word)]));
            return self.item_of_word(word);
        }
        if matches!(self.word(), "or" | "xor") && !self.token().starts_line && self.begins_type_at(1) {
            self.or_between_branches();
            return None;
        }
        if let Some(Some(item)) = self.definition_by_another_sign() {
            return Some(item);
        }
        let found = self.found();
        let word = self.word();
        let span = self.span();
        let (message, help) = match self.kind() {
            Kind::Close => ("`)` without `(`".to_owned(), "delete it".to_owned()),
            Kind::Exclamation | Kind::Question if self.kind_at(1) == Kind::Word => (
                format!(
                    "the action `{}{}` is outside any definition",
                    found.trim_matches('`'),
                    shorten(self.word_at(1))
                ),
                "begin a definition with `Name = `, or a branch with `⊕` or `&`".to_owned(),
            ),
            Kind::Internal | Kind::Ampersand => (
                format!("the branch after {found} is outside any definition"),
                "begin a definition with `Name = `".to_owned(),
            ),
            Kind::Word if matches!(word, "or" | "and" | "else" | "xor") && !self.token().starts_line => (
                format!("{found} is not an operator"),
                "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses, `( , )` for channels side \
                 by side"
                    .to_owned(),
            ),
            Kind::Word if self.sources.slice(self.previous()) == "override" => (
                format!("expected an item behind `override`, found {found}"),
                format!(
                    "write the whole item behind it, with its first word: `override request {} …`, for instance",
                    shorten(word)
                ),
            ),
            Kind::Word if !words::is_reserved(word) => (
                format!("expected an item, found {found}"),
                format!("a definition is written `{} = …`", shorten(word)),
            ),
            _ => (
                format!("expected an item, found {found}"),
                "an item is a definition, `Name = …`, or begins with a word such as `request`".to_owned(),
            ),
        };
        let code = if self.kind() == Kind::Close { UNOPENED } else { EXPECTED_ITEM };
        self.report(Diagnostic::error(code, span, message).help(help));
        self.bump();
        None
    }

    /// The word that was meant where another one stands before a name and a method: `event Opened "opened"`.
    fn message_by_another_word(&self) -> Option<&'static str> {
        let declares = self.token().starts_line
            && self.kind() == Kind::Word
            && !words::is_reserved(self.word())
            && self.kind_at(1) == Kind::Word
            && self.kind_at(2) == Kind::Text
            && !self.token_at(1).starts_line
            && !self.token_at(2).starts_line;
        let behind = (3..).map(|ahead| (self.kind_at(ahead), self.token_at(ahead).starts_line));
        let mut of_item = behind.take_while(|(kind, starts_line)| {
            !starts_line && !matches!(kind, Kind::EndOfFile) || *kind == Kind::Arrow
        });
        let replies = of_item.any(|(kind, _)| kind == Kind::Arrow);
        declares.then_some(if replies { "request" } else { "notification" })
    }

    /// `=`, or its report.
    pub(super) fn equals(&mut self, help: &str) -> Option<Span> {
        if self.kind() == Kind::Colon {
            let colon = self.bump();
            let end = if self.kind() == Kind::Equals { self.bump() } else { colon };
            let span = colon.to(end);
            let message = format!("`{}` where `=` is meant", self.sources.slice(span));
            let finding = Diagnostic::error(MALFORMED_DECLARATION, span, message);
            self.findings.push(finding.suggest("write `=`", [Edit::replace(span, " =")]));
            return Some(span);
        }
        let equals = self.eat(Kind::Equals);
        if let Some(first) = equals.filter(|_| self.kind() == Kind::Equals) {
            let both = first.to(self.span());
            let message = format!("`{}` where `=` is meant", shorten(self.sources.slice(both)));
            let finding = Diagnostic::error(MALFORMED_DECLARATION, both, message);
            self.report(finding.suggest("write `=`", [Edit::replace(both, "=")]));
            self.bump();
        }
        if equals.is_none() {
            self.expected(MALFORMED_DECLARATION, "`=`", help);
        }
        equals
    }

    fn import(&mut self) -> Option<ItemKind> {
        if self.kind() == Kind::Text {
            return Some(ItemKind::Import(self.take_text()));
        }
        if let Some(item) = self.import_of_names() {
            return Some(item);
        }
        if self.kind() != Kind::Word || self.token().starts_line {
            self.expected(MALFORMED_DECLARATION, "the path of a file", "write `import \"other.session\"`");
            return None;
        }
        let first = self.span();
        let mut span = first;
        while !self.token().starts_line && matches!(self.kind(), Kind::Word | Kind::Dot | Kind::Number) {
            span = first.to(self.bump());
        }
        let path = shorten(self.sources.slice(span));
        let finding =
            Diagnostic::error(MALFORMED_DECLARATION, span, "the path of an import stands in quotes");
        let edits = [Edit::before(span, "\""), Edit::after(span, "\"")];
        self.findings.push(finding.suggest(format!("write `import \"{path}\"`"), edits));
        None
    }

    /// `Message.path`, or `each request.path with error -32000`
    fn version(&mut self) -> Option<ItemKind> {
        self.equals("write `version = Message.path`")?;
        let field = self.announced_field(Self::message_field, "Reply.protocolVersion", "_meta.version")?;
        let single = ("a version that one message announces", "no request is refused for its version");
        let error = self.refused_with(&field, single);
        Some(ItemKind::Version { field, error })
    }

    /// `with error -32000`, if it is there; with what one message announces it is reported, in these words.
    fn refused_with(&mut self, field: &AnnouncedField, (what, why): (&str, &'static str)) -> Option<i64> {
        if self.word() != "with" || self.at_item() {
            return None;
        }
        let start = self.bump();
        let mut error = None;
        if self.demand("error", " -32000") || self.kind() == Kind::Number {
            error = self.error_code(MALFORMED_DECLARATION, "-32000");
        }
        if matches!(field, AnnouncedField::EachRequest { .. }) {
            return error;
        }
        let span = start.to(self.previous());
        let finding = Diagnostic::error(MALFORMED_DECLARATION, span, format!("`with error` and {what}"));
        self.report(finding.label(why).suggest("delete it", [Edit::delete(span)]));
        None
    }

    fn capabilities(&mut self) -> Option<ItemKind> {
        let example = "write `capabilities client = Message.path`";
        if self.kind() != Kind::Word || (self.token().starts_line && self.kind_at(1) != Kind::Equals) {
            self.expected(MALFORMED_DECLARATION, "`client` or `server`", example);
            return None;
        }
        if self.kind_at(1) == Kind::Dot {
            let (index, span) = (self.index(), self.span());
            let message = format!("expected `client` or `server`, found {}", self.found());
            let finding =
                Diagnostic::error(MALFORMED_DECLARATION, span, message).label("whose capabilities?");
            self.message_field("Message.capabilities")?;
            let path = shorten(self.sources.slice(span.to(self.previous())));
            self.report_at(
                index,
                finding
                    .suggest(
                        format!("write `capabilities client = {path}`"),
                        [Edit::before(span, "client = ")],
                    )
                    .suggest(
                        format!("write `capabilities server = {path}`"),
                        [Edit::before(span, "server = ")],
                    ),
            );
            return None;
        }
        let role = self.take_word();
        if self.kind() == Kind::OpenBrace {
            let message = "capabilities are announced by a message, and not listed";
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            let help = format!("write `capabilities {} = Message.path`", shorten(&role.text));
            self.report(finding.help(help));
            return None;
        }
        if self.kind() == Kind::Word && self.kind_at(1) == Kind::Dot && !self.token().starts_line {
            let (index, span) = (self.index(), self.span());
            let finding = Diagnostic::error(
                MALFORMED_DECLARATION,
                span,
                format!("expected `=`, found {}", self.found()),
            );
            let field = self.message_field("Message.capabilities")?;
            let (role_name, path) = (shorten(&role.text), self.sources.slice(span.to(self.previous())));
            let help = format!("write `capabilities {role_name} = {}`", shorten(path));
            self.report_at(index, finding.suggest(help, [Edit::before(span, "= ")]));
            return Some(self.announced(role, AnnouncedField::Message(field)));
        }
        self.equals(example)?;
        let field =
            self.announced_field(Self::message_or_field, "Message.capabilities", "_meta.capabilities")?;
        Some(self.announced(role, field))
    }

    /// `Message.a.b` or `each request.a.b`; the examples are for who writes neither.
    fn announced_field(
        &mut self,
        field: fn(&mut Self, &str) -> Option<MessageField>,
        example: &str,
        path: &str,
    ) -> Option<AnnouncedField> {
        match self.word() == "each" && self.kind_at(1) == Kind::Word {
            true => self.each_request(path),
            false => Some(AnnouncedField::Message(field(self, example)?)),
        }
    }

    /// `each request.a.b`
    fn each_request(&mut self, example: &str) -> Option<AnnouncedField> {
        let start = self.bump();
        if self.word() != "request" {
            let message = format!("expected `request`, found {}", self.found());
            let edit = Edit::replace(self.span(), "request");
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            self.report(finding.suggest("write `request`: every request announces alike", [edit]));
        }
        self.bump();
        let help = format!("write `each request.{example}`");
        if self.eat(Kind::Dot).is_none() {
            self.expected(MALFORMED_PATH, "`.` and a path", &help);
            return None;
        }
        let path = self.json_path(&help)?;
        Some(AnnouncedField::EachRequest { path, span: start.to(self.previous()) })
    }

    /// What stands behind `capabilities role = field`: `open until announced`, `with error` and defaults, in any order.
    fn announced(&mut self, role: Name, field: AnnouncedField) -> ItemKind {
        let (mut open, mut error, mut defaults) = (None, None, Vec::new());
        for _ in 0..3 {
            open = open.or_else(|| self.open_until_announced());
            let single =
                ("capabilities that one message announces", "no request is refused for what it lacks");
            error = error.or_else(|| self.refused_with(&field, single));
            if defaults.is_empty() {
                defaults = self.defaults();
            }
        }
        if let (Some(span), AnnouncedField::EachRequest { .. }) = (open, &field) {
            let message = "`open until announced` with capabilities that each request announces";
            let finding = Diagnostic::error(MALFORMED_DECLARATION, span, message);
            let finding = finding.label("no request is without an announcement");
            self.report(finding.suggest("delete it", [Edit::delete(span)]));
            open = None;
        }
        ItemKind::Capabilities { role, field, open, defaults, error }
    }

    /// `open until announced`, if it is there.
    fn open_until_announced(&mut self) -> Option<Span> {
        if self.word() != "open" || self.at_item() {
            return None;
        }
        let start = self.bump();
        if self.demand("until", " announced") {
            self.demand("announced", "");
        }
        Some(start.to(self.previous()))
    }

    /// `default elicitation.form | …`, if it is there.
    fn defaults(&mut self) -> Vec<JsonPath> {
        let word = self.word();
        if word != "default" {
            if self.token().starts_line || self.at_item() || suggest::nearest(word, ["default"]).is_none() {
                return Vec::new();
            }
            let message = format!("{} where `default` is meant", self.found());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            self.report(finding.suggest("write `default`", [Edit::replace(self.span(), "default")]));
        }
        self.bump();
        self.alternatives(|parser| parser.json_path("write `default capability.part`")).unwrap_or_default()
    }

    fn role(&mut self, side: RoleSide) -> Option<ItemKind> {
        let word = match side {
            RoleSide::Client => "client",
            RoleSide::Server => "server",
        };
        if matches!(self.word(), "request" | "notification") && self.kind_at(1) == Kind::Word {
            return self.message_behind_role(word);
        }
        let name = self.name("the role", &format!("write `{word} Name`"))?;
        let mut compatible = self.compatible();
        let mut body = None;
        if matches!(self.kind(), Kind::Equals | Kind::Colon) {
            self.equals("")?;
            body = Some(self.body(&name));
            compatible = compatible.or_else(|| self.eat_word("compatible"));
        }
        Some(ItemKind::Role { side, name, body, compatible })
    }

    /// `compatible`, if it is there.
    fn compatible(&mut self) -> Option<Span> {
        if self.misspelt(["compatible"]).is_some() {
            let message = format!("{} where `compatible` is meant", self.found());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            self.report(finding.suggest("write `compatible`", [Edit::replace(self.span(), "compatible")]));
            return Some(self.bump());
        }
        self.eat_word("compatible")
    }

    pub(super) fn definition(&mut self) -> Option<ItemKind> {
        // That a name stands here has been seen, and it begins an item, which no other name may.
        if words::is_reserved(self.word()) {
            self.report_reserved("a definition");
        }
        let mut name = self.take_word();
        let mut role = None;
        if self.kind() == Kind::DoubleColon && self.kind_at(1) == Kind::Equals {
            let sign = self.bump().to(self.span());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, sign, "`::=` where `=` is meant");
            self.report(finding.suggest("write `=`", [Edit::replace(sign, "=")]));
        } else if self.eat(Kind::DoubleColon).is_some() {
            role = Some(name);
            name = self.name("a definition", "write `Role::Name = …`")?;
        }
        let mut only = self.only_mark();
        let levels = if self.kind() == Kind::OpenBracket { self.levels() } else { Vec::new() };
        if only.is_none() && self.word() == "only" {
            let message = "`only` stands before the levels";
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            let edits = [Edit::after(name.span, " only"), Edit::delete(self.span())];
            self.report(finding.suggest(format!("write `{} only […] = …`", shorten(&name.text)), edits));
            only = self.only_mark();
        }
        self.equals(&format!("write `{} = …`", shorten(&name.text)))?;
        let is_text = self.kind() == Kind::Text && self.kind_at(1) == Kind::Bar;
        if self.kind() == Kind::OpenBrace || is_text || self.begins_foreign_shape() {
            let shown = shorten(&name.text);
            let finding = Diagnostic::error(MALFORMED_DECLARATION, name.span, "`type` is missing");
            let finding = finding.label("what JSON a payload is, is a shape");
            let edits = [Edit::before(name.span, "type ")];
            self.report(finding.suggest(format!("write `type {shown} = …`"), edits));
            return Some(ItemKind::Shape { name, body: self.shape() });
        }
        let body = self.body(&name);
        Some(ItemKind::Definition { role, name, only, levels, body })
    }

    fn only_mark(&mut self) -> Option<OnlyMark> {
        let span = self.eat_word("only")?;
        let (direction, span) = match self.word() {
            "out" => (Some(LevelDirection::Out), span.to(self.bump())),
            "in" => (Some(LevelDirection::In), span.to(self.bump())),
            _ => (None, span),
        };
        Some(OnlyMark { span, direction })
    }

    /// The session type of a definition or role.
    pub(super) fn body(&mut self, name: &Name) -> Choice {
        if self.kind() == Kind::EndOfFile || self.at_item() {
            let shown = shorten(&name.text);
            let finding =
                Diagnostic::error(MISSING_TYPE, self.previous(), format!("`{shown}` has no session type"))
                    .label("nothing follows")
                    .suggest(
                        format!("write `{shown} = End` if nothing is to happen"),
                        [Edit::after(self.previous(), " End")],
                    );
            self.report(finding);
            return missing(self.previous().after());
        }
        let mut body = self.choice();
        let mut broken = false;
        loop {
            match self.kind() {
                Kind::Comma => body = self.bare_channels(name, body),
                Kind::Close => {
                    let finding = Diagnostic::error(UNOPENED, self.span(), "`)` without `(`");
                    self.report(finding.suggest("delete it", [Edit::delete(self.span())]));
                    self.bump();
                    self.skip_in_choice(false);
                }
                _ => break,
            }
            broken = true;
        }
        if broken { missing(body.span) } else { body }
    }

    /// Channels side by side that only a `)` ends: the first of them is where the last branch goes on.
    fn unopened(&mut self, first: Option<&Choice>) {
        let finding = Diagnostic::error(UNOPENED, self.span(), "`)` without `(`");
        let last = first.and_then(|first| first.branches.last());
        let begins = last.map_or(self.span(), |last| match last.actions.is_empty() {
            true => last.span,
            false => last.tail.span().unwrap_or(last.span),
        });
        let shown = shorten(self.sources.slice(begins).lines().next().unwrap_or_default());
        self.report(finding.suggest(format!("write `(` before `{shown}`"), [Edit::before(begins, "(")]));
        self.bump();
    }

    /// Channels side by side without parentheses, from the first comma on.
    fn bare_channels(&mut self, name: &Name, first: Choice) -> Choice {
        let (index, comma) = (self.index(), self.span());
        let start = first.span;
        let mut parts = vec![first];
        let mut commas = Vec::new();
        while self.kind() == Kind::Comma {
            commas.push(self.bump());
            if !matches!(self.kind(), Kind::EndOfFile | Kind::Close) && !self.at_item() {
                parts.push(self.choice());
            }
        }
        if self.kind() == Kind::Close {
            self.unopened(parts.first());
            return missing(start.to(self.previous()));
        }
        let message = "`,` puts channels side by side and needs parentheses around all of them";
        let finding = Diagnostic::error(BARE_CHANNELS, comma, message);
        let choose = in_place_of_comma(Choice::chooser(&parts));
        let all = start.to(self.previous());
        let written = if is_short(all) {
            parts.iter().map(format::choice).collect::<Vec<_>>().join(", ")
        } else {
            "…, …".to_owned()
        };
        // Behind a dot something else is missing.
        let unended = |branch: &Sequence| {
            matches!(branch.tail, Tail::Missing(_))
                && branch.actions.last().is_some_and(|last| last.span.end == branch.span.end)
        };
        let ended = parts.iter().flat_map(|part| &part.branches);
        let mut edits: Vec<Edit> =
            ended.filter(|branch| unended(branch)).map(|branch| Edit::after(branch.span, " . End")).collect();
        let steps: Option<Vec<&Sequence>> = parts
            .iter()
            .map(|part| match part.branches.as_slice() {
                [only] if part.operators.is_empty() => Some(only),
                _ => None,
            })
            .collect();
        // Actions without an end between commas are steps of one sequence.
        let finding = match steps.as_deref().and_then(<[_]>::split_last) {
            Some((last, steps)) if steps.iter().all(|step| unended(step)) => {
                let dots = commas.iter().map(|comma| Edit::replace(*comma, " ."));
                let end = unended(last).then(|| Edit::after(last.span, " . End"));
                finding.suggest("write `.` in place of `,` if one follows the other", dots.chain(end))
            }
            _ => finding,
        };
        let help = format!("write `{} = ({written})`", shorten(&name.text));
        let ends = edits.clone();
        edits.extend([Edit::before(all, "("), Edit::after(all, ")")]);
        let sign = choose.split('`').nth(1).unwrap_or("⊕");
        let mut chosen: Vec<Edit> =
            commas.iter().map(|comma| Edit::replace(*comma, format!(" {sign}"))).collect();
        chosen.extend(ends);
        self.report_at(index, finding.suggest(help, edits).suggest(choose, chosen));
        missing(all)
    }
}

/// A session type that could not be read.
pub(super) fn missing(span: Span) -> Choice {
    let branch = Sequence { actions: Vec::new(), tail: Tail::Missing(span), span };
    Choice { branches: vec![branch], operators: Vec::new(), span }
}
