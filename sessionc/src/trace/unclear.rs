//! Messages that could not be taken for what they were meant as. What follows from that is not another mistake.

use mcp_protocol_machine::{Violation, ViolationKind};
use mcp_runtime::protocol::{Kind, Protocol, RequestId, Side};

use super::formats::record::Place;
use super::methods::is_only_of_other;

/// How many messages are remembered.
const REMEMBERED: usize = 64;

/// The messages of a session that were reported and may have been more than they were taken for.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnclearMessages(Vec<Unclear>);

/// One of them. It explains each kind of consequence once.
#[derive(Clone, Debug)]
struct Unclear {
    sender: Side,
    place: Place,
    id: Option<RequestId>,
    /// It may have been a request, with an id that could not be read.
    may_ask: bool,
    /// It may have been the reply to any request.
    may_reply: bool,
    /// It may have cancelled any request.
    may_cancel: bool,
    /// Only the other side sends it.
    is_of_other: bool,
    /// It is a batch, where none is permitted.
    is_batch: bool,
    explained: Vec<Consequence>,
}

/// What follows from a message that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Consequence {
    /// The other side replies to an id that no request has.
    Reply,
    /// A request has no reply.
    Unanswered,
    /// A token, or a key, belongs to nothing.
    Tie(String),
    /// No request runs during which a message is permitted.
    During,
    /// A step never came.
    Missing,
    /// A request answers what was not asked.
    Round,
    /// A state is not left.
    State(String),
    /// An id is used again.
    Id,
    /// A batch is answered with a batch.
    Batch,
}

impl UnclearMessages {
    /// A text that is not a message.
    pub(crate) fn note_malformed(&mut self, place: Place, sender: Side, id: Option<&RequestId>) {
        let unreadable = id.is_none();
        self.add(Unclear { may_ask: unreadable, may_reply: unreadable, ..Unclear::new(place, sender, id) });
    }

    /// A batch where none is permitted, with the ids of the requests in it.
    pub(crate) fn note_batch(&mut self, place: Place, sender: Side, requests: Vec<RequestId>) {
        self.add(Unclear { is_batch: true, ..Unclear::new(place, sender, None) });
        for id in requests {
            self.add(Unclear::new(place, sender, Some(&id)));
        }
    }

    /// A side seems to reply to a request of its own. It may be the reply of the other side, and is known to be why the request
    /// has no other one.
    pub(crate) fn note_reply_to_itself(&mut self, place: Place, sender: Side, id: Option<&RequestId>) {
        let new = Unclear::new(place, sender.other(), id);
        self.add(Unclear { may_reply: true, explained: vec![Consequence::Unanswered], ..new });
    }

    /// An error without an id. It may have been the reply to any request.
    pub(crate) fn note_complaint(&mut self, place: Place, sender: Side) {
        self.add(Unclear { may_reply: true, ..Unclear::new(place, sender, None) });
    }

    /// A message that was not taken, or was not taken as a whole.
    pub(crate) fn note(&mut self, place: Place, violation: &Violation, protocol: &Protocol) {
        let table = violation.got.message.and_then(|message| protocol.message(message));
        let may_cancel = table.is_some_and(|table| table.cancels.is_some());
        let new = Unclear { may_cancel, ..Unclear::new(place, violation.sender, violation.got.id.as_ref()) };
        match &violation.kind {
            ViolationKind::Misshapen { .. }
            | ViolationKind::UnknownMethod
            | ViolationKind::RequestUnnamed
            | ViolationKind::KeyMissing { .. }
            | ViolationKind::DeclaredAs { kind: Kind::Notification } => self.add(new),
            ViolationKind::NotYours if may_cancel => self.add(new),
            ViolationKind::DeclaredAs { .. } => self.add(Unclear { may_ask: true, ..new }),
            ViolationKind::UnknownId => self.add(Unclear { may_reply: true, ..new }),
            // The sender never sends it: the log may have taken one side for the other.
            ViolationKind::NotPermitted if violation.permitted_in.is_empty() => self.note_both_ways(new),
            ViolationKind::DuplicateId { .. }
                if is_only_of_other(protocol, violation.sender, &violation.got.method) =>
            {
                self.note_both_ways(new);
            }
            _ => {}
        }
    }

