//! The results for people.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::Strictness;

use crate::probe::campaign::Results;
use crate::probe::offence::Group;
use crate::probe::trial::{Outcome, Trial, Tried};
use crate::probe::unprompted::Unprompted;
use crate::wrapped::in_lines;

/// One row: an offence group in a state.
#[derive(Debug, Default)]
struct Row {
    tried: usize,
    reactions: BTreeMap<String, usize>,
    must: usize,
    should: usize,
}

/// How far the lines below a heading are indented.
const INDENT: usize = 2;
/// How many characters stand between two columns.
const GAP: usize = 2;
/// How many faults of a group in a state are listed if they are all the same. More of them have one line.
const MOST_LISTED: usize = 3;
/// How narrow a column may become.
const NARROWEST: usize = 16;

/// The table of all states and groups, the faults, and what was not tried. `width` is that of the terminal, if it is
/// known: the widest column is broken into lines there.
pub(crate) fn text(results: &Results, width: Option<usize>) -> String {
    let mut text = rows(results, width);
    text.push_str(&faults(results, width));
    text.push_str(&unprompted(results, width));
    text.push_str(&missing(results, width));
    if let Some(unknown) = &results.unknown_revision {
        let version = results.version.as_deref().unwrap_or_default();
        text.push_str(&format!("\njudged by {} {version}: {unknown}\n", results.protocol));
    }
    let (must, should) = (results.count(Strictness::Must), results.count(Strictness::Should));
    let tried = results.tried().count();
    text.push_str(&format!(
        "\n{} in {}: {}, {}\n",
        counted(tried, "offence"),
        counted(results.reached.len(), "state"),
        counted(must, "must-level fault"),
        counted(should, "should-level fault"),
    ));
    text
}

fn rows(results: &Results, width: Option<usize>) -> String {
    let head = ["state", "offences", "tried", "reactions", "faults"].map(str::to_owned);
    let mut lines = vec![head];
    for state in &results.reached {
        let mut rows: BTreeMap<Group, Row> = BTreeMap::new();
        for (trial, tried) in results.tried().filter(|(trial, _)| trial.state == *state) {
            let row = rows.entry(trial.group).or_default();
            row.tried += 1;
            *row.reactions.entry(tried.reaction.to_string()).or_default() += 1;
            match tried.fault.as_ref().map(|fault| fault.strictness) {
                Some(Strictness::Must) => row.must += 1,
                Some(Strictness::Should) => row.should += 1,
                None => {}
            }
        }
        for (group, row) in rows {
            lines.push([
                state.clone(),
                group.to_string(),
                row.tried.to_string(),
                row.reactions(),
                row.faults(),
            ]);
        }
    }
    aligned(&lines, width)
}

impl Row {
    /// The most frequent reaction first.
    fn reactions(&self) -> String {
        let mut reactions: Vec<(&String, &usize)> = self.reactions.iter().collect();
        reactions.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let reactions = reactions.into_iter().map(|(reaction, count)| format!("{count} × {reaction}"));
        reactions.collect::<Vec<_>>().join(", ")
    }

