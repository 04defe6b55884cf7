//! A violation as a sentence.

use std::fmt;

use super::{Details, Expected, Got, RoundFault, Violation, ViolationKind};
use crate::excerpt::Excerpt;
use crate::id::RequestId;
use crate::protocol::{Condition, Kind, Strictness, Text};

/// How many messages a sentence names.
const NAMED: usize = 8;

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.sentence(formatter)?;
        match (&self.rule, self.strictness) {
            (Some(rule), Strictness::Should) => write!(formatter, " (rule {}, should)", RuleName(rule)),
            (Some(rule), Strictness::Must) => write!(formatter, " (rule {}, must)", RuleName(rule)),
            (None, Strictness::Should) => formatter.write_str(" (should)"),
            (None, Strictness::Must) => Ok(()),
        }
    }
}

impl Violation {
    /// What is wrong, without the rule and its level, which [`Display`](fmt::Display) appends.
    pub fn sentence(&self) -> String {
        struct Sentence<'a>(&'a Details);
        impl fmt::Display for Sentence<'_> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.sentence(formatter)
            }
        }
        Sentence(&self.0).to_string()
    }
}

/// The name of a rule; one of several words is quoted. `C1, L8` are two rules of one word each.
struct RuleName<'a>(&'a str);

impl fmt::Display for RuleName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split(',').any(|name| name.trim().contains(char::is_whitespace)) {
            true => write!(formatter, "\"{}\"", self.0),
            false => formatter.write_str(self.0),
        }
    }
}