    fn note_both_ways(&mut self, unclear: Unclear) {
        self.add(Unclear { sender: unclear.sender.other(), ..unclear.clone() });
        self.add(Unclear { is_of_other: true, ..unclear });
    }

    fn add(&mut self, unclear: Unclear) {
        if self.0.len() < REMEMBERED {
            self.0.push(unclear);
        }
    }

    /// Whether a violation follows from a message before it.
    pub(crate) fn explain(&mut self, violation: &Violation) -> bool {
        let (sender, other) = (violation.sender, violation.sender.other());
        match &violation.kind {
            ViolationKind::UnknownId => {
                let id = violation.got.id.as_ref();
                self.find(Consequence::Reply, |it| it.sender == other && (it.may_ask || it.id.as_ref() == id))
            }
            ViolationKind::DuplicateId { .. } => {
                let id = violation.got.id.as_ref();
                self.find(Consequence::Id, |it| it.sender == sender && it.is_of_other && it.id.as_ref() == id)
            }
            ViolationKind::UnknownToken { token } => {
                self.find(Consequence::Tie(token.to_string()), |it| it.sender == other && !it.is_reply())
            }
            ViolationKind::UnknownKey { value, .. } => {
                self.find(Consequence::Tie(value.to_string()), |it| !it.is_reply())
            }
            ViolationKind::NotDuring { .. } => {
                self.find(Consequence::During, |it| it.sender == other && !it.is_reply())
            }
            ViolationKind::Round { .. } => self.find(Consequence::Round, |it| it.sender == other),
            ViolationKind::NotPermitted if !violation.permitted_in.is_empty() => {
                let state = Consequence::State(violation.state_names());
                let waits = violation.awaited.iter().any(|it| matches!(it.kind, Kind::Reply { .. }));
                self.find(state, |it| match it.is_reply() {
                    // It may have been the reply for which the session waits.
                    true => waits && it.sender == other,
                    false => it.sender == sender,
                })
            }
            _ => false,
        }
    }

    /// Whether a side sends a batch because the other side has sent one.
    pub(crate) fn explain_batch(&mut self, sender: Side) -> bool {
        self.find(Consequence::Batch, |it| it.sender == sender.other() && it.is_batch)
    }

    /// Whether that a request of a side has no reply follows from a message.
    pub(crate) fn explain_unanswered(&mut self, asker: Side, id: &RequestId, asked: Place) -> bool {
        let replier = asker.other();
        self.find(Consequence::Unanswered, |it| {
            let is_after = it.place >= asked;
            let may_reply = it.may_reply && it.sender == replier && (is_after || it.id.as_ref() == Some(id));
            may_reply || (it.may_cancel && is_after)
        })
    }

    /// Whether that a step of a side never came follows from a message. It may have been the step, unless it stands behind
    /// what the side had to send after it.
    pub(crate) fn explain_missing(&mut self, side: Side, before: Option<Place>) -> bool {
        self.find(Consequence::Missing, |it| {
            it.sender == side && !it.is_reply() && before.is_none_or(|before| it.place < before)
        })
    }

    /// Finds a message that explains a consequence, and notes it there. What is explained once is explained again.
    fn find(&mut self, consequence: Consequence, is_it: impl Fn(&Unclear) -> bool) -> bool {
        let may_come_again = !matches!(
            consequence,
            Consequence::Reply | Consequence::Unanswered | Consequence::Id | Consequence::Batch
        );
        if may_come_again && self.0.iter().any(|it| it.explained.contains(&consequence)) {
            return true;
        }
        let is_free = |it: &Unclear| {
            let same = std::mem::discriminant(&consequence);
            !it.explained.iter().any(|explained| std::mem::discriminant(explained) == same)
        };
        let found = self.0.iter_mut().find(|it| is_it(it) && is_free(it));
        found.map(|it| it.explained.push(consequence)).is_some()
    }
}

impl Unclear {
    fn new(place: Place, sender: Side, id: Option<&RequestId>) -> Unclear {
        Unclear {
            sender,
            place,
            id: id.cloned(),
            may_ask: false,
            may_reply: false,
            may_cancel: false,
            is_of_other: false,
            is_batch: false,
            explained: Vec::new(),
        }
    }

    /// It is a reply, and cannot have been anything else.
    fn is_reply(&self) -> bool {
        self.may_reply && !self.may_ask
    }
}
