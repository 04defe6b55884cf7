//! Messages: requests with their replies and refusals, notifications, gates.

use std::borrow::Cow;
use std::collections::HashMap;

use mcp_protocol_machine::protocol::{
    self as machine, Cancels, Gate, GateIndex, Holder, Kind, MessageIndex, Reports, Requirement, Rounds,
};

use super::items::Sides;
use super::payload::payload;
use super::placed::Placed;
use crate::ast::{self, ItemKind, JsonPath, Modifier, Name};
use crate::declarations::{
    Meaning, Message, NO_MESSAGE, Pages, PayloadType, Resolution, condition, level, next_number,
    number as shape_number, path,
};
use crate::diagnostic::Diagnostic;
use crate::findings::{declarations as finding, size};
use crate::source::Span;

/// Declares every message of every file.
pub(super) fn declare(
    items: &[Placed<'_>],
    sides: &Sides<'_>,
    resolution: &mut Resolution,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let shapes = resolution.declarations.shapes.iter().enumerate();
    let shapes = shapes.map(|(index, shape)| (shape.name.text.clone(), index)).collect();
    let gates = HashMap::new();
    let mut declare =
        Declare { sides, shapes, resolution, diagnostics, gates, full: false, no_gate_left: false };
    for placed in items {
        match &placed.item.kind {
            ItemKind::Request(request) => declare.request(placed, request),
            ItemKind::Notification(notification) => declare.notification(placed, notification),
            _ => {}
        }
    }
}

struct Declare<'a> {
    sides: &'a Sides<'a>,
    /// The number of each shape.
    shapes: HashMap<String, usize>,
    resolution: &'a mut Resolution,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// The number of each gate.
    gates: HashMap<machine::Path, GateIndex>,
    /// Whether there are more messages than numbers, which has been reported.
    full: bool,
    /// The same for gates.
    no_gate_left: bool,
}

