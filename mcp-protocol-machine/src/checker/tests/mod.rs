//! Tests of the checker: single situations on tables made by hand, and random walks against a slow model.

mod cancels;
mod conditions;
mod early;
mod exchanges;
mod fences;
mod forked;
mod gates;
mod governed;
mod keyed;
mod late;
mod model;
mod nested;
pub(crate) mod random;
mod random_walks;
mod reconnected;
mod sessions;
mod suspended;
mod tables;
mod trails;

use crate::protocol::{Condition, Direction, MessageIndex, Side, StateIndex};
use crate::{About, Capabilities, Checker, RequestId, Step, StepKind, Violation};
use tables::{Small, small};

/// No condition applies.
fn never(_: &Condition) -> bool {
    false
}

fn id(number: i64) -> RequestId {
    RequestId::Number(number)
}

impl Checker {
    fn ask(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        number: i64,
    ) -> Result<StepKind, Violation> {
        self.request(direction, message, &id(number), None, never).map(|step| step.kind)
    }

    fn answer(
        &mut self,
        direction: Direction,
        number: i64,
        message: MessageIndex,
    ) -> Result<StepKind, Violation> {
        self.reply(direction, &id(number), message).map(|step| step.kind)
    }

    fn tell(&mut self, direction: Direction, message: MessageIndex) -> Result<StepKind, Violation> {
        self.notification(direction, message, About::Nothing, never).map(|step| step.kind)
    }

    fn cancel_request(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        number: i64,
    ) -> Result<StepKind, Violation> {
        self.notification(direction, message, About::Request(&id(number)), never).map(|step| step.kind)
    }

    fn report_on(
        &mut self,
        direction: Direction,
        message: MessageIndex,
        token: i64,
    ) -> Result<StepKind, Violation> {
        self.notification(direction, message, About::Token(&id(token)), never).map(|step| step.kind)
    }
}

/// A session of the small protocol in `Active`, everything announced.
fn active() -> (Small, Checker) {
    active_in(small())
}

fn active_in(small: Small) -> (Small, Checker) {
    let state = small.protocol.role(Side::Client).unwrap().by_name("Active").unwrap();
    let mut checker = Checker::resume(small.protocol.clone(), Side::Client, state).unwrap();
    checker.announce(Side::Client, Capabilities::unknown());
    checker.announce(Side::Server, Capabilities::unknown());
    (small, checker)
}

fn linear(from: u32, to: u32) -> StepKind {
    StepKind::Linear { from: StateIndex(from), to: StateIndex(to) }
}

/// Whether a message is to be reported and dropped.
fn is_late(kind: StepKind) -> bool {
    matches!(kind, StepKind::Late(_)) && kind.is_dropped()
}

const ENDED: StepKind = StepKind::SubSession { ended: true };

fn accepted(step: Result<Step, Violation>) -> Step {
    step.unwrap_or_else(|violation| panic!("{violation}"))
}
