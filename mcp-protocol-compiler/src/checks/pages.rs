//! Results that come in pages.

use mcp_protocol_machine::protocol::{Kind, Payload};

use crate::declarations::{Declarations, Message};
use crate::diagnostic::{Diagnostic, Edit, TextChange};
use crate::findings::declarations::NO_CURSOR;

/// Finds them.
pub fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (request, message) in declarations.indices().zip(&declarations.messages) {
        let Some(pages) = message.pages.as_ref().filter(|_| message.table.kind == Kind::Request) else {
            continue;
        };
        let name = &message.table.name;
        let finding = |what: String| Diagnostic::error(NO_CURSOR, pages.span, what);
        if carries_nothing(message) {
            found.push(
                finding(format!("`{name}` has `pages`, but no params that could carry a cursor"))
                    .label("the cursor of the next page would go nowhere")
                    .changes(
                        format!(
                            "give it params: `{name} \"{}\" (_)`, or remove `pages`",
                            message.table.method
                        ),
                        [TextChange::Payload(name.to_string())],
                    ),
            );
            continue;
        }
        let replies: Vec<&Message> = declarations
            .messages
            .iter()
            .filter(|reply| reply.table.kind == Kind::Reply { request })
            .collect();
        match replies.as_slice() {
            [only] if !carries_nothing(only) => {}
            only @ ([] | [_]) => found.push(
                finding(format!("`{name}` has `pages`, but no result that could carry the next cursor"))
                    .label("nothing would lead to the next page")
                    .changes(
                        match only.first() {
                            Some(only) => {
                                format!("give its reply a payload, `{} (_)`, or remove `pages`", only.table.name)
                            }
                            None => "remove `pages`".to_owned(),
                        },
                        [match only.first() {
                            Some(only) => TextChange::Payload(only.table.name.to_string()),
                            None => Edit::delete(pages.span).into(),
                        }],
                    ),
            ),
            [first, second, ..] => found.push(
                finding(format!("`{name}` has `pages` and several replies"))
                    .label("which of them is a page?")
                    .also(first.span, "one reply")
                    .also(second.span, "another reply")
                    .suggest(
                        "remove `pages`, or declare the request with the other reply as a message of its own, with a \
                         condition",
                        [Edit::delete(pages.span)],
                    ),
            ),
        }
    }
    found
}

fn carries_nothing(message: &Message) -> bool {
    matches!(message.table.payload, Payload::None | Payload::Null)
}
