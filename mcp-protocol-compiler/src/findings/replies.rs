//! Reply discipline: every request is answered, every reply has its request.

use super::phrases::list;
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::lexer::quote;
use crate::source::Span;

/// A reply where no such request is open.
pub const WITHOUT_REQUEST: Code = Code("S0301");
/// `reply` where several requests are open.
pub const AMBIGUOUS: Code = Code("S0302");
/// A request that is open already.
pub const OPEN_ALREADY: Code = Code("S0303");
/// A request that is open where channels start.
pub const OPEN_ACROSS_CHANNELS: Code = Code("S0304");
/// A request that some path never answers.
pub const NEVER_ANSWERED: Code = Code("S0305");

/// A reply that may come is not accepted.
pub const NOT_ACCEPTED: Code = Code("S0309");

/// What comes right before a reply that nothing asked for.
pub struct StepBefore {
    /// As it is written, `!M`.
    pub action: String,
    /// Where.
    pub span: Span,
    /// The name of the group it is written as.
    pub group: Option<String>,
    /// For a notification, its method.
    pub notification: Option<String>,
    /// For a reply, its request, `!M`.
    pub answers: Option<String>,
}

/// The reply that would fit where another one stands.
pub struct FittingReply {
    /// Where the sign and the name of the other one stand.
    pub place: Span,
    /// As it is written, `?R`.
    pub reply: String,
    /// The request that is open, `!M`.
    pub asked: String,
}

/// `?reply` or `?Result` with no request open. `fits` is the reply of the one request that is open in that direction.
///
/// `before` is the action that leads here, and where it stands.
pub fn without_request(
    action: &str,
    span: Span,
    request: Option<&str>,
    other_way: bool,
    before: Option<StepBefore>,
    fits: Option<FittingReply>,
) -> Diagnostic {
    let error = |message: String| Diagnostic::error(WITHOUT_REQUEST, span, message);
    if let (Some(request), true) = (request, other_way) {
        let sign = if action.starts_with('!') { '?' } else { '!' };
        let answers = if request.starts_with('!') { "the peer" } else { "this role" };
        return error(format!("the reply `{action}` goes the wrong way"))
            .label(format!("`{request}` is answered by {answers}"))
            .changes(
                format!("write `{sign}{}`", action.trim_start_matches(['!', '?'])),
                [TextChange::Sign(span, sign)],
            )
            .otherwise(format!(
                "`dual` makes `{action}` of what stands here: remove the `dual` that leads here, or go on as another \
                 definition"
            ));
    }
    if let Some(FittingReply { place, reply, asked }) = fits {
        let mut found = error(format!("the reply `{action}` is not the reply to `{asked}`"))
            .label("no request waits for this reply here");
        if let Some(before) = before {
            found = found.also(before.span, format!("`{}` leads here", before.action));
        }
        return found.suggest(
            format!("write `{reply}`, the reply to `{asked}`"),
            [Edit::replace(place, reply.as_str())],
        );
    }
    if let (None, Some(StepBefore { action: told, span: place, group, notification: Some(method), .. })) =
        (request, &before)
    {
        let name = told.trim_start_matches(['!', '?']);
        let operator = if told.starts_with('!') { '⊕' } else { '&' };
        return match group {
            Some(group) => error(format!(
                "`{action}` cannot answer `{name}`, a notification in the group `{group}`"
            ))
            .also(*place, format!("may be `{told}`"))
            .changes(
                format!(
                    "take `{name}` out of `{group}`, and write `{operator} {told} . {{tail}}` as a branch of its own"
                ),
                [
                    TextChange::DeleteMember(group.clone(), name.to_owned()),
                    TextChange::Around(*place, "( ", format!(" {operator} {told} . {{tail}} )")),
                ],
            )
            .otherwise(format!(
                "take `{name}` out of `{group}`, and write `{operator} {told} . …` as a branch of its own"
            )),
            None => error(format!("`{action}` cannot answer `{name}`, a notification"))
                .also(*place, "a notification is not answered")
                .changes(
                    format!(
                        "delete `{action} .`, or declare `{name}` as a request: `request {name} {} -> {name}Result`",
                        quote(method)
                    ),
                    [TextChange::DeleteStep(span)],
                ),
        }
        .label("nothing waits for a reply here");
    }
    let mut diagnostic = error(format!("the reply `{action}` has no request on the way here"))
        .label("nothing waits for a reply here");
    if let Some(before) = before {
        diagnostic = diagnostic.also(before.span, format!("`{}` leads here", before.action));
        if let Some(request) = before.answers.filter(|answered| Some(answered.as_str()) == request) {
            diagnostic = diagnostic.with_note(format!(
                "`{request}` has its reply by then, and a request has one: what comes in parts is a notification, in a \
                 sub-session that the request opens"
            ));
        }
    }
    match request {
        Some(request) => diagnostic.changes(
            format!("put the request before it: `{request} . {action}`"),
            [TextChange::Ask(span, request.to_owned())],
        ),
        None => {
            let sign = if action.starts_with('!') { '?' } else { '!' };
            diagnostic.changes(
                format!(
                    "put its request before it, `{sign}Ask . {action}`, where `Ask` is one of yours or a new `request Ask \
                     \"ask\" -> AskResult`"
                ),
                [
                    TextChange::Declare {
                        name: "Ask".to_owned(),
                        item: "request Ask \"ask\" -> AskResult".to_owned(),
                    },
                    Edit::before(span, format!("{sign}Ask . ")).into(),
                ],
            )
        }
    }
}

