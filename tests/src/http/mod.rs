//! Both sides of HTTP for tests: a server of this library, a server that does as it is told, and a client of raw bytes.

pub mod desk;
pub mod fake;
pub mod wire;
