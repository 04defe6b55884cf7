//! Messages that belong to a request, as steps.

use crate::diagnostic::{Code, Diagnostic, TextChange};
use crate::source::Span;

/// A notification that cancels, as a step of a session type, or one that reports where its receiver could take the step for
/// a report.
pub const NO_STEP: Code = Code("S0310");

/// `!Table . ( ?Seat . End & !Cancel . End )`
pub fn cancel_is_not_a_step(span: Span, action: &str) -> Diagnostic {
    Diagnostic::error(NO_STEP, span, format!("`{action}` cancels a request, and is not a step"))
        .label("comes whenever that request runs")
        .with_note("a cancel may cross whatever is under way, so it cannot have a place among the steps")
        .changes(
            "leave it out, and say `cancellable` behind the request: its calls can be cancelled then, and an instance that it \
             opened is over",
            [TextChange::LeaveOut(span)],
        )
}

/// `!Cook . ?Progress . ?Meal . End`
pub fn progress_is_not_a_step(span: Span, action: &str) -> Diagnostic {
    Diagnostic::error(NO_STEP, span, format!("`{action}` reports progress of a request, and cannot be a step here"))
        .label("with the token of a running request it is a report, and no step")
        .changes(
            "leave it out: it is permitted while its request runs; or, if it is to have a place here, declare it without \
             `reports`",
            [TextChange::LeaveOut(span)],
        )
        .with_note(
            "what also stands alone is written as `*( … . End )`, as a loop of the session, or as a step of a sub-session with \
             a key",
        )
}
