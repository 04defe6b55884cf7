//! What is counted in a log, and what limits the verdict.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::Strictness;
use mcp_runtime::observer::ObservedKind;

use super::causes::Again;
use super::finding::Finding;

/// How many remarks, repeated findings and revisions are listed.
const LISTED: usize = 20;

/// The counts of one log, or of one session in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) sessions: u64,
    pub(crate) requests: u64,
    pub(crate) notifications: u64,
    pub(crate) results: u64,
    pub(crate) errors: u64,
    pub(crate) malformed: u64,
    /// Lines that cannot be used.
    pub(crate) broken: u64,
    pub(crate) must: u64,
    pub(crate) should: u64,
    /// Why the log may have no message, where it shows it.
    pub(crate) silent: Option<&'static str>,
    /// How many sessions each revision has governed.
    pub(crate) revisions: BTreeMap<String, u64>,
    /// What was not observed.
    pub(crate) unobserved: BTreeSet<String>,
    /// How many sessions were judged from each state on, as the log does not have their beginning.
    middles: BTreeMap<String, Middles>,
    /// The beginning of a session is not in the log.
    pub(crate) begins_within: bool,
    /// What was found again and again.
    pub(crate) again: Vec<Again>,
}

/// Sessions that were judged from one state on.
#[derive(Clone, Copy, Debug)]
struct Middles {
    /// The line in which the first of them begins.
    line: u64,
    count: u64,
}

impl Summary {
    /// The counts of one session.
    pub(crate) fn of_session() -> Summary {
        Summary { sessions: 1, ..Summary::default() }
    }

    /// The level of the worst finding.
    pub(crate) fn worst(&self) -> Option<Strictness> {
        match (self.must, self.should) {
            (0, 0) => None,
            (0, _) => Some(Strictness::Should),
            _ => Some(Strictness::Must),
        }
    }

    pub(crate) fn count(&mut self, kind: ObservedKind) {
        let count = match kind {
            ObservedKind::Request => &mut self.requests,
            ObservedKind::Notification => &mut self.notifications,
            ObservedKind::Result => &mut self.results,
            ObservedKind::Error => &mut self.errors,
            _ => &mut self.malformed,
        };
        *count += 1;
    }

    /// Counts a finding, and adds it to those that were found.
    pub(super) fn emit(&mut self, finding: Option<Finding>, found: &mut Vec<Finding>) {
        if let Some(finding) = finding {
            self.found(&finding);
            found.push(finding);
        }
    }

    pub(crate) fn found(&mut self, finding: &Finding) {
        match finding.level {
            Strictness::Must => self.must += 1,
            Strictness::Should => self.should += 1,
        }
    }

    pub(crate) fn messages(&self) -> u64 {
        self.requests + self.notifications + self.results + self.errors + self.malformed
    }

    /// Something limits the verdict.
    pub(crate) fn not_observed(&mut self, what: impl Into<String>) {
        if self.unobserved.len() < LISTED {
            self.unobserved.insert(what.into());
        }
    }

    /// The log does not have the beginning of a session, which is judged from a state on.
    pub(crate) fn began_in(&mut self, state: String, line: u64) {
        self.add_middles(state, Middles { line, count: 1 });
    }

    fn add_middles(&mut self, state: String, new: Middles) {
        if self.middles.len() < LISTED || self.middles.contains_key(&state) {
            let known = self.middles.entry(state).or_insert(Middles { count: 0, ..new });
            (known.line, known.count) = (known.line.min(new.line), known.count + new.count);
        }
    }

    /// No other session follows: what its sessions have in common is listed once.
    pub(crate) fn close(&mut self) {
        self.begins_within |= !self.middles.is_empty();
        for (state, Middles { line, count }) in std::mem::take(&mut self.middles) {
            let which = match count {
                1 => format!("the session in line {line}"),
                count => format!("{count} sessions, the first of them in line {line}"),
            };
            self.not_observed(format!(
                "the beginning of {which}: judged from the state `{state}` on, with any capability"
            ));
        }
    }

    /// A revision has governed a session.
    pub(crate) fn governed(&mut self, revision: String) {
        if self.revisions.len() < LISTED || self.revisions.contains_key(&revision) {
            *self.revisions.entry(revision).or_default() += 1;
        }
    }

    /// Adds the counts of a session, or of another log.
    pub(crate) fn add(&mut self, other: Summary) {
        let Summary {
            sessions,
            requests,
            notifications,
            results,
            errors,
            malformed,
            broken,
            must,
            should,
            begins_within,
            ..
        } = other;
        self.begins_within |= begins_within;
        self.sessions += sessions;
        self.requests += requests;
        self.notifications += notifications;
        self.results += results;
        self.errors += errors;
        self.malformed += malformed;
        self.broken += broken;
        self.must += must;
        self.should += should;
        for (revision, count) in other.revisions {
            if self.revisions.len() < LISTED || self.revisions.contains_key(&revision) {
                *self.revisions.entry(revision).or_default() += count;
            }
        }
        for (state, middles) in other.middles {
            self.add_middles(state, middles);
        }
        other.unobserved.into_iter().for_each(|what| self.not_observed(what));
        let room = LISTED.saturating_sub(self.again.len());
        self.again.extend(other.again.into_iter().take(room));
    }
}
