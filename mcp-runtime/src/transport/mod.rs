//! What carries a session: the in-memory [`Duplex`], this process's own [`Stdio`], and the stdio of a [`Child`].
//!
//! Each comes as a value that implements [`Transport`]; in come bytes of an engine, out they go, and the other way.
//! Here is all that the operating system wants to be asked; the pumping itself is in [`driver`](crate::driver).

mod channel;
pub mod child;
pub mod duplex;
#[cfg(any(feature = "http-server", feature = "http-client"))]
pub mod http;
pub mod stdio;

pub use crate::driver::Transport;
pub use child::{Child, ChildBuilder, ENVIRONMENT, ShutdownTimes, SpawnError};
pub use duplex::{Duplex, duplex};
pub use stdio::{Stdio, stdio};
