//! Channels side by side, and the bodies of `*`.

use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::source::Span;

/// Two channels that share a message.
pub const OVERLAP: Code = Code("S0401");
/// A `*` body that starts with a reply.
pub const BODY_STARTS_WITH_REPLY: Code = Code("S0402");
/// A `*` body with a bare `End` branch.
pub const BODY_MAY_BE_EMPTY: Code = Code("S0403");
/// A later step of a sub-session that nothing ties to it.
pub const KEYLESS_STEP: Code = Code("S0406");

/// A later step of a sub-session that could be meant for something before it.
pub const COULD_BE_ANOTHER: Code = Code("S0407");

/// What a message that two channels have is to them, where both are bodies of a `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SharedBodies {
    /// Instances of both begin with it, so one body may stand for both.
    BothOpen,
    /// It is a later step of both, so one body may stand for both: it begins with a choice.
    OneForBoth {
        /// The definitions of the two.
        names: (String, String),
        /// Whether this side opens instances of one of them.
        sends: bool,
    },
    /// They are not, or no body can stand for both.
    No,
}

/// Two channels that run side by side and share messages in one direction.
pub(crate) fn overlap(action: &str, (first, second): (Span, Span), bodies: &SharedBodies) -> Diagnostic {
    if first == second {
        return overlap_with_itself(action, first, second);
    }
    let name = action.trim_start_matches(['!', '?']);
    let mut found = shared_message(action, first, second);
    match bodies {
        SharedBodies::BothOpen => {
            found = found.with_note(format!(
                "one `*` may stand for both: it begins with `{action}`, and has a choice where the two differ"
            ));
        }
        SharedBodies::OneForBoth { names: (one, two), sends } => {
            let operator = if *sends { '⊕' } else { '&' };
            let both = format!("{one}Or{two}");
            let item = format!("{both} = {one} {operator} {two}");
            return found
                .changes(
                    format!(
                        "let the key of `{name}` say which of the two it belongs to: declare `{item}`, and write `*{both}` in \
                         place of `*{one}` and `*{two}`"
                    ),
                    [
                        TextChange::Declare { name: both.clone(), item },
                        TextChange::OneBody { names: (one.clone(), two.clone()), both },
                    ],
                )
                .otherwise(format!(
                    "let the key of `{name}` say which of the two it belongs to: one `*` stands for both, and begins with a choice"
                ));
        }
        SharedBodies::No => {}
    }
    found
        .changes(
            format!("use another message in one of the two: declare `Other{name}`, with a method of its own, and write it here"),
            [TextChange::OtherMessage { at: second, name: name.to_owned(), all: true }],
        )
        .otherwise(format!("keep `{action}` in one of the two, or declare another message for the other"))
}

/// One channel that stands twice among those that run side by side.
pub fn overlap_with_itself(action: &str, first: Span, second: Span) -> Diagnostic {
    shared_message(action, first, second)
        .changes("delete one of the two channels: both have this text", [TextChange::DeleteTwin(second)])
        .otherwise(format!("keep `{action}` in one of the two, or declare another message for the other"))
}

fn shared_message(action: &str, first: Span, second: Span) -> Diagnostic {
    let (does, name) = match action.strip_prefix('!') {
        Some(name) => ("send", name),
        None => ("receive", action.trim_start_matches('?')),
    };
    Diagnostic::error(OVERLAP, second, format!("two channels side by side both {does} `{name}`"))
        .label("here in one channel")
        .also(first, "and here in another")
        .with_note("a message must show by its name which channel it belongs to")
}

/// `*( ?Result . … )`
pub fn body_starts_with_reply(span: Span, action: &str, request: Option<&str>) -> Diagnostic {
    let ask = if action.starts_with('!') { "?Ask" } else { "!Ask" };
    let mut changes = vec![Edit::before(span, format!("{} . ", request.unwrap_or(ask))).into()];
    if request.is_none() {
        let item = "request Ask \"ask\" -> AskResult".to_owned();
        changes.push(TextChange::Declare { name: "Ask".to_owned(), item });
    }
    Diagnostic::error(
        BODY_STARTS_WITH_REPLY,
        span,
        format!("an instance of this `*` would start with the reply `{action}`"),
    )
    .label("no request is open yet")
    .changes(
        match request {
            Some(request) => format!("start with the request: `{request} . {action}`"),
            None => format!(
                "start with its request, `{ask} . {action}`, where `Ask` is one of yours or a new `request Ask \"ask\" -> \
                 AskResult`"
            ),
        },
        changes,
    )
}

/// `*( !A . S ⊕ End )`, `*End`
pub fn body_may_be_empty(span: Span) -> Diagnostic {
    Diagnostic::error(BODY_MAY_BE_EMPTY, span, "an instance of this `*` may do nothing at all")
        .label("this `End` has no event")
        .with_note("`*` already says any number of instances, none included")
        .changes("leave the bare `End` out", [TextChange::DeleteBranch(span)])
}

/// `*( !A . rec w . ( ?B . w & !C . End ) )` where something could end without a word.
pub fn body_may_stop(span: Span) -> Diagnostic {
    Diagnostic::error(BODY_MAY_BE_EMPTY, span, "an instance of this `*` may stop without a message")
        .label("one of the branches here is a bare `End`")
        .with_note("the sides tell that an instance is over by its last message")
        .changes("leave the bare `End` branch out", [TextChange::DeleteEnd(span)])
        .otherwise("give the bare `End` branch a message of its own")
}

