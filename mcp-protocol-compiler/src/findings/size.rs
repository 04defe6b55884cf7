//! Size: what stands for more than can be built.
//!
//! A short text can stand for a machine that is much larger: groups are members of groups, a choice is a branch of
//! many choices, and every channel that runs is offered in every state. The limits here are far above what a protocol
//! needs, and keep the compiler's memory bounded.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// More messages, gates or keys than the tables can number.
pub const TOO_MANY: Code = Code("S0110");
/// A protocol that is too large to be built.
pub const TOO_LARGE: Code = Code("S0115");

/// A message beyond the limit.
pub fn too_many_messages(span: Span) -> Diagnostic {
    Diagnostic::error(TOO_MANY, span, "more than 65,535 messages, replies and error replies")
        .label("this one is beyond the limit")
        .help("split the protocol in two")
}

/// A gate beyond the limit.
pub fn too_many_gates(path: Span) -> Diagnostic {
    Diagnostic::error(TOO_MANY, path, "more than 65,535 capabilities are required")
        .label("this one is beyond the limit")
        .help("require a capability that another message requires, or split the protocol in two")
}

/// A key beyond the limit.
pub fn too_many_keys(name: Span) -> Diagnostic {
    Diagnostic::error(TOO_MANY, name, "more than 65,535 keys")
        .label("this one is beyond the limit")
        .help("let instances share a key, or split the protocol in two")
}

/// Groups whose members are too many when they are written out.
pub fn too_many_members(group: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, group, format!("the groups up to this one have more than {most} members"))
        .label("one too many")
        .with_note("the members of a group in a group count for both")
        .help("put fewer groups into one another")
}

/// A group in a group in a group, and so on.
pub fn groups_too_deep(member: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, member, format!("more than {most} groups in one another"))
        .label("one too many")
        .help("name the messages themselves in one of the groups")
}

/// States with too many names.
pub fn too_many_names(definition: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, definition, format!("the states of this role have more than {most} names"))
        .label("one too many")
        .with_note("a definition that is another one names its state, too, in each place where that stands")
        .help("use one definition in place of those that mean the same")
}

/// Channels side by side that are too many when they are written out.
pub fn too_many_channels(parts: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, parts, format!("more than {most} channels side by side"))
        .label("with those of the definitions that are its parts")
        .help("remove the channels that it has twice")
}

/// A machine with too many edges.
pub fn too_many_edges(place: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, place, format!("the machine of this role has more than {most} edges"))
        .label("one too many")
        .with_note(
            "each member of a group is an edge, and each channel that runs has its edges in each state",
        )
        .help("split the protocol in two")
}

/// A machine with too many states.
pub fn too_many_states(place: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, place, format!("the machine of this role has more than {most} states"))
        .label("one too many")
        .help("split the protocol in two")
}

/// A place that is too many states, each with another set of open requests.
pub fn too_many_open_sets(place: Span, sets: usize) -> Diagnostic {
    let message =
        format!("there are more than {sets} states here, one for each set of requests that may be open");
    Diagnostic::error(TOO_LARGE, place, message)
        .label("the requests before this can be answered in any order")
        .with_note("each further request that may be open here doubles the states")
        .help("let each be a channel of its own, `*( !Request . ?reply . End )`, or have them answered in one order")
}

/// Too many messages that may come late in too many states.
pub fn too_many_late(message: Span, most: usize) -> Diagnostic {
    let what =
        format!("the machines of the roles have more than {most} edges for messages that may come late");
    Diagnostic::error(TOO_LARGE, message, what)
        .label("this is one of the messages that change nothing and may cross others")
        .with_note("such a message is accepted in each state that the other side may have left while it was on its way")
        .help("let it be a channel of its own, `*( !Message . End )`, which all states share")
}

/// A choice with too many branches.
pub fn too_many_branches(choice: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, choice, format!("this choice has more than {most} branches"))
        .label("with those of the choices that are its branches")
        .help("remove the branches that it has twice")
}

/// A record with more fields than anyone needs.
pub fn too_many_fields(record: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, record, format!("this record has more than {most} fields"))
        .label("with those of its spreads")
        .help("put some of them into a record of their own")
}

/// A tuple with more positions than anyone needs.
pub fn too_many_positions(tuple: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, tuple, format!("this tuple has more than {most} positions"))
        .help("write `[shape]` for a list of any length")
}

/// More shapes than anyone needs.
pub fn too_many_shapes(name: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, name, format!("more than {most} shapes"))
        .label("this one is beyond the limit")
        .help("split the protocol in two")
}

/// Spreads, or overrides of what overrides, behind one another.
pub fn records_too_deep(place: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, place, format!("more than {most} records behind one another"))
        .label("one too many")
        .help("write the fields into one of the records")
}
