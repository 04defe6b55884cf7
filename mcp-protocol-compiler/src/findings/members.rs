//! Keys in members of the envelope: `key session = Attached.session | session of Navigate`, and `id of Navigate`.

use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;

/// A key in a member of the envelope that it cannot be in.
pub const BAD_MEMBER: Code = Code("S0129");
/// A key in a member of the envelope whose value is not known.
pub const WITHOUT_VALUE: Code = Code("S0410");

/// `params of Navigate`
pub fn of_json_rpc(member: &Name, of: &Name) -> Diagnostic {
    let found = Diagnostic::error(
        BAD_MEMBER,
        member.span,
        format!("`{}` is a member of JSON-RPC itself", member.text),
    )
    .label("not one of this protocol");
    match member.text.as_str() {
        "params" | "result" => found.suggest(
            format!("write `{0}` for its whole payload, or `{0}.path` for a part of it", of.text),
            [Edit::replace(member.span.to(of.span), of.text.as_str())],
        ),
        _ => found.help("name a member that messages have in addition to those of JSON-RPC"),
    }
}

/// `session of NavigateResult`, and `id of NavigateResult`
pub fn of_reply(of: &Name, reply: &str, request: &str) -> Diagnostic {
    Diagnostic::error(BAD_MEMBER, of.span, is_a(of, reply, "reply"))
        .label("it has the members of its request")
        .suggest(format!("write `{request}`"), [Edit::replace(of.span, request)])
}

/// `id of Loaded`, where that is a notification.
pub fn without_id(of: &Name, notification: &str) -> Diagnostic {
    Diagnostic::error(BAD_MEMBER, of.span, is_a(of, notification, "notification"))
        .label("it has no id")
        .help(format!("name the value in its payload that belongs to the key: `{notification}.path`"))
}

/// What a message is that is named, or is in the group that is named.
fn is_a(of: &Name, message: &str, kind: &str) -> String {
    match of.text == message {
        true => format!("`{message}` is a {kind}"),
        false => format!("`{message}`, which is in `{}`, is a {kind}", of.text),
    }
}

/// `open session of Navigate`, or such a field of an `open key`, where the message has another key. `open` is the word.
pub fn open_with_another(open: Span, (member, of): (&Name, &Name), message: &str, other: &str) -> Diagnostic {
    let place = format!("{} of {}", member.text, of.text);
    Diagnostic::error(
        BAD_MEMBER,
        open,
        format!("`{message}` carries the key `{other}` as well, so `{place}` cannot be open"),
    )
    .also(member.span, "stands in the envelope")
    .with_note(
        "without a value in its envelope the message would belong to no sub-session, and with the other value to one",
    )
    .suggest("delete this `open`", [Edit::delete(open)])
}

/// `Navigate.session | session of Navigate`, and one member for two keys.
pub fn twice(place: Span, message: &str, key: &str, other: Option<(&str, Span)>) -> Diagnostic {
    match other {
        Some((other, span)) => {
            let what =
                format!("`{message}` has the keys `{other}` and `{key}` in one member of its envelope");
            Diagnostic::error(BAD_MEMBER, place, what)
                .label("the same member")
                .also(span, format!("the key `{other}`"))
                .help("let one key stand for both: its value is unique in each `*` by itself")
        }
        None => Diagnostic::error(BAD_MEMBER, place, format!("`{message}` carries the key `{key}` twice"))
            .label("in its envelope, and in another place, too")
            .help("keep one of the two: the place where the peer reads the value"),
    }
}

/// `!Navigate` where no message before it has brought what is to stand in its envelope.
pub fn without_value(span: Span, action: &str, (key, member): (&str, &str), in_body: bool) -> Diagnostic {
    let name = action.trim_start_matches(['!', '?']);
    let found = Diagnostic::error(
        WITHOUT_VALUE,
        span,
        format!("nothing says what the member `{member}` of `{action}` is here"),
    )
    .with_note("its sender takes the value from the sub-session, which has it from the payload or the id of an earlier message");
    match in_body {
        true => found
            .label("some way to this step has not brought the value")
            .help(format!("name an earlier message in `key {key}`, with the path of the value in its payload")),
        false => found
            .label("belongs to no sub-session")
            .help(format!(
                "write it in the body of the `*` whose sub-sessions it is about, or take `{name}` out of `key {key}`"
            )),
    }
}