/// `*( !A . ?reply . ?B . End )` where B carries no key that A or its reply carries, too.
///
/// `first` is the message that opens the sub-session, and where.
///
/// `others` are further steps of the sub-session that nothing ties, for one key has to be declared with all of them.
pub fn keyless_step(
    (span, action): (Span, &str),
    others: &[(Span, String)],
    held: &[&str],
    first: Option<(&str, Span)>,
) -> Diagnostic {
    let mut names = vec![action.trim_start_matches(['!', '?'])];
    for (_, other) in others {
        let other = other.trim_start_matches(['!', '?']);
        if !names.contains(&other) {
            names.push(other);
        }
    }
    let mut found = Diagnostic::error(KEYLESS_STEP, span, format!("nothing ties `{action}` to its instance"))
        .label("which of the running instances is it for?");
    for (other, action) in others {
        found = found.also(*other, format!("the same of `{action}`"));
    }
    if let Some((opener, place)) = first {
        found = found.also(place, format!("`{opener}` opens the instance"));
    }
    found = found.with_note(
        "a reply is tied by its id; any other later step of a `*` by a key that an earlier step carries, too",
    );
    match held {
        [] => {
            let opener = first.map_or("First", |(opener, _)| opener);
            let payloads = names.iter().chain([&opener]).map(|name| TextChange::Payload((*name).to_owned()));
            let later = names.iter().map(|name| (*name).to_owned()).collect();
            let declare = TextChange::DeclareKey { opener: opener.to_owned(), later };
            // The first step is a request wherever there is an id to use, and a key needs a field in all other messages.
            let found = found.with_note(format!(
                "if `{opener}` is a request without such a field, its own id can be the value: write `id of {opener}` in \
                 its place"
            ));
            let text = "declare a key that an early step and the later ones carry, each with the path of its field: `{key}`";
            found.changes(text, payloads.chain([declare]))
        }
        [first, ..] => {
            let payloads = names.iter().map(|name| TextChange::Payload((*name).to_owned()));
            let field = TextChange::KeyFields {
                key: (*first).to_owned(),
                messages: names.iter().map(|name| (*name).to_owned()).collect(),
            };
            found.changes(
                format!(
                    "say where it carries the key, for instance `key {first} = … | {}.{{path}}`",
                    names.join(".{path} | ")
                ),
                payloads.chain([field]),
            )
        }
    }
}

/// `*( !A . ?reply . !A . … )` where it could be either; `key` is the one that, were it open, would make the
/// difference, with the member of the envelope that it is in, if it is in one. In `*( (!A . ?reply . End, !B . End) )`,
/// `!B` is either where it stands.
pub fn step_opens_too(
    span: Span,
    action: &str,
    first: Span,
    key: Option<(&str, Option<&str>)>,
) -> Diagnostic {
    let name = action.trim_start_matches(['!', '?']);
    if span == first && key.is_none() {
        return Diagnostic::error(
            KEYLESS_STEP,
            span,
            format!("`{action}` goes on with an instance, and opens one"),
        )
        .label("opens an instance, or goes on with one that another channel has opened")
        .with_note("the peer may just have ended the instance, and would take it for the start of another")
        .help("begin the body with one message, and start the channels behind it: `!A . ?reply . ( …, … )`");
    }
    let found =
        Diagnostic::error(KEYLESS_STEP, span, format!("`{action}` goes on with an instance, and opens one"))
            .label("goes on with an instance here")
            .also(first, "opens an instance here");
    match key {
        Some((key, member)) => {
            let sentence = match member {
                Some(member) => format!(
                    "if it may come without the member `{member}`, write `open` before that in `key {key} = …`"
                ),
                None => format!(
                    "if it may come where no instance runs, write `open` before `{name}` in `key {key} = …`"
                ),
            };
            found.changes(
                sentence,
                [TextChange::OpenKeyOf { key: key.to_owned(), message: name.to_owned() }],
            )
        }
        None => found
            .with_note(
                "the peer may just have ended the instance here, and would take it for the start of another",
            )
            .changes(
                format!(
                    "use another message for the later step: declare `Other{name}`, with a method of its own, and write it \
                     here"
                ),
                [TextChange::OtherMessage { at: span, name: name.to_owned(), all: false }],
            )
            .otherwise("use a message of its own for one of them"),
    }
}

/// `*( !Open . ?Begun . … )`: a `?Begun` under way when the sub-session is cancelled, and opened again.
pub fn could_be_another(span: Span, action: &str, open: bool) -> Diagnostic {
    let before = match open {
        true => "it may be meant as uncorrelated, for its sender may not know of the instance yet",
        false => {
            "it may be late for an instance before this one, for its sender may not know of this instance yet"
        }
    };
    Diagnostic::error(COULD_BE_ANOTHER, span, format!("`{action}` could be taken for this instance's by mistake"))
        .label(before)
        .with_note("a key finds the instance that holds its value now; the sender of the step may mean an earlier instance")
        .help("let the other side answer first: open the instance with a request and await its reply, or let the step lead back to where it is")
}
