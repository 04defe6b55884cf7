//! Channels side by side, and the bodies of `*`.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// Two channels that share a message.
pub const OVERLAP: Code = Code("S0401");
/// A `*` body that starts with a reply.
pub const BODY_STARTS_WITH_REPLY: Code = Code("S0402");
/// A `*` body with a bare `End` branch.
pub const BODY_MAY_BE_EMPTY: Code = Code("S0403");
/// Channels in the body of a `*`.
pub const CHANNELS_IN_BODY: Code = Code("S0404");

/// A later step of a copy that nothing ties to it.
pub const UNTIED_STEP: Code = Code("S0406");

/// Two channels that run side by side and share messages in one direction.
pub fn overlap(action: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error(OVERLAP, second, format!("two channels side by side both have `{action}`"))
        .label("here in one channel")
        .also(first, "and here in another")
        .with_note("a message must tell which channel it belongs to, so channels side by side share none in one direction")
        .help("keep the message in one of the channels, or give the other a message of its own")
}

/// `*( ?Result . … )`
pub fn body_starts_with_reply(span: Span, action: &str, request: Option<&str>) -> Diagnostic {
    Diagnostic::error(
        BODY_STARTS_WITH_REPLY,
        span,
        format!("a copy of this `*` would start with the reply `{action}`"),
    )
    .label("no request is open yet")
    .help(match request {
        Some(request) => format!("start with the request: `*( {request} . {action} . … )`"),
        None => "start the body with the request, `*( !Request . ?reply . End )`, or with a notification"
            .to_owned(),
    })
}

/// `*( !A . S ⊕ End )`, `*End`
pub fn body_may_be_empty(span: Span) -> Diagnostic {
    Diagnostic::error(BODY_MAY_BE_EMPTY, span, "a copy of this `*` may do nothing at all")
        .label("this `End` has no event")
        .with_note("`*` already says any number of copies, none included")
        .help("leave the bare `End` branch out")
}

/// `*( (A, B) )`
pub fn channels_in_body(span: Span) -> Diagnostic {
    Diagnostic::error(CHANNELS_IN_BODY, span, "the body of a `*` starts channels of its own")
        .label("a copy is one channel")
        .help("write the channels beside one another, `*( … ), *( … )`")
}

/// `*( !A . rec w . ( ?B . w & !C . End ) )` where something could end without a word.
pub fn body_may_stop(span: Span) -> Diagnostic {
    Diagnostic::error(BODY_MAY_BE_EMPTY, span, "a copy of this `*` may stop without a message")
        .label("one of the branches here is a bare `End`")
        .with_note("the sides tell that a copy is over by its last message")
        .help("leave the bare `End` branch out, or give it a message of its own")
}

/// `*( !A . ?reply . ?B . End )` where B carries no key that A or its reply carries, too.
///
/// `first` is the message that opens the copy, and where.
pub fn untied_step(span: Span, action: &str, held: &[&str], first: Option<(&str, Span)>) -> Diagnostic {
    let name = action.trim_start_matches(['!', '?']);
    let mut found = Diagnostic::error(UNTIED_STEP, span, format!("nothing ties `{action}` to its copy"))
        .label("which of the running copies is it for?");
    if let Some((opener, place)) = first {
        found = found.also(place, format!("`{opener}` opens the copy"));
    }
    found = found.with_note(
        "a reply is tied by its id; any other later step of a `*` by a key that an earlier step carries, too",
    );
    match held {
        [] => found.help(format!(
            "declare a key that the first step and this one carry: `key name = {}.path | {name}.path`",
            first.map_or("First", |(opener, _)| opener)
        )),
        [first, ..] => found.help(format!("say where it carries the key: `key {first} = … | {name}.path`")),
    }
}

/// `*( !A . ?reply . !A . … )`
pub fn step_opens_too(span: Span, action: &str, first: Span) -> Diagnostic {
    Diagnostic::error(UNTIED_STEP, span, format!("`{action}` goes on with a copy, and opens one"))
        .label("goes on with a copy here")
        .also(first, "opens a copy here")
        .help("use a message of its own for one of them")
}
