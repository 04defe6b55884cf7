//! One change as edits.

use mcp_protocol_machine::protocol::Kind;

use super::shapes;
use super::tree::{Tree, span, within};
use crate::ast::{Action, Choice, Item, ItemKind, Modifier, Name, Operator, Payload, Sequence, Tail};
use crate::declarations::{Meaning, Resolution};
use crate::diagnostic::{Edit, TextChange, shorten};
use crate::findings::choices;
use crate::source::Span;

/// The changes of one suggestion on their way to edits.
pub(super) struct Placing<'a, 't> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) resolution: &'t Resolution,
    pub(super) text: String,
    pub(super) edits: Vec<Edit>,
    /// Names that stand for those that are taken.
    renamed: Vec<(String, String)>,
}

impl<'a, 't> Placing<'a, 't> {
    pub(super) fn new(tree: &'t Tree<'a>, resolution: &'t Resolution, text: &str) -> Self {
        Placing { tree, resolution, text: text.to_owned(), edits: Vec::new(), renamed: Vec::new() }
    }

    /// The sentence and the edits; none if a change has no place.
    pub(super) fn place(mut self, changes: &[TextChange]) -> Option<(String, Vec<Edit>)> {
        for change in changes {
            if let TextChange::OfTypes { at, names, written } = change
                && let Some(text) = self.of_types(*at, names, written)
            {
                return Some((text, vec![Edit::replace(*at, written.as_str())]));
            }
        }
        for change in changes {
            let declared = match change {
                TextChange::Declare { name, .. } | TextChange::NameBody(_, name) => name.as_str(),
                TextChange::DeclareKey { .. } => "shared",
                _ => continue,
            };
            if !self.renamed.iter().any(|(taken, _)| taken == declared) && self.is_taken(declared) {
                let free = (2..).map(|number| format!("{declared}{number}"));
                let free = { free }.find(|name| !self.is_taken(name))?;
                self.renamed.push((declared.to_owned(), free));
            }
        }
        for change in changes {
            self.change(change)?;
        }
        for (from, to) in &self.renamed {
            self.text = replaced(&self.text, from, to);
            for edit in &mut self.edits {
                edit.text = replaced(&edit.text, from, to);
            }
        }
        Some((self.text, self.edits))
    }

    /// What to write in place of a payload that is made of types of Rust; nothing if it is made of shapes.
    fn of_types(&self, at: Span, names: &[String], written: &str) -> Option<String> {
        let file = self.tree.files.iter().find(|file| file.file == at.file)?;
        let has_types = file.tree.items.iter().any(|item| matches!(item.kind, ItemKind::Types(_)));
        let is_shape =
            |name: &String| self.resolution.declarations.shapes.iter().any(|shape| shape.name.text == *name);
        if !has_types || names.iter().all(is_shape) {
            return None;
        }
        Some(match names {
            [_] => format!("write `({written})` for a type of the `types` module, or `null`"),
            _ => format!("write `({written})`, an enum in the `types` module with a variant for each"),
        })
    }

    pub(super) fn is_taken(&self, name: &str) -> bool {
        let resolution = self.resolution;
        resolution.names.contains_key(name)
            || resolution.definitions.iter().any(|definition| definition.name.text == name)
            || resolution.is_role(name)
            || resolution.declarations.shapes.iter().any(|shape| shape.name.text == name)
    }

