//! The event streams of one session: routes each message to one stream, and keeps messages for replay.

mod kept;
mod reading;
mod table;

pub(super) use self::table::{Ending, PostAnswer, Posted, ResumedStream, StreamLimits, Streams};
