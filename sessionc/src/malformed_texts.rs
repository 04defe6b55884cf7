//! Texts that are not messages: what kind of mistake it is, and what to do about it.

use std::fmt::Display;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// What is wrong with a text, without the place of the mistake and what else stands in the text.
pub(crate) fn mistake_of_form(problem: &str) -> String {
    let details = [
        " at line ",
        " it is the line `",
        " is not an id: ",
        " invalid utf-8 sequence",
        " incomplete utf-8 byte sequence",
    ];
    let end = details.iter().filter_map(|detail| problem.find(detail)).min();
    problem.get(..end.unwrap_or(problem.len())).unwrap_or(problem).to_owned()
}

/// What is said of a text that is not a message, with what to do about its problem, if that is known.
pub(crate) fn with_hint(said: impl Display, problem: &str) -> String {
    match hint_of_form(problem) {
        Some(hint) => format!("{said}: {hint}"),
        None => said.to_string(),
    }
}

/// Whether a text that is not a message may have been meant as one. What a program writes for people has no brackets, and
/// an object that it logs has no member of a message.
pub(crate) fn may_be_message(text: &[u8]) -> bool {
    /// Whether a member is there, also where it is `null`.
    #[derive(Default)]
    struct Present(bool);
    impl<'de> Deserialize<'de> for Present {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Present, D::Error> {
            IgnoredAny::deserialize(deserializer).map(|_| Present(true))
        }
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Members {
        method: Present,
        id: Present,
        result: Present,
        error: Present,
        params: Present,
    }
    if memchr::memchr(b'{', text).is_none() {
        return false;
    }
    let Ok(Members { method, id, result, error, params }) = serde_json::from_slice(text) else { return true };
    [method, id, result, error, params].iter().any(|member| member.0)
}

/// What to do where a text is not a message, if the usual cause of the problem is known.
pub(crate) fn hint_of_form(problem: &str) -> Option<&'static str> {
    const REPLY: &str = "reply with the id of the request, as it came; a notification has no reply";
    const HINTS: [(&str, &str); 12] = [
        (
            "a batch is not permitted here",
            "only a protocol whose file says `batch` behind its version permits them",
        ),
        ("it is the line `", "if it is a line of a log, write logs to standard error"),
        ("it begins with a byte order mark", "write without a byte order mark"),
        ("EOF while parsing", "write each message whole and in one line"),
        ("trailing characters", "end each message with a line feed, and write nothing else behind it"),
        ("the reply has no `id`", REPLY),
        ("the `id` of the reply is not an id", REPLY),
        ("`id` must be a string or a whole number", "a notification has no `id`, not even one that is null"),
        (
            "`jsonrpc` is missing, and so are",
            "if it is a line of a log, write logs to standard error; over HTTP, answer a notification with the status 202 \
             and no body",
        ),
        ("`jsonrpc` is missing", "add `\"jsonrpc\":\"2.0\"` to each message"),
        ("`error`, not both", "leave out the other one, also if it is null"),
        ("the `error` of a reply must be", "write `\"error\":{\"code\":-32603,\"message\":\"…\"}`"),
    ];
    HINTS.into_iter().find(|(part, _)| problem.contains(part)).map(|(_, hint)| hint)
}