    fn change(&mut self, change: &TextChange) -> Option<()> {
        match change {
            TextChange::Edit(edit) => self.edits.push(edit.clone()),
            TextChange::OfTypes { .. } => {}
            TextChange::Declare { item, .. } => self.declare(item)?,
            TextChange::DeclareKey { opener, later } => self.declare_key(opener, later)?,
            TextChange::LeaveOut(at) => {
                let spot = self.tree.spot(*at)?;
                let begins = spot.action == 0 && spot.choice.branches.len() > 1;
                self.change(&if begins {
                    TextChange::DeleteBranch(*at)
                } else {
                    TextChange::DeleteStep(*at)
                })?;
            }
            TextChange::Sign(at, sign) => self.sign(*at, *sign)?,
            TextChange::DeleteStep(at) => {
                let spot = self.tree.spot(*at)?;
                let next = next(spot.sequence()?, spot.action)?;
                self.edits.push(Edit::delete(Span { end: next.start, ..*at }));
            }
            TextChange::ReplaceRest(at, text) => {
                let named = |action: &Action| [action.span, action.message.span].contains(at);
                let sequence = self.tree.sequences().find(|sequence| sequence.actions.iter().any(named))?;
                let action = sequence.actions.iter().find(|action| named(action))?;
                self.edits.push(Edit::replace(action.span.to(sequence.span), text.as_str()));
            }
            TextChange::DeleteBranch(at) => {
                let spot = self.tree.spot(*at)?;
                let edit = deleted(spot.choice, spot.branch)?;
                self.edits.push(edit);
            }
            TextChange::Around(at, before, behind) => {
                let spot = self.tree.spot(*at)?;
                let sequence = spot.sequence()?;
                let tail = self.tail(sequence);
                self.text = self.text.replace("{tail}", &tail);
                self.edits.push(Edit::before(*at, *before));
                self.edits.push(Edit::after(sequence.span, behind.replace("{tail}", &tail)));
            }
            TextChange::InFront(at, text) => self.in_front(*at, text, false)?,
            TextChange::BeforeState(at, text) => self.in_front(*at, text, true)?,
            TextChange::Ask(at, request) => self.ask(*at, request)?,
            TextChange::Answer { before, action, reply } => self.answer(*before, action, reply)?,
            TextChange::DeleteMember(group, member) => self.member(group, member)?,
            TextChange::OtherMessage { at, name, all } => self.other_message(*at, name, *all)?,
            TextChange::KeyFields { key, messages } => self.key_fields(key, messages)?,
            TextChange::OpenKeyOf { key, message } => self.open_key_of(key, message)?,
            TextChange::DeleteEnd(at) => {
                let choice = self.tree.spot(*at)?.choice;
                let bare = |sequence: &Sequence| {
                    sequence.actions.is_empty() && matches!(sequence.tail, Tail::End(_))
                };
                let edit = deleted(choice, choice.branches.iter().position(bare)?)?;
                self.edits.push(edit);
            }
            TextChange::NameBody(opener, name) => self.name_body(*opener, name)?,
            TextChange::NameLoop(dual, name) => self.name_loop(*dual, name)?,
            TextChange::DeleteModifier(name, word) => {
                let at = self.modifier(*name, word)?;
                self.edits.push(Edit::delete(at));
            }
            TextChange::Payload(name) => self.payload(self.message(name)?)?,
            TextChange::Commas(channels, sign) => self.commas(*channels, sign)?,
            TextChange::Operators(at, sign) => {
                let all = |choice: &&&Choice| {
                    choice.span == *at || choice.operators.iter().any(|(_, span)| span == at)
                };
                let choice = self.tree.choices.iter().find(all)?;
                let operators = choice.operators.iter();
                let written = operators.filter(|(_, span)| self.tree.sources.slice(*span) != *sign);
                self.edits.extend(written.map(|(_, span)| Edit::replace(*span, *sign)));
            }
            TextChange::AnswerFirst { opened, again, reply } => self.answer_first(*opened, *again, reply)?,
            TextChange::DeleteTwin(at) => self.delete_twin(*at)?,
            TextChange::OneBody { names, both } => self.one_body(names, both)?,
            TextChange::Join(first, again) => self.join(*first, *again)?,
            TextChange::BeforeItem(name, text) => {
                let item = self.tree.declared(*name)?.item;
                self.edits.push(Edit::before(item.span, text.as_str()));
            }
            TextChange::DeleteItemAt(item) => self.edits.push(Edit::delete(*item)),
            TextChange::Rename(name, text) => self.rename(*name, text)?,
            TextChange::OtherMethod(name) => self.other_method(*name)?,
            TextChange::DefineGroup(name) => self.define_group(*name)?,
            TextChange::DeleteField(at) => {
                self.edits.push(Edit::delete(shapes::member_with_comma(self.tree.files, *at)?));
            }
            TextChange::AlternativeBefore(later, earlier) => {
                let (parts, moved, first) = shapes::in_one_union(self.tree.files, *later, *earlier)?;
                let [text, behind] = [moved, first].map(|at| self.tree.sources.slice(at));
                if (moved, first) != (*later, *earlier) {
                    self.text =
                        format!("write `{}` before `{}` in the `override`", shorten(text), shorten(behind));
                }
                self.edits.push(Edit::before(first, format!("{text} | ")));
                self.edits.push(Edit::delete(shapes::with_sign(parts, moved)?));
            }
            TextChange::DeleteAlternative(later, earlier) => {
                let (parts, deleted) = match shapes::in_one_union(self.tree.files, *later, *earlier) {
                    // What is overridden stays as it is.
                    Some((parts, at, _)) if at != *later => {
                        let text = shorten(self.tree.sources.slice(*earlier));
                        self.text = format!("delete `{text}` in the `override`");
                        (parts, *earlier)
                    }
                    _ => (shapes::union(self.tree.files, *later)?, *later),
                };
                self.edits.push(Edit::delete(shapes::with_sign(parts, deleted)?));
            }
            TextChange::DeleteMemberAt(at) => self.delete_member(*at)?,
            TextChange::Types(file) => {
                let first = self.tree.files.iter().find(|other| other.file == *file)?.tree.items.first()?;
                self.edits.push(Edit::before(first.span, "types crate::types\n"));
            }
            TextChange::Item(item) => self.declare(item)?,
            TextChange::Condition(name, text) => self.condition(*name, text)?,
            TextChange::Before(name, other) => self.before(*name, *other)?,
            TextChange::DeleteDefault(at) => self.delete_default(*at)?,
            TextChange::DeleteItem(name) => {
                let item = self.tree.declared(*name)?.item;
                match &item.kind {
                    ItemKind::Role { name, body: Some(_), compatible: None, .. }
                        if self.leads_to(item, name) =>
                    {
                        let word = Span { end: name.span.start, ..item.span };
                        let shown = self.tree.sources.slice(word).trim_end();
                        self.text = format!(
                            "delete `{shown}` if `{}` is a definition; a protocol has one client and one server",
                            shorten(&name.text)
                        );
                        self.edits.push(Edit::delete(word));
                    }
                    _ => self.edits.push(Edit::delete(item.span)),
                }
            }
            TextChange::Parentheses(variable) => {
                let (_, body) = self.tree.recursion(*variable)?;
                self.edits.push(Edit::before(body.span, "( "));
                self.edits.push(Edit::after(body.span, " )"));
            }
            TextChange::EndLoop(variable, branch) => {
                let (whole, body) = self.tree.recursion(*variable)?;
                let before =
                    body.branches.iter().take_while(|other| other.span.start < branch.start).last()?;
                self.edits.push(Edit::before(whole, "( "));
                self.edits.push(Edit::after(before.span, " )"));
            }
            TextChange::Replicate { used, variable } => self.replicate(*used, *variable)?,
            TextChange::Guard(name, text) => self.guard(name, text)?,
        }
        Some(())
    }

