//! Constructors of messages and of what is tied to them.

use std::borrow::Cow;

use super::put;
use crate::protocol::Capability;
use crate::protocol::{
    Cancels, Condition, During, Gate, GateIndex, Holder, Key, KeyIndex, KeyPlace, Kind, Level, List, Literal,
    Message, MessageIndex, MessageKey, Path, Payload, Reports, Requirement, Rounds, ShapeIndex, Side, Text,
};

impl Message {
    /// A message without modifiers.
    pub const fn new(name: Text, kind: Kind, method: Text, payload: Payload) -> Message {
        Message {
            name,
            kind,
            method,
            payload,
            shape: None,
            condition: None,
            requires: Cow::Borrowed(&[]),
            answered: false,
            cancellable: false,
            until_reply: false,
            cancels: None,
            reports: None,
            rounds: None,
            grants: None,
            revokes: None,
            keys: Cow::Borrowed(&[]),
            level: None,
        }
    }

    const fn plain(name: &'static str, kind: Kind, method: &'static str, payload: Payload) -> Message {
        Message::new(Cow::Borrowed(name), kind, Cow::Borrowed(method), payload)
    }

    /// A request that carries something.
    pub const fn request(name: &'static str, method: &'static str) -> Message {
        Message::plain(name, Kind::Request, method, Payload::Required)
    }

    /// A notification that carries something.
    pub const fn notification(name: &'static str, method: &'static str) -> Message {
        Message::plain(name, Kind::Notification, method, Payload::Required)
    }

    /// A reply that carries something; [`with_methods`](Self::with_methods) gives it the method of its request.
    pub const fn reply(name: &'static str, request: MessageIndex) -> Message {
        Message::plain(name, Kind::Reply { request }, "", Payload::Required)
    }

    /// A refusal; [`with_methods`](Self::with_methods) gives it the method of its request.
    pub const fn refusal(name: &'static str, request: MessageIndex) -> Message {
        Message::plain(name, Kind::Refusal { request }, "", Payload::None)
    }

    /// Gives the replies and refusals of a constant table the methods of their requests, which come before them.
    pub const fn with_methods<const N: usize>(mut messages: [Message; N]) -> [Message; N] {
        let mut index = 0;
        while let Some((before, [message, ..])) = messages.split_at_mut_checked(index) {
            if let Kind::Reply { request } | Kind::Refusal { request } = message.kind
                && let Some((_, [request, ..])) = before.split_at_checked(request.0 as usize)
                && let Cow::Borrowed(method) = request.method
            {
                put(&mut message.method, Cow::Borrowed(method));
            }
            index += 1;
        }
        messages
    }

    /// Sets what the message carries.
    #[must_use]
    pub const fn payload(mut self, payload: Payload) -> Message {
        self.payload = payload;
        self
    }

    /// Sets what the payload looks like.
    #[must_use]
    pub const fn shape(mut self, shape: ShapeIndex) -> Message {
        self.shape = Some(shape);
        self
    }

    /// Sets the condition that tells this message from others of its method.
    #[must_use]
    pub const fn when(mut self, condition: Condition) -> Message {
        put(&mut self.condition, Some(condition));
        self
    }

    /// Sets the capabilities that must have been announced.
    #[must_use]
    pub const fn requires(mut self, requires: &'static [Requirement]) -> Message {
        put(&mut self.requires, Cow::Borrowed(requires));
        self
    }

    /// The runtime answers this request by itself.
    #[must_use]
    pub const fn answered(mut self) -> Message {
        self.answered = true;
        self
    }

    /// The side that sent this request may cancel it.
    #[must_use]
    pub const fn cancellable(mut self) -> Message {
        self.cancellable = true;
        self
    }

    /// The same, only until this request has its reply.
    #[must_use]
    pub const fn cancellable_until_reply(mut self) -> Message {
        self.until_reply = true;
        self.cancellable()
    }

    /// This notification cancels the running request whose id is at this path.
    #[must_use]
    pub const fn cancels(mut self, id: &'static [Text]) -> Message {
        put(&mut self.cancels, Some(Cancels::new(Cow::Borrowed(id), None)));
        self
    }

