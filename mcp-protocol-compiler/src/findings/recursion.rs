//! Recursion: guarded, and within one channel.

use crate::ast::{Name, Operator};
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::findings::choices;
use crate::source::Span;

/// A loop or definition that comes back to itself without a message.
pub const UNGUARDED: Code = Code("S0201");
/// A loop that leaves its channel.
pub const ACROSS: Code = Code("S0202");
/// A branch that `rec` has taken in.
pub const BRANCH_OF_LOOP: Code = Code("S0203");
/// `dual` before a recursion variable.
pub const DUAL_OF_VARIABLE: Code = Code("S0204");
/// A loop that nothing starts again.
pub const NEVER_AGAIN: Code = Code("S0205");

/// What a loop cannot cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
            Barrier::Replicated => "inside an instance",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Barrier::Parallel => {
                "`( , )` runs its channels at once, so none of them can start the whole again"
            }
            Barrier::Replicated => {
                "`*` runs any number of instances at once, so none of them can start what is around it again"
            }
        }
    }
}

/// A variable used on the other side of `( , )` or `*`.
///
/// `chooser` is the operator that could stand for the comma. `ends` are the places where a sub-session could end
/// instead of going on as the variable; none if that would leave a sub-session without a message.
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
            .changes(choices::in_place_of_comma(chooser), [TextChange::Commas(at, choices::sign(chooser))])
            .changes(
                format!(
                    "if both are to happen, put the part that repeats in `*( … )`, with `End` in place of `{}`, and \
                     leave the loop out",
                    name.text
                ),
                [TextChange::Replicate { used: name.span, variable: bound }],
            )
            .otherwise("if both are to happen, put the part that repeats in `*( … )`, outside the loop"),
        Barrier::Replicated if ends.is_empty() => diagnostic.suggest(
            format!("go on as `{}`, without `*`: the loop repeats already", name.text),
            [Edit::delete(Span { end: name.span.start, ..at })],
        ),
        Barrier::Replicated => {
            diagnostic.suggest("`*` repeats by itself: end the instance in `End`", ends.iter().map(|end| Edit::replace(*end, "End")))
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
    .help(match barrier {
        Barrier::Parallel => "put the part that repeats in `*( … )`, outside the loop".to_owned(),
        Barrier::Replicated => {
            format!("`*` repeats by itself: write `End` where its instance comes to `{name}`")
        }
    })
}

/// `rec X . X`, `A = A`.
pub fn unguarded(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(UNGUARDED, span, format!("`{name}` comes back to itself without a message in between"))
        .label("this loop would never do anything")
        .changes(
            format!(
                "put a message before the way back, `!Again . {name}`, where `Again` is one of yours or a new \
                 `notification Again \"again\"`"
            ),
            [
                TextChange::Declare { name: "Again".to_owned(), item: "notification Again \"again\"".to_owned() },
                TextChange::Guard(name.to_owned(), "!Again . ".to_owned()),
            ],
        )
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
    .changes(
        format!("if that is meant, say so with parentheses around all branches: `rec {name} . ( … )`"),
        [TextChange::Parentheses(variable.span)],
    )
    .changes(
        format!("if not, put the loop alone in parentheses: `( rec {name} . … )`"),
        [TextChange::EndLoop(variable.span, branch)],
    )
}

/// `rec x . !A . End`: nothing starts the loop again. `ends` is where its branches end.
pub fn never_again(variable: &Name, ends: &[Span]) -> Diagnostic {
    let name = &variable.text;
    let finding =
        Diagnostic::warning(NEVER_AGAIN, variable.span, format!("nothing starts the loop `{name}` again"))
            .label("`rec` names a place, and does not repeat by itself");
    match ends {
        [] => finding.help(format!("write `{name}` where it starts again, or delete `rec {name} .`")),
        _ => finding.suggest(
            format!("write `{name}` in place of `End` where it starts again, or delete `rec {name} .`"),
            ends.iter().map(|end| Edit::replace(*end, name.as_str())),
        ),
    }
}

/// `dual x` where x is a variable.
pub fn dual_of_variable(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(DUAL_OF_VARIABLE, span, format!("`dual` before the recursion variable `{name}`"))
        .label("only a definition has a dual here")
        .changes(
            format!(
                "name the loop with a definition, `Loop = rec {name} . ( … )`, write `dual Loop` here, and `Loop` where \
                 the loop stood"
            ),
            [TextChange::NameLoop(span, "Loop".to_owned())],
        )
}