    /// How a sequence ends, if that is short; else `End`.
    fn tail(&self, sequence: &Sequence) -> String {
        match &sequence.tail {
            tail @ (Tail::Name(_) | Tail::Dual { .. }) => self.tree.sources.slice(span(tail)).to_owned(),
            _ => "End".to_owned(),
        }
    }

    /// A new item: a definition behind all that is there, anything else behind the last declaration.
    pub(super) fn declare(&mut self, item: &str) -> Option<()> {
        let message = item.starts_with("notification ") || item.starts_with("request ");
        if message && self.resolution.declarations.bare() {
            return Some(());
        }
        let payload =
            item.split(' ').nth(1).filter(|name| message && self.is_in_a_path(name)).map(|_| " (_)");
        let (head, replies) = item.split_once(" ->").unwrap_or((item, ""));
        let arrow = if replies.is_empty() { "" } else { " ->" };
        let item = &format!("{head}{}{arrow}{replies}", payload.unwrap_or_default());
        let file = self.tree.files.iter().find(|file| !file.imported)?;
        let items = &file.tree.items;
        let session = |kind: &ItemKind| matches!(kind, ItemKind::Definition { .. } | ItemKind::Role { .. });
        let definition = item.split(' ').nth(1) == Some("=");
        let last = items.iter().rfind(|other| definition || !session(&other.kind));
        let Some(last) = last else {
            let first = items.first()?;
            self.edits.push(Edit::before(first.span, format!("{item}\n")));
            return Some(());
        };
        self.behind(items, last, item);
        Some(())
    }