impl Declare<'_> {
    fn request(&mut self, placed: &Placed<'_>, request: &ast::Request) {
        let method = &request.method;
        let payload = payload(&request.payload, placed.types, &self.shapes, self.diagnostics);
        let mut message =
            self.message(&request.name, Kind::Request, &method.text, payload, request.condition.as_ref());
        message.documentation.clone_from(&placed.item.documentation);
        self.modify(&mut message, &request.modifiers);
        let Some(index) = self.add(message) else { return };
        for reply in &request.replies {
            let payload =
                super::payload::payload(&reply.payload, placed.types, &self.shapes, self.diagnostics);
            let kind = Kind::Reply { request: index };
            let reply = self.message(&reply.name, kind, &method.text, payload, reply.condition.as_ref());
            self.add(reply);
        }
        self.rounds(index, request);
        let refusal = Name { text: format!("{}Error", request.name.text), span: request.name.span };
        let nothing = (machine::Payload::None, PayloadType::None);
        let refusal = self.message(&refusal, Kind::Refusal { request: index }, &method.text, nothing, None);
        self.add(refusal);
    }

    /// What leads from one round of a request to the next. Its replies are declared.
    fn rounds(&mut self, index: MessageIndex, request: &ast::Request) {
        for modifier in &request.modifiers {
            let Modifier::Rounds { reply, state, given, answers, questions, span } = modifier else {
                continue;
            };
            let Some(declared) = request.replies.iter().find(|it| it.name.text == reply.text) else {
                let replies = request.replies.iter().map(|reply| reply.name.text.as_str());
                self.diagnostics.push(finding::round_without_reply(reply, &request.name, replies));
                continue;
            };
            let carries =
                |payload: &ast::Payload| !matches!(payload, ast::Payload::None | ast::Payload::Null(_));
            let both = [(&request.name, &request.payload), (reply, &declared.payload)];
            if let Some((empty, _)) = both.into_iter().find(|(_, payload)| !carries(payload)) {
                self.diagnostics.push(finding::round_without_payload(*span, &request.name, &empty.text));
                continue;
            }
            let Some(Meaning::Message(reply)) = self.resolution.names.get(&reply.text) else { continue };
            let rounds = Rounds::new(*reply, path(state), path(given), path(answers), path(questions));
            let messages = &mut self.resolution.declarations.messages;
            if let Some(message) = messages.get_mut(usize::from(index.0)) {
                message.table.rounds = Some(rounds);
            }
        }
    }

    fn notification(&mut self, placed: &Placed<'_>, notification: &ast::Notification) {
        let payload = payload(&notification.payload, placed.types, &self.shapes, self.diagnostics);
        let condition = notification.condition.as_ref();
        let mut message = self.message(
            &notification.name,
            Kind::Notification,
            &notification.method.text,
            payload,
            condition,
        );
        message.documentation.clone_from(&placed.item.documentation);
        self.modify(&mut message, &notification.modifiers);
        self.add(message);
    }

    fn message(
        &mut self,
        name: &Name,
        kind: Kind,
        method: &str,
        (presence, payload): (machine::Payload, PayloadType),
        when: Option<&ast::Condition>,
    ) -> Message {
        let mut message = Message::plain(name, kind, method);
        message.table.payload = presence;
        message.table.condition = when.map(condition);
        if let PayloadType::Shape { index, .. } = &payload {
            message.table.shape = Some(shape_number(*index));
        }
        message.payload = payload;
        message
    }

    /// Gives the message its number and its name, unless something else has the name.
    fn add(&mut self, message: Message) -> Option<MessageIndex> {
        let name = Name { text: message.table.name.to_string(), span: message.span };
        if let Some(Meaning::Message(first)) = self.resolution.names.get(&name.text) {
            let first = self.resolution.declarations.message(*first);
            let both = first.map(|first| (first.span, first.table.kind));
            self.diagnostics.push(match both {
                Some((first, Kind::Reply { .. })) if matches!(message.table.kind, Kind::Reply { .. }) => {
                    finding::reply_of_two_requests(&name, first)
                }
                Some((first, Kind::Refusal { .. })) => finding::name_of_refusal(&name, first),
                Some((first, _)) if matches!(message.table.kind, Kind::Refusal { .. }) => {
                    finding::name_of_refusal(&Name { text: name.text.clone(), span: first }, name.span)
                }
                Some((first, _)) if matches!(message.table.kind, Kind::Reply { .. }) => {
                    finding::reply_named_as_message(&name, first)
                }
                first => finding::declared_twice(&name, first.map_or(name.span, |first| first.0), false),
            });
            return None;
        }
        let Some(index) = next_number(&self.resolution.declarations.messages) else {
            // One finding for the first that does not fit says it for all behind it.
            if !std::mem::replace(&mut self.full, true) {
                self.diagnostics.push(size::too_many_messages(message.span));
            }
            self.resolution.names.insert(name.text, Meaning::Message(NO_MESSAGE));
            return None;
        };
        let index = MessageIndex(index);
        self.resolution.names.insert(name.text, Meaning::Message(index));
        self.resolution.declarations.messages.push(message);
        Some(index)
    }

    fn modify(&mut self, message: &mut Message, modifiers: &[Modifier]) {
        let request = message.table.kind == Kind::Request;
        let mut requires = Vec::new();
        for modifier in modifiers {
            let one_method = match modifier {
                Modifier::Cancels { span, .. } => Some((span, "cancels")),
                Modifier::Reports { span, .. } => Some((span, "reports")),
                Modifier::Pages { span, .. } => Some((span, "pages")),
                Modifier::Rounds { span, .. } => Some((span, "rounds")),
                _ => None,
            };
            if let (Some((span, word)), Some(_)) = (one_method, message.table.pattern()) {
                self.diagnostics.push(finding::modifier_of_one_method(*span, word, &message.table.method));
            }
            let mut only_for = |is: bool, span: Span, word: &str, what: &str| {
                if !is {
                    self.diagnostics.push(finding::misplaced_modifier(span, word, what));
                }
            };
            match modifier {
                Modifier::As(name) => message.call_name = Some(name.clone()),
                Modifier::Answered(span) => {
                    only_for(request, *span, "answered", "request");
                    message.table.answered = true;
                }
                Modifier::Cancellable { until_reply, span } => {
                    only_for(request, *span, "cancellable", "request");
                    message.table.cancellable = true;
                    if *until_reply {
                        message.table.until_reply = true;
                        message.until_reply = Some(*span);
                    }
                }
                Modifier::Cancels { id, reply_error, span } => {
                    only_for(!request, *span, "cancels", "notification");
                    message.table.cancels = Some(Cancels::new(path(id), *reply_error));
                }
                Modifier::Reports { token, of, span } => {
                    only_for(!request, *span, "reports", "notification");
                    let of: Vec<_> = of.iter().map(path).collect();
                    message.table.reports = Some(Reports::new(path(token), Cow::Owned(of)));
                }
                Modifier::Grants { path: named, .. } => message.table.grants = Some(path(named)),
                Modifier::Revokes { path: named, .. } => message.table.revokes = Some(path(named)),
                Modifier::Pages { cursor, next, span } => {
                    only_for(request, *span, "pages", "request");
                    message.pages = Some(Pages { cursor: path(cursor), next: path(next), span: *span });
                }
                // The replies are declared after their request.
                Modifier::Rounds { span, .. } => only_for(request, *span, "rounds", "request"),
                // What it names is declared when all messages and groups are.
                Modifier::During { .. } => {}
                Modifier::Levels(levels) => message.table.level = levels.first().map(level),
                Modifier::Requires { holder, path: field, condition: when, unless, span } => {
                    if let Some((holder, gate)) = self.gate(holder, field) {
                        let mut requirement = Requirement::new(holder, gate);
                        requirement.condition = when.as_ref().map(condition);
                        requirement.unless = *unless;
                        requires.push(requirement);
                        message.requires.push(*span);
                    }
                }
            }
        }
        message.table.requires = Cow::Owned(requires);
    }

    /// Whose announcement a gate asks, and its number.
    fn gate(&mut self, holder: &Name, field: &JsonPath) -> Option<(Holder, GateIndex)> {
        let holder = match holder.text.as_str() {
            "own" => Holder::Sender,
            "peer" => Holder::Receiver,
            word => match self.sides.side(word) {
                Some(side) => Holder::Side(side),
                None => {
                    let mut names = self.sides.names().to_vec();
                    names.extend(["own".to_owned(), "peer".to_owned()]);
                    self.diagnostics.push(finding::unknown_role(holder, &names));
                    return None;
                }
            },
        };
        let path = path(field);
        let gates = &mut self.resolution.declarations.gates;
        let gate = match self.gates.get(&path) {
            Some(gate) => *gate,
            None => {
                let Some(number) = next_number(gates) else {
                    if !std::mem::replace(&mut self.no_gate_left, true) {
                        self.diagnostics.push(size::too_many_gates(field.span));
                    }
                    return None;
                };
                gates.push(Gate::new(path.clone()));
                self.gates.insert(path, GateIndex(number));
                GateIndex(number)
            }
        };
        Some((holder, gate))
    }
}