    /// The same for a request that still gets its reply: a result or an error, which has this code where the request was
    /// given up because of the cancel.
    #[must_use]
    pub const fn cancels_with_reply(mut self, id: &'static [Text], error: i64) -> Message {
        put(&mut self.cancels, Some(Cancels::new(Cow::Borrowed(id), Some(error))));
        self
    }

    /// This notification belongs to the running request that carries at one of the paths `of` the token that it carries.
    #[must_use]
    pub const fn reports(mut self, token: &'static [Text], of: &'static [Path]) -> Message {
        put(&mut self.reports, Some(Reports { token: Cow::Borrowed(token), of: Cow::Borrowed(of) }));
        self
    }

    /// This request may take several rounds, of which a reply asks for another. The next round carries a state, and answers:
    /// each at the first of two paths what the reply has at the second one.
    #[must_use]
    pub const fn rounds(
        mut self,
        reply: MessageIndex,
        (state, given): (&'static [Text], &'static [Text]),
        (answers, questions): (&'static [Text], &'static [Text]),
    ) -> Message {
        let (state, given) = (Cow::Borrowed(state), Cow::Borrowed(given));
        let (answers, questions) = (Cow::Borrowed(answers), Cow::Borrowed(questions));
        put(&mut self.rounds, Some(Rounds::new(reply, state, given, answers, questions)));
        self
    }

    /// This message names at a path capabilities that its sender grants.
    #[must_use]
    pub const fn grants(mut self, path: &'static [Text]) -> Message {
        put(&mut self.grants, Some(Cow::Borrowed(path)));
        self
    }

    /// This message names at a path capabilities that its sender revokes.
    #[must_use]
    pub const fn revokes(mut self, path: &'static [Text]) -> Message {
        put(&mut self.revokes, Some(Cow::Borrowed(path)));
        self
    }

    /// Sets where this message carries the keys of its sub-session.
    #[must_use]
    pub const fn keys(mut self, keys: &'static [MessageKey]) -> Message {
        put(&mut self.keys, Cow::Borrowed(keys));
        self
    }

    /// Sets how bad it is to send this message where it is refused.
    #[must_use]
    pub const fn level(mut self, level: Level) -> Message {
        put(&mut self.level, Some(level));
        self
    }
}

impl Condition {
    /// A condition on the value at a path: that it is this one, or, without one, that it is there.
    pub const fn new(path: Path, literal: Option<Literal>) -> Condition {
        Condition { path, literal }
    }

    /// The value at the path is this text.
    pub const fn is(path: &'static [Text], literal: &'static str) -> Condition {
        Condition::new(Cow::Borrowed(path), Some(Literal::Text(Cow::Borrowed(literal))))
    }

    /// The value at the path is this whole number.
    pub const fn is_int(path: &'static [Text], number: i64) -> Condition {
        Condition::new(Cow::Borrowed(path), Some(Literal::Int(number)))
    }

    /// The value at the path is `true`, or is `false`.
    pub const fn is_bool(path: &'static [Text], value: bool) -> Condition {
        Condition::new(Cow::Borrowed(path), Some(Literal::Bool(value)))
    }

    /// The value at the path is there and neither `false` nor `null`.
    pub const fn present(path: &'static [Text]) -> Condition {
        Condition::new(Cow::Borrowed(path), None)
    }
}

impl Cancels {
    /// A cancel of the request whose id is at a path. With the code of an error, the request still gets its reply.
    pub const fn new(id: Path, reply_error: Option<i64>) -> Cancels {
        Cancels { id, reply_error }
    }
}

impl Requirement {
    /// A capability that is always needed.
    pub const fn new(holder: Holder, gate: GateIndex) -> Requirement {
        Requirement { holder, gate, condition: None, unless: false }
    }

    /// The client must have announced the capability.
    pub const fn client(capability: Capability) -> Requirement {
        Requirement::new(Holder::Side(Side::Client), capability.gate)
    }

    /// The server must have announced the capability.
    pub const fn server(capability: Capability) -> Requirement {
        Requirement::new(Holder::Side(Side::Server), capability.gate)
    }

