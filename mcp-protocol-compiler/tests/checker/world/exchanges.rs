//! Judges messages of an exchange: cancellations, progress, replies.

use std::collections::HashSet;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{Direction, KeyIndex, MessageIndex};

use super::{Config, Exchange, Item, Over, Part, Standing, SubSession, Verdict, World, index};
use crate::event::Event;

impl World<'_> {
    pub(super) fn notification(&mut self, event: &Event, direction: Direction) -> Verdict {
        let table = self.protocol.message(event.message).unwrap();
        if table.cancels.is_some()
            && let Some(id) = &event.about
        {
            return self.cancellation(event, direction, id);
        }
        let token = event.token.as_ref().filter(|_| table.reports.is_some());
        let names_a_request = table.cancels.is_some() || table.reports.is_some();
        if let Some(token) = token
            && !self.is_in_sub_session(event, direction)
        {
            let asker = direction.flip();
            if let Some(id) = self.holder_of(asker, token).cloned() {
                let part = Part::Request(asker, &id);
                if let Err(kind) = self.gates(event, part) {
                    // It may be meant for a sub-session that is over, by who has not heard of that.
                    let meant = self.meant_for_one_that_is_over(event, direction);
                    return meant.unwrap_or(Verdict::Wrong(kind));
                }
                self.behind_gates += u64::from(self.is_behind_gate(event, part));
                return Verdict::Reported;
            }
            match self.tokens.contains(&(asker, token.clone())) {
                true => return Verdict::Late,
                false if !self.stands_alone(direction, event.message) => {
                    return Verdict::Wrong("UnknownToken");
                }
                false => {}
            }
        }
        let is_step = names_a_request && self.is_in_sub_session(event, direction);
        let is_held = self.running_sub_sessions().any(|number| self.holds(number, event));
        let (verdict, _) = self.plain(event, direction);
        let Verdict::Wrong(kinds) = verdict else { return verdict };
        if is_step {
            return verdict;
        }
        // If the state is what is wrong, the message is called one that is about no request.
        Verdict::Wrong(match (kinds, token) {
            ("NotPermitted", Some(_)) => "UnknownToken",
            ("NotPermitted", None) if names_a_request => "RequestUnnamed",
            // The value is held by a sub-session of another body that the same message opens.
            ("NotPermitted|UnknownKey", Some(_)) if is_held => "NotPermitted|UnknownToken|UnknownKey",
            ("NotPermitted|UnknownKey", None) if names_a_request && is_held => {
                "NotPermitted|RequestUnnamed|UnknownKey"
            }
            ("NotPermitted|UnknownKey", Some(_)) => "UnknownToken|UnknownKey",
            ("NotPermitted|UnknownKey", None) if names_a_request => "RequestUnnamed|UnknownKey",
            ("NotPermitted|KeyMissing", Some(_)) => "UnknownToken|KeyMissing",
            ("NotPermitted|KeyMissing", None) if names_a_request => "RequestUnnamed|KeyMissing",
            ("NotPermitted|Suspended", Some(_)) => "UnknownToken|Suspended",
            ("NotPermitted|Suspended", None) if names_a_request => "RequestUnnamed|Suspended",
            // The value is held by a sub-session of another body of the same `*`.
            ("NotPermitted|KeyInUse", Some(_)) => "NotPermitted|UnknownToken|KeyInUse",
            ("NotPermitted|KeyInUse", None) if names_a_request => "NotPermitted|RequestUnnamed|KeyInUse",
            (kinds, _) => kinds,
        })
    }

    /// Whether a running sub-session holds the values of a message that may be a step in it, or open one within it.
    fn is_in_sub_session(&self, event: &Event, direction: Direction) -> bool {
        self.running_sub_sessions()
            .any(|number| self.may_go_on(number, event, direction) || self.may_open(number, event, direction))
    }

    fn running_sub_sessions(&self) -> impl Iterator<Item = usize> {
        let runs = |number: usize| self.sub_sessions[number].over.is_none();
        (0..self.sub_sessions.len()).filter(move |number| self.with_those_around(*number).all(runs))
    }

    /// Whether a message that reports has a place in the session types, too.
    fn stands_alone(&self, direction: Direction, message: MessageIndex) -> bool {
        let states = self.protocol.role(self.side).unwrap().states.iter();
        let mut edges = states.flat_map(|state| state.edges.iter());
        edges.any(|edge| (edge.direction, edge.message) == (direction, message))
    }

    /// The request that is not over and carried a token.
    pub(super) fn holder_of(&self, asker: Direction, token: &RequestId) -> Option<&RequestId> {
        let mut held = self.exchanges.iter().filter(|((by, _), exchange)| {
            let lives = exchange.standing == Standing::Running
                || exchange.standing == Standing::Answered && self.opened(exchange, *by);
            *by == asker && exchange.token.as_ref() == Some(token) && lives
        });
        held.next().map(|((_, id), _)| id)
    }

    /// Whether an exchange opened a sub-session that goes on.
    fn opened(&self, exchange: &Exchange, asker: Direction) -> bool {
        exchange.sub_session.is_some_and(|number| {
            let sub_session = &self.sub_sessions[number];
            sub_session.over.is_none()
                && sub_session.opener.as_ref().is_some_and(|(by, id)| {
                    *by == asker && std::ptr::eq(&self.exchanges[&(*by, id.clone())], exchange)
                })
        })
    }

    fn cancellation(&mut self, event: &Event, direction: Direction, id: &RequestId) -> Verdict {
        let message = event.message;
        let place = (direction, id.clone());
        let Some(exchange) = self.exchanges.get(&place) else {
            if self.refused.contains_key(&place) {
                return Verdict::Late;
            }
            let theirs = self.exchanges.get(&(direction.flip(), id.clone()));
            return match theirs.is_some_and(|theirs| theirs.standing == Standing::Running) {
                true => Verdict::Wrong("NotYours"),
                false => Verdict::Wrong("NotRunning"),
            };
        };
        let cancels = self.protocol.message(message).unwrap().cancels.as_ref().unwrap();
        let reply_follows = cancels.reply_error.is_some();
        let opened = self.opened(exchange, direction);
        let asked = self.protocol.message(exchange.message).unwrap();
        if opened && exchange.standing != Standing::Running && !asked.cancellable {
            return Verdict::Wrong("NotCancellable");
        }
        if reply_follows && exchange.standing != Standing::Running {
            return Verdict::Late;
        }
        if exchange.standing != Standing::Running && !opened {
            if let Some(number) =
                exchange.sub_session.filter(|number| self.sub_sessions[*number].over.is_some())
            {
                let of = (direction, exchange.message);
                let id = Some(id.clone());
                let item = Item { direction, message, id, cancels: true, opens: false, of, at: self.seen };
                let after = self.sent(&self.sub_sessions[number].configs, &item);
                if !after.is_empty() {
                    self.sub_sessions[number].configs = after;
                }
            }
            return Verdict::Late;
        }
        if !asked.cancellable {
            return Verdict::Wrong("NotCancellable");
        }
        let by = direction.flip();
        if asked.until_reply
            && exchange.reply_at.is_some_and(|at| self.was_heard(Over { by, at, cuts: true }))
        {
            return Verdict::Wrong("NoLongerCancellable");
        }
        let (request, sub_session) = (exchange.message, exchange.sub_session);
        // Where it ends an exchange within something that goes on, it is a step of that.
        let is_step = !reply_follows && !opened;
        let configs = sub_session.map_or(&self.main, |number| &self.sub_sessions[number].configs);
        let item = Item {
            direction,
            message,
            id: Some(id.clone()),
            cancels: true,
            opens: false,
            of: (direction, request),
            at: self.seen,
        };
        let after = if is_step { self.sent(configs, &item) } else { HashSet::new() };
        if is_step && after.is_empty() {
            return Verdict::Wrong("NotPermitted");
        }
        if let Err(kind) = self.gates(event, Part::Session) {
            return Verdict::Wrong(kind);
        }
        self.behind_gates += u64::from(self.is_behind_gate(event, Part::Session));
        if reply_follows {
            let twice = std::mem::replace(&mut self.exchanges.get_mut(&place).unwrap().cancelled, true);
            return if twice { Verdict::Wrong("CancelledTwice") } else { Verdict::Reported };
        }
        if opened {
            self.end(sub_session.unwrap(), Over { by: direction, at: self.seen, cuts: true });
            return Verdict::Fine;
        }
        match sub_session {
            Some(number) => {
                self.sub_sessions[number].configs = after;
                self.let_go(number, direction);
                self.settle(number, direction);
            }
            None => self.main = after,
        }
        let seen = self.seen;
        let exchange = self.exchanges.get_mut(&place).unwrap();
        exchange.standing = Standing::Owed;
        exchange.ended = exchange.ended.or(Some((direction, seen)));
        Verdict::Fine
    }

    pub(super) fn reply(
        &mut self,
        event: &Event,
        direction: Direction,
        request: MessageIndex,
        refusal: bool,
    ) -> Verdict {
        let id = event.id.clone().unwrap();
        let place = (direction.flip(), id.clone());
        let awaited = self.exchanges.get(&place).filter(|known| known.standing != Standing::Answered);
        if awaited.is_none()
            && let Some(owed) = self.refused.get_mut(&place).filter(|owed| **owed)
        {
            *owed = false;
            self.perhaps.remove(&place);
            self.settle_opening(event, direction, request, refusal);
            return Verdict::Late;
        }
        let Some(exchange) = self.exchanges.get_mut(&place) else {
            let known = self.refused.contains_key(&place);
            return Verdict::Wrong(if known { "SecondReply" } else { "UnknownId" });
        };
        match exchange.standing {
            Standing::Answered => return Verdict::Wrong("SecondReply"),
            Standing::Owed => {
                exchange.standing = Standing::Answered;
                let (at, sub_session) =
                    (exchange.at, exchange.sub_session.filter(|_| exchange.message == request));
                self.hear(direction, at);
                // Should somebody have used the id again, then one reply is swallowed for both.
                self.refused.insert(place, false);
                if let Some(number) = sub_session {
                    self.late_reply(event, direction, request, number);
                }
                return Verdict::Late;
            }
            Standing::Running if exchange.message != request => return Verdict::Wrong("WrongReply"),
            Standing::Running => {}
        }
        let asked = exchange.asked.in_members(self.protocol);
        if event.members.iter().any(|member| !asked.contains(member)) {
            return Verdict::Wrong("WrongKey");
        }
        let sub_session = exchange.sub_session;
        let item = Item {
            direction,
            message: event.message,
            id: Some(id),
            cancels: false,
            opens: false,
            of: (direction.flip(), request),
            at: self.seen,
        };
        let configs = sub_session.map_or(&self.main, |number| &self.sub_sessions[number].configs);
        let after = self.sent(configs, &item);
        if after.is_empty() {
            return Verdict::Wrong("NotPermitted");
        }
        if let Some(number) = sub_session
            && !refusal
            && self.reading.is_keyed(self.sub_sessions[number].body)
            && let SubSession { body, outer, .. } = self.sub_sessions[number]
            && let Err(kind) = self.free(event, body, Some(number), outer)
        {
            return Verdict::Wrong(kind);
        }
        let exchange = self.exchanges.get_mut(&place).unwrap();
        exchange.standing = Standing::Answered;
        exchange.reply_at = Some(self.seen);
        let at = exchange.at;
        match sub_session {
            Some(number) => {
                self.sub_sessions[number].configs = after;
                self.settle(number, direction);
                let sub_session = &mut self.sub_sessions[number];
                // Only the two sides of a sub-session know a value that comes with its end.
                if !refusal && sub_session.over.is_none() {
                    let body = sub_session.body;
                    let own = event.keys.iter().filter(|key| !self.reading.is_key_around(body, key.0));
                    let news = own.filter(|key| !sub_session.keys.contains(key));
                    let news: Vec<_> = news.cloned().collect();
                    sub_session.keys.extend(news);
                }
                self.let_go(number, direction);
            }
            None => self.main = after,
        }
        if !self.opened(&self.exchanges[&place], place.0) {
            let seen = self.seen;
            let exchange = self.exchanges.get_mut(&place).unwrap();
            exchange.ended = exchange.ended.or(Some((direction, seen)));
        }
        self.hear(direction, at);
        Verdict::Fine
    }

    /// The reply to a request that came late, which tells whether it has opened a sub-session.
    fn settle_opening(&mut self, event: &Event, direction: Direction, request: MessageIndex, refusal: bool) {
        let opener = Some((direction.flip(), event.id.clone().unwrap()));
        let unsure = |sub_session: &SubSession| sub_session.unsure.is_some() && sub_session.opener == opener;
        let Some(number) = self.sub_sessions.iter().position(unsure) else { return };
        if refusal {
            self.sub_sessions[number].over = Some(Over { by: direction, at: self.seen, cuts: true });
            self.sub_sessions[number].unsure = None;
        } else if self.sub_sessions[number].unsure == Some(request) {
            self.late_reply(event, direction, request, number);
        }
    }

    /// A reply in a direction: its sender has received the request, and all that was seen before that.
    fn hear(&mut self, direction: Direction, request: u64) {
        self.heard.answered(direction.flip(), request);
        let replier = index(direction);
        let heard = |config: &Config| config.inbox[replier].iter().all(|item| item.at > request);
        for configs in
            self.sub_sessions.iter_mut().map(|sub_session| &mut sub_session.configs).chain([&mut self.main])
        {
            // After a mistake no pair of programs may be left that could have sent all of this.
            if configs.iter().any(heard) {
                configs.retain(heard);
            }
        }
    }

    /// A reply to what opened a sub-session that is over since: its sender goes on until it hears of that.
    fn late_reply(&mut self, event: &Event, direction: Direction, request: MessageIndex, number: usize) {
        let item = Item {
            direction,
            message: event.message,
            id: event.id.clone(),
            cancels: false,
            opens: false,
            of: (direction.flip(), request),
            at: self.seen,
        };
        let sub_session = &self.sub_sessions[number];
        let after = self.sent(&sub_session.configs, &item);
        let opener = sub_session.opener.as_ref().is_some_and(|(_, id)| Some(id) == event.id.as_ref());
        if !after.is_empty() {
            self.sub_sessions[number].configs = after;
        }
        if opener {
            // What a sub-session had that is over since may be used again.
            let SubSession { body: own, outer, .. } = self.sub_sessions[number];
            let free = |key: &&(KeyIndex, RequestId)| {
                let in_same = |other: &&SubSession| other.over.is_none() && other.outer == outer;
                let mut running = self.sub_sessions.iter().filter(in_same);
                !self.reading.is_key_around(own, key.0)
                    && !running
                        .any(|other| self.reading.shares_keys(other.body, own) && other.keys.contains(key))
            };
            let news: Vec<_> = event.keys.iter().filter(free).cloned().collect();
            self.sub_sessions[number].keys.extend(news);
        }
    }
}
