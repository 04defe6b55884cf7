//! Many reports of one kind, of which not all are passed on.

/// How many are passed on as they are.
const FIRST: u64 = 100;

/// Which of many reports of one kind are passed on: the first hundred, and after that only how many there are, at distances that
/// grow. A program that prints its log where messages belong may otherwise fill a disk with reports.
///
/// ```
/// use mcp_runtime::session::{LimitedReport, ReportLimit};
///
/// let mut limit = ReportLimit::default();
/// assert!((0..100).all(|_| limit.another() == LimitedReport::Whole));
/// assert_eq!(limit.another(), LimitedReport::Count(101));
/// assert_eq!(limit.another(), LimitedReport::Nothing);
/// // At the end, nothing is left unsaid.
/// assert_eq!(limit.rest(), Some(102));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportLimit {
    count: u64,
    /// The number that was said last.
    said: u64,
}

/// What is passed on of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedReport {
    /// The report itself.
    Whole,
    /// How many reports there are so far, this one included.
    Count(u64),
    /// Nothing: it is counted.
    Nothing,
}

impl ReportLimit {
    /// There is another report. Returns what is passed on of it.
    pub fn another(&mut self) -> LimitedReport {
        self.count = self.count.saturating_add(1);
        if self.count <= FIRST {
            self.said = self.count;
            return LimitedReport::Whole;
        }
        // The first that is left out shows at once that some are; each number is twice the one before.
        if self.count == FIRST + 1 || self.count >= self.said.saturating_mul(2) {
            self.said = self.count;
            return LimitedReport::Count(self.count);
        }
        LimitedReport::Nothing
    }

    /// How many reports there were, at the end, if that was not said yet.
    pub fn rest(&mut self) -> Option<u64> {
        let is_unsaid = self.count > self.said;
        self.said = self.count;
        is_unsaid.then_some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_said_in_few_words_and_counted_to_the_end() {
        for total in [0, 1, 100, 101, 102, 201, 202, 203, 1_000, 1_000_000] {
            let mut limit = ReportLimit::default();
            let mut said: Vec<LimitedReport> = (0..total).map(|_| limit.another()).collect();
            said.retain(|one| *one != LimitedReport::Nothing);
            let whole = said.iter().filter(|one| **one == LimitedReport::Whole).count();
            assert_eq!(whole as u64, total.min(FIRST));
            assert!(said.len() as u64 <= FIRST + 20, "{said:?}");
            let last = said.iter().rev().find_map(|one| match one {
                LimitedReport::Count(count) => Some(*count),
                _ => None,
            });
            let known = limit.rest().or(last).unwrap_or(whole as u64);
            assert_eq!((known, limit.rest()), (total, None));
        }
    }
}
