//! Size: what stands for more than can be built.
//!
//! A short text can stand for a machine that is much larger: groups are members of groups, a choice is a branch of
//! many choices, and every channel that runs is offered in every state. The limits here are far above what a protocol
//! needs, and keep the compiler's memory bounded.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A protocol that is too large to be built.
pub const TOO_LARGE: Code = Code("S0115");

/// Groups whose members are too many when they are written out.
pub fn too_many_members(group: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, group, format!("the groups up to this one have more than {most} members"))
        .label("one too many")
        .with_note("the members of a group in a group count for both")
        .help("put fewer groups into one another")
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

/// A choice with too many branches.
pub fn too_many_branches(choice: Span, most: usize) -> Diagnostic {
    Diagnostic::error(TOO_LARGE, choice, format!("this choice has more than {most} branches"))
        .label("with those of the choices that are its branches")
        .help("remove the branches that it has twice")
}
