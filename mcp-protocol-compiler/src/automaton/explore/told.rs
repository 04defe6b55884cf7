//! What has been said of a place already.
//!
//! In: findings as exploring makes them. Out: the same without those that repeat one, so that a place which is a
//! thousand states is not held a thousand times. Refuses to hold more of them than are read.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use crate::diagnostic::limit::{LIMIT, LIMIT_OF_ALL};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::hash::Hasher;
use crate::source::Span;

/// The findings of one role so far: all before `checked` are told.
pub(super) struct Told {
    checked: usize,
    errors: bool,
    /// Their codes, places and messages, these as a number.
    told: HashSet<(Code, Option<Span>, u64)>,
    /// How many have been told with a code at a place.
    places: HashMap<(Code, Option<Span>), usize>,
}

impl Told {
    /// Of findings that come behind these.
    pub(super) fn behind(before: &[Diagnostic]) -> Told {
        Told { checked: before.len(), errors: false, told: HashSet::new(), places: HashMap::new() }
    }

    /// Whether there is an error among the findings that were looked at.
    pub(super) fn errors(&self) -> bool {
        self.errors
    }

    /// Removes what has been reported before, and what would not be read: more than a few of one kind at one place, and
    /// more than a few times what is shown in all.
    pub(super) fn forget_repeated(&mut self, findings: &mut Vec<Diagnostic>) {
        if findings.len() == self.checked {
            return;
        }
        let new = findings.split_off(self.checked.min(findings.len()));
        for finding in new {
            self.errors |= finding.severity == Severity::Error;
            let place = (finding.code, finding.labels.first().map(|label| label.span));
            let message = Hasher::default().hash_one(&finding.message);
            if self.told.len() >= MOST_TOLD || !self.told.insert((place.0, place.1, message)) {
                continue;
            }
            let known = self.places.entry(place).or_default();
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
