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
pub fn without_request(action: &str, span: Span, request: Option<&str>, other_way: bool) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        WITHOUT_REQUEST,
        span,
        format!("the reply `{action}` has no request on the way here"),
    )
    .label("nothing is open to be answered");
    match request {
        Some(request) if other_way => diagnostic.help(format!(
            "the reply to `{request}` goes the other way than the request: turn `!` and `?` round in one of them"
        )),
        Some(request) => diagnostic.help(format!("send the request first: `{request} . {action} . …`")),
        None => diagnostic.help("put the request before it: `!Request . ?reply . …`"),
    }
}

/// `?reply` with several requests open.
pub fn ambiguous(span: Span, open: &[String]) -> Diagnostic {
    Diagnostic::error(AMBIGUOUS, span, "`reply` could answer more than one request")
        .label(format!("{} are open here", list(open)))
        .help("name the reply instead of writing `reply`")
}

/// `!A . !A`
pub fn open_already(action: &str, span: Span, reply: Option<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::error(OPEN_ALREADY, span, format!("`{action}` is open already"))
        .label("comes again before it was answered");
    if let Some(reply) = reply {
        let request = action.trim_start_matches(['!', '?']);
        return diagnostic
            .with_note(format!("`!{request}` and `?{request}` are two requests, one of each side"))
            .help(format!("to answer `{request}` write its reply, `{reply}` or `reply`"));
    }
    diagnostic.help(
        "receive the reply first; for any number at once put the exchange in `*( … )` beside this channel",
    )
}

/// `!A . (B, C)`
pub fn open_across_channels(action: &str, span: Span) -> Diagnostic {
    Diagnostic::error(OPEN_ACROSS_CHANNELS, span, format!("`{action}` is still open where channels start"))
        .label("which of the channels would the reply belong to")
        .help("receive the reply before `( , )`, or send the request in one of the channels")
}

/// `!A . End`, `rec x . !A . x`
pub fn never_answered(action: &str, span: Span, ends: bool) -> Diagnostic {
    let how = if ends {
        "from here on it ends without its reply"
    } else {
        "from here on it goes on for ever without its reply"
    };
    Diagnostic::error(NEVER_ANSWERED, span, format!("some path never answers `{action}`"))
        .label(how)
        .with_note("JSON-RPC answers every request; a message that wants no answer is a notification")
        .help(if action.starts_with('!') {
            format!("add `?reply .` somewhere behind `{action}`, or declare it as a notification")
        } else {
            format!("add `!reply .` somewhere behind `{action}`, or declare it as a notification")
        })
}
