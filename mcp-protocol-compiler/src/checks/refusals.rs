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

/// `!M . !N . ?MResult`, where `?MError` would have to take back N.
pub fn would_undo(request: &str, refusal: &str, undone: &str, reply: Span, at: Span) -> Diagnostic {
    let name = refusal.trim_start_matches(['!', '?']);
    let request_name = request.trim_start_matches(['!', '?']);
    let undone_name = undone.trim_start_matches(['!', '?']);
    Diagnostic::error(
        WOULD_UNDO,
        reply,
        format!("a refusal of `{request_name}` would undo `{undone_name}`"),
    )
    .label(format!("an error may come here in place of the reply to `{request}`"))
    .also(at, format!("`{undone}` lies between the request and its reply"))
    .with_note(format!(
        "every request may be refused; with nothing but self-loops in between, a refusal leads back to before `{request}`"
    ))
    .help(format!("say where the refusal leads: add a branch `{refusal} . …` beside the reply (`{name}` is its name)"))
}

/// `cancellable` on a request whose success and refusal lead to different states.
pub fn states_could_part(request: &str, declared: Span, used: Span) -> Diagnostic {
    Diagnostic::error(
        STATES_COULD_PART,
        used,
        format!("`{request}` is `cancellable`, but its reply changes the state"),
    )
    .label("a cancel that crosses the reply would leave the two sides in different states")
    .also(declared, "declared here")
    .help("remove `cancellable`, or let the reply and the refusal lead to the same state, as in a loop")
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
