//! What is found in a log.

use mcp_protocol_machine::protocol::{KeyIndex, KeyPlace, Kind, Message, Strictness};
use mcp_protocol_machine::{ProtocolRef, RoundFault};
use mcp_runtime::protocol::{Protocol, RequestId, Side};
use mcp_runtime::{Violation, ViolationKind};

use super::formats::record::Place;
use super::methods::{hint_of_unknown, is_only_of_other, sent_by};

/// A rule that was broken, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) place: Place,
    pub(crate) code: Code,
    pub(crate) level: Strictness,
    /// The side that has to mend it; nothing where the protocol does not say which.
    pub(crate) blame: Option<Side>,
    /// The rule of the protocol, by the name that its file gives it.
    pub(crate) rule: Option<String>,
    /// Where the session was.
    pub(crate) state: String,
    /// What would have been right.
    pub(crate) expected: Vec<String>,
    pub(crate) got: String,
    /// The whole in a sentence.
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// The kinds of findings. Their names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Code {
    /// The state, or what runs, does not permit the message.
    Order,
    /// A capability that the message needs was not announced.
    Capability,
    /// The id, token or key belongs to nothing, or to something else.
    Correlation,
    /// The payload does not have its shape.
    Shape,
    /// The method is not one of the protocol, or not of this kind of message.
    Method,
    /// It is not a JSON-RPC message.
    Form,
    /// The message is accepted, but the protocol advises against it.
    Discouraged,
    /// Progress that does not increase, or goes on after the reply.
    Progress,
    /// A request has no reply when the session ends.
    Unanswered,
    /// A step that the session waited for never came.
    Missing,
}

impl Code {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Code::Order => "order",
            Code::Capability => "capability",
            Code::Correlation => "correlation",
            Code::Shape => "shape",
            Code::Method => "method",
            Code::Form => "form",
            Code::Discouraged => "discouraged",
            Code::Progress => "progress",
            Code::Unanswered => "unanswered",
            Code::Missing => "missing",
        }
    }

    /// What the kind is in a few words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Code::Order => "the state does not permit the message",
            Code::Capability => "a capability was not announced",
            Code::Correlation => "an id, a token or a key belongs to nothing",
            Code::Shape => "a payload does not have its shape",
            Code::Method => "the sender does not send this method",
            Code::Form => "the text is not a JSON-RPC message",
            Code::Discouraged => "the protocol advises against the message",
            Code::Progress => "progress does not increase, or goes on after the reply",
            Code::Unanswered => "a request has no reply",
            Code::Missing => "a step that the session waits for never came",
        }
    }
}

/// A level as a word.
pub(crate) fn level(strictness: Strictness) -> &'static str {
    match strictness {
        Strictness::Must => "must",
        Strictness::Should => "should",
    }
}

/// Which side is to blame, in words.
pub(crate) fn blamed(blame: Option<Side>) -> String {
    blame.map_or_else(|| "not known".to_owned(), |blame| format!("the {}", blame.word()))
}

impl Finding {
    /// What is wrong and what to do, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        format!("{}: {}", self.message, self.hint)
    }

    #[cfg(test)]
    pub(crate) fn example(message: &str) -> Finding {
        Finding {
            place: Place { line: 1, entry: None },
            code: Code::Order,
            level: Strictness::Must,
            blame: None,
            rule: None,
            state: String::new(),
            expected: Vec::new(),
            got: String::new(),
            message: message.to_owned(),
            hint: String::new(),
        }
    }

    /// What the checker says of a message, where the sides may agree on one of these revisions.
    pub(crate) fn of_violation(
        place: Place,
        violation: &Violation,
        protocol: &Protocol,
        revisions: &[ProtocolRef],
    ) -> Finding {
        let code = code(&violation.kind);
        let is_of_state = matches!(code, Code::Order | Code::Discouraged);
        let expected = violation.expected.iter().chain(&violation.awaited).map(ToString::to_string);
        let expected = match &violation.kind {
            ViolationKind::Misshapen { mismatch } => vec![at(&mismatch.expected, &mismatch.path)],
            ViolationKind::NotNegotiated { holder, capability } => {
                vec![format!("the capability `{capability}` of the {}", holder.word())]
            }
            _ if is_of_state => distinct(expected),
            _ => Vec::new(),
        };
        Finding {
            place,
            code,
            level: violation.strictness,
            blame: Some(violation.sender),
            rule: violation.rule.as_ref().map(ToString::to_string),
            state: violation.state_names(),
            expected,
            got: got(violation),
            message: violation.sentence(),
            hint: hint(violation, protocol, revisions),
        }
    }
}

