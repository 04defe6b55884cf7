//! `sessionc trace` over recorded traffic: `tests/traffic`, as it was recorded, with planted mistakes, and in other formats.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

mod announced;
mod causes;
mod command;
mod formats;
mod guide;
mod loggers;
mod methods;
mod own;
mod places;
mod planted;
mod random;
mod rival;
mod rounds;
mod sessions;
mod subscriptions;
