//! Clocks and counters: latencies of calls, allocations, memory, the core to run on.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counts what it allocates; a reallocation is an allocation.
pub struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is the system allocator's own; counting does not change what it promises.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: passed on as it came.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on as it came.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// How many allocations there have been.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// The resident memory of a process in bytes, by its id, or `self`; 0 where the system does not tell.
pub fn resident(process: &str) -> u64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/statm")) else { return 0 };
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Keeps this process, and those that it will start, on one core: on which cores two ends run changes a latency by
/// more than anything that is measured here.
pub fn stay_on_one_core() {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(core) = (0..CpuSet::MAX_CPU).rev().find(|core| allowed.is_set(*core)) else { return };
    let mut one = CpuSet::new();
    one.set(core);
    if let Err(error) = sched_setaffinity(None, &one) {
        eprintln!("the process could not be kept on one core ({error}); the figures will scatter");
    }
}

/// What one run of one case gave.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Figures {
    /// Calls a second.
    pub rate: f64,
    /// The median of a call, in microseconds.
    pub p50: f64,
    /// The 99th percentile, in microseconds.
    pub p99: f64,
    /// Allocations a call, of every end that lives in the measuring process.
    pub allocations: f64,
    /// Resident memory of an end, or a session, in bytes, where that is what was measured.
    pub memory: f64,
}

impl Figures {
    /// The figures of `latencies` that took `elapsed` together.
    pub fn of(mut latencies: Vec<Duration>, elapsed: Duration, allocations: u64) -> Figures {
        latencies.sort_unstable();
        let calls = latencies.len();
        let at = |share: f64| {
            let place = ((calls as f64) * share) as usize;
            latencies.get(place.min(calls.saturating_sub(1))).map_or(0.0, |time| time.as_nanos() as f64 / 1e3)
        };
        Figures {
            rate: calls as f64 / elapsed.as_secs_f64(),
            p50: at(0.5),
            p99: at(0.99),
            allocations: allocations as f64 / calls as f64,
            memory: 0.0,
        }
    }

    /// Nothing but memory.
    pub fn memory(bytes: f64) -> Figures {
        Figures { rate: 0.0, p50: 0.0, p99: 0.0, allocations: 0.0, memory: bytes }
    }
}
