//! The codes of the lexer's findings, and how long a word may be.

use crate::diagnostic::Code;

/// A character that has no meaning here.
pub const UNKNOWN_CHARACTER: Code = Code("S0010");
/// A name or number that is neither.
pub const MALFORMED_NUMBER: Code = Code("S0013");
/// Characters that change the direction of the text, and so what a reader sees.
pub const TEXT_DIRECTION: Code = Code("S0014");

/// A name, a text in quotes or a path of Rust names that is longer than any that is of use.
pub const TOO_LONG: Code = Code("S0015");
/// What a merge has left where two texts are in conflict.
pub const MERGE_CONFLICT: Code = Code("S0016");

/// How many characters a name may have. Names are repeated wherever something is said or generated about them, so
/// that without a limit a file could make more of itself than there is memory.
pub const LONGEST_NAME: usize = 255;
/// How many characters a text in quotes may have, and a path of Rust names, for the same reason.
pub const LONGEST_TEXT: usize = 4_096;
