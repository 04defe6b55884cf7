//! Which of several sessions without names a message belongs to: what it names, and what each session waits for.

use std::borrow::Cow;

use mcp_runtime::observer::MessageText;
use mcp_runtime::protocol::{Kind, RequestId, Side, Token};
use serde::Deserialize;

use super::session::{JudgedSession, Said};
use crate::message_head::{MessageHead, is_batch};

/// With how many requests that run a session is asked what it permits, and which result it waits for.
const COMPARED: usize = 1_024;

/// How well a message fits a session, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It names what this session does not have, or has used.
    No,
    /// Nothing speaks against it.
    Perhaps,
    /// It has the next id, or names what has ended.
    Likely,
    /// It names what runs, or is the step that the session waits for.
    Certain,
}

/// A message of which it is asked to which session it belongs.
pub(super) struct UnplacedMessage<'a> {
    said: Said,
    message: MessageText<'a>,
    method: Option<Cow<'a, str>>,
    names: MessageName<'a>,
}

/// What a message names.
enum MessageName<'a> {
    Reply { id: RequestId, result: Option<&'a str> },
    Request(RequestId),
    Notification(Option<NamedRequest>),
}

/// What in the params of a notification names a request, if it cancels one or reports on one.
#[derive(Deserialize)]
struct NamedRequest {
    #[serde(rename = "requestId", alias = "id")]
    request: Option<RequestId>,
    #[serde(rename = "progressToken", alias = "token")]
    token: Option<Token>,
}

impl NamedRequest {
    /// Nothing if the params name no request.
    fn of(params: &str) -> Option<NamedRequest> {
        let named: NamedRequest = serde_json::from_str(params).ok()?;
        (named.request.is_some() || named.token.is_some()).then_some(named)
    }
}

impl<'a> UnplacedMessage<'a> {
    /// Nothing if the text is not a message, or names nothing that can be read.
    pub(super) fn of(said: Said, message: MessageText<'a>) -> Option<UnplacedMessage<'a>> {
        let head = MessageHead::of(message)?;
        let names = match (head.id(), head.method()) {
            (Some(id), None) => MessageName::Reply { id, result: head.result() },
            (Some(id), Some(_)) => MessageName::Request(id),
            (None, _) => MessageName::Notification(head.params().and_then(NamedRequest::of)),
        };
        Some(UnplacedMessage { said, message, method: head.into_method(), names })
    }

    /// What it asks for or notifies of; nothing for a reply.
    pub(super) fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Whether it is a request of the client.
    pub(super) fn is_clients_request(&self) -> bool {
        self.said.sender == Side::Client && matches!(self.names, MessageName::Request(_))
    }

    /// Whether the server sends it, and not as a reply.
    pub(super) fn is_servers_own(&self) -> bool {
        self.said.sender == Side::Server && !matches!(self.names, MessageName::Reply { .. })
    }

    /// Where it stands in the log, and who sends it.
    pub(super) fn said(&self) -> Said {
        self.said
    }

    /// The message as it is written.
    pub(super) fn message(&self) -> MessageText<'a> {
        self.message
    }

    /// Whether it would begin a session like this one, if it were the first.
    pub(super) fn may_begin(&self, session: &JudgedSession) -> bool {
        // Hardly any method begins one, and what a batch has besides its first message is not known here.
        let begins = |method: &str| session.eras().may_begin_with_method(method);
        (is_batch(self.message) || self.method().is_some_and(begins))
            && session.may_begin_with(self.said, self.message).is_some()
    }

    /// Whether it may be of a session before the last, where the best of the others fits so well. Most of those sessions are
    /// over, and this costs less than to ask how well each fits.
    pub(super) fn may_fit(&self, session: &JudgedSession, best: Fit) -> bool {
        let runs = || session.requests().count() > 0;
        match (&self.names, best) {
            // Where both wait for the reply, its result decides.
            (MessageName::Reply { result, .. }, Fit::Certain) => result.is_some() && runs(),
            (_, Fit::Certain) | (MessageName::Request(_), Fit::Likely) => false,
            (MessageName::Reply { .. }, Fit::Likely) => runs(),
            (_, best) => self.fit_by_name(session) > best,
        }
    }

