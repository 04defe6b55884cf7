//! Refusals and cancelling: what an error reply takes back.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A refusal that would undo another message.
pub const WOULD_UNDO: Code = Code("S0306");
/// `cancellable` where the two sides could come to different states.
pub const STATES_COULD_PART: Code = Code("S0307");
/// `cancellable` with no notification that cancels.
pub const NOTHING_CANCELS: Code = Code("S0308");

/// A refusal of the request that opens a copy, written as a branch.
pub const ENDS_THE_COPY: Code = Code("S0311");

/// `*( !M . ( ?MResult . … & ?MError . … ) )`
pub fn ends_the_copy(span: Span, action: &str, request: &str) -> Diagnostic {
    Diagnostic::error(ENDS_THE_COPY, span, format!("`{action}` ends the copy, and cannot lead anywhere"))
        .label(format!("`{request}` opens the copy: if it is refused, there is none"))
        .with_note("whoever opened the copy gets the error; so it is without a word")
        .help(format!("leave the branch `{action} . …` out; if refusals are a matter of course, give `{request}` a reply that says so, `-> Yes | No if refused`"))
}

/// `!M . !N . ?MResult`, where `?MError` would have to take back N. `reply` is the action that answers.
pub fn would_undo(
    request: &str,
    (reply, span): (&str, Span),
    refusal: &str,
    (undone, at): (&str, Span),
) -> Diagnostic {
    let name = |action: &str| action.trim_start_matches(['!', '?']).to_owned();
    let operator = if reply.starts_with('?') { '&' } else { '⊕' };
    let done = if undone.starts_with('!') { "sent" } else { "received" };
    Diagnostic::error(
        WOULD_UNDO,
        span,
        format!(
            "where an error in reply to `{}` leads is not said, and to go back would undo `{}`",
            name(request),
            name(undone)
        ),
    )
    .label("an error may come here instead")
    .also(at, format!("`{undone}` lies between the request and its reply"))
    .with_note(format!(
        "an error leads back to before `{request}` by itself, but `{undone}` has been {done} by then"
    ))
    .help(format!("write `( {reply} . … {operator} {refusal} . … )` in place of `{reply} . …`"))
}

/// `cancellable` on a request whose success and refusal lead to different states. `refusal` is the
/// error reply where it is written beside the reply.
pub fn states_could_part(
    request: &str,
    reply: &str,
    refusal: Option<&str>,
    (declared, used): (Span, Span),
    in_sub_session: bool,
) -> Diagnostic {
    let name = request.trim_start_matches(['!', '?']);
    let diagnostic = Diagnostic::error(
        STATES_COULD_PART,
        used,
        format!("`{name}` is `cancellable`, but its reply changes the state"),
    )
    .label("a cancel may cross this reply, and one side would be before it, the other behind it")
    .also(declared, "declared here");
    match refusal {
        Some(refusal) => diagnostic
            .help(format!("remove `cancellable`, or let `{reply}` and `{refusal}` lead to the same state")),
        None if in_sub_session => diagnostic.help(
            "remove `cancellable`, or let the reply lead back to before the request: in a sub-session only the \
             request that opens it may change the state and be cancelled",
        ),
        None => diagnostic.help(format!(
            "remove `cancellable`, or let the reply lead back to before the request: \
             `( rec again . {request} . {reply} . again )` or `*( {request} . {reply} . End )`"
        )),
    }
}

/// Two `cancellable` requests of one role that are open in one state of a channel.
pub fn two_cancels(request: &str, other: &str, declared: Span, used: Span) -> Diagnostic {
    let name = request.trim_start_matches(['!', '?']);
    Diagnostic::error(
        STATES_COULD_PART,
        used,
        format!(
            "`{name}` is `cancellable`, and so is `{other}`, which is open at the same time in this channel"
        ),
    )
    .label("two requests could be cancelled here")
    .also(declared, "declared here")
    .with_note("a state of a channel has room for the cancel of one request in each direction")
    .help("remove `cancellable` from one of them, or give each a channel of its own")
}

/// `cancellable` without a notification that `cancels`.
pub fn nothing_cancels(request: &str, declared: Span) -> Diagnostic {
    Diagnostic::error(
        NOTHING_CANCELS,
        declared,
        format!("`{request}` is `cancellable`, but no notification cancels"),
    )
    .label("nothing could take it back")
    .help("declare one: `notification Cancelled \"its/method\" (CancelledParams) cancels requestId`")
}
