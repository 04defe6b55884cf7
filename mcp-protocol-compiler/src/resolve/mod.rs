//! Names to things: declarations with their imports merged, groups flattened, definitions found.
//!
//! In: the trees of all files. Out: [`Declarations`]. Refuses to look inside session types beyond their names.

use mcp_protocol_machine::protocol as machine;

use crate::ast::{Name, RustPath};
use crate::source::Span;

/// All that is declared, after imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declarations {
    /// The protocol's name and place.
    pub name: Option<Name>,
    /// The protocol's revision, without quotes.
    pub version: Option<String>,
    /// Whether batches are allowed.
    pub batch: bool,
    /// Documentation of the `protocol` item.
    pub documentation: Vec<String>,
    /// Every message; [`machine::MessageIndex`] points in here. A request is followed by its replies and then by its
    /// refusal, named `{Request}Error`.
    pub messages: Vec<Message>,
    /// Every capability path that some message needs, each once.
    pub gates: Vec<machine::Gate>,
    /// Where each role announces what it can do.
    pub announcements: Vec<machine::Announcement>,
    /// Where the governing revision is announced.
    pub version_field: Option<machine::Field>,
}

/// One message as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What goes into the tables.
    pub table: machine::Message,
    /// The name in its declaration; a refusal has its request's.
    pub span: Span,
    /// Documentation comments before the declaration.
    pub documentation: Vec<String>,
    /// The payload's Rust type.
    pub payload: PayloadType,
    /// The name after `as`.
    pub call_name: Option<Name>,
    /// For a bare session type without declarations: the message was made up from its use.
    pub undeclared: bool,
}

/// The payload's Rust type; whether it may be absent is in [`machine::Message::payload`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadType {
    /// Nothing, or `null`.
    None,
    /// `serde_json::Value`.
    Any,
    /// A type, its path complete: `(T)` has the `types` module of its own file in front.
    Type(RustPath),
}
