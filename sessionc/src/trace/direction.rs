//! Who sends a message, where the log does not say it.

use std::rc::Rc;

use mcp_protocol_machine::IdTable;
use mcp_runtime::observer::{MessageText, Observer};
use mcp_runtime::protocol::{Kind, Payload, Protocol, RequestId, Side};
use serde::Deserialize;

use super::formats::elements::for_each_element;
use super::formats::record::Sender;
use super::methods::sent_by;
use super::requests::is_short;
use crate::message_head::MessageHead;

/// How many requests without a reply are remembered.
const REMEMBERED: usize = 65_536;

/// Decides who sends each message of a log: its method, or for a reply its id.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// One for each protocol: they know which results answer which requests.
    observers: Vec<Observer>,
    methods: IdTable<String, Method>,
    /// The sides whose requests run under an id, the one that asked first before the other.
    running: IdTable<RequestId, Vec<RunningRequest>>,
    /// The last number that each side used as an id.
    last: [Option<i64>; 2],
    /// How many requests and notifications each side has sent.
    sent: [u64; 2],
    /// The side that wrote the log, as far as that is known.
    writer: Option<Side>,
    /// The side of which the log has nothing, as far as the last result shows it.
    absent: Option<Side>,
    /// The sides of which it has a result that answers the request with its id. Each is there once.
    answered: Vec<Side>,
}

/// What the protocol says of a method.
#[derive(Clone, Debug, Default)]
struct Method {
    /// Its name, if the protocol has it.
    name: Rc<str>,
    /// Who sends a request with it.
    requests: MethodSenders,
    /// Who sends a notification with it. A subscription often has the method of what it subscribes to.
    notifications: MethodSenders,
    /// Its result is empty.
    is_empty: bool,
    /// It cancels a request.
    cancels: bool,
}

/// The sides that send a method.
#[derive(Clone, Copy, Debug, Default)]
struct MethodSenders {
    client: bool,
    server: bool,
}

impl MethodSenders {
    fn only(self) -> Option<Side> {
        match (self.client, self.server) {
            (true, false) => Some(Side::Client),
            (false, true) => Some(Side::Server),
            _ => None,
        }
    }
}

impl Method {
    fn of_kind(&mut self, kind: Kind) -> &mut MethodSenders {
        if kind == Kind::Request { &mut self.requests } else { &mut self.notifications }
    }

