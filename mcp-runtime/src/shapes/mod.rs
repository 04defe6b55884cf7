//! Payload types that are generated from the shapes of a `.session` file.
//!
//! `type Tool = { name: string, title?: string }` becomes a struct with public fields, `Tool::new(name)` for what it must
//! have, and a setter for each field that may be absent: `Tool::new("echo").title("Echo")`. A union becomes an enum. The
//! types are `Serialize` and `Deserialize`. What does not fit says where: `content[2].text: expected a string, found 5`.
//!
//! A payload is read in two steps: JSON text becomes a [`JsonTree`], which borrows its texts, and [`FromJson`] takes it
//! apart. So what is generated for a type is short and is compiled once. Writing goes straight to text.
//!
//! `from_json.rs` reads the shapes that the language has by itself, `members.rs` takes a record apart, `number.rs` is what
//! `number` becomes, `tree.rs` is the tree, and `macros.rs` has what generated code calls for a record, a
//! union, or a choice of words.

mod from_json;
mod macros;
mod members;
mod number;
mod tree;

pub use mcp_protocol_machine::shape::ShapeMismatch;

pub use self::from_json::FromJson;
#[doc(hidden)]
pub use self::from_json::{chosen, deserialize};
pub use self::members::Members;
pub use self::number::Number;
pub use self::tree::{JsonTree, Object};
#[doc(hidden)]
pub use crate::{__record as record, __union as union, __words as words};

/// What generated code needs of serde. What a public module exports is in reach of rustc's messages: a name that two types
/// have is written out there, `std::string::String`. So neither serde nor `serde_json::Value` is exported here as a whole.
#[doc(hidden)]
pub mod serde {
    pub use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub mod ser {
        pub use ::serde::ser::SerializeMap;
    }
}
