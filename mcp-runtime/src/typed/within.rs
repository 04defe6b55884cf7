//! What a value, or what was made of it, is restricted to.

use std::sync::Arc;

use mcp_protocol_machine::Capabilities;

/// The capabilities that a value, or what was made of it, is restricted to, if it is.
pub(crate) type Within = Option<Arc<Capabilities>>;
