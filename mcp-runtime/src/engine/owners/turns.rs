//! How often a future leaves its turn to the dispatchers of its task.

/// How many turns of its own task a dispatcher has to be polled in.
const MOST: u8 = 3;

/// How often a future was polled without a result since the dispatchers of its task were last polled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    polls: u64,
    passed: u8,
}

impl Turns {
    /// Leaves one more turn to the dispatchers, which were polled so often. `false`: they have had enough turns.
    pub(crate) fn pass(&mut self, polls: u64) -> bool {
        if self.polls != polls {
            *self = Turns { polls, passed: 0 };
        }
        if self.passed >= MOST {
            return false;
        }
        self.passed += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_from_the_last_poll_of_the_dispatchers() {
        let mut turns = Turns::default();
        let passed: Vec<bool> = [0, 0, 0, 0, 1, 1].map(|polls| turns.pass(polls)).into();
        assert_eq!(passed, [true, true, true, false, true, true]);
    }
}
