//! What was probably meant: the nearest of some words.
//!
//! In: a word and the words that would have been right. Out: the one to suggest, if one is near enough. Refuses to
//! guess far: a third of the letters may differ, not more.

/// Longer words are not compared, so that a hostile file costs no time.
const LONGEST_WORD: usize = 64;

/// The candidate that is nearest to `word`, the first of equals; none if all are far off.
///
/// A candidate that differs in upper and lower case only is always near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(LONGEST_WORD + 1).collect();
    if word.is_empty() || word.len() > LONGEST_WORD {
        return None;
    }
    let small = lowercase(&word);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().take(LONGEST_WORD + 1).collect();
        let allowed = (word.len().max(letters.len()) / 3).max(1);
        if letters.len().abs_diff(word.len()) > allowed || letters.len() > LONGEST_WORD || letters == word {
            continue;
        }
        let distance = distance(&small, &lowercase(&letters));
        // One letter that is another is no misspelling.
        let hopeless = distance > 0 && word.len().min(letters.len()) < 2;
        if distance <= allowed && !hopeless && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn lowercase(letters: &[char]) -> Vec<char> {
    letters.iter().flat_map(|letter| letter.to_lowercase()).collect()
}

/// How many letters must be added, removed, replaced or swapped with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    // Three rows of the table are enough; `row[j]` is the distance of the letters so far to `to[..j]`.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous: Option<char> = None;
    for (index, &letter) in from.iter().enumerate() {
        let mut row = vec![index + 1];
        let mut left = index + 1;
        for (column, &other) in to.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (at(&last, column) + usize::from(letter != other))
                .min(at(&last, column + 1) + 1)
                .min(left + 1);
            let swapped = column > 0 && previous == Some(other) && to.get(column - 1) == Some(&letter);
            if swapped {
                cost = cost.min(at(&before, column - 1) + 1);
            }
            row.push(cost);
            left = cost;
        }
        before = std::mem::replace(&mut last, row);
        previous = Some(letter);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(from: &str, to: &str) -> usize {
        distance(&from.chars().collect::<Vec<_>>(), &to.chars().collect::<Vec<_>>())
    }

    #[test]
    fn distances() {
        assert_eq!(measure("", ""), 0);
        assert_eq!(measure("", "abc"), 3);
        assert_eq!(measure("abc", ""), 3);
        assert_eq!(measure("reqest", "request"), 1);
        assert_eq!(measure("reuqest", "request"), 1);
        assert_eq!(measure("kitten", "sitting"), 3);
        assert_eq!(measure("αβ", "βα"), 1);
    }

    #[test]
    fn the_nearest_word_is_suggested() {
        let words = ["request", "notification", "requires", "key"];
        assert_eq!(nearest("reqest", words), Some("request"));
        assert_eq!(nearest("notifcation", words), Some("notification"));
        assert_eq!(nearest("REQUEST", words), Some("request"));
        assert_eq!(nearest("kye", words), Some("key"));
        assert_eq!(nearest("banana", words), None);
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"r".repeat(1_000_000), words), None);
    }

    #[test]
    fn a_word_is_no_suggestion_for_itself() {
        assert_eq!(nearest("request", ["request"]), None);
        assert_eq!(nearest("Request", ["request", "Request"]), Some("request"));
    }
}
