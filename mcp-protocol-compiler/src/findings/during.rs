//! Messages that are permitted only during requests.

use mcp_protocol_machine::protocol::{Kind, MessageIndex, Side};

use crate::ast::Name;
use crate::declarations::{Declarations, Meaning, Message};
use crate::diagnostic::{Code, Diagnostic, Edit};

/// `during` something that is not a request.
pub const NOT_A_REQUEST: Code = Code("S0123");
/// `during` a request that never runs where the message is sent.
pub const NEVER_RUNS: Code = Code("S0124");

/// A name behind `during` that stands for no request; `first` is what it stands for, or the first of it.
pub fn not_a_request(
    name: &Name,
    first: MessageIndex,
    meaning: &Meaning,
    declarations: &Declarations,
) -> Diagnostic {
    let written = &name.text;
    if let Meaning::Group(_) = meaning {
        let message = format!("the group `{written}` has no request, so nothing in it can be running");
        return Diagnostic::error(NOT_A_REQUEST, name.span, message)
            .help("name a request, or a group that has requests");
    }
    let (what, request) = match declarations.message(first).map(|message| message.table.kind) {
        Some(Kind::Reply { request }) => ("a reply", Some(request)),
        Some(Kind::Refusal { request }) => ("an error reply", Some(request)),
        _ => ("a notification", None),
    };
    let message = format!("`{written}` is {what}: only a request can be running");
    let finding = Diagnostic::error(NOT_A_REQUEST, name.span, message);
    match request {
        Some(request) => {
            let request = declarations.message_name(request);
            let edit = Edit::replace(name.span, request.to_owned());
            finding.suggest(format!("write its request, `{request}`"), [edit])
        }
        None => finding.help("name a request, or a group that has requests"),
    }
}

/// A message that one side sends `during` something that the other side never asks. `delete` takes the name away, and
/// `alone` says that nothing else is named.
pub fn never_runs(
    name: &Name,
    message: &Message,
    sender: Side,
    is_own: bool,
    (delete, alone): (Edit, bool),
) -> Diagnostic {
    let (written, sent) = (&name.text, &message.table.name);
    let (word, other) = (sender.word(), sender.other().word());
    let text = format!(
        "the {word} sends `{sent}` while a request of the {other} runs, but the {other} never sends `{written}`"
    );
    let label = match is_own {
        true => format!("sent by the {word} itself"),
        false => "never sent".to_owned(),
    };
    let help = match alone {
        true => format!("name a request of the {other}, or delete `during`"),
        false => "delete it".to_owned(),
    };
    Diagnostic::error(NEVER_RUNS, name.span, text)
        .label(label)
        .also(message.span, format!("`{sent}` is declared here"))
        .suggest(help, [delete])
}
