//! How far the work is, on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::terminal_line::TerminalLine;

/// Says how far the work is.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    all: usize,
    done: Arc<AtomicUsize>,
    line: Arc<TerminalLine>,
}

impl Progress {
    pub(crate) fn new(all: usize, line: Arc<TerminalLine>) -> Progress {
        Progress { all, done: Arc::default(), line }
    }

    /// An offence begins in a state.
    pub(crate) fn begins(&self, state: &str, offence: &str) {
        let (done, all) = (self.done.load(Ordering::Relaxed), self.all);
        self.line.show(&format!("{done} of {all}  {state}: {offence}"));
    }

    /// It has ended.
    pub(crate) fn ends(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