    /// How well it fits a session. Where sessions are known to go on at once, what names nothing fits one that permits it;
    /// where they are not, it may as well be too early in the one that begins.
    pub(super) fn fit(&self, session: &JudgedSession, at_once: bool) -> Fit {
        let fit = self.fit_by_name(session);
        let is_judged = match &self.names {
            MessageName::Reply { .. } => false,
            // That the only session does not permit a request of the client is a mistake of the client.
            MessageName::Request(_) => at_once || self.said.sender == Side::Server,
            MessageName::Notification(_) => fit == Fit::Perhaps,
        };
        let is_for_it = || self.is_permitted(session) || (!at_once && !session.is_open());
        if is_judged && fit != Fit::No && !is_for_it() { Fit::No } else { fit }
    }

    /// The same by what it names alone, whatever the session permits: it does not fit better than that. What names nothing
    /// may fit any session.
    fn fit_by_name(&self, session: &JudgedSession) -> Fit {
        let (requests, sender) = (session.requests(), self.said.sender);
        match &self.names {
            MessageName::Reply { id, .. } if requests.place(sender.other(), id).is_some() => Fit::Certain,
            MessageName::Reply { id, .. } if requests.cancelled(sender.other(), id).is_some() => Fit::Likely,
            MessageName::Reply { id, .. } if session.ids(sender.other()).has(id) => Fit::Perhaps,
            MessageName::Reply { .. } => Fit::No,
            MessageName::Request(id) if requests.place(sender, id).is_some() => Fit::No,
            MessageName::Request(id) if session.ids(sender).has(id) => Fit::No,
            MessageName::Request(id) if session.ids(sender).is_next(id) => Fit::Likely,
            MessageName::Request(_) => Fit::Perhaps,
            MessageName::Notification(_) if session.is_awaited(sender, self.message) => Fit::Certain,
            MessageName::Notification(named) => {
                let fit = named.as_ref().and_then(|named| self.fit_named(session, named));
                fit.unwrap_or(Fit::Perhaps)
            }
        }
    }

    /// Whether a session permits it now, by its method alone.
    fn is_permitted(&self, session: &JudgedSession) -> bool {
        let Some(method) = &self.method else { return true };
        if session.requests().count() > COMPARED {
            return true;
        }
        let observer = session.eras().handshake();
        observer.of_method(method).any(|message| observer.permits(self.said.sender, message))
    }

    /// How well a notification fits a session that names a request; nothing if it does not name one.
    fn fit_named(&self, session: &JudgedSession, named: &NamedRequest) -> Option<Fit> {
        let (requests, sender) = (session.requests(), self.said.sender);
        let method = self.method.as_deref()?;
        let observer = session.eras().handshake();
        let mut tables =
            observer.of_method(method).filter_map(|message| observer.protocol().message(message));
        let table = tables.find(|table| table.kind == Kind::Notification)?;
        let is = |runs: bool, is_over: bool| match (runs, is_over) {
            (true, _) => Fit::Certain,
            (false, true) => Fit::Likely,
            (false, false) => Fit::No,
        };
        match (&table.cancels, &table.reports, named) {
            (Some(_), _, NamedRequest { request: Some(id), .. }) => {
                Some(is(requests.place(sender, id).is_some(), requests.cancelled(sender, id).is_some()))
            }
            (_, Some(_), NamedRequest { token: Some(token), .. }) => {
                let asker = sender.other();
                Some(is(requests.carries(asker, token), requests.has_answered(asker, token)))
            }
            _ => None,
        }
    }

    /// Whether a session waits for a reply with this id, and the result is not one to its request.
    pub(super) fn is_of_another_request(&self, session: &JudgedSession) -> bool {
        let MessageName::Reply { id, result: Some(result) } = &self.names else { return false };
        if session.requests().count() > COMPARED {
            return false;
        }
        let observer = session.eras().handshake();
        let asked = observer.awaited(self.said.sender, id);
        asked.is_some_and(|request| !observer.answers_request(request, result))
    }
}
