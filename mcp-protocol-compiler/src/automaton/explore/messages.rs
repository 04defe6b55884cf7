//! What an action means at a place: which messages its name stands for, and which requests are open after one.

use mcp_protocol_machine::protocol::{Kind, MessageIndex};

use super::Explorer;
use crate::automaton::finding::{FindingKind, Fits};
use crate::automaton::graph::ActionNode;
use crate::automaton::open::OpenSet;
use crate::automaton::raw::Step;
use crate::declarations::{Meaning, NO_MESSAGE};

/// How many of the requests that are open are named in a finding.
const SHOWN: usize = 8;

impl Explorer<'_> {
    /// What the name in an action stands for here.
    pub(super) fn messages(&mut self, action: &ActionNode<'_>, open: OpenSet) -> Option<Vec<MessageIndex>> {
        let declarations = &self.resolution.declarations;
        let asker = action.direction.flip();
        if action.message.text == "reply" {
            let asked: Vec<MessageIndex> = self.open_sets.asked(open, asker).take(SHOWN).collect();
            match asked.as_slice() {
                [request] => return Some(declarations.replies(*request).collect()),
                [] => {
                    let other = self.open_sets.requests(open).next();
                    self.without_request(action, &action.message.text, other, None);
                }
                _ => self.findings.push(FindingKind::Ambiguous { asker, open: asked }.at(action.span)),
            }
            return None;
        }
        match self.resolution.names.get(&action.message.text) {
            None => {
                self.findings
                    .push(FindingKind::UndefinedMessage(action.message.clone()).at(action.message.span));
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
                    self.without_request(action, &action.message.text, None, self.fits(action, open));
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
        let declared = self.resolution.declarations.message(message)?;
        match declared.table.kind {
            Kind::Notification => Some(open),
            Kind::Request => {
                let request = (action.direction, message);
                if !self.open_sets.contains(open, request) {
                    return Some(self.open_sets.with(open, request));
                }
                // A request that is open both ways was probably written where its reply was meant.
                let other = (action.direction.flip(), message);
                let crossed = self.open_sets.contains(open, other);
                let crossed = crossed.then(|| self.opener(self.current, other).unwrap_or(action.span));
                let opened = self.opener(self.current, request);
                let next = self.heads.graph.variable(action.next).map(|name| name.text.clone());
                self.findings
                    .push(FindingKind::OpenAlready { request, crossed, opened, next }.at(action.span));
                None
            }
            Kind::Reply { request } | Kind::Refusal { request } => {
                let opened = (action.direction.flip(), request);
                if self.open_sets.contains(open, opened) {
                    return Some(self.open_sets.without(open, opened));
                }
                let other_way = (action.direction, request);
                let request = if self.open_sets.contains(open, other_way) { other_way } else { opened };
                let name = &declared.table.name;
                self.without_request(action, name, Some(request), self.fits(action, open));
                None
            }
        }
    }

    /// Reports a reply whose request is not open.
    fn without_request(
        &mut self,
        action: &ActionNode<'_>,
        name: &str,
        request: Option<Step>,
        fits: Option<Fits>,
    ) {
        let direction = action.direction;
        let other_way = request.is_some_and(|(asker, _)| asker == direction);
        let (name, before) = (name.to_owned(), self.before());
        let found = FindingKind::WithoutRequest { direction, name, request, other_way, before, fits };
        self.findings.push(found.at(action.span));
    }

    /// The reply that an action could be instead: that of the one request which is open in its direction.
    fn fits(&self, action: &ActionNode<'_>, open: OpenSet) -> Option<Fits> {
        let asker = action.direction.flip();
        let mut asked = self.open_sets.asked(open, asker);
        let (Some(request), None) = (asked.next(), asked.next()) else { return None };
        Some(Fits { place: action.head(), request: (asker, request) })
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

    /// The request that an action's reply answers.
    pub(super) fn request_of(&self, action: &ActionNode<'_>) -> Option<Step> {
        let Some(Meaning::Message(reply)) = self.resolution.names.get(&action.message.text) else {
            return None;
        };
        match self.resolution.declarations.message(*reply)?.table.kind {
            Kind::Reply { request } | Kind::Refusal { request } => Some((action.direction.flip(), request)),
            Kind::Request | Kind::Notification => None,
        }
    }
}
