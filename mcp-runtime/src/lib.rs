//! Sessions over transports.

pub mod driver;
