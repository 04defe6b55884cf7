//! Which lines of a text become which others.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// How many pairs of lines are compared with one another at most. In longer parts, lines that differ in their spaces
/// alone are looked for first.
const MOST_PAIRS: usize = 4_000_000;

/// Lines of one text that become lines of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedLines {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The lines that change, in their order, so that few others are among them.
pub(super) fn changed_lines(old: &[&str], new: &[&str]) -> Vec<ChangedLines> {
    let mut changed = Vec::new();
    if old.len().saturating_mul(new.len()) <= MOST_PAIRS {
        compare(old, new, (0, 0), &mut changed);
        return changed;
    }
    // Behind each line that stays what it is but for its spaces, the next part begins.
    let (mut old_at, mut new_at) = (0, 0);
    let ends = (old.len(), new.len());
    for (old_line, new_line) in anchors(old, new).into_iter().chain([ends]) {
        let part = |lines: &Range<usize>, of: &[&str]| of.get(lines.clone()).unwrap_or_default().len();
        let (old_part, new_part) = (old_at..old_line, new_at..new_line);
        if part(&old_part, old).saturating_mul(part(&new_part, new)) <= MOST_PAIRS {
            let (old, new) = (old.get(old_part), new.get(new_part));
            compare(old.unwrap_or_default(), new.unwrap_or_default(), (old_at, new_at), &mut changed);
        } else {
            changed.push(ChangedLines { old: old_part, new: new_part });
        }
        if old.get(old_line) != new.get(new_line) {
            changed.push(ChangedLines { old: old_line..old_line + 1, new: new_line..new_line + 1 });
        }
        (old_at, new_at) = (old_line + 1, new_line + 1);
    }
    changed
}

/// Adds the lines that change between two parts, which begin at these lines.
fn compare(old: &[&str], new: &[&str], (old_at, new_at): (usize, usize), changed: &mut Vec<ChangedLines>) {
    for change in capture_diff_slices(Algorithm::Myers, old, new) {
        if change.tag() != DiffTag::Equal {
            let (old, new) = (change.old_range(), change.new_range());
            changed.push(ChangedLines {
                old: old.start + old_at..old.end + old_at,
                new: new.start + new_at..new.end + new_at,
            });
        }
    }
}

/// Pairs of lines that are the same but for their spaces, and that each text has once; both numbers ascend.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let in_new = only_ones(new);
    let mut pairs: Vec<(usize, usize)> = only_ones(old)
        .into_iter()
        .filter_map(|(line, at)| in_new.get(&line).map(|new_at| (at, *new_at)))
        .collect();
    pairs.sort_unstable();
    ascending(&pairs)
}

/// The lines that stand in a text once, without their spaces, and where.
fn only_ones(lines: &[&str]) -> HashMap<String, usize> {
    let mut found: HashMap<String, Option<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        let signs: String = line.split_whitespace().collect();
        if !signs.is_empty() {
            found.entry(signs).and_modify(|only| *only = None).or_insert(Some(at));
        }
    }
    found.into_iter().filter_map(|(line, only)| Some((line, only?))).collect()
}

/// As many of these pairs as possible whose second numbers ascend, too.
fn ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends such a sequence with the smallest second number; and the pair before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let second = |at: &usize| pairs.get(*at).map_or(0, |pair| pair.1);
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| second(end) < pair.1);
        before.push(length.checked_sub(1).and_then(|last| ends.get(last).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut kept = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        kept.extend(pairs.get(at));
        next = before.get(at).copied().flatten();
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests say what they expect by panicking")]

    use super::*;

    /// The first text with the changes in it.
    fn with(old: &[&str], new: &[&str]) -> (String, Vec<ChangedLines>) {
        let changed = changed_lines(old, new);
        let (mut text, mut at) = (String::new(), 0);
        for change in &changed {
            text += &old[at..change.old.start].concat();
            text += &new[change.new.clone()].concat();
            at = change.old.end;
        }
        (text + &old[at..].concat(), changed)
    }

    fn lines(text: &str) -> Vec<&str> {
        text.split_inclusive('\n').collect()
    }

    #[test]
    fn of_a_long_text_whose_lines_all_change_each_is_a_change() {
        let old: String = (0..3_000).map(|line| format!("   N{line}=!A.End\n")).collect();
        let new: String = (0..3_000).map(|line| format!("N{line} = !A . End\n")).collect();
        let (text, changed) = with(&lines(&old), &lines(&new));
        assert_eq!(text, new);
        assert_eq!(changed.len(), 3_000);
    }

    #[test]
    fn between_lines_that_only_move_others_come_and_go() {
        let old: String = (0..3_000).map(|line| format!("N{line} =\n\n\n!A{line} . End\n")).collect();
        let new: String = (0..3_000).rev().map(|line| format!("N{line} = !A{line} . End\n\n")).collect();
        assert_eq!(with(&lines(&old), &lines(&new)).0, new);
        let new: String = (0..3_000).map(|line| format!("  N{line} = \n!A{line} . End\n\n")).collect();
        let (text, changed) = with(&lines(&old), &lines(&new));
        assert_eq!(text, new);
        assert!(changed.len() > 3_000, "{}", changed.len());
    }

    #[test]
    fn long_texts_with_nothing_in_common_are_one_change() {
        let old: String = (0..3_000).map(|line| format!("A{line}\n")).collect();
        let new: String = (0..3_000).map(|line| format!("B{line}\n")).collect();
        let (text, changed) = with(&lines(&old), &lines(&new));
        assert_eq!(text, new);
        assert_eq!(changed.len(), 1);
        assert_eq!(with(&[], &lines(&new)).0, new);
        assert_eq!(with(&lines(&old), &[]).0, "");
    }
}
