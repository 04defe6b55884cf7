//! What the findings of a session say that no violation of the checker says.

use mcp_protocol_machine::Token;
use mcp_protocol_machine::protocol::{Level, Message, Strictness};
use mcp_runtime::protocol::{Kind, RequestId, Side};

use super::causes::Missing;
use super::finding::{Code, Finding, with_id};
use super::formats::record::Place;
use super::heard::Exit;
use super::refused::RefusedRequest;
use super::requests::Step;
use crate::malformed_texts::hint_of_form;

/// What JSON-RPC itself demands.
const JSON_RPC: &str = "JSON-RPC 2.0";

/// What limits the verdict where a log leaves out answers to what the client has sent.
pub(super) const LEFT_OUT_ANSWERS: &str = "replies that are JSON and not events: the client of the Python SDK does not log them, and \
                                          `sessionc guard --record` does";

/// A text that is not a message.
pub(super) fn malformed(
    place: Place,
    sender: Side,
    state: String,
    id: Option<&RequestId>,
    problem: &str,
) -> Finding {
    Finding {
        place,
        code: Code::Form,
        level: Strictness::Must,
        blame: Some(sender),
        rule: Some(JSON_RPC.to_owned()),
        state,
        expected: vec!["a JSON-RPC message".to_owned()],
        got: with_id("a text that is not one".to_owned(), id),
        message: problem.to_owned(),
        hint: hint_of_form(problem).unwrap_or("write one whole message, as JSON-RPC has it").to_owned(),
    }
}

/// An error without an id, where no message was hard to read.
pub(crate) fn complaint(place: Place, sender: Side, state: String, problem: &str) -> Finding {
    Finding {
        place,
        code: Code::Form,
        level: Strictness::Should,
        blame: Some(sender),
        rule: Some(JSON_RPC.to_owned()),
        state,
        expected: vec!["an error with the id of its request".to_owned()],
        got: "an error without an id".to_owned(),
        message: format!(
            "the {} sends an error without an id, and no message of the {} was hard to read: {problem}",
            sender.word(),
            sender.other().word(),
        ),
        hint: "answer with the id of the request; a notification has no answer".to_owned(),
    }
}

/// `, in line 7`; nothing where what is judged does not stand in a log.
fn in_line(place: Place) -> String {
    match place == Place::default() {
        true => String::new(),
        false => format!(", in line {}", place.line),
    }
}

/// Progress of a request that has its reply; with the name of the report and its token.
pub(super) fn progress_after_reply(
    place: Place,
    sender: Side,
    state: String,
    (name, token): (&str, &Token),
    reply: Place,
) -> Finding {
    Finding {
        place,
        code: Code::Progress,
        level: Strictness::Must,
        blame: Some(sender),
        rule: None,
        state,
        expected: vec!["nothing after the reply".to_owned()],
        got: format!("{name} with the token {token}"),
        message: format!(
            "{name} carries the token {token} of a request that has its reply{}",
            in_line(reply)
        ),
        hint: "stop reporting before the reply is sent".to_owned(),
    }
}

/// Progress of a request, which is not more than before.
pub(super) fn progress_that_does_not_increase(
    place: Place,
    sender: Side,
    state: String,
    (about, progress): (&RequestId, f64),
    step: Step,
) -> Finding {
    let (before, how) = match step {
        Step::Decreases { before } => (before, "decreases"),
        Step::Stays { before } => (before, "does not increase"),
    };
    Finding {
        place,
        code: Code::Progress,
        level: step.level(),
        blame: Some(sender),
        rule: None,
        state,
        expected: vec![format!("more than {before}")],
        got: format!("{progress}"),
        message: format!("the progress of the request {about} {how}: {progress} follows {before}"),
        hint: "increase the progress with each notification".to_owned(),
    }
}

/// A cancel of a request that its sender has cancelled before; with the name of the cancel and the id of the request.
pub(super) fn cancelled_twice(
    place: Place,
    sender: Side,
    state: String,
    (name, id): (&str, &RequestId),
    before: Place,
) -> Finding {
    Finding {
        place,
        code: Code::Correlation,
        level: Strictness::Must,
        blame: Some(sender),
        rule: None,
        state,
        expected: Vec::new(),
        got: format!("{name} of the request {id}"),
        message: format!(
            "{name} names the id {id}, which the {} has cancelled before{}",
            sender.word(),
            in_line(before)
        ),
        hint: "cancel each request once".to_owned(),
    }
}

/// A request without a reply at the end of its session.
pub(super) fn unanswered(place: Place, blame: Side, state: String, method: &str, id: &RequestId) -> Finding {
    Finding {
        place,
        code: Code::Unanswered,
        level: Strictness::Should,
        blame: Some(blame),
        rule: Some(JSON_RPC.to_owned()),
        state,
        expected: vec![format!("a result or an error for `{method}`")],
        got: "nothing".to_owned(),
        message: format!("`{method}` with the id {id} has no reply when the session ends"),
        hint: "answer each request; if the log ends early, record the end of the session".to_owned(),
    }
}