    /// A new item behind another one of a file.
    pub(super) fn behind(&mut self, items: &[Item], last: &Item, item: &str) {
        let sources = self.tree.sources;
        let file = last.span.file;
        let line = sources.line(file, sources.line_number(file, last.span.end));
        let inside = |other: &Item| last.span.end <= other.span.start && other.span.start < line.end;
        self.edits.push(match items.iter().any(inside) {
            true => Edit::after(last.span, format!("\n{item}\n")),
            false => Edit::after(line, format!("\n{item}")),
        });
    }

    fn in_front(&mut self, at: Span, text: &str, state: bool) -> Option<()> {
        let definitions = &self.resolution.definitions;
        let place = match definitions.iter().find(|definition| definition.span == at) {
            Some(definition) => definition.body.span,
            None => {
                let spot = self.tree.spot(at)?;
                // What begins a choice is in all of its branches.
                let whole = state && spot.action == 0 && spot.choice.branches.len() > 1;
                if whole && spot.branch == 0 { self.whole(spot.choice)? } else { at }
            }
        };
        self.edits.push(Edit::before(place, text));
        Some(())
    }

    /// The parenthesis around a choice, or the choice where it is all of a definition.
    fn whole(&self, choice: &Choice) -> Option<Span> {
        let around = |sequence: &Sequence| match &sequence.tail {
            Tail::Group(body, span) if body.span == choice.span => Some(*span),
            _ => None,
        };
        Some(self.tree.sequences().find_map(around).unwrap_or(choice.span))
    }

