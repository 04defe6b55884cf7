//! Groups and keys: what lists alternatives.

use super::codes::{MALFORMED_DECLARATION, RESERVED_WORD};
use super::cursor::Parser;
use super::words;
use crate::ast::{GroupMember, GroupOperator, ItemKind, KeyField, KeyFieldPlace, Name};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::Kind;
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn group_behind_word(&mut self) -> Option<ItemKind> {
        let name = self.name("the group", "write `group Name = Message | Message`")?;
        self.group_named(name)
    }

    pub(super) fn group_named(&mut self, name: Name) -> Option<ItemKind> {
        let operator = match self.kind() {
            Kind::PlusEquals => GroupOperator::Add,
            Kind::MinusEquals => GroupOperator::Remove,
            _ => GroupOperator::Define,
        };
        match operator {
            GroupOperator::Define => {
                self.equals("write `group Name = Message | Message`, or `+=` or `-=`")?;
            }
            GroupOperator::Add | GroupOperator::Remove => {
                self.bump();
            }
        }
        let members = self.alternatives(Self::group_member)?;
        Some(ItemKind::Group { name, operator, members })
    }

    fn group_member(&mut self) -> Option<GroupMember> {
        if let Some(word) = self.eat_word("replies") {
            let group = self.name("a request or a group", "write `replies Group`")?;
            let span = word.to(group.span);
            return Some(GroupMember::Replies(group, span));
        }
        if matches!(self.word(), "reply" | "answers")
            && self.kind_at(1) == Kind::Word
            && !self.token_at(1).starts_line
        {
            let group = shorten(self.word_at(1));
            let message = format!("{} where `replies` is meant", self.found());
            let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), message);
            let edit = Edit::replace(self.span(), "replies");
            self.report(finding.suggest(format!("write `replies {group}`"), [edit]));
            let word = self.bump();
            let group = self.name("a request or a group", "write `replies Group`")?;
            let span = word.to(group.span);
            return Some(GroupMember::Replies(group, span));
        }
        if self.at_item() {
            self.expected(
                MALFORMED_DECLARATION,
                "a member of the group",
                "write the name of a message or a group",
            );
            return None;
        }
        Some(GroupMember::Name(self.name("a message or a group", "write `group Name = Message | Message`")?))
    }

    pub(super) fn key_behind_word(&mut self, open: Option<Span>) -> Option<ItemKind> {
        let name = self.name("the key", "write `key name = Message.path | Message.path`")?;
        self.equals("write `key name = Message.path | Message.path`")?;
        let fields = self.alternatives(Self::key_field)?;
        Some(ItemKind::Key { open, name, fields })
    }

    fn key_field(&mut self) -> Option<KeyField> {
        let is_open = self.word() == "open"
            && matches!(self.kind_at(1), Kind::Word | Kind::Text)
            && self.word_at(1) != "key";
        let open = is_open.then(|| self.bump());
        Some(KeyField { open, place: self.key_field_place()? })
    }

    fn key_field_place(&mut self) -> Option<KeyFieldPlace> {
        if self.word() == "id" && self.kind_at(1) != Kind::Dot {
            self.bump();
            if self.eat_word("of").is_none() {
                self.expected(MALFORMED_DECLARATION, "`of`", "write `id of Message`");
                return None;
            }
            return Some(KeyFieldPlace::Id(self.name("a message", "write `id of Message`")?));
        }
        if matches!(self.kind(), Kind::Word | Kind::Text)
            && self.word_at(1) == "of"
            && !self.token_at(1).starts_line
            && !self.begins_line_of_item()
        {
            let is_text = self.kind() == Kind::Text;
            let is_reserved = words::is_reserved(self.word());
            let member = if is_text { self.take_text() } else { self.take_word() };
            if is_reserved {
                let message = format!("`{}` is a reserved word", member.text);
                let finding = Diagnostic::error(RESERVED_WORD, member.span, message);
                let edits = [Edit::before(member.span, "\""), Edit::after(member.span, "\"")];
                let help = format!("put the name of the member into quotes: `\"{}\"`", member.text);
                self.report(finding.suggest(help, edits));
            }
            self.bump();
            let of =
                self.name("a message or a group", &format!("write `{} of Message`", shorten(&member.text)))?;
            // With quotes it is still the id.
            return Some(match member.text == "id" {
                true => KeyFieldPlace::Id(of),
                false => KeyFieldPlace::Member { member, quoted: is_text || is_reserved, of },
            });
        }
        Some(KeyFieldPlace::Field(self.message_or_field("Message.path")?))
    }

    /// One or more, separated by `|`, which may also stand before the first.
    pub(super) fn alternatives<T>(&mut self, one: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.eat(Kind::Bar);
        let mut all = vec![one(self)?];
        loop {
            let starts_line = self.token().starts_line;
            match self.kind() {
                Kind::Bar | Kind::Comma | Kind::Ampersand | Kind::Internal => {
                    let (index, shown, is_bar) = (self.index(), self.found(), self.kind() == Kind::Bar);
                    let mut sign = self.bump();
                    if self.kind() == Kind::EndOfFile || self.begins_line_of_item() {
                        let message = format!("nothing follows {}", self.before());
                        let finding = Diagnostic::error(MALFORMED_DECLARATION, sign, message);
                        self.report_at(index, finding.suggest("delete it", [Edit::delete(sign)]));
                        return Some(all);
                    }
                    let is_doubled = is_bar && self.kind() == Kind::Bar && self.span().start == sign.end;
                    if is_doubled {
                        sign = sign.to(self.bump());
                    }
                    if is_doubled || !is_bar {
                        let shown = if is_doubled { "`||`" } else { &shown };
                        let message = format!("{shown} where `|` is meant");
                        let finding = Diagnostic::error(MALFORMED_DECLARATION, sign, message);
                        self.report_at(index, finding.suggest("write `|`", [Edit::replace(sign, "|")]));
                    }
                }
                // Behind the defaults of capabilities.
                Kind::Word if self.word() == "open" && self.word_at(1) == "until" => return Some(all),
                Kind::Word if !starts_line && !self.at_item() => {
                    let finding = Diagnostic::error(MALFORMED_DECLARATION, self.span(), "`|` is missing");
                    let edit = Edit::before(self.span(), "| ");
                    self.report(
                        finding.label("before this").suggest("write `|` between alternatives", [edit]),
                    );
                }
                _ => return Some(all),
            }
            all.push(one(self)?);
        }
    }
}
