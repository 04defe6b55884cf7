//! [`Bell`]: notes that a future was woken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Whether a future was woken, and the task that polls it.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Bell {
    /// Wakes this task from here on.
    pub(crate) fn ring_in(&self, task: Waker) {
        // What is done under the lock does not panic, and the waker that goes is dropped without it.
        let before = self.task.lock().unwrap_or_else(PoisonError::into_inner).replace(task);
        drop(before);
    }

    pub(crate) fn has_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }

    /// Whether it has rung since this was asked last.
    pub(crate) fn take_rung(&self) -> bool {
        self.has_rung() && self.rung.swap(false, Ordering::AcqRel)
    }

    /// The future was woken.
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
