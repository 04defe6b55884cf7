//! The clock of the transports.

use std::time::Instant;

/// Now, as the transports count: time that is held still by a test stands still here, too.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
