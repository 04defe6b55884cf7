//! Servers: `builder.rs` has what a server is made of and serves it, `handler.rs` answers requests with that.
//!
//! `tool.rs`, `prompt.rs` and `resource.rs` each have a trait, and the entry that a server keeps of a type; so have
//! `tools.rs`, `prompts.rs` and `resources.rs`, for what is known only while the program runs. `needs.rs` and
//! `client.rs` are what a tool asks its client with, `progress.rs` reports to it, and `log.rs` has its client read what
//! it logs. `typed.rs` is what a user has typed where a client asks for suggestions, and `suggestions.rs` what it gets.
//! `page.rs` has the pages of a list, and `paging.rs` makes them of several lists. `bytes.rs` writes bytes in Base64. A
//! program that is a client itself uses `connection/`.

mod builder;
mod bytes;
mod client;
mod handler;
#[cfg(feature = "tracing")]
mod log;
mod needs;
mod not_found;
mod output;
mod page;
mod paging;
mod principal;
mod problem;
mod progress;
mod prompt;
mod prompts;
mod resource;
mod resources;
mod suggestions;
mod template;
mod tool;
mod tools;
mod typed;

pub use builder::Server;
pub use bytes::{audio_of, bytes_at, image_of};
pub use client::Client;
#[cfg(feature = "tracing")]
pub use log::ClientLog;
pub use needs::{Has, Model, Needs, Roots, User};
pub use not_found::ResourceNotFound;
pub use output::{Json, Output};
pub use page::{ListRequest, Page};
pub use principal::principal_of;
pub use problem::Problem;
pub use progress::Progress;
pub use prompt::{Prompt, said};
pub use prompts::Prompts;
pub use resource::{Resource, blob_at, text_at};
pub use resources::Resources;
pub use suggestions::Suggestions;
pub use tool::Tool;
pub use tools::Tools;
pub use typed::Typed;
