//! What a typed API needs beyond a sound machine.

use mcp_protocol_machine::protocol::{Action, Direction};

use crate::compiled::Compiled;
use crate::declarations::PayloadType;
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::findings::declarations::NO_CURSOR;
use crate::plan::{Body, body, indices};

/// A message that no declaration binds to the wire.
pub(crate) const UNDECLARED: Code = Code("S0603");
/// A payload that is not a Rust type.
pub(crate) const NOT_A_TYPE: Code = Code("S0604");
/// A `*` body that opens sub-sessions.
pub(crate) const LONG_SUB_SESSION: Code = Code("S0902");

/// Finds what keeps code from being generated.
pub(crate) fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let mut found = Vec::new();
    for (_, message) in indices(declarations) {
        let name = &message.table.name;
        if message.undeclared {
            found.push(
                Diagnostic::error(UNDECLARED, message.span, format!("`{name}` has no declaration"))
                    .label("nothing says what this is on the wire")
                    .help(format!(
                        "declare it: `notification {name} \"its/method\"` or `request {name} \"its/method\" -> …`"
                    )),
            );
        }
        if let PayloadType::Type(path) = &message.payload
            && syn::parse_str::<syn::Type>(&path.text).is_err()
        {
            found.push(
                Diagnostic::error(NOT_A_TYPE, path.span, format!("`{}` is not a Rust type", path.text))
                    .label("the code could not name it")
                    .suggest(
                        "write the path of a type, such as `a_crate::a_module::Type`, or `_` for any JSON",
                        [Edit::replace(path.span, "_")],
                    ),
            );
        }
    }
    found.extend(pages_without_calls(compiled));
    for automaton in compiled.client.iter().chain(&compiled.server) {
        for edge in automaton.states.iter().flat_map(|state| &state.edges) {
            let Action::Spawn(target) = edge.action else { continue };
            let reported = found.iter().any(|known: &Diagnostic| {
                known.code == LONG_SUB_SESSION && known.labels.iter().any(|label| label.span == edge.span)
            });
            let opened =
                automaton.sub_sessions.iter().any(|sub_session| sub_session.starts.contains(&target));
            if body(automaton, declarations, target) == Body::Longer && !opened && !reported {
                let name = declarations
                    .messages
                    .get(usize::from(edge.message.0))
                    .map_or("", |message| &message.table.name);
                let defined = format!("{name}Session");
                found.push(
                    Diagnostic::error(LONG_SUB_SESSION, edge.span, "a sub-session needs a name")
                        .label(format!("what `{name}` opens is more than a request and its reply"))
                        .changes(
                            format!("make it a definition, `{defined} = …`, and write `*{defined}` here"),
                            [TextChange::NameBody(edge.span, defined)],
                        ),
                );
            }
        }
    }
    found
}

/// `pages` needs a request of a replicated channel, because a linear one cannot be repeated freely.
fn pages_without_calls(compiled: &Compiled) -> Vec<Diagnostic> {
    let declarations = &compiled.declarations;
    let mut found = Vec::new();
    for (index, message) in indices(declarations) {
        let Some(pages) = &message.pages else { continue };
        let mut sent = None;
        let mut called = false;
        for automaton in compiled.client.iter().chain(&compiled.server) {
            let edges = automaton.states.iter().flat_map(|state| &state.edges);
            for edge in edges.filter(|edge| edge.direction == Direction::Send && edge.message == index) {
                match edge.action {
                    Action::Spawn(target) => {
                        called |= matches!(body(automaton, declarations, target), Body::Reply(_));
                    }
                    Action::Step(_) => {}
                }
                sent = sent.or(Some(edge.span));
            }
        }
        if let Some(sent) = sent.filter(|_| !called) {
            let name = &message.table.name;
            found.push(
                Diagnostic::error(
                    NO_CURSOR,
                    pages.span,
                    format!("`{name}` has `pages`, but is not a request of a `*` that ends with its reply"),
                )
                .label("page after page would have to be asked for in between")
                .also(sent, "sent here")
                .suggest(
                    format!("remove `pages`, or give it a channel of its own, `*( !{name} . ?reply . End )`"),
                    [Edit::delete(pages.span)],
                ),
            );
        }
    }
    found
}
