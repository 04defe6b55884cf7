//! What is written to one side: the bytes that pass, and the errors of the guard between them.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How many bytes of errors wait for a side that does not read.
const WAITING: usize = 1 << 20;

/// The way to one side.
///
/// Invariant: an error of the guard never stands within a message that passes. A pump never waits for the side whose
/// messages it reads: errors for that side are written by a thread of their own.
#[derive(Debug)]
pub(super) struct Outlet {
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<OutletState>,
    /// A message has ended.
    between: Condvar,
    /// How many bytes of errors wait.
    waiting: AtomicUsize,
}

struct OutletState {
    /// Nothing, once it is closed.
    writer: Option<Box<dyn Write + Send>>,
    /// A part of a message is written, and the rest is to follow.
    is_within: bool,
}

#[derive(Debug)]
enum Job {
    Answer(Vec<u8>),
    Close,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Outlet {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Outlet {
        let state = OutletState { writer: Some(Box::new(writer)), is_within: false };
        let shared =
            Shared { state: Mutex::new(state), between: Condvar::new(), waiting: AtomicUsize::new(0) };
        let shared = Arc::new(shared);
        // The bytes that wait are counted.
        let (jobs, waiting) = channel();
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.work(&waiting)
        });
        Outlet { shared, jobs, thread: Mutex::new(Some(thread)) }
    }

    /// Writes bytes that pass. Afterwards either a message has ended, or its rest is to follow.
    ///
    /// # Errors
    /// If the side does not read any more.
    pub(super) fn pass(&self, bytes: &[u8], is_within: bool) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.is_within = is_within;
        let written = state.write(bytes);
        if !is_within {
            self.shared.between.notify_all();
        }
        written
    }

    /// Has an error of the guard written after the message at hand. Returns whether there was room for it.
    pub(super) fn answer(&self, error: Vec<u8>) -> bool {
        let waiting = self.shared.waiting.fetch_add(error.len(), Ordering::Relaxed);
        if waiting.saturating_add(error.len()) > WAITING && waiting > 0 {
            self.shared.waiting.fetch_sub(error.len(), Ordering::Relaxed);
            return false;
        }
        // The side may be closed: then it has no use for it.
        let _ = self.jobs.send(Job::Answer(error));
        true
    }

    /// Writes what waits, and closes the way to this side.
    pub(super) fn close(&self) {
        self.shared.lock().is_within = false;
        self.shared.between.notify_all();
        let _ = self.jobs.send(Job::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It does not panic.
        let _ = thread.map(JoinHandle::join);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, OutletState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, jobs: &Receiver<Job>) {
        for job in jobs {
            match job {
                Job::Answer(error) => {
                    let state = self.between.wait_while(self.lock(), |state| state.is_within);
                    let mut state = state.unwrap_or_else(PoisonError::into_inner);
                    // The pump that writes to this side meets the same failure.
                    let _ = state.write(&error);
                    self.waiting.fetch_sub(error.len(), Ordering::Relaxed);
                }
                Job::Close => break,
            }
        }
        self.lock().writer = None;
    }
}

impl OutletState {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writer.write_all(bytes)?;
        writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_error_does_not_stand_within_a_message() {
        let (mut reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::new(writer);
        outlet.pass(b"{\"a\":", true).unwrap();
        assert!(outlet.answer(b"{\"error\":1}\n".to_vec()));
        outlet.pass(b"1}\n", false).unwrap();
        outlet.close();
        let mut all = String::new();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "{\"a\":1}\n{\"error\":1}\n");
        assert!(outlet.pass(b"{}", false).is_err());
    }

    #[test]
    fn errors_for_a_side_that_does_not_read_are_limited() {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::new(writer);
        let accepted = (0..100).filter(|_| outlet.answer(vec![b'x'; 64 * 1024])).count();
        assert!((16..=18).contains(&accepted), "{accepted}: a piece more fits into the pipe");
        drop(reader);
        outlet.close();
    }
}