    fn modifiers(&self, name: Span) -> Option<&'a [Modifier]> {
        match &self.tree.declared(name)?.item.kind {
            ItemKind::Request(request) => Some(&request.modifiers),
            ItemKind::Notification(notification) => Some(&notification.modifiers),
            _ => None,
        }
    }

    fn modifier(&self, name: Span, word: &str) -> Option<Span> {
        self.modifiers(name)?.iter().find_map(|modifier| match modifier {
            Modifier::Answered(span)
            | Modifier::Cancellable { span, .. }
            | Modifier::Pages { span, .. }
            | Modifier::Rounds { span, .. } => {
                self.tree.sources.slice(*span).starts_with(word).then_some(*span)
            }
            _ => None,
        })
    }

    fn payload(&mut self, name: Span) -> Option<()> {
        let declared = self.tree.declared(name)?;
        let (method, payload): (&Name, &Payload) = match (&declared.item.kind, declared.reply) {
            (ItemKind::Request(request), Some(index)) => {
                let reply = request.replies.get(index)?;
                (&reply.name, &reply.payload)
            }
            (ItemKind::Request(request), None) => (&request.method, &request.payload),
            (ItemKind::Notification(notification), _) => (&notification.method, &notification.payload),
            _ => return None,
        };
        let conditions = match (&declared.item.kind, declared.reply) {
            (ItemKind::Request(request), None) => request.condition.as_ref(),
            (ItemKind::Notification(notification), _) => notification.condition.as_ref(),
            _ => None,
        };
        match payload {
            Payload::None => {
                let behind = conditions.map_or(method.span, |condition| condition.span);
                let edit = Edit::after(behind, " (_)");
                if !self.edits.contains(&edit) {
                    self.edits.push(edit);
                }
            }
            Payload::Null(span) => self.edits.push(Edit::replace(*span, "(_)")),
            _ => {}
        }
        Some(())
    }

    fn commas(&mut self, channels: Span, sign: &str) -> Option<()> {
        let parts = self.tree.sequences().find_map(|sequence| match within(&sequence.tail) {
            Tail::Parallel(parts, span) if *span == channels => Some(parts),
            _ => None,
        })?;
        // One operator stands at a level: that of the choices between the commas, if there is one.
        let mut written = parts.iter().flat_map(|part| &part.operators).map(|(operator, _)| *operator);
        let first = written.next();
        if written.any(|operator| Some(operator) != first) {
            return None;
        }
        let sign = match first {
            Some(_) => {
                self.text = choices::in_place_of_comma(first).to_owned();
                choices::sign(first)
            }
            None => sign,
        };
        for (index, part) in parts.iter().enumerate() {
            let end = parts.get(index + 1).map_or(channels.end, |next| next.span.start);
            let behind = Span { start: part.span.end, end, ..channels };
            let between = self.tree.sources.slice(behind);
            let comma =
                between.find(',').filter(|at| !between.get(..*at).is_some_and(|text| text.contains("--")));
            if let Some(at) = comma.and_then(|at| u32::try_from(at).ok()) {
                let comma = Span { start: behind.start + at, end: behind.start + at + 1, ..behind };
                // A comma may stand behind the last channel, too.
                let sign = if index + 1 < parts.len() { format!(" {sign}") } else { String::new() };
                self.edits.push(Edit::replace(comma, sign));
            }
        }
        Some(())
    }

    /// Whether a session type elsewhere goes on as the name of an item, or is its dual, and nothing else defines it.
    fn leads_to(&self, item: &Item, name: &Name) -> bool {
        let outside = |used: &Name| {
            let (at, whole) = (used.span, item.span);
            let inside = at.file == whole.file && (whole.start..whole.end).contains(&at.start);
            used.text == name.text && !inside
        };
        let mut items = self.tree.files.iter().flat_map(|file| &file.tree.items);
        let role = items.clone().any(|other| match &other.kind {
            ItemKind::Role { name: role, body: None, .. } => outside(role),
            _ => false,
        });
        let defined = items.any(|other| match &other.kind {
            ItemKind::Definition { name: defined, .. } => defined.text == name.text,
            _ => false,
        });
        let used = self.tree.sequences().any(|sequence| match within(&sequence.tail) {
            Tail::Name(used) | Tail::Dual { name: used, .. } => outside(used),
            _ => false,
        });
        !defined && (role || used)
    }

    fn sign(&mut self, at: Span, sign: char) -> Option<()> {
        if !self.tree.sources.slice(at).starts_with(sign) {
            self.edits.push(Edit::replace(Span { end: at.start + 1, ..at }, sign.to_string()));
            return Some(());
        }
        let around = |whole: Span| whole.file == at.file && whole.start <= at.start && at.end <= whole.end;
        let name =
            self.tree.files.iter().flat_map(|file| &file.tree.items).find_map(|item| match &item.kind {
                ItemKind::Definition { name, body, .. } => Some(name).filter(|_| around(body.span)),
                _ => None,
            })?;
        let mut duals = self.tree.sequences().filter_map(|sequence| match within(&sequence.tail) {
            Tail::Dual { name: of, span } if of.text == name.text => Some((of, *span)),
            _ => None,
        });
        let (of, dual) = duals.next()?;
        // A role that is the dual of the other one has to be that, and of several the wrong one is not known.
        if duals.next().is_some() || self.resolution.is_role(&name.text) {
            return None;
        }
        self.text = format!("remove `dual`: `{}` is written as this role sees it", name.text);
        self.edits.push(Edit::delete(Span { end: of.span.start, ..dual }));
        Some(())
    }

    fn join(&mut self, first: Span, again: Span) -> Option<()> {
        let (one, two) = (self.tree.spot(first)?, self.tree.spot(again)?);
        if !std::ptr::eq(one.choice, two.choice) || one.branch >= two.branch {
            return None;
        }
        let (left, right) = (one.sequence()?, two.sequence()?);
        let slice = |span: Span| self.tree.sources.slice(span);
        let pairs = left.actions.iter().zip(&right.actions);
        let common = pairs.take_while(|(one, two)| slice(one.span) == slice(two.span)).count();
        let last = common.checked_sub(1)?;
        let (behind, other) = (next(left, last)?.to(left.span), next(right, last)?.to(right.span));
        let operator = one.choice.operators.get(two.branch.saturating_sub(1))?.0;
        let receives = |sequence: &Sequence| sequence.actions.get(common).is_some_and(|action| !action.send);
        let sign = match operator {
            _ if receives(left) && receives(right) => "&",
            Operator::Internal => "⊕",
            Operator::External => "&",
        };
        let steps = slice(Span { end: behind.start, ..left.span });
        let joined = match slice(behind) == slice(other) {
            true => format!("{steps}{}", slice(behind)),
            false => format!("{steps}( {} {sign} {} )", slice(behind), slice(other)),
        };
        self.edits.push(Edit::replace(left.span, joined));
        self.edits.push(deleted(two.choice, two.branch)?);
        Some(())
    }

    fn ask(&mut self, at: Span, request: &str) -> Option<()> {
        let spot = self.tree.spot(at)?;
        let begins = |sequence: &&Sequence| {
            sequence.actions.first().is_some_and(|action| self.tree.sources.slice(action.span) == request)
        };
        let before = spot.branch.checked_sub(1).filter(|_| spot.action == 0);
        if let Some(before) = before
            && let Some(Sequence { actions, tail: Tail::Missing(_), .. }) =
                spot.choice.branches.get(before).filter(begins)
            && actions.len() == 1
        {
            self.edits.push(Edit::replace(spot.choice.operators.get(before)?.1, "."));
            return Some(());
        }
        if spot.action == 0 && spot.choice.branches.iter().any(|sequence| begins(&sequence)) {
            return None;
        }
        // What is missing behind the request, anywhere, may be what leads here.
        let cut = |sequence: &Sequence| {
            let last = sequence.actions.last();
            matches!(sequence.tail, Tail::Missing(_))
                && last.is_some_and(|action| self.tree.sources.slice(action.span) == request)
        };
        if self.tree.sequences().any(cut) {
            return None;
        }
        if let Some((next, asked)) = self.asked_next(spot.sequence()?, spot.action) {
            self.text = format!("write `{asked}`, the request that `{next}` behind it answers");
            self.edits.push(Edit::replace(at, asked));
            return Some(());
        }
        self.edits.push(Edit::before(at, format!("{request} . ")));
        Some(())
    }

    /// The reply that follows an action which itself should not be a reply, and the request it answers, if that is not
    /// asked before it in the sequence; both as they are written.
    fn asked_next(&self, sequence: &Sequence, at: usize) -> Option<(String, String)> {
        let action = sequence.actions.get(at)?;
        let next = match (sequence.actions.get(at + 1), within(&sequence.tail)) {
            (Some(next), _) => next,
            (None, Tail::Name(name)) => {
                let items = self.tree.files.iter().flat_map(|file| &file.tree.items);
                let body = { items }.find_map(|item| match &item.kind {
                    ItemKind::Definition { name: defined, body, .. } if defined.text == name.text => {
                        Some(body)
                    }
                    _ => None,
                })?;
                let [only] = body.branches.as_slice() else { return None };
                only.actions.first()?
            }
            _ => return None,
        };
        let Some(Meaning::Message(reply)) = self.resolution.names.get(&next.message.text) else {
            return None;
        };
        let declarations = &self.resolution.declarations;
        let Kind::Reply { request } = declarations.message(*reply)?.table.kind else { return None };
        let request = declarations.message(request)?.table.name.to_string();
        let asked = sequence.actions.get(..at)?.iter().any(|before| before.message.text == request);
        let sign = if action.send { "!" } else { "?" };
        (next.send != action.send && !asked)
            .then(|| (self.tree.sources.slice(next.span).to_owned(), format!("{sign}{request}")))
    }

    fn answer_first(&mut self, opened: Span, again: Span, reply: &str) -> Option<()> {
        self.edits.push(Edit::after(opened, format!(" . {reply}")));
        let spot = self.tree.spot(again)?;
        let sequence = spot.sequence()?;
        let replies = sequence.actions.iter().enumerate().skip(spot.action + 1);
        let mut replies = replies.filter(|(_, action)| self.tree.sources.slice(action.span) == reply);
        if opened != again
            && let Some((index, action)) = replies.nth(1)
        {
            self.edits.push(Edit::delete(Span { end: next(sequence, index)?.start, ..action.span }));
        }
        Some(())
    }

    fn one_body(&mut self, (one, two): &(String, String), both: &str) -> Option<()> {
        let is_body = |part: &Choice, name: &str| {
            let replicated = part.branches.iter().all(|branch| matches!(branch.tail, Tail::Replicated(..)));
            replicated && named_channel(part) == Some(name)
        };
        let mut found = self.tree.sequences().filter_map(|sequence| match within(&sequence.tail) {
            Tail::Parallel(parts, _) => {
                let place = |name: &str| parts.iter().position(|part| is_body(part, name));
                let (one, two) = (place(one)?, place(two)?);
                let (kept, deleted) = (one.min(two), one.max(two));
                let before = parts.get(deleted.checked_sub(1)?)?;
                Some((parts.get(kept)?.span, before.span.after().to(parts.get(deleted)?.span)))
            }
            _ => None,
        });
        // Where the two stand side by side in several places, which is meant is not known.
        let (Some((kept, deleted)), None) = (found.next(), found.next()) else { return None };
        self.edits.push(Edit::replace(kept, format!("*{both}")));
        self.edits.push(Edit::delete(deleted));
        Some(())
    }

    fn delete_twin(&mut self, at: Span) -> Option<()> {
        let twins = self.tree.sequences().filter(|sequence| sequence.span.file == at.file);
        let (before, twin) = twins
            .filter_map(|sequence| match within(&sequence.tail) {
                Tail::Parallel(parts, _) => parts.windows(2).find_map(|pair| match pair {
                    [one, two]
                        if named_channel(one).is_some() && named_channel(one) == named_channel(two) =>
                    {
                        Some((one.span, two.span))
                    }
                    _ => None,
                }),
                _ => None,
            })
            .next()?;
        self.edits.push(Edit::delete(before.after().to(twin)));
        Some(())
    }

    fn replicate(&mut self, used: Span, variable: Span) -> Option<()> {
        let (whole, body) = self.tree.recursion(variable)?;
        let name = self.tree.sources.slice(variable);
        let uses = |sequence: &&Sequence| match &sequence.tail {
            Tail::Name(other) => {
                other.text == name && whole.start <= other.span.start && other.span.end <= whole.end
            }
            _ => false,
        };
        if self.tree.sequences().filter(uses).count() > 1 {
            return None;
        }
        let inside = |part: &&Choice| part.span.start <= used.start && used.end <= part.span.end;
        let channel = self.tree.sequences().filter_map(|sequence| match &sequence.tail {
            Tail::Parallel(parts, _) => parts.iter().find(inside),
            _ => None,
        });
        let channel = channel.min_by_key(|part| part.span.end - part.span.start)?;
        self.edits.push(Edit::delete(Span { end: body.span.start, ..whole }));
        self.edits.push(Edit::before(channel.span, "*( "));
        self.edits.push(Edit::replace(used, "End"));
        self.edits.push(Edit::after(channel.span, " )"));
        Some(())
    }

    fn guard(&mut self, name: &str, text: &str) -> Option<()> {
        let bare = |sequence: &&Sequence| {
            matches!(&sequence.tail, Tail::Name(other) if other.text == name) && sequence.actions.is_empty()
        };
        let before = self.edits.len();
        for sequence in self.tree.sequences().filter(bare) {
            self.edits.push(Edit::before(sequence.span, text));
        }
        (self.edits.len() > before).then_some(())
    }
}

