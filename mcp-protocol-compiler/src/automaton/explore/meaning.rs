//! What an action means at a place: which messages its name stands for, and which requests are open after one.
//!
//! In: an action and the requests that are open. Out: messages, and the requests open after each. Refuses names that
//! mean no message here, replies without a request, and requests that are open already.

use mcp_protocol_machine::protocol::{Direction, Kind, MessageIndex};

use super::Explorer;
use crate::automaton::graph::ActionNode;
use crate::automaton::open::OpenSet;
use crate::automaton::raw::{answer, sign};
use crate::declarations::{Meaning, NO_MESSAGE};
use crate::findings::{declarations, replies};

/// How many of the requests that are open are named in a finding.
const SHOWN: usize = 8;

impl Explorer<'_> {
    /// What the name in an action stands for here.
    pub(super) fn messages(&mut self, action: &ActionNode<'_>, open: OpenSet) -> Option<Vec<MessageIndex>> {
        let declarations = &self.resolution.declarations;
        let asker = action.direction.flip();
        let sign = sign(action.direction);
        if action.message.text == "reply" {
            let asked: Vec<MessageIndex> = self.open_sets.asked(open, asker).take(SHOWN).collect();
            return match asked.as_slice() {
                [request] => Some(declarations.replies(*request).collect()),
                [] => {
                    let other = self.open_sets.requests(open).next();
                    let other = other.map(|(direction, message)| self.action(direction, message));
                    let before = self.before();
                    self.diagnostics.push(replies::without_request(
                        &format!("{sign}reply"),
                        action.span,
                        other.as_deref(),
                        other.is_some(),
                        before,
                        None,
                    ));
                    None
                }
                several => {
                    let names: Vec<String> = several
                        .iter()
                        .map(|message| declarations.message_name(*message).to_owned())
                        .collect();
                    let replies: Vec<String> = several
                        .iter()
                        .map(|request| self.answer(action.direction.flip(), *request))
                        .collect();
                    self.diagnostics.push(replies::ambiguous(action.span, &names, &replies));
                    None
                }
            };
        }
        match self.resolution.names.get(&action.message.text) {
            None => {
                self.diagnostics.push(declarations::undefined_message(action.message, self.resolution));
                None
            }
            Some(Meaning::Message(NO_MESSAGE)) => None,
            Some(Meaning::Message(message)) => Some(vec![*message]),
            Some(Meaning::Group(members)) => {
                // Of the replies in a group those count whose request is open: a reply to a group stands for that of
                // the member which was sent.
                let fits = |member: &MessageIndex| match declarations.message(*member).map(|m| m.table.kind) {
                    Some(Kind::Reply { request } | Kind::Refusal { request }) => {
                        self.open_sets.contains(open, (asker, request))
                    }
                    _ => true,
                };
                let fitting: Vec<MessageIndex> = members.iter().copied().filter(fits).collect();
                if fitting.is_empty() && !members.is_empty() {
                    let action_text = format!("{sign}{}", action.message.text);
                    let before = self.before();
                    self.diagnostics.push(replies::without_request(
                        &action_text,
                        action.span,
                        None,
                        false,
                        before,
                        self.fits(action, open),
                    ));
                    return None;
                }
                Some(fitting)
            }
        }
    }

    /// Which requests are open after a message.
    pub(super) fn after(
        &mut self,
        action: &ActionNode<'_>,
        message: MessageIndex,
        open: OpenSet,
    ) -> Option<OpenSet> {
        let kind = self.resolution.declarations.message(message)?.table.kind;
        match kind {
            Kind::Notification => Some(open),
            Kind::Request => {
                let opened = (action.direction, message);
                if self.open_sets.contains(open, opened) {
                    let text = self.action(action.direction, message);
                    // A request that is open both ways was probably written where its reply was meant.
                    let crossed = (action.direction.flip(), message);
                    let crossed = self
                        .open_sets
                        .contains(open, crossed)
                        .then(|| self.opener(self.current, crossed).unwrap_or(action.span));
                    let reply = self.answer(action.direction, message);
                    let opened = self.opener(self.current, opened);
                    let next = self.heads.graph.variable(action.next).map(|name| name.text.clone());
                    self.diagnostics.push(replies::open_already(
                        &text,
                        action.span,
                        &reply,
                        crossed,
                        opened,
                        next.as_deref(),
                    ));
                    return None;
                }
                Some(self.open_sets.with(open, opened))
            }
            Kind::Reply { request } | Kind::Refusal { request } => {
                let opened = (action.direction.flip(), request);
                if !self.open_sets.contains(open, opened) {
                    let text = self.action(action.direction, message);
                    let other_way = self.open_sets.contains(open, (action.direction, request));
                    let sender = if other_way { action.direction } else { action.direction.flip() };
                    let request = self.action(sender, request);
                    let before = self.before();
                    self.diagnostics.push(replies::without_request(
                        &text,
                        action.span,
                        Some(&request),
                        other_way,
                        before,
                        self.fits(action, open),
                    ));
                    return None;
                }
                Some(self.open_sets.without(open, opened))
            }
        }
    }

    /// The reply that an action could be instead: that of the one request which is open in its direction.
    fn fits(&self, action: &ActionNode<'_>, open: OpenSet) -> Option<replies::Fits> {
        let asker = action.direction.flip();
        let mut asked = self.open_sets.asked(open, asker);
        let (Some(request), None) = (asked.next(), asked.next()) else { return None };
        Some(replies::Fits {
            place: action.head(),
            reply: self.answer(asker, request),
            asked: self.action(asker, request),
        })
    }

    /// Whether an action names a reply or a refusal.
    pub(super) fn starts_with_reply(&self, action: &ActionNode<'_>) -> bool {
        let kind = match self.resolution.names.get(&action.message.text) {
            Some(Meaning::Message(message)) => Some(*message),
            Some(Meaning::Group(members)) => members.first().copied(),
            None => return action.message.text == "reply",
        };
        let kind = kind.and_then(|message| self.resolution.declarations.message(message));
        kind.is_some_and(|message| matches!(message.table.kind, Kind::Reply { .. } | Kind::Refusal { .. }))
    }

    /// The action that answers a request, as it is written: `?R`, or `?reply` where there are several.
    pub(super) fn answer(&self, direction: Direction, request: MessageIndex) -> String {
        answer(&self.resolution.declarations, direction, request)
    }

    /// The request that an action's reply answers, as it is written: `!M`.
    pub(super) fn request_of(&self, action: &ActionNode<'_>) -> Option<String> {
        let Some(Meaning::Message(reply)) = self.resolution.names.get(&action.message.text) else {
            return None;
        };
        match self.resolution.declarations.message(*reply)?.table.kind {
            Kind::Reply { request } | Kind::Refusal { request } => {
                Some(self.action(action.direction.flip(), request))
            }
            Kind::Request | Kind::Notification => None,
        }
    }

    /// An action as it is written: `!M`.
    pub(super) fn action(&self, direction: Direction, message: MessageIndex) -> String {
        format!("{}{}", sign(direction), self.resolution.declarations.message_name(message))
    }
}
