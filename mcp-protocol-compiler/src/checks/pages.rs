//! Results that come in pages.
//!
//! In: the declared messages. Out: a diagnostic for each request that has `pages` although it, or its result, carries
//! nothing that a cursor could be in. Refuses to look into payloads: that the fields exist is up to their types.

use mcp_protocol_machine::protocol::{Kind, Payload};

use crate::diagnostic::{Code, Diagnostic};
use crate::generate::plan::indices;
use crate::resolve::{Declarations, Message};

/// `pages` where no cursor could be.
pub const NO_CURSOR: Code = Code("S0116");

/// Finds them.
pub fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (request, message) in indices(declarations) {
        let Some(pages) = message.pages.as_ref().filter(|_| message.table.kind == Kind::Request) else {
            continue;
        };
        let name = &message.table.name;
        let finding = |what: String| Diagnostic::error(NO_CURSOR, pages.span, what);
        if carries_nothing(message) {
            found.push(
                finding(format!("`{name}` has `pages`, but no params that could carry a cursor"))
                    .label("the cursor of the next page would go nowhere")
                    .help(format!(
                        "give it params: `{name} \"{}\" (_)`, or remove `pages`",
                        message.table.method
                    )),
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
            [] | [_] => found.push(
                finding(format!("`{name}` has `pages`, but no result that could carry the next cursor"))
                    .label("nothing would lead to the next page")
                    .help("give its reply a payload: `-> Name (_)`, or remove `pages`"),
            ),
            [first, second, ..] => found.push(
                finding(format!("`{name}` has `pages` and several replies"))
                    .label("which of them is a page?")
                    .also(first.span, "one reply")
                    .also(second.span, "another reply")
                    .help("declare the request with the other reply apart, told by a condition, or remove `pages`"),
            ),
        }
    }
    found
}

fn carries_nothing(message: &Message) -> bool {
    matches!(message.table.payload, Payload::None | Payload::Null)
}