    /// The side that sends the message must have announced the capability.
    pub const fn own(capability: Capability) -> Requirement {
        Requirement::new(Holder::Sender, capability.gate)
    }

    /// The side that receives the message must have announced the capability.
    pub const fn peer(capability: Capability) -> Requirement {
        Requirement::new(Holder::Receiver, capability.gate)
    }

    /// Requests of the side that receives the message must be running that grant this gate.
    pub const fn during(gate: GateIndex) -> Requirement {
        Requirement::new(Holder::Receiver, gate)
    }

    /// The capability is needed only where the payload fits a condition.
    #[must_use]
    pub const fn only_if(mut self, condition: Condition) -> Requirement {
        put(&mut self.condition, Some(condition));
        self.unless = false;
        self
    }

    /// The capability is needed only where the payload does not fit a condition.
    #[must_use]
    pub const fn unless(mut self, condition: Condition) -> Requirement {
        put(&mut self.condition, Some(condition));
        self.unless = true;
        self
    }
}

impl Gate {
    /// A capability by its path in the announcement.
    pub const fn new(path: Path) -> Gate {
        Gate { path, during: None }
    }

    /// What these requests grant while they run, or those of them whose params fit a condition.
    pub const fn granted_by(during: During) -> Gate {
        Gate { path: Cow::Borrowed(&[]), during: Some(during) }
    }

    /// A constant gate that these requests grant while they run.
    pub const fn during(requests: &'static [MessageIndex]) -> Gate {
        Gate::granted_by(During::new(Cow::Borrowed(requests), None))
    }

    /// The same for those of these requests whose params fit a condition.
    pub const fn during_if(requests: &'static [MessageIndex], condition: Condition) -> Gate {
        Gate::granted_by(During::new(Cow::Borrowed(requests), Some(condition)))
    }

    /// A constant capability by its path in the announcement.
    pub const fn at(path: &'static [Text]) -> Gate {
        Gate::new(Cow::Borrowed(path))
    }
}

impl During {
    /// These requests, or those of them whose params fit a condition.
    pub const fn new(requests: List<MessageIndex>, condition: Option<Condition>) -> During {
        During { requests, condition }
    }
}

impl Key {
    /// A key, which is `open` if a message whose value no sub-session holds may occur uncorrelated.
    pub const fn new(name: Text, open: bool) -> Key {
        Key { name, open }
    }

    /// A constant key.
    pub const fn named(name: &'static str) -> Key {
        Key::new(Cow::Borrowed(name), false)
    }

    /// A message whose value no sub-session holds may occur uncorrelated.
    #[must_use]
    pub const fn open(mut self) -> Key {
        self.open = true;
        self
    }
}

impl MessageKey {
    /// A message carries the key there.
    pub const fn new(key: KeyIndex, place: KeyPlace) -> MessageKey {
        MessageKey { key, place, open: false }
    }

    /// A message carries the key at a path of its payload.
    pub const fn at(key: KeyIndex, path: &'static [Text]) -> MessageKey {
        MessageKey::new(key, KeyPlace::Path(Cow::Borrowed(path)))
    }

    /// The key is the id of the message.
    pub const fn id(key: KeyIndex) -> MessageKey {
        MessageKey::new(key, KeyPlace::Id)
    }

    /// The key is a member of the envelope.
    pub const fn member(key: KeyIndex, name: &'static str) -> MessageKey {
        MessageKey::new(key, KeyPlace::Member(Cow::Borrowed(name)))
    }

    /// The message may be uncorrelated, where no sub-session holds its value.
    #[must_use]
    pub const fn open(mut self) -> MessageKey {
        self.open = true;
        self
    }
}

impl Reports {
    /// A notification carries a token at `token`, and requests carry it at one of the paths `of`.
    pub const fn new(token: Path, of: List<Path>) -> Reports {
        Reports { token, of }
    }
}

impl Rounds {
    /// A reply asks for another round of its request, which carries at `state` what stands at `given` in the reply, and at
    /// `answers` what answers the questions at `questions`.
    pub const fn new(
        reply: MessageIndex,
        state: Path,
        given: Path,
        answers: Path,
        questions: Path,
    ) -> Rounds {
        Rounds { reply, state, given, answers, questions }
    }
}
