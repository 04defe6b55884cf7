//! Every path of a declaration, held against the shape of the payload that it leads into.
//!
//! A payload without a shape is not looked into, and neither is what is `any`, an `object`, or the value of a `map`.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::{Kind, Literal, MessageIndex, position};

use super::items::Sides;
use super::labels;
use super::placed::Placed;
use crate::ast::{
    AnnouncedField, Condition, ItemKind, JsonPath, KeyFieldPlace, MessageField, Modifier, Name, boolean,
};
use crate::declarations::restrict::{may_be, may_identify};
use crate::declarations::{
    Declarations, Field, Form, Meaning, PayloadType, Position, Record, Resolution, Shapes,
};
use crate::diagnostic::Diagnostic;
use crate::findings::shapes as finding;
use crate::source::Span;

/// How many names of fields a finding chooses from.
const MOST_FIELDS: usize = 200;

/// Holds all paths against the shapes.
pub(super) fn check(
    items: &[Placed<'_>],
    sides: &Sides<'_>,
    resolution: &Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // A path through a union that contains itself would never end.
    let is_endless = |found: &Diagnostic| found.code == finding::ENDLESS;
    if diagnostics.iter().any(is_endless) {
        return;
    }
    let mut paths = Paths { resolution, declarations: &resolution.declarations, diagnostics };
    let mut announced = Vec::new();
    for placed in items {
        match &placed.item.kind {
            ItemKind::Request(request) => {
                paths.condition(&request.name, request.condition.as_ref());
                for reply in &request.replies {
                    paths.condition(&reply.name, reply.condition.as_ref());
                }
                for modifier in &request.modifiers {
                    paths.modifier(&request.name, modifier);
                    if let Modifier::Pages { next, .. } = modifier
                        && let [reply] = request.replies.as_slice()
                    {
                        paths.of_message(&reply.name, next, PathEnd::OneMessage);
                    }
                }
            }
            ItemKind::Notification(notification) => {
                paths.condition(&notification.name, notification.condition.as_ref());
                for modifier in &notification.modifiers {
                    paths.modifier(&notification.name, modifier);
                }
            }
            ItemKind::Key { fields, .. } => {
                for field in fields {
                    if let KeyFieldPlace::Field(field) = &field.place {
                        paths.value("the value of a key", &field.message, &field.path);
                    }
                }
            }
            ItemKind::Version { field, .. } if !placed.imported => paths.announced_field(field),
            ItemKind::Capabilities { role, field, defaults, .. } if !placed.imported => {
                let Some(side) = sides.side(&role.text) else { continue };
                paths.capabilities_field(field);
                let what = paths.announced(field);
                if let Some((owner, form)) = &what {
                    let required = required(items, |holder| sides.side(holder) == Some(side));
                    for path in defaults.iter().chain(required) {
                        paths.capability(owner.clone(), form, path, PathEnd::SomeMessages);
                    }
                }
                announced.push(what);
            }
            _ => {}
        }
    }
    // Without a shape for what a side announces, anything may be in it.
    if let Some(announced) = announced.into_iter().collect::<Option<Vec<_>>>() {
        // `own` and `peer` mean either side.
        for path in required(items, |holder| matches!(holder, "own" | "peer")) {
            if let Err(wrong) = paths.of_some(announced.iter().cloned(), path) {
                paths.diagnostics.push(wrong.found);
            }
        }
    }
}

/// The paths of the capabilities that messages require of some holders.
fn required<'i>(
    items: &'i [Placed<'_>],
    is_holder: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'i JsonPath> {
    let modifiers = items.iter().flat_map(|placed| match &placed.item.kind {
        ItemKind::Request(request) => request.modifiers.as_slice(),
        ItemKind::Notification(notification) => notification.modifiers.as_slice(),
        _ => &[],
    });
    modifiers.filter_map(move |modifier| match modifier {
        Modifier::Requires { holder, path, .. } if is_holder(&holder.text) => Some(path),
        _ => None,
    })
}

/// A field that has these fields inside of it, the innermost of this form.
fn declared(key: &Name, inner: &[Name], form: &str) -> String {
    let field = |key: &Name, form: &str| format!("{}?: {form}", crate::format::json_key(&key.text));
    let inner = inner.iter().rev().fold(form.to_owned(), |form, key| format!("{{ {} }}", field(key, &form)));
    field(key, &inner)
}

