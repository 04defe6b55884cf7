//! Violations that a peer repeats, of which not all are reported.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use mcp_protocol_machine::protocol::MessageIndex;
use mcp_protocol_machine::{Violation, ViolationKind};

use super::Report;
use super::limit::{LimitedReport, ReportLimit};

/// What is violated: a message, in one way. All messages that the protocol does not have count as one.
type Violated = (Option<MessageIndex>, Discriminant<ViolationKind>);

/// Counts violations, so that a peer which repeats one is reported in few words.
///
/// Invariant: there are at most as many entries as the protocol has messages, for each kind of violation.
#[derive(Debug, Default)]
pub(crate) struct RepeatedViolations {
    #[expect(
        clippy::box_collection,
        reason = "most sessions have none, and there may be very many sessions"
    )]
    counted: Option<Box<HashMap<Violated, RepeatedViolation>>>,
}

#[derive(Debug, Default)]
struct RepeatedViolation {
    limit: ReportLimit,
    /// The one that was left out last.
    left_out: Option<Violation>,
}

impl RepeatedViolations {
    /// There is another violation. Returns what is reported of it.
    pub(crate) fn another(&mut self, violation: Violation) -> Option<Report> {
        let violated = (violation.got.message, discriminant(&violation.kind));
        let counted = self.counted.get_or_insert_default().entry(violated).or_default();
        match counted.limit.another() {
            LimitedReport::Whole => Some(Report::Violation(violation)),
            LimitedReport::Count(count) => Some(Report::ManyViolations { violation, count }),
            LimitedReport::Nothing => {
                counted.left_out = Some(violation);
                None
            }
        }
    }

    /// At the end of a session: what was not said yet.
    pub(crate) fn rest(&mut self) -> Vec<Report> {
        let counted = self.counted.take().unwrap_or_default();
        let rest = counted.into_values().filter_map(|RepeatedViolation { mut limit, left_out }| {
            Some(Report::ManyViolations { count: limit.rest()?, violation: left_out? })
        });
        let mut rest: Vec<_> = rest.collect();
        // The order of a hash map is not one of reports.
        rest.sort_by_cached_key(ToString::to_string);
        rest
    }
}
