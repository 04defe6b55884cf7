//! A line on a terminal that says how far long work is, and that the next one replaces.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Stderr, Write};
use std::sync::{Mutex, PoisonError};

/// How wide a terminal is that does not say it.
const USUAL: usize = 80;

/// How wide the terminal is that standard output goes to, or as `COLUMNS` says.
pub(crate) fn width_of_stdout() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    terminal.or_else(|| env::var("COLUMNS").ok()?.parse().ok()).filter(|width| *width > 0)
}

/// The line at the end of what a terminal shows. Anything else than a terminal gets nothing.
#[derive(Debug)]
pub(crate) struct TerminalLine<W = Stderr> {
    terminal: Option<Mutex<Shown<W>>>,
}

#[derive(Debug)]
struct Shown<W> {
    terminal: W,
    is_empty: bool,
}

impl TerminalLine {
    /// A line on standard error.
    pub(crate) fn on_stderr() -> TerminalLine {
        let is_replaced = io::stderr().is_terminal() && can_replace(env::var_os("TERM").as_deref());
        TerminalLine::on(is_replaced.then(io::stderr))
    }
}

/// Whether a terminal of this kind can replace a line. Editors have some that cannot.
fn can_replace(term: Option<&OsStr>) -> bool {
    term.is_none_or(|term| term != "dumb")
}

impl<W: Write> TerminalLine<W> {
    /// A line on a terminal, or on nothing.
    pub(crate) fn on(terminal: Option<W>) -> TerminalLine<W> {
        TerminalLine { terminal: terminal.map(|terminal| Mutex::new(Shown { terminal, is_empty: true })) }
    }

    /// Replaces the line.
    pub(crate) fn show(&self, line: &str) {
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(USUAL, |(width, _)| width.0.into());
        self.show_within(width, line);
    }

    /// Replaces the line by one that is cut off where the terminal ends.
    fn show_within(&self, width: usize, line: &str) {
        // A character in the last column may begin another line.
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let Some(terminal) = &self.terminal else { return };
        let mut shown = terminal.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_empty() && shown.is_empty {
            return;
        }
        shown.is_empty = line.is_empty();
        // A terminal that is gone needs no line.
        let _ = write!(shown.terminal, "\r\x1b[K{line}").and_then(|()| shown.terminal.flush());
    }

    /// Removes the line, for other text.
    pub(crate) fn clear(&self) {
        self.show_within(0, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_the_terminal_and_is_removed_once() {
        let mut written = Vec::new();
        let line = TerminalLine::on(Some(&mut written));
        line.clear();
        line.show_within(10, &"ä".repeat(100));
        line.show_within(10, "b");
        line.clear();
        line.clear();
        let expected = format!("\r\x1b[K{}\r\x1b[Kb\r\x1b[K", "ä".repeat(9));
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn a_dumb_terminal_has_no_line_that_is_replaced() {
        assert!(
            can_replace(None) && can_replace(Some("xterm".as_ref())) && !can_replace(Some("dumb".as_ref()))
        );
    }

    #[test]
    fn what_is_not_a_terminal_gets_nothing() {
        TerminalLine::<Vec<u8>>::on(None).show_within(10, "a");
    }
}
