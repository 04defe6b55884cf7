//! One cause, one report: what was passed on and says the same as a report before is only counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::judge::{Remark, Treatment};
use super::report::Reporter;
use crate::trace::causes::Same;

/// How many different remarks of a session are distinguished; those after them are all reported.
const DISTINGUISHED: usize = 64;
/// The first number that is reported. After it, each is twice the one before.
const FIRST: u64 = 10;

/// The remarks of a session that were reported, and how often each came.
#[derive(Debug, Default)]
pub(super) struct RepeatedRemarks {
    reported: HashMap<Same, Repeated>,
}

/// A report that may come again.
#[derive(Debug)]
pub(super) struct Repeated {
    /// How many others there were before it.
    place: usize,
    /// `client: … is not permitted …`
    report: String,
    count: u64,
    /// The number that was said last.
    said: u64,
}

/// The remarks on requests that have no session: what says the same of several of them is said once. The last owner
/// reports what was only counted.
#[derive(Clone, Debug)]
pub(super) struct SharedRemarks(Arc<OwnedRemarks>);

#[derive(Debug)]
struct OwnedRemarks {
    remarks: Mutex<RepeatedRemarks>,
    reporter: Reporter,
}

impl SharedRemarks {
    pub(super) fn new(reporter: Reporter) -> SharedRemarks {
        SharedRemarks(Arc::new(OwnedRemarks { remarks: Mutex::default(), reporter }))
    }

    /// There is another remark.
    pub(super) fn another(&self, remark: &Remark) -> RepeatSaid {
        self.0.remarks.lock().unwrap_or_else(PoisonError::into_inner).another(remark)
    }
}

impl Drop for OwnedRemarks {
    fn drop(&mut self) {
        let remarks = self.remarks.get_mut().unwrap_or_else(PoisonError::into_inner);
        remarks.rest().into_iter().for_each(|what| self.reporter.event(None, what));
    }
}

/// What is said of a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RepeatSaid {
    /// The remark itself.
    Whole,
    /// How often it came so far.
    Count(String),
    /// Nothing: it is counted.
    Nothing,
}

impl RepeatedRemarks {
    /// There is another remark. What was not passed on is always said, because something was done with the message.
    pub(super) fn another(&mut self, remark: &Remark) -> RepeatSaid {
        let same = remark.same.as_ref().filter(|_| remark.treatment == Treatment::Forwarded);
        let Some(same) = same else { return RepeatSaid::Whole };
        let place = self.reported.len();
        let wider = same.wider().find(|wider| self.reported.contains_key(wider));
        let Some(repeated) = self.reported.get_mut(wider.as_ref().unwrap_or(same)) else {
            if place < DISTINGUISHED {
                let report = format!("{}: {}", remark.sender.word(), remark.text);
                self.reported.insert(same.clone(), Repeated::new(place, report));
            }
            return RepeatSaid::Whole;
        };
        repeated.again().map_or(RepeatSaid::Nothing, RepeatSaid::Count)
    }

    /// What was not said yet, when the session is over.
    pub(super) fn rest(&mut self) -> Vec<String> {
        Repeated::rest(self.reported.values_mut())
    }
}

impl Repeated {
    /// One that was said, after so many others.
    pub(super) fn new(place: usize, report: String) -> Repeated {
        Repeated { place, report, count: 1, said: 1 }
    }

    /// It has come again. Returns how often, where that is to be said.
    pub(super) fn again(&mut self) -> Option<String> {
        self.count += 1;
        (self.count >= FIRST.max(self.said.saturating_mul(2))).then(|| self.say("so far"))
    }

    /// What was not said yet of some of them, in their order.
    pub(super) fn rest<'a>(all: impl Iterator<Item = &'a mut Repeated>) -> Vec<String> {
        let mut rest: Vec<&mut Repeated> = all.filter(|one| one.count > one.said).collect();
        rest.sort_by_key(|one| one.place);
        rest.into_iter().map(|one| one.say("in all")).collect()
    }

    fn say(&mut self, when: &str) -> String {
        self.said = self.count;
        format!("{} more like this {when}: {}", self.count.saturating_sub(1), self.report)
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{Side, Strictness};

    use super::super::judge::Severity;
    use super::*;

    fn remark(treatment: Treatment, same: Option<Same>) -> Remark {
        Remark {
            sender: Side::Client,
            severity: Severity::Rule(Strictness::Must),
            treatment,
            method: None,
            id: None,
            rule: None,
            is_malformed: false,
            same,
            text: "too early".to_owned(),
        }
    }

    #[test]
    fn what_says_the_same_is_counted_to_the_end() {
        let mut all = RepeatedRemarks::default();
        let one = remark(Treatment::Forwarded, Some(Same::example("early")));
        let other = remark(Treatment::Forwarded, Some(Same::example("late")));
        assert_eq!((all.another(&one), all.another(&other)), (RepeatSaid::Whole, RepeatSaid::Whole));
        let said: Vec<RepeatSaid> =
            (2..=45).map(|_| all.another(&one)).filter(|said| *said != RepeatSaid::Nothing).collect();
        let counted =
            |count: u64| RepeatSaid::Count(format!("{} more like this so far: client: too early", count - 1));
        assert_eq!(said, [counted(10), counted(20), counted(40)]);
        assert_eq!(all.another(&other), RepeatSaid::Nothing);
        assert_eq!(
            all.rest(),
            ["44 more like this in all: client: too early", "1 more like this in all: client: too early"]
        );
        assert!(all.rest().is_empty(), "nothing is said twice");
    }

    #[test]
    fn what_was_stopped_is_always_said() {
        let mut all = RepeatedRemarks::default();
        for same in [None, Some(Same::example("early"))] {
            for _ in 0..3 {
                assert_eq!(all.another(&remark(Treatment::Refused, same.clone())), RepeatSaid::Whole);
            }
        }
        assert!(all.rest().is_empty());
    }
}
