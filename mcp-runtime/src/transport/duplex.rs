//! An in-memory connection between two sessions of one process.
//!
//! In and out at each end go the bytes of one session; what one end writes the other reads. Both directions are
//! bounded, so that a session that is not read makes its peer's writing wait. It refuses to lose queued bytes: an end
//! that is dropped closes the connection behind what it had written.

use std::sync::Arc;
use std::time::Duration;

use super::channel::{Head, Tail, channel};
use crate::driver::{DirectOutput, Endpoint, Framing, Limits, Pump, Transport, run};

/// How many bytes one direction holds unless [`duplex_with_capacity`] says otherwise.
pub const CAPACITY: usize = 64 * 1024;

/// How long an end waits at the end of a session unless [`Duplex::limits`] says otherwise.
pub const LIMITS: Limits = Limits::new(Duration::from_secs(2), Duration::from_secs(2));

/// A pair of connected ends.
///
/// ```
/// let (client, server) = mcp_runtime::transport::duplex();
/// # drop((client, server));
/// ```
pub fn duplex() -> (Duplex, Duplex) {
    duplex_with_capacity(CAPACITY)
}

/// A pair of connected ends, each direction of which holds `capacity` bytes (at least one).
///
/// ```
/// use mcp_runtime::transport::duplex::duplex_with_capacity;
///
/// // One message may wait at a time, more or less.
/// let (client, server) = duplex_with_capacity(1024);
/// # drop((client, server));
/// ```
pub fn duplex_with_capacity(capacity: usize) -> (Duplex, Duplex) {
    let (left_tail, right_head) = channel(capacity);
    let (right_tail, left_head) = channel(capacity);
    let left = Duplex { head: left_head, tail: left_tail, limits: LIMITS };
    let right = Duplex { head: right_head, tail: right_tail, limits: LIMITS };
    (left, right)
}

/// One end of an in-memory connection.
#[derive(Debug)]
pub struct Duplex {
    head: Head,
    tail: Tail,
    limits: Limits,
}

impl Duplex {
    /// Sets how long this end waits at the end of its session.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Transport for Duplex {
    fn run(self, endpoint: Arc<dyn Endpoint>) -> impl Future<Output = ()> + Send {
        let Duplex { head, tail, limits } = self;
        let direct = Some(Box::new(tail.direct()) as Box<dyn DirectOutput>);
        run(Pump::with_direct_output(endpoint, head, tail, Framing::Lines, direct), limits)
    }
}
