//! The streams of one session: what waits for the client, and what it may ask for once more.
//!
//! In: messages of the session, with what they are about, and readers that come and go. Out: each message on exactly
//! one stream. Refuses to grow: what a reader has not taken yet counts as unwritten, so the session waits; what was
//! taken, and what no client is there to take, is kept up to a number of bytes, and then the oldest goes (`kept.rs`). A
//! reader that takes nothing for too long is taken for gone (`reading.rs`).

mod kept;
mod reading;
mod table;

pub(super) use self::table::{Answer, Ending, Posted, Resumed, StreamLimits, Streams};
