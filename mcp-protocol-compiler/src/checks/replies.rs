//! Reply discipline: every request is answered, every reply has its request.

use crate::checks::declarations::list;
use crate::diagnostic::{Code, Diagnostic};
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

/// `?reply` or `?Result` with no request open.
///
/// `before` is the action that leads here, and where it stands.
pub fn without_request(
    action: &str,
    span: Span,
    request: Option<&str>,
    other_way: bool,
    before: Option<(String, Span)>,
) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        WITHOUT_REQUEST,
        span,
        format!("the reply `{action}` has no request on the way here"),
    )
    .label("nothing is open to be answered");
    if let Some((written, place)) = before.filter(|_| !other_way) {
        diagnostic = diagnostic.also(place, format!("`{written}` leads here"));
    }
    match request {
        Some(request) if other_way => {
            let sign = if action.starts_with('!') { '?' } else { '!' };
            let reply = action.trim_start_matches(['!', '?']);
            diagnostic
                .with_note(format!("the reply to `{request}` goes the other way than the request"))
                .help(format!("write `{sign}{reply}`"))
        }
        Some(request) => diagnostic.help(format!("send the request first: `{request} . {action} . …`")),
        None => diagnostic.help("put the request before it: `!Request . ?reply . …`"),
    }
}

/// `?reply` with several requests open; `replies` are the actions that could be meant.
pub fn ambiguous(span: Span, open: &[String], replies: &[String]) -> Diagnostic {
    let written: Vec<String> = replies.iter().map(|reply| format!("`{reply}`")).collect();
    Diagnostic::error(AMBIGUOUS, span, "`reply` could answer more than one request")
        .label(format!("{} are open here", list(open)))
        .help(format!("name the reply: write {}", written.join(" or ")))
}

/// `!A . !A`; `reply` is the action that answers, `?R`, and `crossed` says that the other side's request of this name
/// is open, too.
pub fn open_already(
    action: &str,
    span: Span,
    reply: &str,
    crossed: bool,
    opened: Option<Span>,
) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(OPEN_ALREADY, span, format!("`{action}` is open already"));
    if let Some(opened) = opened.filter(|opened| *opened != span) {
        diagnostic = diagnostic.also(opened, "opened here");
    }
    if crossed {
        let request = action.trim_start_matches(['!', '?']);
        let other = if action.starts_with('!') { '?' } else { '!' };
        let answer = reply.trim_start_matches(['!', '?']);
        let answers = if other == '?' { '!' } else { '?' };
        return diagnostic
            .label("comes again before it was answered")
            .with_note(format!("`!{request}` and `?{request}` are two requests, one of each side"))
            .help(format!(
                "to answer `{other}{request}` write its reply, `{answers}{answer}` or `{answers}reply`"
            ));
    }
    diagnostic
        .label(format!("comes again before its reply, `{reply}`"))
        .help(format!("write the reply before it comes again: `{action} . {reply} . …`"))
        .help(format!("for any number at once: `*( {action} . {reply} . End )`, beside the other channels"))
}

/// `!A . (B, C)`; `reply` is the action that answers.
pub fn open_across_channels(action: &str, span: Span, reply: &str) -> Diagnostic {
    Diagnostic::error(OPEN_ACROSS_CHANNELS, span, format!("`{action}` is still open where channels start"))
        .label("which of the channels would the reply belong to")
        .help(format!("write `{action} . {reply} . ( …, … )`, or put the request in one of the channels"))
}

/// `!A . End`, `rec x . !A . x`; `reply` is the action that answers. `crossed` says that this very request is open in
/// the other direction, too, where its reply was probably meant.
pub fn never_answered(
    action: &str,
    span: Span,
    ends: bool,
    reply: &str,
    crossed: bool,
    opened: Option<Span>,
) -> Diagnostic {
    let how = if ends {
        "from here on it ends without its reply"
    } else {
        "from here on it goes on for ever without its reply"
    };
    let mut found = Diagnostic::error(NEVER_ANSWERED, span, format!("some path never answers `{action}`"));
    if let Some(opened) = opened {
        found = found.also(opened, "opened here");
    }
    if crossed {
        let other = if action.starts_with('!') { '?' } else { '!' };
        let name = action.trim_start_matches(['!', '?']);
        return found
            .label(format!("`{other}{name}` is a request of the other side, not the reply"))
            .help(format!("write `{reply}`, the reply, in place of `{other}{name}`"));
    }
    found
        .label(how)
        .with_note("JSON-RPC answers every request; a message that wants no answer is a notification")
        .help(format!(
            "write `{action} . {reply} . …`, or declare `{0}` as a notification",
            action.trim_start_matches(['!', '?'])
        ))
}
