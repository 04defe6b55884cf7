//! The Model Context Protocol: its revisions, its payloads, and sessions of its generated types.

mod eras;
mod payloads;
mod raw_json;
mod replay;
mod revisions;
mod rounds;
mod several;
mod stateless;
mod task_extension;
mod two_sides;
