//! How far the work is, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The longest line, in characters.
const WIDEST: usize = 78;

/// Writes how far the work is on standard error, if that is a terminal.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    all: usize,
    done: Arc<AtomicUsize>,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new(all: usize) -> Progress {
        Progress { all, done: Arc::default(), is_shown: io::stderr().is_terminal() }
    }

    /// An offence begins in a state.
    pub(crate) fn begins(&self, state: &str, offence: &str) {
        let done = self.done.load(Ordering::Relaxed);
        self.show(&line(done, self.all, state, offence));
    }

    /// It has ended.
    pub(crate) fn ends(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.show("");
    }

    fn show(&self, line: &str) {
        if self.is_shown {
            // A terminal that is gone needs no progress.
            let _ = write!(io::stderr(), "\r\x1b[K{line}").and_then(|()| io::stderr().flush());
        }
    }
}

fn line(done: usize, all: usize, state: &str, offence: &str) -> String {
    format!("{done} of {all}  {state}: {offence}").chars().take(WIDEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_terminal() {
        assert_eq!(line(3, 20, "Active", "initialize"), "3 of 20  Active: initialize");
        assert_eq!(line(3, 20, "Active", &"ä".repeat(100)).chars().count(), WIDEST);
    }
}
