//! `Name only = S`: where sub-sessions are suspended.

use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;

/// `only` where sub-sessions cannot be suspended: in a sub-session, in parallel with another linear channel, and where
/// sub-sessions are opened.
pub const MISPLACED: Code = Code("S0408");
/// `only` where there is nothing that could go on.
pub const STOPS_NOTHING: Code = Code("S0409");

/// `Name only = *S ⊕ …`, `Name only = (A, B)`; `opened` is the `*`.
pub fn channels(span: Span, name: &str, opened: Option<Span>) -> Diagnostic {
    let found = match opened {
        Some(opened) => {
            Diagnostic::error(MISPLACED, span, format!("`{name}` is marked `only`, and opens instances"))
                .label("no instance takes a step here")
                .also(opened, "instances are opened here")
        }
        None => Diagnostic::error(MISPLACED, span, format!("`{name}` is marked `only`, and starts channels"))
            .label("several channels start in this definition"),
    };
    found.suggest(
        format!("delete `only` in `{name}`, or let it lead to another definition that has the channels"),
        [Edit::delete(span)],
    )
}

/// `*S` with `S only = …`.
pub fn in_a_sub_session(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(MISPLACED, span, format!("`{name}` is marked `only`, and is part of a `*`"))
        .label("an instance has no instances of its own")
        .suggest(
            "delete `only` here: it stands behind the name of a linear channel's definition, in whose states sub-sessions \
             are suspended",
            [Edit::delete(span)],
        )
}

/// `(A, B)` with `A only = …`.
pub fn parallel_to_another(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(
        MISPLACED,
        span,
        format!("`{name}` is marked `only`, but runs in parallel with another channel"),
    )
    .label("instances belong to all channels of the session")
    .with_note("which of several linear channels says its last word first may depend on what is on its way")
    .suggest("delete `only`, or have no other linear channel run at that time", [Edit::delete(span)])
}

/// Nothing is suspended: the role has no sub-sessions, or no message leads here.
pub fn stops_nothing(span: Span, name: &str, no_sub_sessions: bool) -> Diagnostic {
    Diagnostic::warning(STOPS_NOTHING, span, format!("`only` stops nothing in `{name}`"))
        .label(match no_sub_sessions {
            true => "this role has no instances",
            false => "no message leads here",
        })
        .suggest("delete `only`", [Edit::delete(span)])
}
