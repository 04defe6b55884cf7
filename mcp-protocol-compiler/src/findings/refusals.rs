//! Refusals and cancelling: what an error reply undoes.

use super::phrases::listed;
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::source::Span;

/// A refusal that would undo another message.
pub const WOULD_UNDO: Code = Code("S0306");
/// `cancellable` where the two sides could come to different states.
pub const STATES_COULD_PART: Code = Code("S0307");
/// `cancellable` with no notification that cancels.
pub const NOTHING_CANCELS: Code = Code("S0308");

/// `until reply` where no request could be cancelled longer.
pub const ALWAYS_UNTIL_REPLY: Code = Code("S0312");

/// A notification that cancels, and needs more than the id of the request.
pub const NEEDS_MORE: Code = Code("S0313");

/// A refusal of the request that opens a sub-session, written as a branch.
pub const ENDS_THE_SUB_SESSION: Code = Code("S0311");

/// `*( !M . ( ?MResult . … & ?MError . … ) )`
pub fn ends_the_sub_session(span: Span, action: &str, request: &str) -> Diagnostic {
    Diagnostic::error(ENDS_THE_SUB_SESSION, span, format!("`{action}` ends the instance, and cannot lead anywhere"))
        .label(format!("`{request}` opens the instance: if it is refused, there is none"))
        .with_note("the role that opened the instance gets the error in any case")
        .with_note(format!(
            "where refusals are a matter of course, `{request}` may have a reply that says so, `-> Yes | No if refused`"
        ))
        .changes(format!("leave the branch that begins with `{action}` out"), [TextChange::DeleteBranch(span)])
}

/// `!M . !N . ?MResult`, where `?MError` would have to undo N. `reply` is the action that answers.
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
    .changes(
        format!(
            "say where an error leads: `( {reply} . … {operator} {refusal} . {{tail}} )` in place of `{reply} . …`"
        ),
        [TextChange::Around(span, "( ", format!(" {operator} {refusal} . {{tail}} )"))],
    )
    .otherwise(format!("write `( {reply} . … {operator} {refusal} . End )` in place of `{reply} . …`"))
}

/// `cancellable` on a request whose success and refusal lead to different states. `refusal` is the error reply where it
/// is a branch of its own.
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
    .also(declared, "declared here")
    .with_note("only where the reply follows a cancel, `cancels … with reply error …`, may the reply change the state");
    let remove = TextChange::DeleteModifier(declared, "cancellable");
    match refusal {
        Some(refusal) => diagnostic.changes(
            format!("remove `cancellable`, or let `{reply}` and `{refusal}` lead to the same state"),
            [remove],
        ),
        None if in_sub_session => diagnostic.changes(
            "remove `cancellable`, or let the reply lead back to before the request: in a sub-session only the \
             request that opens it may change the state and be cancelled",
            [remove],
        ),
        None => diagnostic.changes(
            format!(
                "remove `cancellable`, or let the reply lead back to before the request: \
                 `( rec again . {request} . {reply} . again )` or `*( {request} . {reply} . End )`"
            ),
            [remove],
        ),
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
    .changes(
        format!("remove `cancellable` from `{name}` or `{other}`, or give each a channel of its own"),
        [TextChange::DeleteModifier(declared, "cancellable")],
    )
}

/// `cancellable` without a notification that `cancels`, which may be missing for several requests. `None` iff there are
/// no requests.
pub fn nothing_cancels(requests: &[(&str, Span)]) -> Option<Diagnostic> {
    let ((request, declared), others) = requests.split_first()?;
    let message = format!("`{request}` is `cancellable`, but no notification cancels");
    let finding = Diagnostic::error(NOTHING_CANCELS, *declared, message).label("no message could cancel it");
    let finding = match others {
        [] => finding,
        others => finding.with_note(format!(
            "{} could not be cancelled either",
            listed(others.iter().map(|(name, _)| *name))
        )),
    };
    Some(finding.changes(
        "declare one: `notification Cancel \"cancel\" (_) cancels requestId`",
        [TextChange::Declare {
            name: "Cancel".to_owned(),
            item: "notification Cancel \"cancel\" (_) cancels requestId".to_owned(),
        }],
    ))
}

/// `cancellable until reply` where the reply follows every cancel.
pub fn always_until_reply(request: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(ALWAYS_UNTIL_REPLY, span, format!("`until reply` adds nothing for `{request}`"))
        .label("no cancel comes after the reply")
        .with_note("the reply follows a cancel here, so it alone ends what the request has opened")
        .suggest("write `cancellable`", [Edit::replace(span, "cancellable")])
}

/// What has to be in the params of a cancel, and is not the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    /// Its key, label or position.
    pub(crate) name: String,
    /// Where it is declared: the key or the label, or what may be `null`. What a spread has brought along is not declared
    /// in the file.
    pub(crate) at: Option<Span>,
    /// Before the id of the request is something in any case: it may be `null`, and not absent.
    pub(crate) is_before_id: bool,
}

/// `notification Cancel "cancel" ({ id: int, why: string }) cancels id`. `None` iff nothing is needed.
pub(crate) fn needs_more(cancel: &str, declared: Span, needed: &[Needed]) -> Option<Diagnostic> {
    let called = |needed: &Needed| match needed.name.parse::<usize>() {
        Ok(place) => format!("position {place}"),
        Err(_) => format!("`{}`", needed.name),
    };
    let names: Vec<String> = needed.iter().map(called).collect();
    let first = needed.first()?;
    let message = format!("`{cancel}` needs more than the id of a request: {}", names.join(", "));
    let finding = Diagnostic::warning(NEEDS_MORE, declared, message)
        .label("this is sent where a call is dropped or takes too long")
        .with_note("the runtime knows the id and nothing else that it could write");
    let finding = match first.at {
        Some(at) => finding.also(at, "has to be there"),
        None => finding,
    };
    let mend =
        |needed: &Needed| Some(Edit::after(needed.at?, if needed.is_before_id { " | null" } else { "?" }));
    let advice = match first.is_before_id {
        true => "write ` | null` behind what stands before the id: `null` is written there",
        false => "write `?` behind what stands next to the id: it may be absent then",
    };
    Some(match needed.iter().map(mend).collect::<Option<Vec<Edit>>>() {
        Some(edits) => finding.suggest(advice, edits),
        None => finding.help(advice),
    })
}
