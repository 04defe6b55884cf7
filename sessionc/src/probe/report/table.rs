//! The results for people.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::Strictness;

use crate::probe::campaign::Results;
use crate::probe::offence::Group;
use crate::probe::trial::{Outcome, Tried};

/// One row: an offence group in a state.
#[derive(Debug, Default)]
struct Row {
    tried: usize,
    reactions: BTreeMap<String, usize>,
    must: usize,
    should: usize,
}

/// The table of all states and groups, the faults, and what was not tried.
pub(crate) fn text(results: &Results) -> String {
    let mut text = rows(results);
    text.push_str(&faults(results));
    text.push_str(&missing(results));
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

fn rows(results: &Results) -> String {
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
    aligned(&lines)
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

fn faults(results: &Results) -> String {
    let mut lines = Vec::new();
    for (trial, tried) in results.tried() {
        let Some(fault) = &tried.fault else { continue };
        let level = level(fault.strictness).to_owned();
        lines.push([level, trial.state.clone(), trial.name.clone(), fault.what.clone()]);
    }
    if lines.is_empty() {
        return String::new();
    }
    // What is worst comes first.
    lines.sort_by_key(|[level, ..]| level != "must");
    format!("\nfaults: what the server did\n{}", indented(&aligned(&lines)))
}

fn missing(results: &Results) -> String {
    let mut text = String::new();
    if !results.not_reached.is_empty() {
        text.push_str("\nstates that were not reached\n");
        for (state, why) in &results.not_reached {
            text.push_str(&format!("  {state}: {why}\n"));
        }
    }
    let skipped = results.trials.iter().filter_map(|trial| match &trial.outcome {
        Outcome::Skipped(why) => Some((trial, why)),
        Outcome::Tried(_) => None,
    });
    let skipped: Vec<String> =
        skipped.map(|(trial, why)| format!("  {}: {}: {why}\n", trial.state, trial.name)).collect();
    if !skipped.is_empty() {
        text.push_str("\noffences that were not tried\n");
        text.extend(skipped);
    }
    text
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
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Lines in columns, without spaces at the end.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |cells: &[String; N]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let line = |cells: [&str; 2]| cells.map(str::to_owned);
        assert_eq!(aligned(&[line(["a", "b"]), line(["ähm", ""])]), "a    b\nähm\n");
    }
}
