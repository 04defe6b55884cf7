//! Choices: one operator at a level, branches that start with different actions, and one role that chooses.

use crate::ast::Operator;
use crate::diagnostic::{Code, Diagnostic, TextChange};
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
pub fn two_operators((operator, first): (Operator, Span), other: Span) -> Diagnostic {
    let (sign, other_sign) = match operator {
        Operator::Internal => ("⊕", "&"),
        Operator::External => ("&", "⊕"),
    };
    Diagnostic::error(TWO_OPERATORS, other, "`⊕` and `&` stand at one level")
        .label("this operator differs")
        .also(first, "from this one")
        .with_note("`⊕` says that this role chooses, `&` that the peer does; a branch that starts with a message belongs to its sender under either")
        .changes(
            format!("write `{sign}` in place of `{other_sign}`, or put one of the choices in parentheses"),
            [TextChange::Operators(first, sign)],
        )
}

/// The operator that could stand for a comma.
pub fn sign(chooser: Option<Operator>) -> &'static str {
    match chooser {
        Some(Operator::External) => "&",
        Some(Operator::Internal) | None => "⊕",
    }
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
        .label("neither side could tell when it is taken")
        .changes(
            "start the branch with a message, `!Begin . …`, where `Begin` is one of yours or a new `notification Begin \
             \"begin\"`",
            [
                TextChange::Declare { name: "Begin".to_owned(), item: "notification Begin \"begin\"".to_owned() },
                TextChange::InFront(span, "!Begin . ".to_owned()),
            ],
        )
}

/// A branch `(*A, *B)`, each of which could be one.
pub fn channels_of_branch(at: Span, channels: Span, operator: Option<Operator>) -> Diagnostic {
    let sign = sign(operator);
    Diagnostic::error(NO_FIRST_ACTION, at, "this branch is several channels")
        .label("a branch is one replicated channel, or starts with an action")
        .changes(
            format!("write `{sign}` in place of the commas: each channel is a branch then, and stays open until a step is taken"),
            [TextChange::Commas(channels, sign)],
        )
}

/// Two branches `!M`.
pub fn same_first_action(action: &str, again: Span, first: Span) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(SAME_FIRST_ACTION, again, format!("two branches start with `{action}`"))
            .label("the receiver could not tell which of the two is meant");
    if again == first {
        return diagnostic.help("what stands here is a branch of one choice twice: let it be one branch");
    }
    diagnostic
        .also(first, "the other one")
        .changes(
            format!("join them into one branch, `{action} . ( … )`, with what differs in the parentheses"),
            [TextChange::Join(first, again)],
        )
        .otherwise(format!(
            "join them into one branch, `{action} . ( … )`, with what differs in the parentheses, or use another message"
        ))
}

/// `?A . S ⊕ ?B . T`
pub fn against_operator(operator: Operator, span: Span) -> Diagnostic {
    let (message, label, help, sign) = match operator {
        Operator::Internal => (
            "`⊕` lets this role choose, but every branch starts with a message from the peer",
            "the peer chooses here",
            "write `&` between the branches, or `!` where this role sends",
            "&",
        ),
        Operator::External => (
            "`&` lets the peer choose, but every branch starts with a message to the peer",
            "this role chooses here",
            "write `⊕` (or `(+)`) between the branches, or `?` where the peer sends",
            "⊕",
        ),
    };
    Diagnostic::error(AGAINST_OPERATOR, span, message)
        .label(label)
        .changes(help, [TextChange::Operators(span, sign)])
}
