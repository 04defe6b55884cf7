//! Runs JSON-RPC sessions over transports: the library that code generated from a `.session` file uses.
//!
//! A session is made from the tables of a protocol, a side and a transport. Every message is judged by the protocol
//! before it is written or delivered. A message that the protocol does not permit is refused, and the session
//! continues.
//!
//! ```
//! mod weather {
//!     mcp_runtime::protocol!("doc/weather.session");
//! }
//! use mcp_runtime::{RpcError, transport::duplex};
//! use serde_json::{Value, json};
//! use weather::{WeatherClient, WeatherServer, server};
//!
//! struct Service;
//!
//! impl server::Handler for Service {
//!     async fn forecast(&self, _: server::Context, params: Value) -> Result<Value, RpcError> {
//!         Ok(json!({ "city": params["city"], "celsius": 4 }))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (near, far) = duplex();
//! tokio::spawn(async move {
//!     let (_params, server) = WeatherServer::new(far).recv_open().await?;
//!     let server = server.send_opened(json!({ "name": "north" })).await?;
//!     server.incoming().serve(Service).await;
//!     Ok::<(), mcp_runtime::Error>(())
//! });
//! let (_opened, client) = WeatherClient::new(near).open(json!({})).await?;
//! let forecast = client.forecast(json!({ "city": "Oslo" })).await?;
//! assert_eq!(forecast["celsius"], 4);
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`call`]: calls and notifications, and what handlers get.
//! - [`session`]: the steps of a session and its end, sessions without types, and reports to the owner.
//! - [`transport`]: in memory, own standard streams, a child process, any stream of bytes, HTTP.
//! - [`options`]: the settings of a session.
//! - [`shapes`]: what the payload types of a `.session` file can do.
//! - [`error`]: what can go wrong, and errors that travel between the sides.
//!
//! Three more modules are for programs that go below that: [`protocol`](mod@protocol) has the tables that every session
//! follows, [`driver`] connects the engine and a transport of your own, and [`observer`] follows sessions of others.
//!
//! The names that most programs use are at the root, too.
#![warn(missing_docs, clippy::missing_errors_doc)]

mod bell;
mod budget;
mod checked;
mod clock;
pub mod driver;
mod engine;
mod epoch;
pub mod error;
mod error_texts;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod jsonrpc;
pub mod observer;
pub mod options;
mod panics;
mod report;
mod revisions;
mod rules;
pub mod shapes;
mod step_error;
pub mod transport;
mod typed;

pub use call::batch;
pub use driver::Transport;
pub use error::{DisconnectReason, Error, RpcError, TimeoutKind, Violation, ViolationKind};
pub use options::{Options, RateLimit, Resumed, negotiate_version};
pub use protocol::{Capabilities, Capability, RequestId};
pub use session::{CheckedSession, DropReason, Event, Outcome, Report, StepError};

/// Calls, notifications and the requests of the peer.
pub mod call {
    pub use crate::typed::{
        Call, Cancellable, Canceller, InBatch, Notify, Pages, Pending, ReadReply, Responder, Sending,
        Uncancellable, WithMethod, batch,
    };
}

/// Sessions: their steps and their end, sessions without types, and what a session reports to its owner.
///
/// Each session type of generated code is a Rust type, and each of its states a type parameter. A method that leads to
/// another state takes the session by value and returns a [`Step`](session::Step), or an [`Advance`](session::Advance)
/// for a request together with its reply. Awaiting it returns the session in its next state, or a [`StepError`] that
/// has the session if it can go on. A request that leads back to its state is an [`Exchange`](session::Exchange).
/// `close` returns a [`Closing`](session::Closing), which waits for the [`Outcome`].
///
/// A [`CheckedSession`] is the same session without its type: each step is judged when it is taken.
pub mod session {
    pub use crate::checked::{CheckedSession, Event, Name, NotTyped, Payload, WhyNot};
    pub use crate::error::end::{Means, Outcome};
    pub use crate::report::{DropReason, LimitedReport, Report, ReportLimit};
    pub use crate::step_error::StepError;
    pub use crate::typed::{Advance, Closing, Exchange, Readable, Step, Typed, first_readable};
}

/// The tables of a protocol: its messages, and the state machine of each side.
pub mod protocol {
    pub use mcp_protocol_machine::protocol::*;
    pub use mcp_protocol_machine::{Capabilities, ProtocolRef, RequestId, TableError, Token};
}

/// What generated code calls. It may change with each version.
#[doc(hidden)]
pub mod __private {
    pub use crate::shapes;
    pub use crate::step_error::StepError;
    pub use crate::typed::*;
    #[cfg(feature = "macros")]
    pub use mcp_protocol_macro as macros;
}

/// Generates typed Rust from a `.session` file, in the module that contains the call.
///
/// ```
/// mod weather {
///     mcp_runtime::protocol!("doc/weather.session");
/// }
/// use weather::{WeatherClient, WeatherServer};
/// ```
///
/// The path is relative to the folder of `Cargo.toml`. A path that starts with `./` is relative to the source file that
/// contains it, also inside rust-analyzer. If you edit the file, or a file that it imports, cargo rebuilds the crate. A
/// mistake in the file is an error at the path, with the lines of the file. Warnings appear as uses of a deprecated
/// constant, which `#[allow(deprecated)]` on the module silences.
///
/// Put the call into a module of its own: the generated items use `Result` and `Option` from the prelude.
///
/// `protocol!("path", tables)` generates only the tables, `PROTOCOL`, and their `messages`, for [`Options::revisions`]
/// and [`CheckedSession`].
///
/// `protocol!("path", debug)` writes the expansion to `target/mcp-protocol/` and includes it from there, so that
/// rustc's messages point into code that you can read.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! protocol {
    ($($arguments:tt)*) => {
        $crate::__private::macros::protocol!($crate, $($arguments)*);
    };
}