fn distinct(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

fn got(violation: &Violation) -> String {
    let got = &violation.got;
    let what = match got.kind {
        Some(_) => got.to_string(),
        None => "a reply".to_owned(),
    };
    let whole = with_id(what, got.id.as_ref());
    match &violation.kind {
        ViolationKind::Misshapen { mismatch } => format!("{whole}: {}", at(&mismatch.found, &mismatch.path)),
        _ => whole,
    }
}

/// A value and where it stands.
fn at(value: &str, path: &str) -> String {
    if path.is_empty() { value.to_owned() } else { format!("{value} at `{path}`") }
}

/// A message with its id.
pub(crate) fn with_id(what: String, id: Option<&RequestId>) -> String {
    match id {
        Some(id) => format!("{what} with the id {id}"),
        None => what,
    }
}

fn code(kind: &ViolationKind) -> Code {
    match kind {
        ViolationKind::NotNegotiated { .. } | ViolationKind::Restricted { .. } => Code::Capability,
        ViolationKind::UnknownMethod
        | ViolationKind::DeclaredAs { .. }
        | ViolationKind::OtherKind { .. }
        | ViolationKind::FitsNone { .. } => Code::Method,
        ViolationKind::Misshapen { .. } | ViolationKind::Round { fault: RoundFault::AsksNothing { .. } } => {
            Code::Shape
        }
        ViolationKind::Discouraged => Code::Discouraged,
        ViolationKind::DuplicateId { .. }
        | ViolationKind::UnknownId
        | ViolationKind::SecondReply
        | ViolationKind::WrongReply { .. }
        | ViolationKind::UnknownToken { .. }
        | ViolationKind::TokenInUse { .. }
        | ViolationKind::RequestUnnamed
        | ViolationKind::UnknownKey { .. }
        | ViolationKind::KeyInUse { .. }
        | ViolationKind::KeyMissing { .. }
        | ViolationKind::WrongKey { .. }
        | ViolationKind::NotRunning
        | ViolationKind::NotYours
        | ViolationKind::Round { .. } => Code::Correlation,
        _ => Code::Order,
    }
}

/// Where a message has a key, as the end of a sentence: in its payload, or in its envelope, of a reply in that of its
/// request.
fn place_of_key(protocol: &Protocol, message: &Message, key: &str) -> Option<String> {
    let is_it = |index: KeyIndex| protocol.key(index).is_some_and(|known| known.name == key);
    let of_envelope = match message.kind {
        Kind::Reply { request } | Kind::Refusal { request } => protocol.message(request)?,
        Kind::Request | Kind::Notification => message,
    };
    if let Some((_, name)) = of_envelope.member_keys().find(|(index, _)| is_it(*index)) {
        return Some(format!(" in the member `{name}` of its envelope"));
    }
    let carried = message.keys.iter().find(|carried| is_it(carried.key))?;
    match &carried.place {
        KeyPlace::Path(path) if path.is_empty() => Some(", as its payload".to_owned()),
        KeyPlace::Path(path) => Some(format!(", at `{}` of its payload", path.join("."))),
        KeyPlace::Id | KeyPlace::Member(_) => None,
    }
}

/// What to do instead.
fn hint(violation: &Violation, protocol: &Protocol, revisions: &[ProtocolRef]) -> String {
    let message = violation.got.message.and_then(|index| protocol.message(index));
    let cancels = message.and_then(|table| table.cancels.as_ref());
    if let (ViolationKind::RequestUnnamed, Some(cancels)) = (&violation.kind, cancels) {
        return format!("put the id of the running request at `{}`", cancels.id.join("."));
    }
    match &violation.kind {
        ViolationKind::NotPermitted | ViolationKind::Suspended | ViolationKind::Discouraged
            if !violation.permitted_in.is_empty() && violation.kind != ViolationKind::Discouraged =>
        {
            let states = violation.permitted_in.iter().take(4).map(|state| format!("`{state}`"));
            format!("send it in {}", states.collect::<Vec<_>>().join(" or "))
        }
        ViolationKind::Discouraged => "send it in a later state".to_owned(),
        ViolationKind::NotPermitted | ViolationKind::Suspended => {
            let other = violation.sender.other();
            match sent_by(protocol, other).any(|table| *table.method == *violation.got.method) {
                true => hint_of_other(violation.sender),
                false => format!("the {} does not send it at all", violation.sender.word()),
            }
        }
        ViolationKind::NotNegotiated { holder, capability } => format!(
            "announce `{capability}` as the {} when the session begins, or do not send the message",
            holder.word()
        ),
        ViolationKind::NotDuring { .. } => "send it before the reply to such a request".to_owned(),
        ViolationKind::UnknownMethod => hint_of_unknown(violation, protocol, revisions),
        ViolationKind::DeclaredAs { .. } | ViolationKind::OtherKind { .. } => {
            "a request has an `id`, and a notification has none".to_owned()
        }
        ViolationKind::FitsNone { .. } => {
            "add the member, or write the value, by which the message is known".to_owned()
        }
        ViolationKind::Misshapen { mismatch } if mismatch.path.is_empty() => {
            "give the payload its shape".to_owned()
        }
        ViolationKind::Misshapen { mismatch } if mismatch.found == "nothing" => {
            format!("add `{}` to the payload", mismatch.path)
        }
        ViolationKind::Misshapen { mismatch } => format!("correct `{}` in the payload", mismatch.path),
        ViolationKind::Round { fault } => hint_of_round(fault),
        ViolationKind::DuplicateId { .. }
            if is_only_of_other(protocol, violation.sender, &violation.got.method) =>
        {
            hint_of_other(violation.sender)
        }
        ViolationKind::DuplicateId { .. } => {
            "give each request an id that its sender has not used".to_owned()
        }
        ViolationKind::TooManyRunning { .. } => "wait for replies before further requests".to_owned(),
        ViolationKind::UnknownId | ViolationKind::WrongReply { .. } => {
            "reply with the id of the request that is answered".to_owned()
        }
        ViolationKind::SecondReply => "reply to each request once".to_owned(),
        ViolationKind::UnknownToken { .. } | ViolationKind::RequestUnnamed => {
            "report only on a running request, with the token that it carries".to_owned()
        }
        ViolationKind::TokenInUse { .. } => "give each running request a token of its own".to_owned(),
        ViolationKind::UnknownKey { key, .. }
        | ViolationKind::KeyInUse { key, .. }
        | ViolationKind::KeyMissing { key }
        | ViolationKind::WrongKey { key, .. } => {
            let place = message.and_then(|table| place_of_key(protocol, table, key)).unwrap_or_default();
            let is_missing = matches!(violation.kind, ViolationKind::KeyMissing { .. });
            // What is there may be a value that is not compared.
            let form = if is_missing { ": a text or a whole number" } else { "" };
            format!("carry the {key} of what the message belongs to{place}{form}")
        }
        ViolationKind::NotRunning => "cancel only requests that were sent".to_owned(),
        ViolationKind::NotYours => "cancel only requests of the own side".to_owned(),
        ViolationKind::NotCancellable { .. }
        | ViolationKind::NoLongerCancellable { .. }
        | ViolationKind::CancelledTwice { .. } => "do not cancel it, and wait for the reply".to_owned(),
        _ => "do not send it".to_owned(),
    }
}

/// What to do about what only the other side sends.
fn hint_of_other(sender: Side) -> String {
    format!(
        "only the {0} sends it: do not send it, or, if the log takes the {0} for the {1}, correct the direction there",
        sender.other().word(),
        sender.word()
    )
}

/// What to do instead in another round of a request.
fn hint_of_round(fault: &RoundFault) -> String {
    match fault {
        RoundFault::AsksNothing { questions, state } => {
            format!("add `{questions}`, `{state}` or both, or send the final result")
        }
        RoundFault::OtherState { path } | RoundFault::NoState { path } => {
            format!("send `{path}` back as it came")
        }
        RoundFault::StateOfNothing { path } => format!("leave out `{path}`"),
        RoundFault::NotAnswered { path, question } => format!("add `{question}` to `{path}`"),
        RoundFault::NotAsked { path, question } => format!("remove `{question}` from `{path}`"),
        RoundFault::SameId => "give the request a new id".to_owned(),
        _ => "send what was asked for".to_owned(),
    }
}
