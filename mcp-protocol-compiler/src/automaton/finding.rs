//! What can be wrong with a session type.

use std::mem::{Discriminant, discriminant};

use mcp_protocol_machine::protocol::{Direction, KeyIndex, MessageIndex};

use super::raw::Step;
use crate::ast::{Name, Operator};
use crate::findings::channels::SharedBodies;
use crate::findings::recursion::Barrier;
use crate::source::Span;

/// One finding: what, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Finding {
    pub(super) at: Span,
    pub(super) what: FindingKind,
}

/// What was found; `words` says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum FindingKind {
    /// A message or group that nothing declares.
    UndefinedMessage(Name),
    /// A name that nothing defines; the loops around it, or behind `dual` none and the other role.
    UndefinedDefinition {
        name: Name,
        variables: Option<Vec<String>>,
        other_role: Option<String>,
        /// It stands right behind a `*`.
        replicated: bool,
    },
    /// A definition that no role reaches.
    UnusedDefinition(Name),

    /// Another operator than the first of its level.
    TwoOperators {
        first: (Operator, Span),
    },
    /// A branch that begins with this, and not with an action.
    NoFirstAction(&'static str),
    /// A branch that is several replicated channels, where each could be one.
    ChannelsOfBranch {
        channels: Span,
        operator: Option<Operator>,
    },
    /// Two branches that begin alike.
    SameFirstAction {
        action: Step,
        first: Span,
    },
    /// A choice of the role that does not choose here.
    AgainstOperator(Operator),

    /// A loop that leaves its channel. `ends` are the places where a sub-session could end instead.
    Across {
        name: Name,
        bound: Span,
        barrier: Barrier,
        barrier_at: Span,
        chooser: Option<Operator>,
        ends: Vec<Span>,
    },
    /// The same of a definition.
    DefinitionAcross {
        name: String,
        barrier: Barrier,
    },
    /// A loop without a message.
    Unguarded(String),
    /// A branch that belongs to the loop of a variable, and does not use it.
    BranchOfLoop(Name),
    /// A loop that nothing starts again, and where its branches end.
    NeverAgain {
        variable: Name,
        ends: Vec<Span>,
    },
    /// `dual` before a variable.
    DualOfVariable(String),

    /// A reply where its request is not open. `request` is the one it would answer, or one that is open; `other_way`
    /// says that this goes the wrong way.
    WithoutRequest {
        direction: Direction,
        name: String,
        request: Option<Step>,
        other_way: bool,
        before: Option<Before>,
        fits: Option<Fits>,
    },
    /// `reply` where these requests of one side are open.
    Ambiguous {
        asker: Direction,
        open: Vec<MessageIndex>,
    },
    /// A request that is open already. `crossed` is where the same request of the other side was opened, `next` the
    /// loop that the action leads back to.
    OpenAlready {
        request: Step,
        crossed: Option<Span>,
        opened: Option<Span>,
        next: Option<String>,
    },
    /// A request that is open where channels start.
    OpenAcrossChannels(Step),
    /// A request that is not answered. `ends` says that the channel ends, `elsewhere` that another way has the reply,
    /// `crossed` that the same request of the other side is open.
    NeverAnswered {
        request: Step,
        ends: bool,
        elsewhere: bool,
        crossed: bool,
        opened: Option<Span>,
    },
    /// Replies that may come and are not accepted.
    NotAccepted {
        request: MessageIndex,
        missing: Vec<MessageIndex>,
        accepted: Vec<MessageIndex>,
    },

    /// A message of two channels side by side.
    Overlap {
        action: Step,
        first: Span,
        bodies: SharedBodies,
    },
    /// A channel that stands twice among those side by side.
    OverlapWithItself {
        action: Step,
        first: Span,
    },
    /// A `*` body that begins with the reply of a request.
    BodyStartsWithReply {
        direction: Direction,
        name: String,
        request: Option<Step>,
    },
    /// A `*` body that may do nothing.
    BodyMayBeEmpty,
    /// A `*` body that may end without a message.
    BodyMayStop,
    /// Steps that nothing ties to their sub-session, with the keys that it has and what opened it.
    KeylessSteps {
        action: Step,
        others: Vec<(Span, Step)>,
        held: Vec<KeyIndex>,
        opener: Option<(MessageIndex, Span)>,
    },
    /// A message whose envelope is to have the value of a key that no message before has brought.
    MemberWithoutValue {
        action: Step,
        key: KeyIndex,
        in_body: bool,
    },
    /// A later step that opens a sub-session, too; `key` would tell them apart if it were open.
    StepOpensToo {
        action: Step,
        first: Span,
        key: Option<KeyIndex>,
    },
    /// A later step that could be meant for another sub-session or, where its key is open, for none.
    CouldBeAnother {
        action: Step,
        open: bool,
    },
    /// A notification that cancels a request, as a step.
    CancelAsStep(Step),
    /// A notification that reports on a request, as a step.
    ReportAsStep(Step),

    /// `only` on a definition that opens sub-sessions here, or starts channels.
    OnlyWithChannels {
        name: String,
        opened: Option<Span>,
    },
    /// `only` in a sub-session.
    OnlyInSubSession(String),
    /// `only` in parallel with another linear channel.
    OnlyWithParallelChannel(String),
    /// `only` that stops nothing.
    OnlyStopsNothing {
        name: String,
        no_bodies: bool,
    },

    /// A branch for the refusal of what opens a sub-session.
    RefusalEndsSubSession {
        refusal: Step,
        request: MessageIndex,
    },
    /// A refusal that would undo what came after its request.
    WouldUndo {
        request: Step,
        refusal: MessageIndex,
        undone: Step,
        undone_at: Span,
    },
    /// A cancel after which the two sides could be in different states.
    StatesCouldPart {
        request: Step,
        refusal: Option<Step>,
        in_sub_session: bool,
    },
    /// Two cancels in one state.
    TwoCancels {
        request: Step,
        other: MessageIndex,
    },

    /// More than can be built, and the limit.
    TooManyBranches(usize),
    TooManyChannels(usize),
    TooManyEdges(usize),
    TooManyNames(usize),
    TooManyStates(usize),
    /// Too many states that are one place of the text, and how many.
    TooManyOpenSets(usize),
}

/// What comes right before a reply that nothing asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Before {
    pub(super) action: Step,
    pub(super) span: Span,
    /// The group as which it is written.
    pub(super) group: Option<String>,
}

/// The reply that would fit where another one stands: that to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fits {
    /// Where the sign and the name of the other one stand.
    pub(super) place: Span,
    pub(super) request: Step,
}

impl FindingKind {
    /// The finding at a place.
    pub(super) fn at(self, at: Span) -> Finding {
        Finding { at, what: self }
    }
}

impl Finding {
    /// Whether nothing can be built; the others are warnings.
    pub(super) fn is_error(&self) -> bool {
        !matches!(
            self.what,
            FindingKind::UnusedDefinition(_)
                | FindingKind::BranchOfLoop(_)
                | FindingKind::NeverAgain { .. }
                | FindingKind::OnlyStopsNothing { .. }
        )
    }

    /// Which kind of finding it is, and where.
    pub(super) fn kind(&self) -> (Discriminant<FindingKind>, Span) {
        (discriminant(&self.what), self.at)
    }
}

/// How many of some findings are errors.
pub(super) fn errors(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.is_error()).count()
}
