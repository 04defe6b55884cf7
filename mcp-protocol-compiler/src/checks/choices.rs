//! Choices: one operator at a level, branches that start with different actions, and somebody to choose.

use crate::ast::Operator;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// `⊕` and `&` at one level.
pub const TWO_OPERATORS: Code = Code("S0211");
/// A branch without a first action.
pub const NO_FIRST_ACTION: Code = Code("S0212");
/// Two branches that start alike.
pub const SAME_FIRST_ACTION: Code = Code("S0213");
/// A choice that its operator gives to the wrong role.
pub const AGAINST_OPERATOR: Code = Code("S0214");

/// `!A . S ⊕ ?B . T & ?C . U`
pub fn two_operators(first: Span, other: Span) -> Diagnostic {
    Diagnostic::error(TWO_OPERATORS, other, "`⊕` and `&` stand at one level")
        .label("this operator differs")
        .also(first, "from this one")
        .with_note("`⊕` says that this role chooses, `&` that the peer does; a branch that starts with a message belongs to its sender under either")
        .help("use one operator throughout, or put the inner choice in parentheses")
}

/// How to choose among what stands between commas, if `chooser` is who acts first.
pub fn in_place_of_comma(chooser: Option<Operator>) -> &'static str {
    match chooser {
        Some(Operator::Internal) => "write `⊕` or `(+)` in place of `,` if only one of them is to happen",
        Some(Operator::External) => "write `&` in place of `,` if only one of them is to happen",
        None => {
            "write `⊕` (this role picks) or `&` (the peer picks) in place of `,` if only one of them is to happen"
        }
    }
}

/// A branch that is several channels, or nothing that can be told apart.
pub fn no_first_action(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(NO_FIRST_ACTION, span, format!("this branch starts with {what}, not with an action"))
        .label("nobody could tell when it is taken")
        .help("start the branch with a message, `!M . …` or `?M . …`")
}

/// Two branches `!M`.
pub fn same_first_action(action: &str, again: Span, first: Span) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(SAME_FIRST_ACTION, again, format!("two branches start with `{action}`"))
            .label("nobody could tell which of the two is meant");
    if again == first {
        return diagnostic.help("what stands here is a branch of one choice twice: let it be one branch");
    }
    diagnostic.also(first, "the other one").help(format!(
        "join them: `{action} . ( … ⊕ … )` with what differs behind the message, or use another message"
    ))
}

/// `?A . S ⊕ ?B . T`
pub fn against_operator(operator: Operator, span: Span) -> Diagnostic {
    let (message, label, help) = match operator {
        Operator::Internal => (
            "`⊕` lets this role choose, but every branch starts with a message from the peer",
            "the peer chooses here",
            "write `&` between the branches, or `!` where this role sends",
        ),
        Operator::External => (
            "`&` lets the peer choose, but every branch starts with a message to the peer",
            "this role chooses here",
            "write `⊕` (or `(+)`) between the branches, or `?` where the peer sends",
        ),
    };
    Diagnostic::error(AGAINST_OPERATOR, span, message).label(label).help(help)
}
