//! The output of the example: the states in the left column, the events of each state on the right.

use std::io::IsTerminal;

/// Prints that the session has reached a state.
pub(crate) fn state(name: &str) {
    let line = format!("● {name}");
    if std::io::stdout().is_terminal() { println!("\x1b[1;36m{line}\x1b[0m") } else { println!("{line}") }
}

/// Prints an event in the current state.
pub(crate) fn event(what: &str, detail: impl AsRef<str>) {
    let mut lines = detail.as_ref().lines();
    println!("│   {what:<22} {}", shorten(lines.next().unwrap_or_default()));
    for line in lines.take(3) {
        println!("│   {:<22} {}", "", shorten(line));
    }
}

/// Prints that this server does not offer a feature.
pub(crate) fn skipped(what: &str, why: &str) {
    event(what, format!("skipped: {why}"));
}

fn shorten(line: &str) -> String {
    const WIDTH: usize = 88;
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}