/// What a path leads into, and what it does where it meets a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathEnd {
    /// The payload of one message: it goes on in the element at its position, if it has one, which may be a label.
    OneMessage,
    /// Those of several messages, or what they announce. Their labels may differ, so it has none.
    SomeMessages,
    /// The payload of one message, where it goes on in each element of a list.
    EachElement,
}

/// How many keys of a path lead somewhere, and what is wrong with the next one.
struct Wrong {
    depth: usize,
    found: Diagnostic,
    /// Where a record has no such key, nor one like it: what it is called, and its first field.
    record: Option<(String, Span)>,
}

struct Paths<'a, 'd> {
    resolution: &'a Resolution,
    declarations: &'a Declarations,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a> Paths<'a, '_> {
    fn shapes(&self) -> Shapes<'a> {
        Shapes(&self.declarations.shapes)
    }

    /// Whether the name of a shape is not one that the author wrote.
    fn is_inner(&self, index: usize) -> bool {
        self.declarations.shapes.get(index).is_some_and(|shape| shape.is_inner)
    }

    /// What a message carries, if a shape says it.
    fn payload(&self, message: &Name) -> Option<(String, &'a Form)> {
        let Some(Meaning::Message(index)) = self.resolution.names.get(&message.text) else { return None };
        self.payload_of(*index)
    }

    fn payload_of(&self, message: MessageIndex) -> Option<(String, &'a Form)> {
        match &self.declarations.message(message)?.payload {
            PayloadType::Shape { index, name } => {
                Some((format!("`{name}`"), &self.declarations.shapes.get(*index)?.form))
            }
            PayloadType::None | PayloadType::Any | PayloadType::Type(_) => None,
        }
    }

    fn of_message(&mut self, message: &Name, path: &JsonPath, reach: PathEnd) -> Option<Vec<&'a Form>> {
        let (owner, form) = self.payload(message)?;
        self.walk(owner, form, path, reach)
    }

    fn field(&mut self, field: &MessageField) {
        self.must_carry(&field.message, &field.path);
        self.of_message(&field.message, &field.path, PathEnd::OneMessage);
    }

    /// Reports a message that carries nothing, where something of what it carries is named.
    fn must_carry(&mut self, message: &Name, path: &JsonPath) {
        let Some(Meaning::Message(index)) = self.resolution.names.get(&message.text) else { return };
        let payload = self.declarations.message(*index).map(|message| &message.payload);
        if payload == Some(&PayloadType::None) && !self.declarations.bare() {
            self.diagnostics.push(finding::carries_nothing(message, path));
        }
    }

    /// A path to a text or a whole number.
    fn value(&mut self, what: &str, message: &Name, path: &JsonPath) {
        self.must_carry(message, path);
        let Some(found) = self.of_message(message, path, PathEnd::OneMessage) else { return };
        if found.is_empty() || found.iter().any(|form| self.may_be_value(form)) {
            return;
        }
        let leaves: Vec<&Form> = found.into_iter().map(|form| self.shapes().behind(form)).collect();
        let fields = leaves.iter().flat_map(|form| match form {
            Form::Record(record) => record.fields.as_slice(),
            _ => &[],
        });
        let fields = fields.filter(|field| self.may_be_value(&field.form));
        let fields: Vec<&str> = fields.map(|field| field.name.text.as_str()).take(MOST_FIELDS).collect();
        let is_list = |form: &&Form| matches!(form, Form::List(of) if self.may_be_value(of));
        let positions = leaves.iter().flat_map(|form| match form {
            Form::Tuple(positions) => positions.as_slice(),
            _ => &[],
        });
        let positions = positions.filter(|position| self.may_be_value(&position.form));
        let fields: Vec<&str> = fields.into_iter().chain(positions.map(Position::path_key)).collect();
        let inside = match fields.as_slice() {
            [] if leaves.iter().any(is_list) => vec!["0"],
            _ => fields,
        };
        self.diagnostics.push(finding::not_a_value(message, path, what, &inside));
    }

    /// Whether a form has texts or whole numbers among its values.
    fn may_be_value(&self, form: &Form) -> bool {
        may_identify(&self.declarations.shapes, form, &[])
    }

    fn condition(&mut self, message: &Name, condition: Option<&Condition>) {
        let Some(condition) = condition else { return };
        let Some(found) = self.of_message(message, &condition.path, PathEnd::OneMessage) else { return };
        let Some(literal) = &condition.literal else { return };
        let leaves = || found.iter().flat_map(|form| self.shapes().leaves(form));
        let may_be = |value: &Literal| leaves().any(|leaf| may_be(leaf, value));
        if may_be(&literal.value) {
            return;
        }
        let meant = otherwise_written(&literal.value).filter(may_be);
        let fixed = leaves().filter_map(|leaf| if let Form::Literal(one) = leaf { Some(one) } else { None });
        let owner = match condition.path.segments.as_slice() {
            [] => format!("the payload of `{}`", message.text),
            _ => format!("`{}`", crate::format::json_path(&condition.path)),
        };
        let finding = finding::never_this_value(literal, &owner, meant, &fixed.collect::<Vec<_>>());
        self.diagnostics.push(finding);
    }

    fn modifier(&mut self, message: &Name, modifier: &Modifier) {
        match modifier {
            Modifier::Requires { condition, .. } => self.condition(message, condition.as_ref()),
            Modifier::Cancels { id, .. } => self.value("the id of a request", message, id),
            Modifier::Pages { cursor: path, .. } => {
                self.of_message(message, path, PathEnd::OneMessage);
            }
            Modifier::Reports { token, of, .. } => {
                self.value("a token", message, token);
                of.iter().for_each(|path| self.of_some_request(path));
            }
            Modifier::Grants { path, .. } | Modifier::Revokes { path, .. } => {
                self.must_carry(message, path);
                self.of_message(message, path, PathEnd::EachElement);
            }
            Modifier::Rounds { reply, state, given, answers, questions, .. } => {
                for (message, path) in
                    [(message, state), (message, answers), (reply, given), (reply, questions)]
                {
                    self.of_message(message, path, PathEnd::OneMessage);
                }
            }
            Modifier::During { requests, condition, .. } => self.during(requests, condition.as_ref()),
            Modifier::As(_) | Modifier::Answered(_) | Modifier::Cancellable { .. } | Modifier::Levels(_) => {}
        }
    }

    /// A path into the params of requests, of which at least one must have it.
    fn of_some_request(&mut self, path: &JsonPath) {
        self.of_one_among(self.declarations.indices(), path);
    }

    /// A path into the params of those of some messages that are requests, of which at least one must have it.
    fn of_one_among(&mut self, messages: impl Iterator<Item = MessageIndex>, path: &JsonPath) {
        let params = messages.filter(|index| {
            self.declarations.message(*index).is_some_and(|message| {
                message.table.kind == Kind::Request && message.payload != PayloadType::None
            })
        });
        // Without a shape, anything may be in the params of a request.
        let Some(params) = params.map(|index| self.payload_of(index)).collect::<Option<Vec<_>>>() else {
            return;
        };
        let several = params.len() > 1;
        let Err(wrong) = self.of_some(params.into_iter(), path) else { return };
        self.diagnostics.push(match path.segments.as_slice() {
            // Which of them is to have it, the author knows.
            [key, inner @ ..] if several && wrong.depth == 0 && wrong.record.is_some() => {
                finding::in_no_params(key, &declared(key, inner, "string"))
            }
            _ => wrong.found,
        });
    }

    /// The condition behind `during`, which the params of one of the requests must be able to fit.
    fn during(&mut self, requests: &[Name], condition: Option<&Condition>) {
        let Some(condition) = condition else { return };
        let [request] = requests else {
            let meant = requests.iter().filter_map(|name| self.resolution.names.get(&name.text));
            let meant: Vec<MessageIndex> = meant.flat_map(Meaning::messages).copied().collect();
            return self.of_one_among(meant.into_iter(), &condition.path);
        };
        match self.resolution.names.get(&request.text) {
            Some(Meaning::Group(members)) => {
                self.of_one_among(members.iter().copied(), &condition.path);
            }
            Some(Meaning::Message(_)) => self.condition(request, Some(condition)),
            None => {}
        }
    }

    /// A path that one of several forms must have.
    fn of_some(
        &self,
        forms: impl Iterator<Item = (String, &'a Form)>,
        path: &JsonPath,
    ) -> Result<(), Box<Wrong>> {
        let mut wrong = None;
        for (owner, form) in forms {
            match self.follow(owner, form, path, PathEnd::SomeMessages) {
                Ok(_) => return Ok(()),
                // The form that has the most of it says best what is wrong.
                Err(found) => {
                    if wrong.as_deref().is_none_or(|deepest: &Wrong| found.depth > deepest.depth) {
                        wrong = Some(found);
                    }
                }
            }
        }
        wrong.map_or(Ok(()), Err)
    }

    /// The path to the capabilities that a side announces.
    fn capabilities_field(&mut self, field: &AnnouncedField) {
        let AnnouncedField::Message(announced) = field else { return self.announced_field(field) };
        self.must_carry(&announced.message, &announced.path);
        if let Some((owner, form)) = self.payload(&announced.message) {
            self.capability(owner, form, &announced.path, PathEnd::OneMessage);
        }
    }

    /// A path of capabilities, or to them. What a record lacks of it is most likely not declared yet.
    fn capability(&mut self, owner: String, form: &'a Form, path: &JsonPath, reach: PathEnd) {
        let Err(wrong) = self.follow(owner, form, path, reach) else { return };
        let rest = path.segments.get(wrong.depth..).unwrap_or_default();
        self.diagnostics.push(match (wrong.record, rest) {
            (Some((owner, before)), [key, inner @ ..]) => {
                let declared = declared(key, inner, "object");
                finding::no_such_capability(key, &owner, &declared, before)
            }
            _ => wrong.found,
        });
    }

    /// The path to what is announced.
    fn announced_field(&mut self, field: &AnnouncedField) {
        match field {
            AnnouncedField::Message(field) => self.field(field),
            AnnouncedField::EachRequest { path, .. } => self.of_some_request(path),
        }
    }

    /// What a side announces, if a shape says it.
    fn announced(&self, field: &AnnouncedField) -> Option<(String, &'a Form)> {
        let (owner, form, path) = match field {
            AnnouncedField::Message(field) => {
                let (owner, form) = self.payload(&field.message)?;
                (owner, form, &field.path)
            }
            AnnouncedField::EachRequest { path, .. } => {
                let found = self.declarations.indices().find_map(|index| {
                    let is_request = self.declarations.message(index)?.table.kind == Kind::Request;
                    let (owner, form) = self.payload_of(index).filter(|_| is_request)?;
                    self.follow(owner.clone(), form, path, PathEnd::SomeMessages)
                        .is_ok()
                        .then_some((owner, form))
                });
                let (owner, form) = found?;
                (owner, form, path)
            }
        };
        let found = self.follow(owner.clone(), form, path, PathEnd::OneMessage).ok()?;
        let [form] = found.as_slice() else { return None };
        let owner = match form {
            Form::Named(index) if !self.is_inner(*index) => {
                self.declarations.shapes.get(*index)?.name.text.clone()
            }
            _ if path.segments.is_empty() => return Some((owner, form)),
            _ => crate::format::json_path(path),
        };
        Some((format!("`{owner}`"), form))
    }

    fn walk(
        &mut self,
        owner: String,
        form: &'a Form,
        path: &JsonPath,
        reach: PathEnd,
    ) -> Option<Vec<&'a Form>> {
        match self.follow(owner, form, path, reach) {
            Ok(found) => Some(found),
            Err(wrong) => {
                self.diagnostics.push(wrong.found);
                None
            }
        }
    }

    /// What a path leads to, one form for each way through the unions; or how far it leads, and what is wrong there.
    fn follow(
        &self,
        mut owner: String,
        form: &'a Form,
        path: &JsonPath,
        reach: PathEnd,
    ) -> Result<Vec<&'a Form>, Box<Wrong>> {
        let mut here = vec![form];
        for (depth, key) in path.segments.iter().enumerate() {
            let (mut records, mut tuples): (Vec<&Record>, Vec<&[Position]>) = (Vec::new(), Vec::new());
            let mut open = false;
            let mut next = Vec::new();
            let mut other = "";
            let leaves = self.leaves(here, reach);
            let label = labels::place(&leaves, &key.text);
            let place = position(&key.text).or(label.filter(|_| reach == PathEnd::OneMessage));
            for leaf in leaves {
                match leaf {
                    Form::Record(record) => {
                        next.extend(record.field(&key.text).map(|field| &field.form));
                        records.push(record);
                    }
                    Form::Any | Form::Object => open = true,
                    Form::Map(of) => next.push(of),
                    Form::List(of) if position(&key.text).is_some() => next.push(of),
                    Form::List(_) => other = "a list",
                    Form::Tuple(positions) => {
                        let found = place.and_then(|place| Position::of_element(positions, place));
                        next.extend(found.map(|found| &found.form));
                        tuples.push(positions);
                    }
                    Form::String | Form::Literal(Literal::Text(_)) => other = "a text",
                    Form::Int | Form::Uint | Form::Number | Form::Literal(Literal::Int(_)) => {
                        other = "a number"
                    }
                    Form::Bool | Form::Literal(Literal::Bool(_)) => other = "`true` or `false`",
                    // Names and unions have been followed.
                    Form::Null | Form::Named(_) | Form::Union(_) => {}
                }
            }
            if next.is_empty() && !open && !is_of_rest(&records, key) {
                let found = match (records.as_slice(), tuples.as_slice()) {
                    ([], []) => finding::no_members(key, &owner, other),
                    ([], tuples) => match label {
                        Some(place) => finding::label_of_one_message(key, &owner, place),
                        None => finding::no_such_position(key, &owner, tuples),
                    },
                    (records, _) => finding::no_such_field(key, &owner, names(records)),
                };
                let record = match records.as_slice() {
                    [only] if crate::suggest::nearest(&key.text, names(&records)).is_none() => {
                        only.fields.first().filter(|first| first.documentation.is_empty())
                    }
                    _ => None,
                };
                let record = record.map(|first| (owner.clone(), first.name.span));
                return Err(Box::new(Wrong { depth, found, record }));
            }
            if next.is_empty() {
                return Ok(vec![&Form::Any]);
            }
            let part = match (position(&key.text), tuples.as_slice()) {
                (Some(_), [_, ..]) => format!("the position `{}`", key.text),
                _ => format!("`{}`", key.text),
            };
            owner = match next.as_slice() {
                [Form::Named(index)] => match self.declarations.shapes.get(*index) {
                    Some(shape) if !shape.is_inner => format!("`{}`", shape.name.text),
                    _ => part,
                },
                _ => part,
            };
            here = next;
        }
        Ok(here)
    }

    /// What forms are in the end, and in place of the lists that a path goes through, their elements.
    fn leaves(&self, forms: Vec<&'a Form>, reach: PathEnd) -> Vec<&'a Form> {
        let (mut leaves, mut seen): (Vec<&Form>, HashSet<*const Form>) = (Vec::new(), HashSet::new());
        let mut waiting = forms;
        while let Some(form) = waiting.pop() {
            for leaf in self.shapes().leaves(form) {
                match leaf {
                    // A list may have itself among its elements.
                    Form::List(_) | Form::Tuple(_) if reach == PathEnd::EachElement => {
                        if seen.insert(std::ptr::from_ref(leaf)) {
                            waiting.extend(elements(leaf));
                        }
                    }
                    leaf => leaves.push(leaf),
                }
            }
        }
        leaves
    }
}

/// What the elements of a list may be.
fn elements(form: &Form) -> Vec<&Form> {
    match form {
        Form::List(of) => vec![of],
        Form::Tuple(positions) => positions.iter().map(|position| &position.form).collect(),
        _ => Vec::new(),
    }
}

fn names<'a>(records: &[&'a Record]) -> impl Iterator<Item = &'a str> + Clone {
    let fields =
        records.iter().flat_map(|record| &record.fields).map(|field: &Field| field.name.text.as_str());
    fields.take(MOST_FIELDS).collect::<Vec<_>>().into_iter()
}

/// Whether a key is one that a record keeps without knowing it. One that is almost a known one is taken for a mistake.
fn is_of_rest(records: &[&Record], key: &Name) -> bool {
    records.iter().any(|record| record.rest) && crate::suggest::nearest(&key.text, names(records)).is_none()
}

/// A value of another kind that is written with the same letters: `1` and `"1"`.
fn otherwise_written(value: &Literal) -> Option<Literal> {
    match value {
        Literal::Text(text) => {
            boolean(text).map(Literal::from).or_else(|| text.parse().ok().map(Literal::Int))
        }
        other => Some(crate::format::literal(other).into()),
    }
}
