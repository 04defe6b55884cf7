//! The tree of a session type: choices, sequences, actions, and their levels.

use super::Name;
use crate::source::Span;

/// One entry of `[should "L5" out, must "L8" in error -32002]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Whether it is `must` (else `should`).
    pub must: bool,
    /// The rule's name, without quotes.
    pub rule: Option<Name>,
    /// `out` or `in`, where the two differ.
    pub direction: Option<LevelDirection>,
    /// The code after `error`.
    pub error: Option<i64>,
    /// Where the entry stands.
    pub span: Span,
}

/// Which messages a level speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelDirection {
    /// `out`: what this role sends.
    Out,
    /// `in`: what the peer sends.
    In,
}

/// `seq ( ('⊕' seq)+ | ('&' seq)+ )?`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The branches, at least one.
    pub branches: Vec<Sequence>,
    /// The operators between them (and the leading one, if written), in order; the checks refuse two kinds at one
    /// level.
    pub operators: Vec<(Operator, Span)>,
    /// From the first to the last token.
    pub span: Span,
}

impl Choice {
    /// The operator that lets the role that acts first in these types choose among them; nothing if that is not one
    /// role.
    pub fn chooser(parts: &[Choice]) -> Option<Operator> {
        let mut signs = parts.iter().flat_map(|part| &part.branches).map(Sequence::sends_first);
        let first = signs.next()??;
        signs.all(|sign| sign == Some(first)).then_some(match first {
            true => Operator::Internal,
            false => Operator::External,
        })
    }
}

impl Sequence {
    /// Whether the first action is `!M`, as far as this text alone tells.
    fn sends_first(&self) -> Option<bool> {
        match (self.actions.first(), &self.tail) {
            (Some(action), _) => Some(action.send),
            (None, Tail::Group(inner, _) | Tail::Recursion { body: inner, .. }) => {
                // What is deeper is not worth a suggestion.
                inner.branches.first()?.actions.first().map(|action| action.send)
            }
            _ => None,
        }
    }
}

/// The operator of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `⊕`, `(+)`: this role chooses.
    Internal,
    /// `&`: the peer chooses.
    External,
}

/// `!A . ?B . … . atom`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The actions in order, possibly none.
    pub actions: Vec<Action>,
    /// What stands at the end.
    pub tail: Tail,
    /// From the first to the last token.
    pub span: Span,
}

/// `!M` or `?M`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Whether it is `!` (else `?`).
    pub send: bool,
    /// The message, a group, or `reply`.
    pub message: Name,
    /// `[should "L5"]` after it.
    pub levels: Vec<Level>,
    /// From the sign on.
    pub span: Span,
}

/// What a sequence ends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// `End`
    End(Span),
    /// A definition or a recursion variable.
    Name(Name),
    /// `dual Name`
    Dual {
        /// The name.
        name: Name,
        /// From `dual` on.
        span: Span,
    },
    /// `rec α . choice`
    Recursion {
        /// The variable.
        variable: Name,
        /// Its body: everything to the right.
        body: Box<Choice>,
        /// Whether the body is written in parentheses and ends with them, `rec α . ( … )`; the body then is one
        /// branch whose tail is that [`Tail::Group`].
        parenthesised: bool,
        /// From `rec` on.
        span: Span,
    },
    /// `( choice )`
    Group(Box<Choice>, Span),
    /// `( choice , choice , … )`
    Parallel(Vec<Choice>, Span),
    /// `* atom`
    Replicated(Box<Tail>, Span),
    /// Nothing could be read; an error has been reported.
    Missing(Span),
}

impl Tail {
    /// Its place, if it could be read.
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Tail::Name(name) => Some(name.span),
            Tail::End(span)
            | Tail::Dual { span, .. }
            | Tail::Recursion { span, .. }
            | Tail::Group(_, span)
            | Tail::Parallel(_, span)
            | Tail::Replicated(_, span) => Some(*span),
            Tail::Missing(_) => None,
        }
    }
}
