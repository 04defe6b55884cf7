//! What the example prints: the states it passes in the left column, what happens in each beside them.

use std::io::IsTerminal;

/// The session has come to a state.
pub(crate) fn state(name: &str) {
    let line = format!("● {name}");
    if std::io::stdout().is_terminal() { println!("\x1b[1;36m{line}\x1b[0m") } else { println!("{line}") }
}

/// Something happened in the state.
pub(crate) fn event(what: &str, detail: impl AsRef<str>) {
    let mut lines = detail.as_ref().lines();
    println!("│   {what:<22} {}", shorten(lines.next().unwrap_or_default()));
    for line in lines.take(3) {
        println!("│   {:<22} {}", "", shorten(line));
    }
}

/// Something that this server does not offer.
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
