//! Payload types that are generated from the shapes of a `.session` file.
//!
//! `type Tool = { name: string, title?: string }` becomes a struct with public fields, `Tool::new(name)` for what it must
//! have, and a setter for each field that may be absent: `Tool::new("echo").title("Echo")`. So does a tuple with labels,
//! which is written as a list; one without is a tuple. A union becomes an enum. The
//! types are `Serialize` and `Deserialize`. What does not fit says where: `content[2].text: expected a string, found 5`.
//!
//! A type is read while the text is parsed, see [`FromJson`]. Only a value of a union is read into memory first, as a
//! [`JsonTree`], which borrows its texts, unless its first member says which alternative it is. Writing goes straight to
//! text.
//!
//! `from_json.rs` is how a type is read; `source.rs` is what it is read from; `values.rs` reads the shapes that the
//! language has by itself, `literal.rs` members that must be a certain value; `alternative.rs` finds out which
//! alternative of a union a value is; `read_error.rs` is where in a payload an error is; `number.rs` is what `number`
//! becomes, `tree.rs` is the value in memory, `in_memory.rs` how it gets there; `macros.rs` has what generated code
//! calls for a record, a tuple, a union, or a choice of words or numbers.

mod alternative;
mod from_json;
mod in_memory;
mod literal;
mod macros;
mod number;
mod read_error;
mod source;
mod tree;
mod values;

#[doc(hidden)]
pub use self::alternative::chosen;
pub use self::from_json::{Elements, FromJson, Members};
#[doc(hidden)]
pub use self::from_json::{deserialize, mismatch};
#[doc(hidden)]
pub use self::literal::{Literal, gap, literal_element, required, required_element};
pub use self::number::Number;
pub use self::read_error::ReadError;
pub use self::tree::{JsonTree, Object};
#[doc(hidden)]
pub use crate::{
    __numbers as numbers, __record as record, __tuple as tuple, __union as union, __words as words,
};

/// What generated code needs of serde. What a public module exports is in reach of rustc's messages: a name that two types
/// have is written out there, `std::string::String`. So neither serde nor `serde_json::Value` is exported here as a whole.
#[doc(hidden)]
pub mod serde {
    pub use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub mod ser {
        pub use ::serde::ser::{SerializeMap, SerializeSeq};
    }
}
