//! Changes of declarations: other messages, keys, groups; and names for loops and bodies.

use mcp_protocol_machine::protocol::Kind;

use super::change::{Placing, replaced};
use super::tree::{span, within};
use crate::ast::{
    AnnouncedField, GroupMember, Item, ItemKind, KeyField, KeyFieldPlace, Modifier, Name, Payload, Reply,
    Request, Sequence, Shape, ShapeKind, Tail,
};
use crate::declarations::{Field, Form, Meaning, PayloadType, Record, Shapes};
use crate::diagnostic::Edit;
use crate::source::{SourceMap, Span};

impl<'a> Placing<'a, '_> {
    /// Where the message of this name is declared.
    pub(super) fn message(&self, name: &str) -> Option<Span> {
        match self.resolution.names.get(name)? {
            Meaning::Message(index) => Some(self.resolution.declarations.message(*index)?.span),
            Meaning::Group(_) => None,
        }
    }

    fn items(&self) -> impl Iterator<Item = &'a Item> + use<'a> {
        self.tree.files.iter().flat_map(|file| &file.tree.items)
    }

    /// Whether a key, the version or capabilities stand in what a message of this name carries.
    pub(super) fn is_in_a_path(&self, message: &str) -> bool {
        let is_it = |field: &AnnouncedField| match field {
            AnnouncedField::Message(field) => field.message.text == message,
            AnnouncedField::EachRequest { .. } => false,
        };
        self.items().any(|item| match &item.kind {
            ItemKind::Key { fields, .. } => fields.iter().any(|field| match &field.place {
                KeyFieldPlace::Field(field) => field.message.text == message,
                KeyFieldPlace::Id(_) | KeyFieldPlace::Member { .. } => false,
            }),
            ItemKind::Capabilities { field, .. } | ItemKind::Version { field, .. } => is_it(field),
            _ => false,
        })
    }

    pub(super) fn key(&self, key: &str) -> Option<(&'a Item, &'a [KeyField])> {
        self.items().find_map(|item| match &item.kind {
            ItemKind::Key { name, fields, .. } if name.text == key => Some((item, fields.as_slice())),
            _ => None,
        })
    }

    /// `open` before each field of a message in a key. Where only a group is named for envelopes, the message gets a field of its
    /// own behind that.
    pub(super) fn open_key_of(&mut self, key: &str, message: &str) -> Option<()> {
        let (_, fields) = self.key(key)?;
        let index = self.resolution.names.get(message);
        let is_in = |group: &Name| match (self.resolution.names.get(&group.text), index) {
            (Some(Meaning::Group(messages)), Some(Meaning::Message(index))) => messages.contains(index),
            _ => false,
        };
        let own = |field: &KeyField| {
            let (of, first) = match &field.place {
                KeyFieldPlace::Field(field) => (&field.message, field.message.span),
                KeyFieldPlace::Member { member, of, .. } => (of, member.span),
                KeyFieldPlace::Id(_) => return None,
            };
            (of.text == message).then(|| Edit::before(first, "open "))
        };
        let of_group = |field: &KeyField| match &field.place {
            KeyFieldPlace::Member { member, of, .. } if is_in(of) => {
                let member = self.tree.sources.slice(member.span);
                Some(Edit::after(of.span, format!(" | open {member} of {message}")))
            }
            KeyFieldPlace::Field(_) | KeyFieldPlace::Id(_) | KeyFieldPlace::Member { .. } => None,
        };
        let mut edits: Vec<Edit> = fields.iter().filter_map(own).collect();
        if edits.is_empty() {
            edits.extend(fields.iter().find_map(of_group));
        }
        self.edits.extend(edits.iter().cloned());
        (!edits.is_empty()).then_some(())
    }

    pub(super) fn key_fields(&mut self, key: &str, messages: &[String]) -> Option<()> {
        let (_, fields) = self.key(key)?;
        let path = fields.iter().rev().find_map(|field| match &field.place {
            KeyFieldPlace::Field(field) => Some(self.tree.sources.slice(field.path.span)),
            KeyFieldPlace::Id(_) | KeyFieldPlace::Member { .. } => None,
        });
        let path = path.unwrap_or("id");
        let added: String = messages.iter().map(|message| format!(" | {message}.{path}")).collect();
        self.text = self.text.replace("{path}", path);
        self.edits.push(Edit::after(end(fields.last()?), added));
        self.field_of_each(path, messages);
        Some(())
    }

    /// A key that the first step of a sub-session, or its reply, and later steps carry: by a field that all of them have, or by
    /// one of the later steps that looks like an id and holds that of the request, or that the first step gets.
    pub(super) fn declare_key(&mut self, opener: &str, later: &[String]) -> Option<()> {
        let opener = opener.to_owned();
        let declarations = &self.resolution.declarations;
        let meant = self.resolution.names.get(&opener);
        let message = match meant {
            Some(Meaning::Message(index)) => Some(*index),
            _ => None,
        };
        let mut first = vec![opener.clone()];
        if let Some(index) = message {
            let declared = declarations.replies(index).filter_map(|reply| declarations.message(reply));
            first.extend(declared.map(|reply| reply.table.name.to_string()));
        }
        let later_fields: Vec<Vec<&str>> =
            later.iter().filter_map(|message| self.values_of(message)).collect();
        let in_all = |field: &&str| later_fields.iter().all(|fields| fields.contains(field));
        let in_later: Vec<&str> =
            later_fields.first().into_iter().flatten().copied().filter(in_all).collect();
        let id_of_later = in_later.iter().find(|field| is_id(field)).map(|field| (*field).to_owned());
        let shared = |is_meant: fn(&str) -> bool| {
            first.iter().find_map(|message| {
                let fields = self.values_of(message)?;
                let field = fields.into_iter().find(|field| is_meant(field) && in_all(field))?;
                Some((message.clone(), field.to_owned()))
            })
        };
        let is_request = message
            .and_then(|index| declarations.message(index))
            .is_some_and(|message| matches!(message.table.kind, Kind::Request));
        let shared_id = shared(is_id);
        // Requests of most programs have numbers as their ids.
        let number = id_of_later.clone().filter(|field| is_request && self.written(later, field) != "string");
        if let (None, Some(field)) = (&shared_id, number) {
            return self.key_of_places(format!("id of {opener}"), &field, later, later.to_vec());
        }
        let own = || Some((opener.clone(), best(self.values_of(&opener)?)?));
        let (first, field) = shared_id
            .or_else(|| id_of_later.map(|field| (opener.clone(), field)))
            .or_else(|| shared(|_| true))
            .or_else(own)
            .unwrap_or_else(|| (opener.clone(), "id".to_owned()));
        let mut all = later.to_vec();
        all.push(first.clone());
        self.key_of_places(format!("{first}.{field}"), &field, later, all)
    }

    /// Declares a key whose value stands at `first` and in this field of each of `later`, and gives the field to those of
    /// `carriers` that lack it.
    fn key_of_places(
        &mut self,
        first: String,
        field: &str,
        later: &[String],
        carriers: Vec<String>,
    ) -> Option<()> {
        let places: Vec<String> =
            std::iter::once(first).chain(later.iter().map(|message| format!("{message}.{field}"))).collect();
        let item = format!("key shared = {}", places.join(" | "));
        self.text = self.text.replace("{key}", &item);
        self.declare(&item)?;
        self.field_of_each(field, &carriers);
        Some(())
    }

    /// The shape of a field in one of these messages that has it.
    fn written(&self, messages: &[String], field: &str) -> &'static str {
        let declared = messages.iter().find_map(|message| self.record_of(message)?.1.field(field));
        match declared.map(|field| Shapes(&self.resolution.declarations.shapes).behind(&field.form)) {
            Some(Form::Int) => "int",
            Some(Form::Uint) => "uint",
            _ => "string",
        }
    }

    /// The fields of a message that may be the value of a key; nothing if it is not known what it carries.
    fn values_of(&self, message: &String) -> Option<Vec<&str>> {
        let record = self.record_of(message)?.1;
        let is_value = |field: &&Field| {
            let form = Shapes(&self.resolution.declarations.shapes).behind(&field.form);
            !field.optional && matches!(form, Form::String | Form::Int | Form::Uint)
        };
        Some(record.fields.iter().filter(is_value).map(|field| field.name.text.as_str()).collect())
    }

    /// The record that a message carries, and its name.
    fn record_of(&self, message: &String) -> Option<(&str, &Record)> {
        let Meaning::Message(index) = self.resolution.names.get(message)? else { return None };
        let declarations = &self.resolution.declarations;
        let PayloadType::Shape { index, name } = &declarations.message(*index)?.payload else { return None };
        match &declarations.shapes.get(*index)?.form {
            Form::Record(record) => Some((name.as_str(), record)),
            _ => None,
        }
    }

    /// Gives a field to the records of those messages that lack it.
    fn field_of_each(&mut self, field: &str, messages: &[String]) {
        let mut lacking: Vec<String> = Vec::new();
        for message in messages {
            if let Some((name, record)) = self.record_of(message)
                && record.field(field).is_none()
                && !lacking.iter().any(|known| known == name)
            {
                lacking.push(name.to_owned());
            }
        }
        let written = self.written(messages, field);
        for name in lacking {
            let bodies =
                self.tree.files.iter().filter(|file| !file.imported).flat_map(|file| &file.tree.items);
            let shapes = bodies.flat_map(Item::shapes).filter(|shape| shape.name.text == name);
            let body = shapes.last().map(|shape| shape.body);
            let Some(Shape { kind: ShapeKind::Record(members), span }) = body else { continue };
            let brace = Span { end: span.start + 1, ..*span };
            let comma = if members.is_empty() { " " } else { "," };
            self.edits.push(Edit::after(brace, format!(" {field}: {written}{comma}")));
            self.text.push_str(&format!(", and give `{name}` the field `{field}`"));
        }
    }

    pub(super) fn member(&mut self, group: &str, member: &str) -> Option<()> {
        let members = self.items().find_map(|item| match &item.kind {
            ItemKind::Group { name: other, members, .. } if other.text == group => Some(members),
            _ => None,
        })?;
        let at = members.iter().map(member_name).find(|name| name.text == member)?.span;
        self.delete_member(at)
    }

    pub(super) fn delete_member(&mut self, at: Span) -> Option<()> {
        let (members, index) = self.items().find_map(|item| match &item.kind {
            ItemKind::Group { members, .. } => {
                Some((members, members.iter().position(|member| member_name(member).span == at)?))
            }
            _ => None,
        })?;
        let own = member_span(members.get(index)?);
        let edit = match (index.checked_sub(1).and_then(|before| members.get(before)), members.get(index + 1))
        {
            (Some(before), _) => Edit::delete(member_span(before).after().to(own)),
            (None, Some(next)) => Edit::delete(Span { end: member_span(next).start, ..own }),
            (None, None) => return None,
        };
        self.edits.push(edit);
        Some(())
    }

    pub(super) fn define_group(&mut self, name: Span) -> Option<()> {
        let text = self.tree.sources.text(name.file);
        let behind = text.get(name.end as usize..)?;
        let at = u32::try_from(behind.find(['+', '-'])?).ok()?;
        let sign = Span { start: name.end + at, end: name.end + at + 2, ..name };
        self.edits.push(Edit::replace(sign, "="));
        Some(())
    }

    pub(super) fn rename(&mut self, name: Span, to: &str) -> Option<()> {
        let mut free = to.to_owned();
        while self.is_taken(&free) {
            free.insert_str(0, "Other");
        }
        self.text = replaced(&self.text, to, &free);
        self.edits.push(Edit::replace(name, free));
        Some(())
    }

    pub(super) fn other_method(&mut self, name: Span) -> Option<()> {
        let method = match &self.tree.declared(name)?.item.kind {
            ItemKind::Request(request) => request.method.span,
            ItemKind::Notification(notification) => notification.method.span,
            _ => return None,
        };
        self.edits.push(Edit::replace(method, other(self.tree.sources.slice(method))));
        Some(())
    }

    fn reply(&self, name: Span) -> Option<&'a Reply> {
        let declared = self.tree.declared(name)?;
        match &declared.item.kind {
            ItemKind::Request(request) => request.replies.get(declared.reply?),
            _ => None,
        }
    }

    /// A condition behind a reply. Where what the reply carries has not the field in it, another one is taken.
    pub(super) fn condition(&mut self, name: Span, text: &str) -> Option<()> {
        let reply = self.reply(name)?;
        let mut text = text.to_owned();
        if let Some((_, record)) = self.record_of(&reply.name.text)
            && let Some((_, field)) = text.rsplit_once(' ')
            && !record.rest
            && record.field(field).is_none()
        {
            let messages = self.resolution.declarations.messages.iter();
            let conditions = messages.filter_map(|message| message.table.condition.as_ref());
            let taken: Vec<&str> =
                conditions.filter_map(|condition| Some(&**condition.path.first()?)).collect();
            let mut fields = record.fields.iter().map(|field| field.name.text.as_str());
            let free = fields.find(|field| !taken.contains(field) && crate::lexer::is_word(field))?;
            let instead = format!(" if {free}");
            self.text = self.text.replace(text.trim_start(), instead.trim_start());
            text = instead;
        }
        let text = text.as_str();
        self.edits.push(match &reply.condition {
            Some(condition) => Edit::replace(condition.span, text.trim_start()),
            None => Edit::after(whole(reply, self.tree.sources), text),
        });
        Some(())
    }

    pub(super) fn before(&mut self, name: Span, other: Span) -> Option<()> {
        let sources = self.tree.sources;
        if let Some((reply, first)) = self.reply(name).zip(self.reply(other)) {
            let (own, first) = (whole(reply, sources), whole(first, sources));
            let behind = sources.text(own.file).get(first.end as usize..own.start as usize)?;
            let bar = u32::try_from(behind.rfind('|')?).ok()?;
            self.edits.push(Edit::before(first, format!("{} | ", sources.slice(own))));
            self.edits.push(Edit::delete(Span { start: first.end + bar, ..own }));
            return Some(());
        }
        let (own, first) = (self.tree.declared(name)?.item.span, self.tree.declared(other)?.item.span);
        self.edits.push(Edit::before(first, format!("{}\n", sources.slice(own))));
        self.edits.push(Edit::delete(own));
        Some(())
    }

    pub(super) fn delete_default(&mut self, at: Span) -> Option<()> {
        let defaults = self.items().find_map(|item| match &item.kind {
            ItemKind::Capabilities { defaults, field, open, .. } => {
                let index = defaults.iter().position(|default| default.span == at)?;
                let before = open.filter(|open| open.start < at.start).unwrap_or(field.path().span);
                Some((before, defaults, index))
            }
            _ => None,
        });
        let (before_all, defaults, index) = defaults?;
        let edit = match (index.checked_sub(1).and_then(|before| defaults.get(before)), defaults.get(1)) {
            (Some(before), _) => Edit::delete(before.span.after().to(at)),
            (None, Some(next)) => Edit::delete(Span { end: next.span.start, ..at }),
            (None, None) => Edit::delete(before_all.after().to(at)),
        };
        self.edits.push(edit);
        Some(())
    }

    pub(super) fn answer(&mut self, before: Span, action: &str, reply: &str) -> Option<()> {
        let spot = self.tree.spot(before)?;
        let sequence = spot.sequence()?;
        let written = |span: Span| self.tree.sources.slice(span);
        let actions = sequence.actions.get(..=spot.action.min(sequence.actions.len().saturating_sub(1)))?;
        let request = actions.iter().rfind(|other| written(other.span).starts_with(action));
        let behind = request.map_or(before, |request| request.span);
        self.edits.push(Edit::after(behind, format!(" . {reply}")));
        // The reply may have been meant in a channel.
        let Tail::Parallel(parts, _) = &sequence.tail else { return Some(()) };
        for branch in parts.iter().flat_map(|part| &part.branches) {
            let Some(index) = branch.actions.iter().position(|other| written(other.span) == reply) else {
                continue;
            };
            let own = branch.actions.get(index)?.span;
            let next = branch
                .actions
                .get(index + 1)
                .map_or_else(|| super::tree::span(&branch.tail), |next| next.span);
            self.edits.push(Edit::delete(Span { end: next.start, ..own }));
        }
        Some(())
    }

    pub(super) fn name_loop(&mut self, dual: Span, name: &str) -> Option<()> {
        let sources = self.tree.sources;
        let variable = sources.slice(dual).trim_start_matches("dual").trim();
        let around = |sequence: &'a Sequence| match within(&sequence.tail) {
            Tail::Recursion { variable: bound, span, .. }
                if bound.text == variable && span.start <= dual.start && dual.end <= span.end =>
            {
                Some(*span)
            }
            _ => None,
        };
        let whole = self.tree.sequences().filter_map(around).last()?;
        let free = (1..).map(|number| match number {
            1 => name.to_owned(),
            _ => format!("{name}{number}"),
        });
        let free = free.into_iter().find(|name| !self.is_taken(name))?;
        let start = Span { end: dual.start, ..whole };
        let behind = Span { start: dual.end, ..whole };
        let text = format!("{}dual {free}{}", sources.slice(start), sources.slice(behind));
        self.text = replaced(&self.text, name, &free);
        self.edits.push(Edit::replace(whole, free.as_str()));
        self.declare(&format!("{free} = {text}"))
    }

    pub(super) fn name_body(&mut self, opener: Span, name: &str) -> Option<()> {
        let bodies = self.tree.sequences().filter_map(|sequence| match &sequence.tail {
            tail @ Tail::Replicated(..) => Some(within(tail)),
            _ => None,
        });
        let body = bodies.into_iter().find(|body| begins(body, opener))?;
        let sources = self.tree.sources;
        let text = sources.slice(match body {
            Tail::Group(choice, _) => choice.span,
            body => span(body),
        });
        let items = &self.tree.files.iter().find(|file| file.file == opener.file)?.tree.items;
        let around = |item: &&Item| item.span.start <= opener.start && opener.end <= item.span.end;
        let item = items.iter().find(around)?;
        self.edits.push(Edit::replace(span(body), name));
        self.behind(items, item, &format!("{name} = {text}"));
        Some(())
    }

    pub(super) fn other_message(&mut self, at: Span, name: &str, all: bool) -> Option<()> {
        let spot = self.tree.spot(at)?;
        let sequence = spot.sequence()?;
        if sequence.actions.get(spot.action)?.message.text != name {
            return None;
        }
        let declared = self.tree.declared(self.message(name)?)?;
        let (method, modifiers, replies) = match &declared.item.kind {
            ItemKind::Request(Request { method, modifiers, replies, .. }) => {
                (method, modifiers, replies.as_slice())
            }
            ItemKind::Notification(notification) => (&notification.method, &notification.modifiers, &[][..]),
            _ => return None,
        };
        let names: Vec<&str> =
            [name].into_iter().chain(replies.iter().map(|reply| reply.name.text.as_str())).collect();
        let mut prefix = "Other".to_owned();
        while names.iter().any(|name| self.is_taken(&format!("{prefix}{name}"))) {
            prefix.push_str("Other");
        }
        self.text = replaced(&self.text, &format!("Other{name}"), &format!("{prefix}{name}"));
        // The declaration once more, with other names and another method.
        let mut item = self.tree.sources.slice(declared.item.span).to_owned();
        for modifier in modifiers {
            if let Modifier::As(call) = modifier {
                item = item.replace(&format!("as {}", call.text), "");
            }
        }
        for name in &names {
            item = replaced(&item, name, &format!("{prefix}{name}"));
        }
        let written = self.tree.sources.slice(method.span);
        item = item.replacen(written, &other(written), 1);
        let start = item.find("request ").or_else(|| item.find("notification "))?;
        self.declare(item.get(start..)?.trim_end())?;
        let range = if all { self.channel(at)? } else { at.to(sequence.span) };
        let used = |message: &&'a Name| {
            range.file == message.span.file
                && range.start <= message.span.start
                && message.span.end <= range.end
                && names.contains(&message.text.as_str())
        };
        let actions = self.tree.sequences().flat_map(|sequence| &sequence.actions);
        let found: Vec<&Name> = actions.map(|action| &action.message).filter(used).collect();
        for message in found {
            self.edits.push(Edit::before(message.span, prefix.as_str()));
        }
        for item in self.items() {
            let ItemKind::Key { fields, .. } = &item.kind else { continue };
            for field in fields {
                let open = if field.open.is_some() { "open " } else { "" };
                let (message, text) = match &field.place {
                    KeyFieldPlace::Field(field) => {
                        let path = self.tree.sources.slice(field.path.span);
                        (&field.message, format!(" | {open}{prefix}{}.{path}", field.message.text))
                    }
                    KeyFieldPlace::Id(message) => {
                        (message, format!(" | {open}id of {prefix}{}", message.text))
                    }
                    KeyFieldPlace::Member { member, of, .. } => {
                        let member = self.tree.sources.slice(member.span);
                        (of, format!(" | {open}{member} of {prefix}{}", of.text))
                    }
                };
                if names.contains(&message.text.as_str()) {
                    self.edits.push(Edit::after(end(field), text));
                }
            }
        }
        Some(())
    }

    /// The channel around a place, or the definition.
    fn channel(&self, at: Span) -> Option<Span> {
        let holds = |span: Span| span.file == at.file && span.start <= at.start && at.end <= span.end;
        let parts = self.tree.sequences().filter_map(|sequence| match within(&sequence.tail) {
            Tail::Parallel(parts, _) => parts.iter().map(|part| part.span).find(|part| holds(*part)),
            _ => None,
        });
        let definitions = self.resolution.definitions.iter().map(|definition| definition.body.span);
        parts.chain(definitions.filter(|span| holds(*span))).min_by_key(|span| span.end - span.start)
    }
}

