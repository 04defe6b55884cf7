//! What has been said of a place already.

use std::collections::{HashMap, HashSet};
use std::mem::Discriminant;

use crate::automaton::finding::{Finding, FindingKind};
use crate::diagnostic::limit::{LIMIT, LIMIT_OF_ALL};
use crate::source::Span;

/// The findings of one role so far: all before `checked` are reported.
pub(super) struct Told {
    checked: usize,
    errors: bool,
    told: HashSet<Finding>,
    /// How many of a kind have been told at a place.
    places: HashMap<(Discriminant<FindingKind>, Span), usize>,
}

impl Told {
    /// Of findings that come behind these.
    pub(super) fn behind(before: &[Finding]) -> Told {
        Told { checked: before.len(), errors: false, told: HashSet::new(), places: HashMap::new() }
    }

    /// Whether there is an error among the findings that were looked at.
    pub(super) fn errors(&self) -> bool {
        self.errors
    }

    /// Removes what has been reported before, and what would not be read: more than a few of one kind at one place, and
    /// more than a few times what is shown in all.
    pub(super) fn forget_repeated(&mut self, findings: &mut Vec<Finding>) {
        if findings.len() == self.checked {
            return;
        }
        let new = findings.split_off(self.checked.min(findings.len()));
        for finding in new {
            self.errors |= finding.is_error();
            if self.told.len() >= MOST_TOLD || !self.told.insert(finding.clone()) {
                continue;
            }
            let known = self.places.entry(finding.kind()).or_default();
            *known += 1;
            if *known <= LIMIT {
                findings.push(finding);
            }
        }
        self.checked = findings.len();
    }
}

/// How many findings of one role are held, far more than are shown.
const MOST_TOLD: usize = 20 * LIMIT_OF_ALL;