/// `?reply` with several requests open; `replies` are the actions that could be meant.
pub fn ambiguous(span: Span, open: &[String], replies: &[String]) -> Diagnostic {
    let written: Vec<String> = replies.iter().map(|reply| format!("`{reply}`")).collect();
    Diagnostic::error(AMBIGUOUS, span, "`reply` could answer more than one request")
        .label(format!("{} are open here", list(open)))
        .suggest(
            format!("name the reply: write {}", written.join(" or ")),
            replies.first().map(|reply| Edit::replace(span, reply.as_str())),
        )
}

/// `!A . !A`; `reply` is the action that answers, `?R`, and `crossed` the place where the other side's request of this
/// name was opened, if it was; `next` is the loop that the action leads back to.
pub fn open_already(
    action: &str,
    span: Span,
    reply: &str,
    crossed: Option<Span>,
    opened: Option<Span>,
    next: Option<&str>,
) -> Diagnostic {
    let done = if action.starts_with('!') { "sent" } else { "received" };
    let message = format!("`{action}` is {done} again before it is answered");
    let other = opened.filter(|opened| *opened != span);
    if let Some(crossed) = crossed {
        let sign = if action.starts_with('!') { '?' } else { '!' };
        let name = action.trim_start_matches(['!', '?']);
        return Diagnostic::error(OPEN_ALREADY, crossed, message)
            .label(format!("`{sign}{name}` is a request of the other side, not the reply"))
            .also(span, format!("{done} again here"))
            .suggest(
                format!("write `{reply}`, the reply, in place of `{sign}{name}`"),
                [Edit::replace(crossed, reply)],
            );
    }
    let mut diagnostic = Diagnostic::error(OPEN_ALREADY, span, message);
    if let Some(opened) = other {
        diagnostic = diagnostic.also(opened, format!("{done} first here"));
    }
    diagnostic
        .label(match other {
            Some(_) => format!("comes again without `{reply}`"),
            None => format!("the loop comes back here without `{reply}`"),
        })
        .with_note(format!("several at once are instances: `*( {action} . {reply} . End )`"))
        .changes(
            match next.filter(|_| other.is_none()) {
                Some(next) => format!("write `{action} . {reply} . {next}`"),
                None => format!("write `{action} . {reply}`"),
            },
            [TextChange::AnswerFirst { opened: other.unwrap_or(span), again: span, reply: reply.to_owned() }],
        )
}

/// `!A . (B, C)`; `reply` is the action that answers.
pub fn open_across_channels(action: &str, span: Span, reply: &str) -> Diagnostic {
    Diagnostic::error(OPEN_ACROSS_CHANNELS, span, format!("`{action}` is still open where channels start"))
        .label("which of the channels would the reply belong to")
        .changes(
            format!("write `{action} . {reply}` before the channels, or put the request in one of them"),
            [TextChange::Answer { before: span, action: action.to_owned(), reply: reply.to_owned() }],
        )
}

/// `!A . End`, `rec x . !A . x`; `reply` is the action that answers. `crossed` says that this very request is open in
/// the other direction, too, where its reply was probably meant; `elsewhere` that some other way has the reply.
pub fn never_answered(
    action: &str,
    span: Span,
    (ends, elsewhere): (bool, bool),
    reply: &str,
    crossed: bool,
    opened: Option<Span>,
) -> Diagnostic {
    let how = if ends {
        "from here on it ends without its reply"
    } else {
        "from here on it continues without its reply and without end"
    };
    let done = if action.starts_with('!') { "sent" } else { "received" };
    let message = match elsewhere {
        true => format!("on some way `{action}` is never answered"),
        false => format!("`{action}` is never answered"),
    };
    let mut found = Diagnostic::error(NEVER_ANSWERED, span, message);
    if let Some(opened) = opened {
        found = found.also(opened, format!("{done} here"));
    }
    if crossed {
        let other = if action.starts_with('!') { '?' } else { '!' };
        let name = action.trim_start_matches(['!', '?']);
        return found
            .label(format!("`{other}{name}` is a request of the other side, not the reply"))
            .suggest(
                format!("write `{reply}`, the reply, in place of `{other}{name}`"),
                [Edit::replace(span, reply)],
            );
    }
    found
        .label(how)
        .with_note("JSON-RPC answers every request; a message that wants no answer is a notification")
        .changes(
            match opened.is_some() && !elsewhere {
                true => format!("write `{action} . {reply}`"),
                false => format!("write `{reply}` here"),
            },
            [match opened.filter(|_| !elsewhere) {
                Some(opened) => Edit::after(opened, format!(" . {reply}")).into(),
                None => TextChange::BeforeState(span, format!("{reply} . ")),
            }],
        )
        .otherwise(format!("write `{reply}` on each way on"))
}

/// `!A . ?R` where A has further replies.
pub fn not_accepted(
    request: &str,
    missing: &[String],
    accepted: &[String],
    at: Span,
    declared: Span,
) -> Diagnostic {
    let is = if missing.len() == 1 { "is" } else { "are" };
    let branches: Vec<String> = accepted.iter().chain(missing).map(|name| format!("?{name} . …")).collect();
    Diagnostic::error(
        NOT_ACCEPTED,
        at,
        format!("`{request}` may be answered with {}, which {is} not accepted", list(missing)),
    )
    .label(format!("only {} {} accepted", list(accepted), if accepted.len() == 1 { "is" } else { "are" }))
    .also(declared, "this may come, too")
    .suggest(
        format!(
            "write `?reply . …`, which is every reply, or a branch for each: `( {} )`",
            branches.join(" & ")
        ),
        [Edit::replace(at, "?reply")],
    )
}
