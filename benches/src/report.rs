//! Runs every case for every contestant in turns, and prints the table.

use std::process::{Command, ExitCode, Stdio};

use crate::case::{Case, Place};
use crate::cases::CASES;
use crate::measure::Figures;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Enough for figures.
    Full,
    /// Enough to see that everything runs.
    Quick,
}

/// Measures everything and prints it.
pub fn all(effort: Effort) -> ExitCode {
    let counter = has_callgrind();
    if !counter {
        println!("callgrind is not installed; instructions are not counted");
    }
    for case in CASES {
        println!("\n{}", case.name);
        let results: Vec<(&str, Option<Figures>)> = match measured(case, effort) {
            Ok(results) => results,
            Err(problem) => {
                eprintln!("{problem}");
                return ExitCode::FAILURE;
            }
        };
        let instructions: Vec<Option<f64>> = results
            .iter()
            .map(|(who, _)| (counter && is_counted(case, effort)).then_some(*who))
            .map(|who| instructions(case, who?, effort))
            .collect();
        print(case, &results, &instructions);
    }
    ExitCode::SUCCESS
}

/// The best of several rounds for each contestant.
fn measured<'a>(case: &Case, effort: Effort) -> Result<Vec<(&'a str, Option<Figures>)>, String> {
    let (rounds, calls) = match effort {
        Effort::Full => (5, case.calls),
        Effort::Quick if case.place.is_idle() => (1, case.calls / 10),
        Effort::Quick => (1, case.calls / 100),
    };
    let mut best: Vec<(&str, Option<Figures>)> = case.contestants.iter().map(|who| (*who, None)).collect();
    for _ in 0..rounds {
        for (who, best) in &mut best {
            let new = run(case, who, calls)?;
            *best = Some(match best.take() {
                Some(old) => better(old, &new),
                None => new,
            });
        }
    }
    Ok(best)
}

fn better(old: Figures, new: &Figures) -> Figures {
    Figures {
        rate: old.rate.max(new.rate),
        p50: old.p50.min(new.p50),
        p99: old.p99.min(new.p99),
        allocations: old.allocations.min(new.allocations),
        memory: old.memory.min(new.memory),
    }
}

/// One measurement in a process of its own.
fn run(case: &Case, who: &str, calls: usize) -> Result<Figures, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["run", case.name, who, &calls.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("`{who}` failed at `{}`: {}", case.name, output.status))
}

/// Whether instructions are counted: where one call at a time is made, and all of it in one process. Over HTTP that
/// takes too long to see only that everything runs.
fn is_counted(case: &Case, effort: Effort) -> bool {
    let place = match case.place {
        Place::Duplex => true,
        Place::Http => effort == Effort::Full,
        _ => false,
    };
    place && case.in_flight == 1
}

fn has_callgrind() -> bool {
    Command::new("valgrind")
        .args(["--tool=callgrind", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Instructions a call: the difference of two runs, so that starting and greeting do not count.
fn instructions(case: &Case, who: &str, effort: Effort) -> Option<f64> {
    let few = if effort == Effort::Full { 2_000 } else { 100 };
    // The warm-up is a tenth of the calls, and counts here.
    let made = |calls: usize| crate::contest::Plan { tool: case.tool, in_flight: 1, calls }.all() as f64;
    let (short, long) = (collected(case, who, few)?, collected(case, who, 3 * few)?);
    Some((long - short) / (made(3 * few) - made(few)))
}

fn collected(case: &Case, who: &str, calls: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["run", case.name, who, &calls.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn print(case: &Case, results: &[(&str, Option<Figures>)], instructions: &[Option<f64>]) {
    let floor = results.first().and_then(|(_, figures)| figures.as_ref());
    let floor_instructions = instructions.first().copied().flatten();
    if case.place.is_idle() {
        for (who, figures) in results {
            if let (Some(figures), Some(floor)) = (figures, floor) {
                println!(
                    "  {who:<12} {:>8.1} KiB {:>7.2} x",
                    figures.memory / 1024.0,
                    figures.memory / floor.memory
                );
            }
        }
        return;
    }
    if case.place == Place::Nowhere {
        println!("                 p50 ns   p99 ns   messages/s  allocs");
        for (kind, figures) in results {
            let Some(figures) = figures else { continue };
            println!(
                "  {kind:<12} {:>8.1} {:>8.1} {:>12.0} {:>7.1}",
                figures.p50 * 1e3,
                figures.p99 * 1e3,
                figures.rate,
                figures.allocations,
            );
        }
        return;
    }
    println!("                 p50 µs   ratio   p99 µs   calls/s   ratio  allocs  instructions   ratio");
    for ((who, figures), instructions) in results.iter().zip(instructions) {
        let (Some(figures), Some(floor)) = (figures, floor) else { continue };
        let counted = match (instructions, floor_instructions) {
            (Some(own), Some(floor)) => format!("{own:>12.0} {:>7.2}", own / floor),
            _ => String::new(),
        };
        println!(
            "  {who:<12} {:>8.2} {:>7.2} {:>8.2} {:>9.0} {:>7.2} {:>7.1} {counted}",
            figures.p50,
            figures.p50 / floor.p50,
            figures.p99,
            figures.rate,
            figures.rate / floor.rate,
            figures.allocations,
        );
    }
}
