//! Paths, conditions and levels.

use mcp_protocol_machine::protocol::position;

use super::codes::{
    DEEPEST, MALFORMED_DECLARATION, MALFORMED_LEVEL, MALFORMED_PATH, TOO_DEEP, UNKNOWN_MODIFIER,
};
use super::cursor::Parser;
use super::words;
use crate::ast::{
    Condition, ConditionValue, JsonPath, Level, LevelDirection, MessageField, Name, RustPath, boolean,
};
use crate::declarations::{name_in_rust, word_meant};
use crate::diagnostic::{Code, Diagnostic, Edit, shorten};
use crate::findings::shapes::MALFORMED_PAYLOAD;
use crate::lexer::{Kind, LONGEST_TEXT, TOO_LONG};
use crate::source::Span;
use crate::suggest;

/// What a condition compares with.
const VALUES: &str = "a text in quotes, a whole number, `true` or `false`";

impl Parser<'_> {
    /// `a::b::C<D, E>`
    pub(super) fn rust_path(&mut self, code: Code, what: &str, help: &str) -> Option<RustPath> {
        if self.begins_line_of_item() {
            self.expected(code, what, help);
            return None;
        }
        let start = self.span();
        let mut text = String::new();
        self.rust_path_into(&mut text, code, what, help)?;
        Some(RustPath { text, span: start.to(self.previous()) })
    }

    fn rust_path_into(&mut self, text: &mut String, code: Code, what: &str, help: &str) -> Option<()> {
        if self.eat(Kind::DoubleColon).is_some() {
            text.push_str("::");
        }
        let mut reported = false;
        loop {
            if self.kind() != Kind::Word || self.word() == "_" {
                self.expected(code, what, help);
                return None;
            }
            let starts = text.is_empty() || text.ends_with(['<', ',']);
            let name = self.foreign_type(text.is_empty(), starts, code).unwrap_or_else(|| self.word());
            text.push_str(name);
            let word = self.bump();
            if text.len() > LONGEST_TEXT {
                let finding = Diagnostic::error(TOO_LONG, word, "this path is too long");
                self.report(finding.help("name the type in Rust with `type`"));
                return None;
            }
            if self.kind() == Kind::Less {
                self.generics_into(text, code)?;
            }
            match self.kind() {
                Kind::DoubleColon => {
                    self.bump();
                }
                Kind::Dot | Kind::Colon if self.kind_at(1) == Kind::Word => {
                    let message = format!("{} between the parts of a Rust path", self.found());
                    if !std::mem::replace(&mut reported, true) {
                        let finding = Diagnostic::error(code, self.span(), message);
                        self.report(finding.suggest("write `::`", self.wrong_separators()));
                    }
                    self.bump();
                }
                _ => return Some(()),
            }
            text.push_str("::");
        }
    }

    /// Reports the name that another language has for a type, in a payload; the name that it has here. Alone it is a shape,
    /// among the arguments of a type it is one of Rust.
    fn foreign_type(&mut self, is_alone: bool, starts: bool, code: Code) -> Option<&'static str> {
        let is_path = matches!(self.kind_at(1), Kind::DoubleColon | Kind::Dot | Kind::Colon);
        if !starts || is_path || code != MALFORMED_PAYLOAD {
            return None;
        }
        let word = self.word();
        let (meant, what) = match is_alone {
            true => (word_meant(word)?, "neither a shape nor a type of Rust"),
            false => (name_in_rust(word)?, "not a type of Rust"),
        };
        let finding = Diagnostic::error(code, self.span(), format!("`{word}` is {what}"));
        self.report(finding.suggest(format!("write `{meant}`"), [Edit::replace(self.span(), meant)]));
        Some(meant)
    }

    /// The edits that write `::` between the parts of the path from here on.
    fn wrong_separators(&self) -> Vec<Edit> {
        let start = self.span();
        let rest = self.sources.text(self.file).get(start.start as usize..).unwrap_or("");
        let path =
            rest.split(|next: char| !next.is_alphanumeric() && !matches!(next, '_' | '.' | ':')).next();
        let path = path.unwrap_or("");
        let signs = path.char_indices().filter(|(at, sign)| {
            let colon = |at: usize| path.get(at..=at) == Some(":");
            *sign == '.' || *sign == ':' && !colon(at + 1) && !at.checked_sub(1).is_some_and(colon)
        });
        let at = |at: usize| start.start + u32::try_from(at).unwrap_or(0);
        signs
            .map(|(sign, _)| Edit::replace(Span { start: at(sign), end: at(sign) + 1, ..start }, "::"))
            .collect()
    }

    fn generics_into(&mut self, text: &mut String, code: Code) -> Option<()> {
        let open = self.bump();
        if self.depth >= DEEPEST {
            let message = format!("generic arguments nest deeper than {DEEPEST}");
            self.report(Diagnostic::error(TOO_DEEP, open, message).help("name the type in Rust with `type`"));
            return None;
        }
        text.push('<');
        self.depth += 1;
        let done = self.generic_arguments_into(text, code);
        self.depth -= 1;
        done?;
        text.push('>');
        Some(())
    }

    fn generic_arguments_into(&mut self, text: &mut String, code: Code) -> Option<()> {
        let help = "write paths such as `Vec<String>`; give other types a name in Rust with `type`";
        loop {
            self.rust_path_into(text, code, "a type", help)?;
            if self.eat(Kind::Comma).is_some() {
                text.push(',');
                continue;
            }
            if self.eat(Kind::Greater).is_some() {
                return Some(());
            }
            self.expected(code, "`,` or `>`", if self.kind() == Kind::Close { "write `>`" } else { help });
            return None;
        }
    }

    /// `Message.a.b`, or `Message` alone for all that it carries.
    pub(super) fn message_or_field(&mut self, example: &str) -> Option<MessageField> {
        let behind = self.kind_at(1);
        let ends = self.token_at(1).starts_line
            || matches!(behind, Kind::Bar | Kind::Comma | Kind::Ampersand | Kind::Internal | Kind::EndOfFile)
            || matches!(self.word_at(1), "default" | "open" | "with");
        if behind == Kind::Dot || !ends {
            return self.message_field(example);
        }
        let message = self.name("a message", &format!("write `{example}`"))?;
        let path = JsonPath { segments: Vec::new(), span: message.span };
        Some(MessageField { message, path })
    }

    /// `Message.a.b`
    pub(super) fn message_field(&mut self, example: &str) -> Option<MessageField> {
        let message = self.name("a message", &format!("write `{example}`"))?;
        if self.eat(Kind::Dot).is_none() {
            let shown = shorten(&message.text);
            let rest = example.split_once('.').map_or("", |(_, rest)| rest);
            self.expected(MALFORMED_PATH, "`.` and a path", &format!("write `{shown}.{rest}`"));
            return None;
        }
        let rest = example.split_once('.').map_or("", |(_, rest)| rest);
        let path = self.json_path(&format!("write `{}.{rest}`", shorten(&message.text)))?;
        Some(MessageField { message, path })
    }

    /// `a.b."c.d"`, `a.0`
    pub(super) fn json_path(&mut self, help: &str) -> Option<JsonPath> {
        let mut segments = vec![self.json_key(help)?];
        let mut too_deep = false;
        while self.eat(Kind::Dot).is_some() {
            let key = self.json_key(help)?;
            if segments.len() < DEEPEST {
                segments.push(key);
                continue;
            }
            if !std::mem::replace(&mut too_deep, true) {
                let message = format!("this path goes deeper than {DEEPEST} levels");
                let finding = Diagnostic::error(TOO_DEEP, key.span, message);
                self.report(finding.help("name a field that lies less deep"));
            }
        }
        let span = segments.first().map_or(self.span(), |first| first.span.to(self.previous()));
        Some(JsonPath { segments, span })
    }

    fn json_key(&mut self, help: &str) -> Option<Name> {
        match self.kind() {
            Kind::Word if !self.begins_line_of_item() => Some(self.take_word()),
            Kind::Text => Some(self.take_text()),
            Kind::Number if position(self.sources.slice(self.span())).is_some() => {
                let text = self.sources.slice(self.span()).to_owned();
                Some(Name { text, span: self.bump() })
            }
            Kind::Number if !self.token().starts_line => {
                let message = format!("the key {} in a JSON path starts with a digit", self.found());
                let text = self.sources.slice(self.span()).to_owned();
                let finding = Diagnostic::error(MALFORMED_PATH, self.span(), message);
                let edits = [Edit::before(self.span(), "\""), Edit::after(self.span(), "\"")];
                let help = format!("put it into quotes: `\"{}\"`", shorten(&text));
                self.report(finding.suggest(help, edits));
                Some(Name { text, span: self.bump() })
            }
            _ => {
                self.expected(MALFORMED_PATH, "a JSON path", help);
                None
            }
        }
    }

    /// `if PATH`, `if PATH = VALUE` of a message or a reply, if the word is there.
    pub(super) fn condition(&mut self) -> Option<Condition> {
        if self.word() == "unless" {
            let finding =
                Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`unless` stands behind a gate only");
            let (index, start) = (self.index(), self.span());
            // Most likely it stands for what the other messages of the method leave.
            self.condition_behind("unless");
            self.report_at(
                index,
                finding.suggest(
                    "delete the condition, or write `if …`: what has no condition stands for all other payloads",
                    [Edit::delete(start.to(self.previous()))],
                ),
            );
            return None;
        }
        self.condition_behind("if")
    }

    /// The same behind a gate, where it may be `unless` as well; whether it is.
    pub(super) fn condition_of_gate(&mut self) -> (Option<Condition>, bool) {
        let word = self.word();
        let unless = word == "unless";
        let other = word == "if" || words::MODIFIERS.contains(&word) || self.token().starts_line;
        if !unless && !other && suggest::nearest(word, ["unless"]).is_some() {
            let message = format!("{} where `unless` is meant", self.found());
            let finding = Diagnostic::error(UNKNOWN_MODIFIER, self.span(), message);
            self.report(finding.suggest("write `unless`", [Edit::replace(self.span(), "unless")]));
            let word = self.word();
            return (self.condition_behind(word), true);
        }
        (self.condition_behind(if unless { "unless" } else { "if" }), unless)
    }

    /// The condition behind requests, which cannot be turned round.
    pub(super) fn condition_of_during(&mut self) -> Option<Condition> {
        if self.word() != "unless" {
            return self.condition_behind("if");
        }
        let (index, start) = (self.index(), self.span());
        self.condition_behind("unless");
        let finding =
            Diagnostic::error(MALFORMED_DECLARATION, start, "`unless` does not stand behind `during`");
        let edit = Edit::delete(start.to(self.previous()));
        let help = "delete the condition, or write `if …` for the params of the requests that count";
        self.report_at(index, finding.suggest(help, [edit]));
        None
    }

    fn condition_behind(&mut self, word: &str) -> Option<Condition> {
        let help = format!("write `{word} path` or `{word} path = \"literal\"`");
        let word_span = self.eat_word(word)?;
        let path = self.condition_path(&help)?;
        let mut literal = None;
        if self.kind() == Kind::Exclamation && self.kind_at(1) == Kind::Equals && !self.token().starts_line {
            let both = self.bump().to(self.span());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, both, "`!=` is not a condition");
            let path = shorten(self.sources.slice(path.span));
            let edits = [Edit::replace(word_span, "unless"), Edit::replace(both, "=")];
            self.report(
                finding.suggest(format!("behind a gate, write `unless {path} = \"literal\"`"), edits),
            );
        }
        // A definition may follow right behind; then the `=` belongs to its name, which cannot stand here.
        if self.kind() == Kind::Equals {
            let first = self.bump();
            if self.kind() == Kind::Equals && self.span().start == first.end {
                let both = first.to(self.span());
                let finding = Diagnostic::error(MALFORMED_DECLARATION, both, "`==` where `=` is meant");
                self.report(finding.suggest("write `=`", [Edit::replace(both, "=")]));
                self.bump();
            }
            literal = self.condition_value(word, path.span, first);
            self.more_values();
        }
        Some(Condition { path, literal, span: word_span.to(self.previous()) })
    }

    /// `a.b`, or `_` for the payload itself.
    fn condition_path(&mut self, help: &str) -> Option<JsonPath> {
        if self.word() != "_" || self.begins_line_of_item() {
            return self.json_path(help);
        }
        let whole = self.bump();
        if self.kind() == Kind::Dot && !self.token().starts_line {
            let dot = self.bump();
            let finding = Diagnostic::error(MALFORMED_PATH, whole, "`_` is the payload itself");
            let path = self.json_path(help)?;
            let shown = shorten(self.sources.slice(path.span)).to_string();
            self.report(finding.suggest(format!("write `{shown}`"), [Edit::delete(whole.to(dot))]));
            return Some(path);
        }
        Some(JsonPath { segments: Vec::new(), span: whole })
    }

    /// What stands behind the `=` of a condition.
    fn condition_value(&mut self, word: &str, path: Span, equals: Span) -> Option<ConditionValue> {
        let start = self.span();
        let is_word = self.kind() == Kind::Word && !self.token().starts_line;
        if let Some(value) = boolean(self.word()).filter(|_| is_word) {
            return Some(ConditionValue { value: value.into(), span: self.bump() });
        }
        let value = match self.kind() {
            Kind::Text => self.take_text().text.into(),
            Kind::Number => match self.whole_number(MALFORMED_DECLARATION) {
                Ok(number) => number.into(),
                Err(finding) => {
                    let path = shorten(self.sources.slice(path));
                    let help = format!("write `{word} {path}`: that is any value but `false` and `null`");
                    let comparison = Edit::delete(equals.to(self.previous()));
                    self.report(finding.suggest(help, [comparison]));
                    return None;
                }
            },
            Kind::Word if is_word && self.word() == "null" => {
                self.compares_with_null(path);
                return None;
            }
            _ if is_word && !self.at_item() => {
                let message = format!("expected {VALUES}, found {}", self.found());
                let text = crate::lexer::quote(self.word());
                let word = self.bump();
                let finding = Diagnostic::error(MALFORMED_DECLARATION, word, message);
                self.report(finding.suggest(format!("write `{text}`"), [Edit::replace(word, text)]));
                return None;
            }
            _ => {
                self.expected(MALFORMED_DECLARATION, VALUES, &format!("write `{word} path = \"literal\"`"));
                return None;
            }
        };
        Some(ConditionValue { value, span: start.to(self.previous()) })
    }

    /// `if path = 1 | 2`: values behind the first one. Behind the condition of a reply, a word is another reply.
    fn more_values(&mut self) {
        let at_value = |parser: &Self| {
            parser.kind() == Kind::Bar
                && (matches!(parser.kind_at(1), Kind::Text | Kind::Number)
                    || boolean(parser.word_at(1)).is_some())
        };
        if !at_value(self) {
            return;
        }
        let (index, start) = (self.index(), self.span());
        while at_value(self) {
            self.bump();
            self.bump();
        }
        let more = start.to(self.previous());
        let finding = Diagnostic::error(MALFORMED_DECLARATION, more, "a condition compares with one value");
        self.report_at(
            index,
            finding
                .help("declare a message for each of the values, or one without a condition for all others"),
        );
    }

    /// `if path = null`: a member that is `null` counts as one that is absent.
    fn compares_with_null(&mut self, path: Span) {
        let path = shorten(self.sources.slice(path));
        let null = self.bump();
        let finding =
            Diagnostic::error(MALFORMED_DECLARATION, null, "a condition does not compare with `null`");
        self.report(finding.help(format!(
            "write `if {path}` behind the other alternative, and nothing behind this one; behind a gate, write \
             `unless {path}`"
        )));
    }

    /// `[should "L5" out, must "L8" error -32002]`
    pub(super) fn levels(&mut self) -> Vec<Level> {
        let open = self.bump();
        let mut levels = Vec::new();
        loop {
            if self.kind() == Kind::CloseBracket && !levels.is_empty() {
                break;
            }
            let Some(level) = self.level() else { return self.skip_levels(levels) };
            levels.push(level);
            if self.eat(Kind::Comma).is_none() && !self.another_level() {
                break;
            }
        }
        if self.eat(Kind::CloseBracket).is_some() {
            return levels;
        }
        if self.token().starts_line || matches!(self.kind(), Kind::EndOfFile | Kind::Equals | Kind::Dot) {
            let finding = Diagnostic::error(MALFORMED_LEVEL, open, "this bracket is not closed");
            let end = self.previous();
            let finding = finding.also(end.after(), "`]` expected here");
            self.report(finding.suggest("write `]`", [Edit::after(end, "]")]));
            return levels;
        }
        self.expected(
            MALFORMED_LEVEL,
            "`,` or `]`",
            "write levels as `[should \"rule\" out, must \"rule\" in]`",
        );
        self.skip_levels(levels)
    }

    /// Whether the rule of a level stands here, but for its quotes.
    fn is_rule_without_quotes(&self, level: &Level) -> bool {
        let ends = matches!(self.kind_at(1), Kind::CloseBracket | Kind::Comma)
            || matches!(self.word_at(1), "out" | "in" | "error");
        level.rule.is_none() && level.direction.is_none() && level.error.is_none() && ends
    }

    fn rule_without_quotes(&mut self) -> Name {
        let rule = self.take_word();
        let finding = Diagnostic::error(MALFORMED_LEVEL, rule.span, "a rule stands in quotes");
        let quoted = format!("\"{}\"", rule.text);
        let help = format!("write `{}`", shorten(&quoted));
        self.report_at(self.index() - 1, finding.suggest(help, [Edit::replace(rule.span, quoted)]));
        rule
    }

    /// Whether another level follows without a comma, which is reported.
    fn another_level(&mut self) -> bool {
        let follows = matches!(self.word(), "must" | "should") && !self.begins_line_of_item();
        if follows {
            let end = self.previous();
            let finding = Diagnostic::error(MALFORMED_LEVEL, self.span(), "no `,` before this level");
            self.report(finding.suggest("write `,`", [Edit::after(end, ",")]));
        }
        follows
    }

    /// Goes on behind levels that cannot be read: what begins the rest of a session type is not one of them.
    fn skip_levels(&mut self, levels: Vec<Level>) -> Vec<Level> {
        use Kind::{Ampersand, Close, CloseBracket, Dot, EndOfFile, Equals, Internal};
        while !matches!(self.kind(), CloseBracket | EndOfFile | Equals | Dot | Close | Ampersand | Internal)
            && !self.begins_line_of_item()
        {
            self.bump();
        }
        self.eat(Kind::CloseBracket);
        levels
    }

    fn level(&mut self) -> Option<Level> {
        let must = match self.word() {
            "must" => true,
            "should" => false,
            word => {
                let help = match (suggest::nearest(word, ["must", "should"]), self.kind()) {
                    (Some(meant), _) => {
                        self.expected(
                            MALFORMED_LEVEL,
                            "`must` or `should`",
                            &format!("did you mean `{meant}`?"),
                        );
                        return self.level_of(meant == "must");
                    }
                    (None, Kind::Text) => {
                        format!("write `must {}` or `should {0}`", self.found().trim_matches('`'))
                    }
                    (None, Kind::Word) if self.kind_at(1) == Kind::Text => {
                        "write `must` or `should`".to_owned()
                    }
                    (None, Kind::Word) => format!("write `must \"{}\"` or `should \"{0}\"`", shorten(word)),
                    (None, _) => "write levels as `[should \"rule\"]` or `[must \"rule\"]`".to_owned(),
                };
                self.expected(MALFORMED_LEVEL, "`must` or `should`", &help);
                return None;
            }
        };
        self.level_of(must)
    }

    /// The level whose first word stands here.
    fn level_of(&mut self, must: bool) -> Option<Level> {
        let start = self.bump();
        let mut level = Level { must, rule: None, direction: None, error: None, span: start };
        loop {
            let twice = match (self.kind(), self.word()) {
                (Kind::Text, _) => level.rule.replace(self.take_text()).is_some(),
                (Kind::Word, "out") => {
                    self.bump();
                    level.direction.replace(LevelDirection::Out).is_some()
                }
                (Kind::Word, "in") => {
                    self.bump();
                    level.direction.replace(LevelDirection::In).is_some()
                }
                (Kind::Word, "error") => {
                    self.bump();
                    level.error.replace(self.error_code(MALFORMED_LEVEL, "-32002")?).is_some()
                }
                (Kind::Word, "must" | "should") => break,
                (Kind::Colon, _) => {
                    let finding = Diagnostic::error(MALFORMED_LEVEL, self.span(), "`:` in a level");
                    self.report(finding.suggest("delete it", [Edit::delete(self.span())]));
                    self.bump();
                    continue;
                }
                (Kind::Word, word) if !self.begins_line_of_item() => {
                    let help = match suggest::nearest(word, ["out", "in", "error"]) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None if self.is_rule_without_quotes(&level) => {
                            level.rule = Some(self.rule_without_quotes());
                            continue;
                        }
                        None => "after the rule stand `out` or `in`, and `error` with a code".to_owned(),
                    };
                    self.expected(MALFORMED_LEVEL, "`out`, `in` or `error`", &help);
                    return None;
                }
                _ => break,
            };
            if twice {
                let message = format!("{} is one too many in this level", self.before());
                let finding = Diagnostic::error(MALFORMED_LEVEL, self.previous(), message);
                let edit = Edit::delete(self.previous());
                self.report_at(
                    self.index() - 1,
                    finding.suggest("delete it, or write a level of its own, after a comma", [edit]),
                );
            }
        }
        level.span = start.to(self.previous());
        Some(level)
    }

    /// The code behind `error`.
    pub(super) fn error_code(&mut self, wrong: Code, example: &str) -> Option<i64> {
        let help = format!("write `error {example}`");
        if self.kind() != Kind::Number {
            self.expected(wrong, "the code of the error", &help);
            return None;
        }
        let code = self.sources.slice(self.span()).parse();
        if code.is_err() {
            let message = format!("{} is too large for the code of an error", self.found());
            let edit = Edit::replace(self.span(), example);
            self.report(Diagnostic::error(wrong, self.span(), message).suggest(help, [edit]));
        }
        self.bump();
        Some(code.unwrap_or(0))
    }
}
