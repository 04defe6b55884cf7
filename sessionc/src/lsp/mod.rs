//! The language server of `.session` files.
//!
//! [`serve`] has the session with one editor in the types of `lsp-protocols`. What the editor opens is in the
//! `workspace`. A question is answered from a `snapshot` of it, on another thread, by the file that `questions` names.

mod actions;
mod analysis;
mod changed_lines;
mod complete;
mod context;
mod diagram;
mod document;
mod documents;
mod editor;
mod edits;
mod findings;
mod folders;
mod handler;
mod hover;
mod imports;
mod layout;
mod navigate;
mod occurrences;
mod outline;
mod positions;
mod publish;
mod questions;
mod rename;
mod server;
mod snapshot;
mod uris;
mod workspace;

pub(crate) use server::{ExitCode, serve};
