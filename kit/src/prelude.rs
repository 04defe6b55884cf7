//! All that a program needs that uses this crate, and all payloads, for `use mcp_kit::prelude::*`.
//!
//! `Tool`, `Prompt` and `Resource` are the traits of this crate. The payloads with these names, which a client gets in lists, are
//! `types::Tool`, `types::Prompt` and `types::Resource`. A program that imports from both `mcp_kit` and `mcp_kit::types` with `*`
//! finds these names ambiguous.

pub use mcp_protocols::eras::types::*;
pub use mcp_protocols::eras::{Asker, Change, Changes, ConnectError, Context, Era, Offer, types};
pub use mcp_protocols::rounds::RoundsError;
#[cfg(feature = "http-client")]
pub use mcp_runtime::transport::http::HttpClient;
#[cfg(feature = "http")]
pub use mcp_runtime::transport::http::{RequestHead, ServerOptions};
pub use mcp_runtime::transport::{Child, duplex, stdio};
pub use mcp_runtime::{DisconnectReason, Error, Options, Report, RpcError, TimeoutKind, Transport};

// What is named here goes before what the glob above brings.
pub use super::answer::Answer;
pub use super::connection::{Call, CallError, ConnectOptions, Connection, LiveList, Subscription};
pub use super::failure::Failure;
pub use super::server::{
    Client, Json, ListRequest, Model, Output, Page, Progress, Prompt, Prompts, Resource, ResourceNotFound,
    Resources, Roots, Server, Suggestions, Tool, Tools, Typed, User, audio_of, blob_at, bytes_at, image_of,
    said, text_at,
};
