//! The codes of syntax errors, and how deep a text may nest.

use crate::diagnostic::Code;

/// How deep parentheses, loops and generic arguments may nest.
pub const DEEPEST: usize = 64;

/// Something that begins no item.
pub const EXPECTED_ITEM: Code = Code("S0020");
/// A word that is almost an item word.
pub const MISSPELT_ITEM: Code = Code("S0021");
/// A word after a message that is not a modifier.
pub const UNKNOWN_MODIFIER: Code = Code("S0022");
/// A word of the language where a name should be.
pub const RESERVED_WORD: Code = Code("S0023");
/// A name that is not there.
pub const MISSING_NAME: Code = Code("S0024");
/// A declaration that stops, or goes on, in the wrong place.
pub const MALFORMED_DECLARATION: Code = Code("S0025");
/// What stands for a path into JSON is not one.
pub const MALFORMED_PATH: Code = Code("S0027");
/// What stands for a level is not one.
pub const MALFORMED_LEVEL: Code = Code("S0028");
/// Documentation that belongs to no item.
pub const STRAY_DOCUMENTATION: Code = Code("S0029");
/// An action after which nothing comes, not even `End`.
pub const MISSING_CONTINUATION: Code = Code("S0030");
/// Two actions without a `.` between them.
pub const MISSING_DOT: Code = Code("S0031");
/// A `.` after something that nothing can follow.
pub const NOTHING_FOLLOWS: Code = Code("S0032");
/// No session type where there should be one.
pub const MISSING_TYPE: Code = Code("S0033");
/// A parenthesis that is not closed.
pub const UNCLOSED: Code = Code("S0034");
/// A parenthesis that was not opened.
pub const UNOPENED: Code = Code("S0035");
/// `*` before something that is not an atom.
pub const REPLICATED_SEQUENCE: Code = Code("S0036");
/// `rec` without its variable or its `.`.
pub const MALFORMED_RECURSION: Code = Code("S0037");
/// Two branches without an operator, or with something else in its place.
pub const MALFORMED_CHOICE: Code = Code("S0038");
/// Channels side by side without parentheses.
pub const BARE_CHANNELS: Code = Code("S0039");
/// Nesting that is too deep.
pub const TOO_DEEP: Code = Code("S0040");
/// What stands for a shape is not one.
pub const MALFORMED_SHAPE: Code = Code("S0043");