/// What stands behind an action in its sequence.
fn next(sequence: &Sequence, action: usize) -> Option<Span> {
    let behind = sequence.actions.get(action + 1).map(|action: &Action| action.span);
    match &sequence.tail {
        Tail::Missing(_) => behind,
        tail => Some(behind.unwrap_or_else(|| span(tail))),
    }
}

/// The name that a channel is, by itself or as the body of a `*`.
fn named_channel(part: &Choice) -> Option<&str> {
    match part.branches.as_slice() {
        [Sequence { actions, tail, .. }] if actions.is_empty() => match tail {
            Tail::Name(name) => Some(&name.text),
            Tail::Replicated(body, _) => match within(body) {
                Tail::Name(name) => Some(&name.text),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The edit that deletes a branch with the operator that goes with it; none if it is the only one.
fn deleted(choice: &Choice, branch: usize) -> Option<Edit> {
    let own = choice.branches.get(branch)?.span;
    match branch.checked_sub(1).and_then(|before| choice.branches.get(before)) {
        Some(before) => Some(Edit::delete(Span { start: before.span.end, ..own })),
        None => {
            let next = choice.branches.get(branch + 1)?.span;
            Some(Edit::delete(Span { end: next.start, ..own }))
        }
    }
}

/// A text with one word in place of another.
pub(super) fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let behind = found.get(from.len()..).unwrap_or("");
        let word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let whole = !before.ends_with(word) && !behind.starts_with(word);
        out.push_str(before);
        out.push_str(if whole { to } else { from });
        rest = behind;
    }
    out.push_str(rest);
    out
}
