//! Both sides of HTTP for tests: a server of this library, a scripted server, and a client of raw bytes.

pub mod fake;
pub mod test_server;
pub mod wire;