    /// The only side that sends it, of requests or of notifications. Where there are none of the kind, the message is
    /// a mistake in place of one of the other.
    fn only(&self, is_request: bool) -> Option<Side> {
        let MethodSenders { client, server } = if is_request { self.requests } else { self.notifications };
        let either = MethodSenders {
            client: self.requests.client || self.notifications.client,
            server: self.requests.server || self.notifications.server,
        };
        if client || server { MethodSenders { client, server }.only() } else { either.only() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RunningRequest {
    by: Side,
    /// Nothing is in it if the protocol does not have the method.
    method: Rc<str>,
    /// Its result is empty.
    is_empty: bool,
    /// How many requests and notifications its side had sent with it.
    place: u64,
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundSender {
    Certain(Side),
    /// Either side may have sent it, this one more likely.
    Guessed(Side),
}

impl FoundSender {
    pub(crate) fn side(self) -> Side {
        match self {
            FoundSender::Certain(side) | FoundSender::Guessed(side) => side,
        }
    }
}

/// What names a request in the params of a cancel.
#[derive(Deserialize)]
struct Cancel {
    #[serde(rename = "requestId", alias = "id")]
    request: RequestId,
}

impl Directions {
    /// Those of protocols that govern one after another, or side by side. Each has an observer.
    pub(crate) fn new(observers: Vec<Observer>) -> Directions {
        let mut methods = IdTable::default();
        for observer in &observers {
            note_methods(observer.protocol(), &mut methods);
        }
        Directions {
            observers,
            methods,
            running: IdTable::default(),
            last: [None; 2],
            sent: [0; 2],
            writer: None,
            absent: None,
            answered: Vec::new(),
        }
    }

    /// The sender of a message; nothing if there is nothing to tell it by.
    pub(crate) fn sender(&mut self, said: Sender, message: MessageText<'_>) -> Option<FoundSender> {
        // Batches are sent by one side, and the first message says which.
        let head = MessageHead::of(message);
        let own = match (said, self.writer) {
            (Sender::Is(side), _) => Some(side),
            (Sender::Writer, Some(writer)) => Some(writer),
            (Sender::Peer, Some(writer)) => Some(writer.other()),
            _ => None,
        };
        let Some(head) = head else { return own.map(FoundSender::Certain) };
        let id = head.id();
        let told = match (own, head.method()) {
            (Some(own), _) => FoundSender::Certain(own),
            (None, Some(method)) => FoundSender::Certain(self.of_method(method, id.as_ref(), head.params())),
            (None, None) => self.of_reply(id.as_ref()?, head.result()),
        };
        let sender = told.side();
        self.writer = self.writer.or(match said {
            Sender::Writer => Some(sender),
            Sender::Peer => Some(sender.other()),
            Sender::Is(_) | Sender::Unsaid => None,
        });
        let [client, server] = &mut self.sent;
        *(if sender == Side::Client { client } else { server }) += u64::from(head.method().is_some());
        let cancelled = head.method().filter(|method| self.method(method).cancels).and(head.params());
        match cancelled.and_then(cancelled_request) {
            Some(cancelled) => self.forget(&cancelled, sender),
            None => self.note(sender, head.method(), id),
        }
        Some(told)
    }

    /// Whether the messages of a list are of both sides, as far as they say it.
    pub(crate) fn go_both_ways(&self, list: &[u8]) -> bool {
        let mut tried = self.clone();
        let (mut client, mut server) = (false, false);
        let read =
            for_each_element(list, |element| match tried.sender_if_known(element.get().as_bytes().into()) {
                Some(Side::Client) => client = true,
                Some(Side::Server) => server = true,
                None => {}
            });
        read.is_ok() && client && server
    }

    /// The sender of a message that is a reply to a request which was seen, or is not a reply.
    fn sender_if_known(&mut self, message: MessageText<'_>) -> Option<Side> {
        let head = MessageHead::of(message)?;
        if head.method().is_none() {
            self.running.get(&head.id()?)?;
        }
        self.sender(Sender::Unsaid, message).map(FoundSender::side)
    }

    fn of_method(&self, method: &str, id: Option<&RequestId>, params: Option<&str>) -> Side {
        if let Some(only) = self.method(method).only(id.is_some()) {
            return only;
        }
        let Some(id) = id else { return self.of_notification(params) };
        // Each side counts its own requests.
        if self.is_running(id, Side::Client) {
            return Side::Server;
        }
        let RequestId::Number(number) = id else { return Side::Client };
        // Ids grow: the next one is likely, and one that was passed is not.
        let likely = |last: Option<i64>| last.is_none_or(|last| *number > last);
        let next = |last: Option<i64>| last.is_some_and(|last| last + 1 == *number);
        let [client, server] = self.last;
        let is_server = match (likely(client), likely(server)) {
            (true, true) => next(server) && !next(client),
            (client, _) => !client,
        };
        if is_server { Side::Server } else { Side::Client }
    }

    /// A notification that either side sends: the one that cancels its own request, or reports on one of the other side.
    fn of_notification(&self, params: Option<&str>) -> Side {
        let cancelled = params.and_then(cancelled_request);
        let asked = cancelled.and_then(|request| self.running.get(&request)?.first());
        match asked {
            Some(asked) => asked.by,
            // Clients ask most, and servers report on it.
            None if params.is_some_and(|params| params.contains("oken\"")) => Side::Server,
            None => Side::Client,
        }
    }

    /// Where requests of both sides run under the id, the reply belongs to the one that its result fits.
    fn of_reply(&mut self, id: &RequestId, result: Option<&str>) -> FoundSender {
        let running = self.running.get(id).map(Vec::as_slice).unwrap_or_default();
        let (last, earlier) = match running {
            [] => return FoundSender::Certain(self.absent.unwrap_or(Side::Client).other()),
            [only] => {
                let replier = only.by.other();
                // What a side has said once need not be looked at again.
                if !self.has_answered(replier)
                    && let Some(result) = result
                {
                    let is_answer = self.answers(&only.method, result);
                    let may_be_absent = !is_answer && !self.has_asked(replier);
                    // An empty result says nothing, unless the side that asked has gone on as if it had another one.
                    if result != "{}" {
                        self.absent =
                            Some(replier).filter(|_| may_be_absent && self.is_of_asker(only, result));
                        self.answered.extend(is_answer.then_some(replier));
                    } else if may_be_absent && self.has_gone_on(only) {
                        self.absent = Some(replier);
                    }
                }
                return FoundSender::Certain(if self.absent == Some(replier) { only.by } else { replier });
            }
            [earlier, .., last] => (last, earlier),
        };
        let fits = |asked: &RunningRequest| result.is_some_and(|result| self.answers(&asked.method, result));
        let is_empty = result == Some("{}");
        match (fits(last), fits(earlier), last.is_empty == is_empty, earlier.is_empty == is_empty) {
            (true, false, ..) | (true, true, true, false) => FoundSender::Certain(last.by.other()),
            (false, true, ..) | (true, true, false, true) => FoundSender::Certain(earlier.by.other()),
            // The one that asked last is answered first where a request is made to answer another.
            _ => FoundSender::Guessed(last.by.other()),
        }
    }

    /// Whether a side has sent a result that answers a request.
    fn has_answered(&self, side: Side) -> bool {
        self.answered.contains(&side)
    }

    /// Whether a side has sent something else after a request that has no reply yet.
    fn has_gone_on(&self, asked: &RunningRequest) -> bool {
        let [client, server] = self.sent;
        asked.place < if asked.by == Side::Client { client } else { server }
    }

    /// Whether a side has sent a request.
    fn has_asked(&self, side: Side) -> bool {
        let [client, server] = self.last;
        (if side == Side::Client { client } else { server }).is_some()
    }

    /// Whether a result that has the id of a request, and does not answer it, answers one of the other side: then the log has
    /// nothing of the other side, as one that `tee` has written, and the side that asked sends the result.
    fn is_of_asker(&self, asked: &RunningRequest, result: &str) -> bool {
        let fits_other = || {
            self.observers.iter().any(|observer| {
                let messages = observer.protocol().messages.iter();
                let mut others = messages.filter(|table| {
                    table.kind == Kind::Request && self.is_of(&table.method, asked.by.other())
                });
                others.any(|table| observer.answers(&table.method, result))
            })
        };
        !asked.method.is_empty() && fits_other()
    }

    /// Whether this side, and not the other one, asks with a method.
    fn is_of(&self, method: &str, side: Side) -> bool {
        self.methods.get(method).and_then(|method| method.only(true)) == Some(side)
    }

    /// Whether a result is one with which a request of this method is answered, in one of the protocols.
    fn answers(&self, method: &str, result: &str) -> bool {
        self.observers.iter().any(|observer| observer.answers(method, result))
    }

    fn note(&mut self, sender: Side, method: Option<&str>, id: Option<RequestId>) {
        let Some(id) = id else { return };
        match method.map(|method| self.method(method)) {
            Some(Method { name: method, is_empty, .. }) => {
                if let RequestId::Number(number) = id {
                    let [client, server] = &mut self.last;
                    *(if sender == Side::Client { client } else { server }) = Some(number);
                }
                let is_new = is_short(&id) && !self.is_running(&id, sender);
                if self.running.len() < REMEMBERED && is_new {
                    let [client, server] = self.sent;
                    let place = if sender == Side::Client { client } else { server };
                    let request = RunningRequest { by: sender, method, is_empty, place };
                    self.running.entry(id).or_default().push(request);
                }
            }
            None => self.forget(&id, sender.other()),
        }
    }

    /// A request of a side does not run any more.
    fn forget(&mut self, id: &RequestId, by: Side) {
        if let Some(running) = self.running.get_mut(id) {
            running.retain(|asked| asked.by != by);
            if running.is_empty() {
                self.running.remove(id);
            }
        }
    }

    fn is_running(&self, id: &RequestId, by: Side) -> bool {
        self.running.get(id).is_some_and(|running| running.iter().any(|asked| asked.by == by))
    }

    fn method(&self, method: &str) -> Method {
        self.methods.get(method).cloned().unwrap_or_default()
    }
}

/// The request that the params of a cancel name.
fn cancelled_request(params: &str) -> Option<RequestId> {
    serde_json::from_str::<Cancel>(params).ok().map(|cancel| cancel.request)
}

/// Notes which side sends each method.
fn note_methods(protocol: &Protocol, methods: &mut IdTable<String, Method>) {
    for side in [Side::Client, Side::Server] {
        for table in sent_by(protocol, side) {
            let method = methods.entry(table.method.to_string()).or_default();
            method.name = table.method.as_ref().into();
            let senders = method.of_kind(table.kind);
            senders.client |= side == Side::Client;
            senders.server |= side == Side::Server;
        }
    }
    for table in protocol.messages.iter() {
        if let (Kind::Reply { request }, Payload::None) = (table.kind, table.payload)
            && let Some(request) = protocol.message(request)
        {
            methods.entry(request.method.to_string()).or_default().is_empty = true;
        }
        // These are in no state: either side sends them while a request runs.
        if table.cancels.is_some() || table.reports.is_some() {
            let method = methods.entry(table.method.to_string()).or_default();
            *method.of_kind(table.kind) = MethodSenders { client: true, server: true };
            method.cancels = table.cancels.is_some();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use mcp_runtime::Options;
    use mcp_runtime::protocol::edges::{receive, send};
    use mcp_runtime::protocol::{Message, MessageIndex, Role, State, StateIndex};

    const HEADS: MessageIndex = MessageIndex(0);
    const TIP: MessageIndex = MessageIndex(1);
    const HEAD: MessageIndex = MessageIndex(2);
    const BALANCE: MessageIndex = MessageIndex(3);

    static SUBSCRIPTIONS: [Message; 4] = [
        Message::request("Heads", "heads"),
        Message::reply("Tip", HEADS),
        Message::notification("Head", "heads"),
        Message::request("Balance", "balance"),
    ];
    static WALLET: [State; 3] = [
        State::linear("Start", &[send(HEADS, StateIndex(1)), send(BALANCE, StateIndex(1))]),
        State::linear("Asked", &[receive(TIP, StateIndex(2))]),
        State::linear("Open", &[receive(HEAD, StateIndex(2))]),
    ];
    static NODE: [State; 3] = [
        State::linear("Start", &[receive(HEADS, StateIndex(1)), receive(BALANCE, StateIndex(1))]),
        State::linear("Asked", &[send(TIP, StateIndex(2))]),
        State::linear("Open", &[send(HEAD, StateIndex(2))]),
    ];

    fn directions() -> Directions {
        let options = Options::new().judge_payloads(true);
        Directions::new(vec![Observer::new(&mcp_protocols::mcp_2025_11_25::PROTOCOL, options).unwrap()])
    }

    fn senders(messages: &[(Sender, &str)]) -> Vec<Option<Side>> {
        let mut directions = directions();
        let mut told = |said, message: &str| directions.sender(said, message.as_bytes().into());
        messages.iter().map(|(said, message)| told(*said, message).map(FoundSender::side)).collect()
    }

    #[test]
    fn methods_and_ids_decide() {
        let (client, server) = (Some(Side::Client), Some(Side::Server));
        let messages = [
            (r#"{"id":0,"method":"initialize"}"#, client),
            (r#"{"id":0,"method":"ping"}"#, server),
            (r#"{"id":0,"result":{}}"#, client),
            (r#"{"id":0,"result":{"protocolVersion":"2025-11-25"}}"#, server),
            (r#"{"method":"notifications/initialized"}"#, client),
            (r#"{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}"#, client),
            (r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#, server),
            (r#"{"id":1,"method":"sampling/createMessage"}"#, server),
            (r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#, client),
            (r#"{"id":2,"method":"roots/list"}"#, server),
            (r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#, server),
            (r#"[{"id":7,"method":"tools/list"}]"#, client),
        ];
        let said: Vec<_> = messages.iter().map(|(message, _)| (Sender::Unsaid, *message)).collect();
        assert_eq!(senders(&said), messages.map(|(_, side)| side));
    }

    /// Electrum's subscriptions, and the notifications that follow them, have one method.
    #[test]
    fn a_method_may_be_a_request_of_one_side_and_a_notification_of_the_other() {
        let protocol = Protocol::table("Chain", &SUBSCRIPTIONS)
            .client(Role::table("Wallet", &WALLET))
            .server(Role::table("Node", &NODE));
        let mut directions =
            Directions::new(vec![Observer::new(Arc::new(protocol), Options::new()).unwrap()]);
        let mut told = |message: &str| directions.sender(Sender::Unsaid, message.as_bytes().into());
        let (client, server) =
            (Some(FoundSender::Certain(Side::Client)), Some(FoundSender::Certain(Side::Server)));
        assert_eq!(told(r#"{"id":1,"method":"heads"}"#), client);
        assert_eq!(told(r#"{"method":"heads","params":[7]}"#), server);
        assert_eq!(told(r#"{"id":2,"method":"heads"}"#), client);
        // A request without its id is one all the same.
        assert_eq!(told(r#"{"method":"balance"}"#), client);
    }

    #[test]
    fn the_writer_of_a_log_becomes_known() {
        let ping = r#"{"id":9,"method":"ping"}"#;
        let said = [
            (Sender::Writer, r#"{"id":1,"method":"tools/list"}"#),
            (Sender::Peer, ping),
            (Sender::Writer, "garbage"),
            (Sender::Unsaid, "garbage"),
        ];
        let (client, server) = (Some(Side::Client), Some(Side::Server));
        assert_eq!(senders(&said), [client, server, client, None]);
    }

    #[test]
    fn a_batch_is_of_one_side() {
        let batch =
            |messages: &[&str]| directions().go_both_ways(format!("[{}]", messages.join(",")).as_bytes());
        let (list, result) = (r#"{"id":1,"method":"tools/list"}"#, r#"{"id":1,"result":{"tools":[]}}"#);
        let roots = r#"{"id":2,"method":"roots/list"}"#;
        assert!(batch(&[list, result]) && batch(&[list, roots]));
        assert!(!batch(&[list]) && !batch(&[list, r#"{"id":7,"result":{"roots":[]}}"#]));
        assert!(!batch(&["1"]) && !batch(&["{"]));
    }

    #[test]
    fn a_reply_belongs_to_the_request_that_it_fits() {
        let asked = [r#"{"id":2,"method":"tools/call"}"#, r#"{"id":2,"method":"roots/list"}"#];
        let told = |replies: &[&str]| {
            let mut directions = directions();
            let all = asked.iter().chain(replies);
            let all: Vec<_> = all.map(|it| directions.sender(Sender::Unsaid, it.as_bytes().into())).collect();
            all[2..].to_vec()
        };
        let (roots, content) = (r#"{"id":2,"result":{"roots":[]}}"#, r#"{"id":2,"result":{"content":[]}}"#);
        let (client, server) =
            (Some(FoundSender::Certain(Side::Client)), Some(FoundSender::Certain(Side::Server)));
        assert_eq!(told(&[roots, content]), [client, server]);
        assert_eq!(told(&[content, roots]), [server, client]);
        // Where nothing tells them apart, the one that was asked last is answered first.
        let guessed = Some(FoundSender::Guessed(Side::Client));
        assert_eq!(told(&[r#"{"id":2,"error":{"code":1,"message":"no"}}"#, content]), [guessed, server]);
        assert_eq!(told(&[r#"{"id":2,"result":{"x":1}}"#]), [guessed]);
    }
}