impl Details {
    pub(super) fn sentence(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (got, states) = (&self.got, Names(&self.states, "and"));
        let (sender, other) = (self.sender.word(), self.sender.other().word());
        let id = IdText(self.got.id.as_ref());
        match &self.kind {
            ViolationKind::NotPermitted => {
                write!(formatter, "{got} is not permitted in {states}: the {sender} ")?;
                if self.permitted_in.is_empty()
                    && matches!(got.kind, Some(Kind::Request | Kind::Notification))
                {
                    write!(formatter, "never sends it, it ")?;
                }
                self.instead(formatter)
            }
            ViolationKind::Suspended => {
                write!(
                    formatter,
                    "{got} would go on with what was opened before, which is suspended in {states}: the {sender} "
                )?;
                self.instead(formatter)
            }
            ViolationKind::NotNegotiated { holder, capability } => {
                let holder = holder.word();
                write!(
                    formatter,
                    "{got} needs the capability `{capability}`, which the {holder} has not announced"
                )
            }
            ViolationKind::NotDuring { requests, condition } => {
                write!(formatter, "{got} is permitted only while ")?;
                match requests.as_slice() {
                    [] => formatter.write_str("a request is running that this revision does not have")?,
                    requests => write!(formatter, "{} of the {other} is running", ExpectedList(requests))?,
                }
                if let Some(condition) = condition {
                    write!(formatter, " with params that fit `{condition}`")?;
                }
                formatter.write_str(", and none is: send it before the reply to such a request")
            }
            ViolationKind::Restricted { capability } => {
                write!(formatter, "{got} needs the capability `{capability}`, which is left out here")
            }
            ViolationKind::UnknownMethod => {
                write!(formatter, "{got} is not a method that the {sender} sends in `{}`", self.protocol)?;
                match &self.version {
                    Some(version) => write!(formatter, " {version}"),
                    None => Ok(()),
                }
            }
            ViolationKind::DeclaredAs { kind: Kind::Notification } => {
                write!(formatter, "{got} is a notification: send it without an `id`")
            }
            ViolationKind::DeclaredAs { kind } => {
                write!(formatter, "{got} is a {}: send it with an `id`", kind_name(*kind))
            }
            ViolationKind::FitsNone { conditions } => {
                write!(formatter, "{got} of the {sender} holds nothing by which it is known")?;
                for (place, condition) in conditions.iter().enumerate() {
                    let before = if place == 0 { ":" } else { " or" };
                    write!(formatter, "{before} `{condition}`")?;
                }
                Ok(())
            }
            ViolationKind::Misshapen { mismatch } => {
                write!(formatter, "{got} does not have its shape: {mismatch}")
            }
            ViolationKind::Round { fault } => match fault {
                RoundFault::AsksNothing { questions, state } => {
                    write!(
                        formatter,
                        "{got} asks for another round, and has neither `{questions}` nor `{state}`"
                    )
                }
                RoundFault::OtherState { path } => {
                    write!(formatter, "{got} carries another `{path}` than the {other} has given")
                }
                RoundFault::NoState { path } => {
                    write!(
                        formatter,
                        "{got} carries no `{path}`, but the {other} has given one with its questions"
                    )
                }
                RoundFault::StateOfNothing { path } => {
                    write!(formatter, "{got} carries `{path}`, but the {other} has given none")
                }
                RoundFault::NotAnswered { path, question } => {
                    let question = Excerpt(question);
                    write!(
                        formatter,
                        "{got} has no `{question}` in `{path}`, for which the {other} has asked"
                    )
                }
                RoundFault::NotAsked { path, question } => {
                    let question = Excerpt(question);
                    write!(
                        formatter,
                        "{got} has `{question}` in `{path}`, for which the {other} has not asked"
                    )
                }
                RoundFault::SameId => {
                    write!(formatter, "{got} has the id {id} of the request that it repeats")
                }
            },
            ViolationKind::DuplicateId { running: Some(running) } => {
                write!(
                    formatter,
                    "{got} has the id {id}, under which `{running}` of the {sender} is still running"
                )
            }
            ViolationKind::DuplicateId { running: None } => {
                write!(formatter, "{got} has the id {id}, which the {sender} has used before in this session")
            }
            ViolationKind::TooManyRunning { limit } => {
                write!(
                    formatter,
                    "{got} comes while {limit} requests of the {sender} are running, and no more may"
                )
            }
            ViolationKind::UnknownId => {
                write!(
                    formatter,
                    "the {sender} replies to the id {id}, but the {other} has sent no request with it"
                )
            }
            ViolationKind::SecondReply => {
                write!(formatter, "the {sender} replies to the id {id}, but that request has had its reply")
            }
            ViolationKind::WrongReply { request } => {
                write!(
                    formatter,
                    "the {sender} replies to the id {id} with {got}, but its request is `{request}`"
                )
            }
            ViolationKind::UnknownToken { token } => {
                write!(formatter, "{got} carries the token {token}, but no request of the {other} carried it")
            }
            ViolationKind::TokenInUse { token } => {
                write!(
                    formatter,
                    "{got} carries the token {token}, which belongs to a request that is still running"
                )
            }
            ViolationKind::RequestUnnamed => {
                write!(formatter, "{got} does not say which request it is about")
            }
            ViolationKind::UnknownKey { key, value } => {
                write!(formatter, "{got} carries the {key} {value}, and nothing is running under it")
            }
            ViolationKind::KeyInUse { key, value } => {
                write!(formatter, "{got} carries the {key} {value}, under which something is running already")
            }
            ViolationKind::KeyMissing { key } => {
                write!(formatter, "{got} does not carry the key `{key}`, which says what it belongs to")
            }
            ViolationKind::WrongKey { key, value } => {
                write!(formatter, "{got} carries the {key} {value}, which is not that of what it belongs to")
            }
            ViolationKind::NothingRunning if got.kind == Some(Kind::Notification) => {
                write!(
                    formatter,
                    "{got} is about a running request, and none is running that it could be about"
                )
            }
            ViolationKind::NothingRunning => {
                write!(
                    formatter,
                    "{got} answers nothing: no `{}` of the {other} is running",
                    Excerpt(&got.method)
                )
            }
            ViolationKind::NotRunning => {
                write!(formatter, "{got} names the id {id}, but the {sender} has sent no request with it")
            }
            ViolationKind::NotYours => {
                write!(
                    formatter,
                    "{got} names the id {id} of a request of the {other}, which only the {other} may cancel"
                )
            }
            ViolationKind::NotCancellable { request } => {
                write!(formatter, "{got} names the id {id} of `{request}`, which cannot be cancelled")
            }
            ViolationKind::NoLongerCancellable { request } => {
                write!(
                    formatter,
                    "{got} names the id {id} of `{request}`, which has its reply and cannot be cancelled any more"
                )
            }
            ViolationKind::CancelledTwice { request } => {
                write!(
                    formatter,
                    "{got} names the id {id} of `{request}`, which the {sender} has cancelled before"
                )
            }
            ViolationKind::OtherKind { taken_for } => {
                let kind = got.kind.map_or("message", kind_name);
                write!(formatter, "{got} is a {kind}, not a {}", kind_name(*taken_for))
            }
            ViolationKind::Over => write!(formatter, "{got} cannot be sent any more: the session is over"),
            ViolationKind::Discouraged => {
                let modal = match self.strictness {
                    Strictness::Should => "should",
                    Strictness::Must => "must",
                };
                write!(formatter, "{got} is accepted in {states}, but the {sender} {modal} not send it there")
            }
        }
    }

