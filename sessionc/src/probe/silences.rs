//! When a server no longer answers, so that not every further offence is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use tokio::sync::Notify;

use super::offence::Group;

/// How many sessions in a row without an answer are enough.
const ENOUGH: usize = 3;

const IN_STATE: &str = "the server stops answering in this state: several offences in a row had no answer, nor had the \
                        permitted request after each; `--only` with the name of an offence tries it alone";
const AT_ALL: &str =
    "the server no longer answers at all: several sessions in a row had no answer from their beginning";

/// A session in which the server was waited for until the time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Nothing has come from its first message on.
    FromBeginning,
    /// It has answered on the way to the state, or the offence was the first message.
    InState,
}

/// The sessions in a row in which a server did not answer.
///
/// A state is given up by groups of offences: a server that stops at each message out of order may still answer one that
/// is not JSON. One more offence without an answer is enough then.
#[derive(Debug, Default)]
pub(crate) struct Silences {
    counts: Mutex<Counts>,
    /// Wakes the offences that run when something is given up.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Counts {
    /// Sessions in a row, by the place of their state.
    in_state: BTreeMap<usize, usize>,
    from_beginning: usize,
    given_up: BTreeSet<(usize, Group)>,
}

impl Silences {
    /// Why an offence of a group is not tried in a state, if it is not.
    pub(crate) fn reason(&self, place: usize, group: Group) -> Option<&'static str> {
        let Ok(counts) = self.counts.lock() else { return None };
        if counts.from_beginning >= ENOUGH {
            return Some(AT_ALL);
        }
        counts.given_up.contains(&(place, group)).then_some(IN_STATE)
    }

    /// Waits until an offence of a group is not tried any more in a state, and returns why. One that runs then would only wait
    /// out its time.
    pub(crate) async fn given_up(&self, place: usize, group: Group) -> &'static str {
        loop {
            // It is made before the question, so that what changes meanwhile wakes it.
            let changed = self.changed.notified();
            if let Some(why) = self.reason(place, group) {
                return why;
            }
            changed.await;
        }
    }

    /// Takes how a session was in which an offence was tried.
    pub(crate) fn note(&self, place: usize, group: Group, silence: Option<Silence>) {
        let Ok(mut counts) = self.counts.lock() else { return };
        match silence {
            Some(Silence::FromBeginning) => counts.from_beginning += 1,
            Some(Silence::InState) | None => counts.from_beginning = 0,
        }
        let in_a_row = counts.in_state.entry(place).or_default();
        *in_a_row = if silence.is_some() { *in_a_row + 1 } else { 0 };
        if *in_a_row >= ENOUGH {
            counts.given_up.insert((place, group));
        }
        drop(counts);
        self.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn an_answer_in_between_starts_the_count_again() {
        let silences = Silences::default();
        for silence in [Some(Silence::InState), Some(Silence::InState), None, Some(Silence::InState)] {
            silences.note(0, Group::Order, silence);
        }
        assert_eq!(silences.reason(0, Group::Order), None);
    }

    #[test]
    fn a_group_is_given_up_in_its_state_and_each_other_group_has_one_trial_more() {
        let silences = Silences::default();
        for _ in 0..ENOUGH {
            silences.note(0, Group::Order, Some(Silence::InState));
        }
        assert_eq!(silences.reason(0, Group::Order), Some(IN_STATE));
        assert_eq!((silences.reason(0, Group::Form), silences.reason(1, Group::Order)), (None, None));
        silences.note(0, Group::Form, Some(Silence::InState));
        assert_eq!(silences.reason(0, Group::Form), Some(IN_STATE));
        silences.note(0, Group::Head, None);
        silences.note(0, Group::Load, Some(Silence::InState));
        assert_eq!(silences.reason(0, Group::Load), None);
    }

    /// The futures are polled by hand: nothing of this waits for a time.
    #[test]
    fn what_runs_ends_when_its_group_is_given_up() {
        let silences = Silences::default();
        let mut running = pin!(silences.given_up(0, Group::Order));
        let mut elsewhere = pin!(silences.given_up(1, Group::Order));
        for count in 1..=ENOUGH {
            assert!((&mut running).now_or_never().is_none(), "{count}");
            silences.note(0, Group::Order, Some(Silence::InState));
        }
        assert_eq!(running.now_or_never(), Some(IN_STATE));
        assert_eq!((&mut elsewhere).now_or_never(), None);
        for _ in 0..ENOUGH {
            silences.note(2, Group::Form, Some(Silence::FromBeginning));
        }
        assert_eq!(elsewhere.now_or_never(), Some(AT_ALL));
    }

    #[test]
    fn a_server_that_is_gone_is_given_up_in_all_states() {
        let silences = Silences::default();
        for place in 0..ENOUGH {
            assert_eq!(silences.reason(9, Group::Order), None);
            silences.note(place, Group::Order, Some(Silence::FromBeginning));
        }
        assert_eq!(silences.reason(9, Group::Order), Some(AT_ALL));
    }
}
