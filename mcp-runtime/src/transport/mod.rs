//! What carries a session: the in-memory [`Duplex`], this process's own [`Stdio`], the stdio of a [`Child`], any
//! other [`ByteStream`], such as a TCP connection or a Unix socket, and any [`MessageStream`], such as a WebSocket. A
//! [`Successive`] connection carries several sessions, one after another.
//!
//! Each is a value that implements [`Transport`]. The code that moves the messages is in [`driver`](crate::driver). The
//! guide `docs/transports.md` says when to use which, and how to write one.

mod channel;
pub mod child;
pub mod duplex;
#[cfg(any(feature = "http-server", feature = "http-client"))]
pub mod http;
mod message_stream;
pub mod stdio;
mod stream;
mod successive;

pub use crate::driver::{Framing, Transport};
pub use child::{Child, ChildBuilder, ENVIRONMENT, ShutdownTimes, SpawnError};
pub use duplex::{Duplex, duplex};
pub use message_stream::MessageStream;
pub use stdio::{Stdio, stdio};
pub use stream::ByteStream;
pub use successive::{Division, Part, Successive};
