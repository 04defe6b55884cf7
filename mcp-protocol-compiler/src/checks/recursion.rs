//! Recursion: guarded, and within one channel.

use crate::ast::{Name, Operator};
use crate::checks::choices;
use crate::diagnostic::{Code, Diagnostic, Edit};
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

    /// Where in it the loop is started again.
    fn inside(self) -> &'static str {
        match self {
            Barrier::Parallel => "inside a channel",
            Barrier::Replicated => "inside a copy",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Barrier::Parallel => {
                "`( , )` runs its channels at once, so none of them can start the whole again"
            }
            Barrier::Replicated => {
                "`*` runs any number of copies at once, so none of them can start what is around it again"
            }
        }
    }

    fn repeat(self) -> &'static str {
        match self {
            Barrier::Parallel => {
                "put the part that repeats in `*( … )`, beside the loop instead of inside it"
            }
            Barrier::Replicated => "`*` repeats by itself: end the copy in `End`",
        }
    }
}

/// A variable used on the other side of `( , )` or `*`.
///
/// `chooser` is the operator that could stand for the comma. `ends` are the places where a copy could end instead of
/// going on as the variable; none if that would leave a copy without a message.
pub fn across(
    name: &Name,
    bound: Span,
    barrier: Barrier,
    at: Span,
    chooser: Option<Operator>,
    ends: &[Span],
) -> Diagnostic {
    let text = barrier.text();
    let diagnostic = Diagnostic::error(
        ACROSS,
        name.span,
        format!("`{}` would start the loop around {text} again from {}", name.text, barrier.inside()),
    )
    .label("starts the outer loop")
    .also(bound, "the loop is named here")
    .also(at, format!("this {text} lies between"))
    .with_note(barrier.note());
    match barrier {
        Barrier::Parallel => diagnostic
            .help(choices::in_place_of_comma(chooser))
            .help(format!("if both are to happen, {}", barrier.repeat())),
        Barrier::Replicated if ends.is_empty() => diagnostic.help(format!(
            "`*` repeats by itself what a copy does: write the messages of one copy in place of `{0}`, or go on as `{0}` \
             without `*`",
            name.text
        )),
        Barrier::Replicated => {
            diagnostic.suggest(barrier.repeat(), ends.iter().map(|end| Edit::replace(*end, "End")))
        }
    }
}

/// A definition that comes back to itself across `( , )` or `*`.
pub fn definition_across(name: &str, used: Span, barrier: Barrier) -> Diagnostic {
    let text = barrier.text();
    Diagnostic::error(
        ACROSS,
        used,
        format!("`{name}` would be started again from {} of {text}", barrier.inside()),
    )
    .label(format!("this {text} would be reached again and again"))
    .with_note(barrier.note())
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
