//! [`Suggestions`]: values for an argument that a user is typing.

use mcp_protocols::eras::types::Completion;

/// Values for an argument of which a user has typed a part: those that a list is collected into, or the first ones of
/// more.
///
/// Clients get 100 of them at most, as the revisions say, and hear how many there are.
///
/// ```
/// use mcp_kit::Suggestions;
///
/// let all: Suggestions = ["1", "7", "30"].into_iter().filter(|days| days.starts_with('7')).collect();
/// assert_eq!(all.values(), ["7"]);
/// assert_eq!((all.total(), all.has_more()), (Some(1), Some(false)));
///
/// let of_a_table = Suggestions::from(vec!["Aarau".to_owned(), "Aarberg".to_owned()]).of_total(340);
/// assert_eq!((of_a_table.total(), of_a_table.has_more()), (Some(340), Some(true)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestions {
    values: Vec<String>,
    total: Option<u64>,
    has_more: Option<bool>,
}

/// How many values a client gets for an argument, as the revisions say.
const MOST: usize = 100;

impl Suggestions {
    /// The values are the first ones of so many.
    #[must_use]
    pub fn of_total(mut self, total: u64) -> Suggestions {
        self.total = Some(total);
        self.has_more = Some(total > count(&self.values));
        self
    }

    /// There are more values, and it is not known how many.
    #[must_use]
    pub fn and_more(mut self) -> Suggestions {
        self.total = None;
        self.has_more = Some(true);
        self
    }

    /// The values.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// How many there are, if that is known: a server that suggests them may not say.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Whether there are more than these values, if that is known.
    pub fn has_more(&self) -> Option<bool> {
        self.has_more
    }

    /// What a client gets.
    pub(super) fn into_completion(mut self) -> Completion {
        if self.values.len() > MOST {
            self.values.truncate(MOST);
            self.has_more = Some(true);
        }
        let mut completion = Completion::new(self.values);
        completion.total = self.total.and_then(|total| i64::try_from(total).ok());
        completion.has_more = self.has_more;
        completion
    }
}

fn count(values: &[String]) -> u64 {
    u64::try_from(values.len()).unwrap_or(u64::MAX)
}

/// None at all.
impl Default for Suggestions {
    fn default() -> Suggestions {
        Suggestions::from(Vec::new())
    }
}

/// All values that there are.
impl From<Vec<String>> for Suggestions {
    fn from(values: Vec<String>) -> Suggestions {
        let total = Some(count(&values));
        Suggestions { values, total, has_more: Some(false) }
    }
}

/// All values that there are.
impl<T: Into<String>> FromIterator<T> for Suggestions {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Suggestions {
        Suggestions::from(values.into_iter().map(Into::into).collect::<Vec<String>>())
    }
}

/// What a server has suggested.
impl From<Completion> for Suggestions {
    fn from(completion: Completion) -> Suggestions {
        Suggestions {
            values: completion.values,
            total: completion.total.and_then(|total| u64::try_from(total).ok()),
            has_more: completion.has_more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_a_hundred_at_most_and_hears_how_many_there_are() {
        let sent = |suggestions: Suggestions| {
            let sent = suggestions.into_completion();
            (sent.values.len(), sent.total, sent.has_more)
        };
        let all = |count: u64| (0..count).map(|value| value.to_string()).collect::<Suggestions>();
        assert_eq!(sent(all(100)), (100, Some(100), Some(false)));
        assert_eq!(sent(all(101)), (100, Some(101), Some(true)));
        assert_eq!(sent(all(101).of_total(7000)), (100, Some(7000), Some(true)));
        assert_eq!(sent(all(3).of_total(3)), (3, Some(3), Some(false)));
        assert_eq!(sent(all(3).and_more()), (3, None, Some(true)));
        assert_eq!(sent(Completion::new(["a"]).into()), (1, None, None));
    }
}