fn member_name(member: &GroupMember) -> &Name {
    match member {
        GroupMember::Name(name) | GroupMember::Replies(name, _) => name,
    }
}

fn member_span(member: &GroupMember) -> Span {
    match member {
        GroupMember::Name(name) => name.span,
        GroupMember::Replies(_, span) => *span,
    }
}

/// Whether a field looks like one that tells things of a kind apart.
fn is_id(field: &str) -> bool {
    field.ends_with("id") || field.ends_with("Id") || field.ends_with("ID")
}

/// The field that tells things of a kind apart, as far as its name shows.
fn best(fields: Vec<&str>) -> Option<String> {
    fields.iter().find(|field| is_id(field)).or(fields.first()).map(|field| (*field).to_owned())
}

/// A reply with its payload and condition.
fn whole(reply: &Reply, sources: &SourceMap) -> Span {
    let mut payload = reply.payload.span().unwrap_or(reply.name.span);
    // The parenthesis behind it.
    let behind = sources.text(payload.file).get(payload.end as usize..).unwrap_or("");
    if let Some(rest) = behind.trim_start_matches([' ', '?']).strip_prefix(')')
        && reply.payload != Payload::None
    {
        payload.end += u32::try_from(behind.len() - rest.len()).unwrap_or(0);
    }
    reply.name.span.to(payload).to(reply.condition.as_ref().map_or(payload, |condition| condition.span))
}

/// Whether what a tail does begins with an action, among others.
fn begins(tail: &Tail, action: Span) -> bool {
    let mut waiting = vec![tail];
    while let Some(tail) = waiting.pop() {
        let choices = match tail {
            Tail::Group(body, _) | Tail::Recursion { body, .. } => std::slice::from_ref(body.as_ref()),
            Tail::Parallel(parts, _) => parts.as_slice(),
            _ => continue,
        };
        for sequence in choices.iter().flat_map(|choice| &choice.branches) {
            match sequence.actions.first() {
                Some(first) if first.span == action => return true,
                Some(_) => {}
                None => waiting.push(&sequence.tail),
            }
        }
    }
    false
}

fn end(field: &KeyField) -> Span {
    match &field.place {
        KeyFieldPlace::Field(field) => field.path.span,
        KeyFieldPlace::Id(name) | KeyFieldPlace::Member { of: name, .. } => name.span,
    }
}

/// Another method than the one that is written here with its quotes; another pattern if it is one.
fn other(written: &str) -> String {
    let method = written.trim_end_matches('"');
    match method.strip_suffix('*') {
        Some(before) => format!("{before}other/*\""),
        None => format!("{method}/other\""),
    }
}