    /// What the sender may send instead, and what it waits for.
    fn instead(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.expected.is_empty() && self.awaited.is_empty() {
            return formatter.write_str("may send nothing now");
        }
        if self.expected.is_empty() {
            return write!(formatter, "has to wait for {}", ExpectedList(&self.awaited));
        }
        write!(formatter, "may send {} now", ExpectedList(&self.expected))?;
        if self.awaited.is_empty() {
            return Ok(());
        }
        write!(formatter, ", and waits for {}", ExpectedList(&self.awaited))
    }
}

/// What a kind of message is called in a sentence.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "request",
        Kind::Notification => "notification",
        Kind::Reply { .. } => "reply",
        Kind::Refusal { .. } => "refusal",
    }
}

/// One message in a sentence.
fn describe(
    formatter: &mut fmt::Formatter<'_>,
    kind: Option<Kind>,
    method: &str,
    condition: Option<&Condition>,
) -> fmt::Result {
    match kind {
        Some(Kind::Reply { .. }) => write!(formatter, "the result of `{}`", Excerpt(method)),
        Some(Kind::Refusal { .. }) => write!(formatter, "the error for `{}`", Excerpt(method)),
        _ => write!(formatter, "`{}`", Excerpt(method)),
    }?;
    match condition {
        Some(condition) => write!(formatter, " (`{condition}`)"),
        None => Ok(()),
    }
}

impl fmt::Display for Got {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(formatter, self.kind, &self.method, self.condition.as_ref())
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(formatter, Some(self.kind), &self.method, self.condition.as_ref())
    }
}

/// An id that may be missing.
struct IdText<'a>(Option<&'a RequestId>);

impl fmt::Display for IdText<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(formatter, "{id}"),
            None => formatter.write_str("null"),
        }
    }
}

/// Names in backticks, "`A` and `B`".
struct Names<'a>(&'a [Text], &'static str);

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.iter().enumerate() {
            if place > 0 {
                write!(formatter, " {} ", self.1)?;
            }
            write!(formatter, "`{name}`")?;
        }
        Ok(())
    }
}

/// Messages, "`a`, `b` or `c`"; the same words only once, and not more than [`NAMED`].
pub(super) struct ExpectedList<'a>(pub(super) &'a [Expected]);

impl fmt::Display for ExpectedList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        for expected in self.0 {
            let word = expected.to_string();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let more = words.len().saturating_sub(NAMED);
        words.truncate(NAMED);
        match words.as_slice() {
            some if more > 0 => write!(formatter, "{} and {more} more", some.join(", ")),
            [one] => formatter.write_str(one),
            [some @ .., last] => write!(formatter, "{} or {last}", some.join(", ")),
            [] => Ok(()),
        }
    }
}
