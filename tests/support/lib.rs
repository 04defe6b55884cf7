//! What the tests of several packages share.

pub mod raw;
pub mod recorder;
pub mod script;