/// The same where the server is known to have exited before it has answered, with the method and the id of the request.
pub(super) fn unanswered_at_exit(finding: Finding, exit: &Exit, method: &str, id: &RequestId) -> Finding {
    let code = exit.code.iter().map(|code| format!(" with {code}")).collect::<String>();
    Finding {
        message: format!(
            "`{method}` with the id {id} has no reply: the server exited{code}, in line {}",
            exit.place.line
        ),
        hint: "what the server has written on its standard error may say why it exited".to_owned(),
        ..finding
    }
}

/// That two sessions without names go on at once: what limits the verdict, and what to do.
pub(super) fn overlapping_sessions(line: u64) -> String {
    format!(
        "which session each message belongs to, if line {line} begins another one: its ids decide, as far as they can. To \
         judge several clients at once, log the name of the session with each message, as `session`, or let each client \
         write a log of its own; if the log shows each message twice, leave one of them out"
    )
}

/// That a request may be of another client than those before it: what limits the verdict, and what to do.
pub(super) fn several_clients(line: u64) -> String {
    format!(
        "which client each message belongs to, if the request in line {line} is of another one than those before it: to judge \
         several clients at once, log a name with each message, as `session`, or let each client write a log of its own"
    )
}

/// That a client opens a session while another one goes on.
pub(super) fn reopened(line: u64) -> String {
    format!(
        "whether the server was started again before line {line}, where the client opens another session: what follows is \
         judged as one of its own. If the server was not started again, the client opens one session twice, which is a \
         mistake"
    )
}

/// What a guard has noted of a side, which is not a mistake of one message.
pub(super) fn mistake(place: Place, of: Side, state: String, what: &str) -> Finding {
    let (what, hint) = what.rsplit_once(": ").unwrap_or((what, "correct it"));
    Finding {
        place,
        code: Code::Form,
        level: Strictness::Should,
        blame: Some(of),
        rule: None,
        state,
        expected: Vec::new(),
        got: what.to_owned(),
        message: what.to_owned(),
        hint: hint.to_owned(),
    }
}

/// A request of a side, with its method and id, which has no reply where the side takes a step that follows the reply.
pub(super) fn unanswered_step(
    place: Place,
    asker: Side,
    state: String,
    (method, id): (&str, &RequestId),
    step: Place,
) -> Finding {
    Finding {
        message: format!(
            "`{method}` with the id {id} has no reply, and the {} goes on in line {} as if it had one",
            asker.word(),
            step.line
        ),
        hint: "answer the request first; if the reply was sent, record it, too".to_owned(),
        ..unanswered(place, asker.other(), state, method, id)
    }
}

/// A reply whose id is that of a running request of its own sender.
pub(super) fn reply_to_itself(finding: Finding, sender: Side) -> Finding {
    let (own, other) = (sender.word(), sender.other().word());
    Finding {
        hint: format!(
            "the {own} itself has sent a request with this id: if the log takes the {other} for the {own}, correct the \
             direction there"
        ),
        ..finding
    }
}

/// A request that a side refuses as unknown, which it has announced that it answers.
pub(super) fn refused_though_announced(
    place: Place,
    sender: Side,
    state: String,
    RefusedRequest { method, capability }: &RefusedRequest,
) -> Finding {
    Finding {
        place,
        code: Code::Capability,
        level: Strictness::Should,
        blame: Some(sender),
        rule: None,
        state,
        expected: vec![format!("a result of `{method}`")],
        got: "the error -32601, method not found".to_owned(),
        message: format!(
            "the {} has announced `{capability}`, and refuses `{method}` as a method that it does not have",
            sender.word()
        ),
        hint: format!("answer `{method}`, or do not announce `{capability}`"),
    }
}

/// What needs a capability, before the reply in which the server may announce that.
pub(super) fn before_announcement(finding: Finding, capability: &str) -> Finding {
    Finding {
        hint: format!(
            "send it after the reply that opens the session, and announce `{capability}` in that reply"
        ),
        ..finding
    }
}

/// A step that never came; `table` is its message.
pub(crate) fn missing(missing: &Missing, table: Option<&Message>) -> Finding {
    let Missing { owed, place, .. } = missing;
    let method = table.map(|table| table.method.to_string()).unwrap_or_default();
    let what = match table.map(|table| table.kind) {
        Some(Kind::Request) => "request",
        _ => "notification",
    };
    let level = table.and_then(|table| table.level.clone()).unwrap_or(Level::MUST);
    Finding {
        place: *place,
        code: Code::Missing,
        level: level.strictness,
        blame: Some(owed.side),
        rule: level.rule.map(String::from),
        state: owed.state.clone(),
        expected: vec![format!("`{method}`")],
        got: "other messages, and never this one".to_owned(),
        message: format!(
            "the {} never sends the {what} `{method}`, for which the session waits in `{}`",
            owed.side.word(),
            owed.state
        ),
        hint: format!("send `{method}` first"),
    }
}
