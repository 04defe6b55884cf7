//! Recursion: guarded, and within one channel.

use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// A loop or definition that comes back to itself without a message.
pub const UNGUARDED: Code = Code("S0201");
/// A loop that leaves its channel.
pub const ACROSS: Code = Code("S0202");
/// A branch that `rec` has taken in.
pub const BRANCH_OF_LOOP: Code = Code("S0203");
/// `dual` before a recursion variable.
pub const DUAL_OF_VARIABLE: Code = Code("S0204");

/// What a loop cannot cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// `( , )`
    Parallel,
    /// `*`
    Replicated,
}

impl Barrier {
    fn text(self) -> &'static str {
        match self {
            Barrier::Parallel => "`( , )`",
            Barrier::Replicated => "`*`",
        }
    }
}

/// A variable used on the other side of `( , )` or `*`.
pub fn across(name: &Name, bound: Span, barrier: Barrier, at: Span) -> Diagnostic {
    let text = barrier.text();
    Diagnostic::error(
        ACROSS,
        name.span,
        format!("recursion across {text}: `{}` is bound outside of it", name.text),
    )
    .label("would start the outer loop again from within")
    .also(bound, "bound here")
    .also(at, format!("this {text} lies between"))
    .with_note("a loop that starts new channels each time round would need states without end")
    .help(match barrier {
        Barrier::Parallel => "put the part that repeats in `*( … )`, beside the loop instead of inside it",
        Barrier::Replicated => "`*` repeats by itself: end the copy in `End`",
    })
    .helps_if(
        barrier == Barrier::Parallel,
        "or, if one of the two is to happen, write `⊕` or `&` in place of the comma",
    )
}

/// A definition that comes back to itself across `( , )` or `*`.
pub fn definition_across(name: &str, used: Span, barrier: Barrier) -> Diagnostic {
    let text = barrier.text();
    Diagnostic::error(
        ACROSS,
        used,
        format!("recursion across {text}: `{name}` leads back to itself through it"),
    )
    .label(format!("this {text} would be reached again and again"))
    .with_note("a loop that starts new channels each time round would need states without end")
    .help("put the part that repeats in `*( … )`, beside the loop instead of inside it")
}

/// `rec X . X`, `A = A`.
pub fn unguarded(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(UNGUARDED, span, format!("`{name}` comes back to itself without a message in between"))
        .label("this loop would never do anything")
        .help(format!("put a message before the way back: `rec {name} . ( !Message . {name} ⊕ End )`"))
}

/// `rec x . ( … ) ⊕ End`, where the branch after the parentheses is in the loop.
pub fn branch_belongs_to_loop(variable: &Name, branch: Span) -> Diagnostic {
    let name = &variable.text;
    Diagnostic::warning(
        BRANCH_OF_LOOP,
        branch,
        format!("this branch belongs to the loop `rec {name}`, though `{name}` is not in it"),
    )
    .label("offered each time round")
    .also(variable.span, "`rec` takes everything to its right")
    .help(format!(
        "if that is meant, say so with parentheses: `rec {name} . ( … ⊕ … )`; if not, put the loop in parentheses: `( rec {name} . … )`"
    ))
}

/// `dual x` where x is a variable.
pub fn dual_of_variable(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(DUAL_OF_VARIABLE, span, format!("`dual` before the recursion variable `{name}`"))
        .label("only a definition has a dual here")
        .help(format!("name the loop with a definition, `Loop = rec {name} . ( … )`, and write `dual Loop`"))
}
