//! What was probably meant: the nearest of some words.

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
    let mut longer: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().take(LONGEST_WORD + 1).collect();
        if is_part(&word, &letters) && longer.is_none_or(|(least, _)| letters.len() < least) {
            longer = Some((letters.len(), candidate));
        }
        let allowed = (word.len().max(letters.len()) / 3).max(1);
        if letters.len().abs_diff(word.len()) > allowed || letters.len() > LONGEST_WORD || letters == word {
            continue;
        }
        // What is not nearer than the best so far is of no use.
        let Some(most) = best.map_or(Some(allowed), |(least, _)| Some(allowed.min(least.checked_sub(1)?)))
        else {
            continue;
        };
        let Some(distance) = distance(&small, &lowercase(&letters), most) else { continue };
        // Two different single letters are not a misspelling.
        let hopeless = distance > 0 && word.len().min(letters.len()) < 2;
        if !hopeless {
            best = Some((distance, candidate));
        }
    }
    // A slip of the fingers comes first, then a name of which a part was left out, then what is merely alike.
    let slip = best.filter(|(distance, _)| *distance <= SLIP);
    slip.or(longer).or(best).map(|(_, candidate)| candidate)
}

/// So many letters are wrong where a word is misspelt and nothing else.
const SLIP: usize = 2;

/// The shortest word that is looked for in longer ones.
const SHORTEST_PART: usize = 4;

/// Whether a word is the beginning or the end of a longer name: one or more of the words that it is made of.
fn is_part(word: &[char], name: &[char]) -> bool {
    if word.len() < SHORTEST_PART || name.len() <= word.len() || name.len() > LONGEST_WORD {
        return false;
    }
    let alike = |part: &[char]| lowercase(part) == lowercase(word);
    let starts = |letter: Option<&char>| letter.is_some_and(|letter| letter.is_uppercase() || *letter == '_');
    let (head, rest) = name.split_at(word.len());
    let (front, tail) = name.split_at(name.len() - word.len());
    // Letters are compared last, for that takes longest.
    starts(rest.first()) && alike(head) || (starts(tail.first()) || front.last() == Some(&'_')) && alike(tail)
}

fn lowercase(letters: &[char]) -> Vec<char> {
    letters.iter().flat_map(|letter| letter.to_lowercase()).collect()
}

/// How many letters must be added, removed, replaced or swapped with their neighbour, if they are at most `most`.
fn distance(from: &[char], to: &[char], most: usize) -> Option<usize> {
    if most == 0 {
        return (from == to).then_some(0);
    }
    let (from, to) = without_common_ends(from, to);
    if from.len().abs_diff(to.len()) > most {
        return None;
    }
    // Three rows of the table are enough; `row[j]` is the distance of the letters so far to `to[..j]`.
    let (mut before, mut row): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::with_capacity(to.len() + 1));
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous: Option<char> = None;
    for (index, &letter) in from.iter().enumerate() {
        let mut left = index + 1;
        row.clear();
        row.push(left);
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
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
        previous = Some(letter);
        // Whatever follows adds to one of these, and a swap adds one to the row before.
        let is_far = |row: &[usize], most: usize| row.iter().all(|&cost| cost > most);
        if is_far(&last, most) && is_far(&before, most.saturating_sub(1)) {
            return None;
        }
    }
    last.last().copied().filter(|&distance| distance <= most)
}

/// What is left of two words without the letters that both begin with and end in: these are in no shortest edit.
fn without_common_ends<'w>(mut one: &'w [char], mut other: &'w [char]) -> (&'w [char], &'w [char]) {
    while let (Some((first, rest)), Some((same, of_other))) = (one.split_first(), other.split_first())
        && first == same
    {
        (one, other) = (rest, of_other);
    }
    while let (Some((last, rest)), Some((same, of_other))) = (one.split_last(), other.split_last())
        && last == same
    {
        (one, other) = (rest, of_other);
    }
    (one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(from: &str, to: &str) -> usize {
        let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
        let distance = distance(&from, &to, usize::MAX).unwrap();
        assert_eq!(super::distance(&from, &to, distance), Some(distance));
        assert!(distance == 0 || super::distance(&from, &to, distance - 1).is_none());
        distance
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

    /// The whole table, as it is defined.
    fn by_definition(from: &[char], to: &[char]) -> usize {
        let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
        for row in 0..=from.len() {
            for column in 0..=to.len() {
                table[row][column] = match (row, column) {
                    (0, other) | (other, 0) => other,
                    _ => {
                        let swaps = row > 1
                            && column > 1
                            && from[row - 1] == to[column - 2]
                            && from[row - 2] == to[column - 1];
                        let replaced =
                            table[row - 1][column - 1] + usize::from(from[row - 1] != to[column - 1]);
                        let longer = table[row - 1][column].min(table[row][column - 1]) + 1;
                        let swapped = if swaps { table[row - 2][column - 2] + 1 } else { usize::MAX };
                        replaced.min(longer).min(swapped)
                    }
                };
            }
        }
        table[from.len()][to.len()]
    }

    #[test]
    fn what_words_have_in_common_makes_no_difference() {
        let mut words: Vec<String> = vec![String::new()];
        for length in 0..6 {
            let longer: Vec<String> = words
                .iter()
                .filter(|word| word.len() == length)
                .flat_map(|word| [format!("{word}a"), format!("{word}b")])
                .collect();
            words.extend(longer);
        }
        for (from, to) in words.iter().flat_map(|from| words.iter().map(move |to| (from, to))) {
            let letters = |word: &str| word.chars().collect::<Vec<char>>();
            assert_eq!(measure(from, to), by_definition(&letters(from), &letters(to)), "{from} and {to}");
        }
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
    fn plausible_mistakes() {
        let names = [
            "NewSessionError",
            "RequestPermissionError",
            "PromptError",
            "NewSession",
            "RequestPermission",
            "SessionUpdate",
            "Prompt",
            "PromptResult",
            "ToolsList",
            "ToolsListChanged",
            "ResourcesList",
            "ResourcesUpdated",
            "Initialize",
            "Initialized",
            "InitializeResult",
            "did_open",
            "did_close",
        ];
        for (typed, meant) in [
            ("PermissionError", Some("RequestPermissionError")),
            ("Permission", Some("RequestPermission")),
            ("permission", Some("RequestPermission")),
            ("RequestPermision", Some("RequestPermission")),
            ("Update", Some("SessionUpdate")),
            ("NewSesion", Some("NewSession")),
            ("NewSesionError", Some("NewSessionError")),
            ("ToolList", Some("ToolsList")),
            ("ListChanged", Some("ToolsListChanged")),
            ("ToolsListChange", Some("ToolsListChanged")),
            ("ResourceList", Some("ResourcesList")),
            ("Resources", Some("ResourcesList")),
            ("Initialised", Some("Initialized")),
            ("Initalize", Some("Initialize")),
            ("Initilaize", Some("Initialize")),
            ("InitializeReslt", Some("InitializeResult")),
            ("Promt", Some("Prompt")),
            ("PromtError", Some("PromptError")),
            ("open", Some("did_open")),
            ("didopen", Some("did_open")),
            ("Shutdown", None),
            ("Tool", None),
        ] {
            assert_eq!(nearest(typed, names), meant, "{typed}");
        }
    }

    #[test]
    fn a_word_does_not_suggest_itself() {
        assert_eq!(nearest("request", ["request"]), None);
        assert_eq!(nearest("Request", ["request", "Request"]), Some("request"));
    }
}
