//! The dialect in which messages are read without their protocol.

use mcp_protocol_machine::protocol::Dialect;

/// Reads what every dialect writes.
pub(crate) const ANY_DIALECT: Dialect = Dialect::Version1;