    fn faults(&self) -> String {
        let counts = [(self.must, "must"), (self.should, "should")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let faults: Vec<String> = counts.map(|(count, level)| format!("{count} {level}")).collect();
        if faults.is_empty() { "-".to_owned() } else { faults.join(", ") }
    }
}

fn faults(results: &Results, width: Option<usize>) -> String {
    let mut lines: Vec<[String; 4]> = Vec::new();
    for (trial, tried) in results.tried() {
        let Some(fault) = &tried.fault else { continue };
        let level = level(fault.strictness).to_owned();
        let name = match alike(results, trial, tried) {
            Some(count) => format!("{}: all {count} offences", trial.group),
            None => trial.name.clone(),
        };
        let line = [level, trial.state.clone(), name, fault.what.clone()];
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    // What is worst comes first.
    lines.sort_by_key(|[level, ..]| level != "must");
    format!(
        "\nfaults: what the server did\n{}",
        indented(&aligned(&lines, width.map(|width| width.saturating_sub(INDENT))))
    )
}

/// How many offences of its group there are in its state, if the server did the same after each of them, and they are many.
fn alike(results: &Results, trial: &Trial, tried: &Tried) -> Option<usize> {
    let is_of_group = |other: &Trial| other.state == trial.state && other.group == trial.group;
    let mut count = 0;
    for (_, other) in results.tried().filter(|(other, _)| is_of_group(other)) {
        if other.fault != tried.fault {
            return None;
        }
        count += 1;
    }
    (count > MOST_LISTED).then_some(count)
}

fn unprompted(results: &Results, width: Option<usize>) -> String {
    let line = |message: &Unprompted| [level(message.level).to_owned(), message.name.clone(), why(message)];
    let lines: Vec<_> = results.unprompted.iter().map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\nfaults: what else the server sent\n{}",
        indented(&aligned(&lines, width.map(|width| width.saturating_sub(INDENT))))
    )
}

/// What the protocol says of a message that the server sent by itself, where else it came, and after what.
pub(crate) fn why(message: &Unprompted) -> String {
    let mut why = message.rule.clone();
    if let [_, others @ ..] = message.states.as_slice()
        && !others.is_empty()
    {
        let others: Vec<String> = others.iter().map(|state| format!("`{state}`")).collect();
        why.push_str(&format!("; it also came in {}", others.join(", ")));
    }
    if let Some(offence) = &message.after {
        why.push_str(&format!("; it came only after an offence, first after {}", quoted(offence)));
    }
    why
}

/// An offence or a message in a sentence: a method in backticks, and other names as they are.
pub(crate) fn quoted(name: &str) -> String {
    if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
}

/// The states that were not reached, each cause once.
fn not_reached(results: &Results, width: Option<usize>) -> String {
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (state, why) in &results.not_reached {
        match causes.iter_mut().find(|(cause, _)| cause == why) {
            Some((_, states)) => states.push(state),
            None => causes.push((why, vec![state])),
        }
    }
    let mut text = String::new();
    for (why, states) in causes {
        if let [state] = states.as_slice() {
            text.push_str(&format!("  {state}: {why}\n"));
            continue;
        }
        text.push_str(&format!("  {}: {why}\n", counted(states.len(), "state")));
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(2 * INDENT).max(NARROWEST));
        for line in in_lines(&states.join(", "), room) {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

fn missing(results: &Results, width: Option<usize>) -> String {
    let mut text = String::new();
    if !results.not_reached.is_empty() {
        text.push_str(&format!("\nstates that were not reached\n{}", not_reached(results, width)));
    }
    let skipped = results.trials.iter().filter_map(|trial| match &trial.outcome {
        Outcome::Skipped(why) => Some((trial, why)),
        Outcome::Tried(_) | Outcome::GivenUp(_) => None,
    });
    let skipped: Vec<String> =
        skipped.map(|(trial, why)| format!("  {}: {}: {why}\n", trial.state, trial.name)).collect();
    let given_up = given_up(results);
    if !skipped.is_empty() || !given_up.is_empty() {
        text.push_str("\noffences that were not tried\n");
        text.extend(skipped);
        text.extend(given_up);
    }
    text
}

/// What was not tried because the server no longer answered: one line for each reason in a state.
fn given_up(results: &Results) -> Vec<String> {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for trial in &results.trials {
        let Outcome::GivenUp(why) = &trial.outcome else { continue };
        match counts.iter_mut().find(|(state, other, _)| *state == trial.state && other == why) {
            Some((.., count)) => *count += 1,
            None => counts.push((&trial.state, why, 1)),
        }
    }
    let line = |(state, why, count)| format!("  {state}: {}: {why}\n", counted(count, "offence"));
    counts.into_iter().map(line).collect()
}

/// A level as a word.
pub(crate) fn level(strictness: Strictness) -> &'static str {
    match strictness {
        Strictness::Must => "must",
        Strictness::Should => "should",
    }
}

/// The level of an offence as a word, where it has one.
pub(crate) fn level_of(tried: &Tried) -> Option<&'static str> {
    tried.level.map(level)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("{:INDENT$}{line}\n", "")).collect()
}

/// Lines in columns, without spaces at the end. Where they are wider than `most`, the widest column is broken into
/// lines.
fn aligned<const N: usize>(lines: &[[String; N]], most: Option<usize>) -> String {
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..N).map(width).collect();
    let all = widths.iter().sum::<usize>() + GAP * N.saturating_sub(1);
    let excess = most.map_or(0, |most| all.saturating_sub(most));
    if let Some(widest) = widths.iter_mut().max().filter(|_| excess > 0) {
        *widest = widest.saturating_sub(excess).max(NARROWEST.min(*widest));
    }
    let line = |cells: &[String; N]| {
        let broken: Vec<Vec<String>> =
            cells.iter().zip(&widths).map(|(cell, width)| in_lines(cell, *width)).collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(0);
        let part = |row: usize| {
            let cells = broken.iter().map(|cell| cell.get(row).map_or("", String::as_str));
            let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            format!("{}\n", padded.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end())
        };
        (0..height).map(part).collect::<String>()
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let line = |cells: [&str; 2]| cells.map(str::to_owned);
        assert_eq!(aligned(&[line(["a", "b"]), line(["ähm", ""])], None), "a    b\nähm\n");
    }

    #[test]
    fn a_cause_for_which_states_were_not_reached_is_named_once() {
        let not_reached = [("A", "one"), ("B", "other"), ("C", "one"), ("D", "one")];
        let results = Results {
            protocol: String::new(),
            version: None,
            unknown_revision: None,
            reached: Vec::new(),
            not_reached: not_reached.map(|(state, why)| (state.to_owned(), why.to_owned())).to_vec(),
            trials: Vec::new(),
            unprompted: Vec::new(),
        };
        let expected = "\nstates that were not reached\n  3 states: one\n    A, C, D\n  B: other\n";
        assert_eq!(missing(&results, None), expected);
    }

    #[test]
    fn the_widest_column_is_broken_where_the_terminal_is_narrow() {
        let lines = [["a", "16 × result, 4 × no answer", "x"], ["bb", "1 × exited with 1", "y"]];
        let lines = lines.map(|cells| cells.map(str::to_owned));
        let narrow = "a   16 × result, 4 ×   x\n    no answer\nbb  1 × exited with 1  y\n";
        assert_eq!(aligned(&lines, Some(24)), narrow);
        assert_eq!(aligned(&lines, Some(100)), aligned(&lines, None));
        // It does not become narrower than a few words.
        assert_eq!(aligned(&lines, Some(1)), aligned(&lines, Some(22)));
        assert_eq!(in_lines("a-very-long-word and more", 4), ["a-very-long-word", "and", "more"]);
    }
}
